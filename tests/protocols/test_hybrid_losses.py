"""Banks that are lost and come back, in hybrid runs: the run waits and the forest is the same, or it goes on without.

`tests/protocols/test_vertical_losses.py` has what is the same where all parties have all rows.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from federated import Lossy, MemoryLog, params_of, same, step
from hedgerow.corridor import messages as m
from hedgerow.errors import PartyLost, PrivacyError
from hedgerow.model import train as pooled
from hedgerow.model.prepare import growth_of
from hedgerow.model.train import Task
from hedgerow.run.folder.private_state import CutsFile, PlacesFile
from hedgerow.trees.losses import Loss

sys.path.insert(0, str(Path(__file__).parents[1] / "equal"))
from test_hybrid import SHARED, banks_of, hybrid, network

PARAMS = params_of(max_depth=4, n_estimators=4)
KINDS = {
    "linkage": m.LinkCounts,
    "columns": m.AskCounts,
    "cut points": m.ShareColumns,
    "sums": m.AskSealedSums,
    "sides": m.AskSides,
    "end of a tree": m.EndRound,
}


class Losing:
    """Loses these parties once, at the n-th request of a kind; with `killed`, another process comes back."""

    def __init__(self, fed, names, kind, nth=1, killed=False):
        self.fed, self.names, self.kind, self.nth, self.killed, self.lost, self.seen = (
            fed,
            names,
            kind,
            nth,
            killed,
            [],
            {},
        )

    def __call__(self, name, request):
        if name not in self.names or name in self.lost or not isinstance(request, self.kind):
            return False
        self.seen[name] = self.seen.get(name, 0) + 1
        if self.seen[name] < self.nth:
            return False
        self.lost.append(name)
        if self.killed:
            self.fed.restart(name)
        return True


def lasting(where, parties, params=PARAMS, **options):
    """Banks that find what they kept when their process is another."""
    fed = hybrid(parties, params, logs={name: MemoryLog() for name in parties}, **options)
    fresh, digest = fed.party, fed.plan.digest

    def party(name):
        made, folder = fresh(name), where / name
        folder.mkdir(exist_ok=True)
        made.owner = replace(made.owner, keeps=CutsFile(folder / "cuts", digest), places=PlacesFile(folder, digest))
        return made

    fed.party = party
    for name in list(fed.parties):
        fed.restart(name)
    return fed


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("at", KINDS)
def test_three_banks_of_seven_that_are_lost_change_nothing(tmp_path, at, killed):
    split, _ = banks_of(n_banks=7, n_accounts=140, n=600)
    fed = lasting(tmp_path, split, **SHARED)
    losing = Losing(fed, ("bank1", "bank4", "bank6"), KINDS[at], 3 if at in ("sums", "sides") else 1, killed)
    whole = fed.whole(transport=Lossy(fed, losing))
    assert len(losing.lost) == 3
    assert whole.forest == hybrid(split, PARAMS, **SHARED).whole().forest


def test_under_encryption_it_is_the_same(tmp_path):
    split, _ = banks_of(n_banks=4, n=150, n_accounts=60)
    params = params_of(max_depth=3, n_estimators=2)
    fed = lasting(tmp_path, split, params, protection="lattice", shared=True, levels="AJJ")
    losing = Losing(fed, ("bank1", "bank2", "bank3"), m.AskSealedSums, 2, killed=True)
    whole = fed.whole(transport=Lossy(fed, losing))
    assert len(losing.lost) == 3
    assert whole.forest == hybrid(split, params, shared=True, levels="AJJ").whole().forest


def test_banks_without_shared_columns_that_come_back_change_nothing(tmp_path):
    parties, _ = network()
    fed = lasting(tmp_path, parties)
    losing = Losing(fed, ("bank0", "bank2"), m.AskSides, 3, killed=True)
    assert same(fed.whole(transport=Lossy(fed, losing)), hybrid(parties, PARAMS).whole())
    assert len(losing.lost) == 2


@pytest.mark.parametrize(("kind", "round_"), [(m.AskSealedSums, 2), (m.AskSides, 2), (m.EndRound, 1)])
def test_with_continue_trees_after_a_loss_are_those_of_one_table_without_the_columns_of_the_lost_bank(kind, round_):
    parties, table = network(n=500)
    fed = hybrid(parties, PARAMS, on_loss="continue")
    lossy = Lossy(fed, lambda name, request: name == "bank1" and isinstance(request, kind) and request.round >= round_)
    lossy.returning = False
    model, state = fed.run(transport=lossy)
    assert [names for _, names in state.losses] == [("bank1",)]
    n_before = state.losses[0][0]
    assert 0 < n_before < PARAMS.n_estimators
    theirs = np.isin(model.forest.columns, THEIRS)
    assert not np.isin(model.forest.part(n_before, PARAMS.n_estimators).columns, THEIRS).any()
    known = continued(table, n_before)
    assert np.array_equal(model.forest.columns, known.columns)
    assert np.array_equal(model.forest.values, known.values)
    assert theirs.any()


THEIRS = (5, 6, 7)
"""The columns of the bank that is lost."""


def continued(table, n_before):
    """Trees of all columns, then trees without those of the lost bank, each on what those before it left."""
    task = Task(Loss("logistic"), (0, 1))
    first = pooled.train(table, replace(PARAMS, n_estimators=n_before), task)
    empty = np.array(table.values)  # a column of one value cannot be cut
    empty[:, THEIRS] = 0
    rest = replace(PARAMS, n_estimators=PARAMS.n_estimators - n_before)
    ready = pooled.prepare(replace(table, values=empty), rest, task)
    before = pooled.prepare(table, rest, replace(task, start=first))
    ready.rows.own.scores[...] = before.rows.own.scores
    growth = growth_of(ready.fixed.grid, rest, ready.fixed.scales, 1)
    return pooled.boost(ready.rows, growth, rest, ready.fixed.scales, 1, start=first.forest).forest


def test_a_bank_that_comes_back_with_other_sums_ends_the_run_and_all_who_share_are_named():
    """Of a total nobody can say whose part is another."""
    split, _ = banks_of()
    fed, lost = hybrid(split, PARAMS, **SHARED), []

    def lose(name, request):
        if name != "bank2" or not step(m.AskSides, 1, 2)(request) or lost:
            return False
        lost.append(name)
        codes = fed.parties[name].passive.run.table.own_codes
        codes[:] = codes[:, ::-1].copy()
        return True

    with pytest.raises(PrivacyError, match="Party 'bank0, bank1, bank2, bank3' says something else of the same rows"):
        fed.model(transport=Lossy(fed, lose))


def test_a_bank_that_comes_back_with_other_values_is_found_out_by_the_others():
    """Cut points are searched for by what was counted, and the others were asked for other counts before."""
    split, _ = banks_of()
    fed, lost = hybrid(split, PARAMS, **SHARED), []

    def lose(name, request):
        if name != "bank2" or not step(m.AskSides, 1, 2)(request) or lost:
            return False
        lost.append(name)
        own = fed.tables[name]
        fed.tables[name] = replace(own, values=np.asarray(own.values)[::-1].copy())
        fed.restart(name)
        return True

    with pytest.raises(PrivacyError, match="Step 3 of round -1 was answered before for other cuts or other parties"):
        fed.model(transport=Lossy(fed, lose))


def test_a_bank_that_stays_away_ends_a_shared_run_and_nothing_was_opened_without_it():
    split, _ = banks_of()
    fed = hybrid(split, PARAMS, **SHARED)
    lossy = Lossy(fed, lambda name, request: name == "bank2" and step(m.AskSealedSums, 1, 1)(request))
    lossy.returning = False
    with pytest.raises(PartyLost, match="bank2"):
        fed.model(transport=lossy)
