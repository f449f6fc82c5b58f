"""A vertical run for tests of what is disclosed: a bank with labels, and a telco with columns of its own."""

import numpy as np

from federated import Federation, params_of
from hedgerow.agreement.policy import Policy
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.model import part as parts

NAMES = ["age", "income", "secret", "blacklisted", "plan"]
PLANS = ("gold", "prepaid", "silver")
TOLD = {"income": "monthly net income in euros", "plan": "kind of contract"}


def table_of(n=600, seed=0) -> Table:
    """Labels that depend on all columns: they rise with income, fall with the secret one."""
    rng = np.random.default_rng(seed)
    age, income, secret = rng.integers(18, 80, n), rng.lognormal(7.5, 0.6, n), rng.normal(size=n)
    listed, plan = rng.random(n) < 0.1, rng.integers(0, 3, n)
    score = (income > 1800) + (income > 3000) - secret + 2 * listed + (plan == 1) + age / 100 + rng.normal(size=n)
    income[rng.random(n) < 0.05] = np.nan
    cells = {"age": age, "income": income, "secret": secret, "blacklisted": listed, "plan": np.array(PLANS)[plan]}
    rows = np.empty((n, 5), object)
    for j, column in enumerate(cells.values()):
        rows[:, j] = column
    return Table.of(rows, (score > 1.5).astype(int), names=NAMES, categorical=["plan"])


def trained(table=None, n_trees=8, **plan):
    """The federation, the bank's model, the telco's part, and the whole model."""
    table = table_of() if table is None else table
    parties = dict(zip(["bank", "telco"], partition.columns(table, share=[[0], [1, 2, 3, 4]]).values(), strict=True))
    params = params_of(n_estimators=n_trees, max_depth=4, min_cut_rows=5)
    fed = Federation(parties, params, **{"method": "vertical", "protection": "plain", "active": "bank", **plan})
    model = fed.model()
    part = parts.decoded(fed.kept["telco"], "telco")
    return fed, model, part, parts.joined(model, {"telco": part})


def policy(most_bins=16, **told) -> Policy:
    return Policy(disclose=told or TOLD, most_bins=most_bins)
