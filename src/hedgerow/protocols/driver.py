"""The driver's side of a whole run: joining, agreeing, growing, and beginning again when a party was lost.

With `on_loss = "wait"` a lost party ends the attempt; when it is back everybody is introduced anew and the run goes on
from the last complete tree. With "continue" the run goes on without it: see `horizontal`; in a vertical run the tree
that was under way is grown again from the columns of those that remain, of whom one beside the active party must.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.options import Horizontal, Vertical
from hedgerow.agreement.plan import Plan
from hedgerow.corridor.messages import Agree, Begin, Done, Facts, Farewell, Lead, RoundGrown
from hedgerow.corridor.wire import Corridor, encode
from hedgerow.errors import PartyLost, ProtocolError
from hedgerow.identity.identity import Identity
from hedgerow.model.file import encoded
from hedgerow.model.model import Model
from hedgerow.model.train import Ready
from hedgerow.protocols import columns, dropped_columns, joining, private_columns, whole_trees
from hedgerow.protocols.align.lists import OwnSets
from hedgerow.protocols.columns import Common, loss_of
from hedgerow.protocols.horizontal import cut_points
from hedgerow.protocols.horizontal.cut_points import Start
from hedgerow.protocols.horizontal.driver import HorizontalRows
from hedgerow.protocols.horizontal.prepare import forest_of
from hedgerow.protocols.horizontal.train import begin_of, boosted, followed, model_of, rows_of, start_of
from hedgerow.protocols.opener.relay import Relay
from hedgerow.protocols.secure_sum import SummingGroup
from hedgerow.protocols.session.journal import Log, NoLog
from hedgerow.protocols.vertical import train as vertical_run
from hedgerow.protocols.vertical.answer_checks import SaidBefore
from hedgerow.protocols.vertical.leakage import LearntBins
from hedgerow.protocols.vertical.train import Active
from hedgerow.trees.boost import Boosted, Callback, Round, heard
from hedgerow.trees.forest import Forest
from hedgerow.trees.forest import join as joined
from hedgerow.trees.losses import Loss
from hedgerow.trees.watched_metrics import Metric

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
    learnt: LearntBins | None = None
    """What the active party has learnt of passive columns' bins, where it notes that."""
    model: str = ""
    """The id that all parts of a vertical model will share."""

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
    """Called with the state once everybody has the values of a tree; must not return before it is safe."""
    tell: Callable[[str], None] = lambda _: None
    note: Callable[[str], None] = lambda _: None
    """Told what of the tables is not used; it belongs into the run's manifest too."""
    own: Active | None = None
    """The active party's tables, in a vertical run."""
    notes_bins: bool = False
    """Whether the active party notes what it learns of passive columns' bins."""
    log: Log = NoLog()  # noqa: RUF009  # it holds nothing
    """Where it is written down what an alignment told."""


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
        self.said = SaidBefore()
        """What the others said to it of the trees under way, in attempts before this one."""
        self.n_told, self.ends = 0, False
        """Of how many rounds the callbacks were told, and whether one then ended the training."""

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
        group = SummingGroup(driver.corridor, plan, self.present, driver.deadline)
        facts: Mapping[str, Facts] = joining.introduce(
            group, joining.propose(group, driver.identity), self.state.attempt
        )
        if isinstance(plan.method, Vertical):
            return self._vertical(group)
        if plan.method.private_names:
            facts = private_columns.shared(group, facts, self.state.common, driver.log, driver.tell, driver.note)
        shared = self._agreed(facts)
        group.tell(Agree(shared.columns, shared.classes, shared.absent), Done)
        self.state = replace(self.state, common=shared)
        if not isinstance(plan.method, Horizontal):
            model = whole_trees.grow(group, shared)
        else:
            model = self._led(group, shared) if plan.opener else self._grown(group, shared)
        self._say_farewell(group, model)
        return model

    def _agreed(self, facts: Mapping[str, Facts]) -> Common:
        """What all have in common; the driver is told what is left out, also where that is refused."""
        plan, lost = self.driver.plan, ""
        if not plan.method.all_columns and not plan.method.private_names:
            lost = dropped_columns.told_driver(columns.names_of(facts))
        if lost and plan.coordinator:  # a refusal, which real parties hear, names no column
            self.driver.note(lost)
        shared = self.state.common or columns.common(plan, facts)
        if lost and not plan.coordinator:
            self.driver.note(lost)
        return shared

    def _vertical(self, group: SummingGroup) -> Model:
        driver, own = self.driver, self.driver.own
        if own is None:
            raise ProtocolError("A vertical run is driven by its active party, with its own table.")
        if group.plan.method.aligns:
            self.sets = self.sets or vertical_run.own_sets(group.plan, own, driver.threads, driver.log, driver.tell)
            own = vertical_run.aligned(group, self.sets, driver.note)
        if self.ready is None:
            self.ready = vertical_run.prepare(group.plan, own, driver.threads)
            self.ready.rows.clipped = self.state.clipped
            if self.state.parts:
                vertical_run.restore(self.ready, self.state.scores)
        ready, parts = self.ready, list(self.state.parts)
        joint = vertical_run.columns_of_all(group, ready, self.said, self.state.common)
        self.state = replace(self.state, common=vertical_run.common(joint, ready, self.state.common))
        if not self.state.model:
            self.state = replace(self.state, model=secrets.token_hex(16))
        if driver.notes_bins and self.state.learnt is None:
            self.state = replace(self.state, learnt=LearntBins.of(joint, ready.table.n_rows))

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
        id_, learnt, said = self.state.model, self.state.learnt, self.said
        how = (driver.callbacks, before, history, kept)
        return vertical_run.grow(group, ready, joint, *how, id_=id_, learnt=learnt, said=said)

    def _say_farewell(self, group: SummingGroup, model: Model) -> None:
        try:
            group.tell(Farewell(encoded(model)), Done)
        except PartyLost as loss:
            if not self.driver.plan.goes_on:
                raise
            self.driver.tell(f"{loss} The others have the model.")

    def goes_on(self, loss: PartyLost) -> bool:
        """Whether a vertical run goes on without parties that are gone; once everybody's columns are known it may.

        With no passive party left it waits: the fault may be this party's own line.
        """
        driver, plan, common = self.driver, self.driver.plan, self.state.common
        left = tuple(party for party in self.present if party not in loss.parties)
        gone = not loss.parties & driver.corridor.transport.here()
        if not isinstance(plan.method, Vertical) or not plan.goes_on or common is None or not left or not gone:
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

    def _grown(self, group: SummingGroup, shared: Common) -> Model:
        plan = self.driver.plan
        loss = loss_of(plan, shared.classes)
        start = self.state.start or cut_points.start(group, shared, loss)
        self.state = replace(self.state, start=start)
        group.tell(begin_of(start, self.state.forest), Done)
        return model_of(plan, shared, start, self._boosted(rows_of(group, loss, start), loss, start))

    def _boosted(self, rows: HorizontalRows, loss: Loss, start: Start) -> Boosted:
        before, parts = self.state, list(self.state.parts)

        def keep(history: Sequence[float] | None = None) -> None:
            followed_so_far = self.state.history if history is None else history
            self._keep(before, rows.group, parts, followed_so_far, rows.lost, rows.clipped)

        def sealed(trees: Forest) -> None:
            parts.append(trees)
            if rows.closed:  # the sums it was grown from cannot be had again
                keep()

        def kept(_: Forest, history: Sequence[float]) -> None:
            if rows.ending is None:  # everybody has the values
                keep(history)

        rows.keep_losses = rows.keep_finished = keep
        so_far = (before.forest if parts else None, self._history(loss.n_trees))
        return boosted(rows, loss, start, self.driver.threads, (self._once,), so_far, kept, sealed)

    def _once(self, round_: Round) -> bool:
        """Tell the callbacks; a round that is grown again, because its end was not heard by all, only once."""
        if round_.number > self.n_told:
            answers = [callback(round_) for callback in self.driver.callbacks]
            self.n_told, self.ends = round_.number, any(answers)
        return self.ends

    def _keep(
        self,
        before: State,
        group: SummingGroup,
        parts: Sequence[Forest],
        history: Sequence[float],
        lost: Sequence[tuple[int, frozenset[str]]],
        clipped: int,
    ) -> None:
        """How far this attempt has come, after what was done before it."""
        losses = before.losses + tuple((round_, tuple(sorted(names))) for round_, names in lost)
        self.state = replace(
            self.state,
            present=group.present,
            parts=tuple(parts),
            history=tuple(history),
            losses=losses,
            clipped=before.clipped + clipped,
        )
        self.driver.keep(self.state)

    def _led(self, group: SummingGroup, shared: Common) -> Model:
        """The opener chooses; what it chose is kept here after every tree, as where the driver does."""
        plan, loss = self.driver.plan, loss_of(self.driver.plan, shared.classes)
        before, relay = self.state, Relay(group, self.driver.threads)
        parts, history = list(before.parts), list(self._history(loss.n_trees))

        def begun(begin: Begin) -> None:
            self.state = replace(self.state, start=self.state.start or start_of(begin, shared.columns, plan))

        def grown(told: RoundGrown) -> bool:
            trees = forest_of(told.trees, shared.columns, loss.n_trees)
            parts.extend([trees] if trees.n_trees else [])
            if told.complete and told.value is not None and (metric := self._metric(loss)) is not None:
                n_rounds = sum(part.n_trees for part in parts) // loss.n_trees
                history[:] = heard(metric, history, told.value, n_rounds)
            self._keep(before, group, parts, history, relay.lost, relay.clipped)
            return told.complete and self._ends(told, loss)

        begin = encode(begin_of(before.start, before.forest)) if before.start is not None else b""
        lead = Lead(shared.weighted, shared.validated, begin, np.array(history, np.float64))
        led, start = relay.run(lead, begun, grown), self.state.start
        if start is None or not 0 <= led.n_trees <= self.state.forest.n_trees:
            raise ProtocolError("The opener ends a run that it has not begun, or with more trees than it grew.")
        return model_of(plan, shared, start, Boosted(self.state.forest.first(led.n_trees), self.state.history))

    def _ends(self, told: RoundGrown, loss: Loss) -> bool:
        """Whether a callback ends the training; every one is told."""
        plan, metric = self.driver.plan, self._metric(loss)
        number, name = self.state.forest.n_trees // loss.n_trees, metric.name if metric else None
        return self._once(Round(number, plan.params.n_estimators, name, told.value, told.best))

    def _metric(self, loss: Loss) -> Metric | None:
        start = self.state.start
        return followed(self.driver.plan, loss, start) if start is not None else None

    def _history(self, n_trees: int) -> tuple[float, ...]:
        """The metric after every round; a round that was closed just before the driver died has the one before it.

        Where there is none, `boost.heard` puts one in its place when the next is known.
        """
        history, n_rounds = self.state.history, self.state.forest.n_trees // n_trees
        return (*history, *history[-1:] * (n_rounds - len(history))) if history else history
