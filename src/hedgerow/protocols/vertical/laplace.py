"""FedTree's noise where parties have columns, for comparison only: there is no epsilon that holds for such a run.

    active (drives)                              passive (each)
    AskSealedSums(sealed gradients) ----------->  adds up what is sealed, and FedTree's noise to each sum of gradients
                                    <-----------  SealedSums: sums of gradients with noise, of hessians of 1 without
    everything else               as in every vertical run; the active party adds noise to its own histograms, too

Sees in the clear.  Active: numbers of rows of each numbered bin and node, sums of gradients with noise; sides of rows
                    at chosen cuts, without. Passive: which rows share a node.

Sums that have noise are not those of the rows that go left, so nothing that an owner says of its sums can be checked:
one that makes them up can read labels. `laplace_active` says so, and leaves out the checks of such runs alone.

A gradient is cut to 1 and its hessian is 1, of as many bits as the plan has. Of two siblings one is asked about, as in
every vertical run; the other's noise is then that of both.
"""

from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.plan import Plan
from hedgerow.privacy import noise

LARGEST = 48
"""Noise is cut to so many times its scale, for which sums are laid out: a chance of e^-48 for each."""


@dataclass(frozen=True)
class SumNoise:
    """What is added to every sum of gradients."""

    scale: int
    """In units of the integers that are summed."""

    @property
    def summand(self) -> int:
        """The largest absolute value of what is added."""
        return LARGEST * self.scale

    def words(self, n_nodes: int, groups: int) -> NDArray[np.int64]:
        """For sums of so many nodes (nodes x groups x 2); none for hessians."""
        words = np.zeros((n_nodes, groups, 2), np.int64)
        drawn = noise.laplace(n_nodes * groups, self.scale).reshape(n_nodes, groups)
        words[..., 0] = np.clip(drawn, -self.summand, self.summand)
        return words


def sum_noise(plan: Plan) -> SumNoise | None:
    """Of a plan with FedTree's noise; None for all other plans."""
    dp = plan.method.dp
    if dp is None or dp.promises:
        return None
    return SumNoise(ceil(2 * (1 << (plan.params.gradient_bits - 1)) / dp.epsilon))


def summand_of(plan: Plan) -> int:
    """The largest absolute value that owners add to a sum, 0 where they add none."""
    noise_of = sum_noise(plan)
    return 0 if noise_of is None else noise_of.summand
