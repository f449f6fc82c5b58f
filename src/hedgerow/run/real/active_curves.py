"""What the active party of a run over columns sees of the model's quality on its own rows; kept in its own folder.

It has the scores of its rows after every tree. Nothing is said to anybody.
"""

import msgspec
import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.plan import Plan
from hedgerow.data.table import Table
from hedgerow.model import own_quality
from hedgerow.model.labels import labels_of, own_weights
from hedgerow.model.model import Model
from hedgerow.model.score_counts import Judged
from hedgerow.protocols.columns import loss_of
from hedgerow.protocols.session.owner import Active
from hedgerow.protocols.state import State
from hedgerow.run.folder.private_state import PlacesFile
from hedgerow.trees.forest import averaged
from hedgerow.trees.losses import LabelFacts
from hedgerow.trees.watched_metrics import OWN, Metric


class ActiveCurves:
    """The active party's own rows and their scores while trees are grown."""

    def __init__(self, plan: Plan, own: Active | None, places: PlacesFile) -> None:
        self.plan, self.own, self.places = plan, own, places
        self.training: list[float | None] = []
        """The metric on the training rows after each round; None for rounds of a process before this one."""
        self._known: tuple[Metric, NDArray[np.float32], NDArray[np.float32]] | None = None

    def after_round(self, state: State) -> None:
        """The metric on the training rows, whose scores the state has."""
        table = self._rows(held_out=False)
        if not state.scores or table is None or not state.parts:
            return
        metric, labels, weights = self._known = self._known or self._metric(table)
        n_rounds = sum(part.n_trees for part in state.parts) // metric.loss.n_trees
        scores = state.scores[0]
        if scores.shape[1] != len(labels):
            return
        if self.plan.params.average:
            return  # a forest's training rows get no score
        self.training += [None] * (n_rounds - 1 - len(self.training))
        self.training.append(metric.of_sums(metric.sums(scores, labels, weights)))

    def _metric(self, table: Table) -> tuple[Metric, NDArray[np.float32], NDArray[np.float32]]:
        goal = self.plan.goal
        classes = () if goal.objective is not None else tuple(np.unique(np.asarray(table.labels)).tolist())
        loss = loss_of(self.plan, classes)
        labels, weights = labels_of(table, classes), own_weights(table)
        heaviest = float(weights.max(initial=0)) or 1.0
        facts = LabelFacts(float(labels.min()), float(labels.max()), heaviest)
        return Metric(goal.eval_metric or OWN[loss.name], loss, facts), labels, weights

    def judged(self, state: State, model: Model) -> Judged | None:
        """Counts of the scores of the validation rows, or else of the training rows; after the last round grown."""
        held_out = len(state.scores) > 1
        table = self._rows(held_out)
        if not state.scores or table is None or (self.plan.params.average and not held_out):
            return None
        scores = np.ascontiguousarray(state.scores[held_out].T)
        if len(scores) != table.n_rows:
            return None
        n_rounds = sum(part.n_trees for part in state.parts) // model.loss.n_trees
        if self.plan.params.average:
            scores = averaged(scores, model.base_score, n_rounds)
        kind = "own validation" if held_out else "own training"
        told = own_quality.judge_predicted(model, table, model.means(scores), kind)
        late = n_rounds - model.n_rounds
        if late:
            remark = f"The scores are those after {n_rounds} rounds; the model keeps the first {model.n_rounds}."
            told = msgspec.structs.replace(told, remark=remark)
        return told

    def _rows(self, held_out: bool) -> Table | None:
        """The own rows of the run, in its order."""
        table = None if self.own is None else (self.own.own_valid if held_out else self.own.own_table)
        if table is None or not self.plan.method.aligns:
            return table
        found = self.places.read(held_out, table.n_rows)
        return None if found is None else table.take(found)
