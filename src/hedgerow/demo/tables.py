"""What the organisations of the demonstration have: loans and payments are generated, digits were written."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.model_selection import train_test_split

from hedgerow.data.hybrid_partition import HybridTables
from hedgerow.data.payments import PRESETS, hybrid_payments
from hedgerow.data.table import Table

ORGANISATIONS = ("alder", "birch", "cedar")
SEED = 7
LOANS, NEW_LOANS, OTHERS = 2000, 500, 400
PAYMENTS, ANOMALOUS = 0.006, 0.03
"""The share of the preset's payments that are made, and the share of them that are anomalous."""


@dataclass(frozen=True, eq=False)
class Shared:
    """What each organisation has, and what nobody could have: everything in one place."""

    tables: dict[str, Table]
    """The first one's has the labels; in a horizontal federation every one's."""
    pooled: Table
    new: Table
    """Rows of the first organisation to predict, with the labels that come true later."""
    pooled_new: Table


def loans() -> Shared:
    """A bank's ended loans, and what a telephone company and a shop know of the same people, and of some others."""
    random = np.random.default_rng(SEED)
    n = LOANS + NEW_LOANS
    columns = {
        "income": random.gamma(4, 700, n).round(), "debt": random.gamma(2, 1500, n).round(),
        "years": random.integers(0, 30, n), "late_bills": random.poisson(1.5, n),
        "months": random.integers(1, 150, n), "calls": random.gamma(3, 60, n).round(),
        "returns": random.poisson(2, n), "spent": random.gamma(2, 150, n).round(),
    }  # fmt: skip
    risk = 0.9 * columns["debt"] / columns["income"] + 0.8 * columns["late_bills"] - columns["months"] / 60
    risk = risk + 0.5 * columns["returns"] - columns["spent"] / 250 - columns["years"] / 20 - 0.9
    unpaid = np.where(random.random(n) < 1 / (1 + np.exp(-1.5 * risk)), "yes", "no").astype(object)
    values, names = np.column_stack([*columns.values()]), list(columns)
    whole = Table.of(values, unpaid, names=names, ids=random.permutation(np.arange(100_000, 100_000 + n)))
    known, new = np.arange(LOANS), np.arange(LOANS, n)
    owned = {"alder": names[:3], "birch": names[3:6], "cedar": names[6:]}
    tables = {"alder": chosen(whole.take(known), owned["alder"], True)}
    for place, name in enumerate(ORGANISATIONS[1:]):
        tables[name] = _with_others(chosen(whole, owned[name], False), random, 200_000 + 10_000 * place)
    pooled_new = whole.take(new)
    return Shared(tables, whole.take(known), chosen(pooled_new, owned["alder"], True), pooled_new)


def payments() -> Shared:
    """A payment network's payments, labelled, and what two banks know of the accounts in them."""
    network = replace(PRESETS["DEV"], rate=ANOMALOUS)
    known, new = hybrid_payments("DEV", PAYMENTS, banks=2, rows="accounts", network=network, seed=SEED)
    tables = dict(zip(ORGANISATIONS, (known.active, *known.passive.values()), strict=True))
    return Shared(tables, _joined(known), new.active, _joined(new))


def digits() -> Shared:
    """Handwritten digits, odd or even, of which each organisation has some; scikit-learn has them."""
    bunch = datasets.load_digits()
    labels = np.array(["even", "odd"], object)[bunch.target % 2]
    whole = Table.of(bunch.data, labels, names=[str(name) for name in bunch.feature_names], ids=np.arange(len(labels)))
    known, new = train_test_split(np.arange(whole.n_rows), test_size=0.25, random_state=SEED, stratify=labels)
    train, test = whole.take(np.sort(known)), whole.take(np.sort(new))
    tables = {name: train.take(np.arange(i, train.n_rows, 3)) for i, name in enumerate(ORGANISATIONS)}
    return Shared(tables, train, test, test)


def unlabelled(table: Table) -> Table:
    """The same rows without labels."""
    return replace(table, labels=None)


def chosen(table: Table, names: list[str], labelled: bool) -> Table:
    """Some of the columns."""
    values = np.asarray(table.values)[:, [table.names.index(name) for name in names]]
    return Table.of(values, table.labels if labelled else None, names=names, ids=table.ids)


def _with_others(table: Table, random: np.random.Generator, first: int) -> Table:
    """In an order of its own, and with people whom nobody else knows, who look like some of the others."""
    values = np.concatenate([np.asarray(table.values), np.asarray(table.values)[:OTHERS]])
    ids: Any = np.concatenate([np.asarray(table.ids), first + np.arange(OTHERS)])
    order = random.permutation(len(ids))
    return Table.of(values[order], None, names=table.names, ids=ids[order])


def _joined(given: HybridTables) -> Table:
    """Each payment with what its bank knows of the account."""
    banks = list(given.passive.values())
    ids = np.concatenate([np.asarray(bank.ids) for bank in banks])
    known = np.concatenate([np.asarray(bank.values) for bank in banks])
    at = np.full(max(ids.max(), np.max(np.asarray(given.active.ids))) + 1, -1)
    at[ids] = np.arange(len(ids))
    places = at[np.asarray(given.active.ids)]
    beside = np.where(places[:, None] < 0, np.nan, known[places])
    values = np.concatenate([np.asarray(given.active.values), beside], axis=1)
    return Table.of(values, given.active.labels, names=[*given.active.names, *banks[0].names])
