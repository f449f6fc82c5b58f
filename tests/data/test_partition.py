from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine

from hedgerow import GBDTClassifier, partition
from hedgerow.data.table import Column, Table
from hedgerow.errors import DataError, ParameterError
from hedgerow.trees import sampling

HOWS = ["even", "order", "quantity", "labels"]
seeds = st.integers(0, 2**63 - 1)


@st.composite
def cuts(draw):
    """A small table of counted rows and how to cut it."""
    n_rows = draw(st.integers(1, 60))
    y = draw(st.lists(st.integers(0, 3), min_size=n_rows, max_size=n_rows))
    X = np.arange(2 * n_rows, dtype=np.float32).reshape(n_rows, 2)
    how = {"n": draw(st.integers(1, n_rows)), "how": draw(st.sampled_from(HOWS)), "seed": draw(seeds)}
    return Table.of(X, y), {**how, "alpha": draw(st.sampled_from([1e-9, 0.1, 1.0, 1e9]))}


def sizes(parties):
    return [table.n_rows for table in parties.values()]


def same(a, b):
    """Whether two tables are the same in everything, whatever their ids."""
    assert a.columns == b.columns
    np.testing.assert_array_equal(a.absent, b.absent)
    for part in ("labels", "weights"):
        np.testing.assert_array_equal(getattr(a, part), getattr(b, part))
        assert getattr(getattr(a, part), "dtype", None) == getattr(getattr(b, part), "dtype", None)
    if isinstance(a.values, np.ndarray):
        np.testing.assert_array_equal(a.values, b.values)
        assert a.values.flags.c_contiguous
    else:
        assert isinstance(b.values, sparse.csr_array)
        for part in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(a.values, part), getattr(b.values, part))
        assert b.values.has_canonical_format
    assert a.values.dtype == b.values.dtype == np.float32
    return True


def identical(a, b):
    """Whether two sets of parties are the same, ids too."""
    assert list(a) == list(b)
    return all(same(a[name], b[name]) and a[name].ids.tolist() == b[name].ids.tolist() for name in a)


def many_kinds(n_rows=80, seed=0):
    """A frame with numbers, gaps, categories, text labels, weights and no ids."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "ward": rng.choice(["C", "A", "B", None], n_rows),
            "age": np.where(rng.random(n_rows) < 0.2, np.nan, rng.normal(50, 20, n_rows)),
            "code": rng.integers(0, 5, n_rows),
        }
    )
    y = rng.choice(["no", "maybe", "yes"], n_rows)
    return Table.of(frame, y, weights=rng.random(n_rows), categorical=["code"])


def sparse_table(absent, n_rows=70):
    X = sparse.random_array((n_rows, 6), density=0.3, format="csr", dtype=np.float32, rng=1)
    X.data[::7] = 0
    X.data[1::9] = np.nan
    return Table.of(X, np.arange(n_rows) % 3, absent=absent)


# Which party gets which row


@given(cuts())
def test_every_row_goes_to_one_party_with_all_that_belongs_to_it_and_no_party_is_empty(cut):
    table, how = cut
    parties = partition.rows(table, **how)
    assert list(parties) == [f"party{i}" for i in range(1, how["n"] + 1)]
    assert min(sizes(parties)) >= 1
    ids = np.concatenate([part.ids for part in parties.values()])
    assert sorted(ids.tolist()) == list(range(table.n_rows))
    for part in parties.values():
        assert part.ids.dtype == np.int64
        assert (np.diff(part.ids) > 0).all()
        assert same(part, table.take(part.ids))


@given(cuts())
def test_the_same_seed_cuts_the_same_parties(cut):
    table, how = cut
    assert identical(partition.rows(table, noise=0.1, **how), partition.rows(table, noise=0.1, **how))


@pytest.mark.parametrize("how", ["even", "quantity", "labels"])
def test_another_seed_cuts_other_parties(how):
    X, y = load_breast_cancer(return_X_y=True)
    one, other = (partition.rows(X, y, how=how, seed=seed)["party1"].ids.tolist() for seed in (0, 1))
    assert one != other


@given(st.integers(1, 60), st.data())
def test_even_parties_differ_by_a_row_at_most_and_blocks_keep_the_order(n_rows, data):
    n, X = data.draw(st.integers(1, n_rows)), np.zeros((n_rows, 1))
    even, blocks = (partition.rows(X, n=n, how=how) for how in ("even", "order"))
    assert max(sizes(even)) - min(sizes(even)) <= 1
    assert sizes(blocks) == [len(block) for block in np.array_split(np.arange(n_rows), n)]
    assert np.concatenate([part.ids for part in blocks.values()]).tolist() == list(range(n_rows))


@pytest.mark.parametrize("how", ["even", "quantity", "labels"])
def test_rows_are_shuffled_unless_they_are_to_be_in_order(how):
    parties = partition.rows(np.zeros((1000, 1)), np.zeros(1000), n=2, how=how, alpha=1000)
    assert abs(parties["party1"].ids.mean() - 500) < 50
    assert len(np.unique(np.diff(parties["party1"].ids))) > 2


def test_sizes_are_skewed_by_a_small_alpha_and_nearly_even_by_a_large_one():
    X = np.zeros((10_000, 1))
    skewed = [max(sizes(partition.rows(X, how="quantity", alpha=0.1, seed=seed))) for seed in range(20)]
    even = [partition.rows(X, how="quantity", alpha=1000, seed=seed) for seed in range(20)]
    assert np.mean(skewed) > 6000
    assert all(1800 < size < 2200 for parties in even for size in sizes(parties))


def test_sizes_have_the_mean_and_variance_of_the_dirichlet_distribution():
    X, n, alpha = np.zeros((1000, 1)), 4, 2.0
    shares = np.array([sizes(partition.rows(X, n=n, how="quantity", alpha=alpha, seed=s)) for s in range(400)]) / 1000
    np.testing.assert_allclose(shares.mean(axis=0), 1 / n, atol=0.03)
    np.testing.assert_allclose(shares.var(axis=0), (1 / n) * (1 - 1 / n) / (n * alpha + 1), rtol=0.25)


def class_shares(parties, classes):
    """Of each class (a row) the share that each party (a column) has."""
    counts = np.array([[(part.labels == c).sum() for part in parties.values()] for c in classes])
    return counts / counts.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
@pytest.mark.parametrize("text", [False, True])
def test_labels_are_skewed_by_a_small_alpha_and_nearly_even_by_a_large_one(load, text):
    X, y = load(return_X_y=True)
    y = np.array([f"kind {c}" for c in y]) if text else y
    classes = np.unique(y)
    skewed = [class_shares(partition.rows(X, y, 4, how="labels", alpha=0.1, seed=s), classes) for s in range(20)]
    even = class_shares(partition.rows(X, y, 4, how="labels", alpha=1000), classes)
    assert np.mean([shares.max(axis=1) for shares in skewed]) > 0.7
    assert abs(even - 0.25).max() < 0.06


def test_labels_of_a_regression_are_skewed_by_tenths():
    X, y = load_diabetes(return_X_y=True)
    assert len(np.unique(y)) > 100
    tenth = np.searchsorted(np.quantile(y, np.arange(1, 10) / 10), y, side="right")
    skewed, even = (partition.rows(X, y, 3, how="labels", alpha=alpha) for alpha in (0.1, 1000))
    skewed, even = (
        {name: replace(part, labels=tenth[part.ids]) for name, part in parts.items()} for parts in (skewed, even)
    )
    assert class_shares(skewed, range(10)).max(axis=1).mean() > 0.7
    assert abs(class_shares(even, range(10)) - 1 / 3).max() < 0.1


@pytest.mark.parametrize("y", [np.arange(100) % 26, np.arange(100) % 9 + 0.5, np.arange(100) % 26 * 1.0])
def test_few_distinct_numbers_are_classes(y):
    parties = partition.rows(np.zeros((100, 1)), y, 2, how="labels", alpha=1e-9)
    assert set(class_shares(parties, np.unique(y)).ravel().tolist()) == {0.0, 1.0}


def test_labels_far_apart_or_all_alike_can_be_dealt():
    far = np.concatenate([np.full(30, -1e308), np.full(30, 1e308), np.linspace(-1, 1, 41)])
    for y in (far, np.full(101, 0.25), np.arange(101) * 2**50):
        assert sum(sizes(partition.rows(np.zeros((101, 1)), y, how="labels"))) == 101


def test_classes_of_one_row_are_spread():
    y = np.array([f"only {i}" for i in range(300)])
    assert min(sizes(partition.rows(np.zeros((300, 1)), y, 3, how="labels", alpha=1000))) > 60


# Noise


def test_noise_has_the_variance_that_grows_by_party_and_cuts_the_same_rows():
    X = np.random.default_rng(0).normal(size=(30_000, 4)).astype(np.float32)
    before = X.copy()
    plain, noised = (partition.rows(X, n=3, noise=noise) for noise in (0, 1 / 20))
    np.testing.assert_array_equal(X, before)
    for i, (clean, noisy) in enumerate(zip(plain.values(), noised.values(), strict=True), 1):
        assert clean.ids.tolist() == noisy.ids.tolist()
        added = noisy.values.astype(float) - clean.values
        assert abs(added.mean()) < 0.01
        assert added.var() == pytest.approx(i / 20, rel=0.05)
        assert abs(np.corrcoef(added.T) - np.eye(4)).max() < 0.05


def test_noise_is_drawn_from_the_seed():
    one, again, other = (partition.rows(np.zeros((50, 2)), how="order", noise=1.0, seed=seed) for seed in (4, 4, 5))
    assert identical(one, again)
    assert all((one[name].values != other[name].values).all() for name in one)


@pytest.mark.parametrize("how", HOWS)
def test_noise_leaves_categories_labels_and_gaps_as_they_are(how):
    table = many_kinds()
    for part in partition.rows(table, n=4, how=how, noise=2.0).values():
        clean = table.take(part.ids)
        np.testing.assert_array_equal(part.values[:, [0, 2]], clean.values[:, [0, 2]])
        np.testing.assert_array_equal(np.isnan(part.values), np.isnan(clean.values))
        moved = part.values[:, 1] != clean.values[:, 1]
        assert moved.all()
        assert part.labels.tolist() == clean.labels.tolist()


@pytest.mark.parametrize("absent", ["missing", "zero"])
def test_noise_in_a_sparse_table_is_added_to_stored_entries_only(absent):
    table = sparse_table(absent)
    stored = table.values.data.copy()
    for part in partition.rows(table, n=4, noise=0.5).values():
        clean = table.take(part.ids).values
        np.testing.assert_array_equal(part.values.indices, clean.indices)
        np.testing.assert_array_equal(part.values.indptr, clean.indptr)
        np.testing.assert_array_equal(np.isnan(part.values.data), np.isnan(clean.data))
        assert (part.values.data != clean.data).all()
    np.testing.assert_array_equal(table.values.data, stored)


def test_noise_in_a_sparse_table_spares_categories():
    X = sparse.csr_array(np.array([[1, 5], [2, 6], [1, 7]], np.float32))
    for part in partition.rows(Table.of(X, categorical=[0]), n=3, noise=1.0).values():
        first, second = part.values.data
        assert first in (0, 1)
        assert second not in (5, 6, 7)


# What a row is drawn by


@given(cuts(), st.floats(0, 1, exclude_min=True), st.integers(0, 99))
def test_parties_together_draw_the_rows_that_the_whole_table_draws(cut, share, round_):
    table, how = cut
    drawn = []
    for part in partition.rows(table, **how).values():
        keys = part.row_keys()
        drawn += keys[sampling.rows(keys, share, 7, round_)].tolist()
    assert sorted(drawn) == np.flatnonzero(sampling.rows(table.row_keys(), share, 7, round_)).tolist()


@pytest.mark.parametrize("ids", [np.array([-5, 2**40, 7, 0]), ["p4", "p1", "p33", "p2"]])
def test_ids_that_a_table_has_are_kept(ids):
    parties = partition.rows(np.arange(4).reshape(4, 1), n=2, ids=ids)
    for part in parties.values():
        assert part.ids.tolist() == np.asarray(ids)[part.values[:, 0].astype(int)].tolist()


def test_labels_weights_and_ids_may_be_columns_of_a_frame():
    frame = pd.DataFrame({"id": ["a", "b", "c"], "x": [1, 2, 3], "k": [4, 4, 5], "y": [0, 1, 0], "w": [1.0, 2.0, 3.0]})
    parties = partition.rows(
        frame, "y", 3, how="order", weights="w", ids="id", categorical=["k"], names=["north", "east", "south"]
    )
    assert list(parties) == ["north", "east", "south"]
    east = parties["east"]
    assert east.columns == (Column("x"), Column("k", "categorical", ("4", "5")))
    assert [part.tolist() for part in (east.labels, east.weights, east.ids)] == [[1], [2.0], ["b"]]


# Refusals


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n": 0}, "n must be a whole number of at least 1; it is 0"),
        ({"n": 2.0}, "n must be a whole number of at least 1; it is 2.0"),
        ({"n": True}, "n must be a whole number of at least 1; it is True"),
        ({"alpha": 0}, "alpha must be a number above 0 and at most 1e.09; it is 0"),
        ({"alpha": -1.0}, "alpha must be a number above 0"),
        ({"alpha": float("nan")}, "alpha must be a number above 0"),
        ({"alpha": float("inf")}, "alpha must be a number above 0"),
        ({"noise": -0.1}, "noise must be a finite number of at least 0; it is -0.1"),
        ({"noise": 10**400}, "noise must be a finite number of at least 0"),
        ({"noise": 1e300}, "noise carries a value beyond the range of 32-bit floats; choose less"),
        ({"seed": -1}, "seed must be a whole number from 0"),
        ({"how": "evenly"}, "how='evenly' is unknown; it is one of 'even', 'order', 'quantity', 'labels'"),
        ({"n": 2, "names": ["a", "b", "c"]}, "3 names were given for 2 parties"),
        ({"n": 3, "names": ["a", "b", "a"]}, "Party name 'a' occurs more than once"),
    ],
)
def test_a_parameter_out_of_its_range_is_refused(options, sentence):
    with pytest.raises(ParameterError, match=sentence):
        partition.rows(np.zeros((10, 2)), np.zeros(10), **options)


def test_more_parties_than_rows_are_refused():
    with pytest.raises(DataError, match="3 rows are too few for 4 parties"):
        partition.rows(np.zeros((3, 2)), n=4)


def test_dealing_by_labels_needs_labels():
    with pytest.raises(DataError, match="the table has none; give y"):
        partition.rows(np.zeros((10, 2)), how="labels")


# Held-out rows


def ids_of(parties):
    return [key for part in parties.values() for key in part.ids.tolist()]


@given(cuts(), st.floats(0, 1, exclude_max=True), seeds)
def test_held_out_rows_are_taken_away_and_a_training_row_stays(cut, share, seed):
    table, how = cut
    parties = partition.rows(table, **how)
    training, validation = partition.hold_out(parties, share, seed)
    assert list(training) == list(validation) == list(parties)
    assert min(sizes(training)) >= 1
    for name, part in parties.items():
        assert sorted(ids_of({1: training[name], 2: validation[name]})) == part.ids.tolist()
        for some in (training[name], validation[name]):
            assert same(some, table.take(some.ids))


def test_whether_a_row_is_held_out_does_not_depend_on_where_it_lies():
    X = np.zeros((2000, 1))
    ids = [f"person {i}" for i in range(2000)]
    for more in ({}, {"ids": ids}):
        found = [
            set(ids_of(partition.hold_out(partition.rows(X, n=n, how=how, alpha=50, **more), 0.3, seed=5)[1]))
            for n, how in [(1, "order"), (4, "even"), (7, "quantity")]
        ]
        assert found[0] == found[1] == found[2]
        assert abs(len(found[0]) - 600) < 60


def test_held_out_rows_are_others_by_another_seed_and_have_nothing_to_do_with_sampling():
    parties = partition.rows(np.zeros((10_000, 1)), n=1)
    one, other = (set(ids_of(partition.hold_out(parties, 0.3, seed)[1])) for seed in (0, 1))
    assert abs(len(one & other) - 900) < 100
    for round_ in (0, 1):
        drawn = np.flatnonzero(sampling.rows(np.arange(10_000, dtype=np.uint64), 0.3, 0, round_))
        assert abs(len(one & set(drawn.tolist())) - 900) < 100


def test_no_share_holds_out_nothing_and_nearly_all_leaves_each_party_a_row():
    parties = partition.rows(np.zeros((30, 1)), n=3)
    assert sizes(partition.hold_out(parties, 0.0)[1]) == [0, 0, 0]
    assert sizes(partition.hold_out(parties, np.nextafter(1.0, 0.0))[0]) == [1, 1, 1]


def test_a_table_without_ids_is_numbered_before_rows_are_held_out():
    training, validation = partition.hold_out({"a": Table.of(np.arange(50).reshape(50, 1))}, 0.4)
    assert (training["a"].values[:, 0] == training["a"].ids).all()
    assert sorted(ids_of(training) + ids_of(validation)) == list(range(50))


@pytest.mark.parametrize("share", [-0.1, 1, 1.5, float("nan"), "0.2", True])
def test_a_share_out_of_its_range_is_refused(share):
    with pytest.raises(ParameterError, match="share must be a number from 0 to below 1"):
        partition.hold_out({}, share)


def test_held_out_rows_are_drawn_from_a_checked_seed():
    with pytest.raises(ParameterError, match="seed must be a whole number from 0"):
        partition.hold_out({}, 0.2, seed=2**63)


# One table again

WHOLES = {
    "dense": Table.of(*load_breast_cancer(return_X_y=True)),
    "frame": Table.of(*load_diabetes(return_X_y=True, as_frame=True)),
    "no labels": Table.of(load_iris().data),
    "many kinds": many_kinds(),
    "object labels": replace(many_kinds(), labels=np.array(["no", "certainly"] * 40, dtype=object)),
    "truth": Table.of(np.zeros((10, 1)), np.arange(10) % 2 == 0),
    "sparse, missing": sparse_table("missing"),
    "sparse, zero": sparse_table("zero"),
}


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("whole", WHOLES)
def test_parties_pooled_again_are_the_table_that_was_cut(whole, how):
    table = WHOLES[whole]
    if how == "labels" and table.labels is None:
        table = replace(table, labels=np.arange(table.n_rows) % 4)
    parties = partition.rows(table, how=how, seed=3)
    again = partition.pooled(parties)
    assert same(again, table)
    assert again.ids.tolist() == list(range(table.n_rows))
    assert same(partition.pooled(dict(reversed(parties.items()))), table)


@given(cuts(), st.floats(0, 1, exclude_max=True))
def test_training_and_validation_rows_pooled_again_are_the_table_that_was_cut(cut, share):
    table, how = cut
    training, validation = partition.hold_out(partition.rows(table, **how), share)
    halves = {"training": partition.pooled(training), "validation": partition.pooled(validation)}
    assert same(partition.pooled(halves), table)


def test_a_forest_of_sampled_rows_is_the_same_after_cutting_and_pooling():
    X, y = load_wine(return_X_y=True)
    settings = {"n_estimators": 5, "subsample": 0.6, "random_state": 2}
    again = partition.pooled(partition.rows(X, y, how="labels"))
    one, other = (GBDTClassifier(**settings).fit(table).model_ for table in (Table.of(X, y), again))
    assert one.scores(Table.of(X)).tolist() == other.scores(Table.of(X)).tolist()


def test_pooled_columns_are_matched_by_name_and_categories_joined():
    one = Table.of(pd.DataFrame({"ward": ["C", "A"], "age": [1.0, 2.0]}))
    other = Table.of(pd.DataFrame({"age": [3.0, np.nan], "ward": ["B", None]}))
    table = partition.pooled({"one": one, "other": other})
    assert table.columns == (Column("ward", "categorical", ("A", "B", "C")), Column("age"))
    np.testing.assert_array_equal(table.values, np.array([[2, 1], [0, 2], [1, 3], [np.nan, np.nan]], np.float32))
    assert table.ids is None


def test_pooled_sparse_columns_are_matched_by_name():
    one = Table.of(sparse.csr_array(np.array([[1.0, 2.0]])), names=["a", "b"], absent="zero")
    other = Table.of(sparse.csr_array(np.array([[3.0, 0.0]])), names=["b", "a"], absent="zero")
    table = partition.pooled({"one": one, "other": other})
    assert table.values.toarray().tolist() == [[1, 2], [0, 3]]
    assert table.values.has_canonical_format


@pytest.mark.parametrize("ids", [(["b", "a"], ["c"]), ([2, 1], [2])])
def test_rows_with_text_or_repeated_ids_stay_party_by_party(ids):
    parts = [Table.of([[1], [2]], ids=ids[0]), Table.of([[3]], ids=ids[1])]
    table = partition.pooled({"one": parts[0], "other": parts[1]})
    assert table.values.ravel().tolist() == [1, 2, 3]
    assert table.ids.tolist() == ids[0] + ids[1]
    keys = [key for part in parts for key in part.row_keys().tolist()]
    assert table.row_keys().tolist() == keys


def test_whole_numbers_at_both_ends_of_their_range_are_put_in_order():
    ends = [np.iinfo(np.int64).max, np.iinfo(np.int64).min]
    parties = {str(i): Table.of([[i]], ids=[end]) for i, end in enumerate(ends)}
    assert partition.pooled(parties).values.ravel().tolist() == [1, 0]


dense_one = Table.of([[1.0, 2.0]], [0], ids=[5], weights=[1.0])
zero, missing = (Table.of(sparse.csr_array(np.eye(2)), absent=absent) for absent in ("zero", "missing"))


@pytest.mark.parametrize(
    ("one", "other", "sentence"),
    [
        (dense_one, Table.of([[1.0]]), "Only one of parties 'one' and 'other' has column 'f1'; give all parties"),
        (dense_one, zero, "one has a sparse table and one a dense; make all tables alike"),
        (zero, missing, "is zero at one of parties 'one' and 'other' and missing at the other"),
        (dense_one, Table.of([["a", "b"]], categorical=[0, 1]), "Column 'f0' is numeric at one party and categorical"),
        (dense_one, replace(dense_one, labels=None), "Party 'other' has no labels and another has"),
        (replace(dense_one, weights=None), dense_one, "Party 'one' has no weights and another has"),
        (replace(dense_one, ids=None), dense_one, "Party 'one' has no ids and another has"),
        (dense_one, replace(dense_one, labels=np.array(["a"])), "The labels are numbers at one party and text"),
        (dense_one, replace(dense_one, ids=np.array(["a"])), "The ids are numbers at one party and text"),
    ],
)
def test_tables_that_do_not_go_together_are_not_pooled(one, other, sentence):
    with pytest.raises(DataError, match=sentence):
        partition.pooled({"one": one, "other": other})


def test_no_parties_are_not_pooled():
    with pytest.raises(DataError, match="There are no parties to pool"):
        partition.pooled({})
