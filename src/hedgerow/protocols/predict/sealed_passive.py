"""A passive party's side of a sealed prediction: it chooses among sealed weights, and is told nothing of them.

`sealed_active` has the conversation.

Sees in the clear.  The ids of the rows that are predicted; which of its cuts have a slot, and which of these weights
                    go on to which party.
Gives away one sealed sum a row and class; the active party opens the score. Which rows it has stays unknown: a row it
does not have is one of missing values. Every answer is counted in its owner's ledger before it leaves.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Never, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.ciphers import cipher_of
from hedgerow.agreement.options import SealedPrediction
from hedgerow.agreement.plan import Plan
from hedgerow.corridor.messages import AskScores, BeginScores, Consent, Propose, Request, Scores, ScoresReady, SlotsTold
from hedgerow.corridor.wire import MOST_SMALL
from hedgerow.errors import PolicyError, ProtocolError
from hedgerow.identity.identity import verify
from hedgerow.model.candidates import own_rows, reached
from hedgerow.model.score_paths import check_own_cuts
from hedgerow.model.score_slots import FRESH, LINK, NEVER
from hedgerow.privacy.additive import PublicKey, SealedSlots
from hedgerow.privacy.shapes import SlotsPlan
from hedgerow.protocols.joining import Membership
from hedgerow.protocols.predict import sealed_tables as tables
from hedgerow.protocols.predict.passive import OwnRows, PartOwner
from hedgerow.protocols.predict.score_pads import ScorePads, batch_hash
from hedgerow.protocols.predict.sealed_requests import PURPOSE, signed
from hedgerow.protocols.session.shell import Shell

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
HEADS = 1 << 16
"""Bytes of a request beside its tables and ids."""
SESSION_BYTES = 32
OTHER_COLUMNS = "other columns"
MOST_ID = 1 << 10
"""Bytes of an id."""


class AnswerCounter(Protocol):
    """Where an owner counts answers about ids, over all models and processes."""

    def charge(self, model: str, ids: Sequence[str], answers: int, bits: float) -> None:
        """So many answers about each of these ids, each with room for so many bits: on disk when this returns.

        More than the owner allows is a PolicyError.
        """


@dataclass(frozen=True, eq=False)
class _Session:
    """What was told at the beginning, checked: slots, the key, and the other parties of the prediction."""

    method: SealedPrediction
    told: BeginScores
    number: int
    """This party's, among those that are asked."""
    own_secrets: Mapping[int, bytes]
    """What it shares with each of the others."""
    public: PublicKey

    def check(self, cuts: int) -> None:
        """Refuse slots of other than so many own cuts, or relays from or to parties that are not asked."""
        if len(self.told.slots) != self.method.scores:
            raise ProtocolError("The active party's slots are not of as many classes as the plan has scores.")
        for told in self.told.slots:
            self._check(told, cuts)

    def _check(self, told: SlotsTold, cuts: int) -> None:
        others, groups, width = {*self.own_secrets}, len(told.targets), len(told.relays) // max(len(told.targets), 1)
        ends = np.concatenate([told.entries, told.shared, told.relays[told.relays != NEVER]])
        sources = np.concatenate([told.sources, told.relay_sources])
        sources = np.sort(sources[sources != FRESH])
        counted = [party * LINK + i for party, n in sorted(tables.come_from(told).items()) for i in range(n)]
        fits = len(told.relays) == groups * width == len(told.relay_sources) and (width > 0) == (groups > 0)
        fits = fits and len(told.sources) == len(told.entries) and sources.tolist() == counted
        fits = fits and bool(((ends >= 0) & (ends < 2 * cuts)).all())
        fits = fits and {*(sources // LINK).tolist(), *told.targets.tolist()} <= others
        fits = fits and {*told.padded.tolist()} <= {self.number, *others}
        if not fits:
            raise ProtocolError(
                "The active party's slots are not of this party's cuts, or name parties that are not asked."
            )


def reason_groups(own: PartOwner) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Each column that the owner discloses and the model cuts, and the rest together; nothing, if none is disclosed."""
    used = sorted(set(own.part.column.tolist()))
    names = {j: own.part.columns[j].name for j in used}
    disclosed = [j for j in used if names[j] in (own.policy.disclose or {})]
    rest = tuple(j for j in used if j not in disclosed)
    groups = tuple((names[j], (j,)) for j in disclosed)
    return (*groups, (OTHER_COLUMNS, rest)) if groups and rest else groups


class Choosing(Shell[Never]):
    """A passive party's side of sealed predictions with one part of a model."""

    # more than 15 attributes: a shell's, and what one session and the batches so far have left

    notes_received = False
    """What was asked is noted in numbers of rows, with the answer."""

    def __init__(self, own: PartOwner, answers: AnswerCounter, threads: int = 1, expected: Plan | None = None) -> None:
        """`expected` is the plan that the owner knows, but for what the active party says of scores and cipher."""
        own.check()
        super().__init__(own.log, list)
        self.own, self.part, self.answers, self.threads = own, own.part, answers, threads
        self.member, self.expected = Membership(own.name, own.policy, own.identity), expected
        self.rows = OwnRows(own)
        by_node = np.lexsort((own.part.node, own.part.tree))
        self.ends = np.append(np.stack([2 * by_node, 2 * by_node + 1], axis=1).reshape(-1), 2 * len(by_node))
        """Own ends in the order in which they are told; the last is one that no row comes out of."""
        self.reasons = reason_groups(own)
        """Groups of own columns whose contributions may be told, each by a label."""
        self.certificate = b""
        """The active party's; empty where all live in one process."""
        self.session: _Session | None = None
        self.sessions: set[bytes] = set()
        """Sessions that were begun: none is begun twice, so that no pad is used twice."""
        self.batch, self.n_asked = -1, 0
        self.table = {Propose: self._consent}

    @property
    def most_bytes(self) -> int:
        """Of the next request: a batch of as many rows as there may be."""
        if self.session is None:
            return MOST_SMALL
        slots, modulus = self.session.told.slots, self.session.method.modulus
        n = tables.most_rows(slots)
        plans = [make(told, n, modulus) for told in slots for make in (tables.score_table, tables.relay_table)]
        cipher = self.session.method.privacy
        sealed = sum(cipher.slots_bytes(plan, plan.entries) for plan in plans if plan is not None)
        return max(MOST_SMALL, sealed + HEADS + n * MOST_ID)

    def refusal(self, request: Request) -> ProtocolError:
        """What is said of a request that this party does not answer, or not yet."""
        name = self.member.agreed_plan.method.word
        return ProtocolError(f"The plan of this run, to {name}, does not allow {type(request).__name__} here.")

    def _consent(self, request: Propose, _: object) -> Consent:
        plan = Plan.read(request.plan)
        if _sealed(plan).model != self.part.model:
            raise ProtocolError(
                "The active party predicts with another model than the one that this party has a part of; parts of "
                "different models cannot be mixed."
            )
        known = self.expected
        if known is not None and (replace(plan, method=known.method) != known or plan.active != known.active):
            raise PolicyError("The driver's plan is not the one this party knows; compare the run files of both sides.")
        check_own_cuts(self.part, self.own.policy)
        consent = self.member.consent(request)
        self.certificate = request.certificate
        self.table = {Propose: self._consent, BeginScores: self._begin}
        return consent

    def _begin(self, request: BeginScores, _: object) -> ScoresReady:
        """What becomes known: that this party agrees to the slots."""
        plan = self.member.agreed_plan
        names = [key.name for key in request.keys]
        secrets = self.member.meet_some(request.keys)
        numbered = {number: secrets[name] for number, name in enumerate(names) if name != self.own.name}
        public = cipher_of(plan).read_public_key(request.public_key, self.threads)
        session = _Session(_sealed(plan), request, names.index(self.own.name), numbered, public)
        session.check(len(self.part.tree))
        if request.session in self.sessions or len(request.session) != SESSION_BYTES:
            raise ProtocolError("The active party begins a session again, or without a name; its pads are used up.")
        self.sessions.add(request.session)
        self.session, self.batch = session, -1
        self.table = {Propose: self._consent, BeginScores: self._begin, AskScores: self._scores}
        return ScoresReady(tuple(label for label, _ in self.reasons), self.own.policy.least_paths)

    def _scores(self, request: AskScores, _: object) -> Scores:
        """What becomes known to the active party: a score a row and class, and if asked for and allowed, reasons."""
        session, n = self.session, len(request.ids)
        if session is None:
            raise self.refusal(request)
        said = self._check(session, request)
        reasons = self._reasons(session, request.reasons)
        weights = self._read(session, request.sealed_weights, tables.score_table, n)
        relays = self._read(session, request.sealed_relays, tables.relay_table, n)
        self._count(session, request.ids, 1 + len(reasons), [*weights, *relays])
        own = own_rows(self.rows.own_values, self.rows.places(request.ids))
        pads = ScorePads(session.number, session.own_secrets, session.method.modulus, said)
        batch = _Batch(session, pads, self._sides(own))
        scores = [batch.sums(score, table) for score, table in enumerate(weights) if table is not None]
        gone = [batch.relays(score, table) for score, table in enumerate(relays) if table is not None]
        told = []
        for columns in reasons:
            without = own.copy()
            without[:, columns] = np.nan
            other = _Batch(session, pads, self._sides(without))
            told += [other.own_part(score, table) for score, table in enumerate(weights) if table is not None]
        self.n_asked += n
        self.log.note("scores told", rows=n, scores=len(scores), relays=len(gone), reasons=len(told))
        return Scores(tuple(scores), tuple(gone), tuple(told))

    def _reasons(self, session: _Session, asked: bool) -> list[list[int]]:
        """Own columns that are taken as missing, in one answer after the other; none of them, for the own part."""
        if not asked or not self.reasons:
            return []
        first: list[list[int]] = [[]] if tables.asks_own_part(session.told.slots) else []
        return first + [list(columns) for _, columns in self.reasons]

    def _check(self, session: _Session, request: AskScores) -> bytes:
        """Refuse a batch that is too large, comes again, or is not signed; the hash of what was told of it."""
        plan, n = self.member.agreed_plan, len(request.ids)
        if not 1 <= n <= tables.most_rows(session.told.slots) or max(map(len, request.ids)) > MOST_ID // 4:
            raise ProtocolError(f"The active party asks about {n} rows at once, which no batch has, or by longer ids.")
        if request.batch <= self.batch:
            raise ProtocolError("The active party asks about a batch again, or out of turn; its pads are used up.")
        self.batch = request.batch
        said = batch_hash(plan.digest, session.told.session, request.batch, request.ids)
        if plan.coordinator:
            verify(self.certificate, PURPOSE, signed(said, session.told.public_key, request), request.signature)
        return said

    def _read(
        self,
        session: _Session,
        sealed: Sequence[bytes],
        make: Callable[[SlotsTold, int, int], SlotsPlan | None],
        n: int,
    ) -> list[SealedSlots | None]:
        """The sealed tables of all classes; None for a class in which this party has none."""
        plans = [make(told, n, session.method.modulus) for told in session.told.slots]
        if len(sealed) != sum(plan is not None for plan in plans):
            raise ProtocolError("The active party sealed another number of tables than its slots have.")
        come = iter(sealed)
        return [None if plan is None else session.public.read_slots(next(come), plan, plan.entries) for plan in plans]

    def _count(self, session: _Session, ids: Sequence[str], answers: int, sealed: Sequence[SealedSlots | None]) -> None:
        """Count what is about to be told of these ids, refused if it is more than the owner allows.

        A relay's sums are uniform under pads that the active party lacks; what it could read in them is what an answer
        has room for beside the sum.
        """
        cipher, whole = session.method.privacy, math.log2(session.method.modulus)
        n = len(ids)
        rooms = [(table.plan.rows // n, cipher.slots_room(table.plan)) for table in sealed if table is not None]
        scores = sum(table is not None for table in sealed[: session.method.scores])
        bits = max((room for _, room in rooms), default=0.0)
        self.own.policy.check_sealed(bits)
        beside = sum(times * (room - whole) for times, room in rooms[scores:])
        told = answers * scores
        self.answers.charge(self.part.model, ids, told, bits + beside / max(told, 1))

    def _sides(self, own: NDArray[np.float32]) -> Bools:
        """Where rows come out of own cuts, in the order in which ends are told, and a last where none does."""
        sides = reached(self.part, own, self.threads)
        return np.concatenate([sides, np.zeros((len(own), 1), np.bool_)], axis=1)[:, self.ends]


def _sealed(plan: Plan) -> SealedPrediction:
    if not isinstance(plan.method, SealedPrediction):
        raise ProtocolError(f"The plan is of a run with method {plan.method.word}, not of a sealed prediction.")
    return plan.method


class _Batch:
    """The answers to one batch."""

    def __init__(self, session: _Session, pads: ScorePads, sides: Bools) -> None:
        self.session, self.pads, self.sides = session, pads, sides

    def sums(self, score: int, table: SealedSlots) -> bytes:
        """Each row's sealed sum of one class, with what makes all parties' sums add up to the score."""
        told, n = self.session.told.slots[score], len(self.sides)
        choice = _choice(told, self.sides)
        pad = self.pads.between(told.padded.tolist(), score, n)
        pad -= _taken(told.sources, choice, self.pads.come(tables.come_from(told), score, n))
        return self._answer(table, choice, pad)

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
        return self.session.public.slot_sums(table, choice).encode()

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
