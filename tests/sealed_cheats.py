"""An active party of a sealed prediction that tells each party what it likes, and looks at all that comes back."""

import secrets

import numpy as np

from federated import identity
from hedgerow.agreement.ciphers import cipher_of
from hedgerow.corridor.messages import AskScores, BeginScores, Key, SlotsTold
from hedgerow.corridor.wire import decode_answer, encode
from hedgerow.model.candidates import own_rows
from hedgerow.model.score_slots import FRESH, LINK
from hedgerow.privacy.masks import PairKeys
from hedgerow.protocols.joining import _consented
from hedgerow.protocols.scores import tables
from hedgerow.protocols.scores.pads import batch_hash, session_hash
from hedgerow.protocols.scores.signing import PURPOSE, begun_hash, signed

MOST = 1 << 30


def slots(entries=(), sources=None, relays=(), relay_sources=None, targets=()):
    """Slots of one class: ends of entries, and groups of one end each that go on to `targets`."""
    sources = [FRESH] * len(entries) if sources is None else sources
    relay_sources = [FRESH] * len(relays) if relay_sources is None else relay_sources
    arrays = (entries, sources, (), relays, relay_sources, targets)
    return SlotsTold(*(np.array(array, np.int64) for array in arrays))


def come(party, n):
    """Sources of n relays from a party."""
    return [party * LINK + i for i in range(n)]


class Cheat:
    """Begins with each party by itself, and asks it by itself."""

    def __init__(self, world):
        self.world, self.plan, self.keys = world, world.plan, tuple(world.keys())
        self.modulus = world.plan.method.modulus
        self.bits = self.modulus.bit_length() - 1
        """Choices that one sum has room for."""
        self.secret = cipher_of(world.plan).new_key(1, slots=False)
        self.session, self.told = secrets.token_bytes(32), {}

    def names_itself(self):
        """Takes part as if it were passive; returns its own pair keys."""
        own, name = PairKeys.fresh(), self.plan.active
        me = identity(name)
        self.keys += (
            Key(name, own.public, me.certificate, me.sign("consent", _consented(self.plan, name, own.public))),
        )
        return own

    def beginning(self, *told, **more):
        """What a party is told at first."""
        usual = {"session": self.session, "keys": self.keys, "public_key": self.secret.public.encode()}
        return BeginScores(slots=told, **(usual | more))

    def begin(self, party, *told, **more):
        self.told[party] = self.beginning(*told, **more)
        return decode_answer(self.world.choosing[party].answer(encode(self.told[party])), MOST)

    def said(self, party, batch, ids):
        begun = self.told[party]
        return batch_hash(session_hash(self.plan.digest, begun.session, begun.keys), batch, ids)

    def request(self, party, batch, ids, weights=(), relays=(), reasons=False):
        """A batch: of each class that has some, rows x entries of weights, and rows x groups of relays."""
        sealed = []
        for given, make in ((weights, tables.score_table), (relays, tables.relay_table)):
            plans = [make(told, len(ids), self.modulus) for told in self.told[party].slots]
            pairs = zip([plan for plan in plans if plan is not None], given, strict=True)
            sealed.append(tuple(self._sealed(values, plan) for plan, values in pairs))
        asked = AskScores(batch, tuple(ids), reasons, *sealed, b"")
        what = signed(self.said(party, batch, ids), begun_hash(self.told[party]), asked)
        return AskScores(batch, tuple(ids), reasons, *sealed, identity(self.plan.active).sign(PURPOSE, what))

    def _sealed(self, values, plan):
        values = np.array(values, np.int64).reshape(plan.rows, plan.entries)
        return self.secret.seal_slots(plan.centred(values), plan).encode()

    def ask(self, party, batch, ids, **more):
        """Scores (classes x rows) and relays (classes x rows x groups) as they open, modulo the prime."""
        frame = encode(self.request(party, batch, ids, **more))
        answer, n = decode_answer(self.world.choosing[party].answer(frame), MOST), len(ids)
        scores = self._opened(party, answer.sealed_scores, tables.score_table, n)
        relays = self._opened(party, answer.sealed_relays, tables.relay_table, n)
        return [sums.reshape(n) for sums in scores], [sums.reshape(n, -1) for sums in relays]

    def _opened(self, party, sealed, make, n):
        plans = [make(told, n, self.modulus) for told in self.told[party].slots]
        pairs = zip([plan for plan in plans if plan is not None], sealed, strict=True)
        public = self.secret.public
        return [self.secret.open_slots(public.read_slots(data, plan, 1, 1)) % self.modulus for plan, data in pairs]

    def powers(self, n, entries):
        """Weights that name their entries in a sum."""
        return np.tile(1 << np.arange(entries), (n, 1))

    def named(self, sums, entries):
        """Which entries are in sums of powers of two."""
        return (np.asarray(sums)[..., None] >> np.arange(entries)) & 1 == 1


def choices(world, party, ids):
    """The truth: where rows come out of a party's own cuts, rows x ends."""
    own = world.choosing[party]
    return own._sides(own_rows(own.rows.own_values, own.rows.places(ids)))[:, : 2 * len(own.part.tree)]
