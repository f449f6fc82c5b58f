"""A request of the driver as those have it who hear it: bytes, and what comes of them alone.

Parties of one process hear the very same frame one after the other, and what depends on nobody's rows is worked out
once. It lies with the frame and ends with it.

Sees in the clear.  Whoever holds a frame: what the driver says in it. A party puts nothing of its own into a frame.
"""

import hashlib
from collections.abc import Callable
from typing import Any, TypeVar, TypeVarTuple

from hedgerow.corridor.messages import Request
from hedgerow.corridor.wire import MOST_SMALL, check_size, decode_request, encode
from hedgerow.errors import ProtocolError

T = TypeVar("T")
Given = TypeVarTuple("Given")


class Frame:
    """The bytes of a request, its hash and what it says, each made when it is first needed."""

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
