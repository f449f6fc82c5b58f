"""A passive party's part of a vertical model: where its own columns are cut. Only all parts together predict.

{"hedgerow part": 4, "sha256": "<of the bytes of body>", "body": {...}}

Version 2 lacks `after`: such a part predicts all the same, and is asked about cuts off a row's path without noticing.
Versions 2 and 3 lack `commitment`.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from hedgerow.data.table import Column
from hedgerow.errors import ModelError
from hedgerow.model.file import PART_BEGINS, content_of
from hedgerow.model.model import Model, Ownership
from hedgerow.trees.bins import GREATEST
from hedgerow.trees.forest import Forest

VERSION, READABLE = 4, (2, 3, 4)
COMMITMENT = 32
"""Bytes of a commitment: a SHA-256."""


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
    """Values below go left; 0 for a categorical cut."""
    missing_left: NDArray[np.bool_]
    sets: NDArray[np.uint64]
    """Which categories go left, 256 bits a cut; none for a numeric cut."""
    hidden: bool = False
    """Whether the owner was never told its nodes: cuts are then called as `called` says."""
    after: NDArray[np.int64] | None = None
    """For each cut the nearest own cut above it: twice its number, and one more right of it; -1 if there is none.

    None where that is not known: with hidden nodes, and in parts of older versions.
    """
    commitment: bytes | None = None
    """What the active party committed to when the model was kept: a salted hash of its leaf values (`commitment`)."""

    def left(self, values: NDArray[np.float32], cut: NDArray[np.int64], row: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether rows of the party's own values go left at cuts, each given by its number."""
        column = self.column[cut]
        x = values[row, column]
        missing = np.isnan(x)
        left = np.where(missing, self.missing_left[cut], x < self.thresholds[cut])
        categorical = np.array([c.kind == "categorical" for c in self.columns], np.bool_)
        by_set = np.flatnonzero(categorical[column] & ~missing)
        code = x[by_set].astype(np.int64)
        bits = self.sets[cut[by_set], code // 64] >> (code % 64).astype(np.uint64)
        left[by_set] = (bits & np.uint64(1)).astype(np.bool_)
        return left


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
    missing_left: list[bool]
    sets: list[tuple[int, int, int, int]]
    hidden: bool = False
    after: list[int] | None = None
    commitment: bytes | None = None


def encoded(part: Part) -> bytes:
    """The content of a part's file."""
    arrays = (part.tree, part.node, part.column, part.thresholds, part.missing_left, part.sets)
    cuts = _Body(part.model, part.party, part.first, part.columns, *(a.tolist() for a in arrays))
    after = None if part.after is None else part.after.tolist()
    told = msgspec.structs.replace(cuts, hidden=part.hidden, after=after, commitment=part.commitment)
    body = msgspec.json.encode(told)
    return msgspec.json.encode(_File(VERSION, hashlib.sha256(body).hexdigest(), msgspec.Raw(body)))


def is_part(content: bytes) -> bool:
    """Whether this is the content of a part's file, whole or damaged, and not of a model's."""
    return content.lstrip()[:20].startswith(PART_BEGINS)


def load_part(path: Path) -> Part:
    """Read a part; a damaged file, or one of another version, is refused."""
    return decoded(content_of(path), str(path))


def decoded(data: bytes, what: str) -> Part:
    """A part from its file's content; damaged or strange ones are refused."""
    try:
        file = msgspec.json.decode(data, type=_File)
        if file.version not in READABLE:
            versions = f"{READABLE[0]} to {READABLE[-1]}"
            raise ModelError(f"{what} is of version {file.version}; this hedgerow reads versions {versions}.")
        if hashlib.sha256(bytes(file.body)).hexdigest() != file.sha256:
            raise ModelError(f"{what} is damaged: its hash does not fit.")
        body = msgspec.json.decode(file.body, type=_Body)
        arrays = (
            np.array(body.tree, np.int64),
            np.array(body.node, np.int64),
            np.array(body.column, np.int32),
            np.array(body.thresholds, np.float32),
            np.array(body.missing_left, np.bool_),
            np.array(body.sets, np.uint64).reshape(-1, 4),
        )
        after = None if body.after is None else np.array(body.after, np.int64)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OverflowError):
        raise ModelError(f"{what} is not a part of a hedgerow model.") from None
    part = Part(
        body.model, body.party, body.first, body.columns, *arrays, body.hidden, after, commitment=body.commitment
    )
    _check(part, what)
    return part


def _check(part: Part, what: str) -> None:
    arrays = (part.tree, part.node, part.column, part.thresholds, part.missing_left, part.sets)
    inside = len({len(array) for array in arrays}) == 1 and part.first >= 0 and bool(np.isfinite(part.thresholds).all())
    inside = inside and bool(((part.column >= 0) & (part.column < len(part.columns))).all())
    if not inside or (len(part.tree) and min(part.tree.min(), part.node.min()) < 0):
        raise ModelError(f"{what} is damaged: its cuts do not fit its columns.")
    if max(part.tree.max(initial=0), part.node.max(initial=0)) >= 1 << 31 or len(places(part)) < len(part.tree):
        raise ModelError(f"{what} is damaged: it cuts a node twice, or one that cannot be.")
    if part.after is not None and not (len(part.after) == len(part.tree) and _goes_down(part, part.after)):
        raise ModelError(f"{what} is damaged: its cuts do not lie below each other.")
    if part.commitment is not None and len(part.commitment) != COMMITMENT:
        raise ModelError(f"{what} is damaged: its commitment to leaf values has a wrong length.")


def _goes_down(part: Part, after: NDArray[np.int64]) -> bool:
    """Whether a cut comes after cuts of its own tree that are further up: children have greater numbers."""
    if part.hidden or (after < -1).any() or (after >= 2 * len(after)).any():
        return False
    below = np.flatnonzero(after >= 0)
    above = after[below] // 2
    return bool((part.tree[above] == part.tree[below]).all() and (part.node[above] < part.node[below]).all())


def places(part: Part) -> dict[tuple[int, int], int]:
    """The number of each cut by its tree and node."""
    return {place: i for i, place in enumerate(zip(part.tree.tolist(), part.node.tolist(), strict=True))}


def ownership_of(model: Model) -> Ownership:
    """Whose the columns are; refuses a model that is not of several parties' columns."""
    if model.ownership is None:
        raise ModelError("The model is not one of a vertical run; it predicts by itself, without other parties.")
    return model.ownership


def part_of(model: Model, party: str) -> Part:
    """A party's cuts in a model that has its thresholds: the active party's own, or in one process anybody's."""
    own, forest = ownership_of(model), model.forest
    first, last = own.span(party)
    at = np.flatnonzero((forest.columns >= first) & (forest.columns < last))
    tree = np.searchsorted(forest.roots, at, side="right") - 1
    sets = np.zeros((len(at), 4), np.uint64)
    by_set = forest.sets[at] >= 0
    sets[by_set] = forest.category_sets[forest.sets[at[by_set]]]
    column = (forest.columns[at] - first).astype(np.int32)
    cuts = (tree, at - forest.roots[tree], column, forest.thresholds[at], forest.missing_left[at], sets)
    return Part(own.model, party, first, model.columns[first:last], *cuts, after=ends_below(forest, at)[at])


def told_columns(model: Model) -> tuple[Column, ...]:
    """The active party's columns that are in its own table: who holds a row, the other parties tell."""
    own = ownership_of(model)
    first, last = own.span(own.active)
    return model.columns[first : last - bool(own.units)]


def active_part_of(model: Model) -> Model:
    """What the active party alone would have of a whole model: the others' columns by number, without thresholds."""
    own, forest = ownership_of(model), model.forest
    first, last = own.span(own.active)
    others = (forest.columns >= 0) & ((forest.columns < first) | (forest.columns >= last))
    thresholds = np.where(others & (forest.thresholds < GREATEST), np.float32(0), forest.thresholds)
    numbered = [Column(f"{party}:{i}") for party, n in own.columns for i in range(n)]
    columns = tuple(
        column if first <= j < last else replace(numbered[j], kind=column.kind)
        for j, column in enumerate(model.columns)
    )
    forest = replace(forest, thresholds=thresholds)
    return replace(model, forest=forest, columns=columns, ownership=replace(own, whole=False))


def ends_below(forest: Forest, at: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each node of a forest the nearest of the cuts `at` above it, as `Part.after` has it: number and side."""
    number: NDArray[np.int64] = np.full(len(forest.columns), -1, np.int64)
    number[at] = np.arange(len(at))
    below = np.full(len(number), -1, np.int64)
    level = forest.roots[:-1].astype(np.int64)
    while len(level := level[forest.columns[level] >= 0]):
        child, own = forest.children[level].astype(np.int64), number[level]
        for side in (0, 1):
            below[child + side] = np.where(own >= 0, 2 * own + side, below[level])
        level = np.concatenate([child, child + 1])
    return below


def called(model: Model, at: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """What the owners of the passive cuts at these nodes of an active party's forest call them: tree and node.

    An owner that was never told the node (hidden rows) has the first tree of the round, and the number of its cut in
    the round, which the forest has in the place of the threshold that it lacks; a whole one lacks none.
    """
    forest, whole = model.forest, model.ownership is not None and model.ownership.whole
    tree = np.searchsorted(forest.roots, at, side="right") - 1
    number = forest.thresholds[at]
    hidden = (number >= 1) & (number < GREATEST) & (not whole)
    node = np.where(hidden, number, 0).astype(np.int64)
    return np.where(hidden, tree - tree % model.loss.n_trees, tree), np.where(hidden, node, at - forest.roots[tree])


def joined(model: Model, parts: Mapping[str, Part]) -> Model:
    """The whole model, where all parts lie together: the thresholds of every party's cuts put in their places."""
    own = model.ownership
    if len({part.model for part in parts.values()} | ({own.model} if own is not None else set())) > 1:
        raise ModelError("The parts belong to different models and cannot be mixed.")
    forest, columns = model.forest, list(model.columns)
    thresholds = forest.thresholds.copy()
    for party, part in parts.items():
        kept = part.tree < forest.n_trees
        cut = np.flatnonzero((forest.columns >= part.first) & (forest.columns < part.first + len(part.columns)))
        places = dict(zip(zip(*(name.tolist() for name in called(model, cut)), strict=True), cut.tolist(), strict=True))
        names = zip(part.tree[kept].tolist(), part.node[kept].tolist(), strict=True)
        at = np.array([places.get(name, -1) for name in names], np.int64)
        if (at < 0).any() or not np.array_equal(forest.columns[at], part.column[kept] + part.first):
            raise ModelError(f"The part of {party!r} does not fit the trees of the active party.")
        thresholds[at] = part.thresholds[kept]
        columns[part.first : part.first + len(part.columns)] = part.columns
    if own is not None:
        own = replace(own, whole={*parts, own.active} >= set(own.parties))
    forest = replace(forest, thresholds=thresholds)
    return replace(model, forest=forest, columns=tuple(columns), ownership=own)
