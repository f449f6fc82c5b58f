"""Training on one table with differential privacy: every sum that the model is made of has noise, and is in a ledger.

Who sees what: whoever holds the table sees everything anyway. Of what leaves, the model, everything follows from the
noised releases; the exact sums stay in `OwnSums` and are dropped.
"""

from hedgerow.agreement.dp import DP
from hedgerow.data.table import Table
from hedgerow.model.laplace_train import train_laplace
from hedgerow.model.model import Model, absent_of
from hedgerow.model.noised_table import declared
from hedgerow.model.noised_terms import all_released, terms_of
from hedgerow.model.noised_trees import PooledTrees
from hedgerow.model.train import Task
from hedgerow.privacy.ledger import Budget, Ledger
from hedgerow.privacy.promise import promised
from hedgerow.trees.noised.fit import fit
from hedgerow.trees.noised.fit_greedy import GreedyTask, fit_greedy
from hedgerow.trees.noised.rule import opening
from hedgerow.trees.noised.sums import OwnSums
from hedgerow.trees.params import TreeParams

ADVERSARY = "anybody who knows all rows but one"


def train_noised(table: Table, params: TreeParams, task: Task, dp: DP, kind: type[PooledTrees] = PooledTrees) -> Model:
    """Train on one table so that the model tells little of any one row, with releases of this `kind`."""
    if dp.method == "laplace":
        return train_laplace(table, params, task, dp)
    of = declared(table, params, task, dp)
    terms = terms_of(dp, of.columns, len(of.classes))
    budget = Budget(dp.epsilon, dp.delta, dp.unit)
    ledger = Ledger(budget, all_released(opening(terms).planned), more_to_come=True)
    releases, sizes = kind(OwnSums(of.own, terms, task.threads), ledger, task.callbacks), of.n_categories
    if dp.method == "greedy":
        asked = GreedyTask(terms, task.loss, params, sizes, task.threads, task.callbacks)
        greedy = fit_greedy(releases, asked)
        forest, base, params = greedy.forest, greedy.start.base, greedy.start.params
    else:
        fitted = fit(releases, terms, sizes, params.random_state)
        forest, base = fitted.forest, fitted.base
    return Model(
        forest,
        of.columns,
        task.loss,
        base,
        params,
        of.classes,
        label=task.label,
        absent=absent_of(table),
        promise=promised(budget, ledger.finish(), ADVERSARY, of.scope),
    )
