"""A party's side: sums its clipped rows, adds its share of the noise, enters it in its ledger, masks; each sum once.

The folder has the conversation.

Sees in the clear.  Its own rows, what was agreed, what the driver makes of the sums of all.
Gives away sums over its rows with noise, under masks; the noise is added before, and kept with them until the next.
"""

from functools import partial

import msgspec

from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import Frame
from hedgerow.errors import PrivacyError, ProtocolError
from hedgerow.model.file import decoded
from hedgerow.protocols.horizontal.batch import Pending
from hedgerow.protocols.horizontal.schema import SchemaTable
from hedgerow.protocols.horizontal.steps import MaskedSender, Reply
from hedgerow.protocols.noised.agreed_rows import agreed_terms, own_sums, told_grid, told_trees
from hedgerow.protocols.noised.own_releases import OwnReleases
from hedgerow.protocols.noised.promises import Agreed, check_model
from hedgerow.protocols.noised.told import Asked, ToldSums
from hedgerow.protocols.session.owner import Attempt, PartyContext
from hedgerow.protocols.session.shell import Table
from hedgerow.trees.noised.rule import Terms
from hedgerow.trees.noised.sums import OwnSums

BEGUN = "cut points and the number of rows"
"""What is settled before the first tree."""


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
        if self.releases is None:
            self.releases = OwnReleases(self.context, agreed_terms(self.plan, self.schema.own))
        own = own_sums(self.plan, self.schema.own, self.context.threads)
        self._told = self._told_of(own, own.terms)
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
        grid = frame.derived(told_grid, self.schema.own.columns, planned.max_bin)
        releases.plan_rest(planned)
        told.begin(grid, planned, frame.derived(told_trees, grid, self.plan.params.random_state))
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
        own = self.schema.own
        agreed = Agreed(self.plan, own.columns, tuple(own.classes), releases.words.ledger.spent())
        check_model(decoded(request.model, "The model that the driver sent"), agreed, told.ended)
        if self.context.keep_model is not None:
            self.context.keep_model(request.model)
        releases.words.finish()
        return m.Done()
