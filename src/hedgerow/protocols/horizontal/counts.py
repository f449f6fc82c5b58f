"""What a request for counts asks for, as a party reads it: a function of the request alone, not of anybody's rows."""

from itertools import pairwise
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from hedgerow.corridor.messages import AskCounts
from hedgerow.corridor.wire import Frame
from hedgerow.errors import ProtocolError
from hedgerow.trees.cut_search import KEY_BITS

LABEL, WEIGHT, VALID_LABEL, VALID_WEIGHT = range(4)
"""Counted like columns, behind these."""

MOST_AT_ONCE = 1 << 20
"""Prefixes in one request."""

NO_COLUMN = "Counts were asked for of a column that is not there."
"""What such a request is refused with, here or where the columns are known."""


class Run(NamedTuple):
    """Prefixes of one column and length, beside each other in a request."""

    column: int
    digits: int
    """How many low bits are left off."""
    at: slice
    prefixes: NDArray[np.uint32]


class Asked(NamedTuple):
    """What a request for counts asks for: a function of the request alone."""

    columns: tuple[int, ...]
    """In order, each once."""
    runs: tuple[Run, ...]
    shift: NDArray[np.uint8]
    """How many low bits of each prefix are left off."""

    @classmethod
    def of(cls, request: AskCounts) -> "Asked":
        """Refuses lists that do not fit each other, are too long or not in order."""
        column, prefix, shift = request.column, request.prefix, request.shift
        if not len(column) == len(prefix) == len(shift):
            raise ProtocolError(NO_COLUMN)
        if len(column) > MOST_AT_ONCE:
            raise ProtocolError(f"More than {MOST_AT_ONCE} counts were asked for at once.")
        if not len(column):
            return cls((), (), shift)
        if (column[1:] < column[:-1]).any() or shift.max() > KEY_BITS:
            raise ProtocolError(NO_COLUMN)
        edges = np.flatnonzero((column[1:] != column[:-1]) | (shift[1:] != shift[:-1])) + 1
        ends = [slice(*pair) for pair in pairwise([0, *edges.tolist(), len(column)])]
        # Copies: kernels take many views of one array slowly, and whoever asks says how many runs there are.
        parts = [np.frombuffer(prefix[at].tobytes(), prefix.dtype) for at in ends]
        runs = tuple(
            Run(int(column[at.start]), int(shift[at.start]), at, part) for at, part in zip(ends, parts, strict=True)
        )
        return cls(tuple(sorted({run.column for run in runs})), runs, shift)


def asked_by(frame: Frame) -> Asked:
    """What a frame that holds such a request asks for."""
    return Asked.of(cast(AskCounts, frame.request))
