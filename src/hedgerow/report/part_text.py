"""A passive party's part of a vertical model in words: what it may see of the model, which is its own cuts."""

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.model.part import Part
from hedgerow.report.tree_text import BEHIND_ALL, kept, listed, plain

MOST_PLACES = 6
"""Places of a column's cuts that a summary names."""


def part_summary(part: Part) -> str:
    """What the part is, and for each column that is cut how often, in how many trees, and where."""
    categorical = sum(column.kind == "categorical" for column in part.columns)
    used = np.unique(part.column)
    n_trees = len(np.unique(part.tree))
    rows = [
        ("id", part.model),
        ("party", plain(part.party)),
        ("columns", f"{len(part.columns)} ({categorical} categorical), {len(used)} used"),
        ("cuts", f"{_count(len(part.tree), 'cut')} in {_count(n_trees, 'tree')}"),
        ("leaves", f"committed to as {part.commitment.hex()}" if part.commitment else "no commitment to their values"),
    ]
    lines = ["A passive party's part of a vertical model", *(f"  {name:<8} {text}" for name, text in rows)]
    often = sorted(used.tolist(), key=lambda j: (-int((part.column == j).sum()), j))
    names = {j: plain(part.columns[j].name) for j in often}
    width = max(map(len, names.values()), default=0)
    lines += ["Own columns by their number of cuts"] * bool(often)
    lines += [f"  {names[j]:<{width}}  {_where(part, np.flatnonzero(part.column == j))}" for j in often]
    return "\n".join(lines)


def part_tree_text(part: Part, tree: int) -> str:
    """The party's own cuts of one tree, a line a node; what lies between them is not known here."""
    at = np.flatnonzero(part.tree == tree)
    if not len(at):
        raise ParameterError(f"This party has no cut in tree {tree}; name another, or leave out --tree to see all.")
    lines = [f"tree {tree}: {_count(len(at), 'own cut')}; yes goes left, no goes right"]
    for i in at[np.argsort(part.node[at])]:
        side = "left" if part.missing_left[i] else "right"
        lines.append(f"  node {part.node[i]}: {_question(part, int(i))}? (missing -> {side})")
    return "\n".join(lines)


def _where(part: Part, at: NDArray[np.int64]) -> str:
    text = f"{_count(len(at), 'cut')} in {_count(len(np.unique(part.tree[at])), 'tree')}"
    if part.columns[part.column[at[0]]].kind == "categorical":
        return text
    places = [t for t in np.unique(part.thresholds[at]) if t < BEHIND_ALL]
    return f"{text}, below {listed([str(t) for t in places], MOST_PLACES)}" if places else text


def _question(part: Part, i: int) -> str:
    """What a cut asks of a row; the answer yes goes left."""
    column = part.columns[part.column[i]]
    if column.kind == "numeric":
        behind = part.thresholds[i] >= BEHIND_ALL
        return f"{plain(column.name)} {'is not missing' if behind else f'< {part.thresholds[i]!s}'}"
    sides: tuple[list[str], list[str]] = ([], [])
    for code, category in enumerate(column.categories):
        goes_left = int(part.sets[i, code // 64]) >> (code % 64) & 1
        sides[0 if goes_left else 1].append(category)
    return f"{plain(column.name)} {kept(*sides)}"


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"
