"""Organisations of a demonstration, each a process with its own folder, certificate and data file."""

import csv
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from hedgerow.data.table import Table
from hedgerow.errors import RunError
from hedgerow.identity import authority as certs
from hedgerow.run.folder.folder import MANIFEST
from hedgerow.run.folder.manifest import bytes_by_party

LONGEST = 110.0
"""Seconds after which a run is given up."""
WAIT = 0.02
AUTHORITY = "authority"


@dataclass(frozen=True)
class Federation:
    """A run file's settings, who drives, and each organisation's table."""

    name: str
    driver: str
    tables: Mapping[str, Table]
    settings: str
    """The run file but for its certificates and addresses."""


@dataclass(frozen=True)
class Ran:
    """What is left of a run whose processes have all ended well."""

    folders: Mapping[str, Path]
    seconds: float
    """From the start of the first process to the end of the last."""
    n_bytes: int
    manifest: Mapping[str, Any]
    """The driver's."""


def run(federation: Federation, out: Path) -> Ran:
    """All organisations together; returns when every process has ended."""
    _make_room(out)
    roles = [federation.driver, *(name for name in federation.tables if name != federation.driver)]
    prints = _certificates(out, roles)
    for role, table in federation.tables.items():
        _write_csv(out / role / "data.csv", table)
    text = _run_text(federation, prints)
    for role in roles:
        (out / role / "run.toml").write_text(text)
    began = time.perf_counter()
    _together(out, {role: _words(federation, role) for role in roles})
    seconds = time.perf_counter() - began
    folders = {role: out / role / "run" for role in roles}
    manifest = msgspec.json.decode((folders[federation.driver] / MANIFEST).read_bytes())
    n_bytes = sum(to + came for to, came in bytes_by_party(manifest["messages"]).values())
    return Ran(folders, seconds, n_bytes, manifest)


def _make_room(out: Path) -> None:
    """An empty folder; what an earlier run left there goes, anything else stays and is refused."""
    if (out / AUTHORITY / "ca.pem").exists():
        shutil.rmtree(out)
    out.mkdir(parents=True, exist_ok=True)
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


def free_port() -> int:
    """A port of this machine that nobody listens at."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def _words(federation: Federation, role: str) -> list[str]:
    own = ["--cert", "own.pem", "--key", "own.key", "--folder", "run"]
    data = ["--data", "data.csv"] if role in federation.tables else []
    if role == federation.driver:
        return ["drive", "run.toml", *data, *own]
    return ["join", "run.toml", "--as", role, *data, *own]


def _together(out: Path, words: Mapping[str, Sequence[str]]) -> None:
    """Start all, and wait until all have ended; if one fails, the others are ended too."""
    running: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for role, command in words.items():
            with (out / role / "said.txt").open("wb") as said:
                running[role] = subprocess.Popen(  # noqa: S603  # our own words only
                    [sys.executable, "-m", "hedgerow", *command], cwd=out / role, stdout=said, stderr=said
                )
        end = time.monotonic() + LONGEST
        while any(process.poll() is None for process in running.values()):
            failed = [role for role, process in running.items() if process.poll() not in (None, 0)]
            if failed or time.monotonic() > end:
                raise RunError(_what_failed(out, failed))
            time.sleep(WAIT)
        if failed := [role for role, process in running.items() if process.returncode]:
            raise RunError(_what_failed(out, failed))
    finally:
        for process in running.values():
            if process.poll() is None:
                process.kill()
                process.wait()


def _what_failed(out: Path, failed: Sequence[str]) -> str:
    if not failed:
        return f"The organisations did not come to an end within {LONGEST:g} seconds; what they said is in {out}."
    said = (out / failed[0] / "said.txt").read_text(errors="replace").strip().splitlines() or ["it said nothing"]
    return f"The process of {failed[0]!r} ended early ({said[-1]}); all it said is in {out / failed[0] / 'said.txt'}."


def _write_csv(path: Path, table: Table) -> None:
    """Ids first, labels last."""
    labelled = table.labels is not None
    header = ["id", *table.names, *(["label"] if labelled else [])]
    columns = [np.asarray(table.ids).tolist(), *np.asarray(table.values).T.tolist()]
    if labelled:
        columns.append(np.asarray(table.labels).tolist())
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(zip(*columns, strict=True))
