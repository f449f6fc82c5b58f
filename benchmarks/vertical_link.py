"""What vertical runs between two processes cost: over loopback, and over a link of 20 ms and 100 Mbit/s.

`hedgerow drive` and `hedgerow join` run a file that names no link and has the usual options otherwise, but for the bins
of some: the speed is measured when the parties meet. The slow link is `sealed_slow_link`, between two processes of this
machine. Bytes and processor seconds are what a longer run takes more than one of a single tree; seconds are those of
all trees.

Where other work shares the machine, computing takes longer and the link does not, so that the measured ratio is too
low. So a ratio is also computed, for two cores that do nothing else: from processor seconds, and over the link the time
of bytes and round trips on top. It is what the bar holds for.
"""

import json
import resource
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks import sealed_slow_link
from benchmarks.horizontal_rows import Figure, Line
from benchmarks.quiet import Neighbours
from benchmarks.rows import RatioAtMost
from benchmarks.sealed_processes import Link, Running
from benchmarks.sets import SETS as OTHERS
from benchmarks.settings import Request
from benchmarks.vertical_processes import Place
from hedgerow.agreement.options import FEW_BITS
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.demo.organisations import free_port
from hedgerow.trees.params import TreeParams

SLOW = Link(0.02, 100.0)
CORES = 2
TREES, FEWER_TREES = 50, 5
USUAL, FEW = 255, 32
"""Bins: of the usual options, and of the other benchmarks."""
BYTES, SLOWER = RatioAtMost(1.0), RatioAtMost(2.0)
MOST_BYTES = 6e6
"""A tree of credit1 with 32 bins."""
SHEET = f"a tree, two processes, link measured: loopback, and {SLOW.round_trip * 1000:g} ms and {SLOW.mbit:g} Mbit/s"


@dataclass(frozen=True)
class Case:
    """A table, all its rows, that two parties have half the columns of."""

    name: str
    bins: int

    @property
    def at_hand(self) -> bool:
        """Whether its file is there."""
        return self.name == "breast" or OTHERS[self.name].at_hand

    def load(self) -> Table:
        """Its rows."""
        if self.name == "breast":
            from sklearn.datasets import load_breast_cancer

            found = load_breast_cancer()
            return Table.of(found.data, found.target)
        split = OTHERS[self.name].load()
        return Table.of(np.vstack([split.X_train, split.X_test]), np.concatenate([split.y_train, split.y_test]))


SETS = {"credit1": Case("credit1", USUAL), "credit1-32": Case("credit1", FEW), "breast-32": Case("breast", FEW)}
"""With all bins, and with 32."""
FULL, QUICK = tuple(SETS), ("credit1-32", "breast-32")


@dataclass(frozen=True)
class Taken:
    """What a run of so many trees took: seconds of its trees and of both processors, bytes, exchanges, the speed."""

    trees: int
    seconds: float
    processor: float
    bytes: int
    measuring: int
    trips: int
    mbit: float

    def since(self, first: "Taken") -> "Taken":
        """A mean tree, without what every run takes."""
        more = self.trees - first.trees
        return replace(
            self, trees=1, seconds=self.seconds / self.trees, processor=(self.processor - first.processor) / more,
            bytes=(self.bytes - first.bytes) // more, trips=(self.trips - first.trips) // more,
        )  # fmt: skip

    @property
    def alone(self) -> float:
        """Seconds of computing on cores that do nothing else."""
        return self.processor / CORES

    @property
    def over_link(self) -> float:
        """With what the link takes."""
        return self.alone + self.bytes * 8e-6 / SLOW.mbit + self.trips * SLOW.round_trip


def run(request: Request) -> Iterator[Line]:
    """A line for bytes and one for seconds, of every case."""
    trees = FEWER_TREES if request.quick else TREES
    for name in request.sets:
        case = SETS[name]
        table = case.load()
        with Neighbours() as neighbours:
            near, far = (_mean_tree(table, case, trees, link, request.settings.threads) for link in (None, SLOW))
        yield from _lines(name, near, far, neighbours.cores)


def _lines(name: str, near: Taken, far: Taken, others: float | None) -> Iterator[Line]:
    for what, ours, peer, bar in (
        ("bytes over the link, of 6 MB", far.bytes, MOST_BYTES, BYTES if name == "credit1-32" else None),
        (
            "seconds computed, of loopback's",
            far.over_link,
            near.alone,
            SLOWER if name == "credit1" else None,
        ),
        ("seconds measured, of loopback's", far.seconds, near.seconds, None),
    ):
        figures: dict[str, Figure] = {
            "MB": far.bytes / 1e6, "loopback MB": near.bytes / 1e6, "measuring MB": far.measuring / 1e6,
            "laid out for": far.mbit, "loopback's": near.mbit, "ours": float(ours), "peer": float(peer),
            "ratio": ours / peer, "bar": str(bar or ""),
        }  # fmt: skip
        yield Line(f"{name}: {what}", "real", ours, peer, bar, others, SHEET, figures)


def _mean_tree(table: Table, case: Case, trees: int, link: Link | None, threads: int) -> Taken:
    first, whole = (_run(table, case, n, link, threads) for n in (1, trees))
    return whole.since(first)


def _run(table: Table, case: Case, trees: int, link: Link | None, threads: int) -> Taken:
    """One run, in a folder of its own."""
    params = TreeParams(n_estimators=trees, max_bin=case.bins, gradient_bits=FEW_BITS)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder, Running() as running:
        place = Place(Path(folder), partition.columns(table, n=2), params, threads)
        if link is not None:
            _slowed(place, running, link)
        seconds = place.over_grpc().seconds
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        told = json.loads((Path(folder) / place.names[0] / "manifest.json").read_text())
    said = told["messages"]
    return Taken(
        trees, seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        sum(row["bytes"] for row in said), sum(row["bytes"] for row in said if row["type"] in ("Probe", "Echo")),
        sum(row["messages"] for row in said if row["direction"] == "to" and row["type"] != "Probe"),
        min(one["mbit"] for one in told["link"]["measured"]),
    )  # fmt: skip


def _slowed(place: Place, running: Running, link: Link) -> None:
    """Parties dial the link, which leads to where the driver listens."""
    text, dial = place.file.read_text(), free_port()
    address = text.split('address = "127.0.0.1:')[1].split('"')[0]
    running.add(sealed_slow_link.start(dial, int(address), link.round_trip, link.mbit))
    listen = f'address = "127.0.0.1:{dial}"\nlisten = "127.0.0.1:{address}"'
    place.file.write_text(text.replace(f'address = "127.0.0.1:{address}"', listen))
