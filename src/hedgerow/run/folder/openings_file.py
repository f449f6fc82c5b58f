"""Openings of sealed predictions on the active party's disk: a file a session, which only its owner can read.

A record each: the session's head, every request as it left, and last the secret key, when the session is over. A
session whose process was killed has no key, and cannot be opened.
"""

import os
from pathlib import Path

import msgspec

from hedgerow.corridor.messages import AskScores
from hedgerow.corridor.wire import decode_request, encode
from hedgerow.errors import ProtocolError, RunError
from hedgerow.protocols.scores.openings import SessionHead, SessionOpening
from hedgerow.storage.append_only import appended, records_of

SUFFIX = ".opening"
PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600


class _Asked(msgspec.Struct, frozen=True, array_like=True, tag="asked"):
    party: str
    frame: bytes


class _Key(msgspec.Struct, frozen=True, array_like=True, tag="key"):
    key: bytes


class OpeningsFolder:
    """Where the active party keeps openings; see `protocols.scores.openings.KeepsOpenings`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._path: Path | None = None
        self._size = 0
        try:
            folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"Cannot make the folder {folder}: {error.strerror or error}.") from None

    def begin(self, head: SessionHead) -> None:
        """A new file, called by the session."""
        self._path, self._size = self.folder / f"{head.session.hex()[:16]}{SUFFIX}", 0
        self._append(head, os.O_CREAT | os.O_EXCL)

    def keep(self, party: str, request: AskScores) -> None:
        """Add a request."""
        self._append(_Asked(party, encode(request)))

    def end(self, key: bytes) -> None:
        """Add the key, once."""
        if self._path is not None:
            self._append(_Key(key))
            self._path = None

    def _append(self, record: SessionHead | _Asked | _Key, how: int = 0) -> None:
        if self._path is None:
            raise RunError("A request is kept for audits before its session has begun.")
        try:
            file = os.open(self._path, os.O_WRONLY | os.O_CLOEXEC | how, PRIVATE_FILE)
            try:
                self._size = appended(file, msgspec.msgpack.encode(record), self._size)
            finally:
                os.close(file)
        except OSError as error:
            raise RunError(f"Cannot write the opening {self._path}: {error.strerror or error}; make room.") from None


def read_opening(path: Path) -> SessionOpening:
    """The opening of a session; refuses what is none, or has no key."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise RunError(f"Cannot read the opening {path}: {error.strerror or error}.") from None
    try:
        records = [msgspec.msgpack.decode(one, type=SessionHead | _Asked | _Key) for one in records_of(raw, path)[0]]
        asked = [one for one in records if isinstance(one, _Asked)]
        requests = tuple((one.party, decode_request(one.frame, len(one.frame))) for one in asked)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, RunError, ProtocolError):
        raise RunError(f"{path} is not the opening of a sealed prediction, or it is damaged.") from None
    if not records or not isinstance(records[0], SessionHead):
        raise RunError(f"{path} is not the opening of a sealed prediction, or it is damaged.")
    if not isinstance(records[-1], _Key):
        raise RunError(f"{path} has no key: its session is not over, or its process was killed; it cannot be opened.")
    return SessionOpening(records[0], _scores(requests, path), records[-1].key)


def _scores(requests: tuple[tuple[str, object], ...], path: Path) -> tuple[tuple[str, AskScores], ...]:
    found = tuple((party, request) for party, request in requests if isinstance(request, AskScores))
    if len(found) != len(requests):
        raise RunError(f"{path} holds a request that is none of a sealed prediction.")
    return found
