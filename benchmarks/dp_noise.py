"""Noise of differential privacy: seconds for a million draws, beside OpenDP's sampler, which is exact like ours."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isqrt
from typing import Any

from benchmarks.ciphers_rows import Below
from benchmarks.measure import timed
from benchmarks.quiet import Neighbours
from benchmarks.rows import Row
from benchmarks.settings import Request
from hedgerow.privacy import noise

MILLION = 1_000_000
THEIRS = 50_000
"""Draws of the peer's, whose seconds count for a million in proportion."""
TURNS = 3
BAR = Below(0.5)


@dataclass(frozen=True)
class Spread:
    """A distribution of noise, by its variance in units squared."""

    distribution: str
    variance: int

    @property
    def name(self) -> str:
        """What a run's options call it."""
        return f"{self.distribution}-{self.variance}"

    @property
    def at_hand(self) -> bool:
        """It is drawn."""
        return True

    @property
    def ours(self) -> Callable[[], object]:
        """A million draws; Laplace noise has the scale that a Gaussian's deviation would be."""
        if self.distribution == "gaussian":
            return lambda: noise.gaussian(MILLION, self.variance)
        return lambda: noise.laplace(MILLION, isqrt(self.variance))

    def theirs(self) -> Callable[[], object] | None:
        """As many as the peer is asked for, or nothing where it is not installed."""
        try:
            import opendp.prelude as dp
        except ImportError:
            return None
        dp.enable_features("contrib")
        domain: Any = dp.vector_domain(dp.atom_domain(T="i64"))
        scale = self.variance**0.5
        if self.distribution == "gaussian":
            measurement = dp.m.make_gaussian(domain, dp.l2_distance(T="i64"), scale=scale)
        else:
            measurement = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=scale)
        return lambda: measurement([0] * THEIRS)


SETS = {
    spread.name: spread
    for spread in (Spread(kind, variance) for kind in ("gaussian", "laplace") for variance in (100, 4096**2, 2**44))
}
FULL = tuple(SETS)
QUICK = (f"gaussian-{4096**2}",)


def run(request: Request) -> Iterator[Row]:
    """The best of some turns of ours, and one of the peer's."""
    for name in request.sets:
        spread = SETS[name]
        with Neighbours() as neighbours:
            ours = min(timed(spread.ours)[0] for _ in range(TURNS))
        theirs = spread.theirs()
        peer = None if theirs is None else timed(theirs)[0] * MILLION / THEIRS
        what = f"{spread.distribution} noise of deviation {isqrt(spread.variance)}: s a million draws"
        yield Row(what, "drawn", ours, peer, BAR, neighbours.cores)
