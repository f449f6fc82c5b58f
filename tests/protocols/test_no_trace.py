"""A step that a party refuses for what it says is not written down: the run that is resumed after it goes on."""

import msgspec
import numpy as np
import pytest

from federated import TINY, Federation, MemoryLog, refuses, same, step, two_class, until
from hedgerow.corridor import messages as m
from hedgerow.protocols.driver import State

replace = msgspec.structs.replace


def federation(n=3, **more):
    return Federation(two_class(n), TINY, logs={f"party{i}": MemoryLog() for i in range(1, n + 1)}, **more)


BAD = {
    "cuts off the grid": lambda r: replace(r, cuts=replace(r.cuts, column=r.cuts.column + 99)),
    "cuts in another order": lambda r: replace(r, cuts=replace(r.cuts, node=r.cuts.node[::-1].copy())),
    "nodes that are not there": lambda r: replace(r, leaves=replace(r.leaves, node=r.leaves.node + 50)),
}


@pytest.mark.parametrize("bad", BAD)
def test_a_refused_step_can_be_asked_for_as_it_should_be(bad):
    fed = federation()
    request = until(fed, step(m.AskLeafSums))
    party = fed.parties["party1"]
    before = list(party.log.lines()), dict(party.journal.answered)
    refuses(party, BAD[bad](request), "The driver cuts|The leaves")
    written = [line for line in party.log.lines() if line["event"] not in ("received", "refused")]
    assert written == [line for line in before[0] if line["event"] not in ("received", "refused")]
    assert party.journal.answered == before[1]
    fed.restart("party1")
    assert same(fed.run(State(attempt=5))[0], federation().model())


def test_a_refused_end_of_a_round_leaves_nobody_out():
    fed = federation(5, on_loss="continue")
    request = until(fed, step(m.AskHistograms, 0, 1))
    party = fed.parties["party1"]
    ends = m.FinishRound(77, 3, (0, 1, 2, 3), request.nodes, np.zeros(1, np.float32))
    refuses(party, ends, "did not grow")
    assert len(party.journal.members) == len(party.steps.alive) == 5
    assert same(fed.run(State(attempt=5))[0], federation(5).model())
