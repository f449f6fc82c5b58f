"""The estimators over a hybrid federation: one party's rows, of which each other party has some."""

import numpy as np
import pytest

import hedgerow
from hedgerow import GBDTClassifier, GBDTRegressor, Hybrid, NoPrivacy, Table
from hedgerow.errors import DataError, ParameterError
from hedgerow.run.file.hybrid_tables import joined

PLAIN = NoPrivacy(i_accept_disclosure=True)


def parties(n=300, seed=0):
    rng = np.random.default_rng(seed)
    ids, X = rng.integers(0, 80, n), rng.normal(size=(n, 2)).round(2)
    signal, banks = X[:, 0].copy(), {}
    for i, (first, size) in enumerate(((0, 40), (30, 30)), 1):
        own = rng.normal(size=(size, 2)).round(2)
        banks[f"bank{i}"] = Table.of(own, names=[f"b{i}a", f"b{i}b"], ids=first + np.arange(size))
        signal += np.array([2 * own[one - first, 0] if first <= one < first + size else 0 for one in ids])
    return {"network": Table.of(X, signal > 0, names=["p", "q"], ids=ids, repeated_ids=True), **banks}


def model_of(federation, **more):
    return GBDTClassifier(n_estimators=4, max_depth=4, min_cut_rows=5, federation=federation, **more)


@pytest.mark.parametrize("privacy", [PLAIN, hedgerow.Lattice()])
def test_parties_that_lack_rows_fit_and_predict_together(privacy):
    tables = parties()
    model = model_of(Hybrid(privacy)).fit(tables)
    chances = model.predict_proba(tables)
    assert chances.shape == (300, 2)
    assert np.array_equal(chances, model.predict_proba(joined(tables, "network")))
    assert (model.model_.forest.columns >= 2).sum() > 2, "banks' columns must be cut"
    alone = GBDTClassifier(n_estimators=4, max_depth=4, min_cut_rows=5).fit(tables["network"])
    labels = tables["network"].labels
    assert (model.predict(tables) == labels).mean() > (alone.predict(tables["network"]) == labels).mean() + 0.05


def test_the_later_half_of_the_levels_is_everybody_s_unless_it_is_said():
    tables = parties()
    usual, said = (model_of(Hybrid(PLAIN, levels=levels)).fit(tables).model_ for levels in ("", "AAJJ"))
    assert usual.forest == said.forest
    every = model_of(Hybrid(PLAIN, levels="JJJJ")).fit(tables).model_
    assert every.forest != usual.forest


def test_validation_rows_of_the_active_party_are_enough_to_stop_early():
    tables, later = parties(), parties(seed=0)["network"].take(np.arange(0, 300, 3))
    model = GBDTRegressor(n_estimators=40, max_depth=3, learning_rate=0.9, min_cut_rows=5, early_stopping_rounds=1,
                          federation=Hybrid(PLAIN))  # fmt: skip
    own = tables["network"]
    numbers = Table.of(own.values, own.labels * 1.0, names=own.names, ids=own.ids, repeated_ids=True)
    valid = Table.of(later.values, np.random.default_rng(0).normal(size=later.n_rows), names=own.names, ids=later.ids,
                     repeated_ids=True)  # fmt: skip
    model.fit({**tables, "network": numbers}, eval_set={"network": valid})
    assert model.model_.forest.n_trees < 40


def test_labels_of_a_passive_party_are_not_used_and_it_is_said():
    tables = parties()
    bank = tables["bank1"]
    labelled = Table.of(bank.values, np.zeros(bank.n_rows), names=bank.names, ids=bank.ids)
    model = model_of(Hybrid(PLAIN, active="network")).fit({**tables, "bank1": labelled})
    assert "Party 'bank1' is passive; its labels are not used." in model.notes_
    assert model.model_.forest == model_of(Hybrid(PLAIN)).fit(tables).model_.forest


def test_a_party_that_shares_no_id_is_told_of_and_the_rest_goes_on():
    tables = parties()
    strange = Table.of(np.ones((5, 1)), names=["z"], ids=[f"x{i}" for i in range(5)])
    model = model_of(Hybrid(PLAIN)).fit({**tables, "bank2": strange})
    assert any("Party 'bank2' holds none of your 300 rows" in note for note in model.notes_)


WRONG = {
    "no ids at the active party": (lambda t: {**t, "network": Table.of(t["network"].values, t["network"].labels)}, {},
                                   DataError, "Rows are linked by ids, one for each row, and this table has none"),
    "no ids at a passive party": (lambda t: {**t, "bank1": Table.of(t["bank1"].values)}, {},
                                  DataError, "Party 'bank1': .*this table has none; name the column of ids"),
    "levels of another length": (dict, {"levels": "AJ"}, ParameterError, "levels must have a letter for each of the 4"),
    "levels in other letters": (dict, {"levels": "abcd"}, ParameterError, "levels must be letters A, P and J"),
    "hidden rows": (dict, {"hidden_rows": True}, ParameterError, "hidden_rows needs rows that all parties have"),
    "an active party that is none": (dict, {"active": "x"}, ParameterError, "The active party 'x' of a hybrid run"),
    "one party": (lambda t: {"network": t["network"]}, {}, ParameterError, "A hybrid run needs a passive party"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_mistakes_are_told_in_one_sentence(case):
    change, options, error, sentence = WRONG[case]
    with pytest.raises(error, match=sentence):
        model_of(Hybrid(PLAIN, **options)).fit(change(parties()))


def test_rows_of_a_node_are_not_counted():
    with pytest.raises(ParameterError, match="no passive party can count the rows"):
        model_of(Hybrid(PLAIN), min_child_rows=5).fit(parties())


def test_depths_are_other_words_for_levels():
    tables = parties()
    said = [
        model_of(Hybrid(PLAIN, **how)).fit(tables).model_
        for how in ({"levels": "AAAP"}, {"depth_active": 3, "depth_passive": 1})
    ]
    assert said[0].forest == said[1].forest
    with pytest.raises(ParameterError, match="are 3 levels together, and max_depth is 4; say max_depth = 3"):
        model_of(Hybrid(PLAIN, depth_active=1, depth_passive=2)).fit(tables)


def test_random_cuts_are_of_whole_gradients_and_another_forest():
    tables = parties()
    best, random = (
        model_of(Hybrid(levels="AAPP", passive_cuts=cuts)).fit(tables).model_ for cuts in ("best", "random")
    )
    assert random.params.gradient_bits == best.params.gradient_bits == 20
    assert best.forest != random.forest


def test_a_rare_class_is_learnt_unless_few_bits_are_asked_for_and_then_it_is_said():
    """At 1 in 2000 the derivatives of the common class round to nothing in 8 bits, and no cut has any weight."""
    rng = np.random.default_rng(0)
    n, ids = 12_000, np.arange(12_000)
    y = (ids < 6).astype(int)
    own = Table.of(rng.normal(size=(n, 1)).round(1), y, names=["p"], ids=ids)
    tables = {
        "network": own,
        "bank": Table.of(3 * y[:, None] + rng.normal(size=(n, 1)).round(1), names=["b"], ids=ids),
    }
    settings = {"n_estimators": 1, "max_depth": 2, "min_child_weight": 0.001}
    usual, few = (
        GBDTClassifier(**settings, **bits, federation=Hybrid(PLAIN)).fit(tables) for bits in ({}, {"gradient_bits": 8})
    )
    assert len(usual.model_.forest.columns) > 1
    assert len(few.model_.forest.columns) == 1
    assert not any("raise gradient_bits" in note for note in usual.notes_)
    assert any("too small to be seen in 8 bits" in note for note in few.notes_)
