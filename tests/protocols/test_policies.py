"""A data owner's own rules refuse a run by the name of the rule, whatever the driver and the others say."""

from dataclasses import replace

import pytest

from federated import Federation, params_of, two_class
from hedgerow.agreement.policy import ALLOW_ALL, Policy
from hedgerow.errors import PolicyError

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
