"""Which keys for merging go out with a key: those with which all that it is for takes least time, theirs included.

Both sides compute them alike, from plans of what the key will at most be used for. They are neighbours among the
distances at which results can be merged, or none; where there are none, results return as they are. A layout that wants
others is not taken. As in `lattice/layout`, a wrong unit costs time, never privacy: what is merged is hidden before.
"""

from functools import lru_cache

from hedgerow.errors import ParameterError, PrivacyError
from hedgerow.privacy.lattice import layout as layouts
from hedgerow.privacy.shapes import RowsPlan

SWITCH_BYTES = 12 * layouts.POLYNOMIAL_BYTES
MAKE = 1500.0
"""Microseconds of one thread for a switching key, made and read."""


@lru_cache(maxsize=64)
def merging(plans: tuple[RowsPlan, ...], link_mbit: float | None) -> tuple[int, ...]:
    """Distances of sums at which results of these plans are merged; plans for which there is no layout do not count."""
    if link_mbit is None:
        return ()
    steps = layouts.SWITCH_STEPS
    runs = [steps[first:last] for first in range(len(steps)) for last in range(first + 1, len(steps) + 1)]
    each = SWITCH_BYTES * 8 / (link_mbit * 1e6) + MAKE * 1e-6 / layouts.THREADS
    times = {run: each * len(run) for run in ((), *runs)}
    for plan in plans:
        quickest = _quickest(plan, link_mbit)
        for run in times:
            times[run] += min((taken for used, taken in quickest.items() if set(used) <= set(run)), default=0.0)
    return min(times, key=lambda run: (times[run], len(run)))


def _quickest(plan: RowsPlan, link_mbit: float) -> dict[tuple[int, ...], float]:
    """For all keys that layouts of this plan merge with, the least estimated time."""
    found: dict[tuple[int, ...], float] = {}
    try:
        for layout in layouts.allowed(plan, link_mbit, by_public_key=False):
            used = tuple(layout.step >> merge for merge in range(layout.merges))
            found[used] = min(found.get(used, float("inf")), layouts.seconds(plan, layout, link_mbit))
    except (ParameterError, PrivacyError):
        return {}
    return found
