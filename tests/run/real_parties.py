"""Drivers and parties of a small run with certificates: in threads, or in processes that can be killed."""

import csv
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

from hedgerow.agreement.policy import Policy
from hedgerow.demo.organisations import free_port
from hedgerow.errors import HedgerowError
from hedgerow.identity import authority
from hedgerow.identity.identity import Identity
from hedgerow.run.file.read import open_run
from hedgerow.run.real.connect import Options
from hedgerow.run.real.join import Joining, join
from hedgerow.run.real.own_tables import Own
from hedgerow.run.real.train import train

NAMES = ("alice", "bob", "carol")
TREES = "n_estimators = 5\nmax_depth = 3"


def write_rows(path: Path, seed: int, header: tuple[str, ...] = ("a", "b", "c", "y")) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 3)).round(3)
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=150) > 0, "yes", "no")
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *([*x, label] for x, label in zip(X.tolist(), y, strict=True))])


def make_certificates(folder: Path) -> dict[str, authority.Certificate]:
    authority.make_ca(folder)
    return {made.name: made for made in authority.issue(folder, "driver", *NAMES)}


class World:
    """A folder with a run file, three parties' rows, and a CA that lies elsewhere."""

    def __init__(
        self, folder: Path, made: dict[str, authority.Certificate], trees: str = TREES, more: str = "", **driver
    ):
        self.folder, self.made = folder, made
        self.ca = made["driver"].file.parent
        settings = {"patience": 10, "deadline": 10, "address": f'"localhost:{free_port()}"', **driver}
        self.file = folder / "run.toml"
        for seed, name in enumerate(NAMES):
            write_rows(folder / f"{name}.csv", seed)
        parties = "".join(
            f'[[party]]\nname = "{n}"\ndata = "{n}.csv"\nfingerprint = "{made[n].fingerprint}"\n' for n in NAMES
        )
        lines = "\n".join(f"{key} = {value}" for key, value in settings.items())
        self.file.write_text(
            f'[run]\nname = "small"\n[data]\nlabel = "y"\ntask = "classify"\n[validation]\nshare = 0.2\n'
            f'[trees]\n{trees}\n{more}\n[driver]\nca = "{self.ca / "ca.pem"}"\n'
            f'fingerprint = "{made["driver"].fingerprint}"\n{lines}\n{parties}'
        )

    def words(self, role: str, *more: str, folder: str | None = None) -> list[str]:
        """The command of the driver, or of a party."""
        keys = ["--cert", str(self.ca / f"{role}.pem"), "--key", str(self.ca / f"{role}.key")]
        own = ["--folder", str(self.folder / (folder or role))]
        if role == "driver":
            return ["drive", str(self.file), *keys, *own, *more]
        data = [] if "--data" in more else ["--data", str(self.folder / f"{role}.csv")]
        return ["join", str(self.file), "--as", role, *data, *keys, *own, *more]

    def identity(self, role: str) -> Identity:
        return Identity.load(self.ca / f"{role}.pem", self.ca / f"{role}.key")

    def drive(self, **more) -> "InThread":
        options = Options(self.folder / "driver", **more)
        return InThread(train, open_run(self.file), self.identity("driver"), options)

    def join(
        self,
        name: str,
        file: Path | None = None,
        policy: Policy = Policy(),  # noqa: B008
        valid: Path | None = None,
        **more,
    ) -> "InThread":
        own = Own(self.folder / f"{name}.csv", valid)
        joining = Joining(name, own, self.identity(name), policy)
        return InThread(join, open_run(file or self.file), joining, Options(self.folder / name, **more))

    def model(self, role: str) -> bytes:
        return (self.folder / role / "model.json").read_bytes()


class InThread(threading.Thread):
    """A driver or a party; `result` is what it returned or raised."""

    def __init__(self, call, *arguments) -> None:
        super().__init__(daemon=True)
        self.result: object = None
        self._call, self._arguments = call, arguments
        self.start()

    def run(self) -> None:
        try:
            self.result = self._call(*self._arguments)
        except (HedgerowError, KeyboardInterrupt) as error:
            self.result = error

    def ended(self, seconds: float = 120.0) -> object:
        self.join(seconds)
        assert not self.is_alive(), "it did not end"
        return self.result


class Process:
    """A command in a process of its own, and what it said."""

    def __init__(self, words: list[str], out: Path) -> None:
        self.out = out
        with out.open("ab") as file:
            self._process = subprocess.Popen([sys.executable, "-m", "hedgerow", *words], stdout=file, stderr=file)

    def wait_for(self, text: str, seconds: float = 120.0) -> None:
        end = time.monotonic() + seconds
        while text not in self.said:
            assert time.monotonic() < end, f"no {text!r} in:\n{self.said}"
            assert self._process.poll() is None, f"ended without {text!r}:\n{self.said}"
            time.sleep(0.005)

    @property
    def said(self) -> str:
        return self.out.read_text()

    def kill(self) -> None:
        assert self._process.poll() is None, f"it had ended already:\n{self.said}"
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait(10)

    def interrupt(self) -> None:
        os.kill(self._process.pid, signal.SIGINT)

    def ended(self, seconds: float = 120.0) -> int:
        return self._process.wait(seconds)

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait(10)
