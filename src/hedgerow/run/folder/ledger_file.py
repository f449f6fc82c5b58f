"""A data owner's ledger in a file, beside its key: an audit log that outlives runs.

Several processes of one owner may answer at the same time. They add to the file in turn, each to what the others have
written meanwhile, so that the chain of hashes holds and none of them counts alone.
"""

import fcntl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hedgerow.agreement.policy import Policy
from hedgerow.errors import RunError
from hedgerow.protocols.session.answer_ledger import AnswerLedger, answers_beside
from hedgerow.storage.audit import TORN, AuditLog, Fact, verify

LEDGER, OWNER = "all runs", "their data owner"
"""What the log says it is of, and whose; an owner may be called otherwise in every run."""


class LedgerFile(AuditLog):
    """An audit log that is locked only while a line is added."""

    shared = True

    def __init__(self, path: Path) -> None:
        self._turn = threading.RLock()
        super().__init__(path, LEDGER, OWNER)
        self._release()

    def note(self, event: str, /, **facts: Fact) -> None:
        """Add a line after those that other processes have added."""
        with self._in_turn():
            super().note(event, **facts)
            self._chain.n, self._chain.last, self._chain.size = self._n, self._last, self._size

    @contextmanager
    def _in_turn(self) -> Iterator[None]:
        with self._turn:
            if self._file is not None and self._closed.alive:
                fcntl.flock(self._file, fcntl.LOCK_EX)
            try:
                self._catch_up()
                yield
            finally:
                self._release()

    def _catch_up(self) -> None:
        for _ in self._chain.lines():
            pass
        if self._chain.n:
            self._n, self._last, self._size = self._chain.n, self._chain.last, self._chain.size
        if self._chain.torn and self._file is not None:
            self._cut(self._file)
            super().note(TORN, bytes=self._chain.torn)

    def _release(self) -> None:
        if self._file is not None and self._closed.alive:
            fcntl.flock(self._file, fcntl.LOCK_UN)


def ledger_beside(key: Path) -> Path:
    """Where the ledger is if nobody says: by the key, which is the owner's and which no run file names."""
    return key.with_suffix(".ledger")


@contextmanager
def opened(path: Path | None) -> Iterator[LedgerFile | None]:
    """The ledger, begun if it is not there; None where there is none."""
    if path is None:
        yield None
        return
    try:
        ledger = LedgerFile(path)
    except RunError as error:
        raise RunError(f"{error} The ledger of this owner may lie elsewhere (--ledger).") from None
    try:
        yield ledger
    finally:
        ledger.close()


def existing_log(path: Path) -> AuditLog:
    """A ledger that is there, or the log of a run that has no ledger beside it; refused if it does not hold."""
    if not path.exists():
        raise RunError(f"There is no ledger {path}; name the one beside the owner's key, or given with --ledger.")
    found = verify(path)
    return LedgerFile(path) if found.run == LEDGER else AuditLog(path, found.run, found.who)


def open_answers(ledger: Path | None, key: Path, rules: Policy) -> AnswerLedger:
    """Where an owner counts answers about ids: beside its other ledger, or else beside its key."""
    return AnswerLedger(answers_beside(ledger or ledger_beside(key)), rules.answer_limits)
