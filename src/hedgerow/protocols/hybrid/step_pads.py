"""Pads of the parts of a total, for each step of the trees that parties grow together.

A pad's key depends on the secret of the pair, and on all that every party was told alike up to its step: the plan, who
takes part, the attempt, columns, cut points, sizes, the key that gradients are sealed with, the nodes of this step and
of those before, and the cuts between them. Parties that were told different things have pads that do not cancel, from
then on. What they are told apart, their own rows and gradients, no pad depends on: whoever seals zeros for all but one
of them reads that one's sums (`docs/threat-model.md`).
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
        """`said` is a hash of what all were told when they were introduced."""
        self.begun = 0
        """How often the parties were told the sizes of the run in this attempt."""
        self.stopped = False
        self._used: set[tuple[int, int, int]] = set()

    def hear(self, *parts: bytes) -> None:
        """All parties are told this alike."""
        told = hashlib.sha256(self.said)
        for part in parts:
            told.update(len(part).to_bytes(8, "little") + part)
        self.said = told.digest()

    def stop(self) -> None:
        """After a refusal there is no part of a total until all are introduced anew.

        Else parties that were told different things, of which each refuses some, could come to have heard the same.
        """
        self.stopped = True

    def check(self) -> None:
        """Refuse a part of a total after a refusal."""
        if self.stopped:
            raise ProtocolError("The active party asks for a part of a total after a refusal; introduce all anew.")

    def of(self, request: m.AskSealedSums) -> Pads:
        """What hides this party's part in the answer to this request."""
        self.check()
        step = (self.begun, request.round, request.level)
        if step in self._used:
            raise ProtocolError("The active party asks twice for the same part of a total; this party stops.")
        self._used.add(step)
        self._told(request)
        info = b"hedgerow sealed pad" + self.said
        keys = {other: HKDFExpand(SHA256(), KEY_BYTES, info).derive(key) for other, key in self.own_secrets.items()}
        add = tuple(key for other, key in sorted(keys.items()) if other > self.number)
        return Pads(add, tuple(key for other, key in sorted(keys.items()) if other < self.number))

    def _told(self, request: m.AskSealedSums) -> None:
        """What all parties hear: the key, the nodes and the cuts above them, not whose rows go where."""
        arrays = [
            np.array([self.begun, request.round, request.level, request.together]),
            request.nodes.tree,
            request.nodes.node,
        ]
        for moves in request.moves:
            arrays += [moves.tree, moves.node, moves.child]
        self.hear(request.public_key, *(np.ascontiguousarray(array, "<i8").tobytes() for array in arrays))
