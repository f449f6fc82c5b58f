"""One exchange over rows x columns x bins x nodes, for every cipher, beside Paillier of others and plain sums."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.ciphers import CIPHERS, PAILLIER, Cost, Exchange, Ints, Sample, Table, estimated
from benchmarks.ciphers_peers import peers
from benchmarks.ciphers_rows import SameSums
from benchmarks.ciphers_shapes import SWEEP as SETS
from benchmarks.horizontal_rows import Figure, Line
from benchmarks.measure import timed
from benchmarks.peak import CLEAR_REFS, can_measure, high_water_mib, resident_mib
from benchmarks.settings import Request
from hedgerow import _native
from hedgerow.privacy.shapes import Nodes
from hedgerow.trees.bins import BinMatrix

FULL = tuple(SETS)
QUICK = ("10000x10x32x8", "10000x1x2x1")

SAMPLED = {PAILLIER: Sample(4000, 4)}
"""Too slow for all rows and columns."""
GRADIENT_BITS = 8

T = TypeVar("T")


def run(request: Request) -> Iterator[Line]:
    """The lines of every shape asked for, as they come."""
    exchanges = {name: Exchange(make(), request.settings.threads) for name, make in CIPHERS.items()}
    for exchange in exchanges.values():
        sampled(exchange, 32, 8, 1000, 4)  # a key's tables are made when they are first needed
    others = peers()
    for name in request.sets:
        rows, columns, bins, n_nodes = SETS[name].numbers
        nodes = Nodes.in_order(sizes(rows, n_nodes))
        table = Table.drawn(rows, columns, bins)
        wanted = table.plain_sums(nodes)
        for cipher, exchange in exchanges.items():
            yield line_of(name, cipher, exchange, (table, nodes, wanted))
        for peer in others:
            sheet_cost = peer.cost(rows, columns, n_nodes * columns * (bins - 1))
            yield line(name, f"{peer.name}, one core (extrapolated)", sheet_cost)
        yield from plain(name, table, nodes, request.settings.threads)


def sizes(rows: int, nodes: int) -> Ints:
    """Rows of each node, as equal as can be."""
    starts = np.arange(nodes + 1, dtype=np.int64) * rows // nodes
    return starts[1:] - starts[:-1]


def line_of(name: str, cipher: str, exchange: Exchange, asked: tuple[Table, Nodes, Ints]) -> Line:
    """One cipher at one shape, measured, or extrapolated from a sample."""
    table, nodes, wanted = asked
    rows, columns = len(table.values), len(table.codes)
    sample = SAMPLED.get(cipher)
    if sample is None or (rows <= sample.rows and columns <= sample.columns):
        peak, (cost, opened) = with_peak(lambda: exchange.once(table, nodes))
        return line(name, cipher, cost, peak, SameSums(bool(np.array_equal(opened, wanted))))
    cost, _ = estimated(partial(sampled, exchange, table.bins, len(nodes)), rows, columns, sample)
    return line(name, f"{cipher} (extrapolated)", cost)


def sampled(exchange: Exchange, bins: int, n_nodes: int, rows: int, columns: int) -> Cost:
    """One measured exchange."""
    return exchange.once(Table.drawn(rows, columns, bins), Nodes.in_order(sizes(rows, n_nodes)))[0]


def plain(name: str, table: Table, nodes: Nodes, threads: int) -> Iterator[Line]:
    """The same sums of clear integers: NumPy's, and our kernel's."""
    seconds, wanted = timed(lambda: table.plain_sums(nodes))
    yield line(name, "plain, NumPy", Cost(sum=seconds))
    matrix, pairs, orders, spans = laid_out(table, nodes)
    which = (np.zeros(len(nodes), np.int64), np.arange(len(nodes)))
    seconds, found = timed(lambda: _native.histograms(matrix, pairs, GRADIENT_BITS, orders, spans, which, threads))
    shaped = found[:, :-1].reshape(len(nodes), len(table.codes), table.bins, 2)[:, :, :-1]
    same = bool(np.array_equal(shaped.reshape(wanted.shape), wanted))
    yield line(name, "plain, hedgerow", Cost(sum=seconds), None, SameSums(same))


def laid_out(table: Table, nodes: Nodes) -> tuple[BinMatrix, NDArray[np.int32], NDArray[np.uint32], Ints]:
    """Codes, pairs and nodes as the kernel reads them."""
    n_columns, rows = table.codes.shape
    matrix = BinMatrix(
        dense=np.ascontiguousarray(table.codes.T),
        dense_columns=np.arange(n_columns, dtype=np.uint32),
        starts=np.empty(0, np.int64),
        entries=np.empty(0, np.uint16),
        offsets=np.arange(n_columns + 1, dtype=np.uint32) * table.bins,
        defaults=np.full(n_columns, -1, np.int32),
        by_column=np.empty((0, rows), np.uint8),
    )
    pairs = (table.values[None] << (31 - GRADIENT_BITS)).astype(np.int32)
    spans = np.stack([nodes.starts[:-1], nodes.starts[1:]], axis=1)[None]
    return matrix, pairs, nodes.rows[None].astype(np.uint32), np.ascontiguousarray(spans)


def with_peak(call: Callable[[], T]) -> tuple[float | None, T]:
    """MiB that a call took beyond what was there before, where the system tells; and its result."""
    if not can_measure():
        return None, call()
    CLEAR_REFS.write_text("5")
    before = resident_mib()
    made = call()
    return high_water_mib() - before, made


def line(sheet: str, name: str, cost: Cost, peak: float | None = None, bar: SameSums | None = None) -> Line:
    """A line of a shape's sheet."""
    figures: dict[str, Figure] = {
        "seal s": cost.seal,
        "sum s": cost.sum,
        "return s": cost.back,
        "open s": cost.open,
        "MB out": cost.out_bytes / 1e6,
        "MB back": cost.back_bytes / 1e6,
        "peak MiB": None if peak is None else round(peak),
    }
    return Line(name, "generated", cost.seconds, bar=bar, sheet=sheet, figures=figures)
