import gzip
import io
import os
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import dump_svmlight_file

from hedgerow.data.read import read_table
from hedgerow.data.table import Column, Table
from hedgerow.errors import DataError, ParameterError

PRIVATE = "Kowalski"
DATA = Path(os.environ.get("HEDGEROW_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"the real data sets are not at {DATA}; set HEDGEROW_DATA")


@pytest.fixture
def write(tmp_path):
    """Writes a file, gzipped if its name says so, and gives its path."""

    def to(name, content):
        content = content.encode() if isinstance(content, str) else content
        (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return tmp_path / name

    return to


def refused(words, path, **options):
    with pytest.raises(DataError, match=words) as caught:
        read_table(path, **options)
    assert PRIVATE not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__


# CSV, TSV, Parquet


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz", "T.TSV", "t.tsv.gz"])
def test_text_files_are_read_by_their_suffix(write, name):
    text = "id,age,sex,w,y\n7,30,m,1,no\n8,,f,2,yes\n9,4.5,NA,1,no\n"
    path = write(name, text.replace(",", "\t") if "tsv" in name.lower() else text)
    table = read_table(path, label="y", id_column="id", weight="w")
    assert table.columns == (Column("age"), Column("sex", "categorical", ("f", "m")))
    np.testing.assert_array_equal(table.values, [[30, 1], [np.nan, 0], [4.5, np.nan]])
    assert table.labels.tolist() == ["no", "yes", "no"]
    assert table.ids.tolist() == [7, 8, 9]
    assert table.weights.tolist() == [1, 2, 1]


@pytest.mark.parametrize("name", ["t.parquet", "t.parquet.gz"])
def test_parquet_gives_the_table_its_frame_gives(write, name):
    frame = pd.DataFrame({"x": [1.5, None], "t": ["b", "a"], "s": [True, False], "y": [0, 1]}, index=[5, 9])
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    table = read_table(write(name, buffer.getvalue()), label="y")
    twin = Table.of(frame, "y")
    assert table.columns == twin.columns
    np.testing.assert_array_equal(table.values, twin.values)
    assert table.labels.tolist() == [0, 1]


@given(
    arrays(
        np.float32,
        st.tuples(st.integers(1, 6), st.integers(2, 5)),
        elements=st.floats(-(2.0**100), 2.0**100, width=32) | st.just(float("nan")),
    )
)
def test_dense_to_csv_to_libsvm_and_back_is_the_same_table(tmp_path_factory, X):
    folder = tmp_path_factory.mktemp("round")
    pd.DataFrame(X).to_csv(folder / "t.csv", index=False)
    np.testing.assert_array_equal(read_table(folder / "t.csv").values, X)
    zeros = np.nan_to_num(X)
    dump_svmlight_file(zeros.astype(np.float64), np.zeros(len(X)), str(folder / "t.svm"), zero_based=False)
    table = read_table(folder / "t.svm", absent="zero", n_columns=X.shape[1])
    np.testing.assert_allclose(table.values.toarray(), zeros, rtol=1e-6)


def test_all_the_words_for_missing_are_missing(write):
    table = read_table(write("t.csv", "a,b,c\n,1,1\nNA,2,1\nNaN,3,1\nnull,4,1\n1,5,1\n"))
    assert np.isnan(table.values[:, 0]).tolist() == [True] * 4 + [False]


def test_dates_and_truth_values_are_categories_as_they_are_written(write):
    table = read_table(write("t.csv", "when,sure,n\n2020-01-02,true,1\n2019-05-06,False,2\n"))
    assert [column.categories for column in table.columns] == [("2019-05-06", "2020-01-02"), ("False", "true"), ()]


def test_numbers_pyarrow_would_take_for_text_are_numbers(write):
    table = read_table(write("t.csv", "a,b\n+1,1\n 2e1 ,1\n.5,1\n"))
    assert table.values[:, 0].tolist() == [1, 20, 0.5]


def test_named_categories_keep_their_text_but_whole_floats_lose_their_point(write):
    path = write("t.csv", "zip,a\n007,1\n3.0,1\n3,2\nx,2\n")
    assert read_table(path, categorical=["zip"]).columns[0].categories == ("007", "3", "x")
    assert read_table(path, categorical=iter([0])).columns[0].categories == ("007", "3", "x")
    renamed = read_table(path, names=["code", "b"], categorical="code")
    assert renamed.names == ("code", "b")
    assert renamed.columns[0].categories == ("007", "3", "x")


def test_ids_with_leading_zeros_stay_text(write):
    assert read_table(write("t.csv", "id,a\n007,1\n7,2\n"), id_column="id").ids.tolist() == ["007", "7"]


def test_a_first_column_without_a_name_is_an_index_and_no_feature(write):
    path = write("t.csv", ",a\n4,1\n5,2\n")
    assert read_table(path).names == ("a",)
    assert read_table(path, id_column="").ids.tolist() == [4, 5]
    refused("Column 2 in the header .* has no readable name", write("u.csv", "a,\n1,2\n"))


def test_quoted_cells_may_hold_delimiters_newlines_and_a_byte_order_mark_may_lead(write):
    table = read_table(write("t.csv", '\ufeffa,b\n"x,\ny",1\n"say ""z""",2\n'))
    assert table.columns[0] == Column("a", "categorical", ('say "z"', "x,\ny"))


def test_text_in_a_column_of_numbers_is_refused_with_its_line(write):
    lines = [f"{row},{row}" for row in range(100)]
    lines[40] = f"{PRIVATE},40"
    path = write("t.csv", "\n".join(["x,n", '"1\n",0', "", *lines]))
    refused("text in numeric column 'x' at line 45 of .*t.csv", path)
    assert read_table(path, categorical=["x"]).columns[0].kind == "categorical"


def test_a_column_with_more_text_than_a_tenth_is_categorical(write):
    numbers = "".join(f"{row},1\n" for row in range(8))
    assert read_table(write("t.csv", f"x,n\n{numbers}a,1\nb,1\n")).columns[0].kind == "categorical"


@pytest.mark.parametrize("row", [f"{PRIVATE},2,3", PRIVATE])
def test_a_row_of_another_width_is_refused_with_its_line(write, row):
    path = write("t.csv.gz", f'a,b\n1,2\n\n"x\n\ny",3\n{row}\n5,6\n')
    refused(r"Line 7 of .*t.csv.gz has \d columns where the header has 2", path)


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("a,y\n1,0\n2,\n3,NA\n", {"label": "y"}, "2 of the labels are missing, the first at line 3 of"),
        ("a,b\n1,1\n2,inf\n", {}, "'b' holds an infinite value.* at line 3 of"),
        ("a,b\n1,1\n\n2,1e300\n", {}, "'b' holds an infinite value.* at line 4 of"),
        ("a,b\n1,1\n1,2\n", {"id_column": "a"}, "1 of the 2 ids repeat"),
        ("a,b\n1,1\n,2\n", {"id_column": "a"}, "1 of the ids are missing, the first at line 3 of"),
        ("a,b\n1,1\n1,-2\n", {"weight": "b"}, "weights are negative.* at line 3 of"),
        (f"a,b\n1,{PRIVATE}\n", {"weight": "b"}, "text in numeric column 'weights' at line 2 of"),
        ("a,a\n1,1\n", {}, "Column name 'a' occurs more than once"),
        ("a,b\n", {}, "has columns but no rows"),
        ("\n\n", {}, "t.csv is empty"),
        ("a\n1\n", {"label": "a"}, r"0 feature\(s\)"),
        ("a,b\n1,2\n", {"names": ["x"]}, "1 names were given for 2 columns"),
        ("label,b\n1,2\n", {"label": "lable"}, r"t.csv has no column 'lable' \(did you mean 'label'\?\)"),
        ("a,b\n1,2\n", {"id_column": "zzz"}, "no column 'zzz'; its columns are 'a', 'b'"),
        ("a,b\n1,2\n", {"weight": "zzz"}, "For weight=, .* no column 'zzz'"),
        ("a,b\n1,2\n", {"categorical": ["zzz"]}, "no column 'zzz'"),
    ],
)
def test_a_bad_csv_file_is_refused_with_its_line(write, text, options, words):
    refused(words, write("t.csv", text), **options)


def test_at_most_eight_names_are_listed(write):
    header = ",".join(f"c{j}" for j in range(12))
    refused("'c7' and 4 more", write("t.csv", f"{header}\n{header}\n"), label="zzz")


def test_a_quote_never_closed_is_refused_with_the_line_that_opens_it(write):
    refused("A quote is opened and never closed at line 3 of", write("t.csv", 'a,b\n1,x\n2,"y\n3,z\n'))
    refused("Line 2 of .* has 1 columns where the header has 2", write("u.csv", 'a,b\n"x,1\n2,3\n'))
    assert read_table(write("v.csv", 'a,b\n1,x\n2,"y\n3,z"\n')).n_rows == 2


def test_a_file_that_is_not_utf_8_is_refused(write):
    refused("UTF-8", write("t.csv", b"a,b\n1,\xff\xfe\n"))
    refused("UTF-8", write("u.csv", b"a,\xff\n1,2\n"))


# Any file


def test_a_file_that_is_not_there_or_not_a_file_is_refused(write, tmp_path):
    refused("nowhere.csv does not exist", tmp_path / "nowhere.csv")
    (tmp_path / "folder.csv").mkdir()
    refused("folder.csv is a folder", tmp_path / "folder.csv")
    for name in ("t.csv", "t.parquet", "t.libsvm", "t.csv.gz", "t.svm.gz"):
        refused(f"{name} is empty", write(name, ""))
    (tmp_path / "plain.csv.gz").write_text("a,b\n1,2\n")
    refused("plain.csv.gz is not gzip data", tmp_path / "plain.csv.gz")
    refused("t.parquet is not a whole Parquet file", write("t.parquet", PRIVATE * 9))


@pytest.mark.parametrize("name", ["t.xlsx", "t.gz", "t"])
def test_an_unknown_suffix_is_refused_with_the_known_ones(write, name):
    refused(r"suffix of .* is unknown; the known ones are '.csv', '.tsv', '.parquet', '.libsvm'", write(name, "x"))


@pytest.mark.parametrize("name", ["t.csv.gz", "t.svm.gz", "t.parquet.gz"])
def test_a_gzip_file_cut_short_is_refused(tmp_path, name):
    rows = "".join(f"{row % 2} 1:{row * 0.37}\n" for row in range(20000))
    content = gzip.compress((rows if "svm" in name else f"a\n{rows}").encode())
    (tmp_path / name).write_bytes(content[: len(content) // 2])
    refused("damaged or cut short|not a whole Parquet file", tmp_path / name)


def test_parquet_rows_are_counted_from_zero(tmp_path):
    pq.write_table(pa.table({"x": [1.0, np.inf], "y": [0, 1]}), tmp_path / "t.parquet")
    refused("'x' holds an infinite value.* at row 1 of .*t.parquet", tmp_path / "t.parquet", label="y")


# LIBSVM


@pytest.mark.parametrize("name", ["t.libsvm", "t.svm", "t.txt", "t.txt.gz"])
def test_libsvm_files_are_sparse_with_positions_for_names(write, name):
    table = read_table(write(name, "# a comment\n+1 1:0.5 3:2 # another\n\n-1 2:0\n"), n_columns=4)
    assert table.names == ("f0", "f1", "f2", "f3")
    assert table.values.shape == (2, 4)
    assert table.values.dtype == np.float32
    assert table.values.indices.tolist() == [0, 2, 1]
    assert table.values.data.tolist() == [0.5, 2, 0]
    assert np.isnan(table.absent)
    assert table.labels.dtype == np.int64
    assert table.labels.tolist() == [1, -1]


def test_indices_from_zero_are_noticed_and_labels_may_be_fractions(write):
    table = read_table(write("t.svm", "0.5 0:1 2:3\n1 1:4\n"), absent="zero", names=["a", "b", "c"], categorical=())
    assert table.values.toarray().tolist() == [[1, 0, 3], [0, 4, 0]]
    assert table.labels.tolist() == [0.5, 1]
    assert table.names == ("a", "b", "c")


@pytest.mark.parametrize(
    "line",
    [
        f"1 1:{PRIVATE}",
        f"{PRIVATE} 1:2",
        "1 2:1 1:1",
        "1 1:1 1:1",
        "1 5",
        "1 -1:2",
        "1,2 1:1",
        "1 99999999999:1",
        "1 1:",
    ],
)
def test_a_libsvm_syntax_error_is_refused_with_its_line(write, line):
    refused("LIBSVM syntax error at line 4 of .*t.svm", write("t.svm", f"# top\n1 1:1\n\n{line}\n1 1:1\n"))


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("# c\n1 1:1\n\n1 5:1\n", {"n_columns": 4}, "index beyond n_columns=4 at line 4 of"),
        ("# c\n1 1:1\n\n1 2:inf\n", {}, "'f1' holds an infinite value.* at line 4 of"),
        ("1 1:1\n\nnan 2:1\n", {}, "1 of the labels are missing, the first at line 3 of"),
        ("# only a comment\n", {}, "t.svm is empty"),
        ("1 1:1\n", {"names": ["a", "b"]}, "2 names were given for 1 columns"),
    ],
)
def test_a_bad_libsvm_file_is_refused(write, text, options, words):
    refused(words, write("t.svm", text), **options)


def test_a_txt_file_that_is_not_libsvm_is_refused(write):
    refused("is not LIBSVM, the one format read from '.txt'", write("t.txt", f"{PRIVATE} was here\n"))


def test_options_of_the_other_formats_are_refused(write):
    with pytest.raises(ParameterError, match="label is its first field; leave out label=, weight="):
        read_table(write("t.svm", "1 1:1\n"), label="y", weight="w")
    with pytest.raises(ParameterError, match="n_columns= is for LIBSVM files"):
        read_table(write("t.csv", "a,b\n1,2\n"), n_columns=2)


# Real data


@needs_data
@pytest.mark.parametrize(
    ("name", "options", "shape"),
    [
        ("a9a.libsvm.gz", {"n_columns": 123}, (32561, 123)),
        ("a9a.t.libsvm.gz", {"n_columns": 123}, (16281, 123)),
        ("cod-rna.libsvm.gz", {}, (59535, 8)),
        ("breast-cancer.libsvm.gz", {}, (683, 10)),
        ("abalone.csv.gz", {"label": "Rings"}, (4177, 8)),
        ("credit1_uci_default.csv.gz", {"label": "default.payment.next.month", "id_column": "ID"}, (30000, 23)),
        ("credit2_give_me_some_credit.csv.gz", {"label": "SeriousDlqin2yrs"}, (150000, 10)),
    ],
)
def test_the_real_data_sets_have_their_documented_shapes(name, options, shape):
    table = read_table(DATA / name, **options)
    assert table.values.shape == shape
    assert len(table.labels) == shape[0]


@needs_data
def test_credit2_is_read_in_about_a_second_with_its_missing_values():
    start = time.perf_counter()
    table = read_table(DATA / "credit2_give_me_some_credit.csv.gz", label="SeriousDlqin2yrs", id_column="")
    assert time.perf_counter() - start < 5  # about 0.3 on a quiet machine
    missing = dict(zip(table.names, np.isnan(table.values).sum(axis=0).tolist(), strict=True))
    assert {name for name, count in missing.items() if count} == {"MonthlyIncome", "NumberOfDependents"}
    assert set(table.labels.tolist()) == {0, 1}
    assert table.ids[:3].tolist() == [1, 2, 3]
