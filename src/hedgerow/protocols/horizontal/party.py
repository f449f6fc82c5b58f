"""A horizontal party: agrees on the schema, gives counts for cut points, then takes steps down the trees (`steps`).

The folder has the conversation.

Sees in the clear.  Its own rows, what was agreed, the trees.
Gives away sums over its rows, as its `SumSender` says; own quantiles only where the plan has `cut_points` local.
"""

import hashlib
from functools import partial

from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import Frame
from hedgerow.errors import PrivacyError, ProtocolError
from hedgerow.model.file import decoded
from hedgerow.protocols.align.lists import Aligning, Counts
from hedgerow.protocols.columns import given, loss_of
from hedgerow.protocols.horizontal.prepare import BegunRows, begun_digest, check_grown, forest_of
from hedgerow.protocols.horizontal.round import trees_digest
from hedgerow.protocols.horizontal.schema import SchemaTable
from hedgerow.protocols.horizontal.steps import (
    MaskedSender,
    PartyRound,
    Pending,
    Reply,
    RoundSteps,
    SumSender,
    advanced,
)
from hedgerow.protocols.private_columns import OwnNames
from hedgerow.protocols.session.journal import SETUP
from hedgerow.protocols.session.owner import Attempt, PartyContext
from hedgerow.protocols.session.shell import ALIGNMENT, PROOFS, Handler, Table
from hedgerow.trees.forest import Forest

BEGUN = "cut points and ranges"
"""What is settled before the first tree."""


class HorizontalParty:
    """Answers what a driver asks of rows, whoever opens the sums."""

    def __init__(self, context: PartyContext) -> None:
        self.context, self.plan, self.journal = context, context.plan, context.journal
        self.known = context.owner.log is not None
        """Whether every tree that this party helped to grow is written down, whatever process it was."""
        self.schema = SchemaTable(context)
        self.most_bytes = self.schema.most_bytes
        self.names: OwnNames | None = None
        """The names of own columns, where they are aligned privately."""
        self.begun: BegunRows | None = None
        self.steps: RoundSteps | None = None
        """Those of this attempt, once the parties are introduced."""
        self.states: dict[int, bytes] = {}
        """What the gradients of each round depend on, as far as this process knows."""

    def stop(self) -> None:
        """No more steps in this attempt."""
        if self.steps is not None:
            self.steps.stop()

    def introduced(self, attempt: Attempt) -> Table[Pending]:
        """The driver itself asks, and sums leave under masks, or plain."""
        return self.begin_attempt(attempt, MaskedSender(self.context, attempt))

    def begin_attempt(self, attempt: Attempt, sums: SumSender) -> Table[Pending]:
        """What is answered when sums leave so."""
        steps = self.steps = RoundSteps(self.context, attempt, sums, self.states)
        self.schema.introduced()
        table: dict[type[m.Request], Handler[Pending]] = {
            m.Agree: partial(self._agree, attempt),
            m.AskCounts: partial(self._setup_sums, attempt, steps),
            m.AskMoments: partial(self._setup_sums, attempt, steps),
            m.Begin: partial(self._begin, steps),
            m.AskHistograms: steps.ask_sums,
            m.AskLeafSums: steps.ask_sums,
            m.FinishRound: steps.finish_round,
            m.NextRound: steps.next_round,
            m.Farewell: self._keep,
        }
        if self.plan.method.local_cuts:
            table[m.AskLocalCuts] = self._local_cuts
        if self.plan.method.private_names:
            table |= dict.fromkeys(ALIGNMENT | PROOFS, partial(self._align, self._begin_names(attempt)))
        return table

    def _begin_names(self, attempt: Attempt) -> OwnNames:
        """The names of columns may be aligned anew."""
        owner, threads = self.context.owner, self.context.threads
        if self.names is None:
            columns, counts = given(owner.own_table, owner.policy).columns, Counts(self.journal, self.context.ledger)
            self.names = OwnNames(
                self.plan, owner.name, columns, threads, counts, tell=owner.tell, note=owner.note, keeps=owner.places
            )
        self.names.introduced(attempt.pair_secrets)
        return self.names

    def _align(self, names: OwnNames, request: Aligning | m.AskProofs | m.AskCommonColumns, _: Frame) -> m.Answer:
        self.context.ledger.check_guesses()
        return names.answer(request)

    def _agree(self, attempt: Attempt, request: m.Agree, frame: Frame) -> m.Done:
        common = None if self.names is None else self.names.agreed(request)
        done = self.schema.agree(request, frame, attempt.facts, common)
        self.most_bytes = self.schema.most_bytes
        return done

    def _local_cuts(self, _: m.AskLocalCuts, __: Frame) -> m.Answer:
        return self.schema.own.local_cuts(self.plan.params.max_bin, self.context.threads)

    def _setup_sums(
        self, attempt: Attempt, steps: RoundSteps, request: m.AskCounts | m.AskMoments, frame: Frame
    ) -> Reply:
        own = self.schema.own
        if steps.growing is not None:
            raise ProtocolError("The driver asks for counts after the trees have begun.")
        if len(attempt.present) != len(self.plan.members):
            raise PrivacyError(
                "Counts are summed over all parties of the plan or not at all; the driver leaves one out."
            )
        step = request.step if isinstance(request, m.AskCounts) else 1 << 20
        self.journal.answer(SETUP, step, frame, attempt.present, False)
        words = own.counts(frame) if isinstance(request, m.AskCounts) else own.moments(request)
        return steps.sums.words(words, attempt.present)

    def _begin(self, steps: RoundSteps, request: m.Begin, frame: Frame) -> m.Done:
        plan, rows = self.plan, self.schema.own
        rows.forget_keys()
        loss = loss_of(plan, rows.classes)
        forest = forest_of(request.forest, rows.columns, loss.n_trees)
        self.journal.settle(BEGUN, begun_digest(request))
        if self.begun is None or self.begun.rows is not rows:
            self.begun = BegunRows(plan, rows, request, loss)
        begun, first = self.begun, forest.n_trees // loss.n_trees
        state = hashlib.sha256(rows.agreement + begun.digest).digest()
        for round_ in range(first):
            trees = forest.part(round_ * loss.n_trees, (round_ + 1) * loss.n_trees)
            digest = trees_digest(trees)
            self._check_shown(round_, trees, digest, begun, round_ == first - 1)
            state = advanced(state, digest.encode())
        place = begun.first_place(frame, first)
        steps.begin(PartyRound(place, begun.rows_after(forest), begun.metric), state)
        return m.Done()

    def _check_shown(self, round_: int, trees: Forest, digest: str, begun: BegunRows, last: bool) -> None:
        """Refuse trees other than those this party helped to finish, whose values its next gradients would be made of.

        Where a run goes on after a loss, the last round may have been closed without this party being told. It is
        believed once, if this party has begun it, and is from then on the only one.
        """
        journal = self.journal
        closed = last and self.plan.goes_on and round_ not in journal.finished
        if self.known and closed and (round_, 0) in journal.answered:
            check_grown(trees, begun.grid, self.plan.params.max_depth)
            journal.finish(round_, digest)
        journal.check(round_, digest, known=self.known)

    def _keep(self, request: m.Farewell, _: Frame) -> m.Done:
        """The finished model; refused if it is not what this party helped to grow."""
        begun = self.begun
        if begun is None:
            raise ProtocolError("The driver sends a model before the trees have begun.")
        if self.known:
            made, n_trees = decoded(request.model, "The model that the driver sent"), begun.loss.n_trees
            agreed = (begun.base, begun.loss, begun.rows.columns, tuple(begun.rows.classes))
            if (made.base_score, made.loss, made.columns, made.classes) != agreed:
                raise PrivacyError(
                    "The driver sends a model of other columns, classes or first score than were agreed."
                )
            for round_ in range(made.forest.n_trees // n_trees):
                trees = made.forest.part(round_ * n_trees, (round_ + 1) * n_trees)
                self.journal.check(round_, trees_digest(trees), known=True)
        if self.context.keep_model is not None:
            self.context.keep_model(request.model)
        return m.Done()
