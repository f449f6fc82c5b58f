"""A hybrid run with drawn cuts: no gradient in any frame, and with passive levels first no trace of labels."""

import numpy as np
import pytest
from test_crossed_columns import fields, holds, traces

from federated import params_of
from hedgerow.protocols.vertical.active import VerticalRows
from runs import some_rows

HOWS = ("clear", "sealed", "masked")
ONE = params_of(n_estimators=2)


def run(levels, other=False, **more):
    fed = some_rows(ONE, other=other, levels=levels, **{"passive_cuts": "random", "align": "given", **more})
    fed.model()
    return fed


def gradients(patch, **more):
    kept, start = [], VerticalRows.start_round

    def noting(self, round_):
        start(self, round_)
        kept.append(self.now.own_gradients.copy())

    patch.setattr(VerticalRows, "start_round", noting)
    return run("APP", **more), kept


def test_no_gradient_is_in_any_frame(monkeypatch):
    fed, found = gradients(monkeypatch)
    assert len(found) == 2
    assert not holds(fed, traces(found))


def test_where_cuts_are_chosen_without_encryption_they_are_there(monkeypatch):
    """The sabotage: the same search finds them."""
    assert holds(*(lambda found: (found[0], traces(found[1])))(gradients(monkeypatch, passive_cuts="best")))


def crossed(fed):
    random = ("Consent", "Introduce")
    return [one for one in fields(fed.heard, *HOWS) if one[2] not in random]


def test_runs_are_alike_otherwise():
    """Without this the comparisons here would fail for any reason."""
    assert crossed(run("APP")) == crossed(run("APP"))


@pytest.mark.parametrize("shared", [False, True])
def test_with_passive_levels_first_other_labels_change_nothing_that_crosses(shared):
    assert crossed(run("PPA", shared=shared)) == crossed(run("PPA", other=True, shared=shared))


@pytest.mark.parametrize("more", [{"passive_cuts": "best"}, {"levels": "APP"}])
def test_otherwise_they_do(more):
    """The sabotage: chosen cuts, or levels of the active party above, depend on labels."""
    levels = more.pop("levels", "PPA")
    one, other = (crossed(run(levels, one, **more)) for one in (False, True))
    assert one != other


def test_nothing_is_sealed():
    fed = run("APP", protection="lattice")
    assert not [one for one in fields(fed.heard, "sealed") if len(one[4])]


def test_the_search_for_sealed_bytes_finds_them():
    """The sabotage."""
    fed = run("APP", protection="lattice", passive_cuts="best")
    assert [one for one in fields(fed.heard, "sealed") if len(one[4])]


def test_who_has_no_row_at_a_node_tells_nothing_of_it():
    fed = run("APP")
    for one in fed.of("AskDrawnSides"):
        n_rows = fed.parties[one.receiver].side.rows.run.table.n_rows
        assert all(len(moves.left) <= (n_rows + 7) // 8 for moves in one.message.moves)
        assert np.diff(one.message.cuts.node).min(initial=1) > 0
