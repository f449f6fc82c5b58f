"""What a run file says beside the trees: how data is read and cut, who takes part, what is protected, who drives."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hedgerow.agreement.options import (
    Federation,
    Horizontal,
    Lattice,
    NoPrivacy,
    Paillier,
    SecureAggregation,
    WholeTrees,
)
from hedgerow.agreement.plan import MOST_IDS, Align, ColumnNames, CutPoints, Protection
from hedgerow.run.file.section import Source


@dataclass(frozen=True)
class DataOptions:
    """How every party's file is read."""

    label: str | None = None
    id: str | None = None
    weight: str | None = None
    categorical: tuple[str, ...] = ()
    absent: str = "missing"
    task: Literal["classify", "regress"] = "classify"
    test: Source | None = None
    """Rows that only the final metrics are computed on; simulations only."""
    format: Literal["csv", "libsvm"] | None = None
    """What the files are, whatever their suffix; None: by the suffix."""
    n_columns: int | None = None
    first_index: Literal[0, 1] | None = None
    """What LIBSVM files call their first column; None: 0 if any of the run's files has a column 0, else 1."""
    """The width of LIBSVM files; None: as each file has it."""
    delimiter: str | None = None
    """What stands between the fields of CSV files, and before decimals; None: recognised."""
    decimal: str | None = None
    ignore: tuple[str, ...] = ()
    """Columns that are left out of the files that have them."""


@dataclass(frozen=True)
class PartitionOptions:
    """How one table is cut into parties by `data.partition`: rows, or in a vertical run columns."""

    data: Source
    parties: int
    how: str = "even"
    alpha: float = 0.5
    noise: float = 0.0
    seed: int | None = None
    """None: rows are shuffled by seed 0, columns stay in order."""

    @property
    def names(self) -> tuple[str, ...]:
        """The parties, as `data.partition` names them."""
        return tuple(f"party{i}" for i in range(1, self.parties + 1))


@dataclass(frozen=True)
class PartyEntry:
    """A party as the run file names it: by its data in a simulation, by its certificate between real parties."""

    name: str
    fingerprint: str = ""
    data: Source | None = None
    valid: Source | None = None


@dataclass(frozen=True)
class PrivacyOptions:
    """What is protected, and what was accepted."""

    protection: Protection = "masked"
    i_accept_disclosure: bool = False
    allow_two: bool = False
    on_loss: Literal["wait", "continue"] = "wait"
    party_share: float = 1.0
    cut_points: CutPoints = "counts"
    columns: Literal["shared", "all"] = "shared"
    key_bits: int = 0
    """Of Paillier keys; 0 with any other protection."""
    link_mbit: float | None = None
    """The speed of the link that lattice encryption is laid out for; None: bytes cost nothing."""
    align: Align = "given"
    most_ids: int = MOST_IDS
    column_names: ColumnNames = "open"
    opener: str = ""
    """In a horizontal run with encryption the party that opens the sums and chooses the cuts."""
    local_trees: int = 0
    """Rounds of a vertical run that are grown from the active party's own columns only."""
    allow_few_columns: bool = False
    """Whether fewer than half of the columns of the party that has most may be left."""
    hidden_rows: bool = False
    """Whether passive parties of a vertical run are kept from learning which rows share a node."""

    def federation(self, method: Literal["horizontal", "bagging", "sequential"]) -> Federation:
        """The same as the Python interface has it."""
        if method == "horizontal":
            chosen = (self.cut_points, self.columns, self.party_share, self.opener, self.column_names)
            return Horizontal(self._privacy(), *chosen, allow_few_columns=self.allow_few_columns)
        return WholeTrees(method, allow_few_columns=self.allow_few_columns)

    def _privacy(self) -> SecureAggregation | Lattice | Paillier | NoPrivacy:
        if self.protection == "masked":
            return SecureAggregation()
        if self.protection == "lattice":
            return Lattice(self.link_mbit)
        if self.protection == "paillier":
            return Paillier(self.key_bits)
        return NoPrivacy(i_accept_disclosure=self.i_accept_disclosure)


@dataclass(frozen=True)
class DriverOptions:
    """Where and as whom the driver of real parties listens."""

    address: str
    """What parties dial."""
    listen: str
    fingerprint: str
    ca: Path | None = None
    crl: Path | None = None
    deadline: float = 600.0
    patience: float = 600.0
