"""How much a trained model may tell of one row: the options of differential privacy, as a plan carries them."""

from math import isfinite
from typing import Literal, get_args

import msgspec

from hedgerow.errors import ParameterError

PrivateMethod = Literal["auto", "random", "additive", "greedy", "laplace"]
MOST_EPSILON = 100.0
"""Beyond it nothing is promised that anybody would call privacy."""


class DP(msgspec.Struct, frozen=True):
    """Differential privacy: everything that is released of the rows has noise, and one epsilon holds for all of it.

    `method` is a way to grow trees: "auto" (additive rounds, then random trees where that pays), "random", "additive",
    "greedy" (cuts chosen from noised histograms) or "laplace" (FedTree's, for comparison). So many `colluders` among
    the parties may pool what they know without seeing less noise than promised. An id has at most `rows_per_id` rows.
    Regression needs the range of labels, `label_range`, declared; where each row has at most `max_nonzero` columns of
    a value other than 0, declaring that lowers the noise.
    """

    epsilon: float
    delta: float = 1e-6
    method: PrivateMethod = "auto"
    colluders: int = 1
    rows_per_id: int = 1
    label_range: tuple[float, float] | None = None
    max_nonzero: int | None = None

    def __post_init__(self) -> None:
        _check_between("epsilon", self.epsilon, 0, MOST_EPSILON)
        _check_between("delta", self.delta, 0, 0.1)
        if self.method not in get_args(PrivateMethod):
            raise ParameterError(f"method must be one of {', '.join(get_args(PrivateMethod))}; it is {self.method!r}.")
        for name, least in (("colluders", 0), ("rows_per_id", 1)):
            _check_whole(name, getattr(self, name), least)
        if self.max_nonzero is not None:
            _check_whole("max_nonzero", self.max_nonzero, 1)
        _check_range(self.label_range)


def _check_between(name: str, value: object, low: float, high: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low < value <= high:
        raise ParameterError(f"{name} must be a number above {low:g} and at most {high:g}; it is {value!r}.")


def _check_whole(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ParameterError(f"{name} must be a whole number of at least {least}; it is {value!r}.")


def _check_range(given: object) -> None:
    if given is None:
        return
    if not isinstance(given, tuple) or len(given) != 2 or not all(isinstance(x, int | float) for x in given):
        raise ParameterError(f"label_range must be two numbers, the least and the greatest label; it is {given!r}.")
    if not all(map(isfinite, given)) or given[0] >= given[1]:
        raise ParameterError(f"label_range must go from a smaller to a greater number; it is {given!r}.")
