"""A passive party's side of a prediction: its part of the model, its own rows, and the checks of what it is asked.

`predict` has the conversation.

Sees in the clear.  The ids of the rows that are predicted, and which of them come to which of its own cuts.
Gives away which of these rows it has, and which way they go at these cuts; never a value or a threshold.
"""

from dataclasses import replace
from typing import Never

import numpy as np

from hedgerow.agreement.plan import Plan
from hedgerow.corridor.messages import AskKnown, AskWays, Consent, Known, Propose, Request, Sides
from hedgerow.errors import ProtocolError
from hedgerow.model import part as parts
from hedgerow.model.part import Part
from hedgerow.protocols.joining import Membership
from hedgerow.protocols.predict.active import MOST_PLACES, MOST_ROWS, Places
from hedgerow.protocols.predict.own_part import OwnRows, PartOwner
from hedgerow.protocols.predict.runs import NONE, next_cuts
from hedgerow.protocols.session.shell import Shell


class Answering(Shell[Never]):
    """A passive party's side: tells which way rows go at its own cuts, and nothing else."""

    notes_received = False
    """What was asked is noted in numbers of rows and cuts, with the answer."""

    def __init__(self, own: PartOwner) -> None:
        own.check()
        super().__init__(own.log, list)
        self.own, self.part = own, own.part
        self.models: tuple[str, ...] = (own.part.model,)
        self.member = Membership(own.name, own.policy, own.identity)
        self.own_rows = OwnRows(own)
        self.cuts, self.tree, self.n_trees = _places(own.part)
        self.n_asked, self.rows = 0, np.empty(0, np.int64)
        self.last = np.empty(0, np.int32)
        """Of each row in each tree, the last cut that was asked about and the way told, as `Part.after` has it.

        Where the part does not know how its cuts lie, the last node.
        """
        self.table = {Propose: self._consent}

    def _take(self, part: Part, models: tuple[str, ...]) -> None:
        """Answer by this part, in which are the cuts of the models with these ids."""
        self.part, self.models = part, models
        self.own_rows = OwnRows(replace(self.own, part=part), models)
        self.cuts, self.tree, self.n_trees = _places(part)

    def _choose(self, plan: Plan) -> None:
        """Take the part that the plan's model asks for, where there are several."""

    def refusal(self, request: Request) -> ProtocolError:
        """What is said of a request that this party does not answer, or not before it has consented."""
        name = self.member.agreed_plan.method.word
        return ProtocolError(f"The plan of this run, to {name}, does not allow {type(request).__name__}.")

    def _consent(self, request: Propose, _: object) -> Consent:
        plan = Plan.read(request.plan)
        if self.member.plan is None:  # another plan is refused, and must not change which models rows are counted for
            self._choose(plan)
        if not plan.method.model or plan.method.model != self.part.model:  # a training names no model
            raise ProtocolError(
                "The active party predicts with another model than the one that this party has a part of; parts of "
                "different models cannot be mixed."
            )
        consent = self.member.consent(request)
        self.table = {Propose: self._consent, AskKnown: self._known, AskWays: self._ways}
        return consent

    def _known(self, request: AskKnown, _: object) -> Known:
        """What becomes known to the active party: which of the rows this party has."""
        n = len(request.ids)
        if not n or n > MOST_ROWS or (n > 1 and n * self.n_trees > MOST_PLACES):
            raise ProtocolError(f"The active party asks about {n} rows at once, which no batch has.")
        self.rows = self.own_rows.counted(request.ids)
        self.n_asked += n
        self.last = np.full(n * self.n_trees, -1, np.int32)
        known = self.rows >= 0
        return Known(np.packbits(known, bitorder="little"), self.part.after is not None)

    def _ways(self, request: AskWays, _: object) -> Sides:
        """What becomes known to the active party: which way these rows go at cuts of own columns that they come to."""
        cut, place, goes_to = self._checked(request)
        where, after, told = place * self.n_trees + self.tree[cut], self.part.after, []
        if self.part.hidden:
            self._once(place * len(self.part.tree) + cut)
        else:
            self._go_down(where, self.part.node[cut]) if after is None else self._go_on(where, after[cut])
        while len(cut):
            left = self.part.left(self.own_rows.own_values, cut, self.rows[place])
            told.append(left)
            if not self.part.hidden:
                self.last[where] = self.part.node[cut] if after is None else 2 * cut + ~left
            further = goes_to[2 * cut + ~left]
            on = further != NONE
            cut, place, where = further[on], place[on], where[on]
        ways = np.concatenate(told)
        self.log.note("ways told", cuts=len(request.tree), ways=len(ways))
        return Sides(np.packbits(ways, bitorder="little"))

    def _once(self, where: Places) -> None:
        """Where the trees of a round cannot be told apart, rows come to a cut once."""
        if len(np.unique(where)) < len(where):
            raise ProtocolError("The active party asks about a row twice at one cut.")

    def _go_on(self, where: Places, after: Places) -> None:
        """Rows in trees, each once, come to the cut that is next after what was told of them, and to no other.

        A row that went left at one of this party's cuts is not asked about right of it, nor in another branch.
        """
        if not self._each_once(where) or (self.last[where] != after).any():
            raise ProtocolError("The active party asks about a row at a cut that is not the next on its path.")

    def _go_down(self, where: Places, node: Places) -> None:
        """Rows in trees, each once, come to nodes further down than any before."""
        if not self._each_once(where) or (self.last[where] >= node).any():
            raise ProtocolError("The active party asks about a row that does not go down its tree.")

    def _each_once(self, where: Places) -> bool:
        here = np.zeros(len(self.last), np.bool_)
        here[where] = True
        return bool(np.count_nonzero(here) == len(where))

    def _checked(self, request: AskWays) -> tuple[Places, Places, Places]:
        """For every row the number of the cut it has come to and its place among those asked about.

        Besides, for every end of an own cut, the cut to which a row goes on from there (`runs.next_cuts`).
        """
        sizes = {len(request.tree), len(request.node), len(request.n_rows)}
        n_rows = request.n_rows.astype(np.int64)
        least = 1 if self.part.after is None else 0
        if sizes != {len(request.tree)} or (n_rows < least).any() or not 0 < n_rows.sum() == len(request.rows):
            raise ProtocolError("The active party's list of cuts is not well formed.")
        asked_for = list(zip(request.tree.tolist(), request.node.tolist(), strict=True))
        if any(place not in self.cuts for place in asked_for):
            raise ProtocolError("The active party asks about a cut that is not in this party's part of the model.")
        place = request.rows.astype(np.int64)
        if (place >= len(self.rows)).any() or (self.rows[place] < 0).any():
            raise ProtocolError("The active party asks about a row that it did not name, or that this party lacks.")
        cut = np.array([self.cuts[place] for place in asked_for], np.int64)
        after = np.full(len(self.part.tree), NONE) if self.part.after is None else self.part.after
        return np.repeat(cut, n_rows), place, next_cuts(after, cut, cut[n_rows == 0])


def _places(part: Part) -> tuple[dict[tuple[int, int], int], Places, int]:
    """The number of each cut by its tree and node; of each cut its tree, and how many there are, of trees it cuts only.

    How many trees others cut is the active party's word, and takes no memory here.
    """
    trees, tree = np.unique(part.tree, return_inverse=True)
    return parts.places(part), tree.reshape(-1), len(trees)
