"""What a passive party discloses of its columns, by its policy: a file that it gives to the active party.

{"hedgerow meanings": 1, "sha256": "<of the bytes of body>", "body": {...}}

Told of each column that the policy names under `disclose`: its number among the party's columns, its name, description
and kind; the edges of at most `most_bins` bins, and for each cut of the model by that column the nearest of these
edges; of a column of categories their names, in at most `most_bins` groups, with the codes by which the active party's
trees know a group. With `most_bins = 1` there are no bins, and nothing is told of cuts. Of other columns, nothing.

What follows from it, and is no part of the file: in training the active party was told on which side of a cut its rows
lie. With the edge of the cut it knows on which side of that *value* they lie, so it can place its training rows in
these bins. Whoever does not want that discloses the names alone.
"""

import hashlib
import math
import os
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.policy import Policy
from hedgerow.data.table import Column, Table
from hedgerow.errors import ModelError, PolicyError
from hedgerow.model.agreed_bins import agreed_edges, category_groups
from hedgerow.model.file import content_of, write_whole
from hedgerow.model.model import Model, dense
from hedgerow.model.part import Part, called, ownership_of

VERSION = 1
TELLS = (
    "Of the columns listed here, and of no others: the number, name, description and kind; the edges of a few bins, "
    "and for each cut of the model by that column the edge nearest to it; of categories their names, in groups. "
    "By the sides of its rows at these cuts, which it was told in training, the active party can place the rows in "
    "the bins."
)


class Group(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Some categories: their names, and their codes, not which has which."""

    names: tuple[str, ...]
    codes: tuple[int, ...]


class Meaning(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is told of one column."""

    number: int
    name: str
    description: str
    kind: Literal["numeric", "categorical"]
    edges: tuple[float, ...] = ()
    cuts: tuple[tuple[int, int, int], ...] = ()
    """Tree, node and nearest edge; the number behind the last edge for a cut that only tells missing values apart."""
    groups: tuple[Group, ...] = ()

    @property
    def has_bins(self) -> bool:
        """Whether bins are told besides the meaning."""
        return bool(self.edges or self.cuts or self.groups)


class Meanings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one party tells of its columns in one model."""

    model: str
    party: str
    tells: str
    columns: tuple[Meaning, ...]


class _File(msgspec.Struct):
    version: int = msgspec.field(name="hedgerow meanings")
    sha256: str
    body: msgspec.Raw


def disclosed(part: Part, policy: Policy, own_table: Table | None = None) -> Meanings:
    """What the policy discloses of a part; with the owner's table, bins have about equally many of its rows."""
    told = policy.disclose or {}
    names = [column.name for column in part.columns]
    strange = [name for name in told if name not in names]
    if strange:
        raise PolicyError(
            f"The policy discloses {strange[0]!r}, which is no column of this party in the model; correct its name, or "
            "leave it out of [disclose]."
        )
    if not told:
        raise PolicyError("The policy discloses no column; name those that may be shown under [disclose].")
    own_values = None if own_table is None else dense(own_table.aligned(part.columns))
    columns = (
        _meaning(part, number, told[name], policy.most_bins, None if own_values is None else own_values[:, number])
        for number, name in enumerate(names)
        if name in told
    )
    return Meanings(part.model, part.party, TELLS, tuple(columns))


def _meaning(
    part: Part, number: int, description: str, most_bins: int, own_values: NDArray[np.float32] | None
) -> Meaning:
    column, at = part.columns[number], np.flatnonzero(part.column == number)
    meaning = Meaning(number, column.name, description, column.kind)
    if most_bins == 1:
        return meaning
    if column.kind == "categorical":
        groups = category_groups(len(column.categories), part.sets[at], most_bins)
        return msgspec.structs.replace(meaning, groups=tuple(_group(column, codes) for codes in groups))
    edges, nearest = agreed_edges(part.thresholds[at], most_bins, own_values)
    cuts = sorted(zip(part.tree[at].tolist(), part.node[at].tolist(), nearest.tolist(), strict=True))
    return msgspec.structs.replace(meaning, edges=edges, cuts=tuple(cuts))


def _group(column: Column, codes: list[int]) -> Group:
    return Group(tuple(sorted(column.categories[code] for code in codes)), tuple(codes))


def save_meanings(meanings: Meanings, path: str | os.PathLike[str]) -> None:
    """Write what is disclosed; the file appears whole or not at all."""
    body = msgspec.json.encode(meanings)
    file = _File(VERSION, hashlib.sha256(body).hexdigest(), msgspec.Raw(body))
    write_whole(Path(path), msgspec.json.encode(file))


def load_meanings(path: str | os.PathLike[str]) -> Meanings:
    """Read what a party disclosed; a damaged file, or one of another version, is refused."""
    return decoded(content_of(Path(path)), str(path))


def decoded(content: bytes, what: str) -> Meanings:
    """What is disclosed, from a file's content; damaged or strange ones are refused."""
    try:
        file = msgspec.json.decode(content, type=_File)
        if file.version != VERSION:
            raise ModelError(f"{what} is of version {file.version}; this hedgerow reads version {VERSION}.")
        if hashlib.sha256(bytes(file.body)).hexdigest() != file.sha256:
            raise ModelError(f"{what} was changed or damaged after it was written: its hash does not fit.")
        meanings = msgspec.json.decode(file.body, type=Meanings)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OverflowError):
        raise ModelError(f"{what} is not a file of meanings, as `hedgerow disclose` writes it.") from None
    for column in meanings.columns:
        _check(column, what)
    if len({column.number for column in meanings.columns}) < len(meanings.columns):
        raise ModelError(f"{what} is damaged: it tells of a column twice.")
    return meanings


def _check(column: Meaning, what: str) -> None:
    finite = all(math.isfinite(edge) for edge in column.edges)
    rising = all(low < high for low, high in pairwise(column.edges))
    inside = all(0 <= edge <= len(column.edges) and tree >= 0 and node >= 0 for tree, node, edge in column.cuts)
    once = len({cut[:2] for cut in column.cuts}) == len(column.cuts)
    codes = [code for group in column.groups for code in group.codes]
    coded = len(set(codes)) == len(codes) and all(0 <= code < 256 for code in codes)
    paired = all(len(group.names) == len(group.codes) > 0 for group in column.groups)
    fits = not (column.groups if column.kind == "numeric" else column.edges or column.cuts)
    if not (finite and rising and inside and once and coded and paired and fits and column.number >= 0):
        raise ModelError(f"{what} is damaged: its bins of {column.name!r} cannot be.")


def by_column(model: Model, told: Mapping[str, Meanings]) -> dict[int, Meaning]:
    """The meanings of a model's columns, by their numbers in it; `told` by how errors call each file."""
    found: dict[int, Meaning] = {}
    for what, meanings in told.items():
        own = ownership_of(model)
        if meanings.model != own.model:
            raise ModelError(f"{what} belongs to another model; ask {meanings.party!r} for that of this one.")
        first, last = own.span(meanings.party)
        for meaning in meanings.columns:
            column = first + meaning.number
            if column >= last or model.columns[column].kind != meaning.kind:
                raise ModelError(f"{what} tells of a column that {meanings.party!r} does not have in this model.")
            if column in found:
                raise ModelError(f"{what} tells of columns of {meanings.party!r} that another file tells of; give one.")
            found[column] = meaning
    return found


def edges_of_cuts(model: Model, column: int, meaning: Meaning) -> NDArray[np.int64]:
    """The nearest edge of each cut by a column, in the order of the forest; refuses a file that lacks one."""
    at = np.flatnonzero(model.forest.columns == column)
    told = {(tree, node): edge for tree, node, edge in meaning.cuts}
    names = zip(*(name.tolist() for name in called(model, at)), strict=True)
    found = [told.get(name, -1) for name in names]
    if min(found, default=0) < 0:
        raise ModelError(
            f"The meanings of {meaning.name!r} do not tell of every cut of the model; ask its owner for a new file."
        )
    return np.array(found, np.int64)
