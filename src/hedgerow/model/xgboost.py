"""A model in XGBoost's own JSON, which XGBoost loads and predicts from.

Scores of boosted trees agree to the last bit: our first score is folded into the first tree's leaves (XGBoost's is set
to zero), the same float32 values are added in the same order. A random forest's leaves are divided by the number of
trees, so there the last bits may differ. Categories are XGBoost's codes: positions in our lists of categories.
"""

import os
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from hedgerow.errors import ModelError
from hedgerow.model.file import write_whole
from hedgerow.model.model import Model

OBJECTIVES = {
    "squared": "reg:squarederror",
    "logistic": "binary:logistic",
    "softmax": "multi:softprob",
    "poisson": "count:poisson",
    "tweedie": "reg:tweedie",
    "huber": "reg:pseudohubererror",
}
NO_NODE = 2147483647


def to_xgboost(model: Model, path: str | os.PathLike[str]) -> None:
    """Write the model as an XGBoost JSON file (`xgboost.Booster(model_file=path)`)."""
    write_whole(Path(path), msgspec.json.encode(xgboost_json(model)))


def xgboost_json(model: Model) -> dict[str, Any]:
    """The model as XGBoost's JSON document."""
    model.check_whole()
    name = model.loss.name
    if name not in OBJECTIVES:
        raise ModelError(
            f"XGBoost has no objective for a forest with the {name} loss (class shares of three or more classes)."
        )
    per_round = model.loss.n_trees
    trees = [_tree(model, i) for i in range(model.forest.n_trees)]
    n_columns = len(model.columns)
    # XGBoost's first score is given as a label: 0.5 and 1 are the labels of score 0 under these links.
    base = {"logistic": "5E-1", "poisson": "1E0", "tweedie": "1E0"}.get(name, "0E0")
    booster = {
        "model": {
            "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(len(trees))},
            "iteration_indptr": list(range(0, len(trees) + 1, per_round)),
            "tree_info": [i % per_round for i in range(len(trees))],
            "trees": trees,
        },
        "name": "gbtree",
    }
    learner = {
        "attributes": {},
        **_features(model),
        "gradient_booster": booster,
        "learner_model_param": {
            "base_score": base,
            "boost_from_average": "0",
            "num_class": str(per_round if name == "softmax" else 0),
            "num_feature": str(n_columns),
            "num_target": "1",
        },
        "objective": _objective(model),
    }
    return {"learner": learner, "version": [2, 0, 0]}


def _features(model: Model) -> dict[str, Any]:
    """Names and kinds; without names where they only count the columns, for XGBoost would insist on them."""
    kinds = ["c" if c.kind == "categorical" else "float" for c in model.columns]
    counted = model.names == tuple(f"f{i}" for i in range(len(kinds)))
    if counted and "c" not in kinds:
        return {"feature_names": [], "feature_types": []}
    return {"feature_names": list(model.names), "feature_types": kinds}


def _objective(model: Model) -> dict[str, Any]:
    name = model.loss.name
    own: dict[str, Any] = {
        "squared": {"reg_loss_param": {"scale_pos_weight": "1"}},
        "logistic": {"reg_loss_param": {"scale_pos_weight": "1"}},
        "softmax": {"softmax_multiclass_param": {"num_class": str(model.loss.n_trees)}},
        "poisson": {"poisson_regression_param": {"max_delta_step": "0.7"}},
        "tweedie": {"tweedie_regression_param": {"tweedie_variance_power": str(model.loss.parameter)}},
        "huber": {"pseudo_huber_param": {"huber_slope": str(model.loss.parameter)}},
    }[name]
    return {"name": OBJECTIVES[name], **own}


def _tree(model: Model, index: int) -> dict[str, Any]:
    forest = model.forest
    span = slice(int(forest.roots[index]), int(forest.roots[index + 1]))
    columns = forest.columns[span]
    n, cut = len(columns), columns >= 0
    left = np.where(cut, forest.children[span] - span.start, -1)
    parents = np.full(n, NO_NODE)
    parents[left[cut]] = parents[left[cut] + 1] = np.flatnonzero(cut)
    values = forest.values[span]
    if model.params.average:
        values = values / np.float32(model.n_rounds)
    if index < model.loss.n_trees:
        values = values + np.float32(model.base_score)
    return {
        "base_weights": [0.0] * n,
        **_categories(model, span),
        "default_left": forest.missing_left[span].astype(int).tolist(),
        "id": index,
        "left_children": left.tolist(),
        "loss_changes": forest.gains[span].tolist(),
        "parents": parents.tolist(),
        "right_children": np.where(cut, left + 1, -1).tolist(),
        "split_conditions": np.where(cut, forest.thresholds[span], values).tolist(),
        "split_indices": np.maximum(columns, 0).tolist(),
        "split_type": (forest.sets[span] >= 0).astype(int).tolist(),
        "sum_hessian": forest.covers[span].tolist(),
        "tree_param": {
            "num_deleted": "0",
            "num_feature": str(len(model.columns)),
            "num_nodes": str(n),
            "size_leaf_vector": "1",
        },
    }


def _categories(model: Model, span: slice) -> dict[str, Any]:
    """XGBoost lists the categories that go right."""
    forest = model.forest
    nodes: list[int] = []
    segments: list[int] = []
    sizes: list[int] = []
    categories: list[int] = []
    for node in np.flatnonzero(forest.sets[span] >= 0):
        column = model.columns[forest.columns[span][node]]
        left = forest.category_sets[forest.sets[span][node]]
        right = [c for c in range(len(column.categories)) if not (int(left[c // 64]) >> (c % 64)) & 1]
        nodes.append(int(node))
        segments.append(len(categories))
        sizes.append(len(right))
        categories += right
    return {
        "categories": categories,
        "categories_nodes": nodes,
        "categories_segments": segments,
        "categories_sizes": sizes,
    }
