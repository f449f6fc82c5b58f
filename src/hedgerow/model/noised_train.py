"""Training on one table with differential privacy: every sum that the model is made of has noise, and is in a ledger.

Who sees what: whoever holds the table sees everything anyway. Of what leaves, the model, everything follows from the
noised releases; the exact sums stay in `OwnSums` and are dropped.
"""

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.dp import DP
from hedgerow.data.table import Column, Table
from hedgerow.errors import DataError, ParameterError
from hedgerow.model import labels as ground
from hedgerow.model.model import Model, absent_of
from hedgerow.model.noised_terms import all_released, released, terms_of
from hedgerow.model.prepare import n_categories
from hedgerow.model.train import Task
from hedgerow.privacy import noise
from hedgerow.privacy.ledger import Budget, Ledger
from hedgerow.privacy.promise import promised
from hedgerow.trees.bins import MOST_BINS, Grid
from hedgerow.trees.boost import Callback, Round
from hedgerow.trees.cut_search import Prefixes
from hedgerow.trees.noised.fit import fit
from hedgerow.trees.noised.rule import Planned, Schedule, opening, require
from hedgerow.trees.noised.sums import OwnRows, OwnSums
from hedgerow.trees.params import TreeParams

F32 = NDArray[np.float32]
I64 = NDArray[np.int64]

ADVERSARY = "anybody who knows all rows but one"
SCOPE = "the model, and every sum that it was made of"


class PooledReleases:
    """Releases of one table: each is in the ledger before its words get their noise."""

    def __init__(self, own: OwnSums, ledger: Ledger, callbacks: Sequence[Callback] = ()) -> None:
        self.own, self.ledger, self.callbacks = own, ledger, callbacks
        self.opening = opening(own.terms)
        self.schedule: Schedule | None = None
        self.n_made = 0
        self.n_rounds = 0

    def rows(self) -> I64:
        """What becomes known: the number of rows, with noise."""
        return self._noised(self.opening.rows, self.own.rows())

    def counts(self, asked: Prefixes) -> I64:
        """What becomes known: rows with each prefix, with noise."""
        return self._noised(require(self.opening.cuts), self.own.counts(asked))

    def begin(self, grid: Grid, schedule: Schedule, seed: int) -> None:
        """All other releases are known now, and planned."""
        self.ledger.plan(all_released(schedule.planned[len(self.opening.planned) :]))
        self.schedule = schedule
        self.own.begin(grid, schedule, seed)

    def bin_counts(self) -> I64:
        """What becomes known: rows in each bin, with noise."""
        return self._noised(require(self._plan.additive).counts, self.own.bin_counts())

    def additive(self, round_: int, base: F32, values: F32) -> I64:
        """What becomes known: gradients in each bin, with noise."""
        noised = self._noised(require(self._plan.additive).gradients, self.own.additive(round_, base, values))
        self._tell()
        return noised

    def restart(self, base: F32, values: F32) -> None:
        """Rows have these scores from now on."""
        self.own.restart(base, values)

    def leaves(self, round_: int, values: F32) -> I64:
        """What becomes known: gradients and hessians in each leaf, with noise."""
        if len(values):
            self.own.follow(round_ - 1, values)
        noised = self._noised(require(self._plan.trees).leaves, self.own.leaves(round_))
        self._tell()
        return noised

    @property
    def _plan(self) -> Schedule:
        return require(self.schedule)

    def _noised(self, planned: Planned, own_words: I64) -> I64:
        self.n_made += 1
        self.ledger.release(f"{planned.what} {self.n_made}", replace(released(planned), times=1))
        return own_words + self.noise(len(own_words), planned)

    def noise(self, n: int, planned: Planned) -> I64:
        """As much as is planned, and never less."""
        return noise.gaussian(n, planned.variance)

    def _tell(self) -> None:
        self.n_rounds += 1
        for callback in self.callbacks:
            callback(Round(self.n_rounds, self._plan.rounds, None, None, None))


def train_noised(
    table: Table, params: TreeParams, task: Task, dp: DP, kind: type[PooledReleases] = PooledReleases
) -> Model:
    """Train on one table so that the model tells little of any one row, with releases of this `kind`."""
    check(params, task, dp, table)
    classes, columns = dp.classes or task.classes, _columns(table, dp, task)
    if classes and not dp.classes:
        task.notes.append("The classes in the table are taken as known to everybody; to be sure, DP(classes=[...]).")
    table = table.aligned(columns)
    own = OwnRows(table.values, table.absent, ground.labels_of(table, classes))
    terms = terms_of(dp, columns, len(classes))
    budget = Budget(dp.epsilon, dp.delta, dp.unit)
    ledger = Ledger(budget, all_released(opening(terms).planned), more_to_come=True)
    releases = kind(OwnSums(own, terms, task.threads), ledger, task.callbacks)
    fitted = fit(releases, terms, n_categories(columns), params.random_state)
    return Model(
        fitted.forest,
        columns,
        task.loss,
        fitted.base,
        params,
        classes,
        label=task.label,
        absent=absent_of(table),
        promise=promised(budget, ledger.finish(), ADVERSARY, SCOPE),
    )


def check(params: TreeParams, task: Task, dp: DP, table: Table) -> None:
    """Refuse what would be told without noise, and parameters that the rule sets."""
    numbers = not task.classes
    refused = {
        "rows to stop early by": task.held_out is not None or task.early_stopping_rounds is not None,
        "eval_metric": task.eval_metric is not None,
        "init_model": task.start is not None,
        "base_score": task.base_score is not None,
        "sample weights": table.weights is not None,
        "scale_pos_weight": task.scale_pos_weight != 1,
        "monotone_constraints": bool(params.monotone_constraints),
        f"the {task.loss.name} loss": numbers and task.loss.name != "squared",
        "a random forest": params.average,
    }
    for what, is_asked in refused.items():
        if is_asked:
            raise ParameterError(
                f"Differential privacy does not go with {what}: {WHY.get(what, 'its sensitivity has no bound')}; leave "
                "it out."
            )
    if not numbers and dp.label_range is not None:
        raise ParameterError("label_range is the range of numbers, and classes are learnt; leave it out.")
    if numbers and dp.classes:
        raise ParameterError("A regression has no classes; leave them out of DP.")
    if numbers and dp.label_range is None:
        raise ParameterError(
            "Numbers can be learnt with differential privacy if their range is declared; give DP(label_range=(0, 100)) "
            "or whatever everybody knows of them."
        )
    if table.labels is None:
        raise DataError("The table has no labels; name the label column.")
    _check_untouched(params)


WHY = {
    "rows to stop early by": "a metric of them would be told without noise after every tree",
    "eval_metric": "a metric would be told without noise after every tree",
    "init_model": "what its training told of rows is not counted here",
    "base_score": "the rule finds it from a release",
    "sample weights": "a row of more weight needs more noise",
    "scale_pos_weight": "a row of more weight needs more noise",
    "monotone_constraints": "they are not kept under noise",
    "a random forest": 'its trees are noised as boosted ones, DP(method="random")',
}


def _check_untouched(params: TreeParams) -> None:
    """The rule grows trees by parameters of its own; others would have no effect."""
    default = TreeParams()
    for field in fields(TreeParams):
        if field.name in ("random_state", "monotone_constraints", "average", "min_cut_rows", "gradient_bits"):
            continue
        if getattr(params, field.name) != getattr(default, field.name):
            raise ParameterError(
                f"{field.name} has no effect with differential privacy: its rule sets what trees are grown, from the "
                "epsilon and the number of rows; leave it out."
            )


def _columns(table: Table, dp: DP, task: Task) -> tuple[Column, ...]:
    """The table's columns, with the categories that are declared."""
    declared = dict(dp.categories)
    strange = set(declared) - {column.name for column in table.columns if column.kind == "categorical"}
    if strange:
        raise ParameterError(f"Categories are declared of {sorted(strange)[0]!r}, which is no categorical column.")
    columns = tuple(replace(c, categories=declared.get(c.name, c.categories)) for c in table.columns)
    if most := [c.name for c in columns if len(c.categories) > MOST_BINS]:
        raise DataError(f"Column {most[0]!r} has more than {MOST_BINS} categories; declare those to be told apart.")
    if any(c.kind == "categorical" and c.name not in declared for c in columns):
        task.notes.append(
            "The categories in the table are taken as known to everybody; a rare one would tell of a single row, so "
            "declare them: DP(categories={...})."
        )
    return columns
