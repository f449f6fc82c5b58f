"""Rows on a Dask cluster give the forest of the same rows in one process."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from hedgerow import DP, GBDTClassifier, GBDTRegressor
from hedgerow.cli import app
from hedgerow.errors import DataError, ParameterError
from hedgerow.transports import dask_parts
from hedgerow.trees.parted_rows import PartedRows

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402
from distributed.comm import connect  # noqa: E402

N = 2400


def frame(seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=N).round(3)
    gaps = np.where(rng.random(N) < 0.2, np.nan, rng.normal(size=N).round(1))
    ward = rng.choice(["a", "b", "c"], N)
    y = np.where(x + np.nan_to_num(gaps) + (ward == "b") + rng.normal(size=N) > 0, "ill", "well")
    return pd.DataFrame({"x": x, "gaps": gaps, "few": rng.integers(0, 5, N), "ward": ward, "id": np.arange(N), "y": y})


def run(*words: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, list(words))
    assert (code == 0) == (result.exit_code == 0), result.output
    assert "Traceback" not in result.output
    return " ".join(result.output.split())


def started(n_workers: int, processes: bool = False, **more: Any) -> Any:
    return distributed.LocalCluster(
        n_workers=n_workers, threads_per_worker=1, processes=processes, dashboard_address=":0",
        worker_dashboard_address=None, **more,
    )  # fmt: skip


@pytest.fixture(scope="module")
def cluster() -> Any:
    with started(2) as made, distributed.Client(made) as client:
        yield client


OPTIONS: dict[str, Any] = {"n_estimators": 3, "max_depth": 3, "subsample": 0.7}


@pytest.fixture(scope="module")
def here() -> GBDTClassifier:
    return GBDTClassifier(**OPTIONS).fit(frame(), "y", ids="id")


def there(npartitions: int = 5, **more: Any) -> GBDTClassifier:
    return GBDTClassifier(**OPTIONS, **more).fit(dd.from_pandas(frame(), npartitions=npartitions), "y", ids="id")


def test_without_a_client_it_is_said_how_to_make_one() -> None:
    with pytest.raises(ParameterError, match=r"make one first: dask\.distributed\.Client\(\)"):
        there()


def test_the_forest_of_two_workers_is_that_of_one_process(cluster: Any, here: GBDTClassifier) -> None:
    found = there()
    assert found.model_.forest == here.model_.forest
    assert found.model_.columns == here.model_.columns
    assert list(found.classes_) == list(here.classes_)
    features = frame()[["x", "gaps", "few", "ward"]]
    assert np.array_equal(found.predict_proba(features), here.predict_proba(features))


@pytest.mark.parametrize("n_workers", [1, 4])
def test_it_is_the_same_with_any_number_of_workers(n_workers: int, here: GBDTClassifier) -> None:
    with started(n_workers) as made, distributed.Client(made):
        assert there(7).model_.forest == here.model_.forest


def test_rows_without_ids_are_drawn_by_their_numbers(cluster: Any) -> None:
    rows = frame().drop(columns="id")
    one = GBDTClassifier(**OPTIONS).fit(rows, "y")
    assert GBDTClassifier(**OPTIONS).fit(dd.from_pandas(rows, npartitions=3), "y").model_.forest == one.model_.forest


def test_arrays_and_numbers_are_learnt_from(cluster: Any) -> None:
    X = frame()[["x", "gaps", "few"]].to_numpy()
    y, weights = np.nansum(X, axis=1), np.arange(N) % 3
    one = GBDTRegressor(n_estimators=2).fit(X, y, sample_weight=weights)
    parts = [da.from_array(part, chunks=chunks) for part, chunks in ((X, (700, 2)), (y, 500), (weights, 800))]
    two = GBDTRegressor(n_estimators=2).fit(parts[0], parts[1], sample_weight=parts[2])
    assert two.model_.forest == one.model_.forest


def test_the_command_line_trains_on_a_folder_that_workers_read(tmp_path: Path) -> None:
    rows, words = frame(), ("--label", "y", "--id", "id", "--n-estimators", "3", "--subsample", "0.7")
    (tmp_path / "rows").mkdir()
    for i, first in enumerate((0, 900, 1000)):
        rows[first : (900, 1000, N)[i]].to_parquet(tmp_path / f"rows/{i}.parquet")
    rows.to_parquet(tmp_path / "all.parquet")
    whole, there = tmp_path / "whole.json", tmp_path / "there.json"
    run("train", str(tmp_path / "all.parquet"), *words, "--model", str(whole))
    with started(2, protocol="tcp", host="127.0.0.1") as made:
        address = made.scheduler_address
        said = run("train", str(tmp_path / "rows"), *words, "--cluster", address, "--model", str(there))
        assert "dashboard is http" in said
        bad = ("--label", "z", "--cluster", address, "--model", str(there))
        assert "no column 'z'" in run("train", str(tmp_path / "rows"), *bad, code=3)
    assert whole.read_bytes() == there.read_bytes()


@pytest.mark.parametrize(
    ("words", "match"),
    [
        (("--cluster", "tcp://10.0.0.1:8786"), "is not protected by TLS"),
        (("--cluster", "tcp://localhost.example:8786"), "is not protected by TLS"),
        (("--cluster", "here"), "is no address; write it like tls://host:8786, or local"),
        (("--cluster", "tcp://127.0.0.1:1"), "No Dask cluster answers at tcp://127.0.0.1:1"),
        (("--cluster", "local", "--test", "a.csv"), "--test does not go with --cluster"),
        (("--without-tls",), "--without-tls goes with --cluster"),
    ],
)
def test_a_cluster_that_cannot_be_used_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], match: str
) -> None:
    monkeypatch.setattr(dask_parts, "WAITED", 0.2)
    frame().to_csv(tmp_path / "a.csv")
    assert match in run("train", str(tmp_path / "a.csv"), "--label", "y", *words, code=2)


def test_workers_on_this_machine_are_reached_with_keys_of_their_own_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reaches a scheduler has it run anything, and other users of the machine reach its ports."""
    local = distributed.LocalCluster

    def small(**given: Any) -> Any:
        return local(**{**given, "processes": False, "n_workers": 1})

    monkeypatch.setattr(distributed, "LocalCluster", small)
    with dask_parts.connected("local", False, print) as client:
        address = client.scheduler.address
        assert address.startswith("tls://127.0.0.1:")
        assert all(worker.startswith("tls://") for worker in client.scheduler_info()["workers"])
        for stranger in (address, address.replace("tls", "tcp")):
            with pytest.raises((OSError, ValueError, TypeError)):
                asyncio.run(connect(stranger, timeout=0.5))
        own = client.security.get_connection_args("client")
        asyncio.run(connect(address, timeout=5, **own)).abort()


def test_a_worker_killed_in_the_middle_of_a_tree_changes_nothing(
    here: GBDTClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    divided = []
    with started(2, processes=True) as made, distributed.Client(made) as client:
        pids = client.run(os.getpid)
        whole = PartedRows.divide

        def divide(self: PartedRows, cuts: Any) -> Any:
            divided.append(len(cuts.column))
            if len(divided) == 5:  # the second level of the second tree
                os.kill(max(pids.values()), signal.SIGKILL)
            return whole(self, cuts)

        monkeypatch.setattr(PartedRows, "divide", divide)
        found = there()
        assert max(pids.values()) not in client.run(os.getpid).values()
    assert len(divided) > 3 * OPTIONS["n_estimators"]  # a tree was begun anew
    assert found.model_.forest == here.model_.forest


def test_what_does_not_go_with_a_cluster_is_refused(cluster: Any) -> None:
    parts = dd.from_pandas(frame(), npartitions=2)
    with pytest.raises(ParameterError, match="eval_set does not go with rows that lie with Dask"):
        GBDTClassifier().fit(parts, "y", eval_set=(frame(), "y"))
    with pytest.raises(ParameterError, match="without held-out rows"):
        GBDTClassifier(early_stopping_rounds=3).fit(parts, "y")
    with pytest.raises(DataError, match="no column 'z'"):
        GBDTClassifier().fit(parts, "z")
    with pytest.raises(ParameterError, match="dp does not go with"):
        GBDTClassifier(dp=DP(epsilon=1, classes=("ill", "well"))).fit(parts, "y")
