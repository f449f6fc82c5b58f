"""A party's steps down the trees of an attempt: each is checked and written down before its sums are made.

    driver                        party
    AskHistograms, AskLeafSums    who is summed over?  answered otherwise before?  cuts and nodes as agreed?
    FinishRound, NextRound        the same; then values are added to own scores

Sees in the clear.  Party: its own rows and sums, what it is told.  What leaves it: its sums, as its `SumSender` says.
"""

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.agreement.plan import Plan
from hedgerow.corridor.messages import Answer, AskHistograms, AskLeafSums, Done, FinishRound, NextRound
from hedgerow.corridor.wire import Frame
from hedgerow.errors import PrivacyError, ProtocolError
from hedgerow.privacy.masks import Pads, PairSecrets
from hedgerow.protocols.horizontal.batch import NOTHING, PendingMask, PendingSums
from hedgerow.protocols.horizontal.batch import Pending as Pending
from hedgerow.protocols.horizontal.round import joined, told_digest
from hedgerow.protocols.party_rows import PartyRows
from hedgerow.protocols.secure_sum import SumRules
from hedgerow.protocols.session.owner import Attempt, PartyContext
from hedgerow.protocols.session.participants import drawn, enough
from hedgerow.protocols.told_trees import ToldTrees, Way, follow
from hedgerow.trees.local import Adding, Step
from hedgerow.trees.watched_metrics import Metric

Parties = tuple[int, ...]
Words = NDArray[np.int64]
Adds = Sequence[Adding]
Summing = AskHistograms | AskLeafSums
Stepping = Summing | FinishRound
"""The steps of a round."""
Reply = Answer | Pending
"""An answer before it leaves, or as much of it as a party makes by itself."""


class SumSender(Protocol):
    """How a party's sums leave it."""

    def words(self, own_words: Words, parties: Parties, adds: Adds = ()) -> Reply:
        """Own sums, as a part of the sum over these parties; before, `adds` is added to own scores."""

    def steps(self, rows: PartyRows, steps: tuple[Step, ...], parties: Parties, beside: Words, adds: Adds) -> Reply:
        """The sums of a step that own rows take, and words beside them; nothing leaves where `parties` is empty."""


def sum_rules(context: PartyContext, attempt: Attempt) -> SumRules:
    """Whom a party may be summed with in this attempt."""
    fewest = context.owner.policy.fewest(context.plan)
    return SumRules(context.plan, attempt.number, attempt.present, fewest)


class MaskedSender:
    """Sums leave under masks, or as they are where all accepted that; made with those of others of this process."""

    def __init__(self, context: PartyContext, attempt: Attempt) -> None:
        self.rules, self.transcript, self.sent = sum_rules(context, attempt), attempt.transcript, context.sent
        self.secrets = None if context.plan.method.plain else PairSecrets(attempt.number, attempt.pair_secrets)
        self._parties: tuple[int, ...] = ()
        """Those that were last summed over, and how their numbers go into the hash that keys the pads."""
        self._numbers = b""

    def _pads(self, parties: tuple[int, ...]) -> Pads | None:
        """What hides this party's part of the sum over these parties; nothing where plain sums were accepted."""
        if self._parties != parties:
            self.rules.check(parties)
            self._parties, self._numbers = parties, np.array(sorted(parties), "<u4").tobytes()
        return None if self.secrets is None else self.secrets.pads(parties, self.transcript.among(self._numbers))

    def _check_unnoised(self) -> None:
        """Nothing leaves without noise where the plan promises some."""
        if self.rules.plan.method.promises_dp:
            raise PrivacyError("Sums without noise were to leave this party, and its plan promises noise; it stops.")

    def noised(self, noised_words: Words, parties: Parties) -> Reply:
        """Own words that have their share of noise already and are in the ledger, as a part of the sum."""
        return PendingMask(noised_words.copy(), self._pads(parties), True, self.sent, noised=True)

    def words(self, own_words: Words, parties: Parties, adds: Adds = ()) -> Reply:
        """See `SumSender`."""
        self._check_unnoised()
        return PendingMask(own_words, self._pads(parties), True, self.sent, adds)

    def steps(self, rows: PartyRows, steps: tuple[Step, ...], parties: Parties, beside: Words, adds: Adds) -> Reply:
        """See `SumSender`."""
        self._check_unnoised()
        pads = self._pads(parties) if parties else None
        return PendingSums(rows, steps, pads, bool(parties), self.sent, beside, adds)


def advanced(state: bytes, trees: bytes) -> bytes:
    """What the gradients of the next round depend on."""
    return hashlib.sha256(state + trees).digest()


def _without_set(frame: Frame) -> Frame:
    """Everything that a step says but its set of parties."""
    return Frame.of(msgspec.structs.replace(cast(Stepping, frame.request), parties=()))


class PartyRound:
    """A party's side: its rows on their way down the trees, as far as it was told to grow them."""

    def __init__(self, place: ToldTrees, rows: PartyRows, metric: Metric | None) -> None:
        self.place, self.rows, self.metric = place, rows, metric
        self.counted = place.plan.params.min_child_rows > 1
        self.clipped = 0
        """Gradients that were cut off before this round."""
        self.begins = False
        """Whether gradients are computed in the last step."""

    @property
    def n_trees(self) -> int:
        """The trees of a round."""
        return self.rows.n_trees

    def way(self, frame: Frame) -> Way:
        """Where a request leads from here, or a refusal; nothing is changed, and nothing depends on the own rows."""
        return frame.derived(follow, self.place)

    def steps(self, request: AskHistograms | AskLeafSums, way: Way) -> tuple[Step, ...]:
        """Begin the next round, or divide the rows as told; then own sums at the nodes asked for, or at all leaves."""
        before, leaves = self.place, isinstance(request, AskLeafSums)
        self.place, cuts, nodes = way
        self.begins = False
        if request.level == 0:
            again = before.level > 0 and request.round == before.round
            self.begins = self.rows.put_at_roots(request.round)
            if self.begins or not again:
                self.clipped = self.rows.clipped
        return self.rows.steps(self.begins, cuts, nodes, leaves, self.counted and not leaves)

    def sums(self, steps: Sequence[Step]) -> NDArray[np.int64]:
        """Own sums of steps, where no others are taken with them."""
        return self.rows.taken(steps, _native.take_steps(steps, self.rows.threads) if steps else ())

    def finish(self, request: FinishRound, way: Way) -> tuple[NDArray[np.int64], list[Adding]]:
        """Own sums of the metric, and what is still to be added to own scores. A second time only the sums."""
        again = self.place.finished
        self.place, _, leaves = way
        adds = [] if again else self.rows.adding(leaves, request.values)
        clipped = self.rows.clipped - self.clipped
        if self.metric is None:
            return np.array([clipped]), adds
        _native.add_values(adds, self.rows.threads)
        return np.array([clipped, *self._metric_sums(self.metric)], np.int64), []

    def digest(self, request: FinishRound) -> Callable[[], str]:
        """Makes a hash of the round's trees, as `trees_digest` makes it of the trees themselves."""
        return partial(told_digest, self.place.grid, self.place.cuts, request)

    def _metric_sums(self, metric: Metric) -> NDArray[np.int64]:
        if not self.rows.validated:
            return np.zeros(metric.n_sums, np.int64)
        return self.rows.held_out_sums(metric, self.place.round + 1)


class RoundSteps:
    """Answers the steps of one attempt."""

    def __init__(self, context: PartyContext, attempt: Attempt, sums: SumSender, states: dict[int, bytes]) -> None:
        self.plan, self.journal, self.threads = context.plan, context.journal, context.threads
        self.durable = context.owner.durable
        self.own_number, self.alive, self.sums = attempt.number, attempt.present, sums
        self.goes_on = self.plan.goes_on
        self.sets_change = self.plan.sets_change
        self.growing: PartyRound | None = None
        self.round_set: tuple[int, ...] = ()
        """The parties that the sums of this round are over."""
        self.states = states
        """What the gradients of each round depend on, as far as this process knows."""
        self.state = b""

    def begin(self, growing: PartyRound, state: bytes) -> None:
        """The trees begin, or go on after some, whose hash is `state`; without a log, from a hash of what was said."""
        self.growing = growing
        self.state = state if self.journal.kept else self.states.setdefault(growing.place.round, state)

    def stop(self) -> None:
        """No more steps until the parties are introduced anew."""
        self.growing = None

    @property
    def _begun(self) -> PartyRound:
        if self.growing is None:
            raise ProtocolError("The driver asks for trees before they have begun.")
        return self.growing

    def ask_sums(self, request: Summing, frame: Frame) -> Reply:
        """What becomes known: the own sums at nodes or leaves, as a part of the sum over the parties of the request."""
        return self._sums(request, frame, self._begun)

    def finish_round(self, request: FinishRound, frame: Frame) -> Reply:
        """What becomes known: the sums of the metric over own validation rows, and how many gradients were cut off."""
        words, adds = self._finish(request, frame, self._begun)
        self._sync()
        if self.own_number in request.parties:
            return self.sums.words(words, request.parties, adds)
        _native.add_values(adds, self.threads)
        return Done()

    def next_round(self, request: NextRound, frame: Frame) -> Reply:
        """What the two requests in it say, written down as if they had come one by one."""
        growing = self._begun
        if not self.plan.joins_rounds:
            raise ProtocolError("The plan of this run does not allow NextRound.")
        if not 0 <= request.round < self.plan.params.n_estimators - 1:
            raise ProtocolError("The driver joins a round to one that is not among those of the plan.")
        both = frame.derived(joined, growing.n_trees)
        words, adds = self._finish(both.finish, both.finish_frame, growing)
        return self._sums(both.first, both.first_frame, growing, words, adds)

    def _sync(self) -> None:
        if self.durable:
            self.journal.log.sync()

    def _remaining(self, request: Stepping, growing: PartyRound) -> tuple[int, ...]:
        """Who remains once this request is answered; a tree has one set of parties from its first step to its last."""
        if request.level <= 0 or isinstance(request, FinishRound):
            return remaining(self.plan, request, growing.place, self.alive, self.round_set, self.own_number)
        if request.parties != self.round_set:
            raise PrivacyError("The driver asks for sums of one tree over two sets of parties; this party stops.")
        return self.alive

    def _answering(self, request: Stepping, frame: Frame, growing: PartyRound) -> tuple[Frame, Way]:
        """Write down the step that is about to be answered; what it is known by, and where it leads.

        Nothing is written of one that is refused.
        """
        alive = self._remaining(request, growing)
        finishes = isinstance(request, FinishRound)
        if request.level == 0:
            self.journal.begin(self.state)
        content, shrinks = frame, False
        if self.goes_on:
            # Where the set may shrink, a step is known by everything but its set.
            content = frame.derived(_without_set)
            shrinks = request.level == 0 or finishes
        told = self.journal.check_step(request.round, request.level, content, request.parties, shrinks)
        way = growing.way(frame)
        if alive != self.alive:
            self.journal.leave_out([self.plan.names[p] for p in alive])
        self.journal.write_step(told)
        self.alive = alive
        if not finishes:
            self.round_set = request.parties
        return content, way

    def _sums(
        self, request: Summing, frame: Frame, growing: PartyRound, beside: Words = NOTHING, adds: Adds = ()
    ) -> Reply:
        _, way = self._answering(request, frame, growing)
        steps = growing.steps(request, way)
        parties = request.parties if self.own_number in request.parties else ()
        if parties and growing.begins and self.sets_change:
            steps, digest = growing.rows.with_gradients(steps)
            self.journal.give(request.round, digest, parties)
        self._sync()
        return self.sums.steps(growing.rows, steps, parties, beside, adds)

    def _finish(self, request: FinishRound, frame: Frame, growing: PartyRound) -> tuple[Words, list[Adding]]:
        """Own words of a round's end, and what is still to be added to own scores."""
        content, way = self._answering(request, frame, growing)
        again = growing.place.finished
        words, adds = growing.finish(request, way)
        if not again:
            self._finished(request, content, growing)
        return words, adds

    def _finished(self, request: FinishRound, content: Frame, growing: PartyRound) -> None:
        """The state after a round is a hash of its trees, or where nothing outlives this process of what was said."""
        trees = growing.digest(request)
        kept = trees() if self.journal.kept else None
        self.journal.finish(request.round, kept or trees)
        self.state = self.states[request.round + 1] = advanced(self.state, kept.encode() if kept else content.sha256)


def remaining(
    plan: Plan, request: Stepping, now: ToldTrees, alive: tuple[int, ...], round_set: tuple[int, ...], own: int
) -> tuple[int, ...]:
    """Of those alive, who remains once party `own` has answered the first step of a round, or its end.

    A request for a set that may not be summed is refused. A tree has one set (`round_set`): the round's draw among
    those that remain. Who is out stays out.
    """
    parties = request.parties
    expected = _expected(plan, request, now, alive, round_set)
    if parties != expected:
        if not (plan.goes_on and parties and set(parties) < set(expected)):
            raise ProtocolError("A sum was asked for over parties that are not as the plan says.")
        if own in expected and own not in parties:
            raise PrivacyError("The driver speaks to this party as if it were lost; this party stops.")
        gone = set(expected) - set(parties)
        alive = tuple(p for p in alive if p not in gone)
    if not enough(plan, len(alive)):
        raise PrivacyError(f"Only {len(alive)} parties are left, too few to hide among; this party stops.")
    return alive


def _expected(
    plan: Plan, request: Stepping, now: ToldTrees, alive: tuple[int, ...], round_set: tuple[int, ...]
) -> tuple[int, ...]:
    """Whom the end of a round, or its first step, must be for if nobody more is lost."""
    if isinstance(request, FinishRound):
        return alive
    if not 0 <= request.round <= plan.params.n_estimators:
        raise ProtocolError("The driver asks for a round that is not among those of the plan.")
    again = not now.finished and now.level == 1 and request.round == now.round
    return round_set if again and plan.goes_on else drawn(plan, request.round, alive)
