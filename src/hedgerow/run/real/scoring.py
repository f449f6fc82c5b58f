"""Sealed predictions of a vertical model by its real parties: the active party's side."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from hedgerow.identity.identity import Identity
from hedgerow.model.model import Model
from hedgerow.protocols.joining import propose
from hedgerow.protocols.predict.active import present_of
from hedgerow.protocols.scores.scoring import SealedScores
from hedgerow.protocols.session.group import PartyGroup
from hedgerow.run.file.read import RunFile
from hedgerow.run.folder.folder import open_folder
from hedgerow.run.folder.manifest import About
from hedgerow.run.forecast.disclosures import leaks
from hedgerow.run.real.connect import Options, driver_seat
from hedgerow.run.real.drive import drive, wait_for
from hedgerow.run.real.prediction import LATE, fresh_folder
from hedgerow.run.real.rejoin import Scoring
from hedgerow.run.real.score_plan import Sealing, plan_to_score, sealed_meeting


@contextmanager
def scoring(run: RunFile, model: Model, identity: Identity, sealing: Sealing, options: Options) -> Iterator[Scoring]:
    """Where rows are scored, once the passive parties are here; they are told when it is over."""
    plan, fixed = plan_to_score(run, model, sealing)
    present = present_of(model, sealing.absent)
    seat = driver_seat(run, plan, identity, options.say, sealed_meeting(run, plan.method.model))
    about = About(run.name, "driver", seat.name, plan.method, plan.text)
    place = options.folder or fresh_folder(run.folder, "predict")

    def join() -> SealedScores:
        wait_for(present, seat, corridor, LATE)
        group = PartyGroup(corridor, plan, present, seat.settings.deadline)
        keys, openings = propose(group, identity), sealing.openings
        return SealedScores(group, model, fixed, keys, identity, options.threads, openings=openings)

    scoring = Scoring(join)
    with (
        closing(open_folder(place, about, False)) as folder,
        drive(seat, folder, present, on_restart=scoring.forget) as (corridor, _),
        closing(scoring),
    ):
        scoring.joined()
        yield scoring
        beside = {"rows": scoring.n_rows, "absent": list(sealing.absent)}
        folder.finish({}, {**beside, "leaks": list(leaks(plan)), "notes": []})
