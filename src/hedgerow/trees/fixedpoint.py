"""Gradients as integers: the scales, from public facts alone.

A derivative within plus or minus `bound` becomes a *wide* integer of 30 bits and a sign. Leaf values come from sums of
wide integers. Cuts are chosen from sums of *narrow* ones, the wide rounded to `bits` bits (sign included). Sums
of either fit 64 bits for any table of fewer than 2^32 rows.
"""

from dataclasses import dataclass

from hedgerow.errors import DataError

WIDE_BITS = 30
MOST_ROWS = 2**32 - 1


@dataclass(frozen=True)
class Scales:
    """What one unit of each integer is worth."""

    gradient_bound: float
    hessian_bound: float
    bits: int

    @property
    def wide(self) -> tuple[float, float]:
        """Units of wide gradients and hessians."""
        return self.gradient_bound / 2**WIDE_BITS, self.hessian_bound / 2**WIDE_BITS

    @property
    def narrow(self) -> tuple[float, float]:
        """Units of narrow gradients and hessians."""
        return self.gradient_bound / 2 ** (self.bits - 1), self.hessian_bound / 2 ** (self.bits - 1)


def check_rows(n_rows: int) -> None:
    """Refuse tables whose sums could overflow."""
    if n_rows > MOST_ROWS:
        raise DataError(f"The table has {n_rows} rows; at most {MOST_ROWS} can be summed without overflow.")
