"""What was measured, a file for each part and set: rows, settings, machine, day, and how busy others kept it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

QUIET_CORES = 0.15
"""Cores that others may keep busy while seconds are measured."""

Figures = Mapping[str, Any]


@dataclass(frozen=True)
class Record:
    """One file."""

    part: str
    set_name: str
    settings: Mapping[str, Any]
    rows: list[dict[str, Any]]
    machine: Mapping[str, Any]
    day: str
    seconds: float
    others: float | None = None
    """Cores that others kept busy just before, just after, or during a row that tells it: the most of these."""

    @property
    def quiet(self) -> bool:
        """Whether its seconds may be shown."""
        return self.others is not None and self.others <= QUIET_CORES

    def as_json(self) -> dict[str, Any]:
        """As it is kept."""
        return {
            "part": self.part, "set": self.set_name, "settings": dict(self.settings), "day": self.day,
            "seconds": round(self.seconds, 1), "others": self.others, "machine": dict(self.machine), "rows": self.rows,
        }  # fmt: skip


@dataclass
class Records:
    """All files of a folder, read once."""

    folder: Path
    _found: dict[tuple[str, str], Record] = field(default_factory=dict)

    @classmethod
    def at(cls, folder: Path) -> "Records":
        """Those that are there."""
        made = cls(folder)
        for file in sorted(folder.glob("*/*.json")):
            told = json.loads(file.read_text())
            told["set_name"] = told.pop("set")
            made._add(Record(**told))
        return made

    def _add(self, record: Record) -> None:
        self._found[record.part, record.set_name] = record

    def get(self, part: str, set_name: str) -> Record | None:
        """One, if it is there."""
        return self._found.get((part, set_name))

    def of(self, part: str) -> list[Record]:
        """A part's."""
        return [record for (name, _), record in self._found.items() if name == part]

    def keep(self, record: Record) -> None:
        """Write one; a run that is ended leaves a whole file or none."""
        self._add(record)
        file = self.folder / record.part / f"{record.set_name}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        begun = file.with_suffix(".begun")
        begun.write_text(json.dumps(record.as_json(), indent=1) + "\n")
        begun.replace(file)
