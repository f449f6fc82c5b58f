"""Predictions of a vertical model by its real parties, each in a process and with files of its own.

Every party has the run file of the training, the active one its model, the others their parts. Who is asked and
who asks keeps a folder with a manifest and an audit log, a new one for each prediction.
"""

import hashlib
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.plan import Plan
from hedgerow.corridor.wire import MOST_SMALL, Corridor
from hedgerow.data.table import Table
from hedgerow.errors import ModelError, ParameterError, PartyLost
from hedgerow.identity.identity import Identity
from hedgerow.model.model import Model
from hedgerow.model.part import ownership_of
from hedgerow.protocols.align.lists import texts_of
from hedgerow.protocols.joining import propose
from hedgerow.protocols.predict.active import ask, plan_of, present_of
from hedgerow.protocols.predict.passive import Answering, PartOwner
from hedgerow.protocols.secure_sum import PartyGroup
from hedgerow.run.file.read import RunFile
from hedgerow.run.file.tables import digest
from hedgerow.run.folder.folder import open_folder
from hedgerow.run.folder.ledger_file import opened
from hedgerow.run.folder.manifest import About
from hedgerow.run.folder.recorder import Recorder, Say
from hedgerow.run.forecast.disclosures import leaks
from hedgerow.run.real.connect import (
    ca_of,
    check_own,
    discreet,
    listening,
    passive_entry,
    revoked_by,
    settings_of,
    told_of_driver,
)
from hedgerow.transports.grpc.party import serve

Leaves = NDArray[np.int32]


@dataclass(frozen=True)
class Options:
    """How a real party takes part, beside what the run file says."""

    folder: Path | None = None
    say: Say = lambda _: None
    absent: tuple[str, ...] = ()
    """Parties that are not asked, at whose cuts all rows go the default way."""
    ledger: Path | None = None
    """Where a party that answers counts rows over all predictions; None: its log, which each prediction has anew."""


def predict_together(run: RunFile, model: Model, own_table: Table, identity: Identity, options: Options) -> Leaves:
    """The active party's side: where its rows end in every tree; the owners of cuts dial in and are asked."""
    plan, settings = _plan(run, ownership_of(model).model), settings_of(run)
    if set(ownership_of(model).parties) != set(plan.names) or ownership_of(model).active != plan.active:
        raise ModelError("The run file names other parties than the model has; give the one it was trained with.")
    present, n_rows = present_of(model, options.absent), len(texts_of(own_table))
    check_own(identity, plan.coordinator, f"[[party]] {plan.active!r}", settings)
    about = About(run.name, "driver", plan.active, plan.method, plan.text, {plan.active: digest(own_table)})
    place = options.folder or _fresh(run.folder, "predict")
    with (
        closing(open_folder(place, about, False)) as folder,
        listening(settings, identity, plan, folder, options.say, _met(run)) as transport,
    ):
        options.say(f"Listening at {settings.listen}; waiting for {', '.join(present)}.")
        late = transport.wait(frozenset(present), settings.patience)
        if late:
            names = ", ".join(map(repr, sorted(late)))
            raise PartyLost(
                f"{names} did not come within {settings.patience:g} seconds; predict again when all can be here, or "
                "name with --without who is to be left out.",
                late,
            )
        recorder = Recorder(folder.log, lambda _: None)
        group = PartyGroup(Corridor(transport, (recorder,)), plan, present, settings.deadline)
        propose(group, identity)
        leaves = ask(group, model, own_table, options.say)
        beside = {"rows": n_rows, "absent": list(options.absent)}
        folder.finish({}, {**beside, "leaks": list(leaks(plan)), "notes": []})
    return leaves


def answer(run: RunFile, own: PartOwner, options: Options) -> Path:
    """A passive party's side: answers until the active party has all it asked for; returns the folder."""
    plan, settings = _plan(run, own.part.model), settings_of(run)
    entry = passive_entry(run, plan, own.name, "hedgerow predict --with")
    check_own(own.identity, entry.fingerprint, f"[[party]] {own.name!r}", settings)
    policy = replace(own.policy, plan=own.policy.plan or plan.digest.hex())
    policy.check(plan)
    own.check()
    place = options.folder or _fresh(run.folder, f"{own.name}-predict")
    about = About(run.name, "party", own.name, plan.method, plan.text)
    with opened(options.ledger) as ledger, closing(open_folder(place, about, False)) as folder:
        party = Answering(replace(own, policy=policy, log=folder.log, ledger=ledger))
        ca = ca_of(settings)
        options.say(f"Calling the driver at {settings.address}.")
        serve(
            settings.address, own.identity, ca, own.name, discreet(party.answer, options.say), run=_met(run),
            most_bytes=lambda: MOST_SMALL, patience=settings.patience, driver=plan.coordinator,
            revoked=revoked_by(settings, ca), on_event=told_of_driver(options.say),
        )  # fmt: skip
        folder.finish({}, {"rows": party.n_asked, "leaks": list(leaks(plan)), "notes": []})
    return place


def _plan(run: RunFile, model: str) -> Plan:
    if run.method != "vertical":
        raise ParameterError(f"Only models of vertical runs are predicted together; the run has method {run.method}.")
    trained = run.real_plan()
    return plan_of(run.name, trained.members, trained.active, model, trained.coordinator)


def _met(run: RunFile) -> bytes:
    """What both sides show when they meet: that they are here for a prediction, with the same run file."""
    return hashlib.sha256(b"hedgerow prediction" + run.real_plan().digest).digest()


def _fresh(folder: Path, what: str) -> Path:
    """The first folder of this kind that does not exist."""
    return next(p for n in count(1) if not (p := folder.with_name(f"{folder.name}-{what}-{n}")).exists())
