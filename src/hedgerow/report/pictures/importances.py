"""Pictures of importances: the columns that matter most, as bars."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hedgerow.errors import ParameterError
from hedgerow.model.model import Model
from hedgerow.report.pictures.canvas import BLUE, FONT_SIZE, INK, LINE, new_axes, set_title
from hedgerow.report.pictures.rows import Fitted, model_of
from hedgerow.report.pictures.tree_layout import shortened
from hedgerow.trees.forest import ImportanceKind

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BARS_MARGIN, BAR = 2.1, 0.27
WIDTH = 3.2
MOST_BARS = 15


def plot_importance(
    model: Model | Fitted, kind: ImportanceKind = "gain", ax: "Axes | None" = None, *, most: int = MOST_BARS
) -> "Axes":
    """The largest shares of the forest's gain, cuts or cover, as bars."""
    if kind not in ("gain", "split", "cover"):
        raise ParameterError(f"The kind of importance must be gain, split or cover; it is {kind!r}.")
    return share_bars(model_of(model).importances(kind), kind, ax, most=most)


def share_bars(
    shares: Mapping[str, float], kind: ImportanceKind, ax: "Axes | None" = None, *, most: int = MOST_BARS
) -> "Axes":
    """The largest of some columns' shares of the gain, cuts or cover, as bars."""
    top = [(name, share) for name, share in shares.items() if share > 0][:most]
    ax = new_axes(WIDTH, bars_height(len(top)), BARS_MARGIN) if ax is None else ax
    places = range(len(top))
    bars = ax.barh(places, [share for _, share in top], color=BLUE, height=0.7)
    ax.bar_label(bars, [f"{share:.1%}" for _, share in top], padding=3, fontsize=FONT_SIZE, color=INK)
    ax.set_yticks(places, [shortened(name) for name, _ in top], parse_math=False)
    ax.set_ylim(max(len(top), 1) - 0.4, -0.6)
    ax.set_xlim(0, 1.2 * max((share for _, share in top), default=1.0))
    ax.set_xticks([])
    ax.tick_params(axis="y", length=0, labelsize=FONT_SIZE, labelcolor=INK)
    ax.spines[["top", "right", "bottom"]].set_visible(False)
    ax.spines["left"].set_color(LINE)
    set_title(ax, f"columns by their share of the {'number of cuts' if kind == 'split' else kind}")
    return ax


def bars_height(n: int) -> float:
    """Inches of so many bars."""
    return BAR * max(n, 1) + 0.1
