"""`python -m benchmarks NAME`: runs one benchmark; 0 when every bar is reached, 1 when not, 2 for wrong usage."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NoReturn, Protocol

from rich.console import Console

from benchmarks import (
    ciphers_layouts,
    ciphers_paillier,
    ciphers_slots,
    ciphers_sweep,
    ciphers_tree,
    dp_accuracy,
    dp_methods,
    dp_noise,
    dp_table4,
    dp_time,
    dp_vertical,
    gradient_bits,
    horizontal_parties,
    horizontal_tables,
    horizontal_time,
    hybrid_figures,
    hybrid_gap,
    hybrid_link,
    hybrid_meta,
    hybrid_predict,
    hybrid_size,
    hybrid_tables,
    hybrid_time,
    many_parties,
    pooled,
    sealed_blur,
    sealed_link,
    sealed_memory,
    sealed_paillier,
    sealed_sweep,
    sealed_tables,
    sealed_warm,
    vertical_bins,
    vertical_labels,
    vertical_link,
    vertical_size,
    vertical_tables,
    vertical_time,
)
from benchmarks.ciphers_shapes import EVERY as CIPHER_SHAPES
from benchmarks.dp_sets import SETS as DP_SETS
from benchmarks.horizontal_rows import print_sheets
from benchmarks.horizontal_sets import SETS as HORIZONTAL_SETS
from benchmarks.hybrid_sets import SETS as HYBRID_SETS
from benchmarks.machine import describe_machine
from benchmarks.results import command as results
from benchmarks.rows import Row, all_ok, print_table
from benchmarks.sealed_sets import EVERY as SEALED_SETS
from benchmarks.seats import SEATS, can_sit
from benchmarks.sets import SETS
from benchmarks.settings import Request, Settings


class Named(Protocol):
    """A data set, or the sizes of a generated one."""

    @property
    def at_hand(self) -> bool:
        """Whether all its files are there."""


@dataclass(frozen=True)
class Part:
    """A part of a benchmark: what runs, on which sets unless a run names its own, and how its rows are shown."""

    title: str
    run: Callable[[Request], Iterator[Row]]
    full: tuple[str, ...]
    quick: tuple[str, ...]
    sets: Mapping[str, Named]
    show: Callable[[str, list[Row], Console], None] = print_table
    learners: bool = True
    """Whether it trains, ours and the peer."""


def many_parties_part(mode: str) -> Part:
    """Table 8 of one mode."""
    run, sets = many_parties.MODES[mode].run, HORIZONTAL_SETS
    return Part(mode, run, many_parties.FULL, many_parties.QUICK, sets, print_sheets, learners=False)


BENCHMARKS = {
    "pooled": {"all": Part("pooled: {ours} beside {peer}", pooled.run, pooled.FULL, pooled.QUICK, SETS)},
    "horizontal": {
        "tables": Part(
            "horizontal",
            horizontal_tables.run,
            horizontal_tables.FULL,
            horizontal_tables.QUICK,
            HORIZONTAL_SETS,
            print_sheets,
        ),
        "time": Part(
            "horizontal: masked parties beside pooled training and {peer}",
            horizontal_time.run,
            horizontal_time.FULL,
            horizontal_time.QUICK,
            HORIZONTAL_SETS,
        ),
        "parties": Part(
            "horizontal",
            horizontal_parties.run,
            horizontal_parties.FULL,
            horizontal_parties.QUICK,
            HORIZONTAL_SETS,
            print_sheets,
        ),
        "many": many_parties_part("horizontal"),
    },
    "vertical": {
        "tables": Part(
            "vertical",
            vertical_tables.run,
            vertical_tables.FULL,
            vertical_tables.QUICK,
            HORIZONTAL_SETS,
            print_sheets,
            learners=False,
        ),
        "time": Part(
            "vertical: lattice encryption beside {peer}, Paillier and none",
            vertical_time.run,
            vertical_time.FULL,
            vertical_time.QUICK,
            HORIZONTAL_SETS,
        ),
        **{
            name: Part("vertical", part.run, part.FULL, part.QUICK, part.SETS, print_sheets, learners=False)
            for name, part in (
                ("size", vertical_size),
                ("labels", vertical_labels),
                ("bins", vertical_bins),
                ("link", vertical_link),
            )
        },
        "many": many_parties_part("vertical"),
    },
    "hybrid": {
        **{
            name: Part("hybrid", table.run, table.full, table.quick, HYBRID_SETS, print_sheets, learners=False)
            for name, table in hybrid_tables.TABLES.items()
        },
        **{
            name: Part("hybrid", part.run, part.FULL, part.QUICK, part.SETS, print_sheets, learners=False)
            for name, part in (
                ("gap", hybrid_gap),
                ("figures", hybrid_figures),
                ("predict", hybrid_predict),
                ("time", hybrid_time),
                ("link", hybrid_link),
                ("size", hybrid_size),
                ("meta", hybrid_meta),
            )
        },
    },
    "sealed": {
        name: Part(f"sealed{title}", part.run, part.FULL, part.QUICK, part.SETS, show, learners=False)
        for name, title, part, show in (
            ("tables", "", sealed_tables, print_sheets),
            ("sweep", "", sealed_sweep, print_sheets),
            ("blur", "", sealed_blur, print_sheets),
            ("link", "", sealed_link, print_sheets),
            ("paillier", ": lattice encryption beside Paillier", sealed_paillier, print_table),
            ("warm", ": a service on loopback", sealed_warm, print_table),
            ("memory", ": peak memory", sealed_memory, print_table),
        )
    },
    "dp": {
        name: Part(f"differential privacy: {title}", part.run, part.FULL, part.QUICK, part.SETS, show, learners=False)
        for name, title, part, show in (
            ("accuracy", "accuracy", dp_accuracy, print_sheets),
            ("methods", "methods", dp_methods, print_sheets),
            ("time", "seconds beside a run without", dp_time, print_table),
            ("vertical", "vertical models", dp_vertical, print_sheets),
            ("noise", "exact noise beside OpenDP's", dp_noise, print_table),
            ("table4", "FedTree's noise", dp_table4, print_sheets),
        )
    },
    "gradient_bits": {
        "all": Part(
            "gradient bits beside full precision",
            gradient_bits.run,
            gradient_bits.FULL,
            gradient_bits.QUICK,
            SETS,
        )
    },
    "ciphers": {
        name: Part(f"ciphers: {title}", part.run, part.FULL, part.QUICK, part.SETS, show, learners=False)
        for name, title, part, show in (
            ("sweep", "one exchange", ciphers_sweep, print_sheets),
            ("tree", "one tree of six levels", ciphers_tree, print_table),
            ("slots", "sums by slot", ciphers_slots, print_table),
            ("layouts", "sums by slot in coefficients beside lanes", ciphers_layouts, print_table),
            ("paillier", "Paillier of 2048 bits", ciphers_paillier, print_table),
        )
    },
}

Job = tuple[Part, Request]

BUSY_CORES = 0.15  # the clock ticks of a short fit alone look like .1


class Parser(argparse.ArgumentParser):
    """Answers wrong usage with one sentence."""

    def error(self, message: str) -> NoReturn:
        """Says it and ends with 2."""
        self.exit(2, f"{message[0].upper()}{message[1:].rstrip('.')}.\n")


def parser() -> Parser:
    """The options every benchmark takes."""
    options = Parser(prog="python -m benchmarks", description="Hedgerow beside its peers.")
    options.add_argument("benchmark", help=", ".join([*BENCHMARKS, "results (--help tells its own options)"]))
    options.add_argument("--quick", action="store_true", help="fewer and smaller sets, one pair of runs each")
    options.add_argument("--json", type=Path, metavar="FILE", help="also write the rows to FILE")
    known = dict.fromkeys([*HORIZONTAL_SETS, *vertical_size.SIZES, *CIPHER_SHAPES, *SEALED_SETS])
    known |= dict.fromkeys(
        [*vertical_link.SETS, *HYBRID_SETS, *hybrid_size.SETS, *hybrid_meta.SETS, *dp_noise.SETS, *DP_SETS]
    )
    options.add_argument("--sets", metavar="A,B", help=f"of: {', '.join(known)}")
    parted = [f"{name}: {', '.join(parts)}" for name, parts in BENCHMARKS.items() if len(parts) > 1]
    options.add_argument("--parts", metavar="A,B", help=f"of {'; of '.join(parted)}")
    options.add_argument("--threads", type=positive, default=2, metavar="N")
    options.add_argument("--bins", type=positive, default=64, metavar="N")
    sketch = os.environ.get("HEDGEROW_SKETCH")
    options.add_argument("--sketch", type=Path, metavar="FOLDER", default=sketch, help="of ciphers: a built sketch")
    told = "of hybrid's tables: keep what is measured there, seed by seed, and go on from it"
    options.add_argument("--keep", type=Path, metavar="FOLDER", help=told)
    options.add_argument("--ours", choices=SEATS, default="hedgerow", help="xgboost here shows the noise of a run")
    return options


def positive(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def asked(options: Parser, given: argparse.Namespace) -> list[Job]:
    """The parts asked for, each with its sets, or one sentence about what is wrong with them."""
    if given.benchmark not in BENCHMARKS:
        options.error(f"there is no benchmark {given.benchmark!r}: choose from {', '.join(BENCHMARKS)}")
    if given.json and not given.json.absolute().parent.is_dir():
        options.error(f"there is no folder for {given.json}")
    if given.ours != "hedgerow" and given.benchmark != "pooled":
        options.error(f"{given.ours} cannot sit in our seat here: it has no such federation")
    chosen = [(part, chosen_sets(options, given, part)) for part in chosen_parts(options, given)]
    settings = Settings(bins=given.bins, threads=given.threads)
    sketch = given.sketch and Path(given.sketch)
    request = Request(settings, (), given.quick, given.ours, sketch=sketch, keep=given.keep)
    jobs = [(part, replace(request, sets=sets)) for part, sets in at_hand(chosen)]
    if not jobs:
        options.error("none of the sets asked for is at hand")
    for learner in (given.ours, request.peer):
        if any(part.learners for part, _ in jobs) and not can_sit(learner):
            options.error(f"{learner} is not installed here with its scikit-learn face (or pass --ours xgboost)")
    return jobs


def chosen_parts(options: Parser, given: argparse.Namespace) -> list[Part]:
    """The parts the run covers."""
    parts = BENCHMARKS[given.benchmark]
    names = list(parts) if given.parts is None else given.parts.split(",")
    if unknown := [name for name in names if name not in parts]:
        options.error(f"{given.benchmark} has no part {unknown[0]!r}: choose from {', '.join(parts)}")
    return [parts[name] for name in names]


def chosen_sets(options: Parser, given: argparse.Namespace, part: Part) -> tuple[str, ...]:
    """The sets a part covers."""
    usual = part.quick if given.quick else part.full
    names = usual if given.sets is None else tuple(given.sets.split(","))
    if unknown := [name for name in names if name not in part.sets]:
        options.error(f"there is no data set {unknown[0]!r}: choose from {', '.join(part.sets)}")
    return names


def at_hand(chosen: list[tuple[Part, tuple[str, ...]]]) -> list[tuple[Part, tuple[str, ...]]]:
    """The parts with the sets whose files are there; the others are left out with one sentence."""
    absent = dict.fromkeys(name for part, names in chosen for name in names if not part.sets[name].at_hand)
    if absent:
        print(f"Left out, not in the data folder (HEDGEROW_DATA): {', '.join(absent)}.", file=sys.stderr)
    left = [(part, tuple(name for name in names if name not in absent)) for part, names in chosen]
    return [(part, names) for part, names in left if names]


def collect(benchmark: str, part: Part, request: Request) -> list[Row]:
    """All rows; a terminal shows which came last."""
    rows = []
    with Console(stderr=True).status(benchmark) as status:
        for row in part.run(request):
            rows.append(row)
            status.update(f"{benchmark}, after {row.name}")
    return rows


def as_json(requests: list[Request], rows: list[Row]) -> dict[str, Any]:
    """The whole run in the form kept in files."""
    settings = asdict(requests[0])
    settings |= settings.pop("settings")
    settings |= {name: settings[name] is not None for name in ("sketch", "keep")}
    settings["sets"] = list(dict.fromkeys(name for request in requests for name in request.sets))
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
    if sys.argv[1:2] == ["results"]:
        return results.main(sys.argv[2:])
    options = parser()
    given = options.parse_args()
    jobs = asked(options, given)
    console = Console(width=None if sys.stdout.isatty() else 120)
    rows = []
    for part, request in jobs:
        found = collect(given.benchmark, part, request)
        if found:
            part.show(part.title.format(ours=request.ours, peer=request.peer), found, console)
        rows += found
    warn_if_busy(rows)
    if given.json:
        given.json.write_text(json.dumps(as_json([request for _, request in jobs], rows), indent=2) + "\n")
    return 0 if all_ok(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
