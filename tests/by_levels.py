"""Training on one table by a schedule of levels: what a run by that schedule must equal."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import federated
from federated import pooled_model
from hedgerow.model import train as training
from hedgerow.protocols.vertical.active import completed
from hedgerow.protocols.vertical.columns import levels_of
from hedgerow.trees.drawn_cuts import DrawnCuts, GivenLevels
from hedgerow.trees.local import LocalRows
from hedgerow.trees.unit_subtrees import UnitSubtrees


def by_levels(table, params, levels, own, *goal, draws=None, valid=None, units=0, choosing=1.0):
    """The first `own` columns are the active party's; others, and with letter P these, have all rows in the last bin.

    `draws` are the columns of each passive party (first, last) where cuts at levels P are drawn. With `units` the last
    of the active party's columns says which of so many units, in the order of `draws`, holds a row. Cuts of levels P
    and J are chosen by the rows that a share of `choosing` draws.
    """
    first = next((i for i, letter in enumerate(levels) if letter != "A"), len(levels))
    levels = levels[:first] + "D" * units.bit_length() + levels[first:]
    real = {name: getattr(LocalRows, name) for name in ("histograms", "divide", "start_round")}
    now, growth_of = {"depth": 0}, training.growth_of

    def start_round(self, round_):
        now["depth"] = 0
        return real["start_round"](self, round_)

    def divide(self, cuts):
        now["depth"] += 1
        return real["divide"](self, cuts)

    def histograms(self, nodes):
        letter, bins = levels[now["depth"]], np.diff(self.own.matrix.offsets.astype(np.int64))
        out = self.choosing_histograms(nodes) if letter in "PJ" else real["histograms"](self, nodes)
        cut = int(bins[:own].sum())
        if letter == "P":
            out[:, :cut] = completed(None, bins[:own], out[:, -1])
        if letter in "AD":
            out[:, cut:-1] = completed(None, bins[own:], out[:, -1])
        return out

    def planned(grid, *rest):
        depths = frozenset(depth for depth, letter in enumerate(levels) if letter == "P")
        dealt, kinds = UnitSubtrees(own - 1, units, first), []
        unit_of = dealt.unit_of if units else None
        if draws is not None:
            kinds = [DrawnCuts(grid, draws, depths, params.random_state, lambda _: np.ones(len(draws), bool), unit_of)]
        growth = growth_of(grid, *rest)
        growth = replace(growth, max_depth=len(levels), levels=levels_of(levels), sampled=choosing < 1)
        if not units:
            return replace(growth, given=kinds[0]) if kinds else growth
        among = np.arange(grid.n_columns) != own - 1
        columns = replace(growth.columns, among=lambda _: among)
        return replace(growth, given=GivenLevels((dealt, *kinds)), columns=columns, dealing=own - 1)

    with pytest.MonkeyPatch.context() as patch:
        for name, new in {"histograms": histograms, "divide": divide, "start_round": start_round}.items():
            patch.setattr(LocalRows, name, new)
        patch.setattr(training, "growth_of", planned)
        patch.setattr(federated, "Task", partial(federated.Task, choosing=choosing))
        return pooled_model(table, params, *goal, valid=valid)
