"""What the parties of a run agree to before any data moves: a text each of them signs the hash of."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import msgspec

from hedgerow.errors import ParameterError, ProtocolError
from hedgerow.trees.losses import LossName
from hedgerow.trees.params import TreeParams

VERSION = 1
MOST_PARTIES = 1024
FEWEST_MASKED = 3
"""Below this a party learns the others' sums: its own part subtracted leaves one other's."""

MOST_IDS = 10_000_000
"""Ids of one party that are aligned; with many more, a set could hold every id that there can be."""

DEEPEST_HIDDEN = 12
"""Levels of a tree with hidden rows: each has twice the nodes of the one above it, in every tree."""

FOR_NUMBERS: tuple[LossName, ...] = ("squared", "poisson", "tweedie", "huber")

Protection = Literal["masked", "plain", "lattice", "paillier"]
SEALED: tuple[Protection, ...] = ("lattice", "paillier", "plain")
"""Protections of a vertical run."""
CutPoints = Literal["counts", "local"]
Align = Literal["given", "private"]
Method = Literal["horizontal", "vertical", "bagging", "sequential", "predict"]
ColumnNames = Literal["open", "private"]


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
    method: Method = "horizontal"
    protection: Protection = "masked"
    cut_points: CutPoints = "counts"
    columns: Literal["shared", "all"] = "shared"
    """Which columns are used where the parties' differ: those that all have, or all, absent values being missing."""
    allow_few_columns: bool = False
    """Whether fewer than half of the columns of the party that has most may be left, where shared ones are used."""
    column_names: ColumnNames = "open"
    """Names of columns of a horizontal run: told to the driver, or, those that not all have, to nobody."""
    party_share: float = 1.0
    """The share of parties drawn for each tree; of a vertical run, of passive ones."""
    local_trees: int = 0
    """Rounds at the beginning of a vertical run that are grown from the active party's own columns only."""
    on_loss: Literal["wait", "continue"] = "wait"
    allow_two: bool = False
    """Two parties whose sums are hidden: each learns the other's, or with encryption the opener does."""
    active: str = ""
    """In a vertical run the party that has the labels and drives."""
    opener: str = ""
    """In a horizontal run with encryption the party that opens the sums and chooses the cuts."""
    key_bits: int = 0
    """Of Paillier keys."""
    link_mbit: float | None = None
    """The speed of the link that lattice encryption is laid out for; None: bytes cost nothing."""
    align: Align = "given"
    """Rows of a vertical run: the same everywhere and in order already, or found by private set intersection."""
    most_ids: int = MOST_IDS
    """The most ids that a party may bring to the intersection."""
    model: str = ""
    """Of a prediction, the id that all parts of the vertical model share."""
    hidden_rows: bool = False
    """In a vertical run passive parties do not learn which rows share a node; see `protocols.hidden`."""
    coordinator: str = ""
    """The fingerprint of the driver's certificate; empty where all live in one process."""
    version: int = VERSION

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
        if not 0 < self.party_share <= 1:
            raise ParameterError(f"party_share must be above 0 and at most 1; it is {self.party_share!r}.")
        if self.method == "predict":
            self._check_prediction()
            return
        self._check_names()
        self._check_vertical()
        self._check_hidden()
        self._check_opener()
        self._check_sums()

    def _check_opener(self) -> None:
        encrypted = self.protection in ("lattice", "paillier")
        if self.method != "horizontal" or not encrypted:
            if self.opener:
                raise ParameterError(
                    "Only a horizontal run with encryption has an opener; leave it out, or use lattice or paillier."
                )
            return
        if not self.opener:
            raise ParameterError(
                "A horizontal run with encryption needs an opener: the party that opens the sums and chooses the cuts; "
                f"name one of {', '.join(self.names)}."
            )
        if self.opener not in self.names:
            raise ParameterError(f"The opener {self.opener!r} is not among the parties; it opens the sums, name one.")
        unknown = {'cut_points = "local"': self.cut_points == "local", "link_mbit": self.link_mbit is not None}
        for name, is_set in unknown.items():
            if is_set:
                raise ParameterError(f"A horizontal run with encryption does not go with {name}; leave it out.")

    @property
    def only_sums(self) -> bool:
        """Whether sums over all parties are opened and no party's own, so that too few parties would show them."""
        return self.method == "horizontal" and self.protection != "plain"

    @property
    def sets_change(self) -> bool:
        """Whether such sums may be opened for one set of parties in a tree and for another in the next."""
        return self.only_sums and (self.party_share < 1 or self.on_loss == "continue")

    @property
    def joins_rounds(self) -> bool:
        """Whether a round ends in the request that begins the next: sums are of all, and no metric is followed."""
        always_all = self.party_share == 1 and self.on_loss == "wait"
        return self.method == "horizontal" and not self.opener and always_all and not self.goal.follow

    def _check_prediction(self) -> None:
        if self.active not in self.names or not self.model:
            raise ParameterError("A prediction over several parties has an active party among them, and a model's id.")

    def _check_names(self) -> None:
        if self.column_names == "open":
            return
        if self.method != "horizontal" or len(self.members) < 2:
            raise ParameterError("Names of columns are aligned between two or more parties of a horizontal run only.")
        if self.opener:
            raise ParameterError("Names of columns are not aligned in a run that has an opener; leave one of them out.")
        if self.columns != "shared":
            raise ParameterError('A name that not all parties have stays unknown; use columns = "shared".')
        if self.on_loss != "wait":
            raise ParameterError('Names of columns are aligned between all parties; use on_loss = "wait".')

    def _check_vertical(self) -> None:
        if self.method != "vertical":
            if self.active or (self.method != "horizontal" and self.protection in ("lattice", "paillier")):
                raise ParameterError("Only a vertical run has an active party; whole trees have no encryption.")
            if self.align != "given":
                raise ParameterError("Only the rows of a vertical run can be aligned.")
            if self.local_trees:
                raise ParameterError("Only a vertical run has local_trees; leave it out.")
            return
        if self.active not in self.names:
            raise ParameterError(f"The active party {self.active!r} of a vertical run is not among its parties.")
        if len(self.members) < 2:
            raise ParameterError("A vertical run needs a passive party beside the active one.")
        if self.protection not in SEALED:
            raise ParameterError(f"A vertical run is protected by one of {', '.join(SEALED)}, not {self.protection!r}.")
        if not 1 <= self.most_ids <= MOST_IDS:
            raise ParameterError(f"most_ids must be from 1 to {MOST_IDS}; it is {self.most_ids!r}.")
        if not 0 <= self.local_trees < self.params.n_estimators:
            raise ParameterError(
                f"local_trees must be from 0 to below n_estimators, {self.params.n_estimators}; it is "
                f"{self.local_trees!r}."
            )

    def _check_hidden(self) -> None:
        if not self.hidden_rows:
            return
        if self.method != "vertical":
            raise ParameterError("Only a vertical run has hidden_rows; leave it out.")
        if self.protection == "plain":
            raise ParameterError(
                "Without encryption a passive party reads which rows of a node have gradients, so hidden_rows would "
                "hide nothing; use lattice or paillier."
            )
        if self.on_loss == "continue":
            raise ParameterError('A run with hidden_rows does not go on without a lost party; use on_loss = "wait".')
        if self.params.min_child_rows > 1:
            raise ParameterError(
                "With hidden_rows no passive party can count the rows of a node; use min_child_rows = 1."
            )
        if self.params.max_depth > DEEPEST_HIDDEN:
            raise ParameterError(
                f"With hidden_rows every level is as wide as it can be, 2^max_depth nodes in all; use a max_depth of "
                f"at most {DEEPEST_HIDDEN}."
            )

    @cached_property
    def answering(self) -> tuple[str, ...]:
        """The parties that are asked: all, but for the active one of a vertical run, which asks."""
        return tuple(name for name in self.names if name != self.active)

    def _check_sums(self) -> None:
        if not self.only_sums:
            return
        what = "Encryption" if self.opener else "Secure aggregation"
        if self.params.average and self.sets_change:
            raise ParameterError(
                "All trees of a random forest have the same gradients, so sums over different sets of parties would "
                'show single parties\' sums; use party_share = 1 and on_loss = "wait".'
            )
        drawn = self.drawn(len(self.members))
        if len(self.members) == 1:
            raise ParameterError(f"{what} needs at least 3 parties; there is one, with nobody to hide among.")
        if drawn < 2 or (drawn == 2 and not self.allow_two):
            raise ParameterError(
                f"{what} of {drawn} parties a tree shows {'the opener' if self.opener else 'each'} the other's sums; "
                f"take at least {FEWEST_MASKED}, or accept it with allow_two."
            )

    def drawn(self, present: int) -> int:
        """How many of the present parties take part in a tree."""
        return max(1, round(self.party_share * present))

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
        return msgspec.json.encode(self, order="sorted")

    @cached_property
    def digest(self) -> bytes:
        """The SHA-256 of the text."""
        return hashlib.sha256(self.text).digest()

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
