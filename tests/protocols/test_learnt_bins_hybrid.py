"""What the active party notes of the bins of parties that have some of the rows; `test_learnt_bins` has the rest."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from federated import Federation, Lossy, labels, params_of, values
from hedgerow.corridor.messages import AskSides
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.protocols.driver import run
from hedgerow.protocols.leakage import LearntBins

sys.path.insert(0, str(Path(__file__).parents[1] / "equal"))
from test_hybrid import banks_of, hybrid, network

DEEP = params_of(n_estimators=6, max_depth=5, min_cut_rows=1, max_bin=16)
GROUP = "bank0, bank1, bank2, bank3"


def noted(fed, **more):
    state = run(fed.driver(notes_bins=True, **more))[1]
    return fed, state.learnt


@pytest.mark.parametrize("levels", ["JJJJJ", "AAJJJ", "JPAJA"])
def test_of_a_party_with_all_rows_it_is_what_a_vertical_run_tells(levels):
    X, signal = values(400)
    table = Table.of(X, labels("two", signal), ids=np.arange(400))
    parts = dict(zip(["network", "bank0", "bank1"], partition.columns(table, n=3).values(), strict=True))
    options = {"protection": "plain", "active": "network", "levels": levels}
    _, vertical = noted(Federation(parts, DEEP, method="vertical", **options))
    rng = np.random.default_rng(0)
    shuffled = {name: part if name == "network" else part.take(rng.permutation(400)) for name, part in parts.items()}
    _, linked = noted(hybrid(shuffled, DEEP, levels=levels))
    assert linked.told() == vertical.told()
    assert linked.opened == vertical.opened
    assert max(column.sides for column in linked.told()) > 0.1


def gaps(shared, levels="AJJJJ", params=DEEP):
    """A federation with rows that banks lack, and what was noted in it."""
    if shared:
        split, _ = banks_of(n=600, n_accounts=200, covered=0.7)
        return noted(hybrid(split, params, levels=levels, shared=True))
    return noted(hybrid(network(n=600)[0], params, levels=levels))


def true_bins(fed, learnt):
    """Of each noted column, its rows among the noted ones and their bins, as only the owners know them."""
    own, out = fed.tables["network"].ids, []
    for names, n in learnt.owners:
        found = {}
        for name in names.split(", "):
            role = fed.parties[name].role
            tables, matrix = role.tables[0], role.rows.run.table.own.matrix
            bins = np.asarray(matrix.by_column).reshape(n, -1)
            found |= {one: bins[:, row] for row, one in enumerate(tables.ids.tolist())}
        rows = [i for i, row in enumerate(learnt.rows.tolist()) if str(own[row]) in found]
        of = np.array([found[str(own[learnt.rows[i]])] for i in rows]).T
        out += [(np.array(rows), of[column]) for column in range(n)]
    return out


@pytest.mark.parametrize("levels", ["AJJJJ", "PAAJP"])
@pytest.mark.parametrize("shared", [True, False])
def test_the_true_bin_of_a_row_that_a_party_has_is_never_ruled_out(shared, levels):
    """Also where some nodes wait for levels of other columns, and are asked about again."""
    waits = replace(DEEP, gamma=4.0) if levels == "PAAJP" else DEEP
    fed, learnt = gaps(shared, levels, waits)
    parties = [owner for owner, (_, n) in enumerate(learnt.owners) for _ in range(n)]
    for (rows, bins), a, owner in zip(true_bins(fed, learnt), learnt.starts, parties, strict=True):
        assert len(rows) > 50
        assert np.array_equal(rows, np.flatnonzero(learnt.here[owner]))
        assert learnt.by_sides[rows, a + bins].all()
        assert learnt.by_both[rows, a + bins].all()
    assert max(column.sides_and_sums for column in learnt.told()) > 0.3


def test_where_columns_are_shared_what_is_told_is_of_all_who_share_them():
    fed, learnt = gaps(True)
    assert [party for party, _ in learnt.owners] == [GROUP]
    assert learnt.sizes[0] == learnt.here.sum() < 600
    sums = fed.of("SealedSums")
    n = sum(heard.sender == "bank0" for heard in sums)
    assert set(learnt.opened) == {GROUP}, "their total is opened, and counted, once"
    assert len(sums) == 4 * n


def entropies(shared):
    """Of each column, as it is noted, and as the true bins of the rows that the party has make it."""
    fed, learnt = gaps(shared)
    true = []
    for _, bins in true_bins(fed, learnt):
        share = np.unique(bins, return_counts=True)[1] / len(bins)
        true.append(-(share * np.log2(share)).sum())
    return np.array([column.entropy for column in learnt.told()]), np.array(true)


@pytest.mark.parametrize("shared", [True, False])
def test_how_full_bins_are_is_known_of_the_rows_that_a_party_has(shared):
    noted_, true = entropies(shared)
    assert noted_ == pytest.approx(true, abs=0.01)


def test_if_rows_that_a_party_lacks_counted_as_missing_values_it_would_be_wrong(monkeypatch):
    """The sabotage."""
    monkeypatch.setattr(LearntBins, "_leave_out_others", lambda *_: None)
    noted_, true = entropies(False)
    assert (np.abs(noted_ - true) > 0.3).all()


def test_it_is_kept_and_read_again():
    _, learnt = gaps(True)
    again = LearntBins.unpacked(learnt.packed())
    assert again.told() == learnt.told()
    assert again.sizes == learnt.sizes


def test_a_loss_on_the_way_changes_nothing():
    split, _ = banks_of(n=600, n_accounts=200, covered=0.7)
    lost = []

    def lose(name, request):
        first = name == "bank2" and isinstance(request, AskSides) and request.round == 2 and not lost
        lost.extend([name] * first)
        return first

    fed = hybrid(split, DEEP, levels="AJJJJ", shared=True)
    _, learnt = noted(fed, transport=Lossy(fed, lose))
    assert lost
    assert learnt.told() == gaps(True)[1].told()
