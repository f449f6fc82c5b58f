import numpy as np
import pytest
import strategies
import twins
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import sparse

from hedgerow import _native
from hedgerow.trees.cut_search import CutSearch, RangeSearch

max_bins = st.one_of(st.integers(2, 10), st.integers(2, 255))
min_rows = st.sampled_from([0, 1, 2, 5, 50, 10_000])
tables = arrays(np.float32, array_shapes(min_dims=2, max_dims=2, max_side=12), elements=strategies.floats)


def split(found):
    """Cuts and counts of each column from the flat arrays of the kernel."""
    cuts, starts, counts = found
    at = starts + 2 * np.arange(len(starts))
    spans = zip(starts, starts[1:], at, at[1:], strict=False)
    return [(cuts[a:b].tolist(), counts[c:d].tolist()) for a, b, c, d in spans]


def cut_by_counting(parts, max_bin, min_rows):
    """Cuts from counts summed over tables that nobody puts together."""
    keys = _native.sorted_keys(parts, 2)
    search = CutSearch(np.array([sum(len(k) for k in keys)]), max_bin, min_rows)
    while len((asked := search.ask()).column):
        one = zip(asked.prefix[:, None], asked.shift.tolist(), strict=True)
        search.tell(np.array([_native.count_prefixes([(k, p, s) for k in keys], 2).sum() for p, s in one]))
    return search.cuts()[0]


@given(tables, max_bins, min_rows, strategies.threads)
def test_cuts_of_a_dense_table_are_those_of_the_specification(values, max_bin, min_rows, threads):
    found = _native.find_cuts_dense(values, max_bin, min_rows, threads)
    assert split(found) == [twins.column_cuts(column, max_bin, min_rows) for column in values.T]


@settings(max_examples=150)
@given(strategies.columns(2500), max_bins, min_rows)
def test_cuts_of_a_long_column_are_those_of_the_specification(column, max_bin, min_rows):
    found = _native.find_cuts_dense(column[:, None], max_bin, min_rows, 1)
    assert split(found) == [twins.column_cuts(column, max_bin, min_rows)]


@pytest.mark.parametrize("absent", [0.0, np.nan])
@given(tables, max_bins, min_rows, strategies.threads, strategies.generators)
def test_cuts_of_a_sparse_table_are_those_of_the_table_filled_in(absent, values, max_bin, min_rows, threads, rng):
    stored = rng.random(values.shape) < 0.5
    by_column = sparse.csc_array((values[stored], np.nonzero(stored)), values.shape)
    starts = by_column.indptr.astype(np.int64)
    data = by_column.data
    found = _native.find_cuts_sparse(starts, data, len(values), absent == 0, max_bin, min_rows, threads)
    filled = np.where(stored, values, np.float32(absent))
    assert split(found) == [twins.column_cuts(column, max_bin, min_rows) for column in filled.T]


@given(st.lists(st.integers(1, 300), min_size=2, max_size=60), max_bins)
def test_there_are_at_most_as_many_bins_as_asked_for_and_they_hold_all_rows(counts, max_bin):
    column = np.repeat(np.arange(len(counts)), counts).astype(np.float32)
    ((cuts, rows),) = split(_native.find_cuts_dense(column[:, None], max_bin, 1, 1))
    assert len(rows) - 1 == len(cuts) + 1 <= max_bin
    assert sum(rows) == len(column)
    assert min(rows[:-1]) > 0
    if len(counts) <= max_bin:
        assert cuts == list(range(1, len(counts)))


def test_a_value_that_most_rows_share_takes_one_bin():
    column = np.concatenate([np.full(900, 50), np.arange(100)]).astype(np.float32)
    ((cuts, rows),) = split(_native.find_cuts_dense(column[:, None], 10, 1, 1))
    assert len(cuts) == 9
    assert sum(n < 20 for n in rows[:-1]) == 9


def test_values_that_too_few_rows_share_are_not_told_apart():
    column = np.array([1.0] * 10 + [2.0, 2.0000002] + [3.0] * 10, np.float32)
    assert split(_native.find_cuts_dense(column[:, None], 255, 1, 1))[0][1] == [10, 1, 1, 10, 0]
    assert split(_native.find_cuts_dense(column[:, None], 255, 5, 1))[0][1] == [10, 2, 10, 0]


@given(strategies.columns(3000))
def test_sorted_keys_are_the_keys_of_the_present_values_in_order(column):
    expected = sorted(twins.key(v) for v in column if not np.isnan(v))
    assert [keys.tolist() for keys in _native.sorted_keys([column, column[:0]], 2)] == [expected, []]


@given(strategies.floats.filter(lambda v: v == v))
@example(-0.0)
def test_a_key_returns_its_value(value):
    (keys,) = _native.sorted_keys([np.array([value], np.float32)], 1)
    assert _native.key_values(keys).tobytes() == np.array([value + 0.0], np.float32).tobytes()
    assert twins.key_value(int(keys[0])) == value


@given(strategies.columns(300), st.sampled_from([0, 4, 16, 28, 31]), strategies.generators)
def test_prefixes_are_counted(column, shift, rng):
    (keys,) = _native.sorted_keys([column], 1)
    prefixes = rng.integers(0, 1 << (32 - shift), 20, dtype=np.uint32)
    prefixes = np.concatenate([prefixes, keys[:5] >> np.uint32(shift), [0, (1 << (32 - shift)) - 1]]).astype(np.uint32)
    expected = [sum(k >> shift == p for k in keys.tolist()) for p in prefixes.tolist()]
    asked = [(keys, prefixes, shift), (keys[:0], prefixes[:1], shift)]
    assert _native.count_prefixes(asked, 2).tolist() == [*expected, 0]


@pytest.mark.parametrize("min_rows", [1, 5, 50])
@pytest.mark.parametrize("n", [0, 1, 3, 400, 5000])
@pytest.mark.parametrize("kind", sorted(strategies.COLUMN_KINDS))
def test_cuts_found_by_counting_prefixes_are_the_cuts_of_the_sorted_column(kind, n, min_rows):
    column = strategies.column_of(kind, np.random.default_rng(n), n)
    for max_bin in (2, 7, 32, 255):
        expected = _native.find_cuts_dense(column[:, None], max_bin, min_rows, 1)[0]
        assert cut_by_counting([column], max_bin, min_rows).tolist() == expected.tolist()


@settings(max_examples=60)
@given(strategies.columns(600), max_bins, st.sampled_from([1, 5, 50]), strategies.generators)
def test_counts_summed_over_three_tables_give_the_cuts_of_their_union(column, max_bin, min_rows, rng):
    part = rng.integers(0, 3, len(column))
    expected = _native.find_cuts_dense(column[:, None], max_bin, min_rows, 1)[0]
    parts = [column[part == i] for i in range(3)]
    found = cut_by_counting(parts, max_bin, min_rows).tolist()
    assert found == expected.tolist() == twins.column_cuts(column, max_bin, min_rows)[0]


@given(strategies.generators, st.integers(1, 500), st.integers(2, 40))
def test_distinct_values_are_shared_out_evenly_whatever_they_are(rng, n, max_bin):
    ranks = rng.permutation(n)
    column = ((ranks - 100.0) ** 3).astype(np.float32)
    ((_, counts),) = split(_native.find_cuts_dense(column[:, None], max_bin, 1, 1))
    ((_, of_ranks),) = split(_native.find_cuts_dense(ranks.astype(np.float32)[:, None], max_bin, 1, 1))
    assert counts == of_ranks
    assert max(counts[:-1]) - min(counts[:-1]) <= 1


ONE = np.ones((3, 2), np.float32)
STARTS = np.array([0, 1, 3], np.int64)
DATA = np.ones(3, np.float32)
NO_KEYS = np.empty(0, np.uint32)


WRONG = {
    "too few bins": (lambda: _native.find_cuts_dense(ONE, 1, 1, 1), "max_bin"),
    "too many bins": (lambda: _native.find_cuts_dense(ONE, 256, 1, 1), "max_bin"),
    "no columns": (lambda: _native.find_cuts_dense(ONE[:, :0].copy(), 9, 1, 1), "column|max_bin"),
    "gaps between rows": (lambda: _native.find_cuts_dense(np.ones((4, 4), np.float32)[::2], 9, 1, 1), "contiguous"),
    "column after column": (lambda: _native.find_cuts_dense(np.asfortranarray(ONE), 9, 1, 1), "contiguous"),
    "too many bins, sparse": (lambda: _native.find_cuts_sparse(STARTS, DATA, 3, True, 256, 1, 1), "max_bin"),
    "descending": (lambda: _native.find_cuts_sparse(STARTS[::-1].copy(), DATA, 3, True, 9, 1, 1), "damaged"),
    "ends early": (lambda: _native.find_cuts_sparse(STARTS[:2], DATA, 3, True, 9, 1, 1), "damaged"),
    "no starts": (lambda: _native.find_cuts_sparse(STARTS[:0], DATA, 3, True, 9, 1, 1), "damaged"),
    "begins below zero": (lambda: _native.find_cuts_sparse(STARTS - 1, DATA[:2], 3, True, 9, 1, 1), "damaged"),
    "too few rows": (lambda: _native.find_cuts_sparse(STARTS, DATA, 1, True, 9, 1, 1), "more entries than rows"),
    "no bits of a prefix": (lambda: _native.count_prefixes([(NO_KEYS, NO_KEYS, 32)], 1), "shift"),
}


@pytest.mark.parametrize(("call", "said"), WRONG.values(), ids=WRONG)
def test_a_table_that_does_not_fit_is_refused(call, said):
    with pytest.raises(ValueError, match=said):
        call()


@pytest.mark.parametrize("kernel", [_native.wanted_cells, _native.cut_cells])
@pytest.mark.parametrize(
    ("starts", "rows", "said"),
    [
        ([0, 2], [3, 4, 5], "do not belong together"),
        ([1, 3], [3, 4, 5], "do not belong together"),
        ([0, 3, 2, 3], [3, 4, 5], "do not belong together"),
        ([], [], "do not belong together"),
        ([0, 3], [3, 0, 5], "no rows, or too many"),
        ([0, 3], [3, 4, 2**32], "no rows, or too many"),
    ],
)
def test_cells_that_cannot_be_are_refused(kernel, starts, rows, said):
    cells = np.array(starts, np.int64), np.array(rows, np.int64), np.ones(len(rows), np.bool_)
    with pytest.raises(ValueError, match=said):
        kernel(cells, 2)


def fewest_looked_into(column, max_bin, min_rows):
    """Rows of the smallest group of keys with the same first bits whose next bits are asked for."""
    (keys,) = _native.sorted_keys([column], 1)
    search, fewest = CutSearch(np.array([len(keys)]), max_bin, min_rows), len(column)
    while len((asked := search.ask()).column):
        above = zip(asked.prefix >> 4, asked.shift.tolist(), strict=True)
        fewest = min(fewest, *(int((keys.astype(np.int64) >> (s + 4) == p).sum()) for p, s in above))
        one = zip(asked.prefix, asked.shift.tolist(), strict=True)
        search.tell(np.array([(keys.astype(np.int64) >> s == p).sum() for p, s in one]))
    return fewest


@pytest.mark.parametrize("max_bin", [4, 64, 255])
@pytest.mark.parametrize("kind", sorted(strategies.COLUMN_KINDS))
def test_nobody_asks_for_more_bits_of_keys_that_too_few_rows_share(kind, max_bin):
    column = strategies.column_of(kind, np.random.default_rng(7), 3000)
    assert fewest_looked_into(column, max_bin, 50) >= 50


def test_without_that_limit_single_rows_would_be_looked_into(monkeypatch):
    """The sabotage: every group counts as large enough."""
    limited = CutSearch._known
    monkeypatch.setattr(CutSearch, "_known", lambda self: (*limited(self)[:2], self.cells.bits > 0))
    column = np.random.default_rng(7).normal(size=3000).astype(np.float32)
    assert fewest_looked_into(column, 255, 50) == 1


def test_a_range_is_searched_for_only_in_counts_that_add_up():
    search = RangeSearch(0)
    first, then = np.bincount([2, 9, 9], minlength=16), np.bincount([5, 16 + 6, 16 + 7], minlength=32)
    assert search.fits(first)
    search.tell(first)
    assert search.fits(then)
    assert not search.fits(then + np.bincount([20], minlength=32))
    search.tell(then)
    assert search.ends == [0x25 << 24, 0x97 << 24]
