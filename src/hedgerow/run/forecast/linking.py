"""What linking and aligning rows will cost: the messages of `protocols.link` and `align`, for the mean party."""

from collections.abc import Iterator
from math import ceil

from hedgerow.agreement.plan import Plan
from hedgerow.privacy.intersection import POINT_BYTES
from hedgerow.protocols.align.lists import STEP
from hedgerow.run.forecast.line import Line

WORD, COUNT, HASH = 8, 4, 32
ID = 16
"""An id that is shown."""


def linking(plan: Plan, n_ids: int, n_passive: int) -> Iterator[Line]:
    """Between so many different ids of the active party and of the mean passive one, of training rows."""
    yield Line("BeginLink", 1, WORD + HASH, trip=True)
    yield Line("LinkSize", 1, WORD)
    if plan.method.shows_ids:
        steps = ceil(n_ids / STEP)
        yield Line("ShowIds", steps, n_ids * ID, trip=True)
        yield Line("HeldIds", steps, ceil(n_ids / 8))
        n_counted = min(n_ids, n_passive)
    else:
        steps, n_counted = ceil(max(n_ids, n_passive) / STEP), n_passive
        yield Line("LinkIds", steps, n_ids * POINT_BYTES, trip=True)
        yield Line("LinkedIds", steps, (n_ids + n_passive) * POINT_BYTES)
    yield Line("LinkCounts", 1, n_counted * COUNT, trip=True)
    yield Line("Done", 1, 1)


def aligning(n: int, n_ids: int) -> Iterator[Line]:
    """Lists of n parties go once round all of them, and marks back."""
    parts, others, points, marks = ceil(n_ids / STEP), n - 1, n_ids * POINT_BYTES, ceil(n_ids / 8)
    yield Line("AskSetSize", 1, 2, trip=True)
    yield Line("SetSize", 1, WORD)
    yield Line("BeginBlinding", 1, n * WORD, trip=True)
    yield Line("Done", 1, 1)
    yield Line("AskBlinded", n * parts, n * parts * WORD, trip=True)
    yield Line("BlindedIds", n * parts, n * points)
    yield Line("BlindIds", others * parts, others * points, trip=True)
    yield Line("Done", others * parts + 1, others * parts + 1)
    yield Line("MarkCommon", n, n * marks, trip=True)
    yield Line("Marks", others, others * marks)
