"""Predictions of vertical models in one process for tests: every frame can be heard or altered on its way."""

from federated import Federation, Heard, identity, params_of
from hedgerow.agreement.plan import Goal, Member
from hedgerow.agreement.policy import ALLOW_ALL
from hedgerow.corridor.wire import Corridor
from hedgerow.model import part as parts
from hedgerow.model.model import Model
from hedgerow.protocols.joining import propose
from hedgerow.protocols.predict.active import Asking, plan_of, present_of
from hedgerow.protocols.predict.own_part import PartOwner
from hedgerow.protocols.predict.passive import Answering
from hedgerow.protocols.session.group import PartyGroup
from hedgerow.transports.inproc import InProcess


def trained(parties, params=None, goal=Goal()):  # noqa: B008
    """The active party's model, and the parts that the others keep; the first party is the active one."""
    active = next(iter(parties))
    fed = Federation(parties, params or params_of(), goal, method="vertical", protection="plain", active=active)
    return fed.model(), {name: parts.decoded(content, name) for name, content in fed.kept.items()}


class Prediction:
    """A model in parts, the parties' rows, and what crossed between them."""

    def __init__(self, model: Model, own_parts, tables, policy=ALLOW_ALL, absent=(), logs=None) -> None:
        self.model, self.tables, self.heard = model, tables, []
        own = model.ownership
        members = tuple(Member(name, identity(name).fingerprint) for name in own.parties)
        self.plan = plan_of("a test", members, own.active, own.model)
        self.present = present_of(model, absent)
        self.answering = {
            name: Answering(
                PartOwner(name, own_parts[name], tables[name], policy, identity(name), (logs or {}).get(name))
            )
            for name in self.present
        }
        transport = InProcess({name: party.answer for name, party in self.answering.items()})
        corridor = Corridor(transport, (lambda *what: self.heard.append(Heard(*what)),))
        self.group = PartyGroup(corridor, self.plan, self.present, 1.0)

    def consented(self) -> "Prediction":
        """All parties have agreed to the plan."""
        propose(self.group, None)
        return self

    def asking(self) -> Asking:
        """The active party's side, as it begins."""
        return Asking(self.consented().group, self.model)

    def leaves(self, **more):
        """Where the active party's rows end in every tree."""
        return self.asking().leaves(self.tables[self.plan.active], **more)

    def of(self, kind: str) -> list[Heard]:
        """Messages of a kind, in order."""
        return [heard for heard in self.heard if heard.kind == kind]
