"""Which columns a model uses, whose they are, whether their meaning is disclosed, and how much they matter.

The list for compliance: over the columns of all parties, with the names that owners disclosed. A column of which
nothing was disclosed appears by its party and its number.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hedgerow.errors import ParameterError
from hedgerow.model.meanings import Meaning
from hedgerow.model.model import Model
from hedgerow.trees.forest import ImportanceKind

Known = Literal["own", "disclosed", "name", "number"]
"""How a column is known here: by having it, by its owner's file of meanings, by a name told in training, by number."""


@dataclass(frozen=True)
class ColumnUse:
    """One column that a model cuts."""

    column: int
    """Its number in the model."""
    party: str
    """Its owner; empty where the model is not one over several parties' columns."""
    number: int
    """Its number among its owner's columns."""
    name: str
    description: str
    known: Known
    splits: int
    trees: int
    """In how many trees it is cut."""
    gain: float
    cover: float
    """Sums over its cuts."""

    @property
    def label(self) -> str:
        """How it is called where columns of several parties stand together."""
        return self.name if self.known == "own" or not self.party else f"{self.party}: {self.name}"

    def total(self, kind: ImportanceKind) -> float:
        """Its gain, number of cuts or cover."""
        totals: dict[str, float] = {"gain": self.gain, "split": self.splits, "cover": self.cover}
        if kind not in totals:
            raise ParameterError(f"Importances are of kind gain, split or cover; not {kind!r}.")
        return totals[kind]


def columns_used(model: Model, meanings: Mapping[int, Meaning] | None = None) -> list[ColumnUse]:
    """Every column that the trees cut, the greatest gain first; `meanings` by the number of the column in the model."""
    forest = model.forest
    cut = np.flatnonzero(forest.columns >= 0)
    column = forest.columns[cut]
    n = len(model.columns)
    splits = np.bincount(column, minlength=n)
    gains = np.bincount(column, forest.gains[cut], minlength=n)
    covers = np.bincount(column, forest.covers[cut], minlength=n)
    tree = np.searchsorted(forest.roots, cut, side="right") - 1
    trees = np.bincount(np.unique(np.stack([column, tree]), axis=1)[0], minlength=n)
    found = []
    for j in np.flatnonzero(splits).tolist():
        numbers = {"splits": int(splits[j]), "trees": int(trees[j]), "gain": float(gains[j]), "cover": float(covers[j])}
        found.append(ColumnUse(j, *_known(model, j, (meanings or {}).get(j)), **numbers))  # type: ignore[arg-type]
    return sorted(found, key=lambda use: (-use.gain, use.column))


def importance_shares(uses: list[ColumnUse], kind: ImportanceKind = "gain") -> dict[str, float]:
    """Each column's share of the gain, number of cuts or cover over all parties, by its label, the greatest first."""
    total = sum(use.total(kind) for use in uses)
    ordered = sorted(uses, key=lambda use: -use.total(kind))
    return {use.label: use.total(kind) / total if total else 0.0 for use in ordered}


def _known(model: Model, column: int, meaning: Meaning | None) -> tuple[str, int, str, str, Known]:
    """Whose a column is, its number there, its name, its description, and how it is known."""
    name, own = model.columns[column].name, model.ownership
    if own is None:
        return "", column, name, "", "own"
    party = next(party for party in own.parties if own.span(party)[0] <= column < own.span(party)[1])
    number = column - own.span(party)[0]
    if meaning is not None:
        return party, number, meaning.name, meaning.description, "disclosed"
    if own.whole or party == own.active:
        return party, number, name, "", "own"
    told = name.removeprefix(f"{party}:")
    if told == str(number):
        return party, number, f"column {number}", "", "number"
    return party, number, told, "", "name"
