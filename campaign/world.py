"""A place for runs: rows for every party, certificates from a small CA, and the commands of driver and parties."""

import csv
import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from campaign.process import Crew, Wrong
from hedgerow.demo.organisations import free_port
from hedgerow.identity import authority
from hedgerow.storage import audit

DRIVER = "driver"
NAMES = ("alice", "bob", "carol", "dora", "emil")


@dataclass(frozen=True)
class Size:
    """How much work a run is, and how long whoever is away is waited for."""

    rows: int
    """Of each party."""
    columns: int
    trees: int
    depth: int
    deadline: float = 120.0
    patience: float = 120.0


def write_rows(path: Path, size: Size, seed: int) -> None:
    """One party's rows: numbers, and two classes that depend on some of them."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(size.rows, size.columns)).round(3)
    signal = values[:, 0] + values[:, 1] * values[:, 2] + 0.3 * rng.normal(size=size.rows)
    names = [f"c{i}" for i in range(size.columns)]
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow([*names, "y"])
        out.writerows([*row, "yes" if s > 0 else "no"] for row, s in zip(values.tolist(), signal, strict=True))


class World:
    """Parties with their rows and certificates, made once; every trial has a folder of its own beside them."""

    driver = DRIVER
    """Who drives, beside the parties in `names`."""

    def __init__(self, folder: Path, size: Size, n_parties: int, on_loss: str = "wait") -> None:
        self.folder, self.size, self.names, self.on_loss = folder, size, NAMES[:n_parties], on_loss
        self._numbers = itertools.count(1)
        folder.mkdir(parents=True)
        authority.make_ca(folder / "ca")
        made = authority.issue(folder / "ca", DRIVER, *self.names)
        self._prints = {one.name: one.fingerprint for one in made}
        (folder / "policy.toml").write_text("allow_continue = true\n")
        for seed, name in enumerate(self.names):
            write_rows(folder / f"{name}.csv", size, seed)

    def place(self) -> "Place":
        """A new folder for one run."""
        folder = self.folder / f"run{next(self._numbers)}"
        folder.mkdir()
        return Place(self, folder, free_port())

    def run_file(self, port: int, listen: int) -> str:
        """The run, for someone who dials this port; the driver listens at another if something lies in between."""
        size = self.size
        parties = "".join(
            f'[[party]]\nname = "{n}"\ndata = "{self.folder}/{n}.csv"\nfingerprint = "{self._prints[n]}"\n'
            for n in self.names
        )
        return (
            f'[run]\nname = "campaign"\n[data]\nlabel = "y"\ntask = "classify"\n[validation]\nshare = 0.2\n'
            f'[trees]\nn_estimators = {size.trees}\nmax_depth = {size.depth}\n[privacy]\non_loss = "{self.on_loss}"\n'
            f'[driver]\naddress = "localhost:{port}"\nlisten = "127.0.0.1:{listen}"\nca = "{self.folder}/ca/ca.pem"\n'
            f'fingerprint = "{self._prints[DRIVER]}"\ndeadline = {size.deadline}\npatience = {size.patience}\n{parties}'
        )


class Place:
    """Where one run happens."""

    def __init__(self, world: World, folder: Path, port: int) -> None:
        self.world, self.folder, self.port = world, folder, port
        self.roles = (world.driver, *world.names)

    def log(self, role: str) -> Path:
        """The audit log of the driver or a party."""
        return self.folder / role / "audit.log"

    def words(self, role: str, *more: str, port: int | None = None) -> list[str]:
        """The command of the driver or a party, which may dial another port than the driver's."""
        world, file = self.world, self.folder / f"{role}.toml"
        file.write_text(world.run_file(port or self.port, self.port))
        keys = ["--cert", f"{world.folder}/ca/{role}.pem", "--key", f"{world.folder}/ca/{role}.key"]
        own = [*keys, "--folder", str(self.folder / role), "--n-jobs", "1", *more]
        data = ["--data", f"{world.folder}/{role}.csv"]
        if role == world.driver:
            return ["drive", str(file), *(data if role != DRIVER else []), *own]
        return ["join", str(file), "--as", role, *data, "--policy", f"{world.folder}/policy.toml", *own]

    def start(self, crew: Crew, ports: Mapping[str, int] | None = None) -> None:
        """Everybody; some may dial other ports."""
        for role in self.roles:
            crew.start(role, self.words(role, port=(ports or {}).get(role)))

    def model(self, role: str) -> bytes:
        """The model that the driver or a party has."""
        path = self.folder / role / "model.json"
        if not path.exists():
            raise Wrong(f"{role} has no model")
        return path.read_bytes()

    def finished(self, role: str) -> bool:
        """Whether its manifest says so."""
        path = self.folder / role / "manifest.json"
        return path.exists() and json.loads(path.read_text())["status"] == "finished"

    def check_logs(self, *roles: str) -> None:
        """Refuse a run whose logs do not hold."""
        for role in roles:
            audit.verify(self.log(role))
