"""Rows in parts give the trees of the same rows in one table, whichever part is lost and whenever."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from hedgerow import GBDTClassifier, Table
from hedgerow.errors import DataError
from hedgerow.model.parted_table import described
from hedgerow.model.parted_train import train_parts
from hedgerow.model.rows_part import RowsPart
from hedgerow.model.train import Task
from hedgerow.trees.losses import Loss
from hedgerow.trees.params import TreeParams
from hedgerow.trees.parted_rows import PartLost

N, PARAMS = 600, TreeParams(n_estimators=3, max_depth=2, subsample=0.8)


def table(first: int = 0, last: int = N) -> Table:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=N) / 2 > 0).astype(int)
    return Table.of(X[first:last], y[first:last])


class PartsHere:
    """Three parts in this process, of which one is lost in the middle of a question."""

    def __init__(self, lost_at: int = -1, part: int = 1) -> None:
        self.lost_at, self.part, self.asked = lost_at, part, 0
        self.parts: dict[int, RowsPart] = {}
        self.restore()

    def restore(self) -> list[int]:
        edges = (0, 150, 420, N)
        made = [number for number in range(3) if number not in self.parts]
        self.parts |= {number: RowsPart(table(*edges[number : number + 2]), number, 1) for number in made}
        return made

    def each(self, ask: str, *given: Any) -> list[Any]:
        self.asked += 1
        found = []
        for number in range(3):
            if self.asked == self.lost_at and number == self.part:
                del self.parts[number]
                raise PartLost  # those before it have answered, those behind it were not asked
            found.append(getattr(self.parts[number], ask)(*given))
        return found

    def total(self, ask: str, *given: Any) -> Any:
        return np.sum(self.each(ask, *given), axis=0)

    def some(self, numbers: Sequence[int], ask: str, *given: Any) -> None:
        for number in numbers:
            getattr(self.parts[number], ask)(*given)


def trained(parts: PartsHere) -> Any:
    task = Task(Loss("logistic"), (0, 1))
    return train_parts(parts, described(parts, 2), PARAMS, task).forest


def test_whichever_part_is_lost_and_whenever_the_trees_are_the_same() -> None:
    parts = PartsHere()
    whole = GBDTClassifier(n_estimators=3, max_depth=2, subsample=0.8).fit(table()).model_.forest
    assert trained(parts) == whole
    for lost_at in range(1, parts.asked + 1):
        losing = PartsHere(lost_at, lost_at % 3)
        assert trained(losing) == whole, lost_at
        assert losing.asked > parts.asked or lost_at == parts.asked  # nothing begins anew for the remarks at the end


def test_without_the_scores_from_before_a_round_that_begins_anew_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sabotage: survivors that have added the values of a tree add them twice."""
    parts = PartsHere()
    whole = trained(parts)
    monkeypatch.setattr(RowsPart, "start_round", lambda self, round_: self._begun.start_round(round_))
    assert trained(PartsHere()) == whole
    assert any(trained(PartsHere(lost_at, 2)) != whole for lost_at in range(12, parts.asked))


def test_parts_that_are_lost_for_ever_end_the_training() -> None:
    class Hopeless(PartsHere):
        def each(self, ask: str, *given: Any) -> list[Any]:
            raise PartLost

    with pytest.raises(DataError, match="lost again and again"):
        trained(Hopeless())


def test_parts_with_other_columns_are_refused() -> None:
    parts = PartsHere()
    parts.parts[2] = RowsPart(Table.of(np.ones((3, 2)), [0, 1, 1]), 2, 1)
    with pytest.raises(DataError, match="differ in their columns, as in 'f2'"):
        trained(parts)
