"""By how much a row moves each release: by brute force over rows, never more than the schedule is made for."""

import noised_cases as cases
import numpy as np
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow import _native
from hedgerow.errors import ProtocolError
from hedgerow.trees.cut_search import Prefixes
from hedgerow.trees.noised import clipping
from hedgerow.trees.noised.rule import N_LEAVES, schedule
from hedgerow.trees.noised.sums import OwnSums


def releases(own, agreed, rng):
    """Every kind of release of a table at some scores, each with what was planned of it."""
    before = OwnSums(own, agreed)
    plan = schedule(agreed, 60.0)
    yield plan.opening.rows, before.rows()
    for shift in (26, 22):
        yield plan.opening.cuts, before.counts(cases.every_prefix(shift))
    sums = cases.begun(own, agreed)
    base = rng.normal(0, 2, agreed.n_scores).astype(np.float32)
    values = rng.normal(0, 2, agreed.n_scores * int(cases.grid().offsets[-1])).astype(np.float32)
    if plan.additive is not None:
        yield plan.additive.counts, sums.bin_counts()
        yield plan.additive.gradients, sums.additive(0, base, values)
    if plan.trees is not None:
        sums.restart(base, values)
        for round_ in range(3):
            yield plan.trees.leaves, sums.leaves(round_)
            sums.follow(round_, rng.normal(0, 1, agreed.n_scores * N_LEAVES).astype(np.float32))


def farthest(own, agreed, seed):
    """For each kind of release, the greatest length by which leaving out a row moves it, over what was planned."""
    found = {}
    whole = list(releases(own, agreed, np.random.default_rng(seed)))
    for row in range(own.n_rows):
        left = releases(cases.without(own, row), agreed, np.random.default_rng(seed))
        for (planned, words), (_, fewer) in zip(whole, left, strict=True):
            moved = (words - fewer).astype(float)
            found[planned.what] = max(found.get(planned.what, 0), np.sqrt((moved**2).sum()) / planned.sensitivity)
    return found


@settings(max_examples=15)
@given(st.sampled_from(cases.KINDS), st.sampled_from(cases.METHODS), strategies.generators, st.booleans())
def test_no_row_moves_any_release_by_more_than_planned(kind, method, rng, as_sparse):
    own = cases.rows(kind, rng, 25, as_sparse=as_sparse or kind == "few nonzero")
    found = farthest(own, cases.terms(kind, method, mu=20.0), 1)
    assert set(found) >= {"row count", "cut points"}
    assert max(found.values()) <= 1


@pytest.mark.parametrize("kind", cases.KINDS)
def test_some_row_moves_releases_nearly_so_much(kind):
    """Else noise would be wasted, or the test above would look at nothing."""
    found = farthest(cases.rows(kind, np.random.default_rng(5), 40), cases.terms(kind, mu=20.0), 2)
    assert found["row count"] == 1
    assert found["cut points"] > 0.8
    assert found["counts"] > 0.99
    assert found["additive round"] > 0.95


def each_alone(scores, targets, terms, hessian_units, clip, threads):
    """The sabotage: gradients and hessians, or classes, clipped each by itself."""
    free = [
        clipping.clipped_pairs(scores, targets, terms, 0, 1 << 29, threads),
        clipping.clipped_pairs(scores, targets, terms, hessian_units or 1, 1 << 29, threads),
    ]
    pairs = np.stack([free[0][:, :, 0], free[1][:, :, 1] * bool(hessian_units)], axis=2)
    return np.clip(pairs, -clip, clip).astype(np.int32)


@pytest.mark.parametrize(("kind", "method", "what"), [
    ("numbers", "random", "random tree"),
    ("three classes", "random", "random tree"),
    ("three classes", "additive", "additive round"),
])  # fmt: skip
def test_clipping_each_number_alone_is_caught(monkeypatch, kind, method, what):
    own, agreed = cases.rows(kind, np.random.default_rng(5), 40), cases.terms(kind, method)
    assert farthest(own, agreed, 2)[what] <= 1
    plain = clipping.clipped_pairs

    def sabotaged(*given):
        monkeypatch.setattr(clipping, "clipped_pairs", plain)
        try:
            return each_alone(*given)
        finally:
            monkeypatch.setattr(clipping, "clipped_pairs", sabotaged)

    monkeypatch.setattr(clipping, "clipped_pairs", sabotaged)
    assert farthest(own, agreed, 2)[what] > 1


def test_rows_beyond_the_declared_nonzero_columns_are_cut_down_to_them(monkeypatch):
    """The sabotage: a declaration that is believed."""
    own, agreed = cases.rows("few nonzero", np.random.default_rng(1), 40), cases.terms("few nonzero")
    assert max(farthest(own, agreed, 1).values()) <= 1
    monkeypatch.setattr("hedgerow.trees.noised.sums._limited", lambda values, absent, most: values)
    assert max(farthest(own, agreed, 1).values()) > 1


@given(strategies.generators, st.integers(1, 5), st.sampled_from([1, 100, 4096]))
def test_vectors_are_shortened_together_and_never_too_long(rng, n_scores, clip):
    vectors = rng.normal(0, clip * 10.0 ** rng.integers(-2, 6), (n_scores, 50, 2))
    vectors[0, 0, 0] = np.nan
    found = clipping.together(vectors, clip).astype(np.int64)
    assert ((found**2).sum(axis=(0, 2)) <= clip**2).all()


def test_vectors_within_the_limit_stay_as_they_are():
    vectors = np.array([[[3.9, -4.0]], [[0.0, 1.2]]])
    np.testing.assert_array_equal(clipping.together(vectors, 6), [[[3, -4]], [[0, 1]]])


@pytest.mark.parametrize("asked", [
    Prefixes(np.array([0, 0], np.int32), np.array([5, 5], np.uint32), np.array([26, 26], np.uint8)),
    Prefixes(np.array([0, 0], np.int32), np.array([5, 90], np.uint32), np.array([26, 22], np.uint8)),
])  # fmt: skip
def test_a_request_that_would_count_a_row_twice_is_refused(asked):
    sums = OwnSums(cases.rows("classes", np.random.default_rng(0)), cases.terms("classes"))
    with pytest.raises(ProtocolError, match="one length, each of them once"):
        sums.counts(asked)


def moved_counts(columns):
    """By how much one row moves counts of these columns, over what was planned."""
    own, agreed = cases.rows("classes", np.random.default_rng(3), 20), cases.terms("classes")
    prefix, n = np.arange(64, dtype=np.uint32), len(columns)
    asked = Prefixes(np.repeat(np.array(columns, np.int32), 64), np.tile(prefix, n), np.full(64 * n, 26, np.uint8))
    whole = OwnSums(own, agreed).counts(asked)
    lengths = [np.linalg.norm(whole - OwnSums(cases.without(own, i), agreed).counts(asked)) for i in range(own.n_rows)]
    return max(lengths) / schedule(agreed, 60.0).opening.cuts.sensitivity


TOO_MANY = [[0, 1, 3, -1], [0, 1, 3, -1, -3, -4], [0, 1, 2, 3], [0, 4], [-1]]


@pytest.mark.parametrize("columns", TOO_MANY)
def test_counts_of_a_column_twice_or_of_more_columns_than_are_cut_are_refused(columns):
    with pytest.raises(ProtocolError, match="of columns that are not to be cut"):
        moved_counts(columns)


def test_such_counts_would_be_moved_by_more_than_was_planned(monkeypatch):
    """The sabotage: any column is counted. One from behind (-1) is the last once more."""
    assert moved_counts([0, 1, 3]) <= 1
    monkeypatch.setattr("hedgerow.trees.noised.sums._check_columns", lambda asked, terms: None)
    assert moved_counts(TOO_MANY[0]) > 1.1
    assert moved_counts(TOO_MANY[1]) > 1.4


def test_no_label_is_longer_than_the_declared_range():
    labels = np.array([-1e30, -2, 0.5, 3, 1e30, np.inf, np.nan], np.float32)
    found = clipping.targets_of(labels, cases.terms("numbers"))
    np.testing.assert_array_equal(found[:6], np.float32([0, 0, 0.5, 1, 1, 1]))
    pairs = _native.clipped_pairs(("squared", 0.0, 1.0), (4096, 205), 614, np.zeros(7, np.float32), found, 1)
    assert ((pairs.astype(np.int64) ** 2).sum(axis=1) <= 614**2).all()
