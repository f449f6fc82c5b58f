"""A model in words: one tree as indented text, and what the whole of it is."""

import numpy as np

from hedgerow.errors import ParameterError
from hedgerow.model.model import Model, Ownership
from hedgerow.privacy.promise import headline

BEHIND_ALL = float(np.finfo(np.float32).max)
"""The threshold of a cut that only tells missing values from the others."""
MOST_NAMED = 10


def tree_text(model: Model, tree: int) -> str:
    """One tree, a line a node, children indented below their parent; `yes` is the left branch."""
    check_tree(model, tree)
    forest = model.forest
    lines = [f"{tree_title(model, tree)}: yes goes left, no goes right"]
    to_come = [(int(forest.roots[tree]), 0, "")]
    while to_come:
        node, depth, branch = to_come.pop()
        indent = "  " * depth
        cover = f"cover {forest.covers[node]:.6g}"
        if forest.columns[node] < 0:
            lines.append(f"{indent}{branch}leaf {forest.values[node]:.6g} ({cover})")
            continue
        side = "left" if forest.missing_left[node] else "right"
        facts = f"missing -> {side}, gain {forest.gains[node]:.6g}, {cover}"
        lines.append(f"{indent}{branch}{question(model, node)}? ({facts})")
        left = int(forest.children[node])
        to_come += [(left + 1, depth + 1, "no: "), (left, depth + 1, "yes: ")]
    return "\n".join(lines)


def summary(model: Model, n_columns: int = 10) -> str:
    """What the model is: its loss, sizes, how its metric went, and the columns that matter most."""
    rows = [("loss", _loss(model)), ("rounds", str(model.n_rounds)), ("trees", _trees(model))]
    if model.classes:
        rows.append(("classes", listed([str(c) for c in model.classes], 10)))
    if model.label is not None:
        rows.append(("label", plain(model.label)))
    rows.append(("columns", _columns(model)))
    if model.ownership is not None:
        rows.append(("parties", _parties(model.ownership)))
        rows.append(("id", model.ownership.model))
    if model.promise is not None:
        rows.append(("privacy", plain(headline(model.promise))))
    if model.history:
        rows.append(("history", _history(model)))
    kind = "A random forest" if model.params.average else "Boosted trees"
    lines = [kind, *(f"  {name:<8} {text}" for name, text in rows)]
    top = [(plain(name), share) for name, share in model.importances("gain").items() if share > 0][:n_columns]
    width = max((len(name) for name, _ in top), default=0)
    lines += ["Columns by their share of the gain"] * bool(top)
    lines += [f"  {name:<{width}}  {share:6.1%}" for name, share in top]
    return "\n".join(lines)


def check_tree(model: Model, tree: int) -> None:
    """Refuse the number of a tree that is not there."""
    if not model.forest.n_trees:
        raise ParameterError("The model has no trees to show.")
    if not 0 <= tree < model.forest.n_trees:
        raise ParameterError(f"The tree must be a number from 0 to {model.forest.n_trees - 1}; it is {tree}.")


def tree_title(model: Model, tree: int) -> str:
    """Which tree it is: its number, round and class."""
    round_, place = divmod(tree, model.loss.n_trees)
    of_class = f", class {plain(str(model.classes[place]))}" if model.loss.n_trees > 1 and model.classes else ""
    return f"tree {tree} of {model.forest.n_trees} (round {round_ + 1}{of_class})"


def question(model: Model, node: int, most: int = MOST_NAMED, *, exact: bool = True) -> str:
    """What a node asks of a row; the answer yes goes left. An exact threshold has all the digits it needs."""
    forest = model.forest
    name = plain(model.columns[forest.columns[node]].name)
    if _is_kept_back(model, node):
        return f"{name} left of its owner's cut"
    if forest.sets[node] >= 0:
        return f"{name} {kept(*categories(model, node), most)}"
    threshold = forest.thresholds[node]
    if threshold >= BEHIND_ALL:
        return f"{name} is not missing"
    return f"{name} < {str(threshold) if exact else short(float(threshold))}"


def _is_kept_back(model: Model, node: int) -> bool:
    """Whether a cut is of a column whose owner has the threshold, in the active party's part of a vertical model."""
    own = model.ownership
    if own is None or own.whole:
        return False
    first, last = own.span(own.active)
    return not first <= model.forest.columns[node] < last


def short(number: float) -> str:
    """A number with four digits, or all before the point if there are a few more."""
    return f"{number:.0f}" if 1e4 <= abs(number) < 1e8 else f"{number:.4g}"


def categories(model: Model, node: int) -> tuple[list[str], list[str]]:
    """The categories that go left and those that go right at a categorical cut."""
    bits = model.forest.category_sets[model.forest.sets[node]]
    sides: tuple[list[str], list[str]] = ([], [])
    for code, category in enumerate(model.columns[model.forest.columns[node]].categories):
        goes_left = int(bits[code // 64]) >> (code % 64) & 1
        sides[0 if goes_left else 1].append(category)
    return sides


def kept(left: list[str], right: list[str], most: int = MOST_NAMED) -> str:
    """The shorter of two lists, as what a category is or is not."""
    if not right:
        return "is not missing"
    if not left:
        return "is missing"
    few, word = (left, "is") if len(left) <= len(right) else (right, "is not")
    return f"{word} {'one of ' if len(few) > 1 else ''}{listed(few, most)}"


def listed(names: list[str], most: int) -> str:
    """Names with commas between, the first ones only where there are too many."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(plain, names[:most])) + more


def plain(text: str) -> str:
    """A name as it is, but for characters that would move a terminal's cursor."""
    return text if text.isprintable() else repr(text)[1:-1]


def best_round(history: tuple[float, ...], metric: str | None) -> int:
    """Where in the history the metric was best, counted from 0."""
    return int(np.argmax(history) if metric == "auc" else np.argmin(history))


def _loss(model: Model) -> str:
    parameter = f" ({model.loss.parameter:g})" if model.loss.name in ("tweedie", "huber") else ""
    return f"{model.loss.name}{parameter}, first score {model.base_score:.6g}"


def _trees(model: Model) -> str:
    forest = model.forest
    leaves = int((forest.columns < 0).sum())
    return f"{forest.n_trees} ({model.loss.n_trees} a round), {leaves} leaves, depth up to {forest.depth}"


def _columns(model: Model) -> str:
    categorical = sum(c.kind == "categorical" for c in model.columns)
    used = len(np.unique(model.forest.columns[model.forest.columns >= 0]))
    return f"{len(model.columns)} ({categorical} categorical), {used} used"


def _parties(own: Ownership) -> str:
    named = (f"{plain(party)}{' (active)' if party == own.active else ''} {n}" for party, n in own.columns)
    return f"columns by party: {', '.join(named)}"


def _history(model: Model) -> str:
    best = best_round(model.history, model.metric)
    return (
        f"{model.metric} on held-out rows from {model.history[0]:.5g} to {model.history[-1]:.5g}, "
        f"best {model.history[best]:.5g} after {best + 1} of {len(model.history)} rounds"
    )
