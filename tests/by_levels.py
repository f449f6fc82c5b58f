"""Training on one table by a schedule of levels: what a run by that schedule must equal."""

from dataclasses import replace

import numpy as np
import pytest

from federated import pooled_model
from hedgerow.model import train as training
from hedgerow.protocols.vertical.active import completed
from hedgerow.trees.drawn_cuts import DrawnCuts
from hedgerow.trees.local import LocalRows


def by_levels(table, params, levels, own, *goal, draws=None, valid=None):
    """The first `own` columns are the active party's; others, and with letter P these, have all rows in the last bin.

    `draws` are the columns of each passive party (first, last) where cuts at levels P are drawn.
    """
    real = {name: getattr(LocalRows, name) for name in ("histograms", "divide", "start_round")}
    now, growth_of = {"depth": 0}, training.growth_of

    def start_round(self, round_):
        now["depth"] = 0
        return real["start_round"](self, round_)

    def divide(self, cuts):
        now["depth"] += 1
        return real["divide"](self, cuts)

    def histograms(self, nodes):
        out, bins = real["histograms"](self, nodes), np.diff(self.own.matrix.offsets.astype(np.int64))
        letter = levels[now["depth"]]
        cut = int(bins[:own].sum())
        if letter == "P":
            out[:, :cut] = completed(None, bins[:own], out[:, -1])
        if letter == "A":
            out[:, cut:-1] = completed(None, bins[own:], out[:, -1])
        return out

    def drawn(grid, *rest):
        depths = frozenset(depth for depth, letter in enumerate(levels) if letter == "P")
        cuts = DrawnCuts(grid, draws, depths, params.random_state, lambda _: np.ones(len(draws), bool))
        return replace(growth_of(grid, *rest), given=cuts)

    same_above = property(lambda _: now["depth"] > 0 and levels[now["depth"]] == levels[now["depth"] - 1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalRows, "subtracts", same_above)
        for name, new in {"histograms": histograms, "divide": divide, "start_round": start_round}.items():
            patch.setattr(LocalRows, name, new)
        if draws is not None:
            patch.setattr(training, "growth_of", drawn)
        return pooled_model(table, params, *goal, valid=valid)
