"""Cuts that a hash draws: of every owner's columns by themselves, on their grid, and by nothing but the node."""

import numpy as np
import pytest

from hedgerow.errors import ProtocolError
from hedgerow.protocols.told_trees import check_places
from hedgerow.trees.bins import Grid
from hedgerow.trees.drawn_cuts import DrawnCuts, OpenBins, OwnDraws
from hedgerow.trees.splits import Cuts, Nodes

VALUES = np.array([5, 1, 255, 2, 4, 1, 255, 3])
MISSING = np.array([True, False, False, True, True, True, True, False])
KINDS = np.array([False, False, False, False, True, True, True, True])
GRID = Grid(
    np.concatenate([np.arange(n - 1) for n in VALUES]).astype(np.float32),
    np.concatenate([[0], np.cumsum(VALUES - 1)]),
    MISSING,
    KINDS,
)
MANY = Nodes(np.repeat(np.arange(3), 400), np.tile(np.arange(400), 3))


def cuts(places, nodes=MANY):
    return Cuts(nodes, 2 * nodes.node + 1, *places)


def left(places, i):
    return np.unpackbits(places.left_bins[i].view(np.uint8), bitorder="little").astype(bool)


def test_every_cut_is_on_the_grid():
    check_places(cuts(OwnDraws.of(GRID, 7).places(0, MANY)), GRID, "off")


def test_a_cut_off_the_grid_is_found():
    """The sabotage: one column further."""
    places = OwnDraws.of(GRID, 7).places(0, MANY)
    with pytest.raises(ProtocolError, match="off"):
        check_places(cuts(places._replace(column=(places.column + 1) % 8)), GRID, "off")


def test_columns_with_one_bin_are_never_cut_and_all_others_are():
    places = OwnDraws.of(GRID, 7).places(0, MANY)
    assert set(places.column.tolist()) == {0, 2, 3, 4, 5, 6, 7}


def test_each_column_is_drawn_alike_and_each_of_its_bins():
    places = OwnDraws.of(GRID, 1).places(0, MANY)
    n = np.bincount(places.column, minlength=8)[[0, 2, 3, 4, 5, 6, 7]]
    assert n.min() > 0.6 * n.mean()
    numbers = np.bincount(places.bin[places.column == 0], minlength=5)
    assert numbers[4] == 0
    assert numbers[:4].min() > 0.4 * numbers[:4].mean()


def test_both_sides_have_bins_of_numbers_or_of_categories():
    places = OwnDraws.of(GRID, 2).places(0, MANY)
    for i, column in enumerate(places.column):
        sides = left(places, i)[: VALUES[column]]
        assert sides.any()
        assert not sides.all() or VALUES[column] == 1


def test_missing_values_go_either_way_and_alone_to_the_right():
    places = OwnDraws.of(GRID, 3).places(0, MANY)
    ways = np.array([left(places, i)[VALUES[column]] for i, column in enumerate(places.column)])
    for column in range(8):
        mine = places.column == column
        if MISSING[column]:
            assert np.array_equal(ways[mine], places.missing_left[mine])
            assert VALUES[column] == 1 or 0.3 < ways[mine].mean() < 0.7
    assert not ways[places.column == 5].any()
    assert places.missing_left[places.column == 2].all()


def test_a_cut_depends_on_its_tree_node_round_and_seed_and_on_no_other_node():
    own = OwnDraws.of(GRID, 5)
    every = own.places(4, MANY)
    some = np.array([3, 500, 1100])
    for whole, part in zip(every, own.places(4, MANY.at(some)), strict=True):
        assert np.array_equal(whole[some], part)
    for other in (own.places(5, MANY), OwnDraws.of(GRID, 6).places(4, MANY)):
        assert (other.column != every.column).mean() > 0.5
    assert (every.column[:400] != every.column[400:800]).mean() > 0.5


def drawn(spans, open_to=None, depths=(2, 3)):
    return DrawnCuts(GRID, spans, frozenset(depths), 5, lambda _: np.array(open_to or [True] * len(spans)))


def test_owners_are_drawn_by_how_many_columns_they_have_and_each_draws_for_itself():
    spans = [(0, 1), (1, 2), (2, 8)]
    places = drawn(spans).at(0, 2, MANY).places
    assert abs((places.column == 0).mean() - 1 / 7) < 0.03
    last = places.column >= 2
    alone = OwnDraws.of(GRID, 5, 2, 8).places(0, MANY.at(last))
    assert np.array_equal(places.column[last] - 2, alone.column)
    assert np.array_equal(places.left_bins[last], alone.left_bins)


def test_what_one_owner_s_columns_are_changes_nothing_that_is_drawn_of_another_s():
    one = OwnDraws.of(GRID, 5, 2, 8).places(0, MANY)
    shifted = Grid(GRID.cuts[4:], GRID.cut_starts[1:] - 4, MISSING[1:], KINDS[1:])
    assert all(map(np.array_equal, one, OwnDraws.of(shifted, 5, 1, 7).places(0, MANY)))


def test_levels_that_are_not_drawn_are_searched_and_closed_owners_not_cut():
    assert drawn([(0, 8)]).at(0, 1, MANY) is None
    assert drawn([(0, 8)], [False]).at(0, 2, MANY) is None
    places = drawn([(0, 1), (2, 8)], [False, True]).at(0, 2, MANY).places
    assert places.column.min() >= 2


def one_column(n_values=8, n=200):
    """A grid of one column of numbers, and nodes cut at its fourth bin, whose children are drawn."""
    grid = Grid(
        np.arange(n_values - 1, dtype=np.float32), np.array([0, n_values - 1]), np.zeros(1, bool), np.zeros(1, bool)
    )
    own = OwnDraws.of(grid, 3)
    above = Nodes(np.zeros(n, np.int64), np.arange(n))
    child = n + 2 * np.arange(n)
    return own, above, child


def test_bins_that_cuts_above_ruled_out_are_not_drawn_again():
    own, above, child = one_column()
    open_ = OpenBins(own)
    open_.follow(above, child, np.zeros(200, np.int32), np.full(200, 3, np.int32))
    left, right = (own.places(0, Nodes(above.tree, child + side), open_).bin for side in (0, 1))
    assert set(left.tolist()) == {0, 1, 2}
    assert set(right.tolist()) == {4, 5, 6}


def test_without_what_was_cut_above_they_are():
    """The sabotage: bins of both sides."""
    own, above, child = one_column()
    assert set(own.places(0, Nodes(above.tree, child)).bin.tolist()) == set(range(7))


def test_a_cut_of_another_column_rules_nothing_out_and_what_was_ruled_out_stays():
    own, above, child = one_column()
    open_ = OpenBins(own)
    open_.follow(above, child, np.zeros(200, np.int32), np.full(200, 3, np.int32))
    below = Nodes(above.tree, child + 1)
    further = 1000 + 2 * np.arange(200)
    open_.follow(below, further, np.zeros(200, np.int32), np.full(200, -1, np.int32))
    assert set(own.places(0, Nodes(above.tree, further), open_).bin.tolist()) == {4, 5, 6}
    open_.start()
    assert set(own.places(0, Nodes(above.tree, further), open_).bin.tolist()) == set(range(7))


def test_a_column_with_one_bin_left_is_cut_only_where_no_other_can_be():
    grid = Grid(np.arange(3, dtype=np.float32), np.array([0, 1, 3]), np.zeros(2, bool), np.zeros(2, bool))
    own, n = OwnDraws.of(grid, 3), 100
    above, child = Nodes(np.zeros(n, np.int64), np.arange(n)), n + 2 * np.arange(n)
    open_ = OpenBins(own)
    open_.follow(above, child, np.zeros(n, np.int32), np.zeros(n, np.int32))
    assert set(own.places(0, Nodes(above.tree, child), open_).column.tolist()) == {1}
