"""One tree of six levels: all rows at the root, then of each two children the smaller; beside Paillier and a sketch."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from benchmarks.ciphers import (
    CHANNELS,
    CIPHERS,
    LATTICE,
    LINKED,
    PAILLIER,
    RUN_TREES,
    Cost,
    Exchange,
    Ints,
    Sample,
    Table,
    best,
    estimated,
    missing,
)
from benchmarks.ciphers_rows import Faster, SameSums
from benchmarks.ciphers_shapes import GROWING, TREES
from benchmarks.ciphers_sketch import Sketch, find
from benchmarks.horizontal_rows import RatioAndGoal
from benchmarks.quiet import Neighbours
from benchmarks.rows import RatioAtMost, Row
from benchmarks.settings import Request
from hedgerow.privacy.shapes import Nodes

SETS = TREES | GROWING
FULL = tuple(SETS)
QUICK = ("22500x12x32", "32561x61x2", "10000x10x32", "30000x10x32")

LEVELS = 6
SAMPLE, QUICK_SAMPLE, WARM = Sample(24_000, 12), Sample(8000, 4), Sample(1000, 4)
ROUNDS = 3
MERGES = {LATTICE: 0, LINKED: 3}
"""What the sketch merges beside each of our layouts: nothing, and eight returns to one."""

NEAR_SKETCH = RatioAndGoal(1.5, 0.6)
BESIDE_PAILLIER = {LATTICE: Faster(15, 60), LINKED: Faster(8)}
BYTES = RatioAndGoal(1.2, 0.5)
NEVER_GROWS = RatioAtMost(1.05)
"""Of seconds a row; a twentieth is the clock's."""
SEALING = RatioAtMost(0.02)
MILLION = "1000000x10x32"

Asked = tuple[Nodes, Cost, Ints, Table]
"""What was asked of which rows, what that cost, and what was opened."""


def run(request: Request) -> Iterator[Row]:
    """The rows of every shape asked for, as they come."""
    if missing((LATTICE, LINKED)):
        return
    sketch, paillier = sketch_of(request), None if missing((PAILLIER,)) else warmed(request.settings.threads)
    yield from new_keys(request.settings.threads)
    taken: dict[int, float] = {}
    for name in request.sets:
        rows, columns, bins = SETS[name].numbers
        table = Table.drawn(rows, columns, bins)
        trees = Trees(table, request, sketch if name in TREES else None)
        if (columns, bins) == (10, 32):
            taken[rows] = trees.costs[LATTICE].seconds / rows
        if name in TREES:
            yield from trees.beside_sketch(name)
            yield from beside_paillier(name, table, trees, paillier, QUICK_SAMPLE if request.quick else SAMPLE)
        yield Row(f"{name}: right sums", "generated", float(trees.right), 2.0, SameSums(trees.right == 2))
        del table
    yield from growing(taken)


def new_keys(threads: int) -> Iterator[Row]:
    """Seconds to make a key, as every tree needs one: the best of three."""
    for name in (LATTICE, LINKED, PAILLIER):
        if name in CIPHERS:
            seconds = min(Exchange(CIPHERS[name](), threads).key_seconds for _ in range(3))
            yield Row(f"a new key: {name}, s", "generated", seconds)


class Trees:
    """Both layouts and the sketch in turn, each at its best."""

    def __init__(self, table: Table, request: Request, sketch: Sketch | None) -> None:
        rows, columns = len(table.values), len(table.codes)
        threads = request.settings.threads
        turns: dict[str, list[Cost]] = {LATTICE: [], LINKED: []}
        sketched: dict[str, list[tuple[float, float]]] = {LATTICE: [], LINKED: []}
        self.right, self.others = 2, 0.0
        for _ in range(1 if request.quick else ROUNDS if rows < 500_000 else 2):
            for name, found in turns.items():
                exchange = Exchange(CIPHERS[name](), threads)
                with Neighbours() as neighbours:
                    cost, right = grown(exchange, table)
                found.append(cost)
                self.right -= not right
                self.others = max(self.others, neighbours.cores or 0.0)
                if sketch:
                    sketched[name].append(sketch.tree(rows, columns, table.bins, threads, MERGES[name]))
        self.costs = {name: best(found) for name, found in turns.items()}
        self.sketched = {name: min(found) for name, found in sketched.items() if found}

    def beside_sketch(self, name: str) -> Iterator[Row]:
        """Seconds and bytes beside the sketch's, where there is one."""
        for layout, (seconds, megabytes) in self.sketched.items():
            ours = self.costs[layout]
            yield Row(f"{name}: {layout} / sketch, s", "generated", ours.seconds, seconds, NEAR_SKETCH, self.others)
            yield Row(f"{name}: {layout} / sketch, MB", "generated", ours.megabytes, megabytes)


def levels(rows: int) -> list[Nodes]:
    """The nodes that are asked about, level by level; the other child of each comes by subtraction."""
    counts = [1 << level for level in range(LEVELS - 1)]
    return [Nodes.in_order(np.array([rows])), *(Nodes.in_order(np.full(n, rows // 2 // n)) for n in counts)]


def grown(exchange: Exchange, table: Table) -> tuple[Cost, bool]:
    """What a tree costs, its public key's bytes included, and whether all its sums are right."""
    asked = levels(len(table.values))
    run_sums = RUN_TREES * sum(map(len, asked)) * int(table.widths.sum()) * CHANNELS
    each = sealed_once if exchange.cipher.seals_once else sealed_anew
    total, right = Cost(out_bytes=exchange.key_bytes), True
    for nodes, cost, opened, rows in each(exchange, table, asked, run_sums):
        total = total + cost
        right = right and bool(np.array_equal(opened, rows.plain_sums(nodes)))
    return total, right


def sealed_anew(exchange: Exchange, table: Table, asked: list[Nodes], run_sums: int) -> Iterator[Asked]:
    """Every level's rows are sealed for that level, node after node."""
    for nodes in asked:
        rows = table.first(len(nodes.rows))
        plan = rows.plan(nodes, run_sums)
        sealing, data = exchange.seal(rows, plan)
        cost, opened = exchange.ask(data, rows, plan, nodes)
        yield nodes, sealing + cost, opened, rows


def sealed_once(exchange: Exchange, table: Table, asked: list[Nodes], run_sums: int) -> Iterator[Asked]:
    """All rows are sealed once, and read anew for the nodes of each level; only the first reading counts."""
    plan = table.plan(asked[0], run_sums)
    sealing, data = exchange.seal(table, plan)
    for level, nodes in enumerate(asked):
        cost, opened = exchange.ask(data, table, replace(plan, nodes=len(nodes)), nodes)
        yield nodes, sealing + cost if level == 0 else replace(cost, seal=0.0), opened, table


def warmed(threads: int) -> Exchange:
    """Paillier with its tables made, which every key makes once; that is not counted."""
    exchange = Exchange(CIPHERS[PAILLIER](), threads)
    grown(exchange, Table.drawn(WARM.rows, WARM.columns, 32))
    return exchange


def beside_paillier(name: str, table: Table, trees: Trees, paillier: Exchange | None, sample: Sample) -> Iterator[Row]:
    """Seconds and bytes beside our Paillier's, from a sample of the rows and columns where there are many."""
    if paillier is None:
        return
    rows, columns = len(table.values), len(table.codes)
    measure = partial(paillier_tree, paillier, table.bins)
    theirs, extrapolated = estimated(measure, rows, columns, sample)
    told = f"{PAILLIER}{' (extrapolated)' if extrapolated else ''}"
    for layout, bar in BESIDE_PAILLIER.items():
        ours = trees.costs[layout]
        yield Row(f"{name}: {layout} / {told}, s", "generated", ours.seconds, theirs.seconds, bar, trees.others)
        limit = BYTES if layout == LINKED else None
        yield Row(f"{name}: {layout} / {told}, MB", "generated", ours.megabytes, theirs.megabytes, limit)
    if name == MILLION:
        seconds = sealing_seconds(table, paillier.threads)
        yield Row(f"sealing a million pairs / {told}, s", "generated", seconds, theirs.seal, SEALING, trees.others)


def paillier_tree(exchange: Exchange, bins: int, rows: int, columns: int) -> Cost:
    """One measured tree."""
    cost, right = grown(exchange, Table.drawn(rows, columns, bins))
    if not right:
        raise ArithmeticError("Paillier opened a wrong sum")
    return cost


def sealing_seconds(table: Table, threads: int) -> float:
    """All rows of the root sealed, made bytes and read."""
    exchange, nodes = Exchange(CIPHERS[LATTICE](), threads), levels(len(table.values))[0]
    plan = table.plan(nodes, RUN_TREES * int(table.widths.sum()) * CHANNELS)
    return min(exchange.seal(table, plan)[0].seal for _ in range(3))


def growing(taken: dict[int, float]) -> Iterator[Row]:
    """Seconds a row beside those of fewer rows: what more rows cost must not grow faster than they do."""
    fewer = sorted(taken)
    for few, many in pairwise(fewer):
        name = f"{many} / {few} rows x10x32: microseconds a row"
        yield Row(name, "generated", taken[many] * 1e6, taken[few] * 1e6, NEVER_GROWS)


def sketch_of(request: Request) -> Sketch | None:
    """The sketch that was named and built; one sentence where there is none."""
    found = find(request.sketch) if request.sketch else None
    if found is None:
        print("Left out, no built sketch was named (--sketch or HEDGEROW_SKETCH): the sketch's trees.", file=sys.stderr)
    return found
