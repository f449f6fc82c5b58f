"""Where sums by slot lie, in lanes or in coefficients: chosen from the plan and the speed of the link, by both alike.

*Lanes* (`lattice/slots`) serve every plan: the cost of an answer hardly grows with its rows, but it is never small.
*Coefficients* (`lattice/coefficients`) serve plans for sums only: each row's sum is a small result of its own. They
alone serve rows that are apart, or share entries. Where
both hide and fit, the one with the lower estimated time is taken, as `lattice/layout` estimates it: work of two
threads, and bytes over the link. Wrong units cost time, never privacy.
"""

from dataclasses import fields
from functools import lru_cache

from hedgerow.errors import ParameterError, PrivacyError
from hedgerow.privacy.lattice import bounds
from hedgerow.privacy.lattice import layout as layouts
from hedgerow.privacy.lattice.slots_bounds import SlotsLayout, slots_layout
from hedgerow.privacy.lattice.slots_wire import POLYNOMIAL_BYTES
from hedgerow.privacy.shapes import RowsPlan, SlotsPlan, ensure

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


@lru_cache(maxsize=64)
def as_rows(plan: SlotsPlan) -> RowsPlan:
    """Every entry a row, every row a node of one group; a ParameterError if sums of all entries do not fit 62 bits.

    What rows share stands behind their own entries, with zeros between where it would not end in the same ciphertext.
    """
    own = plan.rows * plan.entries
    shared_at = own if own % bounds.N + plan.shared <= bounds.N else -(-own // bounds.N) * bounds.N
    rows = RowsPlan(
        rows=shared_at + plan.shared if plan.shared else own,
        bounds=(plan.bound,),
        groups=1,
        columns=1,
        nodes=plan.rows,
        most_rows=plan.width,
        run_sums=plan.run_sums,
        summand=plan.summand,
        parts=plan.parts,
        by_holder=plan.by_holder,
    )
    if not plan.modulus:
        return rows
    return layouts.EntriesPlan(**{each.name: getattr(rows, each.name) for each in fields(rows)}, modulus=plan.modulus)


@lru_cache(maxsize=64)
def in_coefficients(plan: SlotsPlan, link_mbit: float | None) -> bool:
    """Whether both sides lay this plan out in coefficients: where they hide and fit, and are quicker than lanes.

    Rows that are apart, or share entries, can lie nowhere else: plans that coefficients do not serve are refused. So is
    one of any other kind for which lanes have no room: they have far more of it.
    """
    if plan.apart or plan.shared:
        _ensure_served(plan)
        return True
    if plan.modulus:
        return False
    few = coefficients_seconds(plan, link_mbit)
    return few is not None and few < lanes_seconds(plan, link_mbit)


def _ensure_served(plan: SlotsPlan) -> None:
    """Refuses rows apart, or that share entries, where lattice encryption cannot lay them out in coefficients."""
    fits = plan.sums_only and plan.choices == 1
    ensure(fits, "Rows that are apart, or share entries, have one choice of sums only under lattice encryption.")
    ensure(
        plan.rows * plan.entries + plan.shared <= MOST_ENTRIES,
        f"Rows that are apart, or share entries, have at most {MOST_ENTRIES} entries under lattice encryption; "
        "seal fewer rows at a time.",
    )


def coefficients_seconds(plan: SlotsPlan, link_mbit: float | None) -> float | None:
    """Estimated time of one exchange; None where coefficients do not serve the plan, or not with the public key."""
    if not plan.sums_only or plan.choices != 1 or plan.rows * plan.entries > MOST_ENTRIES:
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
