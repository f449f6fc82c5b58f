"""Mutated wire forms for the decoders of every cipher: each is refused by name or of use, and nothing crashes."""

import functools
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from campaign.fuzz import CIPHERS, DECODERS, Counted
from campaign.mutations import MUTATIONS
from campaign.process import Wrong
from campaign.trials import Options, Trial, tried

PART = "decoders"
REPOSITORY = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class DecoderTrial(Trial):
    """One decoder, and what became of its inputs."""

    counted: Counted | None = None


def run(options: Options) -> Iterator[Trial]:
    """Every decoder of every cipher, for its share of the CPU-minutes."""
    seconds = 60 * options.minutes / (len(CIPHERS) * len(DECODERS))
    for cipher in CIPHERS:
        for decoder in DECODERS:
            what = f"{cipher}, {decoder}"
            yield tried(Trial(PART, what), functools.partial(trial, cipher, decoder, seconds, options))


def trial(cipher: str, decoder: str, seconds: float, options: Options) -> DecoderTrial:
    """One decoder in a process of its own; an input at which that ends stays in the trial's folder."""
    folder = options.folder / PART / f"{cipher}-{decoder}"
    folder.mkdir(parents=True)
    words = [sys.executable, "-m", "campaign.fuzz", cipher, decoder, str(seconds), str(options.seed), str(folder)]
    counted = Counted(**json.loads(_output(words, folder, 10 * seconds + options.limit)))
    told = ", ".join(f"{sum(counts.values())} {name}" for name, counts in _totals(counted))
    return DecoderTrial(PART, f"{cipher}, {decoder}: {told}", wrong="; ".join(counted.wrong), counted=counted)


def _output(words: list[str], folder: Path, limit: float) -> str:
    """What the process printed; it must end by itself, in time and well."""
    with (folder / "said").open("w") as said:
        try:
            done = subprocess.run(
                words, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=said, text=True, check=False, timeout=limit
            )
        except subprocess.TimeoutExpired:
            raise Wrong(f"no end after {limit:.0f} s; the last input is last.bin in {folder.name}") from None
    if done.returncode:
        raise Wrong(f"the process ended with {done.returncode}; its last input is last.bin in {folder.name}")
    return done.stdout


def _totals(counted: Counted) -> Iterator[tuple[str, dict[str, int]]]:
    for each in fields(counted):
        if each.name != "wrong":
            yield each.name.replace("_", " "), getattr(counted, each.name)


def print_coverage(trials: list[Trial], console: Console) -> None:
    """How many inputs each kind of mutation gave, over all decoders, and what became of them."""
    of = [trial.counted for trial in trials if isinstance(trial, DecoderTrial) and trial.counted]
    if not of:
        return
    headings = [name for name, _ in _totals(of[0])]
    table = Table("mutation", *headings, box=box.SIMPLE)
    for mutation in MUTATIONS:
        counts = [sum(dict(_totals(each))[name].get(mutation, 0) for each in of) for name in headings]
        table.add_row(mutation, *map(str, counts))
    console.print(table)
