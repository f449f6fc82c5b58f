"""Cuts one table into parties, for simulations: by rows, or by columns.

Whoever cuts or joins tables here holds everybody's rows. Every row keeps its id, by which it is drawn when rows are
sampled, so that the parties together draw the rows that the whole table draws.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import sqrt
from numbers import Integral, Real
from sys import float_info
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.data.sparse import is_sparse, one_below_another
from hedgerow.data.table import LARGEST, Column, Table
from hedgerow.errors import DataError, Keyword, ParameterError, Sentence

HOWS = ("even", "order", "quantity", "labels")
MOST_ALPHA = 1e9  # all but even
MOST_CLASSES = 100  # more distinct whole numbers are no classes
LABEL_GROUPS = 10
HELD_OUT = 4 << 60  # a stream of draws of its own: those of trees begin with 1, 2 and 3


def rows(
    X: Any,
    y: Any = None,
    n: int = 5,
    *,
    how: str = "even",
    alpha: float = 0.5,
    noise: float = 0.0,
    seed: int = 0,
    names: Sequence[str] | None = None,
    weights: Any = None,
    ids: Any = None,
    categorical: Iterable[str | int] = (),
) -> dict[str, Table]:
    """Each row to one of `n` parties, at least one row to each; without ids, the row numbers become the ids.

    `how` is "even" (shuffled), "order" (blocks), "quantity" (sizes drawn from a Dirichlet distribution with
    concentration `alpha`) or "labels" (each class dealt by shares so drawn; of many numbers, each tenth is a class).
    Numeric values of the i-th party get Gaussian noise with variance `noise * i`: it makes parties differ and hides
    nothing. `names` are the parties'; X, y, weights, ids and categorical are as in `Table.of`.
    """
    if how not in HOWS:
        raise ParameterError(f"how={how!r} is unknown; it is one of {', '.join(map(repr, HOWS))}.")
    _check(n=n, alpha=alpha, noise=noise, seed=seed)
    parties = _party_names(names, n)
    table = numbered(Table.of(X, y, categorical=categorical, weights=weights, ids=ids))
    if n > table.n_rows:
        raise DataError(f"{table.n_rows} rows are too few for {n} parties, each with a row; ask for fewer parties.")
    rng = np.random.default_rng(seed)
    owners = _none_empty(_owners(table, n, how, alpha, rng), n, rng)
    ends = np.cumsum(np.bincount(owners, minlength=n))[:-1]
    parts = [table.take(own) for own in np.split(np.argsort(owners, kind="stable"), ends)]
    if noise > 0:
        for i, part in enumerate(parts, 1):
            _add_noise(part, sqrt(float(noise) * i), rng)
    return dict(zip(parties, parts, strict=True))


def columns(
    X: Any,
    y: Any = None,
    n: int = 2,
    *,
    share: Sequence[Sequence[str | int]] | None = None,
    seed: int | None = None,
    names: Sequence[str] | None = None,
    weights: Any = None,
    ids: Any = None,
    categorical: Iterable[str | int] = (),
) -> dict[str, Table]:
    """Each column to one of `n` parties, in their order or (with a `seed`) shuffled; labels and weights to the first.

    `share` names the columns of each party itself. All parties have the same rows; without ids, the row numbers become
    the ids. X, y, weights, ids and categorical are as in `Table.of`.
    """
    table = numbered(Table.of(X, y, categorical=categorical, weights=weights, ids=ids))
    shares = _column_shares(table, n, share, seed)
    parties = _party_names(names, len(shares))
    parts = {}
    for i, (name, own) in enumerate(zip(parties, shares, strict=True)):
        part = table.aligned([table.columns[c] for c in own])
        parts[name] = part if i == 0 else replace(part, labels=None, weights=None)
    return parts


def hold_out(parties: Mapping[str, Table], share: float, seed: int = 0) -> tuple[dict[str, Table], dict[str, Table]]:
    """Training and validation rows of each party: each row is held out with the probability `share`.

    A hash of (seed, row id) decides, wherever a row lies. A party may be left without validation rows (a table of
    0 rows), never without training rows: of a party whose rows are all drawn, the one with the greatest draw stays.
    """
    _check(share=share, seed=seed)
    training, validation = {}, {}
    for name, table in parties.items():
        own = numbered(table)
        draws = _native.draws(own.row_keys(), seed, HELD_OUT)
        held_out = draws < np.uint64(int(float(share) * 2**64))
        if held_out.all() and table.n_rows:
            held_out[draws.argmax()] = False
        training[name], validation[name] = own.take(~held_out), own.take(held_out)
    return training, validation


def pooled(parties: Mapping[str, Table]) -> Table:
    """The rows of all parties in one table: ordered by id if ids are distinct whole numbers, else party by party.

    Columns are matched by name, in the first party's order; categories are the union. Ids that two parties share
    are kept, so that each row is drawn as at its party.
    """
    _check_joinable(parties)
    columns = _joined_columns(parties)
    tables = [table.aligned(columns) for table in parties.values()]
    parts: list[Any] = [table.values for table in tables]
    values = one_below_another(parts) if is_sparse(parts[0]) else np.concatenate(parts)
    beside: dict[str, Any] = {what: _joined(parties, what) for what in ("labels", "weights", "ids")}
    table = Table(columns, values, tables[0].absent, **beside)
    if table.ids is None or table.ids.dtype.kind != "i":
        return table
    order = np.argsort(table.ids)
    ascending = table.ids[order]
    return table.take(order) if (ascending[1:] > ascending[:-1]).all() else table


def positions_of(own: Sequence[str | int], names: Sequence[str], option: str) -> list[int]:
    """Where columns lie that an option names, by name or position."""
    where = {name: j for j, name in enumerate(names)} | {j: j for j in range(len(names))}
    for item in own:
        if item not in where:
            raise DataError(f"{option}= names the column {item!r}, which is not there.")
    return [where[item] for item in own]


def _column_shares(
    table: Table, n: int, share: Sequence[Sequence[str | int]] | None, seed: int | None
) -> list[list[int]]:
    if share is None:
        _check(n=n, seed=seed or 0)
        if n > table.n_columns:
            raise DataError(f"{table.n_columns} columns are too few for {n} parties; ask for fewer parties.")
        order = np.arange(table.n_columns) if seed is None else np.random.default_rng(seed).permutation(table.n_columns)
        return [sorted(part.tolist()) for part in np.array_split(order, n)]
    shares = [positions_of(own, table.names, "share") for own in share]
    flat = [c for own in shares for c in own]
    if len(set(flat)) != len(flat) or not all(shares):
        raise ParameterError("Every party needs a column, and no column may go to two parties.")
    return shares


# Checks


def _check(**given: object) -> None:
    limits: dict[str, tuple[type, Callable[[Any], bool], str]] = {
        "n": (Integral, lambda n: n >= 1, "a whole number of at least 1"),
        "alpha": (Real, lambda alpha: 0 < alpha <= MOST_ALPHA, f"a number above 0 and at most {MOST_ALPHA:g}"),
        "noise": (Real, lambda noise: 0 <= noise <= float_info.max, "a finite number of at least 0"),
        "share": (Real, lambda share: 0 <= share < 1, "a number from 0 to below 1"),
        "seed": (Integral, lambda seed: 0 <= seed < 2**63, "a whole number from 0 to 2**63 - 1"),
    }
    for name, value in given.items():
        kind, allows, meaning = limits[name]
        if not isinstance(value, kind) or isinstance(value, bool) or not allows(value):
            raise ParameterError(f"{name} must be {meaning}; it is {value!r}.")


def _party_names(names: Sequence[str] | None, n: int) -> list[str]:
    if names is None:
        return [f"party{i}" for i in range(1, n + 1)]
    if len(names) != n:
        raise ParameterError(f"{len(names)} names were given for {n} parties; give one for each party, and set n.")
    parties = [str(name) for name in names]
    for i, name in enumerate(parties):
        if name in parties[:i]:
            raise ParameterError(f"Party name {name!r} occurs more than once; give each party a name of its own.")
    return parties


# Which party gets which row


def _owners(table: Table, n: int, how: str, alpha: float, rng: np.random.Generator) -> NDArray[np.intp]:
    if how == "quantity":
        return _dealt(table.n_rows, n, alpha, rng)
    if how == "labels":
        return _dealt_by_label(table.labels, n, alpha, rng)
    evenly = np.arange(table.n_rows) % n
    return np.sort(evenly) if how == "order" else rng.permutation(evenly)


def _dealt_by_label(labels: NDArray[Any] | None, n: int, alpha: float, rng: np.random.Generator) -> NDArray[np.intp]:
    if labels is None:
        raise DataError("how='labels' deals rows by their labels, and the table has none; give y.")
    owners = np.empty(len(labels), np.intp)
    classes = _classes(labels)
    for found in np.split(np.argsort(classes, kind="stable"), np.cumsum(np.bincount(classes))[:-1]):
        owners[found] = _dealt(len(found), n, alpha, rng)
    return owners


def _classes(labels: NDArray[Any]) -> NDArray[np.intp]:
    """Each row's class as a number; labels of a regression are cut into groups of about equal size."""
    distinct, classes = np.unique(labels, return_inverse=True)
    return classes if _name_classes(labels, distinct) else np.searchsorted(_edges(labels), labels, side="right")


def first_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """The lowest label of each class, ascending: each label, or the lowest of each group of a regression's."""
    distinct = np.unique(labels)
    return distinct if _name_classes(labels, distinct) else np.unique([distinct[0], *_edges(labels)])


def _name_classes(labels: NDArray[Any], distinct: NDArray[Any]) -> bool:
    whole = labels.dtype.kind != "f" or bool((distinct == np.floor(distinct)).all())
    return labels.dtype.kind not in "if" or len(distinct) <= (MOST_CLASSES if whole else LABEL_GROUPS)


def _edges(labels: NDArray[Any]) -> NDArray[Any]:
    edges: NDArray[Any] = np.sort(labels)[np.arange(1, LABEL_GROUPS) * len(labels) // LABEL_GROUPS]
    return edges


def _dealt(count: int, n: int, alpha: float, rng: np.random.Generator) -> NDArray[np.intp]:
    """Owners of so many rows: shares drawn, rounded by largest remainder, and shuffled."""
    exact = rng.dirichlet(np.full(n, float(alpha))) * count
    sizes = np.floor(exact).astype(np.intp)
    sizes[np.argsort(sizes - exact, kind="stable")[: count - sizes.sum()]] += 1
    return rng.permutation(np.repeat(np.arange(n), sizes))


def _none_empty(owners: NDArray[np.intp], n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """A party without rows gets one of the largest party's."""
    sizes = np.bincount(owners, minlength=n)
    for empty in np.flatnonzero(sizes == 0):
        largest = sizes.argmax()
        owners[rng.choice(np.flatnonzero(owners == largest))] = empty
        sizes[largest] -= 1
        sizes[empty] = 1
    return owners


def numbered(table: Table) -> Table:
    """With its rows' numbers as ids, if it has none."""
    return table if table.ids is not None else replace(table, ids=np.arange(table.n_rows, dtype=np.int64))


def _add_noise(part: Table, deviation: float, rng: np.random.Generator) -> None:
    """Noise on the numeric values that are stored, in place; a missing value stays missing."""
    numeric = np.array([column.kind == "numeric" for column in part.columns])
    cells: NDArray[np.float32]
    at: Any
    if isinstance(part.values, np.ndarray):
        cells, at = part.values, (slice(None), np.flatnonzero(numeric))
    else:
        cells, at = part.values.data, numeric[part.values.indices]
    clean = cells[at]
    with np.errstate(over="ignore"):
        cells[at] = clean + rng.normal(0.0, deviation, clean.shape)
    if (np.abs(cells) >= LARGEST).any():
        raise ParameterError("noise carries a value beyond the range of 32-bit floats; choose less noise.")


# One table again


def _check_joinable(parties: Mapping[str, Table]) -> None:
    if not parties:
        raise DataError("There are no parties to pool; give at least one.")
    first, *others = parties
    one = parties[first]
    for name in others:
        table = parties[name]
        if set(table.names) != set(one.names):
            odd = sorted(set(table.names) ^ set(one.names))[0]
            raise DataError(
                f"Only one of parties {first!r} and {name!r} has column {odd!r}; give all parties the same columns."
            )
        if is_sparse(table.values) != is_sparse(one.values):
            raise DataError(
                f"Of parties {first!r} and {name!r} one has a sparse table and one a dense; make all tables alike."
            )
        if is_sparse(one.values) and np.isnan(table.absent) != np.isnan(one.absent):
            raise DataError(
                f"What a sparse table does not store is zero at one of parties {first!r} and {name!r} and missing "
                "at the other; give both the same absent=."
            )


def _joined_columns(parties: Mapping[str, Table]) -> tuple[Column, ...]:
    """The first party's columns, each with the categories of all parties."""
    every = [{column.name: column for column in table.columns} for table in parties.values()]
    return tuple(joined_column([columns[name] for columns in every]) for name in every[0])


def joined_column(same: Sequence[Column]) -> Column:
    """One column of several parties, with the categories of all of them."""
    if len({column.kind for column in same}) > 1:
        name = same[0].name
        what = f"Column {name!r} is numeric at one party and categorical at another; make it the same at all, with "
        raise DataError(Sentence(what, Keyword("categorical"), " where the tables are made."))
    return replace(same[0], categories=tuple(sorted({text for column in same for text in column.categories})))


def _joined(parties: Mapping[str, Table], what: str) -> NDArray[Any] | None:
    """The parties' labels, weights or ids, one after the other."""
    parts = {name: getattr(table, what) for name, table in parties.items()}
    given = [part for part in parts.values() if part is not None]
    if not given:
        return None
    if len(given) < len(parts):
        lacking = next(name for name, part in parts.items() if part is None)
        raise DataError(f"Party {lacking!r} has no {what} and another has; give {what} to all parties or to none.")
    if len({"numbers" if part.dtype.kind in "biuf" else "text" for part in given}) > 1:
        raise DataError(f"The {what} are numbers at one party and text at another; make them the same at all.")
    return np.concatenate(given)
