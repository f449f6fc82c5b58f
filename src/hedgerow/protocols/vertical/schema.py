"""Everybody's columns, as the active party numbers them and checks what the others say of theirs.

Sees in the clear.  Of the others' columns how many bins they have, and their names where a policy tells them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile

import numpy as np

from hedgerow.agreement.plan import Plan
from hedgerow.corridor.messages import AskColumns, NamedColumns, OwnColumns
from hedgerow.data.table import Column
from hedgerow.errors import ProtocolError, RunError
from hedgerow.model.prepare import check_constraints
from hedgerow.model.train import Ready
from hedgerow.protocols.align.lists import rows_digest
from hedgerow.protocols.columns import MOST_COLUMNS, Common
from hedgerow.protocols.session.group import PartyGroup
from hedgerow.protocols.vertical.answer_checks import SaidBefore as SaidBefore
from hedgerow.protocols.vertical.columns import AllColumns
from hedgerow.protocols.vertical.held_rows import LinkedRows, RowsByParty
from hedgerow.trees.bins import MOST_BINS

MOST_TOLD_BINS = 1 << 24
"""Of all columns of a party, by its word: what is kept of each here takes some 40 bytes, before any sum."""


def common(joint: AllColumns, ready: Ready, before: Common | None) -> Common:
    """What the model's columns and classes are; refused if they were others before."""
    columns = columns_of(joint, ready.columns)
    if before is not None and before.columns != columns:
        raise RunError("A party's columns are not those with which the run began; start a new run.")
    return Common(columns, ready.task.classes, "", False, ready.task.held_out is not None)


def columns_told(
    group: PartyGroup, parties: Sequence[str], ready: Ready, said: SaidBefore, links: RowsByParty
) -> dict[str, OwnColumns]:
    """What these parties say of their columns, once it is sure that they have their rows."""
    requests = {party: _asked(group.plan, ready, links.get(party)) for party in parties}
    told: dict[str, OwnColumns] = dict(group.ask(requests, (OwnColumns, NamedColumns))) if requests else {}
    for party, answer in told.items():
        _check_columns(party, answer)
        said.describe(party, (answer.n_values, answer.has_missing, answer.categorical))
    return told


def all_columns(plan: Plan, ready: Ready, told: Mapping[str, OwnColumns], before: Common | None) -> AllColumns:
    """Everybody's columns by number; those of lost parties as before. Of parties that share theirs, one told them."""
    first_of = {name: group[0] for group in plan.groups for name in group}
    if before is not None and not plan.groups:
        told = {**told, **_lost_columns(plan, told, len(ready.columns), before.columns)}
    order = [name for name in plan.names if first_of.get(name, name) == name]
    joint = replace(AllColumns.of(plan.active, ready.fixed.grid, told, order), groups=plan.groups)
    columns = columns_of(joint, ready.columns)
    check_constraints(plan.params.monotone_constraints, columns, "the parties together have")
    return joint


def _asked(plan: Plan, ready: Ready, linked: LinkedRows | None) -> AskColumns:
    """What a party is asked that has these rows; none named: all."""
    own, held_out = ready.table, ready.task.held_out
    if linked is None:
        return AskColumns(rows_digest(plan, own), rows_digest(plan, held_out))
    some = None if held_out is None or linked.held_out is None else held_out.take(linked.held_out)
    lacks = len(np.unique(linked.own)) < own.n_rows
    return AskColumns(rows_digest(plan, own.take(linked.own)), rows_digest(plan, some), lacks)


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
