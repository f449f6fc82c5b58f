"""Predictions by the models of several active parties, by real parties: the side of the one whose rows they are."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hedgerow.data.table import Table
from hedgerow.errors import ParameterError
from hedgerow.identity.identity import Identity
from hedgerow.model.bag import Bag
from hedgerow.model.model import Model
from hedgerow.protocols.predict.several_models import ask_all, bagged_plan, present_in
from hedgerow.run.file.read import RunFile
from hedgerow.run.real.connect import Options
from hedgerow.run.real.question import Question, asked_together


def predict_each(
    run: RunFile, bag: Bag, own_table: Table, identity: Identity, options: Options, absent: tuple[str, ...] = ()
) -> list[NDArray[np.float64]]:
    """What each model predicts for the rows; the owners of cuts dial in and are asked about all models at once.

    The run file names whoever asks as its active party, and the passive parties of all models; it may be that of the
    own training, if all of them are in it.
    """
    models = list(bag.models.values())
    present = present_in(models, run.active, absent)
    _check_named(run, present, models)
    real = run.real_plan()
    plan = bagged_plan(run.name, real.members, real.active, models, real.coordinator)
    question = Question(plan, own_table, present, absent)
    leaves = asked_together(
        run, question, identity, options, lambda group: ask_all(group, models, own_table, options.say)
    )
    return [model.means(model.scores_at(ends)) for model, ends in zip(models, leaves, strict=True)]


def _check_named(run: RunFile, present: Sequence[str], models: Sequence[Model]) -> None:
    """Refuse a run file that does not name all who are asked."""
    if not run.method.links:
        raise ParameterError(
            f"Rows are predicted by a bag of hybrid models; the run file has method {run.method.word}."
        )
    lacking = [name for name in present if name not in run.names]
    if lacking:
        whose = next(
            model.ownership.active for model in models if model.ownership and lacking[0] in model.ownership.parties
        )
        raise ParameterError(
            f"The run file does not name {lacking[0]!r}, a passive party of the model of {whose!r}; add its [[party]] "
            "section at every party, or leave it out with --without."
        )
