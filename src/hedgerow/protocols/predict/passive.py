"""A passive party's side of a prediction: its part of the model, its own rows, and the checks of what it is asked.

`predict` has the conversation.

Sees in the clear.  The ids of the rows that are predicted, and which of them come to which of its own cuts.
Gives away which of these rows it has, and which way they go at these cuts; never a value or a threshold.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Never

import numpy as np

from hedgerow.agreement.plan import Plan
from hedgerow.agreement.policy import Policy
from hedgerow.corridor.messages import AskKnown, AskWays, Consent, Known, Propose, Request, Sides
from hedgerow.data.ids import check_once
from hedgerow.data.table import Table
from hedgerow.errors import ModelError, PolicyError, ProtocolError
from hedgerow.identity.identity import Identity
from hedgerow.model import part as parts
from hedgerow.model.model import dense
from hedgerow.model.part import Part
from hedgerow.protocols.align.lists import texts_of
from hedgerow.protocols.joining import Membership
from hedgerow.protocols.predict.active import MOST_PLACES, MOST_ROWS, Places
from hedgerow.protocols.session.journal import Log
from hedgerow.protocols.session.owner_ledger import Ledger
from hedgerow.protocols.session.shell import Shell


@dataclass(frozen=True, eq=False)
class PartOwner:
    """Whose part it is: its own table, rules, identity and log."""

    name: str
    part: Part
    own_table: Table
    policy: Policy
    identity: Identity
    log: Log | None = None
    ledger: Log | None = None
    """Where rows are counted over all predictions of this owner; None: in the log."""

    def check(self) -> None:
        """Refuse a part that is another's, or that cuts columns which the owner's policy does not give."""
        check_owner(self.part, self.name)
        given, cut = self.policy.columns, {self.part.columns[j].name for j in self.part.column.tolist()}
        if given is not None and not cut <= set(given):
            raise PolicyError("The model cuts a column of this party that its policy does not give (columns).")


def check_owner(part: Part, name: str) -> None:
    """Refuse a part that is another party's."""
    if part.party != name:
        raise ModelError(f"The part is that of {part.party!r}, not of {name!r}; give this party's own.")


class OwnRows:
    """A party's own rows, found by their ids."""

    def __init__(self, own: PartOwner) -> None:
        self.own_values = dense(own.own_table.aligned(own.part.columns))
        ids = texts_of(own.own_table)
        self._own_places = {text: row for row, text in enumerate(ids)}
        check_once(len(ids), len(self._own_places))

    def places(self, ids: Sequence[str]) -> Places:
        """Where rows are among the party's own; -1 for one that it does not have."""
        return np.array([self._own_places.get(text, -1) for text in ids], np.int64)


class Answering(Shell[Never]):
    """A passive party's side: tells which way rows go at its own cuts, and nothing else."""

    notes_received = False
    """What was asked is noted in numbers of rows and cuts, with the answer."""

    def __init__(self, own: PartOwner) -> None:
        own.check()
        super().__init__(own.log, list)
        self.own, self.part = own, own.part
        self.models: tuple[str, ...] = (own.part.model,)
        self.ledger = Ledger(own.ledger or own.log)
        self.member = Membership(own.name, own.policy, own.identity)
        self.own_rows = OwnRows(own)
        self.cuts = parts.places(own.part)
        self.n_trees = int(own.part.tree.max(initial=-1)) + 1
        self.n_asked, self.rows = 0, np.empty(0, np.int64)
        self.last = np.empty(0, np.int32)
        """Of each row in each tree, the last cut that was asked about and the way told, as `Part.after` has it.

        Where the part does not know how its cuts lie, the last node.
        """
        self.table = {Propose: self._consent}

    def _take(self, part: Part, models: tuple[str, ...]) -> None:
        """Answer by this part, in which are the cuts of the models with these ids."""
        self.part, self.models = part, models
        self.own_rows = OwnRows(replace(self.own, part=part))
        self.cuts = parts.places(part)
        self.n_trees = int(part.tree.max(initial=-1)) + 1

    def _choose(self, plan: Plan) -> None:
        """Take the part that the plan's model asks for, where there are several."""

    def refusal(self, request: Request) -> ProtocolError:
        """What is said of a request that this party does not answer, or not before it has consented."""
        name = self.member.agreed_plan.method.word
        return ProtocolError(f"The plan of this run, to {name}, does not allow {type(request).__name__}.")

    def _consent(self, request: Propose, _: object) -> Consent:
        plan = Plan.read(request.plan)
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
        for model in self.models:
            self.ledger.predict(model, n, self.own.policy.most_predicted_rows)
        self.n_asked += n
        self.rows = self.own_rows.places(request.ids)
        self.last = np.full(n * self.n_trees, -1, np.int32)
        known = self.rows >= 0
        self.log.note("rows asked about", rows=n, known=int(known.sum()))
        return Known(np.packbits(known, bitorder="little"))

    def _ways(self, request: AskWays, _: object) -> Sides:
        """What becomes known to the active party: which way these rows go at these cuts of own columns."""
        cut, place = self._checked(request)
        where, after = place * self.n_trees + self.part.tree[cut], self.part.after
        if self.part.hidden:
            self._once(place * len(self.part.tree) + cut)
        else:
            self._go_down(where, self.part.node[cut]) if after is None else self._go_on(where, after[cut])
        left = self.part.left(self.own_rows.own_values, cut, self.rows[place])
        if not self.part.hidden:
            self.last[where] = self.part.node[cut] if after is None else 2 * cut + ~left
        self.log.note("ways told", cuts=len(request.tree), ways=len(left))
        return Sides(np.packbits(left, bitorder="little"))

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

    def _checked(self, request: AskWays) -> tuple[Places, Places]:
        """For every row at every cut, the number of the cut and the place of the row among those asked about."""
        sizes = {len(request.tree), len(request.node), len(request.n_rows)}
        if sizes != {len(request.tree)} or not len(request.tree) or (request.n_rows < 1).any():
            raise ProtocolError("The active party's list of cuts is not well formed.")
        asked_for = list(zip(request.tree.tolist(), request.node.tolist(), strict=True))
        if any(place not in self.cuts for place in asked_for):
            raise ProtocolError("The active party asks about a cut that is not in this party's part of the model.")
        if int(request.n_rows.sum(dtype=np.int64)) != len(request.rows):
            raise ProtocolError("The active party's list of cuts is not well formed.")
        place = request.rows.astype(np.int64)
        if (place >= len(self.rows)).any() or (self.rows[place] < 0).any():
            raise ProtocolError("The active party asks about a row that it did not name, or that this party lacks.")
        return np.repeat(np.array([self.cuts[place] for place in asked_for], np.int64), request.n_rows), place
