"""What a passive party of a sealed prediction was told, checked, and its choices among the weights of a batch."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.ciphers import cipher_of
from hedgerow.agreement.options import SealedPrediction
from hedgerow.agreement.plan import Plan
from hedgerow.corridor.messages import BeginScores, SlotsTold
from hedgerow.corridor.wire import MOST_SMALL
from hedgerow.errors import ParameterError, ProtocolError
from hedgerow.model.score_slots import FRESH, LINK, NEVER
from hedgerow.privacy.additive import PublicKey, SealedSlots
from hedgerow.privacy.shapes import SlotsPlan
from hedgerow.protocols.scores import tables
from hedgerow.protocols.scores.pads import ScorePads, session_hash
from hedgerow.protocols.scores.signing import begun_hash

HEADS = 1 << 16
"""Bytes of a request beside its tables and ids."""
MOST_ID = 256
"""Characters of an id, of four bytes at most."""

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ToldSession:
    """What was told at the beginning, checked: slots, the key, and the other parties of the prediction."""

    method: SealedPrediction
    told: BeginScores
    number: int
    """This party's, among those that are asked."""
    own_secrets: Mapping[int, bytes]
    """What it shares with each of the others."""
    public: PublicKey
    said: bytes
    """The hash of what all parties are told alike."""
    begun: bytes
    """The hash of all that this party was told."""

    @classmethod
    def of(
        cls, plan: Plan, told: BeginScores, number: int, own_secrets: Mapping[int, bytes], threads: int
    ) -> "ToldSession":
        """From what the active party said; a key that is malformed is refused."""
        public = cipher_of(plan).read_public_key(told.public_key, threads)
        said = session_hash(plan.digest, told.session, told.keys)
        return cls(sealed_method(plan), told, number, own_secrets, public, said, begun_hash(told))

    @cached_property
    def key_hash(self) -> str:
        """Of the active party's public key, for the log."""
        return hashlib.sha256(self.told.public_key).hexdigest()

    def check(self, cuts: int) -> None:
        """Refuse slots of other than so many own cuts, or relays from or to parties that are not asked."""
        if len(self.told.slots) != self.method.scores:
            raise ProtocolError("The active party's slots are not of as many classes as the plan has scores.")
        for told in self.told.slots:
            self._check(told, cuts)
        if tables.row_entries(self.told.slots) > tables.MOST_ENTRIES:
            raise ProtocolError(f"The active party's slots are more than {tables.MOST_ENTRIES:,} a row.")
        try:
            self.room(1)
        except ParameterError as error:
            raise ProtocolError(f"The plan's modulus or the slots cannot be used. {error}") from None

    def _check(self, told: SlotsTold, cuts: int) -> None:
        others, groups, width = {*self.own_secrets}, len(told.targets), len(told.relays) // max(len(told.targets), 1)
        ends = np.concatenate([told.entries, told.shared, told.relays])
        ends = ends[ends != NEVER]
        sources = np.concatenate([told.sources, told.relay_sources])
        sources = np.sort(sources[sources != FRESH])
        counted = [party * LINK + i for party, n in sorted(tables.come_from(told).items()) for i in range(n)]
        fits = len(told.relays) == groups * width == len(told.relay_sources) and (width > 0) == (groups > 0)
        fits = fits and len(told.sources) == len(told.entries) and sources.tolist() == counted
        fits = fits and bool(((ends >= 0) & (ends < 2 * cuts)).all())
        fits = fits and {*(sources // LINK).tolist(), *told.targets.tolist()} <= others
        if not fits:
            raise ProtocolError(
                "The active party's slots are not of this party's cuts, or name parties that are not asked."
            )

    @property
    def most_bytes(self) -> int:
        """Of a request: a batch of as many rows as there may be."""
        n = tables.most_rows(self.told.slots)
        plans = [*self._plans(tables.score_table, n).values(), *self._plans(tables.relay_table, n).values()]
        sealed = sum(self.method.privacy.slots_bytes(plan, plan.entries) for plan in plans)
        return max(MOST_SMALL, sealed + HEADS + n * 4 * MOST_ID)

    def read(self, sealed: Sequence[bytes], make: tables.Make, n: int) -> dict[int, SealedSlots]:
        """The sealed tables of n rows, by class; this party may have none of some."""
        plans = self._plans(make, n)
        if len(sealed) != len(plans):
            raise ProtocolError("The active party sealed another number of tables than its slots have.")
        pairs = zip(plans.items(), sealed, strict=True)
        return {score: self.public.read_slots(data, plan, plan.entries) for (score, plan), data in pairs}

    def room(self, n: int) -> tuple[float, float, int]:
        """Bits that one answer about one of n ids can carry; those of its relays together; and how many scores it has.

        A relay's sums are uniform under pads that the active party lacks, so that what it could read in them is what an
        answer has room for beside the sum. What they tell is in the one sum of all parties that opens: a class of which
        this party has only relays is a score too.
        """
        cipher, whole = self.method.privacy, math.log2(self.method.modulus)
        scores, relays = (self._plans(make, n).values() for make in (tables.score_table, tables.relay_table))
        beside = sum(plan.rows // n * (cipher.slots_room(plan) - whole) for plan in relays)
        telling = sum(map(tables.tells, self.told.slots))
        return max(map(cipher.slots_room, (*scores, *relays)), default=0.0), beside, telling

    def _plans(self, make: tables.Make, n: int) -> dict[int, SlotsPlan]:
        found = {score: make(told, n, self.method.modulus) for score, told in enumerate(self.told.slots)}
        return {score: plan for score, plan in found.items() if plan is not None}


def sealed_method(plan: Plan) -> SealedPrediction:
    """What a plan says of a sealed prediction; refuses another."""
    if not isinstance(plan.method, SealedPrediction):
        raise ProtocolError(f"The plan is of a run with method {plan.method.word}, not of a sealed prediction.")
    return plan.method


class ChosenBatch:
    """The answers to one batch."""

    def __init__(self, session: ToldSession, said: bytes, sides: Bools, blur: Ints) -> None:
        """`said` is the hash of all that was told of the batch; `sides` where its rows come out of own cuts.

        `blur` is added to every answer about a row (rows x scores), so that it cancels in contributions of columns.
        """
        self.session, self.sides, self.blur = session, sides, blur
        self.pads = ScorePads(session.number, session.own_secrets, session.method.modulus, said)

    def sums(self, score: int, table: SealedSlots) -> bytes:
        """Each row's sealed sum of one class, with what makes all parties' sums add up to the score."""
        told, n = self.session.told.slots[score], len(self.sides)
        choice = _choice(told, self.sides)
        pad = self.pads.between(score, n)
        pad -= _taken(told.sources, choice, self.pads.come(tables.come_from(told), score, n))
        return self._answer(table, choice, pad + self.blur[:, score])

    def relays(self, score: int, table: SealedSlots) -> bytes:
        """Sealed sums of rows and groups, under pads that the next party takes away."""
        told, n = self.session.told.slots[score], len(self.sides)
        groups = len(told.targets)
        choice = self.sides[:, told.relays].reshape(n, groups, -1)
        pad = np.empty((n, groups), np.int64)
        for target in np.unique(told.targets).tolist():
            at = np.flatnonzero(told.targets == target)
            pad[:, at] = self.pads.relayed(self.session.number, target, score, (n, len(at)))
        come, sources = self.pads.come(tables.come_from(told), score, n), told.relay_sources.reshape(groups, -1)
        for group in range(groups):
            pad[:, group] -= _taken(sources[group], choice[:, group], come)
        return self._answer(table, choice.reshape(n * groups, -1), pad.reshape(-1))

    def own_part(self, score: int, table: SealedSlots) -> bytes:
        """Each row's sum of what is this party's alone: nothing that came from others, and no pads."""
        told = self.session.told.slots[score]
        choice = _choice(told, self.sides)
        choice[:, np.flatnonzero(told.sources != FRESH)] = False
        return self._answer(table, choice, self.blur[:, score])

    def _answer(self, table: SealedSlots, choice: Bools, pad: Ints) -> bytes:
        return self.session.public.slot_sums(table, choice, pad=pad % self.pads.modulus).encode()


def _choice(told: SlotsTold, sides: Bools) -> Bools:
    return sides[:, np.concatenate([told.entries, told.shared])]


def _taken(sources: Ints, choice: Bools, come: Mapping[int, Ints]) -> Ints:
    """Each row's pads of chosen entries that came from other parties."""
    total = np.zeros(len(choice), np.int64)
    for source, pads in come.items():
        at = np.flatnonzero((sources != FRESH) & (sources // LINK == source))
        total += (pads[:, sources[at] % LINK] * choice[:, at]).sum(axis=1)
    return total
