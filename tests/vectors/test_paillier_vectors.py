"""Known answers for Paillier's cipher, and two other implementations: phe for the cipher, GMP for the arithmetic."""

import json
import secrets
from pathlib import Path

import gmpy2
import numpy as np
import phe
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow import _native
from hedgerow.privacy.paillier.cipher import PaillierSecretKey
from hedgerow.privacy.paillier.wire import Ring
from hedgerow.privacy.shapes import RowsPlan

KNOWN = json.loads((Path(__file__).parent / "paillier.json").read_text())
P, Q = int(KNOWN["p"], 16), int(KNOWN["q"], 16)
N = P * Q
NONE = np.empty((0, 64), np.uint64)


def words(number, bits=2048):
    """A number in words, the lowest first."""
    return np.frombuffer(int(number).to_bytes(bits // 8, "little"), "<u8").astype(np.uint64)


def rows(numbers):
    """Ciphertexts in words."""
    return np.stack([words(number, 4096) for number in numbers])


def integers(array):
    return [int.from_bytes(row.astype("<u8").tobytes(), "little") for row in array]


def entered(numbers, n=N):
    """Ciphertexts as the kernels take them."""
    wrong, sealed = _native.paillier_read(words(n), rows(numbers), 2)
    assert wrong == 0
    return sealed


def left(sealed, n=N):
    return integers(_native.paillier_write(words(n), sealed, 2))


PRIMES = np.stack([words(P, 1024), words(Q, 1024)])


def secret_key(p, q, threads=2):
    return PaillierSecretKey(np.stack([words(p, 1024), words(q, 1024)]), Ring(words(p * q), threads, b""))


# Known answers


def test_the_primes_of_the_known_answers_are_nobodys_choice():
    with gmpy2.context(precision=1200):
        pi, e = gmpy2.const_pi(), gmpy2.exp(gmpy2.mpfr(1))
        assert gmpy2.next_prime(gmpy2.mpz(gmpy2.floor(pi * gmpy2.mpfr(2) ** 1022))) == P
        assert gmpy2.next_prime(gmpy2.mpz(gmpy2.floor(e * gmpy2.mpfr(2) ** 1022))) == Q


@pytest.mark.parametrize("known", KNOWN["vectors"], ids=lambda known: str(known["m"]))
def test_known_ciphertexts_open(known):
    opened = _native.paillier_open(PRIMES, entered([int(known["c"], 16)]), [64], 1)
    assert opened.tolist() == [[known["m"]]]
    assert phe.PaillierPublicKey(N).raw_encrypt(known["m"] % N, r_value=int(known["r"], 16)) == int(known["c"], 16)


@pytest.mark.parametrize("known", KNOWN["vectors"], ids=lambda known: str(known["m"]))
def test_sealing_with_known_randomness_gives_the_known_ciphertext(known):
    power = entered([gmpy2.powmod(int(known["r"], 16), N, N * N)])
    sealed = _native.paillier_add_plain(words(N), power, np.array([[known["m"]]]), [64], 1)
    assert left(sealed) == [int(known["c"], 16)]


# phe


@pytest.fixture(scope="module")
def theirs():
    return phe.generate_paillier_keypair(n_length=2048)


def test_ours_opens_what_theirs_sealed(theirs):
    public, private = theirs
    values = [0, 1, -1, 2**62, -(2**62), *(secrets.randbelow(2**63) - 2**62 for _ in range(20))]
    sealed = [public.raw_encrypt(value % public.n) for value in values]
    primes = np.stack([words(private.p, 1024), words(private.q, 1024)])
    assert _native.paillier_open(primes, entered(sealed, public.n), [64], 2).ravel().tolist() == values


@pytest.mark.parametrize("by", ["secret", "public"])
def test_theirs_opens_what_ours_sealed(theirs, by):
    public, private = theirs
    own = secret_key(private.p, private.q)
    plan = RowsPlan(rows=4, bounds=(1000, 2**40), groups=1)
    values = np.array([[5, -7], [-1000, 2**40], [0, 0], [1000, -(2**40)]])
    sealed = (own if by == "secret" else own.public).seal_rows(values, plan)
    numbers = np.frombuffer(sealed.encode()[-4 * 512 :], "<u8").reshape(4, 64)
    width = plan.most[0].bit_length() + 1
    expected = [(int(low) + (int(high) << width)) % public.n for low, high in values]
    assert [private.raw_decrypt(number) for number in integers(numbers)] == expected


def test_theirs_opens_the_products_of_ours_and_ours_those_of_theirs(theirs):
    public, private = theirs
    own = secret_key(private.p, private.q)
    theirs_sealed = entered([public.raw_encrypt(m) for m in (10, 20, 30)], public.n)
    ours = _native.paillier_add_plain(words(public.n), theirs_sealed, np.array([[1], [2], [-40]]), [64], 2)
    hidden = own.public._hide(ours)
    assert [private.raw_decrypt(c) for c in left(hidden, public.n)] == [11, 22, public.n - 10]


# GMP

numbers = st.integers(2, N * N - 1).filter(lambda c: gmpy2.gcd(c, N) == 1)


@settings(deadline=None, max_examples=40)
@given(st.lists(numbers, min_size=1, max_size=9), st.randoms(use_true_random=False), st.integers(1, 3))
def test_products_by_group_are_gmps(sealed, random, threads):
    codes = np.array([[random.randrange(4) for _ in sealed] for _ in range(2)], np.uint8)
    nodes = np.arange(len(sealed)), np.array([0, len(sealed) // 2, len(sealed)])
    found = _native.paillier_group_sums(words(N), entered(sealed), 1, codes, np.array([3, 2]), nodes, threads)
    expected = []
    for start, end in ((0, len(sealed) // 2), (len(sealed) // 2, len(sealed))):
        for column, width in zip(codes, (3, 2), strict=True):
            for group in range(width):
                product = gmpy2.mpz(1)
                for row in range(start, end):
                    product = product * sealed[row] % (N * N) if column[row] == group else product
                expected.append(product)
    assert left(found) == expected


@settings(deadline=None, max_examples=20)
@given(st.lists(numbers, min_size=1, max_size=5), st.integers(1, 3), st.integers(1, 130))
def test_packing_is_gmps_power_and_product(sealed, per, distance):
    found = left(_native.paillier_pack(words(N), entered(sealed), per, distance, 2))
    shares = [sealed[i : i + per] for i in range(0, len(sealed), per)]
    expected = []
    for share in shares:
        product = gmpy2.mpz(1)
        for i, c in enumerate(share):
            product = product * gmpy2.powmod(c, 1 << (distance * i), N * N) % (N * N)
        expected.append(product)
    assert found == expected


@settings(deadline=None, max_examples=20)
@given(st.lists(numbers, min_size=1, max_size=9))
def test_sums_and_negatives_are_gmps(sealed):
    inverses = _native.paillier_negate(words(N), entered(sealed), 2)
    assert left(inverses) == [gmpy2.invert(c, N * N) for c in sealed]
    assert left(_native.paillier_add(words(N), entered(sealed), inverses, 2)) == [1] * len(sealed)


@pytest.mark.parametrize("table", ["none", "one base", "many bases"])
def test_what_ciphertexts_are_randomised_with_is_an_nth_power(table):
    kinds = {"none": (0, False), "one base": (1, True), "many bases": (72, False)}
    bases, even = kinds[table]
    digits = max(4 * bases, 64)  # few would give the exponent 0 now and then
    powers = _native.paillier_table(words(N), bases, digits, 2, even, 2) if bases else NONE
    sealed = entered([int(known["c"], 16) for known in KNOWN["vectors"]])
    found = left(_native.paillier_randomise(words(N), powers, even, sealed, 2))
    order = (P - 1) * (Q - 1)
    for known, c in zip(KNOWN["vectors"], found, strict=True):
        power = c * gmpy2.invert(int(known["c"], 16), N * N) % (N * N)
        assert power != 1
        assert gmpy2.powmod(power, order, N * N) == 1
    if even:
        assert all(
            gmpy2.jacobi(c * int(known["c"], 16), N) == 1 for known, c in zip(KNOWN["vectors"], found, strict=True)
        )


def test_the_path_for_any_cpu_gives_the_same_products():
    sealed = entered([int(known["c"], 16) for known in KNOWN["vectors"]])
    quick = _native.paillier_pack(words(N), sealed, 3, 70, 1)
    _native.set_portable_only(True)
    try:
        plain = _native.paillier_pack(words(N), sealed, 3, 70, 1)
        opened = _native.paillier_open(PRIMES, sealed, [64], 1)
    finally:
        _native.set_portable_only(False)
    assert (quick == plain).all()
    assert opened.ravel().tolist() == [known["m"] for known in KNOWN["vectors"]]


# What does not fit together


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: _native.paillier_primes(1000, 1), "no keys of this length"),
        (lambda: _native.paillier_read(words(N + 1), rows([2]), 1), "even or has a wrong length"),
        (lambda: _native.paillier_read(np.ones(65, np.uint64), rows([2]), 1), "even or has a wrong length"),
        (lambda: _native.paillier_write(words(N), np.ones((1, 63), np.uint64), 1), "twice as long as the modulus"),
        (lambda: _native.paillier_add(words(N), rows([2]), rows([2, 3]), 1), "as many ciphertexts"),
        (lambda: _native.paillier_open(PRIMES[:1], rows([2]), [64], 1), "two odd primes"),
        (lambda: _native.paillier_open(PRIMES, rows([2]), [64] * 32, 1), "do not fit a plaintext"),
        (lambda: _native.paillier_open(PRIMES, rows([2]), [65], 1), "do not fit a plaintext"),
        (lambda: _native.paillier_add_plain(words(N), rows([2]), np.zeros((1, 2), np.int64), [9], 1), "one integer"),
        (
            lambda: _native.paillier_randomise(words(N), rows([2])[:, :60], True, rows([2]), 1),
            "does not fit the modulus",
        ),
        (lambda: _native.paillier_table(words(N), 3, 2, 4, True, 1), "every base needs a digit"),
        (lambda: _native.paillier_table(words(N), 1, 2, 9, True, 1), "1 to 8 bits"),
        (lambda: sums_of(np.zeros((1, 2), np.uint8), [0], [0, 1]), "one code a row and column"),
        (lambda: sums_of(np.zeros((1, 1), np.uint8), [-1], [0, 1]), "negative"),
        (lambda: sums_of(np.zeros((1, 1), np.uint8), [0], [0, 2]), "do not belong together"),
    ],
)
def test_what_does_not_fit_together_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def sums_of(codes, node_rows, starts):
    nodes = np.array(node_rows), np.array(starts)
    return _native.paillier_group_sums(words(N), rows([2]), 1, codes, np.array([1]), nodes, 1)
