"""A passive party whose cuts are drawn gives sides at the cuts that it draws itself, level by level, and no sums."""

import msgspec
import numpy as np
import pytest

from federated import changed, params_of, refuses, step, until
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import encode
from hedgerow.errors import PrivacyError
from hedgerow.protocols.vertical import passive_rows
from runs import some_rows

replace = msgspec.structs.replace
LEVEL, DRAWN = "another level than the next", "otherwise than the hash of the node has drawn"


def stopped(here, levels="APP", **more):
    """A bank, and the request that it would hear next; all banks share their columns, so that each is asked."""
    fed = some_rows(params_of(n_estimators=2), levels=levels, passive_cuts="random", shared=True, **more)
    return fed.parties["bank0"], until(fed, here)


def cut(request, i, **fields):
    return replace(
        request, cuts=replace(request.cuts, **{n: changed(getattr(request.cuts, n), i, v) for n, v in fields.items()})
    )


def test_the_request_unchanged_is_answered():
    """Without this the refusals here could have any reason."""
    party, request = stopped(step(m.AskDrawnSides, 0, 1))
    assert party.answer(encode(request))


def test_sums_are_not_given():
    party, request = stopped(step(m.AskDrawnSides, 0, 1))
    nodes = m.NodeList(request.cuts.tree, request.cuts.node)
    refuses(party, m.AskSealedSums(0, 0, (), nodes, b"", b""), "does not allow AskSealedSums")


def test_sides_at_chosen_cuts_are_not_told():
    party, request = stopped(step(m.AskDrawnSides, 0, 1))
    refuses(party, m.AskSides(0, 0, request.cuts), "does not allow AskSides")


def test_where_cuts_are_chosen_sides_at_drawn_ones_are_not_told():
    fed = some_rows(params_of(n_estimators=1), levels="APP", shared=True)
    request = until(fed, step(m.AskSides, 0))
    refuses(fed.parties["bank0"], m.AskDrawnSides(0, 1, (), request.cuts), "does not allow AskDrawnSides")


def test_another_cut_than_the_drawn_one_is_refused_wherever_it_lies():
    party, request = stopped(step(m.AskDrawnSides, 0, 1))
    grid = party.passive.run.table.grid
    drawn = int(request.cuts.column[0]), int(request.cuts.bin[0])
    refused = 0
    for column in range(grid.n_columns):
        for bin_ in range(int(grid.n_values[column])):
            for left in (False, True):
                other = one_cut(request, grid, column, bin_, left)
                if (column, bin_, left) == (*drawn, bool(request.cuts.missing_left[0])):
                    continue
                refuses(party, other, DRAWN)
                refused += 1
    assert refused > 20


def one_cut(request, grid, column, bin_, left):
    bits = np.zeros(256, np.uint8)
    bits[: bin_ + 1] = 1
    bits[int(grid.n_values[column])] = left
    sets = np.array(request.cuts.left_bins)
    sets[:4] = np.packbits(bits, bitorder="little").view(np.uint64)
    listed = cut(request, 0, column=column, bin=bin_, missing_left=left).cuts
    return replace(request, cuts=replace(listed, left_bins=sets))


def test_a_cut_drawn_of_another_node_is_refused():
    party, request = stopped(step(m.AskDrawnSides, 0, 1))
    cuts = request.cuts
    assert len(cuts.node) == 2
    swapped = {name: getattr(cuts, name)[::-1].copy() for name in ("column", "bin", "missing_left")}
    sets = np.ascontiguousarray(cuts.left_bins.reshape(2, 4)[::-1]).reshape(-1)
    assert not np.array_equal(sets, cuts.left_bins)
    refuses(party, replace(request, cuts=replace(cuts, **swapped, left_bins=sets)), DRAWN)


@pytest.mark.parametrize("change", [{"level": 2}, {"level": 0}, {"moves": ()}, {"level": 0, "moves": ()}])
def test_only_the_next_passive_level_is_cut(change):
    party, request = stopped(step(m.AskDrawnSides, 0, 1))
    refuses(party, replace(request, **change), LEVEL)


@pytest.mark.parametrize("round_", [1, 2, -1])
def test_rounds_come_in_order(round_):
    party, request = stopped(step(m.AskDrawnSides, 0, 1))
    refuses(party, replace(request, round=round_), "another round than the next|another level")


def test_a_level_is_cut_at_once():
    """Whoever came back with further nodes of a level would have seen the sides of some."""
    party, request = stopped(step(m.AskDrawnSides, 0, 1))
    first = {n: getattr(request.cuts, n)[:1] for n in ("tree", "node", "child", "column", "bin", "missing_left")}
    party.answer(encode(replace(request, cuts=replace(request.cuts, **first, left_bins=request.cuts.left_bins[:4]))))
    rest = {n: getattr(request.cuts, n)[1:] for n in ("tree", "node", "child", "column", "bin", "missing_left")}
    rest = replace(request.cuts, **rest, left_bins=request.cuts.left_bins[4:])
    refuses(party, replace(request, moves=(), cuts=rest), LEVEL)


def test_rows_go_where_this_party_said():
    party, request = stopped(step(m.AskDrawnSides, 0, 2))
    moves = (replace(request.moves[0], left=~request.moves[0].left),)
    refuses(party, replace(request, moves=moves), "otherwise than this party told")


def test_a_run_in_which_sums_would_be_opened_does_not_begin():
    party, request = stopped(lambda r: isinstance(r, m.BeginSealed))
    assert request.run_sums == 0
    refuses(party, replace(request, run_sums=4), "sizes are not those of the plan")


def most_told(monkeypatch=None):
    """Sides that a bank tells an active party that grows the first tree again and again, and those of two such runs."""
    if monkeypatch is not None:
        monkeypatch.setattr(passive_rows, "asks", lambda _letter: True)
    party, request = stopped(step(m.AskDrawnSides, 0, 2), levels="AAP")
    begun, run = encode(party.passive.run.begun), party.passive.run

    def again(times):
        for _ in range(times):
            party.answer(encode(request))
            party.answer(begun)

    with pytest.raises(PrivacyError, match="more sides than the trees of the run have"):
        again(100)
    return run.given.sides, 2 * run.table.params.n_estimators * run.table.n_rows


def test_a_party_tells_twice_the_sides_of_the_levels_that_cut_its_columns():
    told, most = most_told()
    assert most < told <= 1.5 * most


def test_if_all_levels_counted_it_would_tell_more(monkeypatch):
    """The sabotage."""
    told, most = most_told(monkeypatch)
    assert told > 1.5 * most
