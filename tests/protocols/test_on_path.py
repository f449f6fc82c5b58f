"""In a prediction a row is asked about along one path of a tree; a passive party knows its own cuts well enough."""

import hashlib
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from asked import Prediction, trained
from federated import Federation, labels, params_of, values
from hedgerow.agreement.plan import Goal
from hedgerow.corridor.messages import AskKnown, AskWays
from hedgerow.corridor.wire import encode
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.errors import ModelError, ProtocolError
from hedgerow.model import part as parts
from hedgerow.protocols.predict import passive
from hedgerow.run.folder.private_state import CutsFile

PARAMS = params_of(n_estimators=4, max_depth=5, min_cut_rows=1)


def parties_of(kind="two", n=300):
    X, signal = values(n)
    table = Table.of(X, labels(kind, signal), ids=[f"p{i}" for i in range(n)])
    return partition.columns(table, share=[[4], [0, 1], [2, 3]])


@pytest.fixture(scope="module")
def made():
    return trained(parties_of(), PARAMS)


# What a party knows of its cuts


def above(part):
    """For each cut by its tree and node, the own cut above it, likewise, and the side."""
    names = list(zip(part.tree.tolist(), part.node.tolist(), strict=True))
    found = [None if code < 0 else (names[code // 2], code % 2) for code in part.after.tolist()]
    return dict(zip(names, found, strict=True))


@pytest.mark.parametrize(("kind", "goal"), [("two", Goal()), ("many", Goal()), ("numbers", Goal(objective="squared"))])
def test_a_party_that_saw_the_trees_grow_knows_how_its_cuts_lie_below_each_other(kind, goal):
    model, own = trained(parties_of(kind), PARAMS, goal)
    whole = parts.joined(model, own)
    for party, part in own.items():
        assert above(part) == above(parts.part_of(whole, party))
        assert any(above(part).values())


def test_it_still_knows_after_its_process_was_killed(tmp_path):
    fed = Federation(parties_of(), PARAMS, method="vertical", protection="plain", active="party1")
    fed.parties["party2"].owner = replace(fed.parties["party2"].owner, keeps=CutsFile(tmp_path / "cuts", b"plan"))
    fed.model()
    kept, rows = CutsFile(tmp_path / "cuts", b"plan").read(), fed.parties["party2"].passive
    assert len(kept) == PARAMS.n_estimators
    for own, told in zip(kept, rows.run.kept, strict=True):
        assert [after.tolist() for after in own.after] == [after.tolist() for after in told.after]


def test_a_party_that_does_not_know_the_nodes_does_not_know_it_either():
    plan = {"method": "vertical", "protection": "lattice", "active": "party1", "hidden_rows": True}
    fed = Federation(parties_of(n=120), replace(PARAMS, n_estimators=1, max_depth=2), **plan)
    fed.model()
    assert all(parts.decoded(content, name).after is None for name, content in fed.kept.items())


# What an active party gets that asks about every cut


def ways(made, part):
    """Answers that an active party gets that asks about one row at all cuts of party2, from the roots down."""
    model, own = made
    asked = Prediction(model, {**own, "party2": part}, parties_of()).consented().answering["party2"]
    asked.answer(encode(AskKnown(("p7",))))
    told = 0
    for cut in np.lexsort((part.node, part.tree)):
        one = [np.array([n], np.int32) for n in (part.tree[cut], part.node[cut], 1)]
        try:
            asked.answer(encode(AskWays(*one, np.zeros(1, np.uint16))))
        except ProtocolError as error:
            assert "not the next on its path" in str(error)  # noqa: PT017  # others would be a fault of the test
        else:
            told += 1
    return told


def longest(part):
    """The most own cuts on a path, over all trees."""
    depth = np.zeros(len(part.tree), int)
    for cut in np.lexsort((part.node, part.tree)):
        depth[cut] = 1 + (depth[part.after[cut] // 2] if part.after[cut] >= 0 else 0)
    return sum(int(depth[part.tree == tree].max()) for tree in np.unique(part.tree))


def test_a_row_is_told_along_one_path_of_each_tree(made):
    part = made[1]["party2"]
    assert len(part.tree) > longest(part)
    assert ways(made, part) <= longest(part)


def test_a_party_that_knows_no_paths_tells_every_cut(made):
    """The sabotage, and what parts of version 2 are like."""
    part = made[1]["party2"]
    assert ways(made, replace(part, after=None)) == len(part.tree)


def test_the_next_cut_is_on_the_side_that_was_told(made):
    """Below one of its cuts a party answers on one side only, whichever the active party would like."""
    part = made[1]["party2"]
    asked = Prediction(*made, parties_of()).consented().answering["party2"]
    tried = 0
    for cut in np.flatnonzero(part.after >= 0):
        above = part.after[cut] // 2
        if part.after[above] >= 0:
            continue
        tried += 1
        asked.answer(encode(AskKnown(("p7",))))
        one = [[np.array([n], np.int32) for n in (part.tree[i], part.node[i], 1)] for i in (above, cut)]
        asked.answer(encode(AskWays(*one[0], np.zeros(1, np.uint16))))
        right = asked.last[part.tree[above]] % 2
        request = encode(AskWays(*one[1], np.zeros(1, np.uint16)))
        if right == part.after[cut] % 2:
            assert asked.answer(request)
        else:
            with pytest.raises(ProtocolError, match="not the next on its path"):
                asked.answer(request)
    assert tried > 3


# Runs of cuts, asked about at once


def run_of(part, *cuts):
    """A request about the first row: it has come to the first cut, and the others are said to follow."""
    n_rows = np.array([1, *[0] * (len(cuts) - 1)], np.int32)
    return encode(AskWays(*(name[list(cuts)].astype(np.int32) for name in (part.tree, part.node)), n_rows, ROW))


ROW = np.zeros(1, np.uint16)
NO_RUN = "do not follow each other directly"


def asked_of(made, cut):
    """Party2, that has told of the row's way in this cut's tree down to the cut."""
    asked = Prediction(*made, parties_of()).consented().answering["party2"]
    asked.answer(encode(AskKnown(("p7",))))
    asked.last[asked.part.tree[cut]] = -1 if asked.part.after is None else asked.part.after[cut]
    return asked


def own_cuts(part, n_below):
    """Cuts, each with those of which it is the nearest above, so many at some end."""
    for cut in range(len(part.tree)):
        for end in (2 * cut, 2 * cut + 1):
            if len(below := np.flatnonzero(part.after == end)) == n_below:
                yield cut, below


def test_cuts_that_follow_each_other_are_told_as_if_they_were_asked_about_one_by_one(made):
    part, tried = made[1]["party2"], 0
    for cut, below in own_cuts(part, 1):
        at_once, one_by_one = asked_of(made, cut), asked_of(made, cut)
        at_once.answer(run_of(part, cut, *below))
        one_by_one.answer(run_of(part, cut))
        if one_by_one.last[part.tree[cut]] == part.after[below[0]]:
            one_by_one.answer(run_of(part, *below))
            tried += 1
        assert np.array_equal(at_once.last, one_by_one.last)
    assert tried


def test_a_request_across_anothers_cut_for_both_sides_of_it_is_refused(made):
    """Two own cuts that lie below one end lie apart below another's cut; of one path only one of them can be."""
    part, pairs = made[1]["party2"], list(own_cuts(made[1]["party2"], 2))
    assert pairs
    for cut, below in pairs:
        with pytest.raises(ProtocolError, match=NO_RUN):
            asked_of(made, cut).answer(run_of(part, cut, *below))


def test_a_party_that_does_not_look_answers_it(made, monkeypatch):
    """The sabotage. Even then a row takes one path: where two cuts follow at one end, it goes on to the last."""
    part = made[1]["party2"]
    real = passive.next_cuts
    monkeypatch.setattr(passive, "next_cuts", lambda after, asked, following: real(after, asked, following[-1:]))
    for cut, below in own_cuts(part, 2):
        assert asked_of(made, cut).answer(run_of(part, cut, *below))


def test_cuts_off_the_path_are_refused(made):
    part = made[1]["party2"]
    first, (below,) = next(own_cuts(part, 1))
    other = next(cut for cut in range(len(part.tree)) if part.tree[cut] != part.tree[first])
    for cuts in ((first, other), (other, below), (first, below, below)):
        with pytest.raises(ProtocolError, match=NO_RUN):
            asked_of(made, cuts[0]).answer(run_of(part, *cuts))
    with pytest.raises(ProtocolError, match="not the next on its path"):
        asked_of(made, first).answer(run_of(part, below))


def test_a_part_that_knows_no_paths_answers_cut_by_cut_only(made):
    model, own = made
    part = own["party2"]
    first, (below,) = next(own_cuts(part, 1))
    asked = asked_of((model, {**own, "party2": replace(part, after=None)}), first)
    with pytest.raises(ProtocolError, match="not well formed"):
        asked.answer(run_of(part, first, below))
    assert asked.answer(run_of(part, first))


# Files


def as_version(number, part):
    """The file that an older release wrote."""
    file = msgspec.json.decode(parts.encoded(part))
    for name in ("commitment", "after")[: 4 - number]:
        del file["body"][name]
    body = msgspec.json.encode(file["body"])
    whole = {"hedgerow part": number, "sha256": hashlib.sha256(body).hexdigest(), "body": msgspec.Raw(body)}
    return msgspec.json.encode(whole)


@pytest.mark.parametrize("number", [2, 3])
def test_a_part_of_a_version_before_still_predicts(made, number):
    model, own = made
    old = {name: parts.decoded(as_version(number, part), name) for name, part in own.items()}
    assert (old["party2"].after is None) == (number == 2)
    assert old["party2"].commitment is None
    tables = parties_of()
    assert np.array_equal(Prediction(model, old, tables).leaves(), Prediction(model, own, tables).leaves())


DAMAGED = {
    "too few": lambda after: after[:-1],
    "a cut that is not there": lambda after: np.where(after == after.max(), 2 * len(after), after),
    "below -1": lambda after: after - 1,
    "a circle": lambda after: np.arange(len(after)) * 2,
    "another tree": lambda after: np.where(after >= 0, 2 * (len(after) - 1), after),
}


@pytest.mark.parametrize("how", DAMAGED)
def test_cuts_that_cannot_lie_so_are_refused(made, how):
    part = made[1]["party2"]
    with pytest.raises(ModelError, match="its cuts do not lie below each other"):
        parts.decoded(parts.encoded(replace(part, after=DAMAGED[how](part.after))), "it")
