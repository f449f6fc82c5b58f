"""Whether the sums of a run have room in its cipher, whatever trees grow: asked before the first of them.

Sums are laid out for the rows of the nodes that are asked about, which nobody knows before. A node can have all rows of
a party, and of all that share its columns. What has room then has it at every level.

Nothing is said here.
"""

from collections.abc import Callable, Iterable

import msgspec

from hedgerow.corridor.messages import BeginSealed
from hedgerow.errors import ParameterError, PrivacyError
from hedgerow.privacy.additive import Cipher
from hedgerow.privacy.shapes import RowsPlan

FEWEST_BITS = 2
Plans = Callable[[BeginSealed], Iterable[RowsPlan]]
"""The largest steps of a run of such sizes."""


def largest(begin: BeginSealed, rows: int, once: bool, summand: int = 0) -> RowsPlan:
    """A step about one node with so many rows of a party, and all rows of all that share its columns."""
    return RowsPlan(
        rows=rows * begin.n_trees if once else rows,
        bounds=(begin.bound, begin.bound),
        groups=begin.groups,
        columns=begin.columns,
        most_rows=0 if once else rows,
        run_sums=begin.run_sums,
        summand=summand,
        by_holder=True,
        together=begin.together,
    )


def ensure_room(cipher: Cipher, party: str, begin: BeginSealed, plans: Plans) -> None:
    """Refuses a run that could come to sums without room, and says with how many bits it could not."""
    if _fits(cipher, begin, plans):
        return
    bits = begin.bound.bit_length()
    fewer = (n for n in reversed(range(FEWEST_BITS, bits)) if _fits(cipher, _with_bits(begin, n), plans))
    best = next(fewer, None)
    fits = f"set gradient_bits = {best}, or train on fewer rows" if best else "train on fewer rows, or grow fewer trees"
    raise ParameterError(
        f"With gradient_bits = {bits} sums over all rows of party {party!r}, which one node may have, leave no room "
        f"for what hides them; {fits}."
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
