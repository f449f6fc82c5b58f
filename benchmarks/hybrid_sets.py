"""Tables cut into hybrid parties, as the HybridTree paper cuts them where it says how.

Adult is dealt by its 123 columns, drawn by the seed: with 20 of them the active party lacks much, with 102, the paper's
number, next to nothing. Of cod-rna the passive parties have columns 0 and 1, without which the others say little.
Payments and accounts are generated: the paper's own are not public.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np

from benchmarks.sets import data_folder, read_libsvm
from hedgerow.data.hybrid_cut import HybridCut
from hedgerow.data.hybrid_partition import HybridTables, hybrid_pair
from hedgerow.data.payments import ACCOUNT_COLUMNS, PRESETS, generate_payments
from hedgerow.data.table import Table

ADULT, COD_RNA = ("a9a.libsvm.gz", "a9a.t.libsvm.gz"), ("cod-rna.libsvm.gz",)
COLUMNS, COD_ROWS = 123, 44_651
PAYMENTS, TEST_PAYMENTS = 1_000_000, 400_000
FEW, FEW_TEST = 200_000, 100_000
BANKS = 25


class Pair(NamedTuple):
    """Training and test rows of the same parties."""

    train: HybridTables
    test: HybridTables


class Whole(NamedTuple):
    """A set before it is cut, and its passive columns."""

    train: Table
    test: Table
    passive: tuple[int | str, ...]


@dataclass(frozen=True)
class HybridSet:
    """A named set; one without files is generated."""

    name: str
    whole: Callable[[int, bool], Whole]
    """By the seed, and whether little is enough."""
    metric: Literal["accuracy", "AUPRC"] = "accuracy"
    files: tuple[str, ...] = ()
    parties: int = 5
    banks: Callable[[int, bool], Pair] | None = None
    """Where passive parties hold rows of their own from the first."""

    @property
    def origin(self) -> str:
        """The word every row says about its data."""
        return "real" if self.files else "generated"

    @property
    def at_hand(self) -> bool:
        """Whether all its files lie in the data folder."""
        return all((data_folder() / file).is_file() for file in self.files)

    def pair(self, seed: int, few: bool = False, test_rows: Any = "alike", **cut: Any) -> Pair:
        """As the set is, or its rows dealt anew as the options of a `HybridCut` say."""
        if self.banks is not None and not cut:
            return self.banks(seed, few)
        train, test, passive = self.whole(seed, few)
        options = HybridCut(passive, seed=seed, **{"parties": self.parties, **cut})
        return Pair(*hybrid_pair(train, test, options, test_rows=test_rows))


def first_rows(made: HybridTables, n: int) -> HybridTables:
    """The first so many of the active party's rows, with what passive parties have of them."""
    active = made.active.take(np.arange(min(n, made.active.n_rows)))
    keys = active.row_keys()
    return HybridTables(
        active, {name: own.take(np.flatnonzero(np.isin(own.row_keys(), keys))) for name, own in made.passive.items()}
    )


@cache
def _adult() -> tuple[Table, Table]:
    (X, y), (X_test, y_test) = (read_libsvm(file, COLUMNS) for file in ADULT)
    return Table.of(X.toarray(), y), Table.of(X_test.toarray(), y_test)


def adult(active: int) -> Callable[[int, bool], Whole]:
    """Adult with so many columns at the active party."""

    def whole(seed: int, few: bool) -> Whole:  # noqa: ARG001  # small enough
        drawn = np.random.default_rng([seed, active]).permutation(COLUMNS)
        return Whole(*_adult(), tuple(sorted(drawn[active:].tolist())))

    return whole


@cache
def _cod_rna() -> tuple[Any, Any]:
    X, y = read_libsvm(COD_RNA[0], 8)
    return X.toarray(), y


def cod_rna(seed: int, few: bool) -> Whole:  # noqa: ARG001  # small enough
    """cod-rna, three quarters of whose rows, drawn by the seed, are there to train on."""
    X, y = _cod_rna()
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[:COD_ROWS], order[COD_ROWS:]
    return Whole(Table.of(X[train], y[train]), Table.of(X[test], y[test]), (0, 1))


@cache
def _payments(preset: str, seed: int, few: bool) -> Pair:
    n, n_test = (FEW, FEW_TEST) if few else (PAYMENTS, TEST_PAYMENTS)
    made = generate_payments(n + n_test, PRESETS[preset], BANKS, seed)
    return Pair(made.by_payment(np.arange(n)), made.by_payment(n + np.arange(n_test)))


def payments(preset: str) -> HybridSet:
    """Payments of one network, and its banks."""

    def pair(seed: int, few: bool) -> Pair:
        _payments.cache_clear()  # one network at a time is enough
        return _payments(preset, seed, few)

    def whole(seed: int, few: bool) -> Whole:
        train, test = _payments(preset, seed, few)
        return Whole(train.pooled(), test.pooled(), ACCOUNT_COLUMNS)

    return HybridSet(f"payments-{preset.lower()}", whole, "AUPRC", parties=BANKS, banks=pair)


SETS = {
    each.name: each
    for each in (
        HybridSet("cod-rna", cod_rna, files=COD_RNA),
        HybridSet("adult-20", adult(20), files=ADULT),
        HybridSet("adult-102", adult(102), files=ADULT),
        payments("AD"),
        payments("DEV"),
    )
}
