"""Horizontal and vertical runs with every party in a process of its own, directly or over a slow link.

`python -m benchmarks.party_processes drive RUN ...` is `hedgerow drive` that asks for the sums of one node at a time,
as programs do that talk node by node; everything else is as usual.
"""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import sealed_slow_link
from benchmarks.sealed_processes import Link, Running
from benchmarks.vertical_processes import LIMIT, write_columns
from hedgerow.agreement.options import FEW_BITS
from hedgerow.data.table import Table
from hedgerow.demo.organisations import free_port
from hedgerow.identity import authority
from hedgerow.trees.params import TreeParams
from hedgerow.trees.splits import Nodes

Histograms = Callable[[Any, Nodes], NDArray[np.int64]]

DRIVER = "driver"
KEYS = (
    "n_estimators", "max_depth", "learning_rate", "max_bin", "reg_lambda", "gamma", "min_child_weight", "min_cut_rows",
)  # fmt: skip
"""Of a run file's section on trees."""


@dataclass(frozen=True)
class Ran:
    """What a run took: seconds of each tree, and what crossed, both ways of all parties."""

    seconds: tuple[float, ...]
    messages: int
    megabytes: float

    @property
    def total(self) -> float:
        """Seconds of all trees."""
        return sum(self.seconds)


class Office:
    """A folder with each party's table as a file, certificates, and a run file for each run."""

    def __init__(
        self, folder: Path, mode: str, parties: Mapping[str, Table], params: TreeParams, threads: int, classes: int
    ) -> None:
        self.folder, self.mode, self.params, self.threads = folder, mode, params, threads
        self.classes = classes
        self.names = tuple(parties)
        self.task = "classify" if classes else "regress"
        first = 0
        for name, table in parties.items():
            write_columns(folder / f"{name}.csv", table, first)
            first += 0 if mode == "vertical" else table.n_rows
        (folder / "policy.toml").write_text("" if mode == "vertical" else "allow_two = true\nfewest_parties = 2\n")
        authority.make_ca(folder / "ca")
        made = authority.issue(folder / "ca", *dict.fromkeys((self.driver, *self.names)))
        self.prints = {each.name: each.fingerprint for each in made}

    @property
    def driver(self) -> str:
        """Who drives: a party with the labels, or one that holds nothing."""
        return self.names[0] if self.mode == "vertical" else DRIVER

    def run(self, name: str, link: Link | None = None, node_by_node: bool = False) -> Ran:
        """All parties, until the model is there."""
        listen = dial = free_port()
        with Running() as running:
            if link is not None:
                dial = free_port()
                running.add(sealed_slow_link.start(dial, listen, link.round_trip, link.mbit))
            file = self._run_file(name, listen, dial)
            drive = ["drive", str(file), *self._keys(self.driver), "--folder", f"{self.folder}/{name}-{self.driver}"]
            drive += ["--data", f"{self.folder}/{self.driver}.csv"] if self.mode == "vertical" else []
            drive += ["--n-jobs", str(self.threads)]
            module = "benchmarks.party_processes" if node_by_node else "hedgerow"
            running.hedgerow(drive, self.folder / f"{name}-{self.driver}.out", module=module)
            for party in self.names[1:] if self.mode == "vertical" else self.names:
                own = ["--data", f"{self.folder}/{party}.csv", "--folder", f"{self.folder}/{name}-{party}"]
                own += ["--policy", f"{self.folder}/policy.toml", "--ledger", f"{self.folder}/{name}-{party}.ledger"]
                words = ["join", str(file), "--as", party, *self._keys(party), *own, "--n-jobs", str(self.threads)]
                running.hedgerow(words, self.folder / f"{name}-{party}.out")
            running.ended(LIMIT)
        return told(self.folder / f"{name}-{self.driver}")

    def _keys(self, name: str) -> list[str]:
        return ["--cert", f"{self.folder}/ca/{name}.pem", "--key", f"{self.folder}/ca/{name}.key"]

    def _run_file(self, name: str, listen: int, dial: int) -> Path:
        vertical = self.mode == "vertical"
        trees = {key: getattr(self.params, key) for key in KEYS}
        if vertical:
            trees["gradient_bits"] = FEW_BITS
        lines = ["[run]", f'name = "{name}"', f'method = "{self.mode}"']
        lines += [f'active = "{self.driver}"'] if vertical else []
        lines += ["[data]", 'label = "y"', 'id = "id"', f'task = "{self.task}"', "[trees]"]
        lines += [f"{key} = {value}" for key, value in trees.items()]
        lines += ["[privacy]", 'protection = "lattice"' if vertical else "allow_two = true"]
        lines += ["[driver]", f'address = "127.0.0.1:{dial}"', f'listen = "127.0.0.1:{listen}"', 'ca = "ca/ca.pem"']
        lines += [] if vertical else [f'fingerprint = "{self.prints[DRIVER]}"']
        for party in self.names:
            lines += ["[[party]]", f'name = "{party}"', f'fingerprint = "{self.prints[party]}"']
            lines += [f'data = "{party}.csv"'] if vertical else []
        file = self.folder / f"{name}.toml"
        file.write_text("\n".join(lines) + "\n")
        return file


def told(folder: Path) -> Ran:
    """What a driver's folder says."""
    seconds = json.loads((folder / "metrics.json").read_text())["seconds_per_tree"]
    messages = json.loads((folder / "manifest.json").read_text())["messages"]
    crossed = sum(row["bytes"] for row in messages)
    return Ran(tuple(seconds), sum(row["messages"] for row in messages), crossed / 1e6)


def node_by_node() -> None:
    """From here on, sums are asked for one node at a time."""
    from hedgerow.protocols.horizontal.driver import HorizontalRows
    from hedgerow.protocols.vertical.active import VerticalRows

    for rows in (HorizontalRows, VerticalRows):
        rows.histograms = _one_by_one(rows.histograms)  # type: ignore[method-assign, assignment]


def _one_by_one(whole: Histograms) -> Histograms:
    def histograms(rows: Any, nodes: Nodes) -> NDArray[np.int64]:
        return np.concatenate([whole(rows, nodes.at(np.array([i]))) for i in range(len(nodes.tree))])

    return histograms


if __name__ == "__main__":
    from hedgerow.cli import main

    node_by_node()
    sys.argv = ["hedgerow", *sys.argv[1:]]
    main()
