"""`hedgerow baselines`: whether hybrid training pays, where all parties' tables lie here."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from hedgerow.commands import options as opt
from hedgerow.commands.print_tables import check_writable, note, print_grid
from hedgerow.model.file import write_whole
from hedgerow.run.file.hybrid_sample import sample
from hedgerow.run.file.read import open_run
from hedgerow.run.simulation import hybrid_baselines
from hedgerow.run.simulation.hybrid_baselines import BASELINES, ENDS, QUESTION, check_words, recovered
from hedgerow.threads import threads_of

TWO, USUAL = "two-party", ",".join(QUESTION)

Run = Annotated[Path, typer.Argument(help="Run file in TOML, of method hybrid.", show_default=False)]
Words = Annotated[
    str,
    typer.Option(metavar="A,B", help=f"What is trained and measured, of {', '.join(BASELINES)}."),
]
Json = Annotated[
    Path | None,
    typer.Option("--json", help="Also write every figure here; a file that exists is overwritten.", show_default=False),
]


def baselines(run: Run, words: Words = USUAL, json_: Json = None, n_jobs: opt.Jobs = None) -> None:
    """Compare hybrid training with the active party alone and with all tables pooled, all parties being here."""
    if json_ is not None:
        check_writable(json_)
    asked = [word.strip() for word in words.split(",")]
    check_words(asked)
    described = open_run(run, files=True)
    taken = sample(described)
    for sentence in (*described.notes, *taken.notes):
        note(sentence)
    threads = threads_of(n_jobs)
    found = hybrid_baselines.baselines(
        taken.training, taken.test, asked, described.params, goal=described.goal, method=taken.method, threads=threads,
        tell=lambda sentence: typer.echo(sentence, err=True),
    )  # fmt: skip
    print_grid([f"{taken.test.active.n_rows} {taken.rows} rows", *_metrics(found)], _lines(_in_short(found), "{:.5g}"))
    shares = recovered(found) if set(ENDS) <= set(found) else {}
    if shares:
        _print_shares(shares)
    if json_ is not None:
        report = {"run": described.name, "rows": taken.rows, "metrics": found, "recovered": shares}
        write_whole(json_, (json.dumps(report, indent=2) + "\n").encode())


def _in_short(found: Mapping[str, Mapping[str, float]]) -> dict[str, Mapping[str, float]]:
    """The figures, but of all two-party ones the least and the most."""
    short: dict[str, Mapping[str, float]] = {}
    two = [figures for name, figures in found.items() if name.startswith(TWO)]
    for name, figures in found.items():
        if not name.startswith(TWO):
            short[name] = figures
        elif f"{TWO}, least" not in short:
            for word, pick in (("least", min), ("most", max)):
                short[f"{TWO}, {word}"] = {metric: pick(one[metric] for one in two) for metric in figures}
    return short


def _print_shares(shares: Mapping[str, Mapping[str, float]]) -> None:
    """The share of the gap between alone and pooled that each closes, metric by metric."""
    between = {name: figures for name, figures in _in_short(shares).items() if name not in ENDS}
    if not shares[ENDS[0]]:
        typer.echo("\nPooled is no better than alone in any metric: there is no gap to close.")
    elif between:
        typer.echo()
        print_grid(["share of the gap", *_metrics(shares)], _lines(between, "{:.0%}"))


def _metrics(found: Mapping[str, Mapping[str, float]]) -> list[str]:
    return list(next(iter(found.values())))


def _lines(found: Mapping[str, Mapping[str, float]], form: str) -> list[list[str]]:
    return [[name, *(form.format(value) for value in figures.values())] for name, figures in found.items()]
