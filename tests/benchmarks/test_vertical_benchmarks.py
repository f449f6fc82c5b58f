"""The vertical benchmark on a tiny table: equal forests, figures beside figures, and what a faulty run shows."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.horizontal_runs import Recipe
from benchmarks.rows import all_ok
from benchmarks.sets import DataSet, Split
from benchmarks.settings import Request, Settings
from benchmarks.vertical_processes import write_columns
from benchmarks.vertical_runs import PLAIN, bagged, dealt, dealt_unequally, in_turn, together, with_labels

from benchmarks import __main__ as command
from benchmarks import vertical_bins, vertical_labels, vertical_size, vertical_tables, vertical_time
from hedgerow.agreement.options import Vertical
from hedgerow.data.read import read_table
from hedgerow.data.table import Table

REQUEST = Request(Settings(trees=3, depth=3, bins=16), ("tiny",), quick=True)


def split_of(kind="two classes", n=500):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 8)).astype(np.float32)
    signal = X[:, 0] + X[:, 4] * X[:, 5] + rng.standard_normal(n) / 4
    y = {"two classes": (signal > 0).astype(int), "three classes": np.digitize(signal, [-0.5, 0.5]), "numbers": signal}
    return Split(X[100:], y[kind][100:], X[:100], y[kind][:100])


@pytest.fixture(autouse=True)
def tiny(monkeypatch, request):
    kind = getattr(request, "param", "two classes")
    for part in (vertical_tables, vertical_time, vertical_bins, vertical_labels):
        monkeypatch.setattr(part, "SETS", {"tiny": DataSet("tiny", lambda: split_of(kind))})


@pytest.mark.parametrize("tiny", ["two classes", "three classes", "numbers"], indirect=True)
def test_the_tables_have_equal_forests_and_scores_of_every_way(tiny):
    lines = list(vertical_tables.run(REQUEST))
    assert [line.name.partition(": ")[2] for line in lines][1:] == ["even", "features"]
    assert all_ok(lines)
    figures = lines[0].figures
    assert figures["pooled"] == figures["sealed"] == lines[0].ours
    assert all(np.isfinite(figures[way]) for way in ("alone", "bagging", "in turn"))


def test_a_forest_that_is_another_is_not_ok(monkeypatch):
    """The sabotage: a party that loses a column's last rows."""
    honest = Recipe.federated

    def spoilt(self, parties, *more):
        name = list(parties)[1]
        values = parties[name].values.copy()
        values[-50:] = 0
        return honest(self, {**parties, name: replace(parties[name], values=values)}, *more)

    monkeypatch.setattr(Recipe, "federated", spoilt)
    assert not all_ok(list(vertical_tables.run(REQUEST)))


def test_seconds_stand_beside_every_peers(monkeypatch):
    monkeypatch.setattr(vertical_time, "on_loopback", lambda *_: iter(()))
    names = [row.name.partition(": ")[2] for row in vertical_time.run(REQUEST)]
    assert names == [
        "lattice / XGBoost, s",
        "lattice / no encryption, s",
        "lattice / Paillier 2048 (from 1 tree), s",
        "equal forests",
        "hidden rows / default, 3 trees, s",
        "equal with hidden rows",
    ]


def test_columns_are_dealt_to_all_parties_however_unequal():
    table = Table.of(split_of().X_train, split_of().y_train)
    for seed in range(5):
        parties = dealt_unequally(table, 3, seed)
        assert sorted(name for part in parties.values() for name in part.names) == sorted(table.names)
        assert [part.labels is None for part in parties.values()] == [False, True, True]


def test_whole_trees_of_one_party_are_its_own_model():
    split = split_of()
    table = Table.of(split.X_train, split.y_train)
    recipe = Recipe.of(REQUEST.settings, split.y_train)
    alone = with_labels(dealt(table, 1), table.labels)
    expected = recipe.score(recipe.pooled(table), split)
    assert bagged(recipe, alone, split) == pytest.approx(expected)
    assert in_turn(recipe, alone, split) == pytest.approx(expected)


def test_columns_survive_a_file(tmp_path):
    table = together(dealt(Table.of(split_of().X_train, split_of().y_train), 2))
    write_columns(tmp_path / "own.csv", table)
    again = read_table(tmp_path / "own.csv", label="y", id_column="id")
    np.testing.assert_array_equal(again.values, table.values)


def test_the_attacker_hears_just_the_nodes_that_the_party_moved_its_rows_to():
    split = split_of()
    parties = dealt(Table.of(split.X_train, split.y_train), 2)
    told = vertical_labels.Told("party2", 400)
    recipe = Recipe.of(REQUEST.settings, split.y_train)
    model = recipe.federated(parties, PLAIN, (told,))
    leaves = model.leaves(Table.of(split.X_train))
    assert len(told.trees) == 3
    for nodes, ends in zip(told.trees, leaves.T, strict=True):
        groups = {(int(n), int(e)) for n, e in zip(nodes, ends, strict=True)}
        assert len({e for _, e in groups}) == len(groups), "rows of one leaf were never told apart"
        assert len({n for n, _ in groups}) > 3


def test_ways_that_are_not_known_are_left_out_with_a_line(capsys, monkeypatch):
    monkeypatch.setitem(vertical_labels.WAYS, "moonlight", vertical_labels.Way({"moonlight": True}, 3))
    monkeypatch.setattr(vertical_labels, "DRAWS", 3)
    lines = list(vertical_labels.run(REQUEST))
    assert lines[0].name == "tiny: default"
    assert "does not know it yet: moonlight (moonlight)" in capsys.readouterr().err
    assert not hasattr(Vertical, "moonlight")


def test_an_attack_that_gains_too_much_is_not_ok():
    bar = vertical_labels.GainsAtMost(0.005)
    assert bar.holds(0.62, 0.618)
    assert not bar.holds(0.70, 0.618)


def test_what_is_learnt_of_bins_has_a_line_for_every_number_of_trees():
    (line,) = vertical_bins.run(REQUEST)
    assert line.figures["sides, least"] <= line.figures["most "] <= line.figures["most"] <= 1


def test_more_rows_may_not_cost_more_each(monkeypatch):
    cost = {"10k": 1.0, "100k": 12.0, "1m": 90.0}

    def told(name, settings):
        rows = {"10k": 10_000, "100k": 100_000, "1m": 1_000_000}[name]
        return {"rows": rows, "seconds": cost[name] * settings.trees, "bytes": 5, "peak": 1.0}

    monkeypatch.setattr(vertical_size, "measured", told)
    lines = list(vertical_size.run(replace(REQUEST, sets=tuple(cost))))
    assert [line.ok for line in lines] == [None, False, True]


def test_one_size_is_measured_with_its_bytes_and_memory(monkeypatch):
    monkeypatch.setitem(vertical_size.SETS, "few", vertical_size.Size(_few, 1))
    told = vertical_size.measure_here("few", REQUEST.settings)
    assert told["rows"] == 400
    assert told["bytes"] > 100_000
    assert told["peak"] is None or told["peak"] > 10


def _few():
    split = split_of()
    return split.X_train, split.y_train


def test_the_command_knows_the_parts(monkeypatch, tmp_path, capsys):
    kept = tmp_path / "rows.json"
    part = command.BENCHMARKS["vertical"]["bins"]
    monkeypatch.setitem(command.BENCHMARKS["vertical"], "bins", replace(part, sets=vertical_bins.SETS))
    words = ["benchmarks", "vertical", "--parts", "bins", "--sets", "tiny", "--quick", "--json", str(kept)]
    monkeypatch.setattr(sys, "argv", words)
    assert command.main() == 0
    assert "tiny: 10 trees" in capsys.readouterr().out
    assert json.loads(kept.read_text())["rows"][0]["name"] == "tiny: 10 trees"
