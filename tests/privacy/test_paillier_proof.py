"""A public key proves its modulus: one that would let returns tell more than sums has no such proof."""

import math
import random
from itertools import combinations

import gmpy2
import numpy as np
import pytest

from hedgerow import _native
from hedgerow.errors import CipherError
from hedgerow.privacy.paillier import proof
from hedgerow.privacy.paillier import wire as paillier_wire
from hedgerow.privacy.paillier.cipher import Paillier
from hedgerow.privacy.paillier.proof import ROOTS, challenges
from hedgerow.privacy.paillier.public import HIDE_BASES
from hedgerow.privacy.paillier.wire import HEAD, KEY, KEY_HEAD, MARK, VERSION, key_bytes
from hedgerow.privacy.shapes import SlotsPlan

BITS = 2048
RANDOM = random.Random(1)  # noqa: S311  # moduli of a test
UNSOUND = "proof that the modulus of a public key is sound does not hold"


@pytest.fixture(scope="module")
def own():
    return Paillier(BITS).new_key(2)


def number(words):
    return int.from_bytes(words.astype("<u8").tobytes(), "little")


def primes_of(own):
    return [number(row) for row in own._own_primes]


def parts_of(key):
    """The modulus of a public key and its roots."""
    body = [key[i : i + BITS // 8] for i in range(KEY_HEAD.size, len(key), BITS // 8)]
    n, *roots = (int.from_bytes(part, "little") for part in body)
    return n, roots


def key_of(n, roots):
    body = b"".join(x.to_bytes(BITS // 8, "little") for x in (n, *roots))
    return KEY_HEAD.pack(MARK, VERSION, KEY, BITS) + body


def read(n, roots):
    return Paillier(BITS).read_public_key(key_of(n, roots), 2)


def prime(bits, step=2, first=1):
    """A random prime that is `first` modulo `step`."""
    while True:
        found = (RANDOM.getrandbits(bits) | 1 << (bits - 1) | 1 << (bits - 2)) // step * step + first
        if found.bit_length() == bits and gmpy2.is_prime(found):
            return found


def best_roots(factors):
    """What a cheat who knows all prime factors can do: modulo each of them a root, as nearly as there is one."""
    n, found = math.prod(factors), []
    for rho in challenges(n):
        sigma, done = 0, 1
        for p in factors:
            order = (p - 1) // 2
            while (common := math.gcd(order, 2 * n)) > 1:
                order //= common
            root = pow(rho, 2 * pow(4 * n, -1, order), p)
            sigma += (root - sigma) * pow(done, -1, p) % p * done
            done *= p
        found.append(sigma)
    return found


# What a sound key has


def test_roots_and_powers_are_those_that_python_finds(own):
    n, roots = parts_of(own.public.encode())
    assert n == math.prod(primes_of(own))
    assert roots == best_roots(primes_of(own))
    for root, rho in zip(roots, challenges(n), strict=True):
        assert pow(root, 2 * n, n) in (rho, n - rho)
    words = np.stack([np.frombuffer(x.to_bytes(BITS // 8, "little"), "<u8") for x in [0, 1, n - 1, *roots[:4]]])
    raised = _native.paillier_raised(own._ring.n, words.astype(np.uint64), 2)
    assert [number(row) for row in raised] == [pow(number(row), 2 * n, n) for row in words]


def test_roots_are_squares_of_numbers_so_that_they_tell_nothing_of_the_primes(own):
    """Raised random squares look the same, and anybody can make them."""
    _, roots = parts_of(own.public.encode())
    assert all(gmpy2.legendre(root, p) == 1 for root in roots for p in primes_of(own))


def test_both_primes_are_3_modulo_4_and_others_give_no_roots(own):
    assert [p % 4 for p in primes_of(own)] == [3, 3]
    other = np.stack([np.frombuffer(prime(1024, 4).to_bytes(128, "little"), "<u8") for _ in range(2)])
    with pytest.raises(ValueError, match="do not belong together"):
        _native.paillier_roots(other.astype(np.uint64), np.ones((1, 32), np.uint64), 1)


def test_a_key_has_the_length_that_is_forecast(own):
    assert len(own.public.encode()) == key_bytes(BITS) == 8 + 17 * 256


def test_challenges_have_jacobi_symbol_1_and_belong_to_one_modulus(own):
    n, _ = parts_of(own.public.encode())
    found = challenges(n)
    assert len(set(found)) == ROOTS == 16
    assert all(gmpy2.jacobi(rho, n) == 1 and rho < n for rho in found)
    assert not set(found) & set(challenges(int(gmpy2.next_prime(n))))


def test_jacobis_symbol_is_that_of_gmp():
    for n in (9, 15, 21, 35, 3 * 2**61 + 1, 2**521 - 1, 3**200, 5**90 * 7**51):
        for a in [0, 1, 2, n - 1, *(RANDOM.randrange(n) for _ in range(40))]:
            assert proof._jacobi(a, n) == gmpy2.jacobi(a, n)


# What is refused


@pytest.mark.parametrize(
    "spoil",
    [
        lambda roots, n: [roots[0] ^ 1, *roots[1:]],
        lambda roots, n: [*roots[:-1], 0],
        lambda roots, n: [roots[1], roots[0], *roots[2:]],
        lambda roots, n: [roots[0]] * ROOTS,
        lambda roots, n: [1] * ROOTS,
        lambda roots, n: parts_of(Paillier(BITS).new_key(2).public.encode())[1],
    ],
    ids=["a bit wrong", "one missing", "two swapped", "one again and again", "ones", "another key's"],
)
def test_a_key_with_wrong_roots_is_refused(own, spoil):
    n, roots = parts_of(own.public.encode())
    read(n, roots)
    with pytest.raises(CipherError, match=UNSOUND):
        read(n, spoil(roots, n))


def test_a_root_that_is_not_below_the_modulus_is_refused():
    factors = filled([prime(1024, 4, 3)])
    n, roots = math.prod(factors), best_roots(factors)
    read(n, roots)
    with pytest.raises(CipherError, match=UNSOUND):
        read(n, [min(root, n - root) + n if 3 * min(root, n - root) < n else root for root in roots])


def filled(factors):
    """These factors and one more, so that their product has the length of a key."""
    last = (5 << (BITS - 3)) // math.prod(factors)
    while last % 4 != 3 or not gmpy2.is_prime(last):
        last += 1
    return [*factors, last]


def smooth_modulus():
    """n = P S, where S is a product of small primes that all divide P - 1: n-th powers miss a group of order S."""
    small = [p for p in range(65_539, 70_000) if gmpy2.is_prime(p)][:54]
    s = math.prod(small)
    while True:
        k = RANDOM.getrandbits(BITS - 2 * s.bit_length()) | 1 << (BITS - 2 * s.bit_length() - 1)
        big = 2 * k * s + 1
        if (big * s).bit_length() == BITS and math.gcd(k, s) == 1 and gmpy2.is_prime(big):
            return big, small


@pytest.fixture(scope="module")
def smooth():
    return smooth_modulus()


def test_a_modulus_that_shares_factors_with_its_order_is_refused(smooth):
    big, small = smooth
    n = big * math.prod(small)
    assert math.gcd(n, big - 1) > 2**860
    with pytest.raises(CipherError, match=UNSOUND):
        read(n, best_roots([big, *small]))


def test_such_a_modulus_would_leave_a_second_channel(smooth, monkeypatch):
    """The sabotage: without the check the key is read, and no random power reaches the group of order S."""
    monkeypatch.setattr(paillier_wire, "ensure_proved", lambda *_: None)
    big, small = smooth
    public = read(big * math.prod(small), [0] * ROOTS)
    sealed = public.seal_slots(np.array([[5]]), SlotsPlan(rows=1, entries=1, bound=9))
    c = int.from_bytes(public.filtered(sealed, np.ones((1, 1), bool)).encode()[HEAD.size :], "little")
    assert pow(c, (big - 1) // math.prod(small), big) == 1


def test_a_modulus_with_a_square_in_it_is_refused():
    """q^2 p shares the factor q with its order; the best that a cheat has are roots modulo q p."""
    q = prime(680, 4, 3)
    n = math.prod(filled([q, q]))
    assert n.bit_length() == BITS
    with pytest.raises(CipherError, match=UNSOUND):
        read(n, [pow(rho, pow(2 * n, -1, (n // q // q - 1) // 2 * (q - 1) // 2), n) for rho in challenges(n)])


def test_a_modulus_with_many_prime_factors_is_refused():
    """It has more quadratic characters than the bases that hide returns can reach."""
    factors = filled([prime(68, 4, 3) for _ in range(29)])
    n = math.prod(factors)
    assert n.bit_length() == BITS
    assert all(math.gcd(n, p - 1) == 1 for p in factors)
    with pytest.raises(CipherError, match=UNSOUND):
        read(n, best_roots(factors))


def test_many_prime_factors_would_leave_parities_of_the_randomness_unhidden():
    """The sabotage: the powers that hide returns, under a modulus that only the proof refuses."""
    factors = []
    while math.prod(factors).bit_length() < BITS - 70:
        p = prime(17)
        if all((p - 1) % q and (q - 1) % p and p != q for q in factors):
            factors.append(p)
    factors = filled(factors)
    n = math.prod(factors)
    assert math.gcd(n, math.prod(p - 1 for p in factors)) == 1
    words = np.frombuffer(n.to_bytes(BITS // 8, "little"), "<u8").astype(np.uint64)
    one = np.frombuffer(((1 << 2 * BITS) % n**2).to_bytes(BITS // 4, "little"), "<u8").astype(np.uint64)
    table = _native.paillier_table(words, HIDE_BASES, 368, 6, False, 2)
    hidden = _native.paillier_randomise(words, table, False, np.tile(one, (2 * HIDE_BASES, 1)), 2)
    powers = [number(row) for row in _native.paillier_write(words, hidden, 2)]
    parities = [sum((gmpy2.legendre(c % p, p) < 0) << i for i, p in enumerate(factors)) for c in powers]
    assert rank(parities) + 20 < len(factors)


def rank(vectors):
    """Of vectors of bits."""
    basis = []
    for vector in vectors:
        for other in basis:
            vector = min(vector, vector ^ other)
        basis += [vector] if vector else []
    return len(basis)


# Why sixteen roots are enough


def test_a_challenge_has_a_root_as_rarely_as_the_argument_says():
    """Counted for every odd modulus below 600: 4 / (2 d) for a common factor d, 4 / 2^k for k prime factors; else 1."""
    for n in range(9, 600, 2):
        factors = [p for p in range(3, n + 1, 2) if n % p == 0 and gmpy2.is_prime(p)]
        units = [x for x in range(n) if math.gcd(x, n) == 1]
        powers = {pow(x, 2 * n, n) for x in units}
        asked = [x for x in units if gmpy2.jacobi(x, n) == 1]
        found = sum(x in powers or n - x in powers for x in asked) / len(asked)
        common = math.gcd(n, len(units))
        shared = [p for p in factors if common % p == 0]
        assert found <= min([4 / 2 ** len(factors), *(2 / d for d in shared)])
        sound = len(factors) == 2 and not shared and all(p % 4 == 3 for p in factors)
        assert found == 1 or not sound


def test_the_numbers_of_roots_and_bases_keep_what_they_promise():
    assert (2 / 2**16) ** ROOTS <= 2**-240
    most_factors = max(k for k in range(2, 200) if (4 / 2**k) ** ROOTS > 2**-128)
    assert most_factors == 9
    characters = sum(1 for size in range(1, most_factors + 1) for _ in combinations(range(most_factors), size))
    assert characters * 2.0**-HIDE_BASES < 2**-71
