"""What a vertical run with hidden rows will cost: every level as wide as it can be, for the mean passive party."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from hedgerow.agreement.ciphers import cipher_of, link_of
from hedgerow.agreement.options import Paillier
from hedgerow.agreement.plan import Plan
from hedgerow.corridor.messages import BeginSealed
from hedgerow.privacy.additive import Merging
from hedgerow.privacy.lattice.layout import POLYNOMIAL_BYTES, blocks, results, rows_layout
from hedgerow.privacy.lattice.slots_bounds import slots_layout
from hedgerow.privacy.lattice.slots_wire import POLYNOMIAL_BYTES as SLOTS_BYTES
from hedgerow.privacy.paillier.packing import rows_packing, slots_packing, sums_packing
from hedgerow.privacy.shapes import RowsPlan, SlotsPlan
from hedgerow.protocols.vertical.hidden_sizes import HiddenSizes, hidden_plans, sides_plan, sums_plan
from hedgerow.run.forecast.vertical import Sizes

KINDS_OF_SUMS = 8
"""Gradients and hessians, twice for a level that is asked for again, and both kinds of returns."""


@dataclass(frozen=True)
class HiddenBytes:
    """Bytes of one level: requests for sums, what is sealed for them and returned, and the same of sides."""

    asks: int
    sealed: float
    returned: float
    members: float
    sides: float


def hidden_levels(plan: Plan, sizes: Sizes, n_rows: int) -> Iterator[HiddenBytes]:
    """Every level of a round; a party is asked for sides at its share of the cuts."""
    params, groups = plan.params, max(sizes.groups, 1)
    hidden, begin = _begun(plan, sizes, n_rows)
    merging = hidden_merging(plan, sizes, n_rows)
    for level in range(params.max_depth):
        steps = list(hidden.steps(level, sizes.rows))
        sums = [_sums(plan, sums_plan(begin, hidden, level, step, sizes.rows, merging), groups) for step in steps]
        cuts = ceil(hidden.most_cuts(level) / len(plan.members))
        sides = _sides(plan, sides_plan(hidden, n_rows, min(cuts, hidden.cuts_together)))
        turns = max(1.0, cuts / hidden.cuts_together)
        yield HiddenBytes(
            len(steps), sum(out for out, _ in sums), sum(back for _, back in sums), sides[0] * turns, sides[1] * turns
        )


def hidden_merging(plan: Plan, sizes: Sizes, n_rows: int) -> Merging:
    """Where results are merged: as both sides find it out."""
    hidden, begin = _begun(plan, sizes, n_rows)
    return cipher_of(plan).merging(hidden_plans(begin, hidden, sizes.rows))


def _begun(plan: Plan, sizes: Sizes, n_rows: int) -> tuple[HiddenSizes, BeginSealed]:
    params, groups = plan.params, max(sizes.groups, 1)
    hidden = HiddenSizes(sizes.n_trees, params.n_estimators, params.max_depth, n_rows)
    all_groups, bound = groups * len(plan.answering), 1 << (params.gradient_bits - 1)
    budget = KINDS_OF_SUMS * all_groups * hidden.run_nodes
    return hidden, BeginSealed(0, sizes.n_trees, bound, all_groups, max(sizes.columns, 1), budget)


def _sums(plan: Plan, agreed: RowsPlan, groups: int) -> tuple[float, float]:
    """Bytes of sealed rows, and of the sums of so many groups."""
    privacy = plan.method.privacy
    if not isinstance(privacy, Paillier):
        layout = rows_layout(agreed, link_of(plan), by_public_key=False)
        returns = ceil(results(agreed, layout) * groups / agreed.groups) / (1 << layout.merges)
        wanted = groups * layout.lanes * 54 / 8
        return blocks(agreed, layout) * layout.lanes * 4 * POLYNOMIAL_BYTES, returns * 2 * POLYNOMIAL_BYTES + wanted
    bits = privacy.bits
    out, back = rows_packing(agreed, bits).count(agreed.rows), sums_packing(agreed, bits).count(groups)
    return out * bits / 4, back * bits / 4


def _sides(plan: Plan, agreed: SlotsPlan) -> tuple[float, float]:
    """Bytes of sealed members, and of the sides."""
    privacy = plan.method.privacy
    if not isinstance(privacy, Paillier):
        layout = slots_layout(agreed)
        before, after = layout.primes[:2]
        out = layout.blocks * layout.ciphertexts * before * SLOTS_BYTES
        return out, 2 * layout.blocks * after * SLOTS_BYTES
    bits = privacy.bits
    back = slots_packing(agreed, bits, 1).count(agreed.rows)
    return agreed.rows * agreed.entries * bits / 4, back * bits / 4
