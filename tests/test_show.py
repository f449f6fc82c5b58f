"""Models in words."""

from dataclasses import replace

import numpy as np
import pytest

from hedgerow import ForestClassifier, GBDTClassifier, GBDTRegressor, Table
from hedgerow.errors import ParameterError
from hedgerow.model.model import Model
from hedgerow.report.tree_text import categories, question, summary, tree_text
from hedgerow.trees.forest import Forest

COLOURS = ["black", "blue", "green", "red", "white"]


@pytest.fixture(scope="module")
def model() -> Model:
    rng = np.random.default_rng(3)
    colour, size = rng.integers(0, 5, 400), rng.normal(size=400)
    seen = np.where(rng.random(400) < 0.3, 1.0, np.nan)
    table = Table.of(
        np.column_stack([colour.astype(float), size, seen]),
        np.isin(colour, [1, 3]) * 4.0 + size + 8.0 * np.isnan(seen),
        names=["colour", "size", "seen"],
        categorical=["colour"],
    )
    named = tuple(replace(c, categories=tuple(COLOURS)) if c.categories else c for c in table.columns)
    return GBDTRegressor(n_estimators=4, max_depth=3).fit(replace(table, columns=named), table.labels).model_


def nodes_of(model: Model, column: str) -> list[int]:
    return np.flatnonzero(model.forest.columns == model.names.index(column)).tolist()


def walked(model: Model, tree: int, row: dict[str, str | float]) -> float:
    """A leaf found by reading the text alone."""
    lines = tree_text(model, tree).splitlines()[1:]
    at = 0
    while "leaf" not in lines[at]:
        depth = len(lines[at]) - len(lines[at].lstrip())
        asked, _, facts = lines[at].strip().removeprefix("yes: ").removeprefix("no: ").partition("? (")
        name, _, rest = asked.partition(" ")
        cell = row[name]
        if cell != cell:
            yes = "missing -> left" in facts
        elif rest.startswith("<"):
            yes = np.float32(cell) < np.float32(rest[2:])
        elif rest == "is not missing":
            yes = True
        else:
            named = rest.removeprefix("is ").removeprefix("not ").removeprefix("one of ").split(", ")
            yes = (cell in named) != rest.startswith("is not ")
        branch = " " * (depth + 2) + ("yes: " if yes else "no: ")
        at = next(i for i in range(at + 1, len(lines)) if lines[i].startswith(branch))
    return float(lines[at].partition("leaf ")[2].split()[0])


def test_reading_the_text_of_a_tree_ends_at_the_leaf_that_the_model_predicts_with(model: Model) -> None:
    rng = np.random.default_rng(1)
    for _ in range(60):
        code, size, seen = int(rng.integers(0, 5)), float(rng.normal()), float(rng.choice([1.0, np.nan]))
        table = Table(model.columns, np.array([[code, size, seen]], np.float32))
        place = model.leaves(table)[0]
        for tree in range(model.forest.n_trees):
            value = model.forest.values[model.forest.roots[tree] + place[tree]]
            found = walked(model, tree, {"colour": COLOURS[code], "size": size, "seen": seen})
            assert found == pytest.approx(float(value), rel=1e-5)


def test_every_cut_tells_gain_cover_and_where_missing_values_go(model: Model) -> None:
    cuts = [line for line in tree_text(model, 0).splitlines()[1:] if "leaf" not in line]
    assert cuts
    assert all("missing -> " in line and "gain " in line and "cover " in line for line in cuts)


def test_categories_of_both_sides_are_all_categories(model: Model) -> None:
    left, right = categories(model, nodes_of(model, "colour")[0])
    assert sorted(left + right) == COLOURS
    assert {"blue", "red"} in (set(left), set(right))


def test_a_categorical_cut_names_the_shorter_side(model: Model) -> None:
    asked = question(model, nodes_of(model, "colour")[0])
    assert asked in ("colour is one of blue, red", "colour is not one of blue, red")


def test_a_cut_behind_all_values_asks_whether_there_is_one(model: Model) -> None:
    assert question(model, nodes_of(model, "seen")[0]) == "seen is not missing"


def test_a_long_list_of_categories_is_cut_short(model: Model) -> None:
    assert question(model, nodes_of(model, "colour")[0], most=1).endswith("blue and 1 more")


def test_a_name_cannot_move_the_cursor_of_a_terminal(model: Model) -> None:
    evil = replace(model, columns=tuple(replace(c, name=c.name + "\x1b[2J\n") for c in model.columns))
    assert "\x1b" not in tree_text(evil, 0) + summary(evil)
    assert len(tree_text(evil, 0).splitlines()) == len(tree_text(model, 0).splitlines())


def test_a_tree_that_is_not_there_is_refused(model: Model) -> None:
    with pytest.raises(ParameterError, match="number from 0 to 3; it is 4"):
        tree_text(model, 4)
    with pytest.raises(ParameterError, match="it is -1"):
        tree_text(model, -1)


def test_a_model_without_trees_has_a_summary_and_no_tree(model: Model) -> None:
    empty = replace(model, forest=Forest.empty())
    assert "rounds   0" in summary(empty)
    with pytest.raises(ParameterError, match="no trees"):
        tree_text(empty, 0)


def test_the_summary_tells_loss_rounds_trees_columns_and_importances(model: Model) -> None:
    text = summary(model)
    assert "squared, first score" in text
    assert "rounds   4" in text
    assert "3 (1 categorical), 3 used" in text
    top = next(iter(model.importances()))
    assert text.splitlines()[text.splitlines().index("Columns by their share of the gain") + 1].split()[0] == top


def test_the_tree_of_a_class_names_it_and_its_round() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 2)), np.array(["ash", "elm", "oak"])[rng.integers(0, 3, 90)]
    model = ForestClassifier(n_estimators=2).fit(X, y).model_
    assert tree_text(model, 4).startswith("tree 4 of 6 (round 2, class elm)")
    assert summary(model).startswith("A random forest")
    assert "ash, elm, oak" in summary(model)


def test_the_summary_tells_how_the_metric_went() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] > 0).astype(int)
    model = GBDTClassifier(n_estimators=5, eval_metric="auc").fit(X, y, eval_set=(X, y)).model_
    assert "auc on held-out rows from" in summary(model)
    assert f"best {max(model.history):.5g}" in summary(model)
