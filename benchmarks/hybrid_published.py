"""What the HybridTree paper prints, by its own names of sets."""

from typing import NamedTuple


class Published(NamedTuple):
    """A row of one of its tables; of two-party vertical training, FedTree's least and most."""

    hybrid: float
    alone: float
    two_party: tuple[float, float]
    whole_trees: float
    pooled: float

    @property
    def recovered(self) -> float:
        """The share of the gap that follows."""
        return (self.hybrid - self.alone) / (self.pooled - self.alone)


TABLE_1 = {
    "payments-ad": Published(0.689, 0.492, (0.537, 0.566), 0.530, 0.703),
    "payments-dev": Published(0.553, 0.111, (0.412, 0.462), 0.397, 0.574),
    "adult-20": Published(0.832, 0.653, (0.764, 0.788), 0.773, 0.853),
    "adult-102": Published(0.832, 0.653, (0.764, 0.788), 0.773, 0.853),
    "cod-rna": Published(0.927, 0.690, (0.805, 0.863), 0.884, 0.931),
}
TABLE_3 = {
    "payments-ad": Published(0.682, 0.423, (0.498, 0.502), 0.512, 0.703),
    "payments-dev": Published(0.548, 0.094, (0.389, 0.425), 0.366, 0.574),
    "adult-20": Published(0.828, 0.582, (0.712, 0.722), 0.730, 0.853),
    "adult-102": Published(0.828, 0.582, (0.712, 0.722), 0.730, 0.853),
    "cod-rna": Published(0.911, 0.621, (0.784, 0.804), 0.821, 0.931),
}
TABLE_6 = {
    "payments-ad": Published(0.673, 0.492, (0.511, 0.559), 0.514, 0.682),
    "payments-dev": Published(0.546, 0.111, (0.389, 0.444), 0.384, 0.561),
    "adult-20": Published(0.801, 0.655, (0.753, 0.782), 0.756, 0.820),
    "adult-102": Published(0.801, 0.655, (0.753, 0.782), 0.756, 0.820),
    "cod-rna": Published(0.908, 0.690, (0.776, 0.858), 0.861, 0.919),
}
TABLE_8 = {
    "payments-ad": (5.6, 16.4),
    "payments-dev": (8.1, 20.6),
    "adult-20": (0.28, 1.36),
    "adult-102": (0.28, 1.36),
    "cod-rna": (0.48, 1.64),
}
"""Megabytes to predict all test rows: HybridTree, and FedTree's vertical training."""
TABLE_9 = {
    4: Published(0.671, 0.402, (0.470, 0.476), 0.530, 0.703),
    6: Published(0.682, 0.423, (0.498, 0.502), 0.397, 0.574),
    8: Published(0.689, 0.431, (0.506, 0.511), 0.773, 0.853),
}
"""Its last two columns are those of table 1, set by set, printed again."""
TABLE_10 = {
    "payments-ad": (0.702, 0.708),
    "payments-dev": (0.594, 0.603),
    "adult-20": (0.851, 0.862),
    "adult-102": (0.851, 0.862),
    "cod-rna": (0.944, 0.957),
}
"""HybridTree with one passive party, and vertical training."""
TABLE_12 = {
    "rows": {
        0.2: Published(0.778, 0.598, (0.712, 0.730), 0.723, 0.794),
        0.5: Published(0.786, 0.610, (0.726, 0.742), 0.730, 0.805),
        0.8: Published(0.814, 0.636, (0.749, 0.776), 0.762, 0.832),
        1.0: Published(0.832, 0.653, (0.764, 0.788), 0.773, 0.853),
    },
    "columns": {
        0.2: Published(0.602, 0.424, (0.541, 0.561), 0.542, 0.621),
        0.5: Published(0.724, 0.552, (0.655, 0.679), 0.669, 0.742),
        0.8: Published(0.771, 0.592, (0.704, 0.735), 0.713, 0.791),
        1.0: Published(0.832, 0.653, (0.764, 0.788), 0.773, 0.853),
    },
}
