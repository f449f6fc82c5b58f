"""What follows from a request alone is worked out once by parties of one process, and only for the same request."""

from dataclasses import replace as other

import msgspec
import numpy as np
import pytest

from federated import TINY, Federation, changed, refuses, step, two_class, until
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import Frame, encode
from hedgerow.errors import ProtocolError
from hedgerow.protocols import told_trees as followed
from hedgerow.protocols.horizontal.counts import MOST_AT_ONCE, Asked, asked_by
from hedgerow.protocols.told_trees import Beginning, ToldNodes
from hedgerow.trees.bins import Grid

replace = msgspec.structs.replace


def begun(kind=m.AskHistograms, level=1):
    """Parties, and the request that they would hear next."""
    fed = Federation(two_class(3), TINY)
    request = until(fed, step(kind, 0, level))
    return list(fed.parties.values()), request


def counted(monkeypatch):
    """Notes every check of what was told."""
    checks, made = [], ToldNodes.step
    monkeypatch.setattr(ToldNodes, "step", lambda self, *told, **more: checks.append(told) or made(self, *told, **more))
    return checks


def test_parties_that_hear_the_same_frame_are_at_one_place_and_check_it_once(monkeypatch):
    parties, request = begun()
    checks, frame = counted(monkeypatch), Frame(encode(request))
    for party in parties:
        party.begin(frame)
    assert len({id(party.steps.growing.place) for party in parties}) == 1
    assert len(checks) == 1


def test_a_party_that_hears_another_frame_checks_it_itself(monkeypatch):
    """Even one with the same bytes: it came on another way."""
    (one, two, three), request = begun()
    checks, frame = counted(monkeypatch), Frame(encode(request))
    one.begin(frame)
    two.begin(Frame(bytes(frame)))
    assert len(checks) == 2
    refuses(three, replace(request, cuts=replace(request.cuts, bin=changed(request.cuts.bin, 0, 254))), "cut points")


def shallow(plan):
    return other(plan, params=other(plan.params, max_depth=1))


def without_columns(grid):
    return Grid(grid.cuts[:0], grid.cut_starts[:1], grid.has_missing[:0], grid.categorical[:0])


@pytest.mark.parametrize(
    ("differs", "match"),
    [
        (lambda place: {"plan": shallow(place.plan)}, "deeper than the 1 levels"),
        (lambda place: {"grid": without_columns(place.grid)}, "not among the agreed"),
        (lambda place: {"level": 1}, "asks for step 2"),
    ],
    ids=["plan", "cut points", "step"],
)
def test_a_request_that_is_right_at_one_place_is_refused_at_another(differs, match):
    """The very same request, just found right: one party's plan or cut points do not speak for another's."""
    (one, *_), request = begun(m.AskLeafSums, 2)
    place, frame = one.steps.growing.place, Frame.of(request)
    assert frame.derived(followed.follow, place).cuts is not None
    with pytest.raises(ProtocolError, match=match):
        frame.derived(followed.follow, other(place, **differs(place)))


@pytest.mark.parametrize("differs", ["plan", "grid", "trees", "round"])
def test_who_begins_from_anything_else_begins_at_another_place(differs):
    (one, *_), _ = begun()
    plan, grid = one.steps.growing.place.plan, one.steps.growing.place.grid
    finer = other(grid, cuts=np.nextafter(grid.cuts, np.float32(np.inf)))
    frame = Frame(b"")
    first = frame.derived(followed.begin, Beginning(plan, grid, 1, 0))
    begins = {
        "plan": (shallow(plan), grid, 1, 0),
        "grid": (plan, finer, 1, 0),
        "trees": (plan, grid, 2, 0),
        "round": (plan, grid, 1, 1),
    }
    assert frame.derived(followed.begin, Beginning(*begins[differs])) is not first


def test_those_that_begin_from_equal_plans_and_cut_points_begin_at_one_place():
    (one, *_), _ = begun()
    place = one.steps.growing.place
    grid = other(place.grid, cuts=place.grid.cuts.copy())
    frame = Frame(b"")
    first = frame.derived(followed.begin, Beginning(place.plan, place.grid, 1, 0))
    assert frame.derived(followed.begin, Beginning(other(place.plan), grid, 1, 0)) is first
    assert Frame(b"").derived(followed.begin, Beginning(place.plan, place.grid, 1, 0)) is not first


def test_nobody_can_change_what_others_share():
    parties, request = begun()
    frame = Frame(encode(request))
    for party in parties:
        party.begin(frame)
    told = frame.request
    place = parties[0].steps.growing.place
    cuts = place.cuts[0]
    shared = [place.nodes.status, place.nodes.sizes, *cuts.nodes, *cuts[1:], told.nodes.tree, told.nodes.node]
    for array in shared:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_a_refused_request_leaves_a_party_where_it_was():
    (one, *_), request = begun()
    before = one.steps.growing.place
    refuses(one, replace(request, nodes=m.NodeList(np.array([0]), np.array([7]))), "lowest level")
    assert one.steps.growing.place is before


def test_a_request_for_counts_is_read_once_and_only_the_same_one():
    fed = Federation(two_class(3), TINY)
    request = until(fed, lambda r: isinstance(r, m.AskCounts) and r.step == 2)
    frame, alike = Frame.of(request), Frame(encode(request))
    alike.read()
    asked = frame.derived(asked_by)
    assert frame.derived(asked_by) is asked
    assert alike.derived(asked_by) is not asked
    assert not any(run.prefixes.flags.writeable for run in alike.derived(asked_by).runs)


def test_no_more_counts_are_asked_for_at_once_than_the_driver_does():
    n = MOST_AT_ONCE + 1
    zeros = [np.zeros(n, kind) for kind in (np.int32, np.uint32, np.uint8)]
    with pytest.raises(ProtocolError, match="More than 1048576 counts"):
        Asked.of(m.AskCounts(0, *zeros))


def test_counts_of_many_lengths_in_turn_are_views_of_nothing_they_share():
    """Kernels take many views of one array slowly: a request of some MB would have stopped a party for minutes."""
    n = 1000
    request = m.AskCounts(0, np.zeros(n, np.int32), np.zeros(n, np.uint32), np.tile([4, 8], n // 2).astype(np.uint8))
    runs = Asked.of(request).runs
    assert len(runs) == n
    assert not any(np.shares_memory(run.prefixes, request.prefix) for run in runs)


def test_runs_of_a_request_for_counts_are_the_request():
    fed = Federation(two_class(3), TINY)
    request = until(fed, lambda r: isinstance(r, m.AskCounts) and r.step == 3)
    asked = Asked.of(request)
    assert list(asked.columns) == sorted(set(request.column.tolist()))
    for run in asked.runs:
        assert (request.column[run.at] == run.column).all()
        assert (request.shift[run.at] == run.digits).all()
    np.testing.assert_array_equal(np.concatenate([run.prefixes for run in asked.runs]), request.prefix)
