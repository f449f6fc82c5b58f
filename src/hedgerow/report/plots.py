"""Pictures of a model, by matplotlib. Each function draws on the axes given, or on new ones, and returns them.

Figures are made without pyplot: nothing stays behind in a global list, and no window is opened.
"""

import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow.errors import MissingExtra, ParameterError
from hedgerow.model.file import write_whole
from hedgerow.model.model import Model
from hedgerow.report.tree_layout import Box, laid_out, shortened
from hedgerow.report.tree_text import best_round, check_tree, plain, tree_title
from hedgerow.trees.forest import ImportanceKind

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, LINE, PALE, GREEN = "#26323a", "#9aa8a1", "#eef2ef", "#4c7f5b"
LEVEL, LEAF, CUT_WIDTH, LEAF_WIDTH = 2.7, 0.4, 1.85, 0.8  # inches
BARS_MARGIN, BAR = 2.1, 0.27
FONT_SIZE, TITLE_SIZE = 8.5, 10.5
MOST_BARS = 15
SUFFIXES = (".png", ".svg", ".pdf")
COLOURS = "RdBu"


def tree_picture(model: Model, tree: int, ax: "Axes | None" = None, *, levels: int = 6) -> "Axes":
    """One tree, its root at the left, leaves coloured by value; what lies deeper than `levels` cuts is counted."""
    check_tree(model, tree)
    boxes = laid_out(model, tree, levels)
    width, height = _size(boxes)
    ax = new_axes(width, height) if ax is None else ax
    set_title(ax, f"{tree_title(model, tree)}{_meaning(model)}")
    ax.set_axis_off()
    ax.set_xlim(0, width)
    ax.set_ylim(height, 0)
    size = FONT_SIZE * _scale(ax, width, height)
    greatest = max((abs(box.value) for box in boxes if box.value is not None), default=0.0) or 1.0
    for box in boxes:
        if box.parent is not None:
            _draw_edge(ax, box, box.parent, size)
        _draw_box(ax, box, size, greatest)
    return ax


def importance_picture(
    model: Model, kind: ImportanceKind = "gain", ax: "Axes | None" = None, *, most: int = MOST_BARS
) -> "Axes":
    """The largest shares of the forest's gain, cuts or cover, as bars."""
    if kind not in ("gain", "split", "cover"):
        raise ParameterError(f"The kind of importance must be gain, split or cover; it is {kind!r}.")
    return share_bars(model.importances(kind), kind, ax, most=most)


def share_bars(
    shares: Mapping[str, float], kind: ImportanceKind, ax: "Axes | None" = None, *, most: int = MOST_BARS
) -> "Axes":
    """The largest of some columns' shares of the gain, cuts or cover, as bars."""
    top = [(name, share) for name, share in shares.items() if share > 0][:most]
    ax = new_axes(5.0, _bars_height(len(top)), BARS_MARGIN) if ax is None else ax
    places = range(len(top))
    bars = ax.barh(places, [share for _, share in top], color=GREEN, height=0.7)
    ax.bar_label(bars, [f"{share:.1%}" for _, share in top], padding=3, fontsize=FONT_SIZE, color=INK)
    ax.set_yticks(places, [shortened(name) for name, _ in top], parse_math=False)
    ax.set_ylim(max(len(top), 1) - 0.4, -0.6)
    ax.set_xlim(0, 1.15 * max((share for _, share in top), default=1.0))
    ax.set_xticks([])
    ax.tick_params(axis="y", length=0, labelsize=FONT_SIZE, labelcolor=INK)
    ax.spines[["top", "right", "bottom"]].set_visible(False)
    set_title(ax, f"columns by their share of the {'number of cuts' if kind == 'split' else kind}")
    return ax


def history_picture(model: Model, ax: "Axes | None" = None, *, first_round: int = 1) -> "Axes":
    """The metric on the held-out rows after every round; a continued model's `first_round` is not 1."""
    if not model.history:
        raise ParameterError("The model has no history; train it with held-out rows to have one.")
    ax = new_axes(6.0, 3.6, 0.9, 0.6) if ax is None else ax
    rounds = range(first_round, first_round + len(model.history))
    best = best_round(model.history, model.metric)
    ax.plot(rounds, model.history, color=GREEN, linewidth=1.8, marker="o" if len(rounds) < 3 else None)
    ax.plot([rounds[best]], [model.history[best]], "o", color=INK, markersize=5)
    ax.annotate(
        f"best {model.history[best]:.4g} in round {rounds[best]}", (rounds[best], model.history[best]),
        (0, 8 if model.metric == "auc" else -16), textcoords="offset points", fontsize=FONT_SIZE, color=INK,
        ha="right" if best > len(rounds) / 2 else "left",
    )  # fmt: skip
    ax.margins(y=0.15)
    ax.set_xlabel("round", color=INK, fontsize=FONT_SIZE + 0.5)
    ax.tick_params(labelsize=FONT_SIZE, labelcolor=INK, color=LINE)
    ax.locator_params(axis="x", integer=True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color=PALE)
    set_title(ax, f"{model.metric} on held-out rows")
    return ax


def model_picture(model: Model, tree: int = 0, kind: ImportanceKind = "gain", *, levels: int = 6) -> "Figure":
    """A tree, and below it the importances of the columns."""
    check_tree(model, tree)
    width, height = _size(laid_out(model, tree, levels))
    bars = _bars_height(min(sum(share > 0 for share in model.importances(kind).values()), MOST_BARS))
    figure, above = _figure(max(width, BARS_MARGIN + 5.2), height + bars + 1.1), 0.4
    whole_width, whole = figure.get_size_inches()
    upper = figure.add_axes((0, (bars + 0.6) / whole, width / whole_width, height / whole))
    bars_at = (BARS_MARGIN / whole_width, (whole - above - height - bars - 0.6) / whole)
    lower = figure.add_axes((*bars_at, 5.0 / whole_width, bars / whole))
    tree_picture(model, tree, upper, levels=levels)
    importance_picture(model, kind, lower)
    return figure


def save_picture(picture: "Axes | Figure", path: str | os.PathLike[str]) -> None:
    """Write a picture as PNG, SVG or PDF, told by the suffix; the file appears whole or not at all."""
    path = Path(path)
    check_suffix(path)
    figure: Any = picture if hasattr(picture, "savefig") else picture.figure
    _matplotlib().backends.backend_agg.FigureCanvasAgg(figure)
    content = io.BytesIO()
    figure.savefig(content, format=path.suffix.lower()[1:], dpi=110, facecolor="white", bbox_inches="tight")
    write_whole(path, content.getvalue())


def check_suffix(path: Path) -> None:
    """Refuse a kind of picture that cannot be written, or all of them where matplotlib is absent."""
    if path.suffix.lower() not in SUFFIXES:
        raise ParameterError(f"The picture {path} must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}.")
    _matplotlib()


# Figures


def _matplotlib() -> Any:
    try:
        import matplotlib
        import matplotlib.backends.backend_agg
        import matplotlib.figure
        import matplotlib.patches
        import matplotlib.path
    except ImportError:
        raise MissingExtra("Pictures need matplotlib; run: pip install 'hedgerow[plots]'") from None
    return matplotlib


def _figure(width: float, height: float) -> "Figure":
    library = _matplotlib()
    figure: Figure = library.figure.Figure(figsize=(width, height))
    library.backends.backend_agg.FigureCanvasAgg(figure)
    return figure


def new_axes(width: float, height: float, left: float = 0.05, below: float = 0.05) -> "Axes":
    """Axes of this size in inches, in a figure with room for a title."""
    whole_width, whole = width + left + 0.1, height + below + 0.4
    figure = _figure(whole_width, whole)
    return figure.add_axes((left / whole_width, below / whole, width / whole_width, height / whole))


def _bars_height(n: int) -> float:
    return BAR * max(n, 1) + 0.1


def _size(boxes: list[Box]) -> tuple[float, float]:
    """Width and height of a tree in inches."""
    last = max(box.level for box in boxes)
    width = last * LEVEL + (CUT_WIDTH if any(box.level == last and box.cuts for box in boxes) else LEAF_WIDTH)
    return width, max((max(box.y for box in boxes) + 1) * LEAF, 2 * LEAF)


def _scale(ax: "Axes", width: float, height: float) -> float:
    """How much smaller than planned the axes are."""
    extent = ax.get_window_extent()
    dpi = ax.get_figure(root=True).get_dpi()  # type: ignore[union-attr]  # axes that are drawn on have a figure
    return min(1.0, extent.width / dpi / width, extent.height / dpi / height)


def _meaning(model: Model) -> str:
    """What a leaf's number is, for a title."""
    whose = f" of {plain(str(model.classes[1]))}" if len(model.classes) == 2 else ""
    return f": leaves {'are averaged into' if model.params.average else 'add to'} the score{whose}"


def set_title(ax: "Axes", text: str) -> None:
    """What the axes show, above them at the left."""
    ax.set_title(text, loc="left", color=INK, fontsize=TITLE_SIZE, parse_math=False)


# Boxes and edges of a tree


def _draw_box(ax: "Axes", box: Box, size: float, greatest: float) -> None:
    library = _matplotlib()
    width, height = (CUT_WIDTH, 0.84 * LEAF) if box.cuts else (LEAF_WIDTH, 0.6 * LEAF)
    fill, ink = PALE, INK
    if box.value is not None:
        colour = library.colormaps[COLOURS](0.5 + 0.4 * box.value / greatest)
        fill, ink = colour, "white" if 0.3 * colour[0] + 0.6 * colour[1] + 0.1 * colour[2] < 0.55 else INK
    x, y = box.level * LEVEL, (box.y + 0.5) * LEAF
    edge = LINE if box.value is None else "none"
    corner = library.patches.BoxStyle("Round", pad=0, rounding_size=0.06)
    ax.add_patch(
        library.patches.FancyBboxPatch(
            (x, y - height / 2), width, height, corner, fc=fill, ec=edge, lw=0.8, zorder=2, clip_on=False
        )
    )
    ax.text(
        x + width / 2, y, box.text, ha="center", va="center", fontsize=size, color=ink, zorder=3, linespacing=1.05,
        parse_math=False,
    )  # fmt: skip


def _draw_edge(ax: "Axes", box: Box, parent: Box, size: float) -> None:
    library = _matplotlib()
    start = (parent.level * LEVEL + CUT_WIDTH, (parent.y + 0.5) * LEAF)
    end = (box.level * LEVEL, (box.y + 0.5) * LEAF)
    middle = (start[0] + end[0]) / 2
    curve = library.path.Path([start, (middle, start[1]), (start[0], end[1]), (middle, end[1]), end], [1, 4, 4, 4, 2])
    ax.add_patch(library.patches.PathPatch(curve, fill=False, ec=LINE, lw=1.1, zorder=1))
    above = box.y < parent.y
    ax.text(
        end[0] - 0.05, end[1] + (-0.025 if above else 0.035), box.branch, ha="right", va="bottom" if above else "top",
        fontsize=0.8 * size, color=INK, zorder=3,
    )  # fmt: skip
