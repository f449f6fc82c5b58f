"""Files of a payment network and three banks, whose accounts are those of some payments."""

import csv

import numpy as np

BANKS = ("bank1", "bank2", "bank3")
RUN = (
    '[run]\nname = "payments"\nmethod = "hybrid"\nactive = "network"\n'
    '[data]\ntask = "classify"\nlabel = "fraud"\nid = "account"\n'
    "[trees]\nn_estimators = 4\nmax_depth = 4\nmin_cut_rows = 5\n"
)
PLAIN = '[privacy]\nprotection = "plain"\ni_accept_disclosure = true\n'


def parties_of(names=("network", *BANKS)):
    """The sections of these parties."""
    return "".join(f'[[party]]\nname = "{name}"\ndata = "{name}.csv"\n' for name in names)


def _write(path, header, *columns):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *zip(*columns, strict=True)])


def payments(folder, n=600, seed=0):
    """Payments of 150 accounts; the first two banks share some, and some are nobody's."""
    rng = np.random.default_rng(seed)
    account, amount, hour = rng.integers(0, 150, n), rng.normal(size=n).round(2), rng.integers(0, 24, n)
    signal = amount.copy()
    for bank, (first, size) in zip(BANKS, ((0, 60), (50, 40), (100, 40)), strict=True):
        ids, age, risk = first + rng.permutation(size), rng.normal(size=size).round(2), rng.integers(0, 5, size)
        of = dict(zip(ids.tolist(), age.tolist(), strict=True))
        signal = signal + np.array([2 * of.get(one, 0.0) for one in account.tolist()])
        _write(folder / f"{bank}.csv", ("account", "age", "risk"), [f"a{one}" for one in ids], age, risk)
    fraud = np.where(signal > 0.5, "yes", "no")
    _write(
        folder / "network.csv", ("account", "amount", "hour", "fraud"), [f"a{i}" for i in account], amount, hour, fraud
    )


def rewritten(path, change):
    """Another file in the place of one: its lines, the header first, as `change` makes them."""
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(change(rows))
