"""A place for hybrid runs: a network with payments and labels, and many banks, each with some of the accounts."""

import csv
import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from campaign.columns import ColumnsPlace
from campaign.world import Size, World
from hedgerow.demo.organisations import free_port
from hedgerow.identity import authority

NETWORK = "network"
ACCOUNTS = 150
"""Of each bank; a fifth of them stand in no payment, and some payments are of nobody's accounts."""


def write_accounts(folder: Path, banks: Sequence[str], size: Size) -> None:
    """Payments with labels that depend on columns of both sides, and the accounts of every bank."""
    rng = np.random.default_rng(0)
    n_accounts = ACCOUNTS * len(banks)
    values = rng.normal(size=(n_accounts, size.columns)).round(3)
    bank_of = rng.permutation(np.repeat(np.arange(len(banks)), ACCOUNTS))
    for number, bank in enumerate(banks):
        own = np.flatnonzero(bank_of == number)
        rows = ([f"a{account}", *values[account].tolist()] for account in own.tolist())
        _write(folder / f"{bank}.csv", ["account", *(f"c{i}" for i in range(size.columns))], rows)
    account = rng.integers(n_accounts // 5, n_accounts + n_accounts // 10, size.rows)
    amount = rng.normal(size=(size.rows, 2)).round(3)
    theirs = np.where(account < n_accounts, values[np.minimum(account, n_accounts - 1), 0], 0)
    signal = amount[:, 0] + 1.5 * theirs + 0.3 * rng.normal(size=size.rows)
    columns = zip(account.tolist(), amount.tolist(), (signal > 0).tolist(), strict=True)
    rows = ([f"a{one}", *own, "yes" if fraud else "no"] for one, own, fraud in columns)
    _write(folder / f"{NETWORK}.csv", ["account", "amount", "hour", "fraud"], rows)


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


class BanksWorld(World):
    """A network, which drives, and banks that share their columns, or do without those that are lost."""

    driver = NETWORK

    def __init__(self, folder: Path, size: Size, n_banks: int, on_loss: str = "wait") -> None:
        self.folder, self.size, self.on_loss = folder, size, on_loss
        self.names = tuple(f"bank{number}" for number in range(1, n_banks + 1))
        self._numbers = itertools.count(1)
        folder.mkdir(parents=True)
        authority.make_ca(folder / "ca")
        self._prints = {one.name: one.fingerprint for one in authority.issue(folder / "ca", self.driver, *self.names)}
        (folder / "policy.toml").write_text("min_cut_rows = 50\nallow_continue = true\n")
        write_accounts(folder, self.names, size)

    @property
    def shares(self) -> bool:
        """Totals over banks are opened for all of them or not at all, so that no run goes on without one."""
        return self.on_loss == "wait"

    def place(self) -> ColumnsPlace:
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
            f'[run]\nname = "campaign"\nmethod = "hybrid"\nactive = "{self.driver}"\n'
            f'[data]\nlabel = "fraud"\nid = "account"\ntask = "classify"\n[validation]\nshare = 0.2\n'
            f"[trees]\nn_estimators = {size.trees}\nmax_depth = {size.depth}\nmax_bin = 16\n"
            f'[privacy]\nshared = {str(self.shares).lower()}\non_loss = "{self.on_loss}"\n'
            f'[driver]\naddress = "127.0.0.1:{port}"\nlisten = "127.0.0.1:{listen}"\nca = "{self.folder}/ca/ca.pem"\n'
            f"deadline = {size.deadline}\npatience = {size.patience}\n{parties}"
        )
