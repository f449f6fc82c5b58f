"""NO ENCRYPTION. The contract of `additive` in clear integers, for groups that trust each other and for tests.

Everybody who gets hold of anything made here can read it: the answering side reads the key holder's integers, the key
holder can tell the choices from what returns filtered, and whoever listens in between reads all of it. What remains of
the contract is its arithmetic and its refusals, so that this is the reference for real ciphers: the same plans, the
same sums, the same errors.

A key is only a number, by which things made for different keys are told apart. It keeps no secret.
"""

import math
import os
from collections.abc import Iterable, Sequence
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.errors import CipherError, PrivacyError
from hedgerow.privacy.additive import USED_UP, Merging, SealedRows, SealedSlots, SealedSums
from hedgerow.privacy.pads import Pads
from hedgerow.privacy.shapes import (
    Nodes,
    RowsPlan,
    Selection,
    SlotsPlan,
    agreed,
    ensure,
    ensure_alone,
    ensure_choice_left,
    ensure_opened,
    ensure_pads,
    ensure_plus,
    ensure_row_values,
    ensure_single_entries,
    ensure_slot_values,
    ensure_total,
    shared_values,
    summands,
)
from hedgerow.privacy.unencrypted.values import (
    HEAD,
    KEY,
    MARK,
    VERSION,
    ClearRows,
    ClearSlots,
    ClearSums,
    Ints,
    beside,
    inside,
    read,
    read_head,
)

KEY_BYTES = 16
WORD = 8


class UnencryptedPublicKey:
    """A number that tells keys apart; it protects NOTHING."""

    __slots__ = ("_key", "_threads")

    def __init__(self, key: bytes, threads: int) -> None:
        self._key, self._threads = key, threads

    def encode(self, merging: Merging | None = None) -> bytes:  # noqa: ARG002  # nothing is merged
        """The wire form."""
        return HEAD.pack(MARK, VERSION, KEY, self._key, bytes(8), 0, 0, 0, 0)

    def seal_rows(self, values: Ints, plan: RowsPlan) -> ClearRows:
        """Checks rows x channels and keeps them AS THEY ARE."""
        ensure_row_values(values, plan)
        return ClearRows(values.copy(), plan, self._key)

    def seal_slots(self, values: Ints, plan: SlotsPlan, shared: Ints | None = None) -> ClearSlots:
        """Checks rows x entries and what rows share, and keeps them AS THEY ARE."""
        ensure_slot_values(values, plan, shared)
        return ClearSlots(beside(values, shared_values(shared, plan)), plan, self._key)

    def read_rows(self, data: bytes, plan: RowsPlan) -> ClearRows:
        """Rows from their wire form, each within its bound."""
        clear, parts = read(data, self._key, ClearRows, plan, (plan.rows, len(plan.bounds)))
        clear = clear.reshape(plan.rows, -1)
        _ensure_within(clear, tuple(parts * bound for bound in plan.bounds))
        return ClearRows(clear, plan, self._key, parts)

    def read_slots(self, data: bytes, plan: SlotsPlan, entries: int, chosen: int = 0) -> ClearSlots:
        """Slots from their wire form, each within its bound, or within that of sums once a choice was made."""
        ensure(plan.knows(entries, chosen), "The plan knows no such sealed slots.")
        shared = 0 if chosen else plan.shared
        clear, parts = read(data, self._key, ClearSlots, plan, (plan.rows, entries), (chosen, shared))
        _ensure_within(clear[:, None], (plan.most if chosen else parts * plan.bound,))
        own = plan.rows * entries
        slots = beside(clear[:own].reshape(plan.rows, entries), clear[own:])
        return ClearSlots(slots, plan, self._key, parts, chosen)

    def read_sums(self, data: bytes, plan: RowsPlan, groups: int) -> ClearSums:
        """Sums from their wire form, each within what the plan makes possible."""
        ensure(1 <= groups <= plan.groups, "The plan does not have so many groups.")
        clear, parts = read(data, self._key, ClearSums, plan, (plan.nodes, groups, len(plan.bounds)))
        clear = clear.reshape(plan.nodes, groups, -1)
        if not plan.together:
            _ensure_within(clear, plan.most)
        return ClearSums(clear, plan, self._key, parts)

    def group_sums(
        self,
        sealed: SealedRows,
        selection: Selection,
        nodes: Nodes,
        plus: Ints | None = None,
        pads: Pads | None = None,
    ) -> ClearSums:
        """Nodes x groups x channels, with `plus` added; readable by ANYBODY, but for those under `pads`."""
        rows, clear = inside(sealed, ClearRows, self._key)
        _ensure_selection(selection, rows.plan)
        nodes.check(rows.plan)
        sums = self._sums_by_group(clear, selection, nodes)
        if plus is not None:
            ensure_plus(plus, sums.shape, rows.plan.summand)
            sums += plus
        ensure_pads(pads, rows.plan)
        if pads is not None:
            sums += pads.wide_words(sums.size).reshape(sums.shape)
        return ClearSums(sums, rows.plan, self._key, rows.parts)

    def _sums_by_group(self, clear: Ints, selection: Selection, nodes: Nodes) -> Ints:
        chosen = Selection(np.ascontiguousarray(selection.own_codes), np.ascontiguousarray(selection.widths, np.int64))
        sets = Nodes(np.ascontiguousarray(nodes.rows), np.ascontiguousarray(nodes.starts))
        return _native.plain_group_sums(np.ascontiguousarray(clear), chosen, sets, self._threads)

    def slot_sums(
        self, sealed: SealedSlots, own_choice: NDArray[np.bool_], plus: Ints | None = None, pad: Ints | None = None
    ) -> ClearSlots:
        """Each row's sum of chosen entries, with `plus` and `pad` added; readable by ANYBODY."""
        slots, left = self._chosen_of(sealed, own_choice)
        sums = left.sum(axis=1)
        added = summands(slots.plan, plus, pad)
        sums = slots.plan.centred(sums + added if added.size else sums)
        return ClearSlots(sums[:, None], slots.plan, self._key, slots.parts, slots.chosen + 1)

    def filtered(self, sealed: SealedSlots, own_choice: NDArray[np.bool_]) -> ClearSlots:
        """The chosen integers, zero for the others; ANYBODY can tell which is which."""
        slots, left = self._chosen_of(sealed, own_choice)
        ensure_single_entries(slots.plan)
        return ClearSlots(left, slots.plan, self._key, slots.parts, slots.chosen + 1)

    def _chosen_of(self, sealed: SealedSlots, own_choice: NDArray[np.bool_]) -> tuple[ClearSlots, Ints]:
        slots, clear = inside(sealed, ClearSlots, self._key)
        fits = own_choice.shape == clear.shape and own_choice.dtype == np.bool_
        ensure(fits, "A choice is a truth value for each row and entry of what it is made upon.")
        ensure_choice_left(slots.plan, slots.chosen)
        return slots, np.where(own_choice, clear, 0)


class UnencryptedSecretKey:
    """The same number; whoever has anything sealed with it reads that WITHOUT this key."""

    __slots__ = ("_key", "_threads", "_used_up")

    def __init__(self, key: bytes, threads: int) -> None:
        self._key, self._threads, self._used_up = key, threads, False

    @property
    def public(self) -> UnencryptedPublicKey:
        """What may be sent."""
        return UnencryptedPublicKey(self._key, self._threads)

    def reveal(self) -> bytes:
        """The number, after which this key must not be used again."""
        self._used_up = True
        return self._key

    def _ensure_unrevealed(self) -> None:
        if self._used_up:
            raise PrivacyError(USED_UP)

    def seal_rows(self, values: Ints, plan: RowsPlan) -> ClearRows:
        """As with the public key."""
        self._ensure_unrevealed()
        return self.public.seal_rows(values, plan)

    def seal_slots(self, values: Ints, plan: SlotsPlan, shared: Ints | None = None) -> ClearSlots:
        """As with the public key."""
        self._ensure_unrevealed()
        return self.public.seal_slots(values, plan, shared)

    def open_sums(self, sums: SealedSums) -> Ints:
        """Nodes x groups x channels."""
        self._ensure_unrevealed()
        own, clear = inside(sums, ClearSums, self._key)
        ensure_alone(own.plan)
        ensure_opened(clear, own.plan.most, own.plan.least)
        return clear.copy()

    def open_total(self, parts: Sequence[SealedSums]) -> Ints:
        """Nodes x groups x channels over all parts."""
        self._ensure_unrevealed()
        own = [inside(part, ClearSums, self._key) for part in parts]
        ensure_total([part.plan for part, _ in own], [part.groups for part, _ in own])
        total = sum((clear for _, clear in own[1:]), own[0][1])
        ensure_opened(total, own[0][0].plan.most, own[0][0].plan.least)
        return total

    def open_slots(self, sealed: SealedSlots) -> Ints:
        """Rows x entries."""
        self._ensure_unrevealed()
        own, clear = inside(sealed, ClearSlots, self._key)
        if not own.chosen:
            ensure_single_entries(own.plan)
        ensure_opened(clear, (own.plan.most,))
        return clear.copy()

    def __reduce__(self) -> NoReturn:
        raise PrivacyError("Secret keys cannot be copied or written; make fresh ones instead.")


class UnencryptedRevealedKey:
    """The same number once more; see `additive.RevealedKey`."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def entries(self, sealed: SealedSlots) -> tuple[Ints, Ints]:
        """Rows x entries, and what rows share; all was checked to be within its bounds when it came in."""
        own, clear = inside(sealed, ClearSlots, self._key)
        return clear[:, : own.plan.entries].copy(), clear[0, own.plan.entries :].copy()


class Unencrypted:
    """NO ENCRYPTION: everybody reads everything. For groups that trust each other, and for tests."""

    @property
    def seals_once(self) -> bool:
        """Nothing is gained by doing it again."""
        return True

    @property
    def keys_apart(self) -> bool:
        """A key that protects nothing keeps nothing apart."""
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
    ) -> UnencryptedSecretKey:
        """A number that tells keys apart."""
        return UnencryptedSecretKey(os.urandom(KEY_BYTES), threads)

    def key_bytes(self, rows: bool = True, slots: bool = True, merging: Merging | None = None) -> int:  # noqa: ARG002  # one for all
        """The length of a head."""
        return HEAD.size

    def read_public_key(self, data: bytes, threads: int, merging: Merging | None = None) -> UnencryptedPublicKey:  # noqa: ARG002  # none
        """A number from its wire form."""
        kind, key, plan, parts, sizes = read_head(data)
        agreed(kind == KEY and not any((*plan, parts, *sizes)), "These bytes do not hold a public key.")
        agreed(len(data) == HEAD.size, "There are bytes behind a public key.")
        return UnencryptedPublicKey(key, threads)

    def revealed_key(self, told: bytes, public: bytes, threads: int) -> UnencryptedRevealedKey:
        """The number; another than the public key's is a CipherError."""
        agreed(self.read_public_key(public, threads)._key == told, "The revealed key is not that of this public key.")
        return UnencryptedRevealedKey(told)

    def room(self, plan: RowsPlan, groups: int) -> int:
        """What came in was checked to be within its bounds, and so are the sums."""
        return plan.nodes * groups * sum((2 * most + 1).bit_length() for most in plan.most)

    def rows_bytes(self, plan: RowsPlan) -> int:
        """The length of the wire form of rows."""
        return HEAD.size + WORD * plan.rows * len(plan.bounds)

    def most_rows_bytes(self, plan: RowsPlan) -> int:
        """Fewer rows take less, and nodes do not matter."""
        return self.rows_bytes(plan)

    def sums_bytes(self, plan: RowsPlan, groups: int) -> int:
        """The length of the wire form of the sums of so many groups."""
        return HEAD.size + WORD * plan.nodes * groups * len(plan.bounds)

    def slots_bytes(self, plan: SlotsPlan, entries: int, chosen: int = 0) -> int:
        """The length of the wire form of slots."""
        return HEAD.size + WORD * (plan.rows * entries + (0 if chosen else plan.shared))

    def slots_room(self, plan: SlotsPlan) -> float:
        """What came in was checked to be within its bounds, and so is what returns."""
        integers = (1 if plan.apart else plan.rows) * (1 if plan.sums_only else plan.entries)
        return integers * math.log2(2 * plan.most + 1)

    def ensure_rows(self, plan: RowsPlan) -> None:
        """Refuses nothing: sums of any plan have room in 62 bits, and NOTHING is hidden."""

    def ensure_slots(self, plan: SlotsPlan) -> None:
        """Refuses nothing: sums of any plan have room in 62 bits, and NOTHING is hidden."""


def _ensure_within(clear: Ints, most: tuple[int, ...]) -> None:
    limit = np.array(most, dtype=np.int64)
    if not bool(np.all((clear <= limit) & (clear >= -limit))):
        raise CipherError("An integer that came in is larger than the plan allows; nothing was read.")


def _ensure_selection(selection: Selection, plan: RowsPlan) -> None:
    columns, rows = selection.own_codes.shape
    ensure(rows == plan.rows, "A selection has a code for each sealed row in every column.")
    ensure(selection.groups <= plan.groups, "The selection has more groups than the plan.")
    ensure(not plan.columns or columns <= plan.columns, "The selection has more columns than the plan.")
