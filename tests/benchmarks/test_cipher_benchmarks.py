"""The ciphers' benchmark, with no cipher that would take time: the unencrypted one sits in every seat."""

import sys

import numpy as np
import pytest
from benchmarks.ciphers import BOUND, CHANNELS, LATTICE, LINKED, PAILLIER, Cost, Exchange, Sample, Table, estimated
from benchmarks.ciphers_peers import Steps, Straightforward
from benchmarks.ciphers_rows import Below, Faster, SameSums
from benchmarks.ciphers_shapes import EVERY, shapes
from benchmarks.ciphers_sketch import find
from benchmarks.rows import Row
from benchmarks.settings import Request

from benchmarks import __main__ as command
from benchmarks import (
    ciphers,
    ciphers_layouts,
    ciphers_paillier,
    ciphers_peers,
    ciphers_slots,
    ciphers_sweep,
    ciphers_tree,
)
from hedgerow.privacy.shapes import Nodes
from hedgerow.privacy.unencrypted.cipher import Unencrypted


class Anew(Unencrypted):
    seals_once = False


@pytest.fixture
def seated(monkeypatch):
    """Every seat taken."""
    for name, make in {PAILLIER: Unencrypted, LATTICE: Anew, LINKED: Anew}.items():
        monkeypatch.setitem(ciphers.CIPHERS, name, make)


@pytest.fixture
def wrong_sums(monkeypatch):
    """A cipher that adds one to the first sum."""
    honest = Exchange.ask

    def ask(self, *asked):
        cost, opened = honest(self, *asked)
        return cost, opened + (np.arange(opened.size).reshape(opened.shape) == 0)

    monkeypatch.setattr(Exchange, "ask", ask)


def known(monkeypatch, part, *numbers):
    sets = shapes(*numbers)
    monkeypatch.setattr(part, "SETS", sets)
    return Request(sets=tuple(sets), quick=True)


@pytest.mark.parametrize(
    ("bar", "ours", "peer", "reached", "told"),
    [
        (Faster(15, 60), 1.0, 15.0, True, ">= 15x faster, goal 60x"),
        (Faster(15), 1.0, 14.9, False, ">= 15x faster"),
        (Faster(15), 1.0, None, False, ">= 15x faster"),
        (Below(0.02), 0.0199, None, True, "< 0.02"),
        (Below(0.02), 0.02, None, False, "< 0.02"),
        (SameSums(True), 9.0, 1.0, True, "sums == plain"),
        (SameSums(False), 1.0, 9.0, False, "sums == plain"),
    ],
)
def test_a_row_is_ok_exactly_when_its_bar_is_reached(bar, ours, peer, reached, told):
    assert Row("a", "generated", ours, peer, bar).ok is reached
    assert str(bar) == told


def test_plain_sums_are_those_of_all_bins_but_the_last():
    table = Table(np.array([[1, 10], [-2, 20], [4, 30]]), np.array([[0, 1, 2], [2, 0, 0]], np.uint8), 3)
    nodes = Nodes(np.array([0, 1, 2, 1]), np.array([0, 3, 4]))
    sums = table.plain_sums(nodes)
    assert sums.tolist() == [[[1, 10], [-2, 20], [2, 50], [0, 0]], [[0, 0], [-2, 20], [-2, 20], [0, 0]]]
    assert np.array_equal(Exchange(Unencrypted(), 1).once(table, nodes)[1], sums)


def linear(rows, columns):
    """Costs as a slow cipher has them."""
    return Cost(2.0 * rows, columns * (0.5 * rows + 7), columns * 3.0, columns * 4.0, 5.0 * rows, columns * 6.0)


@pytest.mark.parametrize(
    ("rows", "columns", "extrapolated"),
    [(50, 3, False), (100, 4, False), (50, 9, True), (901, 3, True), (901, 9, True)],
)
def test_a_linear_cost_is_extrapolated_exactly(rows, columns, extrapolated):
    cost, told = estimated(linear, rows, columns, Sample(100, 4))
    expected = linear(rows, columns)
    names = cost.__dataclass_fields__
    assert [getattr(cost, n) for n in names] == pytest.approx([getattr(expected, n) for n in names])
    assert told is extrapolated


def test_noise_does_not_make_more_rows_cheaper():
    noisy = {25: Cost(seal=9.0, sum=1.0), 100: Cost(seal=8.0, sum=4.0)}
    cost, _ = estimated(lambda rows, columns: noisy[rows], 175, 1, Sample(100, 1))
    assert (cost.seal, cost.sum) == (8.0, 7.0)


def test_an_exchange_counts_the_bytes_that_pass():
    table, nodes = Table.drawn(100, 3, 4), Nodes.in_order(np.array([60, 40]))
    cost, opened = Exchange(Unencrypted(), 1).once(table, nodes)
    assert opened.shape == (2, 9, CHANNELS)
    assert cost.out_bytes == 60 + 100 * CHANNELS * 8
    assert cost.back_bytes == 60 + opened.size * 8
    assert np.abs(table.values).max() <= BOUND


def test_a_tree_asks_about_the_smaller_child_of_each_two():
    asked = ciphers_tree.levels(1000)
    assert [len(nodes) for nodes in asked] == [1, 1, 2, 4, 8, 16]
    assert [len(nodes.rows) for nodes in asked] == [1000, 500, 500, 500, 496, 496]


@pytest.mark.parametrize("cipher", [Unencrypted(), Anew()])
def test_a_tree_is_sealed_once_or_anew_at_every_level(cipher):
    exchange = Exchange(cipher, 1)
    cost, right = ciphers_tree.grown(exchange, Table.drawn(600, 2, 5))
    assert right
    sealed = [600] if cipher.seals_once else [len(nodes.rows) for nodes in ciphers_tree.levels(600)]
    assert cost.out_bytes == exchange.key_bytes + sum(60 + 16 * rows for rows in sealed)


def test_trees_stand_beside_paillier_and_fewer_rows(seated, monkeypatch):
    request = known(monkeypatch, ciphers_tree, (300, 10, 32), (600, 10, 32))
    monkeypatch.setattr(ciphers_tree, "TREES", shapes((600, 10, 32)))
    monkeypatch.setattr(ciphers_tree, "MILLION", "600x10x32")
    monkeypatch.setattr(ciphers_tree, "QUICK_SAMPLE", Sample(200, 4))
    rows = {row.name: row for row in ciphers_tree.run(request)}
    told = f"{PAILLIER} (extrapolated)"
    bars = {
        **{f"a new key: {name}, s": "None" for name in (LATTICE, LINKED, PAILLIER)},
        f"600x10x32: {LATTICE} / {told}, s": ">= 15x faster, goal 60x",
        f"600x10x32: {LINKED} / {told}, s": ">= 8x faster",
        f"600x10x32: {LATTICE} / {told}, MB": "None",
        f"600x10x32: {LINKED} / {told}, MB": "ratio <= 1.2, goal 0.5",
        f"sealing a million pairs / {told}, s": "ratio <= 0.02",
        "300x10x32: right sums": "sums == plain",
        "600x10x32: right sums": "sums == plain",
        "600 / 300 rows x10x32: microseconds a row": "ratio <= 1.05",
    }
    assert {name: str(row.bar) for name, row in rows.items()} == bars
    assert rows["600x10x32: right sums"].ok


def test_a_wrong_sum_spoils_a_tree_and_a_sweep(seated, wrong_sums, monkeypatch):
    monkeypatch.setitem(ciphers.CIPHERS, PAILLIER, Unencrypted)
    request = known(monkeypatch, ciphers_tree, (300, 2, 4))
    assert [row.ok for row in ciphers_tree.run(request) if row.bar] == [False]
    monkeypatch.setattr(ciphers_sweep, "peers", list)
    lines = {line.name: line for line in ciphers_sweep.run(known(monkeypatch, ciphers_sweep, (300, 2, 4, 2)))}
    assert lines["unencrypted"].ok is False
    assert lines["plain, hedgerow"].ok is True


def test_a_sweep_has_every_cipher_and_every_peer_on_one_sheet(seated, monkeypatch):
    monkeypatch.setattr(ciphers_sweep, "peers", lambda: [Steps("phe", 0.01, 0.001, 0.1)])
    monkeypatch.setattr(ciphers_sweep, "SAMPLED", {PAILLIER: Sample(200, 2)})
    request = known(monkeypatch, ciphers_sweep, (500, 3, 5, 2))
    lines = {line.name: line for line in ciphers_sweep.run(request)}
    paillier, phe = f"{PAILLIER} (extrapolated)", "phe, one core (extrapolated)"
    assert list(lines) == ["unencrypted", LATTICE, LINKED, paillier, phe, "plain, NumPy", "plain, hedgerow"]
    assert {line.sheet for line in lines.values()} == {"500x3x5x2"}
    assert [lines[name].ok for name in ("unencrypted", LATTICE, "plain, hedgerow")] == [True] * 3
    assert lines[phe].ours == pytest.approx(1000 * 0.01 + 3000 * 0.001 + 2 * 3 * 4 * 2 * 0.1)


def test_scores_stand_beside_paillier(seated, monkeypatch):
    rows = {row.name: row for row in ciphers_slots.run(known(monkeypatch, ciphers_slots, (200, 300), (1, 300)))}
    beside = [name for name in rows if PAILLIER in name]
    assert beside == [
        f"200x300: {LATTICE} / {PAILLIER} (extrapolated), s",
        f"200x300: {LATTICE} / {PAILLIER} (extrapolated), MB",
        f"1x300: {LATTICE} / {PAILLIER}, s",
        f"1x300: {LATTICE} / {PAILLIER}, MB",
    ]
    assert str(rows[beside[0]].bar) == ">= 200x faster"
    assert str(rows["1x300: whole, s"].bar) == "< 0.02"
    assert rows["200x300: right scores"].ok
    assert rows["1x300: right scores"].ok
    if "200x300: memory, GiB" in rows:
        assert str(rows["200x300: memory, GiB"].bar) == "< 4"


def test_both_layouts_of_scores_stand_side_by_side_with_the_one_that_is_taken(monkeypatch):
    monkeypatch.setattr(ciphers_layouts, "TURNS", 1)
    rows = {row.name: row for row in ciphers_layouts.run(known(monkeypatch, ciphers_layouts, (1, 300), (40, 20)))}
    figures = ("whole, s", "out, MB", "back, MB", "right scores")
    assert list(rows) == [
        f"{taken}: {figure}"
        for taken in (
            "1x300, loopback (takes coefficients)",
            "1x300, 100 Mbit/s (takes coefficients)",
            "40x20, loopback (takes lanes)",
            "40x20, 100 Mbit/s (takes coefficients)",
        )
        for figure in figures
    ]
    assert all(row.ok for name, row in rows.items() if "right" in name)
    assert rows["1x300, loopback (takes coefficients): out, MB"].ratio < 0.6


def test_straightforward_paillier_is_paillier():
    pytest.importorskip("gmpy2")
    peer = Straightforward()
    sealed = [peer.seal(value) for value in (5, -7, 100)]
    assert [peer.open(each) for each in peer.products(sealed, [1, 1, 0], 3)] == [100, -2, 0]
    assert sealed[0] != peer.seal(5)


def test_paillier_stands_beside_gmpy2(seated, monkeypatch):
    pytest.importorskip("gmpy2")
    monkeypatch.setattr(ciphers_paillier, "TURNS", 1)
    monkeypatch.setattr(ciphers_paillier, "SAMPLE", 2)
    rows = list(ciphers_paillier.run(known(monkeypatch, ciphers_paillier, (20, 2, 4))))
    assert [str(row.bar) for row in rows] == [">= 15x faster", ">= 1.5x faster", "sums == plain"]
    assert rows[-1].ok


def test_a_library_that_is_not_installed_is_said_in_one_sentence(monkeypatch, capsys):
    monkeypatch.setattr(ciphers_peers.importlib.util, "find_spec", lambda name: None)
    assert ciphers_peers.peers() == []
    assert capsys.readouterr().err == "Left out, not installed: gmpy2.\nLeft out, not installed: phe.\n"


def test_a_cipher_that_is_not_here_is_said_in_one_sentence(monkeypatch, capsys):
    monkeypatch.setattr(ciphers, "CIPHERS", {})
    assert list(ciphers_slots.run(Request(sets=("1x1600",)))) == []
    assert capsys.readouterr().err == f"Left out, for this hedgerow has no such cipher: {LATTICE}.\n"


@pytest.fixture
def project(tmp_path):
    """A built Cargo project whose program says what a sketch says."""
    (tmp_path / "Cargo.toml").write_text('[package]\nname = "a-sketch"\n')
    (tmp_path / "target" / "release").mkdir(parents=True)
    program = tmp_path / "target" / "release" / "a-sketch"
    program.write_text('#!/bin/sh\necho "level 0"\necho "tree: 0.$5 s, $1.5 MB"\n')
    program.chmod(0o755)
    return tmp_path


def test_a_built_sketch_is_asked_for_its_tree(project, seated, monkeypatch):
    assert find(project).tree(10, 2, 4, 2, 3) == (0.3, 10.5)
    request = known(monkeypatch, ciphers_tree, (300, 2, 4))
    monkeypatch.setattr(ciphers_tree, "TREES", ciphers_tree.SETS)
    rows = {row.name: row for row in ciphers_tree.run(Request(sets=request.sets, quick=True, sketch=project))}
    merged = rows[f"300x2x4: {LINKED} / sketch, s"]
    assert (merged.peer, str(merged.bar)) == (0.3, "ratio <= 1.5, goal 0.6")
    assert rows[f"300x2x4: {LATTICE} / sketch, s"].peer == 0.0


def test_a_sketch_that_was_not_built_or_named_is_said_in_one_sentence(tmp_path, project, capsys):
    (project / "target" / "release" / "a-sketch").unlink()
    for folder in (None, project, tmp_path / "nowhere"):
        assert ciphers_tree.sketch_of(Request(sketch=folder)) is None
        assert capsys.readouterr().err.count("\n") == 1


def test_the_command_knows_every_shape_of_every_part(monkeypatch, capsys):
    for part in command.BENCHMARKS["ciphers"].values():
        assert set(part.full) | set(part.quick) <= set(part.sets) <= set(EVERY)
    monkeypatch.setattr(sys, "argv", ["benchmarks", "ciphers", "--parts", "slots", "--sets", "7x7"])
    with pytest.raises(SystemExit, match="2"):
        command.main()
    assert capsys.readouterr().err == "There is no data set '7x7': choose from 30000x1600, 1x1600, 4096x1600.\n"
