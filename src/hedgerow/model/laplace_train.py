"""FedTree's noise on one table, for comparison: it promises nothing, and says so."""

from hedgerow.agreement.dp import DP
from hedgerow.data.table import Table
from hedgerow.errors import ParameterError
from hedgerow.model.model import Model
from hedgerow.model.train import Task, prepare
from hedgerow.privacy import noise
from hedgerow.privacy.accountant import Release, at_most
from hedgerow.trees.noised.growing import LaplaceTrees, Start, boost_noised
from hedgerow.trees.noised.laplace import CLIP, LaplaceSchedule
from hedgerow.trees.params import TreeParams


def train_laplace(table: Table, params: TreeParams, task: Task, dp: DP) -> Model:
    """Trees with FedTree's noise; `dp.epsilon` is that of one histogram, and the model has none."""
    if task.loss.n_trees > 1 or params.average or task.start is not None:
        raise ParameterError(
            'DP(method="laplace") is FedTree\'s way for two classes and numbers, for comparison; use another method.'
        )
    trees = LaplaceTrees(LaplaceSchedule(dp.epsilon, params.n_estimators, params.max_depth, table.n_columns))
    ready = prepare(table, trees.params(params), task)
    start = Start(ready.fixed.grid, task.loss, ready.fixed.base, ready.params)
    rows = trees.own_rows(ready.rows.own.matrix, ready.fixed.labels, start, task.threads)
    done = boost_noised(trees, rows, start, noise.laplace, task.threads, task.callbacks)
    task.notes.extend(laplace_notes(trees.schedule, dp.delta))
    return ready.model(done, ready.columns)


def laplace_release(schedule: LaplaceSchedule) -> Release:
    """What is accounted for: a row is in one bin of every column, at every level of every tree."""
    return Release("histograms of gradients", "laplace", CLIP.units, schedule.scale, schedule.n_queries)


def laplace_notes(schedule: LaplaceSchedule, delta: float) -> list[str]:
    """What a user must know of this noise; said wherever it is used."""
    found = at_most([laplace_release(schedule)], delta)
    return [
        "No epsilon: FedTree's noise leaves numbers of rows, cut points and the first score as they are, so that "
        f"nothing is promised of the model. Its epsilon of {schedule.epsilon:g} is one histogram's. A row is in "
        f"{schedule.n_queries} of them; their noised gradients alone cost an epsilon of {found:.2f} together, by Renyi "
        f"divergences at a delta of {delta:g}.",
        "This method is for comparison only; for a promise that holds use DP(epsilon=1), in a run file epsilon = 1.",
    ]
