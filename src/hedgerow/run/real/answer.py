"""Predictions of a vertical model by its real parties: a passive party's side (`hedgerow answer`)."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

from hedgerow.corridor.wire import MOST_SMALL
from hedgerow.protocols.predict.own_part import PartOwner
from hedgerow.protocols.predict.passive import Answering
from hedgerow.run.file.read import RunFile
from hedgerow.run.folder.folder import open_folder
from hedgerow.run.folder.ledger_file import opened
from hedgerow.run.folder.manifest import About
from hedgerow.run.forecast.disclosures import leaks
from hedgerow.run.real.connect import Options, bound_policy, party_seat
from hedgerow.run.real.prediction import fresh_folder, meeting, prediction_plan
from hedgerow.run.real.serve import serve


def answer(run: RunFile, own: PartOwner, options: Options, ledger: Path | None = None) -> Path:
    """Answer until the active party has all it asked for; returns the folder.

    The ledger is where rows are counted over all predictions; None: the log, which each prediction has anew.
    """
    plan = prediction_plan(run, own.part.model)
    seat = party_seat(
        run, plan, own.name, own.identity, options.say, instead="hedgerow predict --with", meeting=meeting(run)
    )
    policy = bound_policy(own.policy, plan)
    own.check()
    place = options.folder or fresh_folder(run.folder, f"{own.name}-predict")
    about = About(run.name, "party", own.name, plan.method, plan.text)
    with opened(ledger) as counts, closing(open_folder(place, about, False)) as folder:
        party = Answering(replace(own, policy=policy, log=folder.log, ledger=counts))
        serve(seat, party.answer, lambda: MOST_SMALL)
        folder.finish({}, {"rows": party.n_asked, "leaks": list(leaks(plan)), "notes": []})
    return place
