"""Parameters of a forest, by the names XGBoost's users know, and their limits as data."""

from dataclasses import dataclass, fields
from math import isfinite
from numbers import Integral, Real

from hedgerow.errors import ParameterError


@dataclass(frozen=True)
class Limit:
    """The numbers a parameter may take: from `low` to `high`, `low` itself excluded if `open_low`."""

    low: float
    high: float = float("inf")
    whole: bool = False
    open_low: bool = False

    def __str__(self) -> str:
        kind = "a whole number" if self.whole else "a number"
        if self.high == float("inf"):
            return f"{kind} {'above' if self.open_low else 'of at least'} {self.low:g}"
        if self.open_low:
            return f"{kind} above {self.low:g} and at most {self.high:g}"
        return f"{kind} from {self.low:g} to {self.high:,}"

    def allows(self, value: object) -> bool:
        """Whether the value is of the right kind and in range."""
        kind = Integral if self.whole else Real
        if not isinstance(value, kind) or isinstance(value, bool):
            return False
        number = float(value)
        return isfinite(number) and (number > self.low if self.open_low else number >= self.low) and number <= self.high


LIMITS = {
    "n_estimators": Limit(1, 1_000_000, whole=True),
    "max_depth": Limit(1, 30, whole=True),
    "learning_rate": Limit(0, open_low=True),
    "reg_lambda": Limit(0),
    "reg_alpha": Limit(0),
    "gamma": Limit(0),
    "min_child_weight": Limit(0),
    "min_child_rows": Limit(1, 1_000_000_000, whole=True),
    "max_bin": Limit(2, 255, whole=True),
    "subsample": Limit(0, 1, open_low=True),
    "colsample_bytree": Limit(0, 1, open_low=True),
    "colsample_bynode": Limit(0, 1, open_low=True),
    "scale_pos_weight": Limit(0, open_low=True),
    "gradient_bits": Limit(2, 31, whole=True),
    "min_cut_rows": Limit(1, whole=True),
    "early_stopping_rounds": Limit(1, whole=True),
    "random_state": Limit(0, 2**63 - 1, whole=True),
}


def check(name: str, value: object) -> None:
    """Refuse a value outside the parameter's limits."""
    if not LIMITS[name].allows(value):
        raise ParameterError(f"{name} must be {LIMITS[name]}; it is {value!r}.")


@dataclass(frozen=True)
class TreeParams:
    """What determines a forest, besides its rows and its loss. The number of threads does not.

    One field for each parameter that a user can set.
    """

    # more than 15 attributes: one for each parameter

    n_estimators: int = 100
    max_depth: int = 6
    learning_rate: float = 0.1
    reg_lambda: float = 1.0
    reg_alpha: float = 0.0
    gamma: float = 0.0
    min_child_weight: float = 1.0
    min_child_rows: int = 1
    """Least rows on each side of a cut, whatever they weigh."""
    max_bin: int = 255
    subsample: float = 1.0
    colsample_bytree: float = 1.0
    colsample_bynode: float = 1.0
    monotone_constraints: tuple[int, ...] = ()
    random_state: int = 0
    gradient_bits: int = 20
    constant_hessian: bool = False
    min_cut_rows: int = 1
    """Values that fewer rows share are not told apart by a cut (1: exact quantiles)."""
    average: bool = False
    """A random forest: trees are grown from the same scores and averaged."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.name in LIMITS:
                value = getattr(self, field.name)
                check(field.name, value)
                # NumPy's numbers become Python's, so that parameters are the same wherever they are written down.
                object.__setattr__(self, field.name, int(value) if LIMITS[field.name].whole else float(value))
        if not isinstance(self.constant_hessian, bool):
            raise ParameterError(f"constant_hessian must be True or False; it is {self.constant_hessian!r}.")
        if any(m not in (-1, 0, 1) for m in self.monotone_constraints):
            raise ParameterError("monotone_constraints must hold only -1, 0 and 1, one for each column.")
        object.__setattr__(self, "monotone_constraints", tuple(int(m) for m in self.monotone_constraints))
