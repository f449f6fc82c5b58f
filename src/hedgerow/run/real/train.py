"""Training by real parties, the driver's side (`hedgerow drive`): it listens, and the parties (`join`) dial.

Every side has its own copy of the run file; the plan made from it must be the same everywhere, to the last byte. A
driver that was killed is started again with --resume.
"""

from contextlib import closing

from hedgerow.identity.identity import Identity
from hedgerow.protocols.driver import Driver, State
from hedgerow.protocols.driver import run as train_with
from hedgerow.run.file.read import RunFile
from hedgerow.run.folder import manifest
from hedgerow.run.folder.checkpoint import Checkpoint
from hedgerow.run.folder.folder import CHECKPOINT, check_folder, open_folder
from hedgerow.run.folder.private_state import PlacesFile
from hedgerow.run.folder.recorder import noting
from hedgerow.run.real.active_curves import ActiveCurves
from hedgerow.run.real.all_runs import ONE_RUN, AllRuns
from hedgerow.run.real.connect import Options, driver_seat
from hedgerow.run.real.drive import drive
from hedgerow.run.real.driven import Driven, driven
from hedgerow.run.real.link_speeds import settled
from hedgerow.run.real.own_tables import Own, active_of, digest


def train(
    run: RunFile, identity: Identity, options: Options, own: Own | None = None, all_runs: AllRuns = ONE_RUN
) -> Driven:
    """Drive a run of real parties, a vertical one as its active party; whatever ends it, they are told."""
    plan, place, say = run.real_plan(), options.folder or run.folder, options.say
    seat = driver_seat(run, plan, identity, say)
    check_folder(place, options.resume)
    places = PlacesFile(place, plan.digest)
    active = active_of(run, plan, own, places, say)
    data = {} if active is None else {plan.active: digest(active.own_table, active.own_valid)}
    about = manifest.About(run.name, "driver", seat.name, run.method, plan.text, data)
    with (
        all_runs.counting(plan, active) as active,
        closing(open_folder(place, about, options.resume, say)) as folder,
        closing(Checkpoint(folder.path / CHECKPOINT, plan, folder.attempts)) as checkpoint,
        drive(seat, folder, plan.answering, options.watch) as (corridor, recorder),
    ):
        notes: list[str] = []
        plan = settled(seat, corridor, folder)
        curves, safe = ActiveCurves(plan, active, places), checkpoint.keeping(folder.log)

        def keep(state: State) -> None:
            safe(state)
            curves.after_round(state)

        driver = Driver(
            plan, corridor, identity, options.threads, seat.settings.deadline, seat.settings.patience,
            callbacks=[recorder.after_round], keep=keep, tell=say, note=noting(notes, say),
            own=active, notes_bins=True, log=folder.log, commit=folder.commit,
        )  # fmt: skip
        model, state = train_with(driver, checkpoint.state)
        return driven(folder, plan, model, state, seconds=checkpoint.seconds, notes=notes, curves=curves)
