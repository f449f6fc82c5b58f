"""Sums under pads: the key holder reads the total of all who answer, and of any fewer noise."""

import secrets
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.errors import CipherError, ParameterError, PrivacyError
from hedgerow.privacy.lattice.cipher import LatticeSecretKey
from hedgerow.privacy.lattice.layout import RowsLayout, rows_layout
from hedgerow.privacy.pads import Pads
from hedgerow.privacy.paillier.cipher import PaillierSecretKey
from hedgerow.privacy.shapes import Nodes, RowsPlan, Selection

WIDTHS = np.array([4, 3], np.int64)
BOUND = 100


def pads_of(n):
    """Pads of so many who answer: one key for each two of them."""
    add, subtract = [[] for _ in range(n)], [[] for _ in range(n)]
    for i, j in combinations(range(n), 2):
        key = secrets.token_bytes(32)
        add[i].append(key)
        subtract[j].append(key)
    return [Pads(tuple(a), tuple(s)) for a, s in zip(add, subtract, strict=True)]


class Answerer:
    """One who answers: some rows in three nodes, and what the key holder sealed for them."""

    def __init__(self, rng, sizes, together):
        self.nodes, rows = Nodes.in_order(np.array(sizes, np.int64)), max(sum(sizes), 1)
        self.values = rng.integers(-BOUND, BOUND + 1, (rows, 2))
        self.selection = Selection(np.stack([rng.integers(0, w + 1, rows) for w in WIDTHS]).astype(np.uint8), WIDTHS)
        self.plan = RowsPlan(
            rows=rows, bounds=(BOUND, BOUND), groups=int(WIDTHS.sum()), columns=2, nodes=len(sizes),
            most_rows=max(max(sizes), 1), run_sums=1000, by_holder=True, together=together,
        )  # fmt: skip

    @property
    def expected(self):
        out = np.zeros((len(self.nodes), int(WIDTHS.sum()), 2), np.int64)
        for node, (a, b) in enumerate(zip(self.nodes.starts, self.nodes.starts[1:], strict=False)):
            for column, first in enumerate((0, 4)):
                for row in self.nodes.rows[a:b]:
                    if (code := self.selection.own_codes[column, row]) < WIDTHS[column]:
                        out[node, first + code] += self.values[row]
        return out

    def answer(self, sides, pads):
        """Its sums, as they arrive at the key holder."""
        sealed = sides.sent(self.values, self.plan)
        sums = sides.public.group_sums(sealed, self.selection, self.nodes, pads=pads)
        return sides.secret.public.read_sums(sums.encode(), self.plan, sums.groups)


def answerers(rng, sizes=((30, 5, 0), (400, 100, 60), (0, 0, 0), (1, 2, 3))):
    together = max(sum(node) for node in zip(*sizes, strict=True))
    return [Answerer(rng, some, together) for some in sizes]


def lanes(sides, part):
    """What the key holder makes of one part, whatever it is: integers modulo the plaintext, and that."""
    if isinstance(sides.secret, LatticeSecretKey):
        return sides.secret._lanes(part).reshape(-1) % part.layout.modulus, part.layout.modulus
    if isinstance(sides.secret, PaillierSecretKey):
        from hedgerow import _native

        rows = _native.paillier_open_numbers(sides.secret._own_primes, part._words, 1).astype("<u8")
        n = int.from_bytes(sides.secret._ring.n.astype("<u8").tobytes(), "little")
        return np.array([int.from_bytes(row.tobytes(), "little") for row in rows], object), n
    return part._clear.reshape(-1).view(np.uint64).astype(object), 1 << 64


def test_the_total_is_that_of_all_rows(sides, rng):
    every = answerers(rng)
    parts = [one.answer(sides, pads) for one, pads in zip(every, pads_of(len(every)), strict=True)]
    np.testing.assert_array_equal(sides.secret.open_total(parts), sum(one.expected for one in every))


def test_totals_at_both_ends_of_their_range_open(sides, rng):
    every = answerers(rng)
    for sign in (-1, 1):
        for one in every:
            one.values[:] = sign * BOUND
            one.selection.own_codes[:] = 0
        parts = [one.answer(sides, pads) for one, pads in zip(every, pads_of(len(every)), strict=True)]
        np.testing.assert_array_equal(sides.secret.open_total(parts), sum(one.expected for one in every))


def test_without_one_part_the_rest_is_noise(sides, rng):
    every = answerers(rng)
    parts = [one.answer(sides, pads) for one, pads in zip(every, pads_of(len(every)), strict=True)]
    with pytest.raises(CipherError, match=r"larger than any the plan allows|made up"):
        sides.secret.open_total(parts[1:])


def test_parts_of_other_pads_are_noise(sides, rng):
    every = answerers(rng)
    one, other = pads_of(len(every)), pads_of(len(every))
    parts = [a.answer(sides, pads) for a, pads in zip(every, [*one[:-1], other[-1]], strict=True)]
    with pytest.raises(CipherError, match=r"larger than any the plan allows|made up"):
        sides.secret.open_total(parts)


def view(sides, every, fixed):
    """What the key holder makes of each part, if the pads are these, whatever they should be."""
    parts = [one.answer(sides, pads) for one, pads in zip(every, fixed, strict=True)]
    return [lanes(sides, part)[0] for part in parts], lanes(sides, parts[0])[1]


def many(sides, rng, kind):
    """At least a hundred integers that the key holder makes of parts, under fresh pads of a kind."""
    every, numbers, modulus = answerers(rng), [], 1
    while len(numbers) < 100:
        parts, modulus = view(sides, every, [kind(*pads) for pads in pads_of(len(every))])
        numbers += [x for part in parts for x in part]
    return numbers, modulus


def spread_out(numbers, modulus):
    """Chi-square of the tenths of the range in which numbers lie, over its degrees of freedom."""
    tenths = np.array([int(10 * int(x) // modulus) for x in numbers])
    counts, expected = np.bincount(tenths, minlength=10), len(numbers) / 10
    return ((counts - expected) ** 2 / expected).sum() / 9


def test_a_part_is_uniform_modulo_the_whole_plaintext(sides, rng):
    assert spread_out(*many(sides, rng, Pads)) < 4


class Small(Pads):
    """A sabotage: pads as large as a sum, not as a plaintext."""

    def wide_words(self, n):
        return super().wide_words(n) % 4096

    def numbers(self, n, modulus):
        return [number % 4096 for number in super().numbers(n, modulus)]


def test_small_pads_are_seen(sides, rng):
    assert spread_out(*many(sides, rng, Small)) > 4


def test_each_part_depends_on_its_pads_and_nothing_is_left_of_what_was_summed(sides, rng):
    """Two tables whose sums differ by d give, under the same pads, parts that differ by d modulo the plaintext."""
    every, pads = answerers(rng), pads_of(4)
    one, _ = view(sides, every, pads)
    every[1].values[:] = -every[1].values
    other, _ = view(sides, every, pads)
    assert any(one[1] != other[1])
    # Under fresh pads neither could be told from the other: both are as uniform as the pads, at every place.
    again, _ = view(sides, every, pads_of(4))
    assert sum(int(a) == int(b) for a, b in zip(other[1], again[1], strict=True)) <= len(other[1]) // 10


def test_pads_and_plans_for_totals_go_together(sides, rng):
    (one,) = answerers(rng, ((3, 2),))
    with pytest.raises(ParameterError, match="hidden by pads"):
        one.answer(sides, None)
    one.plan = replace(one.plan, together=0)
    with pytest.raises(ParameterError, match="hidden by pads"):
        one.answer(sides, pads_of(2)[0])


def test_a_part_is_not_opened_by_itself(sides, rng):
    one = answerers(rng)[0]
    part = one.answer(sides, pads_of(2)[0])
    with pytest.raises(ParameterError, match="in total only"):
        sides.secret.open_sums(part)


def test_parts_of_different_totals_are_refused(sides, rng):
    one, other = answerers(rng, ((30, 5),))[0], answerers(rng, ((31, 5),))[0]
    pads = pads_of(2)
    with pytest.raises(ParameterError, match="do not fit each other"):
        sides.secret.open_total([one.answer(sides, pads[0]), other.answer(sides, pads[1])])
    with pytest.raises(ParameterError, match="opened in total"):
        sides.secret.open_total([])


def test_sums_without_another_who_answers_are_refused(sides, rng):
    with pytest.raises(PrivacyError, match="no pad to hide"):
        answerers(rng)[0].answer(sides, Pads((), ()))


def test_the_key_of_a_pad_has_32_bytes(sides, rng):
    with pytest.raises(PrivacyError, match="31 bytes instead of 32"):
        answerers(rng)[0].answer(sides, Pads((bytes(31),), ()))


@pytest.mark.parametrize("link", [None, 100.0])
@pytest.mark.parametrize("together", [10, 1000, 200_000])
def test_all_who_answer_pack_alike_whatever_rows_they_have(together, link):
    plan = RowsPlan(
        rows=1, bounds=(128, 128), groups=400, columns=13, nodes=8, run_sums=10**7, by_holder=True, together=together
    )
    sizes = sorted({1, 3, together // 3 or 1, together})
    found = {n: rows_layout(replace(plan, rows=n, most_rows=0), link, by_public_key=False) for n in sizes}
    assert len({layout.packing for layout in found.values()}) == 1
    assert all(isinstance(layout, RowsLayout) and layout.modulus == 1 << layout.bits for layout in found.values())


def test_where_one_with_all_rows_has_no_room_those_with_some_rows_may():
    plan = RowsPlan(
        rows=150_000, bounds=(128, 128), groups=400, columns=13, nodes=8, run_sums=10**8, by_holder=True,
        together=5_000_000,
    )  # fmt: skip
    assert rows_layout(plan, None, by_public_key=False).lanes == 2
    with pytest.raises(PrivacyError, match="no room for a flood"):
        rows_layout(replace(plan, rows=5_000_000), None, by_public_key=False)


@given(st.integers(0, 2000), st.integers(0, 4), st.integers(0, 4), st.randoms(use_true_random=False))
def test_words_of_pads_are_those_of_the_specification(n, added, taken, random):
    if not added + taken:
        return
    keys = [random.randbytes(32) for _ in range(added + taken)]
    total = np.zeros(n, np.uint64)
    for i, key in enumerate(keys):
        stream = Cipher(ChaCha20(key, bytes(16)), mode=None).encryptor().update(bytes(8 * n))
        total += np.frombuffer(stream, "<u8") * np.uint64(1 if i < added else 2**64 - 1)
    found = Pads(tuple(keys[:added]), tuple(keys[added:])).wide_words(n)
    np.testing.assert_array_equal(found.view(np.uint64), total)
