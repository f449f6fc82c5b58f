"""Pictures of a model and of its quality, by matplotlib. Each draws on the axes given, or new ones, and returns them.

They take a model or a fitted estimator. Curves of quality take labelled rows too: a table with labels, a pair
`(X, y)`, or `Judged`, what was counted of such rows.
"""

from hedgerow.report.pictures.canvas import check_suffix, content_of, save_picture
from hedgerow.report.pictures.comparison import plot_comparison
from hedgerow.report.pictures.curves import (
    plot_calibration,
    plot_confusion,
    plot_ks,
    plot_precision_recall,
    plot_roc,
)
from hedgerow.report.pictures.importances import plot_importance
from hedgerow.report.pictures.learning import plot_learning_curve
from hedgerow.report.pictures.trees import plot_model, plot_tree

__all__ = [
    "check_suffix",
    "content_of",
    "plot_calibration",
    "plot_comparison",
    "plot_confusion",
    "plot_importance",
    "plot_ks",
    "plot_learning_curve",
    "plot_model",
    "plot_precision_recall",
    "plot_roc",
    "plot_tree",
    "save_picture",
]
