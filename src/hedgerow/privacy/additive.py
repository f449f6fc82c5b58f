"""Sums over secret selections: the contract that every cipher keeps.

The key holder has secret integers. The other side, which answers, has secret choices among them. The key holder
learns the sums of the chosen integers and nothing else about the choices; the answering side learns nothing about the
integers.

    key holder                                    answering side
    secret = cipher.new_key()
    secret.public.encode()              ->        public = cipher.read_public_key(...)
    secret.seal_rows(values, plan)      ->        public.read_rows(..., plan)
    public.read_sums(...)               <-        public.group_sums(sealed, selection, nodes)
    secret.open_sums(...)

Two shapes of work. *Rows*: every row has one integer a channel, the choice puts each row of a node into one group of
each column, and every group of every node gives a sum (a histogram). Vectors under the same choice are channels of one
sealing. *Slots*: every row has one integer an entry, the choice takes or leaves each of them, and every row gives a sum
(a score), or every chosen integer stays and every other becomes zero (a filtered vector). Integers that all rows have
in common are sealed once, and every row chooses among them too. Where a plan makes no choice, slots that many sealed
are only added up and opened; a cipher whose sums tell more than their value refuses such a plan.

A key holder may seal anything, say powers of two, so that a sum names its terms. What counts then is how many bits an
answer can carry: `slots_room`. A plan with a modulus has no more room than its sums need, and one whose rows are
`apart` has it for each row by itself.

Where several answer under one key, and only the total of their sums is to be read, each adds pads that cancel in the
total (`pads`), modulo the whole plaintext: the key holder, which can open every answer, opens noise.

A plan (`shapes`) holds the sizes and bounds that both sides know before anything is sealed. A cipher computes from it
whether every possible sum fits, and whether what the choices leave in a return is hidden for the whole run; if not, it
refuses the plan. Integers are signed throughout. A sealed thing has no values, and no conversion to an array: only
`open_sums` and `open_slots` read it, and in an audit whoever was given the key. Sealed things of one key and plan can
be added and subtracted, as often as the plan's parts allow.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.privacy.pads import Pads
from hedgerow.privacy.shapes import Nodes, RowsPlan, Selection, SlotsPlan

NOT_SEALED = int(np.iinfo(np.int64).min)
"""In the place of an integer that nobody can have sealed as agreed."""
Merging = tuple[int, ...]
"""Distances of sums at which results of lattice encryption are merged on their way back."""

USED_UP = "This key was revealed for an audit and must not be used again; make a fresh one."


class Sealed(Protocol):
    """Integers that only the secret key opens."""

    def __add__(self, other: Self) -> Self: ...

    def __sub__(self, other: Self) -> Self: ...

    def encode(self) -> bytes:
        """The wire form: a version, the sizes, the sealed integers."""
        ...


class Addable(ABC):
    """Sealed things that are added as their cipher says."""

    __slots__ = ()

    def __add__(self, other: Self) -> Self:
        return self._combined(other, subtract=False)

    def __sub__(self, other: Self) -> Self:
        return self._combined(other, subtract=True)

    @abstractmethod
    def _combined(self, other: Self, *, subtract: bool) -> Self:
        """The sum or difference; refuses what is of another kind, key or plan, or more parts than the plan allows."""


class SealedRows(Sealed, Protocol):
    """Integers of rows, in one channel or several."""

    @property
    def plan(self) -> RowsPlan:
        """What was agreed on before they were sealed."""
        ...


class SealedSums(Sealed, Protocol):
    """Sums by group on their way back: they tell nothing but the sums, and that to the key holder alone."""

    @property
    def plan(self) -> RowsPlan:
        """The plan of the rows that were summed."""
        ...

    @property
    def groups(self) -> int:
        """Sums a node and channel."""
        ...


class SealedSlots(Sealed, Protocol):
    """Integers of rows and entries; also what is left of them after choices."""

    @property
    def plan(self) -> SlotsPlan:
        """What was agreed on before they were sealed."""
        ...

    @property
    def entries(self) -> int:
        """As in the plan, or 1 after the entries of each row were summed."""
        ...

    @property
    def chosen(self) -> int:
        """How many choices have been made upon it."""
        ...


class PublicKey(Protocol):
    """What everybody may have: seals for the key holder, and works on what is sealed."""

    def encode(self, merging: Merging | None = None) -> bytes:
        """The wire form; with what is needed to merge results at these distances only, if they are named."""
        ...

    def seal_rows(self, values: NDArray[np.int64], plan: RowsPlan) -> SealedRows:
        """Seals rows x channels; whoever holds the secret key can read them one by one."""
        ...

    def seal_slots(
        self, values: NDArray[np.int64], plan: SlotsPlan, shared: NDArray[np.int64] | None = None
    ) -> SealedSlots:
        """Seals rows x entries, and what all rows share; whoever holds the secret key can read them one by one."""
        ...

    def read_rows(self, data: bytes, plan: RowsPlan) -> SealedRows:
        """Sealed rows from their wire form; what does not fit the plan is a CipherError before it is used."""
        ...

    def read_slots(self, data: bytes, plan: SlotsPlan, entries: int, chosen: int = 0) -> SealedSlots:
        """Sealed slots from their wire form."""
        ...

    def read_sums(self, data: bytes, plan: RowsPlan, groups: int) -> SealedSums:
        """Returned sums from their wire form: to be opened by the key holder, or added up by whoever collects them."""
        ...

    def group_sums(
        self,
        sealed: SealedRows,
        selection: Selection,
        nodes: Nodes,
        plus: NDArray[np.int64] | None = None,
        pads: Pads | None = None,
    ) -> SealedSums:
        """Nodes x groups x channels, with `plus` added: the key holder will read these sums and nothing else.

        Under `pads`, which a plan with `together` needs, it will read nothing but in a total of all who answer.
        """
        ...

    def slot_sums(
        self,
        sealed: SealedSlots,
        own_choice: NDArray[np.bool_],
        plus: NDArray[np.int64] | None = None,
        pad: NDArray[np.int64] | None = None,
    ) -> SealedSlots:
        """Each row's sum of chosen entries, with `plus` (one a row) added: the key holder will read nothing else.

        Choices are rows x entries, those that rows share behind a row's own. A `pad` (one a row, from 0 to below the
        plan's modulus) is added modulo the modulus: under uniform pads a sum is uniform, and tells nothing but in a
        total in which the pads of all who answer cancel.
        """
        ...

    def filtered(self, sealed: SealedSlots, own_choice: NDArray[np.bool_]) -> SealedSlots:
        """The chosen integers as they are, zero for the others: nobody can tell which is which without the key.

        A plan for sums only has no filters, and its single entries are never opened: a ParameterError.
        """
        ...


class SecretKey(Protocol):
    """The key holder's own: one tree or one batch of predictions long, never written, never sent.

    But for `reveal`, which ends it.
    """

    @property
    def public(self) -> PublicKey:
        """What may be sent."""
        ...

    def reveal(self) -> bytes:
        """The key in writing: for audits, after which the key must not be used again; it then refuses to seal and open.

        Whoever has it reads all that was ever sealed under the key. A key for rows and slots in rings of their own is
        refused.
        """
        ...

    def seal_rows(self, values: NDArray[np.int64], plan: RowsPlan) -> SealedRows:
        """As with the public key, quicker and smaller."""
        ...

    def seal_slots(
        self, values: NDArray[np.int64], plan: SlotsPlan, shared: NDArray[np.int64] | None = None
    ) -> SealedSlots:
        """As with the public key, quicker and smaller."""
        ...

    def open_sums(self, sums: SealedSums) -> NDArray[np.int64]:
        """Nodes x groups x channels, clear here from now on. A sum that the plan makes impossible is a CipherError."""
        ...

    def open_total(self, parts: Sequence[SealedSums]) -> NDArray[np.int64]:
        """Nodes x groups x channels over all who answered under pads that cancel, clear here from now on.

        If one is missing, noise, which is a CipherError because no total can be so large (but for a small chance).
        """
        ...

    def open_slots(self, sealed: SealedSlots) -> NDArray[np.int64]:
        """Rows x entries, clear here from now on. An integer that the plan makes impossible is a CipherError."""
        ...


class RevealedKey(Protocol):
    """A key that its holder gave up: an auditor reads what was sealed under it, integer by integer."""

    def entries(self, sealed: SealedSlots) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows x entries, and what rows share, as the key holder sealed them; `NOT_SEALED` where it did otherwise.

        That is checked to the last bit: beside its integers, what was sealed as agreed has no room for anything.
        """
        ...


class Cipher(Protocol):
    """A scheme and its parameters."""

    @property
    def seals_once(self) -> bool:
        """Whether rows are best sealed once and asked about in any nodes, or anew, node after node, for every level."""
        ...

    @property
    def keys_apart(self) -> bool:
        """Whether nobody can turn rows under a key into slots under it, so that one key serves both."""
        ...

    def merging(self, plans: Iterable[RowsPlan]) -> Merging:
        """Distances of sums at which results are merged where a key is for no more than these plans.

        Both sides compute it alike. Of several who answer each may have its own plans and distances.
        """
        ...

    def new_key(
        self, threads: int, rows: bool = True, slots: bool = True, merging: Sequence[Merging] | None = None
    ) -> SecretKey:
        """A fresh key from the system's generator; what is done with it shares so many threads.

        One that is not for rows, or not for slots, or for merging at these distances only, may be smaller.
        """
        ...

    def key_bytes(self, rows: bool = True, slots: bool = True, merging: Merging | None = None) -> int:
        """The length of such a key's public half on the wire."""
        ...

    def read_public_key(self, data: bytes, threads: int, merging: Merging | None = None) -> PublicKey:
        """A public key from its wire form; one that is malformed or too weak is a CipherError."""
        ...

    def revealed_key(self, told: bytes, public: bytes, threads: int) -> RevealedKey:
        """A key that was revealed; one that is not the secret half of this public key is a CipherError."""
        ...

    def room(self, plan: RowsPlan, groups: int) -> int:
        """Bits that the returned sums of so many groups can carry at most, whatever the key holder sealed."""
        ...

    def rows_bytes(self, plan: RowsPlan) -> int:
        """The length of the wire form of rows that the key holder seals."""
        ...

    def most_rows_bytes(self, plan: RowsPlan) -> int:
        """At least the length of those of any plan with fewer rows and nodes that is like this one otherwise."""
        ...

    def sums_bytes(self, plan: RowsPlan, groups: int) -> int:
        """The length of the wire form of the returned sums of so many groups of such rows."""
        ...

    def slots_bytes(self, plan: SlotsPlan, entries: int, chosen: int = 0) -> int:
        """The length of the wire form of slots that the key holder seals, or of what choices leave of them."""
        ...

    def slots_room(self, plan: SlotsPlan) -> float:
        """Bits that the longest answer can carry at most, whatever was sealed: to a row that is apart, else to all."""
        ...

    def ensure_rows(self, plan: RowsPlan) -> None:
        """Refuses a plan whose sums have no room, or whose choices the whole run's returns would not hide."""
        ...

    def ensure_slots(self, plan: SlotsPlan) -> None:
        """Refuses a plan whose sums have no room, or whose choices the whole run's returns would not hide."""
        ...
