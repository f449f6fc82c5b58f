"""Runs that go on without lost parties, their driver killed at random requests: resumed, they end as if undisturbed.

Two promises at once, for random plans and losses: no step is opened for two sets of parties, and nothing gets stuck.
"""

import random

import pytest

from federated import Federation, MemoryLog, params_of, same, two_class
from hedgerow.corridor.messages import AskHistograms, AskLeafSums, FinishRound
from hedgerow.corridor.wire import decode_request
from hedgerow.errors import PartyLost
from hedgerow.transports.inproc import InProcess

STEPS = [*[(AskHistograms, 0)] * 3, (AskHistograms, 1), (AskLeafSums, 1), (AskLeafSums, 2), (FinishRound, 3)]
PLANS = [(5, 1.0), (7, 0.6), (6, 0.75), (8, 0.8), (8, 0.6)]
"""Numbers of parties and shares; of the middle three, as many are drawn from one party fewer."""

ROUNDS = 3
KILLS = 4
"""Of every plan."""


class Killed(Exception):
    """The driver's process ends."""


class Failing(InProcess):
    """Loses parties for good at given steps; the driver is killed at a request that only some have heard."""

    def __init__(self, fed, losses, kill_at=None, heard_by=0):
        super().__init__(fed.transport.answers)
        self.fed, self.losses, self.kill_at, self.heard_by = fed, dict(losses), kill_at, heard_by
        self.gone, self.n_asked, self.before_trees, self.opened = set(), 0, 0, {}

    def here(self):
        return super().here() - self.gone

    def wait(self, parties, deadline):
        return parties & frozenset(self.gone)

    def carry(self, frames, deadline, most_bytes):
        request = decode_request(next(iter(frames.values())))
        self.gone |= set(self.losses.pop((type(request), *place(request)), ()))
        there = {name: frame for name, frame in frames.items() if name not in self.gone}
        self.n_asked += 1
        self.before_trees += place(request)[0] is None
        if self.n_asked == self.kill_at:
            super().carry(dict(list(there.items())[: self.heard_by]), deadline, most_bytes)
            raise Killed
        answers, _ = super().carry(there, deadline, most_bytes)
        if isinstance(request, (AskHistograms, AskLeafSums)):
            names = {self.fed.plan.names[p] for p in request.parties}
            if names <= set(answers):
                self.opened.setdefault(place(request), set()).add(request.parties)
        return answers, frozenset(frames) - frozenset(answers)


def place(request):
    return getattr(request, "round", None), getattr(request, "level", None)


def scenario(draw):
    """A plan, and who is lost at which step."""
    n, share = draw.choice(PLANS)
    lost = draw.sample([f"party{i + 1}" for i in range(n)], draw.randint(1, 2))
    losses = {}
    for name in lost:
        kind, level = draw.choice(STEPS)
        losses.setdefault((kind, draw.randrange(ROUNDS), level), []).append(name)
    return {"n": n, "share": share, "seed": draw.randrange(1000)}, losses


def federation(n, share, seed):
    tables = two_class(n, n=50 * n)
    params = params_of(n_estimators=ROUNDS, max_depth=2, random_state=seed)
    logs = {name: MemoryLog() for name in tables}
    return Federation(tables, params, on_loss="continue", party_share=share, logs=logs)


def one_set_a_step(transport):
    return all(len(sets) == 1 for sets in transport.opened.values())


@pytest.mark.parametrize("seed", range(24))
def test_a_run_resumed_after_losses_and_kills_ends_as_if_undisturbed(seed):
    draw = random.Random(seed)  # noqa: S311  # which losses are tried
    plan, losses = scenario(draw)
    fed = federation(**plan)
    transport = Failing(fed, losses)
    whole = fed.model(transport=transport, patience=0.0)
    assert one_set_a_step(transport)
    for _ in range(KILLS):
        fed, kept = federation(**plan), []
        kill_at = draw.randint(transport.before_trees, transport.n_asked)
        killed = Failing(fed, losses, kill_at, draw.choice([0, 1, plan["n"] // 2, plan["n"]]))
        with pytest.raises(Killed):
            fed.run(transport=killed, keep=kept.append, patience=0.0)
        if draw.random() < 0.5:
            for name in fed.tables:
                fed.restart(name)
        try:
            assert same(fed.model(state=kept[-1], transport=killed, patience=0.0), whole)
        except PartyLost:
            assert killed.gone  # killed before it could keep that it goes on: nobody has heard of the loss, it waits
        assert one_set_a_step(killed)
