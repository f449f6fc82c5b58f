"""Linkages in one process for tests: an active party with rows, passive parties with ids, and what crossed."""

import numpy as np

from federated import Heard, identity
from hedgerow.agreement.options import NoPrivacy, Vertical
from hedgerow.agreement.plan import Goal, Member, Plan
from hedgerow.corridor.wire import Corridor, encode
from hedgerow.data.table import Table
from hedgerow.protocols.align.lists import Counts
from hedgerow.protocols.link.active import Links
from hedgerow.protocols.link.passive import OwnLinks
from hedgerow.protocols.session.group import PartyGroup
from hedgerow.protocols.session.journal import Journal, NoLog
from hedgerow.protocols.session.owner_ledger import Ledger
from hedgerow.transports.inproc import InProcess
from hedgerow.trees.params import TreeParams

ACTIVE = "payments"


def bank(ids):
    """A table whose only column tells the place of a row, so that rows are recognised."""
    return Table.of(np.arange(len(ids), dtype=np.float32).reshape(-1, 1), ids=np.array(ids))


class Linkage:
    """One federation of payments and banks; `alter(name, answer)` may change what a bank says."""

    def __init__(self, rows, banks, valid=None, valid_banks=None, logs=None, stores=None, **options):
        self.rows, self.banks, self.valid, self.valid_banks = rows, banks, valid, valid_banks or {}
        self.logs, self.stores, self.options = logs or {}, stores or {}, options
        names = (ACTIVE, *banks)
        members = tuple(Member(name, identity(name).fingerprint) for name in names)
        method = Vertical(NoPrivacy(i_accept_disclosure=True), active=ACTIVE, align="private")
        self.plan = Plan("a test", members, Goal(), TreeParams(), method)
        self.heard, self.told, self.alter = [], [], lambda name, answer: answer
        self.parties = {name: self.party(name) for name in banks}
        self.transport = InProcess({name: self._answer(name) for name in banks})
        self.links = self.active()

    def party(self, name):
        """A bank as it is at the start of its process."""
        log = self.logs.get(name) or NoLog()
        counts = Counts(Journal(log, self.plan.digest.hex()), Ledger(log))
        own = (self.banks[name], self.valid_banks.get(name))
        options = {"keeps": self.stores.get(name), **self.options}
        return OwnLinks(self.plan, name, own, 1, counts, self.told.append, **options)

    def active(self):
        """The active party as it is at the start of its process."""
        journal = Journal(self.logs.get(ACTIVE) or NoLog(), self.plan.digest.hex())
        options = {"keeps": self.stores.get(ACTIVE), **self.options}
        return Links(self.group(), (self.rows, self.valid), 1, journal, self.told.append, **options)

    def group(self):
        corridor = Corridor(self.transport, (lambda *what: self.heard.append(Heard(*what)),))
        return PartyGroup(corridor, self.plan, self.plan.answering, 1.0)

    def _answer(self, name):
        return lambda frame: encode(self.alter(name, self.parties[name].answer(frame.read())))

    def again(self):
        """Everybody is introduced anew."""
        self.links.introduced(self.group())
        for party in self.parties.values():
            party.introduced()

    def restart(self, name):
        """The process of this party ends and another begins."""
        if name == ACTIVE:
            self.links = self.active()
        else:
            self.parties[name] = self.party(name)

    def link(self, held_out=False):
        return self.links.link(held_out)

    def of(self, *kinds):
        """Messages of these kinds, in order."""
        return [one for one in self.heard if one.kind in kinds]


def small(**options):
    """Two banks of different size that share ids, a third with none of the active party's; and rows without an id."""
    rows = np.array([f"account-{i * i % 23:03d}" for i in range(60)] + ["", ""])
    banks = {
        "bank1": bank([f"account-{i:03d}" for i in range(12, -1, -1)]),
        "bank2": bank([f"account-{i:03d}" for i in range(8, 70)]),
        "bank3": bank(["elsewhere-1", "elsewhere-2"]),
    }
    return Linkage(rows, banks, **options)


def joined(rows, table):
    """The naive join: pairs of a row of the active party and a row of the bank, in the agreed order."""
    own = {str(one): place for place, one in enumerate(table.ids.tolist())}
    pairs = [(str(one), row, own[str(one)]) for row, one in enumerate(rows) if str(one) in own]
    return [(row, place) for _, row, place in sorted(pairs)]
