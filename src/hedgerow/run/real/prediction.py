"""What both sides of a prediction by real parties know: the plan, what they show when they meet, and their folders.

Every party has the run file of the training, the active one its model, the others their parts. Who is asked and
who asks keeps a folder with a manifest and an audit log, a new one for each prediction.
"""

import hashlib
from itertools import count
from pathlib import Path

from hedgerow.agreement.options import Vertical
from hedgerow.agreement.plan import Plan
from hedgerow.errors import ModelError, ParameterError
from hedgerow.model.model import Model
from hedgerow.model.part import ownership_of
from hedgerow.protocols.predict.active import plan_of
from hedgerow.run.file.read import RunFile

LATE = "predict again when all can be here, or name with --without who is to be left out."
"""What to do when a party does not come."""


def prediction_plan(run: RunFile, model: str) -> Plan:
    """What is agreed on, for the model of this id."""
    if not isinstance(run.method, Vertical):
        raise ParameterError(
            f"Only models of vertical runs are predicted together; the run has method {run.method.word}."
        )
    trained = run.real_plan()
    return plan_of(run.name, trained.members, trained.active, model, trained.coordinator)


def plan_for(run: RunFile, model: Model) -> Plan:
    """What is agreed on, for a model of the active party's; refuses a run file that it was not trained with."""
    own = ownership_of(model)
    plan = prediction_plan(run, own.model)
    if set(own.parties) != set(plan.names) or own.active != plan.active:
        raise ModelError("The run file names other parties than the model has; give the one it was trained with.")
    return plan


def meeting(run: RunFile) -> bytes:
    """What both sides show when they meet: that they are here for a prediction, with the same run file."""
    return hashlib.sha256(b"hedgerow prediction" + run.real_plan().digest).digest()


def fresh_folder(folder: Path, what: str) -> Path:
    """The first folder of this kind that does not exist."""
    return next(p for n in count(1) if not (p := folder.with_name(f"{folder.name}-{what}-{n}")).exists())
