"""Sealed predictions of a vertical model by its real parties: the active party's side."""

import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.options import Lattice, Paillier, SealedPrediction
from hedgerow.agreement.plan import Plan
from hedgerow.data.table import Table
from hedgerow.errors import PartyLost, ProtocolError
from hedgerow.identity.identity import Identity
from hedgerow.model.fixed_scores import BITS, fixed_scores
from hedgerow.model.model import Model
from hedgerow.protocols.joining import propose
from hedgerow.protocols.predict.active import present_of
from hedgerow.protocols.predict.sealed_active import sealed_plan
from hedgerow.protocols.predict.sealed_scores import Progress, Reason, SealedScores, sealed_method
from hedgerow.protocols.session.group import PartyGroup
from hedgerow.run.file.read import RunFile
from hedgerow.run.folder.folder import open_folder
from hedgerow.run.folder.manifest import About
from hedgerow.run.forecast.disclosures import leaks
from hedgerow.run.real.connect import Options, driver_seat
from hedgerow.run.real.drive import drive, wait_for
from hedgerow.run.real.predict import LATE
from hedgerow.run.real.prediction import fresh_folder, plan_for, prediction_plan

T = TypeVar("T")


@dataclass(frozen=True)
class Sealing:
    """How scores are sealed: the cipher, the bits of a score, and who is not asked."""

    privacy: Lattice | Paillier = Lattice()  # noqa: RUF009  # frozen
    bits: int = BITS
    absent: tuple[str, ...] = ()


def sealed_plan_of(run: RunFile, method: SealedPrediction) -> Plan:
    """What the parties of a sealed prediction agree on, by the run file of the training."""
    asked = prediction_plan(run, method.model)
    return sealed_plan(run.name, asked.members, method, asked.coordinator)


def sealed_meeting(run: RunFile, model: str) -> bytes:
    """What both sides show when they meet: that they are here for sealed predictions with this model."""
    return hashlib.sha256(b"hedgerow sealed prediction" + run.real_plan().digest + model.encode()).digest()


class Scoring:
    """Sealed scores for as long as the parties are here: a party that is back as a new process is told all anew."""

    def __init__(self, join: Callable[[], SealedScores]) -> None:
        self._join = join
        self._restarted = threading.Event()
        self._scores: SealedScores | None = None
        self.n_rows = 0
        """Rows that were scored."""

    def forget(self) -> None:
        """A party knows nothing any more of what it was told."""
        self._restarted.set()

    def joined(self) -> SealedScores:
        """The parties, told all that they need."""
        if self._scores is None or self._restarted.is_set():
            self._restarted.clear()
            self._scores = self._join()
        return self._scores

    def scores(self, own_table: Table, progress: Progress = lambda _done, _of: None) -> NDArray[np.float32]:
        """Raw scores, rows x classes."""
        found = self._tried(lambda: self.joined().scores(own_table, progress))
        self.n_rows += own_table.n_rows
        return found

    def explained(self, own_table: Table, own_columns: Sequence[str]) -> tuple[NDArray[np.float32], list[Reason]]:
        """Raw scores, and what columns contribute to them."""
        found = self._tried(lambda: self.joined().explained(own_table, own_columns))
        self.n_rows += own_table.n_rows
        return found

    def _tried(self, work: Callable[[], T]) -> T:
        """Once more, if a party was lost or came back as a new process meanwhile."""
        try:
            return work()
        except PartyLost:
            self._restarted.set()
        except ProtocolError:
            if not self._restarted.is_set():
                raise
        return work()


@contextmanager
def scoring(run: RunFile, model: Model, identity: Identity, sealing: Sealing, options: Options) -> Iterator[Scoring]:
    """Where rows are scored, once the passive parties are here; they are told when it is over."""
    plan_for(run, model)  # refuses a run file of other parties
    fixed = fixed_scores(model, sealing.bits)
    plan = sealed_plan_of(run, sealed_method(model, fixed, sealing.privacy))
    present = present_of(model, sealing.absent)
    seat = driver_seat(run, plan, identity, options.say, sealed_meeting(run, plan.method.model))
    about = About(run.name, "driver", seat.name, plan.method, plan.text)
    place = options.folder or fresh_folder(run.folder, "predict")

    def join() -> SealedScores:
        wait_for(present, seat, corridor, LATE)
        group = PartyGroup(corridor, plan, present, seat.settings.deadline)
        return SealedScores(group, model, fixed, propose(group, identity), identity, options.threads)

    scoring = Scoring(join)
    with (
        closing(open_folder(place, about, False)) as folder,
        drive(seat, folder, present, on_restart=scoring.forget) as (corridor, _),
    ):
        scoring.joined()
        yield scoring
        beside = {"rows": scoring.n_rows, "absent": list(sealing.absent)}
        folder.finish({}, {**beside, "leaks": list(leaks(plan)), "notes": []})
