"""Noised sums that a party keeps until a round is over, so that a restart sends the very same ones and no others.

A sum that is noised twice has half the noise for whoever has both. So the words are kept before they are counted, and
counted before they leave: a process that is killed in between either never sent them, or sends the same again.

Sees in the clear.  The files hold own sums with this party's share of the noise only, less than is promised of the sum
over all parties: they are of mode 0600, leave the folder never, and are deleted when the round is over.
"""

import hashlib
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import PrivacyError, RunError
from hedgerow.privacy.accountant import Release, Spent
from hedgerow.privacy.ledger import Ledger
from hedgerow.storage.atomic import sync_folder, write_whole

PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600

Words = NDArray[np.int64]


class Draw(NamedTuple):
    """Words with the noise of one draw, and what they are of."""

    release: Release
    told: bytes
    """A hash of the request that they answer."""
    id: str
    """Of the draw; the ledger has it too, so that words that were never counted are not taken for others that were."""
    own_words: Words


class _Kept(msgspec.Struct, frozen=True, array_like=True):
    run: str
    key: str
    release: Release
    told: bytes
    id: str
    words: bytes


class KeptWords:
    """Own noised words of a round, in a folder, or (without one) in memory."""

    def __init__(self, folder: Path | None = None, run: str = "") -> None:
        self.folder, self.run = folder, run
        self._kept: dict[str, Draw] = {}

    def read(self, key: str, release: Release, told: bytes) -> Draw | None:
        """The words of this very release; None where there are none, or they are of another."""
        if key not in self._kept and self.folder is not None:
            self._read(self._place(self.folder, key), key)
        kept = self._kept.get(key)
        return kept if kept is not None and (kept.release, kept.told) == (release, told) else None

    def write(self, key: str, draw: Draw) -> None:
        """Keep them, whole or not at all; when this returns they survive a loss of power."""
        self._kept.pop(key, None)
        if self.folder is not None:
            self.folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
            place, raw = self._place(self.folder, key), np.ascontiguousarray(draw.own_words, np.int64).tobytes()
            payload = msgspec.msgpack.encode(_Kept(self.run, key, draw.release, draw.told, draw.id, raw))
            write_whole(place, hashlib.sha256(payload).digest() + payload, RunError, PRIVATE_FILE)
            sync_folder(place)
        self._kept[key] = draw

    def forget(self) -> None:
        """The round is over for everybody: nobody asks for its words again, and they are deleted."""
        self._kept.clear()
        if self.folder is not None and self.folder.exists():
            for place in [*self.folder.glob("*.words"), *self.folder.glob(".*.words.*")]:
                place.unlink(missing_ok=True)

    def _read(self, place: Path, key: str) -> None:
        try:
            content = place.read_bytes() if place.exists() else b""
        except OSError as error:
            raise RunError(f"Cannot read {place}: {error.strerror or error}.") from None
        if not content:
            return
        try:
            kept = msgspec.msgpack.decode(content[32:], type=_Kept)
            words = np.frombuffer(kept.words, np.int64)
        except (msgspec.DecodeError, ValueError):
            kept = None
        if kept is None or hashlib.sha256(content[32:]).digest() != content[:32] or kept.key != key:
            raise RunError(f"{place} is damaged; begin a new run in another folder.")
        if kept.run == self.run:
            self._kept[key] = Draw(kept.release, kept.told, kept.id, words)

    def _place(self, folder: Path, key: str) -> Path:
        return folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.words"


class NoisedWords:
    """A party's own noised words, the same ones whenever the same release is asked for within a round."""

    def __init__(self, ledger: Ledger, kept: KeptWords) -> None:
        self.ledger, self.kept = ledger, kept

    def holds(self, key: str, release: Release, told: bytes) -> bool:
        """Whether this very release was made, and its words are still here to be sent again."""
        kept = self.kept.read(key, release, told)
        return kept is not None and self.ledger.again(key, release, told, kept.id)

    def words(
        self, key: str, release: Release, told: bytes, draw: Callable[[], Words], *, anew: bool | None = None
    ) -> Words:
        """What may leave, masked: the words that were kept, or newly drawn ones, which are paid for.

        `told` is a hash of the request: the words of another request are never sent for this one. All parties of a sum
        must do the same, for a sum in which only some have drawn anew has less new noise than the others count on:
        `anew` says what was agreed on, and the other is refused. None: whatever is needed, where nobody else takes
        part.
        """
        kept, sent = self.kept.read(key, release, told), self.holds(key, release, told)
        if kept is not None and sent and not anew:
            return kept.own_words
        if anew is False and self.ledger.has(key):
            raise PrivacyError(
                f"The release {key!r} was made before, and its noised sums are no longer here, so this party cannot "
                "send the same again as others do; the run stops, start a new one."
            )
        if kept is None or sent:
            own_words = draw().astype(np.int64)  # a copy, which nobody changes
            own_words.setflags(write=False)
            kept = Draw(release, told, secrets.token_hex(8), own_words)
            self.kept.write(key, kept)
        self.ledger.release(key, release, told, kept.id)
        return kept.own_words

    def finish(self) -> Spent:
        """The run is over for everybody: nothing is kept any longer; what it cost."""
        self.kept.forget()
        return self.ledger.finish()
