"""Sealed prediction: the active party learns scores in one round, and nobody learns the way of a row.

    active (drives)                              passive (each)
    Propose(plan, model's id)  ------------->    checks it by its owner's policy and by its part
                               <-------------    Consent
    BeginScores(slots, key)    ------------->    checks that slots are of its own cuts, makes secrets with the others
                               <-------------    ScoresReady
  for every batch of rows, once:
    AskScores(ids, sealed weights) --------->    counts the answers in its owner's ledger,
                               <-------------    Scores: one sealed sum a row, of the weights that its own cuts choose

`model.score_slots` says what the weights are. Parties are asked at the same time, but for those to which others' sums
go on: the active party opens these, which are uniform under pads that it lacks, and seals them for the next.

Sees in the clear.  Active: the score of every row and class, and if asked for, contributions of columns.
                    Passive: the ids of all rows, the slots of its own cuts.
                    Active and the next of a relay together: what the one before chose in trees that both cut.
                    Nobody: the way of a row, another's values or thresholds, which rows a party has.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.ciphers import cipher_of
from hedgerow.agreement.options import SealedPrediction
from hedgerow.agreement.plan import Goal, Member, Plan
from hedgerow.corridor.messages import AskScores, BeginScores, Key, Scores, ScoresReady, SlotsTold
from hedgerow.corridor.wire import MOST_SMALL
from hedgerow.errors import ProtocolError
from hedgerow.identity.identity import Identity
from hedgerow.model.candidates import reached
from hedgerow.model.model import Model
from hedgerow.model.part import Part
from hedgerow.model.score_slots import ClassSlots, FilledSlots, PartySlots, known_part
from hedgerow.privacy.additive import SecretKey
from hedgerow.privacy.shapes import SlotsPlan
from hedgerow.protocols.predict import sealed_tables as tables
from hedgerow.protocols.predict.score_pads import batch_hash
from hedgerow.protocols.predict.sealed_requests import PURPOSE, signed
from hedgerow.protocols.session.group import PartyGroup
from hedgerow.trees.params import TreeParams

Ints = NDArray[np.int64]


def sealed_plan(run: str, members: tuple[Member, ...], method: SealedPrediction, coordinator: str = "") -> Plan:
    """What the parties of a sealed prediction agree to."""
    return Plan(run, members, Goal(), TreeParams(), method, coordinator)


@dataclass(frozen=True, eq=False)
class Layout:
    """Which slots each party has, and in which order parties are asked."""

    names: tuple[str, ...]
    """The parties that are asked."""
    known: Part
    """The cuts that the active party answers."""
    classes: tuple[ClassSlots, ...]
    told: tuple[tuple[SlotsTold, ...], ...]
    """What each party is told, class by class."""
    waves: tuple[tuple[int, ...], ...]
    """Parties that are asked at the same time, by number, one wave after the other."""

    @classmethod
    def of(cls, model: Model, names: Sequence[str], scores: int) -> "Layout":
        """The layout of a model with so many scores a row, where these parties are asked."""
        classes = tuple(ClassSlots(model, number, names) for number in range(scores))
        padded = [[p for p, own in enumerate(c.parties) if len(own.entries) + len(own.shared)] for c in classes]
        told = tuple(
            tuple(_told(c.parties[party], whom) for c, whom in zip(classes, padded, strict=True))
            for party in range(len(names))
        )
        return cls(tuple(names), known_part(model, names), classes, told, _waves(told))

    @property
    def most_rows(self) -> int:
        """Rows of a batch."""
        return min((tables.most_rows(told) for told in self.told), default=tables.MOST_ROWS)


def _told(own: PartySlots, padded: Sequence[int]) -> SlotsTold:
    return SlotsTold(
        own.entries,
        own.sources,
        own.shared,
        own.relays.reshape(-1),
        own.relay_sources.reshape(-1),
        own.targets,
        np.array(padded, np.int64),
    )


def _waves(told: Sequence[Sequence[SlotsTold]]) -> tuple[tuple[int, ...], ...]:
    """A party comes after all whose relays it takes; relays go to parties further on."""
    wave = [0] * len(told)
    for party, slots in enumerate(told):
        for target in {target for own in slots for target in own.targets.tolist()}:
            wave[target] = max(wave[target], wave[party] + 1)
    return tuple(tuple(p for p, own in enumerate(wave) if own == w) for w in range(max(wave, default=-1) + 1))


@dataclass(frozen=True, eq=False)
class _Session:
    """A key, and what the parties were told with it."""

    name: bytes
    secret: SecretKey
    public_key: bytes
    ready: tuple[ScoresReady, ...]
    """What each party says of what it lets be told."""


@dataclass(frozen=True, eq=False)
class Opened:
    """What a batch's answers open to, all modulo the plan's prime."""

    scores: Ints
    """Rows x classes."""
    reasons: tuple[Ints, ...]
    """For each party: labels x rows x classes, what its columns contribute."""


class SealedAsking:
    """The active party's side: seals weights, and opens scores."""

    def __init__(
        self,
        group: PartyGroup,
        layout: Layout,
        weights: Ints,
        keys: Sequence[Key],
        identity: Identity,
        threads: int = 1,
    ) -> None:
        """`weights` has those of leaves, at their places in the forest; `keys` is what the parties consented with."""
        self.group, self.layout, self.weights, self.identity, self.threads = group, layout, weights, identity, threads
        method = group.plan.method
        if not isinstance(method, SealedPrediction):
            raise ProtocolError("The plan is not one of a sealed prediction.")
        self.method, self.keys = method, tuple(keys)
        self.batch = 0
        self.session = self._begin()

    def _begin(self) -> _Session:
        """A fresh key, of which the parties are told."""
        name = secrets.token_bytes(32)
        secret = cipher_of(self.group.plan).new_key(self.threads, slots=False)
        encoded = secret.public.encode()
        requests = {
            party: BeginScores(name, self.keys, told, encoded)
            for party, told in zip(self.layout.names, self.layout.told, strict=True)
        }
        ready = self.group.ask(requests, ScoresReady)
        return _Session(name, secret, encoded, tuple(ready[party] for party in self.layout.names))

    def renew(self) -> None:
        """Go on with another key."""
        self.session = self._begin()

    def ask(self, ids: Sequence[str], own_values: NDArray[np.float32], reasons: bool = False) -> Opened:
        """The scores of a batch of rows, and the contributions of passive columns if asked for.

        What becomes known here: these, and nothing of the rows' ways.
        """
        n = len(ids)
        own_values = np.concatenate([own_values, np.full((n, 1), np.nan, np.float32)], axis=1)
        sides = reached(self.layout.known, own_values, self.threads)
        filled = [slots.filled(sides, self.weights) for slots in self.layout.classes]
        batch, number = _Batch(self, n, filled), self.batch
        self.batch += 1  # whatever becomes of this one, its pads are used up
        said = batch_hash(self.group.plan.digest, self.session.name, number, ids)
        for wave in self.layout.waves:
            requests = {}
            for party in wave:
                tables_of = batch.seal(party)
                request = AskScores(number, tuple(ids), reasons, *tables_of, b"")
                signature = self.identity.sign(PURPOSE, signed(said, self.session.public_key, request))
                requests[self.layout.names[party]] = msgspec.structs.replace(request, signature=signature)
            answers = self.group.ask(requests, Scores, max(batch.most_bytes(party, reasons) for party in wave))
            for party in wave:
                batch.open(party, answers[self.layout.names[party]], reasons)
        return Opened(self._centred(batch.scores), tuple(map(self._centred, batch.reasons)))

    def _centred(self, sums: Ints) -> Ints:
        half = self.method.modulus // 2
        return (sums + half) % self.method.modulus - half


class _Batch:
    """One batch: what is sealed for each party, and what its answer opens to."""

    def __init__(self, asking: SealedAsking, n: int, filled: Sequence[FilledSlots]) -> None:
        self.asking, self.n, self.filled = asking, n, filled
        self.secret, self.modulus = asking.session.secret, asking.method.modulus
        names, classes = asking.layout.names, len(filled)
        self.scores = np.stack([own.offset for own in filled], axis=1)
        """Rows x classes: at first the active party's own part."""
        self.came: list[list[dict[int, Ints]]] = [[{} for _ in range(classes)] for _ in names]
        """For each party and class the opened relays to it, by source."""
        self.reasons: list[Ints] = [np.empty((0, n, classes), np.int64) for _ in names]

    def seal(self, party: int) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
        """The sealed weights of a party, and those whose sums go on."""
        weights, relays = [], []
        for score, (own, told) in enumerate(zip(self.filled, self.asking.layout.told[party], strict=True)):
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
        return self.secret.seal_slots(plan.centred(values), plan, given).encode()

    def most_bytes(self, party: int, reasons: bool) -> int:
        """Of a party's answer."""
        cipher, told = self.asking.method.privacy, self.asking.layout.told[party]
        answers = 1 + (len(self.asking.session.ready[party].reasons) + 1 if reasons else 0)
        size = MOST_SMALL
        for own in told:
            scores, relays = (make(own, self.n, self.modulus) for make in (tables.score_table, tables.relay_table))
            size += answers * cipher.slots_bytes(scores, 1, 1) if scores is not None else 0
            size += cipher.slots_bytes(relays, 1, 1) if relays is not None else 0
        return size

    def open(self, party: int, answer: Scores, reasons: bool) -> None:
        """Add a party's sums to the scores, and keep what goes on to others."""
        told = self.asking.layout.told[party]
        scored = [k for k, own in enumerate(told) if len(own.entries) + len(own.shared)]
        relayed = [k for k, own in enumerate(told) if len(own.targets)]
        labels = len(self.asking.session.ready[party].reasons) if reasons else 0
        own_part = labels > 0 and tables.asks_own_part(told)
        n_reasons = labels + own_part
        sizes = (len(answer.sealed_scores), len(answer.sealed_relays), len(answer.sealed_reasons))
        if sizes != (len(scored), len(relayed), n_reasons * len(scored)):
            raise ProtocolError(
                f"Party {self.asking.layout.names[party]!r} answered with other sums than it was asked for."
            )
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
        return self.secret.open_slots(self.secret.public.read_slots(sealed, plan, 1, 1))[:, 0]
