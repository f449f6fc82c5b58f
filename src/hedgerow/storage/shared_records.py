"""A file of records to which several processes of one owner add in turn, each on disk before the next step is taken.

    "hedgerow records 1" and an end of line, a secret of 32 bytes, their BLAKE2b (16 bytes), then for each record
    length (4 bytes), CRC-32 of the length and the record's place (4), the payload, BLAKE2b of place and payload (16)

A process that is killed leaves the beginning of a record, and a loss of power may leave zeros at its end. Nothing was
done on the strength of such a record: it is left out, and overwritten by the next. All else that does not fit is
damage and refused, so that no record that once counted is lost in silence.
"""

import errno
import fcntl
import hashlib
import os
import secrets
import struct
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hedgerow.errors import RunError
from hedgerow.storage.atomic import sync_folder, write_whole

MAGIC = b"hedgerow records 1\n"
SECRET, DIGEST = 32, 16
HEAD = len(MAGIC) + SECRET + DIGEST
FRAME, WORD = struct.Struct("<II"), struct.Struct("<Q")
LARGEST = 1 << 30
"""Bytes of a payload."""


class SharedRecords:
    """The file, begun if it is not there; what is in it is read and added to inside `turn` only."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.secret = b""
        """Drawn when the file was made."""
        self._file, self._end = -1, 0
        self._found = False
        """Whether it was there once: then it is never begun again by this process."""

    def close(self) -> None:
        """Let go of the file; the next turn opens it again."""
        if self._file >= 0:
            os.close(self._file)
        self._file, self._end = -1, 0

    @contextmanager
    def turn(self) -> Iterator[bool]:
        """While no other process has its turn; tells whether the file is new to this one, and all of it unread.

        That is so in the first turn, and after a process has put a whole new file in the place, or something failed.
        """
        try:
            yield self._take()
        except OSError as error:
            self.close()
            raise self._unusable(error.strerror or str(error)) from None
        except BaseException:
            self.close()  # what was read in part is read anew
            raise
        finally:
            if self._file >= 0:
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def unread(self) -> Iterator[bytes]:
        """The records that were not read yet."""
        size = os.fstat(self._file).st_size
        if size < self._end:
            raise self._damaged("its end was cut off")
        blocks = _Blocks(self._file)
        while self._end < size and (found := self._record(blocks, self._end, size)) is not None:
            payload, self._end = found
            yield payload

    def records(self) -> Iterator[bytes]:
        """All records that were read, once more."""
        blocks, at = _Blocks(self._file), HEAD
        while at < self._end and (found := self._record(blocks, at, self._end)) is not None:
            payload, at = found
            yield payload

    def add(self, payload: bytes) -> None:
        """Add a record after all others, which have been read; it is on disk when this returns."""
        framed = _framed(payload, self._end)
        if os.fstat(self._file).st_size > self._end:
            os.ftruncate(self._file, self._end)  # what a killed process left of a record
        if os.pwrite(self._file, framed, self._end) != len(framed):
            os.ftruncate(self._file, self._end)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(self._file)
        self._end += len(framed)

    def replace(self, payloads: Iterable[bytes]) -> None:
        """Put a file with these records in the place of this one, whole or not at all; the secret stays."""
        parts, at = [_head(self.secret)], HEAD
        for payload in payloads:
            parts.append(_framed(payload, at))
            at += len(parts[-1])
        write_whole(self.path, b"".join(parts), RunError, 0o600)
        sync_folder(self.path)

    def _take(self) -> bool:
        """Lock the file that is in the place now; returns whether it is another than before."""
        while True:
            if self._file < 0:
                self._file = os.open(self.path, os.O_RDWR | os.O_CLOEXEC | (0 if self._found else os.O_CREAT), 0o600)
            fcntl.flock(self._file, fcntl.LOCK_EX)
            own, there = os.fstat(self._file), os.stat(self.path)
            if (own.st_dev, own.st_ino) == (there.st_dev, there.st_ino):
                break
            self.close()
        if self._end:
            return False
        self._begin()
        return True

    def _begin(self) -> None:
        raw = os.pread(self._file, HEAD + 1, 0)
        begun = len(raw) < HEAD and (raw.startswith(MAGIC) or MAGIC.startswith(raw))
        if begun or (len(raw) <= HEAD and not any(raw)):  # new, or killed or without power while it was made
            raw = _head(secrets.token_bytes(SECRET))
            if os.pwrite(self._file, raw, 0) != HEAD:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._file)
            sync_folder(self.path)
        if not raw.startswith(MAGIC):
            raise RunError(f"{self.path} is no ledger of answers; name another file.")
        raw = raw[:HEAD]
        self.secret = raw[len(MAGIC) : len(MAGIC) + SECRET]
        if raw != _head(self.secret):
            raise self._damaged("its head does not fit its hash")
        self._end, self._found = HEAD, True

    def _record(self, blocks: "_Blocks", at: int, size: int) -> tuple[bytes, int] | None:
        """The record that begins here, and where it ends; None if it is the last and only begun."""
        frame = blocks.read(FRAME.size, at)
        if len(frame) < FRAME.size or not any(frame):
            self._check_zeros(at + len(frame), size)
            return None
        length, check = FRAME.unpack(frame)
        if check != _check(length, at):
            raise self._damaged(f"the record at byte {at} does not fit its hash")
        end = at + FRAME.size + length + DIGEST
        if end > size:
            return None
        raw = blocks.read(length + DIGEST, at + FRAME.size)
        payload, digest = raw[:length], raw[length:]
        if digest == _digest(payload, at):
            return payload, end
        if any(digest) or end < size:
            raise self._damaged(f"the record at byte {at} does not fit its hash")
        return None

    def _check_zeros(self, at: int, size: int) -> None:
        """Refuse anything but zeros behind a record that was never begun."""
        while at < size:
            block = os.pread(self._file, 1 << 20, at)
            if any(block):
                raise self._damaged(f"from byte {self._end} on there are zeros before its end")
            at += len(block)

    def _damaged(self, how: str) -> RunError:
        return RunError(
            f"The ledger of answers {self.path} is damaged ({how}); put back the last copy that is whole, and answer "
            "nothing before."
        )

    def _unusable(self, why: str) -> RunError:
        return RunError(f"Cannot use the ledger of answers {self.path}: {why}; put that right and start again.")


class MemoryRecords:
    """The same of one process alone, for as long as it lives."""

    def __init__(self) -> None:
        self.secret = secrets.token_bytes(SECRET)
        self._kept: list[bytes] = []

    def close(self) -> None:
        """Nothing to let go of."""

    @contextmanager
    def turn(self) -> Iterator[bool]:
        """Always this one's, and nothing is new to it."""
        yield False

    def unread(self) -> Iterator[bytes]:
        """None: nobody else adds any."""
        return iter(())

    def records(self) -> Iterator[bytes]:
        """All records."""
        return iter(self._kept)

    def add(self, payload: bytes) -> None:
        """Add a record."""
        self._kept.append(payload)

    def replace(self, payloads: Iterable[bytes]) -> None:
        """Keep these records instead."""
        self._kept = list(payloads)


class _Blocks:
    """Bytes of a file, read in blocks: records are small and many."""

    def __init__(self, file: int) -> None:
        self.file, self.at, self.block = file, 0, b""

    def read(self, n: int, at: int) -> bytes:
        begin = at - self.at
        if begin < 0 or begin + n > len(self.block):
            self.at, self.block, begin = at, os.pread(self.file, max(n, 1 << 20), at), 0
        return self.block[begin : begin + n]


def is_shared_records(path: Path) -> bool:
    """Whether a file begins as these do."""
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def _head(secret: bytes) -> bytes:
    return MAGIC + secret + hashlib.blake2b(MAGIC + secret, digest_size=DIGEST).digest()


def _framed(payload: bytes, at: int) -> bytes:
    if len(payload) > LARGEST:
        raise RunError(f"A record of {len(payload)} bytes is too large for a ledger of answers; ask for fewer rows.")
    return FRAME.pack(len(payload), _check(len(payload), at)) + payload + _digest(payload, at)


def _check(length: int, at: int) -> int:
    return zlib.crc32(WORD.pack(length) + WORD.pack(at))


def _digest(payload: bytes, at: int) -> bytes:
    return hashlib.blake2b(WORD.pack(at) + payload, digest_size=DIGEST).digest()
