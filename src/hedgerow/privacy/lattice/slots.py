"""Lattice encryption of rows and entries in slots: sums of each row's chosen entries, and filtered tables.

Who sees what: the answering side sees polynomials that look uniform to it (RLWE), whatever is sealed. The key holder
opens a sum a row, or each chosen integer and zero for the others; what else an answer holds (its second half, the noise
of its first) is within the layout's statistical distance of fresh noise, so that it says nothing about the choices.
A sealed table lives in its wire form, from sealing to opening: nothing is copied on the way.
"""

import hashlib
import secrets
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.errors import CipherError, ParameterError, PrivacyError
from hedgerow.privacy.additive import Addable
from hedgerow.privacy.lattice import slots_wire as wire
from hedgerow.privacy.lattice.rows import of_kind
from hedgerow.privacy.lattice.slots_bounds import MOST_PRIMES, SLOTS, SlotsLayout, slots_layout
from hedgerow.privacy.lattice.slots_wire import SealedTable, SlotsHead, SlotsLeaving, SlotTable
from hedgerow.privacy.shapes import (
    SlotsPlan,
    ensure_choice_left,
    ensure_not_by_holder,
    ensure_opened,
    ensure_single_entries,
    ensure_slot_values,
    summands,
)

_KEY = struct.Struct("<4sB32s")
_KEY_MARK = b"HGSK"


@dataclass(frozen=True, slots=True)
class LatticeSlots(Addable):
    """A table that only the secret key opens; see `additive.SealedSlots`."""

    plan: SlotsPlan
    entries: int
    chosen: int
    _public: "SlotsPublicKey"
    _head: SlotsHead
    _data: bytes

    def __repr__(self) -> str:
        return f"LatticeSlots({self.plan.rows} rows, {self.entries} entries)"

    def encode(self) -> bytes:
        """The wire form, as it lies here."""
        return self._data

    def _combined(self, other: Self, *, subtract: bool) -> Self:
        mine, theirs = self._head, of_kind(other, LatticeSlots)._head
        if self._public.mark != other._public.mark:
            raise CipherError("Tables sealed under different keys cannot be added.")
        if (self.plan, self.entries, self.chosen) != (other.plan, other.entries, other.chosen):
            raise ParameterError("Tables of different plans, or after different choices, cannot be added.")
        parts = mine.parts + theirs.parts
        if parts > self.plan.parts:
            raise ParameterError(f"The plan allows {self.plan.parts} parts of a sum; this would be part {parts}.")
        head = mine._replace(seed=None, parts=parts, by_public_key=mine.by_public_key or theirs.by_public_key)
        front = head.encode(self._public.mark, self.plan, self.entries, self.chosen)
        native = (self._table(), other._table(), self._slots(), subtract, front, self._public.threads)
        return type(self)(self.plan, self.entries, self.chosen, self._public, head, _native.slots_combine(*native))

    def _layout(self) -> SlotsLayout:
        return slots_layout(self.plan, self._head.by_public_key)

    def _summed(self) -> bool:
        """Whether the lanes of a row add up to its one entry."""
        return self.entries == 1

    def _slots(self) -> SlotTable:
        layout = self._layout()
        entries = layout.lanes if self._summed() else self.entries
        return SlotTable(self.plan.rows, entries, layout.block_rows, layout.lanes, layout.moduli)

    def _table(self) -> SealedTable:
        return SealedTable(self._data, wire.HEAD_BYTES, self._head.primes, self._head.seed, self.chosen == 0)


class SlotsPublicKey:
    """The public half of a key of the slot ring: seals for the key holder, and answers with choices."""

    BYTES = _KEY.size + MOST_PRIMES * wire.POLYNOMIAL_BYTES + _native.lattice_proof_bytes(SLOTS)
    """Of the wire form."""

    def __init__(self, seed: bytes, half: bytes, proof: bytes, threads: int) -> None:
        self._seed, self._half, self._proof, self.threads = seed, half, proof, threads
        self.mark = hashlib.sha256(seed + half).digest()[:16]
        """Names the key."""

    def encode(self) -> bytes:
        """A version, the seed of the random half, the other half, and the proof that it is well formed."""
        return _KEY.pack(_KEY_MARK, wire.VERSION, self._seed) + self._half + self._proof

    @classmethod
    def read(cls, data: bytes, threads: int, own: bool = False) -> "SlotsPublicKey":
        """From its wire form; one that is malformed, or unproven unless it is the `own`, is a CipherError."""
        mark, version, seed = _KEY.unpack(data[: _KEY.size].ljust(_KEY.size, b"\0"))
        if mark != _KEY_MARK or version != wire.VERSION:
            raise CipherError(
                "A public key for slots has another format or version; both sides need the same hedgerow."
            )
        if len(data) != cls.BYTES:
            raise CipherError("A public key for slots does not have the size that such a key has.")
        end = _KEY.size + MOST_PRIMES * wire.POLYNOMIAL_BYTES
        if not _native.slots_well_formed(data, _KEY.size, end, MOST_PRIMES, threads):
            raise CipherError("A public key for slots holds a number that is not below its prime.")
        half, proof = data[_KEY.size : end], data[end:]
        if not own and not _native.slots_is_proven(half, seed, proof, threads):
            raise CipherError("A public key for slots is not proven to be well formed; the run stops.")
        return cls(seed, half, proof, threads)

    def seal_slots(self, values: NDArray[np.int64], plan: SlotsPlan) -> LatticeSlots:
        """Seals rows x entries for the key holder."""
        ensure_not_by_holder(plan)
        ensure_slot_values(values, plan)
        layout = slots_layout(plan, by_public_key=True)
        head = SlotsHead(layout.primes[0], 1, True, None)
        native = (self._half, self._seed, head.primes)
        return self._made(
            plan,
            plan.entries,
            0,
            head,
            lambda front, table: _native.slots_seal_public(
                np.ascontiguousarray(values), table, *native, front, self.threads
            ),
        )

    def _made(
        self, plan: SlotsPlan, entries: int, chosen: int, head: SlotsHead, kernel: Callable[[bytes, SlotTable], bytes]
    ) -> LatticeSlots:
        """A table whose bytes a kernel makes, given its head."""
        layout = slots_layout(plan, head.by_public_key)
        table = SlotTable(plan.rows, plan.entries, layout.block_rows, layout.lanes, layout.moduli)
        data = kernel(head.encode(self.mark, plan, entries, chosen), table)
        return LatticeSlots(plan, entries, chosen, self, head, data)

    def read_slots(self, data: bytes, plan: SlotsPlan, entries: int, chosen: int = 0) -> LatticeSlots:
        """Sealed slots from their wire form; what does not fit the plan is a CipherError before it is used."""
        head = wire.read_head(data, self.mark, plan, entries, chosen)
        if plan.by_holder and not chosen and not head.seed:
            raise CipherError("A sealed table comes without a seed, where the key holder alone seals; the run stops.")
        sealed = LatticeSlots(plan, entries, chosen, self, head, data)
        layout = sealed._layout()
        ciphertexts = layout.blocks * len(layout.moduli) * (1 if sealed._summed() else layout.ciphertexts)
        halves = 1 if head.seed else 2
        if len(data) != wire.HEAD_BYTES + ciphertexts * halves * head.primes * wire.POLYNOMIAL_BYTES:
            raise CipherError("A sealed table does not have the size that its plan gives it.")
        if not _native.slots_well_formed(data, wire.HEAD_BYTES, len(data), head.primes, self.threads):
            raise CipherError("A sealed table holds a number that is not below its prime.")
        return sealed

    def slot_sums(
        self,
        sealed: LatticeSlots,
        own_choice: NDArray[np.bool_],
        plus: NDArray[np.int64] | None = None,
        pad: NDArray[np.int64] | None = None,
    ) -> LatticeSlots:
        """Each row's sum of chosen entries, with `plus` and `pad` added: the key holder will read nothing else."""
        return self._answered(sealed, own_choice, "S", summands(sealed.plan, plus, pad))

    def filtered(self, sealed: LatticeSlots, own_choice: NDArray[np.bool_]) -> LatticeSlots:
        """The chosen integers as they are, zero for the others: nobody can tell which is which without the key."""
        ensure_single_entries(sealed.plan)
        return self._answered(sealed, own_choice, "F")

    def _answered(
        self,
        sealed: LatticeSlots,
        own_choice: NDArray[np.bool_],
        now: str,
        added: NDArray[np.int64] | None = None,
    ) -> LatticeSlots:
        """One answer, with its encryption of zero and its flood."""
        plan, head = sealed.plan, sealed._head
        self._check(sealed, own_choice)
        layout = sealed._layout()
        done = "" if not sealed.chosen else "S" if sealed._summed() else "F"
        leaving = SlotsLeaving(layout.flood(done, now), layout.primes[sealed.chosen + 1])
        choice = np.ascontiguousarray(np.repeat(own_choice, layout.lanes, axis=1) if sealed._summed() else own_choice)
        after = head._replace(primes=leaving.primes, seed=None)
        entries = 1 if now == "S" else sealed.entries
        front = after.encode(self.mark, plan, entries, sealed.chosen + 1)
        rest = (self._half, self._seed, leaving, front, self.threads)
        if now == "S":
            summand = np.empty(0, np.int64) if added is None else added
            data = _native.slots_sums(sealed._table(), sealed._slots(), choice, summand, *rest)
        else:
            data = _native.slots_filter(sealed._table(), sealed._slots(), choice, sealed._summed(), *rest)
        return LatticeSlots(plan, entries, sealed.chosen + 1, self, after, data)

    def _check(self, sealed: LatticeSlots, own_choice: NDArray[np.bool_]) -> None:
        if sealed._public.mark != self.mark:
            raise CipherError("A table was sealed under another key.")
        ensure_choice_left(sealed.plan, sealed.chosen)
        if own_choice.shape != (sealed.plan.rows, sealed.entries) or own_choice.dtype != np.bool_:
            raise ParameterError("The choices are not one truth value for each row and entry.")


class SlotsSecretKey:
    """The key holder's own key of the slot ring: never written, never sent."""

    __slots__ = ("_own_secret", "public")

    public: SlotsPublicKey
    """What may be sent."""

    def __init__(self, threads: int) -> None:
        seed = secrets.token_bytes(32)
        self._own_secret, half = _native.slots_new_key(seed)
        proof = _native.slots_prove_key(self._own_secret, half, seed, threads)
        self.public = SlotsPublicKey(seed, half, proof, threads)

    def __repr__(self) -> str:
        return "SlotsSecretKey()"

    def seal_slots(self, values: NDArray[np.int64], plan: SlotsPlan) -> LatticeSlots:
        """Seals rows x entries: half the size and work of the public key's."""
        ensure_slot_values(values, plan)
        seed = secrets.token_bytes(32)
        head = SlotsHead(slots_layout(plan).primes[0], 1, False, seed)
        native = (self._own_secret, seed, head.primes)
        return self.public._made(
            plan,
            plan.entries,
            0,
            head,
            lambda front, table: _native.slots_seal(
                np.ascontiguousarray(values), table, *native, front, self.public.threads
            ),
        )

    def open_slots(self, sealed: LatticeSlots) -> NDArray[np.int64]:
        """Rows x entries, clear here from now on; an integer that the plan makes impossible is a CipherError."""
        if sealed._public.mark != self.public.mark:
            raise CipherError("A table was sealed under another key.")
        if not sealed.chosen:
            ensure_single_entries(sealed.plan)
        native = (sealed._table(), sealed._slots(), sealed._summed(), self._own_secret, self.public.threads)
        opened = _native.slots_open(*native)
        ensure_opened(opened, (sealed.plan.most,))
        return opened

    def __reduce__(self) -> NoReturn:
        raise PrivacyError("Secret keys cannot be copied or written; make fresh ones instead.")
