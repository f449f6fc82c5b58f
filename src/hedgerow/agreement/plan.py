"""What the parties of a run agree to before any data moves: a text each of them signs the hash of."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import msgspec

from hedgerow.agreement.link_speeds import LinkSpeed
from hedgerow.agreement.options import DEALING, Horizontal, Hybrid, Prediction, SealedPrediction, Vertical, WholeTrees
from hedgerow.errors import ParameterError, ProtocolError
from hedgerow.trees.losses import LossName
from hedgerow.trees.params import TreeParams

VERSION = 2
MOST_PARTIES = 1024

FOR_NUMBERS: tuple[LossName, ...] = ("squared", "poisson", "tweedie", "huber")


@dataclass(frozen=True)
class Member:
    """A party by name, and by the fingerprint of its certificate."""

    name: str
    fingerprint: str


@dataclass(frozen=True)
class Goal:
    """What is learnt: the objective (None: classes), and how training is followed and ended."""

    objective: LossName | None = None
    parameter: float = 0.0
    base_score: float | None = None
    scale_pos_weight: float = 1.0
    label: str | None = None
    eval_metric: str | None = None
    early_stopping_rounds: int | None = None
    follow: bool = False
    """Whether a metric on the parties' validation rows is opened after every tree."""

    def __post_init__(self) -> None:
        if self.objective not in (None, *FOR_NUMBERS):
            raise ParameterError(
                f"The objective {self.objective!r} is not one for numbers ({', '.join(FOR_NUMBERS)}); "
                "classes need none."
            )


@dataclass(frozen=True)
class Plan:
    """A run, apart from the data."""

    run: str
    members: tuple[Member, ...]
    goal: Goal
    params: TreeParams
    method: Horizontal | Vertical | Hybrid | WholeTrees | Prediction | SealedPrediction = Horizontal()  # noqa: RUF009  # frozen
    coordinator: str = ""
    """The fingerprint of the driver's certificate; empty where all live in one process."""
    version: int = VERSION
    link_speeds: tuple[LinkSpeed, ...] = ()
    """Of real parties that answer, where encryption is laid out for their links; measured once all are here."""

    def __post_init__(self) -> None:
        names, prints = [m.name for m in self.members], [m.fingerprint for m in self.members]
        if not self.members:
            raise ParameterError("A run needs at least one party; name some.")
        if len(self.members) > MOST_PARTIES:
            raise ParameterError(f"A run has at most {MOST_PARTIES} parties; {len(self.members)} are named.")
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise ParameterError(f"Two parties have the name {twice[0]!r}; give each party a name of its own.")
        if len(set(prints)) != len(prints):
            raise ParameterError("Two parties have one certificate; make one for each party.")
        self.method.check(self)
        if self.link_speeds and not (self.measures and self._one_each):
            raise ParameterError("The plan has measured links where none are to be measured, or not one to each party.")

    @property
    def _one_each(self) -> bool:
        """Whether there is one link to each party that answers."""
        return tuple(link.party for link in self.link_speeds) == self.answering

    @property
    def measures(self) -> bool:
        """Whether links are to be measured: between real parties, where a layout depends on them and none is named."""
        return bool(self.coordinator) and self.method.for_link

    @property
    def link_mbit(self) -> float | None:
        """The speed of the slowest measured link."""
        return min((link.mbit for link in self.link_speeds), default=None)

    @property
    def active(self) -> str:
        """The party that has the labels and drives; empty where a driver without data does."""
        return self.method.active or ""

    @property
    def opener(self) -> str:
        """In a horizontal run with encryption the party that decrypts the sums and chooses the cuts."""
        return self.method.opener

    @property
    def goes_on(self) -> bool:
        """Whether the run goes on without a party that is lost."""
        return self.method.goes_on

    @property
    def only_sums(self) -> bool:
        """Whether sums over all parties are opened and no party's own, so that too few parties would show them."""
        return self.method.only_sums

    @property
    def vertical(self) -> Vertical:
        """The options of a vertical run."""
        if not isinstance(self.method, Vertical):
            raise ProtocolError(f"The plan is of a run with method {self.method.word}, not of a vertical one.")
        return self.method

    @property
    def sets_change(self) -> bool:
        """Whether such sums may be opened for one set of parties in a tree and for another in the next."""
        return self.only_sums and (self.method.party_share < 1 or self.goes_on)

    @cached_property
    def joins_rounds(self) -> bool:
        """Whether a round ends in the request that begins the next: sums are of all, and no metric is followed."""
        always_all = self.method.party_share == 1 and not self.goes_on
        noised = self.method.dp is not None  # each request's noise is for its own sums
        horizontal = isinstance(self.method, Horizontal) and not self.opener and not noised
        return horizontal and always_all and not self.goal.follow

    @cached_property
    def answering(self) -> tuple[str, ...]:
        """The parties that are asked: all, but for the active one of a vertical run, which asks."""
        return tuple(name for name in self.names if name != self.active)

    @cached_property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Passive parties that share their columns, group by group: of their sums only the group's total is opened."""
        return self.method.groups(self.answering)

    def group_of(self, party: str) -> tuple[str, ...]:
        """Those that a party shares its columns with, itself among them; nobody, if it has columns of its own."""
        return next((group for group in self.groups if party in group), ())

    @cached_property
    def units(self) -> tuple[tuple[str, ...], ...]:
        """Passive parties with subtrees of their own for the rows that they hold: groups that share columns, or one."""
        return self.method.units(self.answering)

    @cached_property
    def once(self) -> tuple[tuple[str, ...], ...]:
        """Passive parties of which one is asked for each row, however many hold it, group by group."""
        return (self.answering,) if self.units else self.groups

    @cached_property
    def schedule(self) -> str:
        """The letters of all levels, those included that deal rows to units, before the first that asks somebody."""
        letters = self.method.levels
        first = next((depth for depth, letter in enumerate(letters) if letter != "A"), len(letters))
        return letters[:first] + DEALING * len(self.units).bit_length() * bool(self.units) + letters[first:]

    def drawn(self, present: int) -> int:
        """How many of the present parties take part in a tree."""
        return max(1, round(self.method.party_share * present))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The parties, in order."""
        return tuple(m.name for m in self.members)

    @cached_property
    def fingerprints(self) -> Mapping[str, str]:
        """The certificate of each party."""
        return {m.name: m.fingerprint for m in self.members}

    @cached_property
    def text(self) -> bytes:
        """The plan as every party reads and signs it."""
        told = msgspec.to_builtins(self)
        if not self.link_speeds:
            told.pop("link_speeds", None)
        return msgspec.json.encode(told, order="sorted")

    @cached_property
    def signed(self) -> bytes:
        """The SHA-256 of the text."""
        return hashlib.sha256(self.text).digest()

    @cached_property
    def digest(self) -> bytes:
        """That of the plan as run files have it, before any link is measured: what all that is kept belongs to."""
        return replace(self, link_speeds=()).signed

    @classmethod
    def read(cls, text: bytes) -> "Plan":
        """A plan from its text; refuses another version and anything it does not know."""
        try:
            version = msgspec.json.decode(text, type=_Version).version
            if version != VERSION:
                raise ProtocolError(f"The plan is of version {version}; this hedgerow reads version {VERSION}.")
            plan = msgspec.json.decode(text, type=cls)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise ProtocolError("The plan cannot be read.") from None
        if plan.text != text:
            raise ProtocolError("The plan holds something this hedgerow does not know.")
        return plan


class _Version(msgspec.Struct):
    version: int
