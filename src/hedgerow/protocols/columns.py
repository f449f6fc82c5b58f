"""What all parties must hold in common before anything can be summed: the columns and the classes.

    driver                                 party (each)
    Introduce               ------------->
                            <-------------  Facts: columns, categories, classes
    Agree(columns, classes) ------------->  brings its own table into this shape

Sees in the clear.  Driver: names, kinds and categories of every party's columns, and its classes
                    (where names are aligned privately, of those that all have: `private_columns`).
                    Party: the columns that are used, with the categories and classes of all parties together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hedgerow.agreement.dp import DP
from hedgerow.agreement.options import Vertical
from hedgerow.agreement.plan import Goal, Plan
from hedgerow.agreement.policy import Policy
from hedgerow.corridor.messages import Agree, ClassLabel, Facts
from hedgerow.data.table import Column, Table
from hedgerow.errors import DataError, ParameterError, ProtocolError
from hedgerow.model import labels
from hedgerow.model.model import Model, absent_of, distinct
from hedgerow.model.prepare import check_constraints
from hedgerow.protocols.dropped_columns import check_enough, left_out
from hedgerow.trees.bins import MOST_BINS
from hedgerow.trees.forest import Forest
from hedgerow.trees.losses import Loss

MOST_CLASSES = 1000
MOST_COLUMNS = 1 << 20
MOST_CELLS = 1 << 33
"""Of a party's table once it has the columns of all."""
MOST_WIDER = 16
"""As many times its own columns a party takes under differential privacy, whatever the number of its rows is."""


@dataclass(frozen=True, eq=False)
class Common:
    """What the parties have in common before anything is summed."""

    columns: tuple[Column, ...]
    classes: tuple[ClassLabel, ...]
    absent: str
    weighted: bool
    validated: bool


def common(plan: Plan, said: Mapping[str, Facts]) -> Common:
    """The columns and classes of all parties together; refuses what does not go together, by party and column."""
    classes = _classes(plan.goal, said)
    gaps = {facts.absent for facts in said.values() if facts.absent}
    if len(gaps) > 1:
        raise DataError("Gaps in the sparse tables of some parties mean zero, of others missing; make them the same.")
    validated = any(facts.validated for facts in said.values())
    if plan.goal.follow and not validated:
        raise ParameterError("A metric on validation rows was asked for, but no party has any; give some.")
    weighted = any(facts.weighted for facts in said.values())
    return Common(_columns(plan, said), classes, gaps.pop() if gaps else "", weighted, validated)


def loss_of(plan: Plan, classes: Sequence[ClassLabel]) -> Loss:
    """The loss that the plan's goal means for these classes."""
    goal = plan.goal
    if goal.objective is None:
        loss = labels.loss_of_classes(len(classes), plan.params.average)
    else:
        loss = Loss(goal.objective, goal.parameter)
    labels.check_first_score(loss, plan.goal.base_score)
    return loss


def assemble(
    plan: Plan,
    shared: Common,
    base: float,
    forest: Forest,
    history: tuple[float, ...] = (),
    metric: str | None = None,
) -> Model:
    """The finished model of these trees, over the columns and classes that are common."""
    return Model(
        forest,
        shared.columns,
        loss_of(plan, shared.classes),
        base,
        plan.params,
        shared.classes,
        label=plan.goal.label,
        absent="zero" if shared.absent == "zero" else "missing",
        history=history,
        metric=metric,
    )


def _in_order(classes: Sequence[ClassLabel]) -> bool:
    """Whether classes are such as can be agreed on: numbers or text, each once, in order."""
    numbers = all(not isinstance(label, str) and np.isfinite(label) for label in classes)
    one_kind = numbers or all(isinstance(label, str) for label in classes)
    return one_kind and tuple(classes) == _ordered(set(classes))


def _ordered(found: set[ClassLabel]) -> tuple[ClassLabel, ...]:
    return tuple(sorted(found, key=lambda label: (label,)))


def _classes(goal: Goal, said: Mapping[str, Facts]) -> tuple[ClassLabel, ...]:
    if goal.objective is not None:
        return ()
    found = {label for facts in said.values() for label in facts.classes}
    if not all(np.isfinite(label) for label in found if isinstance(label, float)):
        raise ProtocolError("A party names a class that is not a finite number.")
    if len({isinstance(label, str) for label in found}) > 1:
        raise DataError("Some parties' labels are text, others' are numbers; make them the same.")
    if len(found) < 2:
        raise DataError("The labels of all parties hold one class only; a classifier needs at least two.")
    if len(found) > MOST_CLASSES:
        raise DataError(f"The labels hold {len(found)} classes, more than {MOST_CLASSES}; is this a regression?")
    return _ordered(found)


def _columns(plan: Plan, said: Mapping[str, Facts]) -> tuple[Column, ...]:
    merged: dict[str, Column] = {}
    times: dict[str, int] = {}
    for party, facts in said.items():
        for column in facts.columns:
            times[column.name] = times.get(column.name, 0) + 1
            merged[column.name] = _merged(merged.get(column.name, column), column, party)
    kept = [c for name, c in merged.items() if plan.method.all_columns or times[name] == len(said)]
    if not kept:
        raise DataError('The parties have no column in common; compare their headers, or use columns = "all".')
    names = names_of(said)
    check_enough(plan, {party: len(own) for party, own in names.items()}, len(kept), left_out(names))
    for column in kept:
        if len(column.categories) > MOST_BINS:
            raise DataError(
                f"Column {column.name!r} has {len(column.categories)} categories over all parties; at most {MOST_BINS} "
                "can be told apart in a federation. Leave it out or group them."
            )
    check_constraints(plan.params.monotone_constraints, kept, "the parties agree on")
    return tuple(kept)


def names_of(said: Mapping[str, Facts]) -> dict[str, list[str]]:
    """What each party's columns are called."""
    return {party: [column.name for column in facts.columns] for party, facts in said.items()}


def _merged(known: Column, other: Column, party: str) -> Column:
    if known.kind != other.kind:
        raise DataError(
            f"Column {known.name!r} holds {other.kind} values at party {party!r} and {known.kind} ones before."
        )
    return replace(known, categories=tuple(sorted({*known.categories, *other.categories})))


def same_columns(said: Mapping[str, Facts]) -> tuple[Column, ...]:
    """The columns of parties that all have the same, with the categories of all; refuses others."""
    merged: dict[str, Column] = {}
    for party, facts in said.items():
        names = {column.name for column in facts.columns}
        if (strange := sorted(names ^ merged.keys())) and merged:
            raise DataError(
                f"Column {strange[0]!r} is not at every passive party ({party!r} differs); parties that share their "
                "columns have the same, so leave it out everywhere, name those that have the same, like "
                'shared = [["a", "b", "c"]], or use shared = false.'
            )
        for column in facts.columns:
            merged[column.name] = _merged(merged.get(column.name, column), column, party)
    return tuple(merged.values())


def own_facts(plan: Plan, party: str, policy: Policy, own: Table, valid: Table | None) -> Facts:
    """A party's side: what it says of its table; in a vertical run nothing but whether it has validation rows.

    There it tells its columns if it shares them with other parties. No columns where their names are aligned privately.
    """
    validated = valid is not None and valid.n_rows > 0
    if isinstance(plan.method, Vertical):
        shown = given(own, policy).columns if plan.group_of(party) else ()
        return Facts(shown, (), False, "", validated)
    if own.labels is None:
        raise DataError("This party's table has no labels; name the label column.")
    if plan.method.dp is not None and plan.method.promises_dp:
        return _declared_facts(plan, plan.method.dp, own, given(own, policy).columns)
    classes: tuple[ClassLabel, ...] = ()
    if plan.goal.objective is None:
        classes = distinct(own.labels)
        if len(classes) > MOST_CLASSES:
            raise DataError(f"This party's labels hold more than {MOST_CLASSES} classes; is this a regression?")
    columns = given(own, policy).columns if not plan.method.private_names else ()
    absent = "" if isinstance(own.values, np.ndarray) else absent_of(own)
    weighted = any(table is not None and table.weights is not None for table in (own, valid))
    return Facts(columns, classes, weighted, absent, validated)


def _declared_facts(plan: Plan, dp: DP, own: Table, columns: tuple[Column, ...]) -> Facts:
    """With differential privacy nothing is said that a row could change: classes and categories are the declared ones.

    Without a declaration, as simulations may have none, those of the table are said and taken as known to everybody.
    """
    if own.weights is not None:
        raise DataError("Rows with weights do not go with differential privacy yet; leave the weights out.")
    known = dict(dp.categories)
    bare = [c.name for c in columns if c.kind == "categorical" and c.name not in known]
    if bare and plan.coordinator:
        raise DataError(
            f"Column {bare[0]!r} has categories, of which a rare one would tell of a single row; declare them, like "
            f'[privacy] categories = {{"{bare[0]}" = ["one", "other"]}}, or leave the column out.'
        )
    declared = tuple(
        replace(c, categories=known[c.name]) if c.kind == "categorical" and c.name in known else c for c in columns
    )
    numbers, labels_ = plan.goal.objective is not None, own.labels
    classes = () if numbers or labels_ is None else dp.classes or distinct(labels_)
    absent = "" if isinstance(own.values, np.ndarray) else absent_of(own)
    return Facts(declared, classes, weighted=False, absent=absent, validated=False)


def shaped(table: Table, request: Agree, policy: Policy) -> Table:
    """A party's side: its rows that count, in the agreed columns; a column it lacks is missing throughout."""
    own = given(table, policy)
    return labels.used(own.widened([c for c in request.columns if c.name not in own.names]).aligned(request.columns))


def shaped_valid(plan: Plan, table: Table | None, request: Agree, policy: Policy) -> Table | None:
    """A party's side: the same of its validation rows; a class that is not agreed on is refused before any sum."""
    if table is None:
        return None
    own = shaped(table, request, policy)
    if plan.goal.follow and request.classes:
        labels.labels_of(own, request.classes)
    return own


def check_agreed(plan: Plan, request: Agree, own: Facts, n_rows: int, most_classes: int) -> None:
    """A party's side: refuse an agreement that leaves out its classes or categories, or adds what nobody can have.

    The refusal tells no more.
    """
    classes, numbers = set(request.classes), plan.goal.objective is not None
    known = {column.name: column for column in own.columns}
    names = {column.name for column in request.columns}
    too_wide = len(names) > MOST_COLUMNS or _too_wide(plan, n_rows, len(request.columns), len(own.columns))
    if len(request.classes) > min(MOST_CLASSES, most_classes) or too_wide:
        raise ProtocolError("The driver agrees on more classes or columns than there can be.")
    if (classes and numbers) or not set(own.classes) <= classes or not _in_order(request.classes):
        raise ProtocolError("The classes that the driver agreed on are not those of all parties.")
    if len(names) < len(request.columns) or (not plan.method.all_columns and not names <= known.keys()):
        raise ProtocolError("The columns that the driver agreed on are not those of all parties.")
    for column in request.columns:
        mine = known.get(column.name, column)
        if mine.kind != column.kind or not set(mine.categories) <= set(column.categories):
            raise ProtocolError("The columns that the driver agreed on are not those of all parties.")


def _too_wide(plan: Plan, n_rows: int, n_columns: int, n_own: int) -> bool:
    """Whether the table would not fit; with noise promised the refusal must not tell how many rows there are."""
    if plan.method.promises_dp:
        return n_columns > MOST_WIDER * max(n_own, MOST_WIDER)
    return n_rows * n_columns > MOST_CELLS


def given(table: Table, policy: Policy) -> Table:
    """Only the columns that the owner's policy gives."""
    if policy.columns is None:
        return table
    unknown = [name for name in policy.columns if name not in table.names]
    if unknown:
        raise DataError(f"The policy gives column {unknown[0]!r}, which this party's table does not have.")
    return table.aligned([c for c in table.columns if c.name in policy.columns])
