"""Ids that are written differently and may mean the same: 7 and 007, A7 and a7, 7 and 7.0.

Ids are compared as text. Whoever holds one table looks at the shape of its own ids only; whoever holds all tables, as
in a simulation, counts how many more would be the same.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations

from hedgerow.errors import DataError

WAYS: dict[str, Callable[[str], str]] = {
    "blanks": str.strip,
    "leading zeros": lambda text: text.lstrip("0") or text[-1:],
    "capital letters": str.casefold,
    "'.0' at the end": lambda text: re.sub(r"(?<=\d)\.0+$", "", text),
}
"""What ids may differ in, and how it is taken out of one; in this order."""

AS_TEXT = "ids are compared as text, in which '7', '007' and '7.0' differ"


def check_once(n_ids: int, n_different: int) -> None:
    """Refuse ids of which one is there twice; the refusal counts and names none."""
    if n_different < n_ids:
        raise DataError(f"{n_ids - n_different} of the {n_ids} ids repeat an earlier one; keep one row for each id.")


def check_rows_per_id(own_ids: Iterable[object], most: int) -> None:
    """Refuse ids of which one has more rows than everybody was told; rows without an id are nobody's.

    The refusal counts nothing, since others may read it.
    """
    often = Counter(map(str, own_ids))
    often.pop("", None)
    if often and max(often.values()) > most:
        raise DataError(
            f"At most {most} rows of an id are declared (rows_per_id), and an id of the table has more; declare as "
            "many as there may be, or leave some of its rows out."
        )


def own_shape(own_ids: Sequence[str]) -> str:
    """Part of a sentence: how many of the own ids have blanks around them, leading zeros and the like.

    For the owner alone; empty if none has.
    """
    found = {way: sum(alike(one) != one for one in own_ids) for way, alike in WAYS.items()}
    return ", ".join(f"{n} with {way}" for way, n in found.items() if n)


def nearly_common(parties: Sequence[Sequence[str]]) -> tuple[int, str]:
    """How many more ids all parties would have, and without what; (0, "") if none.

    For whoever holds all tables.
    """
    exact = n_common(parties)
    if exact == min(map(len, parties)):
        return 0, ""
    most = n_common(parties, list(WAYS)) - exact
    if most <= 0:
        return 0, ""
    return most, next(
        _listed(ways)
        for n in range(1, len(WAYS) + 1)
        for ways in combinations(WAYS, n)
        if n == len(WAYS) or n_common(parties, ways) - exact == most
    )


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def n_common(parties: Sequence[Sequence[str]], ways: Sequence[str] = ()) -> int:
    """How many ids all parties have, once these differences are taken out of them."""
    every = [set(ids) for ids in parties]
    for way in ways:
        every = [set(map(WAYS[way], ids)) for ids in every]
    return len(set.intersection(*every))
