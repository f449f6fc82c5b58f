"""Prediction over hybrid models: the pooled model's leaves, with one exchange for a run of levels of one owner."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.predicted_traffic import predicted
from test_hybrid import banks_of, hybrid, network

from federated import params_of
from hedgerow.run.simulation.predict import predict_parties

MOST = {"AAAAAPP": (1, 2), "PPAAAAA": (1, 2), "AAAAJJJ": (2, 3), "JJJ": (2, 3), "PPPP": (1, 4), "JJJJJ": (3, 5)}
"""Exchanges about ways, at most: by runs of levels, and level by level.

At levels where both compete a bank's columns are cut anew at every other one at most.
"""


def trained(parties, levels, rows, **more):
    params = params_of(max_depth=len(levels), n_estimators=6, min_cut_rows=1)
    own = parties["network"]
    return hybrid({**parties, "network": own.take(rows)}, params, levels=levels, **more).whole()


def parts_of(covered=1.0):
    return *banks_of(n=700, covered=covered), np.arange(500), np.arange(500, 700)


@pytest.mark.parametrize("covered", [1.0, 0.7])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("levels", MOST)
def test_a_run_of_levels_is_one_exchange_to_the_same_leaves(levels, shared, covered):
    split, merged, train, rest = parts_of(covered)
    one = trained(merged, levels, train)
    model, parties = (trained(split, levels, train, shared=True), split) if shared else (one, merged)
    new = {**parties, "network": parties["network"].take(rest)}
    leaves = predict_parties(model, new)
    assert np.array_equal(leaves, one.leaves(gaps_of(merged, merged["network"].take(rest))))
    asked, cut_by_cut = predicted(model, new), predicted(model, new, cut_by_cut=True)
    runs, by_level = MOST[levels]
    assert 1 <= asked.exchanges - 1 <= runs
    assert asked.exchanges <= cut_by_cut.exchanges <= by_level + 1
    assert asked.both <= cut_by_cut.both
    if "PP" in levels:
        assert cut_by_cut.exchanges == by_level + 1


def gaps_of(merged, own):
    """The network's rows with the bank's columns beside them, missing where the bank lacks the account."""
    bank = merged["bank0"]
    place = {one: row for row, one in enumerate(bank.ids.tolist())}
    rows = np.array([place.get(one, -1) for one in own.ids])
    theirs = np.where(rows[:, None] >= 0, np.asarray(bank.values)[rows], np.nan).astype(np.float32)
    names = (*own.columns, *bank.columns)
    return replace(own, columns=names, values=np.hstack([own.values, theirs]))


@pytest.mark.parametrize("n", [1, 17, 200])
def test_the_number_of_rows_does_not_change_the_exchanges(n):
    split, _, train, rest = parts_of()
    model = trained(split, "AAAAAPP", train, shared=True)
    assert predicted(model, {**split, "network": split["network"].take(rest[:n])}).exchanges <= 2


@pytest.mark.parametrize("levels", ["AAAPP", "PPAAA", "AAJJJ"])
def test_banks_with_columns_of_their_own_need_no_more_exchanges_than_levels(levels):
    parties, whole = network(n=600)
    train, rest = np.arange(400), np.arange(400, 600)
    model = trained(parties, levels, train)
    new = {**parties, "network": parties["network"].take(rest)}
    assert np.array_equal(predict_parties(model, new), model.leaves(whole.take(rest)))
    assert predicted(model, new).exchanges - 1 <= levels.count("P") + levels.count("J")
