"""The last results of a function, given again for the very same arguments: not equal ones, the same objects.

Parties of one process hear the same frame one after the other; what depends on it alone is worked out once.
"""

from collections.abc import Callable
from operator import is_
from typing import Any, ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")


def remembered(function: Callable[P, T], calls: int = 1) -> Callable[P, T]:
    """The function with a memory of its last calls; nothing it takes or returns may ever change."""
    plain = cast(Callable[..., T], function)
    last: tuple[tuple[tuple[Any, ...], T], ...] = ()

    def remembering(*given: Any) -> T:
        nonlocal last
        for known, result in last:
            if len(known) == len(given) and all(map(is_, known, given)):
                return result
        result = plain(*given)
        last = ((given, result), *last[: calls - 1])
        return result

    return cast(Callable[P, T], remembering)
