"""A party that has refused gives nothing more in the attempt: what it refused cannot be made common ground.

A driver tells parties different things in one attempt, where nothing can be opened. In the next it tells everybody all
of them: each accepts its own and refuses the others', and all have heard the same. Were they summed, the driver would
have chosen whose rows count.
"""

import numpy as np
import pytest
from msgspec.structs import replace

from federated import TINY, Federation, MemoryLog, params_of, step, two_class, until
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import decode_answer, encode
from hedgerow.errors import HedgerowError
from hedgerow.privacy import masks
from hedgerow.protocols.driver import State
from hedgerow.protocols.horizontal.driver import HorizontalRows, drawn
from hedgerow.protocols.horizontal.schema import SchemaTable
from hedgerow.protocols.party import Party
from hedgerow.protocols.told_trees import cut_list
from hedgerow.trees.splits import NO_CUTS, Nodes

ROOT = m.NodeList(np.zeros(1, np.int64), np.zeros(1, np.int64))
FORGETFUL = pytest.mark.parametrize("forgets", [True, False], ids=["ours", "the sabotage: refusals are forgotten"])


@pytest.fixture
def sabotaged(monkeypatch):
    """Parties that go on after a refusal as if nothing had been said."""

    def sabotage(forgets):
        if not forgets:
            monkeypatch.setattr(Party, "stop", lambda self: None)
        return not forgets

    return sabotage


def logged():
    return Federation(two_class(3), TINY, logs={f"party{i}": MemoryLog() for i in (1, 2, 3)})


def asked(fed, request, names=None):
    """What each party answers, or its refusal."""
    found = {}
    for name in names or fed.parties:
        try:
            found[name] = decode_answer(fed.parties[name].answer(encode(request)), 1 << 26)
        except HedgerowError as error:
            found[name] = error
    return found


def opened(answers):
    """The sum, if there is one to be opened and it is no noise."""
    if not all(isinstance(answer, m.MaskedSums) for answer in answers.values()):
        return None
    words = np.asarray(masks.unmasked_sum([answer.masked_words for answer in answers.values()]), np.int64)
    return words if np.abs(words).max() < 1 << 50 else None


def told_apart(fed, one, other):
    """The first party hears one thing, the others another; then a new attempt comes as far again."""
    for name, party in fed.parties.items():
        party.answer(encode(one if name == "party1" else other))
    until(fed, step(type(one)) if hasattr(one, "round") else lambda r: isinstance(r, type(one)), State(attempt=1))


def two_agreements():
    """What the driver agreed on, the same in another order, and a request for counts of the first column."""
    fed = logged()
    agree = until(fed, lambda r: isinstance(r, m.Agree))
    every = np.arange(16)
    counts = m.AskCounts(0, np.zeros(16, np.int32), every.astype(np.uint32), np.full(16, 28, np.uint8))
    return fed, agree, replace(agree, columns=agree.columns[::-1]), counts


@FORGETFUL
def test_parties_that_agreed_on_different_columns_are_not_counted_together(forgets, sabotaged):
    goes_on = sabotaged(forgets)
    fed, one, other, counts = two_agreements()
    told_apart(fed, one, other)
    assert any(isinstance(answer, HedgerowError) for answer in asked(fed, one).values())
    assert any(isinstance(answer, HedgerowError) for answer in asked(fed, other).values())
    assert (opened(asked(fed, counts)) is not None) is goes_on


@pytest.mark.parametrize("renews", [True, False], ids=["ours", "the sabotage: an agreement lasts for ever"])
def test_what_was_agreed_in_one_attempt_does_not_hold_in_the_next(renews, monkeypatch):
    if not renews:
        monkeypatch.setattr(SchemaTable, "own", property(lambda self: self.rows))
    fed, one, other, counts = two_agreements()
    told_apart(fed, one, other)
    assert (opened(asked(fed, counts)) is not None) is not renews


@FORGETFUL
def test_parties_that_added_different_values_are_not_summed_together(forgets, sabotaged):
    goes_on = sabotaged(forgets)
    fed = logged()
    both = until(fed, step(m.NextRound))
    ends = [
        m.FinishRound(both.round, both.level, both.parties, both.leaves, np.full_like(both.values, value))
        for value in (0.0, 80.0)
    ]
    for name, party in fed.parties.items():
        party.answer(encode(ends[0] if name == "party1" else ends[1]))
    until(fed, step(m.NextRound), State(attempt=1))
    for end in ends:
        assert any(isinstance(answer, HedgerowError) for answer in asked(fed, end).values())
    sums = opened(asked(fed, m.AskHistograms(1, 0, both.parties, cut_list(NO_CUTS), ROOT)))
    assert (sums is not None) is goes_on
    if goes_on:  # the others' hessians are 0 by their great scores, so that the first party's alone are read
        own = fed.parties["party1"].steps.growing.rows.histograms(Nodes(ROOT.tree, ROOT.node)).reshape(-1)
        assert (sums[1::2] == own[1::2]).all()


@FORGETFUL
def test_gradients_that_were_refused_for_another_set_are_not_summed_a_level_lower(forgets, sabotaged, monkeypatch):
    goes_on = sabotaged(forgets)
    finish = HorizontalRows.finish_round
    monkeypatch.setattr(HorizontalRows, "finish_round", lambda self, leaves, v: finish(self, leaves, np.zeros_like(v)))
    fed = Federation(two_class(4, n=320), params_of(n_estimators=8, max_depth=1), party_share=0.75)
    first = drawn(fed.plan, 0, range(4))
    other = next(i for i in range(1, 8) if drawn(fed.plan, i, range(4)) != first)
    root = until(fed, step(m.AskHistograms, other, 0))
    names = [fed.plan.names[i] for i in root.parties]
    assert any(isinstance(answer, HedgerowError) for answer in asked(fed, root, names).values())
    children = m.NodeList(np.zeros(2, np.int64), np.array([1, 2]))
    below = m.AskHistograms(other, 1, root.parties, fed.of("AskLeafSums")[0].message.cuts, children)
    assert (opened(asked(fed, below, names)) is not None) is goes_on


@FORGETFUL
def test_a_refused_request_does_not_change_the_set_of_a_tree(forgets, sabotaged):
    """Also where a party that refuses would go on: the set and who remains are as they were."""
    sabotaged(forgets)
    fed = Federation(two_class(5), on_loss="continue")
    lower = until(fed, step(m.AskHistograms, 0, 2))
    four, fewer = [f"party{i}" for i in (1, 2, 3, 4)], (0, 1, 2, 3)
    again = replace(fed.of("AskHistograms")[0].message, parties=fewer)
    assert all(isinstance(answer, HedgerowError) for answer in asked(fed, again, four).values())
    assert all(isinstance(a, HedgerowError) for a in asked(fed, replace(lower, parties=fewer), four).values())
    assert {fed.parties[name].steps.alive for name in four} == {(0, 1, 2, 3, 4)}
    assert {fed.parties[name].journal.members for name in four} == {frozenset(fed.plan.names)}


def test_after_a_refusal_a_new_attempt_works():
    parties = two_class(3)
    fed = Federation(parties, TINY)
    request = until(fed, step(m.AskHistograms, 1, 1))
    assert all(isinstance(a, HedgerowError) for a in asked(fed, replace(request, level=9)).values())
    assert all(isinstance(a, HedgerowError) for a in asked(fed, request).values())
    assert fed.model(state=State(attempt=1)).forest == Federation(parties, TINY).model().forest
