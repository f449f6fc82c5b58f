"""Lattice encryption (BFV over rings of 4096 and 8192 coefficients), exact, behind the contract of `additive`.

Rows lie in the coefficients of ciphertexts, and a selection is a polynomial of zeros and ones: one product gives the
sums of many groups (`native/src/lattice/sums.rs`). Slots are `lattice/slots`, or for few rows `lattice/coefficients`.
Who sees what:

- the answering side sees sealed rows, a public key and switching keys: pseudorandom to whoever lacks the secret key
  (RLWE, moduli below those of the HE standard's table for 128 bits; for switching keys also circular security);
- the key holder sees returns. Every result got an encryption of zero and a flood before anything else was done to it,
  and of its first half only the wanted coefficients leave; so a return tells the sums, and within 2^-40 for the whole
  run (`lattice/bounds`) nothing else about the choices. A key holder that seals what it should not reads at most what
  the wanted coefficients can carry: its key is proven to be well formed (`lattice/key`).
"""

import secrets
from collections.abc import Iterable, Sequence
from typing import NoReturn

import msgspec
import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.errors import CipherError, ParameterError, PrivacyError
from hedgerow.privacy import shapes
from hedgerow.privacy.additive import USED_UP, Merging, SealedRows, SealedSlots, SealedSums
from hedgerow.privacy.lattice import coefficients, slots_wire
from hedgerow.privacy.lattice import key as keys
from hedgerow.privacy.lattice import layout as layouts
from hedgerow.privacy.lattice.coefficients import CoefficientSlots
from hedgerow.privacy.lattice.layout import RowsLayout, rows_layout
from hedgerow.privacy.lattice.merging import merging
from hedgerow.privacy.lattice.reveal import LatticeRevealedKey
from hedgerow.privacy.lattice.rows import (
    HEADER_BYTES,
    PUBLIC_ROWS,
    PUBLIC_SUMS,
    ROWS,
    SEED_BYTES,
    SEEDED_ROWS,
    SUMS,
    Header,
    LatticeRows,
    LatticeSums,
    RowsKey,
    ensure_wire,
    joined,
    of_kind,
    packed,
    read_header,
    unpacked,
)
from hedgerow.privacy.lattice.slots import LatticeSlots, SlotsPublicKey, SlotsSecretKey
from hedgerow.privacy.lattice.slots_bounds import lanes_room, slots_layout
from hedgerow.privacy.lattice.slots_choice import as_rows, in_coefficients
from hedgerow.privacy.pads import Pads
from hedgerow.privacy.shapes import Nodes, RowsPlan, Selection, SlotsPlan

Slots = LatticeSlots | CoefficientSlots
"""Sealed slots, in whichever layout their plan has."""

RETURNED_BITS = 54
"""Of a coefficient that returns: two primes of 27 bits."""


class LatticePublicKey:
    """What everybody may have; see `additive.PublicKey`."""

    def __init__(self, link_mbit: float | None, parts: keys.Parts, threads: int, own: bool = False) -> None:
        """From the parts of the wire form; one that is malformed is a CipherError. An `own` proof was just made."""
        self._link_mbit, self._parts, self.threads = link_mbit, parts, threads
        self.name = parts.name
        """Names the key in what is sealed under it."""
        self._keys = keys.read(parts, threads, own)

    @classmethod
    def read(
        cls, link_mbit: float | None, encoded: bytes, threads: int, merging: Merging | None = None
    ) -> "LatticePublicKey":
        """From the wire form; one that is malformed, unproven or of other parameters is a CipherError."""
        return cls(link_mbit, keys.split(encoded, layouts.switch_steps(link_mbit, merging)), threads)

    def __repr__(self) -> str:
        return f"LatticePublicKey({self.name.hex()})"

    def encode(self, merging: Merging | None = None) -> bytes:
        """The wire form, with the keys for merging at these distances, or all that it has; see `lattice/key`."""
        return self._parts.encode(self._parts.steps if merging is None else merging)

    @property
    def _rows(self) -> RowsKey:
        if self._keys.rows is None:
            raise CipherError("A lattice public key is not for sums by group, and these are asked for; the run stops.")
        return self._keys.rows

    @property
    def _slots(self) -> SlotsPublicKey:
        if self._keys.slots is None:
            raise CipherError("A lattice public key is not for sums by slot, and these are asked for; the run stops.")
        return self._keys.slots

    def layout(self, plan: RowsPlan, by_public_key: bool) -> RowsLayout:
        """How rows of this plan are sealed and their sums returned."""
        return rows_layout(plan, self._link_mbit, by_public_key)

    def revealed(self, told: bytes) -> LatticeRevealedKey:
        """The secret half that its holder revealed; refuses another."""
        return LatticeRevealedKey(told, self._rows.public, self.name, self.threads)

    def seal_rows(self, values: NDArray[np.int64], plan: RowsPlan) -> LatticeRows:
        """Seals rows x channels; whoever holds the secret key can read them one by one."""
        shapes.ensure_not_by_holder(plan)
        shapes.ensure_row_values(values, plan)
        layout = self.layout(plan, by_public_key=True)
        head = self.rows_head(PUBLIC_ROWS, plan, layout)
        native = (packed(values, layout), layout.step, layout.residues, head.encode(layout), self.threads)
        return LatticeRows(plan, layout, head, self, _native.lattice_seal_rows_publicly(self._rows.public, *native))

    def rows_head(self, kind: int, plan: RowsPlan, layout: RowsLayout, parts: int = 1) -> Header:
        """What sealed rows say of themselves."""
        return Header(kind, self.name, shapes.plan_digest(plan), plan.rows, layouts.blocks(plan, layout), parts)

    def read_rows(self, data: bytes, plan: RowsPlan) -> LatticeRows:
        """Sealed rows from their wire form; what does not fit the plan is a CipherError before it is used."""
        told = read_header(data)
        if told.kind not in (SEEDED_ROWS, ROWS, PUBLIC_ROWS) or not 1 <= told.parts <= plan.parts:
            raise CipherError("Sealed data are not rows, or have more parts than the plan allows; the run stops.")
        seeded = told.kind == SEEDED_ROWS
        if plan.by_holder and not seeded:
            raise CipherError("Sealed rows come without a seed, where the key holder alone seals; the run stops.")
        if seeded and told.parts > 1:
            raise CipherError("Sealed rows that were added up cannot have one seed; the run stops.")
        layout = self.layout(plan, told.kind == PUBLIC_ROWS)
        head = self.rows_head(told.kind, plan, layout, told.parts)
        size = head.second * layout.lanes * keys.HALF_BYTES
        ensure_wire(data, head, layout, SEED_BYTES + size if seeded else 2 * size)
        rows = LatticeRows(plan, layout, head, self, data)
        if not _native.lattice_check_rows(rows.sealed, self.threads):
            raise CipherError("Sealed rows hold a number that is not below its prime; the run stops.")
        return rows

    def read_sums(self, data: bytes, plan: RowsPlan, groups: int) -> LatticeSums:
        """Returned sums from their wire form: to be opened by the key holder, or added up by whoever collects them."""
        told = read_header(data)
        if told.kind not in (SUMS, PUBLIC_SUMS) or not 1 <= told.parts <= plan.parts:
            raise CipherError("Sealed data are not sums, or have more parts than the plan allows; the run stops.")
        if not 1 <= groups <= plan.groups:
            raise ParameterError("Returned sums have at least one group, and no more than the plan.")
        layout = self.layout(plan, told.kind == PUBLIC_SUMS)
        head = Header(told.kind, self.name, shapes.plan_digest(plan), plan.nodes, groups, told.parts)
        ensure_wire(data, head, layout, _native.lattice_returned_bytes(layout, plan.nodes, groups))
        sums = LatticeSums(plan, layout, head, self, data)
        if not _native.lattice_check_sums(sums.returned, self.threads):
            raise CipherError("Returned sums hold a number that is not below its prime; the run stops.")
        return sums

    def group_sums(
        self,
        sealed: SealedRows,
        selection: Selection,
        nodes: Nodes,
        plus: NDArray[np.int64] | None = None,
        pads: Pads | None = None,
    ) -> LatticeSums:
        """Nodes x groups x channels, with `plus` added: the key holder will read these sums and nothing else.

        Under `pads`, nothing but in total.
        """
        rows = of_kind(sealed, LatticeRows)
        plan, layout = rows.plan, rows.layout
        self._check(rows, selection, nodes)
        shapes.ensure_pads(pads, plan)
        shape = (plan.nodes, selection.groups, len(plan.bounds))
        if plus is not None:
            shapes.ensure_plus(plus, shape, plan.summand)
        elif pads is not None:
            plus = np.zeros(shape, np.int64)
        summand = np.empty(0, np.int64) if plus is None else joined(plus, layout, pads)
        kind = PUBLIC_SUMS if rows.by_public_key else SUMS
        head = Header(kind, self.name, shapes.plan_digest(plan), plan.nodes, selection.groups, rows.head.parts)
        data = _native.lattice_group_sums(
            (self._rows.public, self._rows.switch_for(layout.step, layout.merges)),
            rows.sealed,
            Selection(np.ascontiguousarray(selection.own_codes), np.ascontiguousarray(selection.widths, np.int64)),
            Nodes(np.ascontiguousarray(nodes.rows), np.ascontiguousarray(nodes.starts)),
            summand,
            layout,
            layout.residues,
            head.encode(layout),
            self.threads,
        )
        return LatticeSums(plan, layout, head, self, data)

    def entry_sums(
        self, sealed: LatticeRows, own_choice: NDArray[np.bool_], shared: int, added: NDArray[np.int64]
    ) -> LatticeSums:
        """Of entries that were sealed like rows: one sum a row of the table, with what is added (one a row)."""
        self._ensure_own(sealed)
        plan, layout, parts = sealed.plan, sealed.layout, sealed.head.parts
        layout.ensure_hides(plan, layout.ones(own_choice.shape[1], 1), parts, sealed.by_public_key)
        kind = PUBLIC_SUMS if sealed.by_public_key else SUMS
        head = Header(kind, self.name, shapes.plan_digest(plan), plan.nodes, 1, parts)
        data = _native.lattice_entry_sums(
            (self._rows.public, self._rows.switch_for(layout.step, layout.merges)),
            sealed.sealed,
            np.ascontiguousarray(own_choice),
            shared,
            joined(added[:, None], layout),
            layout,
            layout.residues,
            head.encode(layout),
            self.threads,
        )
        return LatticeSums(plan, layout, head, self, data)

    def _ensure_own(self, sealed: LatticeRows) -> None:
        if sealed.public.name != self.name:
            raise CipherError("Rows were sealed under another key.")

    def _check(self, sealed: LatticeRows, selection: Selection, nodes: Nodes) -> None:
        """Refuses what does not belong together, and choices that the flood would not hide."""
        plan, layout = sealed.plan, sealed.layout
        self._ensure_own(sealed)
        nodes.check(plan)
        if selection.own_codes.shape[1] != plan.rows:
            raise ParameterError("A selection needs a code for every sealed row.")
        if selection.groups > plan.groups or (plan.columns and len(selection.widths) > plan.columns):
            raise ParameterError("A selection has more groups or columns than the plan.")
        ones = layout.ones(int(np.diff(nodes.starts).max()), layout.columns_together(selection.widths))
        layout.ensure_hides(plan, ones, sealed.head.parts, sealed.by_public_key)

    def seal_slots(self, values: NDArray[np.int64], plan: SlotsPlan, shared: NDArray[np.int64] | None = None) -> Slots:
        """Seals rows x entries, and what all rows share; whoever holds the secret key can read them one by one."""
        if self.in_coefficients(plan):
            return coefficients.seal(self, values, plan, shared)
        shapes.shared_values(shared, plan)
        return self._slots.seal_slots(values, plan)

    def in_coefficients(self, plan: SlotsPlan) -> bool:
        """Whether slots of this plan lie in coefficients: the same on both sides."""
        return in_coefficients(plan, self._link_mbit)

    def read_slots(self, data: bytes, plan: SlotsPlan, entries: int, chosen: int = 0) -> Slots:
        """Sealed slots from their wire form."""
        if self.in_coefficients(plan):
            return coefficients.read(self, data, plan, entries, chosen)
        return self._slots.read_slots(data, plan, entries, chosen)

    def slot_sums(
        self,
        sealed: SealedSlots,
        own_choice: NDArray[np.bool_],
        plus: NDArray[np.int64] | None = None,
        pad: NDArray[np.int64] | None = None,
    ) -> Slots:
        """Each row's sum of chosen entries, with `plus` (one a row) added: the key holder will read nothing else."""
        if isinstance(sealed, CoefficientSlots):
            return coefficients.slot_sums(self, sealed, own_choice, plus, pad)
        return self._slots.slot_sums(of_kind(sealed, LatticeSlots), own_choice, plus, pad)

    def filtered(self, sealed: SealedSlots, own_choice: NDArray[np.bool_]) -> LatticeSlots:
        """The chosen integers as they are, zero for the others: nobody can tell which is which without the key."""
        if isinstance(sealed, CoefficientSlots):
            shapes.ensure_single_entries(sealed.plan)
        return self._slots.filtered(of_kind(sealed, LatticeSlots), own_choice)


class LatticeSecretKey:
    """The key holder's own: never written but for an audit, never sent; see `additive.SecretKey`."""

    __slots__ = ("_own_secret", "_own_slots", "_used_up", "public")

    public: LatticePublicKey
    """What may be sent."""

    def __init__(
        self,
        link_mbit: float | None,
        threads: int,
        rows: bool = True,
        slots: bool = True,
        merging: Merging | None = None,
    ) -> None:
        self._own_secret, self._used_up = _native.lattice_new_secret(), False
        self._own_slots = SlotsSecretKey(threads) if slots else None
        steps = layouts.switch_steps(link_mbit, merging) if rows else ()
        of_rows, switches = keys.new_rows_key(self._own_secret, steps, threads) if rows else (b"", b"")
        of_slots = b"" if self._own_slots is None else self._own_slots.public.encode()
        self.public = LatticePublicKey(link_mbit, keys.Parts(of_rows, switches, steps, of_slots), threads, own=True)

    def __repr__(self) -> str:
        return "LatticeSecretKey()"

    def reveal(self) -> bytes:
        """The key in writing: for audits, after which the key must not be used again."""
        if self._own_slots is not None:
            raise ParameterError("Only a key that was made for sums by group alone can be revealed.")
        self._used_up = True
        return _native.lattice_reveal(self._own_secret)

    def _ensure_unrevealed(self) -> None:
        if self._used_up:
            raise PrivacyError(USED_UP)

    def seal_rows(self, values: NDArray[np.int64], plan: RowsPlan) -> LatticeRows:
        """As with the public key, quicker and smaller: one half of each ciphertext is a seed."""
        self._ensure_unrevealed()
        shapes.ensure_row_values(values, plan)
        layout = self.public.layout(plan, by_public_key=False)
        head = self.public.rows_head(SEEDED_ROWS, plan, layout)
        seed = secrets.token_bytes(SEED_BYTES)
        native = (packed(values, layout), layout.step, layout.residues, head.encode(layout) + seed)
        data = _native.lattice_seal_rows(self._own_secret, seed, *native, self.public.threads)
        return LatticeRows(plan, layout, head, self.public, data)

    def open_sums(self, sums: SealedSums) -> NDArray[np.int64]:
        """Nodes x groups x channels, clear here from now on. A sum that the plan makes impossible is a CipherError."""
        own = of_kind(sums, LatticeSums)
        shapes.ensure_alone(own.plan)
        opened = unpacked(self._lanes(own), own.layout)
        if own.layout.modulus:
            opened = shapes.centred(opened, own.layout.modulus)
        shapes.ensure_opened(opened, own.plan.most, own.plan.least)
        return opened

    def open_total(self, parts: Sequence[SealedSums]) -> NDArray[np.int64]:
        """Nodes x groups x channels over all who answered under pads that cancel, clear here from now on."""
        own = [of_kind(part, LatticeSums) for part in parts]
        shapes.ensure_total([part.plan for part in own], [part.groups for part in own])
        layout, total = own[0].layout, self._lanes(own[0])
        for part in own[1:]:
            total = (total + self._lanes(part)) % layout.modulus
        opened = unpacked(shapes.centred(total % layout.modulus, layout.modulus), layout)
        shapes.ensure_opened(opened, own[0].plan.most, own[0].plan.least)
        return opened

    def _lanes(self, sums: LatticeSums) -> NDArray[np.int64]:
        """Nodes x groups x lanes as they come: of sums under pads, noise."""
        self._ensure_unrevealed()
        if sums.public.name != self.public.name:
            raise CipherError("Sums were sealed under another key.")
        return _native.lattice_open_sums(self._own_secret, sums.returned, sums.layout.opener, self.public.threads)

    def seal_slots(self, values: NDArray[np.int64], plan: SlotsPlan, shared: NDArray[np.int64] | None = None) -> Slots:
        """As with the public key, quicker and smaller."""
        if self.public.in_coefficients(plan):
            return coefficients.seal(self, values, plan, shared)
        shapes.shared_values(shared, plan)
        return self._slots.seal_slots(values, plan)

    @property
    def _slots(self) -> SlotsSecretKey:
        if self._own_slots is None:
            raise ParameterError("This key was made for sums by group only.")
        return self._own_slots

    def open_slots(self, sealed: SealedSlots) -> NDArray[np.int64]:
        """Rows x entries, clear here from now on. An integer that the plan makes impossible is a CipherError."""
        if isinstance(sealed, CoefficientSlots):
            return coefficients.open_slots(self, sealed)
        return self._slots.open_slots(of_kind(sealed, LatticeSlots))

    def __reduce__(self) -> NoReturn:
        raise PrivacyError("Secret keys cannot be copied or written; make fresh ones instead.")


class Lattice(msgspec.Struct, frozen=True, tag="lattice"):
    """The lattice cipher; see `additive.Cipher`. `link_mbit` is the link's speed in Mbit/s; None: the same machine.

    Both sides need the same: on a slow link results are merged before they leave, and more rows of slots lie in
    coefficients.
    """

    link_mbit: float | None = None

    def __post_init__(self) -> None:
        if self.link_mbit is not None and not self.link_mbit > 0:
            raise ParameterError("The speed of a link is a positive number of Mbit/s, or None.")
        if self.link_mbit is not None:
            msgspec.structs.force_setattr(self, "link_mbit", float(self.link_mbit))

    @property
    def seals_once(self) -> bool:
        """Rows are best sealed anew for every level, node after node."""
        return False

    @property
    def keys_apart(self) -> bool:
        """Rows and slots lie in rings of their own, but for slots in coefficients: of plans for sums only."""
        return True

    def merging(self, plans: Iterable[RowsPlan]) -> Merging:
        """Distances of sums at which results are merged where a key is for these plans; none on one machine."""
        return () if self.link_mbit is None else merging(tuple(plans), self.link_mbit)

    def new_key(
        self, threads: int, rows: bool = True, slots: bool = True, merging: Sequence[Merging] | None = None
    ) -> LatticeSecretKey:
        """A fresh key from the system's generator, with proofs that it is well formed."""
        steps = None if merging is None else keys.covering(merging)
        return LatticeSecretKey(self.link_mbit, threads, rows, slots, steps)

    def key_bytes(self, rows: bool = True, slots: bool = True, merging: Merging | None = None) -> int:
        """The length of such a key's public half on the wire."""
        return keys.key_bytes(self.link_mbit, rows, slots, merging)

    def read_public_key(self, data: bytes, threads: int, merging: Merging | None = None) -> LatticePublicKey:
        """A public key from its wire form; one that is malformed, of other parameters or unproven is a CipherError."""
        return LatticePublicKey.read(self.link_mbit, data, threads, merging)

    def revealed_key(self, told: bytes, public: bytes, threads: int) -> LatticeRevealedKey:
        """A key that was revealed; one that is not the secret half of this public key is a CipherError."""
        return self.read_public_key(public, threads).revealed(told)

    def room(self, plan: RowsPlan, groups: int) -> int:
        """One coefficient a sum and lane leaves, modulo the two primes that are left."""
        return plan.nodes * groups * rows_layout(plan, self.link_mbit, by_public_key=False).lanes * RETURNED_BITS

    def rows_bytes(self, plan: RowsPlan) -> int:
        """The length of the wire form of rows that the key holder seals."""
        layout = rows_layout(plan, self.link_mbit, by_public_key=False)
        return HEADER_BYTES + SEED_BYTES + layouts.blocks(plan, layout) * layout.lanes * keys.HALF_BYTES

    def most_rows_bytes(self, plan: RowsPlan) -> int:
        """At least the length of those of any plan with fewer rows and nodes that is like this one otherwise.

        The layout of this plan has room for a smaller one too, and takes no longer there. A smaller plan's own layout
        takes still less time, of which sealing and sending its ciphertexts is only a part.
        """
        each = layouts.SEAL * 1e-6 / layouts.THREADS
        each += 0.0 if self.link_mbit is None else keys.HALF_BYTES * 8 / (self.link_mbit * 1e6)
        seconds = layouts.seconds(plan, rows_layout(plan, self.link_mbit, by_public_key=False), self.link_mbit)
        return HEADER_BYTES + SEED_BYTES + int(seconds / each + 1) * keys.HALF_BYTES

    def sums_bytes(self, plan: RowsPlan, groups: int) -> int:
        """The length of the wire form of the returned sums of so many groups of such rows."""
        layout = rows_layout(plan, self.link_mbit, by_public_key=False)
        return HEADER_BYTES + _native.lattice_returned_bytes(layout, plan.nodes, groups)

    def slots_bytes(self, plan: SlotsPlan, entries: int, chosen: int = 0) -> int:
        """The length of the wire form of slots that the key holder seals, or of what choices leave of them."""
        if in_coefficients(plan, self.link_mbit):
            rows = as_rows(plan)
            return coefficients.HEAD_BYTES + (self.sums_bytes(rows, 1) if chosen else self.rows_bytes(rows))
        layout = slots_layout(plan)
        ciphertexts = layout.blocks * len(layout.moduli) * (1 if chosen and entries == 1 else layout.ciphertexts)
        halves = 2 if chosen else 1
        return slots_wire.HEAD_BYTES + ciphertexts * halves * layout.primes[chosen] * slots_wire.POLYNOMIAL_BYTES

    def slots_room(self, plan: SlotsPlan) -> float:
        """What flooded coefficients can carry: one a row in coefficients, all of an answer in lanes."""
        sealed_by = (False,) if plan.by_holder else (False, True)
        if not in_coefficients(plan, self.link_mbit):
            return max(lanes_room(slots_layout(plan, public)) for public in sealed_by)
        layouts_of = [rows_layout(as_rows(plan), self.link_mbit, public) for public in sealed_by]
        return (1 if plan.apart else plan.rows) * max(layout.carried for layout in layouts_of)

    def ensure_rows(self, plan: RowsPlan) -> None:
        """Refuses a plan whose sums have no room, or whose choices the whole run's returns would not hide."""
        rows_layout(plan, self.link_mbit, by_public_key=False)

    def ensure_slots(self, plan: SlotsPlan) -> None:
        """Refuses a plan whose sums have no room, or whose choices the whole run's returns would not hide."""
        if plan.apart or plan.shared:
            self.slots_room(plan)
        else:
            slots_layout(plan)
