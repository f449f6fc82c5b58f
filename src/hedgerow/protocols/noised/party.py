"""A party's side: sums its clipped rows, adds its share of the noise, enters it in its ledger, masks; each sum once.

The folder has the conversation.

Sees in the clear.  Its own rows, what was agreed, what the driver makes of the sums of all.
Gives away sums over its rows with noise, under masks; the noise is added before, and kept with them until the next.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import Frame
from hedgerow.data.table import Column
from hedgerow.errors import PrivacyError, ProtocolError
from hedgerow.model.file import decoded
from hedgerow.model.noised_terms import all_released, own_share, released, terms_of
from hedgerow.privacy import noise
from hedgerow.privacy.noised_words import NoisedWords
from hedgerow.privacy.promise import Promise
from hedgerow.protocols.columns import loss_of
from hedgerow.protocols.horizontal.batch import Pending
from hedgerow.protocols.horizontal.own_table import OwnTable
from hedgerow.protocols.horizontal.prepare import grid_of
from hedgerow.protocols.horizontal.schema import SchemaTable
from hedgerow.protocols.horizontal.steps import MaskedSender, Reply
from hedgerow.protocols.noised.places import Place
from hedgerow.protocols.noised.run import dp_of, promise_of
from hedgerow.protocols.noised.told import AnySchedule, Asked, ToldSums
from hedgerow.protocols.session.noised_releases import releases_of
from hedgerow.protocols.session.owner import Attempt, PartyContext
from hedgerow.protocols.session.shell import Table
from hedgerow.trees.bins import Grid
from hedgerow.trees.noised.rule import Terms, opening
from hedgerow.trees.noised.sums import OwnRows, OwnSums

Words = NDArray[np.int64]
BEGUN = "cut points and the number of rows"
"""What is settled before the first tree."""


class OwnReleases:
    """Own noised words: the share of noise of each release, in the ledger before anything leaves."""

    def __init__(self, context: PartyContext, terms: Terms) -> None:
        dp = dp_of(context.plan)
        self.shares = len(context.plan.members), dp.colluders
        planned = all_released(opening(terms).planned, *self.shares)
        self.words: NoisedWords = releases_of(context.owner, context.plan, planned, more_to_come=True)
        self._all_planned = False

    def plan_rest(self, told: AnySchedule) -> None:
        """What else is released, now that the number of rows is told, once for the run; refused beyond the budget."""
        if not self._all_planned:
            self.words.ledger.plan(all_released(told.planned[len(told.opening.planned) :], *self.shares))
            self._all_planned = True

    def noised(self, place: Place, told: bytes, own_words: Callable[[], Words]) -> Words:
        """Own words of a release with this party's share of its noise: drawn once, kept, counted, and only then given.

        Whoever asks for a release has the sums of those before it, so that their words are forgotten.
        """
        release, variance = released(place.planned, *self.shares), own_share(place.planned, *self.shares)
        if self.words.kept.read(place.key, release, told) is None:
            self.words.kept.forget()

        def draw() -> Words:
            exact = own_words()
            return exact + noise.gaussian(len(exact), variance)

        return self.words.words(place.key, release, told, draw, anew=False)


class NoisedParty:
    """Answers what a driver asks of rows whose sums all have noise."""

    asks: tuple[type[Asked], ...] = (m.AskNoisedCounts, m.AskNoisedSums)
    """What it answers with noised sums."""

    def __init__(self, context: PartyContext) -> None:
        self.context, self.plan, self.journal = context, context.plan, context.journal
        self.schema = SchemaTable(context)
        self.most_bytes = self.schema.most_bytes
        self.releases: OwnReleases | None = None
        """The ledger and what is kept, whatever attempts are made."""
        self._told: ToldSums | None = None
        """What this attempt was told so far."""

    def stop(self) -> None:
        """No more sums in this attempt."""
        self._told = None

    def introduced(self, attempt: Attempt) -> Table[Pending]:
        """What is answered, once the others are known."""
        self.schema.introduced()
        self._told = None
        give = partial(self._give, attempt, MaskedSender(self.context, attempt))
        return {
            m.Agree: partial(self._agree, attempt),
            m.BeginNoised: self._begin,
            **dict.fromkeys(self.asks, give),
            m.Farewell: self._keep,
        }

    def _agree(self, attempt: Attempt, request: m.Agree, frame: Frame) -> m.Done:
        done = self.schema.agree(request, frame, attempt.facts)
        self.most_bytes = self.schema.most_bytes
        terms = terms_of(dp_of(self.plan), request.columns, len(request.classes))
        if self.releases is None:
            self.releases = OwnReleases(self.context, terms)
        own = self.schema.own
        if not isinstance(own, OwnTable):
            raise ProtocolError("Differential privacy goes with rows in a table here only, not on a cluster.")
        rows = OwnRows(own.table.values, own.table.absent, own.labels)
        self._told = self._told_of(OwnSums(rows, terms, self.context.threads), terms)
        return done

    def _told_of(self, own: OwnSums, terms: Terms) -> ToldSums:
        """Before anything was told."""
        return ToldSums(own, terms)

    @property
    def _agreed(self) -> "tuple[ToldSums, OwnReleases]":
        if self._told is None or self.releases is None:
            raise ProtocolError("The driver asks before columns and classes are agreed.")
        return self._told, self.releases

    def _begin(self, request: m.BeginNoised, frame: Frame) -> m.Done:
        """What is released from here on follows from what is told; told otherwise in another attempt, it is refused."""
        told, releases = self._agreed
        self.journal.settle(BEGUN, frame.sha256)
        planned = told.schedule(request.n_rows)
        grid = frame.derived(_told_grid, self.schema.own.columns, planned.max_bin)
        if not grid.has_missing.all():
            raise ProtocolError("The cut points that the driver sent have no place for missing values.")
        releases.plan_rest(planned)
        told.begin(grid, planned, self.plan.params.random_state)
        return m.Done()

    def _give(self, attempt: Attempt, sender: MaskedSender, request: Asked, frame: Frame) -> Reply:
        """Own words of a release that is the next, with noise; where its sums are known already, only what it tells."""
        told, releases = self._agreed
        place = told.next_place(request)
        content = frame if not request.opened else Frame.of(msgspec.structs.replace(request, opened=False))
        step = self.journal.check_step(place.number, 0, content, attempt.present, may_shrink=False)
        if request.opened and step.step not in self.journal.answered:
            raise PrivacyError(
                f"The driver says that it has the sums of {place.planned.what!r}, which this party has not given; this "
                "party stops."
            )
        told.hear(place, request)
        self.journal.write_step(step)
        if request.opened:
            return m.Done()
        words = releases.noised(place, step.told, partial(told.own_words, place, request))
        return sender.noised(words, attempt.present)

    def _keep(self, request: m.Farewell, _: Frame) -> m.Done:
        """The finished model, of the columns and classes that were agreed; what was kept of its sums is forgotten."""
        told, releases = self._agreed
        made, own = decoded(request.model, "The model that the driver sent"), self.schema.own
        agreed = (loss_of(self.plan, own.classes), own.columns, tuple(own.classes))
        if not told.ended or (made.loss, made.columns, made.classes) != agreed:
            raise PrivacyError("The driver sends a model of other columns, classes or sums than were agreed.")
        if not _same(made.promise, promise_of(self.plan, releases.words.ledger.spent())):
            raise PrivacyError("The driver's model promises other than what this party's ledger tells; it is not kept.")
        if self.context.keep_model is not None:
            self.context.keep_model(request.model)
        releases.words.finish()
        return m.Done()


def _told_grid(frame: Frame, columns: tuple[Column, ...], max_bin: int) -> Grid:
    """The cut points that the driver tells, once for all parties that hear this frame."""
    return grid_of(cast(m.BeginNoised, frame.request), columns, max_bin)


def _same(theirs: Promise | None, own: Promise) -> bool:
    """Whether two parties promise the same, whatever versions of the accountant they have."""
    if theirs is None:
        return False
    return replace(theirs, composed=own.composed, rdp=own.rdp, accountant=own.accountant, version=own.version) == own
