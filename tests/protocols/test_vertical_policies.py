"""What a passive party's owner asks for beside the plan: enough rows in nodes and bins, no more sums than were said."""

from dataclasses import replace

import numpy as np
import pytest

from federated import TINY, Federation, params_of, refuses, step, until
from federated import vertical as by_columns
from hedgerow.agreement.policy import ALLOW_ALL
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import encode
from hedgerow.errors import PolicyError, PrivacyError
from hedgerow.model.prepare import growth_of
from hedgerow.protocols.driver import State
from hedgerow.protocols.vertical import train as vertical_run
from hedgerow.protocols.vertical.answer_checks import AllowedRows
from hedgerow.storage.audit import AuditLog, verify

FEW = "nodes of fewer rows than this party's policy allows"
STRICT = replace(ALLOW_ALL, min_child_rows=20)
PARAMS = params_of(min_child_rows=20)


def vertical(params=PARAMS, policy=STRICT, logs=None, **plan):
    tables = by_columns(params).tables
    return Federation(
        tables, params, policy=policy, logs=logs, method="vertical", protection="plain", active="party1", **plan
    )


def careless(monkeypatch):
    """An active party that does not mind how small a node is."""

    def growth(grid, params, *more):
        return growth_of(grid, replace(params, min_child_rows=1), *more)

    monkeypatch.setattr(vertical_run, "growth_of", growth)
    monkeypatch.setattr(AllowedRows, "check", lambda *_: None)


# Nodes


def test_a_run_whose_children_may_be_smaller_is_refused():
    with pytest.raises(PolicyError, match=r"opens smaller nodes, .* \(min_child_rows\)"):
        vertical(params_of(min_child_rows=19)).model()


def test_a_run_that_keeps_to_the_rule_is_not_disturbed_by_it():
    assert vertical().model().forest == vertical(policy=ALLOW_ALL).model().forest


def test_an_active_party_that_breaks_the_rule_is_stopped(monkeypatch):
    careless(monkeypatch)
    with pytest.raises(PrivacyError, match=FEW):
        vertical().model()


def test_without_the_policy_it_would_not_be(monkeypatch):
    """The sabotage: nothing else keeps small nodes from being summed and cut."""
    honest = vertical(policy=ALLOW_ALL).model()
    careless(monkeypatch)
    assert vertical(policy=ALLOW_ALL).model().forest != honest.forest


def asked_for(bin_):
    """A party, and a request for the sides of all rows at this cut of its first column."""
    fed = vertical(replace(TINY, min_child_rows=20, min_cut_rows=1))
    request = until(fed, step(m.AskSides, 0, 1))
    party = next(p for n, p in fed.parties.items() if n == "party2")
    lower = np.zeros_like(request.cuts.left_bins)
    lower.reshape(-1, 4)[:, 0] = (2 << bin_) - 1
    cuts = m.CutList(
        request.cuts.tree,
        request.cuts.node,
        request.cuts.child,
        np.zeros_like(request.cuts.column),
        np.full_like(request.cuts.bin, bin_),
        np.zeros_like(request.cuts.missing_left),
        lower,
    )
    return party, m.AskSides(0, 1, cuts)


def test_a_cut_of_its_own_column_that_leaves_too_few_rows_on_a_side_is_not_told():
    party, request = asked_for(0)
    refuses(party, request, FEW, PrivacyError)


def test_after_such_a_refusal_no_other_cut_can_be_tried_and_the_sides_count_as_told():
    """Else an active party could try cut after cut, and learn how many rows lie below each."""
    party, few = asked_for(0)
    _, enough = asked_for(40)
    refuses(party, few, FEW, PrivacyError)
    rows = party.passive
    assert rows.run.given.sides == rows.run.table.own.matrix.n_rows
    refuses(party, enough, "after a step that this party refused")
    rows.run.underway = False  # the sabotage: nothing else keeps it from being told
    assert party.answer(encode(enough))


# Bins


def test_the_own_bins_are_merged_until_each_has_enough_rows():
    fed = vertical(params_of(min_cut_rows=1), replace(ALLOW_ALL, min_bin_rows=25))
    fine = vertical(params_of(min_cut_rows=1), ALLOW_ALL)
    assert fed.model().forest.n_trees == fine.model().forest.n_trees == PARAMS.n_estimators
    for name, party in fed.parties.items():
        rows = party.passive.run.table
        counts = [np.bincount(column, minlength=n) for column, n in zip(rows.own_codes, rows.widths + 1, strict=True)]
        assert min(count.min() for count in counts) >= 25
        assert rows.grid.n_values.sum() < fine.parties[name].passive.run.table.grid.n_values.sum()
    told = {h.sender: h.message.n_values for h in fed.of("OwnColumns")}
    assert all(np.array_equal(told[name], party.passive.run.table.grid.n_values) for name, party in fed.parties.items())


# What outlives the process


def logs_of(names):
    return {name: AuditLog(None, "a test", name) for name in names}


def begun_again(fed):
    """Party 2 in a new process, as far as the columns."""
    fed.restart("party2")
    until(fed, lambda r: isinstance(r, m.BeginSealed), State(attempt=1))
    return fed.parties["party2"].passive.run.given.sums


@pytest.mark.parametrize("logged", [True, False])
def test_the_sums_that_were_given_are_counted_by_the_next_process_where_there_is_a_log(logged):
    fed = vertical(TINY, ALLOW_ALL, logs_of(("party2", "party3")) if logged else None)
    until(fed, step(m.AskSealedSums, 0, 1))
    given = fed.parties["party2"].passive.run.given.sums
    assert given > 0
    assert begun_again(fed) == (given if logged else 0)


def test_requests_are_in_the_log_beside_answers_and_the_log_holds(tmp_path):
    logs = {name: AuditLog(tmp_path / name, "a test", name) for name in ("party2", "party3")}
    fed = vertical(TINY, ALLOW_ALL, logs)
    fed.model()
    lines = list(logs["party2"].lines())
    noted = [(line["event"], line["type"], line["bytes"]) for line in lines if line["event"] in ("sent", "received")]
    crossed = [h for h in fed.heard if "party2" in (h.sender, h.receiver)]
    assert noted == [("sent" if h.sender == "party2" else "received", h.kind, len(h.frame)) for h in crossed]
    assert verify(tmp_path / "party2", logs["party2"].last).n_lines == len(lines)


# Rounds without a party


def test_a_party_gives_no_sums_in_a_round_that_the_plan_grows_without_it():
    fed = vertical(TINY, ALLOW_ALL, local_trees=1)
    request = until(fed, lambda r: isinstance(r, m.EndRound))
    party = fed.parties["party2"]
    nodes = m.NodeList(np.zeros(1, np.int64), np.zeros(1, np.int64))
    asked = m.AskSealedSums(0, 0, (), nodes, b"", b"")
    refuses(party, asked, "a round that the plan grows without this party")
    assert request.round == 0


def test_a_round_is_not_passed_over_that_the_plan_grows_with_the_party():
    fed = vertical(TINY, ALLOW_ALL)
    until(fed, step(m.AskSealedSums, 0, 0))
    refuses(fed.parties["party2"], m.EndRound(0), "ends another round than this one")
