"""Runs: `hedgerow train RUN.toml` with all parties in this process, and what `drive` and `join` share with it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from hedgerow.commands.print_tables import check_writable, measured, metric_rows, note, print_grid
from hedgerow.commands.progress_bar import live, size
from hedgerow.data.csv_dialect import check_decimal, check_delimiter
from hedgerow.errors import ParameterError
from hedgerow.run.file.options import Baseline
from hedgerow.run.file.read import RunFile, open_run
from hedgerow.run.folder.folder import MODEL
from hedgerow.run.simulation import run_file as local_run
from hedgerow.run.simulation import several_runs
from hedgerow.run.simulation.comparison import TOGETHER, check_comparable
from hedgerow.run.simulation.run_file import Outcome
from hedgerow.threads import threads_of

RUN_FILES = (".toml", ".conf")
OF_RUNS = ("data", "resume", "folder", "compare", "n_jobs", "quiet", "log_file", "log_format")
"""Options of `hedgerow train` that go with a run file; everything else the file itself says."""


def is_run_file(data: str) -> bool:
    """Whether DATA is a run file and no table."""
    return data.lower().endswith(RUN_FILES)


def check_run_options(context: typer.Context) -> None:
    """Refuse options that a run file has its own words for."""
    for option in context.command.params:
        name = option.name or ""
        if name not in OF_RUNS and _is_given(context, name):
            raise ParameterError(
                f"{option.opts[0]} does not go with a run file, which says everything itself but --resume, --folder, "
                "--compare, --n-jobs and the options of logs; leave it out."
            )


def check_table_options(context: typer.Context) -> None:
    """Refuse options that only a run file has a use for."""
    for name in ("resume", "folder", "compare"):
        if _is_given(context, name):
            raise ParameterError(f"--{name} goes with a run file (.toml or .conf); leave it out.")


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name not in ("DEFAULT", "DEFAULT_MAP")


def train_run(path: Path, resume: bool, folder: Path | None, compare: bool, n_jobs: int | None) -> None:
    """Run a run file with all parties in this process."""
    run = open_run(path, files=True)
    for sentence in run.notes:
        note(sentence)
    if run.model is not None:
        check_writable(run.model)
    if compare:
        check_comparable(run)
    place = folder or run.folder
    with resumable(place, not isinstance(run.method, Baseline)), live(run.params.n_estimators) as shown:
        options = local_run.Options(measured, folder, resume, threads_of(n_jobs), shown.after_tree, shown.say, compare)
        outcome = (several_runs if run.actives else local_run).train(run, options)
    for sentence in outcome.notes[len(run.notes) :]:
        if sentence not in shown.said:
            note(sentence)
    _report(outcome)
    if path.suffix.lower() == ".conf":
        _fedtree_line(outcome)
    typer.echo(f"folder: {place}")
    if outcome.bag is not None:
        typer.echo(f"bag: {run.model or outcome.bag}")
    typer.echo(f"model: {run.model or place / MODEL}" if "" in outcome.models else f"models: {place / 'parties'}")


@contextmanager
def resumable(folder: Path, kept: bool) -> Iterator[None]:
    """Say where a run that is interrupted can go on."""
    try:
        yield
    except KeyboardInterrupt:
        if kept and folder.exists():
            note(f"The trees so far are kept in {folder}; go on with --resume.")
        raise


def _report(outcome: Outcome) -> None:
    """Metrics, and the bytes that each party was sent and sent itself."""
    columns = dict(outcome.metrics)
    if outcome.compared:
        columns = {TOGETHER: outcome.metrics[""], **outcome.compared}
    elif len(columns) > 1 and outcome.bag is None:
        columns["mean"] = _mean(list(columns.values()))
    models = list(outcome.models.values())
    trees = [str(model.forest.n_trees) for model in models]
    rows = [
        ["rows", str(outcome.n_rows)],
        ["columns", *(str(len(model.columns)) for model in models)],
        ["trees", *trees],
        ["seconds", f"{outcome.seconds:.2f}"],
    ]
    padded = [row + [""] * (len(columns) + 1 - len(row)) for row in rows]
    print_grid(["", *(name or f"{outcome.rows} rows" for name in columns)], padded + metric_rows(columns))
    print_bytes(outcome.bytes)


def print_bytes(by_party: Mapping[str, tuple[int, int]]) -> None:
    """The bytes to and from each party."""
    if by_party:
        typer.echo()
        cells = [[name, size(to), size(came)] for name, (to, came) in by_party.items()]
        print_grid(["party", "to it", "from it"], cells)


def _mean(found: Sequence[dict[str, float]]) -> dict[str, float]:
    """The mean of the metrics that all have."""
    return {name: sum(of[name] for of in found) / len(found) for name in found[0] if all(name in of for of in found)}


def _fedtree_line(outcome: Outcome) -> None:
    """The metric as FedTree prints it."""
    found: dict[str, Any] = _mean(list(outcome.metrics.values()))
    classes = next(iter(outcome.models.values())).classes
    shown, name = ("RMSE", "rmse") if not classes else ("AUC", "auc") if len(classes) == 2 else ("Accuracy", "accuracy")
    if name in found:
        typer.echo(f"{shown} = {found[name]:.4f}")


def written_as(run: RunFile, ignore: list[str] | None, delimiter: str | None, decimal: str | None) -> RunFile:
    """The run with what was said of own files in place of what the run file says of all; no part of the plan."""
    data = replace(run.data, ignore=(*run.data.ignore, *(ignore or ())))
    data = data if delimiter is None else replace(data, delimiter=check_delimiter(delimiter))
    return replace(run, data=data if decimal is None else replace(data, decimal=check_decimal(decimal)))
