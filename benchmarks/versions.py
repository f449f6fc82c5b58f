"""Hedgerow beside another version of itself: `python -m benchmarks.versions OTHER_PYTHON`; 0 when every bar is reached.

Both run the same jobs in processes of their own, in turns, so that what else the machine does touches both alike.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console

from benchmarks.rows import RatioAtMost, Row, all_ok, print_table

TURNS = 11
BAR = RatioAtMost(1.10)


class Version:
    """A process of one version."""

    def __init__(self, python: str) -> None:
        jobs = Path(__file__).parent / "version_jobs.py"
        self.process = subprocess.Popen(
            [python, str(jobs)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=jobs.parent
        )
        self.names: list[str] = self._line()

    def _line(self) -> Any:
        assert self.process.stdout is not None  # noqa: S101  # it was asked for
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("A version ended before its jobs did; see what it printed above.")
        return json.loads(line)

    def run(self, name: str) -> dict[str, float]:
        """The seconds of one job, and those of proofs among them."""
        assert self.process.stdin is not None  # noqa: S101  # it was asked for
        print(name, file=self.process.stdin, flush=True)
        took: dict[str, float] = self._line()
        return took


def compared(name: str, ours: Version, other: Version, turns: int) -> list[Row]:
    """Medians of a job without proofs, side by side, and the median of the turns' ratios; the proofs apart."""
    ours.run(name), other.run(name)
    pairs = [(ours.run(name), other.run(name)) for _ in range(turns)]
    bare = [[took["seconds"] - took["proofs"] for took in pair] for pair in pairs]
    ratio, seconds = median(a / b for a, b in bare), median(b for _, b in bare)
    rows = [Row(name, "generated", ratio * seconds, seconds, BAR)]
    proofs = median(pair[0]["proofs"] for pair in pairs)
    return rows if not proofs else [*rows, Row(f"{name}: proofs", "generated", proofs)]


def main() -> int:
    """Compares what was asked for."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.versions", description="This version beside another.")
    options.add_argument("other", help="the Python of an environment that has the other version installed")
    options.add_argument("--turns", type=int, default=TURNS)
    options.add_argument("--jobs", default="", help="names, with commas between; without any, all")
    given = options.parse_args()
    ours, other = Version(sys.executable), Version(given.other)
    names = given.jobs.split(",") if given.jobs else ours.names
    rows = [row for name in names for row in compared(name, ours, other, given.turns)]
    print_table("seconds: this version beside the other", rows, Console(width=None if sys.stdout.isatty() else 120))
    return 0 if all_ok(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
