"""A data owner's ledgers, which lie beside its key: what it counts over all its runs."""

from pathlib import Path
from typing import Annotated

import typer

from hedgerow.agreement.policy import AnswerLimits, Policy
from hedgerow.commands.print_tables import note, print_grid
from hedgerow.errors import RunError
from hedgerow.privacy.ledger import run_in
from hedgerow.privacy.lifetime import LifetimeLimit, OwnerBudget, budgets_in, total_of
from hedgerow.privacy.promise import at_most
from hedgerow.protocols.session.answer_ledger import AnswerLedger, AnswerTotals, answers_beside
from hedgerow.protocols.session.owner_ledger import MOST_WRONG, Ledger
from hedgerow.run.file.policy import read_policy
from hedgerow.run.folder.ledger_file import existing_log
from hedgerow.storage.audit import AuditLog
from hedgerow.storage.shared_records import is_shared_records

File = Annotated[Path, typer.Argument(help="A ledger, or the audit log of a run.", show_default=False)]
Answers = Annotated[Path, typer.Argument(help="A ledger of answers.", show_default=False)]
Id = Annotated[
    str | None, typer.Option("--id", help="Show what is counted of this id alone.", show_default=False, metavar="ID")
]
Rules = Annotated[
    Path | None,
    typer.Option("--policy", help="Own rules (.toml), whose limits are shown; without them, the strictest."),
]
RunLog = Annotated[Path, typer.Argument(help="The audit log of a run.", show_default=False, metavar="LOG")]
Days = Annotated[
    int, typer.Option("--days", min=1, help="Keep answers of this many days: the longest answer_days of any policy.")
]


def show(file: File, one: Id = None, policy: Rules = None) -> None:
    """Show how often wrong hashes of rows were heard, rows of each model predicted, and answers about ids given.

    What runs with differential privacy tell of a row together is shown as well. A ledger of answers beside the ledger,
    or named itself, is shown too; its ids are hashes, which nothing turns back.
    """
    rules = Policy() if policy is None else read_policy(policy)
    limits = rules.answer_limits
    answers = file if is_shared_records(file) else answers_beside(file)
    if one is not None and not answers.exists():
        raise RunError(f"There is no ledger of answers {answers}; name the one beside the owner's key.")
    if one is None and answers != file:
        _show_log(file, rules)
    if answers.exists():
        ledger = AnswerLedger(answers, limits)
        _show_answers(ledger) if one is None else _show_id(ledger, one)
        ledger.close()


def _show_log(file: Path, rules: Policy) -> None:
    log = existing_log(file)
    ledger = Ledger(log)
    rows = [["wrong hashes of rows", "", f"{ledger.wrong} of {MOST_WRONG}"]]
    rows += [["rows predicted", model, f"{n:,}"] for model, n in ledger.predicted.items()]
    print_grid(["counted", "model", "number"], rows, n_names=2)
    _show_releases(log, rules)
    log.close()


def _show_releases(log: AuditLog, rules: Policy) -> None:
    """What the runs of each budget tell of a row together."""
    limit, budgets = rules.lifetime, budgets_in(log)
    if not budgets:
        return
    rows = []
    for name, runs in budgets.items():
        found = total_of(runs, limit.delta)
        most = f" of {limit.epsilon:g}" if limit.epsilon is not None and name == limit.budget else ""
        rows.append([name or "(all runs without a name)", found.unit, f"{found.runs:,}", f"{found.open_runs:,}",
                     f"{at_most(found.epsilon)}{most}"])  # fmt: skip
    print_grid(["budget", "unit", "runs", "not over", "epsilon"], rows, n_names=2)
    note(f"The epsilon is at a delta of {limit.delta:g}, of all runs together; a run that is not over counts with all "
         "it has planned, since it could be resumed.")  # fmt: skip


def _show_answers(ledger: AnswerLedger) -> None:
    found = ledger.summary()
    rows = [_cells(name, one) for name, one in found.by_model.items()]
    print_grid(["model", "ids", "answers", "bits", "most about an id", "bits about it"],
               [*rows, _cells("all", found.total)])  # fmt: skip
    note(f"Each id may be answered {_allowed(found.limits)}.")


def _show_id(ledger: AnswerLedger, one: str) -> None:
    found = ledger.counted(one)
    rows = [[name, f"{of.answers:,}", f"{of.bits:,.6g}"] for name, of in found.items()]
    answers, bits = sum(of.answers for of in found.values()), sum(of.bits for of in found.values())
    print_grid(["model", "answers", "bits"], [*rows, ["all", f"{answers:,}", f"{bits:,.6g}"]])
    note(f"Each id may be answered {_allowed(ledger.limits)}; whether it is in a table is not counted.")


def _cells(name: str, of: AnswerTotals) -> list[str]:
    return [name, f"{of.ids:,}", f"{of.answers:,}", f"{of.bits:,.10g}", f"{of.most_answers:,}", f"{of.most_bits:,.6g}"]


def _allowed(limits: AnswerLimits) -> str:
    return f"{limits.most_answers} times in {limits.days} days, with at most {limits.most_bits} bits"


def reset_guesses(file: File) -> None:
    """Let the owner's parties answer again after wrong hashes of their rows; the reset stays in the ledger."""
    log = existing_log(file)
    n = Ledger(log).reset_guesses()
    log.close()
    typer.echo(f"reset: {n} wrong hash{'es' * (n != 1)} forgotten, noted in {file}")
    note("Wrong hashes come from other rows or another order at the active party, or from one that tries out ids. Ask "
         "which before the next run.")  # fmt: skip


def end_run(file: File, log: RunLog) -> None:
    """Let a run that was stopped for good count with what it has released, not with all that it had planned.

    Its log says what that was. If it is resumed all the same, it counts with all of its plan again.
    """
    run_log = existing_log(log)
    id_, made = run_in(run_log)
    run_log.close()
    if not id_:
        raise RunError(f"{log} is of a run that has never begun to release noised sums; there is nothing to end.")
    owner = existing_log(file)
    OwnerBudget(owner, LifetimeLimit()).end(id_, made)
    owner.close()
    n = sum(release.times for release in made)
    typer.echo(f"ended: the run counts with {n:,} release{'s' * (n != 1)}, noted in {file}")


def compact(file: Answers, days: Days) -> None:
    """Remove answers that are older than any policy of this owner counts from a ledger of answers."""
    if not is_shared_records(file):
        raise RunError(f"{file} is no ledger of answers; name the one beside the owner's key that ends in .answers.")
    ledger = AnswerLedger(file, AnswerLimits(1, days, 1))
    n = ledger.compact()
    ledger.close()
    typer.echo(f"removed: {n:,} answers about ids, older than {days} days")


COMMANDS = (show, reset_guesses, end_run, compact)
