"""Subtrees of single parties: the forest is that of one table by the same levels and forced cuts."""

import numpy as np
import pytest
from test_hybrid import banks_of, network

from by_levels import by_levels
from federated import Federation, Lossy, params_of, same, step
from hedgerow.agreement.plan import Goal
from hedgerow.corridor import messages as m
from hedgerow.data.holders import HOLDER
from hedgerow.errors import ParameterError
from hedgerow.run.file.hybrid_tables import joined
from hedgerow.run.simulation.predict import predict_parties
from learnt import CASES

OWN = 4
"""Columns of the active party, who holds a row among them."""
SPANS = ((4, 6), (6, 9), (9, 11))
"""Columns of the banks of `network`."""
BANKS = (("bank0",), ("bank1",), ("bank2",))


def separate(parties, params, goal=Goal(), levels="AAJJ", **more):  # noqa: B008
    options = {"protection": "plain", "active": "network", "separate": True, **more}
    return Federation(parties, params, goal, method="hybrid", levels=levels, **options)


def one_table(parties, params, levels, *goal, **more):
    return by_levels(joined(parties, "network", units=BANKS), params, levels, OWN, *goal, units=3, **more)


@pytest.mark.parametrize("levels", ["AAJJ", "AAPP", "PPAA", "AJPJ", "JJJJ"])
def test_the_forest_is_that_of_one_table_with_the_same_forced_cuts(levels):
    parties, _ = network()
    params = params_of(max_depth=4)
    found = separate(parties, params, levels=levels).whole()
    assert found.forest == one_table(parties, params, levels).forest
    assert (found.forest.columns >= OWN).sum() > 6
