"""What both sides of a sealed prediction by real parties know: the plan, and what they show when they meet."""

import hashlib
from dataclasses import dataclass, replace

import msgspec

from hedgerow.agreement.options import Lattice, Paillier, SealedPrediction
from hedgerow.agreement.plan import Plan
from hedgerow.model.fixed_scores import BITS, FixedScores, fixed_scores
from hedgerow.model.model import Model
from hedgerow.protocols.scores.layout import method_of, sealed_plan
from hedgerow.protocols.scores.openings import KeepsOpenings
from hedgerow.run.file.read import RunFile
from hedgerow.run.real.prediction import plan_for, prediction_plan

ANY_MODULUS = 65537
"""In the plan that an owner knows."""


@dataclass(frozen=True)
class Sealing:
    """How scores are sealed: the cipher, the bits of a score, who is not asked, and what is kept of it."""

    privacy: Lattice | Paillier = Lattice()  # noqa: RUF009  # frozen
    bits: int = BITS
    absent: tuple[str, ...] = ()
    openings: KeepsOpenings | None = None
    """Where the active party keeps what an auditor would need."""


def sealed_plan_of(run: RunFile, method: SealedPrediction) -> Plan:
    """What the parties of a sealed prediction agree on, by the run file of the training."""
    asked = prediction_plan(run, method.model)
    return sealed_plan(run.name, asked.members, method, asked.coordinator)


def expected_plan(run: RunFile, model: str) -> Plan:
    """The plan that an owner knows; what the active party proposes of scores and cipher is checked by itself."""
    plan = sealed_plan_of(run, SealedPrediction(run.active or "", model, ANY_MODULUS))
    trained = run.real_plan()
    method = msgspec.structs.replace(plan.method, sharing=trained.groups, separate=trained.method.separates)
    return replace(plan, method=method)


def sealed_meeting(run: RunFile, model: str) -> bytes:
    """What both sides show when they meet: that they are here for sealed predictions with this model."""
    return hashlib.sha256(b"hedgerow sealed prediction" + run.real_plan().digest + model.encode()).digest()


def plan_to_score(run: RunFile, model: Model, sealing: Sealing) -> tuple[Plan, FixedScores]:
    """What is agreed on for a model of the active party's, and its leaves in fixed point."""
    plan_for(run, model)  # refuses a run file of other parties
    fixed = fixed_scores(model, sealing.bits)
    return sealed_plan_of(run, method_of(model, fixed, sealing.privacy)), fixed
