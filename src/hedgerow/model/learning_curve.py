"""How a metric goes on some rows as the trees of a model are added, round by round; computed where the rows are."""

import numpy as np

from hedgerow.data.table import Table
from hedgerow.errors import DataError
from hedgerow.model.labels import labels_of, own_weights
from hedgerow.model.model import Model
from hedgerow.trees.forest import averaged
from hedgerow.trees.losses import LabelFacts
from hedgerow.trees.watched_metrics import OWN, Metric


def learning_curve(model: Model, table: Table, threads: int = 1) -> tuple[str, tuple[float, ...]]:
    """The metric's name, that of training where one was followed, and its value after each round."""
    table = model.aligned(table)
    if table.labels is None:
        raise DataError("The rows have no labels to follow a metric on; name the label column.")
    metric = metric_of(model, table)
    labels, weights = labels_of(table, model.classes), own_weights(table)
    start = 0.0 if model.params.average else model.base_score
    scores = np.full((table.n_rows, model.loss.n_trees), start, np.float32)
    values = []
    for done in range(1, model.n_rounds + 1):
        trees = model.forest.part((done - 1) * model.loss.n_trees, done * model.loss.n_trees)
        trees.add_scores(table.values, table.absent, scores, threads)
        seen = averaged(scores, model.base_score, done) if model.params.average else scores
        values.append(metric.of_sums(metric.sums(np.ascontiguousarray(seen.T), labels, weights)))
    return metric.name, tuple(values)


def metric_of(model: Model, table: Table) -> Metric:
    """The metric of training, or the one that measures the loss itself."""
    labels, weights = labels_of(table, model.classes), own_weights(table)
    heaviest = float(weights.max(initial=0)) or 1.0
    facts = LabelFacts(float(labels.min()), float(labels.max()), heaviest)
    return Metric(model.metric or OWN[model.loss.name], model.loss, facts)
