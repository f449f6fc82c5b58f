"""How far a run has come, and what every method's way of driving it has to work with.

Nothing is said here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.plan import Plan
from hedgerow.corridor.messages import Facts
from hedgerow.corridor.wire import Corridor
from hedgerow.errors import PartyLost
from hedgerow.identity.identity import Identity
from hedgerow.model.model import Model
from hedgerow.protocols.columns import Common
from hedgerow.protocols.leakage import LearntBins
from hedgerow.protocols.secure_sum import SummingGroup
from hedgerow.protocols.session.journal import Log, NoLog
from hedgerow.protocols.session.owner import Active
from hedgerow.trees.bins import Grid
from hedgerow.trees.boost import Callback
from hedgerow.trees.forest import Forest
from hedgerow.trees.forest import join as joined
from hedgerow.trees.losses import LabelFacts


@dataclass(frozen=True, eq=False)
class Start:
    """All that is fixed before the first tree of a horizontal run."""

    facts: LabelFacts
    valid_facts: LabelFacts
    base: float
    grid: Grid


@dataclass(frozen=True, eq=False)
class Opened:
    """Sums with noise over all parties, by the number of their release; nothing in them needs protection."""

    number: int
    words: NDArray[np.int64]


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
    opened: tuple[Opened, ...] = ()
    """Of a run with differential privacy; from these the same trees are grown again."""
    drawn: tuple[bytes, ...] = ()
    """Of a vertical run in which they are told before labels are looked at: all sides, round by round."""

    @property
    def steps(self) -> int:
        """How far the run has come: rounds, or sums that were opened, or rounds of which sides were told."""
        return len(self.parts) + len(self.opened) + len(self.drawn)

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
    commit: Callable[[Model], bytes] = lambda _: b""
    """What holds the active party to a finished model's leaf values: a hash, whose salt is safe by now; empty: none."""


class Progress:
    """The state of a run while it is driven."""

    def __init__(self, driver: Driver, state: State) -> None:
        self.driver, self.state = driver, state

    @property
    def present(self) -> tuple[str, ...]:
        """The parties still in the run that are asked."""
        return self.state.present or self.driver.plan.answering

    def keep(self, state: State) -> None:
        """So far the run has come; returns when that is safe."""
        self.state = state
        self.driver.keep(state)


class Drive(Protocol):
    """A method's way of driving a run; one object for all its attempts."""

    def attempt(self, group: SummingGroup, facts: Mapping[str, Facts]) -> Model:
        """Train, as far as it was not done before; the parties have just been introduced and have said this."""

    def goes_on(self, loss: PartyLost) -> bool:  # noqa: ARG002  # a method may look at it
        """Whether the next attempt begins at once, without the parties that ended this one; else they are waited for.

        A method that deals with a loss within an attempt has nothing left to go on after.
        """
        return False
