"""`predict` over several parties' tables, all in this process: what the estimators do with a vertical model."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.policy import ALLOW_ALL
from hedgerow.corridor.wire import Corridor, Frame, Listener
from hedgerow.data.table import Table
from hedgerow.errors import DataError, Sentence
from hedgerow.model.model import Model
from hedgerow.model.part import ownership_of, part_of
from hedgerow.protocols.joining import propose
from hedgerow.protocols.predict.active import ask, plan_of, present_of
from hedgerow.protocols.predict.passive import Answering, PartOwner
from hedgerow.protocols.session.group import PartyGroup
from hedgerow.run.simulation.parties import members
from hedgerow.transports.inproc import InProcess


def predict_parties(
    model: Model, parties: Mapping[str, Table | None], listeners: tuple[Listener, ...] = ()
) -> NDArray[np.int32]:
    """Where the active party's rows end in every tree, all parties being here; None in place of a table: absent."""
    model.check_whole()
    own = ownership_of(model)
    for name in own.parties:
        if name not in parties:
            raise DataError(f"The table of {name!r} is not given; give it, or None to predict without that party.")
    strange = sorted(set(parties) - set(own.parties))
    if strange:
        raise DataError(f"{strange[0]!r} is no party of the model; it has {', '.join(map(repr, own.parties))}.")
    tables = _with_ids({name: table for name, table in parties.items() if table is not None})
    if own.active not in tables:
        raise DataError(f"The rows to predict are those of {own.active!r}, the active party; give its table.")
    present = present_of(model, [name for name, table in parties.items() if table is None])
    who, identities = members(own.parties)
    answers = {name: _answer_of(PartOwner(name, part_of(model, name), tables[name], ALLOW_ALL, identities[name]))
               for name in present}  # fmt: skip
    plan = plan_of("predict", who, own.active, own.model)
    group = PartyGroup(Corridor(InProcess(answers), listeners), plan, present, 600.0)
    propose(group, None)
    return ask(group, model, tables[own.active], lambda _: None)


def _answer_of(own: PartOwner) -> Callable[[Frame], bytes]:
    try:
        return Answering(own).answer
    except DataError as error:
        raise DataError(Sentence(f"Party {own.name!r}: ", error.sentence)) from None


def _with_ids(tables: Mapping[str, Table]) -> dict[str, Table]:
    """Rows are matched by ids; where no table has any, by their places, if there are equally many."""
    if any(table.ids is not None for table in tables.values()):
        return dict(tables)
    sizes: Sequence[int] = [table.n_rows for table in tables.values()]
    if len(set(sizes)) > 1:
        raise DataError("The tables have no ids and different numbers of rows; give ids, by which rows are matched.")
    return {name: replace(table, ids=np.arange(table.n_rows)) for name, table in tables.items()}
