"""Pictures of a classifier's quality on labelled rows: ROC, precision-recall, calibration, KS, confusion.

Each takes a model (or a fitted estimator) and labelled rows: a table, values and labels, or what was counted of them
(`Judged`), which holds no row. Whoever draws sees what the rows' owner sees.
"""

from typing import TYPE_CHECKING

import numpy as np

from hedgerow.errors import ParameterError
from hedgerow.model.model import Model
from hedgerow.model.score_counts import MOST_CLASSES, Judged, ScoreCounts
from hedgerow.report.pictures.canvas import (
    BLUE,
    COLOURS,
    DASHES,
    FONT_SIZE,
    INK,
    LINE,
    MARKS,
    RED,
    add_legend,
    dress,
    new_axes,
)
from hedgerow.report.pictures.rows import Fitted, Rows, curves_of, judged_of
from hedgerow.report.pictures.tree_layout import shortened
from hedgerow.report.tree_text import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, HEIGHT, LEFT, BELOW = 3.3, 2.9, 0.62, 0.5  # inches
MARKERS = 8
"""Marks on a line."""
CELL, MARGIN = 0.5, 1.3


def plot_roc(model: Model | Fitted | None, data: Rows, ax: "Axes | None" = None) -> "Axes":
    """Of both classes the shares above each threshold: the true positives over the false ones."""
    ax = _axes(ax)
    ax.plot([0, 1], [0, 1], color=LINE, linewidth=1, linestyle=":", zorder=1)
    told = judged_of(model, data)
    for i, one in enumerate(curves_of(told, "ROC curves")):
        false, true = one.rates()
        _line(ax, false, true, i, f"{_named(one)}AUC {exact(told, 'auc', one.auc):.3f}")
    dress(ax, "ROC", "false positives (share of the negatives)", "true positives (share)")
    add_legend(ax, loc="lower right")
    return ax


def plot_precision_recall(model: Model | Fitted | None, data: Rows, ax: "Axes | None" = None) -> "Axes":
    """How many of the rows above each threshold are positive, over the share of the positives that are found."""
    ax = _axes(ax)
    told = judged_of(model, data)
    curves = curves_of(told, "Precision-recall curves")
    for i, one in enumerate(curves):
        recall, precision = one.precisions()
        _line(ax, np.concatenate([[0], recall]), np.concatenate([precision[:1], precision]), i,
              f"{_named(one)}average {exact(told, 'auprc', one.average_precision):.3f}")  # fmt: skip
    if len(curves) == 1:
        ax.axhline(curves[0].share, color=LINE, linewidth=1, linestyle=":", label=f"by chance {curves[0].share:.3f}")
    ax.set_ylim(0, 1.03)
    dress(ax, "precision and recall", "recall (share of the positives found)", "precision")
    add_legend(ax, loc="lower left")
    return ax


def plot_calibration(model: Model | Fitted | None, data: Rows, ax: "Axes | None" = None, *, bins: int = 10) -> "Axes":
    """Whether probabilities come true, in groups of about equally many rows; of numbers, the means of both."""
    ax, told = _axes(ax), judged_of(model, data)
    if not told.classes:
        said, true = np.array(told.predicted), np.array(told.labels)
        low, high = min(said.min(), true.min()), max(said.max(), true.max())
        ax.plot([low, high], [low, high], color=LINE, linewidth=1, linestyle=":")
        ax.plot(said, true, color=BLUE, marker="o", markersize=3.5, linewidth=0)
        dress(ax, "calibration", "mean prediction", "mean label")
        return ax
    ax.plot([0, 1], [0, 1], color=LINE, linewidth=1, linestyle=":", label="exact")
    for i, one in enumerate(curves_of(told, "Calibration curves")):
        said, true = one.calibration(bins)
        ax.plot(said, true, color=COLOURS[i % 6], linestyle=DASHES[i % 6], marker=MARKS[i % 6], markersize=5,
                linewidth=1.6, label=_named(one).removesuffix(": "))  # fmt: skip
    dress(ax, "calibration", "mean predicted probability", "share of positives")
    add_legend(ax, loc="upper left")
    return ax


def plot_ks(model: Model | Fitted | None, data: Rows, ax: "Axes | None" = None) -> "Axes":
    """Of two classes the shares below each probability; the greatest distance is the KS statistic."""
    ax, told = _axes(ax), judged_of(model, data)
    if len(told.classes) != 2:
        raise ParameterError(f"The KS statistic is of two classes; there are {len(told.classes)}.")
    one = told.scores[0]
    false, true = (1 - rate[::-1] for rate in one.rates())
    at = np.concatenate([[0.0], one.probability])
    where = int(np.argmax(false - true))
    for i, (rate, name) in enumerate(((false, told.classes[0]), (true, told.classes[1]))):
        _line(ax, at, rate, i, shortened(name))
    ax.plot([at[where]] * 2, [true[where], false[where]], color=INK, linewidth=1.2, linestyle="-")
    middle = (at[where], (true[where] + false[where]) / 2)
    ax.annotate(f"KS {exact(told, 'ks', one.ks):.3f}", middle, (6, 0), textcoords="offset points", fontsize=FONT_SIZE,
                color=INK, va="center")  # fmt: skip
    dress(ax, "KS: how far the classes are apart", f"probability of {shortened(told.classes[1])}", "share below it")
    add_legend(ax, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)
    return ax


def plot_confusion(model: Model | Fitted | None, data: Rows, ax: "Axes | None" = None) -> "Axes":
    """How many rows of each class are taken for which, the likeliest class being chosen."""
    told = judged_of(model, data)
    if not told.confusion:
        raise ParameterError(f"A confusion matrix is of 2 to {MOST_CLASSES} classes; there are {len(told.classes)}.")
    n, counts = len(told.classes), np.array(told.confusion)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    side = max(CELL * n, 1.9)
    ax = new_axes(side, side * 0.8, MARGIN, 0.9) if ax is None else ax
    ax.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for (i, j), count in np.ndenumerate(counts):
        text = f"{count:.6g}" if n > 4 else f"{count:.6g}\n{shares[i, j]:.1%}"
        ink = "white" if shares[i, j] > 0.55 else INK
        ax.text(j, i, text, ha="center", va="center", color=ink, fontsize=FONT_SIZE - (n > 6))
    names = [shortened(plain(name))[:14] for name in told.classes]
    dress(ax, "confusion", "taken for", "is", grid="")
    ax.set_xticks(range(n), names, rotation=0 if n < 4 else 45, parse_math=False)
    ax.set_yticks(range(n), names, parse_math=False)
    return ax


def exact(told: Judged, metric: str, counted: float) -> float:
    """The metric of two classes as it was computed of the rows themselves, else as the counts have it."""
    return told.metrics.get(metric, counted) if len(told.classes) == 2 else counted


def _axes(ax: "Axes | None") -> "Axes":
    return new_axes(WIDTH, HEIGHT, LEFT, BELOW) if ax is None else ax


def _named(one: ScoreCounts) -> str:
    return f"{shortened(one.of)}: "


def _line(ax: "Axes", x: object, y: object, number: int, label: str) -> None:
    """A line that differs from the others in its colour, its dashes and its marks."""
    n = len(x)  # type: ignore[arg-type]  # an array
    ax.plot(
        x, y, color=(BLUE, RED, *COLOURS[2:])[number % 6], linestyle=DASHES[number % 6], linewidth=1.7,  # type: ignore[arg-type]
        marker=MARKS[number % 6], markersize=4, markevery=max(1, n // MARKERS), label=label,
    )  # fmt: skip
