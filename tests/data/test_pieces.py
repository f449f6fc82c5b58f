"""A table that is read in pieces gives the forest of the same table in memory."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from hedgerow import GBDTClassifier, read_in_pieces, read_table
from hedgerow.data import csv_pieces, parquet_pieces
from hedgerow.errors import DataError, ParameterError
from hedgerow.model.prepare import own_cuts, to_bins

N = 3000


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_pieces, "PIECE_ROWS", 700)


def rows(seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=N)
    gaps = np.where(rng.random(N) < 0.2, np.nan, rng.normal(size=N).round(1))
    rare = np.where(rng.random(N) < 0.9, 0.0, rng.normal(size=N))
    ward = rng.choice(["a", "b", "c", "d"], N)
    y = (x + np.nan_to_num(gaps) + (ward == "b") + rng.normal(size=N) > 0).astype(int)
    return pa.table(
        {
            "x": x.round(4), "gaps": pa.array(gaps, from_pandas=True), "rare": rare, "few": rng.integers(0, 5, N),
            "zip": rng.integers(0, 30, N), "ward": ward, "weight": rng.integers(0, 3, N), "id": rng.permutation(N) * 7,
            "y": y,
        }
    )  # fmt: skip


@pytest.fixture(params=["one.parquet", "many", "text.csv"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    table, place = rows(), tmp_path / str(request.param)
    if place.suffix == ".parquet":
        pq.write_table(table, place)
    elif place.suffix == ".csv":
        pyarrow.csv.write_csv(table, place)
    else:
        place.mkdir()
        for part, first in (("a", 0), ("b", 1100), ("c", 2900)):
            last = {"a": 1100, "b": 2900, "c": N}[part]
            pq.write_table(table.slice(first, last - first), place / f"{part}.parquet")
    return place


def whole(path: Path, tmp_path: Path, **roles: Any) -> Any:
    if path.is_dir():
        path = tmp_path / "whole.parquet"
        pq.write_table(rows(), path)
    return read_table(path, label="y", **roles)


ROLES = {"weight": "weight", "id_column": "id", "categorical": ["zip"]}


def test_the_forest_is_that_of_the_table_in_memory(path: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"n_estimators": 4, "max_depth": 4, "subsample": 0.7, "n_jobs": 2}
    pieces = GBDTClassifier(**options).fit(read_in_pieces(path, label="y", **ROLES))
    memory = GBDTClassifier(**options).fit(whole(path, tmp_path, **ROLES))
    assert pieces.model_.forest == memory.model_.forest
    assert pieces.model_.columns == memory.model_.columns
    assert pieces.model_.classes == memory.model_.classes
    assert pieces.classes_.dtype == memory.classes_.dtype


def test_bins_are_laid_out_as_of_the_table_in_memory(path: Path, tmp_path: Path) -> None:
    found = []
    for table in (read_in_pieces(path, label="y", ignore="id,weight"), whole(path, tmp_path, ignore="id,weight")):
        grid, fullest = own_cuts(table, 64, 1, 2)
        found.append((grid, fullest, to_bins(table, grid, fullest, 2)))
    assert found[0][0].equals(found[1][0])
    assert (found[0][1] >= 0).any()  # a column is kept sparse
    for name in ("dense", "starts", "entries", "by_column", "defaults"):
        assert np.array_equal(getattr(found[0][2], name), getattr(found[1][2], name)), name


def test_both_passes_tell_how_far_they_are(path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    table = read_in_pieces(path, label="y", ignore=["id", "weight"], told=lambda *now: told.append(now))
    GBDTClassifier(n_estimators=1).fit(table)
    assert ("cut points", 6, 6) in told
    assert [done for what, done, of in told if what == "bins" and of == N][-1] == N


def test_what_needs_all_values_says_so(path: Path) -> None:
    table = read_in_pieces(path, label="y")
    model = GBDTClassifier(n_estimators=1).fit(table)
    with pytest.raises(DataError, match="needs the whole table: read it with read_table"):
        model.predict(table)
    with pytest.raises(ParameterError, match="y belongs to what read_in_pieces is told"):
        model.fit(table, [1, 0])


def test_a_cell_that_cannot_be_is_named_by_its_row(tmp_path: Path) -> None:
    table = rows().set_column(0, "x", pa.array(np.where(np.arange(N) == 1234, np.inf, 1.0)))
    pq.write_table(table, tmp_path / "bad.parquet")
    with pytest.raises(DataError, match=r"'x' holds an infinite value.* at row 1234 of .*bad\.parquet"):
        GBDTClassifier().fit(read_in_pieces(tmp_path / "bad.parquet", label="y"))


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("a,y\n" + "1,0\n" * 900 + "x,1\n", "'a' .* begins as numbers and goes on as something else"),
        ("a,y\n1,0\n2,1\n3\n", "Line 4 .* has 1 columns where the header has 2"),
        ('a;y\n"1,5";0\n"2,5";1\n', "'a' .* looks like numbers; say how decimals are written with decimal="),
        ("a,y\n", "has columns but no rows"),
    ],
)
def test_a_file_of_text_that_cannot_be_read_in_pieces_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, match: str
) -> None:
    monkeypatch.setattr(csv_pieces, "BLOCK", 1000)
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(DataError, match=match):
        read_in_pieces(tmp_path / "t.csv", label="y")


@pytest.mark.parametrize(
    ("name", "label", "match"),
    [
        ("t.libsvm", "y", "LIBSVM, which is not read in pieces"),
        ("none.parquet", "y", "does not exist"),
        ("t.parquet", "z", "no column 'z'"),
        ("empty", "y", r"no file that ends in \.parquet"),
    ],
)
def test_what_cannot_be_read_in_pieces_is_refused(tmp_path: Path, name: str, label: str, match: str) -> None:
    (tmp_path / "t.libsvm").write_text("1 1:2\n")
    (tmp_path / "empty").mkdir()
    pq.write_table(rows(), tmp_path / "t.parquet")
    with pytest.raises(DataError, match=match):
        read_in_pieces(tmp_path / name, label=label)
