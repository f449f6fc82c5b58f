"""Predictions by a bag: the models of several active parties, in one process or asked about together."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.commands.options import WhatName
from hedgerow.commands.predict_together import Parties, say, written_as
from hedgerow.commands.read_tables import Roles, read_like
from hedgerow.data.table import Table
from hedgerow.errors import ParameterError
from hedgerow.model.bag import Bag, own_columns
from hedgerow.model.bagged_part import joined_columns
from hedgerow.run.real import predict_several
from hedgerow.run.real.connect import Options


def check_bag(bag: Bag, what: WhatName, sealed: bool, serve: bool) -> None:
    """Refuse to tell what only one model has."""
    if sealed or serve:
        raise ParameterError("--sealed and --serve are for one model, and a bag has several; leave them out.")
    if what in (WhatName.RAW, WhatName.LEAF):
        raise ParameterError(
            f"Each model of a bag has scores and leaves of its own, so --what {what.value} is for one model; use label "
            "or probability."
        )
    if what is WhatName.PROBABILITY and not bag.classes:
        raise ParameterError("The models predict numbers and have no probabilities; use --what label.")


def read_rows(bag: Bag, data: str, roles: Roles, parties: Parties | None) -> Table:
    """The rows to predict, with the columns of all models, or with the asking active party's own."""
    models = bag.models.values()
    if parties is None:
        for model in models:
            model.check_whole()
        return read_like(data, joined_columns([model.columns for model in models]), roles)
    roles = replace(written_as(parties.run, roles), repeated_ids=True)
    return read_like(data, joined_columns([own_columns(model) for model in models]), roles)


def predicted_by_each(bag: Bag, table: Table, parties: Parties | None, threads: int) -> list[NDArray[np.float64]]:
    """What each model predicts for the rows."""
    if parties is None:
        return bag.each(table, threads)
    options = Options(parties.folder, say=say)
    return predict_several.predict_each(parties.run, bag, table, parties.identity, options, parties.absent)


def columns_of(bag: Bag, each: list[NDArray[np.float64]], what: WhatName) -> tuple[list[str], list[Sequence[Any]]]:
    """Names and values of the predicted columns."""
    if what is WhatName.LABEL:
        return ["prediction"], [bag.labels_of_each(each).tolist()]
    return [f"probability_{c}" for c in bag.classes], bag.of_each(each).T.tolist()
