"""What both sides know before anything is sealed, and the shape of the choices; see `additive`."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import CipherError, ParameterError

MOST = 2**62
"""No sum is larger than this, whatever room a cipher has: opened sums are 64-bit integers."""

SLOT_BLOCK = 1024
"""Rows of slots that are looked at together."""

DISTANCE_BITS = 40
"""What the returns of a whole run tell about the choices, in statistical distance: at most 2 to the minus this."""

MODULUS_STEP = 16384
"""A modulus of scores is 1 modulo this, so that every layout of the lattice cipher can use it."""


def ensure(holds: bool, sentence: str) -> None:
    """Refuses what this side asked for."""
    if not holds:
        raise ParameterError(sentence)


def agreed(holds: bool, sentence: str) -> None:
    """Refuses what came in."""
    if not holds:
        raise CipherError(sentence)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsPlan:
    """What both sides know before rows are sealed for sums by group."""

    rows: int
    """How many rows are sealed."""
    bounds: tuple[int, ...]
    """For each channel the largest absolute value of one row."""
    groups: int
    """Wanted sums a node and channel, over all columns and over all who answer."""
    columns: int = 0
    """Columns of the one who answers with most of them; 0: unknown, possibly one a group."""
    nodes: int = 1
    """Nodes that will be asked about."""
    most_rows: int = 0
    """Rows of the largest node; 0 says that a node may have all of them."""
    filled: tuple[int, ...] = ()
    """For each channel how many rows at most are sealed with anything but zero; none named: all may be."""
    run_sums: int = 1
    """Integers that will be opened in the whole run, over all nodes, groups, channels, plans and keys; at least those
    of this plan, however few are named."""
    summand: int = 0
    """Largest absolute value that the answering side may add to a sum (a mask, noise)."""
    parts: int = 1
    """How many returned sums may be added to one another before they are opened."""
    by_holder: bool = False
    """Whether nobody but the key holder seals: what is sealed in any other way is refused."""
    together: int = 0
    """Rows of the largest node over all who answer under pads, whose sums are opened in total only. 0: each answer is
    opened by itself. Bounds, groups, columns, nodes, summand and this are then the same for all who answer; how many
    rows are sealed for one of them may differ."""
    merging: tuple[int, ...] | None = None
    """Distances of sums at which the key can merge results, by `Cipher.merging`; None: all that there are."""
    positive: tuple[bool, ...] = ()
    """For each channel whether no row of it is negative; none named: rows may be. Sums then take less room."""

    def __post_init__(self) -> None:
        ensure(not (self.by_holder and self.parts > 1), "What the key holder alone seals has one part.")
        fits = not self.together or (self.parts == 1 and self.together >= (self.most_rows or self.rows))
        ensure(fits, "Answers under pads have one part each, and no more rows than all of them together.")
        ensure(self.rows >= 1 and self.groups >= 1, "A plan for sums by group needs at least one row and one group.")
        ensure(self.nodes >= 1, "A plan for sums by group needs at least one node.")
        ensure(0 <= self.most_rows <= self.rows, "The largest node of a plan cannot have more rows than are sealed.")
        ensure(bool(self.bounds) and min(self.bounds) >= 1, "Every channel of a plan needs a bound of at least 1.")
        fits = not self.filled or (len(self.filled) == len(self.bounds) and min(self.filled) >= 0)
        ensure(fits, "A plan says for each channel how many rows are not zero, or for none.")
        fits = len(self.positive) in (0, len(self.bounds)) and (self.parts == 1 or not any(self.positive))
        ensure(fits, "A plan says of each channel whether rows are negative, or of none; and of sums of one part only.")
        _ensure_sums(self.run_sums, self.summand, self.parts)
        own = self.nodes * self.groups * len(self.bounds) * self.parts
        object.__setattr__(self, "run_sums", max(self.run_sums, own))
        _ensure_room(max(self.most))

    @property
    def most(self) -> tuple[int, ...]:
        """For each channel the largest absolute value that can be opened."""
        rows = self.together or self.most_rows or self.rows
        filled = self.filled or (rows,) * len(self.bounds)
        own = zip(filled, self.bounds, strict=True)
        return tuple((min(rows, some) * bound + self.summand) * self.parts for some, bound in own)

    @property
    def least(self) -> tuple[int, ...]:
        """For each channel the least value that can be opened."""
        positive = self.positive or (False,) * len(self.bounds)
        return tuple(-self.summand if none else -most for none, most in zip(positive, self.most, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotsPlan:
    """What both sides know before rows are sealed for sums by slot, or to be filtered."""

    rows: int
    """How many rows are sealed."""
    entries: int
    """Integers of each row."""
    bound: int
    """Largest absolute value of one of them."""
    most_sum: int = 0
    """Largest absolute value of any choice's sum in one row, where less than entries times bound; 0: just that."""
    choices: int = 1
    """How often choices are made, one upon another, before anything is opened: one by each who answers. 0: none, what
    was sealed is only added up and opened."""
    run_sums: int = 1
    """Integers that will be opened in the whole run, over all plans and keys; at least a row's of this plan each,
    however few are named."""
    summand: int = 0
    """Largest absolute value that each who answers may add to a sum (a mask, noise)."""
    parts: int = 1
    """How many returned sums may be added to one another before they are opened."""
    sums_only: bool = False
    """Whether rows' sums are all that will be asked for: no filter, no single entry. Few rows then take fewer bytes."""
    most_total: int = 0
    """Largest absolute value that all parts together have, where less than parts times the largest; 0: just that."""
    by_holder: bool = False
    """Whether nobody but the key holder seals: what is sealed in any other way is refused."""
    shared: int = 0
    """Integers that all rows have in common, sealed once: each row chooses among its entries, then among these."""
    modulus: int = 0
    """An odd prime: sums are opened modulo this, from minus its half to its half. 0: as they are."""
    apart: bool = False
    """Whether each row's answer depends on that row's choice alone, so that its room is a bound for every row."""

    def __post_init__(self) -> None:
        fits = self.rows >= 1 and self.entries >= 0 and self.shared >= 0 and self.width >= 1
        ensure(fits, "A plan for sums by slot needs at least one row and one entry.")
        ensure(self.bound >= 1, "The bound of a plan is the largest absolute value of an entry: at least 1.")
        ensure(0 <= self.most_sum <= self.width * self.bound, "A row's sum cannot be larger than entries x bound.")
        ensure(self.choices >= 0, "A plan for sums by slot cannot have fewer than no choices.")
        ensure(self.sums_only or not self.shared, "Entries that rows share can only be summed; plan `sums_only`.")
        if self.modulus:
            ensure(_is_odd_prime(self.modulus), "The modulus of a plan is an odd prime.")
            ensure(2 * self.bound < self.modulus, "The modulus of a plan is more than twice its bound.")
        _ensure_sums(self.run_sums, self.summand, self.parts)
        ensure(0 <= self.most_total <= self._most_of_parts, "All parts of a plan cannot have more than each at most.")
        object.__setattr__(self, "run_sums", max(self.run_sums, self.rows * self.parts))
        _ensure_room(self.most)

    @property
    def width(self) -> int:
        """What a row chooses among: its own entries and those that all rows share."""
        return self.entries + self.shared

    @property
    def most(self) -> int:
        """The largest absolute value that can be opened."""
        return self.modulus // 2 or self.most_total or self._most_of_parts

    @property
    def _most_of_parts(self) -> int:
        largest = max(self.most_sum or self.width * self.bound, self.bound)
        return (largest + self.choices * self.summand) * self.parts

    def knows(self, entries: int, chosen: int) -> bool:
        """Whether there can be sealed slots of so many entries a row after so many choices."""
        whole = entries == self.entries and not (self.sums_only and chosen)
        return 0 <= chosen <= self.choices and (whole or (entries == 1 and chosen > 0))

    def offers(self, entries: int, chosen: int) -> int:
        """What a row of such sealed slots chooses among."""
        return entries if chosen else self.width

    def centred(self, sums: NDArray[np.int64]) -> NDArray[np.int64]:
        """Sums modulo the plan's modulus, those nearest to zero; as they are where it has none."""
        return centred(sums, self.modulus) if self.modulus else sums


def centred(sums: NDArray[np.int64], modulus: int) -> NDArray[np.int64]:
    """Of each integer the one nearest to zero that is the same modulo an odd number."""
    half = modulus // 2
    return np.asarray((sums % modulus + half) % modulus - half)


def score_modulus(most: int) -> int:
    """The smallest modulus for sums of at most this absolute value that every cipher can use."""
    candidate = -(-2 * most // MODULUS_STEP) * MODULUS_STEP + 1
    while candidate < 2 * most + 1 or not _is_odd_prime(candidate):
        candidate += MODULUS_STEP
    return candidate


@lru_cache(maxsize=64)
def _is_odd_prime(number: int) -> bool:
    """By Miller and Rabin; the first twelve primes as bases leave no doubt below 2^64."""
    bases = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
    if number < 3 or number >= MOST or any(number % base == 0 for base in bases):
        return number in bases[1:]
    odd = number - 1
    while odd % 2 == 0:
        odd //= 2
    return all(_passes(number, base, odd) for base in bases)


def _passes(number: int, base: int, odd: int) -> bool:
    power, exponent = pow(base, odd, number), odd
    while exponent != number - 1 and power not in (1, number - 1):
        power, exponent = power * power % number, 2 * exponent
    return power == number - 1 or (power == 1 and exponent == odd)


def _ensure_sums(run_sums: int, summand: int, parts: int) -> None:
    ensure(run_sums >= 1, "A plan needs the number of integers that the whole run opens: at least 1.")
    ensure(summand >= 0 and parts >= 1, "A plan's summand is 0 or more, and its parts are at least 1.")


def _ensure_room(most: int) -> None:
    ensure(most <= MOST, "The largest possible sum of this plan does not fit 62 bits; use fewer bits a value.")


@dataclass(frozen=True, slots=True)
class Selection:
    """The answering side's secret for sums by group: in each column, the group of each row."""

    own_codes: NDArray[np.uint8]
    """Columns x sealed rows; a code that is not below the column's width is in no group."""
    widths: NDArray[np.int64]
    """Wanted groups of each column."""

    def __post_init__(self) -> None:
        columns = len(self.widths)
        ensure(self.own_codes.dtype == np.uint8, "The codes of a selection are not bytes.")
        ensure(self.own_codes.ndim == 2 and self.own_codes.shape[0] == columns >= 1, "A selection has a row a column.")
        ensure(bool(np.all((self.widths >= 1) & (self.widths <= 256))), "A column has 1 to 256 wanted groups.")

    @property
    def groups(self) -> int:
        """Wanted sums a node and channel."""
        return int(self.widths.sum())


@dataclass(frozen=True, slots=True)
class Nodes:
    """Sets of sealed rows, each asked about by itself: node i has the rows `rows[starts[i]:starts[i + 1]]`.

    Both sides know them. Ciphers that seal anew for each level are quickest when a node's rows lie together.
    """

    rows: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def in_order(cls, sizes: NDArray[np.int64]) -> "Nodes":
        """Nodes whose rows lie one after the other, in the order in which they were sealed."""
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return cls(np.arange(starts[-1], dtype=np.int64), starts)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def check(self, plan: RowsPlan) -> None:
        """Refuses nodes that the plan does not allow."""
        sizes = np.diff(self.starts)
        fits = len(self) == plan.nodes and self.starts[0] == 0 and self.starts[-1] == len(self.rows)
        fits = fits and bool(np.all(sizes >= 0)) and sizes.max() <= (plan.most_rows or plan.rows)
        ensure(fits, "The nodes are not those of the plan: another number of them, or one with too many rows.")
        ensure(self.rows.dtype == np.int64 == self.starts.dtype, "Rows and nodes are not 64-bit integers.")
        inside = not len(self.rows) or (self.rows.min() >= 0 and self.rows.max() < plan.rows)
        ensure(bool(inside), "A node names a row that was not sealed.")
        ensure(self._distinct(sizes), "A node names a row twice.")

    def _distinct(self, sizes: NDArray[np.int64]) -> bool:
        if len(self.rows) < 2 or bool(np.all(self.rows[1:] > self.rows[:-1])):
            return True
        places = np.sort(np.repeat(np.arange(len(sizes)), sizes) * (int(self.rows.max()) + 1) + self.rows)
        return bool(np.all(places[1:] > places[:-1]))


def ensure_values(values: NDArray[np.int64], shape: tuple[int, int], bounds: tuple[int, ...]) -> None:
    """Refuses integers that are not those of the plan, before any of them is sealed."""
    ensure(values.shape == shape, f"The integers to seal are not {shape[0]} rows of {shape[1]} as in the plan.")
    ensure(values.dtype == np.int64, "The integers to seal are not 64-bit integers.")
    lowest, highest = values.min(axis=0), values.max(axis=0)
    inside = np.all(highest <= np.array(bounds)) and np.all(lowest >= -np.array(bounds))
    ensure(bool(inside), "An integer to seal is larger than the plan's bound; nothing was sealed.")


def ensure_row_values(values: NDArray[np.int64], plan: RowsPlan) -> None:
    """Refuses integers of rows that are not those of the plan."""
    ensure_values(values, (plan.rows, len(plan.bounds)), plan.bounds)
    if any(plan.positive):
        fits = np.all(values[:, np.array(plan.positive)] >= 0)
        ensure(bool(fits), "An integer to seal is negative where the plan has none; nothing was sealed.")
    if plan.filled:
        fits = np.all(np.count_nonzero(values, axis=0) <= np.array(plan.filled))
        ensure(bool(fits), "More rows than the plan allows are not zero; nothing was sealed.")


def ensure_slot_values(values: NDArray[np.int64], plan: SlotsPlan, shared: NDArray[np.int64] | None = None) -> None:
    """Refuses integers of slots of which a choice's sum could be larger than the plan's."""
    ensure_values(values, (plan.rows, plan.entries), (plan.bound,))
    common = shared_values(shared, plan)
    ensure_values(common[None], (1, plan.shared), (plan.bound,))
    if not plan.most_sum:
        return
    above = int(np.maximum(common, 0).sum())
    below = above - int(common.sum())
    for first in range(0, plan.rows, SLOT_BLOCK):
        block = values[first : first + SLOT_BLOCK]
        positive = np.maximum(block, 0).sum(axis=1)
        largest = max(int(positive.max()) + above, int((positive - block.sum(axis=1)).max()) + below)
        ensure(largest <= plan.most_sum, "Integers of a row can sum to more than the plan allows; nothing was sealed.")


def shared_values(shared: NDArray[np.int64] | None, plan: SlotsPlan) -> NDArray[np.int64]:
    """The integers that all rows share, as many as the plan has; none given: none."""
    common = np.empty(0, np.int64) if shared is None else shared
    ensure(common.shape == (plan.shared,), f"The integers that rows share are not {plan.shared}, as in the plan.")
    return common


def ensure_single_entries(plan: SlotsPlan) -> None:
    """Refuses single entries where the plan has sums alone: a filter, or opening what was not summed."""
    ensure(not plan.sums_only, "The plan is for sums only; filters and single entries need one without `sums_only`.")


@lru_cache(maxsize=64)
def plan_digest(plan: RowsPlan | SlotsPlan, any_nodes: bool = False) -> bytes:
    """A plan in eight bytes, so that a wire form tells for which it was made; with `any_nodes`, whatever is asked."""
    own = replace(plan, nodes=1, run_sums=1) if any_nodes and isinstance(plan, RowsPlan) else plan
    # What is not said of channels, of the total of all parts, or of who seals, changes no digest.
    unsaid = {("filled", ()), ("most_total", 0), ("by_holder", False)}
    said = asdict(own)
    # So do these; where they are said, it is with their names.
    names = ("shared", "modulus", "apart", "together", "merging", "positive")
    named = tuple((name, said.pop(name)) for name in names if name in said)
    told: tuple[object, ...] = tuple(x for name, x in said.items() if (name, x) not in unsaid)
    told += tuple(pair for pair in named if pair[1])
    return sha256(f"{type(plan).__name__} {told}".encode()).digest()[:8]


def ensure_not_by_holder(plan: RowsPlan | SlotsPlan) -> None:
    """Refuses to seal with the public key what the key holder alone seals."""
    ensure(not plan.by_holder, "The plan lets nobody but the key holder seal; its secret key is needed.")


def ensure_plus(plus: NDArray[np.int64], shape: tuple[int, ...], summand: int) -> None:
    """Refuses a summand that is not the plan's."""
    ensure(plus.shape == shape and plus.dtype == np.int64, "The summand does not have the shape of the sums.")
    inside = not plus.size or (plus.min() >= -summand and plus.max() <= summand)
    ensure(bool(inside), "A summand is larger than the plan's; nothing was added.")


def ensure_pads(pads: object | None, plan: RowsPlan) -> None:
    """Refuses sums without pads where their total alone may be opened, and pads where nothing takes them away."""
    ensure((pads is not None) == (plan.together > 0), "Sums are hidden by pads if they are opened in total, else not.")


def ensure_total(plans: Sequence[RowsPlan], groups: Sequence[int]) -> None:
    """Refuses parts that are not those of one total."""
    ensure(bool(plans) and plans[0].together > 0, "Only sums under pads are opened in total.")
    same = {(p.bounds, p.positive, p.groups, p.columns, p.nodes, p.summand, p.filled, p.together) for p in plans}
    ensure(len(same) == 1 and len(set(groups)) == 1, "The parts of a total are of plans that do not fit each other.")


def ensure_alone(plan: RowsPlan) -> None:
    """Refuses to open a part of a total by itself: it is noise."""
    ensure(not plan.together, "Sums under pads are opened in total only.")


def ensure_pad(pad: NDArray[np.int64], plan: SlotsPlan) -> None:
    """Refuses pads that are not one a row below the plan's modulus."""
    ensure(plan.modulus > 0, "Pads are added modulo the modulus of a plan, and this one has none.")
    ensure(pad.shape == (plan.rows,) and pad.dtype == np.int64, "Pads are not one 64-bit integer for each row.")
    ensure(bool(pad.min() >= 0 and pad.max() < plan.modulus), "A pad is not below the plan's modulus.")


def summands(plan: SlotsPlan, plus: NDArray[np.int64] | None, pad: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """What the answering side adds to the sums, one a row: a summand within the plan's, and a pad; nothing: none."""
    if plus is not None:
        ensure_plus(plus, (plan.rows,), plan.summand)
    if pad is not None:
        ensure_pad(pad, plan)
    given = [np.ascontiguousarray(each) for each in (plus, pad) if each is not None]
    return np.asarray(sum(given[1:], given[0])) if given else np.empty(0, np.int64)


def ensure_choice_left(plan: SlotsPlan, chosen: int) -> None:
    """Refuses more choices one upon another than the plan has."""
    ensure(chosen < plan.choices, f"The plan allows {plan.choices} choices one upon another; all are made.")


def ensure_opened(opened: NDArray[np.int64], most: tuple[int, ...], least: tuple[int, ...] | None = None) -> None:
    """Refuses opened sums that no honest answer can give; the last axis is the channel."""
    highest = np.array(most, dtype=np.int64)
    lowest = -highest if least is None else np.array(least, dtype=np.int64)
    if not bool(np.all((opened <= highest) & (opened >= lowest))):
        raise CipherError("An opened sum is larger than any the plan allows; the answer was made up. The run stops.")
