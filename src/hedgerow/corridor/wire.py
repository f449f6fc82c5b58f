"""Messages as bytes and back. No type name travels, only numbers; nothing is believed before it is checked.

Arrays are their little-endian bytes. How many items an array must have is known to whoever reads it, from the plan and
from what it asked for: `sized` refuses any other number before the array is used.
"""

import hashlib
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeVar, TypeVarTuple, Union, get_args, get_type_hints

import msgspec
import numpy as np
from numpy.typing import NDArray

from hedgerow.corridor.messages import ANSWERS, REQUESTS, Answer, MaskedSums, Request
from hedgerow.corridor.transport import Transport
from hedgerow.errors import ProtocolError

VERSION = 1
MOST_SMALL = 1 << 26
"""Bytes of any message whose size the plan does not tell: plans, facts, grids and forests."""

WORDS = np.dtype(np.uint64)
T = TypeVar("T")
Given = TypeVarTuple("Given")

SMALL = 4096
"""Bytes of an array below which copying it is cheaper than a view of it."""

if sys.byteorder != "little":  # pragma: no cover
    raise ImportError("hedgerow's messages are little-endian; this machine is not.")


def _outgoing(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tobytes() if value.nbytes < SMALL else np.ascontiguousarray(value).data
    raise NotImplementedError(type(value))


_READERS: dict[int, Callable[[bytes], NDArray[Any]]] = {}
"""By the identity of a declared array type: these live as long as the messages, and hashing them takes longer."""


def _incoming(kind: Any, value: Any) -> NDArray[Any]:
    reader = _READERS.get(id(kind))
    if reader is None:
        dtype = np.dtype(get_args(get_args(kind)[1])[0])
        checked = {"b": _truths, "f": _finite}.get(dtype.kind)
        reader = _READERS[id(kind)] = partial(checked or np.frombuffer, dtype=dtype)
    return reader(value)


def _truths(value: bytes, dtype: np.dtype[Any]) -> NDArray[Any]:
    if value and max(value) > 1:
        raise ValueError("a truth value is neither 0 nor 1")
    return np.frombuffer(value, dtype)


def _finite(value: bytes, dtype: np.dtype[Any]) -> NDArray[Any]:
    array = np.frombuffer(value, dtype)
    if not np.isfinite(array).all():
        raise ValueError("a number is not finite")
    return array


class _MaskedWords(msgspec.Struct, frozen=True, array_like=True, tag=MaskedSums.__struct_config__.tag):
    """`MaskedSums` as they lie in a frame: words come in such numbers that they are read where they are."""

    masked_words: memoryview


_ENCODER = msgspec.msgpack.Encoder(enc_hook=_outgoing)
_REQUESTS = msgspec.msgpack.Decoder(Union[REQUESTS], dec_hook=_incoming)  # noqa: UP007  # a union of a tuple
_READ = tuple(_MaskedWords if kind is MaskedSums else kind for kind in ANSWERS)
_ANSWERS = msgspec.msgpack.Decoder(Union[_READ], dec_hook=_incoming)  # noqa: UP007  # a union of a tuple


def encode(message: Request | Answer) -> bytes:
    """A frame."""
    return _ENCODER.encode(message)


def decode_request(frame: bytes, most_bytes: int = MOST_SMALL) -> Request:
    """What the driver says; anything but a well-formed request is refused."""
    check_size(frame, most_bytes)
    return _decoded(_REQUESTS, frame)  # type: ignore[no-any-return]


def decode_answer(frame: bytes, most_bytes: int) -> Answer:
    """What a party answers; anything but a well-formed answer is refused."""
    check_size(frame, most_bytes)
    return _decoded(_ANSWERS, frame)  # type: ignore[no-any-return]


def check_size(frame: bytes, most_bytes: int) -> None:
    """Refuse a frame that is longer than its receiver allows."""
    if len(frame) > most_bytes:
        raise ProtocolError(f"A message has {len(frame)} bytes where the plan allows {most_bytes}.")


def _decoded(decoder: Any, frame: bytes) -> Any:
    try:
        message = decoder.decode(frame)
        if type(message) is _MaskedWords:
            return MaskedSums(np.frombuffer(message.masked_words, WORDS))
    except (msgspec.DecodeError, ValueError, TypeError, RecursionError, UnicodeDecodeError):
        raise ProtocolError("A message cannot be read: it is damaged, or of another version.") from None
    for name in _NUMBERS[type(message)]:
        value = getattr(message, name)
        if value is not None and not np.isfinite(value).all():
            raise ProtocolError("A message holds a number that is not finite.")
    return message


def _of_numbers(kind: Any) -> tuple[str, ...]:
    """The fields of a message that are numbers, or tuples of them."""
    hints = get_type_hints(kind)
    return tuple(n for n in kind.__struct_fields__ if float in (hints[n], *get_args(hints[n])))


_NUMBERS = {kind: _of_numbers(kind) for kind in (*REQUESTS, *ANSWERS)}


def sized(array: NDArray[Any], n: int, what: str) -> NDArray[Any]:
    """The array, if it has so many items."""
    if array.shape != (n,):
        raise ProtocolError(f"A message holds {array.size} {what} where {n} were asked for.")
    return array


Listener = Callable[[str, str, Request | Answer, bytes], None]
"""Told of every message: from whom, to whom, what, and its frame."""


class Frame:
    """A request of the driver as those have it who hear it: its bytes, its hash and what it says, made when needed.

    Parties of one process hear the very same frame one after the other, and what depends on nobody's rows is worked
    out once. It lies with the frame and ends with it; a party puts nothing of its own into a frame.
    """

    __slots__ = ("_content", "_derived", "_request", "_sha256")

    def __init__(self, content: bytes, request: Request | None = None) -> None:
        self._content, self._request, self._sha256 = content, request, b""
        self._derived: dict[tuple[Any, ...], Any] = {}

    @classmethod
    def of(cls, request: Request) -> "Frame":
        """The frame of a request that a party knows without having heard it by itself."""
        return cls(encode(request), request)

    def __bytes__(self) -> bytes:
        return self._content

    def __len__(self) -> int:
        return len(self._content)

    @property
    def sha256(self) -> bytes:
        """The hash of the bytes."""
        if not self._sha256:
            self._sha256 = hashlib.sha256(self._content).digest()
        return self._sha256

    def read(self, most_bytes: int = MOST_SMALL) -> Request:
        """What the driver says; refused if it is not well formed, or longer than this receiver allows."""
        check_size(self._content, most_bytes)
        if self._request is None:
            self._request = decode_request(self._content, most_bytes)
        return self._request

    @property
    def request(self) -> Request:
        """What the driver says, once a receiver has read it within its limit."""
        if self._request is None:
            raise ProtocolError("A request is used before it was read.")
        return self._request

    def derived(self, make: Callable[["Frame", *Given], T], *given: *Given) -> T:
        """What `make` gives for this frame and `given`; made once for all that give the same to the same function.

        `make` may use nothing else, so that it is no matter who asks first; what it gives must never change. Values
        are the same when they are equal, places in trees (`ToldTrees`) when they are one object. Refusals are not kept.
        """
        key = (make, *given)
        try:
            return self._derived[key]  # type: ignore[no-any-return]
        except KeyError:
            made = self._derived[key] = make(self, *given)
            return made


def chained(frame: Frame, before: bytes) -> bytes:
    """A hash of all that was said before, and of this."""
    return hashlib.sha256(before + frame.sha256).digest()


class TranscriptHash:
    """Everything the driver has said to a party in this attempt, as one hash."""

    def __init__(self, plan: bytes) -> None:
        """From the digest of the plan on."""
        self.chain = hashlib.sha256(b"hedgerow said" + plan).digest()
        self.forgotten = False

    def hear(self, frame: Frame) -> None:
        """One more request; what is no longer the same for all does not go into a frame."""
        self.chain = chained(frame, self.chain) if self.forgotten else frame.derived(chained, self.chain)

    def among(self, parties: bytes) -> bytes:
        """The hash of all that was said, and of those that are summed over."""
        return hashlib.sha256(self.chain + parties).digest()

    def forget(self) -> None:
        """From now on nobody else has the same hash, so that no pad made from it cancels another's."""
        self.chain, self.forgotten = secrets.token_bytes(len(self.chain)), True


class Frames(Mapping[str, bytes]):
    """Requests as frames, each made when it is its party's turn and not kept here: all together may be very large.

    Parties that are sent one request, one after the other, are sent the same bytes. The first time that a party's frame
    is made, `told` hears of it.
    """

    def __init__(self, requests: Mapping[str, Request], told: Callable[[str, Request, bytes], None]) -> None:
        self._requests, self._told = requests, told
        self._heard: set[str] = set()
        self._last: tuple[Request, bytes] | None = None

    def __getitem__(self, party: str) -> bytes:
        request = self._requests[party]
        if self._last is None or self._last[0] is not request:
            self._last = None  # it need not be there while the next is made
            self._last = request, encode(request)
        frame = self._last[1]
        if party not in self._heard:
            self._heard.add(party)
            self._told(party, request, frame)
        return frame

    def __iter__(self) -> Iterator[str]:
        return iter(self._requests)

    def __len__(self) -> int:
        return len(self._requests)


class RequestsInTurn(Mapping[str, Request]):
    """Requests of one ask that are each made when it is its party's turn; making one again must change nothing."""

    def __init__(self, makers: Mapping[str, Callable[[], Request]]) -> None:
        self._makers = makers

    def __getitem__(self, party: str) -> Request:
        return self._makers[party]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


class Corridor:
    """The driver's side of every conversation: one verb, `ask`."""

    def __init__(self, transport: Transport, listeners: tuple[Listener, ...] = ()) -> None:
        self.transport, self.listeners = transport, listeners

    def ask(
        self, requests: Mapping[str, Request], deadline: float, most_bytes: int = MOST_SMALL
    ) -> tuple[dict[str, Answer], frozenset[str]]:
        """Send each party its request; returns the answers, and who did not answer within `deadline` seconds.

        An answer that cannot be read is refused with the name of the party it came from.
        """
        carried, missing = self.transport.carry(Frames(requests, self._told), deadline, most_bytes)
        answers = {}
        for party, frame in carried.items():
            try:
                answers[party] = decode_answer(frame, most_bytes)
            except ProtocolError as error:
                raise ProtocolError(f"Party {party!r} answered what cannot be used. {error}") from None
            if self.listeners:
                self._tell(party, "driver", answers[party], frame)
        return answers, missing

    def _told(self, party: str, request: Request, frame: bytes) -> None:
        self._tell("driver", party, request, frame)

    def _tell(self, sender: str, receiver: str, message: Request | Answer, frame: bytes) -> None:
        for listener in self.listeners:
            listener(sender, receiver, message, frame)
