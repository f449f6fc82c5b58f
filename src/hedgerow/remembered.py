"""The last result of a function, given again for the very same arguments: not equal ones, the same objects.

Parties of one process hear the same frame one after the other; what depends on it alone is worked out once.
"""

from collections.abc import Callable
from operator import is_
from typing import Any, ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")


def remembered(function: Callable[P, T]) -> Callable[P, T]:
    """The function with a memory of its last call; nothing it takes or returns may ever change."""
    plain = cast(Callable[..., T], function)
    last: tuple[tuple[Any, ...], T] | None = None

    def remembering(*given: Any) -> T:
        nonlocal last
        known = last
        if known is not None and len(known[0]) == len(given) and all(map(is_, known[0], given)):
            return known[1]
        result = plain(*given)
        last = (given, result)
        return result

    return cast(Callable[P, T], remembering)
