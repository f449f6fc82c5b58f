"""The benchmark of meta-rules: what it measures on, and what its lines say."""

from benchmarks import hybrid_meta
from hedgerow.data.payments import ACCOUNT_COLUMNS
from hedgerow.model.meta_rules import Fixed, MetaRules


def test_generated_payments_are_at_hand_and_their_accounts_are_passive(monkeypatch):
    monkeypatch.setattr(hybrid_meta, "PAYMENTS", 2000)
    one = hybrid_meta.SETS["AD"]
    table, passive, least = one.make(0)
    assert (one.at_hand, one.origin, passive) == (True, "generated", ACCOUNT_COLUMNS)
    assert set(passive) < set(table.names)
    assert least < 0.01


def test_a_line_has_the_means_of_the_seeds_and_the_control():
    measures = [MetaRules(Fixed(0.1, n, 10), Fixed(0.0, 0.2, 10)) for n in (0.2, 0.4)]
    figures = hybrid_meta.line("cod-rna", measures).figures
    assert abs(figures["nearly one value"] - 0.3) < 1e-9
    assert (figures["least"], figures["most"], figures["shuffled"], figures["rules"]) == (0.2, 0.4, 0.2, 10)


def test_every_set_of_a_run_is_known():
    assert {*hybrid_meta.FULL, *hybrid_meta.QUICK} <= set(hybrid_meta.SETS)
