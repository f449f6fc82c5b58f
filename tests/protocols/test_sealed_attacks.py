"""Attacks on sealed scores: each reads a party's choices from a sabotaged build, and no more than stated from ours.

A choice is where a row comes out of a party's cut. What is stated: one sum modulo the prime for every answer that the
owner's ledger counts; and whoever shares pads with a party, another passive one, reads what that party relays to it.
`tests/privacy` has the attacks on ciphers by themselves (malformed keys, noise, division, enumeration).
"""

import secrets
from functools import cache
from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats

from asked import trained
from federated import labels, params_of, values
from hedgerow.agreement.options import Paillier
from hedgerow.agreement.plan import Plan
from hedgerow.agreement.policy import ALLOW_ALL, Policy
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.errors import CipherError, PolicyError, PrivacyError, ProtocolError
from hedgerow.model.candidates import candidates, ends_of, leaves_of, reached
from hedgerow.model.part import part_of
from hedgerow.model.score_slots import NEVER
from hedgerow.privacy.lattice import key as keys
from hedgerow.privacy.paillier.public import PaillierPublicKey
from hedgerow.privacy.paillier.wire import HEAD
from hedgerow.protocols.scores import tables
from hedgerow.protocols.scores.pads import ScorePads
from hedgerow.protocols.session.answer_ledger import AnswerLedger
from sealed import Sealed
from sealed_cheats import Cheat, choices, come, slots

SHARES = {2: [[4], [0, 1, 2, 3]], 3: [[4], [0, 1], [2, 3]]}
LIMITS = Policy().answer_limits
ALMOST_SURE = 1e-6
"""A test that tells uniform numbers from others is wrong once in so many runs."""


def table(n):
    X, signal = values(n)
    return Table.of(X, labels("two", signal), ids=[f"p{i}" for i in range(n)])


@cache
def made(n, **more):
    return trained(partition.columns(table(300), share=SHARES[n]), params_of(n_estimators=12, **more))


def world_of(n=2, rows=300, **more):
    return Sealed.of(*made(n), partition.columns(table(rows), share=SHARES[n]), **more)


# An active party that seals powers of two


def harvested(cheat, party, one, first=0):
    """Choices of one id at the ends from `first` on that answers of powers of two name, until the party refuses."""
    ends = 2 * len(cheat.world.choosing[party].part.tree)
    found = {}
    for batch, begin in enumerate(range(first, ends, cheat.bits)):
        asked = list(range(begin, min(begin + cheat.bits, ends)))
        cheat.session = secrets.token_bytes(32)
        cheat.begin(party, slots(asked))
        try:
            (sums,), _ = cheat.ask(party, batch, [one], weights=[cheat.powers(1, len(asked))])
        except PolicyError:
            break
        found |= dict(zip(asked, cheat.named(sums, len(asked))[0].tolist(), strict=True))
    return found


def right(world, party, one, found):
    """How many of the found choices are so; all must be."""
    truth = choices(world, party, [one])[0]
    assert all(truth[end] == taken for end, taken in found.items())
    return len(found)


def alone(world):
    """With one passive party asked."""
    cheat = Cheat(world)
    cheat.keys = cheat.keys[:1]
    return cheat


def test_powers_of_two_read_what_the_ledger_allows_and_without_one_all():
    unlimited = world_of()
    ends = 2 * len(unlimited.choosing["party2"].part.tree)
    assert ends > 2 * LIMITS.most_bits
    assert right(unlimited, "party2", "p7", harvested(alone(unlimited), "party2", "p7")) == ends
    world = world_of(counters={"party2": AnswerLedger(None, LIMITS)})
    found = right(world, "party2", "p7", harvested(alone(world), "party2", "p7"))
    assert 0 < found <= LIMITS.most_bits
    charged = world.counts["party2"].counted("p7")[world.model.ownership.model]
    assert charged.bits >= found
    # For an id that the party does not have exactly as much is answered and refused.
    assert len(harvested(alone(world), "party2", "nobody")) == found


def test_one_answer_is_a_number_below_the_prime_whatever_was_sealed():
    """Powers of two at more ends than it has bits: what comes back is their sum modulo the prime."""
    world = world_of()
    cheat = alone(world)
    ids, ends = [f"p{i}" for i in range(40)], 2 * cheat.bits
    cheat.begin("party2", slots(range(ends)))
    (sums,), _ = cheat.ask("party2", 0, ids, weights=[cheat.powers(40, ends)])
    truth = choices(world, "party2", ids)[:, :ends]
    assert np.array_equal(sums, (truth @ (1 << np.arange(ends))) % cheat.modulus)
    charged = world.counts["party2"].charged[0][3]
    assert np.log2(cheat.modulus) <= charged <= np.log2(cheat.modulus) + 2


def test_an_id_that_is_asked_about_after_restarts_stays_counted(tmp_path):
    def over_restarts(ledger):
        found = {}
        for life in range(8):
            world = world_of(counters={"party2": ledger()})
            found |= harvested(alone(world), "party2", "p3", first=life * 2 * alone(world).bits)
            world.counts["party2"].close()
        return right(world, "party2", "p3", found)

    kept = over_restarts(lambda: AnswerLedger(tmp_path / "north.answers", LIMITS))
    forgotten = over_restarts(lambda: AnswerLedger(None, LIMITS))  # the sabotage: a ledger of one process
    assert 0 < kept <= LIMITS.most_bits < forgotten


# Keys and ciphertexts that no honest party makes


def test_a_malformed_key_is_refused_before_anything_is_answered(monkeypatch):
    world = world_of()
    cheat = alone(world)
    encoded = bytearray(cheat.secret.public.encode())
    encoded[len(encoded) // 2] ^= 1
    with pytest.raises(CipherError):
        cheat.begin("party2", slots([0]), public_key=bytes(encoded))
    assert world.choosing["party2"].session is None
    # The sabotage: whoever reads a key believes it. `test_malformed_keys` reads every choice then.
    monkeypatch.setattr(keys._native, "lattice_is_proven", lambda *_: True)
    assert cheat.begin("party2", slots([0]), public_key=bytes(encoded)).reasons == ()


def test_weights_that_are_not_expanded_from_a_seed_are_refused(monkeypatch):
    """Whoever chooses both halves of a ciphertext reads in the answer more than its sum."""
    world = world_of()
    cheat = alone(world)

    def unseeded():
        cheat.session = secrets.token_bytes(32)
        cheat.begin("party2", slots([0, 1, 2]))
        plan = tables.score_table(cheat.told["party2"].slots[0], 1, cheat.modulus)
        free = cheat.secret.public.seal_slots(np.ones((1, 3), np.int64), loosened(plan)).encode()
        monkeypatch.setattr(cheat, "_sealed", lambda *_: free)
        return cheat.ask("party2", 0, ["p1"], weights=[None])

    loosened = lambda plan: type(plan)(**{name: getattr(plan, name) for name in plan.__slots__} | {"by_holder": False})  # noqa: E731
    with pytest.raises(CipherError):
        unseeded()
    assert not world.counts["party2"].charged
    made_by = tables._table
    monkeypatch.setattr(tables, "_table", lambda *sizes: loosened(made_by(*sizes)))  # the sabotage
    (sums,), _ = unseeded()
    assert sums[0] == choices(world, "party2", ["p1"])[0, :3].sum()


def numbers(data):
    words = np.frombuffer(data, "<u8", offset=HEAD.size).reshape(-1, 64)
    return [int.from_bytes(row.tobytes(), "little") for row in words]


@pytest.mark.parametrize("sabotage", [True, False])
def test_an_answer_that_is_not_randomised_names_what_was_chosen(monkeypatch, sabotage):
    """The active party tries which of the ciphertexts that it sent were multiplied; weights of zero do for it."""
    if sabotage:
        monkeypatch.setattr(PaillierPublicKey, "_hide", lambda self, words: words)
    world = world_of(privacy=Paillier(2048))
    cheat, kept = alone(world), []
    monkeypatch.setattr(cheat, "_opened", lambda _party, sealed, *_: kept.append(sealed) or [])
    cheat.begin("party2", slots(range(10)))
    request = cheat.request("party2", 0, ["p5"], weights=[np.zeros((1, 10))])
    monkeypatch.setattr(cheat, "request", lambda *_, **__: request)
    cheat.ask("party2", 0, ["p5"])
    n = int.from_bytes(cheat.secret.public._ring.n.tobytes(), "little")
    sent, (seen,) = [c % n for c in numbers(request.sealed_weights[0])], numbers(kept[0][0])
    subsets = (taken for size in range(11) for taken in combinations(range(10), size))
    found = [taken for taken in subsets if np.prod([sent[i] for i in taken], dtype=object) % n == seen % n]
    truth = tuple(np.flatnonzero(choices(world, "party2", ["p5"])[0, :10]).tolist())
    assert found == ([truth] if sabotage else [])


# Relays


def unpadded(monkeypatch, name):
    """A sabotage: one kind of pads is zero."""
    real = getattr(ScorePads, name)
    monkeypatch.setattr(ScorePads, name, lambda self, *given: np.zeros_like(real(self, *given)))


def relayed(world, ids, ends, cheat=None):
    """What the active party opens of the first party's relays: a choice each."""
    cheat = cheat or Cheat(world)
    cheat.begin("party2", slots(relays=ends, targets=[1] * len(ends)))
    _, (sums,) = cheat.ask("party2", 0, ids, relays=[np.ones((len(ids), len(ends)))])
    return cheat, sums


def even(sums, modulus, parts=32):
    """How likely uniform numbers are no more even than these."""
    return stats.chisquare(np.bincount(sums.reshape(-1) * parts // modulus, minlength=parts)).pvalue


def alike(sums, other, modulus, parts=16):
    """How likely numbers of one distribution differ no less than these."""
    counts = [np.bincount(some.reshape(-1) * parts // modulus, minlength=parts) for some in (sums, other)]
    return stats.chi2_contingency(np.array(counts)).pvalue


def test_opened_relays_are_uniform_and_do_not_depend_on_choices(monkeypatch):
    world = world_of(3)
    ids, ends = [f"p{i}" for i in range(300)], list(range(20))
    truth = choices(world, "party2", ids)[:, ends]
    cheat, sums = relayed(world, ids, ends)
    assert even(sums, cheat.modulus) > ALMOST_SURE
    assert alike(sums[truth], sums[~truth], cheat.modulus) > ALMOST_SURE
    assert min(truth.sum(), (~truth).sum()) > 1000
    _, again = relayed(world, ids, ends)
    assert (again == sums).mean() < 0.01
    unpadded(monkeypatch, "relayed")
    _, bare = relayed(world, ids, ends)
    assert np.array_equal(bare == 1, truth)
    assert even(bare, cheat.modulus) < ALMOST_SURE


def test_the_active_party_and_the_next_together_read_what_was_relayed():
    """Stated, not prevented: pads keep out whoever lacks them, and the next has them. At any ends, not only at shared
    trees, since a party does not know where others cut."""
    world = world_of(3)
    ids, ends = [f"p{i}" for i in range(30)], list(range(2 * len(world.choosing["party2"].part.tree)))
    cheat, sums = relayed(world, ids, ends)
    cheat.begin("party3", slots([0] * len(ends), come(0, len(ends))))
    next_one = world.choosing["party3"].session
    pads = ScorePads(1, next_one.own_secrets, cheat.modulus, cheat.said("party2", 0, ids))
    read = (sums - pads.relayed(0, 1, 0, sums.shape)) % cheat.modulus
    assert np.array_equal(read == 1, choices(world, "party2", ids))


@pytest.mark.parametrize("sabotage", [True, False])
def test_an_active_party_that_names_itself_gets_no_relays(monkeypatch, sabotage):
    """As a party to which relays go it would have the pads: every choice in one answer."""
    world = world_of(3)
    cheat = Cheat(world)
    own = cheat.names_itself()
    ids, ends = [f"p{i}" for i in range(10)], list(range(40))
    if not sabotage:
        with pytest.raises(ProtocolError, match="maybe itself"):
            cheat.begin("party2", slots(relays=ends, targets=[2] * 40))
        return
    monkeypatch.setattr(Plan, "answering", property(lambda plan: plan.names))
    cheat.begin("party2", slots(relays=ends, targets=[2] * 40))
    _, (sums,) = cheat.ask("party2", 0, ids, relays=[np.ones((10, 40))])
    shared = {0: own.shared(cheat.keys[0].public_key, world.plan.digest)}
    pads = ScorePads(2, shared, cheat.modulus, cheat.said("party2", 0, ids))
    read = (sums - pads.relayed(0, 2, 0, sums.shape)) % cheat.modulus
    assert np.array_equal(read == 1, choices(world, "party2", ids)[:, :40])


def side_of_missing(world, party):
    """An end at which rows come out of which the party knows nothing."""
    return int(np.flatnonzero(choices(world, party, ["nobody"])[0])[0])


@pytest.mark.parametrize("sabotage", [True, False])
def test_relays_of_one_row_do_not_open_in_other_rows(monkeypatch, sabotage):
    """The next is told of one relay a row where there are many: pads that lie in one row here would lie in many there.

    Rows that nobody has would then open one choice each of the first row, whose id is counted once.
    """
    if sabotage:  # pads of relays that do not depend on how many there are
        real = ScorePads._uniform
        short = len(b"relay") + 8
        monkeypatch.setattr(
            ScorePads, "_uniform", lambda self, other, what, *more: real(self, other, what[:short], *more)
        )
    world, n = world_of(3), 24
    ids = ["p9", *(f"nobody{i}" for i in range(n - 1))]
    cheat = Cheat(world)
    cheat.begin("party2", slots([NEVER], relays=range(n), targets=[1] * n))
    (own,), (sums,) = cheat.ask("party2", 0, ids, weights=[np.zeros((n, 1))], relays=[np.ones((n, n))])
    end = side_of_missing(world, "party3")
    cheat.begin("party3", slots([end], come(0, 1)))
    (others,), _ = cheat.ask("party3", 0, ids, weights=[sums[0].reshape(n, 1)])
    told = choices(world, "party3", ids)[:, end]
    read = (own + others)[told] % cheat.modulus
    truth = choices(world, "party2", ["p9"])[0, :n][told]
    assert told.sum() >= n - 1
    if sabotage:
        assert np.array_equal(read == 1, truth)
    else:
        assert (read > 1).mean() > 0.9


@pytest.mark.parametrize("sabotage", [True, False])
def test_a_next_party_does_not_open_alone_what_was_relayed_to_it(monkeypatch, sabotage):
    """Else each of several that a party relays to would tell a sum of its choices, of which it counts one."""
    if sabotage:
        unpadded(monkeypatch, "between")
    world, ids = world_of(3), [f"p{i}" for i in range(100)]
    cheat = Cheat(world)
    cheat.begin("party2", slots(relays=[5], targets=[1]))
    _, (sums,) = cheat.ask("party2", 0, ids, relays=[np.ones((100, 1))])
    ends = [0, 1]
    cheat.begin("party3", slots(ends, [*come(0, 1), -1]))
    (alone_,), _ = cheat.ask("party3", 0, ids, weights=[np.concatenate([sums, np.zeros((100, 1), np.int64)], axis=1)])
    told = choices(world, "party3", ids)[:, 0]
    truth = choices(world, "party2", ids)[:, 5]
    if sabotage:
        assert np.array_equal(alone_[told] == 1, truth[told])
        assert 0 < truth[told].sum() < told.sum()
    else:
        assert (alone_ > 1).mean() > 0.9
        assert even(alone_, cheat.modulus, parts=8) > ALMOST_SURE


def test_choices_that_only_go_on_are_counted_like_a_score():
    """What is relayed opens in the sum of all parties: a party that has nothing but relays counts that."""
    world = world_of(3)
    relayed(world, ["p1", "p2"], [0, 1, 2])
    ((_, ids, answers, bits),) = world.counts["party2"].charged
    assert (ids, answers) == (("p1", "p2"), 1)
    assert bits >= np.log2(world.plan.method.modulus)
    # Pads alone tell nothing of rows.
    cheat = Cheat(world)
    cheat.begin("party3", slots([NEVER]))
    (sums,), _ = cheat.ask("party3", 0, ["p1"] * 500, weights=[np.ones((500, 1))])
    assert world.counts["party3"].charged == []
    assert even(sums, cheat.modulus, parts=8) > ALMOST_SURE


DIFFERENT = {
    "other ids": {"ids": lambda ids: [*ids[:-1], "another"]},
    "another batch": {"batch": 1},
    "another session": {"session": bytes(32)},
    "another order of parties": {"keys": lambda keys: keys[::-1]},
}


@pytest.mark.parametrize("what", [None, *DIFFERENT])
def test_parties_that_were_told_different_things_open_noise(what):
    world, ids = world_of(3), [f"p{i}" for i in range(50)]
    other = DIFFERENT.get(what, {})
    cheat, total = Cheat(world), np.zeros(50, np.int64)
    for party in ("party2", "party3"):
        second = party == "party3"
        more = {"session": other["session"]} if second and "session" in other else {}
        if second and "keys" in other:
            more["keys"] = other["keys"](cheat.keys)
        cheat.begin(party, slots([0]), **more)
        asked = other["ids"](ids) if second and "ids" in other else ids
        (sums,), _ = cheat.ask(party, other.get("batch", 0) if second else 0, asked, weights=[np.ones((50, 1))])
        total += sums
    expected = sum(choices(world, party, ids)[:, 0].astype(int) for party in ("party2", "party3"))
    if what is None:
        assert np.array_equal(total % cheat.modulus, expected)
    else:
        assert (total % cheat.modulus > 2).mean() > 0.9


# The path from the score


def ways(world, row):
    """Of every tree, the leaves that the active party's own columns leave to a row, and the one it ends at."""
    model = world.model
    whole = {name: part_of(model, name) for name in model.ownership.parties}
    active = world.plan.active
    own = candidates(ends_of(model, active), reached(whole[active], world.tables[active].values[row : row + 1], 1))[0]
    truth = choices(world, "party2", [f"p{row}"])
    by_node = np.lexsort((world.choosing["party2"].part.node, world.choosing["party2"].part.tree))
    assert (by_node == np.arange(len(by_node))).all()
    other = candidates(ends_of(model, "party2"), truth)[0]
    trees = np.searchsorted(model.forest.roots, leaves_of(model), side="right") - 1
    left = [np.flatnonzero(own & (trees == tree)) for tree in range(model.forest.n_trees)]
    return left, [int(np.flatnonzero(own & other & (trees == tree))[0]) for tree in range(model.forest.n_trees)]


def test_the_score_of_a_small_model_tells_the_path_and_both_sides_refuse_it():
    small = trained(partition.columns(table(300), share=SHARES[2]), params_of(n_estimators=3, max_depth=2))
    parties = partition.columns(table(300), share=SHARES[2])
    world = Sealed.of(*small, parties)  # the sabotage: nobody asks for many paths
    scores, weights = world.scores().scores[:, 0], world.fixed.weights
    found = 0
    for row in range(60):
        left, truth = ways(world, row)
        fits = [path for path in product(*left) if weights[list(path)].sum() == scores[row]]
        found += fits == [tuple(truth)]
    assert found == 60
    strict = {"least_own_cuts": 20, "least_own_trees": 10}
    refusing = Sealed.of(*small, parties, policy=Policy(**strict))
    with pytest.raises(PolicyError, match="least_own_cuts"):
        refusing.scoring()
    asking = Sealed.of(*small, parties, policy=Policy(least_own_cuts=0, least_own_trees=0))
    with pytest.raises(PrivacyError, match="shared by fewer than 1000"):
        asking.scoring()
    assert not asking.of_kind("AskScores")
    assert ALLOW_ALL.least_paths == 0
