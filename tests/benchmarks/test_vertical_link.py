"""The benchmark of vertical runs over a link: what a tree takes is told apart from what every run takes."""

from benchmarks.rows import all_ok
from benchmarks.settings import Request
from benchmarks.vertical_link import SETS, Taken

from benchmarks import vertical_link

FIRST = Taken(trees=1, seconds=9.0, processor=10.0, bytes=4_000_000, measuring=3_000_000, trips=20, mbit=100.0)
WHOLE = Taken(trees=5, seconds=5.0, processor=18.0, bytes=24_000_000, measuring=3_000_000, trips=68, mbit=100.0)


def test_a_mean_tree_is_what_a_longer_run_takes_more_than_one_of_a_single_tree():
    tree = WHOLE.since(FIRST)
    assert (tree.seconds, tree.processor, tree.bytes, tree.trips) == (1.0, 2.0, 5_000_000, 12)
    assert tree.alone == 1.0
    assert tree.over_link == 1.0 + 0.4 + 12 * 0.02


def test_bars_are_for_bytes_of_32_bins_and_for_time_of_the_usual_options(monkeypatch):
    monkeypatch.setattr(vertical_link.Case, "load", lambda _: None)
    monkeypatch.setattr(vertical_link, "_run", lambda _table, _case, trees, *_: WHOLE if trees > 1 else FIRST)
    lines = {line.name: line for line in vertical_link.run(Request(sets=tuple(SETS), quick=True))}
    held = {name for name, line in lines.items() if line.bar is not None}
    assert held == {"credit1-32: bytes over the link, of 6 MB", "credit1: seconds computed, of loopback's"}
    assert all_ok(list(lines.values()))
