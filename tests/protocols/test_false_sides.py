"""Sides come back under a key of their own: under that of gradients a party could answer with the labels themselves.

Paillier's ciphertexts can be multiplied and raised to any power by everybody. In a tree in which gradients have two
values, one a label, a party with hidden rows could compute sealed sides from sealed gradients: columns that equal the
label but at a few rows, with sums to match. Which of these columns is cut then tells the labels of these rows.
"""

import msgspec
import numpy as np
import pytest

from federated import Federation, params_of, refuses, step, until
from hedgerow.agreement.plan import Goal
from hedgerow.corridor import messages as m
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.errors import CipherError
from hedgerow.privacy.paillier.cipher import Paillier
from hedgerow.privacy.paillier.packing import rows_packing, slots_packing
from hedgerow.privacy.paillier.wire import HEAD, MARK, SLOTS, SUMS, VERSION
from hedgerow.privacy.shapes import plan_digest
from hedgerow.protocols.vertical.hidden_passive import HiddenPassiveRows
from hedgerow.protocols.vertical.hidden_sizes import sides_plan, sums_plan

BITS, N_ROWS, TARGETS = 2048, 40, (3, 8)
GRADIENT, HESSIAN = 1 << 18, 1 << 19
"""Of a row of label 0 before the first tree, whose score says one half: in 20 bits."""

PLAN = {"method": "vertical", "protection": "paillier", "key_bits": BITS, "hidden_rows": True, "active": "party1"}


class Sealed:
    """An integer under a public key, which everybody can add to others and multiply by what is known."""

    def __init__(self, n, value):
        self.n, self.value = n, value

    @classmethod
    def known(cls, n, integer):
        return cls(n, (1 + n * (integer % n)) % n**2)

    def __add__(self, other):
        return Sealed(self.n, self.value * other.value % self.n**2)

    def __mul__(self, factor):
        return Sealed(self.n, pow(self.value, factor % self.n, self.n**2))


def total(parts):
    first, *rest = parts
    for part in rest:
        first = first + part
    return first


class LabelParty:
    """Its column k is the label, but for the targets, of which row i is in it if bit i of k is set."""

    def __init__(self, monkeypatch):
        self.cut = []
        party = self

        def summed(rows, begun, request, step):
            plan = sums_plan(begun, rows.hidden, request.level, step, rows.now.n_counted)
            return m.SealedSums(party.sums(rows, request, plan))

        def sides(rows, request):
            party.cut += request.cuts.column.tolist()
            plan = sides_plan(rows.hidden, N_ROWS, len(request.cuts.column))
            return m.HiddenSides(party.sides(rows, int(request.cuts.column[0]), plan))

        monkeypatch.setattr(HiddenPassiveRows, "_summed", summed)
        monkeypatch.setattr(HiddenPassiveRows, "hidden_sides", sides)

    def sums(self, rows, request, plan):
        ring = rows.now.public._ring
        self.n = n = int.from_bytes(ring.n.astype("<u8").tobytes(), "little")
        size, width = BITS // 4, rows_packing(plan, BITS).blocks[0][0]
        data = request.sealed_gradients[HEAD.size :]
        self.rows = [Sealed(n, int.from_bytes(data[i * size : (i + 1) * size], "little")) for i in range(N_ROWS)]
        high, low = ((sign * GRADIENT) + (HESSIAN << width) for sign in (1, -1))
        inverse = pow(low - high, -1, n)
        self.labels = [(row + Sealed.known(n, -high)) * inverse for row in self.rows]
        others = total(self.labels[i] * low for i in range(N_ROWS) if i not in TARGETS)
        each = [total([others, *(self.rows[t] for i, t in enumerate(TARGETS) if k >> i & 1)]) for k in range(4)]
        distance = sum(rows_packing(plan, BITS).blocks[0])
        packed = total(sums * (1 << k * distance) for k, sums in enumerate(each))
        return self._encoded(ring, SUMS, plan, (4, 0), packed)

    def sides(self, rows, k, plan):
        told = [self.labels[i] for i in range(N_ROWS)]
        for i, target in enumerate(TARGETS):
            told[target] = Sealed.known(self.n, k >> i & 1)
        width = slots_packing(plan, BITS, 1).blocks[0][0]
        packed = total(side * (1 << i * width) for i, side in enumerate(told))
        return self._encoded(rows.now.public._ring, SLOTS, plan, (1, 1), packed)

    def _encoded(self, ring, kind, plan, sizes, sealed):
        head = HEAD.pack(MARK, VERSION, kind, BITS, ring.name, plan_digest(plan), 1, *sizes, 1)
        return head + sealed.value.to_bytes(BITS // 4, "little")


def federation():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, N_ROWS)
    table = Table.of(np.hstack([rng.normal(size=(N_ROWS, 1)), rng.integers(0, 2, (N_ROWS, 4))]).astype(np.float32), y)
    parties = partition.columns(table, share=[[0], [1, 2, 3, 4]])
    return Federation(parties, params_of(n_estimators=1, max_depth=1), Goal(base_score=0.5), **PLAN), y


def test_sides_that_are_made_of_gradients_are_refused(monkeypatch):
    LabelParty(monkeypatch)
    with pytest.raises(CipherError, match="Party 'party2' answered what cannot be used"):
        federation()[0].model()


def test_under_one_key_they_would_tell_the_labels_of_chosen_rows(monkeypatch):
    monkeypatch.setattr(Paillier, "keys_apart", True)
    party = LabelParty(monkeypatch)
    fed, y = federation()
    fed.model()
    assert [party.cut[0] >> i & 1 for i in range(len(TARGETS))] == [int(y[t]) for t in TARGETS]


@pytest.mark.parametrize("change", [lambda key: b"", lambda key: key])
def test_a_passive_party_takes_a_key_for_sides_once_in_a_round(change):
    fed = Federation(federation()[0].tables, params_of(n_estimators=1, max_depth=2), Goal(), **PLAN)
    request, party = until(fed, step(m.AskHiddenSides, 0, 1)), fed.parties["party2"]
    if change(b"a key"):
        party.passive.now.public_for_sides = party.passive.now.public
    changed = msgspec.structs.replace(request, public_key=change(request.public_key))
    refuses(party, changed, "gives no key for sides, or another in the middle of a round")


def test_with_a_lattice_key_rows_and_slots_are_apart_and_no_other_is_sent():
    fed = Federation(federation()[0].tables, params_of(n_estimators=1), Goal(), **PLAN | {"protection": "lattice"})
    fed.model()
    assert {heard.message.public_key for heard in fed.of("AskHiddenSides")} == {b""}
