"""The estimators where several parties are active: a model of each, and rows predicted by all of them."""

import numpy as np
import pytest

import hedgerow
from hedgerow import Bagged, GBDTClassifier, GBDTRegressor, Hybrid, NoPrivacy, Table, load_bag, load_model
from hedgerow.errors import DataError, ModelError, ParameterError
from hedgerow.model.bag import Bag
from hedgerow.model.file import save
from hedgerow.model.part import ownership_of
from several_active import BANKS, NETWORKS, parties

PLAIN = NoPrivacy(i_accept_disclosure=True)
TREES = {"n_estimators": 5, "max_depth": 4, "min_cut_rows": 5}


def model_of(federation, kind=GBDTClassifier, **more):
    return kind(**{**TREES, **more}, federation=federation)


def banks_of(tables):
    return {name: tables[name] for name in BANKS}


@pytest.fixture(scope="module")
def made():
    tables = parties()
    return tables, model_of(Bagged(NETWORKS, Hybrid(PLAIN))).fit(tables)


def test_each_active_party_trains_with_the_passive_parties_that_have_some_of_its_rows(made):
    tables, model = made
    met = {name: ownership_of(one).parties for name, one in model.model_.models.items()}
    assert met == {"net1": ("net1", "bank1", "bank2"), "net2": ("net2", "bank2", "bank3")}
    for name, beside in (("net1", ("bank1", "bank2")), ("net2", ("bank2", "bank3"))):
        alone = model_of(Hybrid(PLAIN)).fit({one: tables[one] for one in (name, *beside)})
        assert model.model_.models[name].forest == alone.model_.forest
    assert "net1: Party 'bank3' has none of the rows of 'net1' and is left out." in model.notes_


@pytest.mark.parametrize("asker", NETWORKS)
def test_rows_of_either_active_party_are_predicted_by_the_mean_of_all_models(made, asker):
    tables, model = made
    own = tables[asker]
    each = []
    for name, one in model.model_.models.items():
        single = model_of(Hybrid(PLAIN))
        single.model_, single.classes_ = one, model.classes_
        beside = {bank: tables[bank] for bank in ownership_of(one).parties if bank in BANKS}
        each.append(single.predict_proba({name: own, **beside}))
    together = model.predict_proba({asker: own, **banks_of(tables)})
    assert np.array_equal(together, np.mean(each, axis=0))
    assert not np.array_equal(each[0], each[1])
    assert np.array_equal(model.predict({asker: own, **banks_of(tables)}), model.classes_[together.argmax(axis=1)])
    by_margin = model.decision_function({asker: own, **banks_of(tables)})
    assert np.array_equal(by_margin > 0, together[:, 1] > 0.5)


def test_votes_are_counted_and_a_tie_goes_to_the_likelier_class():
    tables = parties()
    model = model_of(Bagged(NETWORKS, Hybrid(PLAIN), vote=True)).fit(tables)
    rows = {"net1": tables["net1"], **banks_of(tables)}
    shares, bag = model.predict_proba(rows), model.model_
    assert set(shares.ravel().tolist()) == {0.0, 0.5, 1.0}
    mean = Bag(bag.models)
    each = model._each(bag, rows, False)
    tie = shares[:, 0] == 0.5
    assert tie.any()
    assert np.array_equal(model.predict(rows)[tie], mean.labels_of_each(each)[tie])
    assert np.array_equal(model.predict(rows)[~tie], model.classes_[shares.argmax(axis=1)][~tie])


def test_numbers_are_averaged():
    tables = parties()
    for name in NETWORKS:
        own = tables[name]
        tables[name] = Table.of(own.values, own.labels * 3.0, names=own.names, ids=own.ids, repeated_ids=True)
    model = model_of(Bagged(NETWORKS, Hybrid(PLAIN)), GBDTRegressor).fit(tables)
    rows = {"net2": tables["net2"], **banks_of(tables)}
    assert np.array_equal(model.predict(rows), np.mean(model._each(model.model_, rows, False), axis=0))


def test_a_model_that_knows_none_of_a_class_gives_it_no_probability():
    tables = parties()
    own = tables["net2"]
    three = np.where(own.values[:, 1] > 0.8, 2, own.labels.astype(int))
    tables["net1"] = Table.of(tables["net1"].values, tables["net1"].labels.astype(int), names=own.names,
                              ids=tables["net1"].ids, repeated_ids=True)  # fmt: skip
    tables["net2"] = Table.of(own.values, three, names=own.names, ids=own.ids, repeated_ids=True)
    model = model_of(Bagged(NETWORKS, Hybrid(PLAIN))).fit(tables)
    assert model.classes_.tolist() == [0, 1, 2]
    chances = model.predict_proba({"net1": tables["net1"], **banks_of(tables)})
    assert np.allclose(chances.sum(axis=1), 1)
    assert chances[:, 2].max() <= 0.5


@pytest.mark.parametrize("privacy", [hedgerow.Lattice(), PLAIN])
def test_active_parties_share_what_banks_know_alike(privacy):
    tables = parties()
    alike = {bank: Table.of(tables[bank].values, names=["age", "risk"], ids=tables[bank].ids) for bank in BANKS}
    model = model_of(Bagged(NETWORKS, Hybrid(privacy, shared=True, allow_two=True))).fit({**tables, **alike})
    met = {name: one.ownership.groups for name, one in model.model_.models.items()}
    assert met == {"net1": (("bank1", "bank2"),), "net2": (("bank2", "bank3"),)}
    rows = {"net1": tables["net1"], **alike}
    parts = [{"bank1", "bank2"}, {"bank2", "bank3"}]
    each = model._each(model.model_, rows, False)
    for (name, one), told, beside in zip(model.model_.models.items(), each, parts, strict=True):
        single = model_of(Hybrid(PLAIN))
        single.model_, single.classes_ = one, model.classes_
        alone = single.predict_proba({name: tables["net1"], **{bank: alike[bank] for bank in beside}})
        assert np.array_equal(told, alone)


def test_labels_of_passive_parties_are_not_used_and_it_is_said_once(made):
    tables, model = made
    bank = tables["bank2"]
    labelled = Table.of(bank.values, np.zeros(bank.n_rows), names=bank.names, ids=bank.ids)
    again = model_of(Bagged(NETWORKS, Hybrid(PLAIN))).fit({**tables, "bank2": labelled})
    assert again.notes_.count("Party 'bank2' is passive; its labels are not used.") == 1
    for name in NETWORKS:
        assert again.model_.models[name].forest == model.model_.models[name].forest


def test_held_out_rows_of_each_active_party_stop_its_own_model():
    tables, later = parties(), parties(seed=0)
    valid = {name: later[name].take(np.arange(0, 400, 4)) for name in NETWORKS}
    shuffled = {
        name: Table.of(own.values, np.random.default_rng(0).random(own.n_rows) < 0.5, names=own.names, ids=own.ids,
                       repeated_ids=True)
        for name, own in valid.items()
    }  # fmt: skip
    model = model_of(Bagged(NETWORKS, Hybrid(PLAIN)), n_estimators=30, learning_rate=0.9, early_stopping_rounds=1)
    model.fit(tables, eval_set={"net1": shuffled["net1"], "net2": valid["net2"]})
    first, second = (model.model_.models[name] for name in NETWORKS)
    assert first.forest.n_trees < second.forest.n_trees


def test_a_bag_is_one_file_and_predicts_the_same_when_it_is_read(made, tmp_path):
    _, model = made
    model.save(tmp_path / "bag.json")
    again = load_bag(tmp_path / "bag.json")
    assert list(again.models) == list(NETWORKS)
    for name in NETWORKS:
        assert again.models[name].forest == model.model_.models[name].forest
    damaged = (tmp_path / "bag.json").read_bytes().replace(b'"vote":false', b'"vote":true ')
    (tmp_path / "damaged.json").write_bytes(damaged)
    with pytest.raises(ModelError, match="was changed or damaged after it was written"):
        load_bag(tmp_path / "damaged.json")
    save(model.model_.models["net1"], tmp_path / "one.json")
    with pytest.raises(ModelError, match="is no bag of hedgerow models"):
        load_bag(tmp_path / "one.json")
    with pytest.raises(ModelError, match="is a bag of several models; read it with load_bag"):
        load_model(tmp_path / "bag.json")


def test_importances_are_the_mean_of_the_models(made):
    _, model = made
    shares = dict(zip(model.model_.names, model.importances("gain"), strict=True))
    assert sum(shares.values()) == pytest.approx(1)
    first = model.model_.models["net1"].importances("gain")
    assert shares["age"] == pytest.approx(first["age"] / 2)


def renamed(table, names):
    return Table.of(table.values, table.labels, names=names, ids=table.ids, repeated_ids=True)


WRONG = {
    "an active party that is none": (dict, ("net1", "net3"), ParameterError, "The active party 'net3' is not among"),
    "other columns": (lambda t: {**t, "net2": renamed(t["net2"], ["amount", "day"])}, NETWORKS, DataError,
                      "Active parties have the same columns, but 'day' is not the same at 'net1' and 'net2'"),
    "no rows shared": (lambda t: {**t, "net2": Table.of(t["net2"].values, t["net2"].labels, names=["amount", "hour"],
                       ids=[f"x{i}" for i in range(400)])}, NETWORKS, DataError,
                       "No passive party has any of the rows of 'net2'"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_mistakes_are_told_in_one_sentence(case):
    change, active, error, sentence = WRONG[case]
    with pytest.raises(error, match=sentence):
        model_of(Bagged(active, Hybrid(PLAIN))).fit(change(parties()))


OPTIONS = {
    "one": ({"active": ("a",)}, r'active must name the active parties, like \("a", "b"\)'),
    "twice": ({"active": ("a", "a")}, "active names a party twice"),
    "a name": ({"active": "ab"}, "active must name the active parties"),
    "active in the hybrid": ({"active": ("a", "b"), "hybrid": Hybrid(active="a")}, "Which parties are active is said"),
    "another method": ({"active": ("a", "b"), "hybrid": hedgerow.Horizontal()}, r"hybrid must be Hybrid\(\)"),
}


@pytest.mark.parametrize("case", OPTIONS)
def test_options_are_checked_when_they_are_made(case):
    options, sentence = OPTIONS[case]
    with pytest.raises(ParameterError, match=sentence):
        Bagged(**options)


def test_what_is_of_one_model_says_so(made):
    tables, model = made
    rows = {"net1": tables["net1"], **banks_of(tables)}
    with pytest.raises(ParameterError, match=r"take one, like model_.models\['net1'\]"):
        model.apply(rows)
    with pytest.raises(ParameterError, match="Sealed prediction is of one model"):
        model.predict_proba(rows, sealed=True)
    with pytest.raises(DataError, match="Rows of one active party are predicted at a time"):
        model.predict_proba(tables)
    with pytest.raises(DataError, match="The table of 'bank2' is not given"):
        model.predict_proba({"net1": tables["net1"], "bank1": tables["bank1"]})
