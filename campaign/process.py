"""Commands of hedgerow in processes of their own; however a trial ends, they end with it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

PAUSE = 0.004
"""Seconds between two looks."""


class Wrong(Exception):
    """What went otherwise than it must, in a few words."""


class Process:
    """One command, and what it said."""

    def __init__(self, words: Sequence[str], out: Path) -> None:
        self._out = out
        with out.open("wb") as file:
            command = [sys.executable, "-m", "hedgerow", *words]
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file)

    @property
    def said(self) -> str:
        """All it wrote so far."""
        return self._out.read_text(errors="replace")

    @property
    def last_words(self) -> str:
        """The last line it wrote."""
        return (self.said.strip().splitlines() or ["nothing"])[-1]

    @property
    def code(self) -> int | None:
        """Its exit code; None as long as it runs."""
        return self._process.poll()

    def kill(self) -> float:
        """End it as `kill -9` does; returns when that was, by the clock."""
        now = time.time()
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait(10)
        return now

    def freeze(self) -> None:
        """Stand still until `thaw`."""
        os.kill(self._process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Go on."""
        os.kill(self._process.pid, signal.SIGCONT)


class Crew:
    """The processes of one trial, by name, and the time they have together."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self.folder, self._seconds = folder, seconds
        self._end = time.monotonic() + seconds
        self._now: dict[str, Process] = {}
        self._all: list[Process] = []

    def __enter__(self) -> "Crew":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._all:
            if process.code is None:
                process.kill()

    def __getitem__(self, name: str) -> Process:
        return self._now[name]

    def start(self, name: str, words: Sequence[str]) -> None:
        """A command under a name; started again, it takes the place of the one before."""
        process = Process(words, self.folder / f"{name}.{len(self._all)}.out")
        self._now[name] = process
        self._all.append(process)

    def until(self, true: Callable[[], bool], what: str) -> None:
        """Wait, at most as long as the trial may take."""
        while not true():
            if time.monotonic() > self._end:
                raise Wrong(f"{what} did not come within the {self._seconds:g} seconds of a trial{self._words()}")
            time.sleep(PAUSE)

    def _words(self) -> str:
        return "".join(f"; {name}: {process.last_words}" for name, process in self._now.items())

    def ended(self, *names: str) -> None:
        """Wait until these have ended, and refuse any that did not end well or showed a traceback."""
        self.over(*names)
        for name in names:
            if self[name].code != 0:
                raise Wrong(f"{name} ended with {self[name].code}: {self[name].last_words}")

    def over(self, *names: str) -> None:
        """Wait until these have ended, well or not, and refuse a traceback of anyone."""
        self.until(lambda: all(self[name].code is not None for name in names), "the end")
        for process in self._all:
            if "Traceback" in process.said:
                raise Wrong(f"a process showed a traceback: {process.last_words}")
