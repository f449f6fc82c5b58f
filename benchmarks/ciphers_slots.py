"""Sums by slot, as sealed prediction needs them: each row's sum of chosen entries, beside Paillier's."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.ciphers import CIPHERS, LATTICE, PAILLIER, Cost, Exchange, Ints, Sample, best, estimated, missing
from benchmarks.ciphers_rows import Below, Faster, SameSums
from benchmarks.ciphers_shapes import SLOTS as SETS
from benchmarks.measure import timed
from benchmarks.peak import CLEAR_REFS, can_measure, high_water_mib
from benchmarks.quiet import Neighbours
from benchmarks.rows import Row
from benchmarks.settings import Request
from hedgerow.privacy.additive import SealedSlots
from hedgerow.privacy.shapes import SlotsPlan

FULL = ("30000x1600", "1x1600")
QUICK = ("4096x1600", "1x1600")

BOUND, TREES = 512, 100
"""Leaves of ten bits, and the trees that each add one of theirs to a score."""
RUN_ROWS = 1_000_000
"""Scores that a whole run opens."""
FEW, TURNS = 100, 20
"""Below so many rows an exchange is so short that the best of some turns counts."""

BATCH = Faster(200)
SINGLE = Below(0.02)
MEMORY = Below(4.0)
SAMPLE = Sample(8, 1)
WARM = 100


@dataclass(frozen=True)
class Query:
    """Leaves that the key holder allows, and those that the answering side's cuts allow."""

    values: Ints
    choice: NDArray[np.bool_]

    @classmethod
    def drawn(cls, rows: int, entries: int) -> "Query":
        """Uniform ones; few of all leaves are allowed on both sides, as in trees."""
        rng = np.random.default_rng(0)
        values = rng.integers(-BOUND, BOUND, (rows, entries), endpoint=True)
        return cls(values, rng.random((rows, entries), dtype=np.float32) < TREES / entries)

    @property
    def plan(self) -> SlotsPlan:
        """One choice, with room for whatever it takes."""
        rows, entries = self.values.shape
        return SlotsPlan(rows=rows, entries=entries, bound=BOUND, run_sums=max(rows, RUN_ROWS), sums_only=True)


@dataclass(frozen=True)
class Ways:
    """How both sides do what an exchange takes."""

    seal: Callable[[Ints, SlotsPlan], SealedSlots]
    read: Callable[[bytes, SlotsPlan, int, int], SealedSlots]
    sums: Callable[[Any, NDArray[np.bool_]], SealedSlots]
    open: Callable[[Any], Ints]

    @classmethod
    def of(cls, exchange: Exchange) -> "Ways":
        """Those of a cipher, whatever it chooses."""
        secret, public = exchange.secret, exchange.public
        return cls(secret.seal_slots, public.read_slots, public.slot_sums, secret.open_slots)


def run(request: Request) -> Iterator[Row]:
    """The rows of every shape asked for, as they come."""
    if missing((LATTICE,)):
        return
    paillier = None if missing((PAILLIER,)) else Exchange(CIPHERS[PAILLIER](), request.settings.threads)
    if paillier is not None:
        scored(Ways.of(paillier), Query.drawn(WARM, 4))  # a key's tables are made when they are first needed
    for name in request.sets:
        rows, entries = SETS[name].numbers
        yield from rows_of(name, Query.drawn(rows, entries), paillier, request.settings.threads)


def rows_of(name: str, query: Query, paillier: Exchange | None, threads: int) -> Iterator[Row]:
    """Seconds, memory and bytes of one shape; memory is that of the whole process, both sides and their data."""
    exchange, (rows, entries) = Exchange(CIPHERS[LATTICE](), threads), query.values.shape
    if can_measure():
        CLEAR_REFS.write_text("5")
    with Neighbours() as neighbours:
        turns = [scored(Ways.of(exchange), query) for _ in range(TURNS if rows < FEW else 1)]
    ours, right = best([cost for cost, _ in turns]), all(right for _, right in turns)
    if can_measure() and rows >= FEW:
        yield Row(f"{name}: memory, GiB", "generated", high_water_mib() / 1024, bar=MEMORY)
    single = SINGLE if rows == 1 else None
    yield Row(f"{name}: whole, s", "generated", ours.seconds, bar=single, others=neighbours.cores)
    if paillier is not None:
        theirs, _ = estimated(partial(sampled, paillier, entries), rows, 1, SAMPLE)
        told = f"{name}: {LATTICE} / {PAILLIER}{' (extrapolated)' if rows > SAMPLE.rows else ''}"
        yield Row(
            f"{told}, s", "generated", ours.seconds, theirs.seconds, BATCH if rows > 1 else None, neighbours.cores
        )
        yield Row(f"{told}, MB", "generated", ours.megabytes, theirs.megabytes)
    yield Row(f"{name}: right scores", "generated", float(right), 1.0, SameSums(right))


def sampled(exchange: Exchange, entries: int, rows: int, _columns: int) -> Cost:
    """A measured exchange of few rows."""
    return scored(Ways.of(exchange), Query.drawn(rows, entries))[0]


def scored(ways: Ways, query: Query) -> tuple[Cost, bool]:
    """The whole exchange, and whether every score is right."""
    plan = query.plan
    sealing, data = timed(lambda: ways.seal(query.values, plan).encode())
    out = len(data)
    reading, sealed = timed(partial(ways.read, data, plan, plan.entries, 0))
    del data
    summing, sums = timed(lambda: ways.sums(sealed, query.choice))
    encoding, back = timed(sums.encode)
    decoding, returned = timed(lambda: ways.read(back, plan, 1, 1))
    opening, opened = timed(lambda: ways.open(returned))
    right = np.array_equal(opened[:, 0], np.einsum("re,re->r", query.values, query.choice))
    return Cost(sealing + reading, summing, encoding + decoding, opening, out, len(back)), right
