"""Exchanges and bytes of a prediction, all parties in one process: what crossed, counted and not computed.

Consent to the plan, once for as many tables as come, is not counted.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hedgerow.corridor.messages import Answer, Consent, Propose, Request
from hedgerow.corridor.wire import Corridor
from hedgerow.data.table import Table
from hedgerow.model.model import Model
from hedgerow.model.part import ownership_of
from hedgerow.protocols.joining import propose
from hedgerow.protocols.predict.active import Asking, plan_of
from hedgerow.protocols.predict.own_part import PartOwner
from hedgerow.protocols.predict.passive import Answering
from hedgerow.protocols.session.group import PartyGroup
from hedgerow.run.simulation.parties import members
from hedgerow.run.simulation.present_parties import owner_of, tables_of
from hedgerow.run.simulation.score import sealed_scores
from hedgerow.transports.inproc import InProcess


@dataclass
class PredictionTraffic:
    """What a prediction costs."""

    exchanges: int = 0
    """Requests that go out at the same time are one; to learn which rows the parties have is one a batch."""
    out: int = 0
    """Bytes of the active party's requests, to all parties together."""
    back: int = 0
    """Bytes of their answers."""
    asking: bool = False
    """Whether the last message heard was a request."""

    @property
    def both(self) -> int:
        """Bytes of both ways."""
        return self.out + self.back

    def hear(self, _sender: str, _receiver: str, message: Request | Answer, frame: bytes) -> None:
        """Count a message."""
        if isinstance(message, Propose | Consent):
            return
        requested = isinstance(message, Request)
        self.exchanges += requested and not self.asking
        self.asking = requested
        self.out += len(frame) * requested
        self.back += len(frame) * (not requested)


def predicted(model: Model, parties: Mapping[str, Table | None], *, cut_by_cut: bool = False) -> PredictionTraffic:
    """What crosses when the active party's rows are predicted; `cut_by_cut`: an exchange for each level with a cut.

    The model is whole, as an estimator's `model_` or a simulation's; the tables are those of its parties by name.
    """
    tables, present = tables_of(model, parties)
    own, (who, identities) = ownership_of(model), members(ownership_of(model).parties)
    owners = {name: owner_of(model, name, tables, identities) for name in present}
    traffic = PredictionTraffic()
    answers = {name: Answering(_cut_by_cut(one) if cut_by_cut else one).answer for name, one in owners.items()}
    plan = plan_of("predict", who, own.active, own.model)
    group = PartyGroup(Corridor(InProcess(answers), (traffic.hear,)), plan, present, 600.0)
    propose(group, None)
    Asking(group, model).leaves(tables[own.active])
    return traffic


def predicted_sealed(model: Model, parties: Mapping[str, Table | None]) -> PredictionTraffic:
    """What crosses when the active party's rows are scored under the seal."""
    traffic = PredictionTraffic()
    sealed_scores(model, parties, listeners=(traffic.hear,))
    return traffic


def _cut_by_cut(own: PartOwner) -> PartOwner:
    """With a part that does not say how its cuts follow each other, as older ones."""
    return replace(own, part=replace(own.part, after=None))
