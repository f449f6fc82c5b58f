"""Whole trees: parties grow trees on their own rows and the trees, not sums, are shared.

    driver                               party
    AskTrees(forest so far) ----------->  (bagging: every party at once; sequential: one after the other)
                            <-----------  OwnTrees

Sees in the clear.  Driver, and in `sequential` the parties that follow: each party's own trees, whose leaves hold sums
                    over few rows of one party.  This is a baseline of the literature, not a protection.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Never

import numpy as np

from hedgerow.corridor.messages import Agree, AskTrees, Done, Facts, Farewell, OwnTrees
from hedgerow.errors import ParameterError, ProtocolError
from hedgerow.model.model import Model
from hedgerow.model.train import Task, train
from hedgerow.protocols.columns import Common, assemble, loss_of
from hedgerow.protocols.horizontal.attempt import attempt
from hedgerow.protocols.horizontal.own_table import OwnTable
from hedgerow.protocols.horizontal.prepare import forest_of, trees_of
from hedgerow.protocols.horizontal.schema import SchemaTable
from hedgerow.protocols.secure_sum import SummingGroup
from hedgerow.protocols.session.owner import Attempt, PartyContext
from hedgerow.protocols.session.shell import Table
from hedgerow.protocols.state import Drive, Progress
from hedgerow.trees.forest import Forest, join
from hedgerow.trees.losses import Loss


class WholeTreesRun(Drive):
    """The driver's side: one model of everybody's trees."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress

    def attempt(self, group: SummingGroup, facts: Mapping[str, Facts]) -> Model:
        """What becomes known to the driver: what `columns` says, and every party's trees."""
        return attempt(self.progress, group, facts, partial(_grown, group))


def _grown(group: SummingGroup, shared: Common) -> Model:
    plan, loss = group.plan, loss_of(group.plan, shared.classes)
    base, forest = (_in_turn if plan.method.in_turn else _bagged)(group, shared, loss)
    return assemble(plan, shared, base, forest)


def _opened(answer: OwnTrees, shared: Common, loss: Loss) -> tuple[float, Forest]:
    return answer.base, forest_of(answer.forest, shared.columns, loss.n_trees)


def _bagged(group: SummingGroup, shared: Common, loss: Loss) -> tuple[float, Forest]:
    """The mean of the parties' models: every leaf divided by their number (a random forest's trees as they are)."""
    n_rounds = group.plan.params.n_estimators
    answers = group.tell(AskTrees(0, n_rounds, None, trees_of(Forest.empty())), OwnTrees)
    opened = [_opened(answer, shared, loss) for answer in answers.values()]
    base = float(np.float32(np.mean([base for base, _ in opened])))
    if group.plan.params.average:
        # Trees hold what is above their own party's first score; the mean is taken from the common one.
        moved = [replace(f, values=_shifted(f, own - base)) for own, f in opened]
        return base, join(moved)
    share = np.float32(1 / len(opened))
    return base, join([replace(f, values=f.values * share) for _, f in opened])


def _shifted(forest: Forest, by: float) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.where(forest.columns < 0, forest.values + np.float32(by), forest.values).astype(np.float32)


def _in_turn(group: SummingGroup, shared: Common, loss: Loss) -> tuple[float, Forest]:
    """Each party in turn adds its share of the rounds to the forest so far."""
    if group.plan.params.average:
        raise ParameterError(
            "sequential trees learn from the trees before them; a random forest's do not. Use bagging."
        )
    n_rounds, n = group.plan.params.n_estimators, len(group.present)
    base: float | None = None
    forest = Forest.empty()
    for turn, name in enumerate(group.present):
        rounds = n_rounds // n + (turn < n_rounds % n)
        if rounds:
            number = group.plan.names.index(name)
            answer = group.ask({name: AskTrees(number, rounds, base, trees_of(forest))}, OwnTrees)[name]
            base, forest = _opened(answer, shared, loss)
    return base or 0.0, forest


class WholeTreesParty:
    """A party's side: grows trees of its own rows and gives them away."""

    def __init__(self, context: PartyContext) -> None:
        self.context, self.schema = context, SchemaTable(context)

    @property
    def most_bytes(self) -> int:
        """The bytes that the next request may have."""
        return self.schema.most_bytes

    def stop(self) -> None:
        """Trees are asked for one by one, and nothing is masked."""

    def introduced(self, attempt: Attempt) -> Table[Never]:
        """The schema, the trees, the model."""
        self.schema.introduced()
        return {
            Agree: lambda request, frame: self.schema.agree(request, frame, attempt.facts),
            AskTrees: self._own_trees,
            Farewell: self._keep,
        }

    def _own_trees(self, request: AskTrees, _: object) -> OwnTrees:
        """What becomes known: trees of own rows alone, which the owner's policy must allow."""
        plan, rows = self.context.plan, self.schema.own
        if not isinstance(rows, OwnTable):
            raise ParameterError("Whole trees are grown from a table in this process; this party's rows lie elsewhere.")
        loss = loss_of(plan, rows.classes)
        if not 1 <= request.n_rounds <= plan.params.n_estimators:
            raise ProtocolError(f"The driver asks for more than the {plan.params.n_estimators} rounds of the plan.")
        start = None
        if request.base is not None:
            forest = forest_of(request.forest, rows.columns, loss.n_trees)
            start = assemble(plan, Common(rows.columns, tuple(rows.classes), "", False, False), request.base, forest)
        params = replace(plan.params, n_estimators=request.n_rounds)
        goal = plan.goal
        base = None if start is not None else goal.base_score
        task = Task(loss, tuple(rows.classes), base, goal.scale_pos_weight, start=start, threads=self.context.threads)
        model = train(rows.table, params, task)
        return OwnTrees(model.base_score, trees_of(model.forest))

    def _keep(self, request: Farewell, _: object) -> Done:
        """The finished model."""
        if self.context.keep_model is not None:
            self.context.keep_model(request.model)
        return Done()
