"""A passive party that answers sealed predictions until it is told to stop: several models, one thread for each.

It dials out, like any party, and has no listening socket: what it does is in a status file in its folder, and in an
audit log for each model. A model can be withdrawn, or expire, while the party runs: it then refuses.
"""

import datetime
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from hedgerow.agreement.plan import Plan
from hedgerow.corridor.transport import Answer
from hedgerow.errors import HedgerowError, PolicyError, RunError
from hedgerow.protocols.predict.own_part import PartOwner
from hedgerow.protocols.scores.passive import Choosing
from hedgerow.protocols.session.answer_ledger import AnswerLedger
from hedgerow.run.file.read import RunFile
from hedgerow.run.file.serving import ServedModel
from hedgerow.run.folder.ledger_file import opened
from hedgerow.run.folder.recorder import Say
from hedgerow.run.real.connect import party_seat
from hedgerow.run.real.score_plan import expected_plan, sealed_meeting
from hedgerow.run.real.serve import serve
from hedgerow.storage.atomic import write_whole
from hedgerow.storage.audit import AuditLog

STATUS = "status.json"
PRIVATE_FILE = 0o600
AGAIN_AFTER = 2.0
"""Seconds after a conversation has ended before the driver is called again."""


@dataclass(eq=False)
class Served:
    """One model: what it answers with, and what it has done so far."""

    run: RunFile
    own: PartOwner
    model: ServedModel
    label: str
    counts: Path | None = None
    """The owner's ledger, in which rows are counted that it tells whether it has, where one party speaks for a row."""
    state: str = "starting"
    since: float = 0.0
    rows: int = 0
    requests: int = 0
    refusals: int = 0
    last_refusal: str = ""

    def told(self) -> dict[str, Any]:
        """For the status file."""
        return {
            "model": self.own.part.model,
            "state": self.model.refusal(datetime.date.today()) or self.state,  # an owner's own day
            "requests": self.requests,
            "rows": self.rows,
            "refusals": self.refusals,
            "last refusal": self.last_refusal,
        }


class ModelServer:
    """Answers with all models of one owner."""

    def __init__(self, served: list[Served], ledger: AnswerLedger, folder: Path, say: Say, threads: int) -> None:
        self.served, self.ledger, self.folder, self.say, self.threads = served, ledger, folder, say, threads
        self.begun = time.time()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Call the drivers of all models, each in a thread of its own; refuses a folder that another process uses."""
        for one in self.served:
            log = AuditLog(self.folder / f"{one.label}.log", one.own.part.model, one.own.name)
            name = f"hedgerow-serve-{one.label}"
            thread = threading.Thread(target=self._keep, args=(one, log), daemon=True, name=name)
            self._threads.append(thread)
            thread.start()
        self.note()

    @property
    def alive(self) -> bool:
        """Whether any model still answers, or will."""
        return any(thread.is_alive() for thread in self._threads)

    def change(self, models: Sequence[ServedModel]) -> None:
        """Take up what the owner says of each model now: whether it is withdrawn, and when it expires."""
        for one, now in zip(self.served, models, strict=False):
            if one.model != now:
                one.model = replace(one.model, withdrawn=now.withdrawn, expires=now.expires)
                self.say(f"{one.label}: {one.model.refusal(datetime.date.today()) or 'answers'}")
        self.note()

    def note(self) -> None:
        """Write the status file."""
        told = {"begun": self.begun, "noted": time.time(), "models": [one.told() for one in self.served]}
        with self._lock:
            write_whole(self.folder / STATUS, msgspec.json.encode(told) + b"\n", RunError, PRIVATE_FILE)

    def _keep(self, one: Served, log: AuditLog) -> None:
        while True:
            try:
                self._converse(one, log)
                one.state = "waiting"
            except HedgerowError as error:
                one.state = "waiting"
                self.say(f"{one.label}: {error}")
            time.sleep(AGAIN_AFTER)

    def _converse(self, one: Served, log: AuditLog) -> None:
        """One conversation with the driver, until it says goodbye."""
        known = expected_plan(one.run, one.own.part.model)
        with opened(one.counts if known.once else None) as counts:
            self._answer(one, known, replace(one.own, log=log, ledger=counts), log)

    def _answer(self, one: Served, known: Plan, own: PartOwner, log: AuditLog) -> None:
        seat = party_seat(
            one.run, known, own.name, own.identity, lambda sentence: self.say(f"{one.label}: {sentence}"),
            instead="hedgerow predict --sealed", meeting=sealed_meeting(one.run, own.part.model),
        )  # fmt: skip
        seat = replace(seat, settings=replace(seat.settings, patience=float("inf")))
        party = Choosing(own, self.ledger, self.threads, known)
        one.state = "calling"
        serve(seat, self._counted(one, party), lambda: party.most_bytes, log)

    def _counted(self, one: Served, party: Choosing) -> Answer:
        def answer(frame: bytes) -> bytes:
            one.state, one.requests = "answering", one.requests + 1
            try:
                refusal = one.model.refusal(datetime.date.today())  # an owner's own day
                if refusal:
                    raise PolicyError(refusal)
                before = party.n_asked
                out = party.answer(frame)
                one.rows += party.n_asked - before
            except HedgerowError as error:
                one.refusals, one.last_refusal = one.refusals + 1, str(error)
                raise
            return out

        return answer
