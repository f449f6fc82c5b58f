"""Baselines, in which nobody exchanges anything: each party alone, or all rows in one table."""

import time
from contextlib import closing

import msgspec
import numpy as np

from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.model import labels
from hedgerow.model.model import ClassLabel, Model, classes_of
from hedgerow.model.train import Task, train
from hedgerow.run.file.options import Baseline
from hedgerow.run.folder.recorder import Progress
from hedgerow.run.simulation.local_run import LocalRun, Outcome
from hedgerow.trees.boost import Round
from hedgerow.trees.losses import Loss


def baseline(local: LocalRun) -> Outcome:
    """One model of all rows, or one of each party's, measured like the others."""
    run = local.run
    plan = {"method": run.method.word, "goal": run.goal, "params": run.params, "names": run.names}
    with closing(local.open(msgspec.json.encode(plan, order="sorted"))) as folder:
        models, seconds = {}, []
        for name, (own, valid) in _pieces(local).items():
            began = time.perf_counter()
            models[name] = _trained(local, own, valid)
            seconds.append(time.perf_counter() - began)
        return local.finish(folder, models, {}, seconds)


def _pieces(local: LocalRun) -> dict[str, tuple[Table, Table | None]]:
    """What each model learns from, and the rows it is followed on."""
    training, valid = local.split.training, {n: table for n, table in local.split.valid.items() if table.n_rows}
    if isinstance(local.run.method, Baseline) and local.run.method.alone:
        return {name: (table, valid.get(name)) for name, table in training.items()}
    return {"": (partition.pooled(training), partition.pooled(valid) if valid else None)}


def _trained(local: LocalRun, own: Table, valid: Table | None) -> Model:
    goal, options = local.run.goal, local.options
    classes, loss = _classes(local)
    began = time.perf_counter()

    def after_round(told: Round) -> None:
        options.watch(Progress(told, 0, time.perf_counter() - began))

    followed = valid is not None
    task = Task(
        loss, classes, goal.base_score, goal.scale_pos_weight, valid,
        eval_metric=goal.eval_metric if followed else None,
        early_stopping_rounds=goal.early_stopping_rounds if followed else None,
        callbacks=[after_round], label=goal.label, threads=options.threads,
    )  # fmt: skip
    model = train(own, local.run.params, task)
    local.notes += task.notes
    return model


def _classes(local: LocalRun) -> tuple[tuple[ClassLabel, ...], Loss]:
    """The classes of all parties together, so that models of single parties can be compared."""
    goal = local.run.goal
    if goal.objective is not None:
        return (), Loss(goal.objective, goal.parameter)
    found = [table.labels for table in local.split.training.values() if table.labels is not None]
    classes = classes_of(np.concatenate(found))
    return classes, labels.loss_of_classes(len(classes), local.run.params.average)
