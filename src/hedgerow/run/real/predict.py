"""Predictions of a vertical model by its real parties: the active party's side, which asks the owners of cuts."""

from contextlib import closing

import numpy as np
from numpy.typing import NDArray

from hedgerow.data.table import Table
from hedgerow.identity.identity import Identity
from hedgerow.model.model import Model
from hedgerow.protocols.align.lists import texts_of
from hedgerow.protocols.joining import propose
from hedgerow.protocols.predict.active import ask, present_of
from hedgerow.protocols.session.group import PartyGroup
from hedgerow.run.file.read import RunFile
from hedgerow.run.file.tables import digest
from hedgerow.run.folder.folder import open_folder
from hedgerow.run.folder.manifest import About
from hedgerow.run.forecast.disclosures import leaks
from hedgerow.run.real.connect import Options, driver_seat
from hedgerow.run.real.drive import drive, wait_for
from hedgerow.run.real.prediction import LATE, fresh_folder, meeting, plan_for


def predict(
    run: RunFile, model: Model, own_table: Table, identity: Identity, options: Options, absent: tuple[str, ...] = ()
) -> NDArray[np.int32]:
    """Where the active party's rows end in every tree; the owners of cuts dial in and are asked.

    Parties that are `absent` are not asked: at their cuts all rows go the default way.
    """
    plan, say = plan_for(run, model), options.say
    present, n_rows = present_of(model, absent), len(texts_of(own_table))
    seat = driver_seat(run, plan, identity, say, meeting(run))
    about = About(run.name, "driver", seat.name, plan.method, plan.text, {plan.active: digest(own_table)})
    place = options.folder or fresh_folder(run.folder, "predict")
    with (
        closing(open_folder(place, about, False)) as folder,
        drive(seat, folder, present) as (corridor, _),
    ):
        wait_for(present, seat, corridor, LATE)
        group = PartyGroup(corridor, plan, present, seat.settings.deadline)
        propose(group, identity)
        leaves = ask(group, model, own_table, say)
        beside = {"rows": n_rows, "absent": list(absent)}
        folder.finish({}, {**beside, "leaks": list(leaks(plan)), "notes": []})
    return leaves
