"""Training by real parties, the driver's side (`hedgerow drive`): it listens, and the parties (`join`) dial.

Every side has its own copy of the run file; the plan made from it must be the same everywhere, to the last byte. A
driver that was killed is started again with --resume.
"""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from hedgerow.agreement.plan import Plan
from hedgerow.identity.identity import Identity
from hedgerow.model.file import encoded
from hedgerow.model.model import Model
from hedgerow.protocols.driver import Driver, State
from hedgerow.protocols.driver import run as train_with
from hedgerow.run.file.read import RunFile
from hedgerow.run.folder import manifest
from hedgerow.run.folder.checkpoint import Checkpoint, losses_of
from hedgerow.run.folder.folder import CHECKPOINT, METRICS, MODEL, RunFolder, check_folder, open_folder
from hedgerow.run.folder.private_state import PlacesFile
from hedgerow.run.folder.recorder import noting
from hedgerow.run.forecast.disclosures import leaks
from hedgerow.run.real.connect import Options, driver_seat
from hedgerow.run.real.drive import drive
from hedgerow.run.real.own_tables import Own, active_of, digest


@dataclass(frozen=True, eq=False)
class Driven:
    """What the driver of a finished run has."""

    folder: Path
    model: Model
    seconds: float
    bytes: Mapping[str, tuple[int, int]]


def train(run: RunFile, identity: Identity, options: Options, own: Own | None = None) -> Driven:
    """Drive a run of real parties, a vertical one as its active party; whatever ends it, they are told."""
    plan, place, say = run.real_plan(), options.folder or run.folder, options.say
    seat = driver_seat(run, plan, identity, say)
    check_folder(place, options.resume)
    active = active_of(run, plan, own, PlacesFile(place, plan.digest), say)
    data = {} if active is None else {plan.active: digest(active.own_table, active.own_valid)}
    about = manifest.About(run.name, "driver", seat.name, run.method, plan.text, data)
    with (
        closing(open_folder(place, about, options.resume, say)) as folder,
        closing(Checkpoint(folder.path / CHECKPOINT, plan, folder.attempts)) as checkpoint,
        drive(seat, folder, plan.answering, options.watch) as (corridor, recorder),
    ):
        notes: list[str] = []
        driver = Driver(
            plan, corridor, identity, options.threads, seat.settings.deadline, seat.settings.patience,
            callbacks=[recorder.after_round], keep=checkpoint.keeping(folder.log), tell=say, note=noting(notes, say),
            own=active, notes_bins=True, log=folder.log, commit=folder.commit,
        )  # fmt: skip
        model, state = train_with(driver, checkpoint.state)
        return _driven(folder, plan, model, state, checkpoint.seconds, notes)


def _driven(
    folder: RunFolder, plan: Plan, model: Model, state: State, seconds: list[float], notes: list[str]
) -> Driven:
    folder.write_json(METRICS, {"metric": model.metric, "history": model.history, "seconds_per_tree": seconds})
    beside = {"losses": losses_of(state), "leaks": list(leaks(plan)), "notes": notes}
    kept = folder.finish(
        {MODEL: encoded(model)}, {**beside, **manifest.bins_learnt(state), **manifest.promised(model.promise)}
    )
    return Driven(folder.path, model, sum(seconds), manifest.bytes_by_party(kept["messages"]))
