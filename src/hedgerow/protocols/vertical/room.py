"""Whether the sums of a run have room in its cipher, whatever trees grow: asked before the first of them.

Sums are laid out for the rows of the nodes that are asked about, which nobody knows before. A node can have all rows
that a tree draws, of a party and of all that share its columns. What has room then has it at every level.

Nothing is said here.
"""

from collections.abc import Callable, Iterable
from math import ceil, sqrt

import msgspec

from hedgerow.corridor.messages import BeginSealed
from hedgerow.errors import ParameterError, PrivacyError
from hedgerow.privacy.additive import Cipher
from hedgerow.privacy.shapes import RowsPlan

FEWEST_BITS = 2
DEVIATIONS = 6
"""Of the number of rows that a hash draws, which none of the trees of a run goes beyond."""

Plans = Callable[[BeginSealed], Iterable[RowsPlan]]
"""The largest steps of a run of such sizes."""


def most_drawn(n_rows: int, share: float) -> int:
    """Rows that a tree draws of so many, at most."""
    return min(n_rows, ceil(n_rows * share + DEVIATIONS * sqrt(n_rows * share * (1 - share))))


def largest(begin: BeginSealed, rows: int, together: int, once: bool) -> RowsPlan | None:
    """A step about one node with so many rows of a party, and so many of all that share its columns."""
    if not rows:
        return None
    return RowsPlan(
        rows=rows * begin.n_trees if once else rows,
        bounds=(begin.bound, begin.bound),
        groups=begin.groups,
        columns=begin.columns,
        most_rows=0 if once else rows,
        run_sums=begin.run_sums,
        by_holder=True,
        together=begin.together if once else together,
    )


def ensure_room(cipher: Cipher, party: str, begin: BeginSealed, plans: Plans) -> None:
    """Refuses a run that could come to sums without room, and says with how many bits it could not."""
    if _fits(cipher, begin, plans):
        return
    bits = begin.bound.bit_length()
    fewer = (n for n in reversed(range(FEWEST_BITS, bits)) if _fits(cipher, _with_bits(begin, n), plans))
    best = next(fewer, None)
    what = f"set gradient_bits = {best}, or train" if best is not None else "train"
    raise ParameterError(
        f"With gradient_bits = {bits} sums over all rows of party {party!r}, which one node may have, leave no room "
        f"for what hides them; {what} on fewer rows (subsample, passive_rows)."
    )


def _with_bits(begin: BeginSealed, bits: int) -> BeginSealed:
    return msgspec.structs.replace(begin, bound=1 << (bits - 1))


def _fits(cipher: Cipher, begin: BeginSealed, plans: Plans) -> bool:
    try:
        for plan in plans(begin):
            cipher.ensure_rows(plan)
    except (ParameterError, PrivacyError):
        return False
    return True
