"""Hybrid training beside vertical training over a link of 20 ms and 100 Mbit/s, with every party as a process.

One passive party has all passive columns and rows, as the vertical protocol needs; it dials through `sealed_slow_link`.
Both have the same trees of seven levels, the same bits of gradients and ciphertexts laid out for the link, and take
turns. A tree's seconds are the active party's, from its gradients to the last acknowledgement; the first tree, in which
processes warm up, is left out. Keys are among them, starting and linkage are not. The median is over the trees of all
turns; the quickest tree is the one that other work on the machine hindered least.
"""

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import sealed_slow_link
from benchmarks.horizontal_rows import Figure, Line, RatioAndGoal
from benchmarks.hybrid_time import DEPTH, MBIT, OVER_LINK, PASSIVE, ROUND_TRIP, SEED, SETS
from benchmarks.sealed_processes import Running
from benchmarks.sets import DataSet
from benchmarks.settings import Request
from benchmarks.vertical_processes import LIMIT, write_columns
from hedgerow.agreement.options import FEW_BITS
from hedgerow.data.hybrid_partition import HybridCut, hybrid
from hedgerow.data.table import Table
from hedgerow.demo.organisations import free_port
from hedgerow.identity import authority

FULL, QUICK = ("cod-rna", "a9a"), ("cod-rna",)
TREES, ROUNDS, FEWER_ROUNDS = 11, 3, 1
BITS = FEW_BITS
"""As vertical runs have them; hybrid runs have more unless told otherwise."""
ACTIVE, BANK = "active", "bank"
WAYS = {"vertical": "", "PPAAAAA": "PPAAAAA", "AAAAAPP": "AAAAAPP", "AAAAJJJ": "AAAAJJJ"}
"""Levels of the hybrid ones."""
BARS = {"AAAAJJJ": OVER_LINK}
SHEET = f"a tree over a link of {ROUND_TRIP * 1000:g} ms and {MBIT:g} Mbit/s, in processes"


@dataclass(frozen=True)
class Place:
    """A folder with both parties' columns and certificates."""

    folder: Path
    threads: int

    @classmethod
    def of(cls, folder: Path, data: DataSet, threads: int) -> "Place":
        """With the rows of a set, which both have in the same order."""
        split = data.load()
        dense = split.X_train.toarray() if hasattr(split.X_train, "toarray") else split.X_train
        table = Table.of(dense, split.y_train)
        made = hybrid(table, HybridCut(PASSIVE[data.name], parties=1, seed=SEED))
        ((_, passive),) = made.passive.items()
        own = np.argsort(made.active.row_keys())
        write_columns(folder / f"{ACTIVE}.csv", made.active.take(own))
        write_columns(folder / f"{BANK}.csv", passive.take(np.argsort(passive.row_keys())))
        authority.make_ca(folder / "ca")
        prints = {made.name: made.fingerprint for made in authority.issue(folder / "ca", ACTIVE, BANK)}
        (folder / "prints.json").write_text(json.dumps(prints))
        return cls(folder, threads)

    def seconds(self, way: str, turn: int, trees: int) -> list[float]:
        """Of every tree but the first, over a link of the run's own."""
        run, listen, dial = f"{way}-{turn}", free_port(), free_port()
        file = self._run_file(run, WAYS[way], listen, dial, trees)
        with Running() as running:
            running.add(sealed_slow_link.start(dial, listen, ROUND_TRIP, MBIT))
            words = {ACTIVE: ["drive", str(file)], BANK: ["join", str(file), "--as", BANK]}
            for name, command in words.items():
                keys = ["--cert", f"{self.folder}/ca/{name}.pem", "--key", f"{self.folder}/ca/{name}.key"]
                own = ["--data", f"{self.folder}/{name}.csv", "--folder", f"{self.folder}/{run}-{name}"]
                ledger = ["--ledger", f"{self.folder}/{run}.ledger"] if name == BANK else []
                command += [*keys, *own, *ledger, "--n-jobs", str(self.threads)]
                running.hedgerow(command, self.folder / f"{run}-{name}.out")
            running.ended(LIMIT)
        told = json.loads((self.folder / f"{run}-{ACTIVE}" / "metrics.json").read_text())
        return [float(seconds) for seconds in told["seconds_per_tree"][1:]]

    def _run_file(self, run: str, levels: str, listen: int, dial: int, trees: int) -> Path:
        prints = json.loads((self.folder / "prints.json").read_text())
        entries = "".join(f'[[party]]\nname = "{n}"\ndata = "{n}.csv"\nfingerprint = "{prints[n]}"\n' for n in prints)
        method, more = ("hybrid", f'levels = "{levels}"\nshared = false\n') if levels else ("vertical", "")
        file = self.folder / f"{run}.toml"
        file.write_text(
            f'[run]\nname = "{run}"\nmethod = "{method}"\nactive = "{ACTIVE}"\n'
            f'[data]\nlabel = "y"\nid = "id"\ntask = "classify"\n[trees]\nn_estimators = {trees}\n'
            f"max_depth = {DEPTH}\nlearning_rate = 0.1\nmax_bin = 32\ngradient_bits = {BITS}\n"
            f'[privacy]\nprotection = "lattice"\nlink_mbit = {MBIT}\nalign = "given"\n{more}'
            f'[driver]\naddress = "127.0.0.1:{dial}"\nlisten = "127.0.0.1:{listen}"\nca = "ca/ca.pem"\n{entries}'
        )
        return file


def run(request: Request) -> Iterator[Line]:
    """The lines of every set asked for."""
    for name in request.sets:
        with tempfile.TemporaryDirectory() as folder:
            yield from lines_of(SETS[name], Place.of(Path(folder), SETS[name], request.settings.threads), request)


def lines_of(data: DataSet, place: Place, request: Request) -> Iterator[Line]:
    """One set: all ways in turn, so many times."""
    rounds = FEWER_ROUNDS if request.quick else ROUNDS
    taken: dict[str, list[float]] = {way: [] for way in WAYS}
    for turn in range(rounds):
        for way, seconds in taken.items():
            seconds += place.seconds(way, turn, TREES)
    median = {way: float(np.median(seconds)) for way, seconds in taken.items()}
    for way in WAYS:
        bar: RatioAndGoal | None = BARS.get(way)
        figures: dict[str, Figure] = {
            "seconds": median[way], "of vertical": median[way] / median["vertical"], "quickest tree": min(taken[way]),
            "of vertical's": min(taken[way]) / min(taken["vertical"]), "bar": str(bar or ""),
        }  # fmt: skip
        told = f"{data.name}: {way}"
        yield Line(told, data.origin, median[way], median["vertical"], bar, sheet=SHEET, figures=figures)
