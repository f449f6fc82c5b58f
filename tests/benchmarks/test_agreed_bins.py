"""What agreeing on bins costs, on a table whose answer is known."""

import numpy as np
import pytest
from benchmarks.sets import Split

from benchmarks import agreed_bins


def split(n=3000):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    y = (X[:, 1] + X[:, 0] / 2 + rng.normal(size=n) / 2 > 0).astype(int)
    half = n // 2
    return Split(X[:half], y[:half], X[half:], y[half:])


def test_fewer_bins_cost_more_and_tell_less():
    few, many = agreed_bins.lines_of("made", split(), (2, 64), trees=10)
    assert few.auc == many.auc
    assert few.rounded < few.auc - 0.01
    assert few.trained < few.auc - 0.005
    assert many.rounded == pytest.approx(many.auc, abs=0.01)
    assert few.told < 0.2 < many.told <= 1


def test_a_bin_of_two_halves_tells_one_bit_of_all():
    values = np.arange(256, dtype=np.float32)
    assert agreed_bins._entropy(values, np.array([128], np.float32)) == 1
    assert agreed_bins._share_told(values, np.array([128], np.float32)) == pytest.approx(1 / 8, rel=0.01)


def test_missing_values_stay_missing_among_bins():
    X = np.array([[0, 1], [0, np.nan], [0, 3]], np.float32)
    binned = agreed_bins._binned(Split(X, None, X, None), {1: np.array([2], np.float32)})
    np.testing.assert_array_equal(binned.X_train[:, 1], [0, np.nan, 1])


def test_without_the_data_it_says_so(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("HEDGEROW_DATA", str(tmp_path))
    assert agreed_bins.main() == 2
    assert "Neither credit1 nor credit2" in capsys.readouterr().err
