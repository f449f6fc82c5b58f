"""Words that many seal for one: their sum is exact, and all that can be opened follows from the sum alone."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from hedgerow.agreement.options import Horizontal
from hedgerow.agreement.plan import Goal, Member, Plan
from hedgerow.corridor import messages as m
from hedgerow.errors import CipherError, ParameterError
from hedgerow.privacy.lattice.cipher import Lattice
from hedgerow.privacy.lattice.slots_bounds import slots_layout
from hedgerow.privacy.paillier.cipher import Paillier
from hedgerow.privacy.shapes import SlotsPlan
from hedgerow.protocols.opener.packing import SealedVector, word_bits
from hedgerow.trees.fixedpoint import MOST_ROWS, WIDE_BITS
from hedgerow.trees.params import TreeParams
from opener_view import LimbedVector, opener_view

WHO = tuple(Member(f"party{i}", f"party{i}") for i in range(5))
LATTICE = Plan("a test", WHO, Goal(), TreeParams(), Horizontal(Lattice(), opener="party1"))
PAILLIER = replace(LATTICE, method=Horizontal(Paillier(2048), opener="party1"))
PLANS = {"lattice": (LATTICE, Lattice()), "paillier": (PAILLIER, Paillier(2048))}


def named(sealed):
    return {f"party{i}": part for i, part in enumerate(sealed)}


@pytest.fixture(scope="module", params=PLANS)
def sides(request):
    plan, cipher = PLANS[request.param]
    secret = cipher.new_key(1)
    return plan, secret, cipher.read_public_key(secret.public.encode(), 1)


@pytest.mark.parametrize("bits", [33, 52, 63])
@pytest.mark.parametrize("n_words", [1, 7, 3000])
def test_sums_are_exact_up_to_the_largest_word(sides, bits, n_words):
    plan, secret, public = sides
    n_words = n_words if plan.method.protection == "lattice" else min(n_words, 100)
    vector = SealedVector(plan, n_words, bits)
    most = 2 ** (bits - 1) // 5
    parts = np.random.default_rng(bits).integers(-most, most, (5, n_words), endpoint=True)
    parts[:, 0] = most
    parts[:4, -1] = -most
    sealed = [vector.seal(public, part) for part in parts]
    np.testing.assert_array_equal(vector.open(secret, vector.total(public, named(sealed))), parts.sum(axis=0))
    assert {len(part) for part in sealed} <= set(range(vector.most_bytes() - 4096, vector.most_bytes()))
    assert len(vector.total(public, named(sealed))) < vector.most_bytes(added=True)


def test_one_party_may_have_all_of_the_largest_total(sides):
    plan, secret, public = sides
    vector, most = SealedVector(plan, 2, 63), 2**62
    parts = [np.array([most, -most]), np.array([0, 0]), np.array([-most, most]), np.array([most, -most])]
    total = vector.total(public, named([vector.seal(public, part) for part in parts]))
    np.testing.assert_array_equal(vector.open(secret, total), [most, -most])


def split(rng, totals, n_parties=5):
    """Random parts of these totals, some larger than them and of the other sign."""
    parts = rng.integers(-abs(totals) - 9, abs(totals) + 9, (n_parties - 1, len(totals)), endpoint=True) // 2
    return [*parts, totals - parts.sum(axis=0)]


def views(vector, secret, public, totals, n=3):
    """What the opener can decrypt of the same totals, split in several ways."""
    rng = np.random.default_rng(11)
    sums = []
    for _ in range(n):
        sealed = [vector.seal(public, part) for part in split(rng, totals)]
        sums.append(vector.total(public, named(sealed)))
        np.testing.assert_array_equal(vector.open(secret, sums[-1]), totals)
    return [opener_view(vector, secret, total) for total in sums]


def totals_of(bits):
    rng = np.random.default_rng(bits)
    return np.concatenate([[0, 1, -1, 2 ** (bits - 4)], rng.integers(-(2 ** (bits - 4)), 2 ** (bits - 4), 20)])


@pytest.mark.parametrize("bits", [33, 52, 63])
def test_all_that_the_opener_can_decrypt_follows_from_the_totals(sides, bits):
    plan, secret, public = sides
    first, *others = views(SealedVector(plan, 24, bits), secret, public, totals_of(bits))
    assert len(set(first)) > 20 or plan.method.protection == "paillier"
    assert all(other == first for other in others)


@pytest.mark.parametrize("bits", [33, 52, 63])
def test_words_in_limbs_would_show_the_opener_more_than_totals(sides, bits):
    """The sabotage: carries between limbs depend on how totals are split."""
    plan, secret, public = sides
    first, *others = views(LimbedVector(plan, 24, bits), secret, public, totals_of(bits))
    assert all(other != first for other in others)


def test_a_sum_of_fewer_parties_and_one_party_alone_open_too(sides):
    plan, secret, public = sides
    vector, words = SealedVector(plan, 3, 33), np.array([5, -7, 2**31])
    np.testing.assert_array_equal(vector.open(secret, vector.total(public, named([vector.seal(public, words)]))), words)


def test_more_parts_than_there_are_parties_are_refused(sides):
    plan, _, public = sides
    vector = SealedVector(plan, 1, 33)
    part = vector.seal(public, np.array([1]))
    with pytest.raises(CipherError, match=r"^Party 'party5' .* plan"):
        vector.total(public, named([part] * 6))


def test_every_sum_that_can_be_asked_for_has_room():
    """The greatest number of rows, each with the largest count, narrow or wide integer: no sum wraps."""
    assert 2 ** (word_bits(LATTICE, m.AskCounts) - 1) > MOST_ROWS
    bits = LATTICE.params.gradient_bits
    assert 2 ** (word_bits(LATTICE, m.AskHistograms) - 1) > MOST_ROWS * 2 ** (bits - 1)
    wide = replace(LATTICE, params=TreeParams(gradient_bits=31))
    assert word_bits(wide, m.AskHistograms) <= 63
    for kind in (m.AskMoments, m.AskLeafSums, m.FinishRound):
        assert 2**62 >= 2 ** (word_bits(LATTICE, kind) - 1) > MOST_ROWS * 2**WIDE_BITS


def test_words_beyond_what_was_agreed_are_not_sealed(sides):
    plan, _, public = sides
    with pytest.raises(ParameterError, match="larger than the plan's bound; nothing was sealed"):
        SealedVector(plan, 1, 33).seal(public, np.array([2**60]))


def test_the_lattices_sum_leaves_with_a_flood_for_any_run_and_under_a_smaller_modulus():
    for n, bits in product((2, 5, 1000), (33, 52, 63)):
        who = tuple(Member(str(i), str(i)) for i in range(n))
        plan = replace(LATTICE, members=who, method=Horizontal(Lattice(), opener="0", allow_two=True))
        slots = SealedVector(plan, 10_000, bits).slots
        layout = slots_layout(slots, by_public_key=True)
        assert layout.distance < 2**-40
        assert slots.run_sums >= 2**40
        assert layout.primes[1] < layout.primes[0]
        assert slots.rows % 8192 == 0


def test_the_same_parts_give_another_sum_every_time():
    """What the sum carries beside its value is drawn by whoever adds, not what the parties' sealing left in it."""
    secret = Lattice().new_key(1)
    vector = SealedVector(LATTICE, 4, 33)
    part = vector.seal(secret.public, np.arange(4))
    one, other = (vector.total(secret.public, named([part])) for _ in range(2))
    assert one != other
    assert (vector.open(secret, one) == vector.open(secret, other)).all()


def test_a_lattice_sum_without_its_flood_is_refused_where_a_flood_is_planned():
    """The sabotage: parts that are only added up are not what the opener reads."""
    secret = Lattice().new_key(1)
    vector = SealedVector(LATTICE, 4, 33)
    bare = vector.seal(secret.public, np.arange(4))
    with pytest.raises(Exception, match="choices that were agreed on"):
        vector.open(secret, bare)


def test_the_lattice_has_no_plan_without_a_choice():
    with pytest.raises(ParameterError, match="makes no choice"):
        Lattice().ensure_slots(SlotsPlan(rows=4, entries=1, bound=3, choices=0))


def test_a_part_that_cannot_be_added_names_its_party(sides):
    plan, _, public = sides
    vector = SealedVector(plan, 5, 33)
    part = vector.seal(public, np.arange(5))
    for bad in (b"", part[:-1], part + b"0", bytes(len(part))):
        with pytest.raises(CipherError, match=r"^Party 'party1' answered what cannot be used\."):
            vector.total(public, named([part, bad, part]))
