"""A passive party with subtrees of its own is held to its levels: those that deal rows are the active party's."""

import msgspec
import numpy as np
import pytest

from federated import params_of, refuses, step, until
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import encode
from hedgerow.errors import PrivacyError
from hedgerow.protocols.vertical.active import VerticalRows
from runs import some_rows

replace = msgspec.structs.replace


def federation(levels="AJP", **more):
    params = params_of(n_estimators=2, min_child_weight=0.01)
    return some_rows(params, levels=levels, separate=True, **more)


def stopped(here, **more):
    fed = federation(**more)
    return fed.parties["bank0"], until(fed, here)


def test_the_request_unchanged_is_answered():
    """Without this the refusals here could have any reason."""
    party, request = stopped(step(m.AskSealedSums, 0, 0))
    assert len(request.moves) == 3, "a level of the active party, and two that deal rows to three banks and nobody"
    assert party.answer(encode(request))


@pytest.mark.parametrize("n_moves", [0, 1, 2])
def test_nothing_is_summed_at_levels_that_deal_rows(n_moves):
    party, request = stopped(step(m.AskSealedSums, 0, 0))
    told = request.moves[:n_moves]
    lowest = [0] if not told else (told[-1].child[:1].tolist())
    nodes = m.NodeList(np.zeros(len(lowest), np.int64), np.array(lowest, np.int64))
    refuses(party, replace(request, moves=told, nodes=nodes), "its own by the plan")


def test_a_tree_has_no_more_levels_than_the_schedule_with_those_that_deal():
    party, request = stopped(step(m.AskSealedSums, 0, 1))
    first = stopped(step(m.AskSealedSums, 0, 0))[1]
    party_at_first = stopped(step(m.AskSealedSums, 0, 0))[0]
    deeper = tuple(first.moves)
    for _ in range(2):
        last = deeper[-1]
        more = replace(
            last,
            tree=last.tree[:1],
            node=last.child[:1],
            child=last.child[-1:] + 2,
            left=np.zeros((party_at_first.owner.own_table.n_rows * 30 + 7) // 8, np.uint8),
        )
        deeper = (*deeper, more)
    refuses(party_at_first, replace(first, moves=deeper), "or too deep")
    assert party.answer(encode(request))


def test_a_party_that_is_asked_about_the_nodes_of_all_others_stops(monkeypatch):
    """The sabotage: the budget of sums is that of the party's own subtrees."""
    monkeypatch.setattr(VerticalRows, "_asked_at", lambda _self, _party, nodes: np.arange(len(nodes.tree)))
    with pytest.raises(PrivacyError, match="more sums than the run was to open"):
        federation("PPPP"[:1] + "PP").model()


def test_without_that_the_same_run_ends_well():
    assert federation("PPP").model().forest.n_trees == 2
