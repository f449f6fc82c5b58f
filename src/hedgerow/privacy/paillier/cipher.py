"""Paillier's cipher (1999) for sums over secret selections; what each function promises stands in `additive`.

A plaintext m modulo n is sealed as (1 + n m) r^n modulo n squared, r random; the product of ciphertexts seals the sum
of their plaintexts. Only who has the primes of n opens.

Who sees what: the answering side sees ciphertexts, and learns nothing of them unless it can tell n-th powers from other
numbers modulo n squared, which nobody is known to do without the primes. The key holder opens sums. Every ciphertext
that leaves the answering side was multiplied by a random n-th power that is as good as uniform whatever the key holder
knows (statistical distance below 2^-70 for each integer opened), so nothing in it tells which ciphertexts were taken.
That needs a sound modulus, which every public key proves (`paillier/proof`). A key holder that seals powers of two
reads choices off a plaintext, unless the plan has a modulus: all above that is drowned before it leaves (`packing`).

Randomness. The key holder seals with powers of one secret base modulo the square of each prime, with exponents of 256
bits: to whoever cannot factor n they look like any n-th powers (decision 12 names the assumption). So does everybody
who seals with the public key, with a base drawn here. But the key holder *can* factor n; so returns are not hidden from
it by short exponents but by products of powers of many bases that the answering side drew itself, or, where returns are
few, by a fresh n-th power each.

Time. What is computed with the primes, with exponents for sealing or with plaintexts takes the same steps and reads the
same memory whatever they are; only the search for primes takes its time. Sums take longer the more rows the answering
side's choices take: who measures its answers learns about how many that are in all. Powers that hide returns are looked
up by place. Memory that held a secret is not wiped.
"""

from collections.abc import Iterable, Sequence
from math import ceil, log2
from typing import NoReturn

import msgspec
import numpy as np

from hedgerow import _native
from hedgerow.errors import CipherError, PrivacyError
from hedgerow.privacy.additive import USED_UP, Merging, SealedSlots, SealedSums
from hedgerow.privacy.paillier.packing import (
    Ints,
    Packing,
    drowned,
    rows_packing,
    slots_count,
    slots_packing,
    spread,
    sums_packing,
)
from hedgerow.privacy.paillier.proof import prove
from hedgerow.privacy.paillier.public import (
    SEAL_BITS,
    SEAL_WINDOW,
    PaillierPublicKey,
    PaillierSealing,
    ensure_rows,
    ensure_slots,
)
from hedgerow.privacy.paillier.reveal import PaillierRevealedKey
from hedgerow.privacy.paillier.wire import (
    HEAD,
    PaillierSlots,
    PaillierSums,
    Ring,
    Words,
    inside,
    key_bytes,
    read_key,
)
from hedgerow.privacy.shapes import (
    RowsPlan,
    SlotsPlan,
    centred,
    ensure,
    ensure_alone,
    ensure_opened,
    ensure_single_entries,
    ensure_total,
)

BITS = (2048, 3072, 4096)
DROWNED = 2.0**-1900
"""Bits that drowning leaves beyond those of the modulus: the plaintext is no multiple of it."""
MADE_UP = "A returned ciphertext holds more than the sums of the plan; the answer was made up. The run stops."


class PaillierSecretKey(PaillierSealing):
    """The primes: one tree or one batch of predictions long, never written but for an audit, never sent."""

    __slots__ = ("_own_primes", "_own_tables", "_public", "_used_up")

    def __init__(self, own_primes: Words, ring: Ring) -> None:
        super().__init__(ring)
        self._own_primes = own_primes
        self._public = PaillierPublicKey(ring)
        self._own_tables: Words | None = None
        self._used_up = False

    @property
    def public(self) -> PaillierPublicKey:
        """What may be sent."""
        return self._public

    def reveal(self) -> bytes:
        """The key in writing: for audits, after which the key must not be used again."""
        self._used_up = True
        return self._own_primes.astype("<u8").tobytes()

    @property
    def _primes(self) -> Words:
        """What is used up once it was revealed."""
        if self._used_up:
            raise PrivacyError(USED_UP)
        return self._own_primes

    def open_sums(self, sums: SealedSums) -> Ints:
        """Nodes x groups x channels, clear here from now on. A sum that the plan makes impossible is a CipherError."""
        own, words, _ = inside(sums, PaillierSums, self._ring)
        ensure_alone(own.plan)
        return self._opened_sums(own, words)

    def open_total(self, parts: Sequence[SealedSums]) -> Ints:
        """Nodes x groups x channels over all who answered under pads that cancel, clear here from now on."""
        own = [inside(part, PaillierSums, self._ring) for part in parts]
        ensure_total([part.plan for part, _, _ in own], [part.groups for part, _, _ in own])
        total = own[0][1]
        for _, words, _ in own[1:]:
            total = _native.paillier_add(self._ring.n, total, words, self._ring.threads)
        return self._opened_sums(own[0][0], total)

    def _opened_sums(self, sums: PaillierSums, words: Words) -> Ints:
        plan = sums.plan
        opened = self._opened(words, sums_packing(plan, self._ring.bits), plan.nodes * sums.groups)
        ensure_opened(opened, plan.most, plan.least)
        return opened.reshape(plan.nodes, sums.groups, len(plan.bounds))

    def open_slots(self, sealed: SealedSlots) -> Ints:
        """Rows x entries, clear here from now on. An integer that the plan makes impossible is a CipherError."""
        own, words, _ = inside(sealed, PaillierSlots, self._ring)
        plan = own.plan
        if not own.chosen:
            ensure_single_entries(plan)
        if plan.modulus:
            opened = self._opened_modulo(words, plan.modulus, drowned(plan, own.chosen) and plan.parts == 1)
        else:
            opened = self._opened(words, slots_packing(plan, self._ring.bits, own.chosen), plan.rows * own.entries)
        ensure_opened(opened.reshape(-1, 1), (plan.most,))
        return opened.reshape(plan.rows, own.entries)

    def _opened_modulo(self, words: Words, modulus: int, positive: bool) -> Ints:
        """Plaintexts modulo this; unless they are positive, those above the half of n are negative."""
        n = int.from_bytes(self._ring.n.astype("<u8").tobytes(), "little")
        rows = _native.paillier_open_numbers(self._primes, words, self._ring.threads).astype("<u8")
        numbers = (int.from_bytes(row.tobytes(), "little") for row in rows)
        residues = [(number - n if not positive and 2 * number > n else number) % modulus for number in numbers]
        return centred(np.array(residues, np.int64), modulus)

    def _sealed(self, values: Ints, packing: Packing) -> Words:
        primes, threads = self._primes, self._ring.threads
        if self._own_tables is None:
            digits = ceil(SEAL_BITS / SEAL_WINDOW)
            self._own_tables = _native.paillier_own_tables(primes, digits, SEAL_WINDOW, threads)
        parts = [
            _native.paillier_own_seal(primes, self._own_tables, fields, widths, threads)
            for fields, widths in packing.fields(values)
        ]
        return np.stack(parts, axis=1).reshape(-1, parts[0].shape[1])

    def _opened(self, words: Words, packing: Packing, sets: int) -> Ints:
        blocks, opened = len(packing.blocks), list[Ints]()
        for i, block in enumerate(packing.blocks):
            widths, part = list(block) * packing.per, np.ascontiguousarray(words[i::blocks])
            fields = _native.paillier_open(self._primes, part, widths, self._ring.threads)
            if fields is None:
                raise CipherError(MADE_UP)
            opened.append(fields)
        values = packing.values(opened, sets)
        if values is None:
            raise CipherError(MADE_UP)
        return values

    def __reduce__(self) -> NoReturn:
        raise PrivacyError("Secret keys cannot be copied or written; make fresh ones instead.")


class Paillier(msgspec.Struct, frozen=True, tag="paillier"):
    """Paillier's cipher with a modulus of so many bits: 2048 at least, 3072 for security of 128 bits."""

    bits: int = 3072

    def __post_init__(self) -> None:
        ensure(self.bits in BITS, "A Paillier key has 2048, 3072 or 4096 bits; shorter ones are not secure.")

    @property
    def seals_once(self) -> bool:
        """Sealing is dear, and any row can be in any node."""
        return True

    @property
    def keys_apart(self) -> bool:
        """Every ciphertext of a key can be added to every other, and multiplied by anything."""
        return False

    def merging(self, plans: Iterable[RowsPlan]) -> Merging:  # noqa: ARG002  # of no plan
        """Nothing is ever merged."""
        return ()

    def new_key(
        self,
        threads: int,
        rows: bool = True,  # noqa: ARG002  # one for all
        slots: bool = True,  # noqa: ARG002
        merging: Sequence[Merging] | None = None,  # noqa: ARG002
    ) -> PaillierSecretKey:
        """A fresh key from the system's generator; what is done with it shares so many threads."""
        own_primes, n = _native.paillier_primes(self.bits, threads)
        return PaillierSecretKey(own_primes, Ring(n, threads, prove(own_primes, n, threads)))

    def key_bytes(self, rows: bool = True, slots: bool = True, merging: Merging | None = None) -> int:  # noqa: ARG002  # one for all
        """The length of a public key's wire form."""
        return key_bytes(self.bits)

    def read_public_key(self, data: bytes, threads: int, merging: Merging | None = None) -> PaillierPublicKey:  # noqa: ARG002  # none
        """A public key from its wire form; one that is malformed or too weak is a CipherError."""
        return PaillierPublicKey(read_key(data, self.bits, threads))

    def revealed_key(self, told: bytes, public: bytes, threads: int) -> PaillierRevealedKey:
        """A key that was revealed; one that is not the secret half of this public key is a CipherError."""
        return PaillierRevealedKey(told, read_key(public, self.bits, threads))

    def room(self, plan: RowsPlan, groups: int) -> int:
        """A whole plaintext for every ciphertext that returns: fields are what an honest key holder fills them with."""
        return sums_packing(plan, self.bits).count(plan.nodes * groups) * self.bits

    def rows_bytes(self, plan: RowsPlan) -> int:
        """The length of the wire form of sealed rows."""
        return self._bytes(rows_packing(plan, self.bits).count(plan.rows))

    def most_rows_bytes(self, plan: RowsPlan) -> int:
        """Fewer rows take no more ciphertexts, and nodes do not matter."""
        return self.rows_bytes(plan)

    def sums_bytes(self, plan: RowsPlan, groups: int) -> int:
        """The length of the wire form of the returned sums of so many groups."""
        return self._bytes(sums_packing(plan, self.bits).count(plan.nodes * groups))

    def slots_bytes(self, plan: SlotsPlan, entries: int, chosen: int = 0) -> int:
        """The length of the wire form of slots after so many choices."""
        return self._bytes(slots_count(plan, self.bits, entries, chosen))

    def slots_room(self, plan: SlotsPlan) -> float:
        """A whole plaintext for every ciphertext that returns, or what is left of it below drowned bits."""
        integers = (1 if plan.apart else plan.rows) * (1 if plan.sums_only else plan.entries)
        each = log2(spread(plan)) + DROWNED if drowned(plan, plan.choices) else float(self.bits)
        return slots_packing(plan, self.bits, plan.choices).count(integers) * each

    def _bytes(self, ciphertexts: int) -> int:
        return HEAD.size + ciphertexts * self.bits // 4

    def ensure_rows(self, plan: RowsPlan) -> None:
        """Refuses a plan whose sums have no room, or whose choices the whole run's returns would not hide."""
        ensure_rows(plan, self.bits)

    def ensure_slots(self, plan: SlotsPlan) -> None:
        """Refuses a plan whose sums have no room, or whose choices the whole run's returns would not hide."""
        ensure_slots(plan, self.bits)
