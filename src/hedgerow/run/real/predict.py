"""Predictions of a vertical model by its real parties: the active party's side, which asks the owners of cuts."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.plan import Plan
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

Told = TypeVar("Told")


@dataclass(frozen=True, eq=False)
class Question:
    """Whose rows are predicted, what is agreed on, and who is asked; parties that are `absent` are not."""

    plan: Plan
    own_table: Table
    present: tuple[str, ...]
    absent: tuple[str, ...] = ()


def predict(
    run: RunFile, model: Model, own_table: Table, identity: Identity, options: Options, absent: tuple[str, ...] = ()
) -> NDArray[np.int32]:
    """Where the active party's rows end in every tree; the owners of cuts dial in and are asked.

    Parties that are `absent` are not asked: at their cuts all rows go the default way.
    """
    question = Question(plan_for(run, model), own_table, present_of(model, absent), absent)
    return asked_together(run, question, identity, options, lambda group: ask(group, model, own_table, options.say))


def asked_together(
    run: RunFile, question: Question, identity: Identity, options: Options, talk: Callable[[PartyGroup], Told]
) -> Told:
    """What is told when the parties are here and have agreed; the folder has what was said."""
    plan, present, own_table = question.plan, question.present, question.own_table
    seat, n_rows = driver_seat(run, plan, identity, options.say, meeting(run)), len(texts_of(own_table))
    about = About(run.name, "driver", seat.name, plan.method, plan.text, {plan.active: digest(own_table)})
    place = options.folder or fresh_folder(run.folder, "predict")
    with (
        closing(open_folder(place, about, False)) as folder,
        drive(seat, folder, present) as (corridor, _),
    ):
        wait_for(present, seat, corridor, LATE)
        group = PartyGroup(corridor, plan, present, seat.settings.deadline)
        propose(group, identity)
        told = talk(group)
        beside = {"rows": n_rows, "absent": list(question.absent)}
        folder.finish({}, {**beside, "leaks": list(leaks(plan)), "notes": []})
    return told
