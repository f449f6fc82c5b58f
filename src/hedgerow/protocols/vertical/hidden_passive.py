"""A passive party's side of a run with hidden rows; `hidden_active` has the conversation.

Sees in the clear.  The cuts of its own columns and the levels at which they were chosen. Everything else comes sealed:
gradients of all its rows, zero where a node does not have them, and which rows are at the nodes that it cuts.

It cannot tell what it is asked about, so it holds the active party to the run's sizes: every level summed once, all its
nodes in their steps, no more cuts than the level can have nodes, cuts of the own grid, no more rounds than the plan's.
At every cut the sides of all rows count as told, because the sum of a row can carry them for several cuts.
"""

import numpy as np
from numpy.typing import NDArray

from hedgerow.corridor.messages import (
    AskHiddenSides,
    AskHiddenSums,
    AskSealedSums,
    AskSides,
    BeginSealed,
    Done,
    HiddenCuts,
    HiddenSides,
    SealedSums,
    Sides,
)
from hedgerow.errors import PrivacyError, ProtocolError
from hedgerow.privacy.additive import PublicKey
from hedgerow.privacy.shapes import Nodes as Spans
from hedgerow.privacy.shapes import Selection
from hedgerow.protocols.vertical.hidden_sizes import KINDS, HiddenSizes, sides_plan, sums_plan
from hedgerow.protocols.vertical.passive_rows import REPEATS, PassiveRows
from hedgerow.trees.splits import Cuts, Nodes

REFUSED = "The plan of this run hides which rows share a node; the active party asks in a way that tells it."


class HiddenPassiveRows(PassiveRows):
    """Rows of which only the active party knows where they are in the trees."""

    hides = True
    to_come: list[range]
    """The steps of this level that are still to be asked for."""
    everybody: Spans
    """All rows that count, as one node."""

    def begin(self, request: BeginSealed) -> Done:
        """Take over the sizes of the run, if they can be."""
        held_out = 0 if self.held_out is None else self.held_out.matrix.n_rows
        n_rows = self.own.matrix.n_rows + held_out
        done = super().begin(request)
        self.hidden = HiddenSizes(request.n_trees, self.params.n_estimators, self.params.max_depth, n_rows)
        self.most_sums = REPEATS * 2 * int(self.widths.sum()) * self.hidden.run_nodes
        return done

    def _run_nodes(self, n_trees: int) -> int:
        """As many as a tree can have, and as if sides were sums."""
        return KINDS * HiddenSizes(n_trees, self.params.n_estimators, self.params.max_depth, 0).run_nodes

    def sums(self, request: AskSealedSums) -> SealedSums:  # noqa: ARG002
        """Never in this run: it would tell nodes."""
        raise ProtocolError(REFUSED)

    def sides(self, request: AskSides) -> Sides:  # noqa: ARG002
        """Never in this run: it would tell nodes."""
        raise ProtocolError(REFUSED)

    def hidden_answer(self, request: AskHiddenSums | AskHiddenSides) -> SealedSums | HiddenSides:
        """What the active party may ask for in the trees of this run."""
        return self.hidden_sums(request) if isinstance(request, AskHiddenSums) else self.hidden_sides(request)

    def hidden_sums(self, request: AskHiddenSums) -> SealedSums:
        """Own columns' sums of every sealed vector over all rows: the active party will read them, and only them."""
        begun = self._check_next(request)
        self.underway = True
        if self.finished:
            self._start(request.round, begun.n_trees)
            self.public = self.cipher.read_public_key(request.public_key, self.threads)
        answer = self._summed(begun, request, self.to_come[0])
        del self.to_come[0]
        if not self.to_come:
            self.level, self.n_cuts = request.level + 1, 0
            if self.level < self.params.max_depth:
                self.to_come = list(self.hidden.steps(self.level, self.n_counted))
        self.underway = False
        return answer

    def _summed(self, begun: BeginSealed, request: AskHiddenSums, step: range) -> SealedSums:
        self.returned += 2 * len(step) * int(self.widths.sum())
        if self.returned > self.most_sums or KINDS * self.returned > begun.run_sums:
            raise PrivacyError("The active party asks for more sums than the run was to open; this party stops.")
        if not self.n_counted:
            return SealedSums(b"")
        plan = sums_plan(begun, self.hidden, request.level, step, self.n_counted)
        self.carried += self.cipher.room(plan, int(self.widths.sum()))
        self.terms.check_given(self.told_sides, self.carried)
        self.on_counted()
        sealed = self.public.read_rows(request.sealed_gradients, plan)
        return SealedSums(self.public.group_sums(sealed, self.selection, self.everybody).encode())

    def _check_next(self, request: AskHiddenSums) -> BeginSealed:
        """The step must be the first of the next round, or the next of this one."""
        if self.begun is None:
            raise ProtocolError("The active party asks for sums before the run has begun.")
        expected = (self.round, self.level, self.to_come[0].start if not self.finished and self.to_come else -1)
        if self.finished:
            self._check_start(self.round + 1)
            expected = (self.round + 1, 0, 0)
        if (request.round, request.level, request.first) != expected:
            raise ProtocolError("The active party asks for another step than the next.")
        if request.public_key and not self.finished:
            raise ProtocolError("The active party changes its key in the middle of a round.")
        self._check_whole()
        return self.begun

    def _start(self, round_: int, n_trees: int) -> None:  # noqa: ARG002  # nodes of all trees look alike
        super()._start(round_, 1)
        self.public_for_sides: PublicKey | None = None
        order = self.parts[0].orders[0]
        self.n_counted, self.n_cuts = len(order), 0
        every = self.n_counted == self.own_codes.shape[1]
        codes = self.own_codes if every else np.take(self.own_codes, order, axis=1)
        self.selection = Selection(np.ascontiguousarray(codes), self.widths)
        self.everybody = Spans.in_order(np.array([self.n_counted]))
        self.to_come = list(self.hidden.steps(0, self.n_counted))

    def hidden_sides(self, request: AskHiddenSides) -> HiddenSides:
        """What becomes known to the active party: the sides of the rows for which it sealed a one."""
        if self.finished or not self.level or (request.round, request.level) != (self.round, self.level):
            raise ProtocolError("The active party asks for sides of another step than this one.")
        self._check_whole()
        cuts = self._own_cuts(request.cuts)
        n_cuts = self.n_cuts + len(cuts.column)
        if len(cuts.column) > self.hidden.cuts_together or n_cuts > self.hidden.most_cuts(self.level - 1):
            raise ProtocolError("The active party cuts more nodes than a level can have.")
        own_choice = np.concatenate([part.sides(cuts).reshape(len(cuts.column), -1) for part in self.parts], axis=1).T
        plan = sides_plan(self.hidden, len(own_choice), len(cuts.column))
        # What is sealed for one row cannot be seen, so it may be the sides of the row at all these cuts.
        told = self.told_sides + own_choice.size
        if KINDS * told > plan.run_sums:
            raise PrivacyError("The active party asks for more sides than the run was to open; this party stops.")
        self.terms.check_given(told, self.carried)
        public = self._key_for_sides(request.public_key)
        sealed = public.read_slots(request.sealed_members, plan, len(cuts.column))
        answer = HiddenSides(public.slot_sums(sealed, np.ascontiguousarray(own_choice)).encode())
        self.cuts.append(self._numbered(cuts))
        self.n_cuts, self.told_sides = n_cuts, told
        return answer

    def _key_for_sides(self, told: bytes) -> PublicKey:
        """The key of the round, or where the cipher needs one for sides that one, told with the first of them."""
        public = self.public if self.cipher.keys_apart else self.public_for_sides
        if bool(told) != (public is None):
            raise ProtocolError("The active party gives no key for sides, or another in the middle of a round.")
        if public is None:
            public = self.public_for_sides = self.cipher.read_public_key(told, self.threads)
        return public

    def _own_cuts(self, listed: HiddenCuts) -> Cuts:
        """The cuts, if they are of this party's grid; to it all of them cut the whole table."""
        n = len(listed.column)
        if {len(listed.bin), len(listed.missing_left)} != {n} or not n or len(listed.left_bins) != 4 * n:
            raise ProtocolError("The active party's cuts are not well formed.")
        none: NDArray[np.int64] = np.zeros(n, np.int64)
        sets = listed.left_bins.reshape(n, 4)
        cuts = Cuts(Nodes(none, none), none + 1, listed.column, listed.bin, listed.missing_left, sets)
        self._check_places(cuts)
        return cuts

    def _numbered(self, cuts: Cuts) -> Cuts:
        """As they are kept: by their number among the own cuts of the round, counted from 1."""
        first = sum(len(before.column) for before in self.cuts) + 1
        numbers = np.arange(first, first + len(cuts.column), dtype=np.int64)
        return cuts._replace(nodes=Nodes(cuts.nodes.tree, numbers))
