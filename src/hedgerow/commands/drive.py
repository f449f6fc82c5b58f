"""`hedgerow drive`: a run of real parties, driven from here."""

import typer

from hedgerow.commands import log
from hedgerow.commands import options as opt
from hedgerow.commands.print_tables import note, print_grid
from hedgerow.commands.progress_bar import live
from hedgerow.commands.runs import print_bytes, resumable, written_as
from hedgerow.errors import ParameterError
from hedgerow.identity.identity import Identity
from hedgerow.run.file.read import open_run
from hedgerow.run.folder.folder import MODEL
from hedgerow.run.real.all_runs import AllRuns
from hedgerow.run.real.connect import Options
from hedgerow.run.real.own_tables import Own
from hedgerow.run.real.train import train
from hedgerow.threads import short_turns, threads_of


def drive(
    context: typer.Context,
    run_file: opt.RunPath,
    cert: opt.Certificate,
    key: opt.Key,
    data: opt.ActiveData = None,
    valid: opt.OwnValid = None,
    ignore: opt.Ignore = None,
    delimiter: opt.Delimiter = None,
    decimal: opt.Decimal = None,
    policy: opt.ActivePolicy = None,
    folder: opt.Folder = None,
    ledger: opt.LedgerPath = None,
    resume: opt.Resume = False,
    n_jobs: opt.Jobs = None,
    quiet: log.Quiet = False,
    log_file: log.LogFile = None,
    log_format: log.Format = log.LogFormat.TEXT,
) -> None:
    """Drive a run of real parties, which dial in; of a vertical run, as the active party with its own data."""
    context.with_resource(log.log_to(quiet, log_file, log_format))
    run, identity = written_as(open_run(run_file), ignore, delimiter, decimal), Identity.load(cert, key)
    if valid is not None and data is None:
        raise ParameterError("--valid goes with --data, the active party's own rows; add that, or leave it out.")
    if data is None and (policy is not None or ledger is not None):
        raise ParameterError("--policy and --ledger go with --data, the active party's own rows; leave them out.")
    all_runs = AllRuns.of(policy, ledger, key)
    for sentence in run.notes:
        note(sentence)
    place = folder or run.folder
    with resumable(place, kept=True), short_turns(), live(run.params.n_estimators) as shown:
        options = Options(folder, resume, threads_of(n_jobs), shown.after_tree, shown.say)
        driven = train(run, identity, options, None if data is None else Own(data, valid), all_runs)
    rows = [["columns", str(len(driven.model.columns))], ["trees", str(driven.model.forest.n_trees)]]
    if driven.model.metric is not None and driven.model.history:
        rows.append([driven.model.metric, f"{driven.model.history[driven.model.n_rounds - 1]:.5g}"])
    print_grid(["", "validation rows" if len(rows) > 2 else "model"], [*rows, ["seconds", f"{driven.seconds:.2f}"]])
    print_bytes(driven.bytes)
    typer.echo(f"folder: {place}")
    typer.echo(f"model: {place / MODEL}")
