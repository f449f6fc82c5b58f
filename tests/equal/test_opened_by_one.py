"""The forest whose sums one party opens is the pooled forest, bit for bit; the driver never opened anything."""

import numpy as np
import pytest

from federated import Federation, labels, params_of, pooled_model, same, two_class, values
from hedgerow import GBDTClassifier, Horizontal, Lattice
from hedgerow.agreement.plan import Goal
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.errors import ParameterError
from learnt import CASES

CHOSEN = {
    "logistic": 2,
    "softmax": 3,
    "squared": 5,
    "rows and columns drawn": 3,
    "forest of many classes": 3,
    "monotone": 3,
    "20 rows a side": 3,
    "31 bits": 5,
}


def opened_by(opener, parties, params, goal=Goal(), protection="lattice", **more):  # noqa: B008
    return Federation(parties, params, goal, protection=protection, opener=opener, allow_two=True, **more)


@pytest.mark.parametrize("case", CHOSEN)
def test_the_forest_that_an_opener_grows_is_the_pooled_one(case):
    kind, goal, params = CASES[case]
    X, signal = values(250)
    table = Table.of(X, labels(kind, signal))
    parties, goal, params = partition.rows(table, n=CHOSEN[case]), Goal(**goal), params_of(**params)
    fed = opened_by(f"party{CHOSEN[case]}", parties, params, goal)
    assert same(fed.model(), pooled_model(parties, params, goal), table)
    assert not fed.of("MaskedSums", "PlainSums", "AskHistograms", "Begin")


def test_under_paillier_it_is_the_pooled_one_too():
    parties, params, goal = two_class(3, n=120), params_of(n_estimators=1, max_depth=1), Goal(base_score=0.4)
    fed = opened_by("party1", parties, params, goal, protection="paillier", key_bits=2048)
    assert same(fed.model(), pooled_model(parties, params, goal))


@pytest.mark.parametrize("kind", ["two", "numbers"])
def test_early_stopping_follows_the_validation_rows(kind):
    X, signal = values(300)
    training, validation = partition.hold_out(partition.rows(X, labels(kind, signal), 3), 0.3)
    objective = None if kind == "two" else "squared"
    goal, params = Goal(objective, early_stopping_rounds=1, follow=True), params_of(n_estimators=6, learning_rate=1.0)
    model = opened_by("party2", training, params, goal, valid=validation).model()
    pooled = pooled_model(training, params, goal, validation)
    assert len(pooled.history) > model.n_rounds, "it must have stopped early"
    assert same(model, pooled)


def test_parties_may_be_drawn_and_the_opener_need_not_be_among_them():
    parties = two_class(5, n=400)
    shares = {"party_share": 0.6}
    sealed = opened_by("party5", parties, params_of(), **shares).model()
    assert same(sealed, Federation(parties, params_of(), **shares).model())


def test_columns_of_categories_are_cut_by_sets():
    rng = np.random.default_rng(5)
    X, signal = values(300)
    X[:, 2] = rng.integers(0, 6, 300)
    table = Table.of(X, labels("two", signal + np.isin(X[:, 2], [1, 4])), categorical=[2])
    parties = partition.rows(table, n=3)
    model = opened_by("party1", parties, params_of()).model()
    assert (model.forest.sets >= 0).any()
    assert same(model, pooled_model(parties, params_of()))


def test_callbacks_hear_the_same_as_with_masks_and_end_the_training():
    training, validation = partition.hold_out(two_class(3), 0.3)
    told: dict[str, list] = {"masked": [], "lattice": []}
    models = []
    for protection, rounds in told.items():

        def hear(round_, rounds=rounds):
            rounds.append(round_)
            return round_.number == 2

        opener = {"opener": "party3"} if protection == "lattice" else {}
        goal = Goal(follow=True)
        fed = Federation(training, params_of(), goal, validation, protection=protection, **opener)
        models.append(fed.model(callbacks=[hear]))
    assert told["masked"] == told["lattice"]
    assert len(told["lattice"]) == 2
    assert same(*models)


def test_an_estimator_with_an_opener_learns_the_same_and_says_what_two_parties_tell():
    parties = two_class(2)
    options = {"n_estimators": 2, "max_depth": 2}
    model = GBDTClassifier(**options, federation=Horizontal(privacy=Lattice(), opener="party2")).fit(parties)
    assert model.model_.forest == GBDTClassifier(**options, federation=Horizontal()).fit(parties).model_.forest
    assert model.notes_ == [
        "With two parties, party2 can subtract its own sums from the total and so learns the other's."
    ]


WRONG = {
    "nobody": (Horizontal(privacy=Lattice()), "needs an opener: the party that decrypts the sums"),
    "a stranger": (Horizontal(privacy=Lattice(), opener="mallory"), "opener 'mallory' is not among the parties"),
    "without encryption": (Horizontal(opener="party1"), "Only a horizontal run with encryption has an opener"),
    "local cuts": (Horizontal(privacy=Lattice(), opener="party1", cut_points="local"), "does not go with cut_points"),
    "a link": (Horizontal(privacy=Lattice(10.0), opener="party1"), "does not go with link_mbit"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_encryption_that_cannot_be_had_is_refused_before_any_data_moves(wrong):
    federation, sentence = WRONG[wrong]
    with pytest.raises(ParameterError, match=sentence):
        GBDTClassifier(n_estimators=1, federation=federation).fit(two_class(3))


def test_two_parties_need_consent_because_the_opener_learns_the_others_sums():
    with pytest.raises(ParameterError, match="Encryption of 2 parties a tree shows the opener the other's sums"):
        Federation(two_class(2), protection="lattice", opener="party1")
