"""FedTree's noise on sums of columns has the stated scale, is there when they are opened, and promises nothing."""

import numpy as np
import pytest
from test_noised_labels import tables

from federated import Federation, params_of
from hedgerow import DP
from hedgerow.agreement.plan import Goal
from hedgerow.agreement.policy import Policy
from hedgerow.data.table import Table
from hedgerow.errors import ParameterError, PolicyError, PrivacyError
from hedgerow.protocols.vertical.active import VerticalRows
from hedgerow.protocols.vertical.laplace import SumNoise, sum_noise
from hedgerow.protocols.vertical.passive_rows import PassiveRows
from hedgerow.run.forecast.disclosures import leaks

PARAMS = params_of(n_estimators=3, max_depth=3, max_bin=16, gradient_bits=8)
LAPLACE = DP(2, method="laplace")
SCALE = 128  # 2 R / epsilon, a gradient of 1 being 2^7


def federation(parties=None, dp=LAPLACE, goal=Goal(), params=PARAMS, **more):  # noqa: B008
    options = {"method": "vertical", "active": "party1", "dp": dp, "protection": "lattice", **more}
    return Federation(parties or tables(), params, goal, **options)


def opened_at_the_root(monkeypatch, **more):
    """What the active party opens of all columns of the others in the first step of a run."""
    seen, opened = [], VerticalRows._opened
    with monkeypatch.context() as patched:
        patched.setattr(VerticalRows, "_opened", lambda *a: seen.append(opened(*a)) or seen[-1])
        shallow = params_of(n_estimators=1, max_depth=1, max_bin=250, gradient_bits=8)
        federation(tables(2000), params=shallow, **more).run()
    return np.concatenate([seen[0][party][0] for party in ("party2", "party3")])


@pytest.mark.parametrize("protection", ["lattice", "plain"])
def test_sums_of_gradients_are_opened_with_noise_of_the_stated_scale_and_counts_without(monkeypatch, protection):
    noised = opened_at_the_root(monkeypatch, protection=protection)
    with monkeypatch.context() as patched:
        patched.setattr(SumNoise, "words", lambda self, n, groups: np.zeros((n, groups, 2), np.int64))
        exact = opened_at_the_root(monkeypatch, protection=protection)
    error = noised - exact
    assert len(error) > 900
    assert not error[:, 1].any()
    scale = sum_noise(federation().plan).scale
    assert 0.8 < np.abs(error[:, 0]).mean() / scale < 1.2
    assert 0.6 < error[:, 0].var() / (2 * scale**2) < 1.5  # a normal distribution of that mean would have 1.57 / 2
    assert abs(error[:, 0].mean()) < 6 * scale / np.sqrt(len(error))


def test_an_unbounded_draw_is_cut_to_what_sums_are_laid_out_for(monkeypatch):
    noise = SumNoise(5)
    monkeypatch.setattr("hedgerow.privacy.noise.laplace", lambda n, scale: np.full(n, -(10**9)))
    assert (noise.words(2, 3)[..., 0] == -noise.summand).all()


def test_trees_are_grown_of_everybodys_columns_and_the_run_says_that_there_is_no_epsilon():
    fed = federation()
    model, _ = fed.run()
    assert model.promise is None
    assert not fed.plan.method.promises_dp
    assert {party for party, _ in model.ownership.columns} == {"party1", "party2", "party3"}
    assert model.forest.n_trees == 3
    said = " ".join(leaks(fed.plan))
    assert "No epsilon: FedTree's noise is on sums of gradients alone" in said
    assert "On which side of a chosen cut each row is" in said
    assert "passive parties that make up sums can read labels" in said
    assert "Differential privacy: epsilon" not in said


def test_little_noise_spoils_less_than_much():
    parties = tables(1200)
    labels, table = parties["party1"].labels, Table.of(np.hstack([one.values for one in parties.values()]))
    params = params_of(n_estimators=5, max_depth=3, max_bin=16)
    right = []
    for epsilon in (100, 0.01):
        model = federation(parties, DP(epsilon, method="laplace"), params=params).whole()
        right.append(((model.predict(table)[:, 1] > 0.5) == labels).mean())
    assert right[0] > 0.8 > right[1] + 0.05


def test_numbers_have_it_too_and_gradients_beyond_1_are_cut():
    model, _ = federation(tables(classes=0), goal=Goal(objective="squared")).run()
    assert model.promise is None


def test_the_run_tells_what_the_noise_is_worth():
    notes = []
    federation().run(note=notes.append)
    assert "Its epsilon of 2 is one histogram's. A row is in 54 of them" in notes[0]  # 3 trees, 3 levels, 6 columns
    assert "side of every chosen cut each row is, is told to the active party without noise" in notes[1]
    assert "for comparison only" in notes[1]


def test_an_owner_who_wants_an_epsilon_refuses_it():
    with pytest.raises(PolicyError, match="promises no differential privacy"):
        Policy(min_cut_rows=1, most_epsilon=50.0).check(federation().plan)


REFUSED = {
    "label_range": {"dp": DP(2, method="laplace", label_range=(0, 1)), "goal": Goal(objective="squared")},
    "hidden_rows": {"hidden_rows": True},
    "min_child_rows": {"params": params_of(min_child_rows=5)},
    "the poisson loss": {"goal": Goal(objective="poisson")},
    "subsample": {"params": params_of(subsample=0.5)},
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_the_noise_is_not_for_is_refused(why):
    with pytest.raises(ParameterError, match=f"does not go with {why}"):
        federation(**REFUSED[why])


def test_three_classes_are_refused():
    with pytest.raises(ParameterError, match="two classes and numbers"):
        federation(tables(classes=3)).run()


def test_sums_are_checked_in_every_other_run(monkeypatch):
    """The sabotage: noise that would go unseen in a run of this kind ends every other."""
    for rows in (VerticalRows, PassiveRows):
        monkeypatch.setattr(rows, "summand", SumNoise(1).summand)
    monkeypatch.setattr(PassiveRows, "_plus", lambda rows, plan: SumNoise(1).words(plan.nodes, rows.run.table.n_sums))
    federation().run()
    for dp in (None, DP(3, protects="labels")):
        with pytest.raises(PrivacyError, match="gave sums"):
            federation(dp=dp).run()
