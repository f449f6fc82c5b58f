"""A model of two parties in files, and the processes that predict with it; a link between them may be slow."""

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from benchmarks import sealed_slow_link
from benchmarks.sealed_runs import LATTICE, Rows
from benchmarks.sets import REPOSITORY
from hedgerow.data.table import Table
from hedgerow.demo.organisations import free_port
from hedgerow.identity import authority
from hedgerow.identity.identity import Identity
from hedgerow.model import part as parts
from hedgerow.model.file import save
from hedgerow.model.model import Model
from hedgerow.run.file.read import open_run
from hedgerow.run.real.connect import Options
from hedgerow.run.real.rejoin import Scoring
from hedgerow.run.real.score_plan import Sealing
from hedgerow.run.real.scoring import scoring

RULES = "most_answers_per_id = 1000000\nmost_bits_per_id = 100000000\n"
"""Of an owner that lets rows be asked about as often as a benchmark does, and has the usual rules otherwise."""
READY_SECONDS = 120.0


@dataclass(frozen=True)
class Link:
    """Seconds of a round trip, and speed."""

    round_trip: float
    mbit: float


class Running:
    """Processes that are ended together, and what each has said."""

    def __init__(self) -> None:
        self._processes: list[subprocess.Popen[bytes]] = []
        self._commands: list[tuple[str, subprocess.Popen[bytes], Path]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for process in reversed(self._processes):
            process.kill()
            process.wait()

    def add(self, process: "subprocess.Popen[bytes]") -> None:
        """One more."""
        self._processes.append(process)

    def ended(self, within: float) -> None:
        """Wait until all commands are done; none may fail."""
        end = time.monotonic() + within
        left = self._commands
        while left and time.monotonic() < end:
            for words, process, out in left:
                if process.poll():
                    raise RuntimeError(f"`hedgerow {words}` ended with {process.returncode}: {out.read_text()[-500:]}")
            left = [each for each in left if each[1].poll() is None]
            time.sleep(0.02)
        if left:
            raise RuntimeError(f"`hedgerow {left[0][0]}` did not end within {within:g} seconds")

    def hedgerow(self, words: Sequence[str], out: Path, ready: str = "", module: str = "hedgerow") -> int:
        """Start a command, wait until it has said so, and return the number of its process."""
        with out.open("wb") as file:
            command = [sys.executable, "-m", module, *words]
            process = subprocess.Popen(command, cwd=REPOSITORY, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
        self.add(process)
        self._commands.append((" ".join(words), process, out))
        end = time.monotonic() + READY_SECONDS
        while ready not in out.read_text():
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"`hedgerow {words[0]}` did not get ready: {out.read_text()}")
            time.sleep(0.01)
        return process.pid


class SealedPlace:
    """A folder with all that the two parties have: the active one's model, the other's part, and rows of both."""

    def __init__(self, folder: Path, model: Model, rows: Rows, threads: int) -> None:
        self.folder, self.threads, self.rows = folder, threads, rows
        self.active, self.passive = rows
        for name, table in rows.items():
            write_rows(folder / f"{name}.csv", table)
        self.model = parts.active_part_of(model)
        save(self.model, folder / "model.json")
        (folder / "part.json").write_bytes(parts.encoded(parts.part_of(model, self.passive)))
        (folder / "policy.toml").write_text(RULES)
        authority.make_ca(folder / "ca")
        self.prints = {made.name: made.fingerprint for made in authority.issue(folder / "ca", *rows)}

    def keys(self, name: str) -> list[str]:
        """A party's certificate and key, as options."""
        return ["--cert", f"{self.folder}/ca/{name}.pem", "--key", f"{self.folder}/ca/{name}.key"]

    def identity(self) -> Identity:
        """The active party's."""
        return Identity.load(self.folder / "ca" / f"{self.active}.pem", self.folder / "ca" / f"{self.active}.key")

    def run_file(self, name: str, running: Running, link: Link | None) -> Path:
        """A run file, for parties that meet through a link of their own, or directly."""
        listen = dial = free_port()
        if link is not None:
            dial = free_port()
            running.add(sealed_slow_link.start(dial, listen, link.round_trip, link.mbit))
        entries = "".join(
            f'[[party]]\nname = "{n}"\ndata = "{n}.csv"\nfingerprint = "{self.prints[n]}"\n' for n in self.rows
        )
        file = self.folder / f"{name}.toml"
        file.write_text(
            f'[run]\nname = "{name}"\nmethod = "vertical"\nactive = "{self.active}"\n'
            f'[data]\nlabel = "y"\nid = "id"\ntask = "classify"\n[privacy]\nprotection = "lattice"\n'
            f'[driver]\naddress = "127.0.0.1:{dial}"\nlisten = "127.0.0.1:{listen}"\nca = "ca/ca.pem"\n{entries}'
        )
        return file

    def serve(self, running: Running, run_file: Path) -> int:
        """The passive party answers sealed predictions."""
        serving = run_file.with_suffix(".serving.toml")
        serving.write_text(
            f'name = "{self.passive}"\ncert = "ca/{self.passive}.pem"\nkey = "ca/{self.passive}.key"\n'
            f'policy = "policy.toml"\nfolder = "{run_file.stem}-serving"\n'
            f'[[model]]\nrun = "{run_file.name}"\npart = "part.json"\ndata = "{self.passive}.csv"\nid = "id"\n'
        )
        words = ["serve", str(serving), "--n-jobs", str(self.threads)]
        return running.hedgerow(words, run_file.with_suffix(".passive.out"))

    def answer(self, running: Running, run_file: Path) -> int:
        """The passive party tells which way rows go."""
        own = ["--part", str(self.folder / "part.json"), "--data", str(self.folder / f"{self.passive}.csv")]
        words = ["answer", str(run_file), "--as", self.passive, *own, *self.keys(self.passive)]
        return running.hedgerow(words, run_file.with_suffix(".passive.out"))

    def stay(self, running: Running, run_file: Path, port: int) -> int:
        """The active party scores rows for local clients."""
        words = ["predict", str(self.folder / "model.json"), "--with", str(run_file), *self.keys(self.active)]
        here = ["--listen", f"127.0.0.1:{port}", "--token-file", str(self.folder / "token")]
        words += ["--sealed", "--serve", *here, "--n-jobs", str(self.threads)]
        return running.hedgerow(words, run_file.with_suffix(".active.out"), ready="Scoring rows at")

    @contextmanager
    def scoring(self, run_file: Path) -> Iterator[Scoring]:
        """The active party of a sealed prediction in this process, joined."""
        options = Options(run_file.with_suffix(".active"), threads=self.threads)
        with scoring(open_run(run_file), self.model, self.identity(), Sealing(LATTICE), options) as scored:
            yield scored


def write_rows(path: Path, table: Table) -> None:
    """A party's columns by their names, with ids; a missing value is an empty cell."""
    values = np.asarray(table.values)
    cells = np.where(np.isnan(values), "", np.char.mod("%.9g", values))
    ids = np.arange(table.n_rows) if table.ids is None else table.ids
    lines = [",".join(["id", *table.names])]
    lines += [f"{one},{','.join(row)}" for one, row in zip(ids.tolist(), cells.tolist(), strict=True)]
    path.write_text("\n".join(lines) + "\n")
