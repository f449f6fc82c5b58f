"""A table's own sums without noise: what they are, and that they depend on nothing but rows and what was told."""

import noised_cases as cases
import numpy as np
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from hedgerow.errors import DataError, ProtocolError
from hedgerow.trees.bins import fullest_under, to_bins
from hedgerow.trees.noised import clipping
from hedgerow.trees.noised.public_trees import PublicTrees
from hedgerow.trees.noised.rule import N_LEAVES, ROW_UNITS, schedule
from hedgerow.trees.noised.sums import OwnRows, OwnSums, n_words, zero_bins

GRID = cases.grid()
N_BINS = int(GRID.offsets[-1])


def bins_of(own):
    """Each row's bin in each column, among all bins."""
    values = own.values if isinstance(own.values, np.ndarray) else own.values.toarray()
    out = np.empty(values.shape, np.int64)
    for column, of in enumerate(values.T):
        first, last = GRID.cut_starts[column : column + 2]
        found = np.searchsorted(GRID.cuts[first:last], of, side="right")
        out[:, column] = GRID.offsets[column] + np.where(np.isnan(of), GRID.n_values[column], found)
    return out


def told(agreed, rng):
    base = rng.normal(0, 1, agreed.n_scores).astype(np.float32)
    return base, rng.normal(0, 1, agreed.n_scores * N_BINS).astype(np.float32)


@settings(max_examples=20)
@given(st.sampled_from(cases.KINDS), strategies.generators, st.booleans())
def test_sums_are_those_of_a_loop_over_rows(kind, rng, as_sparse):
    agreed = cases.terms(kind, mu=50.0)
    own = cases.rows(kind, rng, as_sparse=as_sparse)
    sums = cases.begun(own, agreed)
    bins = bins_of(sums.own)
    base, values = told(agreed, rng)
    scores = np.stack([b + v[bins].sum(axis=1) for b, v in zip(base, values.reshape(len(base), -1), strict=True)])
    clip = schedule(agreed, 60.0).additive.clip
    pairs = clipping.clipped_pairs(scores.astype(np.float32), sums.targets, agreed, 0, clip, 1)
    want, counts = np.zeros((agreed.n_scores, n_words(GRID, agreed)), np.int64), np.zeros(n_words(GRID, agreed))
    for row in range(own.n_rows):
        for bin_ in bins[row]:
            if not (agreed.counts_nonzero and bin_ in zero_bins(GRID)):
                want[:, bin_] += pairs[:, row, 0]
                counts[bin_] += ROW_UNITS
    if agreed.counts_nonzero:
        want[:, -1], counts[-1] = pairs[:, :, 0].sum(axis=1), ROW_UNITS * own.n_rows
    np.testing.assert_array_equal(sums.bin_counts(), counts)
    # A score that rounds the other way moves a gradient by one unit.
    assert np.abs(sums.additive(0, base, values) - want.reshape(-1)).max() <= 2


@given(strategies.generators, st.sampled_from(cases.KINDS))
def test_parties_sums_add_up_to_those_of_all_rows(rng, kind):
    agreed, own = cases.terms(kind, mu=50.0), cases.rows(kind, rng, as_sparse=kind == "few nonzero")
    half = np.arange(own.n_rows) < 25
    parts = [OwnRows(own.values[which], own.absent, own.labels[which]) for which in (half, ~half)]
    told_ = told(agreed, rng)

    def words(part):
        sums = cases.begun(part, agreed)
        sums.restart(*told_)
        prefixes = OwnSums(part, agreed).counts(cases.every_prefix())
        second = () if kind == "numbers" else (sums.leaves(0),)
        return sums.rows(), prefixes, sums.bin_counts(), sums.additive(0, *told_), *second

    for whole, *shares in zip(words(own), *map(words, parts), strict=True):
        np.testing.assert_array_equal(whole, np.sum(shares, axis=0))


@given(strategies.generators, st.sampled_from(["classes", "numbers"]))
def test_a_sparse_table_has_the_sums_of_the_same_table_written_out(rng, kind):
    agreed, own = cases.terms(kind), cases.rows(kind, rng, as_sparse=True)
    dense = OwnRows(own.values.toarray(), float("nan"), own.labels)
    base, values = told(agreed, rng)
    for words in (
        lambda own: OwnSums(own, agreed).counts(cases.every_prefix()),
        lambda own: cases.begun(own, agreed).bin_counts(),
        lambda own: cases.begun(own, agreed).additive(0, base, values),
    ):
        np.testing.assert_array_equal(words(own), words(dense))


@pytest.mark.parametrize("kind", cases.KINDS)
def test_a_table_that_is_told_the_same_again_has_the_same_sums(kind):
    rng = np.random.default_rng(4)
    agreed, own = cases.terms(kind, "random"), cases.rows(kind, rng, as_sparse=kind == "few nonzero")
    start, leaves = told(agreed, rng), rng.normal(0, 1, (5, agreed.n_scores * N_LEAVES)).astype(np.float32)
    lived, again = cases.begun(own, agreed), cases.begun(own, agreed)
    lived.restart(*start)
    for round_ in range(5):
        lived.leaves(round_)
        lived.follow(round_, leaves[round_])
    again.restart(*start)
    for round_ in range(5):
        again.follow(round_, leaves[round_])
    np.testing.assert_array_equal(lived.leaves(5), again.leaves(5))
    assert (lived.leaves(5) != lived.leaves(6)).any()


@given(strategies.generators, st.integers(0, 30))
def test_rows_end_in_the_leaf_that_the_public_cuts_say(rng, round_):
    own = cases.rows("classes", rng)
    matrix = to_bins(GRID, fullest_under(GRID, own.values, own.absent, 1), own.values, own.absent, 1)
    trees = PublicTrees(GRID, 3)
    cuts = trees.places(round_)
    left = np.unpackbits(cuts.left_bins.view(np.uint8), axis=1, bitorder="little").astype(bool)
    places = bins_of(own) - GRID.offsets[:-1].astype(np.int64)
    for row, leaf in enumerate(trees.leaves_of(round_, matrix, 1).tolist()):
        node = 0
        while node < N_LEAVES - 1:
            node = 2 * node + (1 if left[node, places[row, cuts.column[node]]] else 2)
        assert leaf == node - (N_LEAVES - 1)


def test_a_drawn_tree_is_a_function_of_seed_and_round_and_never_cuts_a_column_of_one_value():
    same = [PublicTrees(GRID, 3).places(5) for _ in range(2)]
    for one, other in zip(*same, strict=True):
        np.testing.assert_array_equal(one, other)
    assert (PublicTrees(GRID, 3).places(6).column != same[0].column).any()
    assert (PublicTrees(GRID, 4).places(5).column != same[0].column).any()
    trees = PublicTrees(GRID, 1)
    columns = np.concatenate([trees.places(round_).column for round_ in range(50)])
    assert set(columns.tolist()) == {0, 1, 2}


def test_prefixes_count_zeros_only_where_nonzero_columns_are_not_declared():
    values = np.array([[0.0, -0.0, 1, 0], [2.0, np.nan, 0, 0], [0.0, 3.0, 0, 5]], np.float32)
    own = OwnRows(values, float("nan"), np.zeros(3, np.float32))
    asked = cases.every_prefix()
    zero = (asked.prefix == 0x80000000 >> 26) & (asked.column == 0)
    assert OwnSums(own, cases.terms("classes")).counts(asked)[zero] == 2 * ROW_UNITS
    found = OwnSums(own, cases.terms("few nonzero")).counts(asked)
    assert found[zero] == 0
    assert found.sum() == 3 * ROW_UNITS


def test_gaps_that_are_missing_do_not_go_with_declared_nonzero_columns():
    own = OwnRows(sparse.csr_array(np.eye(4, dtype=np.float32)), float("nan"), np.zeros(4, np.float32))
    with pytest.raises(DataError, match="absent='zero'"):
        OwnSums(own, cases.terms("few nonzero"))


def test_a_release_that_is_not_in_the_schedule_is_refused():
    sums = cases.begun(cases.rows("classes", np.random.default_rng(0)), cases.terms("classes", "additive"))
    sums.restart(*told(cases.terms("classes"), np.random.default_rng(0)))
    with pytest.raises(ProtocolError, match="the schedule does not have"):
        sums.leaves(0)
