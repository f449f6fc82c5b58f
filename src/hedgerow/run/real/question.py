"""What the active party of a prediction asks real parties, and the conversation in which it does."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import TypeVar

from hedgerow.agreement.plan import Plan
from hedgerow.data.table import Table
from hedgerow.identity.identity import Identity
from hedgerow.protocols.align.lists import texts_of
from hedgerow.protocols.joining import propose
from hedgerow.protocols.session.group import PartyGroup
from hedgerow.run.file.read import RunFile
from hedgerow.run.file.tables import digest
from hedgerow.run.folder.folder import open_folder
from hedgerow.run.folder.manifest import About
from hedgerow.run.forecast.disclosures import leaks
from hedgerow.run.real.connect import Options, driver_seat
from hedgerow.run.real.drive import drive, wait_for
from hedgerow.run.real.prediction import LATE, fresh_folder, meeting

Told = TypeVar("Told")


@dataclass(frozen=True, eq=False)
class Question:
    """Whose rows are predicted, what is agreed on, and who is asked; parties that are `absent` are not."""

    plan: Plan
    own_table: Table
    present: tuple[str, ...]
    absent: tuple[str, ...] = ()


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
