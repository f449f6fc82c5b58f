"""Trees from noised sums of several parties are those of one table with all rows under the same noise, bit for bit."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from hedgerow import DP, partition
from hedgerow.agreement.plan import Goal
from hedgerow.data.table import Table
from noised import Drawn, noised, pooled, rows, same

NUMBERS = Goal("squared")


def mixed() -> Table:
    """Numbers and categories, of which some are missing."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"x": rng.normal(size=500), "job": rng.choice(["a", "b", "c", None], 500)})
    return Table.of(frame, (frame.x + (frame.job == "a") + rng.normal(size=500) > 0.4).astype(int).to_numpy())


def gappy() -> Table:
    """Mostly zeros, which are not stored."""
    rng = np.random.default_rng(4)
    X = sparse.csr_array((rng.random((500, 6)) < 0.2).astype(np.float32) * rng.integers(1, 4, (500, 6)))
    y = (X.toarray()[:, 0] + rng.normal(size=500) > 0.5).astype(int)
    return Table.of(X.astype(np.float32), y, absent="zero")


def spread() -> Table:
    """Numbers as labels."""
    table = rows()
    return Table.of(np.asarray(table.values), np.clip(50 + 10 * np.nan_to_num(table.values[:, 0]), 0, 100))


CASES = {
    "two classes": (rows(), DP(5), Goal()),
    "many rows for auto": (rows(), DP(90), Goal()),
    "three classes": (rows(classes=3), DP(8), Goal()),
    "drawn trees": (rows(), DP(5, method="random"), Goal()),
    "additive": (rows(), DP(5, method="additive"), Goal()),
    "numbers": (spread(), DP(5, label_range=(0, 100)), NUMBERS),
    "drawn trees of numbers": (spread(), DP(5, method="random", label_range=(0, 100)), NUMBERS),
    "categories": (mixed(), DP(5, categories={"job": ["a", "b", "c"]}), Goal()),
    "declared zeros": (gappy(), DP(5, max_nonzero=3), Goal()),
    "a sparse table": (gappy(), DP(5), Goal()),
    "persons": (rows(), DP(5, rows_per_id=3), Goal()),
}


@pytest.mark.parametrize("case", CASES)
def test_a_federation_grows_the_trees_of_one_table_under_the_same_noise(case, monkeypatch):
    table, dp, goal = CASES[case]
    drawn = Drawn(monkeypatch)
    fed = noised(partition.rows(table, n=4), dp=dp, goal=goal)
    model, state = fed.run()
    fitted, opened = pooled(fed, model, drawn)
    assert model.base_score == np.float32(fitted.base)
    assert same(model.forest, fitted.forest)
    assert [one.words.tolist() for one in state.opened] == [words.tolist() for words in opened]


def test_it_would_be_seen_if_a_party_added_other_noise(monkeypatch):
    drawn = Drawn(monkeypatch)
    fed = noised()
    model, _ = fed.run()
    drawn.all[-1][1][0] += 1 << 12
    assert not same(model.forest, pooled(fed, model, drawn)[0].forest)


def test_where_rows_lie_changes_nothing_but_the_noise(monkeypatch):
    monkeypatch.setattr("hedgerow.privacy.noise.gaussian", lambda n, _: np.zeros(n, np.int64))
    table = rows()
    models = [noised(partition.rows(table, n=n, seed=n)).model() for n in (3, 5)]
    assert same(models[0].forest, models[1].forest)
