"""The SHA-256 of a frame, which transport, log and protocol each want; frames can be large, so that it is made once."""

import hashlib

_last: list[tuple[bytes | None, bytes]] = [(None, b"")]
"""The frame that was hashed last, as it is, and its hash."""


def sha256_of(frame: bytes) -> bytes:
    """The hash of a frame."""
    last, digest = _last[0]
    if frame is not last:
        digest = hashlib.sha256(frame).digest()
        remember(frame, digest)
    return digest


def remember(frame: bytes, digest: bytes) -> None:
    """The hash of a frame, from whoever has just computed it."""
    _last[0] = (frame, digest)
