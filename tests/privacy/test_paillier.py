"""Paillier's own promises: keys, room, packing, and refusals; those of every cipher are in tests/contracts."""

import struct
from math import isqrt

import gmpy2
import numpy as np
import pytest

from hedgerow import _native
from hedgerow.errors import CipherError, ParameterError, PrivacyError
from hedgerow.privacy.paillier import public as paillier_public
from hedgerow.privacy.paillier.cipher import Paillier
from hedgerow.privacy.paillier.packing import rows_packing, slots_packing, sums_packing
from hedgerow.privacy.paillier.wire import HEAD, KEY_HEAD
from hedgerow.privacy.shapes import Nodes, RowsPlan, Selection, SlotsPlan

CIPHER = Paillier(bits=2048)
PLAN = RowsPlan(rows=3, bounds=(10, 1000), groups=2, parts=2)
VALUES = np.array([[1, -2], [-10, 1000], [7, 0]])


@pytest.fixture(scope="module")
def own():
    return CIPHER.new_key(2)


@pytest.fixture(scope="module")
def public(own):
    return CIPHER.read_public_key(own.public.encode(), 2)


def number(words):
    return int.from_bytes(words.astype("<u8").tobytes(), "little")


def summed(own, public, values, plan, codes, widths, nodes):
    sealed = public.read_rows(own.seal_rows(values, plan).encode(), plan)
    sums = public.group_sums(sealed, Selection(codes, np.array(widths)), nodes)
    return own.open_sums(own.public.read_sums(sums.encode(), plan, sums.groups))


# Keys


@pytest.mark.parametrize("bits", [0, 512, 1024, 2047, 2560, 8192])
def test_keys_of_other_lengths_are_refused(bits):
    with pytest.raises(ParameterError, match="2048, 3072 or 4096 bits; shorter ones are not secure"):
        Paillier(bits=bits)


def test_the_default_is_3072_bits_sealed_once():
    assert Paillier().bits == 3072
    assert Paillier().seals_once
    assert repr(Paillier()) == "Paillier(bits=3072)"


@pytest.mark.parametrize("bits", [2048, 3072, 4096])
def test_keys_of_every_length_seal_sum_and_open(bits):
    own = Paillier(bits).new_key(2)
    public = Paillier(bits).read_public_key(own.public.encode(), 2)
    assert number(public._ring.n).bit_length() == bits
    codes, nodes = np.array([[0, 1, 0]], np.uint8), Nodes.in_order(np.array([3]))
    opened = summed(own, public, VALUES, PLAN, codes, [2], nodes)
    assert opened.tolist() == [[[8, -2], [-10, 1000]]]


def test_the_primes_of_a_key_are_prime_equally_long_and_apart(own):
    p, q = (number(prime) for prime in own._own_primes)
    assert p * q == number(own.public._ring.n)
    assert gmpy2.is_prime(p, 40)
    assert gmpy2.is_prime(q, 40)
    assert p.bit_length() == q.bit_length() == 1024
    assert abs(p - q).bit_length() > 924
    assert gmpy2.gcd(p * q, (p - 1) * (q - 1)) == 1


# Room


def test_channels_that_do_not_fit_one_plaintext_take_several(own, public):
    bounds = tuple(2 ** (30 + i % 29) for i in range(70))
    plan = RowsPlan(rows=5, bounds=bounds, groups=3)
    assert len(rows_packing(plan, 2048).blocks) == 2
    rng = np.random.default_rng(0)
    values = rng.integers(-np.array(bounds), np.array(bounds), (5, 70), endpoint=True)
    codes = np.array([[0, 1, 0, 2, 0]], np.uint8)
    opened = summed(own, public, values, plan, codes, [3], Nodes.in_order(np.array([5])))
    assert (opened[0] == [values[[0, 2, 4]].sum(axis=0), values[1], values[3]]).all()
    sums = public.group_sums(
        own.seal_rows(values, plan), Selection(codes, np.array([3])), Nodes.in_order(np.array([5])), None
    )
    assert len(sums.encode()) == HEAD.size + 3 * 2 * 512


def test_returns_are_packed_and_their_number_is_what_the_plan_says(own, public):
    plan = RowsPlan(rows=30, bounds=(127, 127), groups=200)
    packing = sums_packing(plan, 2048)
    assert packing.per == 2046 // (2 * 13)
    codes = np.tile(np.arange(30, dtype=np.uint8), (2, 1))
    sealed = own.seal_rows(np.full((30, 2), -127), plan)
    sums = public.group_sums(sealed, Selection(codes, np.array([100, 100])), Nodes.in_order(np.array([30])))
    assert len(sums.encode()) == HEAD.size + 3 * 512
    assert (own.open_sums(sums)[0, :, 0] == np.tile(np.where(np.arange(100) < 30, -127, 0), 2)).all()


def test_slots_share_a_ciphertext_once_no_choice_is_left():
    plan = SlotsPlan(rows=9, entries=4, bound=100, choices=2, summand=7)
    assert [slots_packing(plan, 2048, chosen).per for chosen in (0, 1, 2)] == [1, 1, 2046 // 10]
    with pytest.raises(ParameterError, match="does not fit 62 bits"):
        SlotsPlan(rows=1, entries=1, bound=1, choices=9, summand=2**61)


def test_a_run_that_opens_too_much_to_hide_the_choices_is_refused():
    CIPHER.ensure_rows(RowsPlan(rows=1, bounds=(1,), groups=1, run_sums=2**30))
    with pytest.raises(PrivacyError, match="would not hide the choices"):
        CIPHER.ensure_rows(RowsPlan(rows=1, bounds=(1,), groups=1, run_sums=2**30 + 1))
    with pytest.raises(PrivacyError, match="would not hide the choices"):
        CIPHER.ensure_slots(SlotsPlan(rows=1, entries=1, bound=1, run_sums=2**30 + 1))


def test_many_returns_are_hidden_with_a_table_and_few_without(own, monkeypatch):
    tables = []
    kernel = _native.paillier_randomise
    monkeypatch.setattr(_native, "paillier_randomise", lambda *args: tables.append(len(args[1])) or kernel(*args))
    public = CIPHER.read_public_key(own.public.encode(), 2)
    plan = SlotsPlan(rows=paillier_public.FEW, entries=1, bound=5, choices=2)
    sealed, choice = own.seal_slots(np.full((plan.rows, 1), -3), plan), np.ones((plan.rows, 1), bool)
    for _ in range(2):
        assert (own.open_slots(public.filtered(sealed, choice)) == -3).all()
    assert tables == [0, -(-(2048 + 160) // 6)]


# Twelve public keys that are none


def changed_key(own, change):
    data = own.public.encode()
    head, body, proof = data[: KEY_HEAD.size], data[KEY_HEAD.size :][:256], data[KEY_HEAD.size :][256:]
    n = change(int.from_bytes(body, "little"))
    return head + (n % 2**2048).to_bytes(256, "little") + proof


KEYS = {
    "empty": (lambda _: b"", "too short for its head"),
    "head cut": (lambda own: own.public.encode()[:7], "too short for its head"),
    "another mark": (lambda own: b"HL" + own.public.encode()[2:], "not Paillier's"),
    "a later version": (lambda own: b"HP\x03" + own.public.encode()[3:], "has version 3, this hedgerow reads 2"),
    "another kind": (lambda own: b"HP\x02\x02" + own.public.encode()[4:], "do not hold a public key"),
    "a weaker key told": (
        lambda own: KEY_HEAD.pack(b"HP", 2, 1, 1024) + own.public.encode()[-128:],
        "not one of 2048 bits",
    ),
    "a length told that is none": (
        lambda own: KEY_HEAD.pack(b"HP", 2, 1, 2**32 - 64) + own.public.encode()[8:],
        "not one of 2048 bits",
    ),
    "a byte missing": (lambda own: own.public.encode()[:-1], "length that its head tells"),
    "a byte more": (lambda own: own.public.encode() + b"\0", "length that its head tells"),
    "zero": (lambda own: changed_key(own, lambda _: 0), "exactly 2048 bits"),
    "one": (lambda own: changed_key(own, lambda _: 1), "exactly 2048 bits"),
    "a shorter modulus": (lambda own: changed_key(own, lambda n: n >> 1 | 1), "exactly 2048 bits"),
    "even": (lambda own: changed_key(own, lambda n: n - 1), "is even"),
    "a small factor": (lambda own: changed_key(own, lambda n: n // 130_026 * 65_013 * 2 + 65_013), "small factor"),
    "a square": (lambda own: changed_key(own, lambda n: int(gmpy2.next_prime(isqrt(n))) ** 2), "is a square"),
    "a prime": (lambda own: changed_key(own, lambda n: int(gmpy2.next_prime(n))), "is a prime"),
}


@pytest.mark.parametrize("kind", KEYS)
def test_a_malformed_public_key_is_refused(own, kind):
    spoil, message = KEYS[kind]
    with pytest.raises(CipherError, match=message):
        CIPHER.read_public_key(spoil(own), 1)


def test_a_key_of_another_length_than_agreed_on_is_refused(own):
    with pytest.raises(CipherError, match="not one of 3072 bits, as was agreed on"):
        Paillier().read_public_key(own.public.encode(), 1)


# Ciphertexts that are none


def with_number(data, change, n):
    """The second ciphertext changed."""
    at = HEAD.size + 512
    c = change(int.from_bytes(data[at : at + 512], "little"), n)
    return data[:at] + (c % 2**4096).to_bytes(512, "little") + data[at + 512 :]


def with_head(data, place, value):
    fields = list(HEAD.unpack_from(data))
    fields[place] = value
    return HEAD.pack(*fields) + data[HEAD.size :]


NUMBERS = {
    "0": (lambda c, n: 0, "0 or 1, which no sealing gives"),
    "1": (lambda c, n: 1, "0 or 1, which no sealing gives"),
    "n": (lambda c, n: n, "shares a factor with its key"),
    "a multiple of n": (lambda c, n: 5 * n, "shares a factor with its key"),
    "n squared": (lambda c, n: n * n, "not smaller than the square"),
    "n squared and 1": (lambda c, n: n * n + 1, "not smaller than the square"),
    "a ciphertext and n squared": (lambda c, n: c % (2**4096 - n * n) + n * n, "not smaller than the square"),
    "all ones": (lambda c, n: -1, "not smaller than the square"),
}
HEADS = {
    "empty": (lambda data: b"", "too short for their head"),
    "head cut": (lambda data: data[: HEAD.size - 1], "too short for their head"),
    "another mark": (lambda data: with_head(data, 0, b"!U"), "not Paillier's"),
    "version 0": (lambda data: with_head(data, 1, 0), "has version 0, this hedgerow reads 2"),
    "another kind": (lambda data: with_head(data, 2, 3), "do not hold the kind"),
    "other bits": (lambda data: with_head(data, 3, 3072), "belong to another key"),
    "another key": (lambda data: with_head(data, 4, bytes(16)), "belong to another key"),
    "another plan": (lambda data: with_head(data, 5, bytes(8)), "not made for the plan"),
    "no part": (lambda data: with_head(data, 6, 0), "More sealed things were added"),
    "more parts": (lambda data: with_head(data, 6, 3), "More sealed things were added"),
    "another size": (lambda data: with_head(data, 7, 1), "not made for the plan"),
    "fewer ciphertexts": (lambda data: with_head(data, 9, 2)[:-512], "not made for the plan"),
    "10 GB": (lambda data: with_head(data, 9, 2 * 10**7), "not made for the plan"),
    "2^64 - 1 ciphertexts": (lambda data: with_head(data, 9, 2**64 - 1), "not made for the plan"),
    "a byte missing": (lambda data: data[:-1], "length that their head tells"),
    "a word missing": (lambda data: data[:-8], "length that their head tells"),
    "a ciphertext missing": (lambda data: data[:-512], "length that their head tells"),
    "a byte more": (lambda data: data + b"\0", "length that their head tells"),
}


@pytest.mark.parametrize("kind", NUMBERS)
def test_a_ciphertext_that_no_sealing_gives_is_refused(own, public, kind):
    spoil, message = NUMBERS[kind]
    data = with_number(own.seal_rows(VALUES, PLAN).encode(), spoil, number(own.public._ring.n))
    with pytest.raises(CipherError, match=message):
        public.read_rows(data, PLAN)


def test_a_ciphertext_that_shares_one_prime_is_refused(own, public):
    data = with_number(own.seal_rows(VALUES, PLAN).encode(), lambda c, n: number(own._own_primes[0]), 0)
    with pytest.raises(CipherError, match="shares a factor with its key"):
        public.read_rows(data, PLAN)


@pytest.mark.parametrize("kind", HEADS)
def test_sealed_rows_with_a_wrong_head_or_length_are_refused(own, public, kind):
    spoil, message = HEADS[kind]
    with pytest.raises(CipherError, match=message):
        public.read_rows(spoil(own.seal_rows(VALUES, PLAN).encode()), PLAN)


def test_a_return_with_something_beside_its_sums_is_refused(own, public):
    sums = public.group_sums(
        own.seal_rows(VALUES, PLAN), Selection(np.zeros((1, 3), np.uint8), np.array([1])), Nodes.in_order(np.array([3]))
    )
    for at in (sums_packing(PLAN, 2048).distance, 1500, 2040):
        spoilt = _native.paillier_pack(own.public._ring.n, np.vstack([sums._words, sums._words]), 2, at, 1)
        crafted = type(sums)(spoilt, PLAN, sums._ring, 1, (1, 0))
        with pytest.raises(CipherError, match="made up"):
            own.open_sums(crafted)


def test_the_same_rows_are_checked_once_and_others_anew(own, public):
    data = own.seal_rows(VALUES, PLAN).encode()
    first, again = public.read_rows(data, PLAN), public.read_rows(data, PLAN)
    assert first._words is again._words
    spoilt = data[:-512] + struct.pack("<Q", 1) + bytes(504)
    with pytest.raises(CipherError, match="0 or 1"):
        public.read_rows(spoilt, PLAN)
