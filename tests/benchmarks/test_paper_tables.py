"""The parts that measure tables of the papers, on tiny tables."""

import stat

import numpy as np
import pytest
from benchmarks.fedtree_program import VARIABLE, FedTree
from benchmarks.horizontal_runs import Recipe
from benchmarks.party_processes import _one_by_one
from benchmarks.rows import all_ok
from benchmarks.sealed_processes import Running
from benchmarks.sets import DataSet, Split
from benchmarks.settings import Request, Settings
from benchmarks.vertical_runs import PLAIN, dealt

from benchmarks import many_parties, methods, tree_seconds
from hedgerow.agreement.options import Horizontal
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.protocols.horizontal.driver import HorizontalRows
from hedgerow.protocols.vertical.active import VerticalRows

SETTINGS = Settings(trees=2, depth=3, bins=16, threads=1)
REQUEST = Request(SETTINGS, ("tiny",), quick=True)


def split_of(n=400):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 8)).astype(np.float32)
    y = (X[:, 0] + X[:, 4] * X[:, 5] + rng.standard_normal(n) / 4 > 0).astype(int)
    return Split(X[100:], y[100:], X[:100], y[:100])


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    for part in (many_parties, methods, tree_seconds):
        monkeypatch.setattr(part, "SETS", {"tiny": DataSet("tiny", split_of)})


@pytest.mark.parametrize("mode", ["horizontal", "vertical"])
def test_many_parties_have_the_pooled_forest_and_only_as_many_as_there_are_columns(mode, monkeypatch):
    monkeypatch.setattr(many_parties, "MANY", (2, 16))
    monkeypatch.setattr(many_parties, "PLAINLY", {"tiny"})
    lines = list(many_parties.MODES[mode].run(REQUEST))
    assert [line.figures["parties"] for line in lines] == ([2, 16] if mode == "horizontal" else [2])
    assert all_ok(lines)
    assert all(line.figures["processor s / pooled"] > 0 for line in lines)


def test_seconds_of_a_tree_are_of_the_pooled_forest_with_any_number_of_threads():
    lines = list(tree_seconds.run(REQUEST))
    assert [line.name for line in lines] == ["tiny: horizontal", "tiny: vertical", "tiny"]
    assert all_ok(lines)
    assert lines[0].figures["FedTree s/tree"] is None


@pytest.mark.parametrize("way", ["horizontal", "vertical"])
def test_asking_node_by_node_gives_the_same_forest_with_more_questions(way, monkeypatch):
    split = split_of()
    table, recipe = Table.of(split.X_train, split.y_train), Recipe.of(SETTINGS, split.y_train)
    parties = dealt(table, 2) if way == "vertical" else partition.rows(table, n=2, how="even")
    federation = PLAIN if way == "vertical" else Horizontal()
    by_level, by_node = methods.Counted(), methods.Counted()
    usual = recipe.federated(parties, federation, (by_level,))
    for rows in (HorizontalRows, VerticalRows):
        monkeypatch.setattr(rows, "histograms", _one_by_one(rows.histograms))
    assert recipe.federated(parties, federation, (by_node,)).forest == usual.forest
    assert by_node.asked > by_level.asked


def test_ways_of_learning_are_compared_on_the_same_rows(monkeypatch):
    monkeypatch.setattr(methods, "WAYS", tuple(way for way in methods.WAYS if "unprotected" in way.name))
    lines = {line.name.partition(": ")[2]: line for line in methods.run(REQUEST)}
    assert list(lines)[:3] == ["pooled", "alone, half of the rows", "alone, half of the columns"]
    assert lines["vertical, unprotected"].ours == lines["horizontal, unprotected"].ours == lines["pooled"].ours
    assert all_ok(list(lines.values()))
    assert all(line.figures["MB/tree"] > 0 for name, line in lines.items() if "unprotected" in name)


def program(folder, body):
    made = folder / "FedTree-train"
    made.write_text(f"#!/bin/sh\n{body}\n")
    made.chmod(made.stat().st_mode | stat.S_IXUSR)
    return made


def test_fedtree_takes_part_where_its_program_is_named(tmp_path, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    assert FedTree.at_hand(SETTINGS) is None
    kept = tmp_path / "told"
    monkeypatch.setenv(VARIABLE, str(program(tmp_path, f'cat "$1" >> {kept}; wc -l < train.libsvm >> {kept}')))
    FedTree.at_hand(SETTINGS).seconds(split_of(), "vertical", 3, 2)
    told = kept.read_text().split()
    assert [line for line in told if line.startswith("n_trees")] == ["n_trees=1", "n_trees=4"]
    assert {"mode=vertical", "privacy_tech=he", "objective=binary:logistic", "lambda=0.1", "300"} <= set(told)


def test_a_fedtree_that_fails_or_is_not_there_is_said_to(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "nothing"))
    with pytest.raises(FileNotFoundError, match="which is not there: name the program FedTree-train"):
        FedTree.at_hand(SETTINGS)
    monkeypatch.setenv(VARIABLE, str(program(tmp_path, "echo no such key; exit 7")))
    with pytest.raises(RuntimeError, match="FedTree ended with 7: no such key"):
        FedTree.at_hand(SETTINGS).seconds(split_of(), "horizontal", 1, 2)


def test_a_party_that_ends_early_ends_the_others_and_says_why(tmp_path):
    with Running() as running:
        running.hedgerow(["plan", str(tmp_path / "none.toml")], tmp_path / "out")
        with pytest.raises(RuntimeError, match=r"hedgerow plan .* ended with .*none\.toml"):
            running.ended(60)
