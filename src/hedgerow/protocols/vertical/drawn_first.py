"""Drawn cuts whose sides are all told before any label is looked at: not even times of messages depend on labels.

    active (drives)                              passive (each)
  every round, every level whose cuts are drawn:
    AskDrawnSides(moves, cuts)  to the owners -->  moves its rows, draws the same cuts of its own columns
                                    <-----------  Sides
    EndRound                        ----------->  its part of the tree is complete
  then the active party grows all trees by itself, and at the end:
    KeepPart(model id, commitment)  ----------->  keeps its part of the model

Sees in the clear.  As `drawn_active`; but whatever passive parties hear of rows is said before a gradient is computed.
                    The one message after that carries a number of trees that the plan has, and a hash with a salt.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec
import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.plan import Plan
from hedgerow.errors import RunError
from hedgerow.model.prepare import growth_of
from hedgerow.model.train import Ready
from hedgerow.protocols.state import Progress
from hedgerow.protocols.vertical.columns import ACTIVE_ONLY, AllColumns
from hedgerow.protocols.vertical.drawn_active import DrawnRows
from hedgerow.protocols.vertical.given_cuts import planned
from hedgerow.protocols.vertical.private_cuts import has_private_model
from hedgerow.protocols.vertical.talk import Talk as Talk
from hedgerow.trees.fixedpoint import Scales
from hedgerow.trees.grow import grow
from hedgerow.trees.local import LocalRows, Sample
from hedgerow.trees.splits import Cuts

Level = dict[str, bytes]
"""The sides that each owner told, as bits."""
_ROUND = msgspec.msgpack.Decoder(list[Level])


def tells_first(plan: Plan) -> bool:
    """Whether a promise needs that all sides are told first."""
    return plan.method.dp is not None and plan.method.draws_cuts


def ask_all_sides(talk: Talk, ready: Ready, joint: AllColumns, progress: Progress) -> None:
    """What becomes known here: sides of all rows at all drawn cuts, of rounds that were not asked about yet."""
    plan, params = talk.group.plan, talk.group.plan.params
    blank = UnlabelledRows.of(ready.rows, ready.fixed.scales)
    kind = AskedEverywhere if has_private_model(plan) else AskedRows
    rows = kind(talk, blank, joint, len(progress.state.drawn))
    whole = planned(growth_of(joint.grid, params, ready.fixed.scales, ready.task.threads), plan, joint, talk.asks)
    growth = replace(whole, max_depth=len(plan.schedule.rstrip(ACTIVE_ONLY)))
    for round_ in range(len(progress.state.drawn), params.n_estimators):
        rows.start_round(round_)
        if rows.now.asked:
            grow(rows, blank.n_trees, round_, growth)
        rows.end_round()
        told = msgspec.msgpack.encode(rows.levels)
        progress.keep(replace(progress.state, drawn=(*progress.state.drawn, told)))


class UnlabelledRows(LocalRows):
    """The rows of a table without their labels: they only go down the trees."""

    @classmethod
    def of(cls, rows: LocalRows, scales: Scales) -> "UnlabelledRows":
        """The same rows; of gradients, of which there are none, the plan's scales are told."""
        own, none = rows.own, np.empty(0, np.float32)
        sample = Sample(own.matrix, none, none, own.keys, np.empty_like(own.scores))
        blank = cls(sample, replace(rows.settings, scales=scales), rows.threads)
        blank.pairs[:] = 0
        return blank

    def start_round(self, round_: int) -> None:
        """All rows are put at the roots; no gradient is computed."""
        self.put_at_roots(round_)


class AskedRows(DrawnRows):
    """Rows whose sides are asked for, and written down."""

    levels: list[Level]
    """What was told in this round."""

    def start_round(self, round_: int) -> None:
        """Nothing is told of it yet."""
        self.levels = []
        super().start_round(round_)

    def _answers(self, asked: Mapping[str, Cuts], most_rows: int) -> dict[str, NDArray[np.uint8]]:
        told = super()._answers(asked, most_rows)
        self.levels.append({party: left.tobytes() for party, left in told.items()})
        return told

    def end_round(self) -> None:
        """The others keep their cuts."""
        self._end_round()


class AskedEverywhere(AskedRows):
    """The same, where nodes are cut whether they have rows or not: a model's shape tells nothing of rows."""

    def divide(self, cuts: Cuts) -> None:  # type: ignore[override]  # as of rows whose number is not told
        """Nobody hears where there are none."""
        super().divide(cuts)


class ToldRows(DrawnRows):
    """Rows whose sides at drawn cuts were told before; from here on nothing is said."""

    def __init__(self, talk: Talk, own: LocalRows, joint: AllColumns, drawn: Sequence[bytes]) -> None:
        super().__init__(talk, own, joint, len(drawn))
        self._rounds = drawn
        self._left: list[Level] = []

    def _begin_run(self) -> None:
        """It has begun."""

    def start_round(self, round_: int) -> None:
        """What was told of it is at hand."""
        self._left = _ROUND.decode(self._rounds[round_])
        super().start_round(round_)

    def _answers(self, asked: Mapping[str, Cuts], most_rows: int) -> dict[str, NDArray[np.uint8]]:  # noqa: ARG002  # they are here
        told = self._left.pop(0) if self._left else {}
        if told.keys() != asked.keys():
            raise RunError("The sides that were kept are not those of these trees; begin the run in another folder.")
        return {party: np.frombuffer(left, np.uint8) for party, left in told.items()}

    def _end_round(self) -> None:
        """It has ended."""
