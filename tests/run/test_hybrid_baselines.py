"""What hybrid training is compared with, by one word: figures of each, and the command that answers whether it pays."""

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from hedgerow import GBDTClassifier, GBDTRegressor, Hybrid, Table, metrics
from hedgerow.agreement.plan import Goal
from hedgerow.cli import app
from hedgerow.data.hybrid_partition import HybridCut, HybridTables, hybrid, hybrid_pair
from hedgerow.data.payments import Network, hybrid_payments
from hedgerow.errors import DataError, ParameterError
from hedgerow.model.train import Task
from hedgerow.run.file.hybrid_sample import sample
from hedgerow.run.file.read import read_run_file
from hedgerow.run.simulation import hybrid_baselines
from hedgerow.run.simulation.hybrid_baselines import BASELINES, baseline_tables, baselines, recovered
from hedgerow.run.simulation.trees_in_turn import scores_in_turn
from hedgerow.trees.losses import Loss
from hedgerow.trees.params import TreeParams
from hybrid_files import PLAIN, RUN, parties_of, payments

FEW = TreeParams(n_estimators=6, max_depth=3, max_bin=16)


def table(n=600, seed=0, classes=2):
    """Labels of which the last two columns know more than the first two."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, 4))
    signal = values @ [0.5, 0.5, 1.0, 2.0] + 0.5 * rng.normal(size=n)
    return Table.of(values, np.digitize(signal, [0.0, 1.5][: classes - 1]), names=list("abcd"))


def pair(cut=None, classes=2):
    test = replace(table(400, 1, classes), ids=1000 + np.arange(400))
    return hybrid_pair(table(classes=classes), test, cut or HybridCut(("c", "d"), 3, uncovered=0.1))


# Tables


def test_each_baseline_has_its_tables():
    rng = np.random.default_rng(0)
    made = hybrid(Table.of(rng.normal(size=(60, 4)), np.arange(60) % 2), HybridCut(passive=2, parties=3))
    assert baseline_tables("alone", made)["alone"] is made.active
    each = baseline_tables("two-party", made)
    assert list(each) == [f"two-party {name}" for name in made.passive]
    assert [int((~np.isnan(one.values[:, -1])).sum()) for one in each.values()] == [20, 20, 20]
    whole = baseline_tables("pooled", made)["pooled"].values
    assert not np.isnan(whole).any()
    np.testing.assert_array_equal(baseline_tables("merged", made)["merged"].values, whole)


# Figures


def test_one_call_measures_every_baseline_by_its_name():
    told = []
    found = baselines(*pair(), BASELINES, FEW, method=Hybrid(shared=True), tell=told.append)
    two = [f"two-party passive{i}" for i in (1, 2, 3)]
    assert list(found) == ["alone", "hybrid", *two, "whole-trees", "own-whole-trees", "merged", "pooled"]
    assert [line.partition(":")[0] for line in told] == list(found)
    assert all(list(of) == ["auc", "auprc", "ks", "accuracy", "log loss"] for of in found.values())
    auc = {name: of["auc"] for name, of in found.items()}
    assert auc["alone"] < min(auc[one] for one in two) < auc["hybrid"] <= auc["pooled"]
    assert auc["merged"] == auc["pooled"]
    assert auc["alone"] < auc["own-whole-trees"]


def test_alone_and_pooled_are_what_an_estimator_makes_of_these_tables():
    training, test = pair()
    found = baselines(training, test, ("alone", "pooled"), FEW)
    for name, (own, new) in {
        "alone": (training.active, test.active),
        "pooled": (training.pooled(), test.pooled()),
    }.items():
        model = GBDTClassifier(6, max_depth=3, max_bin=16).fit(own)
        assert found[name]["auc"] == metrics.auc(new.labels, model.predict_proba(new)[:, 1])


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", [{}, {"average": True}])
def test_a_hybrid_run_in_which_all_compete_at_every_level_is_pooled(classes, kind):
    params = replace(FEW, n_estimators=3, **kind)
    found = baselines(*pair(classes=classes), ("hybrid", "pooled"), params, method=Hybrid(levels="JJJ", shared=True))
    assert found["hybrid"] == found["pooled"]
    other = baselines(*pair(classes=classes), ("hybrid",), params, method=Hybrid(shared=True))
    assert other["hybrid"] != found["pooled"]


def test_parties_with_columns_of_their_own_are_compared_as_well():
    training, test = pair(HybridCut(("b", "c", "d"), 2, dropped=1, seed=3))
    found = baselines(training, test, BASELINES, FEW)
    assert found["alone"]["auc"] < found["hybrid"]["auc"]


def test_numbers_are_measured_as_numbers():
    training, test = (
        HybridTables(replace(made.active, labels=made.active.values[:, 0].astype(float)), made.passive)
        for made in pair()
    )
    found = baselines(training, test, BASELINES, FEW, goal=Goal("squared"))
    assert list(found["whole-trees"]) == ["rmse", "mae"]


def test_accounts_of_many_payments_are_compared():
    knobs = Network(rate=0.05)
    training, test = hybrid_payments("AD", 0.001, banks=3, rows="accounts", network=knobs)
    found = baselines(training, test, BASELINES, FEW, method=Hybrid(shared=True))
    by_payment = hybrid_payments("AD", 0.001, banks=3, network=knobs)
    assert found == baselines(*by_payment, BASELINES, FEW, method=Hybrid(shared=True))


def test_the_share_of_the_gap_is_between_alone_and_pooled():
    figures = {
        "alone": {"auc": 0.6, "log loss": 0.5, "ks": 0.3},
        "hybrid": {"auc": 0.75, "log loss": 0.4, "ks": 0.3},
        "pooled": {"auc": 0.8, "log loss": 0.3, "ks": 0.2},
    }
    found = recovered(figures)
    assert found["hybrid"] == pytest.approx({"auc": 0.75, "log loss": 0.5})
    assert found["alone"] == {"auc": 0, "log loss": 0}
    assert found["pooled"] == {"auc": 1, "log loss": 1}


def test_what_cannot_be_compared_is_refused():
    training, test = pair()
    with pytest.raises(ParameterError, match="The baseline 'odd' is unknown; name some of alone, hybrid, two-party"):
        baselines(training, test, ("alone", "odd"), FEW)
    with pytest.raises(ParameterError, match="No baseline is named"):
        baselines(training, test, (), FEW)
    with pytest.raises(ParameterError, match=r"a random forest's do not\. Leave whole-trees out"):
        baselines(training, test, ("whole-trees",), replace(FEW, average=True))
    with pytest.raises(DataError, match="The active party's table has no labels"):
        baselines(training._replace(active=replace(training.active, labels=None)), test, ("alone",), FEW)


# Whole trees in turn


def residual_turns(training, test, n, own_rows):
    """The twin: for squares, each tree is a regression of its own on what is left, in turn."""

    def view(made, name, anyone):
        if not name:
            return np.ones(made.active.n_rows, bool), np.asarray(made.active.values)
        columns = made.passive[name].columns
        parties = made.passive if anyone else {name: made.passive[name]}
        held = np.isin(made.active.ids, np.concatenate([part.ids for part in parties.values()]))
        return held, np.asarray(made._replace(passive=dict(parties)).pooled().aligned(columns).values)

    labels = training.active.labels
    learnt, new = (np.full(made.active.n_rows, labels.mean()) for made in (training, test))
    for turn in range(n):
        name = ("", *training.passive)[turn % (1 + len(training.passive))]
        rows, values = view(training, name, anyone=False)
        settings = {"max_depth": 3, "max_bin": 16, "base_score": 0.0}
        tree = GBDTRegressor(1, **settings).fit(values[rows], (labels - learnt)[rows])
        for made, scores in ((training, learnt), (test, new)):
            used, seen = view(made, name, anyone=not own_rows)
            scores[used] += tree.predict(seen[used])
    return new


@pytest.mark.parametrize("own_rows", [False, True])
def test_each_party_in_turn_grows_a_tree_on_what_is_left(own_rows):
    training, test = pair(HybridCut(("c", "d"), 2, uncovered=0.3, holders=1))
    rng = np.random.default_rng(4)
    labels = training.active.labels + 0.1 * rng.normal(size=training.active.n_rows)
    training = training._replace(active=replace(training.active, labels=labels))
    task = Task(Loss("squared"))
    found = scores_in_turn(training, test, replace(FEW, n_estimators=7), task, own_rows=own_rows)[:, 0]
    np.testing.assert_allclose(found, residual_turns(training, test, 7, own_rows), atol=2e-3)
    other = residual_turns(training, test, 7, not own_rows)  # the sabotage: the other rule for whose trees are used
    assert np.abs(found - other).max() > 0.02


def test_a_party_without_a_row_is_passed_over():
    training, test = pair(HybridCut(("c", "d"), 1))
    empty = training.passive["passive1"].take(np.arange(0))
    task = Task(Loss("squared"))
    found = scores_in_turn(training._replace(passive={"passive1": empty}), test, FEW, task)
    alone = GBDTRegressor(3, max_depth=3, max_bin=16).fit(training.active)
    np.testing.assert_allclose(found[:, 0], alone.predict(test.active), atol=1e-5)


# The command

CUT = '[partition]\ndata = "builtin:breast_cancer"\nparties = 4\npassive = 20\n[validation]\nshare = 0.3\n'
HEAD = '[run]\nname = "cut"\nmethod = "hybrid"\n[data]\ntask = "classify"\n'
TREES = "[trees]\nn_estimators = 4\nmax_depth = 3\n"


def said(where, *words, code=0):
    result = CliRunner().invoke(app, ["baselines", str(where / "run.toml"), *words], env={"COLUMNS": "160"})
    assert result.exit_code == code, result.output
    return result.output


def test_the_command_answers_whether_hybrid_training_pays(tmp_path):
    (tmp_path / "run.toml").write_text(HEAD + CUT + TREES)
    printed = said(tmp_path, "--json", str(tmp_path / "out.json"))
    lines = [line.split()[0] for line in printed.splitlines() if line.split()]
    assert [word for word in lines if word in BASELINES] == ["alone", "hybrid", "pooled", "hybrid"]
    assert "share of the gap" in printed
    kept = json.loads((tmp_path / "out.json").read_text())
    assert kept["rows"] == "validation"
    assert list(kept["metrics"]) == ["alone", "hybrid", "pooled"]
    assert kept["recovered"]["pooled"]["auc"] == 1


def test_two_party_figures_are_shown_from_least_to_most(tmp_path):
    (tmp_path / "run.toml").write_text(HEAD + CUT + TREES)
    printed = said(tmp_path, "--words", "two-party,whole-trees", "--json", str(tmp_path / "out.json"))
    assert "two-party, least" in printed
    assert "share of the gap" not in printed
    found = json.loads((tmp_path / "out.json").read_text())["metrics"]
    least = min(found[f"two-party party{i}"]["auc"] for i in (2, 3, 4))
    assert f"{least:.5g}" in next(line for line in printed.splitlines() if line.startswith("two-party, least"))


def test_files_of_the_parties_are_a_sample_as_well(tmp_path):
    payments(tmp_path)
    (tmp_path / "run.toml").write_text(RUN + parties_of() + "[validation]\nshare = 0.25\n" + PLAIN)
    taken = sample(read_run_file(tmp_path / "run.toml"))
    assert taken.rows == "validation"
    assert taken.training.active.names == ("amount", "hour")
    assert {one.names for one in taken.training.passive.values()} == {("age", "risk")}
    assert taken.test.passive["bank1"].n_rows == 60
    assert "pooled" in said(tmp_path)


@pytest.mark.parametrize("rows", ["test", "training"])
def test_test_rows_come_first_and_training_rows_last(tmp_path, rows):
    payments(tmp_path)
    text = RUN.replace("[trees]", 'test = "network.csv"\n[trees]') if rows == "test" else RUN
    (tmp_path / "run.toml").write_text(text + parties_of())
    taken = sample(read_run_file(tmp_path / "run.toml"))
    assert taken.rows == rows
    assert taken.test.active.n_rows == 600


def test_a_gap_that_is_none_is_said(tmp_path, monkeypatch):
    (tmp_path / "run.toml").write_text(HEAD + CUT + TREES)
    same = {name: {"auc": 0.5} for name in ("alone", "hybrid", "pooled")}
    monkeypatch.setattr(hybrid_baselines, "baselines", lambda *_, **__: same)
    assert "Pooled is no better than alone in any metric: there is no gap to close." in said(tmp_path)


def test_the_command_refuses_what_it_cannot_compare(tmp_path):
    (tmp_path / "run.toml").write_text(HEAD.replace("hybrid", "pooled") + CUT.replace("passive = 20\n", "") + TREES)
    assert "only a hybrid run is compared with baselines" in said(tmp_path, code=3)
    (tmp_path / "run.toml").write_text(HEAD + CUT + TREES)
    assert "The baseline 'odd' is unknown" in said(tmp_path, "--words", "odd", code=3)
    assert "does not exist; create it first" in said(tmp_path, "--json", str(tmp_path / "no" / "x.json"), code=3)
