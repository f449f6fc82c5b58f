"""The active party of an interactive prediction, in this process: joined once, it asks about as many tables as come."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from hedgerow.identity.identity import Identity
from hedgerow.model.model import Model
from hedgerow.protocols.joining import propose
from hedgerow.protocols.predict.active import Asking, present_of
from hedgerow.protocols.session.group import PartyGroup
from hedgerow.run.file.read import open_run
from hedgerow.run.folder.folder import open_folder
from hedgerow.run.folder.manifest import About
from hedgerow.run.real.connect import driver_seat
from hedgerow.run.real.drive import drive, wait_for
from hedgerow.run.real.prediction import LATE, meeting, plan_for


@contextmanager
def asking(run_file: Path, model: Model, identity: Identity) -> Iterator[Asking]:
    """For as many tables as come, once the passive parties are here."""
    run = open_run(run_file)
    plan, present = plan_for(run, model), present_of(model, ())
    seat = driver_seat(run, plan, identity, lambda _: None, meeting(run))
    about = About(run.name, "driver", seat.name, plan.method, plan.text)
    with (
        closing(open_folder(run_file.with_suffix(".active"), about, False)) as folder,
        drive(seat, folder, present) as (corridor, _),
    ):
        wait_for(present, seat, corridor, LATE)
        group = PartyGroup(corridor, plan, present, seat.settings.deadline)
        propose(group, identity)
        yield Asking(group, model)
