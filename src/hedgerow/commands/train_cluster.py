"""`hedgerow train --cluster`: the rows lie with the workers of a Dask cluster, which read the files themselves."""

import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow.commands.print_tables import note, print_grid
from hedgerow.commands.read_tables import Roles, read_labelled
from hedgerow.commands.rounds import rounds_shown
from hedgerow.commands.training_goal import Wanted, goal_of, tree_params
from hedgerow.data.read import suffix_of
from hedgerow.errors import DataError, ParameterError
from hedgerow.model.model import Model
from hedgerow.model.parted_table import classes_in, described
from hedgerow.model.parted_train import train_parts
from hedgerow.model.rows_part import RowsPart
from hedgerow.model.train import Task
from hedgerow.threads import threads_of
from hedgerow.transports.dask_parts import DaskParts, connected, files_as_sources

ALONE = ("valid", "test", "continue_from", "in_pieces", "early_stopping_rounds", "eval_metric")
"""Options that need rows in this process."""
READ = (".parquet", ".csv", ".tsv")
MOST_LABELS = 10_000
"""Different labels of a part that are looked at to tell classes from numbers."""


def check_cluster(options: Mapping[str, Any]) -> None:
    """Refuse options that do not go with a cluster."""
    if options["cluster"] is None and options["without_tls"]:
        raise ParameterError("--without-tls goes with --cluster; add that, or leave it out.")
    for name in ALONE if options["cluster"] is not None else ():
        if options[name] is not None:
            raise ParameterError(f"--{name.replace('_', '-')} does not go with --cluster; leave it out.")


def files_of(data: str) -> list[Path]:
    """One file, or those of a folder in the order of their names: each is a part."""
    path = Path(data)
    if not path.is_dir():
        suffix_of(path)
        return [path]
    found = sorted(one for one in path.iterdir() if one.name.lower().removesuffix(".gz").endswith(READ))
    if not found:
        raise DataError(f"The folder {path} has no file that ends in {', '.join(READ)}; name one that has.")
    return found


def trained_on_cluster(
    data: str,
    roles: Roles,
    options: Mapping[str, Any],
    wanted: Wanted,
    given: Mapping[str, Any],
    of_trees: tuple[str, ...],
) -> Model:
    """The model; what workers say of their files is said here."""
    files = files_of(data)
    with connected(options["cluster"], options["without_tls"], note) as client:
        read = partial(_part, roles, tuple(options["categorical"] or ()))
        parts = DaskParts(client, files_as_sources([str(one.absolute()) for one in files]), read)
        facts = described(parts, MOST_LABELS)
        loss, classes = goal_of(np.array(classes_in(facts)), wanted, None)
        names = [column.name for column in facts[0].columns]
        params = tree_params({n: v for n, v in given.items() if n in of_trees}, wanted.kind, names)
        began = time.perf_counter()
        with rounds_shown(params) as show_round:
            more = {n: v for n, v in given.items() if n not in of_trees}
            threads = threads_of(options["n_jobs"])
            task = Task(loss, classes, threads=threads, callbacks=[show_round], label=roles.label, **more)
            model = train_parts(parts, facts, params, task)
    for sentence in task.notes:
        note(sentence)
    rows = [
        ["rows", str(sum(one.n_rows for one in facts))],
        ["parts", str(len(facts))],
        ["columns", str(len(model.columns))],
        ["trees", str(model.forest.n_trees)],
        ["seconds", f"{time.perf_counter() - began:.2f}"],
    ]
    print_grid(["", "training rows"], rows)
    note("Rows on a cluster are not measured on; use `hedgerow evaluate` with other rows.")
    return model


def _part(roles: Roles, categorical: tuple[str, ...], path: str, number: int, threads: int) -> RowsPart:
    """On a worker: what is in a file."""
    return RowsPart(read_labelled(path, roles, categorical), number, threads)
