"""An owner's own limits of what a vertical run is given, however much its plan needs and whatever process gives it."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from federated import TINY, Federation, MemoryLog, until
from federated import vertical as by_columns
from hedgerow.agreement.policy import ALLOW_ALL, Policy
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import encode
from hedgerow.errors import PolicyError
from hedgerow.protocols.driver import State
from hedgerow.protocols.vertical.passive_run import Terms

HIDDEN = {"hidden_rows": True, "protection": "lattice"}


def federation(policy=ALLOW_ALL, logs=None, **plan):
    plan = {"method": "vertical", "protection": "plain", "active": "party1", **plan}
    return Federation(by_columns(TINY).tables, TINY, policy=policy, logs=logs, **plan)


def given(**plan):
    """The sides and bits that a whole run takes of party 2 and party 3, the more of each."""
    fed = federation(**plan)
    fed.model()
    rows = [party.passive.run.given for party in fed.parties.values()]
    return {"most_sides": max(r.sides for r in rows), "most_bits": max(r.bits for r in rows)}


@pytest.mark.parametrize("plan", [{}, HIDDEN], ids=["shown", "hidden"])
@pytest.mark.parametrize("rule", ["most_sides", "most_bits"])
def test_a_run_takes_as_much_as_the_policy_gives_and_no_more(plan, rule):
    enough = given(**plan)[rule]
    assert federation(replace(ALLOW_ALL, **{rule: enough}), **plan).model().forest.n_trees == 2
    with pytest.raises(PolicyError, match=rf"more of this party's rows than its policy gives away \({rule}\)"):
        federation(replace(ALLOW_ALL, **{rule: enough - 1}), **plan).model()


@pytest.mark.parametrize("rule", ["most_sides", "most_bits"])
def test_without_the_check_the_policy_would_be_a_word(monkeypatch, rule):
    """The sabotage: limits that nobody looks at."""
    monkeypatch.setattr(Terms, "check_given", lambda *_: None)
    assert federation(replace(ALLOW_ALL, **{rule: 1})).model().forest.n_trees == 2


@pytest.mark.parametrize("logged", [True, False])
def test_what_processes_before_have_given_counts_where_there_is_a_log(logged):
    logs = {name: MemoryLog() for name in ("party2", "party3")} if logged else None
    fed = federation(logs=logs)
    until(fed, lambda r: isinstance(r, m.AskSealedSums) and r.round == 1)
    before = fed.parties["party3"].passive.run.given
    assert before.bits
    assert before.sides
    fed.restart("party3")
    until(fed, lambda r: isinstance(r, m.BeginSealed), State(attempt=1))
    after = fed.parties["party3"].passive.run.given
    assert (after.bits, after.sides) == ((before.bits, before.sides) if logged else (0, 0))


def many_classes(n):
    fed = federation(replace(ALLOW_ALL, most_classes=Policy().most_classes))
    own = fed.tables["party1"]
    fed.tables["party1"] = replace(own, labels=np.arange(own.n_rows) % n)
    return fed


def test_ten_classes_are_allowed_by_default_and_eleven_are_not():
    assert many_classes(10).model().forest.n_trees == 2 * 10
    with pytest.raises(PolicyError, match=r"11 trees a round, .* allow 10 \(most_classes\)"):
        many_classes(11).model()


def test_the_defaults_have_room_for_a_million_rows_a_hundred_rounds_and_ten_classes():
    """The figures beside the defaults: every cut this party's; 100 columns of 255 bins, 54 bits a sum."""
    rows, rounds, depth, classes = 10**6, 100, 6, 10
    assert rows * rounds * depth * classes <= Policy().most_sides
    assert rows * rounds * (2**depth - 1) <= Policy().most_sides  # with hidden rows, one tree a round
    assert 2 * 100 * 254 * 2 ** (depth - 1) * rounds * classes * 54 <= Policy().most_bits


@pytest.mark.parametrize("most", [1, 2])
def test_two_classes_are_one_tree_a_round(most):
    fed = federation(replace(ALLOW_ALL, most_classes=most))
    request = until(fed, lambda r: isinstance(r, m.BeginSealed))
    two = msgspec.structs.replace(request, n_trees=2, run_sums=2 * request.run_sums)
    with pytest.raises(PolicyError, match=r"2 trees a round, .* allow 1 \(most_classes\)"):
        fed.parties["party2"].answer(encode(two))
