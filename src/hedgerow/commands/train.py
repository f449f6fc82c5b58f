"""`hedgerow train`: a model from a table."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from hedgerow.commands import log
from hedgerow.commands import options as opt
from hedgerow.commands.print_tables import check_labels, check_writable, measured, metric_rows, note, print_grid
from hedgerow.commands.read_tables import Roles, label_of
from hedgerow.commands.rounds import rounds_shown
from hedgerow.commands.runs import check_run_options, check_table_options, is_run_file, train_run
from hedgerow.commands.train_cluster import check_cluster, trained_on_cluster
from hedgerow.commands.training_goal import Wanted, check_options, goal_of, tree_params
from hedgerow.commands.training_tables import lies_here, read_all
from hedgerow.data.table import Table
from hedgerow.model import train as pooled
from hedgerow.model.file import load_model, save
from hedgerow.model.model import Model
from hedgerow.threads import threads_of

OF_TREES = (
    "n_estimators", "max_depth", "learning_rate", "reg_lambda", "reg_alpha", "gamma", "min_child_weight", "max_bin",
    "subsample", "colsample_bytree", "colsample_bynode", "monotone", "gradient_bits", "random_state",
)  # fmt: skip
OF_TASK = ("early_stopping_rounds", "eval_metric", "scale_pos_weight")


def train(
    context: typer.Context,
    data: opt.DataOrRun,
    label: opt.Label = None,
    model: opt.ModelOut = Path("model.json"),
    task: opt.Task = opt.TaskName.AUTO,
    kind: opt.Kind = None,
    objective: opt.Objective = None,
    tweedie_variance_power: opt.TweediePower = None,
    huber_slope: opt.HuberSlope = None,
    id_: opt.Id = None,
    weight: opt.Weight = None,
    categorical: opt.Categorical = None,
    ignore: opt.Ignore = None,
    delimiter: opt.Delimiter = None,
    decimal: opt.Decimal = None,
    absent: opt.Absent = None,
    in_pieces: opt.InPieces = None,
    cluster: opt.Cluster = None,
    without_tls: opt.WithoutTls = False,
    continue_from: opt.ContinueFrom = None,
    n_jobs: opt.Jobs = None,
    valid: opt.Valid = None,
    test: opt.Test = None,
    early_stopping_rounds: opt.EarlyStopping = None,
    eval_metric: opt.EvalMetric = None,
    n_estimators: opt.Estimators = None,
    max_depth: opt.MaxDepth = None,
    learning_rate: opt.LearningRate = None,
    reg_lambda: opt.RegLambda = None,
    reg_alpha: opt.RegAlpha = None,
    gamma: opt.Gamma = None,
    min_child_weight: opt.MinChildWeight = None,
    max_bin: opt.MaxBin = None,
    subsample: opt.Subsample = None,
    colsample_bytree: opt.ColsampleByTree = None,
    colsample_bynode: opt.ColsampleByNode = None,
    scale_pos_weight: opt.ScalePosWeight = None,
    monotone: opt.Monotone = None,
    gradient_bits: opt.GradientBits = None,
    random_state: opt.RandomState = None,
    resume: opt.Resume = False,
    folder: opt.Folder = None,
    compare: opt.Compare = False,
    quiet: log.Quiet = False,
    log_file: log.LogFile = None,
    log_format: log.Format = log.LogFormat.TEXT,
) -> None:
    """Train a model on a table and write it to a file; or run a run file (.toml), all parties in this process."""
    options = locals()
    context.with_resource(log.log_to(quiet, log_file, log_format))
    if is_run_file(data):
        check_run_options(context)
        train_run(Path(data), resume, folder, compare, n_jobs)
        return
    check_table_options(context)
    check_writable(model)
    check_cluster(options)
    start = load_model(continue_from) if continue_from is not None else None
    own_kind = opt.KindName.FOREST if start is not None and start.params.average else opt.KindName.BOOSTED
    wanted = Wanted(task, kind or own_kind, objective, tweedie_variance_power, huber_slope)
    given = {name: options[name] for name in (*OF_TREES, *OF_TASK) if options[name] is not None}
    check_options(given, wanted.kind, valid is not None)
    own_absent = "missing" if start is None else start.absent
    known = None if start is None else start.label
    roles = Roles(
        label_of(data, label, known), id_, weight, own_absent if absent is None else absent.value,
        tuple(ignore or ()), delimiter, decimal,
    )  # fmt: skip
    if cluster is not None:
        save(trained_on_cluster(data, roles, options, wanted, given, OF_TREES), model)
        typer.echo(f"model: {model}")
        return
    tables = read_all({"training": data, "valid": valid, "test": test}, roles, categorical or (), start, in_pieces)
    trained, seconds = _trained(tables, wanted, given, start, threads_of(n_jobs))
    save(replace(trained, label=roles.label), model)
    _report(trained, tables, seconds, threads_of(n_jobs))
    typer.echo(f"model: {model}")


def _trained(
    tables: dict[str, Table], wanted: Wanted, given: dict[str, Any], start: Model | None, threads: int
) -> tuple[Model, float]:
    table = tables["training"]
    loss, classes = goal_of(table.labels, wanted, start)
    for name, other in tables.items():
        check_labels(name, other, classes)
    params = tree_params({n: v for n, v in given.items() if n in OF_TREES}, wanted.kind, table.names)
    began = time.perf_counter()
    with rounds_shown(params) as show_round:
        task = pooled.Task(
            loss, classes, start=start, threads=threads, callbacks=[show_round],
            held_out=None if params.average else tables.get("valid"), **{n: given[n] for n in OF_TASK if n in given},
        )  # fmt: skip
        model = pooled.train(table, params, task)
    seconds = time.perf_counter() - began
    _tell(model, task)
    return model, seconds


def _tell(model: Model, task: pooled.Task) -> None:
    """Remarks on how training went."""
    for sentence in task.notes:
        note(sentence)
    kept = model.n_rounds - (task.start.n_rounds if task.start is not None else 0)
    if len(model.history) > kept:
        note(f"Training stopped after {len(model.history)} rounds; the first {kept}, which were best, are kept.")


def _report(model: Model, tables: dict[str, Table], seconds: float, threads: int) -> None:
    """The table at the end: metrics of the rows that were not trained on, or else of the training rows."""
    chosen = [name for name in tables if name != "training"] or [name for name in tables if lies_here(tables[name])]
    if not chosen:
        note("Rows that are read in pieces are not measured on; name others with --valid or --test.")
    found = {name: measured(model, tables[name], threads) if name in chosen else {} for name in tables}
    rows = [
        ["rows", *(str(table.n_rows) for table in tables.values())],
        ["columns", str(len(model.columns))],
        ["trees", str(model.forest.n_trees)],
        ["seconds", f"{seconds:.2f}"],
    ]
    print_grid(["", *(f"{name} rows" for name in tables)], rows + metric_rows(found))
