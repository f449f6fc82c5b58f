"""What the active party's own note says of passive columns' bins, beside what they really are."""

import numpy as np
import pytest
from scipy.optimize import minimize

from federated import Federation, Lossy, labels, params_of, same, values
from hedgerow.corridor.messages import AskSealedSums, AskSides
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.errors import RunError
from hedgerow.protocols.driver import run
from hedgerow.protocols.leakage import LearntBins
from hedgerow.protocols.vertical.leakage_rows import NotedRows

N = 1500
DEEP = params_of(n_estimators=8, max_depth=5, min_cut_rows=1, max_bin=16)
SHALLOW = params_of(n_estimators=3, max_depth=4, min_cut_rows=1, max_bin=16)


def parties(n=N, missing=0.1):
    X, signal = values(n, n_columns=5, missing=missing)
    return partition.columns(Table.of(X, labels("two", signal)), share=[[0], [1, 2], [3, 4]])


def noted(params=DEEP, tables=None, **more):
    """A federation after its run, and what the active party noted in it."""
    fed = Federation(tables or parties(), params, method="vertical", protection="plain", active="party1", **more)
    model, state = run(fed.driver(notes_bins=True))
    return fed, model, state.learnt


@pytest.fixture(scope="module")
def deep():
    return noted()


class AtOnce(list):
    """Makes every note as soon as it can be made."""

    def append(self, note):
        note()


STEP = ("round", "level")
LOST = {"nobody": (), "a party that is to tell sides": (AskSides, 1, 3), "one that is to sum": (AskSealedSums, 1, 3)}


@pytest.mark.parametrize("lost", LOST.values(), ids=LOST)
def test_what_is_noted_while_others_work_is_what_would_be_noted_at_once(lost, monkeypatch):
    """Also if the run goes on without a party that was asked: what it told before is not asked for again."""

    def learnt():
        on_loss = {"on_loss": "continue"} if lost else {}
        fed = Federation(parties(300), SHALLOW, method="vertical", protection="plain", active="party1", **on_loss)
        here = Lossy(fed, lambda name, r: name == "party3" and lost == (type(r), *(getattr(r, f, 0) for f in STEP)))
        here.returning = False
        state = run(fed.driver(notes_bins=True, transport=here))[1]
        assert bool(state.losses) == bool(lost)
        return state.learnt.packed()

    later = learnt()
    made = NotedRows.__init__

    def at_once(rows, *more):
        made(rows, *more)
        rows._to_note = AtOnce()

    monkeypatch.setattr(NotedRows, "__init__", at_once)
    assert learnt() == later


def true_bins(fed):
    """The bins of all passive columns, as only their owners know them: columns x rows."""
    owners = [fed.parties[name].passive for name in ("party2", "party3")]
    return np.concatenate([owner.run.table.own.matrix.by_column for owner in owners])


def right(learnt, fed, possible):
    """For each row and column whether its true bin is still held possible."""
    bins = true_bins(fed)[:, learnt.rows]
    return np.array([possible[np.arange(len(learnt.rows)), a + b] for a, b in zip(learnt.starts, bins, strict=True)])


def measured(learnt, fed, possible):
    """The share that was told, by the true bins: how surprised a guesser is who weighs what remains possible.

    The weights are fitted to the true bins, as the likeliest ones, by another method than the note's own.
    """
    shares = []
    for bins, a, b in zip(true_bins(fed)[:, learnt.rows], learnt.starts, learnt.ends, strict=True):
        mine, counts = possible[:, a:b], np.bincount(bins, minlength=b - a) / len(bins)

        def surprise(logs, mine=mine, bins=bins):
            return (np.log2((mine * np.exp2(logs)).sum(axis=1)) - logs[bins]).mean()

        start = np.log2(np.maximum(counts, 1e-6))
        shares.append(1 - minimize(surprise, start, method="L-BFGS-B").fun / -np.log2(counts[bins]).mean())
    return np.array(shares)


def test_the_true_bin_is_never_ruled_out(deep):
    fed, _, learnt = deep
    assert right(learnt, fed, learnt.by_sides).all()
    assert right(learnt, fed, learnt.by_both).all()


def test_the_shares_are_those_that_the_true_bins_give(deep):
    fed, _, learnt = deep
    told = learnt.told()
    sides, both = np.array([t.sides for t in told]), np.array([t.sides_and_sums for t in told])
    assert sides == pytest.approx(measured(learnt, fed, learnt.by_sides), abs=0.03)
    assert both == pytest.approx(measured(learnt, fed, learnt.by_both), abs=0.03)
    assert (both >= sides).all()
    assert sides.max() > 0.3
    assert (both - sides).max() > 0.05, "sums of small nodes must tell something"


def test_the_shares_are_right_for_a_column_that_is_nearly_always_the_same(monkeypatch):
    """Rows with the usual value are told at every node where the other bin is empty, the few others hardly ever."""
    tables = parties()
    rare = tables["party2"].values
    rare[:] = rare > 1.6
    fed, _, learnt = noted(params_of(n_estimators=12, max_depth=5, min_cut_rows=1, max_bin=16), tables)
    both, true = [t.sides_and_sums for t in learnt.told()], measured(learnt, fed, learnt.by_both)
    assert right(learnt, fed, learnt.by_both).all()
    assert both == pytest.approx(true, abs=0.03)
    monkeypatch.setattr("hedgerow.protocols.leakage.FITS", 1)
    assert learnt.told()[1].sides_and_sums > true[1] + 0.04, "without a fit it is off"


def test_a_note_that_forgets_sides_is_found_by_the_measurement(deep):
    """The sabotage: the shares without the last cuts do not fit."""
    fed, _, learnt = deep
    half = learnt.by_sides.copy()
    half[:, learnt.starts[0] : learnt.ends[0]] = True
    assert abs(measured(learnt, fed, half)[0] - learnt.told()[0].sides) > 0.2


def test_more_trees_tell_more():
    shares = [sum(t.sides for t in noted(params_of(n_estimators=n, max_depth=3))[2].told()) for n in (1, 6)]
    assert shares[0] < shares[1]


@pytest.mark.parametrize("more", [{"subsample": 0.5}, {"average": True, "subsample": 0.6}])
def test_rows_that_are_not_drawn_are_noted_too(more):
    fed, _, learnt = noted(params_of(n_estimators=4, max_depth=4, **more))
    assert right(learnt, fed, learnt.by_both).all()


def test_the_note_changes_nothing_in_the_model_and_outlives_a_file(deep):
    _, model, learnt = deep
    plain = Federation(parties(), DEEP, method="vertical", protection="plain", active="party1")
    assert same(model, plain.model())
    again = LearntBins.unpacked(learnt.packed())
    assert again.told() == learnt.told()
    assert again.opened == learnt.opened
    with pytest.raises(RunError, match="is damaged; start again"):
        LearntBins.unpacked(learnt.packed()[:40])


def test_of_a_large_table_some_rows_are_looked_at(deep, monkeypatch):
    monkeypatch.setattr("hedgerow.protocols.leakage.MOST_CELLS", 40_000)
    fed, _, learnt = noted()
    assert 500 < len(learnt.rows) < N
    assert right(learnt, fed, learnt.by_both).all()
    whole = [t.sides_and_sums for t in deep[2].told()]
    assert [t.sides_and_sums for t in learnt.told()] == pytest.approx(whole, abs=0.05)


def test_a_column_that_cannot_be_cut_has_nothing_to_tell():
    tables = parties(200)
    tables["party3"].values[:, 0] = 7
    _, _, learnt = noted(params_of(), tables)
    idle = learnt.told()[2]
    assert (idle.party, idle.column, idle.bins, idle.entropy, idle.sides_and_sums) == ("party3", 0, 1, 0.0, 0.0)


def test_opened_sums_are_counted_by_party(deep):
    fed, _, learnt = deep
    owners = {name: fed.parties[name].passive for name in ("party2", "party3")}
    assert learnt.opened == {name: (owner.run.given.sums, owner.run.given.bits) for name, owner in owners.items()}
