"""The ciphers that keep the contract of `hedgerow.privacy.additive`, and what its suite tries them with."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hedgerow.errors import ParameterError, PrivacyError
from hedgerow.privacy.lattice.cipher import Lattice
from hedgerow.privacy.paillier.cipher import Paillier
from hedgerow.privacy.shapes import Nodes, RowsPlan, Selection, SlotsPlan
from hedgerow.privacy.unencrypted.cipher import Unencrypted


@dataclass(frozen=True)
class Tried:
    """A cipher, how much of it the suite has time for, and what it cannot promise."""

    cipher: object
    examples: int = 20
    """Of hypothesis, a claim."""
    bits: int = 20
    """Of one integer, in these."""
    many: int = 3000
    """Rows where there are many."""
    head: int = 4
    """Bytes at the beginning of sealed rows, slots and sums of which no bit can change unnoticed."""
    free: frozenset[int] = frozenset()
    """But for these bits, which say what nobody else can know."""
    key_head: int = 4
    """The same of a public key."""
    hides: bool = True
    """Whether two sealings of the same integers differ, and two answers to the same question."""


CIPHERS = {
    "unencrypted": Tried(Unencrypted(), examples=60, bits=45, head=60, hides=False),
    "lattice": Tried(Lattice(), examples=20, bits=16, many=9000, head=39, free=frozenset({41})),
    "lattice, 100 Mbit/s": Tried(Lattice(link_mbit=100), examples=8, bits=16, many=9000, head=39, free=frozenset({41})),
    "Paillier": Tried(Paillier(bits=2048), examples=4, bits=45, many=200, head=64, key_head=8),
}
"""All of them. Another cipher is another line."""

REFUSED = (ParameterError, PrivacyError)
"""What a plan without room, or with too little to hide the choices in, is answered with."""


class Sides:
    """A key holder with one thread, and an answering side with two that has only what travelled."""

    def __init__(self, tried):
        self.tried, self.cipher = tried, tried.cipher
        self.secret = self.cipher.new_key(1)
        self.public = self.cipher.read_public_key(self.secret.public.encode(), 2)

    def sent(self, values, plan, by=None):
        """Rows as they arrive at the answering side."""
        return self.public.read_rows((by or self.secret).seal_rows(values, plan).encode(), plan)

    def sent_slots(self, values, plan, by=None):
        """Slots as they arrive at the answering side."""
        return self.public.read_slots((by or self.secret).seal_slots(values, plan).encode(), plan, plan.entries)

    def opened(self, sums):
        """Sums as the key holder reads them when they have travelled back."""
        return self.secret.open_sums(self.secret.public.read_sums(sums.encode(), sums.plan, sums.groups))

    def opened_slots(self, slots):
        """Slots as the key holder reads them when they have travelled back."""
        back = self.secret.public.read_slots(slots.encode(), slots.plan, slots.entries, slots.chosen)
        return self.secret.open_slots(back)


@dataclass(frozen=True)
class Case:
    """Everything for sums by group."""

    values: np.ndarray
    plan: RowsPlan
    selection: Selection
    nodes: Nodes
    plus: np.ndarray | None = None

    @property
    def expected(self):
        """The sums, in the most straightforward way."""
        blocks = []
        for start, end in pairwise(self.nodes.starts):
            rows = self.nodes.rows[start:end]
            codes, values = self.selection.own_codes[:, rows], self.values[rows]
            columns = zip(codes, self.selection.widths, strict=True)
            blocks.append([values[column == group].sum(axis=0) for column, width in columns for group in range(width)])
        return np.array(blocks, dtype=np.int64) + (0 if self.plus is None else self.plus)


def case(rng, bounds, widths, nodes, rows, **more):
    """Integers within their bounds, many of them at these, under codes of which some are in no group."""
    groups, given = int(np.sum(widths)), more.pop("groups", 0)
    values = integers(rng, rows, bounds)
    selection = Selection(codes_of(rng, widths, rows), np.array(widths, dtype=np.int64))
    found = RowsPlan(rows=rows, bounds=bounds, groups=max(given, groups), nodes=len(nodes), run_sums=10**4, **more)
    plus = integers(rng, len(nodes) * groups, (found.summand,) * len(bounds)) if found.summand else None
    shaped = None if plus is None else plus.reshape(len(nodes), groups, len(bounds))
    return Case(values, found, selection, nodes, shaped)


def integers(rng, rows, bounds):
    """Rows x channels, about a third of them as large as they may be."""
    limits = np.array(bounds, dtype=np.int64)
    values = rng.integers(-limits, limits, size=(rows, len(bounds)), endpoint=True)
    extreme = rng.choice(np.array([-1, 1]), size=values.shape) * limits
    return np.where(rng.random(values.shape) < 0.3, extreme, values)


def codes_of(rng, widths, rows):
    """A code for each column and row; where 256 are not all wanted, some are in no group."""
    highest = np.minimum(np.array(widths) + 1, 255)[:, None]
    codes = rng.integers(0, highest, size=(len(widths), rows), endpoint=True).astype(np.uint8)
    return np.where((rng.random(codes.shape) < 0.1) & (highest < 255), 255, codes).astype(np.uint8)


def nodes_of(lists):
    """Nodes with these rows."""
    starts = np.concatenate([[0], np.cumsum([len(rows) for rows in lists])]).astype(np.int64)
    return Nodes(np.array([row for rows in lists for row in rows], dtype=np.int64), starts)


@st.composite
def cases(draw, bits):
    """Few rows in nodes that are empty, overlap or are out of order; columns of different widths; channels; a plus."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = draw(st.integers(1, 40))
    bounds = tuple(draw(st.lists(st.integers(1, 2**bits), min_size=1, max_size=4)))
    widths = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    sizes = draw(st.lists(st.integers(0, rows), min_size=1, max_size=4))
    nodes = nodes_of([rng.choice(rows, size, replace=False) for size in sizes])
    more = {
        "groups": draw(st.sampled_from([0, 30])),
        "columns": draw(st.sampled_from([0, len(widths), 7])),
        "most_rows": draw(st.sampled_from([0, max(sizes), rows])),
        "summand": draw(st.sampled_from([0, 1, 2**bits])),
    }
    return case(rng, bounds, widths, nodes, rows, **more)


@dataclass(frozen=True)
class SlotsCase:
    """Everything for sums by slot, with two choices one upon the other."""

    values: np.ndarray
    plan: SlotsPlan
    choice: np.ndarray
    second: np.ndarray
    plus: np.ndarray | None


def slots_case(rng, rows, entries, bound, **more):
    """Integers and choices; a plus if the plan has a summand."""
    sizes = {"rows": rows, "entries": entries, "bound": bound, "choices": 2, "run_sums": 10**5}
    plan = SlotsPlan(**(sizes | more))
    choice, second = (rng.random((rows, entries)) < share for share in (0.5, 0.7))
    plus = integers(rng, rows, (plan.summand,))[:, 0] if plan.summand else None
    return SlotsCase(integers(rng, rows, (bound,) * entries), plan, choice, second, plus)


@st.composite
def slots_cases(draw, bits):
    """Few rows and few entries."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows, entries = draw(st.integers(1, 12)), draw(st.integers(1, 9))
    return slots_case(rng, rows, entries, draw(st.integers(1, 2**bits)), summand=draw(st.sampled_from([0, 1, 2**bits])))


def sums_case(rng, rows, entries, bound, **more):
    """Where each row's sum of one choice is all that is wanted."""
    return slots_case(rng, rows, entries, bound, choices=1, sums_only=True, **more)


@st.composite
def sums_cases(draw, bits):
    """Few rows of more entries than single choices are tried with."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows, entries = draw(st.integers(1, 6)), draw(st.integers(1, 60))
    return sums_case(rng, rows, entries, draw(st.integers(1, 2**bits)), summand=draw(st.sampled_from([0, 1, 2**bits])))


def largest(accepts: Callable[[int], object]) -> int:
    """The largest integer that is not refused; everything smaller must not be, either."""
    low, high = 1, 2**62
    accepts(low)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            accepts(middle)
        except REFUSED:
            high = middle
        else:
            low = middle
    return low


def with_bound(plan, bound):
    """The same plan for larger or smaller integers."""
    return (
        replace(plan, bound=bound) if isinstance(plan, SlotsPlan) else replace(plan, bounds=(bound,) * len(plan.bounds))
    )


def tried(sides, strategy, claim):
    """Tries a claim on as many examples as the cipher is quick enough for."""
    kept = settings(max_examples=sides.tried.examples, suppress_health_check=list(HealthCheck))
    kept(given(strategy(sides.tried.bits))(claim))()


def one_node(rows):
    return Nodes.in_order(np.array([rows]))


def small(rng, **more):
    """A case that every test can afford: two nodes, two columns, two channels."""
    return case(rng, (7, 1000), [3, 2], nodes_of([[4, 0, 2], [1, 3, 5, 6]]), 9, **more)


def sums_of(sides, a_case, by=None):
    """What the answering side returns."""
    sealed = sides.sent(a_case.values, a_case.plan, by)
    return sides.public.group_sums(sealed, a_case.selection, a_case.nodes, a_case.plus)
