"""The native lattice kernels against big integers: one opens what the other sealed, and results agree word for word."""

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.privacy import lattice_twin as twin

from hedgerow import _native
from hedgerow.privacy.lattice import bounds
from hedgerow.privacy.lattice.cipher import Lattice, LatticeSecretKey
from hedgerow.privacy.lattice.layout import RowsLayout
from hedgerow.privacy.lattice.rows import LatticeSums
from hedgerow.privacy.lattice.slots import LatticeSlots, SlotsSecretKey
from hedgerow.privacy.lattice.slots_bounds import slots_layout
from hedgerow.privacy.lattice.slots_wire import SealedTable
from hedgerow.privacy.shapes import Nodes, RowsPlan, Selection, SlotsPlan

RNG = np.random.default_rng(20)


def test_both_have_the_same_primes() -> None:
    wide, narrow = twin.largest_primes(6, 27), twin.largest_primes(2, 26)
    assert (*wide[:2], *narrow, *wide[2:]) == bounds.PRIMES


# Slots: n = 8192.


@pytest.fixture(scope="module")
def slots_key() -> SlotsSecretKey:
    return SlotsSecretKey(2)


PLAN = SlotsPlan(rows=2000, entries=6, bound=2**20, run_sums=2000)
VALUES = RNG.integers(-PLAN.bound, PLAN.bound + 1, (PLAN.rows, PLAN.entries))
OWN_CHOICE = RNG.random((PLAN.rows, PLAN.entries)) < 0.5
LAYOUT = slots_layout(PLAN)
T = LAYOUT.moduli[0]


def slots_secret(key: SlotsSecretKey) -> twin.Poly:
    return [int(x) for x in key._own_secret]


def pair_of(sealed: LatticeSlots, number: int) -> twin.Pair:
    ring = twin.Ring(8192, bounds.PRIMES[: sealed._head.primes])
    halves = [_native.slots_coefficients(sealed._table(), sealed._slots(), number, half) for half in (0, 1)]
    c0, c1 = (twin.from_residues(half, ring) for half in halves)
    return twin.Pair(c0, c1, ring)


def slots_poly(table: NDArray[np.int64], number: int) -> twin.Poly:
    """The plaintext of one ciphertext: its entries' lanes side by side, as a polynomial modulo t nearest to zero."""
    slots = np.zeros(8192, np.int64)
    for lane in range(LAYOUT.lanes):
        entry = number * LAYOUT.lanes + lane
        if entry < PLAN.entries:
            slots[lane * LAYOUT.block_rows :][: PLAN.rows] = table[:, entry]
    return [twin.centred(x, T) for x in twin.from_values(slots % T, T)]


def slots_table(poly: twin.Poly) -> NDArray[np.int64]:
    """Lanes x rows of an opened plaintext."""
    values = twin.values_at_roots(poly, T)
    values = np.where(values > T // 2, values - T, values)
    return values[: LAYOUT.lanes * LAYOUT.block_rows].reshape(LAYOUT.lanes, -1)[:, : PLAN.rows]


def test_a_slot_key_is_an_error_away_from_its_random_half_times_the_secret(slots_key: SlotsSecretKey) -> None:
    ring = twin.Ring(8192, bounds.PRIMES)
    halves = _native.slots_key_coefficients(slots_key.public._half, slots_key.public._seed)
    b, a = twin.from_residues(halves[0::2], ring), twin.from_residues(halves[1::2], ring)
    error = np.array(twin.phase(twin.Pair(b, a, ring), slots_secret(slots_key)), dtype=np.int64)
    assert np.abs(error).max() <= 21
    assert 9.5 < error.var() < 11.5
    assert np.all(np.abs(slots_secret(slots_key)) <= 1)


def test_a_sealed_slot_table_is_the_scaled_message_and_an_error(slots_key: SlotsSecretKey) -> None:
    pair = pair_of(slots_key.seal_slots(VALUES, PLAN), 1)
    message = slots_poly(VALUES, 1)
    scaled = twin.scaled(message, T, pair.ring)
    error = np.array([x - y for x, y in zip(twin.phase(pair, slots_secret(slots_key)), scaled, strict=True)])
    q = pair.ring.modulus
    error = np.array([twin.centred(int(x), q) for x in error], dtype=np.int64)
    # Messages are rounded up or down at random: one more than the error.
    assert np.abs(error).max() <= 22
    assert 9.7 < error.var() < 11.8
    opened = slots_table(twin.opened(pair, T, slots_secret(slots_key)))
    entries = VALUES[:, LAYOUT.lanes :].T
    assert np.array_equal(opened[: len(entries)], entries)
    assert not opened[len(entries) :].any()


def test_slots_that_the_twin_sealed_open(slots_key: SlotsSecretKey) -> None:
    ring = twin.Ring(8192, bounds.PRIMES[:5])
    data = b""
    for number in range(LAYOUT.ciphertexts):
        random = (twin.uniform(RNG, ring), twin.error(RNG, 8192), ring)
        pair = twin.seal(slots_poly(VALUES, number), T, slots_secret(slots_key), *random)
        data += twin.packed(twin.residues(pair.c0, ring)) + twin.packed(twin.residues(pair.c1, ring))
    sealed = slots_key.seal_slots(VALUES, PLAN)
    table = SealedTable(data, 0, 5, None, transformed=False)
    assert np.array_equal(_native.slots_open(table, sealed._slots(), False, slots_key._own_secret, 2), VALUES)


def test_slots_that_the_twin_answered_open(slots_key: SlotsSecretKey) -> None:
    sealed = slots_key.seal_slots(VALUES, PLAN)
    halves = _native.slots_key_coefficients(slots_key.public._half, slots_key.public._seed)
    ring = twin.Ring(8192, bounds.PRIMES[: LAYOUT.primes[0]])
    public = twin.Pair(*(twin.from_residues(halves[half : 2 * len(ring.primes) : 2], ring) for half in (0, 1)), ring)
    random = twin.ternary(RNG, 8192), twin.error(RNG, 8192), twin.error(RNG, 8192)
    answer = twin.times(pair_of(sealed, 0), slots_poly(OWN_CHOICE.astype(np.int64), 0))
    answer = twin.plus(answer, twin.encryption_of_zero(public, *random))
    answer = twin.plus_poly(answer, twin.smooth_flood(RNG, 8192, LAYOUT.flood("", "F")))
    while len(answer.ring.primes) > LAYOUT.primes[1]:
        answer = twin.switched_down(answer)
    data = b"".join(twin.packed(twin.residues(half, answer.ring)) for half in (answer.c0, answer.c1))
    rest = slots_key.public.filtered(sealed, OWN_CHOICE).encode()[-len(data) * (LAYOUT.ciphertexts - 1) :]
    table = SealedTable(data + rest, 0, LAYOUT.primes[1], None, transformed=False)
    opened = _native.slots_open(table, sealed._slots(), False, slots_key._own_secret, 2)
    assert np.array_equal(opened, VALUES * OWN_CHOICE)


def test_an_answer_opens_with_the_twin_and_its_noise_is_the_flood(slots_key: SlotsSecretKey) -> None:
    answer = slots_key.public.filtered(slots_key.seal_slots(VALUES, PLAN), OWN_CHOICE)
    pair = pair_of(answer, 0)
    opened = slots_table(twin.opened(pair, T, slots_secret(slots_key)))
    assert np.array_equal(opened, (VALUES * OWN_CHOICE)[:, : LAYOUT.lanes].T)
    dropped = np.prod([float(p) for p in bounds.PRIMES[LAYOUT.primes[1] : LAYOUT.primes[0]]])
    noise = np.array([float(x) for x in twin.noise(pair, T, slots_secret(slots_key))]) * dropped
    assert noise.std() == pytest.approx(2.0 ** LAYOUT.flood("", "F") / 2, rel=0.05)


# Rows: n = 4096, four primes, plaintexts of 42 bits.

RING = twin.Ring(4096, bounds.PRIMES[:4])
GROUPS = 16
ROWS_PLAN = RowsPlan(rows=4096, bounds=(2**28,), groups=GROUPS, columns=1, run_sums=GROUPS, parts=2)
ROWS = RNG.integers(-(2**28), 2**28 + 1, (4096, 1))
CODES = RNG.integers(0, GROUPS + 2, (1, 4096)).astype(np.uint8)
WANTED = [int(ROWS[CODES[0] == g].sum()) for g in range(GROUPS)]


@pytest.fixture(scope="module")
def key() -> LatticeSecretKey:
    return Lattice().new_key(2)


@pytest.fixture(scope="module")
def secret(key: LatticeSecretKey) -> twin.Poly:
    return secret_of(key)


def secret_of(key: LatticeSecretKey) -> twin.Poly:
    words = key._own_secret.reshape(4, 2, 4096)[:1, 0]
    p = RING.primes[0]
    return [twin.centred(x, p) for x in twin.restored(words, twin.Ring(4096, (p,)))]


def rows_poly(first: int, step: int) -> twin.Poly:
    """Row j of a block at X^-j, which is -X^(n - j)."""
    poly = [0] * 4096
    for j in range(step):
        poly[-j % 4096] = int(ROWS[first + j, 0]) * (1 if j == 0 else -1)
    return poly


def sums_of(key: LatticeSecretKey) -> LatticeSums:
    nodes = Nodes.in_order(np.array([4096]))
    return key.public.group_sums(key.seal_rows(ROWS, ROWS_PLAN), Selection(CODES, np.array([GROUPS])), nodes)


def chunks_of(step: int) -> list[range]:
    """The groups of each return: as many as steps fit a polynomial."""
    return [range(g, min(g + 4096 // step, GROUPS)) for g in range(0, GROUPS, 4096 // step)]


def returned_bytes(groups: range) -> int:
    """Of a return: c1 modulo two primes, then the wanted coefficients of c0, in eights."""
    return 2 * 13824 + 2 * 27 * -(-len(groups) // 8)


def test_sealed_rows_are_the_scaled_rows_and_an_error(key: LatticeSecretKey, secret: twin.Poly) -> None:
    rows = key.seal_rows(ROWS, ROWS_PLAN)
    assert rows.layout.bits >= 42
    # A sum of sealed things has both halves in its wire form, and the errors of both.
    data = (rows + key.seal_rows(np.zeros_like(ROWS), ROWS_PLAN)).encode()
    blocks = 4096 // rows.layout.step
    words = twin.unpacked(data[-blocks * 8 * 13824 :][: 8 * 13824]).reshape(2, 4, 4096)
    pair = twin.Pair(twin.restored(words[0], RING), twin.restored(words[1], RING), RING)
    scaled = [rows.layout.scale * m for m in rows_poly(0, rows.layout.step)]
    phase = zip(twin.phase(pair, secret), scaled, strict=True)
    error = np.array([twin.centred(x - y, RING.modulus) for x, y in phase], dtype=np.int64)
    assert np.abs(error).max() <= 42
    assert 18.5 < error.var() < 23.5


def twin_return(groups: range, layout: RowsLayout, secret: twin.Poly) -> bytes:
    """One return in its wire form: products with all blocks, an encryption of zero, a flood, two primes dropped."""
    total = twin.Pair([0] * 4096, [0] * 4096, RING)
    for first in range(0, 4096, layout.step):
        zero = twin.public_key(secret, twin.uniform(RNG, RING), twin.error(RNG, 4096), RING)
        selection = [0] * 4096
        for j, code in enumerate(CODES[0, first : first + layout.step]):
            if code in groups:
                selection[(int(code) - groups[0]) * layout.step + j] = 1
        rows = twin.plus_poly(zero, [layout.scale * m for m in rows_poly(first, layout.step)])
        total = twin.plus(total, twin.times(rows, selection))
    public = twin.public_key(secret, twin.uniform(RNG, RING), twin.error(RNG, 4096), RING)
    zero = twin.encryption_of_zero(public, twin.ternary(RNG, 4096), twin.error(RNG, 4096), twin.error(RNG, 4096))
    total = twin.plus_poly(twin.plus(total, zero), twin.smooth_flood(RNG, 4096, layout.flood_bits))
    total = twin.switched_down(twin.switched_down(total))
    wanted = np.zeros((2, -(-len(groups) // 8) * 8), np.uint32)
    few = [total.c0[i * layout.step] for i in range(len(groups))]
    wanted[:, : len(groups)] = twin.residues(few, total.ring)
    return twin.packed(twin.residues(total.c1, total.ring)) + twin.packed(wanted)


def test_returns_that_the_twin_made_open(key: LatticeSecretKey, secret: twin.Poly) -> None:
    sums = sums_of(key)
    chunks = chunks_of(sums.layout.step)
    head = sums.encode()[: -sum(map(returned_bytes, chunks))]
    data = head + b"".join(twin_return(groups, sums.layout, secret) for groups in chunks)
    opened = key.open_sums(key.public.read_sums(data, ROWS_PLAN, GROUPS))
    assert [int(x) for x in opened.reshape(-1)] == WANTED


def test_returned_sums_open_with_the_twin(key: LatticeSecretKey, secret: twin.Poly) -> None:
    sums = sums_of(key)
    ring = twin.Ring(4096, bounds.PRIMES[:2])
    chunks = chunks_of(sums.layout.step)
    data = sums.encode()[-sum(map(returned_bytes, chunks)) :]
    opened = []
    for groups in chunks:
        now, data = data[: returned_bytes(groups)], data[returned_bytes(groups) :]
        c1 = twin.unpacked(now[: 2 * 13824]).reshape(2, 4096)
        c0 = twin.from_residues(twin.unpacked(now[2 * 13824 :]).reshape(2, -1), ring)
        product = twin.product(twin.from_residues(c1, ring), secret, ring)
        phases = [twin.centred(c0[i] + product[i * sums.layout.step], ring.modulus) for i in range(len(groups))]
        opened += [twin.rounded(x * bounds.DROPPED, sums.layout.scale) for x in phases]
    assert opened == WANTED


def test_switching_keys_hold_the_turned_secret_times_the_last_prime_one_digit_for_each_other() -> None:
    key = Lattice(link_mbit=100).new_key(2)
    secret, q = secret_of(key), RING.modulus
    rows = key.public._rows
    step = rows.steps[0]
    switch = rows.switch.reshape(len(rows.steps), 4, 3, 2, 4096)[0]
    turned = twin.turned(secret, 1 + 2 * 4096 // step)
    for digit in (0, 2):
        pair = twin.Pair(*(twin.restored(switch[:, digit, half], RING) for half in (0, 1)), RING)
        rest = q // RING.primes[digit] // RING.primes[3]
        weight = rest * pow(rest, -1, RING.primes[digit]) * RING.primes[3]
        held = [twin.centred(x - weight * y, q) for x, y in zip(twin.phase(pair, secret), turned, strict=True)]
        assert max(map(abs, held)) <= 21


def test_the_twin_merges_two_returns_by_a_key_switch() -> None:
    t, step, digits = 2**30, 1024, 8
    secret = twin.ternary(RNG, 4096)
    key = twin.switching_key(
        secret,
        1 + 2 * 4096 // step,
        14,
        [twin.uniform(RNG, RING) for _ in range(digits)],
        [twin.error(RNG, 4096) for _ in range(digits)],
        RING,
    )
    messages = [[int(x) for x in RNG.integers(-(2**20), 2**20, 4096)] for _ in range(2)]
    pairs = [twin.seal(m, t, secret, twin.uniform(RNG, RING), twin.error(RNG, 4096), RING) for m in messages]
    opened = twin.opened(twin.merged(pairs[0], pairs[1], step, 14, key), t, secret)
    assert opened[::step] == [2 * x for x in messages[0][::step]]
    assert opened[step // 2 :: step] == [2 * x for x in messages[1][::step]]


def test_what_the_most_merges_add_is_hardly_more_than_a_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise of a return of 512 results with hardly a flood: that of c1's rounding, its terms' variance 1/12."""
    key = Lattice(link_mbit=100).new_key(2)
    secret, left = secret_of(key), twin.Ring(4096, bounds.PRIMES[:2])
    plan = RowsPlan(rows=4096, bounds=(128, 128), groups=512, columns=2, positive=(False, True))
    layout = RowsLayout(4096, 9, (tuple(zip(plan.least, plan.most, strict=True)),), 6)
    monkeypatch.setattr(key.public, "layout", lambda *_, **__: layout)
    monkeypatch.setattr(RowsLayout, "ensure_hides", lambda *_: None)
    values = np.stack([RNG.choice([-128, 128], 4096), np.full(4096, 128)], axis=1)
    selection = Selection(RNG.integers(0, 256, (2, 4096)).astype(np.uint8), np.array([256, 256]))
    selection.own_codes[:, ::2] = 0
    sums = key.public.group_sums(key.seal_rows(values, plan), selection, Nodes.in_order(np.array([4096])))
    opened = key.open_sums(sums)[0]
    of_group = [(values[selection.own_codes[c] == code].sum(axis=0)) for c in (0, 1) for code in range(256)]
    np.testing.assert_array_equal(opened, of_group)

    words = twin.unpacked(sums.encode()[-returned_bytes(range(512)) :])
    c1, c0 = (twin.from_residues(x.reshape(2, -1), left) for x in np.split(words, [2 * 4096]))
    product, places = twin.product(c1, secret, left), [int(f"{group:09b}"[::-1], 2) for group in range(512)]
    lanes = opened[:, 0] + opened[:, 1] * (2 * plan.most[0] + 1)
    phases = [c0[group] + product[8 * at] for group, at in enumerate(places)]
    noise = [
        twin.centred(x * bounds.DROPPED - layout.scale * int(m), RING.modulus)
        for x, m in zip(phases, lanes, strict=True)
    ]
    assert max(map(abs, noise)) < bounds.noise_without_flood(4096, False, 9, 1024)
    deviation = np.sqrt(np.mean(np.square([x / bounds.DROPPED for x in noise])) / (sum(map(abs, secret)) / 12))
    assert 0.75 < deviation < 1.3
