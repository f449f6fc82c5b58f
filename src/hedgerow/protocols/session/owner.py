"""Whose data it is, what every role of a party has to work with, and what one attempt at a run adds to it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hedgerow.agreement.plan import Plan
from hedgerow.agreement.policy import Policy
from hedgerow.corridor.messages import Answer, Facts, Introduce
from hedgerow.corridor.wire import TranscriptHash
from hedgerow.data.table import Table
from hedgerow.identity.identity import Identity
from hedgerow.privacy.lifetime import NO_LIMIT, LifetimeLimit
from hedgerow.privacy.noised_words import KeptWords
from hedgerow.protocols.party_rows import TableFactory
from hedgerow.protocols.session.journal import Journal, Log, NoLog
from hedgerow.protocols.session.notify import Tell, silent
from hedgerow.protocols.session.owner_ledger import Ledger
from hedgerow.protocols.session.stores import CutStore, PlaceStore


@dataclass(frozen=True, eq=False)
class Owner:
    """Whose data it is: tables, rules, identity and log."""

    name: str
    own_table: Table
    own_valid: Table | None
    policy: Policy
    identity: Identity
    log: Log | None = None
    revoked: Callable[[bytes], bool] = lambda _: False
    """Whether another party's certificate was revoked."""
    durable: bool = False
    """Whether what is answered must be on disk before the answer leaves, so that a loss of power forgets nothing."""
    keeps: CutStore | None = None
    """Where the own cuts of a vertical run are kept."""
    tell: Tell = silent
    """Told what an alignment does and finds."""
    note: Tell = silent
    """Told what of the own table is not used; it belongs into the run's manifest too."""
    ledger: Log | None = None
    """Where wrong hashes and releases are counted over all runs of this owner; None: in the log of the run."""
    places: PlaceStore | None = None
    """Where a vertical run's common rows are kept, or a horizontal run's common columns."""
    noised: KeptWords | None = None
    """Where own noised sums are kept until a round is over; None: in memory."""
    rows: TableFactory | None = None
    """How the rows of a horizontal run are held; None: in a table here."""


def books_of(owner: Owner, plan: Plan) -> tuple[Journal, Ledger]:
    """What the owner's logs tell of this run, and of all its runs."""
    return Journal(owner.log or NoLog(), plan.digest.hex()), Ledger(owner.ledger or owner.log)


@dataclass(frozen=True, eq=False)
class Active:
    """The party that has the labels of a vertical run, and drives."""

    own_table: Table
    own_valid: Table | None = None
    keeps: PlaceStore | None = None
    """Where it keeps which of its rows are common."""
    noised: KeptWords | None = None
    """Where it keeps noised sums until the run is over; None: in memory."""
    ledger: Log | None = None
    """Where releases are counted over all runs of this owner; None: in the log of the run."""
    lifetime: LifetimeLimit = NO_LIMIT
    """What this owner allows all of them together."""


@dataclass(frozen=True, eq=False)
class PartyContext:
    """What a role has from the moment that its party consents to a plan, whatever attempts are made."""

    owner: Owner
    plan: Plan
    journal: Journal
    ledger: Ledger
    threads: int
    sent: Callable[[Answer], bytes]
    """Makes the frame of an answer that is about to leave, and notes it."""
    keep_model: Callable[[bytes], None] | None = None
    """Given the finished model, or this party's part of it."""


@dataclass(frozen=True, eq=False)
class Attempt:
    """What a party has once it is introduced to the others, until it is introduced anew."""

    number: int
    """This party's, in the plan."""
    present: tuple[int, ...]
    """Those that were introduced, by number in the plan."""
    pair_secrets: Mapping[int, bytes]
    """The secret shared with each other party, where the plan needs any."""
    introduced: Introduce
    facts: Facts
    """What this party said of its table."""
    transcript: TranscriptHash
