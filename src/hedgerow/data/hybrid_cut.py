"""How one table is cut into hybrid parties: the options, checked."""

from collections.abc import Sequence
from dataclasses import dataclass

from hedgerow.data.partition import MOST_ALPHA
from hedgerow.errors import ParameterError

HOWS = ("even", "labels")


@dataclass(frozen=True)
class HybridCut:
    """Which columns are passive, and who holds which rows."""

    passive: int | Sequence[str | int]
    """Columns of the passive parties, by name or position; a number: so many, drawn."""
    parties: int | None = 5
    """How many passive parties; None: one for each value of `by`, by which it is named."""
    names: Sequence[str] | None = None
    """Of the passive parties; else passive1, passive2, and so on."""
    how: str = "even"
    """"even", or "labels": of each class, parties hold shares drawn from a Dirichlet distribution."""
    alpha: float = 0.5
    """Its concentration: at 0.1 one party has most rows of a class, at 1000 all have about the same."""
    by: str | int | None = None
    """A column, such as the bank: rows of one value go to one party, rows without a value to none. Nobody has it."""
    holders: int = 1
    """How many parties hold each row."""
    extra: float = 0.0
    """Each party gets rows of others beside: a number of them drawn from 0 to this share of all rows."""
    uncovered: float = 0.0
    """The share of rows that no passive party holds."""
    dropped: int = 0
    """Each party lacks some columns: a number of them drawn from 0 to this."""
    active_rows: float = 1.0
    """The share of the rows that the active party has; test rows it has all."""
    active_columns: float = 1.0
    """The share of its columns that the active party has."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.how not in HOWS:
            raise ParameterError(f"how={self.how!r} is unknown; it is one of {', '.join(map(repr, HOWS))}.")
        if self.by is not None and self.how != "even":
            raise ParameterError("by= deals rows by a column, and how='labels' by labels; choose one of them.")
        if self.by is None and self.parties is None:
            raise ParameterError("parties=None means a party for each value of a column; name the column in by=.")
        if self.names is not None and self.parties is None:
            raise ParameterError("Parties are named by the values of by= where parties=None; leave names= out.")
        self._check_whole()
        self._check_shares()

    def _check_whole(self) -> None:
        least = {"parties": 1, "holders": 1, "dropped": 0, "seed": 0} | (
            {} if self.n_passive is None else {"passive": 1}
        )
        for name, lowest in least.items():
            value = getattr(self, name)
            if name == "parties" and value is None:
                continue
            if not isinstance(value, int) or isinstance(value, bool) or not lowest <= value < 2**63:
                raise ParameterError(f"{name} must be a whole number of at least {lowest}; it is {value!r}.")
        if self.parties is not None and self.holders > self.parties:
            raise ParameterError(f"{self.holders} parties cannot hold each row where there are {self.parties}.")

    def _check_shares(self) -> None:
        above = ("active_rows", "active_columns")
        for name in ("extra", "uncovered", *above):
            value = getattr(self, name)
            if not (0 < value <= 1 if name in above else 0 <= value < 1):
                limits = "above 0 and at most 1" if name in above else "from 0 to below 1"
                raise ParameterError(f"{name} must be a number {limits}; it is {value!r}.")
        if not 0 < self.alpha <= MOST_ALPHA:
            raise ParameterError(f"alpha must be a number above 0 and at most {MOST_ALPHA:g}; it is {self.alpha!r}.")

    @property
    def n_passive(self) -> int | None:
        """How many passive columns are drawn; None if they are named."""
        return None if isinstance(self.passive, Sequence) else self.passive
