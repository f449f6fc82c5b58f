"""Tables of two networks and three banks: bank1 knows accounts of the first, bank3 of the second, bank2 of both."""

import numpy as np

from hedgerow import Table

NETWORKS, BANKS = ("net1", "net2"), ("bank1", "bank2", "bank3")
HELD = {"bank1": (0, 40), "bank2": (25, 75), "bank3": (60, 100)}
"""Accounts of each bank; those of net1 are below 50, those of net2 from there on."""
NAMES = {"bank1": ("age", "risk"), "bank2": ("turnover", "returned"), "bank3": ("limit", "late")}


def accounts(seed=0):
    """What banks know of their accounts."""
    rng = np.random.default_rng(seed)
    known = rng.normal(size=(100, 2)).round(2)
    return known, {
        bank: Table.of(known[first:last] * (1 + i), names=NAMES[bank], ids=np.arange(first, last))
        for i, (bank, (first, last)) in enumerate(HELD.items())
    }


def payments(first, last, known, n=400, seed=1):
    """A network's payments, of accounts from the first up to the last."""
    rng = np.random.default_rng(seed)
    ids, own = rng.integers(first, last, n), rng.normal(size=(n, 2)).round(2)
    label = own[:, 0] + 2 * known[ids, 0] + 0.3 * rng.normal(size=n) > 0
    return Table.of(own, label, names=["amount", "hour"], ids=ids, repeated_ids=True)


def parties(seed=0):
    """All tables, by party."""
    known, banks = accounts(seed)
    return {"net1": payments(0, 50, known, seed=seed + 1), "net2": payments(50, 100, known, seed=seed + 2), **banks}
