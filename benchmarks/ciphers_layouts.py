"""The two layouts of sums by slot side by side, and which of them the cost model takes."""

from collections.abc import Iterator
from functools import partial

from benchmarks.ciphers import Cost, best
from benchmarks.ciphers_rows import SameSums
from benchmarks.ciphers_shapes import LAYOUTS as SETS
from benchmarks.ciphers_slots import Query, Ways, scored
from benchmarks.quiet import Neighbours
from benchmarks.rows import Row
from benchmarks.settings import Request
from hedgerow.privacy.lattice import coefficients
from hedgerow.privacy.lattice.cipher import Lattice
from hedgerow.privacy.lattice.slots import SlotsPublicKey, SlotsSecretKey
from hedgerow.privacy.lattice.slots_choice import in_coefficients

FULL = tuple(SETS)
QUICK = ("1x1600", "10x1600")
LINKS = {"loopback": None, "100 Mbit/s": 100.0}
TURNS = 5
"""The best counts, one layout and the other in turn."""


def run(request: Request) -> Iterator[Row]:
    """For each shape and speed of the link: work and bytes of coefficients beside lanes. No link is really there."""
    threads = request.settings.threads
    beside = lanes(threads)
    for name in request.sets:
        query = Query.drawn(*SETS[name].numbers)
        for link, speed in LINKS.items():
            taken = "coefficients" if in_coefficients(query.plan, speed) else "lanes"
            yield from rows_of(f"{name}, {link} (takes {taken})", query, few(speed, threads), beside)


def rows_of(name: str, query: Query, ours: Ways, theirs: Ways) -> Iterator[Row]:
    """Seconds and megabytes of both."""
    with Neighbours() as neighbours:
        turns = [(scored(ours, query), scored(theirs, query)) for _ in range(TURNS)]
    few_cost, lanes_cost = (best([turn[seat][0] for turn in turns]) for seat in (0, 1))
    right = all(right for turn in turns for _, right in turn)
    yield Row(f"{name}: whole, s", "generated", few_cost.seconds, lanes_cost.seconds, others=neighbours.cores)
    yield from _bytes(name, few_cost, lanes_cost)
    yield Row(f"{name}: right scores", "generated", float(right), 1.0, SameSums(right))


def _bytes(name: str, ours: Cost, theirs: Cost) -> Iterator[Row]:
    yield Row(f"{name}: out, MB", "generated", ours.out_bytes / 1e6, theirs.out_bytes / 1e6)
    yield Row(f"{name}: back, MB", "generated", ours.back_bytes / 1e6, theirs.back_bytes / 1e6)


def lanes(threads: int) -> Ways:
    """Slots of a ring of 8192, whatever the link."""
    secret = SlotsSecretKey(threads)
    public = SlotsPublicKey.read(secret.public.encode(), threads)
    return Ways(secret.seal_slots, public.read_slots, public.slot_sums, secret.open_slots)


def few(speed: float | None, threads: int) -> Ways:
    """Coefficients, merged where a link has a speed."""
    cipher = Lattice(speed)
    secret = cipher.new_key(threads)
    public = cipher.read_public_key(secret.public.encode(), threads)
    return Ways(
        partial(coefficients.seal, secret),
        partial(coefficients.read, public),
        lambda sealed, own_choice: coefficients.slot_sums(public, sealed, own_choice, None),
        partial(coefficients.open_slots, secret),
    )
