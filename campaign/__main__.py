"""`python -m campaign`: 0 when every run came through, 1 when not, 2 for wrong usage."""

import argparse
import json
import math
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from rich.console import Console

from campaign import accountant, banks, continuing, decoders, dp_audit, kills, network
from campaign.process import Wrong
from campaign.trials import Options, Part, Trial, print_table
from hedgerow.errors import HedgerowError

PARTS: dict[str, Part] = {
    "parties": kills.parties,
    "driver": kills.driver,
    "passive": kills.passive,
    "active": kills.active,
    "banks": banks.run,
    "continue": continuing.run,
    "network": network.run,
    "decoders": decoders.run,
    "accountant": accountant.run,
    "privacy": dp_audit.run,
}


class Parser(argparse.ArgumentParser):
    """Answers wrong usage with one sentence."""

    def error(self, message: str) -> NoReturn:
        """Says it and ends with 2."""
        self.exit(2, f"{message[0].upper()}{message[1:].rstrip('.')}.\n")


def parser() -> Parser:
    """The options."""
    options = Parser(
        prog="python -m campaign",
        description="Runs of real processes that are disturbed on purpose, and decoders that are lied to.",
    )
    options.add_argument(
        "--kills", type=int, help="how often each kind of party, and who drives, is killed (20; quick: 2)"
    )
    options.add_argument("--minutes", type=float, help="CPU-minutes of mutated wire forms (10; quick: 1)")
    options.add_argument("--seed", type=int, default=0, help="of the instants and of who is killed")
    options.add_argument("--quick", action="store_true", help="small runs, few trials; some minutes")
    options.add_argument("--parts", default=",".join(PARTS), help="only these: %(default)s")
    options.add_argument("--json", type=Path, help="also write all trials to this file")
    options.add_argument("--keep", type=Path, help="keep the runs' folders here; it must not exist yet")
    return options


def asked(options: Parser, given: argparse.Namespace) -> list[str]:
    """The parts asked for, or one sentence about what is wrong."""
    names = list(given.parts.split(","))
    if unknown := [name for name in names if name not in PARTS]:
        options.error(f"there is no part {unknown[0]!r}: choose from {', '.join(PARTS)}")
    if given.kills is not None and given.kills < 1:
        options.error("--kills must be at least 1")
    if given.minutes is not None and not 0 < given.minutes < math.inf:
        options.error("--minutes must be more than 0")
    if given.seed < 0:
        options.error("--seed must be at least 0")
    if given.json and not given.json.absolute().parent.is_dir():
        options.error(f"there is no folder for {given.json}")
    if given.keep and given.keep.exists():
        options.error(f"{given.keep} exists already")
    return names


def run(names: list[str], options: Options) -> list[Trial]:
    """All trials, each printed when it is over."""
    trials = []
    for name in names:
        for trial in _tried(name, options):
            print(trial.line, flush=True)
            trials.append(trial)
    return trials


def _tried(name: str, options: Options) -> Iterator[Trial]:
    """The trials of a part; one more if not even the undisturbed run came through."""
    try:
        yield from PARTS[name](options)
    except (Wrong, HedgerowError) as error:
        yield Trial(name, "the undisturbed run", wrong=str(error))


def main() -> int:
    """Runs what was asked for and says how it went."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    options = parser()
    given = options.parse_args()
    names, quick = asked(options, given), given.quick
    with tempfile.TemporaryDirectory(prefix="hedgerow-campaign-") as beside:
        folder = given.keep or Path(beside) / "runs"
        count, minutes = given.kills or (2 if quick else 20), given.minutes or (1 if quick else 10)
        limit, away = (120, 1) if quick else (240, 5)
        try:
            trials = run(names, Options(folder, count, given.seed, quick, limit, away, minutes))
        except KeyboardInterrupt:
            return 130
    console = Console(width=None if sys.stdout.isatty() else 120)
    print_table(trials, console)
    decoders.print_coverage(trials, console)
    if given.json:
        given.json.write_text(json.dumps([trial.as_json() for trial in trials], indent=2) + "\n")
    return 1 if any(trial.wrong for trial in trials) else 0


if __name__ == "__main__":
    sys.exit(main())
