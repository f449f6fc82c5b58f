"""The opener's own side: it does the driver's work, asking through the driver, and opens the sums that come back.

`opener` has the conversation. The work is the same code that a driver runs with masks (`cut_points`, `horizontal`,
`horizontal/train`); only its group differs. It runs in a thread of its own, because it asks while the party only
answers: the two take turns and never run at the same time.

Sees in the clear.  The sums over all parties, from which it chooses. It gives away the choices.
"""

import weakref
from collections.abc import Sequence

from hedgerow.agreement.plan import Plan
from hedgerow.corridor.messages import Answer, Begin, GoOn, Lead, Led, PassSum, RoundGrown
from hedgerow.corridor.wire import decode_request
from hedgerow.errors import ProtocolError
from hedgerow.identity.identity import Identity
from hedgerow.model.file import MOST_BYTES
from hedgerow.protocols.columns import Common, loss_of
from hedgerow.protocols.horizontal import cut_points
from hedgerow.protocols.horizontal.prepare import forest_of, trees_of
from hedgerow.protocols.horizontal.train import begin_of, boosted, rows_of, start_of
from hedgerow.protocols.opener.relay import OPENER, signed
from hedgerow.protocols.opener.relayed_group import RelayedGroup, RequestTurns
from hedgerow.trees.boost import Round
from hedgerow.trees.forest import Forest


class OpenerDriver:
    """The opener's work in one attempt, for as long as the party holds on to it."""

    def __init__(self, plan: Plan, present: Sequence[int], identity: Identity, attempt: int, threads: int) -> None:
        def sign(request: bytes, key: bytes) -> bytes:
            return identity.sign(OPENER, signed(plan, attempt, request, key))

        self.group = RelayedGroup(plan, present, sign, threads)
        self.turns: RequestTurns | None = None

    def begin(self, lead: Lead, shared: Common) -> Answer:
        """The first thing to be asked."""
        if self.turns is not None:
            raise ProtocolError("The driver lets the opener begin twice.")
        group = self.group

        def work(turns: RequestTurns) -> Led:
            group.turns = turns
            try:
                return _led(group, turns, lead, shared)
            finally:
                group.own_secret = None

        self.turns = RequestTurns(work)
        weakref.finalize(self, self.turns.leave)
        return self.turns.first()

    def go_on(self, request: PassSum | GoOn) -> Answer:
        """The next thing to be asked, or the trees of a round."""
        if self.turns is None:
            raise ProtocolError("The driver goes on before it has let the opener begin.")
        return self.turns.hand(request)

    def check(self, request: bytes) -> None:
        """Refuse what is passed on as this party's request and is not."""
        if request != self.group.said:
            raise ProtocolError("The driver passes on another request than the opener's last.")


def _led(group: RelayedGroup, turns: RequestTurns, lead: Lead, shared: Common) -> Led:
    """Everything from counts to the last tree."""
    plan, loss = group.plan, loss_of(group.plan, shared.classes)
    trees = Forest.empty()
    if lead.begin:
        begin = decode_request(lead.begin, MOST_BYTES)
        if not isinstance(begin, Begin):
            raise ProtocolError("The driver goes on after something that is no beginning.")
        start, trees = start_of(begin, shared.columns, plan), forest_of(begin.forest, shared.columns, loss.n_trees)
    else:
        start = cut_points.start(group, shared, loss)
    group.say(begin_of(start, trees))
    rows = rows_of(group, loss, start)
    grown, clipped = [Forest.empty()], 0

    def hand_out(complete: bool, value: float | None, best: int | None) -> bool:
        nonlocal clipped
        more, clipped = rows.clipped > clipped, rows.clipped
        told = turns.take(RoundGrown(trees_of(grown.pop()), complete, value, best, more))
        grown.append(Forest.empty())
        if not isinstance(told, GoOn):
            raise ProtocolError("The driver does not tell whether to go on after a round.")
        return told.stop

    def before_values(new: Forest) -> None:
        grown[0] = new
        if rows.closed:  # the sums it was grown from cannot be had again
            hand_out(False, None, None)

    def keep_losses() -> None:
        hand_out(False, None, None)  # the driver keeps who is left, and the trees if they are complete

    rows.losses.keep = keep_losses

    def after_round(told: Round) -> bool:
        return hand_out(True, told.value, told.best)

    done = boosted(
        rows,
        loss,
        start,
        group.threads,
        callbacks=[after_round],
        before=trees,
        history=tuple(lead.history.tolist()),
        before_values=before_values,
    )
    return Led(done.forest.n_trees)
