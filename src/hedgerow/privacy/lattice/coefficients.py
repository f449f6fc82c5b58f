"""Sums by slot for few rows, or rows apart: entries lie in coefficients, and one product or two give a row's sum.

A row's entries are what the rows of a node are to sums by group, so everything is done as in `lattice/rows`: sealing,
the encryption of zero and the flood of every result, merging, opening. What all rows share is sealed once, behind them,
and every row's result adds its own choice of that. Who sees what is the same, too: the answering
side sees what looks uniform to it, the key holder opens one sum a row, and of each result one coefficient leaves.
Entries cannot be filtered here, nor opened one by one: only plans for sums alone are laid out so.
"""

import struct
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import CipherError, ParameterError
from hedgerow.privacy.additive import PublicKey, SecretKey
from hedgerow.privacy.lattice.rows import LatticeRows, LatticeSums, of_kind
from hedgerow.privacy.lattice.slots_choice import as_rows
from hedgerow.privacy.shapes import (
    SlotsPlan,
    ensure_choice_left,
    ensure_opened,
    ensure_single_entries,
    ensure_slot_values,
    plan_digest,
    shared_values,
    summands,
)


class AnswersEntries(Protocol):
    """A public key that sums each row's chosen entries."""

    def entry_sums(
        self, sealed: LatticeRows, own_choice: NDArray[np.bool_], shared: int, added: NDArray[np.int64]
    ) -> LatticeSums:
        """One sum a row, with what is added (one a row, or nothing)."""
        ...


VERSION = 1
_HEAD = struct.Struct("<4sBB8s")
_MARK = b"HGSC"
HEAD_BYTES = _HEAD.size


@dataclass(frozen=True, slots=True, repr=False)
class CoefficientSlots:
    """Entries of rows, or each row's sum; see `additive.SealedSlots`. Only the secret key opens the sums."""

    plan: SlotsPlan
    sealed: LatticeRows | LatticeSums

    def __repr__(self) -> str:
        return f"CoefficientSlots({self.plan.rows} rows, {self.entries} entries)"

    @property
    def chosen(self) -> int:
        """1 once the entries of each row were summed."""
        return int(isinstance(self.sealed, LatticeSums))

    @property
    def entries(self) -> int:
        """As in the plan, or 1 after the entries of each row were summed."""
        return 1 if self.chosen else self.plan.entries

    def encode(self) -> bytes:
        """The wire form: a version, what it is, the plan's digest, then that of sealed rows or returned sums."""
        return _head(self.plan, self.chosen) + self.sealed.encode()

    def __add__(self, other: Self) -> Self:
        self._check(other)
        return type(self)(self.plan, self.sealed + other.sealed)  # type: ignore[operator]  # of the same kind

    def __sub__(self, other: Self) -> Self:
        self._check(other)
        return type(self)(self.plan, self.sealed - other.sealed)  # type: ignore[operator]  # of the same kind

    def _check(self, other: Self) -> None:
        of_kind(other, CoefficientSlots)
        if (self.plan, self.chosen) != (other.plan, other.chosen):
            raise ParameterError("Slots of different plans, or before and after a choice, cannot be added.")


def _head(plan: SlotsPlan, chosen: int) -> bytes:
    return _HEAD.pack(_MARK, VERSION, chosen, plan_digest(plan))


def seal(
    key: PublicKey | SecretKey, values: NDArray[np.int64], plan: SlotsPlan, shared: NDArray[np.int64] | None = None
) -> CoefficientSlots:
    """Seals rows x entries, one after the other, and what rows share, with either key."""
    ensure_slot_values(values, plan, shared)
    rows = as_rows(plan)
    entries = np.zeros(rows.rows, np.int64)
    entries[: values.size] = values.reshape(-1)
    entries[rows.rows - plan.shared :] += shared_values(shared, plan)
    return CoefficientSlots(plan, of_kind(key.seal_rows(entries[:, None], rows), LatticeRows))


def read(public: PublicKey, data: bytes, plan: SlotsPlan, entries: int, chosen: int) -> CoefficientSlots:
    """Sealed entries or sums from their wire form; what does not fit the plan is a CipherError before it is used."""
    if not plan.knows(entries, chosen):
        raise CipherError("Sealed slots do not have the entries and choices that their plan allows; the run stops.")
    if data[:HEAD_BYTES] != _head(plan, chosen):
        raise CipherError("Sealed slots do not have the format, version, choices or plan agreed on; the run stops.")
    if chosen:
        return CoefficientSlots(plan, of_kind(public.read_sums(data[HEAD_BYTES:], as_rows(plan), 1), LatticeSums))
    return CoefficientSlots(plan, of_kind(public.read_rows(data[HEAD_BYTES:], as_rows(plan)), LatticeRows))


def slot_sums(
    public: AnswersEntries,
    slots: CoefficientSlots,
    own_choice: NDArray[np.bool_],
    plus: NDArray[np.int64] | None = None,
    pad: NDArray[np.int64] | None = None,
) -> CoefficientSlots:
    """Each row's sum of chosen entries, with `plus` and `pad` added: the key holder will read nothing else."""
    plan = slots.plan
    ensure_choice_left(plan, slots.chosen)
    if own_choice.shape != (plan.rows, plan.width) or own_choice.dtype != np.bool_:
        raise ParameterError("The choices are not one truth value for each row and entry.")
    rows = of_kind(slots.sealed, LatticeRows)
    return CoefficientSlots(plan, public.entry_sums(rows, own_choice, plan.shared, summands(plan, plus, pad)))


def open_slots(secret: SecretKey, slots: CoefficientSlots) -> NDArray[np.int64]:
    """One sum a row, clear here from now on; one that the plan makes impossible is a CipherError."""
    if not isinstance(slots.sealed, LatticeSums):
        ensure_single_entries(slots.plan)
    opened = secret.open_sums(of_kind(slots.sealed, LatticeSums)).reshape(slots.plan.rows, 1)
    ensure_opened(opened, (slots.plan.most,))
    return opened
