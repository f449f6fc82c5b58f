"""Measures what is not kept yet, set by set, so that a run that was ended goes on where it stopped."""

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from benchmarks.machine import describe_machine
from benchmarks.quiet import Neighbours
from benchmarks.results.parts import MINUTES, PARTS, USUAL_MINUTES, Measured
from benchmarks.results.record import QUIET_CORES, Record, Records
from benchmarks.settings import Request

WATCHED_SECONDS = 2.0


class Piece(NamedTuple):
    """One set of one part."""

    part: str
    set_name: str

    @property
    def measured(self) -> Measured:
        """The part."""
        return PARTS[self.part]

    @property
    def minutes(self) -> float:
        """About how long it takes."""
        return MINUTES.get(self.part, {}).get(self.set_name, USUAL_MINUTES)


@dataclass(frozen=True)
class Wanted:
    """What a run is asked for."""

    parts: tuple[str, ...]
    sets: tuple[str, ...] | None = None
    quick: bool = False
    again: bool = False
    while_busy: bool = False
    """Also parts with seconds, though others keep the machine busy; pages leave their seconds out."""
    keep: Path | None = None

    def pieces(self) -> Iterator[Piece]:
        """All that are asked for, whether kept or not."""
        for name in self.parts:
            part = PARTS[name]
            for set_name in part.quick if self.quick else part.sets:
                if self.sets is None or set_name in self.sets:
                    yield Piece(name, set_name)


def state(records: Records, piece: Piece, quick: bool) -> str:
    """A word or two about what is kept of a piece; nothing if it is as it should be."""
    record = records.get(*piece)
    if record is None:
        return "not yet"
    if record.settings != piece.measured.fingerprint(quick):
        return "other settings"
    return "busy machine" if piece.measured.timed and not record.quiet else ""


def measure(wanted: Wanted, records: Records) -> list[Piece]:
    """All pieces asked for that are not kept, one after the other; returns those that failed."""
    pieces = [piece for piece in wanted.pieces() if wanted.again or state(records, piece, wanted.quick)]
    absent = [piece for piece in pieces if not piece.measured.known[piece.set_name].at_hand]
    if absent:
        names = ", ".join(dict.fromkeys(piece.set_name for piece in absent))
        _say(f"Left out, not in the data folder (HEDGEROW_DATA): {names}.")
    failed = []
    for piece in pieces:
        try:
            if piece not in absent:
                _measure(piece, wanted, records)
        except Exception as error:  # the others are measured all the same
            _say(f"Failed: {piece.part} {piece.set_name}: {type(error).__name__}: {error}")
            failed.append(piece)
    return failed


def _measure(piece: Piece, wanted: Wanted, records: Records) -> None:
    part = piece.measured
    before = busy_cores() if part.timed else None
    if part.timed and not (wanted.quick or wanted.while_busy) and (before or 0) > QUIET_CORES:
        _say(f"Left out, for others keep {before:.1f} cores busy: {piece.part} {piece.set_name} (--busy measures it).")
        return
    _say(f"{piece.part} {piece.set_name}: {part.title}, about {piece.minutes:g} minutes when nothing else runs")
    keep = wanted.keep and wanted.keep / f"{piece.part}-{part.edition}{'-quick' if wanted.quick else ''}"
    began = time.perf_counter()
    rows = [row.as_json() for row in part.run(Request(sets=(piece.set_name,), quick=wanted.quick, keep=keep))]
    seconds = time.perf_counter() - began
    after = busy_cores() if part.timed else None
    noticed = [row["others"] for row in rows if row["others"] is not None]
    others = None if before is None or after is None else round(max(before, after, *noticed), 2)
    day = datetime.now(UTC).date().isoformat()
    settings = part.fingerprint(wanted.quick)
    records.keep(Record(*piece, settings, rows, describe_machine(), day, seconds, others))


def busy_cores() -> float | None:
    """How many cores others keep busy now."""
    with Neighbours() as neighbours:
        time.sleep(WATCHED_SECONDS)
    return neighbours.cores


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)
