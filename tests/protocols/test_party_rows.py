"""A party's rows may be held in another way than in one table here: the forest is the same to the last bit."""

from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest

from federated import Federation, OpenParty, labels, params_of, same, two_class, values
from hedgerow import _native
from hedgerow.agreement.plan import Goal
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.errors import ParameterError, PrivacyError
from hedgerow.protocols.horizontal.own_table import OwnTable
from hedgerow.trees.local import LocalRows


class Halves:
    """Rows held in two halves, whose steps are taken together with other parties' and whose sums are added."""

    one_step = False

    def __init__(self, first, second):
        self.halves, self.threads, self.n_trees = (first, second), first.threads, first.n_trees

    @property
    def clipped(self):
        return sum(half.clipped for half in self.halves)

    @property
    def validated(self):
        return any(half.validated for half in self.halves)

    def put_at_roots(self, round_):
        begins = [half.put_at_roots(round_) for half in self.halves]
        return all(begins)

    def steps(self, *told):
        return tuple(step for half in self.halves for step in half.steps(*told))

    def with_gradients(self, steps):
        each = [half.with_gradients([step]) for half, step in zip(self.halves, steps, strict=True)]
        return tuple(step for (step,), _ in each), sha256(b"".join(digest for _, digest in each)).digest()

    def taken(self, steps, found):
        each = zip(self.halves, steps, found, strict=True)
        return sum(half.taken([step], [words]) for half, step, words in each)

    def adding(self, leaves, values):
        return [add for half in self.halves for add in half.adding(leaves, values)]

    def held_out_sums(self, metric, n_rounds):
        return sum(half.held_out_sums(metric, n_rounds) for half in self.halves if half.validated)


class Elsewhere(Halves):
    """Such rows that do everything by themselves, as a cluster would: nothing is left to be taken here."""

    def steps(self, *told):
        self.own = super().steps(*told)
        return ()

    def with_gradients(self, steps):
        assert steps == ()
        self.own, digest = super().with_gradients(self.own)
        return (), digest

    def taken(self, steps, found):
        assert len(steps) == len(found) == 0
        return super().taken(self.own, _native.take_steps(self.own, 1))

    def adding(self, leaves, values):
        _native.add_values(super().adding(leaves, values), 1)
        return []


class HalvedTable:
    """A table in two halves; the validation rows belong to the second."""

    kind = Halves

    def __init__(self, own, valid, classes, scale_pos_weight, agreement, threads):
        self.columns, self.classes, self.agreement = own.columns, classes, agreement
        middle = own.n_rows // 3
        more = (classes, scale_pos_weight, agreement, threads)
        first, second = own.take(np.arange(middle)), own.take(np.arange(middle, own.n_rows))
        self.halves = OwnTable(first, None, *more), OwnTable(second, valid, *more)

    def counts(self, request):
        return sum(half.counts(request) for half in self.halves)

    def moments(self, request):
        return sum(half.moments(request) for half in self.halves)

    def forget_keys(self):
        for half in self.halves:
            half.forget_keys()

    def check(self, facts):
        for half in self.halves:
            half.check(facts)

    def binned(self, grid, settings, own_bins):
        first, second = (half.binned(grid, settings, own_bins) for half in self.halves)
        return lambda trees: self.kind(first(trees), second(trees))


class TableElsewhere(HalvedTable):
    kind = Elsewhere


class Held(Federation):
    """A federation whose parties hold their rows so."""

    def __init__(self, rows, *given, **more):
        self.rows = rows
        super().__init__(*given, **more)

    def party(self, name):
        party = super().party(name)
        return OpenParty(replace(party.owner, rows=self.rows), 1, party.keep_model)


CASES = {
    "masked": {},
    "plain": {"protection": "plain"},
    "drawn parties": {"party_share": 0.67, "allow_two": True},
    "drawn rows": {"params": params_of(subsample=0.6, colsample_bytree=0.7)},
    "counted rows": {"params": params_of(min_child_rows=7)},
    "opener": {"protection": "lattice", "opener": "party2"},
    "forest": {"params": params_of(average=True, subsample=0.6)},
}


@pytest.mark.parametrize("rows", [HalvedTable, TableElsewhere])
@pytest.mark.parametrize("more", CASES.values(), ids=CASES)
def test_rows_that_are_held_otherwise_grow_the_same_forest(rows, more):
    tables = two_class(3)
    held = Held(rows, tables, **more)
    model = held.model()
    assert same(model, Federation(tables, **more).model())
    assert (model.forest.columns >= 0).any()
    growing = held.parties["party1"].steps.growing
    assert growing is None or not isinstance(growing.rows, LocalRows)


@pytest.mark.parametrize("rows", [HalvedTable, TableElsewhere])
def test_their_validation_rows_stop_the_training_at_the_same_tree(rows):
    X, signal = values(500)
    y = labels("many", signal)
    tables = partition.rows(X[:400], y[:400], 3)
    valid = {"party1": Table.of(X[400:], y[400:])}
    goal = Goal(follow=True, early_stopping_rounds=2)
    model = Held(rows, tables, params_of(n_estimators=8), goal, valid).model()
    assert same(model, Federation(tables, params_of(n_estimators=8), goal, valid).model())
    assert model.history


def test_they_leave_masked_words_only():
    fed = Held(HalvedTable, two_class(3))
    fed.model()
    assert fed.of("MaskedSums")
    assert not fed.of("PlainSums")


def test_whole_trees_are_grown_from_a_table_here_only():
    fed = Held(HalvedTable, two_class(3), method="bagging", protection="plain")
    with pytest.raises(ParameterError, match="rows lie elsewhere"):
        fed.model()


class LooseTable(HalvedTable):
    """The sabotage: rows that give their sums as if a kernel had hidden them."""

    def binned(self, *told):
        made = super().binned(*told)

        def after(forest):
            rows = made(forest)
            taken = rows.taken
            rows.taken = lambda *found: taken(*found).astype(np.uint64)
            return rows

        return after


@pytest.mark.parametrize("more", [{}, {"protection": "plain"}, {"party_share": 0.67, "allow_two": True}])
def test_own_sums_that_look_hidden_do_not_leave(more):
    with pytest.raises(PrivacyError, match="not ready to leave in this way"):
        Held(LooseTable, two_class(3), **more).model()
