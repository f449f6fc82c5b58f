"""`predict` over several parties' tables, all in this process: what the estimators do with a vertical model."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Never

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.options import Lattice, Paillier
from hedgerow.agreement.policy import ALLOW_ALL
from hedgerow.corridor.wire import Corridor, Frame, Listener
from hedgerow.data.table import Table
from hedgerow.errors import DataError, Sentence
from hedgerow.identity.identity import Identity
from hedgerow.model.fixed_scores import BITS, fixed_scores
from hedgerow.model.model import Model
from hedgerow.model.part import ownership_of, part_of
from hedgerow.protocols.joining import propose
from hedgerow.protocols.predict.active import ask, plan_of, present_of
from hedgerow.protocols.predict.passive import Answering, PartOwner
from hedgerow.protocols.predict.sealed_active import sealed_plan
from hedgerow.protocols.predict.sealed_passive import Choosing
from hedgerow.protocols.predict.sealed_scores import SealedScores, sealed_method
from hedgerow.protocols.session.answer_ledger import AnswerLedger
from hedgerow.protocols.session.group import PartyGroup
from hedgerow.protocols.session.shell import Shell
from hedgerow.run.simulation.parties import members
from hedgerow.transports.inproc import InProcess


def predict_parties(
    model: Model, parties: Mapping[str, Table | None], listeners: tuple[Listener, ...] = ()
) -> NDArray[np.int32]:
    """Where the active party's rows end in every tree, all parties being here; None in place of a table: absent."""
    tables, present = _tables(model, parties)
    own, (who, identities) = ownership_of(model), members(ownership_of(model).parties)
    answers = {name: _made(_owner(model, name, tables, identities), Answering) for name in present}
    plan = plan_of("predict", who, own.active, own.model)
    group = PartyGroup(Corridor(InProcess(answers), listeners), plan, present, 600.0)
    propose(group, None)
    return ask(group, model, tables[own.active], lambda _: None)


def sealed_scores(
    model: Model,
    parties: Mapping[str, Table | None],
    privacy: Lattice | Paillier = Lattice(),  # noqa: B008  # frozen
    bits: int = BITS,
    threads: int = 1,
    listeners: tuple[Listener, ...] = (),
) -> NDArray[np.float32]:
    """Raw scores of the active party's rows by sealed prediction, all parties being here."""
    tables, present = _tables(model, parties)
    own, (who, identities) = ownership_of(model), members(ownership_of(model).parties)
    counter = AnswerLedger(None, ALLOW_ALL.answer_limits)
    choosing = partial(Choosing, answers=counter, threads=threads)
    answers = {name: _made(_owner(model, name, tables, identities), choosing) for name in present}
    fixed = fixed_scores(model, bits)
    plan = sealed_plan("predict", who, sealed_method(model, fixed, privacy))
    group = PartyGroup(Corridor(InProcess(answers), listeners), plan, present, 600.0)
    scores = SealedScores(group, model, fixed, propose(group, None), identities[own.active], threads)
    return scores.scores(tables[own.active])


def _tables(model: Model, parties: Mapping[str, Table | None]) -> tuple[dict[str, Table], tuple[str, ...]]:
    """The tables that are here, and the parties that are asked."""
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
    return tables, present_of(model, [name for name, table in parties.items() if table is None])


def _owner(model: Model, name: str, tables: Mapping[str, Table], identities: Mapping[str, Identity]) -> PartOwner:
    return PartOwner(name, part_of(model, name), tables[name], ALLOW_ALL, identities[name])


def _made(own: PartOwner, role: Callable[[PartOwner], Shell[Never]]) -> Callable[[Frame], bytes]:
    """What answers for a party."""
    try:
        return role(own).answer
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
