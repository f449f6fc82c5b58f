"""An audit log: what left this party, written down line by line, each line bound to the one before by a hash.

    {"n":1,"at":"2026-01-01T00:00:00.123Z","event":"sent",...,"previous":"<hex>","hash":"<hex>"}

`hash` is the SHA-256 of the line without it, as JSON with sorted keys and no spaces, in UTF-8; `previous` is the hash
of the line before, in the first line SHA-256 of "hedgerow audit", the run and who keeps the log. A line that was
edited, removed, swapped, doubled or put in breaks the chain. Who keeps a log could still write all of it anew, or cut
off its end: that is seen by whoever knows the last hash.
"""

import errno
import fcntl
import hashlib
import os
import threading
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from hedgerow.errors import ParameterError, RunError

OPENED, TORN = "log opened", "torn line removed"
LONGEST = 1 << 20
"""Bytes of a line."""

Fact = int | str | list[str]
Line = dict[str, Fact]
_READER = msgspec.json.Decoder(dict[str, bool | int | str | list[str]])
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
OWN = frozenset(("n", "at", "event", "previous", "hash"))
"""Facts that each line has."""


@dataclass(frozen=True)
class Verdict:
    """A log that holds: how many lines it has, the hash of the last, who kept it, and in which run (a plan's hash)."""

    n_lines: int
    last: str
    who: str
    run: str


class AuditLog:
    """A log to which lines are only ever added; without a path it is kept in memory. Threads may share it.

    When `note` returns, the operating system has the line: a killed process loses none. A log that exists is checked
    whole and continued; a half-written last line, left by a loss of power, is cut off and that is noted.
    """

    shared = False
    """Whether other processes may have it open too; opening it then waits for its turn."""

    def __init__(self, path: Path | None, run: str, who: str) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._kept: list[bytes] = []
        self._n, self._last, self._size, torn = 0, _first(run, who), 0, 0
        self._chain = _Chain(path or Path())  # read only where there is a path
        self._file = None if path is None else _open(path, self.shared)
        self._closed = weakref.finalize(self, _close, self._file)
        try:
            if path is not None:
                torn = self._continue(path, run, who)
            if self._n == 0:
                self.note(OPENED, run=run, who=who)
            if torn:
                self.note(TORN, bytes=torn)
        except BaseException:
            self.close()
            raise

    @property
    def last(self) -> str:
        """The hash of the last line."""
        return self._last

    def note(self, event: str, /, **facts: Fact) -> None:
        """Add a line; raises if it could not be written, and the log is then as it was before."""
        if not OWN.isdisjoint(facts):
            raise ParameterError(f"A fact of {event!r} has a name that each line has already; call it otherwise.")
        with self._lock:
            line: Line = {"n": self._n, "at": _now(), "event": event, **facts, "previous": self._last}
            try:
                hashed = line["hash"] = _hash(line)
                raw = msgspec.json.encode(line) + b"\n"
                _READER.decode(raw)
            except (TypeError, OverflowError, UnicodeEncodeError, msgspec.DecodeError):
                raise ParameterError(f"A fact of {event!r} is no whole number, text or list of texts.") from None
            if len(raw) > LONGEST:
                raise ParameterError(f"A line about {event!r} has more than {LONGEST} bytes; note less.")
            self._write(raw)
            self._n, self._last, self._size = self._n + 1, hashed, self._size + len(raw)

    def lines(self) -> Iterator[Line]:
        """What was noted so far, checked again where it lies in a file."""
        if self.path is not None:
            return _Chain(self.path).lines()
        return iter([_READER.decode(raw) for raw in self._kept])

    def sync(self) -> None:
        """Wait until all lines would outlast a loss of power."""
        if self._file is not None and self._closed.alive:
            try:
                os.fsync(self._file)
            except OSError as error:
                raise _unwritable(self.path, error.strerror or str(error)) from None

    def close(self) -> None:
        """Let go of the file; nothing can be noted afterwards."""
        self._closed()

    def _continue(self, path: Path, run: str, who: str) -> int:
        """Take up the chain that is in the file; returns the bytes of a torn line that were cut off."""
        chain = self._chain
        for _ in chain.lines():
            pass
        if chain.n and (chain.run, chain.who) != (run, who):
            raise RunError(f"{path} is the audit log of {chain.other_than(run, who)}; name another file.")
        if chain.n:
            self._n, self._last, self._size = chain.n, chain.last, chain.size
        if chain.torn and self._file is not None:
            self._cut(self._file)
        return chain.torn

    def _write(self, raw: bytes) -> None:
        if not self._closed.alive:
            raise RunError(f"The audit log {self.path or 'in memory'} is closed; nothing more can be noted.")
        if self._file is None:
            self._kept.append(raw)
            return
        try:
            written = os.write(self._file, raw)
        except OSError as error:
            raise _unwritable(self.path, error.strerror or str(error)) from None
        if written != len(raw):
            self._cut(self._file)
            raise _unwritable(self.path, os.strerror(errno.ENOSPC))

    def _cut(self, file: int) -> None:
        """Take half a line away; where that fails, nothing may follow it."""
        try:
            os.ftruncate(file, self._size)
        except OSError:
            self.close()


class Unread(RunError):
    """A log that is not there or cannot be opened, of which nothing can be said."""


class _Chain:
    """A log's lines, each checked against the one before; what is known of them so far."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.n, self.size, self.torn = 0, 0, 0
        self.last = self.run = self.who = ""

    def lines(self) -> Iterator[Line]:
        """All whole lines after those read before; `torn` is then how many bytes lie behind them."""
        _check_file(self.path)
        self.torn = 0
        try:
            with self.path.open("rb") as file:
                file.seek(self.size)
                while raw := file.readline(LONGEST):
                    if not raw.endswith(b"\n") and not file.read(1):
                        self.torn = len(raw)
                        self._check_torn(raw)
                        return
                    yield self._checked(raw)
        except OSError as error:
            raise Unread(f"Cannot read the audit log {self.path}: {error.strerror or error}.") from None

    def _checked(self, raw: bytes) -> Line:
        try:
            line: Line = _READER.decode(raw)
        except _UNREADABLE:
            raise self._changed() from None
        if self.n == 0:
            self.run, self.who = str(line.get("run")), str(line.get("who"))
            self.last = _first(self.run, self.who)
        if msgspec.json.encode(line) + b"\n" != raw:  # a name given twice, or spaces
            raise self._changed()
        hashed = line.pop("hash", None)
        if line.get("n") != self.n or line.get("previous") != self.last or hashed != _hash(line):
            raise self._changed()
        self.n, self.last, self.size = self.n + 1, hashed, self.size + len(raw)
        return {**line, "hash": hashed}

    def _check_torn(self, raw: bytes) -> None:
        """A file that does not begin as a log does is someone's, not ours to cut."""
        begin = b'{"n":0,'
        if self.n == 0 and raw.strip(b"\0") and not (raw.startswith(begin) or begin.startswith(raw)):
            raise RunError(f"{self.path} is not an audit log; name another file.")

    def other_than(self, run: str, who: str) -> str:
        """Whose log it is, where it is not that of this run and party."""
        if self.who != who:
            return f"another party, {self.who!r}, and not of {who!r}"
        return f"another run, whose plan has the hash {self.run[:12]!r}..., and not of this one, {run[:12]!r}..."

    def _changed(self) -> RunError:
        return RunError(
            f"line {self.n + 1} of {self.path} was changed, removed or swapped; trust nothing from there on."
        )


def verify(path: Path, last: str | None = None) -> Verdict:
    """Refuse a log whose chain is broken, or that does not end with the hash `last`."""
    chain = _Chain(path)
    for _ in chain.lines():
        pass
    if chain.torn:
        raise RunError(f"line {chain.n + 1} of {path} is half-written; the end of this log was lost or cut off.")
    if not chain.n:
        raise RunError(f"{path} is empty; an audit log has at least one line.")
    if last is not None and chain.last != last:
        raise RunError(f"{path} ends with the hash {chain.last}, not {last}; lines at its end were removed or added.")
    return Verdict(chain.n, chain.last, chain.who, chain.run)


def read(path: Path) -> Iterator[Line]:
    """The lines of a log, each checked against the one before."""
    return _Chain(path).lines()


def _first(run: str, who: str) -> str:
    return hashlib.sha256(b"hedgerow audit" + run.encode() + who.encode()).hexdigest()


def _hash(line: Line) -> str:
    return hashlib.sha256(msgspec.json.encode(line, order="sorted")).hexdigest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _check_file(path: Path) -> None:
    if path.exists() and not path.is_file():
        raise Unread(f"{path} is a folder or a device, not an audit log; name a file.")


def _open(path: Path, shared: bool) -> int:
    """To add to, by this process alone, or with `shared` in its turn; other users cannot read it."""
    _check_file(path)
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _unwritable(path, error.strerror or str(error)) from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if shared else fcntl.LOCK_NB))
    except OSError:
        os.close(file)
        raise RunError(f"The audit log {path} is in use by another process; end that, or name another file.") from None
    return file


def _close(file: int | None) -> None:
    if file is not None:
        os.close(file)


def _unwritable(path: Path | None, why: str) -> RunError:
    return RunError(f"Cannot write the audit log {path}: {why}; put that right and start again, it goes on from there.")
