"""Predictions of a vertical model by its real parties: a passive party's side (`hedgerow answer`)."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

from hedgerow.corridor.wire import MOST_SMALL
from hedgerow.model.part import Part
from hedgerow.protocols.predict.own_part import PartOwner
from hedgerow.protocols.predict.several_parts import AnsweringAll
from hedgerow.run.file.read import RunFile
from hedgerow.run.folder.folder import open_folder
from hedgerow.run.folder.ledger_file import opened
from hedgerow.run.folder.manifest import About
from hedgerow.run.forecast.disclosures import leaks
from hedgerow.run.real.connect import Options, party_seat
from hedgerow.run.real.prediction import fresh_folder, meeting, prediction_plan
from hedgerow.run.real.serve import serve


def answer(
    run: RunFile, own: PartOwner, options: Options, ledger: Path | None = None, more: tuple[Part, ...] = ()
) -> Path:
    """Answer until the active party has all it asked for; returns the folder.

    The ledger is where rows are counted over all predictions; None: the log, which each prediction has anew. `more` are
    parts of further active parties' models, by which it may predict too.
    """
    plan = prediction_plan(run, own.part.model)
    seat = party_seat(
        run, plan, own.name, own.identity, options.say, instead="hedgerow predict --with", meeting=meeting(run)
    )
    own.policy.check(plan)
    own.check()
    place = options.folder or fresh_folder(run.folder, f"{own.name}-predict")
    about = About(run.name, "party", own.name, plan.method, plan.text)
    with opened(ledger) as counts, closing(open_folder(place, about, False)) as folder:
        party = AnsweringAll(replace(own, log=folder.log, ledger=counts), more, plan)
        serve(seat, party.answer, lambda: MOST_SMALL)
        agreed = party.member.plan or plan
        beside = {"rows": party.n_asked, "models": list(party.models), "leaks": list(leaks(agreed))}
        folder.finish({}, {**beside, "notes": []})
    return place
