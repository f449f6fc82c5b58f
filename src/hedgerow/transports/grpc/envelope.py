"""The envelope: what the two ends of a stream say to each other, and how a frame is cut and put together again.

    party                                   driver
    Hello(version, name, start, run)  --->
                                      <---  Welcome(version, start, certificate, signature)
                                      <---  Head, Part, Part ...     a request
    Head, Part, Part ... or Failed    --->                           its answer
    Beat                              <-->  Beat                     whenever there was nothing else to say
                                      <---  Goodbye(ok, sentence)

Every message is a msgpack array that begins with a small integer. Lengths are checked before anything is kept: all
pieces of a frame have CHUNK bytes but the last, so that a frame never comes in more pieces than its length says. What a
message carries is not copied out of it; the pieces are joined once, when all are here.
"""

import hashlib
from collections.abc import Iterator
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from hedgerow.errors import ProtocolError

VERSION = 1
CHUNK = 1 << 20
MOST_MESSAGE = CHUNK + (1 << 16)

Start = Annotated[bytes, Meta(min_length=16, max_length=16)]
Count = Annotated[int, Meta(ge=0, le=1 << 62)]
Sentence = Annotated[str, Meta(max_length=1000)]


class _Opening(msgspec.Struct, array_like=True, tag=1):
    """The part of a Hello that no version may change; whatever follows is not looked at."""

    version: int


class Hello(msgspec.Struct, array_like=True, tag=1, forbid_unknown_fields=True, frozen=True):
    """A party's first message; `start` is drawn anew whenever its process starts."""

    version: int
    name: Annotated[str, Meta(max_length=200)]
    start: Start
    run: Annotated[bytes, Meta(max_length=256)]


class Welcome(msgspec.Struct, array_like=True, tag=2, forbid_unknown_fields=True, frozen=True):
    """The driver's first message, signed for this party and this start of its process."""

    version: int
    start: Start
    certificate: Annotated[bytes, Meta(max_length=1 << 14)]
    signature: Annotated[bytes, Meta(max_length=1 << 10)]


class Beat(msgspec.Struct, array_like=True, tag=3, forbid_unknown_fields=True, frozen=True):
    """Still here."""


class Head(msgspec.Struct, array_like=True, tag=4, forbid_unknown_fields=True, frozen=True):
    """How a frame begins: its request's number, its length and hash, and its first bytes."""

    sequence: Count
    length: Count
    sha256: Annotated[bytes, Meta(min_length=32, max_length=32)]
    data: Annotated[memoryview, Meta(max_length=CHUNK)]


class Part(msgspec.Struct, array_like=True, tag=5, forbid_unknown_fields=True, frozen=True):
    """The next bytes of the frame that is under way."""

    sequence: Count
    data: Annotated[memoryview, Meta(min_length=1, max_length=CHUNK)]


class Failed(msgspec.Struct, array_like=True, tag=6, forbid_unknown_fields=True, frozen=True):
    """Instead of an answer: why there is none. `parting` when the process ends, and another one may answer."""

    sequence: Count
    sentence: Sentence
    parting: bool = False


class Goodbye(msgspec.Struct, array_like=True, tag=7, forbid_unknown_fields=True, frozen=True):
    """The driver's last message."""

    ok: bool
    sentence: Sentence


FromParty = Beat | Head | Part | Failed
FromDriver = Welcome | Beat | Head | Part | Goodbye
T = TypeVar("T")

encode = msgspec.msgpack.Encoder().encode
_from_party: msgspec.msgpack.Decoder[FromParty] = msgspec.msgpack.Decoder(FromParty)
_from_driver: msgspec.msgpack.Decoder[FromDriver] = msgspec.msgpack.Decoder(FromDriver)
_hello = msgspec.msgpack.Decoder(Hello)
_opening = msgspec.msgpack.Decoder(_Opening)


def read_hello(raw: bytes) -> Hello:
    """A party's first message; one of another version is refused by name."""
    version = _decode(_opening, raw).version
    if version != VERSION:
        raise ProtocolError(
            f"The party speaks version {version} of the transport and the driver version {VERSION}; "
            "install the same release of hedgerow at both."
        )
    return _decode(_hello, raw)


def read_from_party(raw: bytes) -> FromParty:
    """Any later message of a party."""
    return _decode(_from_party, raw)


def read_from_driver(raw: bytes) -> FromDriver:
    """Any message of the driver."""
    return _decode(_from_driver, raw)


def _decode(decoder: msgspec.msgpack.Decoder[T], raw: bytes) -> T:
    try:
        return decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ProtocolError(
            "A message on the stream is not one of the transport's; install the same release of hedgerow at both ends."
        ) from None


def short(sentence: str) -> str:
    """Not more of a sentence than a message may hold, and nothing that a terminal would obey."""
    sentence = "".join(letter if letter.isprintable() else " " for letter in sentence[:1001])
    return sentence if len(sentence) <= 1000 else sentence[:997] + "..."


def cut(sequence: int, frame: bytes, sha256: bytes) -> Iterator[bytes]:
    """The messages that carry a frame."""
    view = memoryview(frame)
    yield encode(Head(sequence, len(frame), sha256, view[:CHUNK]))
    for start in range(CHUNK, len(frame), CHUNK):
        yield encode(Part(sequence, view[start : start + CHUNK]))


class Gathering:
    """A frame on its way in: grows by what arrived, never by what was announced."""

    def __init__(self, head: Head, most_bytes: int) -> None:
        if head.length > most_bytes:
            raise ProtocolError(
                f"A frame of {head.length} bytes was announced and at most {most_bytes} are allowed here; "
                "raise the limit or send less at a time."
            )
        self.sequence, self.sha256, self.length = head.sequence, head.sha256, head.length
        self._pieces: list[memoryview] = []
        self._left = head.length
        self._hash = hashlib.sha256()
        self._add(head.data)

    def add(self, part: Part) -> None:
        """The next bytes; refused if they belong to another frame, or are more or fewer than they must be."""
        if part.sequence != self.sequence:
            raise ProtocolError(f"A part of frame {part.sequence} came in the middle of frame {self.sequence}.")
        self._add(part.data)

    def _add(self, data: memoryview) -> None:
        if len(data) > self._left:
            raise ProtocolError(f"Frame {self.sequence} has more than the {self.length} bytes it announced.")
        if len(data) < min(self._left, CHUNK):
            raise ProtocolError(f"A part of frame {self.sequence} has {len(data)} bytes; only the last may be short.")
        self._left -= len(data)
        self._pieces.append(data)
        self._hash.update(data)

    def whole(self) -> bytes | None:
        """The frame once all of it is here; refused if it does not have the announced hash."""
        if self._left:
            return None
        if self._hash.digest() != self.sha256:
            raise ProtocolError(f"Frame {self.sequence} does not have the hash it announced.")
        return b"".join(self._pieces)
