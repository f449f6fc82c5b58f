"""HybridTree's table 7: how training is shared out between the active party and the passive ones.

Processor seconds of a run under lattice encryption with one thread: what passes while passive parties answer, all of
them together, and all else, from the first tree on; beside them those of one table with all columns, grown by the same
levels. All trees have seven levels, of which the last two are the passive parties', who share their columns.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import process_time, thread_time
from typing import Any

from benchmarks.horizontal_rows import Figure, Line, SameForest
from benchmarks.hybrid_time import DEPTH, FEWER_TREES, PARTIES, PASSIVE, SEED, TREES
from benchmarks.hybrid_time import SETS as SETS
from benchmarks.hybrid_twin import train_by
from benchmarks.sets import DataSet
from benchmarks.settings import Request
from hedgerow.agreement.options import FEW_BITS, LEAST_CUT_ROWS, Hybrid, Lattice
from hedgerow.agreement.plan import Goal, Plan
from hedgerow.corridor import messages as m
from hedgerow.data.hybrid_partition import HybridCut, HybridTables, hybrid
from hedgerow.data.table import Table
from hedgerow.model.train import Task
from hedgerow.run.simulation.parties import Simulation, members
from hedgerow.run.simulation.party_tables import settled
from hedgerow.run.simulation.simulate import simulate
from hedgerow.transports.inproc import InProcess
from hedgerow.trees.forest import Forest
from hedgerow.trees.losses import Loss
from hedgerow.trees.params import TreeParams

FULL, QUICK = tuple(SETS), ("cod-rna",)
LEVELS = "AAAAAPP"
SHEET = "table 7, whose processor seconds training takes"
PUBLISHED: Mapping[str, tuple[float, float, float]] = {"a9a": (1.1, 0.9, 1.1), "cod-rna": (0.6, 0.4, 0.6)}
"""Seconds of the active party, of the passive ones, and of everything in one table."""


class Watch:
    """Tells the seconds of passive parties' answers from all others; a listener."""

    def __init__(self) -> None:
        self.begun = self.passive = 0.0

    def __call__(self, sender: str, receiver: str, message: Any, frame: Any) -> None:  # noqa: ARG002
        """Before the first tree nothing counts."""
        if isinstance(message, m.BeginSealed) and not self.begun:
            self.begun, self.passive = process_time(), 0.0

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Around a run whose parties are all in this process."""
        carry = InProcess.carry

        def watched(transport: InProcess, *asked: Any) -> Any:
            began = thread_time()
            try:
                return carry(transport, *asked)
            finally:
                self.passive += thread_time() - began

        InProcess.carry = watched  # type: ignore[method-assign, assignment]
        try:
            yield
        finally:
            InProcess.carry = carry  # type: ignore[method-assign]


def run(request: Request) -> Iterator[Line]:
    """A line for every set asked for."""
    for name in request.sets:
        yield line(SETS[name], FEWER_TREES if request.quick else TREES)


def line(data: DataSet, trees: int) -> Line:
    """One set."""
    split = data.load()
    dense = split.X_train.toarray() if hasattr(split.X_train, "toarray") else split.X_train
    made = hybrid(Table.of(dense, split.y_train), HybridCut(PASSIVE[data.name], parties=PARTIES, seed=SEED))
    params = TreeParams(
        n_estimators=trees, max_depth=DEPTH, learning_rate=0.1, max_bin=32, gradient_bits=FEW_BITS,
        min_cut_rows=LEAST_CUT_ROWS,
    )  # fmt: skip
    forest, active, passive = shared_out(made, params)
    began = process_time()
    whole = train_by(made.pooled(), params, Task(Loss("logistic"), (0, 1), threads=1), LEVELS, made.active.n_columns)
    together = process_time() - began
    theirs = PUBLISHED.get(data.name, (None, None, None))
    figures: dict[str, Figure] = {
        "trees": trees,
        "active s/tree": active / trees,
        "passive s/tree": passive / trees,
        "one table s/tree": together / trees,
        **dict(zip(("their active", "their passive", "their one table"), theirs, strict=True)),
    }
    bar = SameForest(forest == whole.forest)
    return Line(data.name, data.origin, active + passive, together, bar, sheet=SHEET, figures=figures)


def shared_out(made: HybridTables, params: TreeParams) -> tuple[Forest, float, float]:
    """A run's forest, and the processor's seconds of the active party and of the passive ones."""
    tables = {"active": made.active, **made.passive}
    method = Hybrid(Lattice(), active="active", align="given", levels=LEVELS, shared=True)
    who, identities = members(list(tables))
    plan, watch = Plan("benchmark", who, Goal(), params, settled(method, tables, {})), Watch()
    with watch.watching():
        model, _ = simulate(plan, Simulation(tables, threads=1, listeners=(watch,), identities=identities))
    return model.forest, process_time() - watch.begun - watch.passive, watch.passive
