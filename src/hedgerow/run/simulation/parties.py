"""Who is simulated, and what each party writes down."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from hedgerow.agreement.plan import Member
from hedgerow.corridor.wire import Listener
from hedgerow.data.table import Table
from hedgerow.identity.identity import Identity
from hedgerow.model.model import Model
from hedgerow.privacy.noised_words import KeptWords
from hedgerow.protocols.align.lists import PlaceStore
from hedgerow.protocols.session.journal import Log, NoLog
from hedgerow.protocols.session.notify import Tell, silent
from hedgerow.protocols.session.stores import CutStore
from hedgerow.protocols.state import State
from hedgerow.trees.boost import Callback


@dataclass(frozen=True, eq=False)
class PartyFiles:
    """What a party writes down for itself."""

    log: Log | None = None
    cuts: CutStore | None = None
    """The own cuts of a passive party in a vertical run."""
    places: PlaceStore | None = None
    """Which of its rows, or columns, are common to all parties."""
    noised: KeptWords | None = None
    """Its noised sums until a round is over."""


@dataclass(frozen=True, eq=False)
class Simulation:
    """What is simulated, and what is done along the way."""

    parties: Mapping[str, Table]
    valid: Mapping[str, Table] = field(default_factory=dict)
    threads: int = 1
    callbacks: Sequence[Callback] = ()
    listeners: tuple[Listener, ...] = ()
    identities: Mapping[str, Identity] = field(default_factory=dict)
    state: State | None = None
    keep: Callable[[State], None] = lambda _: None
    """Called with the state after every tree."""
    notes: list[str] = field(default_factory=list)
    """Filled with sentences about what the user should know."""
    parts: dict[str, bytes] = field(default_factory=dict)
    """Filled with each passive party's part of a vertical model, as it keeps it."""
    notes_bins: bool = False
    """Whether the active party notes what it learns of passive columns' bins."""
    tell: Tell = silent
    files: Mapping[str, PartyFiles] = field(default_factory=dict)
    """What each party writes down for itself; nothing if it is not named."""
    log: Log = NoLog()  # noqa: RUF009  # it holds nothing
    """The driver's own."""
    commit: Callable[[Model], bytes] = lambda _: b""
    """As a driver's."""

    def files_of(self, name: str) -> PartyFiles:
        """What this party writes down."""
        return self.files.get(name, PartyFiles())


def members(names: Sequence[str]) -> tuple[tuple[Member, ...], dict[str, Identity]]:
    """Parties with fresh identities."""
    identities = {name: Identity.fresh(name) for name in names}
    return tuple(Member(name, identity.fingerprint) for name, identity in identities.items()), identities
