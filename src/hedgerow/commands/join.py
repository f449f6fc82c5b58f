"""`hedgerow join`: take part in a run of real parties."""

import typer

from hedgerow.agreement.policy import Policy
from hedgerow.commands import log
from hedgerow.commands import options as opt
from hedgerow.commands.progress_bar import live
from hedgerow.commands.runs import written_as
from hedgerow.identity.identity import Identity
from hedgerow.run.file.policy import read_policy
from hedgerow.run.file.read import open_run
from hedgerow.run.folder.folder import PART
from hedgerow.run.folder.ledger_file import ledger_beside
from hedgerow.run.real import join as real_join
from hedgerow.run.real.connect import Options
from hedgerow.run.real.own_tables import Own
from hedgerow.threads import short_turns, threads_of


def join(
    context: typer.Context,
    run_file: opt.RunPath,
    name: opt.Name,
    data: opt.OwnData,
    cert: opt.Certificate,
    key: opt.Key,
    valid: opt.OwnValid = None,
    ignore: opt.Ignore = None,
    delimiter: opt.Delimiter = None,
    decimal: opt.Decimal = None,
    policy: opt.PolicyFile = None,
    folder: opt.Folder = None,
    ledger: opt.LedgerPath = None,
    n_jobs: opt.Jobs = None,
    quiet: log.Quiet = False,
    log_file: log.LogFile = None,
    log_format: log.Format = log.LogFormat.TEXT,
) -> None:
    """Take part in a run with own rows, which never leave; started again, it goes on where it was."""
    context.with_resource(log.log_to(quiet, log_file, log_format))
    run, rules = open_run(run_file), Policy() if policy is None else read_policy(policy)
    run = written_as(run, ignore, delimiter, decimal)
    counts = ledger or ledger_beside(key)
    own = real_join.Joining(name, Own(data, valid), Identity.load(cert, key), rules, counts)
    with short_turns(), live(run.params.n_estimators, bar=False) as shown:
        place = real_join.join(run, own, Options(folder, threads=threads_of(n_jobs), say=shown.say))
    typer.echo(f"folder: {place}")
    file = real_join.kept_file(run)
    typer.echo(f"{'part' if file == PART else 'model'}: {place / file}")
