"""The driver's side of a whole run: joining, agreeing, growing, and beginning again when a party was lost.

With `on_loss = "wait"` a lost party ends the attempt; when it is back everybody is introduced anew and the run goes on
from the last complete tree. With "continue" the run goes on without it: see `horizontal`; in a vertical run the tree
that was under way is grown again from the columns of those that remain, of whom one beside the active party must.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import PartyLost, ProtocolError
from hedgerow.identity import Identity
from hedgerow.messages import Agree, Begin, Done, Farewell, Request
from hedgerow.model import Absent, Model
from hedgerow.plan import Plan
from hedgerow.pooled import Ready
from hedgerow.protocols import agreeing, cut_points, ensemble, joining, vertical_run
from hedgerow.protocols.agreeing import Common, loss_of
from hedgerow.protocols.begun import metric_of, trees_of
from hedgerow.protocols.cut_points import Start
from hedgerow.protocols.horizontal import HorizontalRows
from hedgerow.protocols.own_sets import OwnSets
from hedgerow.protocols.secure_sum import Circle
from hedgerow.protocols.vertical_run import Active
from hedgerow.saved import encoded
from hedgerow.trees.boost import Boosted, Callback, Stopping, boost
from hedgerow.trees.evaluate import Metric
from hedgerow.trees.fixedpoint import Scales
from hedgerow.trees.forest import Forest
from hedgerow.trees.forest import join as joined
from hedgerow.trees.grow import Growth
from hedgerow.trees.sampling import ColumnSampler
from hedgerow.trees.splits import Rules
from hedgerow.wire import Corridor

MOST_IN_VAIN = 10
"""Attempts in a row that may end without a new tree."""


@dataclass(frozen=True, eq=False)
class State:
    """How far a run has come: all a new process of the driver needs to go on."""

    attempt: int = 0
    present: tuple[str, ...] = ()
    """Parties still in the run; empty: all of the plan."""
    common: Common | None = None
    start: Start | None = None
    parts: tuple[Forest, ...] = ()
    """The trees so far, a part for every round (or for several, where they were read back)."""
    history: tuple[float, ...] = ()
    losses: tuple[tuple[int, tuple[str, ...]], ...] = ()
    """Rounds in which parties were lost and the run went on without them."""
    clipped: int = 0
    scores: tuple[NDArray[np.float32], ...] = ()
    """Of the active party's rows after these trees, then of its validation rows; never said to anybody."""

    @property
    def forest(self) -> Forest:
        """The trees so far."""
        return joined([Forest.empty(), *self.parts])


@dataclass(frozen=True, eq=False)
class Driver:
    """Who drives, and what is done along the way."""

    plan: Plan
    corridor: Corridor
    identity: Identity | None = None
    threads: int = 1
    deadline: float = 600.0
    """Seconds within which every answer must come."""
    patience: float = 600.0
    """Seconds a lost party is waited for."""
    callbacks: Sequence[Callback] = ()
    keep: Callable[[State], None] = lambda _: None
    """Called with the state after every tree, before the next begins; must not return before it is safe."""
    tell: Callable[[str], None] = lambda _: None
    own: Active | None = None
    """The active party's tables, in a vertical run."""


def run(driver: Driver, state: State | None = None) -> tuple[Model, State]:
    """Train; every party has the model when this returns."""
    run_ = _Run(driver, state or State())
    run_.gather()
    in_vain = 0
    while True:
        done = len(run_.state.parts)
        try:
            model = run_.attempt()
        except PartyLost as loss:
            if run_.goes_on(loss):
                continue
            in_vain = in_vain + 1 if len(run_.state.parts) == done else 0
            if in_vain == MOST_IN_VAIN:
                raise PartyLost(
                    f"{loss} {in_vain} attempts in a row ended without a new tree; resume the run when that is mended.",
                    loss.parties,
                ) from None
            run_.wait_for(loss)
        else:
            return model, run_.state


class _Run:
    def __init__(self, driver: Driver, state: State) -> None:
        self.driver, self.state = driver, state
        self.ready: Ready | None = None
        """The active party's rows with the scores of the trees so far, in a vertical run."""
        self.sets: OwnSets | None = None
        """Its side of the alignment of rows."""

    @property
    def present(self) -> tuple[str, ...]:
        """The parties still in the run that are asked."""
        return self.state.present or self.driver.plan.answering

    def gather(self) -> None:
        """Wait until all are here for the first time."""
        absent = self._absent(self.driver.patience)
        if absent:
            names, done = ", ".join(map(repr, sorted(absent))), self.state.forest.n_trees
            raise PartyLost(
                f"{names} did not come within {self.driver.patience:g} seconds; {done} trees are kept, "
                "resume the run when all can be here.",
                absent,
            )

    def _absent(self, deadline: float) -> frozenset[str]:
        return self.driver.corridor.transport.wait(frozenset(self.present), deadline)

    def attempt(self) -> Model:
        """Everything from the introduction on, as far as it was not done before."""
        driver, plan = self.driver, self.driver.plan
        self.state = replace(self.state, attempt=self.state.attempt + 1)
        driver.keep(self.state)
        absent = self._absent(0)
        if absent:
            raise PartyLost(f"{', '.join(map(repr, sorted(absent)))} went away.", absent)
        circle = Circle(driver.corridor, plan, self.present, driver.deadline)
        facts = joining.introduce(circle, joining.propose(circle, driver.identity), self.state.attempt)
        if plan.method == "vertical":
            return self._vertical(circle)
        shared = self.state.common or agreeing.common(plan, facts)
        _told(circle, Agree(shared.columns, shared.classes, shared.absent))
        self.state = replace(self.state, common=shared)
        model = self._grown(circle, shared) if plan.method == "horizontal" else ensemble.grow(circle, shared)
        self._say_farewell(circle, model)
        return model

    def _vertical(self, circle: Circle) -> Model:
        driver, own = self.driver, self.driver.own
        if own is None:
            raise ProtocolError("A vertical run is driven by its active party, with its own table.")
        if circle.plan.align == "private":
            self.sets = self.sets or vertical_run.own_sets(circle.plan, own, driver.threads)
            own = vertical_run.aligned(circle, self.sets, driver.tell)
        if self.ready is None:
            self.ready = vertical_run.prepare(circle.plan, own, driver.threads)
            self.ready.rows.clipped = self.state.clipped
            if self.state.parts:
                vertical_run.restore(self.ready, self.state.scores)
        ready, parts = self.ready, list(self.state.parts)
        joint = vertical_run.columns_of_all(circle, ready, self.state.common)
        self.state = replace(self.state, common=vertical_run.common(joint, ready, self.state.common))

        def kept(trees: Forest, history: Sequence[float]) -> None:
            parts.append(trees)
            self.state = replace(
                self.state,
                parts=tuple(parts),
                history=tuple(history),
                clipped=ready.rows.clipped,
                scores=vertical_run.scores_of(ready),
            )
            driver.keep(self.state)

        before, history = (self.state.forest, self.state.history) if parts else (None, ())
        return vertical_run.grow(circle, ready, joint, driver.callbacks, before, history, kept)

    def _say_farewell(self, circle: Circle, model: Model) -> None:
        try:
            _told(circle, Farewell(encoded(model)))
        except PartyLost as loss:
            if self.driver.plan.on_loss != "continue":
                raise
            self.driver.tell(f"{loss} The others have the model.")

    def goes_on(self, loss: PartyLost) -> bool:
        """Whether a vertical run goes on without parties that are gone; once everybody's columns are known it may.

        With no passive party left it waits: the fault may be this party's own line.
        """
        driver, plan, common = self.driver, self.driver.plan, self.state.common
        left = tuple(party for party in self.present if party not in loss.parties)
        gone = not loss.parties & driver.corridor.transport.here()
        if plan.method != "vertical" or plan.on_loss != "continue" or common is None or not left or not gone:
            return False
        round_, names = self.state.forest.n_trees // loss_of(plan, common.classes).n_trees, tuple(sorted(loss.parties))
        self.state = replace(self.state, present=left, losses=(*self.state.losses, (round_, names)))
        driver.keep(self.state)
        driver.tell(f"{loss} The run goes on without the columns of {', '.join(map(repr, names))}.")
        return True

    def wait_for(self, loss: PartyLost) -> None:
        """Until the lost parties are back; too long ends the run, to be resumed."""
        driver = self.driver
        driver.tell(f"{loss} Waiting for {', '.join(map(repr, sorted(loss.parties)))}.")
        absent = driver.corridor.transport.wait(loss.parties, driver.patience)
        if absent:
            names = ", ".join(map(repr, sorted(absent)))
            done = self.state.forest.n_trees
            raise PartyLost(
                f"{names} did not come back within {driver.patience:g} seconds; {done} trees are kept, "
                "resume the run when it is back.",
                absent,
            )

    def _grown(self, circle: Circle, shared: Common) -> Model:
        plan = self.driver.plan
        loss = loss_of(plan, shared.classes)
        start = self.state.start or cut_points.start(circle, shared, loss)
        self.state = replace(self.state, start=start)
        facts, valid, grid = start.facts, start.valid_facts, start.grid
        beside = (valid.low, valid.high, valid.max_weight)
        trees = trees_of(self.state.forest)
        _told(
            circle,
            Begin(
                facts.low,
                facts.high,
                facts.max_weight,
                beside,
                start.base,
                grid.cuts,
                grid.cut_starts,
                grid.has_missing,
                trees,
            ),
        )
        scales = Scales(*loss.bounds(facts, start.base, plan.params.constant_hessian), plan.params.gradient_bits)
        metric = metric_of(plan, loss, valid) if plan.goal.follow else None
        done = self._boosted(HorizontalRows(circle, grid, metric), loss.n_trees, start, scales, metric)
        absent: Absent = "zero" if shared.absent == "zero" else "missing"
        name, label = metric.name if metric else None, plan.goal.label
        return Model(
            done.forest,
            shared.columns,
            loss,
            start.base,
            plan.params,
            shared.classes,
            label,
            absent,
            done.history,
            name,
        )

    def _boosted(
        self, rows: HorizontalRows, n_trees: int, start: Start, scales: Scales, metric: Metric | None
    ) -> Boosted:
        driver, params = self.driver, self.driver.plan.params
        sampler = ColumnSampler(
            start.grid.n_columns, params.colsample_bytree, params.colsample_bynode, params.random_state
        )
        growth = Growth(start.grid, Rules.of(params, scales), sampler, params.max_depth, driver.threads)
        stopping = Stopping(metric, driver.plan.goal.early_stopping_rounds) if metric is not None else None
        losses, clipped, parts = self.state.losses, self.state.clipped, list(self.state.parts)

        def so_far(history: Sequence[float]) -> None:
            lost = tuple((round_, tuple(sorted(names))) for round_, names in rows.lost)
            self.state = replace(
                self.state,
                present=rows.circle.present,
                parts=tuple(parts),
                history=tuple(history),
                losses=losses + lost,
                clipped=clipped + rows.clipped,
            )
            driver.keep(self.state)

        def sealed(trees: Forest) -> None:
            parts.append(trees)
            if rows.closed:  # the sums it was grown from cannot be had again
                so_far(self.state.history)

        def kept(_: Forest, history: Sequence[float]) -> None:
            so_far(history)

        before, history = (self.state.forest, self._history(n_trees)) if parts else (None, ())
        return boost(rows, growth, params, scales, n_trees, stopping, driver.callbacks, before, history, kept, sealed)

    def _history(self, n_trees: int) -> tuple[float, ...]:
        """The metric after every round; a round that was closed just before the driver died has the one before it."""
        history, n_rounds = self.state.history, self.state.forest.n_trees // n_trees
        return (*history, *history[-1:] * (n_rounds - len(history))) if history else history


def _told(circle: Circle, request: Request) -> None:
    for name, answer in circle.tell(request).items():
        if not isinstance(answer, Done):
            raise ProtocolError(f"Party {name!r} answered {type(answer).__name__} to {type(request).__name__}.")
