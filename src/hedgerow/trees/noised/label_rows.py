"""Rows whose labels are hidden by noise on every sum of gradients, before anything follows from it.

Rows of all parties lie below, exact; what comes out is noised, histograms and leaves alike: from leaves come scores,
and from scores the gradients of the next round, which would else carry what was not noised. Hessians, numbers of rows
and sides do not depend on labels once the trees so far are given, and stay as they are. Of two siblings one is asked
for below, and the other is the exact parent's less it; each then has noise of its own.
"""

from collections.abc import Callable
from hashlib import sha256
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.trees.bins import Grid
from hedgerow.trees.fixedpoint import Scales
from hedgerow.trees.grow import Rows, Summed
from hedgerow.trees.levels import ALIKE, Levels
from hedgerow.trees.noised.label_rule import LEAF_SHIFT, LabelSchedule
from hedgerow.trees.noised.rule import Planned
from hedgerow.trees.splits import Cuts, Nodes

I64 = NDArray[np.int64]
Release = Callable[[str, Planned, bytes, I64], I64]
"""Under this key, of this kind, asked for by a request of this hash: exact sums; returns them with noise."""


class _Parents(NamedTuple):
    """What is exactly known of nodes that were cut, and the rows of their children."""

    sums: I64
    sizes: I64
    children: Nodes


class LabelNoisedRows:
    """Rows around those of all parties: no sum of gradients leaves without noise."""

    counts_every = False

    def __init__(
        self, rows: Rows, grid: Grid, schedule: LabelSchedule, scales: Scales, release: Release, levels: Levels = ALIKE
    ) -> None:
        self.rows, self.schedule, self.release, self.levels = rows, schedule, release, levels
        self.totals = Totals(grid)
        self.wide = scales.wide
        self._round = self._step = self._depth = -1
        self._nodes: Nodes | None = None
        self._exact: I64 = np.empty((0, 0, 2), np.int64)
        self._parents: _Parents | None = None

    def start_round(self, round_: int) -> None:
        """As the rows do."""
        self._round, self._step, self._depth, self._parents = round_, 0, 0, None
        self.rows.start_round(round_)

    def histograms(self, nodes: Nodes) -> I64:
        """What everything else follows from: gradients with noise; bins without rows have none."""
        exact = self._sums(nodes)
        self._nodes, self._exact = nodes, exact
        out, told = exact[:, :-1, 0].copy(), exact[:, :-1, 1] > 0
        out[:] = self._noised(self.schedule.level, nodes, out)
        out[~told] = 0
        return self.totals.agreed(out, exact)

    def _sums(self, nodes: Nodes) -> I64:
        """Exact, of which half are asked for where the others follow."""
        parents = self._parents
        if parents is None or not self.levels.alike(self._depth) or not _same(nodes, parents.children):
            return self.rows.histograms(nodes)
        pairs = np.arange(len(parents.sums))
        smaller = 2 * pairs + (parents.sizes[:, 1] < parents.sizes[:, 0])
        out = np.empty((len(nodes.tree), *parents.sums.shape[1:]), np.int64)
        out[smaller] = self.rows.histograms(nodes.at(smaller))
        out[smaller ^ 1] = parents.sums - out[smaller]
        return out

    def divide(self, cuts: Cuts) -> NDArray[np.int64]:
        """As the rows do; how many go where does not depend on labels."""
        at = self._places(cuts.nodes)
        sizes = self.rows.divide(cuts)
        self._depth += 1
        children = Nodes(np.repeat(cuts.nodes.tree, 2), np.stack([cuts.child, cuts.child + 1], axis=1).reshape(-1))
        self._parents = None if sizes is None or at is None else _Parents(self._exact[at], sizes, children)
        return np.asarray(sizes)

    def _places(self, nodes: Nodes) -> I64 | None:
        """Where the nodes are among those that were summed last."""
        if self._nodes is None:
            return None
        known = {place: i for i, place in enumerate(zip(*map(np.ndarray.tolist, self._nodes), strict=True))}
        found = [known.get(place, -1) for place in zip(*map(np.ndarray.tolist, nodes), strict=True)]
        return None if -1 in found else np.array(found, np.int64)

    def leaf_sums(self, leaves: Nodes) -> I64:
        """Gradients with noise, drawn towards 0 by how little is known of their leaf; hessians as they are."""
        exact = self.rows.leaf_sums(leaves)
        noised = self._noised(self.schedule.leaves, leaves, exact[:, 0] >> LEAF_SHIFT)
        plan = self.schedule
        unit = 2.0**LEAF_SHIFT * self.wide[0] / plan.reach
        heavy = exact[:, 1] * self.wide[1]
        noise = plan.leaves.variance * unit**2 / plan.n_rounds**0.5
        doubt = (noise + plan.spread * heavy) / plan.prior**2
        known = heavy * (heavy + 1) / np.maximum(heavy * (heavy + 1) + doubt, 1e-300)
        drawn = np.rint(noised * known * 2.0**LEAF_SHIFT).astype(np.int64)
        return np.stack([drawn, exact[:, 1]], axis=1)

    def _noised(self, planned: Planned, nodes: Nodes, exact: I64) -> I64:
        self._step += 1
        asked = sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in nodes)).digest()
        key = f"round {self._round}, step {self._step}"
        return self.release(key, planned, asked, exact.reshape(-1)).reshape(exact.shape)

    def finish_round(self, leaves: Nodes, values: NDArray[np.float32]) -> None:
        """As the rows do."""
        self.rows.finish_round(leaves, values)

    def node_sums(self, nodes: Nodes) -> None:
        """Not without another release."""

    def counts(self, nodes: Nodes) -> I64:
        """Never asked for: the rule that needs them is refused."""
        raise NotImplementedError(f"rows of {len(nodes.tree)} nodes would be counted")

    def held_out_sums(self, metric: Summed, n_rounds: int) -> I64:
        """Never asked for: a metric that is followed is refused."""
        raise NotImplementedError(f"{type(metric).__name__} after {n_rounds} rounds would be summed without noise")


def _same(nodes: Nodes, others: Nodes) -> bool:
    return np.array_equal(nodes.tree, others.tree) and np.array_equal(nodes.node, others.node)


class Totals:
    """Gradients of a node as every column has them: with noise they differ, and the truth is in between."""

    def __init__(self, grid: Grid) -> None:
        self.starts = grid.offsets[:-1].astype(np.int64)
        self.sizes = np.diff(grid.offsets).astype(np.int64)

    def agreed(self, gradients: I64, exact: I64) -> I64:
        """Histograms (each node's total last) whose columns add up to the same: fewer bins know it better."""
        has_rows = exact[:, :-1, 1] > 0
        filled = np.maximum(np.add.reduceat(has_rows, self.starts, axis=1, dtype=np.int64), 1)
        found, share = np.add.reduceat(gradients, self.starts, axis=1), 1 / filled
        totals = (found * share).sum(axis=1) / share.sum(axis=1)
        lacking = np.repeat((totals[:, None] - found) * share, self.sizes, axis=1)
        out = exact.copy()
        out[:, :-1, 0] = np.rint(gradients + np.where(has_rows, lacking, 0))
        out[:, -1, 0] = np.rint(totals)
        return out
