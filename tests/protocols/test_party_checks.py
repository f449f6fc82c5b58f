"""A party checks what it is told: everything the plan does not allow is refused with a sentence, before any sum."""

import msgspec
import numpy as np
import pytest

from federated import TINY, Federation, changed, refuses, step, stopped, two_class, until
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import encode
from hedgerow.errors import PrivacyError, ProtocolError

replace = msgspec.structs.replace


GRID, LOWEST = "agreed cut points", "not at the lowest level, or twice"
BAD_CUTS = {
    "a bin beyond the grid": (lambda c: {"bin": changed(c.bin, 0, 254)}, GRID),
    "a negative bin": (lambda c: {"bin": changed(c.bin, 0, -1)}, GRID),
    "another set of bins": (lambda c: {"left_bins": changed(c.left_bins, 0, 2**63 + 1)}, GRID),
    "an unknown column": (lambda c: {"column": changed(c.column, 0, 99)}, "not among the agreed"),
    "a negative column": (lambda c: {"column": changed(c.column, 0, -1)}, "not among the agreed"),
    "the root once more": (lambda c: {"node": changed(c.node, 0, 0)}, LOWEST),
    "a node that is not there": (lambda c: {"node": changed(c.node, 0, 9)}, LOWEST),
    "a negative node": (lambda c: {"node": changed(c.node, 0, -1)}, LOWEST),
    "a node far away": (lambda c: {"node": changed(c.node, 0, 2**62)}, LOWEST),
    "one node twice": (lambda c: {"node": changed(c.node, 1, c.node[0])}, LOWEST),
    "another order": (lambda c: {"node": c.node[::-1].copy()}, "out of order"),
    "another tree": (lambda c: {"tree": changed(c.tree, 1, 1)}, LOWEST),
    "a negative tree": (lambda c: {"tree": changed(c.tree, 0, -1)}, LOWEST),
    "children numbered otherwise": (lambda c: {"child": changed(c.child, 0, c.child[1])}, "another order"),
    "children far away": (lambda c: {"child": c.child + 100}, "another order"),
    "too few columns": (lambda c: {"column": c.column[1:]}, "not well formed"),
    "too few sets": (lambda c: {"left_bins": c.left_bins[4:]}, "not well formed"),
    "sets of another size": (lambda c: {"left_bins": c.left_bins[1:]}, "not well formed"),
    "too many sides": (lambda c: {"missing_left": np.tile(c.missing_left, 2)}, "not well formed"),
}


@pytest.mark.parametrize("bad", BAD_CUTS)
def test_cuts_must_lie_on_the_grid_at_the_lowest_level_once_each(bad):
    party, request = stopped(step(m.AskLeafSums))
    change, match = BAD_CUTS[bad]
    assert len(request.cuts.tree) == 2
    cuts = replace(request.cuts, **change(request.cuts))
    refuses(party, replace(request, cuts=cuts), match)


def test_the_same_request_unchanged_is_answered():
    """Without this the refusals above could have any reason."""
    party, request = stopped(step(m.AskLeafSums))
    assert party.answer(encode(request))


def nodes(*pairs):
    tree, node = (np.array(part, np.int64) for part in zip(*pairs, strict=True)) if pairs else (np.empty(0, int),) * 2
    return m.NodeList(tree, node)


@pytest.mark.parametrize(
    "asked",
    [(), ((0, 0),), ((0, 1), (0, 1)), ((0, 3),), ((1, 1),), ((0, -1),), ((-1, 1),), ((0, 2**62),), ((2**62, 1),)],
)
def test_sums_are_given_only_of_nodes_at_the_lowest_level_once_each(asked):
    party, request = stopped(step(m.AskHistograms, 0, 1))
    refuses(party, replace(request, nodes=nodes(*asked)), LOWEST)


def test_no_more_sums_are_asked_for_at_once_than_the_grower_does(monkeypatch):
    monkeypatch.setattr("hedgerow.trees.grow.LARGEST_LEVEL", 1)
    party, request = stopped(step(m.AskHistograms, 0, 1))
    refuses(party, replace(request, nodes=nodes((0, 1), (0, 2))), "more nodes at once")
    assert party.answer(encode(request)), "one at a time may be"


def test_both_siblings_may_be_asked_for():
    party, request = stopped(step(m.AskHistograms, 0, 1))
    assert party.answer(encode(replace(request, nodes=nodes((0, 2), (0, 1)))))


def test_a_list_of_nodes_must_be_well_formed():
    party, request = stopped(step(m.AskHistograms, 0, 1))
    refuses(party, replace(request, nodes=m.NodeList(np.array([0, 0]), np.array([1]))), "not well formed")


def test_cuts_in_the_first_request_of_a_tree_are_refused():
    _, request = stopped(step(m.AskHistograms, 0, 1))
    first = replace(request, level=0)
    fed = Federation(two_class(3), TINY)
    until(fed, step(m.AskHistograms, 0, 0))
    refuses(fed.parties["party1"], first, "deeper than the 2 levels")


def test_a_tree_grows_no_deeper_than_the_plan():
    party, request = stopped(step(m.AskLeafSums))
    children = nodes(*((0, int(c) + side) for c in request.cuts.child for side in (0, 1)))
    level = m.AskHistograms(0, request.level, request.parties, request.cuts, children)
    assert party.answer(encode(level))
    below = replace(request.cuts, node=request.cuts.child, child=request.cuts.child + 4)
    refuses(party, m.AskLeafSums(0, request.level + 1, request.parties, below, children), "deeper than the 2 levels")


def test_no_more_trees_are_grown_than_the_plan_says():
    party, _ = stopped(lambda r: isinstance(r, m.Farewell))
    none = m.CutList(*(np.empty(0, kind) for kind in ("i8", "i8", "i8", "i4", "i4", "?", "u8")))
    refuses(party, m.AskHistograms(2, 0, (0, 1, 2), none, nodes((0, 0))), "more than the 2 rounds")


@pytest.mark.parametrize(
    ("kind", "on_loss"), [(m.AskLeafSums, "wait"), (m.FinishRound, "continue"), (m.NextRound, "wait")]
)
@pytest.mark.parametrize(
    "leaves",
    [
        lambda ends: ends[1:],
        lambda ends: [*ends[1:], ends[1]],
        lambda ends: [*ends, (0, 0)],
        lambda ends: [(0, 1), *ends[1:]],
        lambda ends: [(1, n) for _, n in ends],
        lambda ends: [(0, -1), *ends[1:]],
        lambda _: [],
    ],
)
def test_leaves_must_divide_the_rows(kind, on_loss, leaves):
    party, request = stopped(step(kind), on_loss=on_loss)
    ends = list(zip(request.leaves.tree.tolist(), request.leaves.node.tolist(), strict=True))
    refuses(party, replace(request, leaves=nodes(*leaves(ends))), "do not divide the rows")


@pytest.mark.parametrize(("kind", "on_loss"), [(m.FinishRound, "continue"), (m.NextRound, "wait")])
def test_values_must_be_finite_and_as_many_as_the_leaves(kind, on_loss):
    party, request = stopped(step(kind), on_loss=on_loss)
    refuses(party, replace(request, values=changed(request.values, 0, np.nan)), "cannot be read")
    refuses(party, replace(request, values=changed(request.values, 0, np.inf)), "cannot be read")
    refuses(party, replace(request, values=request.values[1:]), "not as many as the leaves")


@pytest.mark.parametrize(("round_", "level"), [(0, 2), (0, 0), (1, 1), (1, 0), (-1, 1), (0, 10**12)])
def test_steps_are_taken_in_order(round_, level):
    party, request = stopped(step(m.AskHistograms, 0, 1))
    again = (round_, level) in ((0, 0), (-1, 1))  # the setup is written down as round -1
    kind, match = (PrivacyError, "answered before") if again else (ProtocolError, "this party is at step 1 of round 0")
    refuses(party, replace(request, round=round_, level=level), match, kind)


def test_a_step_is_not_answered_twice_in_one_attempt():
    party, request = stopped(step(m.AskHistograms, 0, 1))
    party.answer(encode(request))
    refuses(party, request, "this party is at step 2 of round 0")


@pytest.mark.parametrize("change", [{"level": 0}, {"level": 9}, {"round": 1}, {"round": -1}])
def test_a_round_is_finished_after_it_was_grown_and_once(change):
    for again in (False, True):
        party, request = stopped(step(m.FinishRound), on_loss="continue")
        if again:
            party.answer(encode(request))
        with pytest.raises((ProtocolError, PrivacyError), match=r"did not grow|answered before"):
            party.answer(encode(replace(request, **change)))


def test_a_round_that_was_not_begun_is_not_finished():
    party, _ = stopped(step(m.AskHistograms, 0, 0))
    refuses(party, m.FinishRound(0, 0, (0, 1, 2), nodes((0, 0)), np.zeros(1, np.float32)), "did not grow")


@pytest.mark.parametrize(
    "parties", [(0, 1), (1, 2), (0, 1, 2, 3), (0, 1, 2, 2), (2, 1, 0), (), (0, 1, -1), (0, 1, 2**40)]
)
@pytest.mark.parametrize("level", [0, 1])
def test_sums_are_given_only_over_the_parties_that_the_plan_says(parties, level):
    party, request = stopped(step(m.AskHistograms, 0, level))
    kind = PrivacyError if level else ProtocolError
    refuses(party, replace(request, parties=parties), "parties", kind)
