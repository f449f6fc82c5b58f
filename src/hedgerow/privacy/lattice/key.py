"""Public keys of the lattice cipher in their wire form: for rows, for slots, or for both.

A key for rows is a seed, the half that goes with it, a proof that this half is well formed, and keys for merging. The
random half is expanded from the seed by the side that uses it, because a chosen one would void what hides the choices.
So would a chosen other half, hence the proof (`native/src/lattice/proof.rs`). Keys for merging need none: what they are
applied to is hidden by then.
"""

import secrets
import struct
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.errors import CipherError
from hedgerow.privacy.lattice.layout import POLYNOMIAL_BYTES, SWITCH_STEPS
from hedgerow.privacy.lattice.rows import SEED_BYTES, VERSION, RowsKey
from hedgerow.privacy.lattice.slots import SlotsPublicKey

_HEAD = struct.Struct("<4sBBB")
_MARK = b"HLPK"
_ROWS, _SLOTS = 1, 2
HALF_BYTES = 4 * POLYNOMIAL_BYTES
"""Half a ciphertext, or key, of rows."""
_SWITCH_BYTES = 16 * POLYNOMIAL_BYTES
PROOF_BYTES = _native.lattice_proof_bytes(4096)
MALFORMED = "A lattice public key is not proven to be well formed; the run stops."


def steps_of(link_mbit: float | None) -> tuple[int, ...]:
    """Where results can be merged."""
    return () if link_mbit is None else SWITCH_STEPS


class Keys(NamedTuple):
    """What a public key holds."""

    rows: RowsKey | None
    slots: SlotsPublicKey | None


def encoded(rows: bytes, slots: bytes, link_mbit: float | None) -> bytes:
    """The wire form of a key that has these parts; an empty one is left out."""
    holds = (_ROWS if rows else 0) | (_SLOTS if slots else 0)
    return _HEAD.pack(_MARK, VERSION, holds, len(steps_of(link_mbit))) + rows + slots


def new_rows_key(own_secret: NDArray[np.uint32], link_mbit: float | None, threads: int) -> bytes:
    """The public part of a secret key for rows, with its proof."""
    seed = secrets.token_bytes(SEED_BYTES)
    half = _native.lattice_public_half(own_secret, seed)
    proof = _native.lattice_prove_key(own_secret, half, seed, threads)
    return seed + half + proof + _native.lattice_switch_halves(own_secret, seed, steps_of(link_mbit), threads)


def key_bytes(link_mbit: float | None, rows: bool, slots: bool) -> int:
    """The length of a key's wire form."""
    of_rows = SEED_BYTES + HALF_BYTES + PROOF_BYTES + len(steps_of(link_mbit)) * _SWITCH_BYTES
    return _HEAD.size + (of_rows if rows else 0) + (SlotsPublicKey.BYTES if slots else 0)


def read(data: bytes, link_mbit: float | None, threads: int, own: bool = False) -> Keys:
    """A key from its wire form; one that is malformed, of other parameters or not proven is a CipherError.

    The proof of an `own` key, just made, is not checked.
    """
    steps = steps_of(link_mbit)
    if len(data) < _HEAD.size:
        raise CipherError("A lattice public key is shorter than its head; the run stops.")
    mark, version, holds, n_steps = _HEAD.unpack_from(data)
    if mark != _MARK or version != VERSION or n_steps != len(steps) or not holds or holds > _ROWS | _SLOTS:
        raise CipherError("A public key is of another cipher, version or link than was agreed on; the run stops.")
    with_rows, with_slots = bool(holds & _ROWS), bool(holds & _SLOTS)
    if len(data) != key_bytes(link_mbit, with_rows, with_slots):
        raise CipherError("A lattice public key does not have the size that such a key has; the run stops.")
    slots_at = key_bytes(link_mbit, with_rows, slots=False)
    rows = _read_rows(data[_HEAD.size : slots_at], steps, threads, own) if with_rows else None
    return Keys(rows, SlotsPublicKey.read(data[slots_at:], threads, own) if with_slots else None)


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
