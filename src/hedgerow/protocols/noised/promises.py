"""What a run with noised sums promises: the same for the driver and for every party, which check each other's."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from hedgerow.agreement.dp import DP
from hedgerow.agreement.dp_words import NEIGHBOURS, adversary, scope_without, taken_from_tables
from hedgerow.agreement.plan import Plan
from hedgerow.corridor.messages import ClassLabel
from hedgerow.data.table import Column
from hedgerow.errors import ParameterError, PrivacyError, ProtocolError
from hedgerow.model.model import Model
from hedgerow.privacy.accountant import Spent
from hedgerow.privacy.ledger import Budget
from hedgerow.privacy.promise import Promise, promised
from hedgerow.protocols.columns import Common, loss_of


def taken_as_known(dp: DP, shared: Common) -> Iterator[str]:
    """What tables tell without noise because nobody has declared it; refuses categories of a column that has none."""
    categorical = {column.name for column in shared.columns if column.kind == "categorical"}
    if strange := sorted({name for name, _ in dp.categories} - categorical):
        raise ParameterError(f"Categories are declared of {strange[0]!r}, which is no categorical column of the run.")
    for what in taken_from_tables(dp, shared.columns, shared.classes):
        yield (
            f"The {what} in the tables are taken as known to everybody, though a rare one would tell of a single row; "
            f"to be sure, declare them ({what} of DP, or of [privacy])."
        )


def promise_of(plan: Plan, spent: Spent, columns: Sequence[Column], classes: Sequence[ClassLabel]) -> Promise:
    """What a run of this plan promises that has released this, over these columns and classes."""
    taken = taken_from_tables(dp_of(plan), columns, classes)
    return promised(budget_of(plan), spent, adversary(plan), scope_without(taken))


def budget_of(plan: Plan) -> Budget:
    """What it may cost."""
    dp = dp_of(plan)
    return Budget(dp.epsilon, dp.delta, dp.unit, NEIGHBOURS)


def dp_of(plan: Plan) -> DP:
    """What the plan promises; it does."""
    if plan.method.dp is None:
        raise ProtocolError("The plan promises no differential privacy.")
    return plan.method.dp


class Agreed(NamedTuple):
    """What a party holds a finished model to."""

    plan: Plan
    columns: tuple[Column, ...]
    classes: tuple[ClassLabel, ...]
    spent: Spent
    """By its own ledger."""


def check_model(made: Model, agreed: Agreed, ended: bool) -> None:
    """Refuse a model of other columns, classes or sums than this party gave, or one that promises otherwise."""
    plan, columns, classes, spent = agreed
    if not ended or (made.loss, made.columns, made.classes) != (loss_of(plan, classes), columns, classes):
        raise PrivacyError("The driver sends a model of other columns, classes or sums than were agreed.")
    if not same_promise(made.promise, promise_of(plan, spent, columns, classes)):
        raise PrivacyError("The driver's model promises other than what this party's ledger tells; it is not kept.")


def same_promise(theirs: Promise | None, own: Promise) -> bool:
    """Whether two parties promise the same, whatever versions of the accountant they have."""
    if theirs is None:
        return False
    return replace(theirs, composed=own.composed, rdp=own.rdp, accountant=own.accountant, version=own.version) == own
