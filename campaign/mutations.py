"""Ways in which a wire form can be wrong: changed bits, missing or foreign bytes, sizes that lie."""

from collections.abc import Callable, Sequence

import numpy as np

HEAD = 96
"""Bytes at the beginning in which a wire form may tell sizes."""

TOLD = (0, 1, 2, 127, 128, 255, 256, 2**15, 2**16 - 1, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63)
"""What sizes lie with, beside small numbers and -1."""

Rng = np.random.Generator
Mutation = Callable[[Rng, bytes, Sequence[bytes]], bytes]
"""Something like the bytes, with pieces of others where it wants them."""


def _flipped(rng: Rng, data: bytes, within: int, most: int) -> bytes:
    changed = bytearray(data)
    for place in rng.integers(0, 8 * max(1, min(within, len(data))), rng.integers(1, most, endpoint=True)):
        if place // 8 < len(changed):
            changed[place // 8] ^= 1 << int(place % 8)
    return bytes(changed)


def bits(rng: Rng, data: bytes, others: Sequence[bytes]) -> bytes:  # noqa: ARG001  # all mutations are called alike
    """A few bits flipped anywhere."""
    return _flipped(rng, data, len(data), 8)


def head_bits(rng: Rng, data: bytes, others: Sequence[bytes]) -> bytes:  # noqa: ARG001
    """A few bits flipped at the beginning."""
    return _flipped(rng, data, HEAD, 4)


def shorter(rng: Rng, data: bytes, others: Sequence[bytes]) -> bytes:  # noqa: ARG001
    """The end missing, or the beginning, or a piece in the middle."""
    start, end = np.sort(rng.integers(0, len(data), 2, endpoint=True))
    return (data[:start], data[start:], data[:start] + data[end:])[rng.integers(3)]


def longer(rng: Rng, data: bytes, others: Sequence[bytes]) -> bytes:  # noqa: ARG001
    """Bytes behind the end, or in between."""
    more = (rng.bytes(int(rng.integers(1, 300))), bytes(int(rng.integers(1, 300))), data)[rng.integers(3)]
    place = (len(data), int(rng.integers(0, len(data), endpoint=True)))[rng.integers(2)]
    return data[:place] + more + data[place:]


def spliced(rng: Rng, data: bytes, others: Sequence[bytes]) -> bytes:
    """The beginning of one wire form and the end of another, of the same length or not."""
    other = others[int(rng.integers(len(others)))]
    place = int(rng.integers(0, min(len(data), len(other)), endpoint=True))
    after = (place, int(rng.integers(0, len(other), endpoint=True)))[rng.integers(2)]
    return data[:place] + other[after:]


def sizes(rng: Rng, data: bytes, others: Sequence[bytes]) -> bytes:  # noqa: ARG001
    """A number at the beginning that says something else."""
    width = int((1, 2, 4, 8)[rng.integers(4)])
    place = int(rng.integers(0, max(1, min(HEAD, len(data)) - width), endpoint=True))
    told = (int(rng.integers(0, 100)), TOLD[rng.integers(len(TOLD))], -1)[rng.integers(3)] % 2 ** (8 * width)
    order = (int.to_bytes(told, width, "little"), int.to_bytes(told, width, "big"))[rng.integers(2)]
    return data[:place] + order + data[place + width :]


def filled(rng: Rng, data: bytes, others: Sequence[bytes]) -> bytes:  # noqa: ARG001
    """A piece of zeros, of ones, or of the numbers around them."""
    start, end = np.sort(rng.integers(0, len(data), 2, endpoint=True))
    return data[:start] + (b"\0", b"\xff", b"\1", b"\x80")[rng.integers(4)] * int(end - start) + data[end:]


def swapped(rng: Rng, data: bytes, others: Sequence[bytes]) -> bytes:  # noqa: ARG001
    """Two neighbouring pieces in the wrong order."""
    a, b, c = np.sort(rng.integers(0, len(data), 3, endpoint=True))
    return data[:a] + data[b:c] + data[a:b] + data[c:]


def noise(rng: Rng, data: bytes, others: Sequence[bytes]) -> bytes:  # noqa: ARG001
    """Random bytes, maybe behind an honest beginning, maybe of the right length."""
    kept = (0, int(rng.integers(0, min(HEAD, len(data)), endpoint=True)))[rng.integers(2)]
    length = (len(data) - kept, int(rng.integers(0, 2 * len(data) + 2)))[rng.integers(2)]
    return data[:kept] + rng.bytes(max(0, length))


MUTATIONS: dict[str, Mutation] = {
    "bits": bits,
    "bits of the head": head_bits,
    "shorter": shorter,
    "longer": longer,
    "spliced": spliced,
    "sizes": sizes,
    "filled": filled,
    "swapped": swapped,
    "noise": noise,
}
