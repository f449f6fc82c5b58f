"""A file that only grows: each record is its length, its SHA-256 and its bytes.

A record that was half-written when power or disk ran out is left out when the file is read, and cut off when the file
goes on.
"""

import errno
import hashlib
import os
import struct
from pathlib import Path

from hedgerow.errors import RunError

FRAME = struct.Struct("<Q32s")


def records_of(raw: bytes, path: Path) -> tuple[list[bytes], int]:
    """All whole records, and where they end; refuses a file that is damaged before its last record."""
    found: list[bytes] = []
    at = 0
    while len(raw) - at >= FRAME.size:
        length, digest = FRAME.unpack_from(raw, at)
        end = at + FRAME.size + length
        payload = raw[at + FRAME.size : end]
        if end > len(raw) or hashlib.sha256(payload).digest() != digest:
            if end < len(raw) and any(raw[at:]):
                raise RunError(f"{path} is damaged and cannot be resumed from; start again in another folder.")
            break
        found.append(payload)
        at = end
    return found, at


def appended(file: int, payload: bytes, at: int) -> int:
    """Write a record at this place of an open file; returns where it ends. Half a record is an OSError."""
    framed = FRAME.pack(len(payload), hashlib.sha256(payload).digest()) + payload
    if os.pwrite(file, framed, at) != len(framed):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.fsync(file)
    return at + len(framed)
