"""With hidden rows a passive party cannot see nodes; it holds the active party to the sizes of the plan's trees."""

from dataclasses import replace as dc_replace

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from federated import TINY, Federation, MemoryLog, changed, method_of, params_of, refuses, step, two_class, until
from hedgerow.agreement.plan import Goal, Member, Plan
from hedgerow.agreement.policy import ALLOW_ALL, Policy
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import decode_answer, encode
from hedgerow.data import partition
from hedgerow.errors import CipherError, ParameterError, PolicyError, PrivacyError, ProtocolError
from hedgerow.privacy.lattice.cipher import Lattice
from hedgerow.protocols.driver import State
from hedgerow.protocols.vertical import hidden_passive, hidden_sizes

replace = msgspec.structs.replace
NEXT, ANOTHER = "another step than the next", "sides of another step than this one"


def stopped(here, hidden_rows=True, params=TINY):
    """The one passive party, and the request that it would hear next."""
    table = partition.pooled(two_class(1))
    last = table.n_columns - 1
    parties = partition.columns(table, share=[[last], list(range(last))])
    plan = {"method": "vertical", "active": "party1", "protection": "lattice", "hidden_rows": hidden_rows}
    fed = Federation(parties, params, **plan)
    return fed.parties["party2"], until(fed, here)


def test_the_same_requests_unchanged_are_answered():
    """Without this the refusals here could have any reason."""
    for kind in (m.AskHiddenSums, m.AskHiddenSides):
        party, request = stopped(step(kind, 0, 1))
        assert party.answer(encode(request))


@pytest.mark.parametrize(
    "change", [{"level": 2}, {"level": 0}, {"first": 1}, {"first": -1}, {"round": 1}, {"round": 1, "level": 0}]
)
def test_steps_come_in_order(change):
    party, request = stopped(step(m.AskHiddenSums, 0, 1))
    refuses(party, replace(request, **change), NEXT)


def test_a_level_is_summed_once():
    party, request = stopped(step(m.AskHiddenSums, 0, 1))
    party.answer(encode(request))
    refuses(party, request, NEXT)
    refuses(party, replace(request, level=2), NEXT)


def test_the_key_stays_the_same_in_a_round():
    party, request = stopped(step(m.AskHiddenSums, 0, 1))
    key = stopped(step(m.AskHiddenSums, 0, 0))[1].public_key
    refuses(party, replace(request, public_key=key), "changes its key")


def test_a_level_of_other_nodes_than_it_can_have_is_refused():
    party, request = stopped(step(m.AskHiddenSums, 0, 1))
    party.passive.hidden = hidden_sizes.HiddenSizes(2, 2, 2, party.passive.hidden.n_rows)
    party.passive.now.to_come = list(party.passive.hidden.steps(1, party.passive.now.n_counted))
    refuses(party, request, "do not fit the key, the plan or the layout", CipherError)


@pytest.mark.parametrize("change", [{"level": 2}, {"level": 0}, {"round": 1}])
def test_sides_are_told_of_this_step_only(change):
    party, request = stopped(step(m.AskHiddenSides, 0, 1))
    refuses(party, replace(request, **change), ANOTHER)


def test_no_sides_are_told_before_the_first_sums():
    request = stopped(step(m.AskHiddenSides, 0, 1))[1]
    party, _ = stopped(step(m.AskHiddenSums, 0, 0))
    refuses(party, replace(request, level=0), ANOTHER)


GRID, FORM = "a place that is not on its grid", "not well formed"
BAD_CUTS = {
    "a bin beyond the grid": (lambda c: {"bin": changed(c.bin, 0, 254)}, GRID),
    "another set of bins": (lambda c: {"left_bins": changed(c.left_bins, 0, 2**63 + 1)}, GRID),
    "another party's column": (lambda c: {"column": changed(c.column, 0, 99)}, GRID),
    "a negative column": (lambda c: {"column": changed(c.column, 0, -1)}, GRID),
    "too few bins": (lambda c: {"bin": c.bin[1:]}, FORM),
    "too few sets": (lambda c: {"left_bins": c.left_bins[4:]}, FORM),
    "no cut at all": (lambda c: {name: getattr(c, name)[:0] for name in c.__struct_fields__}, FORM),
    "more cuts than nodes": (
        lambda c: {name: np.concatenate([getattr(c, name)] * 2) for name in c.__struct_fields__},
        "more nodes than a level can have",
    ),
}


@pytest.mark.parametrize("bad", BAD_CUTS)
def test_cuts_lie_on_the_own_grid_and_are_no_more_than_nodes(bad):
    party, request = stopped(step(m.AskHiddenSides, 0, 1))
    change, match = BAD_CUTS[bad]
    refuses(party, replace(request, cuts=replace(request.cuts, **change(request.cuts))), match)


def test_a_level_is_not_cut_a_second_time():
    party, request = stopped(step(m.AskHiddenSides, 0, 1))
    party.answer(encode(request))
    refuses(party, request, "more nodes than a level can have")


def test_no_more_is_given_than_the_run_was_to_open():
    party, request = stopped(step(m.AskHiddenSums, 0, 1))
    party.passive.run.given.sums = party.passive.run.begun.run_sums
    refuses(party, request, "more sums than the run was to open", PrivacyError)
    party, request = stopped(step(m.AskHiddenSides, 0, 1))
    party.passive.run.given.sides = 1 << 62
    refuses(party, request, "more sides than the run was to open", PrivacyError)


def test_a_refused_step_gives_nothing_and_the_round_has_to_begin_again():
    """Neither an earlier tree's key nor a skipped level comes of it."""
    rows = "sealed_gradients"
    for level, bad in ((0, {"public_key": b"no key"}), (0, {rows: b"no rows"}), (1, {rows: b""})):
        party, request = stopped(step(m.AskHiddenSums, 0, level))
        begun = party.passive.run.begun
        with pytest.raises(CipherError):
            party.answer(encode(replace(request, **bad)))
        again = replace(request, public_key=b"") if "public_key" in bad else request
        with pytest.raises(ProtocolError, match=r"after a step that this party refused|changes its key"):
            party.answer(encode(again))
        refuses(party, m.EndRound(0), "after a step that this party refused")
        party.answer(encode(begun))
        _, first = stopped(step(m.AskHiddenSums, 0, 0))
        assert party.answer(encode(first))


def test_sizes_that_are_refused_change_nothing():
    """More trees a round would allow more cuts, and more sides."""
    party, request = stopped(step(m.AskHiddenSides, 0, 1))
    rows, before = party.passive, party.passive.hidden
    rows.run.terms = dc_replace(rows.run.terms, most_trees=10)
    with pytest.raises(ProtocolError, match="not those of the plan"):
        rows.begin(replace(rows.run.begun, n_trees=10))
    assert rows.hidden == before
    assert party.answer(encode(request))


def test_a_number_may_carry_the_sides_of_a_row_at_every_cut_and_all_of_them_are_counted():
    keys = []

    def new_key(cipher, threads, make=Lattice.new_key, **uses):
        keys.append(make(cipher, threads, **uses))
        return keys[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Lattice, "new_key", new_key)
        party, _ = stopped(step(m.AskHiddenSides, 0, 2))
    rows = party.passive
    n_rows, before = rows.hidden.n_rows, rows.run.given.sides
    column, bins = np.zeros(2, np.int32), np.array([0, 2], np.int32)
    cuts = m.HiddenCuts(column, bins, np.zeros(2, np.bool_), np.array([1, 0, 0, 0, 7, 0, 0, 0], np.uint64))
    plan = dc_replace(hidden_sizes.sides_plan(rows.hidden, n_rows, 2), bound=2, most_sum=3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hidden_passive, "sides_plan", lambda *_: plan)
        sealed = keys[-1].seal_slots(np.tile(np.array([1, 2]), (n_rows, 1)), plan).encode()
        answer = decode_answer(party.answer(encode(m.AskHiddenSides(0, 2, cuts, sealed))), 1 << 30)
    read = keys[-1].public.read_slots(answer.sealed_sides, plan, 1, 1)
    codes = rows.run.table.own_codes[0]
    np.testing.assert_array_equal(keys[-1].open_slots(read)[:, 0], (codes <= 0) + 2 * (codes <= 2))
    assert rows.run.given.sides - before == 2 * n_rows


@given(st.data())
def test_no_division_of_the_rows_has_larger_nodes_than_the_sizes_say(data):
    """Trees are divided as they may be; of every two siblings the smaller is asked for, the largest first."""
    n, n_trees, depth = data.draw(st.integers(0, 300)), data.draw(st.integers(1, 3)), 4
    sizes, trees = hidden_sizes.HiddenSizes(n_trees, 1, depth, n), [[n] for _ in range(n_trees)]
    for level in range(1, depth):
        asked = []
        for tree, nodes in enumerate(trees):
            lefts = [data.draw(st.integers(0, size)) for size in nodes]
            asked += [min(left, size - left) for left, size in zip(lefts, nodes, strict=True)]
            trees[tree] = [side for left, size in zip(lefts, nodes, strict=True) for side in (left, size - left)]
        for place, size in enumerate(sorted(asked, reverse=True)):
            assert size <= sizes.most_rows(level, place, n)


def test_equal_nodes_are_as_large_as_the_sizes_say():
    sizes = hidden_sizes.HiddenSizes(3, 1, 5, 64)
    assert [sizes.most_rows(0, node, 64) for node in range(3)] == [64] * 3
    for level in range(1, 5):
        assert sizes.most_rows(level, sizes.nodes(level) - 1, 64) == 64 >> level


def test_what_would_tell_nodes_is_refused():
    for kind in (m.AskSealedSums, m.AskSides):
        party, _ = stopped(step(m.AskHiddenSums, 0, 0))
        refuses(party, stopped(step(kind, 0), hidden_rows=False)[1], "asks in a way that tells it")


def test_a_run_without_hidden_rows_knows_none_of_this():
    party, _ = stopped(step(m.AskSealedSums, 0, 0), hidden_rows=False)
    for kind in (m.AskHiddenSums, m.AskHiddenSides):
        refuses(party, stopped(step(kind, 0))[1], "does not allow")


def test_a_run_begins_with_as_many_sums_as_it_opens():
    party, request = stopped(lambda r: isinstance(r, m.BeginSealed))
    for run_sums in (request.run_sums // 4, request.run_sums + 1):
        refuses(party, replace(request, run_sums=run_sums), "sizes are not those of the plan")


# The plan

MEMBERS = (Member("bank", "b"), Member("shop", "s"))


def plan(params=TINY, **more):
    given = {"method": "vertical", "protection": "lattice", "active": "bank", "hidden_rows": True, **more}
    return Plan("a run", MEMBERS, Goal(), params, method_of(**given))


@pytest.mark.parametrize(
    ("more", "match"),
    [
        ({"protection": "plain"}, "hidden_rows would hide nothing"),
        ({"params": params_of(min_child_rows=5)}, "min_child_rows"),
        ({"params": params_of(max_depth=13)}, "max_depth of at most 12"),
    ],
)
def test_hidden_rows_go_only_with_what_hides_them(more, match):
    with pytest.raises(ParameterError, match=match):
        plan(**more)


def test_an_owner_that_bounds_the_rows_of_a_node_refuses_what_it_cannot_check():
    rules = Policy(min_cut_rows=1, min_child_rows=5)
    with pytest.raises(PolicyError, match=r"refuses \(min_child_rows\)"):
        rules.check(plan())
    ALLOW_ALL.check(plan())


def test_a_round_that_the_plan_grows_without_this_party_gives_it_no_sums():
    parties = partition.columns(partition.pooled(two_class(1)), n=2)
    plan = {"method": "vertical", "active": "party1", "protection": "lattice", "hidden_rows": True}
    request = until(Federation(parties, TINY, **plan), step(m.AskHiddenSums, 0, 0))
    fed = Federation(parties, TINY, local_trees=1, **plan)
    until(fed, lambda r: isinstance(r, m.EndRound))
    refuses(fed.parties["party2"], request, "a round that the plan grows without this party")


def test_sides_are_counted_over_processes():
    parties = partition.columns(partition.pooled(two_class(1)), share=[[4], [0, 1, 2, 3]])
    plan = {"method": "vertical", "active": "party1", "protection": "lattice", "hidden_rows": True}
    fed = Federation(parties, TINY, logs={"party2": MemoryLog()}, **plan)
    until(fed, lambda r: isinstance(r, m.EndRound))
    told = fed.parties["party2"].passive.run.given.sides
    assert told > 0
    fed.restart("party2")
    until(fed, lambda r: isinstance(r, m.BeginSealed), State(attempt=5))
    assert fed.parties["party2"].passive.run.given.sides == told
