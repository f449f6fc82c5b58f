"""Pictures of an explanation: importances over all parties, and the direction of a column's effect."""

from typing import TYPE_CHECKING

from hedgerow.report.explain_effects import Effect
from hedgerow.report.importance import ColumnUse, importance_shares
from hedgerow.report.pictures.canvas import (
    COLOURS,
    DASHES,
    FONT_SIZE,
    INK,
    LINE,
    MARKS,
    add_legend,
    new_axes,
    set_title,
)
from hedgerow.report.pictures.importances import MOST_BARS, share_bars
from hedgerow.report.pictures.tree_layout import shortened
from hedgerow.trees.forest import ImportanceKind

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BIN_WIDTH, HEIGHT, LEFT, BELOW = 0.42, 2.4, 0.8, 1.3  # inches
NARROWEST, WIDEST = 3.0, 3.8
LONGEST_BIN = 22


def used_picture(
    uses: list[ColumnUse], kind: ImportanceKind = "gain", ax: "Axes | None" = None, *, most: int = MOST_BARS
) -> "Axes":
    """The largest shares of the gain, cuts or cover over all parties' columns, as bars."""
    return share_bars(importance_shares(uses, kind), kind, ax, most=most)


def effect_picture(effect: Effect, ax: "Axes | None" = None) -> "Axes":
    """What the bins of a column add to the score on average: steps where they follow each other, else bars."""
    n = len(effect.bins)
    ax = new_axes(min(max(BIN_WIDTH * n, NARROWEST), WIDEST), HEIGHT, LEFT, BELOW) if ax is None else ax
    ax.axhline(0, color=LINE, linewidth=0.8, zorder=1)
    for i, adds in enumerate(effect.adds):
        colour, dash, mark = (of[i % len(of)] for of in (COLOURS, DASHES, MARKS))
        label = effect.classes[i] if effect.classes else None
        if effect.ordered:
            ax.plot(
                range(n - 1),
                adds[:-1],
                color=colour,
                linestyle=dash,
                linewidth=1.8,
                marker=mark,
                markersize=3.5,
                label=label,
            )
            ax.plot([n - 1], adds[-1:], "D", color=colour, markersize=5, markerfacecolor="white")
        else:
            width = 0.8 / len(effect.adds)
            places = [place - 0.4 + width * (i + 0.5) for place in range(n)]
            ax.bar(places, adds, width, color=colour, label=label)
    _dress(ax, effect)
    return ax


def _dress(ax: "Axes", effect: Effect) -> None:
    bins = [name if len(name) <= LONGEST_BIN else f"{name[: LONGEST_BIN - 1]}…" for name in effect.bins]
    ax.set_xticks(range(len(bins)), bins, rotation=45, ha="right", rotation_mode="anchor", parse_math=False)
    ax.set_xlim(-0.6, len(bins) - 0.4)
    ax.margins(y=0.15)
    ax.tick_params(labelsize=FONT_SIZE, labelcolor=INK, color=LINE)
    ax.set_ylabel("adds to the score", color=INK, fontsize=FONT_SIZE + 0.5)
    ax.spines[["top", "right"]].set_visible(False)
    if effect.classes:
        add_legend(ax)
    direction = f" ({effect.direction})" if effect.direction else ""
    set_title(ax, f"{shortened(effect.use.label)}{direction}")
