"""A passive party's side of FedTree's noise: it is added to sums before they leave; `laplace` has the conversation.

Sees in the clear.  What `passive_rows` says.
"""

import numpy as np
from numpy.typing import NDArray

from hedgerow.privacy.shapes import RowsPlan
from hedgerow.protocols.vertical.laplace import SumNoise
from hedgerow.protocols.vertical.passive_rows import PassiveRows
from hedgerow.protocols.vertical.passive_run import PassiveRun


class LaplacePassiveRows(PassiveRows):
    """Rows of which sums of gradients are given with noise."""

    def __init__(self, run: PassiveRun, noise: SumNoise) -> None:
        super().__init__(run)
        self.noise = noise

    @property
    def summand(self) -> int:
        """As the noise has it."""
        return self.noise.summand

    def _plus(self, plan: RowsPlan) -> NDArray[np.int64]:
        return self.noise.words(plan.nodes, self.run.table.n_sums)
