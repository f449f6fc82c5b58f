"""Classes among labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.model.model import distinct

KINDS = ["bool", "int8", "uint8", "int64", "uint64"]


@given(st.data(), st.sampled_from(KINDS), st.sampled_from(["low", "middle", "high"]))
def test_distinct_labels_are_those_that_numpy_finds(data, kind, where):
    if kind == "bool":
        labels = np.array(data.draw(st.lists(st.booleans(), max_size=20)), bool)
    else:
        limits = np.iinfo(kind)
        first = {"low": limits.min, "middle": 0, "high": limits.max - 30}[where]
        labels = np.array([first + more for more in data.draw(st.lists(st.integers(0, 30), max_size=60))], kind)
    assert distinct(labels) == tuple(np.unique(labels).tolist())


@pytest.mark.parametrize("labels", [["b", "a", "b"], [0.5, -1.5, 0.5]])
def test_distinct_labels_may_be_text_or_numbers(labels):
    assert distinct(np.array(labels)) == tuple(sorted(set(labels)))
