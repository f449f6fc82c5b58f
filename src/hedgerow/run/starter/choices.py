"""What must be known before a run of real parties can be set up."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from hedgerow.agreement.options import FEWEST_MASKED
from hedgerow.errors import ParameterError
from hedgerow.run.file.description import RunFile, run_of
from hedgerow.run.starter.run_text import DRIVER, run_text

PORT = 50051


class Mode(NamedTuple):
    """What goes without saying in a mode."""

    privacy: Mapping[str, Any]
    active: bool
    """Whether one party has the labels, and drives."""


_BY_COLUMNS = Mode({"protection": "lattice", "align": "private"}, active=True)
MODES: Mapping[str, Mode] = {
    "horizontal": Mode({"protection": "masked"}, active=False),
    "vertical": _BY_COLUMNS,
    "hybrid": _BY_COLUMNS,
}


HELD_OUT = 0.2


def check_mode(name: str) -> None:
    """Refuse a mode that is none."""
    if name not in MODES:
        raise ParameterError(f"The mode must be one of {', '.join(MODES)}; it is {name!r}.")


@dataclass(frozen=True)
class Choices:
    """Who takes part in which mode, what is learnt, and where the driver is reached."""

    name: str
    method: str
    parties: tuple[str, ...]
    active: str = ""
    """Who has the labels, of a vertical or hybrid run."""
    label: str = "label"
    id: str = ""
    task: str = "classify"
    address: str = f"localhost:{PORT}"
    own_keys: bool = False
    """Whether each makes its key itself and has only a request for its certificate signed."""
    trees: Mapping[str, Any] = field(default_factory=dict)
    privacy: Mapping[str, Any] = field(default_factory=dict)
    held_out: float = HELD_OUT
    """Share of the rows that the model does not learn from, but is measured on."""

    def __post_init__(self) -> None:
        check_mode(self.method)
        if len(set(map(str.lower, self.parties))) != len(self.parties) or DRIVER in self.parties:
            raise ParameterError(f"Each party needs a name of its own, and none may be called {DRIVER!r}.")
        if not self.mode.active:
            self._check_rows()
        elif self.active not in self.parties or len(self.parties) < 2:
            raise ParameterError(
                f"A {self.method} run needs one party with the labels, the active one, and at least one other; name "
                "them all, and say which is active."
            )

    def _check_rows(self) -> None:
        if self.active:
            raise ParameterError("In a horizontal run every party has labels, so none is active; leave that out.")
        if len(self.parties) < 2:
            raise ParameterError("A horizontal run needs at least two parties; name them all.")

    @property
    def mode(self) -> Mode:
        """What goes without saying."""
        return MODES[self.method]

    @property
    def two(self) -> bool:
        """Whether two parties hide their sums, of which each then learns the other's."""
        return not self.mode.active and len(self.parties) < FEWEST_MASKED

    @property
    def drives(self) -> str:
        """Who listens, and is dialled by all others."""
        return self.active or DRIVER

    @property
    def everybody(self) -> tuple[str, ...]:
        """All who get a folder."""
        return self.parties if self.active else (*self.parties, DRIVER)

    @property
    def host(self) -> str:
        """By which name or number the driver is reached."""
        return self.address.rpartition(":")[0].strip("[]")

    def text(self, fingerprints: Mapping[str, str]) -> str:
        """The run file, the same for all."""
        privacy = {**self.mode.privacy, **({"allow_two": True} if self.two else {}), **self.privacy}
        run = {"name": self.name, "method": self.method} | ({"active": self.active} if self.active else {})
        data = {"label": self.label, "task": self.task} | ({"id": self.id} if self.id else {})
        driver = {"address": self.address, "ca": "ca.pem"}
        if not self.active:
            driver["fingerprint"] = fingerprints.get(DRIVER, "")
        parties = [{"name": name, "fingerprint": fingerprints.get(name, "")} for name in self.parties]
        sections: dict[str, dict[str, Any]] = {"run": run, "data": data, "privacy": privacy}
        if self.held_out:
            sections["validation"] = {"share": self.held_out}
        return run_text({**sections, "trees": dict(self.trees), "driver": driver}, parties)

    def check(self) -> RunFile:
        """The run that these choices mean; refuses what the run file would be refused for, before anything is made."""
        return run_of(tomllib.loads(self.text({})), Path("run.toml"), Path())
