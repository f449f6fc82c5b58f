"""A picture of the meta-rule measure: the share of trees that one rule fixes, beside its control."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hedgerow.model.meta_rules import MetaRules
from hedgerow.report.pictures.canvas import FONT_SIZE, GREEN, INK, LINE, PALE, new_axes, set_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GROUP, HEIGHT, LEFT, BELOW, BAR = 1.15, 2.6, 0.7, 0.4, 0.36  # inches, and the width of a bar


def meta_rule_picture(
    found: Mapping[str, Sequence[MetaRules]], ax: "Axes | None" = None, *, claimed: float | None = None
) -> "Axes":
    """For each data set the mean over its measures as bars, the measures themselves as points.

    Green is the forest as it is, grey that whose passive columns were shuffled; `claimed` is drawn as a line.
    """
    ax = new_axes(max(GROUP * len(found), 3.0), HEIGHT, LEFT, BELOW) if ax is None else ax
    kinds = (("passive columns as they are", GREEN), ("shuffled over the rows", LINE))
    for side, (label, colour) in zip((-0.5, 0.5), kinds, strict=True):
        for place, measures in enumerate(found.values()):
            shares = [(one.passive if side < 0 else one.shuffled).nearly for one in measures]
            at = place + side * BAR
            mean = sum(shares) / len(shares)
            ax.bar(at, mean, BAR, color=colour, label=label if place == 0 else None, zorder=2)
            ax.plot([at] * len(shares), shares, "o", color=INK, markersize=2.5, zorder=3)
            ax.annotate(f"{mean:.2f}", (at, max(*shares, mean)), (0, 4), textcoords="offset points", ha="center",
                        fontsize=FONT_SIZE, color=INK)  # fmt: skip
    if claimed is not None:
        ax.axhline(claimed, color=INK, linewidth=1, linestyle="--", label=f"the paper: over {claimed:g}")
    _dress(ax, list(found))
    return ax


def _dress(ax: "Axes", names: list[str]) -> None:
    ax.set_xticks(range(len(names)), names, parse_math=False)
    ax.set_xlim(-0.6, len(names) - 0.4)
    ax.set_ylim(0, 1)
    ax.set_ylabel("share of trees", color=INK, fontsize=FONT_SIZE + 0.5)
    ax.tick_params(labelsize=FONT_SIZE, labelcolor=INK, color=LINE)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color=PALE, zorder=0)
    ax.set_axisbelow(True)
    ax.legend(fontsize=FONT_SIZE, frameon=False, loc="upper left", bbox_to_anchor=(0, 0.92))
    set_title(ax, "trees whose value one passive rule fixes")
