"""The tables of a sealed prediction: their sizes, which both sides compute from the slots that were told, and choices.

Nothing here depends on what a request says of itself: sizes follow from the model's slots, the number of rows, and the
prime of the plan.
"""

from collections.abc import Callable

import msgspec
import numpy as np
from numpy.typing import NDArray

from hedgerow.corridor.messages import SlotsTold
from hedgerow.model.score_slots import FRESH, LINK, NEVER
from hedgerow.privacy.shapes import SlotsPlan

Ints = NDArray[np.int64]

Make = Callable[[SlotsTold, int, int], SlotsPlan | None]
"""The table of so many rows, modulo the plan's prime; None: there is none."""

LIFETIME_SUMS = 10**9
"""Sums that a part of a model answers with, over all its predictions: what the cipher's floods hide."""
MOST_ROWS = 1 << 14
"""Rows of a batch."""
MOST_ENTRIES = 1 << 22
"""Weights of a batch's rows in all tables of a party: some 60 MB in lattice ciphertexts."""
TOGETHER = 4096
"""Weights that a ciphertext holds: if the shared ones fill no further ciphertext as a row's own, they are sealed so."""


def _table(rows: int, entries: int, shared: int, modulus: int) -> SlotsPlan:
    return SlotsPlan(
        rows=rows,
        entries=entries,
        shared=shared,
        bound=modulus // 2,
        modulus=modulus,
        run_sums=LIFETIME_SUMS,
        sums_only=True,
        by_holder=True,
        apart=True,
    )


def shares(told: SlotsTold, rows: int) -> bool:
    """Whether weights that all rows share are sealed once, and not as each row's own."""
    entries, shared = len(told.entries), len(told.shared)
    apart = -(-rows * entries // TOGETHER) + -(-shared // TOGETHER)
    return -(-rows * (entries + shared) // TOGETHER) > apart


def score_table(told: SlotsTold, rows: int, modulus: int) -> SlotsPlan | None:
    """The table of the weights that make up rows' scores; None: the party has none of this class."""
    entries, shared = len(told.entries), len(told.shared)
    if not entries + shared:
        return None
    once = shares(told, rows)
    return _table(rows, entries if once else entries + shared, shared if once else 0, modulus)


def relay_table(told: SlotsTold, rows: int, modulus: int) -> SlotsPlan | None:
    """The table of the weights whose sums go on: every row and group is a row of it; None: nothing goes on."""
    groups = len(told.targets)
    return _table(rows * groups, len(told.relays) // groups, 0, modulus) if groups else None


def come_from(told: SlotsTold) -> dict[int, int]:
    """How many entries are relays of each other party."""
    sources = np.concatenate([told.sources, told.relay_sources])
    party, n = np.unique(sources[sources != FRESH] // LINK, return_counts=True)
    return dict(zip(party.tolist(), n.tolist(), strict=True))


def filled(told: SlotsTold) -> SlotsTold:
    """Slots of a party that has none of a class of which others have: one that no row chooses, for its pads."""
    if len(told.entries) + len(told.shared):
        return told
    return msgspec.structs.replace(told, entries=np.array([NEVER]), sources=np.array([FRESH]))


def tells(told: SlotsTold) -> bool:
    """Whether an answer of this class depends on rows: some own end has a slot, or a weight that goes on."""
    return bool((np.concatenate([told.entries, told.shared, told.relays]) != NEVER).any())


def row_entries(slots: tuple[SlotsTold, ...]) -> int:
    """Weights of one row in all tables of a party."""
    return sum(len(told.entries) + len(told.shared) + len(told.relays) for told in slots)


def most_rows(slots: tuple[SlotsTold, ...]) -> int:
    """How many rows a batch has at most, so that its tables stay small."""
    return max(1, min(MOST_ROWS, MOST_ENTRIES // max(1, row_entries(slots))))
