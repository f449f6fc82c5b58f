"""Sealed predictions in one process for tests: every frame can be heard or altered on its way."""

from federated import Heard, identity
from hedgerow.agreement.options import Lattice, SealedPrediction
from hedgerow.agreement.plan import Member
from hedgerow.agreement.policy import ALLOW_ALL
from hedgerow.corridor.wire import Corridor
from hedgerow.model.model import dense
from hedgerow.privacy.shapes import score_modulus
from hedgerow.protocols.align.lists import texts_of
from hedgerow.protocols.joining import propose
from hedgerow.protocols.predict.active import present_of
from hedgerow.protocols.predict.passive import PartOwner
from hedgerow.protocols.scores.active import SealedAsking, sealed_plan
from hedgerow.protocols.scores.layout import Layout
from hedgerow.protocols.scores.passive import Choosing
from hedgerow.protocols.session.group import PartyGroup
from hedgerow.transports.inproc import InProcess


class Uncounted:
    """Answers that nobody limits; what was charged is kept."""

    def __init__(self):
        self.charged = []

    def charge(self, model, ids, answers, bits):
        self.charged.append((model, tuple(ids), answers, bits))


class Sealed:
    """A model in parts, the parties' rows, and what crossed between them."""

    def __init__(self, model, parts, tables, weights, most, policy=ALLOW_ALL, absent=(), privacy=Lattice()):  # noqa: B008
        self.model, self.tables, self.heard, self.weights = model, tables, [], weights
        own = model.ownership
        members = tuple(Member(name, identity(name).fingerprint) for name in own.parties)
        method = SealedPrediction(own.active, own.model, score_modulus(most), model.loss.n_trees, privacy)
        self.plan = sealed_plan("a test", members, method)
        self.present = present_of(model, absent)
        self.counts = {name: Uncounted() for name in self.present}
        self.choosing = {
            name: Choosing(
                PartOwner(name, parts[name], tables[name], policy, identity(name)),
                self.counts[name],
            )
            for name in self.present
        }
        transport = InProcess({name: party.answer for name, party in self.choosing.items()})
        corridor = Corridor(transport, (lambda *what: self.heard.append(Heard(*what)),))
        self.group = PartyGroup(corridor, self.plan, self.present, 1.0)

    def asking(self):
        keys = propose(self.group, None)
        layout = Layout.of(self.model, self.present, self.model.loss.n_trees)
        return SealedAsking(self.group, layout, self.weights, keys, identity(self.plan.active))

    def scores(self, asking=None, **more):
        table = self.tables[self.plan.active]
        return (asking or self.asking()).ask(texts_of(table), dense(table), **more)
