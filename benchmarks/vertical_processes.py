"""A vertical run file in this process, and the same with every party in a process of its own, over gRPC on loopback."""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.sets import REPOSITORY
from hedgerow.data.table import Table
from hedgerow.demo.organisations import free_port
from hedgerow.identity import authority
from hedgerow.model import part as parts
from hedgerow.model.file import decoded
from hedgerow.run.file.read import open_run
from hedgerow.run.simulation import run_file
from hedgerow.trees.forest import Forest
from hedgerow.trees.params import TreeParams

LIMIT = 1800.0
"""Seconds after which a run has failed."""


@dataclass(frozen=True, eq=False)
class Ran:
    """Seconds of all trees, from joining on, and the joined forest."""

    seconds: float
    forest: Forest


class Place:
    """A folder with each party's columns as a file, certificates and a run file; the first party is the active one."""

    def __init__(self, folder: Path, parties: Mapping[str, Table], params: TreeParams, threads: int) -> None:
        self.folder, self.names, self.threads = folder, tuple(parties), threads
        for name, table in parties.items():
            write_columns(folder / f"{name}.csv", table)
        authority.make_ca(folder / "ca")
        prints = {made.name: made.fingerprint for made in authority.issue(folder / "ca", *self.names)}
        entries = "".join(
            f'[[party]]\nname = "{n}"\ndata = "{n}.csv"\nfingerprint = "{prints[n]}"\n' for n in self.names
        )
        self.file = folder / "run.toml"
        self.file.write_text(
            f'[run]\nname = "loopback"\nmethod = "vertical"\nactive = "{self.names[0]}"\n'
            f'[data]\nlabel = "y"\nid = "id"\ntask = "classify"\n[trees]\nn_estimators = {params.n_estimators}\n'
            f"max_depth = {params.max_depth}\nlearning_rate = {params.learning_rate}\nmax_bin = {params.max_bin}\n"
            f"gradient_bits = {params.gradient_bits}\n"
            f'[privacy]\nprotection = "lattice"\n'
            f'[driver]\naddress = "127.0.0.1:{free_port()}"\nca = "ca/ca.pem"\n{entries}'
        )

    def in_process(self) -> Ran:
        """All parties in this process."""
        options = run_file.Options(lambda *_: {}, self.folder / "simulated", threads=self.threads)
        done = run_file.train(open_run(self.file), options)
        return Ran(done.seconds, done.models[""].forest)

    def over_grpc(self) -> Ran:
        """Every party in a process of its own."""
        running = [self._start(name) for name in self.names]
        try:
            codes = [process.wait(LIMIT) for process in running]
        finally:
            for process in running:
                process.kill()
        if any(codes):
            raise RuntimeError(f"a party of the run over gRPC ended with {codes}; see {self.folder}")
        active, *others = self.names
        kept = {name: parts.decoded((self.folder / name / "part.json").read_bytes(), name) for name in others}
        model = parts.joined(decoded((self.folder / active / "model.json").read_bytes(), active), kept)
        told = json.loads((self.folder / active / "metrics.json").read_text())
        return Ran(sum(told["seconds_per_tree"]), model.forest)

    def _start(self, name: str) -> "subprocess.Popen[bytes]":
        what = ["drive", str(self.file)] if name == self.names[0] else ["join", str(self.file), "--as", name]
        keys = ["--cert", f"{self.folder}/ca/{name}.pem", "--key", f"{self.folder}/ca/{name}.key"]
        own = ["--data", f"{self.folder}/{name}.csv", "--folder", f"{self.folder}/{name}"]
        command = [sys.executable, "-m", "hedgerow", *what, *keys, *own, "--n-jobs", str(self.threads)]
        with (self.folder / f"{name}.out").open("wb") as out:
            return subprocess.Popen(command, cwd=REPOSITORY, stdin=subprocess.DEVNULL, stdout=out, stderr=out)


def write_columns(path: Path, table: Table, first: int = 0) -> None:
    """A party's columns, with row numbers from the first as ids and labels if it has them."""
    values = table.values if isinstance(table.values, np.ndarray) else table.values.toarray()
    heads, columns = ["id", *(f"c{name}" for name in table.names)], [np.arange(first, first + table.n_rows), *values.T]
    if table.labels is not None:
        heads, columns = [*heads, "y"], [*columns, table.labels]
    np.savetxt(path, np.column_stack(columns), "%.9g", ",", header=",".join(heads), comments="")
