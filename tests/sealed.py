"""Sealed predictions in one process for tests: every frame can be heard or altered on its way."""

import numpy as np

from federated import Heard, identity
from hedgerow.agreement.options import Lattice, SealedPrediction
from hedgerow.agreement.plan import Member
from hedgerow.agreement.policy import ALLOW_ALL
from hedgerow.corridor.wire import Corridor
from hedgerow.model.candidates import leaves_of
from hedgerow.model.fixed_scores import fixed_scores
from hedgerow.model.model import dense
from hedgerow.privacy.shapes import score_modulus
from hedgerow.protocols.align.lists import texts_of
from hedgerow.protocols.joining import propose
from hedgerow.protocols.predict.active import present_of
from hedgerow.protocols.predict.own_part import PartOwner
from hedgerow.protocols.scores.active import SealedAsking
from hedgerow.protocols.scores.layout import Layout, sealed_plan
from hedgerow.protocols.scores.passive import Choosing
from hedgerow.protocols.scores.scoring import SealedScores
from hedgerow.protocols.session.group import PartyGroup
from hedgerow.transports.inproc import InProcess


class Uncounted:
    """Answers that nobody limits; what was charged is kept."""

    def __init__(self):
        self.charged = []

    def charge(self, model, ids, answers, bits):
        self.charged.append((model, tuple(ids), answers, bits))


def weights_of(model, fixed):
    """Those of leaves, at their places in the forest."""
    weights = np.zeros(len(model.forest.columns), np.int64)
    weights[leaves_of(model)] = fixed.weights
    return weights


def sums_at(model, fixed, leaves):
    """The integer sums of rows that end at these leaves (rows x trees, as `Forest.leaf_places` has them)."""
    at = weights_of(model, fixed)[model.forest.roots[:-1] + leaves]
    return np.stack([at[:, k :: model.loss.n_trees].sum(axis=1) for k in range(model.loss.n_trees)], axis=1)


class Sealed:
    """A model in parts, the parties' rows, and what crossed between them."""

    def __init__(
        self,
        model,
        parts,
        tables,
        weights,
        most,
        policy=ALLOW_ALL,
        absent=(),
        privacy=Lattice(),  # noqa: B008
        signed=False,
        logs=None,
        counters=None,
    ):
        self.model, self.tables, self.heard, self.weights = model, tables, [], weights
        self.signed, self.fixed = signed, None
        own = model.ownership
        members = tuple(Member(name, identity(name).fingerprint) for name in own.parties)
        method = SealedPrediction(
            own.active, own.model, score_modulus(most), model.loss.n_trees, privacy, own.groups, bool(own.units)
        )
        self.plan = sealed_plan("a test", members, method, identity(own.active).fingerprint if signed else "")
        self.present = present_of(model, absent)
        self.counts = {name: (counters or {}).get(name) or Uncounted() for name in self.present}
        self.choosing = {
            name: Choosing(
                PartOwner(name, parts[name], tables[name], policy, identity(name), (logs or {}).get(name)),
                self.counts[name],
            )
            for name in self.present
        }
        transport = InProcess({name: party.answer for name, party in self.choosing.items()})
        corridor = Corridor(transport, (lambda *what: self.heard.append(Heard(*what)),))
        self.group = PartyGroup(corridor, self.plan, self.present, 1.0)

    @classmethod
    def of(cls, model, parts, tables, **more):
        """With the leaf values of the model in fixed point."""
        fixed = fixed_scores(model)
        made = cls(model, parts, tables, weights_of(model, fixed), fixed.reach, **more)
        made.fixed = fixed
        return made

    def keys(self):
        """All parties have consented."""
        return propose(self.group, identity(self.plan.active) if self.signed else None)

    def scoring(self):
        """The active party's side, for tables."""
        return SealedScores(self.group, self.model, self.fixed, self.keys(), identity(self.plan.active), 1)

    def of_kind(self, kind):
        """Messages of a kind, in order."""
        return [heard for heard in self.heard if heard.kind == kind]

    def asking(self):
        keys = self.keys()
        layout = Layout.of(self.model, self.present, self.model.loss.n_trees)
        return SealedAsking(self.group, layout, self.weights, keys, identity(self.plan.active)).begun()

    def scores(self, asking=None, **more):
        table = self.tables[self.plan.active]
        return (asking or self.asking()).ask(texts_of(table), dense(table), **more)
