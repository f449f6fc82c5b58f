"""Tables that hybrid training is compared with."""

import numpy as np
import pytest

from hedgerow import Table
from hedgerow.data.hybrid_partition import HybridCut, hybrid
from hedgerow.errors import ParameterError
from hedgerow.run.simulation.hybrid_baselines import baseline_tables


def test_each_baseline_has_its_tables() -> None:
    rng = np.random.default_rng(0)
    made = hybrid(Table.of(rng.normal(size=(60, 4)), np.arange(60) % 2), HybridCut(passive=2, parties=3))
    assert baseline_tables("alone", made)["active"] is made.active
    each = baseline_tables("two-party", made)
    assert list(each) == list(made.passive)
    assert [int((~np.isnan(one.values[:, -1])).sum()) for one in each.values()] == [20, 20, 20]
    whole = baseline_tables("pooled", made)["pooled"].values
    assert not np.isnan(whole).any()
    np.testing.assert_array_equal(baseline_tables("merged", made)["merged"].values, whole)
    with pytest.raises(ParameterError, match="'odd' is unknown; it is one of alone, two-party"):
        baseline_tables("odd", made)
