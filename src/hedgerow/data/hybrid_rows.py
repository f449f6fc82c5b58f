"""Which passive party holds which rows, in simulations: dealt by hashes of (seed, id).

What is drawn once, from the training rows, is kept in a `Deal`, so that test rows can be dealt by the same shares.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.data.cells import text_of
from hedgerow.data.hybrid_cut import HybridCut
from hedgerow.data.partition import first_labels, positions_of
from hedgerow.data.table import Table
from hedgerow.errors import DataError

Bools = NDArray[np.bool_]
Keys = NDArray[np.uint64]

STREAM = 6 << 60  # a stream of draws of its own, as those of trees (1 to 3), held-out rows (4) and parties (5) are
FIRST, FURTHER, EXTRA, UNCOVERED, ACTIVE, GROUPS = (STREAM | what << 32 for what in range(6))
BLOCK = 1 << 16
LEAST_SHARE = 1e-12


@dataclass(frozen=True, eq=False)
class Deal:
    """What is drawn before rows are dealt."""

    names: tuple[str, ...]
    """Of the passive parties."""
    first_labels: NDArray[Any]
    """The lowest label of each class."""
    shares: NDArray[np.float64]
    """Of each class's rows, by party."""
    groups: dict[str, int]
    """The party of each value of the column that rows are dealt by."""

    @classmethod
    def of(cls, table: Table, cut: HybridCut) -> "Deal":
        """Drawn for these training rows."""
        groups = _groups(table, cut) if cut.by is not None else {}
        names = tuple(groups) if cut.parties is None else _names(cut, cut.parties)
        if cut.holders > len(names):
            raise DataError(f"{cut.holders} parties cannot hold each row where there are {len(names)}.")
        classes = np.zeros(1)
        if cut.how == "labels":
            if table.labels is None:
                raise DataError("how='labels' deals rows by their labels, and the table has none; give y.")
            classes = first_labels(table.labels)
        rng = np.random.default_rng([cut.seed, 1])
        skewed = rng.dirichlet(np.full(len(names), float(cut.alpha)), len(classes))
        even = np.full((1, len(names)), 1 / len(names))
        return cls(names, classes, skewed if cut.how == "labels" else even, groups)

    def evenly(self) -> "Deal":
        """The same parties, with shares alike."""
        n = len(self.names)
        return Deal(self.names, self.first_labels[:1], np.full((1, n), 1 / n), {})


def held(table: Table, cut: HybridCut, deal: Deal, *, none_empty: bool) -> Bools:
    """Which rows each party holds (parties x rows); with `none_empty`, each at least one."""
    keys, rows = table.row_keys(), np.arange(table.n_rows)
    classes = np.zeros(len(keys), np.intp)
    if len(deal.shares) > 1:
        classes = np.maximum(np.searchsorted(deal.first_labels, np.asarray(table.labels), side="right") - 1, 0)
    first = _group_parties(table, cut, deal) if deal.groups else _first(keys, classes, deal, cut.seed)
    held = np.zeros((len(deal.names), len(keys)), np.bool_)
    held[first[first >= 0], rows[first >= 0]] = True
    if cut.holders > 1:
        _add_further(held, keys, classes, deal, cut)
    covered = (first >= 0) & (_native.draws(keys, cut.seed, UNCOVERED) >= np.uint64(int(cut.uncovered * 2**64)))
    _add_extra(held, keys, covered, cut)
    held &= covered
    if none_empty:
        _fill_empty(held, _native.draws(keys, cut.seed, FIRST))
    return held


def least(keys: Keys, n: int, seed: int, stream: int) -> NDArray[np.intp]:
    """The rows with the `n` least draws, in their order."""
    return np.sort(np.argsort(_native.draws(keys, seed, stream), kind="stable")[:n])


def column_of(table: Table, column: str | int) -> tuple[str, NDArray[np.float32]]:
    """A column's name and its cells."""
    (place,) = positions_of([column], table.names, "by")
    part: Any = table.aligned([table.columns[place]]).values
    if isinstance(part, np.ndarray):
        return table.names[place], part[:, 0]
    cells = np.full(table.n_rows, table.absent, np.float32)
    cells[np.repeat(np.arange(table.n_rows), np.diff(part.indptr))] = part.data
    return table.names[place], cells


# By a column


def _texts(table: Table, cut: HybridCut) -> tuple[list[str | None], NDArray[np.intp]]:
    """The distinct values of the column that rows are dealt by, and each row's."""
    name, cells = column_of(table, cut.by if cut.by is not None else 0)
    categories = next(column.categories for column in table.columns if column.name == name)
    distinct, codes = np.unique(cells, return_inverse=True)
    texts = [text_of(cell) for cell in distinct]
    return [categories[int(text)] if text and categories else text for text in texts], codes


def _groups(table: Table, cut: HybridCut) -> dict[str, int]:
    found = [text for text in _texts(table, cut)[0] if text is not None]
    n = len(found) if cut.parties is None else cut.parties
    if len(found) < n or not found:
        raise DataError(f"The column of by= has {len(found)} values, too few for {n} parties; ask for fewer parties.")
    if cut.parties is None:
        return {text: i for i, text in enumerate(found)}
    keys = np.array([_group_key(text) for text in found], np.uint64)
    order = np.argsort(_native.draws(keys, cut.seed, GROUPS), kind="stable")
    return {found[place]: i % n for i, place in enumerate(order)}


def _group_parties(table: Table, cut: HybridCut, deal: Deal) -> NDArray[np.intp]:
    """The party of each row's value; a value that the training rows lack has a party if parties hold many values."""
    texts, codes = _texts(table, cut)
    parties = []
    for text in texts:
        party = -1 if text is None else deal.groups.get(text, -1)
        if party < 0 and text is not None and cut.parties is not None:
            draw = _native.draws(np.array([_group_key(text)], np.uint64), cut.seed, GROUPS)[0]
            party = int(draw) % len(deal.names)
        parties.append(party)
    return np.array(parties, np.intp)[codes]


def _group_key(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


# By shares


def _first(keys: Keys, classes: NDArray[np.intp], deal: Deal, seed: int) -> NDArray[np.intp]:
    """Each row's first holder: of each class, rows in the order of their draws, as many as the shares say."""
    owners = np.empty(len(keys), np.intp)
    order = np.argsort(_native.draws(keys, seed, FIRST), kind="stable")
    for number, shares in enumerate(deal.shares):
        rows = order[classes[order] == number]
        exact = shares * len(rows)
        sizes = np.floor(exact).astype(np.intp)
        sizes[np.argsort(sizes - exact, kind="stable")[: len(rows) - sizes.sum()]] += 1
        owners[rows] = np.repeat(np.arange(len(shares)), sizes)
    return owners


def _add_further(held: Bools, keys: Keys, classes: NDArray[np.intp], deal: Deal, cut: HybridCut) -> None:
    """More holders of each row, drawn without repeating one, each as likely as its share."""
    for rows in _blocks(len(keys)):
        draws = np.stack([_native.draws(keys[rows], cut.seed, FURTHER | party) for party in range(len(held))])
        uniform = (draws.astype(np.float64) + 0.5) / 2**64
        shares = np.maximum(deal.shares[classes[rows]].T, LEAST_SHARE)
        waits = np.where(held[:, rows], -1, -np.log(np.minimum(uniform, 1 - 1e-16)) / shares)
        chosen = np.argsort(waits, axis=0, kind="stable")[: cut.holders]
        np.put_along_axis(held[:, rows], chosen, True, axis=0)


def _blocks(n: int) -> Iterator[slice]:
    return (slice(start, start + BLOCK) for start in range(0, n, BLOCK))


def _add_extra(held: Bools, keys: Keys, covered: Bools, cut: HybridCut) -> None:
    rng = np.random.default_rng([cut.seed, 2])
    for party, own in enumerate(held):
        others = np.flatnonzero(covered & ~own)
        n = int(rng.random() * (int(cut.extra * len(keys)) + 1))
        own[others[least(keys[others], n, cut.seed, EXTRA | party)]] = True


def _fill_empty(held: Bools, draws: Keys) -> None:
    """A party without rows gets that of the largest party with the least draw."""
    for party in np.flatnonzero(~held.any(axis=1)):
        sizes = held.sum(axis=1)
        largest = int(sizes.argmax())
        if sizes[largest] < 2:
            raise DataError("There are too few rows for a row at each passive party; ask for fewer parties.")
        own = np.flatnonzero(held[largest])
        row = own[draws[own].argmin()]
        held[largest, row], held[party, row] = False, True


def _names(cut: HybridCut, n: int) -> tuple[str, ...]:
    names = [f"passive{i}" for i in range(1, n + 1)] if cut.names is None else list(map(str, cut.names))
    if len(names) != n or len(set(names)) != n:
        raise DataError(f"{n} passive parties need as many names, no two alike; names= has {len(set(names))}.")
    return tuple(names)
