"""What estimators are told and tell: wrong options in one sentence, names of features, progress."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer

from hedgerow import (
    ForestClassifier,
    GBDTClassifier,
    GBDTRegressor,
    Horizontal,
    Lattice,
    NoPrivacy,
    SecureAggregation,
    Table,
    Vertical,
    WholeTrees,
)
from hedgerow.data import partition
from hedgerow.errors import DataError, HedgerowError, ParameterError

OPEN = NoPrivacy(i_accept_disclosure=True)


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True, as_frame=True)


# Wrong options

FEDERATION = "federation must be Horizontal(), Vertical(), Hybrid() or WholeTrees() (None for one table); it is "
OF_ROWS = "privacy must be SecureAggregation(), Lattice(), Paillier() or NoPrivacy(i_accept_disclosure=True); it is "
OF_COLUMNS = "privacy must be Lattice(), Paillier() or NoPrivacy(i_accept_disclosure=True); it is "
METRICS = "auc, error, logloss, mae, merror, mlogloss, mphe, poisson-nloglik, rmse, tweedie-nloglik"
VERBOSE = "verbose must be 0 (silent), 1 (about twenty lines) or the number of rounds from one line to the next; it is "
WRONG = {
    "a metric's number": (
        lambda: {"eval_metric": ["auc", 3]},
        f"eval_metric must be the name of one metric, of {METRICS}; it is 3.",
    ),
    "a federation's name": (lambda: {"federation": "horizontal"}, f"{FEDERATION}'horizontal'."),
    "a federation's class": (
        lambda: {"federation": Horizontal},
        f"{FEDERATION}the class Horizontal, which is not called.",
    ),
    "a privacy's name": (lambda: Horizontal(privacy="masks"), f"{OF_ROWS}'masks'."),
    "a privacy's class": (lambda: Horizontal(Lattice), f"{OF_ROWS}the class Lattice, which is not called."),
    "masks over columns": (lambda: Vertical(SecureAggregation()), f"{OF_COLUMNS}SecureAggregation()."),
    "a slip of align": (
        lambda: Vertical(align="privat"),
        "align must be 'given', 'private' or None; it is 'privat'.",
    ),
    "names": (lambda: Horizontal(column_names="hidden"), "column_names must be 'open' or 'private'; it is 'hidden'."),
    "columns": (lambda: Horizontal(columns=["a"]), "columns must be 'shared' or 'all'; it is ['a']."),
    "cut points": (lambda: Horizontal(cut_points=3), "cut_points must be 'counts' or 'local'; it is 3."),
    "few columns": (
        lambda: Horizontal(allow_few_columns="yes"),
        "allow_few_columns must be True or False; it is 'yes'.",
    ),
    "a share": (lambda: Vertical(party_share="all"), "party_share must be a number; it is 'all'."),
    "local trees": (lambda: Vertical(local_trees=0.5), "local_trees must be a whole number; it is 0.5."),
    "an order": (lambda: WholeTrees("bag"), "order must be 'bagging' or 'sequential'; it is 'bag'."),
    "an opener": (lambda: Horizontal(opener=1), "opener must be the name of a party; it is 1."),
    "an active party": (lambda: Vertical(active=1), "active must be the name of a party, or None; it is 1."),
    "verbose": (lambda: {"verbose": "yes"}, f"{VERBOSE}'yes'."),
    "less than silent": (lambda: {"verbose": -1}, f"{VERBOSE}-1."),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_no_option_is_refused_in_one_sentence_that_names_those_there_are(cancer, what):
    options, sentence = WRONG[what]
    with pytest.raises(ParameterError, match=re.escape(sentence)) as refusal:
        GBDTClassifier(2, **options()).fit(*cancer, eval_set=cancer)
    assert str(refusal.value) == sentence
    assert isinstance(refusal.value, HedgerowError)
    assert isinstance(refusal.value, ValueError)


def test_a_model_says_that_it_predicts_from_a_table(cancer):
    X, y = cancer
    model = GBDTClassifier(2).fit(X, y).model_
    for given, kind in ((X, "DataFrame"), (X.to_numpy(), "ndarray"), (None, "NoneType")):
        with pytest.raises(
            DataError, match=rf"^A model predicts from a Table, not from a {kind}; make one with Table\.of\.$"
        ):
            model.predict(given)
    assert model.predict(Table.of(X)).shape == (len(X), 2)


# Names of features

FEDERATIONS = {
    "horizontal": (Horizontal(), lambda X, y: partition.rows(X, y, 3)),
    "whole trees": (WholeTrees(), lambda X, y: partition.rows(X, y, 3)),
    "vertical": (Vertical(OPEN), lambda X, y: partition.columns(X, y, 2, seed=3)),
    "one table": (None, Table.of),
}


@pytest.mark.parametrize("kind", FEDERATIONS)
def test_a_fit_on_tables_knows_its_features_and_finds_them_in_any_frame_without_a_warning(cancer, kind):
    X, y = cancer
    federation, cut = FEDERATIONS[kind]
    model = GBDTClassifier(3, federation=federation).fit(cut(X, y))
    assert set(model.feature_names_in_) == set(X.columns)
    assert model.feature_names_in_.dtype == object
    assert list(model.feature_names_in_) == list(model.model_.names)
    expected = model.predict_proba(Table.of(X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for frame in (X, X[X.columns[::-1]], X.assign(another=1.0)):
            assert np.array_equal(model.predict_proba(frame), expected)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        model.predict(X[list(model.feature_names_in_)].to_numpy())


@pytest.mark.parametrize("kind", FEDERATIONS)
def test_arrays_have_no_names_and_need_none(cancer, kind):
    X, y = cancer
    federation, cut = FEDERATIONS[kind]
    model = GBDTClassifier(3, federation=federation).fit(cut(X, y))
    model.fit(cut(X.to_numpy(), y))
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 30
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(X.to_numpy())
    with pytest.raises(ValueError, match="X has 29 features, but GBDTClassifier is expecting 30"):
        model.predict(X.to_numpy()[:, 1:])


def test_a_fit_on_a_frame_after_one_on_tables_holds_to_scikit_learns_order(cancer):
    X, y = cancer
    model = GBDTClassifier(2).fit(Table.of(X, y)).fit(X, y)
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        model.predict(X[X.columns[::-1]])


# Progress


def test_nothing_is_printed_unless_asked_for(cancer, capsys):
    GBDTClassifier(3).fit(*cancer)
    GBDTClassifier(3, federation=Horizontal()).fit(partition.rows(*cancer, 2))
    assert capsys.readouterr() == ("", "")


def lines(capsys):
    out, err = capsys.readouterr()
    assert err == ""
    return out.splitlines()


def test_verbose_prints_about_twenty_lines_with_the_metric(cancer, capsys):
    X, y = cancer
    GBDTClassifier(60, max_depth=2, eval_metric="auc", verbose=1).fit(X[:300], y[:300], eval_set=(X[300:], y[300:]))
    said = lines(capsys)
    assert [line.split()[1] for line in said] == ["1/60", *(f"{n}/60" for n in range(3, 61, 3))]
    assert all(re.fullmatch(r"tree \d+/60  auc 0\.\d+  \d+\.\d s", line) for line in said)


def test_a_number_is_how_many_rounds_lie_between_lines(cancer, capsys):
    ForestClassifier(7, verbose=3).fit(*cancer)
    assert [line.split()[1] for line in lines(capsys)] == ["1/7", "3/7", "6/7", "7/7"]
    GBDTRegressor(2, verbose=True).fit(*cancer)
    assert [line.split()[1] for line in lines(capsys)] == ["1/2", "2/2"]


def test_what_is_lost_is_said_before_the_trees_and_every_note_once(cancer, capsys):
    X, y = cancer
    parties = partition.rows(X, y, 2)
    parties["party2"] = Table.of(pd.DataFrame(parties["party2"].values[:, 1:], columns=X.columns[1:]),
                                 parties["party2"].labels)  # fmt: skip
    model = GBDTClassifier(2, federation=Horizontal(), verbose=1).fit(parties)
    said = lines(capsys)
    assert said[0] == "29 of 30 columns are common to all parties; left out: 'mean radius'."
    assert [line.split()[1] for line in said[1:3]] == ["1/2", "2/2"]
    assert sorted([said[0], *said[3:]]) == sorted(model.notes_)
    assert len(model.notes_) == 2


def test_the_forest_and_a_callbacks_say_do_not_depend_on_verbose(cancer):
    X, y = cancer
    quiet, loud = (GBDTClassifier(5, verbose=v, callbacks=[lambda told: told.number == 3]) for v in (0, 1))
    assert quiet.fit(X, y).model_.forest == clone(loud).fit(X, y).model_.forest
    assert quiet.model_.n_rounds == 3
