"""A data owner's own rules refuse a run by the name of the rule, whatever the driver and the others say."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from federated import Federation, MemoryLog, identity, params_of, two_class
from hedgerow.agreement.dp import DP
from hedgerow.agreement.policy import ALLOW_ALL, Policy
from hedgerow.errors import PolicyError, PrivacyError
from hedgerow.privacy.accountant import Release
from hedgerow.privacy.lifetime import LifetimeLimit
from hedgerow.protocols.party import Owner
from hedgerow.protocols.session.noised_releases import releases_of
from hedgerow.run.file.policy import read_policy
from hedgerow.trees.params import TreeParams

STRICT = Policy()
FINE = {"min_cut_rows": 50}

# A plan, beside one that the strictest policy allows, and the rule that allows it.
REFUSED = {
    "plain": ({"protection": "plain"}, {}, {"allow_plain": True}, "has no protection.*allow_plain"),
    "local cuts": ({"cut_points": "local"}, {}, {"allow_local_cuts": True}, "shows quantiles.*allow_local_cuts"),
    "bagging": ({"method": "bagging"}, {}, {"allow_whole_trees": True}, "whole trees.*allow_whole_trees"),
    "sequential": ({"method": "sequential"}, {}, {"allow_whole_trees": True}, "whole trees.*allow_whole_trees"),
    "continue": ({"on_loss": "continue"}, {}, {"allow_continue": True}, "without a lost party.*allow_continue"),
    "sampling": ({"party_share": 0.8}, {}, {"allow_party_sampling": True}, "samples parties.*allow_party_sampling"),
    "fine cuts": ({}, {"min_cut_rows": 10}, {"min_cut_rows": 10}, "refines cuts to 10 rows.*min_cut_rows"),
}


def federation(policy, plan, params):
    return Federation(two_class(5), params_of(**{**FINE, **params}), policy={**everyone(), "party3": policy}, **plan)


def everyone():
    return {f"party{i}": ALLOW_ALL for i in range(1, 6)}


def test_the_strictest_policy_allows_masked_sums_of_five_parties():
    assert federation(STRICT, {}, {}).model()


@pytest.mark.parametrize("case", REFUSED)
def test_a_plan_that_one_owner_does_not_allow_is_refused_by_the_rules_name(case):
    plan, params, _, match = REFUSED[case]
    with pytest.raises(PolicyError, match=match):
        federation(STRICT, plan, params).model()


@pytest.mark.parametrize("case", REFUSED)
def test_with_that_rule_it_is_allowed(case):
    plan, params, rule, _ = REFUSED[case]
    assert federation(replace(STRICT, **rule), plan, params).model()


@pytest.mark.parametrize(
    ("rule", "match"),
    [
        ({"fewest_parties": 6}, "has only 5 parties.*fewest_parties"),
        ({"min_child_rows": 5}, "smaller nodes.*min_child_rows"),
        ({"most_trees": 2}, "too many trees.*most_trees"),
        ({"plan": "sha256:" + "0" * 64}, "not the one this party knows"),
    ],
)
def test_stricter_rules_refuse_too(rule, match):
    with pytest.raises(PolicyError, match=match):
        federation(replace(STRICT, **rule), {}, {}).model()


def test_a_pinned_plan_is_allowed_and_no_other():
    plan = federation(STRICT, {}, {}).plan
    pinned = replace(STRICT, plan=plan.digest.hex())
    assert federation(pinned, {}, {}).model()
    with pytest.raises(PolicyError, match="not the one this party knows"):
        federation(pinned, {}, {"learning_rate": 0.2}).model()


def test_before_a_party_consents_nothing_of_it_crosses():
    fed = federation(STRICT, {"protection": "plain"}, {})
    with pytest.raises(PolicyError, match="allow_plain"):
        fed.model()
    assert {heard.kind for heard in fed.heard} == {"Propose"}


def test_drawn_parties_count_for_the_fewest():
    """Of five parties three are drawn for a tree: a sum is over three."""
    rule = replace(STRICT, allow_party_sampling=True, fewest_parties=4)
    with pytest.raises(PolicyError, match="fewest_parties"):
        federation(rule, {"party_share": 0.6}, {}).model()


DP_RULE = replace(STRICT, most_epsilon=1.0)


def noised_plan(**promised):
    made = federation(STRICT, {}, {}).plan
    params = TreeParams(min_cut_rows=made.params.min_cut_rows)
    return replace(made, params=params, method=msgspec.structs.replace(made.method, dp=DP(**promised)))


def test_an_owner_who_bounds_epsilon_refuses_runs_that_promise_none_or_too_little():
    with pytest.raises(PolicyError, match=r"promises no differential privacy.*most_epsilon"):
        federation(DP_RULE, {}, {}).model()
    with pytest.raises(PolicyError, match=r"promises an epsilon of only 1\.5.*most_epsilon"):
        DP_RULE.check(noised_plan(epsilon=1.5))
    with pytest.raises(PolicyError, match=r"promises a delta of only 0\.001.*most_delta"):
        DP_RULE.check(noised_plan(epsilon=1, delta=1e-3))
    DP_RULE.check(noised_plan(epsilon=1))
    STRICT.check(noised_plan(epsilon=1.5, delta=1e-3))


@pytest.mark.parametrize(("line", "match"), [
    ("most_epsilon = 0", "most_epsilon must be a number above 0 and at most 1e"),
    ("most_epsilon = true", "most_epsilon must be a number above 0"),
    ("most_epsilon = nan", "most_epsilon must be a number above 0"),
    ("most_delta = 0.5", "most_delta must be a number above 0 and at most 0.1"),
    ("epsilon_budget = 3", "epsilon_budget must be a name in quotes"),
    ('epsilon_budget = ""', "epsilon_budget must be a name in quotes"),
])  # fmt: skip
def test_wrong_limits_of_epsilon_are_refused(tmp_path, line, match):
    (tmp_path / "policy.toml").write_text(line)
    with pytest.raises(PolicyError, match=match):
        read_policy(tmp_path / "policy.toml")


def test_limits_of_epsilon_are_read(tmp_path):
    (tmp_path / "policy.toml").write_text('most_epsilon = 2\nmost_delta = 1e-5\nepsilon_budget = "patients"\n')
    assert read_policy(tmp_path / "policy.toml").lifetime == LifetimeLimit("patients", 2, 1e-5)


# What a party of a run with differential privacy counts


def owner_of(policy, ledger, log=None):
    table = two_class(3)["party1"]
    return Owner("party1", table, None, policy, identity("party1"), log, ledger=ledger)


def test_a_run_is_counted_in_the_owners_ledger_before_anything_moves():
    ledger, plan = MemoryLog(), noised_plan(epsilon=1)
    counts = Release("counts", "gaussian", 16, 1000.0)
    words = releases_of(owner_of(replace(STRICT, most_epsilon=1.1), ledger), plan, [counts])
    assert [line["event"] for line in ledger.kept] == ["releases planned"]
    assert words.words("counts", counts, b"told", lambda: np.arange(3)).tolist() == [0, 1, 2]
    with pytest.raises(PolicyError, match=r"over 2 runs.*most_epsilon = 1\.1"):
        releases_of(owner_of(replace(STRICT, most_epsilon=1.1), ledger), plan, [counts])
    assert words.finish().epsilon < 0.2
    releases_of(owner_of(replace(STRICT, most_epsilon=1.1), ledger), noised_plan(epsilon=0.9), [counts])


def test_the_same_run_goes_on_by_its_own_log():
    log, ledger, plan = MemoryLog(), MemoryLog(), noised_plan(epsilon=1)
    for _ in range(2):
        releases_of(owner_of(replace(STRICT, most_epsilon=1), ledger, log), plan, [])
    assert [line["event"] for line in ledger.kept] == ["releases planned"]


def test_without_a_promise_nothing_can_be_counted():
    with pytest.raises(PrivacyError, match=r"promises no differential privacy"):
        releases_of(owner_of(STRICT, None), federation(STRICT, {}, {}).plan, [])
