"""A place for vertical runs: the same rows at three parties, each with columns of its own; the first has the labels."""

import csv
import hashlib
import itertools
from dataclasses import fields
from pathlib import Path

import numpy as np

from campaign.process import Wrong
from campaign.world import NAMES, Place, Size, World
from hedgerow.demo.organisations import free_port
from hedgerow.errors import HedgerowError
from hedgerow.identity import authority
from hedgerow.model import part as parts
from hedgerow.model.file import decoded

PROTECTION = "lattice"


def write_columns(folder: Path, names: tuple[str, ...], size: Size) -> None:
    """Every party's columns of the same rows; labels depend on columns of all of them."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(size.rows, size.columns)).round(3)
    n = size.columns // len(names)
    signal = values[:, 0] + values[:, n] * values[:, 2 * n] + 0.3 * rng.normal(size=size.rows)
    labels = np.where(signal > 0, "yes", "no")
    for i, name in enumerate(names):
        last = size.columns if i == len(names) - 1 else (i + 1) * n
        own = {f"c{c}": values[:, c].tolist() for c in range(i * n, last)} | ({"y": labels.tolist()} if i == 0 else {})
        with (folder / f"{name}.csv").open("w", newline="") as file:
            out = csv.writer(file)
            out.writerow(["id", *own])
            out.writerows([f"row{r}", *row] for r, row in enumerate(zip(*own.values(), strict=True)))


class ColumnsWorld(World):
    """An active party, which drives, and two passive ones."""

    driver = NAMES[0]

    def __init__(self, folder: Path, size: Size) -> None:
        self.folder, self.size, self.names, self.on_loss = folder, size, NAMES[1:3], "wait"
        self._numbers = itertools.count(1)
        folder.mkdir(parents=True)
        everyone = (self.driver, *self.names)
        authority.make_ca(folder / "ca")
        self._prints = {one.name: one.fingerprint for one in authority.issue(folder / "ca", *everyone)}
        (folder / "policy.toml").write_text("min_cut_rows = 50\n")
        write_columns(folder, everyone, size)

    def place(self) -> "ColumnsPlace":
        """A new folder for one run."""
        folder = self.folder / f"run{next(self._numbers)}"
        folder.mkdir()
        return ColumnsPlace(self, folder, free_port())

    def run_file(self, port: int, listen: int) -> str:
        """The run, for someone who dials this port."""
        size = self.size
        parties = "".join(
            f'[[party]]\nname = "{n}"\ndata = "{self.folder}/{n}.csv"\nfingerprint = "{self._prints[n]}"\n'
            for n in (self.driver, *self.names)
        )
        return (
            f'[run]\nname = "campaign"\nmethod = "vertical"\nactive = "{self.driver}"\n'
            f'[data]\nlabel = "y"\nid = "id"\ntask = "classify"\n[validation]\nshare = 0.2\n'
            f"[trees]\nn_estimators = {size.trees}\nmax_depth = {size.depth}\nmax_bin = 16\n"
            f'[privacy]\nprotection = "{PROTECTION}"\n'
            f'[driver]\naddress = "127.0.0.1:{port}"\nlisten = "127.0.0.1:{listen}"\nca = "{self.folder}/ca/ca.pem"\n'
            f"deadline = {size.deadline}\npatience = {size.patience}\n{parties}"
        )


class ColumnsPlace(Place):
    """Where one vertical run happens."""

    def model(self, role: str) -> bytes:
        """A hash of the trees that all parts together make, as ids differ in every run; who lacks a part is named."""
        file = self.folder / role / ("model.json" if role == self.world.driver else "part.json")
        if not file.exists():
            raise Wrong(f"{role} has no part of the model")
        return joined_digest(self.folder, self.world.driver, self.world.names)


def joined_digest(folder: Path, driver: str, names: tuple[str, ...]) -> bytes:
    """A hash of every array of the joined forest, and of the metric after every tree."""
    try:
        own = decoded((folder / driver / "model.json").read_bytes(), driver)
        kept = {name: parts.decoded((folder / name / "part.json").read_bytes(), name) for name in names}
        whole = parts.joined(own, kept)
    except (HedgerowError, OSError) as error:
        raise Wrong(f"the parts do not make a model: {error}") from None
    digest = hashlib.sha256(repr(whole.history).encode())
    for field in fields(whole.forest):
        digest.update(np.ascontiguousarray(getattr(whole.forest, field.name)).tobytes())
    return digest.digest()
