import io
import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.horizontal_rows import Line, RatioAndGoal, SameForest, print_sheets
from benchmarks.horizontal_runs import Recipe, blocks, same
from benchmarks.horizontal_sets import SETS
from benchmarks.horizontal_turns import Taken, middle
from benchmarks.rows import Row, all_ok
from benchmarks.sets import DataSet, Split
from benchmarks.settings import Request, Settings
from rich.console import Console

from benchmarks import __main__ as command
from benchmarks import horizontal_parties, horizontal_tables, horizontal_time
from hedgerow.agreement.options import Horizontal

SETTINGS = Settings(trees=3, depth=3, bins=16)
REQUEST = Request(SETTINGS, ("tiny",), quick=True)
KINDS = ("two classes", "three classes", "numbers")


def split_of(kind="two classes", n=600):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 4)).astype(np.float32)
    signal = X[:, 0] + X[:, 1] * X[:, 2] + rng.standard_normal(n) / 4
    y = {"two classes": (signal > 0).astype(int), "three classes": np.digitize(signal, [-0.5, 0.5]), "numbers": signal}
    return Split(X[100:], y[kind][100:], X[:100], y[kind][:100])


@pytest.fixture
def tiny(monkeypatch, request):
    """A generated set that all three parts know."""
    kind = getattr(request, "param", "two classes")
    for part in (horizontal_tables, horizontal_time, horizontal_parties):
        monkeypatch.setattr(part, "SETS", {"tiny": DataSet("tiny", lambda: split_of(kind))})


@pytest.fixture
def broken_masks(monkeypatch):
    """Federated training that loses a row."""
    honest = Recipe.federated

    def without_a_row(self, parties, *more):
        named = parties if isinstance(parties, dict) else dict(enumerate(parties))
        first, *others = named
        lost = named[first]
        lost = (lost[0][1:], lost[1][1:]) if isinstance(lost, tuple) else lost.take(slice(1, None))
        return honest(self, {first: lost, **{name: named[name] for name in others}}, *more)

    monkeypatch.setattr(Recipe, "federated", without_a_row)


@pytest.mark.parametrize(
    ("bar", "ours", "peer", "reached"),
    [
        (SameForest(True), 0.5, 0.9, True),
        (SameForest(False), 0.9, 0.9, False),
        (RatioAndGoal(1.5, 1.15), 1.4, 1.0, True),
        (RatioAndGoal(1.5, 1.15), 1.6, 1.0, False),
        (RatioAndGoal(1.5, 1.15), 0.1, None, False),
    ],
)
def test_a_row_is_ok_exactly_when_its_bar_is_reached(bar, ours, peer, reached):
    assert Row("a", "real", ours, peer, bar).ok is reached


def test_a_line_survives_a_file():
    line = Line("a9a: even", "real", 0.9, 0.9, SameForest(True), sheet="table 5", figures={"masked": 0.9, "SOLO": None})
    kept = json.loads(json.dumps(line.as_json()))
    assert kept["sheet"] == "table 5"
    assert kept["figures"] == {"masked": 0.9, "SOLO": None}
    assert kept["ok"] is True


def test_every_sheet_is_one_table_with_its_own_headings():
    one = Line("a", "real", 1.0, bar=SameForest(True), sheet="one", figures={"first": 0.25, "count": 12345})
    two = Line("b", "generated", 1.0, bar=SameForest(False), sheet="two", figures={"second": None, "text": "AUC"})
    out = io.StringIO()
    print_sheets("horizontal", [one, two, replace(one, name="c")], Console(file=out, width=120))
    printed = out.getvalue()
    assert printed.count("horizontal: one") == printed.count("horizontal: two") == 1
    assert printed.index("c ") < printed.index("horizontal: two")
    for text in ("first", "second", "0.2500", "12,345", "AUC", "generated", "yes", "no"):
        assert text in printed


def test_the_median_turn_counts():
    turns = [Taken("forest", seconds, others) for seconds, others in ((9.0, 0.1), (1.0, None), (2.0, 0.3))]
    assert middle(turns) == Taken("forest", 2.0, 0.2)


@pytest.mark.parametrize("n", [2, 3, 7])
def test_blocks_hold_every_row_once_and_no_copy(n):
    split = split_of()
    parts = blocks(split, n)
    assert len(parts) == n
    assert np.array_equal(np.concatenate([y for _, y in parts]), split.y_train)
    assert all(np.shares_memory(X, split.X_train) for X, _ in parts)


@pytest.mark.parametrize("tiny", KINDS, indirect=True)
def test_both_tables_hold_equal_forests_for_every_kind_of_label(tiny):
    lines = list(horizontal_tables.run(REQUEST))
    assert [line.sheet for line in lines] == [horizontal_tables.TABLE_1] + 3 * [horizontal_tables.TABLE_5]
    assert all(line.ok is True for line in lines)
    assert all(line.ours == line.peer for line in lines)
    assert lines[-1].peer != lines[-2].peer, "noisy rows make another forest"
    assert all(line.figures["alone"] is not None and line.figures["their SOLO"] is None for line in lines[:1])


def test_a_forest_that_is_not_equal_spoils_every_line(tiny, broken_masks):
    assert [line.ok for line in horizontal_tables.run(REQUEST)] == [False] * 4
    assert {line.ok for line in horizontal_parties.run(REQUEST)} == {False}
    times = list(horizontal_time.run(REQUEST))
    assert (times[-1].name, times[-1].ok) == ("tiny: equal forests", False)


def test_other_cuts_make_another_forest():
    split = split_of()
    recipe = Recipe.of(SETTINGS, split.y_train)
    masked = recipe.federated(blocks(split, 3), Horizontal())
    assert same(masked, recipe.pooled(split.X_train, split.y_train))
    assert not same(masked, recipe.exact().pooled(split.X_train, split.y_train))


def test_times_stand_beside_pooled_and_xgboost(tiny, monkeypatch):
    pytest.importorskip("xgboost")
    monkeypatch.setattr(horizontal_time, "BESIDE_XGBOOST", {"tiny": horizontal_time.BESIDE_XGBOOST["a9a"]})
    monkeypatch.setattr(horizontal_time, "POOLED_BAR", {"tiny"})
    rows = {row.name: row for row in horizontal_time.run(REQUEST)}
    pooled = [f"tiny: {n} masked parties / pooled, s" for n in (2, 3, 5)]
    assert list(rows) == [*pooled, "tiny: 2 masked parties / xgboost, s", "tiny: equal forests"]
    assert {str(rows[name].bar) for name in pooled} == {"ratio <= 1.5, goal 1.15"}
    assert str(rows["tiny: 2 masked parties / xgboost, s"].bar) == "ratio <= 4, goal 1.5"
    assert rows["tiny: equal forests"].ok is True


def test_every_byte_is_counted_once():
    split, frames = split_of(), []
    recipe, traffic = Recipe.of(SETTINGS, split.y_train), horizontal_parties.Traffic()
    masked = recipe.federated(blocks(split, 3), Horizontal(), (traffic, lambda *told: frames.append(told[-1])))
    assert traffic.up + traffic.down + traffic.around == sum(map(len, frames))
    assert min(traffic.up, traffic.down, traffic.around) > 0
    # A request and an answer, three parties, every tree; the last ends in a request of its own.
    assert (traffic.messages - 2 * 3) % (2 * 3 * masked.forest.n_trees) == 0


def test_more_parties_do_not_change_what_one_party_sends(tiny):
    lines = {line.name: line for line in horizontal_parties.run(REQUEST)}
    assert list(lines) == ["tiny: 2 masked", "tiny: 2 plain", "tiny: 8 masked", "tiny: 8 plain"]
    assert all(line.ok for line in lines.values())
    assert len({line.figures["bytes up/tree"] for line in lines.values()}) == 1
    assert len({line.figures["messages/tree"] for line in lines.values()}) == 1


@pytest.mark.parametrize(("equal", "code"), [(True, 0), (False, 1)])
def test_an_unequal_forest_makes_the_exit_code_1(equal, code, monkeypatch, capsys, tmp_path):
    lines = [Line("a", "generated", 1.0, 1.0, SameForest(equal), sheet="one", figures={"masked": 1.0})]
    part = command.BENCHMARKS["horizontal"]["tables"]
    quiet = replace(part, run=lambda request: iter(lines), quick=("generated-300k",))
    monkeypatch.setitem(command.BENCHMARKS["horizontal"], "tables", quiet)
    kept = tmp_path / "rows.json"
    monkeypatch.setattr(sys, "argv", ["b", "horizontal", "--quick", "--parts", "tables", "--json", str(kept)])
    pytest.importorskip("xgboost")
    assert command.main() == code
    assert all_ok(lines) is equal
    assert "horizontal: one" in capsys.readouterr().out
    assert json.loads(kept.read_text())["settings"]["sets"] == ["generated-300k"]


@pytest.fixture
def told(monkeypatch, capsys):
    """What the command says when it refuses, in lines."""

    def refused(*words):
        monkeypatch.setattr(sys, "argv", ["benchmarks", *words])
        with pytest.raises(SystemExit, match="2"):
            command.main()
        said = capsys.readouterr()
        assert said.out == ""
        return said.err.splitlines()

    return refused


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (
            ["horizontal", "--parts", "nonsense"],
            "Horizontal has no part 'nonsense': choose from tables, time, parties, many.",
        ),
        (["horizontal", "--ours", "xgboost"], "Xgboost cannot sit in our seat here: it has no such federation."),
        (["pooled", "--parts", "time"], "Pooled has no part 'time': choose from all."),
        (
            ["pooled", "--sets", "abalone"],
            "There is no data set 'abalone': choose from a9a, cod-rna, credit1, credit2, mnist, generated-300k, "
            "generated-5m.",
        ),
    ],
)
def test_wrong_usage_ends_with_2_and_one_sentence(wrong, sentence, told):
    assert told(*wrong) == [sentence]


def test_sets_that_are_not_at_hand_are_named_once(tmp_path, monkeypatch, told):
    monkeypatch.setenv("HEDGEROW_DATA", str(tmp_path))
    assert told("horizontal", "--parts", "tables,parties", "--sets", "a9a,breast") == [
        "Left out, not in the data folder (HEDGEROW_DATA): a9a, breast.",
        "None of the sets asked for is at hand.",
    ]


@pytest.mark.skipif(not SETS["abalone"].at_hand, reason="abalone is not in the data folder")
def test_rings_are_scaled_to_one():
    split = SETS["abalone"].load()
    labels = np.concatenate([split.y_train, split.y_test])
    assert (labels.min(), labels.max()) == (0.0, 1.0)
    assert split.X_train.shape[1] == 8
    assert not np.isnan(split.X_train).any()
