"""Everything that the opener of a horizontal run can decrypt, before it is put together; and a form that leaks."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hedgerow import _native
from hedgerow.privacy.lattice.slots_bounds import SLOTS
from hedgerow.privacy.lattice.slots_wire import SlotTable
from hedgerow.privacy.paillier.wire import HEAD
from hedgerow.privacy.shapes import SlotsPlan
from hedgerow.protocols.opener.packing import RUN_SUMS, SealedVector


def opener_view(vector, secret, sealed_sum):
    """The plaintexts of a sealed sum as they stand in its ciphertexts, one by one."""
    views = {"lattice": lattice_residues, "paillier": paillier_plaintexts}
    return views[vector.plan.method.protection](vector, secret, sealed_sum)


def lattice_residues(vector, secret, sealed_sum):
    """Of every slot the residue modulo the plaintext prime of its ciphertext."""
    sealed = secret.public.read_slots(sealed_sum, vector.slots, 1, vector.slots.choices)
    table, slots, found = sealed._table(), sealed._slots(), []
    each = (len(table.data) - table.start) // len(slots.moduli)
    for i, prime in enumerate(slots.moduli):
        own = table._replace(start=0, data=table.data[table.start + i * each : table.start + (i + 1) * each])
        one = SlotTable(slots.rows, slots.entries, slots.block_rows, slots.lanes, (prime,))
        opened = _native.slots_open(own, one, True, secret._own_slots._own_secret, 1)
        found += [(prime, residue) for residue in opened.reshape(-1).tolist()]
    return found


def paillier_plaintexts(vector, secret, sealed_sum):
    """Every plaintext as one integer below the modulus, by Python's own arithmetic."""
    p, q = (int.from_bytes(row.astype("<u8").tobytes(), "little") for row in secret._own_primes)
    n, order, size = p * q, (p - 1) * (q - 1), vector.plan.method.privacy.bits // 4
    body = sealed_sum[HEAD.size :]
    sealed = (int.from_bytes(body[i : i + size], "little") for i in range(0, len(body), size))
    return [(pow(c, order, n * n) - 1) // n * pow(order, -1, n) % n for c in sealed]


@dataclass(frozen=True)
class LimbedVector(SealedVector):
    """The sabotage: words cut into pieces of 18 bits whose sums are opened one by one, carries and all."""

    limb_bits = 18

    @property
    def n_limbs(self):
        return -(-self.bits // self.limb_bits)

    @cached_property
    def slots(self):
        lattice, rows = self.plan.method.protection == "lattice", self.n_words * self.n_limbs
        rows = -(-rows // SLOTS) * SLOTS if lattice else rows
        choices, parts = int(lattice), len(self.plan.members)
        run_sums = RUN_SUMS if choices else 1
        bound = 1 << self.limb_bits
        return SlotsPlan(rows=rows, entries=1, bound=bound, choices=choices, run_sums=run_sums, parts=parts)

    def seal(self, public, own_words):
        limbs, rest, n = np.zeros(self.slots.rows, np.int64), own_words.reshape(-1), self.n_words
        for i in range(self.n_limbs):
            last = i == self.n_limbs - 1
            limbs[i * n : (i + 1) * n] = rest if last else rest & ((1 << self.limb_bits) - 1)
            rest = rest >> self.limb_bits
        return public.seal_slots(limbs[:, None], self.slots).encode()

    def open(self, secret, sealed_sum):
        sealed = secret.public.read_slots(sealed_sum, self.slots, 1, self.slots.choices)
        limbs = secret.open_slots(sealed)[: self.n_words * self.n_limbs, 0].reshape(self.n_limbs, self.n_words)
        words = np.zeros(self.n_words, np.int64)
        for limb in limbs[::-1]:
            words = (words << self.limb_bits) + limb
        return words
