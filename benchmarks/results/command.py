"""`python -m benchmarks results`: measures what is not kept yet and writes the pages."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from benchmarks.results.measure import Piece, Wanted, measure, state
from benchmarks.results.pages import write_pages
from benchmarks.results.parts import PARTS
from benchmarks.results.record import Records
from benchmarks.sets import REPOSITORY

PAGES, QUICK_PAGES = REPOSITORY / "docs" / "results", REPOSITORY / "results-quick"
KEPT = REPOSITORY / ".venv" / "results"


class Parser(argparse.ArgumentParser):
    """Answers wrong usage with one sentence."""

    def error(self, message: str) -> NoReturn:
        """Says it and ends with 2."""
        self.exit(2, f"{message[0].upper()}{message[1:].rstrip('.')}.\n")


def parser() -> Parser:
    """The options."""
    options = Parser(prog="python -m benchmarks results", description="The figures of the papers, ours beside theirs.")
    options.add_argument("--parts", metavar="A,B", help=f"of {', '.join(PARTS)}; or the beginning of their names")
    options.add_argument("--sets", metavar="A,B", help="only these sets")
    options.add_argument("--quick", action="store_true", help="small, to see that everything works")
    options.add_argument("--again", action="store_true", help="also what is kept already")
    options.add_argument("--busy", action="store_true", help="also parts with seconds while the machine is busy")
    options.add_argument("--pages", action="store_true", help="measure nothing, write the pages")
    options.add_argument("--list", action="store_true", help="tell what there is, what is kept, and minutes")
    told = "where pages and figures lie; docs/results, with --quick results-quick"
    options.add_argument("--into", type=Path, metavar="FOLDER", help=told)
    return options


def main(words: Sequence[str]) -> int:
    """Does what was asked for."""
    options = parser()
    given = options.parse_args(words)
    sets = None if given.sets is None else tuple(given.sets.split(","))
    wanted = Wanted(chosen(options, given.parts), sets, given.quick, given.again, given.busy, KEPT)
    if not list(wanted.pieces()):
        options.error(f"no part asked for has a set of these: {given.sets}")
    into = given.into or (QUICK_PAGES if given.quick else PAGES)
    records = Records.at(into / "data")
    if given.list:
        tell(wanted, records)
        return 0
    failed = [] if given.pages else measure(wanted, records)
    write_pages(records, into)
    return 1 if failed else 0


def chosen(options: Parser, named: str | None) -> tuple[str, ...]:
    """The parts asked for, by their names or what these begin with."""
    if named is None:
        return tuple(PARTS)
    out: dict[str, None] = {}
    for word in named.split(","):
        found = [name for name in PARTS if name == word] or [name for name in PARTS if name.startswith(word)]
        if not found:
            options.error(f"there is no part {word!r}: choose from {', '.join(PARTS)}")
        out |= dict.fromkeys(found)
    return tuple(out)


def tell(wanted: Wanted, records: Records) -> None:
    """A line for every part: how much of it is kept, and how long the rest takes."""
    left = 0.0
    for name in wanted.parts:
        pieces = [piece for piece in wanted.pieces() if piece.part == name]
        missing = {piece: why for piece in pieces if (why := state(records, piece, wanted.quick))}
        left += sum(piece.minutes for piece in missing)
        print(f"{name:30} {minutes(pieces):4.0f} min  {PARTS[name].title}: {kept(missing)}")
    print(f"What is missing takes about {left:.0f} minutes on two quiet cores.")


def minutes(pieces: Sequence[Piece]) -> float:
    """Of all of them."""
    return sum(piece.minutes for piece in pieces)


def kept(missing: dict[Piece, str]) -> str:
    """What is missing, and why."""
    return "; ".join(f"{piece.set_name} {why}" for piece, why in missing.items()) or "kept"
