"""Candidate leaves: each party marks what its own cuts allow, and all together leave the leaf that a row reaches."""

from dataclasses import replace

import numpy as np
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st

from hedgerow import _native
from hedgerow.data.table import Column
from hedgerow.errors import ModelError
from hedgerow.model.candidates import candidates, ends_of, leaves_of, own_rows, reached
from hedgerow.model.model import Model, Ownership
from hedgerow.model.part import Part, part_of
from hedgerow.trees.forest import Forest
from hedgerow.trees.losses import Loss
from hedgerow.trees.params import TreeParams
from trees.test_predict import FINITE, forests, table_of


def owned(drawn, rng, shares) -> Model:
    """A model of these trees whose columns belong to parties, so many each; some columns have categories."""
    kinds = rng.random(sum(shares)) < 0.3
    by_set = (drawn.columns >= 0) & kinds[drawn.columns]
    n, none = len(drawn.columns), np.zeros(len(drawn.columns), np.float32)
    forest = Forest(
        columns=drawn.columns,
        thresholds=drawn.thresholds,
        missing_left=drawn.missing_left,
        children=drawn.children,
        sets=np.where(by_set, np.cumsum(by_set) - 1, -1).astype(np.int32),
        category_sets=rng.integers(0, 2**64, (by_set.sum(), 4), np.uint64),
        values=drawn.values,
        gains=np.zeros(n),
        covers=none,
        roots=drawn.roots,
    )
    codes = tuple(str(code) for code in range(256))
    named = {True: ("categorical", codes), False: ("numeric",)}
    columns = tuple(Column(f"c{i}", *named[kind]) for i, kind in enumerate(kinds.tolist()))
    owners = tuple((f"party{i}", n) for i, n in enumerate(shares))
    own = Ownership("a model", "party0", owners, whole=True)
    return Model(forest, columns, Loss("squared"), 0.0, TreeParams(), ownership=own)


def by_party(model, values, known):
    """What each party allows, from its part and its own values alone; rows that it does not know are missing to it."""
    for i, party in enumerate(model.ownership.parties):
        first, last = model.ownership.span(party)
        own = own_rows(values[:, first:last], np.where(known[i], np.arange(len(values)), -1))
        part = part_of(model, party)
        yield party, part, own, reached(part, own, 1)


@given(st.data(), strategies.generators, st.integers(0, 30), st.lists(st.integers(1, 3), min_size=2, max_size=5))
def test_the_candidates_of_all_parties_leave_the_leaf(data, rng, n, shares):
    model = owned(data.draw(forests(sum(shares))), rng, shares)
    forest, values = model.forest, table_of(rng, n, sum(shares), FINITE)
    known = rng.random((len(shares), n)) < 0.8
    seen, left = values.copy(), np.ones((n, len(leaves_of(model))), np.bool_)
    for i, (party, _, _, sides) in enumerate(by_party(model, values, known)):
        first, last = model.ownership.span(party)
        seen[~known[i], first:last] = np.nan
        left &= candidates(ends_of(model, party), sides)
    tree = np.searchsorted(forest.roots, leaves_of(model), side="right") - 1
    assert (np.add.reduceat(left, np.unique(tree, return_index=True)[1], axis=1) == 1).all()
    places = _native.leaf_places(forest, seen, 1) + forest.roots[:-1]
    assert (leaves_of(model)[np.nonzero(left)[1]].reshape(places.shape) == places).all()


def twin(part, values):
    """The specification: at each cut, from the top, where the row may come out."""
    out = np.zeros((len(values), 2 * len(part.tree)), np.bool_)
    for row in range(len(values)):
        for cut in range(len(part.tree)):
            comes = part.after[cut] < 0 or out[row, part.after[cut]]
            left = part.left(values, np.array([cut]), np.array([row]))[0]
            out[row, 2 * cut], out[row, 2 * cut + 1] = comes and left, comes and not left
    return out


@given(st.data(), strategies.generators, st.integers(0, 20), st.integers(1, 3), strategies.threads)
def test_the_kernel_is_its_specification(data, rng, n, n_columns, threads):
    part = part_of(owned(data.draw(forests(2 * n_columns)), rng, [n_columns, n_columns]), "party1")
    values = rng.integers(0, 256, (n, n_columns)).astype(np.float32)
    values[rng.random(values.shape) < 0.2] = np.nan
    np.testing.assert_array_equal(reached(part, values, threads), twin(part, values))


def some_part():
    return Part(
        model="a model",
        party="party1",
        first=1,
        columns=(Column("x", "numeric"),),
        tree=np.zeros(2, np.int64),
        node=np.arange(2),
        column=np.zeros(2, np.int32),
        thresholds=np.array([0.0, 1.0], np.float32),
        missing_left=np.array([True, False]),
        sets=np.zeros((2, 4), np.uint64),
        after=np.array([-1, 0]),
    )


def test_an_unknown_row_answers_like_one_of_missing_values():
    part, values = some_part(), np.array([[5.0], [np.nan]], np.float32)
    answers = reached(part, own_rows(values, np.array([1, -1])), 1)
    assert (answers[0] == answers[1]).all()
    assert answers[0].tolist() == [True, False, False, True]


def test_a_part_that_does_not_know_how_its_cuts_lie_is_refused():
    with pytest.raises(ModelError, match="does not say how its cuts lie below each other"):
        reached(replace(some_part(), after=None), np.zeros((1, 1), np.float32), 1)


def test_a_party_without_cuts_allows_everything():
    part = some_part()
    none = {
        name: getattr(part, name)[:0]
        for name in ("tree", "node", "column", "thresholds", "missing_left", "sets", "after")
    }
    sides = reached(replace(part, **none), np.zeros((3, 1), np.float32), 1)
    assert sides.shape == (3, 0)
    assert candidates(np.array([-1, -1]), sides).all()


WRONG = {
    "a column that is not there": ({"column": np.array([0, 1], np.int32)}, "names a column that is not there"),
    "a cut before one above it": ({"after": np.array([2, -1])}, "stands before one that is above it"),
    "a cut after itself": ({"after": np.array([-1, 2])}, "stands before one that is above it"),
    "too few thresholds": ({"thresholds": np.zeros(1, np.float32)}, "differ in length"),
}


@pytest.mark.parametrize("what", WRONG)
def test_cuts_that_cannot_be_are_refused(what):
    changed, match = WRONG[what]
    part = replace(some_part(), **changed)
    cuts = (part.column, part.thresholds, part.missing_left, part.sets, part.after)
    with pytest.raises(ValueError, match=match):
        _native.reached_sides(cuts, np.zeros(2, np.bool_), np.zeros((1, 1), np.float32), 1)
