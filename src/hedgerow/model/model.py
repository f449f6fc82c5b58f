"""A trained model: a forest, and what its columns, scores and classes mean."""

from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow.data.table import Column, Table
from hedgerow.errors import DataError, ModelError
from hedgerow.privacy.promise import Promise
from hedgerow.trees.forest import Forest, ImportanceKind, averaged
from hedgerow.trees.losses import Loss
from hedgerow.trees.params import TreeParams

ClassLabel = int | float | str | bool
Absent = Literal["missing", "zero"]
MOST_SHOWN = 10
"""Columns that a notebook shows of a model."""


def absent_of(table: Table) -> Absent:
    """What a gap in a sparse table means; a dense one has none, only NaN."""
    return "zero" if table.absent == 0 else "missing"


@dataclass(frozen=True)
class Ownership:
    """Of a vertical model: the id that all its parts share, and whose its columns are."""

    model: str
    active: str
    columns: tuple[tuple[str, int], ...]
    """Parties in the order of the columns, each with how many it has."""
    whole: bool = False
    """Whether the thresholds of all parties are in the model, as where all of them live in one process."""
    groups: tuple[tuple[str, ...], ...] = ()
    """Passive parties of a hybrid model that have the same columns for rows of their own; the first is in `columns`."""
    units: tuple[tuple[str, ...], ...] = ()
    """Passive parties with subtrees of their own for the rows that they hold: the active party's last column says whose
    a row is."""

    @property
    def parties(self) -> tuple[str, ...]:
        """The parties, in the order of the columns; behind them those that have the columns of one of these."""
        return (*(party for party, _ in self.columns), *(party for group in self.groups for party in group[1:]))

    @property
    def once(self) -> tuple[tuple[str, ...], ...]:
        """Passive parties of which one speaks for each row, however many hold it, group by group."""
        passive = tuple(party for party in self.parties if party != self.active)
        return (passive,) if self.units else self.groups

    def span(self, party: str) -> tuple[int, int]:
        """A party's columns: from this number up to that one."""
        first = 0
        owner = next((group[0] for group in self.groups if party in group), party)
        for name, n in self.columns:
            if name == owner:
                return first, first + n
            first += n
        raise ModelError(f"{party!r} is no party of the model; it has {', '.join(map(repr, self.parties))}.")


@dataclass(frozen=True, eq=False)
class Model:
    """What training leaves behind; needs no training row to predict."""

    forest: Forest
    columns: tuple[Column, ...]
    loss: Loss
    base_score: float
    """The first score of every row."""
    params: TreeParams
    classes: tuple[ClassLabel, ...] = ()
    """In the order of their probabilities; empty for a model of numbers."""
    label: str | None = None
    """The label's column, where it had a name."""
    absent: Absent = "missing"
    """What an entry that a sparse table did not store meant."""
    history: tuple[float, ...] = field(default=())
    metric: str | None = None
    ownership: Ownership | None = None
    """Of a model over several parties' columns; None: all its columns are in one place."""
    promise: Promise | None = None
    """What is promised of the rows that it learnt from; None: no differential privacy."""

    def __post_init__(self) -> None:
        if self.forest.n_trees % self.loss.n_trees:
            raise ModelError(f"The forest has {self.forest.n_trees} trees, not a multiple of {self.loss.n_trees}.")

    def __repr__(self) -> str:
        what = f"{len(self.classes)} classes" if self.classes else "numbers"
        return f"<Model of {what}: {self.forest.n_trees} trees over {len(self.columns)} columns, {self.loss.name} loss>"

    def _repr_html_(self) -> str:
        """How a notebook shows it: what it is, and the columns that matter most."""
        shares = sorted(self.importances().items(), key=lambda found: -found[1])[:MOST_SHOWN]
        rows = "".join(f"<tr><td>{escape(name)}</td><td>{share:.1%}</td></tr>" for name, share in shares if share)
        return f"<p>{escape(repr(self))}</p><table><tr><th>column</th><th>share of the gain</th></tr>{rows}</table>"

    @property
    def n_rounds(self) -> int:
        """Rounds of trees."""
        return self.forest.n_trees // self.loss.n_trees

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(c.name for c in self.columns)

    def scores(self, table: Table, threads: int = 1) -> NDArray[np.float32]:
        """Raw scores, rows x trees of a round."""
        table = self.aligned(table)
        out = self._first_scores(table.n_rows)
        self.forest.add_scores(table.values, table.absent, out, threads)
        return averaged(out, self.base_score, self.n_rounds) if self.params.average else out

    def scores_at(self, leaves: NDArray[np.int32]) -> NDArray[np.float32]:
        """Raw scores of rows that end at these nodes of the trees (rows x trees, as `leaves` gives them)."""
        out = self._first_scores(len(leaves))
        for tree, (root, places) in enumerate(zip(self.forest.roots[:-1], leaves.T, strict=True)):
            out[:, tree % self.loss.n_trees] += self.forest.values[root + places]
        return averaged(out, self.base_score, self.n_rounds) if self.params.average else out

    def _first_scores(self, n_rows: int) -> NDArray[np.float32]:
        start = 0.0 if self.params.average else self.base_score
        return np.full((n_rows, self.loss.n_trees), start, np.float32)

    def check_whole(self) -> None:
        """Refuse to use a model without thresholds that others have."""
        if self.ownership is not None and not self.ownership.whole:
            others = [party for party in self.ownership.parties if party != self.ownership.active]
            raise ModelError(
                f"Where the columns of {', '.join(map(repr, others))} are cut is not in this model, the active party's "
                "part of a vertical one; predict or evaluate together with the others (--with RUN.toml)."
            )

    def aligned(self, table: Table) -> Table:
        """The model's columns of a table; refuses a sparse one whose gaps mean something else than in training."""
        if not isinstance(table, Table):
            raise DataError(
                f"A model predicts from a Table, not from a {type(table).__name__}; make one with Table.of."
            )
        self.check_whole()
        self.check_gaps(table)
        return table.aligned(self.columns)

    def check_gaps(self, table: Table) -> None:
        """Refuse a sparse table whose gaps mean something else than in training."""
        if not isinstance(table.values, np.ndarray) and (table.absent == 0) != (self.absent == "zero"):
            raise DataError(
                f"Entries that the sparse table does not store were {self.absent} in training; "
                f"make the table with absent={self.absent!r}."
            )

    def predict(self, table: Table, threads: int = 1) -> NDArray[np.float64]:
        """Expected numbers, or the probability of every class (rows x classes)."""
        return self.means(self.scores(table, threads))

    def means(self, scores: NDArray[np.float32]) -> NDArray[np.float64]:
        """Expected numbers, or the probability of every class, from raw scores."""
        means = self.loss.transform(scores)
        if not self.classes or means.ndim == 2:
            return means
        second = np.clip(means, 0, 1)
        return np.column_stack([1 - second, second])

    def predict_labels(self, table: Table, threads: int = 1) -> NDArray[np.generic]:
        """Likeliest classes, or expected numbers."""
        return self.labels_of(self.predict(table, threads))

    def labels_of(self, predicted: NDArray[np.float64]) -> NDArray[np.generic]:
        """Likeliest classes by their probabilities, or the numbers as they are."""
        return np.array(self.classes)[predicted.argmax(axis=1)] if self.classes else predicted

    def leaves(self, table: Table, threads: int = 1) -> NDArray[np.int32]:
        """The node at which each row ends, for every tree (rows x trees)."""
        table = self.aligned(table)
        return self.forest.leaf_places(dense(table), threads)

    def shap_values(self, table: Table, threads: int = 1) -> NDArray[np.float64]:
        """What each column adds to each row's raw score, behind them the score of a row of which nothing is known.

        Path-dependent SHAP values, laid out as XGBoost's `pred_contribs`: rows x (columns + 1), for several classes
        rows x classes x (columns + 1). A row's numbers add up to its raw score.
        """
        table = self.aligned(table)
        return self._contributions(table, np.ones(len(self.columns), np.bool_), threads)

    def own_shap_values(self, table: Table, threads: int = 1) -> NDArray[np.float64]:
        """What the active party's own columns add, by its part of a vertical model and its own rows alone.

        At cuts of the others' columns a row goes both ways, each as likely as its cover says, so that these columns
        add nothing: the numbers add up to the score that is to be expected from the own columns, not to the row's
        score, and what own and others' columns do together is averaged, not shared out. Nobody is asked or told.
        """
        if self.ownership is None:
            raise ModelError("The model is not one of a vertical run; shap_values tells what all of its columns add.")
        first, last = self.ownership.span(self.ownership.active)
        if first == last:
            raise ModelError("The active party has no columns of its own, so there is nothing that they add.")
        self.check_gaps(table)
        own = table.aligned(self.columns[first:last])
        values = np.full((own.n_rows, len(self.columns)), np.nan, np.float32)
        values[:, first:last] = dense(own)
        known = np.zeros(len(self.columns), np.bool_)
        known[first:last] = True
        return self._contributions(Table(self.columns, values), known, threads)

    def _contributions(self, table: Table, known: NDArray[np.bool_], threads: int) -> NDArray[np.float64]:
        n_scores = self.loss.n_trees
        found = self.forest.contributions(table.values, table.absent, known, n_scores, threads)
        if self.params.average:
            found /= max(self.n_rounds, 1)
        found[:, :, -1] += self.base_score
        return found[:, 0] if n_scores == 1 else found

    def importances(self, kind: ImportanceKind = "gain") -> dict[str, float]:
        """Each column's share of the forest's gain, cuts or cover, largest first."""
        shares = self.forest.importances(len(self.columns), kind)
        order = np.argsort(-shares, kind="stable")
        return {self.names[i]: float(shares[i]) for i in order}


def distinct(labels: NDArray[np.generic]) -> tuple[ClassLabel, ...]:
    """The labels that there are, in order."""
    low, high = (int(labels.min()), int(labels.max())) if labels.dtype.kind in "iub" and len(labels) else (0, 1 << 63)
    if high - low < len(labels) and high < 1 << 63:
        return tuple((np.flatnonzero(np.bincount(labels.astype(np.int64) - low)) + low).astype(labels.dtype).tolist())
    return tuple(np.unique(labels).tolist())


def classes_of(labels: NDArray[np.generic]) -> tuple[ClassLabel, ...]:
    """The classes among labels, in order; refuses fewer than two."""
    found = distinct(labels)
    if len(found) < 2:
        raise DataError("The labels hold one class only; a classifier needs rows of at least two classes.")
    return found


def class_numbers(labels: NDArray[np.generic], classes: tuple[ClassLabel, ...]) -> NDArray[np.int64]:
    """Labels as positions among the classes; refuses a label that is none of them."""
    numbers, strange = places_among(labels, classes)
    if strange.any():
        raise DataError(
            f"{int(strange.sum())} labels (the first at row {int(strange.argmax())}) belong to none of the model's "
            f"{len(classes)} classes."
        )
    return numbers


def places_among(
    labels: NDArray[np.generic], classes: tuple[ClassLabel, ...]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Labels as positions among the classes, and which of them are none."""
    known = np.array(classes)
    if known.dtype.kind == labels.dtype.kind or {known.dtype.kind, labels.dtype.kind} <= set("iufb"):
        numbers = np.minimum(np.searchsorted(known, labels), len(known) - 1)
        return numbers, known[numbers] != labels
    places = {c: i for i, c in enumerate(classes)}
    numbers = np.array([places.get(x, -1) for x in labels.tolist()], np.int64)
    return numbers, numbers < 0


def dense(table: Table) -> NDArray[np.float32]:
    """The values of a table, written out with what a sparse one does not store."""
    values: Any = table.values
    if isinstance(values, np.ndarray):
        return values
    full = np.full(values.shape, table.absent, np.float32)
    full[np.repeat(np.arange(values.shape[0]), np.diff(values.indptr)), values.indices] = values.data
    return full
