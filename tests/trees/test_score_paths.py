"""A score that tells the ways of a row through a party's cuts: the attack, the rule that refuses it, and its limits."""

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer

from federated import labels, params_of, pooled_model, values
from hedgerow.agreement.plan import Goal
from hedgerow.agreement.policy import ALLOW_ALL, Policy
from hedgerow.data.table import Table
from hedgerow.errors import PolicyError, PrivacyError
from hedgerow.model import score_paths
from hedgerow.model.candidates import candidates, ends_of, leaves_of, reached
from hedgerow.model.fixed_scores import fixed_scores
from hedgerow.model.model import Ownership
from hedgerow.model.part import part_of
from hedgerow.model.score_paths import (
    Ways,
    check_own_cuts,
    check_paths,
    path_figures,
    repeated_ways,
    share_of_many,
    told_by_many,
)
from learnt import CASES

N_TRAINED, OWN = 400, 15
"""Rows of the table that are trained on, and columns of the active party; the passive one has as many."""


@cache
def table():
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    return Table.of(X[order].astype(np.float32), y[order])


@cache
def model(n_trees, depth):
    params = params_of(n_estimators=n_trees, max_depth=depth, learning_rate=0.1, min_cut_rows=1)
    trained = pooled_model(table().take(np.arange(N_TRAINED)), params)
    return replace(trained, ownership=Ownership("m", "active", (("active", OWN), ("passive", OWN)), whole=True))


def sides(of):
    """Which leaves each party's columns leave to each row."""
    X = table().values
    own = candidates(ends_of(of, "active"), reached(part_of(of, "active"), X[:, :OWN].copy(), 1))
    return own, candidates(ends_of(of, "passive"), reached(part_of(of, "passive"), X[:, OWN:].copy(), 1))


def likeliest(trees, score):
    """The likeliest way in each tree that together give the score, by the best sums of the first trees."""
    best, low, chosen = np.zeros(1), 0, []
    for ways in trees:
        shifts = ways.weights - ways.weights.min()
        wider = np.full(len(best) + shifts.max(), -np.inf)
        by = np.zeros(len(wider), np.int64)
        for i, shift in enumerate(shifts):
            here = best + np.log(max(ways.chances[i], 1e-12))
            better = here > wider[shift : shift + len(best)]
            wider[shift : shift + len(best)][better] = here[better]
            by[shift : shift + len(best)][better] = i
        chosen.append((by, shifts))
        best, low = wider, low + ways.weights.min()
    at, found = score - low, []
    for by, shifts in reversed(chosen):
        found.append(by[at])
        at -= shifts[by[at]]
    return found[::-1]


def attacked(of, rows):
    """How often the ways of a row are all found from its score, and how many of them; the same without the score."""
    fixed = fixed_scores(of)
    own, other = sides(of)
    covers = of.forest.covers[leaves_of(of)]
    found = []
    for row in rows:
        trees, truth, fixed_part = [], [], 0
        for tree in range(of.forest.n_trees):
            live = np.flatnonzero(own[row] & (fixed.trees == tree))
            if len(live) == 1:
                fixed_part += fixed.weights[live[0]]
                continue
            trees.append(Ways(fixed.weights[live], covers[live] / covers[live].sum()))
            truth.append(int(np.flatnonzero(other[row][live])[0]))
        score = int(fixed.sums((own & other)[row : row + 1])[0, 0]) - fixed_part
        guess = np.array(likeliest(trees, score)) == truth
        blind = np.array([ways.chances.argmax() for ways in trees]) == truth
        found.append((guess.all(), guess.mean(), blind.all(), blind.mean()))
    return np.mean(found, axis=0)


# The attack, and the rule


def test_the_score_of_three_small_trees_tells_the_path_and_they_are_refused():
    small = model(3, 2)
    whole, ways, blind, _ = attacked(small, range(N_TRAINED, N_TRAINED + 100))
    assert (whole, ways) == (1.0, 1.0)
    assert blind < 0.9
    with pytest.raises(
        PrivacyError, match=r"the cuts of 'passive': 100.0% of its scores are shared by fewer than 1000"
    ):
        check_paths(small, "passive")


def test_the_score_of_a_hundred_trees_does_not_and_they_are_accepted():
    large = model(100, 4)
    whole, ways, blind, blind_ways = attacked(large, range(N_TRAINED, N_TRAINED + 12))
    assert (whole, blind) == (0, 0)
    assert ways < blind_ways + 0.2  # of 30 rows: .70 of the ways with the score, .61 without
    check_paths(large, "passive")
    figures = path_figures(large, "passive")
    assert figures.told < 1e-20
    assert figures.guess < 1e-20


def test_the_figure_of_a_guess_is_what_the_attack_reaches():
    middle = model(3, 2)
    assert path_figures(middle, "passive").guess == pytest.approx(1.0)
    assert path_figures(model(10, 3), "passive", bits=8).guess < path_figures(model(10, 3), "passive", bits=19).guess


def test_fewer_digits_help_as_the_refusal_says():
    told = [path_figures(model(15, 3), "passive", bits=bits).told for bits in (19, 12, 10)]
    assert told[0] > 0.1 > told[1] > told[2]
    with pytest.raises(PrivacyError, match="fewer bits than 19"):
        check_paths(model(15, 3), "passive")
    check_paths(model(15, 3), "passive", bits=10)


def test_a_large_model_with_few_cuts_of_a_party_is_refused_for_that_party():
    own = Ownership("m", "active", (("active", 28), ("passive", 2)), whole=True)
    with pytest.raises(PrivacyError, match=r"with cuts in \d+ of 100 trees"):
        check_paths(replace(model(100, 4), ownership=own), "passive")


def test_the_least_over_all_scores_would_tell_nothing():
    """Why the rule asks for a share of rows: the lowest score of any model has one combination."""
    for of in (model(3, 2), model(100, 4)):
        for (trees,) in score_paths._drawn_ways(of, fixed_scores(of), "passive")[:2]:
            counts = score_paths._convolved(trees)[0]
            assert counts[counts > 0].min() <= 4


def test_whoever_asks_for_no_paths_is_refused_nothing():
    check_paths(model(3, 2), "passive", least=0)
    check_paths(model(3, 2), "passive", least=ALLOW_ALL.least_paths, answers=3)


def test_known_combinations_are_told_by_the_score_of_a_model_that_the_rule_accepts():
    """The limit of the rule, measured: it counts combinations as if they were independent over trees.

    Here the active party knows the passive sides of the rows that it trained on. It takes the one whose score is
    nearest, and finds the whole path of every new row that goes as a known one.
    """
    of = model(30, 4)
    check_paths(of, "passive")
    fixed = fixed_scores(of)
    own, other = sides(of)
    hits = known = 0
    rows = range(N_TRAINED, N_TRAINED + 100)
    for row in rows:
        like = own[row] & other[:N_TRAINED]
        truth = own[row] & other[row]
        same = (like == truth).all(axis=1)
        known += same.any()
        hits += same[np.abs(like @ fixed.weights - truth @ fixed.weights).argmin()]
    assert hits == known > 0.6 * len(rows)


# Counting


def ways_of(drawn):
    weights = np.array([one for one, _ in drawn], np.int64)
    chances = np.array([chance for _, chance in drawn], np.float64)
    return Ways(weights, chances / chances.sum())


SOME_WAYS = st.lists(
    st.lists(st.tuples(st.integers(-4, 4), st.integers(1, 5)), min_size=2, max_size=4).map(ways_of),
    min_size=1,
    max_size=5,
)


def combinations(trees):
    """Every combination of ways: its score and its chance."""
    for choice in product(*(range(len(ways.weights)) for ways in trees)):
        score = sum(int(ways.weights[i]) for i, ways in zip(choice, trees, strict=True))
        yield choice, score, np.prod([ways.chances[i] for i, ways in zip(choice, trees, strict=True)])


@given(SOME_WAYS)
def test_combinations_are_counted_as_by_going_through_all(trees):
    low = sum(int(ways.weights.min()) for ways in trees)
    counts, chances, best = score_paths._convolved(trees)
    wanted = np.zeros((3, len(counts)))
    for _, score, chance in combinations(trees):
        wanted[0, score - low] += 1
        wanted[1, score - low] += chance
        wanted[2, score - low] = max(wanted[2, score - low], chance)
    assert np.allclose([counts, chances, best], wanted)


@given(SOME_WAYS, st.integers(1, 6), st.integers(0, 2**32))
def test_the_bound_for_several_answers_is_never_too_small(trees, least, seed):
    rng = np.random.default_rng(seed)
    others = [[rng.integers(0, 2, len(ways.weights)) for ways in trees] for _ in range(2)]
    found = {}
    for choice, score, chance in combinations(trees):
        reasons = (sum(int(w[i]) for i, w in zip(choice, of, strict=True)) for of in others)
        n, total = found.get(key := (score, *reasons), (0, 0.0))
        found[key] = (n + 1, total + chance)
    told = sum(total for n, total in found.values() if n < least)
    assert told <= share_of_many(trees, least, np.log2(len(found))) + 1e-9


def test_several_answers_to_a_row_are_bounded_by_their_bits():
    assert told_by_many(model(100, 4), "passive", 3) < 1e-6
    check_paths(model(100, 4), "passive", answers=3)
    check_paths(model(30, 4), "passive")
    with pytest.raises(PrivacyError, match=r"of its sets of 3 answers may be shared by fewer than 1000"):
        check_paths(model(30, 4), "passive", answers=3)


def test_a_thousand_trees_are_counted_without_overflow():
    figures = path_figures(model(1000, 4), "passive")
    assert 0 <= figures.told < 1e-20
    assert np.isfinite([figures.guess, figures.blind]).all()


@pytest.mark.parametrize("case", ["softmax", "squared", "forest of two classes", "forest of many classes"])
def test_models_of_every_kind_and_of_three_parties_have_figures(case):
    kind, goal, params = CASES[case]
    X, signal = values(250)
    trained = pooled_model(Table.of(X, labels(kind, signal)), params_of(**params), Goal(**goal))
    of = replace(trained, ownership=Ownership("m", "a", (("a", 1), ("b", 2), ("c", 2)), whole=True))
    for party in "bc":
        figures = path_figures(of, party)
        assert 0.01 < figures.told <= 1
        assert figures.blind <= figures.guess + 1e-9


def test_the_chances_of_the_ways_in_a_tree_are_one_together():
    of = model(30, 4)
    is_open, chance = score_paths._chances(of, "passive", np.random.default_rng(3))
    at = leaves_of(of)
    trees = np.searchsorted(of.forest.roots, at, side="right") - 1
    assert np.allclose(np.bincount(trees, chance[at]), 1)
    assert not chance[at][~is_open[at]].any()
    assert (np.bincount(trees, is_open[at]) >= 1).all()


def test_without_covers_the_sides_are_equally_likely():
    of = replace(model(3, 2), forest=replace(model(3, 2).forest, covers=np.zeros_like(model(3, 2).forest.covers)))
    assert path_figures(of, "passive").told == pytest.approx(1.0)


# What the owner of a part sees by itself


def test_an_owner_counts_its_cuts_and_the_trees_that_have_some():
    check_own_cuts(part_of(model(30, 4), "passive"), Policy())
    check_own_cuts(part_of(model(3, 2), "passive"), ALLOW_ALL)
    part = part_of(model(3, 2), "passive")
    with pytest.raises(PolicyError, match=rf"has {len(part.tree)} cuts of this party in 3 trees.*asks for 20 in 10"):
        check_own_cuts(part, Policy())
    many = part_of(model(30, 4), "passive")
    with pytest.raises(PolicyError, match="least_own_trees"):
        check_own_cuts(many, Policy(least_own_trees=31))
    with pytest.raises(PolicyError, match="least_own_cuts"):
        check_own_cuts(many, Policy(least_own_cuts=len(many.tree) + 1))


def test_an_owner_counts_rows_that_go_as_another_does():
    X = table().values[:, OWN:].copy()
    few, many = (repeated_ways(part_of(model(*size), "passive"), X) for size in ((100, 4), (3, 2)))
    assert few < many
    assert many > 0.95
    part = part_of(model(3, 2), "passive")
    assert repeated_ways(part, np.concatenate([X[:1], X[:1]])) == 1
    assert repeated_ways(part, X[:0]) == 0
