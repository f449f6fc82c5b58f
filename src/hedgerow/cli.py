"""The command line: `hedgerow train | drive | join | predict | evaluate | show | explain | disclose | plan | ...`.

Exit codes: 0 fine, 1 an audit log or an opening does not hold, 2 wrong usage, 3 data, model or parameters refused, 4
an audit log to verify cannot be read, 70 a fault of hedgerow's own, 130 stopped by Ctrl-C, 141 the reader of stdout
went away.
"""

import contextlib
import gc
import os
import sys
import traceback
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

import hedgerow
from hedgerow.commands import audit, certs, ledger, log
from hedgerow.commands.baselines import baselines
from hedgerow.commands.check import check
from hedgerow.commands.drive import drive
from hedgerow.commands.init import init
from hedgerow.commands.join import join
from hedgerow.commands.model_commands import MODEL_COMMANDS
from hedgerow.commands.option_names import in_options
from hedgerow.commands.plan import plan
from hedgerow.commands.train import train
from hedgerow.errors import HedgerowError
from hedgerow.report.tree_text import plain

REFUSED, FAULT, STOPPED, NO_READER = 3, 70, 130, 141


class _Command(TyperCommand):
    """A command whose failures are one sentence and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run it."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except typer.Exit:
            raise
        except (Exception, KeyboardInterrupt) as error:
            code, sentence = _failure(error)
            if ctx.find_root().params.get("traceback"):
                traceback.print_exc()
            if sentence:
                log.current().failed(sentence)
                typer.echo(f"hedgerow: {plain(sentence)}", err=True)
            raise typer.Exit(code) from None
        return result


def _failure(error: BaseException) -> tuple[int, str]:
    """The exit code and the sentence for what went wrong."""
    if isinstance(error, KeyboardInterrupt):
        _let_go_of_interrupt()
        return STOPPED, "Stopped. No partial file was left."
    if isinstance(error, BrokenPipeError):
        _let_go_of_stdout()
        return NO_READER, ""
    if isinstance(error, HedgerowError):
        return REFUSED, in_options(error.sentence)
    if isinstance(error, OSError) and error.strerror and error.filename:
        return REFUSED, f"{error.filename}: {error.strerror}."
    kind = type(error).__name__
    return FAULT, f"An unexpected {kind} ended this; run 'hedgerow --traceback ...' to see where, and report it."


def _let_go_of_interrupt() -> None:
    """Run code made from a string: if the interrupt once left such code, Python would end by the signal, not our code.

    Libraries make classes from strings while they are loaded.
    """
    exec("")  # noqa: S102  # nothing is run


def _let_go_of_stdout() -> None:
    """Point stdout nowhere, so that Python's own flush at exit does not complain."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"hedgerow {hedgerow.__version__}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", help="Print the version and end.", callback=_print_version, is_eager=True)
]
Traceback = Annotated[bool, typer.Option("--traceback", help="Show where in the code a failure happened.")]

HELP = {"help_option_names": ["-h", "--help"]}
app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, context_settings=HELP)
for _command in (train, init, check, drive, join, *MODEL_COMMANDS, plan, baselines):
    app.command(cls=_Command)(_command)
for _group in (certs, audit, ledger):
    _commands = typer.Typer(no_args_is_help=True, help=_group.__doc__, context_settings=HELP)
    for _command in _group.COMMANDS:
        _commands.command(cls=_Command)(_command)
    app.add_typer(_commands, name=_group.__name__.rpartition(".")[2])


@app.callback()
def _options(version: Version = False, traceback: Traceback = False) -> None:  # `_Command` reads the second
    """Gradient-boosted trees and random forests for data that several organisations hold and none may share."""


def main() -> None:
    """Run the command line."""
    gc.freeze()  # nothing that was loaded is garbage; else Python looks through all of it again as it ends
    app(prog_name="hedgerow")
