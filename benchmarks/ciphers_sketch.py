"""A built sketch of the lattice scheme, where one is at hand: one tree's seconds and bytes, by its own clock.

It is a Cargo project; its program takes rows, columns, bins, threads and merges, and prints `tree: X s, Y MB`. It seals
one channel, floods less than a run needs and checks nothing that comes in.
"""

import re
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

SAID = re.compile(r"^tree: ([0-9.]+) s, ([0-9.]+) MB$", re.MULTILINE)


@dataclass(frozen=True)
class Sketch:
    """A program that was built."""

    program: Path

    def tree(self, rows: int, columns: int, bins: int, threads: int, merges: int) -> tuple[float, float]:
        """Seconds and megabytes of one tree."""
        words = [str(each) for each in (self.program, rows, columns, bins, threads, merges)]
        said = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
        found = SAID.search(said)
        if not found:
            raise ValueError("the sketch did not say what a tree takes")
        return float(found[1]), float(found[2])


def find(folder: Path) -> Sketch | None:
    """The program of a Cargo project that was built for release; None where there is none."""
    manifest = folder / "Cargo.toml"
    if not manifest.is_file():
        return None
    name = tomllib.loads(manifest.read_text())["package"]["name"]
    program = folder / "target" / "release" / str(name)
    return Sketch(program) if program.is_file() else None
