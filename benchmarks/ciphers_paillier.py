"""Our Paillier beside gmpy2 written straightforwardly: sealing on one core, sums on two threads against one."""

from collections.abc import Iterator

import numpy as np

from benchmarks.ciphers import BOUND, CIPHERS, PAILLIER, Exchange, Table, missing
from benchmarks.ciphers_peers import SAMPLE, Straightforward, at_hand
from benchmarks.ciphers_rows import Faster, SameSums
from benchmarks.ciphers_shapes import PAILLIERS as SETS
from benchmarks.measure import timed
from benchmarks.quiet import Neighbours
from benchmarks.rows import Row
from benchmarks.settings import Request
from hedgerow.privacy.shapes import Nodes, RowsPlan, Selection

FULL = ("20000x10x32",)
QUICK = ("4000x10x32",)

SEALED = 2000
TURNS = 3
SEALING = Faster(15)
SUMMING = Faster(1.5)


def run(request: Request) -> Iterator[Row]:
    """Both rows, if both ciphers are here."""
    if missing((PAILLIER,)) or not at_hand("gmpy2"):
        return
    peer = Straightforward()
    yield sealing(peer)
    for name in request.sets:
        yield from summing(SETS[name].numbers, peer)


def sealing(peer: Straightforward) -> Row:
    """Milliseconds a number on one core, one number a ciphertext."""
    exchange = Exchange(CIPHERS[PAILLIER](), 1)
    plan = RowsPlan(rows=SEALED, bounds=(BOUND,), groups=1)
    values = Table.drawn(SEALED, 1, 2).values[:, :1].copy()
    ours, theirs = [], []
    with Neighbours() as neighbours:
        for _ in range(TURNS):
            ours.append(timed(lambda: exchange.secret.seal_rows(values, plan))[0] / SEALED)
            theirs.append(timed(lambda: [peer.seal(value) for value in range(SAMPLE)])[0] / SAMPLE)
    name = "sealing, one core: ours / gmpy2's r^n mod n^2, ms"
    return Row(name, "generated", min(ours) * 1e3, min(theirs) * 1e3, SEALING, neighbours.cores)


def summing(numbers: tuple[int, ...], peer: Straightforward) -> Iterator[Row]:
    """Microseconds a product, ours on two threads with all that a return needs, gmpy2's loop on one."""
    rows, columns, bins = numbers
    exchange, table, nodes = Exchange(CIPHERS[PAILLIER](), 2), Table.drawn(rows, columns, bins), one_node(rows)
    plan = RowsPlan(rows=rows, bounds=(BOUND,), groups=columns * bins, columns=columns, run_sums=columns * bins)
    selection = Selection(table.codes, np.full(columns, bins))
    sealed = exchange.secret.seal_rows(table.values[:, :1].copy(), plan)
    theirs_sealed = [peer.seal(value) for value in range(SAMPLE)] * (rows // SAMPLE)
    codes = [column.tolist() for column in table.codes]
    ours, theirs = [], []
    with Neighbours() as neighbours:
        for _ in range(TURNS):
            seconds, sums = timed(lambda: exchange.public.group_sums(sealed, selection, nodes))
            ours.append(seconds)
            theirs.append(timed(lambda: [peer.products(theirs_sealed, groups, bins) for groups in codes])[0])
    each = 1e6 / (rows * columns)
    name = f"sums of {rows}x{columns}x{bins}: ours on 2 threads / gmpy2's on one, us"
    yield Row(name, "generated", min(ours) * each, min(theirs) * each, SUMMING, neighbours.cores)
    right = exchange.secret.open_sums(sums)[0, :, 0].reshape(columns, bins)
    wanted = [np.bincount(column, table.values[:, 0], bins) for column in table.codes]
    yield Row("right sums", "generated", 1.0, 1.0, SameSums(bool(np.array_equal(right, np.rint(wanted)))))


def one_node(rows: int) -> Nodes:
    """All of them."""
    return Nodes.in_order(np.array([rows]))
