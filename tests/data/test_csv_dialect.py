"""CSV files with other signs between fields and before decimals, columns to leave out, columns that look like ids."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from hedgerow import read_table
from hedgerow.data.id_columns import FEWEST, asked_about
from hedgerow.errors import DataError, ParameterError

PLAIN = "a,b,y\n1.5,x,0.25\n-2,z,1\n,x,2.5\n"
GERMAN = "a;b;y\n1,5;x;0,25\n-2;z;1\n;x;2,5\n"


def written(folder: Path, text: str, name: str = "data.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def same(table, other) -> bool:
    return (
        table.columns == other.columns
        and np.array_equal(table.values, other.values, equal_nan=True)
        and np.array_equal(table.labels, other.labels)
    )


@pytest.fixture
def plain(tmp_path):
    return read_table(written(tmp_path, PLAIN, "plain.csv"), label="y")


def test_semicolons_and_decimal_commas_are_recognised_and_said(tmp_path, plain):
    path = written(tmp_path, GERMAN)
    table = read_table(path, label="y")
    assert same(table, plain)
    assert table.notes() == [f"{path} uses ';' between fields and ',' for decimals."]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GERMAN.replace(",", "."), "';' between fields"),
        (GERMAN.replace(",", ".").replace(";", "|"), "'|' between fields"),
        (GERMAN.replace(";", "\t"), "tab between fields and ',' for decimals"),
    ],
)
def test_what_was_recognised_is_said_and_no_more(tmp_path, plain, text, said):
    path = written(tmp_path, text)
    table = read_table(path, label="y")
    assert same(table, plain)
    assert table.remarks == (f"{path} uses {said}.",)


def test_a_usual_file_needs_no_remark(plain):
    assert plain.remarks == ()


def test_a_file_written_as_was_said_needs_no_remark(tmp_path, plain):
    table = read_table(written(tmp_path, GERMAN), label="y", delimiter=";", decimal=",")
    assert same(table, plain)
    assert table.remarks == ()


def test_a_gzipped_file_is_recognised_too(tmp_path, plain):
    path = tmp_path / "data.csv.gz"
    path.write_bytes(gzip.compress(GERMAN.encode()))
    assert same(read_table(path, label="y"), plain)


def test_a_tsv_file_may_have_another_sign_and_decimal_commas(tmp_path, plain):
    tabs = read_table(written(tmp_path, GERMAN.replace(";", "\t"), "tabs.tsv"), label="y")
    assert same(tabs, plain)
    assert tabs.remarks == (f"{tmp_path / 'tabs.tsv'} uses ',' for decimals.",)
    assert same(read_table(written(tmp_path, PLAIN, "odd.tsv"), label="y", delimiter=","), plain)


def test_a_file_of_one_column_stays_one(tmp_path):
    assert read_table(written(tmp_path, "a\n1\n2\n")).names == ("a",)


def test_thousands_may_have_points_where_decimals_have_commas(tmp_path):
    table = read_table(written(tmp_path, "a;b\n1.234,5;1\n12,25;2\n1.000.000;3\n"))
    assert table.values[:, 0].tolist() == [1234.5, 12.25, 1000000.0]


def test_decimals_after_many_whole_numbers_are_recognised(tmp_path):
    cells = "".join(f"{i % 7};1\n" for i in range(500))
    table = read_table(written(tmp_path, f"a;b\n{cells}2,5;1\n"))
    assert table.columns[0].kind == "numeric"
    assert table.values[-1, 0] == 2.5


def test_a_file_with_both_signs_before_decimals_is_refused(tmp_path):
    path = written(tmp_path, "a;b\n1,5;1.5\n2,5;2.5\n")
    with pytest.raises(DataError) as refused:
        read_table(path)
    assert str(refused.value) == (
        f"{path} has ',' before decimals in column 'a' and '.' in column 'b'; say which it is with decimal=, or write "
        "them alike."
    )
    assert read_table(path, decimal=".").columns[0].kind == "categorical"
    with pytest.raises(
        DataError, match=r"Column 'b' of .* has numbers with '.' before decimals, where decimal= says ','"
    ):
        read_table(path, decimal=",")


def test_text_among_numbers_with_commas_is_refused_with_its_line(tmp_path):
    cells = "".join(f"{i},5;1\n" for i in range(30))
    with pytest.raises(DataError, match=r"text in numeric column 'a' at line 32 of"):
        read_table(written(tmp_path, f"a;b\n{cells}oops;1\n"))


def test_quoted_numbers_with_commas_between_commas_are_asked_about(tmp_path):
    """They may be thousands, so nothing is guessed; said, they are decimals."""
    path = written(tmp_path, 'a,b\n"1,5",x\n"2,25",y\n')
    table = read_table(path)
    assert table.remarks == (
        f"Column 'a' of {path} has numbers with ',' and is read as text: are they decimals? Then say decimal=, as ','.",
    )
    assert read_table(path, decimal=",").values[:, 0].tolist() == [1.5, 2.25]


def test_a_line_too_wide_is_named_in_a_file_with_semicolons(tmp_path):
    with pytest.raises(DataError, match=r"Line 3 of .* has 3 columns where the header has 2"):
        read_table(written(tmp_path, "a;b\n1;2\n1;2;3\n"))


def test_categories_and_ids_stay_as_they_are_written(tmp_path):
    table = read_table(written(tmp_path, "id;a;b\n1,5;2,5;1,5\n2,5;3,5;2,5\n"), id_column="id", categorical=["a"])
    assert table.ids.tolist() == ["1,5", "2,5"]
    assert table.columns[0].categories == ("2,5", "3,5")


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"delimiter": "ab"}, r"delimiter= must be one sign, like ';', or the word tab; it is 'ab'\."),
        ({"delimiter": "."}, r"delimiter= must be one sign"),
        ({"decimal": ";"}, r"decimal= must be '\.' or ','; it is ';'\."),
    ],
)
def test_signs_that_cannot_be_are_refused(tmp_path, more, sentence):
    with pytest.raises(ParameterError, match=sentence):
        read_table(written(tmp_path, PLAIN), **more)


def test_signs_are_for_csv_files(tmp_path):
    with pytest.raises(ParameterError, match=r"delimiter= and decimal= are for CSV files, and .*data\.libsvm is none"):
        read_table(written(tmp_path, "1 1:2\n", "data.libsvm"), delimiter=";")


# Columns that are left out


def test_ignored_columns_are_no_features_and_may_hold_anything(tmp_path):
    path = written(tmp_path, "a,note,b\n1,x,2\n2,3,4\n" + "1,1,1\n" * 20)
    with pytest.raises(DataError, match="text in numeric column 'note'"):
        read_table(path)
    assert read_table(path, ignore=["note"]).names == ("a", "b")


def test_several_columns_are_ignored_by_commas_unless_a_column_is_called_so(tmp_path):
    path = written(tmp_path, 'a,b,"c,d",e\n1,2,3,4\n')
    assert read_table(path, ignore="a, b").names == ("c,d", "e")
    assert read_table(path, ignore=["c,d", "a"]).names == ("b", "e")


def test_a_column_that_is_not_there_cannot_be_ignored_unless_files_may_differ(tmp_path, plain):
    path = written(tmp_path, PLAIN)
    with pytest.raises(DataError, match=r"For ignore=, .*data.csv has no column 'bb' \(did you mean 'b'\?\)"):
        read_table(path, ignore=["bb"])
    assert read_table(path, label="y", ignore=["bb"], lenient=True).names == plain.names


def test_a_column_with_a_use_cannot_be_ignored(tmp_path):
    with pytest.raises(ParameterError, match="Column 'y' is named both by label= and by ignore=; leave out one"):
        read_table(written(tmp_path, PLAIN), label="y", ignore=["y"])


def test_columns_of_a_parquet_file_are_ignored_too(tmp_path):
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    parquet.write_table(arrow.table({"a": [1, 2], "b": [3, 4]}), tmp_path / "data.parquet")
    assert read_table(tmp_path / "data.parquet", ignore=["a"]).names == ("b",)


# Columns that look like ids


def rows(n: int) -> str:
    """A text id, a number of an account beyond what a 32-bit float tells apart, a measured value, and a label."""
    lines = [f"c{i},{4_000_000_000 + i},{i * 0.37:.2f},{i % 5},{i % 2}" for i in range(n)]
    return "\n".join(["customer,account,size,grade,y", *lines]) + "\n"


HOW = "Use --id {0}, or --ignore {0}."


def test_whole_numbers_that_all_differ_are_asked_about(tmp_path):
    table = read_table(written(tmp_path, rows(60)), label="y", id_column="customer")
    assert table.all_differ == ("account",)
    assert asked_about(table, (), HOW) == [
        "Every value of column 'account' differs: is it an id? Use --id account, or --ignore account."
    ]


def test_text_that_all_differs_is_refused_unless_it_is_meant(tmp_path):
    table = read_table(written(tmp_path, rows(60)), label="y", ignore=["account"])
    with pytest.raises(DataError) as refused:
        asked_about(table, (), HOW)
    assert str(refused.value) == (
        "Every value of column 'customer' differs, so that each row would be a category of its own: is it an id? Use "
        "--id customer, or --ignore customer. If that is meant, name it in categorical=."
    )
    assert asked_about(table, ["customer"], HOW) == []


def test_few_rows_or_one_repeated_value_are_no_reason_to_ask(tmp_path):
    assert read_table(written(tmp_path, rows(FEWEST - 1))).all_differ == ()
    again = rows(60) + "c0,4000000000,1.00,1,1\n"
    assert read_table(written(tmp_path, again)).all_differ == ()


def test_columns_of_parquet_files_are_looked_at_too(tmp_path):
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    frame = arrow.table({"a": list(range(60)), "b": [float(i) for i in range(60)], "c": ["x"] * 60})
    parquet.write_table(frame, tmp_path / "data.parquet")
    assert read_table(tmp_path / "data.parquet").all_differ == ("a",)
