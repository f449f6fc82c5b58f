"""The passive party of a vertical run: its own columns, sealed sums of them, sides of rows at chosen cuts.

The folder and `hidden_active` have the conversation, `passive_rows` and `hidden_passive` the rows. Here rows are found
by their ids where the plan says so, and here is what outlives a process: how much was given, and what was settled.

Gives away only what `messages` lists; how many sums and sides is in the party's own log before they leave.
"""

import hashlib
import hmac
from functools import cached_property, partial
from typing import Any, Literal, Never

import msgspec

from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import MOST_SMALL, encode
from hedgerow.errors import DataError, PolicyError, ProtocolError
from hedgerow.model import part as parts
from hedgerow.model.file import MOST_BYTES
from hedgerow.protocols.align.lists import rows_digest
from hedgerow.protocols.session.owner import Attempt, PartyContext
from hedgerow.protocols.session.participants import asked
from hedgerow.protocols.session.shell import Handler, Table
from hedgerow.protocols.vertical.cut_releases import CutReleases
from hedgerow.protocols.vertical.own_rows import FoundRows, Tables, finding, found_rows, own_tables
from hedgerow.protocols.vertical.passive_kinds import Answers, Giving, answers_of
from hedgerow.protocols.vertical.passive_run import GAVE, DisclosureCounter, Given, PassiveRun, Terms
from hedgerow.protocols.vertical.passive_table import PassiveTable
from hedgerow.trees.bins import Grid

SIZES, GRID, MODEL = "the sizes of the run", "own cut points", "the id of the model"

ASKED = (
    m.AskColumns, m.BeginSealed, m.AskSealedSums, m.AskHiddenSums, m.AskSides, m.AskDrawnSides, m.AskHiddenSides,
    m.AskBatch, m.EndRound, m.KeepPart,
)  # fmt: skip
"""What the active party asks of columns."""


class VerticalParty:
    """Answers what the active party asks of columns; `rows` are there once it has asked for these."""

    def __init__(self, context: PartyContext) -> None:
        self.context, self.name = context, context.owner.name
        self.plan, self.policy = context.plan, context.owner.policy
        self.journal, self.ledger = context.journal, context.ledger
        self.rows: Answers | None = None
        self.sets: FoundRows | None = None
        """The own rows, where they are aligned privately, or linked."""
        self.cuts = CutReleases(context.owner, self.plan)
        """What it releases with noise, where the plan asks for that."""
        self.present: tuple[int, ...] = ()
        """The parties of this attempt, by number."""
        self.most_bytes = MOST_SMALL
        """What the next request may have: told after each answer, because the transport asks at any time."""

    def stop(self) -> None:
        """A passive party stops by refusing; it shares no masks."""

    def introduced(self, attempt: Attempt) -> Table[Never]:
        """Columns are asked about; where the plan says so, rows may be aligned anew before."""
        self.present = attempt.present
        table: dict[type[m.Request], Handler[Never]] = dict.fromkeys(ASKED, self._answer)
        self.sets = self.sets or found_rows(self.context, self._own_tables)
        if self.sets is not None:
            self.sets.introduced()
            table |= dict.fromkeys(finding(self.context), partial(self._align, self.sets))
        return table

    @cached_property
    def _own_tables(self) -> Tables:
        return own_tables(self.context)

    def _align(self, sets: FoundRows, request: Any, _: object) -> m.Answer:
        self.ledger.check_guesses()
        return sets.answer(request)

    def _answer(self, request: m.Request, _: object) -> m.Answer:
        """What the plan allows of a party that has these rows; then, how much can be sealed in the next request."""
        self.ledger.check_guesses()
        tables = self.tables
        reply = self._columns(request, tables) if isinstance(request, m.AskColumns) else self._told(request, tables)
        if self.rows is not None:
            self.most_bytes = min(MOST_SMALL + self.rows.most_request, MOST_BYTES)
        return reply

    @property
    def tables(self) -> Tables:
        """The own rows in the order of the run."""
        return self._own_tables if self.sets is None else self.sets.tables

    def _told(self, request: m.Request, tables: Tables) -> m.Answer:
        rows = self.rows
        if rows is None:
            raise ProtocolError("The active party asks before it has asked for columns.")
        if isinstance(request, m.BeginSealed):
            return self._begin(rows, request)
        if isinstance(request, Giving):
            return self._give(rows, request)
        if isinstance(request, m.EndRound):
            return rows.end(request)
        if isinstance(request, m.KeepPart):
            self.journal.settle(MODEL, hashlib.sha256(request.model.encode()).digest())
            if self.context.keep_model is not None:
                part = rows.run.part(request, self.name, tables[0].columns, rows.hides)
                self.context.keep_model(parts.encoded(part))
            self.cuts.finish()
            return m.Done()
        raise ProtocolError(f"The plan of this run does not allow {type(request).__name__}.")

    def _columns(self, request: m.AskColumns, tables: Tables) -> m.OwnColumns:
        rows = self.begin_rows(request, tables)
        columns = rows.run.table.describe()
        if self.policy.tell_columns != "names":
            return columns
        return m.NamedColumns(columns.n_values, columns.has_missing, columns.categorical, tables[0].names)

    def begin_rows(self, request: m.AskColumns | m.ShareColumns, tables: Tables, shared: Grid | None = None) -> Answers:
        """The own rows, binned, once the active party has shown that it knows them; bins may be shared with others."""
        own, valid = tables
        told, right = request.rows + request.held_out, rows_digest(self.plan, own) + rows_digest(self.plan, valid)
        if not self.ledger.guess(told, hmac.compare_digest(told, right)):
            raise DataError(
                "The rows of this party are not those of the active party, in the same order; align them by their ids "
                '(align = "private").'
            )
        rows = self.rows
        if rows is None:
            rows = self.rows = self._begun(tables, request.lacks, shared)
        if self.sets is not None:
            self.sets.close()
        return rows

    def _begun(self, tables: Tables, lacks: bool, shared: Grid | None) -> Answers:
        """The own rows, binned; what was given before is in the log."""
        terms, given = self._terms(), Given(self._given("sums"), self._given("sides"), self._given("bits"))
        grid = self.cuts.grid(tables[0], shared, self.context.threads)
        table = PassiveTable.of(self.plan, *tables, self.context.threads, terms.bin_rows, lacks, grid)
        run = PassiveRun(table, terms, given, self.context.owner.keeps)
        self._check_grid(table)
        return answers_of(self.plan, run, self.cuts, tables[0])

    def _check_grid(self, table: PassiveTable) -> None:
        """Kept cuts are numbers of own cut points, so that these stay for the whole run."""
        digest = table.grid_digest()
        if self.journal.differs(GRID, digest):
            raise DataError(
                "This party's cut points are not those with which the run began; put its table and its policy "
                "(min_bin_rows) back as they were, or start a new run."
            )
        self.journal.settle(GRID, digest)

    def _terms(self) -> Terms:
        """What the plan and the own policy hold the active party to."""
        return Terms(
            asked=self._is_asked,
            shrinks=self.plan.goes_on,
            fewest_rows=self.policy.min_child_rows,
            most_trees=self._most_trees,
            bin_rows=self.policy.min_bin_rows,
            most_sides=self.policy.most_sides,
            most_bits=self.policy.most_bits,
            others=len(self.plan.answering) - 1,
        )

    @property
    def _most_trees(self) -> int:
        """Trees of a round: one for numbers and for two classes; of more, the active party's word has a limit."""
        classes = self.policy.most_classes if self.plan.goal.objective is None else 1
        return classes if classes > 2 else 1

    def _is_asked(self, round_: int) -> bool:
        present = [self.plan.names[number] for number in self.present]
        return self.name in asked(self.plan, round_, present)

    def _given(self, what: Literal["sums", "sides", "bits"]) -> int:
        """Sums that this party gave in this run before, sides that it told, or bits of sums, by its log."""
        run = self.journal.run
        return sum(line[what] for line in self.journal.log.lines() if line["event"] == GAVE and line["run"] == run)

    def _begin(self, rows: Answers, request: m.BeginSealed) -> m.Done:
        """The sizes of a run stay, whatever process hears them; where parties may be lost, `rows` lets them shrink."""
        digest = hashlib.sha256(encode(msgspec.structs.replace(request, done=0))).digest()
        if not self.plan.goes_on and self.journal.differs(SIZES, digest):
            raise ProtocolError("The active party changes the sizes of the run in its middle.")
        if request.n_trees > self._most_trees:
            raise PolicyError(
                f"The active party grows {request.n_trees} trees a round, one a class, where the plan and this party's "
                f"policy allow {self._most_trees} (most_classes)."
            )
        done = rows.begin(request)
        if not self.plan.goes_on:
            self.journal.settle(SIZES, digest)
        return done

    def _give(self, rows: Answers, request: Giving) -> m.Answer:
        """Sealed sums, or sides; how many is noted before they leave, so that a process after this one counts on."""
        gave = DisclosureCounter(rows.run.given, self.journal, self.context.owner.durable)
        rows.run.on_counted = gave.begin
        reply = rows.answer(request)
        gave.finish()
        return reply
