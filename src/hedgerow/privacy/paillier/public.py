"""Paillier's public key: what everybody may do; `paillier` says who sees what."""

import secrets
from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import ceil

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.errors import PrivacyError
from hedgerow.privacy.additive import Merging, SealedRows, SealedSlots
from hedgerow.privacy.pads import Pads
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
from hedgerow.privacy.paillier.wire import PaillierRows, PaillierSlots, PaillierSums, Ring, Words, inside, read
from hedgerow.privacy.shapes import (
    DISTANCE_BITS,
    Nodes,
    RowsPlan,
    Selection,
    SlotsPlan,
    ensure,
    ensure_choice_left,
    ensure_pads,
    ensure_plus,
    ensure_row_values,
    ensure_single_entries,
    ensure_slot_values,
    shared_values,
    summands,
)

SEAL_BITS = 256
"""Of an exponent for sealing: twice the security that the default key has."""
SEAL_WINDOW, HIDE_WINDOW = 5, 6
HIDE_BASES = 80
"""Random bases miss a part of the group, as a quadratic character, with a chance below 2^-71: a proved modulus has at
most nine prime factors, so 511 such characters."""
HIDE_SURPLUS = 160
"""Bits of the exponents of all bases together beyond those of the group's order: distance 2^-80 a return."""
HIDDEN_BITS = 70
"""So the distance from uniform n-th powers is below 2 to the minus this, for each integer that is opened."""
FEW = 80
"""So many returns under one key are quicker with a fresh n-th power each than with a table."""


def _ensure_hidden(run_sums: int) -> None:
    if run_sums > 1 << (HIDDEN_BITS - DISTANCE_BITS):
        raise PrivacyError("So many returns in one run would not hide the choices well enough; open fewer sums.")


def ensure_rows(plan: RowsPlan, bits: int) -> None:
    """Refuses a plan whose sums have no room, or that opens too much."""
    rows_packing(plan, bits)
    _ensure_hidden(plan.run_sums)


def ensure_slots(plan: SlotsPlan, bits: int) -> None:
    """Refuses a plan whose sums have no room, or that opens too much."""
    slots_packing(plan, bits, 0)
    _ensure_hidden(plan.run_sums)


class PaillierSealing(ABC):
    """Seals with either half of a key; the key holder's is quicker."""

    __slots__ = ("_ring",)

    def __init__(self, ring: Ring) -> None:
        self._ring = ring

    def seal_rows(self, values: Ints, plan: RowsPlan) -> PaillierRows:
        """Seals rows x channels; whoever holds the secret key can read them one by one."""
        ensure_rows(plan, self._ring.bits)
        ensure_row_values(values, plan)
        return PaillierRows(self._sealed(values, rows_packing(plan, self._ring.bits)), plan, self._ring)

    def seal_slots(self, values: Ints, plan: SlotsPlan, shared: Ints | None = None) -> PaillierSlots:
        """Seals rows x entries, and what all rows share; whoever holds the secret key can read them one by one."""
        ensure_slots(plan, self._ring.bits)
        ensure_slot_values(values, plan, shared)
        integers = np.concatenate([values.reshape(-1), shared_values(shared, plan)])
        words = self._sealed(integers[:, None], slots_packing(plan, self._ring.bits, 0))
        return PaillierSlots(words, plan, self._ring, 1, (plan.entries, 0))

    @abstractmethod
    def _sealed(self, values: Ints, packing: Packing) -> Words:
        """Ciphertexts of these integers, packed so."""


class PaillierPublicKey(PaillierSealing):
    """The modulus: seals for the key holder, and works on what is sealed."""

    __slots__ = ("_hidden", "_hide_table", "_seal_table")

    def __init__(self, ring: Ring) -> None:
        super().__init__(ring)
        self._hidden = 0
        self._hide_table: Words | None = None
        self._seal_table: Words | None = None

    def encode(self, merging: Merging | None = None) -> bytes:  # noqa: ARG002  # nothing is merged
        """The wire form."""
        return self._ring.encode()

    def read_rows(self, data: bytes, plan: RowsPlan) -> PaillierRows:
        """Sealed rows from their wire form; what does not fit the plan is a CipherError before it is used."""
        ensure_rows(plan, self._ring.bits)
        count = rows_packing(plan, self._ring.bits).count(plan.rows)
        words, parts = read(data, self._ring, PaillierRows, plan, count)
        return PaillierRows(words, plan, self._ring, parts)

    def read_slots(self, data: bytes, plan: SlotsPlan, entries: int, chosen: int = 0) -> PaillierSlots:
        """Sealed slots from their wire form."""
        ensure_slots(plan, self._ring.bits)
        ensure(plan.knows(entries, chosen), "The plan knows no such sealed slots.")
        count = slots_count(plan, self._ring.bits, entries, chosen)
        words, parts = read(data, self._ring, PaillierSlots, plan, count, (entries, chosen))
        return PaillierSlots(words, plan, self._ring, parts, (entries, chosen))

    def read_sums(self, data: bytes, plan: RowsPlan, groups: int) -> PaillierSums:
        """Returned sums from their wire form: to be opened by the key holder, or added up by whoever collects them."""
        ensure_rows(plan, self._ring.bits)
        ensure(1 <= groups <= plan.groups, "The plan does not have so many groups.")
        count = sums_packing(plan, self._ring.bits).count(plan.nodes * groups)
        words, parts = read(data, self._ring, PaillierSums, plan, count, (groups, 0))
        return PaillierSums(words, plan, self._ring, parts, (groups, 0))

    def group_sums(
        self,
        sealed: SealedRows,
        selection: Selection,
        nodes: Nodes,
        plus: Ints | None = None,
        pads: Pads | None = None,
    ) -> PaillierSums:
        """Nodes x groups x channels, with `plus` added: the key holder will read these sums and nothing else.

        Under `pads`, nothing but in total.
        """
        rows, words, parts = inside(sealed, PaillierRows, self._ring)
        plan = rows.plan
        _ensure_selection(selection, plan)
        nodes.check(plan)
        ensure_pads(pads, plan)
        if plus is not None:
            ensure_plus(plus, (plan.nodes, selection.groups, len(plan.bounds)), plan.summand)
            plus = plus.reshape(-1, len(plan.bounds))
        codes = np.ascontiguousarray(selection.own_codes)
        packing = sums_packing(plan, self._ring.bits)
        sums = self._products(words, len(packing.blocks), codes, selection.widths, nodes)
        return PaillierSums(self._returned(sums, packing, plus, pads), plan, self._ring, parts, (selection.groups, 0))

    def slot_sums(
        self, sealed: SealedSlots, own_choice: NDArray[np.bool_], plus: Ints | None = None, pad: Ints | None = None
    ) -> PaillierSlots:
        """Each row's sum of chosen entries, with `plus` (one a row) added: the key holder will read nothing else."""
        slots, words, parts = self._to_choose_from(sealed, own_choice)
        plan, chosen = slots.plan, slots.chosen + 1
        added = summands(plan, plus, pad).reshape(-1, 1)
        sums = self._products(words, 1, np.zeros((1, len(words)), np.uint8), np.array([1]), _chosen(own_choice, slots))
        words = self._returned_slots(sums, plan, chosen, added if added.size else None)
        return PaillierSlots(words, plan, self._ring, parts, (1, chosen))

    def filtered(self, sealed: SealedSlots, own_choice: NDArray[np.bool_]) -> PaillierSlots:
        """The chosen integers as they are, zero for the others: nobody can tell which is which without the key."""
        slots, words, parts = self._to_choose_from(sealed, own_choice)
        plan, chosen = slots.plan, slots.chosen + 1
        ensure_single_entries(plan)
        left = np.where(own_choice.reshape(-1, 1), words, self._ones(1))
        words = self._returned_slots(left, plan, chosen, None)
        return PaillierSlots(words, plan, self._ring, parts, (slots.entries, chosen))

    def _to_choose_from(self, sealed: SealedSlots, own_choice: NDArray[np.bool_]) -> tuple[PaillierSlots, Words, int]:
        slots, words, parts = inside(sealed, PaillierSlots, self._ring)
        shape = slots.plan.rows, slots.plan.offers(slots.entries, slots.chosen)
        fits = own_choice.shape == shape and own_choice.dtype == np.bool_
        ensure(fits, "A choice is a truth value for each row and entry of what it is made upon.")
        ensure_choice_left(slots.plan, slots.chosen)
        return slots, words, parts

    def _products(self, words: Words, parts: int, codes: NDArray[np.uint8], widths: Ints, nodes: Nodes) -> Words:
        """Not yet to be sent: whoever knows the ciphertexts can find out which were multiplied."""
        rows, starts = (np.ascontiguousarray(each, dtype=np.int64) for each in (nodes.rows, nodes.starts))
        widths = np.ascontiguousarray(widths, dtype=np.int64)
        threads = self._ring.threads
        return _native.paillier_group_sums(self._ring.n, words, parts, codes, widths, (rows, starts), threads)

    def _returned_slots(self, words: Words, plan: SlotsPlan, chosen: int, plus: Ints | None) -> Words:
        """As `_returned`; after the last choice of a plan with a modulus everything above that is drowned."""
        if drowned(plan, chosen):
            words, plus = self._drowned(words, plan, plus), None
        return self._returned(words, slots_packing(plan, self._ring.bits, chosen), plus)

    def _drowned(self, words: Words, plan: SlotsPlan, plus: Ints | None) -> Words:
        """With summands, and the modulus times random numbers up to the end of the plaintext."""
        n = int.from_bytes(self._ring.n.astype("<u8").tobytes(), "little")
        most = n // spread(plan)
        added = [0] * len(words) if plus is None else plus[:, 0].tolist()
        return self._with_numbers(words, [(value + plan.modulus * secrets.randbelow(most)) % n for value in added])

    def _with_numbers(self, words: Words, numbers: Sequence[int]) -> Words:
        """To each ciphertext a number below n added."""
        data = b"".join(number.to_bytes(self._ring.bits // 8, "little") for number in numbers)
        rows = np.frombuffer(data, "<u8").astype(np.uint64).reshape(len(words), -1)
        return _native.paillier_add_numbers(self._ring.n, words, rows, self._ring.threads)

    def _returned(self, words: Words, packing: Packing, plus: Ints | None, pads: Pads | None = None) -> Words:
        """Packed, the plain summands and pads added, and every ciphertext multiplied by a random n-th power."""
        if packing.per > 1:
            words = _native.paillier_pack(self._ring.n, words, packing.per, packing.distance, self._ring.threads)
        if plus is not None:
            words = self._added(words, plus, packing)
        if pads is not None:
            n = int.from_bytes(self._ring.n.astype("<u8").tobytes(), "little")
            words = self._with_numbers(words, pads.numbers(len(words), n))
        return self._hide(words)

    def _added(self, words: Words, values: Ints, packing: Packing) -> Words:
        n, threads, blocks = self._ring.n, self._ring.threads, len(packing.blocks)
        added = np.empty_like(words)
        for i, (fields, widths) in enumerate(packing.fields(values)):
            part = np.ascontiguousarray(words[i::blocks])
            added[i::blocks] = _native.paillier_add_plain(n, part, fields, widths, threads)
        return added

    def _hide(self, words: Words) -> Words:
        """Makes ciphertexts as good as fresh ones, also to the key holder: see above, under Randomness."""
        self._hidden += len(words)
        if self._hide_table is None and self._hidden > FEW:
            digits = ceil((self._ring.bits + HIDE_SURPLUS) / HIDE_WINDOW)
            self._hide_table = self._table(HIDE_BASES, digits, HIDE_WINDOW, even=False)
        none = np.empty((0, words.shape[1]), np.uint64)
        table = none if self._hide_table is None else self._hide_table
        return _native.paillier_randomise(self._ring.n, table, False, words, self._ring.threads)

    def _sealed(self, values: Ints, packing: Packing) -> Words:
        if self._seal_table is None:
            self._seal_table = self._table(1, ceil(SEAL_BITS / SEAL_WINDOW), SEAL_WINDOW, even=True)
        words = self._added(self._ones(packing.count(len(values))), values, packing)
        return _native.paillier_randomise(self._ring.n, self._seal_table, True, words, self._ring.threads)

    def _table(self, bases: int, digits: int, window: int, *, even: bool) -> Words:
        return _native.paillier_table(self._ring.n, bases, digits, window, even, self._ring.threads)

    def _ones(self, count: int) -> Words:
        """Zero sealed without randomness: never sent as it is."""
        one = (1 << 2 * self._ring.bits) % int.from_bytes(self._ring.n.astype("<u8").tobytes(), "little") ** 2
        words = np.frombuffer(one.to_bytes(self._ring.bits // 4, "little"), "<u8").astype(np.uint64)
        return np.tile(words, (count, 1))


def _chosen(own_choice: NDArray[np.bool_], slots: PaillierSlots) -> Nodes:
    """The ciphertexts that each row takes, of its own and of those that all rows share."""
    rows, places = np.nonzero(own_choice)
    own = slots.entries
    taken = np.where(places < own, rows * own, (slots.plan.rows - 1) * own) + places
    starts = np.concatenate([[0], np.cumsum(own_choice.sum(axis=1))])
    return Nodes(taken.astype(np.int64), starts.astype(np.int64))


def _ensure_selection(selection: Selection, plan: RowsPlan) -> None:
    columns, rows = selection.own_codes.shape
    ensure(rows == plan.rows, "A selection has a code for each sealed row in every column.")
    ensure(selection.groups <= plan.groups, "The selection has more groups than the plan.")
    ensure(not plan.columns or columns <= plan.columns, "The selection has more columns than the plan.")
