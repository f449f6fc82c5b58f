"""The reverse-sum attack: an active party that seals row numbers in place of gradients reads bins from the sums.

No cipher prevents it: what is sealed cannot be looked at. It is bounded by how many sums a run gives, which the passive
party counts, and by the bits that they have room for, which both manifests print.
"""

from math import log2

import msgspec
import numpy as np
import pytest

from federated import Federation, MemoryLog, labels, params_of, until, values
from hedgerow.agreement.ciphers import cipher_of
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import decode_answer, encode
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.errors import HedgerowError, PrivacyError, ProtocolError
from hedgerow.protocols.driver import State
from hedgerow.protocols.vertical.columns import Asked
from hedgerow.protocols.vertical.passive_run import REPEATS
from hedgerow.run.folder import manifest
from hedgerow.trees.local import Part
from hedgerow.trees.splits import Nodes

N = 600
PARAMS = params_of(n_estimators=2, max_depth=3, max_bin=8)
POWERS = PARAMS.gradient_bits
"""Rows that one sum can name: from 1 up to the bound, a power of two each."""


def two_bins(X):
    """Of a column with two bins a single sum tells all there is to know of the rows it names."""
    X[:, 1] = X[:, 1] > 0
    return X


class Attacker:
    """Speaks as the active party does, but seals powers of two: a sum then tells which rows it is of."""

    def __init__(self):
        X, signal = values(N, n_columns=4, missing=0)
        tables = partition.columns(Table.of(two_bins(X), labels("two", signal)), share=[[0], [1, 2, 3]])
        self.log, plan = MemoryLog(), {"method": "vertical", "protection": "lattice", "active": "party1"}
        self.fed = Federation(tables, PARAMS, logs={"party2": self.log}, **plan)
        self.cipher = cipher_of(self.fed.plan)
        self.read: dict[int, list[int]] = {}
        """The bins of rows, a column each, as far as they were read."""
        self.sums = 0
        self.begin = self.join(State())

    def join(self, state):
        """Everything up to the first tree."""
        return until(self.fed, lambda r: isinstance(r, m.BeginSealed), state)

    @property
    def passive(self):
        return self.fed.parties["party2"].passive

    def say(self, request):
        return decode_answer(self.fed.parties["party2"].answer(encode(request)), 1 << 30)

    def trees(self, rounds, again=None):
        """Trees of these rounds; with `again` each is begun anew."""
        for round_ in rounds:
            if again is not None or round_ == 0:
                self.say(again if round_ else self.begin)
            self._tree(round_)

    def cut_the_root(self):
        """Ask for the sides of all rows, in a tree that is begun anew."""
        self.say(self.begin)
        self.secret = self.cipher.new_key(1)
        part = Part(None, np.arange(N, dtype=np.uint32)[None].copy(), 1)
        self._level(0, 0, (), Nodes(np.array([0]), np.array([0])), part)
        one, few = np.zeros(1, np.int64), np.ones(1, np.int32)
        cut = m.CutList(one, one, one + 1, few, few, np.ones(1, np.bool_), np.array([3, 0, 0, 0], np.uint64))
        self.say(m.AskSides(0, 1, cut))

    def _tree(self, round_):
        """As many sums as a tree has nodes; rows are divided by what would be a column of the attacker's own."""
        self.secret, moves, size = self.cipher.new_key(1), (), 1
        part = Part(None, np.arange(N, dtype=np.uint32)[None].copy(), 1)
        nodes = Nodes(np.array([0]), np.array([0]))
        for level in range(PARAMS.max_depth):
            self._level(round_, level, moves, nodes, part)
            left = np.concatenate([np.arange(n) < n // 2 for n in part.sizes(nodes)])
            child = size + 2 * np.arange(len(nodes.node))
            moves = (m.Moves(*nodes, child, np.packbits(left, bitorder="little")),)
            part.divide_by(nodes, child, left)
            size += 2 * len(child)
            nodes = Nodes(np.zeros(2 * len(child), np.int64), np.arange(child[0], size))
        self.say(m.EndRound(round_))

    def _level(self, round_, level, moves, nodes, part):
        asked = Asked.of(self.begin, part, nodes, once=False)
        numbered, named = np.zeros((N, 2), np.int64), []
        for i in range(len(nodes.node)):
            new = [row for row in part.rows(nodes.at(np.array([i]))) if row not in self.read][: 2 * POWERS]
            named.append((new[:POWERS], new[POWERS:]))
            for channel, rows in enumerate(named[-1]):
                numbered[rows, channel] = 1 << np.arange(len(rows))
        sealed = self.secret.seal_rows(numbered[asked.rows], asked.plan).encode()
        key = self.secret.public.encode() if level == 0 else b""
        answer = self.say(m.AskSealedSums(round_, level, moves, m.NodeList(*nodes), key, sealed))
        sums = self.secret.public.read_sums(answer.sealed_sums, asked.plan, int(self.passive.run.table.widths.sum()))
        opened = self.secret.open_sums(sums)
        self.sums += opened.size
        for node, channels in enumerate(named):
            for channel, rows in enumerate(channels):
                self._decode(opened[node, :, channel], rows)

    def _decode(self, sums, rows):
        """A row is in the bin whose sum has its power of two, or else in the last, which nobody sums."""
        ends = np.cumsum(self.passive.run.table.widths)
        for power, row in enumerate(rows):
            at = np.flatnonzero(sums >> power & 1)
            self.read[int(row)] = [
                next((int(b - a) for b in at if a <= b < e), int(e - a))
                for a, e in zip(ends - self.passive.run.table.widths, ends, strict=True)
            ]

    @property
    def bits(self):
        """What was read, in bits."""
        return len(self.read) * sum(log2(width + 1) for width in self.passive.run.table.widths)

    @property
    def given(self):
        return manifest.given(self.log.lines())["given"]


@pytest.fixture(scope="module")
def attacker():
    """Has grown all trees of the plan."""
    attacker = Attacker()
    attacker.trees(range(PARAMS.n_estimators))
    return attacker


def needed(passive):
    """The sums that all trees of the plan need."""
    return 2 * int(passive.run.table.widths.sum()) * PARAMS.n_estimators << (PARAMS.max_depth - 1)


def test_the_attack_reads_true_bins_but_no_more_bits_than_the_owners_manifest_says(attacker):
    true = {row: attacker.passive.run.table.own_codes[:, row].tolist() for row in attacker.read}
    assert attacker.read == true
    assert len(attacker.read) > 2 * POWERS
    assert attacker.sums == attacker.given["sums"]
    assert attacker.bits <= attacker.given["bits_at_most"]


def test_growing_the_last_tree_again_and_again_ends_when_twice_the_sums_of_the_plan_were_given(attacker):
    last = PARAMS.n_estimators - 1
    again = msgspec.structs.replace(attacker.begin, done=last)
    with pytest.raises(PrivacyError, match="asks for more sums than the run was to open; this party stops"):
        attacker.trees([last] * 100, again)
    most = REPEATS * needed(attacker.passive)
    assert most / 2 < attacker.sums <= most
    assert attacker.bits <= attacker.given["bits_at_most"]
    # A new process of the party counts on.
    attacker.fed.restart("party2")
    attacker.begin = attacker.join(State(attempt=5))
    assert attacker.passive.run.given.sums == attacker.sums
    with pytest.raises(PrivacyError, match="asks for more sums than the run was to open"):
        attacker.trees(range(PARAMS.n_estimators))
    assert attacker.sums <= most


@pytest.mark.parametrize("size", ["run_sums", "bound", "groups", "columns"])
def test_sizes_that_decide_how_much_a_sum_carries_are_the_plans(size):
    """A wider or narrower layout than the plan's would let a sum carry more than this party writes down."""
    attacker = Attacker()
    for change in (4, 0.25):
        other = {size: int(change * getattr(attacker.begin, size))}
        if size == "groups":
            other["run_sums"] = int(change * attacker.begin.run_sums)
        with pytest.raises(ProtocolError, match=r"sizes are not those of the plan|sizes do not fit"):
            attacker.say(msgspec.structs.replace(attacker.begin, **other))


def test_without_a_count_the_attack_goes_on():
    """The sabotage: a party that forgets what it gave is read to the end."""
    attacker = Attacker()
    attacker.trees(range(PARAMS.n_estimators))
    again = msgspec.structs.replace(attacker.begin, done=PARAMS.n_estimators - 1)
    while len(attacker.read) < N and attacker.sums < 100 * needed(attacker.passive):
        attacker.passive.run.given.sums = 0
        attacker.trees([PARAMS.n_estimators - 1], again)
    assert len(attacker.read) == N
    assert attacker.sums > REPEATS * needed(attacker.passive)


def test_a_beginning_that_is_refused_changes_nothing():
    attacker = Attacker()
    attacker.say(attacker.begin)
    before = attacker.passive.run.most_sums
    with pytest.raises(HedgerowError, match="sizes"):
        attacker.say(msgspec.structs.replace(attacker.begin, n_trees=10**6, run_sums=1 << 60))
    assert attacker.passive.run.most_sums == before == REPEATS * needed(attacker.passive)


def test_the_sizes_of_the_run_stay_when_a_party_is_started_again():
    attacker = Attacker()
    attacker.say(attacker.begin)
    attacker.fed.restart("party2")
    attacker.join(State(attempt=5))
    with pytest.raises(ProtocolError, match="changes the sizes of the run"):
        attacker.say(msgspec.structs.replace(attacker.begin, n_trees=2, run_sums=1 << 40))
    assert attacker.passive.run.begun is None


def test_no_tree_but_the_last_is_grown_again():
    attacker = Attacker()
    attacker.trees(range(PARAMS.n_estimators))
    attacker.say(msgspec.structs.replace(attacker.begin, done=1))
    with pytest.raises(ProtocolError, match="trees that this party did not help to grow"):
        attacker.say(msgspec.structs.replace(attacker.begin, done=0))


def test_roots_that_are_cut_again_and_again_end_when_twice_the_sides_of_the_plan_were_told():
    attacker = Attacker()
    most = REPEATS * PARAMS.n_estimators * PARAMS.max_depth
    for _ in range(most):
        attacker.cut_the_root()
    with pytest.raises(PrivacyError, match="more sides than the trees of the run have"):
        attacker.cut_the_root()
    attacker.fed.restart("party2")
    attacker.join(State(attempt=5))
    assert attacker.passive.run.given.sides == most * N
