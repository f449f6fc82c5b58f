"""FedTree's noise over parties is its noise on one table, bit for bit; and nobody says that it promises anything."""

import numpy as np
import pytest
from test_noised import NUMBERS, spread

from hedgerow import DP, partition
from hedgerow.agreement.plan import Goal
from hedgerow.agreement.policy import Policy
from hedgerow.errors import PolicyError
from hedgerow.model.noised_train import train_noised
from hedgerow.model.train import Task
from hedgerow.privacy import noise
from hedgerow.trees.losses import Loss
from hedgerow.trees.params import TreeParams
from noised import noised, rows, same

SHORT = TreeParams(n_estimators=4, max_depth=3, min_cut_rows=5, max_bin=16)
LAPLACE = DP(2, method="laplace")


class Drawn:
    """Laplace noise from a seed, written down."""

    def __init__(self, monkeypatch):
        self.rng, self.all = np.random.default_rng(1), []
        monkeypatch.setattr(noise, "laplace", self.draw)

    def draw(self, n, scale):
        self.all.append(np.rint(self.rng.laplace(0, scale, n)).astype(np.int64))
        return self.all[-1]


@pytest.mark.parametrize(("table", "goal"), [(rows(), Goal()), (spread(), NUMBERS)])
def test_a_federation_grows_fedtrees_trees_of_one_table_under_the_noise_of_all(table, goal, monkeypatch):
    drawn = Drawn(monkeypatch)
    fed = noised(partition.rows(table, n=3), dp=LAPLACE, goal=goal, params=SHORT)
    model, _ = fed.run()
    assert model.promise is None
    totals = [np.sum(drawn.all[at : at + 3], axis=0) for at in range(0, len(drawn.all), 3)]
    monkeypatch.setattr(noise, "laplace", lambda n, scale: totals.pop(0))
    loss = Loss("squared") if goal.objective else Loss("logistic")
    task = Task(loss, model.classes)
    whole = partition.pooled({name: own.aligned(model.columns) for name, own in fed.tables.items()})
    pooled = train_noised(whole, SHORT, task, LAPLACE)
    assert not totals
    assert same(model.forest, pooled.forest)
    assert pooled.promise is None
    assert "No epsilon" in task.notes[0]


def test_every_party_adds_all_of_it_to_gradients(monkeypatch):
    Drawn(monkeypatch)
    noise_of = []
    draw = noise.laplace
    monkeypatch.setattr(noise, "laplace", lambda n, scale: noise_of.append(scale) or draw(n, scale))
    noised(partition.rows(rows(), n=3), dp=LAPLACE, params=SHORT).run()
    assert set(noise_of) == {4096}  # 2 R / epsilon
    assert len(noise_of) == 3 * SHORT.n_estimators * SHORT.max_depth


def test_an_owner_who_wants_an_epsilon_refuses_it():
    fed = noised(partition.rows(rows(), n=3), dp=LAPLACE, params=SHORT)
    with pytest.raises(PolicyError, match="promises no differential privacy"):
        Policy(min_cut_rows=1, most_epsilon=50.0).check(fed.plan)
