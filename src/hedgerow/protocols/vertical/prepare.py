"""The active party's own rows before the first tree: found by their ids where the plan says so, binned, and scored.

Sees in the clear.  Its own table; of the others' rows what `align` says.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.plan import Plan as Plan
from hedgerow.data.table import Table
from hedgerow.errors import DataError, RunError
from hedgerow.model.model import ClassLabel
from hedgerow.model.train import Before, Ready, Task
from hedgerow.model.train import prepare as prepared
from hedgerow.protocols.align.lists import Counts, OwnSets
from hedgerow.protocols.align.ring import Ring
from hedgerow.protocols.columns import loss_of
from hedgerow.protocols.link.active import Links as Links
from hedgerow.protocols.session.group import PartyGroup
from hedgerow.protocols.session.journal import Journal, Log
from hedgerow.protocols.session.notify import Tell
from hedgerow.protocols.session.owner import Active as Active
from hedgerow.protocols.session.owner_ledger import Ledger
from hedgerow.protocols.vertical.held_rows import LinkedRows
from hedgerow.protocols.vertical.held_rows import RowsByParty as RowsByParty


def own_sets(plan: Plan, own: Active, threads: int, log: Log, tell: Tell) -> OwnSets:
    """The active party's side of the alignment; nothing is said."""
    check_labels(plan, own.own_table)
    tables = (own.own_table, own.own_valid if plan.goal.follow else None)
    counts = Counts(Journal(log, plan.digest.hex()), Ledger(log))
    return OwnSets(plan, plan.active, tables, threads, counts, tell, own.keeps)


def aligned(group: PartyGroup, sets: OwnSets, own: Active, note: Tell) -> Active:
    """The rows that all parties have, in the same order everywhere; `align` says what becomes known."""
    sets.introduced()
    ring = Ring(group, sets)
    for held_out in (False, True) if sets.own[True] is not None else (False,):
        if (found := ring.align(held_out)) is not None:
            note(found.sentence)
    table, valid = sets.tables
    return replace(own, own_table=table, own_valid=valid)


def own_links(group: PartyGroup, own: Active, threads: int, log: Log, note: Tell) -> Links:
    """The active party's side of the linkage of a hybrid run; nothing is said."""
    plan = group.plan
    check_labels(plan, own.own_table)
    tables, journal = (own.own_table, own.own_valid if plan.goal.follow else None), Journal(log, plan.digest.hex())
    return Links(
        group, tables, threads, journal, note, private=not plan.method.shows_ids, groups=plan.once,
        most_ids=plan.vertical.most_ids, keeps=own.keeps,
    )  # fmt: skip


def linked(group: PartyGroup, linkage: Links) -> RowsByParty:
    """The rows that each passive party has; `link` says what becomes known."""
    linkage.introduced(group)
    own = linkage.link(False)
    held_out = linkage.link(True) if True in linkage.own else {}
    return {party: LinkedRows(rows, held_out.get(party)) for party, rows in own.items()}


def _declared(plan: Plan) -> tuple[ClassLabel, ...]:
    """The classes, where a plan with differential privacy names them; those of the table may tell of a single row."""
    return () if plan.method.dp is None else plan.method.dp.classes


def check_labels(plan: Plan, table: Table) -> None:
    """Refuse an active party without labels, or with one class only."""
    if table.labels is None:
        raise DataError(f"The active party {plan.active!r} has no labels; name the label column.")
    if plan.goal.objective is None and not _declared(plan) and len(np.unique(np.asarray(table.labels))) < 2:
        raise DataError("The labels of the active party hold one class only; a classifier needs at least two.")


def prepare(plan: Plan, own: Active, threads: int, before: Before = Before()) -> Ready:  # noqa: B008  # it is frozen
    """Own labels, cut points and bins, of which some may have been found before; nothing is said."""
    table, goal = own.own_table, plan.goal
    check_labels(plan, table)
    if table.weights is not None and not (table.weights > 0).all():
        raise DataError(
            "Rows with weight 0 cannot be left out of a vertical run; take them out of every party's table."
        )
    if goal.follow and (own.own_valid is None or not own.own_valid.n_rows):
        raise DataError("A metric on validation rows was asked for, but the active party has none; give some.")
    labels = np.asarray(table.labels)
    classes = () if goal.objective is not None else _declared(plan) or tuple(np.unique(labels).tolist())
    task = Task(
        loss_of(plan, classes),
        classes,
        goal.base_score if before.mean is None else before.mean,
        goal.scale_pos_weight,
        own.own_valid if goal.follow else None,
        goal.eval_metric,
        goal.early_stopping_rounds,
        label=goal.label,
        threads=threads,
        choosing=plan.method.passive_rows,
        grid=before.grid,
        label_range=before.label_range,
    )
    # Constraints are of everybody's columns, which are not known yet.
    return prepared(table, replace(plan.params, monotone_constraints=()), task)


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
