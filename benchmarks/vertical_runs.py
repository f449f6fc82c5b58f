"""Forests over columns: how columns are dealt to parties, what each does alone, and whole trees on columns."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.horizontal_runs import Recipe
from benchmarks.measure import score
from benchmarks.sets import Split
from hedgerow.agreement.options import Federation, NoPrivacy, Vertical
from hedgerow.agreement.plan import Goal, Plan
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.model.labels import loss_of_classes
from hedgerow.model.prepare import growth_of
from hedgerow.model.train import Task, prepare
from hedgerow.protocols.leakage import LearntBins
from hedgerow.run.simulation.parties import Simulation, members
from hedgerow.run.simulation.party_tables import settled
from hedgerow.run.simulation.simulate import simulate
from hedgerow.trees.boost import boost
from hedgerow.trees.losses import Loss

ALPHA, NOISE = 0.5, 1 / 20
PLAIN = Vertical(NoPrivacy(i_accept_disclosure=True))

Columns = Mapping[str, Table]


def dealt(table: Table, n: int) -> dict[str, Table]:
    """The columns in order, evenly; the first party has the labels."""
    return partition.columns(table, n=n)


def dealt_unequally(table: Table, n: int, seed: int) -> dict[str, Table]:
    """As many columns a party as a Dirichlet draw says, at least one each, drawn at random."""
    rng = np.random.default_rng(seed)
    sizes = 1 + rng.multinomial(table.n_columns - n, rng.dirichlet(np.full(n, ALPHA)))
    shares = np.split(rng.permutation(table.n_columns), np.cumsum(sizes)[:-1])
    return partition.columns(table, share=[sorted(share.tolist()) for share in shares])


def blurred(parties: Columns, seed: int = 0) -> dict[str, Table]:
    """Gaussian noise of variance i/20 added to the columns of party i."""
    rng, out = np.random.default_rng(seed), {}
    for i, (name, part) in enumerate(parties.items()):
        values: Any = part.values
        dense = values.toarray() if not isinstance(values, np.ndarray) else values
        noisy = dense + rng.normal(0, np.sqrt((i + 1) * NOISE), dense.shape).astype(np.float32)
        out[name] = replace(part, values=noisy, absent=np.nan)
    return out


def together(parties: Columns) -> Table:
    """All columns in one table, in the order of the parties."""
    first, *others = parties.values()
    values = [
        part.values if isinstance(part.values, np.ndarray) else part.values.toarray() for part in (first, *others)
    ]
    columns = tuple(column for part in (first, *others) for column in part.columns)
    return Table(columns, np.hstack(values), np.nan, first.labels, first.weights, first.ids)


def with_labels(parties: Columns, labels: Any) -> dict[str, Table]:
    """Every party with a copy of the labels, as the baselines of the literature need."""
    return {name: replace(part, labels=labels) for name, part in parties.items()}


def bagged(recipe: Recipe, parties: Columns, split: Split) -> float:
    """The score of the mean of models that each party grew on its own columns."""
    models = [recipe.pooled(part) for part in parties.values()]
    scores = [model.scores(Table.of(split.X_test), recipe.threads) for model in models]
    return scored(recipe, np.mean(scores, axis=0), split)


def in_turn(recipe: Recipe, parties: Columns, split: Split) -> float:
    """The score of trees that parties grow one after the other, each its share of them on what the others left."""
    loss, test, total = loss_for(recipe), Table.of(split.X_test), recipe.params.n_estimators
    known = found = None
    for i, part in enumerate(parties.values()):
        rounds = total // len(parties) + (i < total % len(parties))
        params = replace(recipe.params, n_estimators=max(rounds, 1))
        ready = prepare(part, params, Task(loss, recipe.classes, threads=recipe.threads))
        scores = ready.rows.own.scores
        if known is None or found is None:
            found = np.full((test.n_rows, loss.n_trees), ready.fixed.base, np.float32)
        else:
            scores[...] = known
        if rounds:
            growth = growth_of(ready.fixed.grid, params, ready.fixed.scales, recipe.threads)
            forest = boost(ready.rows, growth, params, ready.fixed.scales, loss.n_trees).forest
            own = test.aligned(ready.columns)
            forest.add_scores(own.values, own.absent, found, recipe.threads)
        known = scores.copy()
    return scored(recipe, np.asarray(found), split)


def loss_for(recipe: Recipe) -> Loss:
    """The loss of a recipe's task."""
    return loss_of_classes(len(recipe.classes), average=False) if recipe.classes else Loss("squared")


def scored(recipe: Recipe, scores: NDArray[np.float32], split: Split) -> float:
    """AUC, accuracy or RMSE of raw scores on the test rows."""
    means = loss_for(recipe).transform(scores)
    if not recipe.classes:
        return float(np.sqrt(np.mean((means - split.y_test) ** 2)))
    return score(split.y_test, means if means.ndim == 2 else np.column_stack([1 - means, means]))


def learnt(recipe: Recipe, parties: Columns, federation: Federation) -> LearntBins:
    """What the active party has learnt of the others' bins when the run is over."""
    who, identities = members(list(parties))
    goal = Goal() if recipe.classes else Goal("squared")
    plan = Plan("benchmark", who, goal, recipe.params, settled(federation, parties, {}))
    simulation = Simulation(parties, threads=recipe.threads, identities=identities, notes_bins=True)
    noted = simulate(plan, simulation)[1].learnt
    if noted is None:
        raise ValueError("nothing was noted")
    return noted
