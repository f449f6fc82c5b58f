"""Organisations of a demonstration, each a process with its own folder, certificate and data file."""

import csv
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
import numpy as np

from hedgerow.data.table import Table
from hedgerow.errors import RunError
from hedgerow.identity import authority as certs
from hedgerow.run.folder.folder import MANIFEST
from hedgerow.run.folder.manifest import bytes_by_party

LONGEST = 300.0
"""Seconds after which a step is given up."""
WAIT = 0.02
TO_END = 5.0
"""Seconds that a process has to end by itself."""
AUTHORITY = "authority"
RUN_FILE, DATA, FOLDER = "run.toml", "data.csv", "run"
OWN = ("--cert", "own.pem", "--key", "own.key")


@dataclass(frozen=True)
class Federation:
    """A run file's settings, who drives, and each organisation's table."""

    name: str
    driver: str
    tables: Mapping[str, Table]
    settings: str
    """The run file but for its certificates and addresses."""
    id: str = "id"
    label: str = "label"
    policies: Mapping[str, str] = field(default_factory=dict)
    """Rules of those who have some of their own."""

    @property
    def roles(self) -> list[str]:
        """Everybody, whoever drives first."""
        return [self.driver, *(name for name in self.tables if name != self.driver)]


def prepare(federation: Federation, out: Path) -> None:
    """A folder for each organisation with certificate, run file, rules and table."""
    make_room(out)
    prints = _certificates(out, federation.roles)
    for name, table in federation.tables.items():
        write_csv(out / name / DATA, table, federation.id, federation.label)
    for name, rules in federation.policies.items():
        (out / name / "policy.toml").write_text(rules)
    text = _run_text(federation, prints)
    for name in federation.roles:
        (out / name / RUN_FILE).write_text(text)


def train_words(federation: Federation) -> dict[str, list[str]]:
    """What each organisation types to train."""
    return {name: _words(federation, name) for name in federation.roles}


def _words(federation: Federation, name: str) -> list[str]:
    own = [*OWN, "--folder", FOLDER]
    own += ["--data", DATA] if name in federation.tables else []
    if name == federation.driver:
        return ["drive", RUN_FILE, *own]
    return ["join", RUN_FILE, "--as", name, *own, *policy_words(federation, name)]


def policy_words(federation: Federation, name: str) -> list[str]:
    """The option that names its rules, of an organisation that has some."""
    return ["--policy", "policy.toml"] if name in federation.policies else []


def manifest(folder: Path) -> dict[str, Any]:
    """What the folder of a run, or of predictions, says of it."""
    found: dict[str, Any] = msgspec.json.decode((folder / MANIFEST).read_bytes())
    return found


def n_bytes(folder: Path) -> int:
    """Bytes to and from all parties, as whoever drove has counted them."""
    return sum(to + came for to, came in bytes_by_party(manifest(folder)["messages"]).values())


class Processes:
    """The organisations' processes; none is left when the block ends, however it ends."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> "Processes":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._running.values():
            if process.poll() is None:
                process.send_signal(signal.SIGTERM if kind is None else signal.SIGKILL)
        for process in self._running.values():
            try:
                process.wait(TO_END)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def start(self, words: Mapping[str, Sequence[str]]) -> None:
        """A command for each organisation, in its folder."""
        for name, command in words.items():
            with _said(self._out, name).open("ab") as said:
                said.write(f"$ hedgerow {' '.join(command)}\n".encode())
                said.flush()
                self._running[name] = subprocess.Popen(  # noqa: S603  # our own words only
                    [sys.executable, "-m", "hedgerow", *command], cwd=self._out / name, stdout=said, stderr=said
                )

    def wait(self, *names: str) -> float:
        """Until these (else all) have ended well, and the seconds it took; whoever else fails ends the wait, too."""
        began, awaited = time.perf_counter(), names or tuple(self._running)
        while any(self._running[name].poll() is None for name in awaited):
            self._refuse_failed()
            if time.perf_counter() - began > LONGEST:
                raise RunError(
                    f"The organisations did not come to an end within {LONGEST:g} seconds; what they said is in "
                    f"{self._out}."
                )
            time.sleep(WAIT)
        self._refuse_failed()
        return time.perf_counter() - began

    def _refuse_failed(self) -> None:
        failed = [name for name, process in self._running.items() if process.poll() not in (None, 0)]
        if failed:
            file = _said(self._out, failed[0])
            last = (file.read_text(errors="replace").strip().splitlines() or ["it said nothing"])[-1]
            raise RunError(f"The process of {failed[0]!r} ended early ({last}); all it said is in {file}.")


def run(out: Path, words: Mapping[str, Sequence[str]]) -> float:
    """All of these together; returns when every process has ended, and the seconds from the first start."""
    began = time.perf_counter()
    with Processes(out) as processes:
        processes.start(words)
        processes.wait()
    return time.perf_counter() - began


def free_port() -> int:
    """A port of this machine that nobody listens at."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def write_csv(path: Path, table: Table, id_: str, label: str) -> None:
    """Ids first, labels last."""
    labelled = table.labels is not None
    header = [id_, *table.names, *([label] if labelled else [])]
    columns = [np.asarray(table.ids).tolist(), *np.asarray(table.values).T.tolist()]
    if labelled:
        columns.append(np.asarray(table.labels).tolist())
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(zip(*columns, strict=True))


def make_room(out: Path) -> None:
    """An empty folder; what an earlier run left there goes, anything else stays and is refused."""
    try:
        if (out / AUTHORITY / "ca.pem").exists():
            shutil.rmtree(out)
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"Cannot write into {out}: {error.strerror}; name another folder with --out.") from None
    if any(out.iterdir()):
        raise RunError(f"{out} holds something that is no demonstration; name another folder with --out.")


def _certificates(out: Path, roles: Sequence[str]) -> dict[str, str]:
    """A certificate for each, in its own folder beside that of the authority; returns the fingerprints."""
    made: dict[str, str] = {}
    authority = out / AUTHORITY
    certs.make_ca(authority)
    for certificate in certs.issue(authority, *roles):
        place = out / certificate.name
        place.mkdir()
        for kind in (".pem", ".key"):
            (authority / f"{certificate.name}{kind}").rename(place / f"own{kind}")
        (place / "ca.pem").write_bytes((authority / "ca.pem").read_bytes())
        made[certificate.name] = certificate.fingerprint
    return made


def _run_text(federation: Federation, prints: Mapping[str, str]) -> str:
    own = "" if federation.driver in federation.tables else f'fingerprint = "{prints[federation.driver]}"\n'
    parties = [f'[[party]]\nname = "{name}"\nfingerprint = "{prints[name]}"\n' for name in federation.tables]
    address = f"localhost:{free_port()}"
    driver = f'[driver]\naddress = "{address}"\nca = "ca.pem"\npatience = {LONGEST:g}\n{own}'
    return "\n".join([f'[run]\nname = "{federation.name}"', federation.settings, driver, *parties])


def _said(out: Path, name: str) -> Path:
    return out / name / "said.txt"
