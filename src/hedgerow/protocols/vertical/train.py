"""The active party's side of a vertical run, from its own table to the finished model.

Sees in the clear.  Its own table; of the others' columns how many bins they have, and what `vertical` says.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.ciphers import cipher_of
from hedgerow.agreement.plan import Plan
from hedgerow.corridor.messages import AskColumns, Done, KeepPart, NamedColumns, OwnColumns
from hedgerow.data.table import Column, Table
from hedgerow.errors import DataError, ProtocolError, RunError
from hedgerow.model.model import ClassLabel, Model, Ownership
from hedgerow.model.prepare import check_constraints, growth_of
from hedgerow.model.train import Ready, Task
from hedgerow.model.train import prepare as prepared
from hedgerow.protocols.align.lists import Counts, OwnSets, PlaceStore
from hedgerow.protocols.align.ring import Ring
from hedgerow.protocols.align.rows import rows_digest
from hedgerow.protocols.columns import MOST_COLUMNS, Common, loss_of
from hedgerow.protocols.session.group import PartyGroup
from hedgerow.protocols.session.journal import Journal, Log
from hedgerow.protocols.session.notify import Tell
from hedgerow.protocols.session.owner_ledger import Ledger
from hedgerow.protocols.session.participants import asked
from hedgerow.protocols.vertical.active import Asks, Talk, VerticalRows
from hedgerow.protocols.vertical.answer_checks import SaidBefore
from hedgerow.protocols.vertical.columns import AllColumns
from hedgerow.protocols.vertical.hidden_active import HiddenRows
from hedgerow.protocols.vertical.leakage import LearntBins
from hedgerow.protocols.vertical.leakage_rows import NotedRows
from hedgerow.trees.bins import MOST_BINS
from hedgerow.trees.boost import Callback, Kept, boost
from hedgerow.trees.forest import Forest

MOST_TOLD_BINS = 1 << 24
"""Of all columns of a party, by its word: what is kept of each here takes some 40 bytes, before any sum."""


@dataclass(frozen=True, eq=False)
class Active:
    """The party that has the labels, and drives."""

    own_table: Table
    own_valid: Table | None = None
    keeps: PlaceStore | None = None
    """Where it keeps which of its rows are common."""


def own_sets(plan: Plan, own: Active, threads: int, log: Log, tell: Tell) -> OwnSets:
    """The active party's side of the alignment; nothing is said."""
    _check_labels(plan, own.own_table)
    tables = (own.own_table, own.own_valid if plan.goal.follow else None)
    counts = Counts(Journal(log, plan.digest.hex()), Ledger(log))
    return OwnSets(plan, plan.active, tables, threads, counts, tell, own.keeps)


def aligned(group: PartyGroup, sets: OwnSets, note: Tell) -> Active:
    """The rows that all parties have, in the same order everywhere; `align` says what becomes known."""
    sets.introduced()
    ring = Ring(group, sets)
    for held_out in (False, True) if sets.own[True] is not None else (False,):
        if (found := ring.align(held_out)) is not None:
            note(found.sentence)
    return Active(*sets.tables)


def _check_labels(plan: Plan, table: Table) -> None:
    if table.labels is None:
        raise DataError(f"The active party {plan.active!r} has no labels; name the label column.")


def prepare(plan: Plan, own: Active, threads: int) -> Ready:
    """Own labels, cut points and bins; nothing is said."""
    table, goal = own.own_table, plan.goal
    _check_labels(plan, table)
    if table.weights is not None and not (table.weights > 0).all():
        raise DataError(
            "Rows with weight 0 cannot be left out of a vertical run; take them out of every party's table."
        )
    if goal.follow and (own.own_valid is None or not own.own_valid.n_rows):
        raise DataError("A metric on validation rows was asked for, but the active party has none; give some.")
    labels = np.asarray(table.labels)
    classes: tuple[ClassLabel, ...] = () if goal.objective is not None else tuple(np.unique(labels).tolist())
    task = Task(
        loss_of(plan, classes),
        classes,
        goal.base_score,
        goal.scale_pos_weight,
        own.own_valid if goal.follow else None,
        goal.eval_metric,
        goal.early_stopping_rounds,
        label=goal.label,
        threads=threads,
    )
    # Constraints are of everybody's columns, which are not known yet.
    return prepared(table, replace(plan.params, monotone_constraints=()), task)


def grow(
    group: PartyGroup,
    ready: Ready,
    joint: AllColumns,
    callbacks: Sequence[Callback],
    before: Forest | None,
    history: tuple[float, ...],
    kept: Kept,
    id_: str,
    learnt: LearntBins | None = None,
    said: SaidBefore | None = None,
) -> Model:
    """All trees; every party has its part of the model when this returns. What was learnt of bins may be noted.

    What was said in attempts before is compared with what is said in this one.
    """
    plan, task = group.plan, ready.task
    done = 0 if before is None else before.n_trees // task.loss.n_trees

    def asks(round_: int) -> tuple[str, ...]:
        return asked(plan, round_, group.present)

    rows = _rows(group, ready, joint, done, asks, said or SaidBefore())
    if learnt is not None:
        learnt.follow(joint)
    growth = growth_of(joint.grid, plan.params, ready.fixed.scales, task.threads)
    growth = replace(growth, columns=replace(growth.columns, among=lambda round_: joint.columns_of(asks(round_))))
    grown = boost(
        rows if learnt is None else NotedRows(rows, learnt, group.corridor.transport.meanwhile),
        growth,
        plan.params,
        ready.fixed.scales,
        task.loss.n_trees,
        ready.stopping,
        callbacks,
        start=before,
        resumed=history,
        kept=kept,
        before_values=rows.number if isinstance(rows, HiddenRows) else None,
    )
    owned = tuple((o.party, o.last - o.first) for o in joint.owned)
    ownership = Ownership(id_, plan.active, owned)
    whole = ready.model(grown, columns_of(joint, ready.columns))
    model = replace(whole, params=plan.params, ownership=ownership)
    _hand_out(group, joint, ownership.model, model.forest.n_trees)
    return model


def _rows(group: PartyGroup, ready: Ready, joint: AllColumns, done: int, asks: Asks, said: SaidBefore) -> VerticalRows:
    """Everybody's columns over the own rows; the parties hear how large the run will be."""
    talk = Talk(group, cipher_of(group.plan), asks, said)
    return (HiddenRows if group.plan.method.hidden_rows else VerticalRows)(
        talk, ready.rows, joint, group.plan.params, done
    )


def scores_of(ready: Ready) -> tuple[NDArray[np.float32], ...]:
    """The scores of the own rows, then of the validation rows."""
    samples = (ready.rows.own, ready.rows.held_out)
    return tuple(sample.scores.copy() for sample in samples if sample is not None)


def restore(ready: Ready, scores: tuple[NDArray[np.float32], ...]) -> None:
    """The rows as the trees so far left them, in a process before this one."""
    samples = [sample for sample in (ready.rows.own, ready.rows.held_out) if sample is not None]
    if [sample.scores.shape for sample in samples] != [array.shape for array in scores]:
        raise RunError("The rows are not those with which the run began; give the same data, or start a new run.")
    for sample, array in zip(samples, scores, strict=True):
        sample.scores[...] = array


def common(joint: AllColumns, ready: Ready, before: Common | None) -> Common:
    """What the model's columns and classes are; refused if they were others before."""
    columns = columns_of(joint, ready.columns)
    if before is not None and before.columns != columns:
        raise RunError("A party's columns are not those with which the run began; start a new run.")
    return Common(columns, ready.task.classes, "", False, ready.task.held_out is not None)


def columns_of_all(group: PartyGroup, ready: Ready, said: SaidBefore, before: Common | None = None) -> AllColumns:
    """Everybody's columns by number, once it is sure that all have the same rows; those of lost parties as before."""
    plan, held_out = group.plan, ready.task.held_out
    request = AskColumns(rows_digest(plan, ready.table), rows_digest(plan, held_out))
    told = group.tell(request, OwnColumns)
    for party, answer in told.items():
        _check_columns(party, answer)
        said.describe(party, (answer.n_values, answer.has_missing, answer.categorical))
    if before is not None:
        told |= _lost_columns(plan, told, len(ready.columns), before.columns)
    joint = AllColumns.of(plan.active, ready.fixed.grid, told, plan.names)
    columns = columns_of(joint, ready.columns)
    check_constraints(plan.params.monotone_constraints, columns, "the parties together have")
    return joint


def _lost_columns(
    plan: Plan, told: Mapping[str, OwnColumns], n_own: int, columns: Sequence[Column]
) -> dict[str, OwnColumns]:
    """Columns of parties that are lost keep their numbers, with one bin each: nothing can be cut there."""
    found: dict[str, OwnColumns] = {}
    first = 0
    for party in plan.names:
        if party == plan.active or party in told:
            first += n_own if party == plan.active else len(told[party].n_values)
            continue
        theirs = list(takewhile(lambda column: column.name.startswith(f"{party}:"), columns[first:]))  # noqa: B023
        kinds = np.array([column.kind == "categorical" for column in theirs], np.bool_)
        names = tuple(column.name.removeprefix(f"{party}:") for column in theirs)
        found[party] = NamedColumns(np.ones(len(theirs), np.int64), np.zeros(len(theirs), np.bool_), kinds, names)
        first += len(theirs)
    return found


def _check_columns(party: str, told: OwnColumns) -> None:
    n = len(told.n_values)
    alike = len(told.has_missing) == n == len(told.categorical) and n <= MOST_COLUMNS
    if isinstance(told, NamedColumns):
        alike = alike and all(told.names) and len(told.names) == len(set(told.names)) == n
    if not alike or (told.n_values < 1).any() or (told.n_values + told.has_missing > MOST_BINS + 1).any():
        raise ProtocolError(f"Party {party!r} described columns that cannot be.")
    if int((told.n_values + told.has_missing).sum()) > MOST_TOLD_BINS:
        raise ProtocolError(
            f"Party {party!r} described columns of more than {MOST_TOLD_BINS:,} bins together; it has to give fewer "
            "columns, or the plan fewer bins (max_bin)."
        )


def columns_of(joint: AllColumns, own: tuple[Column, ...]) -> tuple[Column, ...]:
    """The model's columns as the active party knows them: the others' by number, or by name where that was told."""
    named: list[Column] = []
    for owned in joint.owned:
        if owned.party == joint.own:
            named += own
            continue
        for i, categorical in enumerate(joint.grid.categorical[owned.first : owned.last]):
            called = joint.names[owned.party][i] if owned.party in joint.names else i
            named.append(Column(f"{owned.party}:{called}", "categorical" if categorical else "numeric"))
    return tuple(named)


def _hand_out(group: PartyGroup, joint: AllColumns, model: str, n_trees: int) -> None:
    requests = {o.party: KeepPart(model, o.first, n_trees) for o in joint.passive() if o.party in group.present}
    group.ask(requests, Done)
