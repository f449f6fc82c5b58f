"""What passive parties said of the trees under way: when these are grown again after a loss, they must say the same.

A party that made up its sums, saw which cut was chosen and went away before it had to tell the sides would otherwise be
asked again for the same rows, and could make up others. Gradients, rows and cuts of trees that are grown again are the
same, and so are the answers, of which hashes are kept here: sums, which cuts are allowed, and sides. What was said once
is compared as far as all parties before it said the same; after the loss of another party the trees may become others.

How many bins its columns have a party says in every attempt, and always the same: else the sums that it gave before
would be those of other columns, or of none, and those that it made up would never be checked.

A new process of the active party begins without them.
"""

import hashlib
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import PrivacyError


class SaidBefore:
    """Hashes of the answers of the round under way, in every attempt at it."""

    def __init__(self) -> None:
        self.round = -1
        self._so_far = b""
        self._said: dict[tuple[bytes, str], bytes] = {}
        self._columns: dict[str, bytes] = {}

    def describe(self, party: str, columns: Iterable[NDArray[np.generic]]) -> None:
        """What a party says of its columns at the beginning of an attempt; others than before end the run."""
        digest = _digest(columns)
        if self._columns.setdefault(party, digest) != digest:
            raise PrivacyError(
                f"Party {party!r} describes other columns than before a party was lost, so its table has changed or it "
                "makes up what it says; the run stops."
            )

    def start_round(self, round_: int) -> None:
        """The trees of a round begin, for the first time or again."""
        if round_ != self.round:
            self.round = round_
            self._said.clear()
        self._so_far = b""

    def hear(self, answers: Mapping[str, Iterable[NDArray[np.generic]]]) -> None:
        """The next answers; one that is another than before ends the run."""
        now = hashlib.sha256(self._so_far)
        for party in sorted(answers):
            digest = _digest(answers[party])
            if self._said.setdefault((self._so_far, party), digest) != digest:
                raise PrivacyError(
                    f"Party {party!r} says something else of the same rows than before a party was lost, so its table "
                    "has changed or it makes up what it says; the run stops."
                )
            now.update(party.encode() + digest)
        self._so_far = now.digest()


def _digest(arrays: Iterable[NDArray[np.generic]]) -> bytes:
    whole = hashlib.sha256()
    for array in arrays:
        whole.update(np.ascontiguousarray(array).data)
    return whole.digest()
