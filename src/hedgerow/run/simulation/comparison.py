"""What a simulation is compared with: parties alone, and all data in one place, measured on the same rows.

All tables lie here, so nothing is protected and nobody is asked. In a run over columns the active party is alone, for
the others have no labels.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from hedgerow.data.table import Table
from hedgerow.errors import ParameterError
from hedgerow.model.model import Model
from hedgerow.model.train import Task, train
from hedgerow.run.file import tables
from hedgerow.run.file.options import Baseline
from hedgerow.run.file.read import RunFile
from hedgerow.run.file.tables import Split
from hedgerow.run.folder.recorder import Say

TOGETHER, ALONE, POOLED = "together", "alone", "pooled"
Pair = tuple[Table, Table | None]
"""Rows to learn from, and rows on which the metric is followed."""


def check_comparable(run: RunFile) -> None:
    """Refuse runs that have another way to be compared, before anything is trained."""
    if isinstance(run.method, Baseline):
        raise ParameterError(f"--compare has no use for method {run.method.word!r}, which is what others compare with.")
    if run.method.links:
        raise ParameterError("--compare is of horizontal and vertical runs; of a hybrid one, use `hedgerow baselines`.")
    if run.actives:
        raise ParameterError("--compare is of runs with one active party; name one in [run] active.")


def alone_and_pooled(
    run: RunFile, split: Split, together: Model, measure: Callable[[Model], dict[str, float]], say: Say, threads: int
) -> dict[str, dict[str, float]]:
    """The figures of every party alone and of all together in one table, by name."""
    found: dict[str, dict[str, float]] = {}
    for name, (own, valid) in _tables(run, split, together):
        goal, followed = run.goal, valid is not None and valid.n_rows > 0
        task = Task(
            together.loss, together.classes, goal.base_score, goal.scale_pos_weight, valid if followed else None,
            eval_metric=goal.eval_metric if followed else None,
            early_stopping_rounds=goal.early_stopping_rounds if followed else None, label=goal.label, threads=threads,
        )  # fmt: skip
        say(f"Training {name}, to compare with.")
        params = run.params if own.n_columns == len(together.columns) else replace(run.params, monotone_constraints=())
        found[name] = measure(train(own, params, task))
    return found


def _tables(run: RunFile, split: Split, together: Model) -> Iterator[tuple[str, Pair]]:
    own = {run.active: split.training[run.active]} if run.active else split.training
    for name, table in own.items():
        yield f"{ALONE} {name}", (table, split.valid.get(name))
    valid = {name: table for name, table in split.valid.items() if table.n_rows}
    held_out = tables.together(run, valid, together.columns) if valid else None
    yield POOLED, (tables.together(run, split.training, together.columns), held_out)
