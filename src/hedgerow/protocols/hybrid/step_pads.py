"""Pads of the parts of a total, for each step of the trees that parties grow together.

A pad's key depends on the secret of the pair, and on all that every party is told alike: the plan, who takes part, the
attempt, the key that gradients are sealed with, the nodes and the cuts above them. Parties that were told different
things have pads that do not cancel. What they are told apart, their own rows and gradients, no pad depends on.
"""

import hashlib
from collections.abc import Mapping

import numpy as np
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from hedgerow.corridor import messages as m
from hedgerow.errors import ProtocolError
from hedgerow.privacy.pads import KEY_BYTES, Pads


class StepPads:
    """One party's pads of an attempt: their keys depend on all that every party is told alike, and are used once."""

    def __init__(self, number: int, own_secrets: Mapping[int, bytes], said: bytes) -> None:
        self.number, self.own_secrets, self.said = number, own_secrets, said
        self.begun = 0
        """How often the parties were told the sizes of the run in this attempt."""
        self._used: set[tuple[int, int, int]] = set()

    def of(self, request: m.AskSealedSums) -> Pads:
        """What hides this party's part in the answer to this request."""
        step = (self.begun, request.round, request.level)
        if step in self._used:
            raise ProtocolError("The active party asks twice for the same part of a total; this party stops.")
        self._used.add(step)
        info = b"hedgerow sealed pad" + self._told(request)
        keys = {other: HKDFExpand(SHA256(), KEY_BYTES, info).derive(key) for other, key in self.own_secrets.items()}
        add = tuple(key for other, key in sorted(keys.items()) if other > self.number)
        return Pads(add, tuple(key for other, key in sorted(keys.items()) if other < self.number))

    def _told(self, request: m.AskSealedSums) -> bytes:
        """A hash of what all parties hear: the key, the nodes and the cuts above them, not whose rows go where."""
        told = hashlib.sha256(self.said + self.begun.to_bytes(8, "little"))
        arrays = [request.nodes.tree, request.nodes.node]
        for moves in request.moves:
            arrays += [moves.tree, moves.node, moves.child]
        arrays.append(np.array([request.round, request.level, request.together]))
        for part in (request.public_key, *(np.ascontiguousarray(array, "<i8").tobytes() for array in arrays)):
            told.update(len(part).to_bytes(8, "little") + part)
        return told.digest()
