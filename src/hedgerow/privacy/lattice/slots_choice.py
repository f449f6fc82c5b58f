"""Where sums by slot lie, in lanes or in coefficients: chosen from the plan and the speed of the link, by both alike.

*Lanes* (`lattice/slots`) serve every plan: the cost of an answer hardly grows with its rows, but it is never small.
*Coefficients* (`lattice/coefficients`) serve plans for sums only: each row's sum is a small result of its own. Where
both hide and fit, the one with the lower estimated time is taken, as `lattice/layout` estimates it: work of two
threads, and bytes over the link. Wrong units cost time, never privacy.
"""

from functools import lru_cache

from hedgerow.errors import ParameterError, PrivacyError
from hedgerow.privacy.lattice import layout as layouts
from hedgerow.privacy.lattice.slots_bounds import SlotsLayout, slots_layout
from hedgerow.privacy.lattice.slots_wire import POLYNOMIAL_BYTES
from hedgerow.privacy.shapes import RowsPlan, SlotsPlan

MOST_ENTRIES = 2**24
"""Of all rows together, in coefficients: the answering side holds 32 bytes of each, all at the same time."""

# Microseconds of one thread, for one prime: set so that exchanges of 1 to 400 rows, measured in both layouts in turn,
# have the ratios that were measured.
SEAL = 55.0
"""Sealing a ciphertext, and checking it on the other side."""
MULTIPLY = 35.0
"""A ciphertext unpacked and expanded, times its choices, added up."""
SANITISE = 200.0
"""An encryption of zero, the flood, both halves transformed back; the key read anew for each answer."""
OPEN = 90.0
"""A return checked and opened."""


def as_rows(plan: SlotsPlan) -> RowsPlan:
    """Every entry a row, every row a node of one group; a ParameterError if sums of all entries do not fit 62 bits."""
    return RowsPlan(
        rows=plan.rows * plan.entries,
        bounds=(plan.bound,),
        groups=1,
        columns=1,
        nodes=plan.rows,
        most_rows=plan.entries,
        run_sums=plan.run_sums,
        summand=plan.summand,
        parts=plan.parts,
        by_holder=plan.by_holder,
    )


@lru_cache(maxsize=64)
def in_coefficients(plan: SlotsPlan, link_mbit: float | None) -> bool:
    """Whether both sides lay this plan out in coefficients: where they hide and fit, and are quicker than lanes.

    A plan for which lanes have no room is refused: they have far more of it.
    """
    few = coefficients_seconds(plan, link_mbit)
    return few is not None and few < lanes_seconds(plan, link_mbit)


def coefficients_seconds(plan: SlotsPlan, link_mbit: float | None) -> float | None:
    """Estimated time of one exchange; None where coefficients do not serve the plan, or not with the public key."""
    if not plan.sums_only or plan.choices > 1 or plan.rows * plan.entries > MOST_ENTRIES:
        return None
    try:
        rows = as_rows(plan)
        layouts.rows_layout(rows, link_mbit, by_public_key=True)
    except (ParameterError, PrivacyError):
        return None
    return layouts.seconds(rows, layouts.rows_layout(rows, link_mbit, by_public_key=False), link_mbit)


def lanes_seconds(plan: SlotsPlan, link_mbit: float | None) -> float:
    """Estimated time of one exchange of one choice; refused like the layout itself."""
    layout = slots_layout(plan)
    before, after = layout.primes[0], layout.primes[-1]
    answers = layout.blocks * len(layout.moduli)
    work = before * (SEAL + MULTIPLY) * layout.ciphertexts + before * SANITISE + after * OPEN
    link = 0.0 if link_mbit is None else lanes_bytes(layout) * 8 / (link_mbit * 1e6)
    return answers * work * 1e-6 / layouts.THREADS + link


def lanes_bytes(layout: SlotsLayout) -> int:
    """Bytes of a sealed table and its returned sums."""
    each = layout.ciphertexts * layout.primes[0] + 2 * layout.primes[-1]
    return layout.blocks * len(layout.moduli) * each * POLYNOMIAL_BYTES
