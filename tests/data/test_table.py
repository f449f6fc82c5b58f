import hashlib

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import sparse

from hedgerow.data import table as table_module
from hedgerow.data.ids import check_rows_per_id
from hedgerow.data.table import Column, Table
from hedgerow.errors import DataError, ParameterError

PRIVATE = "Kowalski"
small_floats = st.floats(-(2.0**100), 2.0**100, width=32) | st.just(float("nan"))
matrices = arrays(np.float32, array_shapes(min_dims=2, max_dims=2, max_side=6), elements=small_floats)


def dense(table):
    """A sparse table's values as an array, what it does not store filled in."""
    if isinstance(table.values, np.ndarray):
        return table.values
    filled = np.full(table.values.shape, table.absent, np.float32)
    rows = np.repeat(np.arange(table.n_rows), np.diff(table.values.indptr))
    filled[rows, table.values.indices] = table.values.data
    return filled


# What goes in


def test_a_float32_array_is_kept_and_not_copied():
    X = np.arange(12, dtype=np.float32).reshape(4, 3)
    assert np.shares_memory(Table.of(X).values, X)
    assert Table.of(X).values.flags.c_contiguous


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.float16, np.float64, ">f4", object])
def test_any_real_array_becomes_contiguous_float32(dtype):
    X = np.asfortranarray(np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype))
    table = Table.of(X)
    assert table.values.dtype == np.float32
    assert table.values.flags.c_contiguous
    assert table.values.tolist() == [[0, 1, 1], [1, 0, 1]]
    assert table.names == ("f0", "f1", "f2")


def test_lists_and_masked_arrays_are_read_and_none_is_missing():
    assert np.isnan(Table.of([[1, None], [2, 3.5]]).values[0, 1])
    assert np.isnan(Table.of(np.ma.masked_equal([[1, 2], [3, 4]], 4)).values[1, 1])
    assert np.isnan(Table.of(np.array([[pd.NA, np.float32("nan")]], dtype=object)).values).all()


@given(matrices)
def test_dense_to_sparse_and_back_is_the_same_table(X):
    stored = ~np.isnan(X)
    rows, columns = np.nonzero(stored)
    coo = sparse.coo_array((X[stored], (rows, columns)), shape=X.shape)
    np.testing.assert_array_equal(dense(Table.of(coo)), Table.of(X).values)
    zeros = np.nan_to_num(X)
    np.testing.assert_array_equal(dense(Table.of(sparse.csc_array(zeros), absent="zero")), zeros)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csr_matrix])
def test_every_sparse_format_becomes_canonical_csr(form, make):
    X = np.array([[0, 2, 0], [3, 0, 4]])
    table = Table.of(make(X).asformat(form), absent="zero")
    assert isinstance(table.values, sparse.csr_array)
    assert table.values.dtype == np.float32
    assert table.values.has_canonical_format
    assert table.absent == 0.0
    assert dense(table).tolist() == X.tolist()


def test_duplicate_and_unsorted_entries_are_put_right_without_touching_the_input():
    given_csr = sparse.csr_matrix((np.ones(3, np.float32), [2, 0, 2], [0, 3]), shape=(1, 3))
    assert dense(Table.of(given_csr, absent="zero")).tolist() == [[1, 0, 2]]
    assert given_csr.indices.tolist() == [2, 0, 2]


def test_a_canonical_float32_csr_is_not_copied():
    X = sparse.random_array((50, 8), density=0.3, format="csr", dtype=np.float32, rng=0)
    assert np.shares_memory(Table.of(X).values.data, X.data)


def test_a_pandas_frame_keeps_names_and_turns_text_into_categories():
    frame = pd.DataFrame(
        {
            "age": [31.5, np.nan, 40],
            "sex": ["m", None, "f"],
            "kind": pd.Categorical(["b", "a", None], categories=["b", "a"]),
            "seen": [True, False, True],
            "visits": pd.array([1, None, 3], dtype="Int64"),
            "mixed": pd.Series([2.0, "x", pd.NA], dtype=object),
            7: [1, 2, 3],
        }
    )
    table = Table.of(frame)
    assert table.columns == (
        Column("age"),
        Column("sex", "categorical", ("f", "m")),
        Column("kind", "categorical", ("a", "b")),
        Column("seen", "categorical", ("False", "True")),
        Column("visits"),
        Column("mixed", "categorical", ("2", "x")),
        Column("7"),
    )
    nan = np.nan
    np.testing.assert_array_equal(
        table.values,
        np.array([[31.5, 1, 1, 1, 1, 0, 1], [nan, nan, 0, 0, nan, 1, 2], [40, 0, nan, 1, 3, nan, 3]], np.float32),
    )


def test_an_arrow_table_gives_what_the_same_pandas_frame_gives():
    columns = {"n": [1, None, 3], "x": [0.5, 1.5, None], "t": ["b", None, "a"], "s": [True, None, False]}
    arrow = pa.table({**columns, "d": pa.array(["v", None, "u"]).dictionary_encode()})
    arrow = pa.concat_tables([arrow, pa.table({**columns, "d": pa.array(["w", "v", None]).dictionary_encode()})])
    table = Table.of(arrow)
    twin = Table.of(pd.DataFrame({name: arrow[name].to_pylist() for name in arrow.column_names}))
    assert table.columns == twin.columns
    assert table.columns[4].categories == ("u", "v", "w")
    np.testing.assert_array_equal(table.values, twin.values)


@pytest.mark.parametrize("make", [pd.DataFrame, pa.table])
def test_labels_weights_and_ids_may_be_columns_of_a_frame(make):
    frame = make({"a": [1, 2], "y": ["no", "yes"], "w": [1, 2], "id": [7, 8]})
    table = Table.of(frame, "y", weights="w", ids="id")
    assert table.names == ("a",)
    assert table.labels.tolist() == ["no", "yes"]
    assert table.weights.tolist() == [1.0, 2.0]
    assert table.ids.tolist() == [7, 8]


def test_columns_of_numbers_can_be_named_categorical_and_whole_numbers_lose_their_point():
    X = np.array([[3.0, 0.1], [np.nan, 1], [20, 2], [3, 3]])
    table = Table.of(X, names=["code", "x"], categorical=["code"])
    assert table.columns == (Column("code", "categorical", ("20", "3")), Column("x"))
    np.testing.assert_array_equal(table.values[:, 0], [1, np.nan, 0, 1])
    assert Table.of(X.astype(np.float32), categorical=[1]).columns[1].categories == ("0.1", "1", "2", "3")
    assert X[0, 0] == 3.0


def test_categories_of_large_numbers_are_told_apart_though_float32_could_not():
    table = Table.of(np.array([[2**24], [2**24 + 1]]), categorical=[0])
    assert table.values.ravel().tolist() == [0, 1]


def test_text_may_stand_in_an_object_array_where_its_column_is_categorical():
    table = Table.of(np.array([["b", 1], ["a", 2]], dtype=object), categorical="f0")
    assert table.columns[0].categories == ("a", "b")
    assert table.values.tolist() == [[1, 1], [0, 2]]


def test_a_sparse_column_can_be_categorical_where_absent_is_missing():
    table = Table.of(sparse.csr_array(np.array([[5.0, 1], [0, 2], [30, 0]])), categorical=[0])
    assert table.columns[0].categories == ("30", "5")
    np.testing.assert_array_equal(dense(table), [[1, 1], [np.nan, 2], [0, np.nan]])


def test_a_table_is_returned_as_it_is_or_with_what_is_added():
    table = Table.of(np.ones((2, 2)), [0, 1])
    assert Table.of(table) is table
    again = Table.of(table, names=["a", "b"], ids=[5, 6])
    assert again.names == ("a", "b")
    assert again.labels is table.labels
    assert again.ids.tolist() == [5, 6]
    with pytest.raises(ParameterError, match="categorical= cannot change a Table"):
        Table.of(table, categorical=[0])


@pytest.mark.parametrize(
    ("y", "kind"),
    [
        ([1, 0], np.int64),
        (np.array([1, 0], np.uint8), np.int64),
        ([0.5, 1], np.float64),
        (np.array([1, 0], dtype=object), np.int64),
        ([True, False], bool),
        (pd.Series(["a", "b"]), object),
        (pd.Series([1, 2], dtype="Int64"), np.int64),
        (pa.chunked_array([[1], [2]]), np.int64),
        (pa.array(["a", "b"]).dictionary_encode(), object),
        (np.array([[1], [2]]), np.int64),
    ],
)
def test_labels_are_kept_as_given(y, kind):
    labels = Table.of(np.ones((2, 1)), y).labels
    assert labels.dtype == kind
    assert labels.tolist() == np.ravel(y).tolist()


# What a table can do


def test_a_table_shows_its_shape_and_not_its_values():
    assert (
        repr(Table.of(np.full((3, 2), 41), [PRIVATE] * 3, ids=[7, 8, 9])) == "<Table of 3 rows, 2 columns, labels, ids>"
    )


def test_take_gives_rows_by_position_mask_and_slice():
    table = Table.of(np.arange(6).reshape(3, 2), [0, 1, 2], weights=[1, 2, 3], ids=["a", "b", "c"])
    for rows in ([2, 0], np.array([2, 0]), slice(2, None, -2)):
        taken = table.take(rows)
        assert taken.values.tolist() == [[4, 5], [0, 1]]
        assert taken.values.flags.c_contiguous
        assert taken.labels.tolist() == [2, 0]
        assert taken.weights.tolist() == [3, 1]
        assert taken.ids.tolist() == ["c", "a"]
    assert table.take(np.array([True, False, True])).n_rows == 2
    assert table.take([]).values.shape == (0, 2)
    assert dense(Table.of(sparse.csr_array([[1.0], [2.0]])).take([1])).tolist() == [[2]]


def test_rows_with_an_empty_id_have_a_key_each():
    table = Table.of(np.zeros((4, 1)), ids=["a", "", "", "a"], repeated_ids=True)
    keys = table.row_keys().tolist()
    assert keys[0] == keys[3]
    assert len({*keys}) == 3


def test_row_keys_are_the_ids_or_their_hash_or_the_row_numbers():
    X = np.ones((2, 1))
    assert Table.of(X).row_keys().tolist() == [0, 1]
    assert Table.of(X, ids=[9, 2**40]).row_keys().tolist() == [9, 2**40]
    keys = Table.of(X, ids=["ä", "b"]).row_keys()
    assert keys.dtype == np.uint64
    assert keys[0] == int.from_bytes(hashlib.blake2b("ä".encode(), digest_size=8).digest(), "little")


def test_aligned_brings_order_and_codes_and_drops_the_rest():
    model = Table.of(pd.DataFrame({"c": ["x", "y", "z"], "n": [1, 2, 3]}))
    other = Table.of(pd.DataFrame({"n": [4, 5, 6], "more": [0, 0, 0], "c": ["z", "new", None]}))
    aligned = other.aligned(model.columns)
    assert aligned.columns == model.columns
    np.testing.assert_array_equal(aligned.values, [[2, 4], [np.nan, 5], [np.nan, 6]])
    assert other.values[0, 2] == 1  # the table itself is as it was
    assert model.aligned(model.columns) is model


def test_aligned_matches_automatic_names_by_position_without_a_copy():
    table = Table.of(np.ones((2, 2)))
    aligned = table.aligned([Column("a"), Column("b")])
    assert aligned.names == ("a", "b")
    assert np.shares_memory(aligned.values, table.values)


def test_aligned_reads_numbers_as_categories_where_the_model_learnt_them_so():
    model = Table.of(np.array([[1.0], [20.0], [0.1]]), categorical=[0])
    aligned = Table.of(np.array([[20.0], [3.0], [0.1], [np.nan]])).aligned(model.columns)
    np.testing.assert_array_equal(aligned.values.ravel(), [2, np.nan, 0, np.nan])
    with pytest.raises(DataError, match="'f0' is categorical and holds numbers that float32 cannot tell apart"):
        Table.of(np.array([[2.0**24]])).aligned(model.columns)


def test_aligned_works_on_sparse_tables():
    table = Table.of(sparse.csr_array(np.array([[5.0, 1, 7], [0, 2, 0]])), categorical=[0])
    aligned = table.aligned([Column("f1"), Column("f0", "categorical", ("1", "5"))])
    assert aligned.values.has_canonical_format
    np.testing.assert_array_equal(dense(aligned), [[1, 1], [2, np.nan]])
    zero = Table.of(sparse.csr_array(np.eye(2)), absent="zero")
    with pytest.raises(DataError, match="'f0' is categorical in a sparse table whose absent entries are zero"):
        zero.aligned([Column("f0", "categorical", ("1",)), Column("f1")])


def test_aligned_refuses_an_absent_column_and_text_for_numbers():
    table = Table.of(pd.DataFrame({"a": [1], "t": [PRIVATE]}))
    with pytest.raises(DataError, match="lacks column 'b'"):
        table.aligned([Column("a"), Column("b")])
    with pytest.raises(DataError, match="Column 't' holds text where numbers are expected") as caught:
        table.aligned([Column("t")])
    assert PRIVATE not in str(caught.value)
    empty = Table.of(pd.DataFrame({"t": pd.Series([None], dtype=object)}))
    assert np.isnan(empty.aligned([Column("t")]).values).all()


def test_notes_speak_of_constant_and_wholly_missing_columns(monkeypatch):
    monkeypatch.setattr(table_module, "BLOCK_CELLS", 8)
    nan = np.nan
    X = np.array([[1, nan, 1, 0], [1, nan, nan, 1], [1, nan, 1, 0]])
    expected = [
        "Column 'f0' holds one value only; no tree can cut it.",
        "Column 'f1' is wholly missing; no tree can cut it.",
    ]
    assert Table.of(X).notes() == expected
    rows, columns = np.nonzero(~np.isnan(X))
    coo = sparse.coo_array((X[rows, columns], (rows, columns)), shape=X.shape)
    assert Table.of(coo).notes() == expected
    assert Table.of(coo, absent="zero").notes() == [
        expected[0],
        "Column 'f1' holds one value only; no tree can cut it.",
    ]


# What is refused


def with_cell(cell, dtype=np.float64):
    X = np.ones((5, 2), dtype=dtype)
    X[3, 1] = cell
    return X


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.ones(3), "Reshape your data"),
        (pd.Series([1, 2]), "Reshape your data"),
        (np.ones((2, 2, 2)), "dim 3"),
        (np.ones((0, 3)), r"Found array with 0 sample\(s\)"),
        (pd.DataFrame({"a": []}), r"Found array with 0 sample\(s\)"),
        (np.ones((3, 0)), r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required."),
        (sparse.csr_array((3, 0)), r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required."),
        (np.ones((2, 2), complex), "Complex data not supported"),
        (sparse.csr_array(np.ones((2, 2), complex)), "Complex data not supported"),
        ([[1, 2], [3]], "not all of one length"),
        (with_cell(np.inf), "'f1' holds an infinite value.* at row 3"),
        (with_cell(-np.inf, np.float32), "'f1' holds an infinite value.* at row 3"),
        (with_cell(1e300), "'f1' holds an infinite value.* at row 3"),
        (with_cell(10**400, object), "'f1' holds an infinite value.* at row 3"),
        (sparse.csr_matrix(with_cell(1e300)), "'f1' holds an infinite value.* at row 3"),
        (pd.DataFrame(with_cell(np.inf), columns=["a", "b"]), "'b' holds an infinite value.* at row 3"),
        (with_cell(PRIVATE, object), "text in numeric column 'f1' at row 3"),
        (np.array([["1", PRIVATE]]), "text in numeric column 'f0' at row 0"),
        (pd.DataFrame({"d": pd.to_datetime(["2020-01-01"])}), "'d' holds datetime64.* values"),
        (pd.DataFrame(np.ones((1, 2)), columns=["a", "a"]), "Column name 'a' occurs more than once"),
        (pd.DataFrame(np.ones((1, 2)), columns=["1", 1]), "Column name '1' occurs more than once"),
    ],
)
def test_a_bad_table_is_refused_with_its_place_and_without_its_values(X, words):
    with pytest.raises(DataError, match=words) as caught:
        Table.of(X)
    assert PRIVATE not in str(caught.value)
    assert "300" not in str(caught.value)


def test_infinities_are_found_beyond_the_first_block(monkeypatch):
    monkeypatch.setattr(table_module, "BLOCK_CELLS", 4)
    for X in (with_cell(np.inf), sparse.csr_array(with_cell(np.inf))):
        with pytest.raises(DataError, match=r"'f1' .* at row 3"):
            Table.of(X)


def test_a_cell_that_is_no_number_at_all_is_a_type_error_as_scikit_learn_wants():
    with pytest.raises(TypeError, match=r"argument must be .* string.* number.*'f1'.* dict at row 3"):
        Table.of(with_cell({"foo": PRIVATE}, object))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"y": [0, 1]}, "2 labels were given for 5 rows"),
        ({"weights": [1, 1]}, "2 weights were given for 5 rows"),
        ({"ids": [1, 2]}, "2 ids were given for 5 rows"),
        ({"names": ["a"]}, "1 names were given for 2 columns"),
        ({"names": ["a", "a"]}, "Column name 'a' occurs more than once"),
        ({"y": np.ones((5, 2))}, "The labels have 2 dimensions"),
        ({"weights": np.ones((5, 1))}, "The weights have 2 dimensions"),
        ({"y": [0, 1, np.nan, np.nan, 1]}, "2 of the labels are missing, the first at row 2"),
        ({"y": ["a", None, "b", "b", "a"]}, "1 of the labels are missing, the first at row 1"),
        ({"y": pd.Series([1, pd.NA, 2, 3, 4], dtype="Int64")}, "1 of the labels are missing, the first at row 1"),
        ({"y": pa.array(["a", None, "b", "a", "a"]).dictionary_encode()}, "1 of the labels are missing.* row 1"),
        ({"y": [0, 1, 2, np.inf, 4]}, "label at row 3 is infinite"),
        ({"y": np.array([1, "a", 2, 3, 4], dtype=object)}, "Unknown label type"),
        ({"y": np.ones(5, complex)}, "Unknown label type"),
        ({"weights": [1, 1, -1, 1, 1]}, "1 of the weights are negative.* at row 2"),
        ({"weights": [1, np.nan, 1, 1, 1]}, "1 of the weights .*missing.* at row 1"),
        ({"weights": [1, 1, 1, np.inf, np.inf]}, "2 of the weights .*infinite.* at row 3"),
        ({"weights": np.zeros(5)}, "All weights are zero"),
        ({"weights": ["1", PRIVATE, "1", "1", "1"]}, "text in numeric column 'weights' at row 0"),
        ({"ids": [1, 2, 2, 2, 3]}, "2 of the 5 ids repeat"),
        ({"ids": [PRIVATE, PRIVATE, "a", "b", "c"]}, "1 of the 5 ids repeat"),
        ({"ids": [1, 2, None, 3, 4]}, "1 of the ids are missing, the first at row 2"),
        ({"ids": [0.5, 1, 2, 3, 4]}, "ids are not all whole"),
        ({"ids": np.array([2**63, 1, 2, 3, 4], np.uint64)}, "ids are not all whole"),
        ({"y": "label"}, "y='label' names a column, but X is not a data frame"),
        ({"categorical": ["f7"]}, "no column 'f7'.*its columns are 'f0', 'f1'"),
        ({"categorical": [2]}, "position 2; positions run from 0 to 1"),
    ],
)
def test_what_does_not_fit_the_table_is_refused(given, words):
    y = given.pop("y", None)
    with pytest.raises(DataError, match=words) as caught:
        Table.of(np.ones((5, 2)), y, **given)
    assert PRIVATE not in str(caught.value)


def test_an_unknown_column_of_a_frame_is_refused_with_the_nearest_name():
    frame = pd.DataFrame(np.ones((1, 11)), columns=["label", *(f"c{j}" for j in range(10))])
    with pytest.raises(DataError, match=r"no column 'labl' \(did you mean 'label'\?\); its columns are .* and 3 more"):
        Table.of(frame, "labl")


def test_absent_is_missing_or_zero():
    with pytest.raises(ParameterError, match="absent='nought' is unknown"):
        Table.of(np.ones((1, 1)), absent="nought")


def test_categories_in_a_sparse_table_cannot_have_absent_zeros():
    with pytest.raises(DataError, match="'f0' is categorical in a sparse table"):
        Table.of(sparse.csr_array(np.eye(2)), categorical=[0], absent="zero")


def test_ids_with_more_rows_than_declared_are_refused_without_a_word_of_which():
    check_rows_per_id(["a", "a", "b", "", "", ""], 2)
    check_rows_per_id([], 1)
    with pytest.raises(DataError, match=r"At most 1 rows of an id are declared \(rows_per_id\)") as refused:
        check_rows_per_id(np.array([7007, 8, 7007]), 1)
    assert "7007" not in str(refused.value)
