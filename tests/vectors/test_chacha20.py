"""Known answers for the pads: RFC 8439, and another implementation of it."""

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from hypothesis import example, given
from hypothesis import strategies as st

from hedgerow import _native

# Appendix A.1, vectors 1 and 2: key and nonce zero, counters 0 and 1.
KEY_ZERO = (
    "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
    "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"
    "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
    "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f"
)
# Vectors 3 and 4: block 1 of the key that ends in 1, block 2 of the key whose second byte is 255.
ENDS_IN_ONE = (
    "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a"
    "8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0"
)
SECOND_IS_255 = (
    "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca"
    "13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7374f4872e99f096"
)


def theirs(key, n_words):
    cipher = Cipher(algorithms.ChaCha20(key, bytes(16)), None).encryptor()
    return np.frombuffer(cipher.update(bytes(8 * n_words)), "<u8")


def ours(key, n_words, threads=1):
    words = np.zeros(n_words, np.uint64)
    _native.add_pads([(words, np.frombuffer(key, np.uint8).reshape(1, 32), np.zeros(1, bool))], threads)
    return words


@pytest.mark.parametrize(
    ("key", "block", "expected"),
    [
        (bytes(32), 0, KEY_ZERO),
        (bytes(31) + b"\x01", 1, ENDS_IN_ONE),
        (b"\x00\xff" + bytes(30), 2, SECOND_IS_255),
    ],
)
def test_pads_are_the_published_keystream(key, block, expected):
    size = len(expected) // 16
    assert ours(key, 8 * block + size)[8 * block :].astype("<u8").tobytes().hex() == expected
    assert theirs(key, 8 * block + size)[8 * block :].tobytes().hex() == expected


@given(st.binary(min_size=32, max_size=32), st.integers(0, 3000), st.integers(1, 4))
@example(b"k" * 32, 1024, 1)
@example(b"k" * 32, 100_001, 2)
@example(b"k" * 32, 400_000, 5)
def test_pads_are_the_keystream_for_any_length_and_number_of_threads(key, n_words, threads):
    assert (ours(key, n_words, threads) == theirs(key, n_words)).all()


@given(st.data(), st.integers(0, 6), st.integers(0, 300))
def test_pads_of_several_keys_are_added_or_taken(data, n_keys, n_words):
    keys = data.draw(st.lists(st.binary(min_size=32, max_size=32), min_size=n_keys, max_size=n_keys))
    subtract = np.array(data.draw(st.lists(st.booleans(), min_size=n_keys, max_size=n_keys)), bool)
    found = np.arange(n_words, dtype=np.uint64)
    expected = found.copy()
    for key, taken in zip(keys, subtract, strict=True):
        expected = expected - theirs(key, n_words) if taken else expected + theirs(key, n_words)
    _native.add_pads([(found, np.frombuffer(b"".join(keys), np.uint8).reshape(-1, 32), subtract)], 2)
    assert (found == expected).all()


@given(st.data(), st.integers(1, 3))
def test_words_of_several_parties_are_padded_as_if_each_were_alone(data, threads):
    """Also where two parties have the same key, whose keystream is then made once for both."""
    key = st.sampled_from([bytes([n]) * 32 for n in range(4)])
    signed = st.lists(st.tuples(key, st.booleans()), max_size=4)
    parties = data.draw(st.lists(st.tuples(st.integers(0, 1200), signed), max_size=4))

    def hidden():
        for n_words, pads in parties:
            keys = np.frombuffer(b"".join(key for key, _ in pads), np.uint8).reshape(-1, 32)
            yield np.arange(n_words, dtype=np.uint64), keys, np.array([taken for _, taken in pads], bool)

    together, alone = list(hidden()), list(hidden())
    _native.add_pads(together, threads)
    for one in alone:
        _native.add_pads([one], 1)
    assert [words.tolist() for words, _, _ in together] == [words.tolist() for words, _, _ in alone]


def test_the_path_for_any_cpu_gives_the_same_pads():
    _native.set_portable_only(True)
    try:
        plain = ours(b"p" * 32, 5000)
    finally:
        _native.set_portable_only(False)
    assert (plain == ours(b"p" * 32, 5000)).all()


def test_an_array_of_any_shape_is_padded_row_after_row():
    words = np.zeros((3, 4, 5), np.uint64)
    _native.add_pads([(words, np.full((1, 32), 9, np.uint8), np.zeros(1, bool))], 1)
    assert (words.reshape(-1) == theirs(b"\x09" * 32, 60)).all()


@pytest.mark.parametrize(
    ("words", "keys", "subtract", "message"),
    [
        (np.zeros(4, np.uint64), np.zeros((1, 31), np.uint8), np.zeros(1, bool), "wrong size"),
        (np.zeros(4, np.uint64), np.zeros((2, 32), np.uint8), np.zeros(1, bool), "one key for each pad"),
        (np.zeros((4, 4), np.uint64)[:, ::2], np.zeros((1, 32), np.uint8), np.zeros(1, bool), "not contiguous"),
    ],
)
def test_what_does_not_fit_together_is_refused(words, keys, subtract, message):
    with pytest.raises(ValueError, match=message):
        _native.add_pads([(words, keys, subtract)], 1)
