"""What comes in another order than agreed, or is unsound before the first tree, is refused with a sentence."""

import msgspec
import numpy as np
import pytest

from federated import TINY, Federation, changed, params_of, refuses, step, stopped, two_class, until, vertical
from hedgerow.agreement.dp import DP
from hedgerow.agreement.plan import Goal
from hedgerow.agreement.policy import ALLOW_ALL, Policy
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import encode
from hedgerow.data.table import Column
from hedgerow.errors import ParameterError
from hedgerow.trees.params import TreeParams

replace = msgspec.structs.replace


EMPTY = m.Trees(
    *(np.empty(0, kind) for kind in ("i4", "f4", "?", "i4", "i4", "u8", "f4", "f8", "f4")), np.zeros(1, int)
)
WAYS = ("i4", "i4", "i4", "u2")
DRAWN = ("i8", "i8", "i8", "i4", "i4", "?", "u8")
COUNTS = m.AskCounts(0, np.zeros(1, np.int32), np.zeros(1, np.uint32), np.full(1, 32, np.uint8))


def every_request():
    fed = Federation(two_class(3), TINY, column_names="private")
    fed.model()
    beside, opened = vertical(TINY), Federation(two_class(3), TINY, protection="lattice", opener="party1")
    beside.model()
    opened.model()
    hidden = vertical(TINY, protection="lattice", hidden_rows=True)
    hidden.model()
    noisy = [Federation(two_class(3), TreeParams(), dp=DP(5, method=way)) for way in ("auto", "greedy")]
    for one in noisy:
        one.model()
    of_noise = (one for run in noisy for one in run.heard)
    all_heard = (*of_noise, *hidden.heard, *opened.heard, *beside.heard, *fed.heard)
    heard = {type(one.message): one.message for one in all_heard if one.sender == "driver"}
    heard |= {m.AskLocalCuts: m.AskLocalCuts(), m.AskTrees: m.AskTrees(0, 1, None, EMPTY)}
    heard |= {m.AskKnown: m.AskKnown(("one",)), m.AskWays: m.AskWays(*(np.zeros(1, kind) for kind in WAYS))}
    heard |= {m.BeginScores: m.BeginScores(b"", (), (), b""), m.AskScores: m.AskScores(0, ("one",), False, (), (), b"")}
    heard |= {m.BeginLink: m.BeginLink(False, 1, b""), m.LinkIds: m.LinkIds(False, 0, np.zeros(32, np.uint8))}
    heard |= {m.ShowIds: m.ShowIds(False, 0, ("one",)), m.LinkCounts: m.LinkCounts(False, np.ones(1, np.uint32))}
    none = np.empty(0, np.float32)
    cuts = (none, np.zeros(1, np.int64), np.empty(0, np.bool_))
    no_cuts = m.CutList(*(np.empty(0, kind) for kind in DRAWN))
    heard |= {m.AskDrawnSides: m.AskDrawnSides(0, 0, (), no_cuts)}
    heard |= {m.AskBatch: m.AskBatch(1, 0, b"", b"")}
    heard |= {m.ShareColumns: m.ShareColumns(b"", b"", *cuts, False), m.Probe: m.Probe(b"", 0)}
    assert set(heard) == set(m.REQUESTS)
    return heard


def test_before_it_has_joined_a_party_answers_nothing_but_a_plan_and_how_fast_its_link_is():
    fed = Federation(two_class(3), TINY)
    for kind, request in every_request().items():
        if kind not in (m.Propose, m.Probe):
            refuses(fed.parties["party1"], request, "before")


def test_before_columns_are_agreed_a_party_gives_no_sum():
    party, _ = stopped(lambda r: isinstance(r, m.Agree))
    for kind, request in every_request().items():
        if kind not in (m.Propose, m.Introduce, m.Agree, m.Farewell):
            refuses(party, request, "before|does not allow|not the opener")


def test_before_the_trees_have_begun_no_gradients_are_summed():
    party, _ = stopped(lambda r: isinstance(r, m.Begin))
    for kind, request in every_request().items():
        if kind in (m.AskHistograms, m.AskLeafSums, m.FinishRound, m.NextRound):
            refuses(party, request, "before they have begun")


@pytest.mark.parametrize("request_", [COUNTS, m.AskMoments(0.0, 1.0, 1.0)])
def test_after_the_trees_have_begun_no_values_are_counted(request_):
    party, _ = stopped(step(m.AskHistograms, 0, 0))
    refuses(party, request_, "after the trees have begun")


@pytest.mark.parametrize("method", ["bagging", "sequential"])
def test_a_party_that_consented_to_whole_trees_gives_no_sums(method):
    fed = Federation(two_class(3), TINY, method=method)
    until(fed, lambda r: isinstance(r, m.AskTrees))
    for kind, request in every_request().items():
        if kind in (m.AskCounts, m.AskMoments, m.AskHistograms, m.Begin, m.AskLocalCuts):
            refuses(fed.parties["party1"], request, f"does not allow {kind.__name__}")
    refuses(fed.parties["party1"], m.AskTrees(0, 3, None, EMPTY), "more than the 2 rounds")


def test_a_party_that_consented_to_sums_gives_no_whole_trees():
    party, _ = stopped(step(m.AskHistograms, 0, 0))
    refuses(party, m.AskTrees(0, 1, None, EMPTY), "does not allow AskTrees")


# What is fixed before the trees

RANGE, FIT, ORDER, USED = "leaves out some", "do not fit", "not in order, or too many", "cannot be used"
BAD_STARTS = {
    "a range without some labels": (lambda b: {"low": 0.5}, RANGE),
    "a weight that is exceeded": (lambda b: {"max_weight": 0.5}, RANGE),
    "no weight": (lambda b: {"max_weight": 0.0}, RANGE),
    "a validation weight of nothing": (lambda b: {"valid_facts": (0.0, 1.0, 0.0)}, USED),
    "an endless first score": (lambda b: {"base": 1e300}, USED),
    "unordered cuts": (lambda b: {"cuts": b.cuts[::-1]}, ORDER),
    "too few starts": (lambda b: {"cut_starts": b.cut_starts[:-1]}, FIT),
    "no starts": (lambda b: {"cut_starts": b.cut_starts[:0]}, FIT),
    "starts that go back": (lambda b: {"cut_starts": changed(b.cut_starts, 1, b.cut_starts[2] + 1)}, ORDER),
    "starts far away": (lambda b: {"cut_starts": changed(b.cut_starts, 1, 2**62)}, ORDER),
    "too few columns": (lambda b: {"has_missing": b.has_missing[1:]}, FIT),
    "broken trees": (lambda b: {"forest": replace(EMPTY, roots=np.array([0, 5]))}, USED),
    "half a set": (lambda b: {"forest": replace(EMPTY, category_sets=np.zeros(3, np.uint64))}, USED),
}


@pytest.mark.parametrize("bad", BAD_STARTS)
def test_what_is_fixed_before_the_trees_must_be_sound(bad):
    party, request = stopped(lambda r: isinstance(r, m.Begin))
    change, match = BAD_STARTS[bad]
    refuses(party, replace(request, **change(request)), match)


def test_more_cut_points_than_the_plan_allows_are_refused():
    fed = Federation(two_class(3), params_of(max_bin=4))
    request = until(fed, lambda r: isinstance(r, m.Begin))
    starts = np.array([0, 4, 4, 4, 4, 4])
    bad = replace(request, cuts=np.arange(4, dtype=np.float32), cut_starts=starts)
    refuses(fed.parties["party1"], bad, ORDER)


@pytest.mark.parametrize(
    "bad",
    [
        {"column": np.array([99], np.int32)},
        {"column": np.array([-1], np.int32)},
        {"shift": np.array([33], np.uint8)},
        {"prefix": np.zeros(2, np.uint32)},
    ],
)
def test_counts_are_given_only_of_columns_and_prefixes_that_exist(bad):
    party, _ = stopped(lambda r: isinstance(r, m.AskCounts))
    refuses(party, replace(COUNTS, **bad), "column that is not there")


@pytest.mark.parametrize("moments", [(0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.0, 1.0, -1.0), (0.0, 1.0, 1e-300)])
def test_moments_are_given_only_in_a_range_that_holds_the_rows(moments):
    party, _ = stopped(lambda r: isinstance(r, m.AskMoments))
    refuses(party, m.AskMoments(*moments), RANGE)


def test_a_column_that_the_owner_does_not_give_stays_out():
    parties = two_class(3)
    names = parties["party1"].names
    policy = Policy(**{**vars(ALLOW_ALL), "columns": names[1:]})
    fed = Federation(parties, TINY, policy=policy)
    model = fed.model()
    assert model.names == names[1:]
    fed = Federation(parties, TINY, policy=policy, columns="all")
    request = until(fed, lambda r: isinstance(r, m.Agree))
    party = fed.parties["party1"]
    party.answer(encode(replace(request, columns=parties["party1"].columns)))
    assert np.isnan(party.rows.table.values[:, 0]).all(), "asked for all the same, it is wholly missing"
    assert not np.isnan(party.rows.table.values[:, 1]).all()


def agreeing(**more):
    fed = Federation(two_class(3), TINY, **more)
    return fed.parties["party1"], until(fed, lambda r: isinstance(r, m.Agree))


def test_columns_that_a_party_never_named_are_not_agreed_on_where_all_must_have_them():
    party, request = agreeing()
    refuses(party, replace(request, columns=(*request.columns, Column("made up"))), "not those of all")
    party, request = agreeing(columns="all")
    party.answer(encode(replace(request, columns=(*request.columns, Column("made up")))))


@pytest.mark.parametrize("columns", ["shared", "all"])
def test_a_column_is_agreed_on_once(columns):
    party, request = agreeing(columns=columns)
    refuses(party, replace(request, columns=(*request.columns, request.columns[0])), "not those of all")


def test_no_more_columns_are_agreed_on_than_fit_a_machine(monkeypatch):
    monkeypatch.setattr("hedgerow.protocols.columns.MOST_CELLS", 5000)
    party, request = agreeing(columns="all")
    invented = tuple(Column(str(i)) for i in range(200))
    refuses(party, replace(request, columns=(*request.columns, *invented)), "more classes or columns")


@pytest.mark.parametrize("more", [(float("nan"),), ("text",), (1,), (-1,)], ids=["nan", "text", "twice", "order"])
def test_classes_are_finite_of_one_kind_each_once_and_in_order(more):
    party, request = agreeing()
    assert request.classes == (0, 1)
    refuses(party, replace(request, classes=(*request.classes, *more)), "not those of all|not finite")


def test_no_more_classes_are_agreed_on_than_the_owner_allows():
    policy = Policy(**{**vars(ALLOW_ALL), "most_classes": 2})
    party, request = agreeing(policy=policy)
    party.answer(encode(request))
    party, request = agreeing(policy=policy)
    refuses(party, replace(request, classes=(*request.classes, 2)), "more classes")


@pytest.mark.parametrize("constraints", [(1,), (1, 0, 0, 0, 0, 0)])
def test_constraints_must_be_as_many_as_the_agreed_columns(constraints):
    fed = Federation(two_class(3), params_of(monotone_constraints=constraints))
    with pytest.raises(ParameterError, match="the parties agree on 5 columns"):
        fed.model()


def test_a_metric_needs_validation_rows_at_some_party():
    with pytest.raises(ParameterError, match="no party has any"):
        Federation(two_class(3), TINY, Goal(follow=True)).model()
