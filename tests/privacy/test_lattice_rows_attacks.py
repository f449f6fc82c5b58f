"""What a key holder finds out about choices in rows: all from a sabotaged answer, no more than by guessing from ours.

The key holder knows its secret, its errors and every number it sealed. The sabotaged answers are the twin's, made in
whole numbers; ours are the native ones. Sums by slot in coefficients are such sums, a row's entries being the rows.
"""

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.privacy import lattice_twin as twin
from tests.privacy.lattice_attack import COIN, RING, TRIALS, Ints, KnownRows, better_fit, product

from hedgerow import _native
from hedgerow.errors import CipherError
from hedgerow.privacy.lattice import coefficients
from hedgerow.privacy.lattice.bounds import DROPPED, PRIMES
from hedgerow.privacy.lattice.cipher import Lattice
from hedgerow.privacy.lattice.coefficients import CoefficientSlots
from hedgerow.privacy.lattice.slots_choice import as_rows
from hedgerow.privacy.shapes import Nodes, RowsPlan, Selection, SlotsPlan

RNG = np.random.default_rng(5)

ROWS_PLAN = RowsPlan(rows=64, bounds=(1000,), groups=64, columns=1, run_sums=64 * TRIALS, parts=2)
ROWS = RNG.integers(-1000, 1001, (64, 1))


class GroupedRows(KnownRows):
    """Rows that are put into groups."""

    def selection(self, codes: NDArray[np.uint8]) -> twin.Poly:
        """Row j of group g at X^(g step + j)."""
        poly = [0] * 4096
        for j, code in enumerate(codes[: self.layout.step]):
            place = int(code) * self.layout.step + j
            if place < 4096:
                poly[place] = 1
        return poly


@pytest.fixture(scope="module")
def known() -> GroupedRows:
    rows = GroupedRows(ROWS, ROWS_PLAN)
    assert max(map(abs, rows.errors)) <= 42
    return rows


def own_codes() -> NDArray[np.uint8]:
    return RNG.integers(0, 64, 64).astype(np.uint8)


def returned(known: GroupedRows, codes: NDArray[np.uint8]) -> tuple[NDArray[np.uint32], NDArray[np.float64]]:
    """What the key holder gets back: c1 of a return (primes x 4096), and the noise of its wanted coefficients."""
    nodes, step = Nodes.in_order(np.array([64])), known.layout.step
    sums = known.key.public.group_sums(known.sealed, Selection(codes[None], np.array([64])), nodes)
    assert known.layout.merges == 0
    assert np.array_equal(known.key.open_sums(sums).reshape(-1), true_sums(codes))
    wanted = min(64, 4096 // step)
    returns = 64 // wanted
    payload = sums.encode()[-returns * (2 * 13824 + 2 * 27 * -(-wanted // 8)) :]
    words = twin.unpacked(payload[: 2 * 13824]).reshape(2, 4096)
    few = twin.unpacked(payload[2 * 13824 :][: 2 * 27 * -(-wanted // 8)]).reshape(2, -1)[:, :wanted]
    ring, secret = twin.Ring(4096, PRIMES[:2]), np.array(known.secret)
    rows = zip(words.astype(np.int64), few, ring.primes, strict=True)
    phase = np.array([(c0 + product(c1, secret)[::step][:wanted]) % p for c1, c0, p in rows], dtype=np.uint32)
    numbers = zip(twin.from_residues(phase, ring), true_sums(codes), strict=False)
    scale = known.layout.scale / DROPPED
    return words, np.array([twin.centred(x, ring.modulus) - int(m) * scale for x, m in numbers])


def true_sums(codes: NDArray[np.uint8]) -> Ints:
    return np.array([ROWS[codes == g].sum() for g in range(64)])


def test_division_gives_the_rows_groups_from_a_bare_product_and_nothing_from_ours(known: GroupedRows) -> None:
    codes, p = own_codes(), PRIMES[0]
    selection = known.selection(codes)
    over = twin.values_at_roots([x % p for x in known.pair.c1], p)
    inverse = np.array([pow(int(x), -1, p) for x in over])
    bare = twin.values_at_roots([x % p for x in twin.times(known.pair, selection).c1], p)
    assert twin.from_values(bare * inverse % p, p) == selection
    words, _ = returned(known, codes)
    found = np.array(twin.from_values(twin.values_at_roots([int(x) for x in words[0]], p) * inverse % p, p))
    assert (found <= 1).sum() <= 2


def test_the_noise_of_a_bare_sum_names_its_rows_and_ours_as_a_coin_does(known: GroupedRows) -> None:
    candidates = [own_codes(), own_codes()]
    step = known.layout.step
    moved = [twin.product(known.errors, known.selection(c), RING)[::step] for c in candidates]
    moved = [[twin.centred(x, RING.modulus) for x in m] for m in moved]
    bare = twin.phase(twin.times(known.pair, known.selection(candidates[1])), known.secret)[::step]
    true = [
        known.layout.scale * int(ROWS[: known.layout.step][candidates[1][: known.layout.step] == g].sum())
        for g in range(len(bare))
    ]
    noise = [twin.centred(x - m, RING.modulus) for x, m in zip(bare, true, strict=True)]
    assert noise == moved[1]
    assert noise != moved[0]
    truths = RNG.integers(0, 2, TRIALS).tolist()
    narrow = [[x + int(f) for x, f in zip(moved[t], RNG.integers(-20, 21, len(bare)), strict=True)] for t in truths]
    assert sum(better_fit(n, moved) == t for n, t in zip(narrow, truths, strict=True)) > 0.9 * TRIALS
    right = 0
    for truth in truths:
        _, left = returned(known, candidates[truth])
        whole = [round(x * DROPPED) for x in left]
        right += better_fit(whole, [m[: len(whole)] for m in moved]) == truth
    assert COIN[0] <= right <= COIN[1]


def test_two_returns_of_the_same_sums_cannot_be_linked(known: GroupedRows) -> None:
    codes = own_codes()
    (one, first), (two, second) = returned(known, codes), returned(known, codes)
    assert (one == two).sum() <= 1
    for a, b in zip(one.astype(np.int64), two.astype(np.int64), strict=True):
        assert abs(np.corrcoef(a, b)[0, 1]) < 5 / np.sqrt(4096)
    assert not np.any(first == second)


def test_the_random_half_of_the_rows_key_comes_from_its_seed() -> None:
    keys = [Lattice().new_key(1) for _ in range(2)]
    halves = [key.public.encode()[39 : 39 + 4 * 13824] for key in keys]
    seed = bytes(range(32))
    mine, theirs = (_native.lattice_read_public(half, seed) for half in halves)
    assert mine is not None
    assert theirs is not None
    mine, theirs = mine.reshape(4, 2, 4096), theirs.reshape(4, 2, 4096)
    assert np.array_equal(mine[:, 1], theirs[:, 1])
    assert (mine[:, 0] == theirs[:, 0]).sum() <= 2
    data = keys[0].public.encode()
    with pytest.raises(CipherError, match="public key"):
        Lattice().read_public_key(data[: 39 + 4 * 13824] + data[39:], 1)


# Sums by slot in coefficients: 8 rows of 512 entries, one ciphertext, a return for each row.

SLOTS_PLAN = SlotsPlan(rows=8, entries=512, bound=1000, run_sums=8 * TRIALS, parts=2, sums_only=True)
ENTRIES = RNG.integers(-1000, 1001, (8, 512))
RETURN_BYTES = 2 * 13824 + 2 * 27


@pytest.fixture(scope="module")
def known_entries() -> KnownRows:
    known = KnownRows(ENTRIES.reshape(-1, 1), as_rows(SLOTS_PLAN))
    assert (known.layout.step, known.layout.merges) == (4096, 0)
    assert max(map(abs, known.errors)) <= 42
    return known


def row_poly(choice: NDArray[np.bool_], row: int) -> twin.Poly:
    """A row's own choice, where its entries lie."""
    poly = np.zeros((8, 512), np.int64)
    poly[row] = choice[row]
    return [int(x) for x in poly.reshape(-1)]


def own_row_choices() -> NDArray[np.bool_]:
    return RNG.random((8, 512)) < 0.5


def returned_sums(known: KnownRows, choice: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """What the key holder gets back: rows x primes x 4096 of c1, and the noise of each row's one coefficient of c0."""
    sealed = CoefficientSlots(SLOTS_PLAN, known.sealed)
    sums = coefficients.slot_sums(known.key.public, sealed, choice, None)
    wanted = (ENTRIES * choice).sum(axis=1)
    assert np.array_equal(coefficients.open_slots(known.key, sums)[:, 0], wanted)
    words, noise, secret = [], [], np.array(known.secret)
    ring, scale = twin.Ring(4096, PRIMES[:2]), known.layout.scale // DROPPED
    payload = sums.encode()[-8 * RETURN_BYTES :]
    for row in range(8):
        now = payload[row * RETURN_BYTES :][:RETURN_BYTES]
        c1 = twin.unpacked(now[: 2 * 13824]).reshape(2, 4096).astype(np.int64)
        c0 = twin.unpacked(now[2 * 13824 :]).reshape(2, 8)[:, 0]
        seen = [[(int(c) + int(product(x, secret)[0])) % p] for c, x, p in zip(c0, c1, ring.primes, strict=True)]
        (phase,) = twin.from_residues(np.array(seen, dtype=np.uint32), ring)
        words.append(c1)
        noise.append((twin.centred(phase, ring.modulus) - int(wanted[row]) * scale) * DROPPED)
    return np.array(words), np.array(noise, dtype=object)


def moved_by(known: KnownRows, choice: NDArray[np.bool_]) -> list[int]:
    """What a choice moves in the noise of each row's sum: the errors of its entries, at coefficient 0."""
    errors, n = np.array(known.errors), 4096
    # Entry j stands at X^-j, which is -X^(n - j).
    by_entry = np.where(np.arange(n) == 0, 1, -1) * errors[-np.arange(n) % n]
    return [int(x) for x in (by_entry.reshape(8, 512) * choice).sum(axis=1)]


def test_division_gives_a_rows_choices_from_a_bare_product_and_nothing_from_ours(known_entries: KnownRows) -> None:
    choice, p = own_row_choices(), PRIMES[0]
    a = twin.values_at_roots([x % p for x in known_entries.pair.c1], p)
    inverse = np.array([pow(int(x), -1, p) for x in a])
    selection = row_poly(choice, 3)
    bare = twin.values_at_roots([x % p for x in twin.times(known_entries.pair, selection).c1], p)
    assert twin.from_values(bare * inverse % p, p) == selection
    words, _ = returned_sums(known_entries, choice)
    found = np.array(twin.from_values(twin.values_at_roots(words[3, 0].tolist(), p) * inverse % p, p))
    assert (found <= 1).sum() <= 2


def test_the_noise_of_a_bare_score_names_its_entries_and_ours_as_a_coin_does(known_entries: KnownRows) -> None:
    candidates = [own_row_choices(), own_row_choices()]
    moved = [moved_by(known_entries, c) for c in candidates]
    for row in range(2):
        bare = twin.times(known_entries.pair, row_poly(candidates[1], row))
        message = known_entries.layout.scale * int((ENTRIES * candidates[1])[row].sum())
        noise = twin.centred(twin.phase(bare, known_entries.secret)[0] - message, RING.modulus)
        assert noise == moved[1][row]
    assert moved[0] != moved[1]
    truths = RNG.integers(0, 2, TRIALS).tolist()
    narrow = [[x + int(f) for x, f in zip(moved[t], RNG.integers(-20, 21, 8), strict=True)] for t in truths]
    assert sum(better_fit(n, moved) == t for n, t in zip(narrow, truths, strict=True)) > 0.9 * TRIALS
    noises = [returned_sums(known_entries, candidates[truth])[1] for truth in truths]
    right = sum(better_fit([int(x) for x in n], moved) == truth for n, truth in zip(noises, truths, strict=True))
    assert COIN[0] <= right <= COIN[1]
    # What is left in ours is the flood, as wide as the layout says.
    spread = np.concatenate(noises).astype(float).std()
    assert spread == pytest.approx(2.0**known_entries.layout.flood_bits / 2, rel=0.15)


def test_two_returns_of_the_same_scores_cannot_be_linked_and_hold_one_coefficient_a_row(
    known_entries: KnownRows,
) -> None:
    choice = own_row_choices()
    (one, first), (two, second) = returned_sums(known_entries, choice), returned_sums(known_entries, choice)
    # 65 536 words of 27 bits: equal by chance in 5 of 10 000 pairs.
    assert (one == two).sum() <= 2
    for a, b in zip(one[:, 0], two[:, 0], strict=True):
        assert abs(np.corrcoef(a, b)[0, 1]) < 5 / np.sqrt(4096)
    assert not np.any(first == second)
