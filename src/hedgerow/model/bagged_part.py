"""A passive party's parts of several models as one, for rows that are predicted by all of these models at once."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hedgerow.agreement.options import BaggedModel
from hedgerow.data.partition import joined_column
from hedgerow.data.table import Column
from hedgerow.errors import ModelError
from hedgerow.model.part import Part


def bag_id(models: Sequence[str]) -> str:
    """What a bag of the models with these ids is called in a plan."""
    return hashlib.sha256(b"hedgerow bag\0" + "\0".join(models).encode()).hexdigest()


def joined_columns(each: Sequence[Sequence[Column]]) -> tuple[Column, ...]:
    """The columns of all models by name, with the categories of all: how a table for all of them is read."""
    same: dict[str, list[Column]] = {}
    for columns in each:
        for column in columns:
            same.setdefault(column.name, []).append(column)
    return tuple(joined_column(of) for of in same.values())


def bagged_part(parts: Sequence[Part], models: Sequence[BaggedModel]) -> Part:
    """One part with the cuts of all; the trees of the models are counted one after the other, as the plan lists them.

    A column has the categories of its own model, so columns that differ in these stand beside each other.
    """
    by_model = {part.model: part for part in parts}
    columns: list[Column] = []
    pieces: list[Part] = []
    n_trees, n_cuts = 0, 0
    for one in models:
        part = by_model.get(one.model)
        if part is not None:
            _check_trees(part, one)
            columns += [column for column in part.columns if column not in columns]
            places = np.array([columns.index(column) for column in part.columns], np.int32)
            after = None if part.after is None else np.where(part.after >= 0, part.after + 2 * n_cuts, -1)
            pieces.append(replace(part, tree=part.tree + n_trees, column=places[part.column], after=after))
            n_cuts += len(part.tree)
        n_trees += one.trees
    return _joined(pieces, tuple(columns), bag_id([one.model for one in models]))


def _joined(pieces: Sequence[Part], columns: tuple[Column, ...], model: str) -> Part:
    first = pieces[0]
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(piece, name) for piece in pieces])
        for name in ("tree", "node", "column", "thresholds", "missing_left", "sets")
    }
    after = np.concatenate([piece.after for piece in pieces if piece.after is not None])
    return replace(first, model=model, columns=columns, after=after, commitment=None, **arrays)


def _check_trees(part: Part, one: BaggedModel) -> None:
    if part.hidden:
        raise ModelError("A part of a run with hidden_rows is of one model alone; predict by that model only.")
    if part.after is None:  # all cuts of the bag could be asked about as freely as those of this part
        raise ModelError(
            "A part that does not say how its splits lie below each other (of an older version) is of one model alone; "
            "predict by that model only."
        )
    if int(part.tree.max(initial=-1)) >= one.trees:
        raise ModelError(
            f"The active party says that the model of {one.active!r} has {one.trees} trees; this party's part has cuts "
            "of later ones."
        )
