"""Predictions of a vertical model by its real parties: the active party's side, which asks the owners of cuts."""

import numpy as np
from numpy.typing import NDArray

from hedgerow.data.table import Table
from hedgerow.identity.identity import Identity
from hedgerow.model.model import Model
from hedgerow.protocols.predict.active import ask, present_of
from hedgerow.run.file.read import RunFile
from hedgerow.run.real.connect import Options
from hedgerow.run.real.prediction import plan_for
from hedgerow.run.real.question import Question, asked_together


def predict(
    run: RunFile, model: Model, own_table: Table, identity: Identity, options: Options, absent: tuple[str, ...] = ()
) -> NDArray[np.int32]:
    """Where the active party's rows end in every tree; the owners of cuts dial in and are asked.

    Parties that are `absent` are not asked: at their cuts all rows go the default way.
    """
    question = Question(plan_for(run, model), own_table, present_of(model, absent), absent)
    return asked_together(run, question, identity, options, lambda group: ask(group, model, own_table, options.say))
