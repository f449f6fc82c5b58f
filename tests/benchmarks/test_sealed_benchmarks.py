"""The benchmark of sealed prediction on a tiny table: right scores, figures side by side, and what a fault shows."""

import socket
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.ciphers_shapes import shapes
from benchmarks.generated import ACTIVE_COLUMNS, generate_applicants
from benchmarks.peak import can_measure
from benchmarks.rows import Row, all_ok
from benchmarks.sealed_processes import Link, write_rows
from benchmarks.sealed_rows import AtMost, SameDigits, WithinSteps
from benchmarks.sealed_runs import Trained, auc_ks, dealt, first
from benchmarks.sealed_sets import EVERY, fifths
from benchmarks.sealed_slow_link import SlowLink
from benchmarks.sets import DataSet
from benchmarks.settings import Request, Settings

from benchmarks import __main__ as command
from benchmarks import (
    sealed_blur,
    sealed_link,
    sealed_memory,
    sealed_paillier,
    sealed_sweep,
    sealed_tables,
    sealed_warm,
)
from hedgerow.data.read import read_table
from hedgerow.demo.organisations import free_port

REQUEST = Request(Settings(threads=1), ("tiny",), quick=True)
COLUMNS = 12


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    """A generated set that all parts know."""
    data = DataSet("tiny", lambda: fifths(*generate_applicants(2000, COLUMNS, seed=0)))
    for part in (sealed_tables, sealed_blur, sealed_link, sealed_paillier, sealed_warm):
        monkeypatch.setattr(part, "SETS", {"tiny": data})


@pytest.fixture(scope="module", autouse=True)
def trained_once():
    """The same forest of the same rows is trained once."""
    honest, known = Trained.of, {}

    def kept(X, y, *settings):
        key = (X.tobytes(), y.tobytes(), *settings)
        if key not in known:
            known[key] = honest(X, y, *settings)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trained, "of", kept)
        yield


@pytest.fixture
def wrong_scores(monkeypatch):
    """Sealed scores of which the first is off."""
    honest = Trained.sealed

    def sealed(self, *what):
        asked = honest(self, *what)
        return replace(asked, scores=asked.scores + (np.arange(len(asked.scores)) == 0)[:, None])

    monkeypatch.setattr(Trained, "sealed", sealed)


@pytest.mark.parametrize(
    ("bar", "ours", "reached", "told"),
    [
        (SameDigits(0.0004), 1.0, True, "same to 3 digits"),
        (SameDigits(0.0005), 1.0, False, "same to 3 digits"),
        (WithinSteps(0.02, 0.02), 9.0, True, "within 0.02 of pooled"),
        (WithinSteps(0.021, 0.02), 0.0, False, "within 0.02 of pooled"),
        (WithinSteps(float("nan"), 0.02), 0.0, False, "within 0.02 of pooled"),
        (AtMost(8, 4), 8.0, True, "<= 8, goal 4"),
        (AtMost(0), 1.0, False, "<= 0"),
    ],
)
def test_a_row_is_ok_exactly_when_its_bar_is_reached(bar, ours, reached, told):
    assert Row("a", "generated", ours, bar=bar).ok is reached
    assert str(bar) == told


def test_applicants_are_the_same_again_and_both_parties_know_something():
    X, y = generate_applicants(20_000, 40, seed=3)
    again = generate_applicants(20_000, 40, seed=3)
    assert np.array_equal(X, again[0])
    assert np.array_equal(y, again[1])
    related = np.abs(np.corrcoef(X.T, y)[-1, :-1])
    assert related[:ACTIVE_COLUMNS].max() > 0.05
    assert related[ACTIVE_COLUMNS:].max() > 0.05
    assert 0.1 < y.mean() < 0.5


def test_three_fifths_train_and_one_tests_and_no_row_does_both():
    split = fifths(np.arange(1000)[:, None], np.zeros(1000, int))
    assert (len(split.X_train), len(split.X_test)) == (600, 200)
    assert not set(split.X_train[:, 0]) & set(split.X_test[:, 0])


def test_the_distance_of_both_classes_is_that_of_the_best_threshold():
    y, scores = np.array([0, 0, 0, 1, 1]), np.array([[0.1], [0.2], [0.9], [0.8], [0.95]])
    auc, ks = auc_ks(y, scores)
    assert auc == pytest.approx(5 / 6)
    assert ks == pytest.approx(2 / 3)


def test_the_tables_have_scores_and_costs_of_every_way():
    lines = list(sealed_tables.run(REQUEST))
    assert [line.name for line in lines[:3]] == ["tiny: 20%", "tiny: 20%, s", "tiny: 20%, kB a row"]
    assert len(lines) == 3 * len(sealed_tables.SHARES)
    assert all_ok([line for line in lines if line.sheet == sealed_tables.FIGURE_7])
    accuracy, efficiency, crossed = lines[-3:]
    assert str(accuracy.bar) == "same to 3 digits"  # of a few hundred rows, two that change places are a digit
    assert accuracy.figures["pooled AUC"] == accuracy.figures["interactive AUC"]
    assert accuracy.figures["sealed AUC"] == pytest.approx(accuracy.figures["pooled AUC"], abs=0.005)
    assert 0 < efficiency.figures["largest error"] <= efficiency.figures["allowed error"]
    asked = [crossed.figures[f"{way} exchanges"] for way in ("sealed", "batched", "one by one")]
    assert asked[0] == 1 < asked[1] <= 5 < asked[2]
    assert crossed.ratio > 1
    assert str(crossed.bar) == "<= 8, goal 4"


def test_a_wrong_score_spoils_tables_and_a_sweep(wrong_scores, monkeypatch):
    lines = list(sealed_tables.run(REQUEST))
    assert [line.ok for line in lines if line.sheet == sealed_tables.FIGURE_7] == [False] * 3
    assert few_lines(monkeypatch)[0].ok is False


def few_lines(monkeypatch):
    monkeypatch.setattr(sealed_sweep, "SETS", shapes((50, 7, 3)))
    monkeypatch.setattr(sealed_sweep, "TRAINING_ROWS", 1000)
    monkeypatch.setattr(sealed_sweep, "FEWER_PAILLIER_ROWS", 2)
    monkeypatch.setattr(sealed_sweep, "SERIAL_ROWS", 10)
    return list(sealed_sweep.run(replace(REQUEST, sets=("50x7x3",))))


def test_a_sweep_says_what_was_scaled_from_how_many_rows(monkeypatch):
    (line,) = few_lines(monkeypatch)
    assert line.ok
    assert (line.figures["scaled from"], line.figures["measured on"]) == (2, 10)
    assert line.figures["Paillier s, scaled"] > line.figures["lattice s"] > 0


def test_a_blur_moves_scores_as_far_as_it_says_and_costs_auc():
    lines = list(sealed_blur.run(REQUEST))
    assert [line.name for line in lines] == [f"tiny: blur {permille}" for permille in sealed_blur.WIDTHS]
    assert all_ok(lines)
    none, widest = lines[0].figures, lines[-1].figures
    assert none["blur at most"] == 0
    assert none["AUC lost"] == pytest.approx(0, abs=0.005)
    assert 0.8 * widest["blur at most"] < widest["largest change"] <= 1.01 * widest["blur at most"]
    assert widest["AUC"] < none["AUC"] - 0.005


def test_a_score_that_a_blur_moves_further_spoils_the_line(wrong_scores):
    lines = list(sealed_blur.run(REQUEST))
    assert lines[0].ok is False
    assert lines[0].figures["largest change"] > lines[0].figures["blur at most"] + 0.9


def test_figures_of_a_blur_are_means_over_draws(monkeypatch):
    monkeypatch.setattr(sealed_blur, "WIDTHS", (0, 50))
    monkeypatch.setattr(sealed_blur, "DRAWS", 3)
    assert [line.figures["draws"] for line in sealed_blur.run(replace(REQUEST, quick=False))] == [1, 3]


def test_both_ciphers_give_the_same_scores_side_by_side(monkeypatch):
    monkeypatch.setattr(sealed_paillier, "FEWER_ROWS", 2)
    seconds, kilobytes, difference = sealed_paillier.run(REQUEST)
    assert str(seconds.bar) == ">= 200x faster, goal 2000x"
    assert seconds.peer > seconds.ours
    assert kilobytes.bar is None
    assert (difference.ours, difference.ok) == (0.0, True)


@pytest.mark.parametrize(
    ("ratios", "found"),
    [
        ({1: 0.5, 4: 2.0}, 2.0),
        ({1: 0.1, 10: 0.5, 1000: 2.0}, 100.0),
        ({1: 0.1, 10: 0.9}, None),
        ({1: 1.1, 10: 2.0}, None),
    ],
)
def test_two_ways_cross_where_their_ratio_is_one(ratios, found):
    assert sealed_link.crossed(ratios) == (found if found is None else pytest.approx(found))


@pytest.fixture
def echo():
    """Sends back what comes."""
    server = socket.create_server(("127.0.0.1", 0))

    def answer():
        with server.accept()[0] as connection:
            while data := connection.recv(1 << 16):
                connection.sendall(data)

    threading.Thread(target=answer, daemon=True).start()
    yield server.getsockname()[1]
    server.close()


def test_a_slow_link_is_late_and_narrow_and_changes_nothing(echo):
    port = free_port()
    link = SlowLink(port, echo, round_trip=0.05, mbit=8.0)
    threading.Thread(target=link.serve, daemon=True).start()
    sent = np.random.default_rng(0).bytes(200_000)
    with socket.create_connection(("127.0.0.1", port)) as here:
        began = time.perf_counter()
        here.sendall(b"x")
        assert here.recv(1) == b"x"
        assert time.perf_counter() - began >= 0.05
        began, came = time.perf_counter(), b""
        here.sendall(sent)
        while len(came) < len(sent):
            came += here.recv(1 << 16)
        assert time.perf_counter() - began >= 0.05 + len(sent) / 1e6
    assert came == sent
    link.server.close()


def test_real_processes_over_a_link_have_right_scores_and_bars(monkeypatch):
    monkeypatch.setattr(sealed_link, "LINK", Link(0.002, 1000.0))
    monkeypatch.setattr(sealed_link, "FEWER_ROWS", (1, 40))
    monkeypatch.setattr(sealed_link, "FEWER_TURNS", 1)
    lines = {line.name: line for line in sealed_link.run(REQUEST)}
    assert {name: str(line.bar) for name, line in lines.items() if line.bar and "error" not in name} == {
        "tiny: 1 row, sealed / batched, s": "ratio <= 0.5, goal 0.1",
        "tiny: 1 row, sealed / one by one, s": "ratio <= 0.05",
        "tiny: kB a row of 40": "<= 8, goal 4",
    }
    assert [line.ok for name, line in lines.items() if "error" in name] == [True, True]
    assert any("rows from which batched is faster" in name for name in lines)
    assert any("rows from which sealed takes more than 0.05 of one by one" in name for name in lines)


def test_a_service_answers_all_clients_and_keeps_its_memory(monkeypatch):
    for name, n in {"WARMING": 2, "FEWER_REQUESTS": 10, "LESS_LOAD": 40}.items():
        monkeypatch.setattr(sealed_warm, name, n)
    rows = {row.name: row for row in sealed_warm.run(REQUEST)}
    assert rows["tiny: one row, largest error"].ok
    assert rows["tiny: 40 requests of 8 clients, failed"].ok
    assert rows["tiny: one row, p50 of 10, s"].ours <= rows["tiny: one row, p99 of 10, s"].ours
    assert sum("MiB" in name for name in rows) == (2 if can_measure() else 0)


def test_a_client_that_is_refused_counts_as_failed():
    class Refused:
        def score(self, row):
            raise RuntimeError(row)

        def close(self):
            pass

    failed, _ = sealed_warm.at_once(DataSet("tiny", lambda: None), Refused, 5, 24)
    assert (failed.ours, failed.ok) == (24, False)


@pytest.mark.skipif(not can_measure(), reason="the system does not tell peaks")
def test_memory_is_that_of_a_fresh_process(monkeypatch):
    monkeypatch.setattr(sealed_memory, "SETS", shapes((50, 7, 3)))
    monkeypatch.setattr(sealed_memory, "TRAINING_ROWS", 1000)
    told = sealed_memory.measure_here("50x7x3", 1)
    assert told["GiB"] > 0.01
    monkeypatch.setattr(sealed_memory, "measured", lambda name, threads: told | {"GiB": 2.0})
    assert [row.ok for row in sealed_memory.run(replace(REQUEST, sets=("50x7x3",)))] == [False, None]


def test_rows_in_files_are_read_as_they_were(tmp_path):
    table = first(dealt(np.array([[1, 2, 3, 4, 5.5, np.nan], [0.1, 1e-7, 3, 4, 5, 6]], np.float32)), 2)["party2"]
    write_rows(tmp_path / "rows.csv", table)
    read = read_table(tmp_path / "rows.csv", id_column="id")
    assert read.names == table.names
    np.testing.assert_array_equal(read.values, table.values)


def test_the_command_knows_the_sets_of_every_part():
    for part in command.BENCHMARKS["sealed"].values():
        assert set(part.full) | set(part.quick) <= set(part.sets) <= set(EVERY)
