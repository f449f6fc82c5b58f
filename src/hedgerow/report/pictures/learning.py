"""Pictures of learning: how a metric went, round by round, on training and validation rows."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hedgerow.errors import ParameterError
from hedgerow.model.learning_curve import learning_curve
from hedgerow.model.model import Model
from hedgerow.report.pictures.canvas import (
    COLOURS,
    DASHES,
    FONT_SIZE,
    INK,
    LINE,
    MARKS,
    add_legend,
    dress,
    new_axes,
)
from hedgerow.report.pictures.rows import Fitted, Rows, model_of, table_of
from hedgerow.report.tree_text import best_round
from hedgerow.trees.watched_metrics import OWN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HELD_OUT = "validation"


def plot_learning_curve(
    model: Model | Fitted, data: Mapping[str, Rows] | None = None, ax: "Axes | None" = None, *, first_round: int = 1
) -> "Axes":
    """The metric after every round: on the rows held out in training, and on labelled rows that are given by name.

    A continued model's `first_round` is not 1.
    """
    model = model_of(model)
    lines: dict[str, Sequence[float | None]] = {HELD_OUT: model.history} if model.history else {}
    for name, rows in (data or {}).items():
        lines[name] = learning_curve(model, table_of(model, rows))[1]
    metric = model.metric or OWN[model.loss.name]
    if not lines:
        raise ParameterError("The model has no history; train it with held-out rows, or give rows to have one.")
    return curve_picture(lines, metric, ax, first_round=first_round, kept=model.n_rounds)


def curve_picture(
    lines: Mapping[str, Sequence[float | None]], metric: str | None, ax: "Axes | None" = None, *,
    first_round: int = 1, kept: int | None = None, rounds_name: str = "round",
) -> "Axes":  # fmt: skip
    """Values of a metric after each round, by name; None where it is not known. The best of the first is marked."""
    ax = new_axes(3.9, 2.6, 0.6, 0.5) if ax is None else ax
    last = first_round
    for i, (name, values) in enumerate(lines.items()):
        rounds = range(first_round, first_round + len(values))
        last = max(last, rounds.stop - 1)
        known = [float("nan") if value is None else value for value in values]
        ax.plot(rounds, known, color=COLOURS[i % 6], linestyle=DASHES[i % 6], linewidth=1.8, marker=MARKS[i % 6],
                markersize=4, markevery=max(1, len(rounds) // 8), label=f"{name} rows")  # fmt: skip
    held_out = lines.get(HELD_OUT)
    if held_out and None not in held_out:
        _mark_best(ax, [value for value in held_out if value is not None], metric, first_round)
    if kept is not None and last > first_round + kept - 1 > first_round:
        ax.axvline(first_round + kept - 1, color=LINE, linewidth=1, linestyle=":")
    ax.margins(y=0.15)
    ax.locator_params(axis="x", integer=True)
    dress(ax, f"{metric or 'metric'} after each round", rounds_name, "", grid="y")
    add_legend(ax)
    return ax


def _mark_best(ax: "Axes", values: Sequence[float], metric: str | None, first_round: int) -> None:
    best = best_round(tuple(values), metric)
    at = (first_round + best, values[best])
    ax.plot(*([place] for place in at), "o", color=INK, markersize=5)
    ax.annotate(
        f"best {values[best]:.4g} in round {at[0]}", at, (0, 9),
        textcoords="offset points", fontsize=FONT_SIZE, color=INK, ha="right" if best > len(values) / 2 else "left",
        bbox={"fc": "white", "ec": "none", "alpha": 0.8, "pad": 0.5},
    )  # fmt: skip
