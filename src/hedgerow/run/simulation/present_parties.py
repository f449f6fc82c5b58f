"""The parties of a prediction in this process: whose tables are here, and what answers for each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Never

import numpy as np

from hedgerow.agreement.policy import ALLOW_ALL, Policy
from hedgerow.corridor.wire import Frame
from hedgerow.data.table import Table
from hedgerow.errors import DataError, Sentence
from hedgerow.identity.identity import Identity
from hedgerow.model.model import Model
from hedgerow.model.part import ownership_of, part_of
from hedgerow.protocols.predict.active import present_of
from hedgerow.protocols.predict.own_part import PartOwner
from hedgerow.protocols.session.shell import Shell


def tables_of(model: Model, parties: Mapping[str, Table | None]) -> tuple[dict[str, Table], tuple[str, ...]]:
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


def owner_of(
    model: Model,
    name: str,
    tables: Mapping[str, Table],
    identities: Mapping[str, Identity],
    policy: Policy = ALLOW_ALL,
) -> PartOwner:
    """A party with its part of the model."""
    return PartOwner(name, part_of(model, name), tables[name], policy, identities[name])


def answer_of(own: PartOwner, role: Callable[[PartOwner], Shell[Never]]) -> Callable[[Frame], bytes]:
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
