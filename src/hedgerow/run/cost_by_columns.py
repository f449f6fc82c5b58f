"""What a vertical run will cost: the messages of `protocols.vertical`, for the mean passive party.

Sealed gradients and sums are reckoned by what each cipher makes of them: Paillier and plain integers exactly, the
lattice by its rule of thumb. Trees are full; of two siblings the one that is asked for has half of the rows, which is
the most it can have.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, sqrt

from hedgerow.plan import Plan
from hedgerow.privacy.agreed import RowsPlan
from hedgerow.privacy.paillier_packing import rows_packing, sums_packing
from hedgerow.privacy.paillier_wire import key_bytes

LATTICE_ROWS, LATTICE_SUMS, COEFFICIENTS, MERGED = 55_000, 28_000, 4096, 8
"""Bytes of a ciphertext of rows and of one that returns; coefficients of one; of a slow link, returns in one."""
LATTICE_KEY, PLAIN_KEY = 500_000, 64
WORD = 8


@dataclass(frozen=True)
class Sizes:
    """What bytes depend on: rows that count, trees of a round, the mean passive party's sums a node and columns."""

    rows: int
    n_trees: int
    groups: int
    columns: int


@dataclass(frozen=True)
class Level:
    """The bytes of one step: what is sealed, and what each passive party returns."""

    key: float
    sealed: float
    returned: float


def levels(plan: Plan, sizes: Sizes, asked: list[int]) -> Iterator[Level]:
    """Every step of a tree; `asked` is how many nodes are asked for at each level."""
    for level, nodes in enumerate(asked):
        rows = sizes.rows * sizes.n_trees
        if plan.protection == "lattice":
            yield _lattice(plan, rows if level == 0 else ceil(rows / 2), nodes * sizes.n_trees * sizes.groups)
        else:
            yield _sealed_once(plan, sizes, rows if level == 0 else 0, nodes * sizes.n_trees)


def _sealed_once(plan: Plan, sizes: Sizes, sealed: int, nodes: int) -> Level:
    """Paillier and plain integers: every row is sealed with the first step of a tree, and never again."""
    if plan.protection == "plain":
        return Level(PLAIN_KEY, sealed * 2 * WORD, nodes * sizes.groups * 2 * WORD)
    bound = 1 << (plan.params.gradient_bits - 1)
    agreed = RowsPlan(
        rows=sizes.rows * sizes.n_trees,
        bounds=(bound, bound),
        groups=max(sizes.groups, 1),
        columns=max(sizes.columns, 1),
        nodes=nodes,
    )
    bits, ciphertext = plan.key_bits, plan.key_bits / 4
    back = sums_packing(agreed, bits).count(nodes * sizes.groups)
    return Level(key_bytes(bits), rows_packing(agreed, bits).count(sealed) * ciphertext, back * ciphertext)


def _lattice(plan: Plan, rows: int, sums: int) -> Level:
    """Rows are sealed anew for every step, so few to a ciphertext that out and back cost alike."""
    merged = 1 if plan.link_mbit is None else MERGED
    each = min(COEFFICIENTS, max(1.0, sqrt(2 * COEFFICIENTS * merged * rows / max(sums, 1))))
    back = ceil(sums * each / COEFFICIENTS / merged) * LATTICE_SUMS
    return Level(LATTICE_KEY, ceil(rows / each) * LATTICE_ROWS, back)
