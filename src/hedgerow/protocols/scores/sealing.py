"""The active party's batches: weights sealed for each party, and answers opened."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.options import SealedPrediction
from hedgerow.corridor.messages import Scores, ScoresReady
from hedgerow.corridor.wire import MOST_SMALL
from hedgerow.errors import ProtocolError
from hedgerow.model.score_slots import FilledSlots
from hedgerow.privacy.additive import SecretKey
from hedgerow.privacy.shapes import SlotsPlan
from hedgerow.protocols.scores import tables
from hedgerow.protocols.scores.layout import Layout

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class KeySession:
    """A key, and what the parties were told with it."""

    method: SealedPrediction
    name: bytes
    secret: SecretKey
    begun: tuple[bytes, ...]
    """The hash of what each party was told at the beginning."""
    ready: tuple[ScoresReady, ...]
    """What each party says of what it lets be told."""


class SealedBatch:
    """One batch: what is sealed for each party, and what its answer opens to."""

    def __init__(self, session: KeySession, layout: Layout, n: int, filled: Sequence[FilledSlots]) -> None:
        self.session, self.layout, self.n, self.filled = session, layout, n, filled
        self.modulus = session.method.modulus
        names, classes = layout.names, len(filled)
        self.scores = np.stack([own.offset for own in filled], axis=1)
        """Rows x classes: at first the active party's own part."""
        self.came: list[list[dict[int, Ints]]] = [[{} for _ in range(classes)] for _ in names]
        """For each party and class the opened relays to it, by source."""
        self.reasons: list[Ints] = [np.empty((0, n, classes), np.int64) for _ in names]

    def seal(self, party: int) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
        """The sealed weights of a party, and those whose sums go on."""
        weights, relays = [], []
        for score, (own, told) in enumerate(zip(self.filled, self.layout.told[party], strict=True)):
            came = self.came[party][score]
            plan = tables.score_table(told, self.n, self.modulus)
            if plan is not None:
                entries, shared = own.entries(party, came), own.shared(party)
                if not plan.shared:
                    entries = np.concatenate([entries, np.tile(shared, (self.n, 1))], axis=1)
                weights.append(self._sealed(entries, shared if plan.shared else None, plan))
            plan = tables.relay_table(told, self.n, self.modulus)
            if plan is not None:
                relays.append(self._sealed(own.relays(party, came).reshape(plan.rows, plan.entries), None, plan))
        return tuple(weights), tuple(relays)

    def _sealed(self, values: Ints, shared: Ints | None, plan: SlotsPlan) -> bytes:
        given = None if shared is None else plan.centred(shared)
        return self.session.secret.seal_slots(plan.centred(values), plan, given).encode()

    def most_bytes(self, party: int, reasons: bool) -> int:
        """Of a party's answer."""
        cipher, told = self.session.method.privacy, self.layout.told[party]
        answers = 1 + (len(self.session.ready[party].reasons) + 1 if reasons else 0)
        size = MOST_SMALL
        for own in told:
            scores, relays = (make(own, self.n, self.modulus) for make in (tables.score_table, tables.relay_table))
            size += answers * cipher.slots_bytes(scores, 1, 1) if scores is not None else 0
            size += cipher.slots_bytes(relays, 1, 1) if relays is not None else 0
        return size

    def open(self, party: int, answer: Scores, reasons: bool) -> None:
        """Add a party's sums to the scores, and keep what goes on to others."""
        told = self.layout.told[party]
        scored = [k for k, own in enumerate(told) if len(own.entries) + len(own.shared)]
        relayed = [k for k, own in enumerate(told) if len(own.targets)]
        labels = len(self.session.ready[party].reasons) if reasons else 0
        own_part = labels > 0 and tables.asks_own_part(told)
        n_reasons = labels + own_part
        sizes = (len(answer.sealed_scores), len(answer.sealed_relays), len(answer.sealed_reasons))
        if sizes != (len(scored), len(relayed), n_reasons * len(scored)):
            raise ProtocolError(f"Party {self.layout.names[party]!r} answered with other sums than it was asked for.")
        mine = np.zeros((self.n, len(told)), np.int64)
        for k, sealed in zip(scored, answer.sealed_scores, strict=True):
            mine[:, k] = self._opened(sealed, tables.score_table(told[k], self.n, self.modulus))
        self.scores += mine
        for k, sealed in zip(relayed, answer.sealed_relays, strict=True):
            sums = self._opened(sealed, tables.relay_table(told[k], self.n, self.modulus)).reshape(self.n, -1)
            for target in np.unique(told[k].targets).tolist():
                self.came[target][k][party] = sums[:, told[k].targets == target]
        if n_reasons:
            without = np.zeros((n_reasons, self.n, len(told)), np.int64)
            for i, sealed in enumerate(answer.sealed_reasons):
                k = scored[i % len(scored)]
                without[i // len(scored), :, k] = self._opened(
                    sealed, tables.score_table(told[k], self.n, self.modulus)
                )
            self.reasons[party] = without[0] - without[1:] if own_part else mine - without

    def _opened(self, sealed: bytes, plan: SlotsPlan | None) -> Ints:
        if plan is None:
            raise ProtocolError("A party answered with sums that it was not asked for.")
        return self.session.secret.open_slots(self.session.secret.public.read_slots(sealed, plan, 1, 1))[:, 0]
