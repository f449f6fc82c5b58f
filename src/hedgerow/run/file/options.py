"""What a run file says beside the trees: how data is read and cut, who takes part, who drives."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hedgerow.agreement.options import Method
from hedgerow.data.hybrid_cut import HybridCut
from hedgerow.data.named_network import NamedNetwork
from hedgerow.data.payments import bank_names
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
    repeated_ids: bool = False
    """Whether one id may stand in several rows, as at the active party of a hybrid run."""


@dataclass(frozen=True)
class PartitionOptions:
    """How one table is cut into parties: rows, in a vertical run columns, in a hybrid run both."""

    data: Source
    parties: int
    how: str = "even"
    alpha: float = 0.5
    noise: float = 0.0
    seed: int | None = None
    """None: rows are shuffled by seed 0, columns stay in order."""
    hybrid: HybridCut | NamedNetwork | None = None
    """In a hybrid run, how the first party and the passive ones differ; a network falls into its own parties."""
    test_rows: Literal["alike", "even"] = "alike"
    """Whether passive parties hold the same shares of test rows as of training rows, or all the same."""

    @property
    def names(self) -> tuple[str, ...]:
        """The parties, as `data.partition` names them; of a network, itself and its banks."""
        if isinstance(self.hybrid, NamedNetwork):
            return ("network", *bank_names(self.hybrid.banks))
        return tuple(f"party{i}" for i in range(1, self.parties + 1))


@dataclass(frozen=True)
class PartyEntry:
    """A party as the run file names it: by its data in a simulation, by its certificate between real parties."""

    name: str
    fingerprint: str = ""
    data: Source | None = None
    valid: Source | None = None


class Baseline(Method, frozen=True, tag="baseline"):
    """What a federation is compared with, where nobody exchanges anything: each party alone, or one table of all."""

    rows: Literal["alone", "pooled"]

    @property
    def word(self) -> str:
        """What a run file calls it."""
        return self.rows

    @property
    def alone(self) -> bool:
        """Whether each party trains a model of its own."""
        return self.rows == "alone"


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
