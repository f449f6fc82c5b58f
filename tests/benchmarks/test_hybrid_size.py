"""The benchmark of hybrid runs over ever more payments."""

from dataclasses import replace

import pytest
from benchmarks.hybrid_size import BANKS, HEADINGS, Size
from benchmarks.settings import Request, Settings

from benchmarks import hybrid_size

REQUEST = Request(Settings(trees=2, depth=7, bins=32, threads=2))


def test_a_payment_may_not_cost_more_where_there_are_more_payments(monkeypatch):
    cost = {"100k": 0.1, "470k": 0.9, "1.5m": 2.0, "100 banks": 50.0}

    def told(name, settings):
        assert settings.trees == hybrid_size.SETS[name].trees
        size = hybrid_size.SETS[name]
        figures = dict.fromkeys((*HEADINGS, "seconds", "peak"), 1.0)
        return {**figures, "rows": size.payments, "banks": size.banks, "a tree": cost[name]}

    monkeypatch.setattr(hybrid_size, "measured", told)
    lines = list(hybrid_size.run(replace(REQUEST, sets=tuple(cost))))
    assert [line.ok for line in lines] == [None, False, True, None]
    assert [line.figures["rows"] for line in lines] == [100_000, 470_000, 1_500_000, 190_000]


def test_one_network_is_measured_by_phases(monkeypatch):
    monkeypatch.setitem(hybrid_size.SETS, "few", Size(3_000, 3, 2, BANKS))
    told = hybrid_size.measure_here("few", REQUEST.settings)
    assert set(HEADINGS) <= told.keys()
    assert told["linkage"] + told["cut points"] + 2 * told["a tree"] == pytest.approx(told["seconds"], rel=0.5)
    assert told["linkage MB"] > 2 * 32 * 150 * 3 / 1e6, "every account there and back, with every bank"
    assert told["a tree MB"] > 0.1
    assert told["busiest bank MB"] < told["linkage MB"] + 2 * told["a tree MB"] + 1
