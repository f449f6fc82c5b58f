"""A data owner's side of a run: hears frames, answers frames, and nothing else.

Sees in the clear.  What the driver sends: the plan, the others' certificates, what was agreed, the trees.
Gives away only what `messages` lists, each answer noted in the party's own audit log before it leaves.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import get_args

import msgspec

from hedgerow.agreement.plan import Plan
from hedgerow.agreement.policy import Policy
from hedgerow.corridor import messages as m
from hedgerow.corridor.frame_hash import sha256_of
from hedgerow.corridor.wire import MOST_SMALL, decode_request, encode
from hedgerow.data.table import Table
from hedgerow.errors import HedgerowError, PrivacyError, ProtocolError
from hedgerow.identity.identity import Identity
from hedgerow.model.file import MOST_BYTES, decoded
from hedgerow.protocols import whole_trees
from hedgerow.protocols.align.lists import Aligning, Counts, OwnSets, PlaceStore, Tables
from hedgerow.protocols.columns import Common, check_agreed, given, loss_of, own_facts, shaped, shaped_valid
from hedgerow.protocols.dropped_columns import tell_party
from hedgerow.protocols.horizontal.batch import Begun, worked_out
from hedgerow.protocols.horizontal.own_table import OwnTable
from hedgerow.protocols.horizontal.party import Attempt, Kept, OwnSteps, Reply, advanced
from hedgerow.protocols.horizontal.prepare import BegunRows, begun_digest, check_grown, forest_of
from hedgerow.protocols.horizontal.round import PartyRound, trees_digest
from hedgerow.protocols.horizontal.rows import PartyTable, TableFactory
from hedgerow.protocols.horizontal.sets import Stepping
from hedgerow.protocols.joining import Membership
from hedgerow.protocols.opener.leader import OpenerDriver
from hedgerow.protocols.opener.relay import Sealing, Summing
from hedgerow.protocols.private_columns import OwnNames
from hedgerow.protocols.secure_sum import Hiding, Told
from hedgerow.protocols.session.journal import SETUP, Journal, Log, NoLog
from hedgerow.protocols.session.notify import Tell, silent
from hedgerow.protocols.session.owner_ledger import Ledger
from hedgerow.protocols.vertical.kept_cuts import CutStore
from hedgerow.protocols.vertical.passive import PassiveSide
from hedgerow.protocols.vertical.passive_rows import PassiveRows
from hedgerow.trees.bins import Grid
from hedgerow.trees.forest import Forest

BYTES_A_NODE = 128
"""At least as many as a node takes in a model file."""

BEGUN = "cut points and ranges"
"""What is settled before the first tree."""

Finding = Aligning | m.AskProofs | m.AskCommonColumns
"""What is asked to find what all parties have; each hears its own, and pads do not depend on it."""

STEPS = (*get_args(Stepping), m.NextRound)
"""What a party is asked again and again; these are looked for first."""


@dataclass(frozen=True, eq=False)
class Owner:
    """Whose data it is: tables, rules, identity and log."""

    name: str
    own_table: Table
    own_valid: Table | None
    policy: Policy
    identity: Identity
    log: Log | None = None
    revoked: Callable[[bytes], bool] = lambda _: False
    """Whether another party's certificate was revoked."""
    durable: bool = False
    """Whether what is answered must be on disk before the answer leaves, so that a loss of power forgets nothing."""
    keeps: CutStore | None = None
    """Where the own cuts of a vertical run are kept."""
    tell: Tell = silent
    """Told what an alignment does and finds."""
    note: Tell = silent
    """Told what of the own table is not used; it belongs into the run's manifest too."""
    ledger: Log | None = None
    """Where wrong hashes are counted over all runs of this owner; None: in the log of the run."""
    places: PlaceStore | None = None
    """Where a vertical run's common rows are kept, or a horizontal run's common columns."""
    rows: TableFactory = OwnTable
    """How the rows of a horizontal run are held: in a table here, unless another way is given."""


class Party:
    """Answers the driver's frames, one at a time."""

    def __init__(self, owner: Owner, threads: int, keep_model: Callable[[bytes], None] | None = None) -> None:
        self.owner, self.threads, self.keep_model = owner, threads, keep_model
        self.log = owner.log or NoLog()
        self.ledger = Ledger(owner.ledger or owner.log)
        self.member = Membership(owner.name, owner.policy, owner.identity, owner.revoked)
        self.rows: PartyTable | None = None
        self.begun: BegunRows | None = None
        self.steps: OwnSteps | None = None
        """Those of this attempt, once the parties are introduced."""
        self.agreement = b""
        """A hash of the columns and classes that were agreed on in this attempt."""
        self.by_columns: PassiveSide | None = None
        self.sets: OwnSets | None = None
        """The rows of a vertical run that are aligned privately."""
        self.shared_names: OwnNames | None = None
        """The columns of a horizontal run whose names are."""
        self.most_bytes = MOST_SMALL
        self.states: dict[int, bytes] = {}
        """What the gradients of each round depend on, as far as this process knows."""

    def answer(self, frame: bytes) -> bytes:
        """The answer to one frame."""
        return worked_out([self.begin(frame)], self.threads)[0]

    def begin(self, frame: bytes) -> Begun:
        """The answer to one frame, or where sums are to be made or hidden all that comes before; see `worked_out`.

        Every request is noted when it comes.
        """
        try:
            request = decode_request(frame, self.most_bytes)
            if self.owner.log is not None:
                self._note("received", request, frame)
            if isinstance(request, STEPS):
                reply = self._step(request, frame)
            else:
                reply = self._align(request) if isinstance(request, Finding) else self._heard(request, frame)
        except HedgerowError as error:
            self._stop()
            self.log.note("refused", sha256=hashlib.sha256(frame).hexdigest(), error=type(error).__name__)
            raise
        return self.sent(reply) if isinstance(reply, m.Answer) else reply

    def _stop(self) -> None:
        """After a refusal.

        If steps went on, parties that have accepted different things, each refusing the other's, could be summed.
        """
        if self.steps is not None:
            self.steps.stop()

    def sent(self, reply: m.Answer) -> bytes:
        """An answer as it leaves; every one is noted before."""
        out = encode(reply)
        if self.owner.log is not None:
            self._note("sent", reply, out)
        return out

    def _note(self, event: str, message: m.Request | m.Answer, frame: bytes) -> None:
        self.log.note(event, type=type(message).__name__, bytes=len(frame), sha256=sha256_of(frame).hex())

    def _needed(self) -> int:
        """The bytes a request may have: more than usual only where the plan's trees need it."""
        params, n_trees = self.plan.params, max(1, len(self.classes))
        nodes = params.n_estimators * n_trees << min(params.max_depth + 1, 31)
        return min(max(MOST_SMALL, BYTES_A_NODE * nodes), MOST_BYTES)

    def _step(self, request: Stepping | m.NextRound, frame: bytes) -> Reply:
        """The answer to a step down the trees."""
        steps = self._introduced
        steps.told.hear(frame)
        return steps.answer(request, frame) if steps.by_rows else self._reply(request, frame)

    def _heard(self, request: m.Request, frame: bytes) -> Reply:
        """The answer to anything else that all parties are told alike."""
        if not isinstance(request, (m.Propose, m.Introduce)):
            self._introduced.told.hear(frame)
        return self._reply(request, frame)

    def _reply(self, request: m.Request, frame: bytes) -> Reply:
        if isinstance(request, m.Propose):
            return self._consent(request)
        if isinstance(request, m.Introduce):
            return self._introduce(request, frame)
        if self.plan.opener and isinstance(request, (m.Lead, m.PassSum, m.GoOn)):
            return self._lead(request)
        return self._asked(*(self._by_opener(request, frame) if self.plan.opener else (request, frame)))

    def _asked(self, request: m.Request, frame: bytes) -> Reply:
        summed = self.plan.method == "horizontal"
        if summed and isinstance(request, STEPS):
            return self._introduced.answer(request, frame)
        if summed and isinstance(request, (m.AskCounts, m.AskMoments)):
            return self._setup_sums(request, frame)
        if isinstance(request, m.Agree) and self.plan.method != "vertical":
            return self._agree(request, frame)
        if summed and isinstance(request, m.Begin):
            return self._begin(request)
        if summed and isinstance(request, m.AskLocalCuts) and self.plan.cut_points == "local":
            return self._agreed.local_cuts(self.plan.params.max_bin, self.threads)
        if not summed and isinstance(request, m.AskTrees):
            return whole_trees.own_trees(request, self.plan, self._agreed, self.threads)
        if self.plan.method == "vertical":
            return self._by_columns(request)
        if isinstance(request, m.Farewell):
            return self._keep(request.model)
        raise ProtocolError(f"The plan of this run does not allow {type(request).__name__}.")

    def _consent(self, request: m.Propose) -> m.Consent:
        """A policy's rules for predictions are others than for training, so that one is not taken for the other."""
        if Plan.read(request.plan).method == "predict":
            raise ProtocolError("The driver proposes a prediction, and this party is here to train.")
        return self.member.consent(request)

    def _by_opener(self, request: m.Request, frame: bytes) -> tuple[m.Request, bytes]:
        """What the opener asks; sums and trees are asked for by nobody else."""
        if isinstance(request, m.FromOpener) and isinstance(self.hiding, Sealing):
            if self.leading is not None:
                self.leading.check(request.request)
            return self.hiding.hear(request), request.request
        if isinstance(request, (*get_args(Summing), m.Begin)):
            raise PrivacyError("The driver itself asks for sums or trees, where only the opener may; this party stops.")
        return request, frame

    def _lead(self, request: m.Lead | m.PassSum | m.GoOn) -> m.Answer:
        """As the opener: choose. What becomes known to the driver: the choices."""
        if self.leading is None:
            raise ProtocolError("The driver lets a party choose that is not the opener.")
        if isinstance(request, m.Lead):
            shared = Common(self._agreed.columns, self.classes, "", request.weighted, request.validated)
            if request.begin and self.owner.log is not None:
                self._check_begin(request.begin)
            reply = self.leading.begin(request, shared)
        else:
            reply = self.leading.go_on(request)
        self.most_bytes = max(self.most_bytes, self.leading.group.most_bytes)
        return reply

    def _check_begin(self, frame: bytes) -> None:
        """As the opener: go on only after cut points that this party has chosen itself."""
        begin = decode_request(frame, MOST_BYTES)
        chosen = isinstance(begin, m.Begin) and begun_digest(begin).hex() == self.journal.settled.get(BEGUN)
        if not chosen:
            raise PrivacyError(
                "The driver goes on after cut points that this party, the opener, has not chosen; start a new run."
            )

    @property
    def plan(self) -> Plan:
        """What this party has consented to."""
        return self.member.agreed_plan

    @property
    def _introduced(self) -> OwnSteps:
        if self.steps is None:
            raise ProtocolError("The driver asks before it has introduced the other parties.")
        return self.steps

    @property
    def _agreed(self) -> PartyTable:
        if self.rows is None or self.rows.agreement != self.agreement:
            raise ProtocolError("The driver asks before columns and classes are agreed.")
        return self.rows

    def _by_columns(self, request: m.Request) -> m.Answer:
        """Of a vertical run: as a passive party."""
        if self.by_columns is None:
            raise ProtocolError("The driver asks before it has introduced the other parties.")
        self.ledger.check_guesses()
        tables = self._own_tables() if self.sets is None else self.sets.tables
        reply = self.by_columns.answer(request, tables, self.keep_model)
        if self.sets is not None and isinstance(request, m.AskColumns):
            self.sets.close()
        self.most_bytes = self.by_columns.most_bytes
        return reply

    @property
    def passive(self) -> PassiveRows | None:
        """The own rows of a vertical run, once they were asked about."""
        return None if self.by_columns is None else self.by_columns.rows

    def _align(self, request: Finding) -> m.Answer:
        """Of rows by their ids, or of columns by their names, where the plan says so."""
        self.ledger.check_guesses()
        if self.shared_names is not None:
            return self.shared_names.answer(request)
        if self.sets is None or isinstance(request, m.AskProofs | m.AskCommonColumns):
            name = type(request).__name__
            raise ProtocolError(f"The plan of this run does not allow {name}, or it comes before the introduction.")
        return self.sets.answer(request)

    def _own_tables(self) -> Tables:
        """The own rows; the validation rows only where they are followed."""
        owner = self.owner
        valid = owner.own_valid if self.plan.goal.follow else None
        return given(owner.own_table, owner.policy), None if valid is None else given(valid, owner.policy)

    def _introduce(self, request: m.Introduce, frame: bytes) -> m.Facts:
        secrets = self.member.meet(request)
        self.facts = own_facts(self.plan, self.owner.policy, self.owner.own_table, self.owner.own_valid)
        if not hasattr(self, "journal"):
            self.journal = Journal(self.log, self.plan.digest.hex())
        self.journal.introduce(request.attempt, [key.name for key in request.keys])
        names = self.plan.names
        self.present = tuple(sorted(names.index(key.name) for key in request.keys))
        fewest = self.owner.policy.fewest(self.plan)
        own_number = names.index(self.owner.name)
        if self.plan.opener:
            self.hiding: Hiding = Sealing(self.plan, own_number, self.threads, fewest, request)
        else:
            self.hiding = Hiding(self.plan, own_number, secrets, self.threads, fewest)
        self.leading: OpenerDriver | None = None
        if self.owner.name == self.plan.opener:
            self.leading = OpenerDriver(self.plan, self.present, self.owner.identity, request.attempt, self.threads)
        told = Told(self.plan)
        told.hear(frame)
        attempt = Attempt(self.plan, self.hiding, told, self.journal, self.present)
        self.steps = OwnSteps(attempt, Kept(self.log, self.owner.durable), self.threads, self.sent)
        self.agreement = b""
        if self.plan.method == "vertical":
            self._begin_columns()
        self._begin_aligning(secrets)
        return self.facts

    @property
    def _counts(self) -> Counts:
        return Counts(self.journal, self.ledger)

    def _begin_columns(self) -> None:
        owner = self.owner
        if self.by_columns is None:
            kept = (self.threads, owner.keeps, owner.durable)
            self.by_columns = PassiveSide(owner.name, self.plan, owner.policy, self._counts, *kept)
        self.by_columns.present = self.present

    def _begin_aligning(self, secrets: Mapping[int, bytes]) -> None:
        """Where the plan says so, rows or names of columns may be aligned anew."""
        name, owner, beside = self.owner.name, self.owner, (self.threads, self._counts, self.owner.tell)
        if self.plan.align == "private":
            self.sets = self.sets or OwnSets(self.plan, name, self._own_tables(), *beside, self.owner.places)
            self.sets.introduced()
        if self.plan.column_names == "private":
            columns = given(owner.own_table, owner.policy).columns
            self.shared_names = self.shared_names or OwnNames(
                self.plan, name, columns, *beside, owner.note, owner.places
            )
            self.shared_names.introduced(secrets)

    def _agree(self, request: m.Agree, frame: bytes) -> m.Done:
        owner, facts = self.owner, self.facts
        if self.shared_names is not None:
            facts = msgspec.structs.replace(facts, columns=self.shared_names.agreed(request))
        check_agreed(self.plan, request, facts, owner.own_table.n_rows, owner.policy.most_classes)
        agreement = hashlib.sha256(frame).digest()
        self.journal.settle("columns and classes", agreement)
        self.classes, self.agreement = request.classes, agreement
        self.most_bytes = self._needed()
        if self.rows is None or self.rows.agreement != self.agreement:
            valid = shaped_valid(self.plan, owner.own_valid, request, owner.policy)
            own = shaped(owner.own_table, request, owner.policy)
            heavier = self.plan.goal.scale_pos_weight
            self.rows = owner.rows(own, valid, request.classes, heavier, self.agreement, self.threads)
            self.begun = None
            tell_party(self.facts.columns, request.columns, owner.note)
        self.journal.begin(self.agreement)
        return m.Done()

    def _begin(self, request: m.Begin) -> m.Done:
        plan, rows = self.plan, self._agreed
        rows.forget_keys()
        forest = forest_of(request.forest, rows.columns, loss_of(plan, self.classes).n_trees)
        self.journal.settle(BEGUN, begun_digest(request))
        if self.begun is None:
            self.begun = BegunRows(plan, rows, request, loss_of(plan, self.classes))
        n_trees = self.begun.loss.n_trees
        first = forest.n_trees // n_trees
        state = hashlib.sha256(self.agreement + self.begun.digest).digest()
        for round_ in range(first):
            trees = forest.part(round_ * n_trees, (round_ + 1) * n_trees)
            digest = trees_digest(trees)
            self._check_shown(round_, trees, digest, self.begun.grid, round_ == first - 1)
            state = advanced(state, digest.encode())
        local = self.begun.rows_after(forest)
        metric = self.begun.metric if plan.goal.follow else None
        growing = PartyRound(plan, self.begun.grid, local, metric, first)
        self._introduced.begin(growing, self.states, state)
        return m.Done()

    def _check_shown(self, round_: int, trees: Forest, digest: str, grid: Grid, last: bool) -> None:
        """Refuse trees other than those this party helped to finish, whose values its next gradients would be made of.

        Where a run goes on after a loss, the last round may have been closed without this party being told. It is
        believed once, if this party has begun it, and is from then on the only one.
        """
        journal = self.journal
        closed = last and self.plan.on_loss == "continue" and round_ not in journal.finished
        if self.owner.log is not None and closed and (round_, 0) in journal.answered:
            check_grown(trees, grid, self.plan.params.max_depth)
            journal.finish(round_, digest)
        journal.check(round_, digest, known=self.owner.log is not None)

    def _setup_sums(self, request: m.AskCounts | m.AskMoments, frame: bytes) -> Reply:
        own = self._agreed
        steps = self._introduced
        if steps.growing is not None:
            raise ProtocolError("The driver asks for counts after the trees have begun.")
        if len(self.present) != len(self.plan.members):
            raise PrivacyError(
                "Counts are summed over all parties of the plan or not at all; the driver leaves one out."
            )
        step = request.step if isinstance(request, m.AskCounts) else 1 << 20
        self.journal.answer(SETUP, step, frame, self.present, False)
        words = own.counts(request) if isinstance(request, m.AskCounts) else own.moments(request)
        return steps.hidden(words, self.present)

    def _keep(self, model: bytes) -> m.Done:
        """The finished model; refused if it is not what this party helped to grow."""
        if self.plan.method == "horizontal" and self.begun is None:
            raise ProtocolError("The driver sends a model before the trees have begun.")
        if self.owner.log is not None and self.begun is not None:
            made, begun, n_trees = decoded(model, "The model that the driver sent"), self.begun, self.begun.loss.n_trees
            agreed = (begun.base, begun.loss, begun.rows.columns, tuple(begun.rows.classes))
            if (made.base_score, made.loss, made.columns, made.classes) != agreed:
                raise PrivacyError(
                    "The driver sends a model of other columns, classes or first score than were agreed."
                )
            for round_ in range(made.forest.n_trees // n_trees):
                trees = made.forest.part(round_ * n_trees, (round_ + 1) * n_trees)
                self.journal.check(round_, trees_digest(trees), known=True)
        if self.keep_model is not None:
            self.keep_model(model)
        return m.Done()
