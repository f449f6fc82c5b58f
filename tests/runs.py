"""A small run of every method and protection, with all that crossed in it."""

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import pytest

from asked import Prediction
from federated import SMALL, TINY, Federation, identity, labels, params_of, two_class, values, vertical
from federated import scattered as scattered_tables
from hedgerow import DP
from hedgerow.agreement.options import Paillier
from hedgerow.agreement.plan import Goal, Plan
from hedgerow.agreement.policy import ALLOW_ALL
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.model import part as parts
from hedgerow.model.model import Model
from hedgerow.transports.inproc import InProcess
from hedgerow.trees.params import TreeParams
from linked import small
from sealed import Sealed

VERTICAL = {"method": "vertical", "protection": "plain"}
RUNS = {
    "masked": {},
    "unfollowed": {"follow": False},
    "noised": {"follow": False, "dp": DP(5), "params": TreeParams()},
    "noised, greedy": {"follow": False, "dp": DP(5, method="greedy")},
    "plain": {"protection": "plain"},
    "local cuts": {"cut_points": "local"},
    "bagging": {"method": "bagging", "protection": "plain"},
    "sequential": {"method": "sequential", "protection": "plain"},
    "sampled": {"party_share": 0.6},
    "continuing": {"on_loss": "continue"},
    "encrypted": {"protection": "lattice", "opener": "party2"},
    "vertical": VERTICAL,
    "probed": {**VERTICAL, "protection": "lattice", "params": TINY, "probed": True},
    "predict": {"method": "predict"},
    "one batch": {**VERTICAL, "levels": "AAA", "dp": DP(5, protects="passive"), "align": "given"},
    "private names": {"column_names": "private"},
    "told names": {**VERTICAL, "policy": replace(ALLOW_ALL, tell_columns="names")},
    "counted": {**VERTICAL, "params": params_of(min_child_rows=5)},
    "hidden": {**VERTICAL, "protection": "lattice", "hidden_rows": True},
    "sealed": {"method": "sealed"},
    "linked": {"method": "linked"},
    "linked by ids that are shown": {"method": "linked", "private": False},
    "hybrid": {"method": "hybrid"},
    "shared": {"method": "hybrid", "protection": "lattice", "shared": True},
    "shared, unencrypted": {"method": "hybrid", "shared": True},
    "drawn": {"method": "hybrid", "passive_cuts": "random", "levels": "APP"},
}
MORE = {
    "encrypted by Paillier": {"protection": "paillier", "key_bits": 2048, "opener": "party2", "params": TINY},
    "vertical by a lattice": {**VERTICAL, "protection": "lattice"},
    "vertical by Paillier": {**VERTICAL, "protection": "paillier", "key_bits": 2048, "params": TINY},
    "hidden by Paillier": {**VERTICAL, "protection": "paillier", "key_bits": 2048, "hidden_rows": True, "params": TINY},
    "vertical as given": {**VERTICAL, "align": "given"},
    "first trees local": {**VERTICAL, "local_trees": 1},
    "some passive parties": {**VERTICAL, "party_share": 0.5},
    "some passive parties, hidden": {**VERTICAL, "protection": "lattice", "hidden_rows": True, "party_share": 0.5},
    "nothing to cut": {**VERTICAL, "constant": "party3"},
    "other rows": {**VERTICAL, "align": "private", "scattered": True},
    "sealed, shared": {"method": "sealed, shared"},
    "drawn and shared": {"method": "hybrid", "passive_cuts": "random", "levels": "APP", "shared": True},
    "sealed by Paillier": {"method": "sealed", "privacy": Paillier(2048), "rows": 3},
}
"""Other ways to say the same messages."""


@dataclass
class Crossed:
    """What the transport carried in a run: each request with its receivers, and their answers."""

    calls: list[tuple[dict[str, bytes], dict[str, bytes]]] = field(default_factory=list)
    plan: Plan | None = None
    model: Model | None = None
    heard: list = field(default_factory=list)


@contextmanager
def recorded():
    """All that in-process transports carry meanwhile."""
    calls, carry = [], InProcess.carry

    def noting(self, frames, deadline, most_bytes):
        answers, missing = carry(self, frames, deadline, most_bytes)
        calls.append((dict(frames), dict(answers)))
        return answers, missing

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(InProcess, "carry", noting)
        yield calls


@cache
def run_of(name: str) -> Crossed:
    """What crossed in the run of this name, for all tests that only look at it."""
    return run(**(RUNS | MORE)[name])


def run(**plan) -> Crossed:
    """What crossed in a run of such a plan."""
    plan, method = dict(plan), plan.get("method")
    if method == "predict":
        return _prediction()
    if method == "sealed":
        return _sealed(**{name: given for name, given in plan.items() if name != "method"})
    if method == "sealed, shared":
        return _sealed_shared()
    if method == "linked":
        return _linked(plan.get("private", True))
    if plan.pop("probed", False):
        return _probed(**plan)
    if method == "vertical":
        fed = _by_columns(**plan)
    elif method == "hybrid":
        fed = some_rows(**plan)
    else:
        training, validation = partition.hold_out(two_class(5), 0.2)
        follow = plan.pop("follow", method is None)
        fed = Federation(training, goal=Goal(follow=follow), valid=validation if follow else None, **plan)
    with recorded() as calls:
        model = fed.model()
    return Crossed(calls, fed.plan, model, fed.heard)


def _probed(**plan) -> Crossed:
    """As between real parties, the link is measured first."""
    fed = _by_columns(coordinator=identity("driver").fingerprint, **plan)
    with recorded() as calls:
        fed.measure()
        model = fed.model(identity=identity("driver"))
    return Crossed(calls, fed.plan, model, fed.heard)


def _prediction() -> Crossed:
    fed = vertical(params_of())
    model = fed.model()
    asked = Prediction(model, {name: parts.decoded(part, name) for name, part in fed.kept.items()}, fed.tables)
    with recorded() as calls:
        asked.leaves()
    return Crossed(calls, asked.plan, model, asked.heard)


def _sealed(rows=40, **more) -> Crossed:
    """Two batches, the second with what columns contribute."""
    fed = vertical(params_of())
    model = fed.model()
    own = {name: parts.decoded(part, name) for name, part in fed.kept.items()}
    shown = {column.name: "a column" for table in fed.tables.values() for column in table.columns[:1]}
    policy = replace(ALLOW_ALL, disclose=shown)
    asked = Sealed.of(model, own, {n: t.take(np.arange(rows)) for n, t in fed.tables.items()}, policy=policy, **more)
    with recorded() as calls:
        asking = asked.asking()
        asked.scores(asking)
        asked.scores(asking, reasons=True)
    return Crossed(calls, asked.plan, model, asked.heard)


def _sealed_shared() -> Crossed:
    """Two tables, the second with what columns contribute; parties share their columns."""
    fed = some_rows(shared=True, params=params_of(), method="hybrid")
    model = fed.model()
    own = {name: parts.decoded(part, name) for name, part in fed.kept.items()}
    asked = Sealed.of(model, own, fed.tables, policy=replace(ALLOW_ALL, disclose={"c0": "a column"}))
    with recorded() as calls:
        asking = asked.scoring()
        asking.scores(fed.tables["network"])
        asking.explained(fed.tables["network"], [])
    return Crossed(calls, asked.plan, model, asked.heard)


def _linked(private) -> Crossed:
    """Rows are linked, and in another attempt found to be linked already."""
    linkage = small(private=private)
    with recorded() as calls:
        linkage.link()
        linkage.again()
        linkage.link()
    return Crossed(calls, linkage.plan, None, linkage.heard)


def some_rows(params=SMALL, other=False, **plan) -> Federation:
    """Payments, and three banks that each have some of the accounts; with others' labels if `other`."""
    X, signal = values(300, 3)
    ids = np.array([f"account {i}" for i in np.random.default_rng(0).integers(0, 60, 300)])
    y = labels("two", signal)
    own = Table.of(X, y[::-1] if other else y, ids=ids, repeated_ids=True)
    accounts = [f"account {i}" for i in range(50)]
    known, _ = values(50, 3, 1)
    names = [f"c{i}" for i in range(3)]
    banks = {f"bank{i}": Table.of(known[i::3], names=names, ids=accounts[i::3]) for i in range(3)}
    return Federation(
        {"network": own, **banks},
        params,
        **{"method": "hybrid", "protection": "plain", "active": "network", "levels": "JJJ", **plan},
    )


def _by_columns(constant=None, scattered=False, **plan) -> Federation:
    """A vertical federation; all columns of one party may have one value, or every party lack some rows."""
    if not constant and not scattered:
        return vertical(**plan)
    tables = vertical().tables
    if constant:
        tables[constant] = replace(tables[constant], values=np.ones_like(tables[constant].values))
    else:
        tables = scattered_tables(partition.pooled(two_class(1)), 3)[0]
    return Federation(tables, active="party1", **{"align": "private", **plan})
