"""A run's folder: what it left behind, and all it needs to go on. Only its owner can read it; only the salt is secret.

manifest.json   what the run is, and once it is finished, what became known to whom
audit.log       every message that left or came
checkpoint      how far it has come (the driver's)
model.json      the model
model.salt      of a vertical model: the salt of the active party's commitment to the leaf values
part.json       a passive party's part of a vertical model: the thresholds of its own columns
metrics.json    how the metric went, and the final metrics
curves.json     where labelled rows lie here: how many of each class have about which score, no row among them
parties/NAME/   in a simulation, each party's own audit.log and part.json
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from hedgerow.agreement.options import Vertical
from hedgerow.errors import RunError
from hedgerow.model.model import Model
from hedgerow.run.folder import manifest
from hedgerow.run.folder.checkpoint import progress_in
from hedgerow.run.folder.manifest import FINISHED, About
from hedgerow.run.folder.recorder import Say
from hedgerow.run.folder.restart import CHECKPOINT, LOG, MODEL, PART, count_on, is_over, set_aside, stopped_early
from hedgerow.run.folder.salt_file import committed
from hedgerow.storage.atomic import write_whole
from hedgerow.storage.audit import AuditLog

__all__ = [
    "CHECKPOINT", "CURVES", "LOG", "MANIFEST", "METRICS", "MODEL", "PART", "RunFolder", "check_folder", "open_folder",
]  # fmt: skip

MANIFEST, METRICS, CURVES = "manifest.json", "metrics.json", "curves.json"
PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
_NEEDED = ("status", "role", "who", "plan", "data")


class RunFolder:
    """The folder of a run that is under way: its logs are open, and no other process can use it meanwhile."""

    def __init__(self, path: Path, about: About, attempts: int = 0) -> None:
        self.path, self.about, self.attempts = path, about, attempts
        self.log = AuditLog(path / LOG, about.plan_sha256, about.who)
        self.party_logs: dict[str, AuditLog] = {}

    def open_party_log(self, name: str) -> AuditLog:
        """The own log of a party that lives in this process."""
        own = _made(self.path / "parties" / name)
        self.party_logs[name] = AuditLog(own / LOG, self.about.plan_sha256, name)
        return self.party_logs[name]

    def write(self, name: str, content: bytes) -> None:
        """A file, whole or not at all."""
        place = self.path / name
        _made(place.parent)
        write_whole(place, content, RunError, PRIVATE_FILE)

    def write_json(self, name: str, content: Any) -> None:
        """A file that people read too."""
        self.write(name, msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n")

    def commit(self, model: Model) -> bytes:
        """The commitment to a vertical model's leaf values; its salt is in this folder when this returns."""
        return committed(self.path, model)

    def finish(self, models: Mapping[str, bytes], beside: Mapping[str, Any]) -> dict[str, Any]:
        """Write the models, by file name, and last the manifest; returns it."""
        hashes = {}
        for name, content in models.items():
            self.write(name, content)
            hashes[name] = hashlib.sha256(content).hexdigest()
            self.log.note("model written", file=name, sha256=hashes[name])
        self.log.sync()
        said, aligned = manifest.said(self.log.lines()), manifest.aligned(self.log.lines())
        whole = {
            **manifest.opening(self.about),
            "status": FINISHED,
            "models": hashes,
            **beside,
            "messages": said,
            "known": manifest.known(said, self.about.method),
            **({"aligned": aligned} if aligned else {}),
            **manifest.linked(self.log.lines(), self.about),
            **(
                {"names_told": manifest.names_told(said, self.about.who)}
                if isinstance(self.about.method, Vertical)
                else {}
            ),
            "audit": {LOG: self.log.last} | {f"parties/{n}/{LOG}": log.last for n, log in self.party_logs.items()},
        }
        self.write_json(MANIFEST, whole)
        return whole

    def close(self) -> None:
        """Let go of the logs."""
        for log in (self.log, *self.party_logs.values()):
            log.close()


def open_folder(
    path: Path, about: About, resume: bool | None, say: Say = lambda _: None, other_rows: bool = False
) -> RunFolder:
    """A run's folder, begun or (`resume`) taken up again; None: whichever it is. Nothing is ever overwritten.

    A run that stopped early, and whose plan or rows are others now (`other_rows`: a party's), is begun anew. So is one
    that was stopped for everybody after its keeper had settled something with the others.
    """
    kept, attempts, aside = check_folder(path, resume), 0, None
    if kept is not None:
        manifest.check_keeper(kept, about, path)
        wrong, early = manifest.difference(kept, about, path), stopped_early(path, kept)
        if wrong and not early:
            raise RunError(wrong)
        if not early or not (wrong or other_rows or is_over(path, kept)):
            if early and resume is False:
                say(f"The run in {path} had stopped before its first tree was complete; it begins again there.")
            return RunFolder(path, about)
        attempts, aside = progress_in(path / CHECKPOINT)[0], set_aside(path, kept)
        say(f"The run in {path} had stopped before its first tree was complete; it is kept as {aside} and begun anew.")
    _made(path).chmod(PRIVATE_FOLDER)
    folder = RunFolder(path, about, attempts)
    if aside is not None and about.role != "simulation":
        count_on(aside, folder.log)
    folder.write_json(MANIFEST, manifest.opening(about))
    return folder


def check_folder(path: Path, resume: bool | None) -> dict[str, Any] | None:
    """Refuse a folder that cannot be begun or taken up again, before any work is done for it; its manifest, if any."""
    kept = _kept(path)
    if kept is None:
        if resume:
            raise RunError(f"There is no run in {path} to resume; leave out --resume to begin one.")
        return None
    if kept["status"] == FINISHED:
        raise RunError(f"The run in {path} is finished and not overwritten; name another folder with --folder.")
    if resume is False and not stopped_early(path, kept):
        raise RunError(f"{path} holds a run that is not finished; go on with --resume, or name another --folder.")
    return kept


def is_finished(path: Path) -> bool:
    """Whether the run in a folder has finished."""
    kept = _kept(path)
    return kept is not None and kept["status"] == FINISHED


def _kept(path: Path) -> dict[str, Any] | None:
    """The manifest in a folder; None if there is no folder, or nothing in it."""
    try:
        if not path.exists() or (path.is_dir() and not any(path.iterdir())):
            return None
        if not path.is_dir():
            raise RunError(f"{path} is a file; name a folder with --folder.")
        if not (path / MANIFEST).exists():
            _check_begun(path)
            return None
        kept: Any = msgspec.json.decode((path / MANIFEST).read_bytes())
    except OSError as error:
        raise RunError(f"Cannot use the folder {path}: {error.strerror or error}.") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        kept = None
    if not isinstance(kept, dict) or any(key not in kept for key in _NEEDED):
        raise RunError(f"{path / MANIFEST} is not the manifest of a run, or damaged; name another --folder.")
    return kept


def _check_begun(path: Path) -> None:
    """A folder in which nothing but an audit log was begun counts as empty; any other is someone's."""
    if any(file.name not in (LOG, "parties") and not file.name.startswith(".") for file in path.iterdir()):
        raise RunError(f"{path} holds files and no run; name another folder with --folder.")


def _made(path: Path) -> Path:
    try:
        path.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"Cannot make the folder {path}: {error.strerror or error}.") from None
    return path
