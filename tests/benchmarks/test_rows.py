import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.rows import AtLeast, NotBelowPeer, RatioAtMost, Row, all_ok

from benchmarks import __main__ as command

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("bar", "ours", "peer", "reached"),
    [
        (RatioAtMost(1.5), 1.5, 1.0, True),
        (RatioAtMost(1.5), 1.51, 1.0, False),
        (RatioAtMost(1.5), 0.1, None, False),
        (NotBelowPeer(0.002), 0.8985, 0.9, True),
        (NotBelowPeer(0.002), 0.8975, 0.9, False),
        (NotBelowPeer(0.002), 0.95, 0.9, True),
        (NotBelowPeer(0.002), math.nan, 0.9, False),
        (AtLeast(0.902), 0.902, None, True),
        (AtLeast(0.902), 0.9019, None, False),
    ],
)
def test_a_row_is_ok_exactly_when_its_bar_is_reached(bar, ours, peer, reached):
    assert Row("a", "real", ours, peer, bar).ok is reached


def test_a_row_without_a_bar_is_neither_ok_nor_not():
    assert Row("a", "real", 2.0, 1.0).ok is None


def test_a_row_without_a_peer_has_no_ratio():
    assert Row("a", "real", 2.0).ratio is None


def test_only_a_missed_bar_spoils_a_run():
    reached, unbarred = Row("a", "real", 1.0, 1.0, RatioAtMost(1.5)), Row("b", "real", 9.0, 1.0)
    missed = Row("c", "generated", 9.0, 1.0, RatioAtMost(1.5))
    assert all_ok([reached, unbarred])
    assert not all_ok([reached, unbarred, missed])


def test_a_row_survives_a_file():
    row = Row("a9a: train s", "real", 3.0, 2.0, RatioAtMost(1.5))
    assert json.loads(json.dumps(row.as_json())) == {
        "name": "a9a: train s",
        "data": "real",
        "ours": 3.0,
        "peer": 2.0,
        "ratio": 1.5,
        "bar": "ratio <= 1.5",
        "ok": True,
        "others": None,
    }


@pytest.mark.parametrize("wrong", [["nonsense"], ["pooled", "--sets", "nonsense"], ["pooled", "--bins", "0"], []])
def test_wrong_usage_ends_with_2_and_one_sentence(wrong, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["benchmarks", *wrong])
    with pytest.raises(SystemExit, match="2"):
        command.main()
    is_one_sentence(*capsys.readouterr())


def test_wrong_usage_of_a_process_ends_with_2_and_one_sentence():
    words = [sys.executable, "-m", "benchmarks", "nonsense"]
    done = subprocess.run(words, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    is_one_sentence(done.stdout, done.stderr)


def is_one_sentence(out, told):
    assert out == ""
    assert told.count("\n") == 1
    assert told.endswith(".\n")
