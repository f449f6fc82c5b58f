"""The first picture of a report: what is reached alone, together, and with all data in one place."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hedgerow.errors import ParameterError
from hedgerow.model.quality import LESS_IS_BETTER
from hedgerow.report.pictures.canvas import BLUE, FONT_SIZE, GREEN, HATCHES, INK, LINE, ORANGE, new_axes, set_title
from hedgerow.report.pictures.tree_layout import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ALONE, TOGETHER, POOLED = "alone", "together", "pooled"
LOOKS = {ALONE: (ORANGE, HATCHES[1]), TOGETHER: (BLUE, HATCHES[0]), POOLED: (GREEN, HATCHES[2])}
OTHER = (LINE, HATCHES[3])
WIDTH, BAR, MARGIN = 3.3, 0.36, 1.35  # inches
SHARES = ("auc", "auprc", "ks", "accuracy")


def plot_comparison(
    figures: Mapping[str, float], metric: str, ax: "Axes | None" = None, *, together: Sequence[str] = (TOGETHER,)
) -> "Axes":
    """One metric of several models on the same rows, as bars; names that begin with alone or pooled look alike."""
    if not figures:
        raise ParameterError("There is nothing to compare; give the metric of at least one model.")
    ax = new_axes(WIDTH, BAR * len(figures) + 0.15, MARGIN) if ax is None else ax
    low, high = _reach(list(figures.values()), metric)
    for place, (name, value) in enumerate(figures.items()):
        _bar(ax, place, value, low, TOGETHER if name in together else name.split()[0])
    _finish(ax, list(figures), metric, low, high)
    return ax


def plot_cases(cases: Mapping[str, Mapping[str, float]], metric: str) -> "Axes":
    """One metric of several federations, a group of bars for each below its name."""
    values = [value for figures in cases.values() for value in figures.values()]
    if not values:
        raise ParameterError("There is nothing to compare; give the metric of at least one model.")
    lines = len(values) + len(cases)
    ax = new_axes(WIDTH, BAR * 0.9 * lines + 0.15, MARGIN)
    low, high = _reach(values, metric)
    places, place = [""] * lines, 0
    for title, figures in cases.items():
        ax.annotate(title, (0, place + 0.08), (-MARGIN * 72, 0), xycoords=("axes fraction", "data"),
                    textcoords="offset points", va="center", fontsize=FONT_SIZE + 1, color=INK, weight="bold",
                    parse_math=False, annotation_clip=False)  # fmt: skip
        for number, (name, value) in enumerate(figures.items(), place + 1):
            _bar(ax, number, value, low, name.split()[0])
            places[number] = name
        place += 1 + len(figures)
    _finish(ax, places, metric, low, high)
    return ax


def _bar(ax: "Axes", place: int, value: float, low: float, kind: str) -> None:
    """A bar and its number."""
    colour, hatch = LOOKS.get(kind, OTHER)
    ax.barh(place, value - low, 0.66, left=low, color=colour, hatch=hatch, edgecolor="white", linewidth=0)
    weight = "bold" if kind == TOGETHER else "normal"
    ax.annotate(f"{value:.4g}", (value, place), (4, 0), textcoords="offset points", va="center",
                fontsize=FONT_SIZE + 1, color=INK, weight=weight)  # fmt: skip


def _finish(ax: "Axes", names: Sequence[str], metric: str, low: float, high: float) -> None:
    """Names, limits and looks."""
    ax.set_yticks(range(len(names)), [shortened(name) for name in names], parse_math=False)
    ax.set_ylim(len(names) - 0.45, -0.55)
    ax.set_xlim(low, high)
    ax.tick_params(axis="y", length=0, labelsize=FONT_SIZE + 1, labelcolor=INK)
    ax.tick_params(axis="x", labelsize=FONT_SIZE - 0.5, labelcolor=INK, color=LINE)
    ax.locator_params(axis="x", nbins=5)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.spines["bottom"].set_color(LINE)
    better = "less is better" if metric in LESS_IS_BETTER else "more is better"
    set_title(ax, f"{metric} ({better}{f'; the axis begins at {low:.2g}' if low else ''})")


def _reach(values: Sequence[float], metric: str) -> tuple[float, float]:
    """Where the axis begins and ends: at 0, but for shares that are all high, whose differences would not be seen."""
    least, most = min(values), max(values)
    low = 0.5 if metric in SHARES and least > 0.5 else 0.0
    if low and least > 0.9:
        low = 0.8
    return low, most + 0.16 * (most - low or 1.0)
