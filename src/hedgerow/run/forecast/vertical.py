"""What a vertical run will cost: the messages of `protocols.vertical`, for the mean passive party.

Sealed gradients and sums are reckoned by what each cipher makes of them, in the layouts that it would choose.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil
from typing import NamedTuple

from hedgerow import _native
from hedgerow.agreement.ciphers import cipher_of, link_of
from hedgerow.agreement.link_speeds import LinkSpeed
from hedgerow.agreement.options import Lattice, Paillier
from hedgerow.agreement.plan import Plan
from hedgerow.corridor.messages import BeginSealed
from hedgerow.privacy.additive import Merging
from hedgerow.privacy.lattice.layout import POLYNOMIAL_BYTES, blocks, rows_layout
from hedgerow.privacy.paillier.packing import rows_packing, sums_packing
from hedgerow.privacy.shapes import RowsPlan
from hedgerow.protocols.probe import at_most
from hedgerow.protocols.vertical.columns import ACTIVE_ONLY, PASSIVE_ONLY, POSITIVE, RUN_SUMS, run_nodes, tree_plans
from hedgerow.protocols.vertical.laplace import summand_of
from hedgerow.run.forecast.line import Line
from hedgerow.run.forecast.trees import Trees

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
    """The bytes of one step of a mean round: what is sealed, and what each passive party returns."""

    sealed: float
    returned: float


def over_usual_link(plan: Plan, mbit: float, delay: float) -> Plan:
    """A plan whose links are still to be measured, as if all were of this speed and delay in seconds."""
    if not plan.measures or plan.link_speeds:
        return plan
    return replace(plan, link_speeds=tuple(LinkSpeed.measured(name, mbit, delay) for name in plan.answering))


def probes(plan: Plan) -> Iterator[Line]:
    """How links are measured, where they are."""
    if plan.measures:
        exchanges, n_bytes = at_most(len(plan.answering))
        yield Line("Probe", exchanges, n_bytes, trip=True)
        yield Line("Echo", exchanges, n_bytes)


def n_asked(plan: Plan, trees: Trees) -> float:
    """Levels of a mean round at which passive parties are asked."""
    letters = plan.method.levels or " " * len(trees.reached)
    return sum(share for share, letter in zip(trees.reached, letters, strict=True) if letter != ACTIVE_ONLY)


class Drawn(NamedTuple):
    """A level of a mean round whose cuts are drawn: its cuts, and those above that were told with none before."""

    cuts: float
    cuts_above: float
    levels_above: int


def drawn_levels(plan: Plan, trees: Trees) -> list[Drawn]:
    """All such levels; every node there is cut."""
    out: list[Drawn] = []
    cuts, above, n_above = float(trees.width) / 2, 0.0, 0
    for letter, grown in zip(plan.method.levels, trees.cuts, strict=True):
        cuts = 2 * cuts if letter == PASSIVE_ONLY else grown
        if letter == PASSIVE_ONLY:
            out.append(Drawn(cuts, above, n_above))
            above, n_above = 0.0, 0
        above, n_above = above + cuts, n_above + 1
    return out


def merging_of(plan: Plan, sizes: Sizes) -> Merging:
    """Where results are merged: as both sides find it out."""
    groups, bound = _groups(plan, sizes), 1 << (plan.params.gradient_bits - 1)
    run_sums = RUN_SUMS * groups * run_nodes(plan.params, sizes.n_trees, plan.method.levels)
    begin = BeginSealed(0, sizes.n_trees, bound, max(groups, 1), max(sizes.columns, 1), run_sums)
    plans = tree_plans(begin, sizes.rows, plan.params, plan.method.levels, summand=summand_of(plan))
    return cipher_of(plan).merging(plans)


def levels(plan: Plan, sizes: Sizes, trees: Trees) -> Iterator[Level]:
    """Every step of a round; one that only some rounds come to counts for these."""
    every, letters = sizes.rows * sizes.n_trees, plan.method.levels
    for level, (asked, reached, share) in enumerate(zip(trees.asked, trees.reached, trees.rows, strict=True)):
        if not reached or not sizes.groups or (letters and letters[level] == ACTIVE_ONLY):
            yield Level(0, 0)
            continue
        if letters and level and letters[level] != letters[level - 1]:  # both of two siblings are asked for
            asked, share = 2 * asked, 1.0  # of this level alone
        nodes, rows = max(1, round(asked / reached)), max(1, min(every, ceil(every * share / reached)))
        privacy = plan.method.privacy
        if isinstance(privacy, Lattice):
            step = _lattice(plan, link_of(plan), sizes, rows, nodes)
        else:
            step = _sealed_once(plan, sizes, every if level == 0 else 0, nodes)
        yield Level(step.sealed * reached, step.returned * reached)


def _sealed_once(plan: Plan, sizes: Sizes, sealed: int, nodes: int) -> Level:
    """Paillier and plain integers: every row is sealed with the first step of a tree, and never again."""
    privacy = plan.method.privacy
    if not isinstance(privacy, Paillier):
        return Level(sealed * 2 * WORD, nodes * sizes.groups * 2 * WORD)
    agreed, ciphertext = _agreed(plan, sizes, sizes.rows * sizes.n_trees, nodes, 0), privacy.bits / 4
    back = sums_packing(agreed, privacy.bits).count(nodes * sizes.groups)
    return Level(rows_packing(agreed, privacy.bits).count(sealed) * ciphertext, back * ciphertext)


def _lattice(plan: Plan, link_mbit: float | None, sizes: Sizes, rows: int, nodes: int) -> Level:
    """Rows are sealed anew for every step; the largest node is taken to have twice the rows of the mean one."""
    agreed = _agreed(plan, sizes, rows, nodes, min(rows, ceil(2 * rows / nodes)))
    layout = rows_layout(agreed, link_mbit, by_public_key=False)
    sealed = blocks(agreed, layout) * layout.lanes * 4 * POLYNOMIAL_BYTES
    return Level(sealed, _native.lattice_returned_bytes(layout, nodes, sizes.groups))


def _groups(plan: Plan, sizes: Sizes) -> int:
    """Sums of a node that rows are laid out for: of all who hear the same ciphertexts."""
    return sizes.groups if plan.method.links else sizes.groups * len(plan.answering)


def _agreed(plan: Plan, sizes: Sizes, rows: int, nodes: int, most_rows: int) -> RowsPlan:
    """What both sides know of a step; see `protocols.vertical.Asked`."""
    bound, groups = 1 << (plan.params.gradient_bits - 1), _groups(plan, sizes)
    most_nodes = run_nodes(plan.params, sizes.n_trees, plan.method.levels)
    return RowsPlan(
        rows=rows,
        bounds=(bound, bound),
        positive=POSITIVE,
        groups=groups,
        columns=max(sizes.columns, 1),
        nodes=nodes,
        most_rows=most_rows,
        run_sums=RUN_SUMS * groups * most_nodes,
        merging=merging_of(plan, sizes),
        together=(most_rows or rows) * len(plan.answering) if plan.groups else 0,
    )
