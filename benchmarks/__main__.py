"""`python -m benchmarks NAME`: runs one benchmark; 0 when every bar is reached, 1 when not, 2 for wrong usage."""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn

from rich.console import Console

from benchmarks import pooled
from benchmarks.machine import describe_machine
from benchmarks.rows import Row, all_ok, print_table
from benchmarks.seats import SEATS, can_sit
from benchmarks.sets import SETS
from benchmarks.settings import Request, Settings


@dataclass(frozen=True)
class Benchmark:
    """What runs, and on which sets unless a run names its own."""

    run: Callable[[Request], Iterator[Row]]
    full: tuple[str, ...]
    quick: tuple[str, ...]


BENCHMARKS = {"pooled": Benchmark(pooled.run, pooled.FULL, pooled.QUICK)}

BUSY_CORES = 0.15  # the clock ticks of a short fit alone look like .1


class Parser(argparse.ArgumentParser):
    """Answers wrong usage with one sentence."""

    def error(self, message: str) -> NoReturn:
        """Says it and ends with 2."""
        self.exit(2, f"{message[0].upper()}{message[1:].rstrip('.')}.\n")


def parser() -> Parser:
    """The options every benchmark takes."""
    options = Parser(prog="python -m benchmarks", description="Hedgerow beside its peers.")
    options.add_argument("benchmark", help=", ".join(BENCHMARKS))
    options.add_argument("--quick", action="store_true", help="fewer and smaller sets, one pair of runs each")
    options.add_argument("--json", type=Path, metavar="FILE", help="also write the rows to FILE")
    options.add_argument("--sets", metavar="A,B", help=f"of: {', '.join(SETS)}")
    options.add_argument("--threads", type=positive, default=2, metavar="N")
    options.add_argument("--bins", type=positive, default=64, metavar="N")
    options.add_argument("--ours", choices=SEATS, default="hedgerow", help="xgboost here shows the noise of a run")
    return options


def positive(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def asked(options: Parser, given: argparse.Namespace) -> Request:
    """The run asked for, or one sentence about what is wrong with it."""
    if given.benchmark not in BENCHMARKS:
        options.error(f"there is no benchmark {given.benchmark!r}: choose from {', '.join(BENCHMARKS)}")
    if given.json and not given.json.absolute().parent.is_dir():
        options.error(f"there is no folder for {given.json}")
    settings = Settings(bins=given.bins, threads=given.threads)
    request = Request(settings, chosen_sets(options, given), given.quick, given.ours)
    for learner in (request.ours, request.peer):
        if not can_sit(learner):
            options.error(f"{learner} is not installed here with its scikit-learn face (or pass --ours xgboost)")
    return request


def chosen_sets(options: Parser, given: argparse.Namespace) -> tuple[str, ...]:
    """The sets the run covers."""
    benchmark = BENCHMARKS[given.benchmark]
    usual = benchmark.quick if given.quick else benchmark.full
    names = usual if given.sets is None else tuple(given.sets.split(","))
    if unknown := [name for name in names if name not in SETS]:
        options.error(f"there is no data set {unknown[0]!r}: choose from {', '.join(SETS)}")
    return present(names) or options.error("none of the sets asked for is at hand")


def present(names: tuple[str, ...]) -> tuple[str, ...]:
    """The sets whose files are there; the others are left out with one sentence."""
    absent = [name for name in names if not SETS[name].at_hand]
    if absent:
        print(f"Left out, not in the data folder (HEDGEROW_DATA): {', '.join(absent)}.", file=sys.stderr)
    return tuple(name for name in names if name not in absent)


def collect(benchmark: str, request: Request) -> list[Row]:
    """All rows; a terminal shows which came last."""
    rows = []
    with Console(stderr=True).status(benchmark) as status:
        for row in BENCHMARKS[benchmark].run(request):
            rows.append(row)
            status.update(f"{benchmark}, after {row.name}")
    return rows


def as_json(request: Request, rows: list[Row]) -> dict[str, Any]:
    """The whole run in the form kept in files."""
    settings = asdict(request)
    settings |= settings.pop("settings")
    return {"machine": describe_machine(), "settings": settings, "rows": [row.as_json() for row in rows]}


def warn_if_busy(rows: list[Row]) -> None:
    """One sentence when others took so much of the machine that seconds cannot be compared."""
    busiest = max((row.others for row in rows if row.others is not None), default=0.0)
    if busiest > BUSY_CORES:
        print(
            f"Others kept {busiest:.1f} cores busy: run again on a quiet machine to compare seconds.", file=sys.stderr
        )


def main() -> int:
    """Runs what was asked for and says how it went."""
    options = parser()
    given = options.parse_args()
    request = asked(options, given)
    rows = collect(given.benchmark, request)
    print_table(
        f"{given.benchmark}: {request.ours} beside {request.peer}",
        rows,
        Console(width=None if sys.stdout.isatty() else 120),
    )
    warn_if_busy(rows)
    if given.json:
        given.json.write_text(json.dumps(as_json(request, rows), indent=2) + "\n")
    return 0 if all_ok(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
