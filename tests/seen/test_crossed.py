"""Everything that crosses is declared in `messages`, and what should not depend on private rows does not."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from federated import Federation, params_of, two_class
from hedgerow.corridor import messages as m
from hedgerow.data import partition
from hedgerow.protocols import party as party_side
from hedgerow.protocols.columns import own_facts
from runs import RUNS, run_of

DECLARED = {(line.message, line.field): line for line in m.disclosures()}


@pytest.mark.parametrize("name", RUNS)
def test_every_field_that_crosses_is_declared(name):
    for one in run_of(name).heard:
        fields = type(one.message).__struct_fields__
        assert (one.sender == "driver") == isinstance(one.message, m.Request)
        for field in fields:
            assert DECLARED[one.kind, field].direction == str(m.ROUTES[type(one.message)])
        assert len(msgspec.msgpack.decode(one.frame)) == 1 + len(fields), "a tag and the declared fields, no more"


def test_every_message_that_is_declared_crosses_in_some_run():
    crossed = {one.kind for name in RUNS for one in run_of(name).heard}
    assert crossed == {kind.__name__ for kind in (*m.REQUESTS, *m.ANSWERS)}


@pytest.mark.parametrize("name", RUNS)
def test_plain_sums_quantiles_whole_trees_and_counts_cross_only_where_the_plan_says_so(name):
    crossed = {one.kind for one in run_of(name).heard}
    expected = {
        "plain": {"PlainSums"},
        "shared, unencrypted": {"PlainSums"},
        "local cuts": {"LocalCuts"},
        "bagging": {"OwnTrees"},
        "sequential": {"OwnTrees"},
        "counted": {"AllowedSums"},
    }
    assert crossed & {"PlainSums", "LocalCuts", "OwnTrees", "AllowedSums"} == expected.get(name, set())


def test_every_party_hears_the_same():
    by_party: dict[str, list[bytes]] = {}
    for one in run_of("masked").heard:
        if one.sender == "driver":
            by_party.setdefault(one.receiver, []).append(one.frame)
    assert len(by_party) == 5
    assert len({tuple(frames) for frames in by_party.values()}) == 1


# Non-interference

RANDOM = {("Consent", "public_key"), ("Consent", "signature"), ("Introduce", "keys")}


def clear(heard):
    """Every clear field that crossed, in order, but for keys and signatures, which are fresh in every run."""
    out = []
    for one in heard:
        for field, how in m.travels(type(one.message)).items():
            if how.how == "clear" and (one.kind, field) not in RANDOM:
                value = m.msgspec.to_builtins(getattr(one.message, field), enc_hook=lambda array: array.tobytes())
                out.append((one.sender, one.receiver, one.kind, field, value))
    return out


def crossed(parties, **more):
    fed = Federation(parties, params_of(min_cut_rows=1), **more)
    fed.model()
    return fed.heard


def swapped(parties):
    """Half of the rows of two parties change places."""
    one, two = parties["party1"], parties["party2"]
    both = partition.pooled({"a": one, "b": two})
    side = np.arange(both.n_rows) % 2 == 0
    return {**parties, "party1": both.take(side), "party2": both.take(~side)}


def test_rows_that_change_places_change_no_clear_field():
    parties = two_class(4)
    other = swapped(parties)
    assert not np.array_equal(parties["party1"].ids, other["party1"].ids)
    assert clear(crossed(parties)) == clear(crossed(other))


def test_with_plain_sums_they_do():
    """The sabotage: sums of single parties depend on who holds a row."""
    parties = two_class(4)
    assert clear(crossed(parties, protection="plain")) != clear(crossed(swapped(parties), protection="plain"))


def relabelled(parties):
    table = parties["party1"]
    return {**parties, "party1": replace(table, labels=1 - table.labels)}


def differing(one, other):
    """Kinds of messages with a clear field that differs."""
    return {a[2] for a, b in zip(clear(one), clear(other), strict=True) if a != b}


def test_other_labels_change_only_what_depends_on_sums():
    """Gradients reach the first score, then the cuts and values of trees, and nothing before."""
    parties = two_class(4)
    one, other = crossed(parties), crossed(relabelled(parties))
    before = next(i for i, heard in enumerate(one) if heard.kind == "Begin")
    assert clear(one[:before]) == clear(other[:before])
    kinds = {heard.kind for heard in one[before:] if clear([heard]) not in [clear([h]) for h in other[before:]]}
    assert kinds
    assert kinds <= {"Begin", "AskHistograms", "AskLeafSums", "NextRound", "FinishRound", "Farewell"}


def test_other_values_change_nothing_before_the_counts():
    parties = two_class(4)
    table = parties["party1"]
    other = {**parties, "party1": replace(table, values=table.values * np.float32(1.5))}
    kept = {"Propose", "Consent", "Introduce", "Facts", "Agree", "Done", "AskMoments"}
    one, two = ([h for h in crossed(tables) if h.kind in kept] for tables in (parties, other))
    named = [[line for line in clear(heard) if line[2] != "Done"] for heard in (one, two)]
    assert named[0] == named[1]


def test_a_party_that_leaks_in_a_clear_field_is_noticed(monkeypatch):
    """The sabotage: the number of positive labels in a column's name."""

    def leaking(plan, name, policy, own, valid):
        facts = own_facts(plan, name, policy, own, valid)
        marked = replace(facts.columns[0], name=f"f0 {int(own.labels.sum())}")
        return msgspec.structs.replace(facts, columns=(*facts.columns, marked))

    parties = two_class(4)
    monkeypatch.setattr(party_side, "own_facts", leaking)
    one, other = crossed(parties), crossed(relabelled(parties))
    assert "Facts" in differing([h for h in one if h.kind == "Facts"], [h for h in other if h.kind == "Facts"])
