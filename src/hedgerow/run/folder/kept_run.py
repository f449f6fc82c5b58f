"""What a run's folder tells, finished or not: read again, for whoever looks at it. Nothing is written."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from hedgerow.corridor.messages import EndRound, FinishRound, NextRound
from hedgerow.errors import HedgerowError, RunError
from hedgerow.model import file as models
from hedgerow.model import part as parts
from hedgerow.model import score_counts
from hedgerow.model.model import Model
from hedgerow.model.part import Part
from hedgerow.model.score_counts import Judged
from hedgerow.run.folder import manifest
from hedgerow.run.folder.checkpoint import Gone, gone_so_far
from hedgerow.run.folder.folder import CHECKPOINT, CURVES, LOG, MANIFEST, METRICS, MODEL, PART
from hedgerow.run.folder.manifest import FINISHED
from hedgerow.run.folder.phases import Phase, phases
from hedgerow.storage import audit

T = TypeVar("T")
BAG = "bag.json"
ENDS_ROUND = frozenset(kind.__name__ for kind in (FinishRound, NextRound, EndRound))
"""Of these a party hears once in every round."""


@dataclass(frozen=True, eq=False)
class KeptRun:
    """A run as its folder has it."""

    path: Path
    manifest: Mapping[str, Any]
    metrics: Mapping[str, Any] = field(default_factory=dict)
    gone: Gone = field(default_factory=Gone)
    """How far it has come, by the checkpoint."""
    judged: Judged | None = None
    model: Model | None = None
    part: Part | None = None
    phases: Mapping[str, list[Phase]] = field(default_factory=dict)
    """By who kept the log: the folder's keeper first."""
    messages: list[dict[str, Any]] = field(default_factory=list)
    begun: str = ""
    last: str = ""
    """When the first and the last line of the log were written."""
    wrong: tuple[str, ...] = ()
    """What could not be read, in sentences."""

    @property
    def finished(self) -> bool:
        """Whether it has finished."""
        return bool(self.manifest["status"] == FINISHED)

    @property
    def rounds(self) -> int:
        """Rounds of trees so far: by the checkpoint, or at a party by what it was told."""
        told = [row["messages"] for row in self.messages if row["type"] in ENDS_ROUND and row["direction"] == "from"]
        return self.gone.rounds or max(told, default=0)

    @property
    def of_each_party(self) -> bool:
        """Whether every party has a model of its own, and there is none of all."""
        return MODEL not in (kept := self.manifest.get("models") or {}) and any(
            name.endswith(f"/{MODEL}") for name in kept
        )

    @property
    def plan(self) -> dict[str, Any]:
        """The plan, as JSON says it."""
        found: dict[str, Any] = msgspec.json.decode(str(self.manifest["plan"]))
        return found


def read_run(path: Path) -> KeptRun:
    """What is in a run's folder; a file of it that is damaged is told of, and the rest is read all the same."""
    about, wrong = _manifest(path), list[str]()

    def read(name: str, reader: Callable[[Path], T], otherwise: T) -> T:
        try:
            return reader(path / name) if (path / name).exists() else otherwise
        except HedgerowError as error:
            wrong.append(str(error))
        except OSError as error:
            wrong.append(f"Cannot read {path / name}: {error.strerror or error}.")
        return otherwise

    none: list[audit.Line] = []
    lines = read(LOG, lambda place: list(audit.read(place)), none)
    by_log = {str(about["who"]): phases(lines)}
    for place in sorted((path / "parties").glob(f"*/{LOG}")):
        by_log[place.parent.name] = read(str(place.relative_to(path)), lambda p: phases(audit.read(p)), [])
    return KeptRun(
        path,
        about,
        metrics=read(METRICS, _json, {}),
        gone=read(CHECKPOINT, gone_so_far, Gone()),
        judged=read(CURVES, lambda place: score_counts.decoded(place.read_bytes(), str(place)), None),
        model=read(MODEL, models.load_model, None),
        part=read(PART, parts.load_part, None),
        phases=by_log,
        messages=about.get("messages") or manifest.said(lines),
        begun=str(lines[0]["at"]) if lines else "",
        last=str(lines[-1]["at"]) if lines else "",
        wrong=tuple(wrong),
    )


def _manifest(path: Path) -> dict[str, Any]:
    if (path / BAG).exists():
        names = ", ".join(sorted(folder.name for folder in (path / "parties").glob("*")))
        raise RunError(
            f"{path} is of several active parties ({names}); name one's own folder, like {path}/parties/NAME."
        )
    if not (path / MANIFEST).exists():
        raise RunError(f"{path} holds no run: it has no {MANIFEST}; name the folder that the run printed.")
    found = _json(path / MANIFEST)
    needed = ("status", "role", "who", "plan", "method", "run")
    try:
        good = all(isinstance(found[key], str) for key in needed)
        good = good and isinstance(msgspec.json.decode(found["plan"]), dict)
    except (KeyError, msgspec.DecodeError):
        good = False
    if not good:
        raise RunError(f"{path / MANIFEST} is not the manifest of a run, or damaged; name another folder.")
    return found


def _json(place: Path) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(place.read_bytes())
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise RunError(f"{place} is damaged: it is no JSON object.")
    return found
