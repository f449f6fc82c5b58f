"""Models come back whole or not at all, and XGBoost predicts the same from ours."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xgboost
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow import ForestClassifier, ForestRegressor, GBDTClassifier, GBDTRegressor, Table, load_model
from hedgerow.errors import ModelError
from hedgerow.model.file import save
from hedgerow.model.xgboost import to_xgboost
from hedgerow.privacy.accountant import Release, spent
from hedgerow.privacy.ledger import Budget
from hedgerow.privacy.promise import promised
from hedgerow.report.tree_text import summary

HERE = Path(__file__).parent


def frame(n=600):
    rng = np.random.default_rng(8)
    out = pd.DataFrame(rng.standard_normal((n, 4)).astype(np.float32), columns=list("abcd"))
    out["city"] = pd.Categorical(rng.choice(["ulm", "bonn", "kiel", "jena", "hof"], n))
    out.loc[::7, "a"] = np.nan
    out.loc[::11, "city"] = np.nan
    return out


def labels(X):
    return np.nan_to_num(X.a) * X.b + 2.0 * X.city.isin(["ulm", "hof"]) + X.c / 3


MAKERS = {
    "logistic": lambda X, s: GBDTClassifier(12).fit(X, s > 0.8),
    "softmax": lambda X, s: GBDTClassifier(6).fit(X, np.digitize(s, [0, 1])),
    "squared": lambda X, s: GBDTRegressor(12).fit(X, s),
    "poisson": lambda X, s: GBDTRegressor(12, objective="poisson").fit(X, np.round(np.abs(s))),
    "tweedie": lambda X, s: GBDTRegressor(12, objective="tweedie").fit(X, np.round(np.abs(s))),
    "huber": lambda X, s: GBDTRegressor(12, objective="huber").fit(X, s),
    "forest of classes": lambda X, s: ForestClassifier(8).fit(X, s > 0.8),
    "forest of numbers": lambda X, s: ForestRegressor(8).fit(X, s),
    "forest of shares": lambda X, s: ForestClassifier(8).fit(X, np.digitize(s, [0, 1])),
}


@pytest.fixture(scope="module")
def models():
    X = frame()
    return {name: make(X, labels(X)).model_ for name, make in MAKERS.items()}


@pytest.mark.parametrize("name", MAKERS)
def test_a_saved_model_comes_back_to_the_last_bit(models, name, tmp_path):
    model, X = models[name], Table.of(frame())
    save(model, tmp_path / "m.json")
    again = load_model(tmp_path / "m.json")
    assert again.forest == model.forest
    assert (again.columns, again.loss, again.classes) == (model.columns, model.loss, model.classes)
    assert (again.params, again.base_score) == (model.params, model.base_score)
    assert np.array_equal(again.predict(X), model.predict(X))
    assert [p.name for p in tmp_path.iterdir()] == ["m.json"]


@pytest.mark.parametrize("name", [n for n in MAKERS if n != "forest of shares"])
def test_xgboost_predicts_the_same_from_our_export(models, name, tmp_path):
    model, X = models[name], frame()
    to_xgboost(model, tmp_path / "x.json")
    # XGBoost's codes are positions in the categories, as ours.
    X["city"] = X.city.cat.set_categories(model.columns[4].categories)
    booster = xgboost.Booster(model_file=tmp_path / "x.json")
    theirs = booster.predict(xgboost.DMatrix(X, enable_categorical=True), output_margin=True).reshape(len(X), -1)
    ours = model.scores(Table.of(X))
    if name.startswith("forest"):
        assert np.allclose(theirs, ours, atol=1e-6)
    else:
        assert np.array_equal(theirs, ours)


def test_a_forest_of_shares_has_no_xgboost_form(models, tmp_path):
    with pytest.raises(ModelError, match="XGBoost has no objective"):
        to_xgboost(models["forest of shares"], tmp_path / "x.json")


def test_yesterdays_model_still_loads_and_predicts_the_same():
    """Version 1 as first written; if this fails, old models would be lost."""
    model = load_model(HERE / "version1.json")
    saved = np.load(HERE / "version1.npz")
    assert np.array_equal(model.scores(Table.of(frame(50))), saved["scores"])


def write(path, body, version=1, digest=None):
    raw = json.dumps(body).encode()
    digest = digest or hashlib.sha256(raw).hexdigest()
    path.write_bytes(b'{"hedgerow":%d,"sha256":"%s","body":%s}' % (version, digest.encode(), raw))
    return path


@pytest.fixture
def body():
    return json.loads((HERE / "version1.json").read_text())["body"]


def spoil(**how):
    def change(body):
        for name, (place, value) in how.items():
            body["forest"][name][place] = value

    return change


def drop(name):
    return lambda body: body["forest"][name].pop()


SPOILT = {
    "a child before its parent": (spoil(children=(0, 0)), "child is not behind it"),
    "a child outside its tree": (spoil(children=(0, 10**6)), "child is not behind it"),
    "two parents": (lambda b: spoil(children=(1, b["forest"]["children"][0]))(b), "child is not behind|more than one"),
    "a column that is not there": (spoil(columns=(0, 99)), "names a column that is not there"),
    "a negative column": (spoil(columns=(0, -2)), "names a column that is not there"),
    "a number too large for its kind": (spoil(columns=(0, 2**40)), "out of range"),
    "a value beyond float32": (spoil(values=(0, 1e300)), "is not finite"),
    "a set that is not there": (spoil(sets=(0, 5000)), "set of categories that is not there|does not fit the kind"),
    "a short array": (drop("values"), "differ in length"),
    "trees that do not follow": (spoil(roots=(1, 0)), "do not follow each other"),
    "an unknown loss": (lambda b: b["loss"].update(name="magic"), "Invalid enum value|magic"),
    "a parameter out of range": (lambda b: b["params"].update(max_depth=99), "max_depth"),
    "no class": (lambda b: b["loss"].update(n_classes=0), "does not go with 0 classes"),
    "classes that do not fit": (lambda b: b.update(classes=[0, 1, 2]), "classes do not fit the loss"),
    "constraints that do not fit": (lambda b: b["params"].update(monotone_constraints=[1]), "constraints do not fit"),
    "a category twice": (lambda b: b["columns"][4].update(categories=["hof"] * 5), "a category twice"),
    "an unknown field": (lambda b: b.update(extra=1), "unknown field"),
    "two columns of one name": (lambda b: b["columns"][1].update(name="a"), "two columns have one name"),
}


@pytest.mark.parametrize("name", SPOILT)
def test_a_file_that_makes_no_sense_is_refused(name, body, tmp_path):
    change, sentence = SPOILT[name]
    change(body)
    with pytest.raises(ModelError, match=sentence):
        load_model(write(tmp_path / "m.json", body))


def test_an_unspoilt_body_written_the_same_way_loads(body, tmp_path):
    """The sabotages above fail for what they spoil, not for how they are written."""
    assert load_model(write(tmp_path / "m.json", body)).n_rounds == 12


def test_changed_bytes_another_version_and_garbage_are_refused(body, tmp_path):
    with pytest.raises(ModelError, match="hash does not fit"):
        load_model(write(tmp_path / "m.json", body, digest="0" * 64))
    with pytest.raises(ModelError, match="version 7; this hedgerow reads version 1"):
        load_model(write(tmp_path / "m.json", body, version=7))
    (tmp_path / "g.json").write_bytes(b"\x00\x01garbage")
    with pytest.raises(ModelError, match="not a hedgerow model, or it is damaged"):
        load_model(tmp_path / "g.json")
    (tmp_path / "deep.json").write_text('{"body":' + "[" * 100_000)
    with pytest.raises(ModelError, match="not a hedgerow model, or it is damaged"):
        load_model(tmp_path / "deep.json")
    with pytest.raises(ModelError, match=r"Cannot read the model .*No such file"):
        load_model(tmp_path / "none.json")


@given(st.data())
@settings(max_examples=150)
def test_any_changed_byte_is_noticed(tmp_path_factory, data):
    content = bytearray((HERE / "version1.json").read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    path = tmp_path_factory.mktemp("bytes") / "m.json"
    path.write_bytes(bytes(content))
    try:
        model = load_model(path)
    except ModelError:
        return
    # Only white space outside the body, or the case of a hash digit, may change unnoticed.
    assert model.forest == load_model(HERE / "version1.json").forest


def test_a_link_is_followed_and_modes_are_kept(models, tmp_path):
    (tmp_path / "real.json").touch(mode=0o640)
    (tmp_path / "link.json").symlink_to("real.json")
    save(models["logistic"], tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "real.json").stat().st_mode & 0o777 == 0o640
    assert load_model(tmp_path / "real.json").forest == models["logistic"].forest
    with pytest.raises(ModelError, match="it is not a file"):
        save(models["logistic"], Path("/dev/null"))


def test_a_model_that_cannot_be_written_says_why(models, tmp_path):
    with pytest.raises(ModelError, match=r"Cannot write .*No such file"):
        save(models["logistic"], tmp_path / "nowhere" / "m.json")


def promise():
    releases = (Release("tree", "gaussian", 4096, 1e6, 20),)
    return promised(Budget(1, 1e-6), spent(releases, 1e-6), "the coordinator", "every opened sum and the model")


def test_what_is_promised_of_the_rows_comes_back(models, tmp_path):
    save(replace(models["logistic"], promise=promise()), tmp_path / "m.json")
    again = load_model(tmp_path / "m.json")
    assert again.promise == promise()
    assert "privacy  epsilon 1.000 at delta 1e-06 for one row, add or remove one, against the coord" in summary(again)
    assert "privacy" not in summary(models["logistic"])


def test_a_model_without_a_promise_is_written_as_before_there_were_any(models, tmp_path):
    save(models["logistic"], tmp_path / "m.json")
    assert "promise" not in json.loads((tmp_path / "m.json").read_text())["body"]
    assert load_model(tmp_path / "m.json").promise is None


@pytest.mark.parametrize("wrong", [{"epsilon": -1}, {"composed": 2}, {"releases": []}, {"unit": 3}])
def test_a_promise_that_cannot_be_is_refused(models, wrong, tmp_path):
    save(replace(models["logistic"], promise=promise()), tmp_path / "m.json")
    body = json.loads((tmp_path / "m.json").read_text())["body"]
    body["promise"] |= wrong
    raw = json.dumps(body, separators=(",", ":")).encode()
    whole = {"hedgerow": 1, "sha256": hashlib.sha256(raw).hexdigest()}
    (tmp_path / "m.json").write_bytes(json.dumps(whole).encode()[:-1] + b', "body": ' + raw + b"}")
    with pytest.raises(ModelError, match="is not a model that can be used"):
        load_model(tmp_path / "m.json")
