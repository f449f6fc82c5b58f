"""Public keys of the lattice cipher in their wire form: for rows, for slots, or for both.

A key for rows is a seed, the half that goes with it, a proof that this half is well formed, and keys for merging: those
at the distances that both sides agree on, no more and no fewer. The random half is expanded from the seed by the side
that uses it, because a chosen one would void what hides the choices. So would a chosen other half, hence the proof
(`native/src/lattice/proof.rs`). Keys for merging need none: what they are applied to is hidden by then.
"""

import hashlib
import secrets
import struct
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.errors import CipherError
from hedgerow.privacy.lattice.layout import POLYNOMIAL_BYTES, SWITCH_STEPS, switch_steps
from hedgerow.privacy.lattice.merging import SWITCH_BYTES
from hedgerow.privacy.lattice.rows import NAME_BYTES, SEED_BYTES, VERSION, RowsKey
from hedgerow.privacy.lattice.slots import SlotsPublicKey

_HEAD = struct.Struct("<4sBBB")
_MARK = b"HLPK"
_ROWS, _SLOTS = 1, 2
HALF_BYTES = 4 * POLYNOMIAL_BYTES
"""Half a ciphertext, or key, of rows."""
PROOF_BYTES = _native.lattice_proof_bytes(4096)
_ROWS_BYTES = SEED_BYTES + HALF_BYTES + PROOF_BYTES
"""Of a key for rows, without keys for merging."""
MALFORMED = "A lattice public key is not proven to be well formed; the run stops."


class Keys(NamedTuple):
    """What a public key holds."""

    rows: RowsKey | None
    slots: SlotsPublicKey | None


class Parts(NamedTuple):
    """A public key's wire form: for rows all but keys for merging, these one after the other, and for slots."""

    rows: bytes
    switches: bytes
    steps: tuple[int, ...]
    slots: bytes

    def encode(self, steps: tuple[int, ...]) -> bytes:
        """The wire form with the keys for merging at these distances, which lie together; an empty part is left out."""
        holds = (_ROWS if self.rows else 0) | (_SLOTS if self.slots else 0)
        steps = steps if self.rows else ()
        start = SWITCH_BYTES * self.steps.index(steps[0]) if steps else 0
        switches = self.switches[start : start + SWITCH_BYTES * len(steps)]
        return _HEAD.pack(_MARK, VERSION, holds, _named(steps)) + self.rows + switches + self.slots

    @property
    def name(self) -> bytes:
        """Of the key, whoever gets it with whichever keys for merging."""
        return hashlib.sha256(self.encode(())).digest()[:NAME_BYTES]


def _named(steps: tuple[int, ...]) -> int:
    """Neighbouring steps in a byte: which is the first, and how many."""
    return SWITCH_STEPS.index(steps[0]) << 4 | len(steps) if steps else 0


def covering(runs: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    """The fewest neighbouring steps that have all of these."""
    used = [SWITCH_STEPS.index(step) for run in runs for step in run]
    return SWITCH_STEPS[min(used) : max(used) + 1] if used else ()


def new_rows_key(own_secret: NDArray[np.uint32], steps: tuple[int, ...], threads: int) -> tuple[bytes, bytes]:
    """The public part of a secret key for rows, with its proof; and its keys for merging."""
    seed = secrets.token_bytes(SEED_BYTES)
    half = _native.lattice_public_half(own_secret, seed)
    proof = _native.lattice_prove_key(own_secret, half, seed, threads)
    return seed + half + proof, _native.lattice_switch_halves(own_secret, seed, steps, threads)


def key_bytes(link_mbit: float | None, rows: bool, slots: bool, merging: tuple[int, ...] | None = None) -> int:
    """The length of a key's wire form."""
    of_rows = _ROWS_BYTES + len(switch_steps(link_mbit, merging)) * SWITCH_BYTES
    return _HEAD.size + (of_rows if rows else 0) + (SlotsPublicKey.BYTES if slots else 0)


def split(data: bytes, steps: tuple[int, ...]) -> Parts:
    """The parts of a wire form; one of another version, or with other keys for merging, is a CipherError."""
    if len(data) < _HEAD.size:
        raise CipherError("A lattice public key is shorter than its head; the run stops.")
    mark, version, holds, named = _HEAD.unpack_from(data)
    if mark != _MARK or version != VERSION or not holds or holds > _ROWS | _SLOTS:
        raise CipherError("A public key is of another cipher or version than was agreed on; the run stops.")
    with_rows, with_slots = bool(holds & _ROWS), bool(holds & _SLOTS)
    steps = steps if with_rows else ()
    if named != _named(steps):
        raise CipherError("A public key has other keys for merging than the plan and the link ask for; the run stops.")
    rows_end = _HEAD.size + (_ROWS_BYTES if with_rows else 0)
    slots_at = rows_end + len(steps) * SWITCH_BYTES
    if len(data) != slots_at + (SlotsPublicKey.BYTES if with_slots else 0):
        raise CipherError("A lattice public key does not have the size that such a key has; the run stops.")
    return Parts(data[_HEAD.size : rows_end], data[rows_end:slots_at], steps, data[slots_at:])


def read(parts: Parts, threads: int, own: bool = False) -> Keys:
    """What a key holds; one that is malformed or not proven is a CipherError.

    The proof of an `own` key, just made, is not checked.
    """
    rows = _read_rows(parts.rows + parts.switches, parts.steps, threads, own) if parts.rows else None
    return Keys(rows, SlotsPublicKey.read(parts.slots, threads, own) if parts.slots else None)


def _read_rows(data: bytes, steps: tuple[int, ...], threads: int, own: bool) -> RowsKey:
    seed, half_at = data[:SEED_BYTES], SEED_BYTES + HALF_BYTES
    half, proof, switches = data[SEED_BYTES:half_at], data[half_at:][:PROOF_BYTES], data[half_at + PROOF_BYTES :]
    public = _native.lattice_read_public(half, seed)
    switch = _native.lattice_read_switch(switches, seed, steps, threads)
    if public is None or switch is None:
        raise CipherError("A lattice public key holds a number that is not below its prime; the run stops.")
    if not own and not _native.lattice_is_proven(public, half, seed, proof, threads):
        raise CipherError(MALFORMED)
    return RowsKey(public, switch, steps)
