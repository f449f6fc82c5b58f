"""From the keys of [privacy] that ask for differential privacy to its options."""

from math import isfinite
from typing import Any, cast, get_args

from hedgerow.agreement.dp import DP, MOST_EPSILON, PrivateMethod, Protects
from hedgerow.errors import ParameterError
from hedgerow.run.file.section import Section

BESIDE = (
    "protects", "delta", "dp_trees", "colluders", "rows_per_id", "label_range", "max_nonzero", "classes", "categories",
)  # fmt: skip
KEYS = ("epsilon", *BESIDE)
MOST = 1_000_000
"""Rows of one id, or columns that are not 0."""


def dp_of(section: Section) -> DP | None:
    """What is promised; None where no epsilon is given."""
    if "epsilon" not in section:
        section.refuse(*BESIDE, why="goes only with epsilon, which asks for differential privacy")
        return None
    try:
        return DP(
            _epsilon(section),
            section.number("delta", 1e-6, 0, 0.1, "a number above 0 and at most 0.1"),
            cast(PrivateMethod, section.word("dp_trees", get_args(PrivateMethod), "auto")),
            cast(int, section.whole("colluders", 0, 1024, 1)),
            cast(int, section.whole("rows_per_id", 1, MOST, 1)),
            label_range=_range(section),
            max_nonzero=section.whole("max_nonzero", 1, MOST),
            classes=cast(Any, section.given.get("classes", [])),
            categories=cast(Any, section.given.get("categories", {})),
            protects=cast(Protects, section.word("protects", get_args(Protects), "rows")),
        )
    except ParameterError as error:
        said = str(error)
        raise error if said.startswith(section.title) else ParameterError(f"{section.title} {said}") from None


def _epsilon(section: Section) -> float:
    """Of labels it may be 0."""
    if section.given.get("protects") == "labels" and section.given.get("epsilon") == 0:
        return 0.0
    return section.number("epsilon", 0.0, 0, MOST_EPSILON, f"a number above 0 and at most {MOST_EPSILON:g}")


def _range(section: Section) -> tuple[float, float] | None:
    given = section.given.get("label_range")
    if given is None:
        return None
    numbers = isinstance(given, list) and all(isinstance(x, int | float) and not isinstance(x, bool) for x in given)
    if not numbers or len(given) != 2 or not all(map(isfinite, given)):
        raise section.wrong("label_range", f"must be two numbers, like [0, 100]; it is {given!r}.")
    return float(given[0]), float(given[1])
