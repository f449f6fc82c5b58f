"""A party's side of greedy trees under differential privacy.

The folder has the conversation.

Sees in the clear.  Its own rows, what was agreed, the trees. Gives away sums over its rows with noise, under masks.
"""

from hedgerow.corridor import messages as m
from hedgerow.protocols.columns import loss_of
from hedgerow.protocols.noised.party import NoisedParty
from hedgerow.protocols.noised.told import Asked, ToldSums
from hedgerow.protocols.noised.told_greedy import ToldGreedy
from hedgerow.trees.noised.rule import Terms
from hedgerow.trees.noised.sums import OwnSums


class GreedyParty(NoisedParty):
    """Answers what a driver asks of rows, to grow trees from noised histograms."""

    asks: tuple[type[Asked], ...] = (m.AskNoisedCounts, m.AskNoisedRoot, m.AskNoisedLevel)

    def _told_of(self, own: OwnSums, terms: Terms) -> ToldSums:
        """Before anything was told."""
        return ToldGreedy(own, terms, self.plan, loss_of(self.plan, self.schema.own.classes))
