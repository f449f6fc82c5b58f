"""No epsilon is promised that is not known, and none is printed smaller than it is."""

from dataclasses import asdict, replace

import msgspec
import pytest

from hedgerow.errors import PrivacyError
from hedgerow.privacy.accountant import Release, mu_of_budget, spent
from hedgerow.privacy.ledger import Budget
from hedgerow.privacy.promise import Promise, at_most, headline, promised, sentences
from hedgerow.run.folder import manifest

SIGMA = 4096 / mu_of_budget(1, 1e-6) * 143**0.5
RELEASES = (Release("additive round", "gaussian", 4096, SIGMA, 20), Release("tree", "gaussian", 4096, SIGMA, 100))
BUDGET = Budget(1, 1e-6)
AGAINST, SCOPE = "the coordinator with one of the parties", "every opened sum and the model"


def promise(budget=BUDGET):
    return promised(budget, spent(RELEASES, budget.delta), AGAINST, SCOPE)


def test_the_promise_is_the_budget_and_beside_it_stands_what_the_releases_add_up_to():
    one = promise()
    assert one.epsilon == 1
    assert 0.88 < one.composed < one.rdp < 1
    assert one.n_releases == 120


def test_the_headline_has_unit_adversary_scope_and_accountant():
    said = headline(promise())
    assert said.startswith("epsilon 1.000 at delta 1e-06 for one row, add or remove one, against the coordinator with")
    assert "for every opened sum and the model; PLD accountant dp-accounting " in said
    assert said.endswith("; 120 releases")


def test_the_sentences_have_each_kind_of_release():
    text = " ".join(sentences(promise()))
    assert "20 x additive round with Gaussian noise of 50.52 times" in text
    assert "100 x tree with Gaussian noise" in text
    assert "Sampling of rows does not lower it" in text


PRINTED = {1: "1.000", 0.1: "0.100", 1.0000001: "1.001", 0.9991: "1.000", 0.01: "0.0100", 0.012345: "0.0124",
           4.1: "4.100", 0: "0.000"}  # fmt: skip


@pytest.mark.parametrize(("epsilon", "text"), PRINTED.items())
def test_an_epsilon_is_never_printed_smaller_than_it_is(epsilon, text):
    assert at_most(epsilon) == text
    assert float(text) >= epsilon


def test_a_promise_that_the_releases_exceed_is_refused():
    with pytest.raises(
        PrivacyError, match=r"No epsilon is promised: what was released costs 0\.9\d+, more than the 0\.5"
    ):
        promise(Budget(0.5, 1e-6))


@pytest.mark.parametrize(
    "wrong", [{"releases": ()}, {"epsilon": float("inf")}, {"delta": 0.0}, {"composed": float("nan")}]
)
def test_a_promise_of_what_is_not_known_is_refused(wrong):
    with pytest.raises(PrivacyError, match="No epsilon is promised"):
        replace(promise(), **wrong)


def test_nothing_is_promised_where_anything_was_released_without_noise():
    with pytest.raises(PrivacyError, match="No epsilon is promised: 'row counts' was released without noise"):
        replace(promise(), releases=(*RELEASES, Release("row counts", "none", 1, 0)))


def test_a_manifest_carries_all_of_it():
    entry = manifest.promised(promise())["differential_privacy"]
    assert msgspec.convert({k: v for k, v in entry.items() if k != "sentences"}, Promise) == promise()
    assert entry["sentences"] == list(sentences(promise()))
    assert manifest.promised(None) == {}


def test_a_promise_survives_text():
    assert msgspec.json.decode(msgspec.json.encode(asdict(promise())), type=Promise) == promise()
