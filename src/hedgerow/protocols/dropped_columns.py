"""Columns of a horizontal run that not all parties have: they are not used, and whoever may know it is told.

Sees in the clear.  Driver: where names are open, which columns are left out; where they are private, how many columns
                    each party brought, which everybody learns.
                    Party: how many of its own columns are left out, and where names are open, which.

A refusal is heard by every party, so that it names no column where the parties are real.
"""

from collections.abc import Mapping, Sequence

from hedgerow.agreement.plan import Plan
from hedgerow.data.names import some
from hedgerow.data.table import Column
from hedgerow.errors import DataError
from hedgerow.protocols.session.notify import Tell

ColumnSpan = Mapping[str, Sequence[str]]
"""Names of columns, by party."""


def left_out(columns: ColumnSpan) -> list[str]:
    """The columns that not all parties have, in their order."""
    own = [set(names) for names in columns.values()]
    every = dict.fromkeys(name for names in columns.values() for name in names)
    return [name for name in every if not all(name in names for names in own)]


def told_driver(columns: ColumnSpan) -> str:
    """The sentence for whoever knows every party's columns; empty if none is left out."""
    n, lacking = len({name for own in columns.values() for name in own}), left_out(columns)
    return _sentence(n - len(lacking), f"{n} columns", lacking)


def tell_party(own: Sequence[Column], used: Sequence[Column], note: Tell) -> None:
    """Tell a party which of the columns that it has named are not used, if any; nobody else hears it."""
    known = {column.name for column in used}
    lacking = [column.name for column in own if column.name not in known]
    if lacking:
        note(_sentence(len(own) - len(lacking), f"this party's {len(own)} columns", lacking))


def counted(sizes: Mapping[str, int], common: int) -> str:
    """The sentence for whoever knows how many columns each party has, and not which; empty if none is left out."""
    who = _widest(sizes)
    if sizes[who] == common:
        return ""
    return (
        f"{common} of the {sizes[who]} columns of {who!r}, which has most, {_are(common)} common to all parties; the "
        "names of the others stay with their owners."
    )


def check_enough(plan: Plan, sizes: Mapping[str, int], common: int, lacking: Sequence[str] = ()) -> None:
    """Refuse to go on with fewer than half of the columns of the party that has most, unless the plan allows it."""
    who = _widest(sizes)
    if plan.method.all_columns or plan.method.allow_few_columns or 2 * common >= sizes[who]:
        return
    names = f" (left out: {some(lacking)})" if lacking and not plan.coordinator else ""
    raise DataError(
        f"Only {common} of the {sizes[who]} columns of {who!r} {_are(common)} common to all parties, fewer than "
        f"half{names}; compare the parties' headers, or accept it with allow_few_columns."
    )


def _widest(sizes: Mapping[str, int]) -> str:
    return max(sizes, key=lambda name: sizes[name])


def _sentence(common: int, of: str, lacking: Sequence[str]) -> str:
    return f"{common} of {of} {_are(common)} common to all parties; left out: {some(lacking)}." if lacking else ""


def _are(n: int) -> str:
    return "is" if n == 1 else "are"
