"""Sums by group under the lattice cipher are the integer sums; what is malformed is refused."""

import copy
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.errors import CipherError, ParameterError, PrivacyError
from hedgerow.privacy.lattice.bounds import PRIMES
from hedgerow.privacy.lattice.cipher import Lattice, LatticePublicKey, LatticeSecretKey
from hedgerow.privacy.lattice.rows import HEADER_BYTES, SEED_BYTES
from hedgerow.privacy.shapes import Nodes, RowsPlan, Selection

LINKS = (None, 100.0)
SECRETS = {link: Lattice(link).new_key(2) for link in LINKS}
PUBLICS = {link: Lattice(link).read_public_key(key.public.encode(), 2) for link, key in SECRETS.items()}
HEADER = HEADER_BYTES


def clear_sums(values: NDArray[np.int64], selection: Selection, nodes: Nodes) -> NDArray[np.int64]:
    sums = np.zeros((len(nodes), selection.groups, values.shape[1]), np.int64)
    starts = np.concatenate([[0], np.cumsum(selection.widths)])
    for i in range(len(nodes)):
        rows = nodes.rows[nodes.starts[i] : nodes.starts[i + 1]]
        for column, width in enumerate(selection.widths):
            codes = selection.own_codes[column, rows].astype(int)
            inside = codes < width
            np.add.at(sums[i], starts[column] + codes[inside], values[rows[inside]])
    return sums


@st.composite
def problems(draw: st.DrawFn) -> tuple[RowsPlan, NDArray[np.int64], Selection, Nodes, NDArray[np.int64]]:
    rows, channels = draw(st.integers(1, 700)), draw(st.sampled_from([1, 1, 2, 2, 3, 7, 40]))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    bounds = tuple(draw(st.sampled_from([1, 60, 8191])) for _ in range(channels))
    columns = draw(st.integers(1, 6))
    widths = np.array([draw(st.sampled_from([1, 2, 5, 31, 256])) for _ in range(columns)], np.int64)
    codes = random.integers(0, np.minimum(widths + 2, 256)[:, None], (columns, rows)).astype(np.uint8)
    n_nodes = draw(st.integers(1, 5))
    ends = np.sort(random.integers(0, rows + 1, n_nodes))
    order = np.arange(rows) if draw(st.booleans()) else random.permutation(rows)
    starts = np.concatenate([[0], ends]).astype(np.int64)
    nodes = Nodes(np.ascontiguousarray(order[: starts[-1]], np.int64), starts)
    plan = RowsPlan(
        rows=rows,
        bounds=bounds,
        groups=int(widths.sum()),
        columns=draw(st.sampled_from([0, columns])),
        nodes=n_nodes,
        most_rows=draw(st.sampled_from([0, max(int(np.diff(starts).max()), 1)])),
        run_sums=100_000,
        summand=1000,
    )
    values = np.stack([random.choice([-b, 0, b, int(random.integers(-b, b + 1))], rows) for b in bounds], axis=1)
    plus = random.integers(-1000, 1001, (n_nodes, plan.groups, channels))
    return plan, values.astype(np.int64), Selection(codes, widths), nodes, plus


@settings(max_examples=60, deadline=None)
@given(problem=problems(), link=st.sampled_from(LINKS), portable=st.booleans(), by_public_key=st.booleans())
def test_opened_sums_are_the_integer_sums(
    problem: Any, link: float | None, portable: bool, by_public_key: bool
) -> None:
    plan, values, selection, nodes, plus = problem
    secret, public = SECRETS[link], PUBLICS[link]
    _native.set_portable_only(portable)
    try:
        sealed = (public if by_public_key else secret).seal_rows(values, plan)
        answered = public.group_sums(public.read_rows(sealed.encode(), plan), selection, nodes, plus)
        opened = secret.open_sums(secret.public.read_sums(answered.encode(), plan, selection.groups))
    finally:
        _native.set_portable_only(False)
    np.testing.assert_array_equal(opened, clear_sums(values, selection, nodes) + plus)


def problem(
    rows: int = 300, bounds: tuple[int, ...] = (100, 100), nodes: int = 1, **more: int
) -> tuple[RowsPlan, NDArray[np.int64], Selection, Nodes]:
    random = np.random.default_rng(rows)
    values = np.stack([random.integers(-b, b + 1, rows) for b in bounds], axis=1)
    selection = Selection(random.integers(0, 6, (3, rows)).astype(np.uint8), np.full(3, 5))
    asked = Nodes.in_order(np.full(nodes, rows // nodes))
    plan = RowsPlan(rows=rows, bounds=bounds, groups=15, columns=3, nodes=nodes, run_sums=1000, **more)
    return plan, values, selection, asked


@pytest.mark.parametrize("link", LINKS)
def test_many_blocks_of_a_node_are_added_up_at_the_bound(link: float | None) -> None:
    secret = SECRETS[link]
    rows = 60_000
    plan = RowsPlan(rows=rows, bounds=(8191, 1), groups=2, columns=1, run_sums=100)
    values = np.tile(np.array([[-8191, 1]], np.int64), (rows, 1))
    selection = Selection(np.zeros((1, rows), np.uint8), np.array([2]))
    sums = secret.public.group_sums(secret.seal_rows(values, plan), selection, Nodes.in_order(np.array([rows])))
    np.testing.assert_array_equal(secret.open_sums(sums), [[[-8191 * rows, rows], [0, 0]]])


def test_rows_and_sums_are_added_and_subtracted_as_often_as_the_plan_allows() -> None:
    plan, values, selection, nodes = problem(parts=3)
    secret, public = SECRETS[None], PUBLICS[None]
    one, two = secret.seal_rows(values, plan), public.seal_rows(values[::-1].copy(), plan)
    both = public.read_rows((one + two).encode(), plan)
    first, second = public.group_sums(both, selection, nodes), public.group_sums(one, selection, nodes)
    total = public.read_sums((first - second).encode(), plan, 15)
    np.testing.assert_array_equal(secret.open_sums(total), clear_sums(values[::-1].copy(), selection, nodes))
    difference = public.group_sums(one - two, selection, nodes)
    wanted = clear_sums(values - values[::-1], selection, nodes)
    np.testing.assert_array_equal(secret.open_sums(difference), wanted)
    with pytest.raises(ParameterError, match="allows 3 parts of a sum; these have 4"):
        first + first
    with pytest.raises(ParameterError, match="allows 3 parts of a sum; these have 4"):
        both + both


def test_what_does_not_belong_together_is_not_added() -> None:
    plan, values, selection, nodes = problem(parts=2)
    other = replace(plan, run_sums=2000)
    mine, public = SECRETS[None], PUBLICS[None]
    stranger = Lattice().new_key(1)
    with pytest.raises(CipherError, match="different keys"):
        mine.seal_rows(values, plan) + stranger.seal_rows(values, plan)
    with pytest.raises(ParameterError, match="different plans"):
        mine.seal_rows(values, plan) + mine.seal_rows(values, other)
    with pytest.raises(CipherError, match="sealed under another key"):
        public.group_sums(stranger.seal_rows(values, plan), selection, nodes)
    sums = stranger.public.group_sums(stranger.seal_rows(values, plan), selection, nodes)
    with pytest.raises(CipherError, match="sealed under another key"):
        mine.open_sums(sums)


def test_a_selection_beyond_the_plan_is_refused() -> None:
    plan, values, selection, nodes = problem()
    sealed, public = SECRETS[None].seal_rows(values, plan), PUBLICS[None]
    wide = Selection(selection.own_codes, np.array([5, 5, 6]))
    with pytest.raises(ParameterError, match="more groups or columns"):
        public.group_sums(sealed, wide, nodes)
    with pytest.raises(ParameterError, match="a code for every sealed row"):
        public.group_sums(sealed, Selection(selection.own_codes[:, :-1], selection.widths), nodes)
    with pytest.raises(ParameterError, match="not those of the plan"):
        public.group_sums(sealed, selection, Nodes.in_order(np.array([100, 200])))
    with pytest.raises(ParameterError, match="summand is larger"):
        public.group_sums(sealed, selection, nodes, np.ones((1, 15, 2), np.int64))


def test_values_beyond_the_bound_are_not_sealed() -> None:
    plan, values, _, _ = problem()
    for key in (SECRETS[None], PUBLICS[None]):
        spoilt = values.copy()
        spoilt[3, 1] = 101
        with pytest.raises(ParameterError, match="larger than the plan's bound"):
            key.seal_rows(spoilt, plan)


def test_a_made_up_answer_is_out_of_range() -> None:
    plan, _, selection, nodes = problem(bounds=(3,), rows=300)
    secret = SECRETS[None]
    values = np.full((300, 1), 3, np.int64)
    large = replace(plan, bounds=(3_000_000,))
    sealed = secret.seal_rows(values * 1_000_000, large)
    sums = secret.public.group_sums(sealed, selection, nodes)
    made_up = replace(sums, plan=plan)
    with pytest.raises(CipherError, match="larger than any the plan allows"):
        secret.open_sums(made_up)


def test_lengths_do_not_depend_on_values_or_choices() -> None:
    plan, values, selection, nodes = problem(nodes=3)
    secret, public = SECRETS[100.0], PUBLICS[100.0]
    empty = Selection(np.full_like(selection.own_codes, 255), selection.widths)
    sealed = secret.seal_rows(values, plan)
    assert len(sealed.encode()) == len(secret.seal_rows(values * 0, plan).encode())
    answers = [public.group_sums(sealed, choice, nodes).encode() for choice in (selection, empty, selection)]
    assert len({len(answer) for answer in answers}) == 1
    assert len(set(answers)) == 3, "two answers to the same question are alike"


def test_a_secret_key_shows_nothing_and_cannot_be_copied() -> None:
    secret = SECRETS[None]
    assert repr(secret) == "LatticeSecretKey()"
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(PrivacyError, match="cannot be copied or written"):
            copied(secret)  # type: ignore[operator]


def spoilt_sealed(data: bytes, first: int) -> dict[str, bytes]:
    """Malformed forms of sealed data whose residues begin at `first`."""
    flipped = {f"byte {i} of the header": data[:i] + bytes([data[i] ^ 1]) + data[i + 1 :] for i in range(HEADER)}
    residues = {
        f"the residue {value}": data[:first] + value.to_bytes(4, "little") + data[first + 4 :]
        for value in (PRIMES[0], PRIMES[0] + 1, 2**27 - 1)
    }
    lengths = {
        "nothing": b"",
        "half a header": data[: HEADER // 2],
        "a header alone": data[:HEADER],
        "a byte less": data[:-1],
        "a byte more": data + b"\0",
        "twice": data + data,
        "its last half": data[len(data) // 2 :],
    }
    return flipped | residues | lengths


PLAN, VALUES, SELECTION, NODES = problem(nodes=2, parts=2)
SEALED = {link: secret.seal_rows(VALUES, PLAN) for link, secret in SECRETS.items()}
SUMS = {link: PUBLICS[link].group_sums(sealed, SELECTION, NODES) for link, sealed in SEALED.items()}
ROWS_SPOILT = spoilt_sealed(SEALED[None].encode(), HEADER + SEED_BYTES)
PUBLIC_ROWS_SPOILT = spoilt_sealed(PUBLICS[None].seal_rows(VALUES, PLAN).encode(), HEADER)
SUMS_SPOILT = spoilt_sealed(SUMS[None].encode(), HEADER)


@pytest.mark.parametrize("name", ROWS_SPOILT)
def test_malformed_rows_are_refused(name: str) -> None:
    for spoilt in (ROWS_SPOILT[name], PUBLIC_ROWS_SPOILT[name]):
        with pytest.raises(CipherError, match="the run stops"):
            PUBLICS[None].read_rows(spoilt, PLAN)


@pytest.mark.parametrize("name", SUMS_SPOILT)
def test_malformed_sums_are_refused(name: str) -> None:
    with pytest.raises(CipherError, match="the run stops"):
        PUBLICS[None].read_sums(SUMS_SPOILT[name], PLAN, 15)


def spoilt_key(key: bytes) -> dict[str, bytes]:
    head = 39
    return {
        "nothing": b"",
        "a byte": b"H",
        "another mark": b"HLPX" + key[4:],
        "another version": key[:4] + b"\1" + key[5:],
        "another number of switching keys": key[:6] + bytes([key[6] + 1]) + key[7:],
        "for nothing": key[:5] + b"\0" + key[6:],
        "for slots only": key[:5] + b"\2" + key[6:],
        "the first prime itself": key[:head] + PRIMES[0].to_bytes(4, "little") + key[head + 4 :],
        "all bits": key[:head] + b"\xff" * 27 + key[head + 27 :],
        "another half": key[:head] + bytes(1000) + key[head + 1000 :],
        "another proof": key[: head + 4 * 13824] + bytes(1000) + key[head + 4 * 13824 + 1000 :],
        "a byte less": key[:-1],
        "a byte more": key + b"\0",
        "without the key for slots": key[: head + 4 * 13824],
        "zeros": bytes(len(key)),
        "twice": key + key,
    }


@pytest.mark.parametrize("name", spoilt_key(SECRETS[None].public.encode()))
def test_malformed_public_keys_are_refused(name: str) -> None:
    spoilt = spoilt_key(SECRETS[None].public.encode())[name]
    with pytest.raises(CipherError, match="public key"):
        Lattice().read_public_key(spoilt, 1)


def test_keys_and_sealed_data_of_another_link_or_plan_are_refused() -> None:
    with pytest.raises(CipherError, match=r"other keys for merging than the plan and the link ask for|shorter"):
        Lattice(100.0).read_public_key(SECRETS[None].public.encode(), 1)
    with pytest.raises(CipherError, match="other keys for merging than the plan and the link ask for"):
        Lattice().read_public_key(SECRETS[100.0].public.encode(), 1)
    spoilt = bytearray(SECRETS[100.0].public.encode())
    spoilt[38 + 4 * 13824 : 38 + 4 * 13824 + 4] = b"\xff" * 4
    with pytest.raises(CipherError, match="not below its prime"):
        Lattice(100.0).read_public_key(bytes(spoilt), 1)
    others: list[Callable[[], object]] = [
        lambda: PUBLICS[None].read_rows(SEALED[None].encode(), replace(PLAN, rows=301)),
        lambda: PUBLICS[None].read_rows(SEALED[None].encode(), replace(PLAN, bounds=(100,))),
        lambda: PUBLICS[None].read_rows(SEALED[None].encode(), replace(PLAN, bounds=(100, 5000))),
        lambda: PUBLICS[None].read_rows(SEALED[100.0].encode(), PLAN),
        lambda: PUBLICS[None].read_rows(SUMS[None].encode(), PLAN),
        lambda: PUBLICS[None].read_sums(SEALED[None].encode(), PLAN, 15),
        lambda: PUBLICS[None].read_sums(SUMS[None].encode(), PLAN, 14),
        lambda: PUBLICS[None].read_sums(SUMS[None].encode(), replace(PLAN, nodes=3), 15),
        lambda: PUBLICS[None].read_sums(SUMS[100.0].encode(), PLAN, 15),
    ]
    for read in others:
        with pytest.raises(CipherError, match="the run stops"):
            read()


def test_the_number_of_threads_changes_nothing_that_is_opened() -> None:
    secret = LatticeSecretKey(100.0, 1)
    public = LatticePublicKey.read(100.0, secret.public.encode(), 3)
    sums = public.group_sums(public.read_rows(secret.seal_rows(VALUES, PLAN).encode(), PLAN), SELECTION, NODES)
    np.testing.assert_array_equal(secret.open_sums(sums), clear_sums(VALUES, SELECTION, NODES))


def test_a_link_without_speed_is_refused() -> None:
    for speed in (0.0, -1.0, float("nan")):
        with pytest.raises(ParameterError, match="positive number of Mbit/s"):
            Lattice(speed)
