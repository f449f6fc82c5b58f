"""How many bytes sealed rows, returned sums and slots of the lattice cipher have: known from the plan alone."""

from hedgerow import _native
from hedgerow.privacy.lattice import bounds, coefficients, slots_wire, wire
from hedgerow.privacy.lattice import layout as layouts
from hedgerow.privacy.lattice.layout import POLYNOMIAL_BYTES, rows_layout
from hedgerow.privacy.lattice.slots_bounds import lanes_room, slots_layout
from hedgerow.privacy.lattice.slots_choice import as_rows, in_coefficients
from hedgerow.privacy.shapes import RowsPlan, SlotsPlan

CIPHERTEXT_BYTES = 4 * POLYNOMIAL_BYTES
"""Of rows that the key holder sealed: one half, for the other is a seed."""


def rows_bytes(plan: RowsPlan, link_mbit: float | None) -> int:
    """Rows as the key holder seals them."""
    layout = rows_layout(plan, link_mbit, by_public_key=False)
    return wire.HEADER_BYTES + wire.SEED_BYTES + layouts.blocks(plan, layout) * layout.lanes * CIPHERTEXT_BYTES


def most_rows_bytes(plan: RowsPlan, link_mbit: float | None) -> int:
    """No plan of at most so many rows and nodes takes more, if it is like this one otherwise.

    The layout of this plan has room for a smaller one too, and takes no longer there. A smaller plan's own layout takes
    still less time, of which sealing and sending its ciphertexts is only a part.
    """
    each = layouts.SEAL * 1e-6 / layouts.THREADS
    each += 0.0 if link_mbit is None else CIPHERTEXT_BYTES * 8 / (link_mbit * 1e6)
    seconds = layouts.seconds(plan, rows_layout(plan, link_mbit, by_public_key=False), link_mbit)
    return wire.HEADER_BYTES + wire.SEED_BYTES + int(seconds / each + 1) * CIPHERTEXT_BYTES


def sums_bytes(plan: RowsPlan, groups: int, link_mbit: float | None) -> int:
    """Returned sums of so many groups of rows that the key holder sealed."""
    layout = rows_layout(plan, link_mbit, by_public_key=False)
    return wire.HEADER_BYTES + _native.lattice_returned_bytes(layout, plan.nodes, groups)


def slots_bytes(plan: SlotsPlan, entries: int, chosen: int, link_mbit: float | None) -> int:
    """Slots as the key holder seals them, or what is left of them after so many choices."""
    if in_coefficients(plan, link_mbit):
        rows = as_rows(plan)
        inner = sums_bytes(rows, 1, link_mbit) if chosen else rows_bytes(rows, link_mbit)
        return coefficients.HEAD_BYTES + inner
    layout = slots_layout(plan)
    ciphertexts = layout.blocks * len(layout.moduli) * (1 if chosen and entries == 1 else layout.ciphertexts)
    halves = 2 if chosen else 1
    return slots_wire.HEAD_BYTES + ciphertexts * halves * layout.primes[chosen] * slots_wire.POLYNOMIAL_BYTES


def slots_room(plan: SlotsPlan, link_mbit: float | None) -> float:
    """Bits that an answer can carry at most: each of its coefficients is flooded, least where anybody may seal."""
    sealed_by = (False,) if plan.by_holder else (False, True)
    if not in_coefficients(plan, link_mbit):
        return max(lanes_room(plan, slots_layout(plan, public)) for public in sealed_by)
    layouts = [rows_layout(as_rows(plan), link_mbit, public) for public in sealed_by]
    return (1 if plan.apart else plan.rows) * bounds.carried(bounds.Q, min(each.flood_bits for each in layouts))
