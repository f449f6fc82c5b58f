"""How metrics went over the rounds, on every set of rows that a fit was given: `evals_result_`, `best_iteration_`.

The last metric on the last set ends training early, as in XGBoost; its values are those of training. Others are
computed afterwards, from the trees that were kept, round by round.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hedgerow.data.table import Table
from hedgerow.errors import ParameterError
from hedgerow.estimators.inputs import held_out
from hedgerow.model import labels as ground
from hedgerow.model.model import Model
from hedgerow.trees.losses import LabelFacts
from hedgerow.trees.watched_metrics import OWN, Metric

Results = dict[str, dict[str, list[float]]]


def metric_names(given: Any) -> tuple[str, ...]:
    """The metrics that were asked for: one name, or several."""
    if given is None:
        return ()
    names = tuple(given) if isinstance(given, list | tuple) else (given,)
    if not names:
        raise ParameterError("eval_metric is an empty list; name a metric, or leave it out.")
    return names


def pairs_of(eval_set: Any) -> list[Any]:
    """The sets of rows that were given: one pair, or several."""
    if eval_set is None:
        return []
    return [eval_set] if isinstance(eval_set, tuple) else list(eval_set)


def results(model: Model, eval_set: Any, names: Sequence[str], categorical: Any, like: Table, threads: int) -> Results:
    """Every metric on every set, `validation_0` and so on.

    Those of the last set and metric are of all rounds, also of those behind the best, which the model does not keep.
    """
    if model.metric is None:
        return {}
    pairs, wanted = pairs_of(eval_set), names or (OWN[model.loss.name],)
    found: Results = {}
    for number, pair in enumerate(pairs):
        last = number == len(pairs) - 1
        watched = {name: list(model.history) for name in wanted[-1:] if last}
        others = [name for name in wanted if name not in watched]
        more = _staged(model, held_out([pair], categorical, like), others, threads) if others else {}
        found[f"validation_{number}"] = {name: {**more, **watched}[name] for name in wanted}
    return found


def best_of(model: Model, facts: LabelFacts = LabelFacts(0.0, 1.0, 1.0)) -> int | None:  # noqa: B008  # frozen
    """The round with the best value, counted from 0; None where no metric was followed."""
    if model.metric is None or not model.history:
        return None
    metric, best = Metric(model.metric, model.loss, facts), 0
    for i, value in enumerate(model.history):
        if metric.better(value, model.history[best]):
            best = i
    return best


def _staged(model: Model, table: Table, names: Sequence[str], threads: int) -> dict[str, list[float]]:
    """Metrics after every round that the model has."""
    seen = ground.used(model.aligned(table))
    labels, weights = ground.labels_of(seen, model.classes), ground.own_weights(seen)
    heaviest = float(weights.max(initial=0)) or 1.0
    low, high = (0.0, len(model.classes) - 1.0) if model.classes else (float(labels.min()), float(labels.max()))
    metrics = [Metric(name, model.loss, LabelFacts(low, high, heaviest)) for name in names]
    found: dict[str, list[float]] = {name: [] for name in names}
    scores = np.full((seen.n_rows, model.loss.n_trees), model.base_score, np.float32)
    for round_ in range(model.n_rounds):
        part = model.forest.part(round_ * model.loss.n_trees, (round_ + 1) * model.loss.n_trees)
        part.add_scores(seen.values, seen.absent, scores, threads)
        by_tree = np.ascontiguousarray(scores.T)
        for metric in metrics:
            found[metric.name].append(metric.of_sums(metric.sums(by_tree, labels, weights)))
    return found
