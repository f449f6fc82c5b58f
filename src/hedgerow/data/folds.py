"""Cross-validation over several parties: rows are dealt into folds by a hash of their ids, alike at every party.

A row whose id two parties have, or an id with several rows, lies in one fold everywhere, and who joins later or brings
fewer rows changes no fold of the others. So each party could find its folds alone.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.data.table import Table
from hedgerow.errors import ParameterError

FOLDS = 9 << 60  # a stream of draws of its own: those of trees and cuts have smaller numbers

Keys = NDArray[np.uint64]


class PartyTables(Mapping[str, Table]):
    """Tables by party, and besides something that scikit-learn can cut into training and test rows, by their ids.

    For `cross_val_score`, `GridSearchCV` and the like; goes wherever a mapping of tables does.
    """

    def __init__(self, tables: Mapping[str, Table]) -> None:
        self._tables = dict(tables)
        if not self._tables or not all(isinstance(table, Table) for table in self._tables.values()):
            raise ParameterError("PartyTables takes a mapping from the names of parties to their Tables.")
        self._keys = {name: table.row_keys() for name, table in self._tables.items()}
        self.keys_of_rows: Keys = np.unique(np.concatenate(list(self._keys.values())))
        """The ids of all parties, each once, as numbers."""

    def __getitem__(self, name: str) -> Table:
        return self._tables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def __repr__(self) -> str:
        return f"<PartyTables of {', '.join(self)}: {self.shape[0]} ids, {self.shape[1]} columns>"

    @property
    def shape(self) -> tuple[int, int]:
        """Different ids and different columns."""
        return len(self.keys_of_rows), len({name for table in self._tables.values() for name in table.names})

    @property
    def iloc(self) -> "PartyTables":
        """Says to scikit-learn that rows are taken by `take`, as of a frame."""
        return self

    def take(self, rows: Any, axis: int = 0) -> "PartyTables":
        """The rows of these ids, by their places among all ids, at every party."""
        if axis != 0:
            raise ParameterError("PartyTables are cut by rows only.")
        chosen = self.keys_of_rows[np.asarray(rows)]
        return PartyTables(
            {name: table.take(np.isin(self._keys[name], chosen)) for name, table in self._tables.items()}
        )


class HashFolds:
    """A splitter for scikit-learn's `cv=`: each row's fold is a hash of its id and the seed."""

    def __init__(self, n_splits: int = 5, seed: int = 0) -> None:
        if type(n_splits) is not int or n_splits < 2:
            raise ParameterError(f"n_splits must be a whole number of at least 2; it is {n_splits!r}.")
        self.n_splits, self.seed = n_splits, seed

    def __repr__(self) -> str:
        return f"HashFolds(n_splits={self.n_splits}, seed={self.seed})"

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002  # scikit-learn's
        """How many folds there are."""
        return self.n_splits

    def folds(self, keys: Keys) -> NDArray[np.int64]:
        """The fold of each id."""
        draws = _native.draws(np.ascontiguousarray(keys), self.seed, FOLDS)
        return np.asarray(((draws >> np.uint64(32)) * np.uint64(self.n_splits)) >> np.uint64(32), np.int64)

    def split(
        self,
        X: Any,
        y: Any = None,  # noqa: ARG002  # scikit-learn's
        groups: Any = None,  # noqa: ARG002  # likewise
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Places of the rows to learn from and of those to test on, fold by fold."""
        fold = self.folds(_keys_of(X))
        for number in range(self.n_splits):
            test = fold == number
            if not test.any() or test.all():
                raise ParameterError(f"{len(fold)} ids are too few for {self.n_splits} folds; ask for fewer.")
            yield np.flatnonzero(~test), np.flatnonzero(test)


def _keys_of(X: Any) -> Keys:
    if isinstance(X, PartyTables):
        return X.keys_of_rows
    if isinstance(X, Table):
        return X.row_keys()
    return np.arange(len(X) if not hasattr(X, "shape") else X.shape[0], dtype=np.uint64)
