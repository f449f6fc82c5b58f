"""A passive party's part of a vertical model: where its own columns are cut. Only all parts together predict.

{"hedgerow part": 1, "sha256": "<of the bytes of body>", "body": {...}}
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

import msgspec
import numpy as np
from numpy.typing import NDArray

from hedgerow.data.table import Column
from hedgerow.errors import ModelError
from hedgerow.model import Model
from hedgerow.trees.bins import GREATEST

VERSION = 1


@dataclass(frozen=True, eq=False)
class Part:
    """One party's cuts, by tree and node (or as `called` says); thresholds are its own and never leave it."""

    model: str
    """The id that all parts of a model share."""
    party: str
    first: int
    """The number of the party's first column among all."""
    columns: tuple[Column, ...]
    tree: NDArray[np.int64]
    node: NDArray[np.int64]
    column: NDArray[np.int32]
    """Counted among the party's own."""
    thresholds: NDArray[np.float32]
    """0 for a categorical cut."""


class _File(msgspec.Struct):
    version: int = msgspec.field(name="hedgerow part")
    sha256: str
    body: msgspec.Raw


class _Body(msgspec.Struct, forbid_unknown_fields=True):
    model: str
    party: str
    first: int
    columns: tuple[Column, ...]
    tree: list[int]
    node: list[int]
    column: list[int]
    thresholds: list[float]


def encoded(part: Part) -> bytes:
    """The content of a part's file."""
    numbers = [array.tolist() for array in (part.tree, part.node, part.column, part.thresholds)]
    body = msgspec.json.encode(_Body(part.model, part.party, part.first, part.columns, *numbers))
    return msgspec.json.encode(_File(VERSION, hashlib.sha256(body).hexdigest(), msgspec.Raw(body)))


def decoded(data: bytes, what: str) -> Part:
    """A part from its file's content; damaged or strange ones are refused."""
    try:
        file = msgspec.json.decode(data, type=_File)
        if file.version != VERSION:
            raise ModelError(f"{what} is of version {file.version}; this hedgerow reads version {VERSION}.")
        if hashlib.sha256(bytes(file.body)).hexdigest() != file.sha256:
            raise ModelError(f"{what} is damaged: its hash does not fit.")
        body = msgspec.json.decode(file.body, type=_Body)
        arrays = (
            np.array(body.tree, np.int64),
            np.array(body.node, np.int64),
            np.array(body.column, np.int32),
            np.array(body.thresholds, np.float32),
        )
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OverflowError):
        raise ModelError(f"{what} is not a part of a hedgerow model.") from None
    part = Part(body.model, body.party, body.first, body.columns, *arrays)
    _check(part, what)
    return part


def _check(part: Part, what: str) -> None:
    sizes = {len(part.tree), len(part.node), len(part.column), len(part.thresholds)}
    inside = len(sizes) == 1 and part.first >= 0 and bool(np.isfinite(part.thresholds).all())
    inside = inside and bool(((part.column >= 0) & (part.column < len(part.columns))).all())
    if not inside or (len(part.tree) and min(part.tree.min(), part.node.min()) < 0):
        raise ModelError(f"{what} is damaged: its cuts do not fit its columns.")


def called(model: Model, at: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """What the owners of the passive cuts at these nodes of an active party's forest call them: tree and node.

    An owner that was never told the node (hidden rows) has the first tree of the round, and the number of its cut in
    the round, which the forest has in the place of the threshold that it lacks.
    """
    forest = model.forest
    tree = np.searchsorted(forest.roots, at, side="right") - 1
    number = forest.thresholds[at]
    hidden = (number >= 1) & (number < GREATEST)
    node = np.where(hidden, number, 0).astype(np.int64)
    return np.where(hidden, tree - tree % model.loss.n_trees, tree), np.where(hidden, node, at - forest.roots[tree])


def joined(model: Model, parts: Mapping[str, Part]) -> Model:
    """The whole model, where all parts lie together: the thresholds of every party's cuts put in their places."""
    if len({part.model for part in parts.values()}) > 1:
        raise ModelError("The parts belong to different models and cannot be mixed.")
    forest, columns = model.forest, list(model.columns)
    thresholds = forest.thresholds.copy()
    for party, part in parts.items():
        kept = part.tree < forest.n_trees
        own = np.flatnonzero((forest.columns >= part.first) & (forest.columns < part.first + len(part.columns)))
        places = dict(zip(zip(*(name.tolist() for name in called(model, own)), strict=True), own.tolist(), strict=True))
        names = zip(part.tree[kept].tolist(), part.node[kept].tolist(), strict=True)
        at = np.array([places.get(name, -1) for name in names], np.int64)
        if (at < 0).any() or not np.array_equal(forest.columns[at], part.column[kept] + part.first):
            raise ModelError(f"The part of {party!r} does not fit the trees of the active party.")
        thresholds[at] = part.thresholds[kept]
        columns[part.first : part.first + len(part.columns)] = part.columns
    return replace(model, forest=replace(forest, thresholds=thresholds), columns=tuple(columns))
