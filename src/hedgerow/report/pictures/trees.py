"""Pictures of trees: every cut with whose column it is of, every branch with the share of rows that takes it."""

from typing import TYPE_CHECKING, Any

from hedgerow.model.model import Model
from hedgerow.report.pictures.canvas import (
    COLOURS,
    FONT_SIZE,
    INK,
    LINE,
    PALE,
    add_legend,
    matplotlib,
    new_axes,
    new_figure,
    set_title,
)
from hedgerow.report.pictures.importances import BARS_MARGIN, MOST_BARS, WIDTH, bars_height, plot_importance
from hedgerow.report.pictures.rows import Fitted, model_of
from hedgerow.report.pictures.tree_layout import Box, laid_out
from hedgerow.report.tree_text import check_tree, plain, tree_title
from hedgerow.trees.forest import ImportanceKind

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEVEL, LEAF, CUT_WIDTH, LEAF_WIDTH = 2.95, 0.42, 1.9, 0.8  # inches
STRIP = 0.2
LEGEND_HEIGHT = 0.3
VALUES = "RdBu"


def plot_tree(model: Model | Fitted, tree: int = 0, ax: "Axes | None" = None, *, levels: int = 6) -> "Axes":
    """One tree, its root at the left, leaves coloured by value; what lies deeper than `levels` cuts is counted.

    In a model over several parties' columns a strip with a letter and a colour says whose column a cut is of. The
    share at a branch is that of the tree's rows by their weight in training (hessians), in a first tree that of rows.
    """
    model = model_of(model)
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
    owners = _owners(model, boxes)
    for box in boxes:
        if box.parent is not None:
            _draw_edge(ax, box, box.parent, size)
        _draw_box(ax, box, size, greatest)
        if box.owner in owners:
            _draw_owner(ax, box, owners[box.owner], size)
    if owners:
        handles = [matplotlib().patches.Patch(color=colour, label=f"{letter}: {plain(owner)}")
                   for owner, (letter, colour) in owners.items()]  # fmt: skip
        add_legend(ax, handles=handles, loc="upper left", bbox_to_anchor=(0.0, 0.0), ncols=4, handlelength=1.0)
    return ax


def plot_model(model: Model | Fitted, tree: int = 0, kind: ImportanceKind = "gain", *, levels: int = 6) -> "Figure":
    """A tree, and below it the importances of the columns."""
    model = model_of(model)
    check_tree(model, tree)
    boxes = laid_out(model, tree, levels)
    width, height = _size(boxes)
    bars = bars_height(min(sum(share > 0 for share in model.importances(kind).values()), MOST_BARS))
    legend = LEGEND_HEIGHT * bool(_owners(model, boxes))
    figure, above = new_figure(max(width, BARS_MARGIN + WIDTH + 0.2), height + bars + 1.1 + legend), 0.4
    whole_width, whole = figure.get_size_inches()
    upper = figure.add_axes((0, (bars + 0.6 + legend) / whole, width / whole_width, height / whole))
    bars_at = (BARS_MARGIN / whole_width, (whole - above - height - bars - 0.6 - legend) / whole)
    lower = figure.add_axes((*bars_at, WIDTH / whole_width, bars / whole))
    plot_tree(model, tree, upper, levels=levels)
    plot_importance(model, kind, lower)
    return figure


def _owners(model: Model, boxes: list[Box]) -> dict[str, tuple[str, str]]:
    """A letter and a colour of each owner, the same in every tree of a model."""
    own = model.ownership
    if own is None:
        return {}
    groups = [", ".join(next((g for g in own.groups if name in g), (name,))) for name, _ in own.columns]
    seen = {box.owner for box in boxes}
    marks = {owner: (_letter(i), COLOURS[i % len(COLOURS)]) for i, owner in enumerate(groups)}
    return {owner: mark for owner, mark in marks.items() if owner in seen}


def _letter(number: int) -> str:
    """A, B, ... Z, then numbers."""
    return chr(ord("A") + number) if number < 26 else str(number + 1)


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


def _draw_box(ax: "Axes", box: Box, size: float, greatest: float) -> None:
    library = matplotlib()
    width, height = (CUT_WIDTH, 0.86 * LEAF) if box.cuts else (LEAF_WIDTH, 0.6 * LEAF)
    fill: Any = PALE
    ink = INK
    if box.value is not None:
        fill = colour = library.colormaps[VALUES](0.5 + 0.4 * box.value / greatest)
        ink = "white" if 0.3 * colour[0] + 0.6 * colour[1] + 0.1 * colour[2] < 0.55 else INK
    x, y = box.level * LEVEL, (box.y + 0.5) * LEAF
    edge = LINE if box.value is None else "none"
    corner = library.patches.BoxStyle("Round", pad=0, rounding_size=0.06)
    ax.add_patch(
        library.patches.FancyBboxPatch(
            (x, y - height / 2), width, height, corner, fc=fill, ec=edge, lw=0.8, zorder=2, clip_on=False
        )
    )
    middle = x + (width + STRIP * bool(box.owner)) / 2
    ax.text(
        middle, y, box.text, ha="center", va="center", fontsize=size * (0.94 if box.cuts else 1), color=ink, zorder=3,
        linespacing=1.05, parse_math=False,
    )  # fmt: skip


def _draw_owner(ax: "Axes", box: Box, mark: tuple[str, str], size: float) -> None:
    """A strip at the left of a cut with its owner's colour and letter."""
    letter, colour = mark
    x, y, height = box.level * LEVEL, (box.y + 0.5) * LEAF, 0.86 * LEAF
    ax.add_patch(matplotlib().patches.Rectangle((x, y - height / 2), STRIP, height, fc=colour, ec="none", zorder=2.5))
    ink = "white" if colour in COLOURS[:2] else INK
    ax.annotate(letter, (x + STRIP / 2, y), ha="center", va="center", fontsize=size, color=ink, weight="bold", zorder=3)


def _draw_edge(ax: "Axes", box: Box, parent: Box, size: float) -> None:
    library = matplotlib()
    start = (parent.level * LEVEL + CUT_WIDTH, (parent.y + 0.5) * LEAF)
    end = (box.level * LEVEL, (box.y + 0.5) * LEAF)
    middle = (start[0] + end[0]) / 2
    curve = library.path.Path([start, (middle, start[1]), (start[0], end[1]), (middle, end[1]), end], [1, 4, 4, 4, 2])
    ax.add_patch(library.patches.PathPatch(curve, fill=False, ec=LINE, lw=0.8 + 2.2 * box.share, zorder=1))
    above = box.y < parent.y
    ax.text(
        end[0] - 0.06, end[1] + (-0.03 if above else 0.04), f"{box.branch} {_percent(box.share)}", ha="right",
        va="bottom" if above else "top", fontsize=0.8 * size, color=INK, zorder=3,
    )  # fmt: skip


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.01 or share == 0 else "<1%"
