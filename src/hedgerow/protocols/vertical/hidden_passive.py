"""A passive party's side of a run with hidden rows; `hidden_active` has the conversation.

Sees in the clear.  The cuts of its own columns and the levels at which they were chosen. Everything else comes sealed:
gradients of all its rows, zero where a node does not have them, and which rows are at the nodes that it cuts.

It cannot tell what it is asked about, so it holds the active party to the run's sizes: every level summed once, all its
nodes in their steps, no more cuts than the level can have nodes, cuts of the own grid, no more rounds than the plan's.
At every cut the sides of all rows count as told, because the sum of a row can carry them for several cuts.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hedgerow.corridor import messages as m
from hedgerow.errors import PrivacyError, ProtocolError
from hedgerow.privacy.additive import Merging, PublicKey
from hedgerow.privacy.shapes import Nodes as Spans
from hedgerow.privacy.shapes import Selection
from hedgerow.protocols.told_trees import check_places
from hedgerow.protocols.vertical.hidden_sizes import KINDS, HiddenSizes, hidden_plans, sides_plan, sums_plan
from hedgerow.protocols.vertical.passive_rows import OFF_GRID, Giving
from hedgerow.protocols.vertical.passive_run import PassiveRun
from hedgerow.protocols.vertical.passive_table import PassiveTable
from hedgerow.trees.splits import Cuts, Nodes

REFUSED = "The plan of this run hides which rows share a node; the active party asks in a way that tells it."


class HiddenRound:
    """What a party holds while the trees of one round grow: all its rows, and how much was asked about them."""

    def __init__(
        self, table: PassiveTable, hidden: HiddenSizes, request: m.AskHiddenSums, begun: m.BeginSealed
    ) -> None:
        self.parts = table.parts(1, request.round)  # nodes of all trees look alike
        order = self.parts[0].orders[0]
        self.n_counted = len(order)
        self.merging = table.cipher.merging(hidden_plans(begun, hidden, self.n_counted))
        """Distances at which results are merged."""
        self.public = table.cipher.read_public_key(request.public_key, table.threads, self.merging)
        self.public_for_sides: PublicKey | None = None
        every = self.n_counted == table.own_codes.shape[1]
        codes = table.own_codes if every else np.take(table.own_codes, order, axis=1)
        self.selection = Selection(np.ascontiguousarray(codes), table.widths)
        self.everybody = Spans.in_order(np.array([self.n_counted]))
        """All rows that count, as one node."""
        self.level, self.n_cuts = 0, 0
        self.to_come = list(hidden.steps(0, self.n_counted))
        """The steps of this level that are still to be asked for."""


class HiddenPassiveRows:
    """Rows of which only the active party knows where they are in the trees."""

    hides = True
    """Whether this party is not told which rows share a node."""

    def __init__(self, run: PassiveRun) -> None:
        self.run = run
        self.hidden = self._sizes(1)
        self.now: HiddenRound | None = None

    def _sizes(self, n_trees: int) -> HiddenSizes:
        params = self.run.table.params
        return HiddenSizes(n_trees, params.n_estimators, params.max_depth, self.run.table.n_rows)

    def begin(self, request: m.BeginSealed) -> m.Done:
        """Take over the sizes of the run, if they can be: all nodes that trees can have, and as if sides were sums."""
        hidden = self._sizes(request.n_trees)
        done = self.run.begin(request, hidden.run_nodes, KINDS)
        self.hidden, self.now = hidden, None
        return done

    def answer(self, request: Giving) -> m.SealedSums | m.HiddenSides:
        """What the active party may ask for in the trees of this run; nothing that would tell nodes."""
        if isinstance(request, m.AskHiddenSums):
            return self.hidden_sums(request)
        if isinstance(request, m.AskHiddenSides):
            return self.hidden_sides(request)
        raise ProtocolError(REFUSED)

    def end(self, request: m.EndRound) -> m.Done:
        """The own cuts of the round belong to the model."""
        done = self.run.end(request)
        self.now = None
        return done

    def hidden_sums(self, request: m.AskHiddenSums) -> m.SealedSums:
        """Own columns' sums of every sealed vector over all rows: the active party will read them, and only them."""
        begun, run, table = self._check_next(request), self.run, self.run.table
        run.underway = True
        now = self.now
        if run.finished or now is None:
            run.start(request.round)
            now = self.now = HiddenRound(table, self.hidden, request, begun)
        answer = self._summed(begun, request, now.to_come[0])
        del now.to_come[0]
        if not now.to_come:
            now.level, now.n_cuts = request.level + 1, 0
            if now.level < table.params.max_depth:
                now.to_come = list(self.hidden.steps(now.level, now.n_counted))
        run.underway = False
        return answer

    def _summed(self, begun: m.BeginSealed, request: m.AskHiddenSums, step: range) -> m.SealedSums:
        run, table, now = self.run, self.run.table, self._under_way
        run.count_sums(len(step), KINDS)
        if not now.n_counted:
            return m.SealedSums(b"")
        plan = sums_plan(begun, self.hidden, request.level, step, now.n_counted, now.merging)
        run.count_bits(table.cipher.room(plan, table.n_sums))
        sealed = now.public.read_rows(request.sealed_gradients, plan)
        return m.SealedSums(now.public.group_sums(sealed, now.selection, now.everybody).encode())

    @property
    def _under_way(self) -> HiddenRound:
        if self.now is None:
            raise ProtocolError("The active party asks for sides of another step than this one.")
        return self.now

    def _check_next(self, request: m.AskHiddenSums) -> m.BeginSealed:
        """The step must be the first of the next round, or the next of this one."""
        run, now, begun = self.run, self.now, self.run.has_begun()
        if run.finished:
            run.check_start(run.round + 1)
            expected = (run.round + 1, 0, 0)
        elif now is None:  # its beginning was refused
            expected = (run.round, 0, 0)
        else:
            expected = (run.round, now.level, now.to_come[0].start if now.to_come else -1)
        if (request.round, request.level, request.first) != expected:
            raise ProtocolError("The active party asks for another step than the next.")
        if request.public_key and not run.finished:
            raise ProtocolError("The active party changes its key in the middle of a round.")
        run.check_whole()
        return begun

    def hidden_sides(self, request: m.AskHiddenSides) -> m.HiddenSides:
        """What becomes known to the active party: the sides of the rows for which it sealed a one."""
        run, now = self.run, self._under_way
        if run.finished or not now.level or (request.round, request.level) != (run.round, now.level):
            raise ProtocolError("The active party asks for sides of another step than this one.")
        run.check_whole()
        cuts = self._own_cuts(request.cuts)
        n_cuts = now.n_cuts + len(cuts.column)
        if len(cuts.column) > self.hidden.cuts_together or n_cuts > self.hidden.most_cuts(now.level - 1):
            raise ProtocolError("The active party cuts more nodes than a level can have.")
        own_choice = np.concatenate([part.sides(cuts).reshape(len(cuts.column), -1) for part in now.parts], axis=1).T
        plan = sides_plan(self.hidden, len(own_choice), len(cuts.column))
        # What is sealed for one row cannot be seen, so it may be the sides of the row at all these cuts.
        told = run.given.sides + own_choice.size
        if KINDS * told > plan.run_sums:
            raise PrivacyError("The active party asks for more sides than the run was to open; this party stops.")
        run.terms.check_given(told, run.given.bits)
        public = self._key_for_sides(now, request.public_key)
        sealed = public.read_slots(request.sealed_members, plan, len(cuts.column))
        answer = m.HiddenSides(public.slot_sums(sealed, np.ascontiguousarray(own_choice)).encode())
        run.cuts.append(self._numbered(cuts))
        now.n_cuts, run.given.sides = n_cuts, told
        return answer

    def _key_for_sides(self, now: HiddenRound, told: bytes) -> PublicKey:
        """The key of the round, or where the cipher needs one for sides that one, told with the first of them."""
        table = self.run.table
        public = now.public if table.cipher.keys_apart else now.public_for_sides
        if bool(told) != (public is None):
            raise ProtocolError("The active party gives no key for sides, or another in the middle of a round.")
        if public is None:
            public = now.public_for_sides = table.cipher.read_public_key(told, table.threads)
        return public

    def _own_cuts(self, listed: m.HiddenCuts) -> Cuts:
        """The cuts, if they are of this party's grid; to it all of them cut the whole table."""
        n = len(listed.column)
        if {len(listed.bin), len(listed.missing_left)} != {n} or not n or len(listed.left_bins) != 4 * n:
            raise ProtocolError("The active party's cuts are not well formed.")
        none: NDArray[np.int64] = np.zeros(n, np.int64)
        sets = listed.left_bins.reshape(n, 4)
        cuts = Cuts(Nodes(none, none), none + 1, listed.column, listed.bin, listed.missing_left, sets)
        check_places(cuts, self.run.table.grid, OFF_GRID)
        return cuts

    def _numbered(self, cuts: Cuts) -> Cuts:
        """As they are kept: by their number among the own cuts of the round, counted from 1."""
        first = sum(len(before.column) for before in self.run.cuts) + 1
        numbers = np.arange(first, first + len(cuts.column), dtype=np.int64)
        return cuts._replace(nodes=Nodes(cuts.nodes.tree, numbers))

    @property
    def most_request(self) -> int:
        """Bytes that the next request may have; a longer one is refused before it is taken in."""
        return self.run.most_request(lambda begun: max((0, *self._most_sums(begun), *self._most_sides())))

    def _most_sums(self, begun: m.BeginSealed) -> Iterator[int]:
        """The next step of sums."""
        run, now = self.run, self.now
        level, counted = (0, run.table.n_drawn(run.round + 1)) if now is None else (now.level, now.n_counted)
        steps = list(self.hidden.steps(0, counted)) if now is None else now.to_come
        if counted and steps:
            plan = sums_plan(begun, self.hidden, level, steps[0], counted, self._merging(begun, counted))
            yield run.table.cipher.rows_bytes(plan)

    def _merging(self, begun: m.BeginSealed, counted: int) -> Merging:
        """Of this round, or of the next."""
        plans = hidden_plans(begun, self.hidden, counted)
        return self.run.table.cipher.merging(plans) if self.now is None else self.now.merging

    def _most_sides(self) -> Iterator[int]:
        """The members of as many cuts as may still come."""
        now = self.now
        if now is None or not now.level:
            return
        most = min(self.hidden.cuts_together, self.hidden.most_cuts(now.level - 1) - now.n_cuts)
        n_rows = sum(part.orders.shape[1] for part in now.parts) if most > 0 else 0
        for cuts in {most, *(1 << i for i in range(most.bit_length()))} if n_rows else ():
            yield self.run.table.cipher.slots_bytes(sides_plan(self.hidden, n_rows, cuts), cuts)
