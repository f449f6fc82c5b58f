"""Known answers for the pads: another implementation of RFC 8439 and RFC 5869.

The published vectors of the keystream and of the key stand beside the kernel, in `native/src/pads.rs`.
"""

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from hypothesis import example, given
from hypothesis import strategies as st

from hedgerow import _native

INFO = b"a request"


def theirs(secret, n_words, info=INFO):
    key = HKDFExpand(SHA256(), 32, info).derive(secret)
    cipher = Cipher(algorithms.ChaCha20(key, bytes(16)), None).encryptor()
    return np.frombuffer(cipher.update(bytes(8 * n_words)), "<u8")


def ours(secret, n_words, threads=1, info=INFO):
    words = np.zeros(n_words, np.uint64)
    _native.add_pads([(words, (np.frombuffer(secret, np.uint8).reshape(1, 32), np.zeros(1, bool), info))], threads)
    return words


@given(st.binary(min_size=32, max_size=32), st.binary(max_size=80))
def test_pads_are_of_the_secret_and_what_the_request_is(secret, info):
    assert (ours(secret, 20, info=info) == theirs(secret, 20, info)).all()


@given(st.binary(min_size=32, max_size=32), st.integers(0, 3000), st.integers(1, 4))
@example(b"k" * 32, 1024, 1)
@example(b"k" * 32, 100_001, 2)
@example(b"k" * 32, 400_000, 5)
def test_pads_are_the_keystream_for_any_length_and_number_of_threads(secret, n_words, threads):
    assert (ours(secret, n_words, threads) == theirs(secret, n_words)).all()


@given(st.data(), st.integers(0, 6), st.integers(0, 300))
def test_pads_of_several_secrets_are_added_or_taken(data, n_pads, n_words):
    secrets = data.draw(st.lists(st.binary(min_size=32, max_size=32), min_size=n_pads, max_size=n_pads))
    subtract = np.array(data.draw(st.lists(st.booleans(), min_size=n_pads, max_size=n_pads)), bool)
    found = np.arange(n_words, dtype=np.uint64)
    expected = found.copy()
    for secret, taken in zip(secrets, subtract, strict=True):
        expected = expected - theirs(secret, n_words) if taken else expected + theirs(secret, n_words)
    pads = (np.frombuffer(b"".join(secrets), np.uint8).reshape(-1, 32), subtract, INFO)
    _native.add_pads([(found, pads)], 2)
    assert (found == expected).all()


@given(st.data(), st.integers(1, 3))
def test_words_of_several_parties_are_padded_as_if_each_were_alone(data, threads):
    """Also where two parties have the same pad, which is then made once for both."""
    secret = st.sampled_from([bytes([n]) * 32 for n in range(4)])
    signed, info = st.lists(st.tuples(secret, st.booleans()), max_size=4), st.sampled_from([b"", b"a", b"b"])
    parties = data.draw(st.lists(st.tuples(st.integers(0, 1200), signed, info), max_size=4))

    def hidden():
        for n_words, pads, said in parties:
            secrets = np.frombuffer(b"".join(secret for secret, _ in pads), np.uint8).reshape(-1, 32)
            yield np.arange(n_words, dtype=np.uint64), (secrets, np.array([taken for _, taken in pads], bool), said)

    together, alone = list(hidden()), list(hidden())
    _native.add_pads(together, threads)
    for one in alone:
        _native.add_pads([one], 1)
    assert [words.tolist() for words, _ in together] == [words.tolist() for words, _ in alone]


def test_the_path_for_any_cpu_gives_the_same_pads():
    _native.set_portable_only(True)
    try:
        plain = ours(b"p" * 32, 5000)
    finally:
        _native.set_portable_only(False)
    assert (plain == ours(b"p" * 32, 5000)).all()


def test_an_array_of_any_shape_is_padded_row_after_row():
    words = np.zeros((3, 4, 5), np.uint64)
    _native.add_pads([(words, (np.full((1, 32), 9, np.uint8), np.zeros(1, bool), INFO))], 1)
    assert (words.reshape(-1) == theirs(b"\x09" * 32, 60)).all()


@pytest.mark.parametrize(
    ("words", "secrets", "subtract", "message"),
    [
        (np.zeros(4, np.uint64), np.zeros((1, 31), np.uint8), np.zeros(1, bool), "wrong size"),
        (np.zeros(4, np.uint64), np.zeros((2, 32), np.uint8), np.zeros(1, bool), "one secret for each pad"),
        (np.zeros((4, 4), np.uint64)[:, ::2], np.zeros((1, 32), np.uint8), np.zeros(1, bool), "not contiguous"),
    ],
)
def test_what_does_not_fit_together_is_refused(words, secrets, subtract, message):
    with pytest.raises(ValueError, match=message):
        _native.add_pads([(words, (secrets, subtract, INFO))], 1)


@given(st.lists(st.lists(st.integers(0, 2**64 - 1), min_size=7, max_size=7), min_size=1, max_size=5))
def test_words_are_summed_modulo_2_to_the_64(parts):
    found = _native.sum_words([np.array(part, np.uint64) for part in parts])
    assert found.tolist() == [(sum(column) + 2**63) % 2**64 - 2**63 for column in zip(*parts, strict=True)]


def test_parts_of_a_sum_that_differ_in_length_are_refused():
    with pytest.raises(ValueError, match="differ in length"):
        _native.sum_words([np.zeros(3, np.uint64), np.zeros(4, np.uint64)])
