"""What an active party gives of its model to other active parties, so that they can score rows by its trees.

Sees in the clear.  Whoever has the file: where the giver's own columns are cut, the names, kinds and categories of
                    these columns, the value of every leaf and the first score, which are averages of its labels;
                    which passive parties share columns or have subtrees of their own; and which numbered column of
                    which passive party is cut where, and where missing values go there.
                    Not in it: thresholds, sets of categories and column names of passive parties, gains, covers (how
                    many rows are where), the metric.
"""

from dataclasses import replace

import numpy as np

from hedgerow.model.model import Model
from hedgerow.model.part import active_part_of, ownership_of, part_of
from hedgerow.trees.forest import Forest


def for_others(model: Model) -> Model:
    """A model that predicts as this one does together with the passive parties, and tells no more than that needs."""
    alone = active_part_of(model)
    kept = alone.forest if ownership_of(model).whole else model.forest
    kept = _without_sets(kept, *ownership_of(model).span(ownership_of(model).active))
    forest = replace(kept, gains=np.zeros_like(kept.gains), covers=np.zeros_like(kept.covers))
    return replace(alone, forest=forest, history=(), metric=None)


def _without_sets(forest: Forest, first: int, last: int) -> Forest:
    """The same without which categories go left, but at the own columns: passive parties know that of theirs."""
    by_set, own = forest.sets >= 0, (forest.columns >= first) & (forest.columns < last)
    used, number = np.unique(forest.sets[by_set & own], return_inverse=True)
    sets = np.where(by_set, 0, -1).astype(np.int32)
    sets[by_set & own] = 1 + number.reshape(-1)
    none = np.zeros((1, 4), np.uint64)
    return replace(forest, sets=sets, category_sets=np.concatenate([none, forest.category_sets[used]]))


def told_by(model: Model) -> tuple[str, ...]:
    """What the file of `for_others` tells whoever has it, in sentences."""
    own, part = ownership_of(model), part_of(model, ownership_of(model).active)
    first, last = own.span(own.active)
    cut = len(np.unique(part.column))
    leaves = int((model.forest.columns < 0).sum())
    passive = ", ".join(repr(party) for party in own.parties if party != own.active)
    return (
        f"It tells the names and categories of {last - first} columns of {own.active!r}, and at which values {cut} of "
        f"them are cut, {len(part.tree)} times in all.",
        f"It tells the values of {leaves} leaves and the first score of a row: averages of the labels of "
        f"{own.active!r} over the rows of a node, some of them few.",
        f"It tells which numbered columns of {passive} are cut where, which way missing values go there, and who "
        "shares columns; none of their thresholds and categories.",
        "It does not tell how many rows are in a node, what a cut gained, or how the metric went.",
    )
