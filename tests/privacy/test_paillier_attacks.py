"""What a key holder can find out about selections: everything from returns that are not randomised, nothing from ours.

The key holder knows its primes and every ciphertext that it sent, with the randomness in it. A return that was not
multiplied by a random n-th power is a product of ciphertexts that it knows, and it can try which.
"""

from itertools import combinations

import gmpy2
import numpy as np
import pytest

from hedgerow import _native
from hedgerow.privacy.paillier import public as paillier_public
from hedgerow.privacy.paillier.cipher import Paillier
from hedgerow.privacy.paillier.public import PaillierPublicKey
from hedgerow.privacy.paillier.wire import HEAD, PaillierSlots
from hedgerow.privacy.shapes import Nodes, RowsPlan, Selection, SlotsPlan, score_modulus

ROWS = 10
PLAN = RowsPlan(rows=ROWS, bounds=(1,), groups=1, summand=50)
NODES = Nodes.in_order(np.array([ROWS]))


@pytest.fixture(scope="module")
def own():
    return Paillier(2048).new_key(2)


@pytest.fixture(scope="module")
def with_table(own):
    """An answering side whose returns are hidden by a table, which takes long to make."""
    found = Paillier(2048).read_public_key(own.public.encode(), 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paillier_public, "FEW", 0)
        answer(found, found.read_rows(own.seal_rows(np.zeros((ROWS, 1), np.int64), PLAN).encode(), PLAN), TAKEN)
    assert found._hide_table is not None
    return found


@pytest.fixture(params=["fresh powers", "table"])
def public(own, with_table, request):
    """Both ways in which returns are hidden."""
    return with_table if request.param == "table" else Paillier(2048).read_public_key(own.public.encode(), 2)


@pytest.fixture
def unrandomised(monkeypatch):
    """Sabotage: returns leave as they are."""
    monkeypatch.setattr(PaillierPublicKey, "_hide", lambda self, words: words)


def numbers(sealed):
    """The ciphertexts in a wire form, as anybody sees them."""
    words = np.frombuffer(sealed.encode(), "<u8", offset=HEAD.size).reshape(-1, 64)
    return [int.from_bytes(row.tobytes(), "little") for row in words]


def own_n(own):
    return int.from_bytes(own.public._ring.n.tobytes(), "little")


def answer(public, sealed, taken, plus=None):
    codes = np.where(np.isin(np.arange(ROWS), taken), 0, 1).astype(np.uint8)[None]
    return public.group_sums(sealed, Selection(codes, np.array([1])), NODES, plus)


def enumerated(own, sealed, returned):
    """Tries every selection: modulo n nothing is left of plaintexts, and so of summands, only of the randomness."""
    n = own_n(own)
    sent, (seen,) = [c % n for c in numbers(sealed)], numbers(returned)
    for size in range(ROWS + 1):
        for taken in combinations(range(ROWS), size):
            product = 1
            for row in taken:
                product = product * sent[row] % n
            if product == seen % n:
                return list(taken)
    return None


TAKEN = [1, 4, 5, 9]


@pytest.mark.usefixtures("unrandomised")
@pytest.mark.parametrize("plus", [None, np.array([[[37]]])])
def test_whoever_does_not_randomise_gives_the_selection_away(own, plus):
    sealed = own.seal_rows(np.zeros((ROWS, 1), np.int64), PLAN)
    assert enumerated(own, sealed, answer(own.public, sealed, TAKEN, plus)) == TAKEN


@pytest.mark.parametrize("plus", [None, np.array([[[37]]])])
def test_enumeration_finds_no_selection_in_ours(own, public, plus):
    sealed = own.seal_rows(np.zeros((ROWS, 1), np.int64), PLAN)
    returned = answer(public, public.read_rows(sealed.encode(), PLAN), TAKEN, plus)
    assert enumerated(own, sealed, returned) is None
    assert own.open_sums(own.public.read_sums(returned.encode(), PLAN, 1)).tolist() == [
        [[37 if plus is not None else 0]]
    ]


# Filtered vectors

CHAIN = SlotsPlan(rows=6, entries=4, bound=9, choices=2)
CHOICE = np.random.default_rng(5).random((6, 4)) < 0.5


def known_again(own, sealed, returned):
    """Where the key holder sees the very integers that it sent, or a zero without randomness."""
    n = own_n(own)
    pairs = zip(numbers(sealed), numbers(returned), strict=True)
    return [(back - sent) % n == 0 for sent, back in pairs], [back % n == 1 for back in numbers(returned)]


@pytest.mark.usefixtures("unrandomised")
def test_a_filtered_vector_that_is_not_randomised_gives_the_choice_away(own):
    sealed = own.seal_slots(np.ones((6, 4), np.int64), CHAIN)
    kept, dropped = known_again(own, sealed, own.public.filtered(sealed, CHOICE))
    assert kept == CHOICE.ravel().tolist()
    assert dropped == (~CHOICE).ravel().tolist()


def test_a_filtered_vector_of_ours_shows_nothing_that_was_sent(own, public):
    sealed = own.seal_slots(np.ones((6, 4), np.int64), CHAIN)
    left = public.filtered(public.read_slots(sealed.encode(), CHAIN, 4), CHOICE)
    kept, dropped = known_again(own, sealed, left)
    assert not any(kept)
    assert not any(dropped)
    assert (own.open_slots(own.public.read_slots(left.encode(), CHAIN, 4, 1)) == CHOICE).all()


# Returns of the same selection


@pytest.mark.usefixtures("unrandomised")
def test_two_returns_of_the_same_selection_are_the_same_if_not_randomised(own):
    sealed = own.seal_rows(np.ones((ROWS, 1), np.int64), PLAN)
    assert numbers(answer(own.public, sealed, TAKEN)) == numbers(answer(own.public, sealed, TAKEN))


def test_two_returns_of_the_same_selection_share_no_ciphertext(own, public):
    plan = RowsPlan(rows=ROWS, bounds=(1,) * 3, groups=250)
    sealed = public.read_rows(own.seal_rows(np.ones((ROWS, 3), np.int64), plan).encode(), plan)
    codes = np.arange(ROWS, dtype=np.uint8)[None]
    both = [numbers(public.group_sums(sealed, Selection(codes, np.array([250])), NODES)) for _ in range(2)]
    assert len(both[0]) == 2
    assert len(set(both[0]) | set(both[1])) == 4
    # Nor does their quotient, an n-th power, tell anything: it is no small power of the other's randomness.
    n = own_n(own)
    powers = [a * gmpy2.invert(b, n * n) % (n * n) for a, b in zip(*both, strict=True)]
    assert all(gmpy2.powmod(power, k, n * n) != 1 for power in powers for k in range(1, 50))


# Characters: what a key holder with the primes sees of randomness from too small a group


def characters(own, ciphertexts):
    """Whether each number's randomness is a square modulo each prime: only who has the primes can tell."""
    primes = [int.from_bytes(prime.astype("<u8").tobytes(), "little") for prime in own._own_primes]
    return np.array([[gmpy2.legendre(c % p, p) == -1 for p in primes] for c in ciphertexts])


def traced(own, sealed):
    """Ciphertexts of which the key holder made the randomness a square, or not, as it liked: here about half."""
    table = np.empty((0, 64), np.uint64)
    words = _native.paillier_randomise(own.public._ring.n, table, False, sealed._words, 2)
    return type(sealed)(words, sealed.plan, sealed._ring)


def parities(own, public, times):
    """For each of many returns, whether its characters are the products of those that were taken."""
    plan = RowsPlan(rows=ROWS, bounds=(1,), groups=1)
    sealed = traced(own, own.seal_rows(np.zeros((ROWS, 1), np.int64), plan))
    sent = characters(own, numbers(sealed))
    returned = [numbers(answer(public, sealed, TAKEN))[0] for _ in range(times)]
    return characters(own, returned) == (sent[TAKEN].sum(axis=0) % 2 == 1)


def test_randomness_from_one_base_of_short_exponents_gives_parities_of_the_selection_away(own, monkeypatch):
    """Sabotage: the table for sealing used for returns. The key holder learns two parities of the rows of each sum."""
    public = Paillier(2048).read_public_key(own.public.encode(), 2)
    table = public._table(1, 52, 5, even=True)
    hide = lambda self, words: _native.paillier_randomise(self._ring.n, table, True, words, 2)  # noqa: E731
    monkeypatch.setattr(PaillierPublicKey, "_hide", hide)
    assert parities(own, public, 30).all()


def test_randomness_of_ours_hides_parities_too(own, public):
    agree = parities(own, public, 64).mean(axis=0)
    assert (np.abs(agree - 0.5) < 0.4).all()


# A key holder that cheats: entry i of a row, or of what rows share, is 2^i, far beyond the modulus of scores.

CRAFTED = SlotsPlan(
    rows=200, entries=1, shared=79, bound=1, modulus=score_modulus(20_000), sums_only=True, apart=True, run_sums=200
)


@pytest.fixture
def undrowned(monkeypatch):
    """Sabotage: sums leave with all that stands above the modulus."""
    monkeypatch.setattr(PaillierPublicKey, "_drowned", lambda self, words, plan, plus: words)


def crafted(own):
    """Powers of two under the key."""
    powers = [1] * 200 + [2**i for i in range(1, 80)]
    words = np.array([[power >> 64 * i & 2**64 - 1 for i in range(32)] for power in powers], np.uint64)
    return PaillierSlots(
        _native.paillier_add_numbers(own.public._ring.n, own.public._ones(279), words, 2),
        CRAFTED,
        own.public._ring,
        1,
        (1, 0),
    )


def plaintexts(own, sums):
    """What the key holder finds in each returned ciphertext, before it takes it modulo anything."""
    rows = _native.paillier_open_numbers(own._own_primes, sums._words, 2)
    return [int.from_bytes(row.tobytes(), "little") for row in rows]


def bits_of(found):
    return np.array([[number >> i & 1 for i in range(80)] for number in found], dtype=bool)


def test_powers_of_two_return_every_choice_where_sums_are_not_drowned(own, public, undrowned):
    choice = np.random.default_rng(8).random((200, 80)) < 0.5
    assert np.array_equal(bits_of(plaintexts(own, public.slot_sums(crafted(own), choice))), choice)
    assert Paillier(2048).slots_room(CRAFTED) < 17


def test_of_powers_of_two_nothing_but_the_sum_modulo_the_modulus_returns(own, public):
    rng, modulus = np.random.default_rng(9), CRAFTED.modulus
    choice = rng.random((200, 80)) < 0.5
    sums = public.slot_sums(crafted(own), choice)
    found, true = plaintexts(own, sums), [sum(1 << int(i) for i in np.flatnonzero(row)) for row in choice]
    assert [x % modulus for x in found] == [x % modulus for x in true]
    assert np.array_equal(own.open_slots(sums)[:, 0] % modulus, [x % modulus for x in true])
    # Bits are as likely right as wrong: 8000 of 16 000 coins, hardly ever 5 deviations more or less.
    assert abs(int((bits_of(found) == choice).sum()) - 8000) < 5 * np.sqrt(4000)
    # What stands above is uniform up to the end of the plaintext.
    high = np.bincount([x * 8 // own_n(own) for x in found], minlength=8)
    assert len(high) == 8
    assert ((high - 25) ** 2 / 25).sum() < 7 + 6 * np.sqrt(14)
    assert np.log2(modulus) <= Paillier(2048).slots_room(CRAFTED) < np.log2(modulus) + 1e-9


def test_pads_leave_nothing_of_powers_of_two(own, public):
    rng = np.random.default_rng(10)
    choice = np.tile(rng.random(80) < 0.5, (200, 1))
    pad = rng.integers(0, CRAFTED.modulus, 200)
    opened = own.open_slots(public.slot_sums(crafted(own), choice, pad=pad))[:, 0] % CRAFTED.modulus
    counts = np.bincount(opened * 8 // CRAFTED.modulus, minlength=8)
    assert ((counts - 25) ** 2 / 25).sum() < 7 + 6 * np.sqrt(14)
    assert len({int(x) for x in own.open_slots(public.slot_sums(crafted(own), choice))[:, 0]}) == 1


def test_sums_that_are_added_up_are_drowned_with_room_for_all_of_them(own, public):
    plan = SlotsPlan(rows=50, entries=3, bound=9, modulus=score_modulus(200), sums_only=True, apart=True, parts=3)
    values, every = np.full((50, 3), -9), np.ones((50, 3), bool)
    one, two, three = (public.slot_sums(own.seal_slots(values, plan), every) for _ in range(3))
    assert set(own.open_slots(one + two + three)[:, 0].tolist()) == {-81}
    assert set(own.open_slots(one - two - three)[:, 0].tolist()) == {27}
    assert Paillier(2048).slots_room(plan) == pytest.approx(np.log2(6 * plan.modulus))
