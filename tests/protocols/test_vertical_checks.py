"""A passive party checks what it is told: everything the plan does not allow is refused, before any sum or side."""

from dataclasses import replace as dc_replace

import msgspec
import numpy as np
import pytest

from federated import TINY, Federation, changed, refuses, step, two_class, until, vertical
from hedgerow.agreement.plan import Goal
from hedgerow.agreement.policy import ALLOW_ALL
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import encode
from hedgerow.data import partition
from hedgerow.errors import DataError, PolicyError, PrivacyError

replace = msgspec.structs.replace
LOWEST = "not at the lowest level, or twice"


def stopped(here):
    """The one passive party, and the request that it would hear next."""
    table = partition.pooled(two_class(1))
    last = table.n_columns - 1
    parties = partition.columns(table, share=[[last], list(range(last))])
    fed = Federation(parties, TINY, method="vertical", protection="plain", active="party1")
    return fed.parties["party2"], until(fed, here)


def nodes(*pairs):
    tree, node = (np.array(part, np.int64) for part in zip(*pairs, strict=True)) if pairs else (np.empty(0, int),) * 2
    return m.NodeList(tree, node)


# Sums


@pytest.mark.parametrize(
    "asked",
    [(), ((0, 0),), ((0, 1), (0, 1)), ((0, 3),), ((1, 1),), ((0, -1),), ((-1, 1),), ((0, 2**62),), ((2**62, 1),)],
)
def test_sums_are_given_only_of_nodes_at_the_lowest_level_once_each(asked):
    party, request = stopped(step(m.AskSealedSums, 0, 1))
    refuses(party, replace(request, nodes=nodes(*asked)), LOWEST)


def test_the_same_request_unchanged_is_answered():
    """Without this the refusals here could have any reason."""
    party, request = stopped(step(m.AskSealedSums, 0, 1))
    assert party.answer(encode(request))


def test_a_list_of_nodes_must_be_well_formed():
    party, request = stopped(step(m.AskSealedSums, 0, 1))
    refuses(party, replace(request, nodes=m.NodeList(np.array([0, 0]), np.array([1]))), "not well formed")


def test_gradients_are_sealed_once_in_a_tree():
    party, request = stopped(step(m.AskSealedSums, 0, 1))
    sealed = stopped(step(m.AskSealedSums, 0, 0))[1]
    refuses(party, replace(request, sealed_gradients=sealed.sealed_gradients), "a second time in one tree")


def test_the_key_stays_the_same_in_a_tree():
    party, request = stopped(step(m.AskSealedSums, 0, 1))
    refuses(party, replace(request, public_key=b"another"), "another key in the middle of a tree")


@pytest.mark.parametrize("change", [{"level": 2}, {"level": 0}, {"round": 1}, {"round": 1, "level": 0}, {"round": -1}])
def test_steps_come_in_order(change):
    party, request = stopped(step(m.AskSealedSums, 0, 1))
    refuses(party, replace(request, **change), "another step than the next")


def test_a_step_is_not_answered_twice():
    party, request = stopped(step(m.AskSealedSums, 0, 1))
    party.answer(encode(request))
    refuses(party, request, "another step than the next")


def test_nothing_is_summed_before_the_run_has_begun():
    party, _ = stopped(lambda r: isinstance(r, m.BeginSealed))
    request = stopped(step(m.AskSealedSums, 0, 0))[1]
    refuses(party, request, "before the run has begun")


def test_no_more_rounds_than_the_plan():
    party, request = stopped(lambda r: isinstance(r, m.KeepPart))
    request = stopped(step(m.AskSealedSums, 0, 0))[1]
    refuses(party, replace(request, round=TINY.n_estimators), "more than the 2 rounds of the plan")


# Moves


def test_children_are_numbered_in_order():
    party, request = stopped(step(m.AskSealedSums, 0, 1))
    moves = (replace(request.moves[0], child=request.moves[0].child + 2),)
    refuses(party, replace(request, moves=moves), "numbers the children of its cuts in another order")


@pytest.mark.parametrize("node", [1, -1, 2**62])
def test_only_rows_of_the_lowest_nodes_move(node):
    party, request = stopped(step(m.AskSealedSums, 0, 1))
    moves = (replace(request.moves[0], node=changed(request.moves[0].node, 0, node)),)
    refuses(party, replace(request, moves=moves), "moves rows of nodes that are not at the lowest level")


@pytest.mark.parametrize(
    "left", [lambda bits: bits[1:], lambda bits: np.append(bits, bits[-1:]), lambda bits: bits[:0]]
)
def test_every_row_has_one_side(left):
    party, request = stopped(step(m.AskSealedSums, 0, 1))
    moves = (replace(request.moves[0], left=left(request.moves[0].left)),)
    refuses(party, replace(request, moves=moves), "did not tell the side of every row")


def test_a_tree_grows_no_deeper_than_the_plan():
    """Of a tree of two levels the second is cut last, and nobody needs to be told where its rows went."""
    party, request = stopped(step(m.AskSealedSums, 0, 1))
    party.answer(encode(request))
    bits = (party.owner.own_table.n_rows + 7) // 8
    below = m.Moves(np.array([0, 0]), np.array([1, 2]), np.array([3, 5]), np.zeros(bits, np.uint8))
    refuses(party, replace(request, level=2, moves=(below,), nodes=nodes((0, 3))), "or too deep")


def test_a_node_is_summed_once():
    party, request = stopped(step(m.AskSealedSums, 0, 1))
    party.answer(encode(request))
    refuses(party, replace(request, level=2, moves=()), LOWEST)


def test_no_more_sums_are_given_than_the_run_was_to_open():
    party, request = stopped(step(m.AskSealedSums, 0, 1))
    party.passive.run.given.sums = party.passive.run.begun.run_sums
    refuses(party, request, "more sums than the run was to open", PrivacyError)


# Sides

GRID, FORM = "a place that is not on its grid", "not well formed"
BAD_CUTS = {
    "a bin beyond the grid": (lambda c: {"bin": changed(c.bin, 0, 254)}, GRID),
    "a negative bin": (lambda c: {"bin": changed(c.bin, 0, -1)}, GRID),
    "another set of bins": (lambda c: {"left_bins": changed(c.left_bins, 0, 2**63 + 1)}, GRID),
    "another party's column": (lambda c: {"column": changed(c.column, 0, 99)}, GRID),
    "a negative column": (lambda c: {"column": changed(c.column, 0, -1)}, GRID),
    "a node that is not there": (lambda c: {"node": changed(c.node, 0, 9)}, LOWEST),
    "a negative node": (lambda c: {"node": changed(c.node, 0, -1)}, LOWEST),
    "another tree": (lambda c: {"tree": changed(c.tree, 0, 1)}, LOWEST),
    "too few columns": (lambda c: {"column": c.column[1:]}, FORM),
    "too few sets": (lambda c: {"left_bins": c.left_bins[4:]}, FORM),
    "too many sides": (lambda c: {"missing_left": np.tile(c.missing_left, 2)}, FORM),
    "no cut at all": (
        lambda c: {name: getattr(c, name)[:0] for name in c.__struct_fields__},
        FORM,
    ),
}


@pytest.mark.parametrize("bad", BAD_CUTS)
def test_cuts_must_lie_on_the_own_grid_at_the_lowest_level_once_each(bad):
    party, request = stopped(step(m.AskSides, 0, 1))
    change, match = BAD_CUTS[bad]
    refuses(party, replace(request, cuts=replace(request.cuts, **change(request.cuts))), match)


def test_the_same_cuts_unchanged_are_answered():
    party, request = stopped(step(m.AskSides, 0, 1))
    assert party.answer(encode(request))


@pytest.mark.parametrize("change", [{"level": 2}, {"level": 0}, {"round": 1}])
def test_sides_are_told_of_this_step_only(change):
    party, request = stopped(step(m.AskSides, 0, 1))
    refuses(party, replace(request, **change), "sides of another step than this one")


# The ends of rounds and of the run


def test_a_round_is_ended_that_was_begun():
    party, request = stopped(lambda r: isinstance(r, m.EndRound))
    refuses(party, replace(request, round=1), "ends another round than this one")


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"n_trees": 0}, "sizes do not fit"),
        ({"n_trees": 10**9}, "sizes do not fit"),
        ({"groups": 1}, "sizes do not fit"),
        ({"groups": 2**40}, "sizes do not fit"),
        ({"columns": 2**40}, "sizes do not fit"),
        ({"run_sums": 1}, "sizes are not those of the plan"),
        ({"bound": 0}, "sizes are not those of the plan"),
        ({"bound": -5}, "sizes are not those of the plan"),
        ({"bound": 2**62 + 1}, "sizes are not those of the plan"),
        ({"columns": -1}, "sizes do not fit"),
        ({"done": 1}, "trees that this party did not help to grow"),
        ({"done": 2**63}, "trees that this party did not help to grow"),
        ({"done": -1}, "trees that this party did not help to grow"),
    ],
)
def test_a_run_begins_with_sizes_that_fit(change, match):
    party, request = stopped(lambda r: isinstance(r, m.BeginSealed))
    refuses(party, replace(request, **change), match)


def test_a_run_goes_on_only_with_the_same_sizes_and_after_the_last_trees():
    party, request = stopped(lambda r: isinstance(r, m.KeepPart))
    begun = party.passive.run.begun
    refuses(party, replace(begun, done=2, columns=begun.columns + 1), "changes the sizes")
    refuses(party, replace(begun, done=0), "trees that this party did not help to grow")
    assert party.answer(encode(replace(begun, done=1)))
    assert request.n_trees == 2


def test_a_model_keeps_its_id_by_which_predicted_rows_are_counted():
    """Under another id the same cuts could be asked about from zero again."""
    party, request = stopped(lambda r: isinstance(r, m.KeepPart))
    assert party.answer(encode(request)) == party.answer(encode(request))
    refuses(party, replace(request, model="another"), "changes the id of the model in the middle", PrivacyError)


def test_a_node_is_cut_once_and_its_rows_go_where_its_owner_said():
    party, request = stopped(step(m.AskSides, 0, 1))
    party.answer(encode(request))
    refuses(party, request, LOWEST)
    party, moved = stopped(step(m.AskSealedSums, 0, 1))
    assert party.passive.now.told
    other = (replace(moved.moves[0], left=changed(moved.moves[0].left, 0, int(moved.moves[0].left[0]) ^ 1)),)
    refuses(party, replace(moved, moves=other), "otherwise than this party told")


def test_a_round_ends_with_a_step_that_was_refused_half_way_and_can_begin_again():
    """Rows may have been moved by then: the same step once more would not be the same."""
    party, request = stopped(step(m.AskSealedSums, 0, 1))
    begun, first = party.passive.run.begun, stopped(step(m.AskSealedSums, 0, 0))[1]
    party.passive.run.terms = dc_replace(party.passive.run.terms, fewest_rows=10**6)
    refuses(party, request, "fewer rows than this party's policy allows", PrivacyError)
    party.passive.run.terms = dc_replace(party.passive.run.terms, fewest_rows=1)
    for more in (request, m.EndRound(0), stopped(step(m.AskSides, 0, 1))[1]):
        refuses(party, more, "after a step that this party refused")
    party.answer(encode(begun))
    assert party.answer(encode(first))


def test_columns_are_asked_for_first():
    party, _ = stopped(lambda r: isinstance(r, m.AskColumns))
    refuses(party, stopped(lambda r: isinstance(r, m.BeginSealed))[1], "before it has asked for columns")


def test_rows_in_another_order_are_refused():
    fed = vertical(TINY)
    table = fed.tables["party3"]
    tables = {**fed.tables, "party3": table.take(np.arange(table.n_rows)[::-1])}
    other = Federation(tables, TINY, method="vertical", protection="plain", active="party1")
    with pytest.raises(DataError, match="not those of the active party, in the same order"):
        other.model()


def test_validation_rows_that_only_some_have_are_refused():
    fed = vertical(TINY)
    valid = {name: table.take(np.arange(50)) for name, table in fed.tables.items() if name != "party3"}
    plan = {"method": "vertical", "protection": "plain", "active": "party1"}
    other = Federation(fed.tables, TINY, Goal(follow=True), valid=valid, **plan)
    with pytest.raises(DataError, match="not those of the active party"):
        other.model()


@pytest.mark.parametrize(
    ("goal", "most", "policy"),
    [(Goal(objective="squared"), 1, ALLOW_ALL), (Goal(), 3, dc_replace(ALLOW_ALL, most_classes=3))],
)
def test_trees_of_a_round_are_as_many_as_the_goal_or_the_policy_allows(goal, most, policy):
    parties = partition.columns(partition.pooled(two_class(1)), n=2)
    plan = {"method": "vertical", "protection": "plain", "active": "party1"}
    fed = Federation(parties, TINY, goal, policy=policy, **plan)
    request = until(fed, lambda r: isinstance(r, m.BeginSealed))
    party, more = fed.parties["party2"], request.run_sums // request.n_trees
    other = replace(request, n_trees=most + 1, run_sums=more * (most + 1))
    refuses(party, other, rf"allow {most} \(most_classes\)", PolicyError)
    assert party.answer(encode(replace(request, n_trees=most, run_sums=more * most)))


def test_a_party_that_goes_on_with_other_cut_points_is_refused():
    party, request = stopped(lambda r: isinstance(r, m.AskColumns))
    party.answer(encode(request))
    party.side.policy, party.side.rows = dc_replace(ALLOW_ALL, min_bin_rows=60), None
    for _ in range(2):
        refuses(party, request, "cut points are not those with which the run began", DataError)
