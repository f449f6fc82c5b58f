"""How many trees one rule of passive columns fixes: all where a rule decides, no more than shuffled ones in noise."""

import numpy as np
import pandas as pd
import pytest

from hedgerow import Table
from hedgerow.errors import DataError
from hedgerow.model.meta_rules import fixed_by_rules, meta_rules
from hedgerow.model.train import Task, train
from hedgerow.trees.losses import Loss
from hedgerow.trees.params import TreeParams

FEW = TreeParams(n_estimators=10, max_depth=4, max_bin=16)


def ruled(n=2000, seed=0):
    """Rows with the passive flag have one label, far from all others."""
    rng = np.random.default_rng(seed)
    own, flag = rng.normal(size=(n, 2)), rng.random(n) < 0.3
    labels = np.where(flag, 10.0, 0.1 * own[:, 0])
    return Table.of(np.column_stack([own, flag]), labels, names=["a", "b", "flag"])


def test_a_rule_that_decides_fixes_every_tree_and_a_shuffled_one_does_not():
    found = meta_rules(ruled(), ["flag"], Task(Loss("squared")), params=FEW)
    assert (found.passive.exactly, found.passive.nearly) == (1.0, 1.0)
    assert found.shuffled.exactly < 0.5


def test_in_noise_the_passive_columns_fix_no_more_than_shuffled_ones():
    rng = np.random.default_rng(1)
    table = Table.of(rng.normal(size=(2000, 4)), rng.normal(size=2000), names=list("abcd"))
    found = meta_rules(table, ["c", "d"], Task(Loss("squared")), params=FEW, least_support=0.05)
    assert found.passive.rules > 10
    assert found.passive.exactly < 0.6
    assert abs(found.passive.exactly - found.shuffled.exactly) <= 0.3


def test_rules_of_categories_count_as_well():
    rng = np.random.default_rng(2)
    kind = rng.choice(["x", "y", "z"], 900)
    labels = np.where(kind == "y", 10.0, 0.0) + 0.01 * rng.normal(size=900)
    table = Table.of(pd.DataFrame({"own": rng.normal(size=900), "kind": kind}), np.where(kind == "y", 10.0, labels))
    model = train(table, FEW, Task(Loss("squared")))
    assert fixed_by_rules(model, table, ["kind"]).exactly == 1.0


def test_trees_without_a_cut_do_not_count():
    table = Table.of(np.arange(20.0).reshape(-1, 1), np.ones(20), names=["a"])
    model = train(table, FEW, Task(Loss("squared")))
    assert fixed_by_rules(model, table, ["a"]).exactly == 0.0


def test_columns_that_are_not_there_are_refused():
    with pytest.raises(DataError, match="must be columns of the table"):
        meta_rules(ruled(50), ["other"], Task(Loss("squared")), params=FEW)
