"""The sealed tables of requests, opened by an auditor and compared with the weights that the model can have."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.corridor.messages import AskScores
from hedgerow.errors import CipherError
from hedgerow.model.score_slots import NEVER, RELAYED
from hedgerow.model.score_ways import PossibleWeights
from hedgerow.privacy.additive import NOT_SEALED, PublicKey, RevealedKey
from hedgerow.protocols.scores import tables
from hedgerow.protocols.scores.layout import Layout

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class LeafWeights(NamedTuple):
    """The weights of leaves, at their places in the forest, and the prime modulo which they are summed."""

    weights: Ints
    modulus: int


class OpenedTables:
    """One party's tables, under a key that its holder revealed."""

    def __init__(self, layout: Layout, party: int, leaves: LeafWeights, public: PublicKey, key: RevealedKey) -> None:
        """The party is given by its number among those that are asked."""
        self.told, self.modulus, self.public, self.key = layout.told[party], leaves.modulus, public, key
        self.nodes = [slots.nodes(party) for slots in layout.classes]
        self.possible = [PossibleWeights(slots, leaves.weights, leaves.modulus) for slots in layout.classes]

    @property
    def unchecked(self) -> int:
        """Entries of a row that are other parties' sums under pads."""
        return sum(int((at == RELAYED).sum()) for own in self.nodes for at in (own.entries, own.relays))

    def wrong(self, request: AskScores) -> Bools:
        """Which rows of a request have weights, in some class, that the model cannot have."""
        n = len(request.ids)
        scores = self._opened(request.sealed_weights, tables.score_table, n)
        relays = self._opened(request.sealed_relays, tables.relay_table, n)
        wrong = np.zeros(n, np.bool_)
        for weights, going_on, own, model in zip(scores, relays, self.nodes, self.possible, strict=True):
            nodes = np.concatenate([own.entries, own.shared, own.relays.reshape(-1)])
            values = np.concatenate([weights, going_on], axis=1)
            wrong |= (values == NOT_SEALED).any(axis=1) | values[:, nodes == NEVER].any(axis=1)
            wrong |= model.impossible(nodes[nodes >= 0], values[:, nodes >= 0])
        return wrong

    def _opened(self, sealed: Sequence[bytes], make: tables.Make, n: int) -> Iterator[Ints]:
        """Rows x entries of each class; what rows share is each row's."""
        plans = [make(told, n, self.modulus) for told in self.told]
        if len(sealed) != len(plans) - plans.count(None):
            raise CipherError("A request has another number of tables than the model's slots.")
        rest = iter(sealed)
        for plan in plans:
            if plan is None:
                yield np.empty((n, 0), np.int64)
                continue
            own, shared = self.key.entries(self.public.read_slots(next(rest), plan, plan.entries))
            yield np.concatenate([own.reshape(n, -1), np.tile(shared, (n, 1))], axis=1)
