"""A round's end and the next one's beginning in one request: the same as two, and only where the plan says so."""

import itertools

import numpy as np
import pytest
from msgspec.structs import replace

from federated import (
    TINY,
    Federation,
    Lossy,
    MemoryLog,
    labels,
    params_of,
    pooled_model,
    refuses,
    same,
    step,
    stopped,
    two_class,
    until,
    values,
)
from hedgerow.agreement.plan import Goal
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import encode
from hedgerow.data import partition
from hedgerow.errors import PrivacyError
from hedgerow.trees import grow

FOUR = params_of(n_estimators=4)


def kinds(fed):
    """How often the driver said what to the first party."""
    said = [one.kind for one in fed.heard if one.receiver == "party1"]
    return {kind: said.count(kind) for kind in ("AskHistograms", "AskLeafSums", "NextRound", "FinishRound")}


def test_a_tree_takes_one_request_less_and_the_last_ends_in_its_own():
    fed, apart = Federation(two_class(3), FOUR), Federation(two_class(3), FOUR, on_loss="continue")
    assert same(fed.model(), apart.model())
    joined, single = kinds(fed), kinds(apart)
    assert (joined["NextRound"], joined["FinishRound"]) == (3, 1)
    assert (single["NextRound"], single["FinishRound"]) == (0, 4)
    assert joined["AskHistograms"] == single["AskHistograms"] - 3
    assert joined["AskLeafSums"] == single["AskLeafSums"]


@pytest.mark.parametrize("more", [{"on_loss": "continue"}, {"party_share": 0.7}, {"goal": Goal(follow=True)}])
def test_rounds_are_joined_only_where_sums_are_of_all_and_nothing_is_followed(more):
    training, validation = partition.hold_out(two_class(5), 0.2)
    followed = "goal" in more
    fed = Federation(training, FOUR, valid=validation if followed else None, **more)
    fed.model()
    assert kinds(fed)["NextRound"] == 0
    assert kinds(fed)["FinishRound"] == 4


@pytest.mark.parametrize("more", [{"on_loss": "continue"}, {"party_share": 0.7}])
def test_a_party_refuses_a_joined_round_where_the_plan_does_not_join_them(more):
    fed = Federation(two_class(5), TINY, **more)
    end = until(fed, step(m.FinishRound))
    party = next(party for party in fed.parties.values() if party.steps.own_number in end.parties)
    before = party.steps.growing.place
    refuses(party, m.NextRound(end.round, end.level, end.parties, end.leaves, end.values), "does not allow NextRound")
    assert party.steps.growing.place is before


def written(party):
    """What a party has written down, where it is, and its scores."""
    return (
        [line for line in party.log.kept if line["event"] in ("answered", "finished")],
        party.journal.answered,
        party.journal.finished,
        (party.steps.growing.place.round, party.steps.growing.place.level),
        party.steps.state,
        party.steps.growing.rows.own.scores.tolist(),
        party.steps.growing.rows.pairs.tolist(),
    )


def test_a_party_writes_down_and_does_the_same_as_for_two_requests():
    found = []
    for apart in (False, True):
        fed = Federation(two_class(3), TINY, logs={f"party{i}": MemoryLog() for i in (1, 2, 3)})
        both = until(fed, step(m.NextRound))
        party = fed.parties["party1"]
        if apart:
            n_trees = len(party.steps.growing.rows.own.scores)
            nodes = m.NodeList(np.arange(n_trees), np.zeros(n_trees, np.int64))
            first = fed.of("AskHistograms")[0].message
            party.answer(encode(m.FinishRound(both.round, both.level, both.parties, both.leaves, both.values)))
            party.answer(encode(replace(first, round=both.round + 1, nodes=nodes)))
        else:
            party.answer(encode(both))
        found.append(written(party))
    assert found[0] == found[1]
    assert found[0][3] == (1, 1)


def test_a_joined_round_is_not_answered_for_other_values_or_parties():
    party, both = stopped(step(m.NextRound))
    refuses(party, replace(both, parties=(0, 1)), "not as the plan says")
    party.answer(encode(both))
    other = replace(both, values=both.values + 1)
    refuses(party, other, "answered before", PrivacyError)


def test_a_joined_round_ends_a_round_that_was_grown_and_begins_no_more_than_the_plan_has():
    party, leaves = stopped(step(m.AskLeafSums))
    both = m.NextRound(0, leaves.level, leaves.parties, leaves.leaves, np.zeros(len(leaves.leaves.tree), np.float32))
    refuses(party, both, "do not divide the rows|did not grow")
    party, last = stopped(step(m.FinishRound, 1))
    both = m.NextRound(1, last.level, last.parties, last.leaves, last.values)
    refuses(party, both, "not among those of the plan")


@pytest.mark.parametrize("at", [step(m.NextRound, 1), step(m.FinishRound, 3), step(m.AskHistograms, 2, 1)])
def test_a_party_lost_at_a_rounds_end_changes_nothing(at):
    """Some have heard the end, one has not: the tree is grown again, and is the same."""
    parties = two_class(4)
    lost = []

    def lose(name, request):
        first = name == "party3" and at(request) and not lost
        lost.extend([name] if first else [])
        return first

    fed, states = Federation(parties, FOUR), []
    model, state = fed.run(transport=Lossy(fed, lose), keep=states.append)
    assert lost
    assert state.attempt == 2
    assert same(model, pooled_model(parties, FOUR))
    # Never kept more than all have finished, never behind by more than the round that ends.
    assert max(len(after.parts) - len(before.parts) for before, after in itertools.pairwise(states)) == 1


def test_what_is_kept_is_what_everybody_has_the_values_of():
    """A driver that dies anywhere resumes from trees that every party knows it helped to grow."""
    logs = {f"party{i}": MemoryLog() for i in (1, 2, 3)}
    states, behind = [], []

    def keep(state):
        states.append(state)
        finished = [sum(line["event"] == "finished" for line in log.kept) for log in logs.values()]
        behind.append(min(finished) - len(state.parts))

    Federation(two_class(3), FOUR, logs=logs).model(keep=keep)
    assert len(states[-1].parts) == 4
    assert min(behind) == 0


def test_training_that_a_callback_ends_tells_everybody_the_last_values():
    fed = Federation(two_class(3), FOUR)
    model = fed.model(callbacks=[lambda round_: round_.number == 2])
    assert model.forest.n_trees == 2
    assert (kinds(fed)["NextRound"], kinds(fed)["FinishRound"]) == (1, 1)
    for party in fed.parties.values():
        table = party.rows.table
        scores = np.full((table.n_rows, 1), model.base_score, np.float32)
        model.forest.add_scores(table.values, table.absent, scores, 1)
        assert (party.steps.growing.rows.own.scores == scores.T).all()


def test_where_all_roots_are_too_many_for_one_request_rounds_end_by_themselves(monkeypatch):
    X, signal = values(300)
    parties = partition.rows(X, labels("many", signal), 3)
    expected = pooled_model(parties, TINY)
    monkeypatch.setattr(grow, "LARGEST_LEVEL", 16)
    fed = Federation(parties, TINY)
    assert fed.model().forest == expected.forest
    assert (kinds(fed)["NextRound"], kinds(fed)["FinishRound"]) == (0, 2)


@pytest.mark.parametrize("round_", [2**64 - 1, 2**63 - 1, -(2**63), -1, 1, 2])
def test_a_round_that_the_plan_does_not_have_is_refused(round_):
    party, both = stopped(step(m.NextRound))
    refuses(party, replace(both, round=round_), "not among those of the plan")


def test_callbacks_are_told_of_a_round_once_though_it_is_grown_again():
    told, lost = [], []

    def lose(name, request):
        first = name == "party3" and step(m.NextRound, 1)(request) and not lost
        lost.extend([name] if first else [])
        return first

    fed = Federation(two_class(4), FOUR)
    fed.model(transport=Lossy(fed, lose), callbacks=[lambda round_: told.append(round_.number)])
    assert lost
    assert told == [1, 2, 3, 4]


def test_a_callbacks_word_to_end_holds_though_a_party_is_lost_at_the_end():
    calls, lost = [], []

    def stop(round_):
        calls.append(round_.number)
        return len(calls) == 2

    def lose(name, request):
        first = name == "party2" and isinstance(request, m.FinishRound) and not lost
        lost.extend([name] if first else [])
        return first

    fed = Federation(two_class(3), FOUR)
    model = fed.model(transport=Lossy(fed, lose), callbacks=[stop])
    assert lost
    assert calls == [1, 2]
    assert model.forest.n_trees == 2
