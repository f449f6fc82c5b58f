"""A key holds those keys for merging that its plans use, no more and no fewer."""

from dataclasses import replace

import numpy as np
import pytest

from hedgerow.errors import CipherError
from hedgerow.privacy.lattice import merging as chosen
from hedgerow.privacy.lattice.cipher import Lattice
from hedgerow.privacy.lattice.layout import SWITCH_STEPS, rows_layout, seconds, transfer
from hedgerow.privacy.lattice.merging import SWITCH_BYTES
from hedgerow.privacy.shapes import Nodes, RowsPlan, Selection

LINK = 50.0
FEW = [
    RowsPlan(rows=400 >> (d > 0), bounds=(127, 127), groups=60, columns=4, nodes=1 << d >> (d > 0)) for d in range(2)
]
"""A tree of two levels of a small party."""
MANY = [
    RowsPlan(rows=9000 >> (d > 0), bounds=(127, 127), groups=372, columns=12, nodes=1 << d >> (d > 0), run_sums=10**6)
    for d in range(2)
]
"""Of one with many more sums."""
BARE = Lattice().key_bytes(slots=False)


def test_where_nothing_is_merged_a_key_holds_nothing_to_merge_with() -> None:
    assert Lattice().merging(MANY) == () == Lattice(LINK).merging(FEW)
    key = Lattice(LINK).new_key(1, slots=False, merging=[()]).public.encode()
    assert len(key) == BARE == Lattice(LINK).key_bytes(slots=False, merging=()) <= 200_000
    assert all(rows_layout(replace(plan, merging=()), LINK, False).merges == 0 for plan in FEW)


def test_what_merging_saves_is_more_than_the_keys_that_it_needs() -> None:
    steps = Lattice(LINK).merging(MANY)
    assert 0 < len(steps) < len(SWITCH_STEPS)
    ways = {some: [rows_layout(replace(plan, merging=some), LINK, False) for plan in MANY] for some in ((), steps)}
    size = {some: sum(map(transfer, MANY, layouts)) + len(some) * SWITCH_BYTES for some, layouts in ways.items()}
    time = {some: sum(seconds(p, layout, LINK) for p, layout in zip(MANY, ways[some], strict=True)) for some in ways}
    assert size[steps] < size[()]
    assert time[steps] + len(steps) * SWITCH_BYTES * 8 / (LINK * 1e6) < time[()]
    used = {layout.step >> merge for layout in ways[steps] for merge in range(layout.merges)}
    assert {steps[0], steps[-1]} <= used <= set(steps)


def test_a_small_party_would_merge_if_keys_were_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chosen, "SWITCH_BYTES", 0)
    monkeypatch.setattr(chosen, "MAKE", 0.0)
    plans = (*FEW, replace(FEW[1], nodes=2))
    assert Lattice(LINK).merging(plans)


def test_parties_get_the_same_key_each_with_what_it_needs() -> None:
    cipher = Lattice(LINK)
    several = cipher.merging(MANY)
    secret = cipher.new_key(2, slots=False, merging=[(), several])
    rng = np.random.default_rng(3)
    names = set()
    for plan, steps in ((FEW[1], ()), (MANY[1], several), (MANY[1], several[1:])):
        public = cipher.read_public_key(secret.public.encode(steps), 2, steps)
        names.add(public.name)
        plan = replace(plan, merging=steps)
        values = rng.integers(-127, 128, (plan.rows, 2))
        widths = np.full(plan.columns, plan.groups // plan.columns)
        codes = rng.integers(0, widths[0], (plan.columns, plan.rows)).astype(np.uint8)
        nodes = Nodes.in_order(np.diff(np.linspace(0, plan.rows, plan.nodes + 1).astype(np.int64)))
        sealed = public.read_rows(secret.seal_rows(values, plan).encode(), plan)
        assert sealed.layout.step >> max(sealed.layout.merges - 1, 0) in steps or not sealed.layout.merges
        answer = public.group_sums(sealed, Selection(codes, widths), nodes).encode()
        opened = secret.open_sums(secret.public.read_sums(answer, plan, plan.groups))
        first = values[: nodes.starts[1]]
        wanted = [first[codes[c, : len(first)] == b].sum(axis=0) for c in range(plan.columns) for b in range(widths[0])]
        np.testing.assert_array_equal(opened[0], wanted)
    assert len(names) == 1


def test_a_key_with_other_keys_for_merging_is_refused() -> None:
    cipher = Lattice(LINK)
    secret = cipher.new_key(1, slots=False, merging=[(1024, 512, 256)])
    for told, wanted in (((1024,), ()), ((), (1024,)), ((1024, 512), (512, 256)), ((512,), (1024, 512))):
        with pytest.raises(CipherError, match="other keys for merging than the plan and the link ask for"):
            cipher.read_public_key(secret.public.encode(told), 1, wanted)
    sent = bytearray(secret.public.encode((1024,)))
    for change in (sent[:-1], sent + b"\0"):
        with pytest.raises(CipherError, match="does not have the size"):
            cipher.read_public_key(bytes(change), 1, (1024,))
    sent[6] = 0
    with pytest.raises(CipherError, match="does not have the size"):
        cipher.read_public_key(bytes(sent), 1, ())
    assert cipher.read_public_key(secret.public.encode((512, 256)), 1, (512, 256))


def test_older_keys_are_refused_with_a_sentence() -> None:
    old = bytearray(Lattice().new_key(1, slots=False).public.encode())
    old[4] -= 1
    with pytest.raises(CipherError, match="another cipher or version"):
        Lattice().read_public_key(bytes(old), 1)
    slots = bytearray(Lattice().new_key(1, rows=False).public.encode())
    slots[7 + 4] -= 1
    with pytest.raises(CipherError, match="another format or version; both sides need the same hedgerow"):
        Lattice().read_public_key(bytes(slots), 1)
