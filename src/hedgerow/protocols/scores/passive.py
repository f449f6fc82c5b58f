"""A passive party's side of a sealed prediction: it chooses among sealed weights, and is told nothing of them.

The folder has the conversation.

Sees in the clear.  The ids of the rows that are predicted; which of its cuts have a slot, and which of these weights
                    go on to which party.
Gives away one sealed sum a row and class; the active party opens the score. Which rows it has stays unknown: a row it
does not have is one of missing values. Every answer is counted in its owner's ledger before it leaves.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Never, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.plan import Plan
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import MOST_SMALL
from hedgerow.errors import PolicyError, ProtocolError
from hedgerow.model.candidates import own_rows, reached
from hedgerow.model.score_paths import check_own_cuts
from hedgerow.model.score_slots import NEVER
from hedgerow.protocols.joining import Membership
from hedgerow.protocols.predict.own_part import OwnRows, PartOwner
from hedgerow.protocols.scores import tables
from hedgerow.protocols.scores.blur import blurred
from hedgerow.protocols.scores.choices import MOST_ID, Bools, ChosenBatch, ToldSession, sealed_method
from hedgerow.protocols.scores.pads import batch_hash
from hedgerow.protocols.scores.signing import TOLD, Hashes, check_signed, evidence
from hedgerow.protocols.session.shell import Shell

SESSION_BYTES = 32
OTHER_COLUMNS = "other columns"


class AnswerCounter(Protocol):
    """Where an owner counts answers about ids, over all models and processes."""

    def charge(self, model: str, ids: Sequence[str], answers: int, bits: float) -> None:
        """So many answers about each of these ids, each with room for so many bits: on disk when this returns.

        More than the owner allows is a PolicyError.
        """


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
        own_ends, never = np.stack([2 * by_node, 2 * by_node + 1], axis=1).reshape(-1), 2 * len(by_node)
        self.ends = np.append(own_ends, [never] * -NEVER)
        """Own ends in the order in which they are told; behind them, where `NEVER` is, one no row comes out of."""
        self.reasons = reason_groups(own)
        """Groups of own columns whose contributions may be told, each by a label."""
        self.certificate = b""
        """The active party's; empty where all live in one process."""
        self.session: ToldSession | None = None
        self.sessions: set[bytes] = set()
        """Sessions that were begun: none is begun twice, so that no pad is used twice."""
        self.batch, self.n_asked = -1, 0
        self.table = {m.Propose: self._consent}

    @property
    def most_bytes(self) -> int:
        """Of the next request."""
        return MOST_SMALL if self.session is None else self.session.most_bytes

    def refusal(self, request: m.Request) -> ProtocolError:
        """What is said of a request that this party does not answer, or not yet."""
        name = self.member.agreed_plan.method.word
        return ProtocolError(f"The plan of this run, to {name}, does not allow {type(request).__name__} here.")

    def _consent(self, request: m.Propose, _: object) -> m.Consent:
        plan = Plan.read(request.plan)
        if sealed_method(plan).model != self.part.model:
            raise ProtocolError(
                "The active party predicts with another model than the one that this party has a part of; parts of "
                "different models cannot be mixed."
            )
        known = self.expected
        if known is not None and (
            (plan.active, plan.groups, plan.units) != (known.active, known.groups, known.units)
            or replace(plan, method=known.method) != known
        ):
            raise PolicyError("The driver's plan is not the one this party knows; compare the run files of both sides.")
        check_own_cuts(self.part, self.own.policy)
        consent = self.member.consent(request)
        self.certificate = request.certificate
        self.table = {m.Propose: self._consent, m.BeginScores: self._begin}
        if any(self.own.name in group for group in plan.once):
            self.table = {**self.table, m.AskKnown: self._known}
        return consent

    def _known(self, request: m.AskKnown, _: object) -> m.Known:
        """What becomes known: which of the rows this party has, so that one of those that have it speaks."""
        self._check_size(request.ids, tables.MOST_ROWS)
        return m.Known(np.packbits(self.rows.counted(request.ids) >= 0, bitorder="little"))

    def _check_size(self, ids: Sequence[str], most: int) -> None:
        if not 1 <= len(ids) <= most or max(map(len, ids)) > MOST_ID:
            asked = f"asks about {len(ids)} rows at once"
            raise ProtocolError(f"The active party {asked}, which no batch has, or by longer ids.")

    def _begin(self, request: m.BeginScores, _: object) -> m.ScoresReady:
        """What becomes known: that this party agrees to the slots."""
        plan = self.member.agreed_plan
        names = [key.name for key in request.keys]
        if not set(names) <= set(plan.answering):
            raise ProtocolError("The active party names a party that is not to be asked, maybe itself, to share pads.")
        secrets = self.member.meet_some(request.keys)
        numbered = {number: secrets[name] for number, name in enumerate(names) if name != self.own.name}
        session = ToldSession.of(plan, request, names.index(self.own.name), numbered, self.threads)
        session.check(len(self.part.tree))
        if request.session in self.sessions or len(request.session) != SESSION_BYTES:
            raise ProtocolError("The active party begins a session again, or without a name; its pads are used up.")
        self.sessions.add(request.session)
        self.session, self.batch = session, -1
        self.table = {**self.table, m.AskScores: self._scores}
        rules = self.own.policy
        return m.ScoresReady(tuple(label for label, _ in self.reasons), rules.least_paths, rules.blur_permille)

    def _scores(self, request: m.AskScores, _: object) -> m.Scores:
        """What becomes known to the active party: a score a row and class, and if asked for and allowed, reasons."""
        session, n = self.session, len(request.ids)
        if session is None:
            raise self.refusal(request)
        hashes = self._check(session, request)
        reasons = self._reasons(session, request.reasons)
        weights = session.read(request.sealed_weights, tables.score_table, n)
        relays = session.read(request.sealed_relays, tables.relay_table, n)
        self._count(session, request.ids, 1 + len(reasons))
        own = own_rows(self.rows.own_values, self.rows.places(request.ids))
        blur = blurred(n, session.method, self.own.policy.blur_permille)
        batch = ChosenBatch(session, hashes.said, self._sides(own), blur)
        scores = [batch.sums(score, table) for score, table in weights.items()]
        gone = [batch.relays(score, table) for score, table in relays.items()]
        told = []
        for columns in reasons:
            without = own.copy()
            without[:, columns] = np.nan
            other = ChosenBatch(session, hashes.said, self._sides(without), blur)
            told += [other.own_part(score, table) for score, table in weights.items()]
        self.n_asked += n
        sizes = {"rows": n, "scores": len(scores), "relays": len(gone), "reasons": len(told)}
        self.log.note(TOLD, **sizes, **evidence(session.key_hash, session.told.session, request, hashes))
        return m.Scores(tuple(scores), tuple(gone), tuple(told))

    def _reasons(self, session: ToldSession, asked: bool) -> list[list[int]]:
        """Own columns that are taken as missing, in one answer after the other; none of them, for the own part."""
        if not asked or not self.reasons:
            return []
        first: list[list[int]] = [[]] if session.own_secrets else []  # where the score has others' parts in it
        return first + [list(columns) for _, columns in self.reasons]

    def _check(self, session: ToldSession, request: m.AskScores) -> Hashes:
        """Refuse a batch that is too large, comes again, or is not signed; the hashes of what was told of it."""
        self._check_size(request.ids, tables.most_rows(session.told.slots))
        if request.batch <= self.batch:
            raise ProtocolError("The active party asks about a batch again, or out of turn; its pads are used up.")
        self.batch = request.batch
        said = batch_hash(session.said, request.batch, request.ids)
        return check_signed(self.member.agreed_plan, self.certificate, said, session.begun, request)

    def _count(self, session: ToldSession, ids: Sequence[str], times: int) -> None:
        """Count what is about to be told of these ids, so many answers for each score; refused if it is too much."""
        room, beside, scores = session.room(len(ids))
        self.own.policy.check_sealed(room)
        if scores:
            answers = times * scores
            self.answers.charge(self.part.model, ids, answers, room + beside / answers)

    def _sides(self, own: NDArray[np.float32]) -> Bools:
        """Where rows come out of own cuts, in the order in which ends are told, and a last where none does."""
        sides = reached(self.part, own, self.threads)
        return np.concatenate([sides, np.zeros((len(own), 1), np.bool_)], axis=1)[:, self.ends]
