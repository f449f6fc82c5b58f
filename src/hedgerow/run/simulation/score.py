"""Sealed prediction over several parties' tables, all in this process."""

from collections.abc import Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.options import Lattice, Paillier
from hedgerow.agreement.policy import ALLOW_ALL, Policy
from hedgerow.corridor.wire import Corridor, Listener
from hedgerow.data.table import Table
from hedgerow.model.fixed_scores import BITS, fixed_scores
from hedgerow.model.model import Model
from hedgerow.protocols.joining import propose
from hedgerow.protocols.scores.layout import method_of, sealed_plan
from hedgerow.protocols.scores.passive import Choosing
from hedgerow.protocols.scores.scoring import SealedScores
from hedgerow.protocols.session.answer_ledger import AnswerLedger
from hedgerow.protocols.session.group import PartyGroup
from hedgerow.run.simulation.parties import members
from hedgerow.run.simulation.present_parties import answer_of, owner_of, tables_of
from hedgerow.transports.inproc import InProcess


def sealed_scores(
    model: Model,
    parties: Mapping[str, Table | None],
    privacy: Lattice | Paillier = Lattice(),  # noqa: B008  # frozen
    bits: int = BITS,
    threads: int = 1,
    listeners: tuple[Listener, ...] = (),
    *,
    policy: Policy = ALLOW_ALL,
) -> NDArray[np.float32]:
    """Raw scores of the active party's rows by sealed prediction, all parties being here.

    `policy` is that of every owner; answers are counted within it.
    """
    tables, present = tables_of(model, parties)
    who, identities = members(tuple(parties))
    counter = AnswerLedger(None, policy.answer_limits)
    choosing = partial(Choosing, answers=counter, threads=threads)
    answers = {name: answer_of(owner_of(model, name, tables, identities, policy), choosing) for name in present}
    fixed = fixed_scores(model, bits)
    plan = sealed_plan("predict", who, method_of(model, fixed, privacy))
    group = PartyGroup(Corridor(InProcess(answers), listeners), plan, present, 600.0)
    scores = SealedScores(group, model, fixed, propose(group, None), identities[plan.active], threads)
    return scores.scores(tables[plan.active])
