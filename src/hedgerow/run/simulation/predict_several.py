"""Rows of one active party, predicted by the models of several, all parties being in this process."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.policy import ALLOW_ALL
from hedgerow.corridor.wire import Corridor, Listener
from hedgerow.data.table import Table
from hedgerow.errors import DataError, Sentence
from hedgerow.identity.identity import Identity
from hedgerow.model.bag import Bag
from hedgerow.model.part import ownership_of, part_of
from hedgerow.protocols.joining import propose
from hedgerow.protocols.predict.own_part import PartOwner
from hedgerow.protocols.predict.several_models import ask_all, bagged_plan, present_in
from hedgerow.protocols.predict.several_parts import AnsweringAll
from hedgerow.protocols.session.group import PartyGroup
from hedgerow.run.simulation.parties import members
from hedgerow.transports.inproc import Begin, InProcess


def predict_each(
    bag: Bag, parties: Mapping[str, Table | None], listeners: tuple[Listener, ...] = ()
) -> list[NDArray[np.float64]]:
    """What each model predicts for the rows of the one active party whose table is given; None: absent."""
    for model in bag.models.values():
        model.check_whole()
    asker, own_table, passive = _asker(bag, parties)
    models = list(bag.models.values())
    present = present_in(models, asker, [name for name, table in passive.items() if table is None])
    who, identities = members((asker, *passive))
    answers: dict[str, Begin] = {}
    for name in present:
        table = passive[name]
        if table is not None:
            answers[name] = _answer(bag, name, table, identities[name])
    group = PartyGroup(
        Corridor(InProcess(answers), listeners), bagged_plan("predict", who, asker, models), present, 600.0
    )
    propose(group, None)
    leaves = ask_all(group, models, own_table, lambda _: None)
    return [model.means(model.scores_at(ends)) for model, ends in zip(models, leaves, strict=True)]


def _asker(bag: Bag, parties: Mapping[str, Table | None]) -> tuple[str, Table, dict[str, Table | None]]:
    """Whose rows are predicted, its table, and the passive parties' tables."""
    known = {party for model in bag.models.values() for party in ownership_of(model).parties} - set(bag.models)
    strange = sorted(set(parties) - known - set(bag.models))
    if strange:
        raise DataError(f"{strange[0]!r} is no party of the models; they have {', '.join(map(repr, sorted(known)))}.")
    given = {name: table for name, table in parties.items() if table is not None and name in bag.models}
    if len(given) != 1:
        names = ", ".join(map(repr, bag.models))
        raise DataError(f"Rows of one active party are predicted at a time; give the table of one of {names}.")
    for name in sorted(known):
        if name not in parties:
            raise DataError(f"The table of {name!r} is not given; give it, or None to predict without that party.")
    ((asker, own_table),) = given.items()
    return asker, own_table, {name: table for name, table in parties.items() if name in known}


def _answer(bag: Bag, name: str, table: Table, identity: Identity) -> Begin:
    """What answers for a passive party, with its parts of all models."""
    first, *more = [part_of(model, name) for model in bag.models.values() if name in ownership_of(model).parties]
    own = PartOwner(name, first, table, ALLOW_ALL, identity)
    try:
        return AnsweringAll(own, tuple(more)).answer
    except DataError as error:
        raise DataError(Sentence(f"Party {name!r}: ", error.sentence)) from None
