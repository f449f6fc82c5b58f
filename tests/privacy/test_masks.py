"""Masks cancel in the sum over all parties, and hide everything short of it."""

import copy
from itertools import combinations

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF, HKDFExpand
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import chisquare

from hedgerow.errors import PrivacyError
from hedgerow.privacy.masks import Pads, PairKeys, mask, unmasked_sum

SAID = bytes(range(32))
WORDS = 1 << 18
"""Two MiB: enough that a chi-square sees any habit of the bytes."""
secrets = st.binary(min_size=32, max_size=32)


def rows(*secrets):
    return np.frombuffer(b"".join(secrets), np.uint8).reshape(len(secrets), -1)


def masked_parts(own, said=None):
    """What each party hands over: pair (i, j) shares a pad that i adds and j takes; `said[i]` is what i was told."""
    said = said or [SAID] * len(own)
    pairs = {pair: f"{pair}".encode().ljust(32) for pair in combinations(range(len(own)), 2)}
    parts = []
    for party, words in enumerate(own):
        mine = [pair for pair in pairs if party in pair]
        secrets = rows(*(pairs[pair] for pair in mine))
        parts.append((np.array(words), Pads(secrets, np.array([pair[1] == party for pair in mine]), said[party])))
    return mask(parts, 2)


def uniform(words, p_least=1e-6):
    """Whether the bytes at each of the eight places of a word look drawn evenly."""
    places = np.ascontiguousarray(words).view(np.uint8).reshape(-1, 8).T
    return min(chisquare(np.bincount(place, minlength=256)).pvalue for place in places) > p_least


def one_pad(own_words, said=SAID):
    return mask([(own_words.copy(), Pads(rows(b"s" * 32), np.array([False]), said))], 1)[0]


# Key agreement


def test_pair_secrets_are_the_agreed_key_of_rfc_7748_through_hkdf():
    alice = bytes.fromhex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a")
    bob = bytes.fromhex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")
    agreed = bytes.fromhex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742")
    a, b = (PairKeys(X25519PrivateKey.from_private_bytes(key)) for key in (alice, bob))
    assert a.public.hex() == "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"
    assert b.public.hex() == "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"
    info = b"hedgerow pair" + b"a plan" + a.public + b.public
    expected = HKDF(SHA256(), 32, salt=None, info=info).derive(agreed)
    assert a.shared(b.public, b"a plan") == b.shared(a.public, b"a plan") == expected


@given(secrets, secrets, st.integers(0, 700))
def test_a_pad_is_the_keystream_of_hkdf_expand_of_the_secret_and_what_was_said(secret, said, n_words):
    key = HKDFExpand(SHA256(), 32, b"hedgerow pad" + said).derive(secret)
    stream = Cipher(ChaCha20(key, bytes(16)), None).encryptor().update(bytes(8 * n_words))
    own = np.arange(n_words)
    (added,), (taken,) = (mask([(own.copy(), Pads(rows(secret), np.array([sign]), said))], 1) for sign in (False, True))
    pad = np.frombuffer(stream, np.uint64)
    assert (added == own.astype(np.uint64) + pad).all()
    assert (taken == own.astype(np.uint64) - pad).all()


def test_pair_secrets_differ_by_pair_and_by_context():
    a, b, c = (PairKeys.fresh() for _ in range(3))
    found = {a.shared(b.public, b"x"), a.shared(c.public, b"x"), b.shared(c.public, b"x"), a.shared(b.public, b"y")}
    assert len(found) == 4


@pytest.mark.parametrize("public", [bytes(32), b"\x01" + bytes(31)])
def test_a_public_key_that_agrees_on_nothing_is_refused(public):
    with pytest.raises(PrivacyError, match="no secret can be agreed"):
        PairKeys.fresh().shared(public, b"")


@pytest.mark.parametrize("size", [0, 31, 33])
def test_a_public_key_of_another_size_is_refused(size):
    with pytest.raises(PrivacyError, match=f"has {size} bytes instead of 32"):
        PairKeys.fresh().shared(bytes(size), b"")


def test_ones_own_public_key_is_refused():
    keys = PairKeys.fresh()
    with pytest.raises(PrivacyError, match="own public key"):
        keys.shared(keys.public, b"")


@pytest.mark.parametrize("write", [copy.copy, copy.deepcopy, lambda keys: keys.__reduce_ex__(4)])
def test_secret_keys_cannot_be_copied_or_written(write):
    with pytest.raises(PrivacyError, match="cannot be copied"):
        write(PairKeys.fresh())


def test_a_key_pair_does_not_show_its_secret():
    key = X25519PrivateKey.generate()
    keys = PairKeys(key)
    assert key.private_bytes_raw().hex() not in repr(keys) + str(keys)
    assert not hasattr(keys, "__dict__")


# Sums


@given(st.data(), st.integers(2, 16), st.integers(0, 40))
def test_the_sum_of_masked_words_is_the_sum_of_the_words(data, n_parties, n_words):
    extremes = st.sampled_from([-(2**63), 2**63 - 1, -1, 0, 1]) | st.integers(-(2**63), 2**63 - 1)
    own = data.draw(arrays(np.int64, (n_parties, n_words), elements=extremes))
    assert (unmasked_sum(masked_parts(list(own))) == own.sum(axis=0)).all()


def test_masking_leaves_the_words_as_they_were_and_flattens_a_copy():
    own = np.arange(24).reshape(2, 3, 4)
    kept = own.copy()
    masked = one_pad(own)
    assert (own == kept).all()
    assert (masked.shape, masked.dtype) == ((24,), np.uint64)
    assert (one_pad(own.transpose(2, 0, 1).copy().transpose(1, 2, 0)) == masked).all()


def test_one_missing_part_leaves_noise():
    parts = masked_parts([np.zeros(WORDS, np.int64)] * 4)
    assert not unmasked_sum(parts).any()
    for lost in range(4):
        assert uniform(unmasked_sum(parts[:lost] + parts[lost + 1 :]))


def test_parties_that_were_told_different_things_open_nothing():
    told = [SAID, SAID, bytes(32)]
    assert uniform(unmasked_sum(masked_parts([np.zeros(WORDS, np.int64)] * 3, told)))


def test_parts_of_different_lengths_are_refused():
    with pytest.raises(PrivacyError, match="missing or differ in length"):
        unmasked_sum([np.zeros(5, np.uint64), np.zeros(1, np.uint64)])
    with pytest.raises(PrivacyError, match="missing or differ in length"):
        unmasked_sum([])


# Pads


def test_masked_words_look_drawn_evenly_whatever_they_hide():
    for own_words in (np.zeros(WORDS, np.int64), np.arange(WORDS), np.full(WORDS, -(2**63))):
        assert uniform(one_pad(own_words))


def test_a_pad_of_28_bits_does_not_look_drawn_evenly():
    assert not uniform(one_pad(np.zeros(WORDS, np.int64)) & np.uint64(2**28 - 1))


def test_one_pad_word_for_all_words_does_not_look_drawn_evenly():
    assert not uniform(np.repeat(one_pad(np.zeros(1, np.int64)), WORDS))


def test_every_word_has_its_own_pad_word():
    assert len(np.unique(one_pad(np.zeros(WORDS, np.int64)))) == WORDS


def test_other_words_said_give_other_pads():
    pads = [one_pad(np.zeros(1000, np.int64), bytes([n]) + bytes(31)) for n in range(20)]
    assert len(np.unique(pads)) == 20_000


def test_words_without_a_pad_are_never_handed_out():
    with pytest.raises(PrivacyError, match="no pad to hide"):
        mask([(np.zeros(3, np.int64), Pads(np.empty((0, 32), np.uint8), np.empty(0, np.bool_), SAID))], 1)


@pytest.mark.parametrize(
    ("secrets", "subtract", "said"),
    [
        ([bytes(31)], [False], SAID),
        ([bytes(32)], [], SAID),
        ([bytes(32)], [True] * 2, SAID),
        ([bytes(32)], [False], b""),
        ([bytes(32)], [False], SAID + b"x"),
    ],
)
def test_a_pad_without_a_whole_secret_a_sign_and_what_was_said_is_refused(secrets, subtract, said):
    with pytest.raises(PrivacyError, match="a hash of 32 bytes each, and a sign"):
        mask([(np.zeros(3, np.int64), Pads(rows(*secrets), np.array(subtract, np.bool_), said))], 1)


@pytest.mark.parametrize("kind", [np.int32, np.float64, np.uint64])
def test_words_of_another_kind_are_refused(kind):
    with pytest.raises(PrivacyError, match="64 bits"):
        one_pad(np.zeros(4, kind))
