"""Pictures of what a run cost: bytes of each party, seconds of each phase."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hedgerow.report.pictures.canvas import BLUE, FONT_SIZE, HATCHES, INK, LINE, ORANGE, add_legend, new_axes, set_title
from hedgerow.report.pictures.tree_layout import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, BAR, MARGIN = 2.7, 0.5, 1.55  # inches
UNITS = (("GB", 10**9), ("MB", 10**6), ("kB", 10**3), ("B", 1))


def plot_bytes(by_party: Mapping[str, tuple[int, int]], ax: "Axes | None" = None) -> "Axes":
    """Bytes to and from each party, a pair of bars for each."""
    ax = new_axes(WIDTH, BAR * len(by_party) + 0.5, MARGIN) if ax is None else ax
    unit, least = next((u for u in UNITS if max((max(b) for b in by_party.values()), default=0) >= u[1]), UNITS[-1])
    for side, (label, colour, hatch) in enumerate((("to it", BLUE, HATCHES[0]), ("from it", ORANGE, HATCHES[1]))):
        values = [pair[side] / least for pair in by_party.values()]
        places = [place + (side - 0.5) * 0.36 for place in range(len(values))]
        bars = ax.barh(places, values, 0.34, color=colour, hatch=hatch, edgecolor="white", linewidth=0, label=label)
        ax.bar_label(bars, [f"{value:.3g}" for value in values], padding=3, fontsize=FONT_SIZE - 1, color=INK)
    _dress(ax, list(by_party), f"{unit} to and from each party")
    add_legend(ax, loc="upper left", bbox_to_anchor=(0.0, 0.02), ncols=2)
    return ax


def plot_phases(seconds: Mapping[str, float], ax: "Axes | None" = None) -> "Axes":
    """Seconds of each phase of a run."""
    ax = new_axes(WIDTH, 0.34 * len(seconds) + 0.2, MARGIN) if ax is None else ax
    bars = ax.barh(range(len(seconds)), list(seconds.values()), 0.62, color=BLUE)
    ax.bar_label(bars, [f"{value:.3g}" for value in seconds.values()], padding=3, fontsize=FONT_SIZE, color=INK)
    _dress(ax, list(seconds), "seconds of each phase")
    return ax


def _dress(ax: "Axes", names: list[str], title: str) -> None:
    ax.set_yticks(range(len(names)), [shortened(name) for name in names], parse_math=False)
    ax.set_ylim(max(len(names), 1) - 0.4, -0.6)
    ax.margins(x=0.15)
    ax.set_xticks([])
    ax.tick_params(axis="y", length=0, labelsize=FONT_SIZE, labelcolor=INK)
    ax.spines[["top", "right", "bottom"]].set_visible(False)
    ax.spines["left"].set_color(LINE)
    set_title(ax, title)
