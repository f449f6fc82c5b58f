"""The direction of a column's effect, by the covers of the trees."""

from dataclasses import replace

import numpy as np
import pytest
from disclosing import policy, table_of, trained

from federated import labels, params_of, pooled_model, values
from hedgerow.data.table import Table
from hedgerow.model.meanings import by_column, disclosed
from hedgerow.report.explain import explain_model
from hedgerow.report.explain_effects import Effect, effects
from hedgerow.report.importance import columns_used
from hedgerow.report.pictures.effects import effect_picture, used_picture


def worth(forest, node, column, goes_left):
    """The mean over the leaves below a node, by covers but for cuts of the column."""
    if forest.columns[node] < 0:
        return float(forest.values[node])
    child = forest.children[node]
    left, right = map(float, forest.covers[[child, child + 1]])
    share = float(goes_left(node)) if forest.columns[node] == column else left / (left + right)
    return share * worth(forest, child, column, goes_left) + (1 - share) * worth(forest, child + 1, column, goes_left)


def found_slowly(model, column, value):
    """What a value of a column gives on average."""
    forest = model.forest

    def goes_left(node):
        return forest.missing_left[node] if np.isnan(value) else value < forest.thresholds[node]

    return sum(worth(forest, root, column, goes_left) for root in forest.roots[:-1])


@pytest.fixture(scope="module")
def run():
    return trained(n_trees=12)


@pytest.mark.parametrize("average", [False, True])
def test_effects_are_means_over_leaves_by_covers(average):
    X, signal = values(250)
    X[:, 0] = np.round(X[:, 0])
    model = pooled_model(Table.of(X, labels("two", signal)), params_of(average=average))
    effect = next(e for e in effects(model, columns_used(model)) if e.use.column == 0)
    at = np.unique(model.forest.thresholds[model.forest.columns == 0])
    assert len(effect.bins) == len(at) + 2, "few cuts: every one is an edge"
    probes = [at[0] - 1, *at, np.nan]
    nothing = sum(worth(model.forest, root, -1, None) for root in model.forest.roots[:-1])
    expected = np.array([found_slowly(model, 0, probe) for probe in probes]) - nothing
    np.testing.assert_allclose(effect.adds[0], expected / (model.n_rounds if average else 1), atol=1e-9)


def test_a_disclosed_column_has_the_effect_that_its_owner_would_see(run):
    """With as many bins as cuts, what the active party computes is what the whole model says."""
    _, model, part, whole = run
    meanings = by_column(model, {"m": disclosed(part, policy(most_bins=250))})
    found = {e.use.column: e for e in effects(model, columns_used(model, meanings), meanings)}
    assert set(found) == {0, 1, 4}, "own and disclosed columns, and no others"
    at = np.unique(whole.forest.thresholds[whole.forest.columns == 1])
    at = at[at < 1e30]
    nothing = sum(worth(whole.forest, root, -1, None) for root in whole.forest.roots[:-1])
    probes = [at[0] - 1, *at, np.nan]
    expected = np.array([found_slowly(whole, 1, probe) for probe in probes]) - nothing
    np.testing.assert_allclose(found[1].adds[0], expected, atol=1e-9)


def test_income_rises_and_few_bins_tell_it_too(run):
    _, model, part, _ = run
    explanation = explain_model(model, {"m": disclosed(part, policy(most_bins=6))})
    income = next(e for e in explanation.effects if e.use.name == "income")
    assert len(income.bins) <= 7
    assert income.direction in ("rises", "mostly rises")
    assert income.adds[0, -2] > income.adds[0, 0] + 0.2


def test_categories_have_an_effect_by_name(run):
    _, model, part, whole = run
    explanation = explain_model(model, {"m": disclosed(part, policy())})
    plan = next(e for e in explanation.effects if e.use.name == "plan")
    assert plan.bins == ("gold", "prepaid", "silver", "missing")
    assert plan.adds[0].argmax() == 1, "prepaid was made to raise the label"
    assert plan.direction == ""
    own = next(e for e in effects(whole, columns_used(whole)) if e.use.name == "plan")
    np.testing.assert_allclose(own.adds, plan.adds)


def test_a_name_without_bins_has_no_effect(run):
    _, model, part, _ = run
    explanation = explain_model(model, {"m": disclosed(part, policy(most_bins=1))})
    assert [effect.use.known for effect in explanation.effects] == ["own"]


def test_several_classes_have_an_effect_each():
    X, signal = values(300)
    model = pooled_model(Table.of(X, labels("many", signal)), params_of())
    effect = effects(model, columns_used(model))[0]
    assert effect.adds.shape == (4, len(effect.bins))
    assert effect.classes == ("0", "1", "2", "3")
    assert len(effect_picture(effect).get_legend().get_texts()) == 4


@pytest.mark.parametrize(
    ("adds", "word"),
    [
        ([0, 1, 2, -9], "rises"),
        ([3, 1, 1, 9], "falls"),
        ([0, 3, 2.5, 0], "mostly rises"),
        ([0, 3, 1, 0], "mixed"),
        ([0, 0, 0, 5], "none"),
    ],
)
def test_a_direction_is_told_in_a_word(adds, word):
    use = columns_used(pooled_model(table_of(), params_of()))[0]
    bins = ("a", "b", "c", "missing")
    assert Effect(use, bins, np.array([adds], float), True, ()).direction == word


def test_pictures_are_axes_that_show_the_numbers(run):
    _, model, part, _ = run
    explanation = explain_model(model, {"m": disclosed(part, policy(most_bins=6))})
    income = next(e for e in explanation.effects if e.use.name == "income")
    ax = effect_picture(income)
    line, missing = ax.get_lines()[1:3]
    np.testing.assert_allclose([*line.get_ydata(), *missing.get_ydata()], income.adds[0])
    assert [label.get_text() for label in ax.get_xticklabels()] == list(income.bins)
    assert effect_picture(income, ax) is ax
    bars = used_picture(explanation.uses)
    assert len(bars.patches) == len(explanation.uses)
    assert "telco: income" in [label.get_text() for label in bars.get_yticklabels()]


def test_a_model_without_trees_has_nothing_to_explain():
    model = pooled_model(table_of(), params_of())
    empty = explain_model(replace(model, forest=model.forest.first(0)))
    assert (empty.uses, empty.effects, empty.column_rows(), empty.notes()) == ([], [], [], [])
