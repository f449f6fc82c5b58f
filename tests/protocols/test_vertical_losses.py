"""Passive parties that are lost on the way: the run waits, or goes on without their columns where all agreed to it."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from federated import Federation, Lossy, labels, params_of, pooled_model, refuses, same, values
from hedgerow.agreement.policy import ALLOW_ALL
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import encode
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.errors import PartyLost, RunError
from hedgerow.model import part as parts
from hedgerow.model import train as pooled
from hedgerow.model.prepare import growth_of
from hedgerow.model.train import Task
from hedgerow.trees.losses import Loss

PARAMS = params_of(n_estimators=4)
LOST, LEFT = "party2", ("party3", "party4")

STAGES = {
    "first sums": lambda r: isinstance(r, m.AskSealedSums) and (r.round, r.level) == (2, 0),
    "sums of a level": lambda r: isinstance(r, m.AskSealedSums) and (r.round, r.level) == (2, 1),
    "sides": lambda r: isinstance(r, m.AskSides) and r.round == 2,
    "the end of a tree": lambda r: isinstance(r, m.EndRound) and r.round == 2,
}


def table_of():
    X, signal = values(250)
    return Table.of(X, labels("two", signal), ids=np.arange(250))


def vertical(on_loss="continue", protection="plain", **plan):
    """The party that will be lost has the best column."""
    parties = partition.columns(table_of(), share=[[4], [0], [1, 2], [3]])
    return Federation(
        parties, PARAMS, method="vertical", protection=protection, active="party1", on_loss=on_loss, **plan
    )


def losing(fed, stage, *names, returning=False):
    lost = set()

    def lose(name, request):
        gone = name in names and name not in lost and stage(request)
        lost.update({name} if gone else ())
        return gone

    transport = Lossy(fed, lose)
    transport.returning = returning
    return transport


def in_order(*columns):
    """One table with the parties' columns in the order of the plan, or with these."""
    return table_of().aligned([table_of().columns[i] for i in columns or (4, 0, 1, 2, 3)])


def joined(fed, model):
    return parts.joined(model, {name: parts.decoded(part, name) for name, part in fed.kept.items()})


def expected(rounds_with_all):
    """Trees of all columns, then trees that lack the lost party's, each on what those before it left."""
    table = in_order()
    task = Task(Loss("logistic"), (0, 1))
    first = pooled.train(table, replace(PARAMS, n_estimators=rounds_with_all), task)
    empty = np.array(table.values)  # a column of one value cannot be cut
    empty[:, 1] = 0
    rest = replace(PARAMS, n_estimators=PARAMS.n_estimators - rounds_with_all)
    ready = pooled.prepare(replace(table, values=empty), rest, task)
    before = pooled.prepare(table, rest, replace(task, start=first))
    ready.rows.own.scores[...] = before.rows.own.scores
    growth = growth_of(ready.fixed.grid, rest, ready.fixed.scales, 1)
    done = pooled.boost(ready.rows, growth, rest, ready.fixed.scales, 1, start=first.forest)
    return done.forest


@pytest.mark.parametrize("protection", ["plain", "lattice"])
@pytest.mark.parametrize("stage", STAGES)
def test_the_tree_under_way_is_grown_again_without_the_lost_columns(stage, protection):
    fed = vertical(protection=protection)
    model, state = fed.run(transport=losing(fed, STAGES[stage], LOST))
    assert state.losses == ((2, (LOST,)),)
    assert state.present == LEFT
    forest = model.forest
    assert 1 in forest.first(2).columns
    assert 1 not in forest.part(2, 4).columns
    whole = joined(fed, model).forest
    known = expected(2)
    lost_cuts = whole.columns == 1
    assert np.array_equal(whole.columns, known.columns)
    assert np.array_equal(whole.values, known.values)
    assert np.array_equal(whole.thresholds[~lost_cuts], known.thresholds[~lost_cuts])
    assert LOST not in fed.kept


def test_rows_take_the_default_direction_at_the_cuts_of_a_party_that_is_lost():
    fed = vertical()
    model = fed.model(transport=losing(fed, STAGES["sides"], LOST))
    whole = replace(joined(fed, model), ownership=None)
    assert whole.names == ("f4", "party2:0", "f1", "f2", "f3")
    absent = in_order(4, 1, 2, 3).widened([whole.columns[1]])
    full = np.array(absent.aligned(whole.columns).values)
    assert np.isnan(full[:, 1]).all()
    by_hand = np.full(len(full), model.base_score, np.float32)
    for tree in range(4):
        by_hand += [value_at(whole.forest, tree, row) for row in full]
    assert np.array_equal(whole.scores(absent)[:, 0], by_hand)


def value_at(forest, tree, row):
    at = forest.roots[tree]
    while forest.columns[at] >= 0:
        value = row[forest.columns[at]]
        left = forest.missing_left[at] if np.isnan(value) else value < forest.thresholds[at]
        at = forest.children[at] + (0 if left else 1)
    return forest.values[at]


def test_parties_may_be_lost_one_after_the_other_but_not_all():
    fed = vertical()
    first, second = losing(fed, STAGES["sides"], LOST), losing(fed, STAGES["the end of a tree"], "party3")
    transport = Lossy(fed, lambda *what: first.lose(*what) or second.lose(*what))
    transport.returning = False
    state = fed.run(transport=transport)[1]
    assert state.losses == ((2, ("party2",)), (2, ("party3",)))
    fed = vertical()
    with pytest.raises(PartyLost, match=r"did not come back within 0\.1 seconds; 2 trees are kept"):
        fed.run(transport=losing(fed, STAGES["first sums"], LOST, *LEFT))


def test_a_party_that_is_merely_late_is_waited_for():
    fed = vertical()
    transport = losing(fed, STAGES["sides"], LOST, returning=True)
    transport.here = lambda: frozenset(fed.plan.answering)
    model, state = fed.run(transport=transport)
    assert state.losses == ()
    assert same(joined(fed, model), pooled_model(in_order(), PARAMS))


def test_before_the_columns_are_known_a_lost_party_is_waited_for():
    fed = vertical()
    with pytest.raises(PartyLost, match="'party2' did not come back"):
        fed.run(transport=losing(fed, lambda r: isinstance(r, m.AskColumns), LOST))


def test_a_new_process_of_the_active_party_goes_on_with_those_that_are_left():
    whole = vertical()
    undisturbed = whole.run(transport=losing(whole, STAGES["sides"], LOST))[0]
    fed, kept = vertical(), []

    def keep(state):
        kept.append(state)
        if len(state.parts) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fed.run(transport=losing(fed, STAGES["sides"], LOST), keep=keep)
    again, state = fed.run(kept[-1])
    assert again.forest == undisturbed.forest
    assert state.losses == ((2, (LOST,)),)


@pytest.mark.parametrize(
    ("on_loss", "change", "fits"), [("continue", -1, True), ("continue", 1, False), ("wait", -1, False)]
)
def test_those_who_remain_accept_smaller_sizes_only_where_the_plan_lets_parties_go(on_loss, change, fits):
    fed = vertical(on_loss)
    fed.model()
    party = fed.parties["party3"]
    begun = party.passive.run.begun
    groups, a_group = begun.groups + change, begun.run_sums // begun.groups
    request = msgspec.structs.replace(begun, done=4, groups=groups, run_sums=groups * a_group)
    if fits:
        assert party.answer(encode(request))
    else:
        refuses(party, request, "changes the sizes of the run")


def test_aligned_rows_stay_as_they_are_and_cannot_be_aligned_anew_without_a_lost_party():
    fed = vertical(align="private")
    model = fed.model(transport=losing(fed, STAGES["sides"], LOST))
    given = vertical()
    assert model.n_rounds == given.model(transport=losing(given, STAGES["sides"], LOST)).n_rounds
    fed = vertical(align="private")
    transport = losing(fed, STAGES["sides"], LOST)
    carry = transport.carry

    def carrying(frames, *more):
        answers = carry(frames, *more)
        if LOST in transport.gone and not hasattr(transport, "anew"):
            transport.anew = True
            fed.restart("party3")
        return answers

    transport.carry = carrying
    with pytest.raises(RunError, match="cannot be aligned anew without a party that is lost"):
        fed.run(transport=transport)


def test_a_lost_party_that_told_names_keeps_its_columns():
    fed = vertical(policy=replace(ALLOW_ALL, tell_columns="names"))
    model, state = fed.run(transport=losing(fed, STAGES["sides"], LOST))
    assert state.present == LEFT
    assert model.columns[1].name == f"{LOST}:f0"


def test_a_party_whose_answer_was_lost_at_the_end_keeps_a_part_of_the_same_model():
    fed = vertical()
    model, _ = fed.run(transport=losing(fed, lambda r: isinstance(r, m.KeepPart), LOST))
    kept = {name: parts.decoded(part, name) for name, part in fed.kept.items()}
    assert {part.model for part in kept.values()} == {model.ownership.model}


def test_what_was_learnt_of_bins_stays_known_when_a_party_is_lost():
    fed = vertical()
    _, state = fed.run(transport=losing(fed, STAGES["sides"], LOST), notes_bins=True)
    told = {(column.party, column.column): column for column in state.learnt.told()}
    assert told[LOST, 0].bins > 2
    assert 0 < told[LOST, 0].sides_and_sums <= 1
