"""`predict` over several parties' tables, all in this process: what the estimators do with a vertical model."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from hedgerow.corridor.wire import Corridor, Listener
from hedgerow.data.table import Table
from hedgerow.model.model import Model
from hedgerow.model.part import ownership_of
from hedgerow.protocols.joining import propose
from hedgerow.protocols.predict.active import ask, plan_of
from hedgerow.protocols.predict.passive import Answering
from hedgerow.protocols.session.group import PartyGroup
from hedgerow.run.simulation.parties import members
from hedgerow.run.simulation.present_parties import answer_of, owner_of, tables_of
from hedgerow.transports.inproc import InProcess


def predict_parties(
    model: Model, parties: Mapping[str, Table | None], listeners: tuple[Listener, ...] = ()
) -> NDArray[np.int32]:
    """Where the active party's rows end in every tree, all parties being here; None in place of a table: absent."""
    tables, present = tables_of(model, parties)
    own, (who, identities) = ownership_of(model), members(ownership_of(model).parties)
    answers = {name: answer_of(owner_of(model, name, tables, identities), Answering) for name in present}
    plan = plan_of("predict", who, own.active, own.model)
    group = PartyGroup(Corridor(InProcess(answers), listeners), plan, present, 600.0)
    propose(group, None)
    return ask(group, model, tables[own.active], lambda _: None)
