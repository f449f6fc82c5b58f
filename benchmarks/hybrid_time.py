"""Seconds, bytes and exchanges of hybrid runs under lattice encryption, beside the same run by the vertical protocol.

All trees have seven levels. *Merged* means that one passive party has all passive columns and rows, as the vertical
protocol needs; else five share them. Seconds are the processor's, of all parties together, so that other work on the
machine matters little. They and bytes are of all messages from the first tree on, and keys are among them; linkage
comes before. For a link of 20 ms and 100 Mbit/s ciphertexts are laid out for it, and to the processor's seconds, dealt
to two cores, its seconds are added for the bytes of the busiest passive party, which has a link of its own, and for
each exchange. `hybrid_link` measures that between processes.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from time import process_time
from typing import Any

from benchmarks.horizontal_rows import Figure, Line, RatioAndGoal
from benchmarks.horizontal_turns import Taken, take_turns
from benchmarks.rows import RatioAtMost
from benchmarks.sets import SETS as TABLES
from benchmarks.sets import DataSet
from benchmarks.settings import Request
from hedgerow.agreement.options import FEW_BITS, LEAST_CUT_ROWS, Hybrid, Lattice, Vertical
from hedgerow.agreement.plan import Goal, Plan
from hedgerow.corridor import messages as m
from hedgerow.data.hybrid_partition import HybridCut, HybridTables, hybrid
from hedgerow.data.table import Table
from hedgerow.run.simulation.parties import Simulation, members
from hedgerow.run.simulation.party_tables import settled
from hedgerow.run.simulation.simulate import simulate
from hedgerow.trees.forest import Forest
from hedgerow.trees.params import TreeParams

SETS = {name: TABLES[name] for name in ("cod-rna", "a9a")}
FULL, QUICK = ("cod-rna", "a9a"), ("cod-rna",)
PASSIVE: Mapping[str, Any] = {"cod-rna": [0, 1], "a9a": 103}
"""Passive columns: of cod-rna those without which there is a gap, of a9a all but twenty."""
PARTIES, DEPTH, TREES, FEWER_TREES, ROUNDS = 5, 7, 10, 3, 3
SEED = 11
CORES = 2

ROUND_TRIP, MBIT = 0.02, 100.0
HALF = RatioAndGoal(0.5, 0.25)
OVER_LINK = RatioAndGoal(0.7, 0.4)


@dataclass(frozen=True)
class Way:
    """One way of growing the trees: a schedule, over passive parties that are merged or share their columns."""

    name: str
    levels: str
    parties: int
    bars: Mapping[str, RatioAndGoal | RatioAtMost] = field(default_factory=dict)

    @property
    def asked(self) -> int:
        """Levels at which passive parties are asked."""
        return len(self.levels.replace("A", ""))


VERTICAL = Way("vertical, merged", "", 1)
WAYS = (
    Way("PPAAAAA, merged", "PPAAAAA", 1, {"seconds": HALF, "MB": HALF}),
    Way("PPAAAAA, five share", "PPAAAAA", PARTIES),
    Way("AAAAAPP, merged", "AAAAAPP", 1),
    Way("AAAAJJJ (default), merged", "AAAAJJJ", 1, {"link s": OVER_LINK}),
    Way("AAAAJJJ (default), five share", "AAAAJJJ", PARTIES),
)


@dataclass
class Crossed:
    """What crossed in the trees of a run."""

    by_party: Counter[str] = field(default_factory=Counter)
    keys: int = 0
    exchanges: set[tuple[str, int, int]] = field(default_factory=set)
    begun: float = 0.0
    """The processor's seconds when the first tree began."""

    def __call__(self, sender: str, receiver: str, message: Any, frame: Any) -> None:
        """Count a message."""
        if isinstance(message, m.BeginSealed) and not self.begun:
            self.begun = process_time()
        if not self.begun:
            return
        self.by_party[receiver if isinstance(message, m.Request) else sender] += len(frame)
        if isinstance(message, m.AskSealedSums | m.AskSides | m.EndRound):
            level = getattr(message, "level", 0)
            self.exchanges.add((type(message).__name__, message.round, level))
            self.keys += len(getattr(message, "public_key", b""))


@dataclass(frozen=True, eq=False)
class Grown:
    """A run's forest, and what it took beside seconds."""

    forest: Forest
    crossed: Crossed
    seconds: float

    @property
    def on_link(self) -> float:
        """Seconds over the link, where each passive party has one of its own."""
        busiest = max(self.crossed.by_party.values(), default=0)
        return self.seconds / CORES + busiest * 8 / (MBIT * 1e6) + len(self.crossed.exchanges) * ROUND_TRIP


def run(request: Request) -> Iterator[Line]:
    """The lines of every set asked for."""
    for name in request.sets:
        yield from lines_of(SETS[name], request)


def lines_of(data: DataSet, request: Request) -> Iterator[Line]:
    """One set: all ways in turn."""
    split = data.load()
    dense = split.X_train if hasattr(split.X_train, "dtype") and not hasattr(split.X_train, "toarray") else None
    table = Table.of(split.X_train.toarray() if dense is None else dense, split.y_train)
    made = {n: hybrid(table, HybridCut(PASSIVE[data.name], parties=n, seed=SEED)) for n in (1, PARTIES)}
    trees, rounds = (FEWER_TREES, 1) if request.quick else (TREES, ROUNDS)
    params = TreeParams(
        n_estimators=trees, max_depth=DEPTH, learning_rate=0.1, max_bin=32, gradient_bits=FEW_BITS,
        min_cut_rows=LEAST_CUT_ROWS,
    )  # fmt: skip
    for link in (None, MBIT):
        fits = {way.name: partial(grown, made[way.parties], way, params, link, request) for way in (VERTICAL, *WAYS)}
        taken = take_turns(fits, rounds)
        for way in (VERTICAL, *WAYS):
            yield from compared(data, way, taken[way.name], taken[VERTICAL.name], link, trees)


def grown(made: HybridTables, way: Way, params: TreeParams, link: float | None, request: Request) -> Grown:
    """The trees, and what crossed for them."""
    tables = {"active": made.active, **made.passive}
    shared = way.parties > 1
    method: Vertical = Hybrid(Lattice(link), active="active", align="given", levels=way.levels, shared=shared)
    if way is VERTICAL:
        (passive,) = made.passive.values()
        rows = {text: row for row, text in enumerate(passive.ids.tolist())} if passive.ids is not None else {}
        order = [rows[text] for text in (made.active.ids.tolist() if made.active.ids is not None else ())]
        tables = {"active": made.active, "passive1": passive.take(order)}
        method = Vertical(Lattice(link), active="active")
    who, identities = members(list(tables))
    plan = Plan("benchmark", who, Goal(), params, settled(method, tables, {}))
    crossed = Crossed()
    threads = request.settings.threads
    simulation = Simulation(tables, threads=threads, listeners=(crossed,), identities=identities)
    model, _ = simulate(plan, simulation)
    return Grown(model.forest, crossed, process_time() - crossed.begun)


def compared(data: DataSet, way: Way, ours: Taken, theirs: Taken, link: float | None, trees: int) -> Iterator[Line]:
    """A way beside the vertical protocol: seconds, bytes, and over the link both."""
    own, peer = figures_of(ours, trees), figures_of(theirs, trees)
    sheet = "a tree, laid out for " + ("loopback" if link is None else f"{ROUND_TRIP * 1000:g} ms and {MBIT:g} Mbit/s")
    most = 2 * way.asked + 1 if way.levels else None
    for name in ("seconds", "MB", "link s"):
        if (name == "link s") and link is None:
            continue
        bar = way.bars.get(name)
        figures: dict[str, Figure] = {
            "hybrid": own[name], "vertical": peer[name], "ratio": own[name] / peer[name],
            "keys MB": own["keys MB"], "exchanges": own["exchanges"], "at most": most, "bar": str(bar or ""),
        }  # fmt: skip
        told = f"{data.name}: {way.name}, {name}"
        yield Line(told, data.origin, own[name], peer[name], bar, sheet=sheet, figures=figures)


def figures_of(taken: Taken, trees: int) -> dict[str, float]:
    """Of one tree."""
    made: Grown = taken.made
    return {
        "seconds": made.seconds / trees,
        "MB": sum(made.crossed.by_party.values()) / trees / 1e6,
        "link s": made.on_link / trees,
        "keys MB": made.crossed.keys / trees / 1e6,
        "exchanges": len(made.crossed.exchanges) / trees,
    }
