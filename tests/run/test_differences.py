"""A run that does not go on because its plan changed says what changed, and from what to what."""

from dataclasses import replace

import msgspec
import pytest

from federated import params_of, with_method
from hedgerow.agreement.options import NoPrivacy, WholeTrees
from hedgerow.agreement.plan import Goal, Member, Plan
from hedgerow.run.folder.differences import differences

PLAN = Plan("credit", tuple(Member(name, name * 64) for name in "abc"), Goal(), params_of(max_depth=4))


def told(other: Plan) -> str:
    return differences(*(msgspec.json.decode(plan.text) for plan in (PLAN, other)))


CHANGES = {
    "max_depth was 4, now 5": lambda p: replace(p, params=replace(p.params, max_depth=5)),
    "[run] name was credit, now loans": lambda p: replace(p, run="loans"),
    "label was not given, now y": lambda p: replace(p, goal=Goal(label="y")),
    "allow_two was false, now true": lambda p: with_method(p, allow_two=True),
    "the parties were a, b, c, now a, b, c, d": lambda p: replace(p, members=(*p.members, Member("d", "d" * 64))),
    f"[[party]] 'b' fingerprint was {'b' * 37}..., now {'e' * 37}...": lambda p: replace(
        p, members=(p.members[0], Member("b", "e" * 64), p.members[2])
    ),
    "on_loss was wait, now continue, and max_depth was 4, now 6": lambda p: replace(
        with_method(p, on_loss="continue"), params=replace(p.params, max_depth=6)
    ),
    "protection was masked, now plain": lambda p: with_method(p, privacy=NoPrivacy(i_accept_disclosure=True)),
    "[run] method was horizontal, now whole trees": lambda p: replace(p, method=WholeTrees()),
    "": lambda p: p,
}


@pytest.mark.parametrize("sentence", CHANGES)
def test_every_key_that_differs_is_named_with_both_values(sentence):
    assert told(CHANGES[sentence](PLAN)) == sentence


def test_many_differences_are_counted():
    before, now = ({str(i): value for i in range(8)} for value in (1, 2))
    assert differences(before, now).endswith("4 was 1, now 2, and 3 more")
