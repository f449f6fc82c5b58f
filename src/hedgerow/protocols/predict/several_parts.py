"""A passive party's side where rows are predicted by the models of several active parties.

`several_models` has the conversation.

Sees in the clear.  As with one model: the ids of the rows, and which of them come to which of its own cuts. Beside
                    that, of which active parties the models are by which rows are predicted.
"""

from dataclasses import replace

from hedgerow.agreement.options import BaggedModel, Prediction
from hedgerow.agreement.plan import Plan
from hedgerow.errors import ModelError, PolicyError, ProtocolError
from hedgerow.model.bagged_part import bagged_part
from hedgerow.model.part import Part
from hedgerow.protocols.predict.own_part import PartOwner
from hedgerow.protocols.predict.passive import Answering


class AnsweringAll(Answering):
    """Tells which way rows go at its own cuts, in whichever of its models the active party predicts by."""

    def __init__(self, own: PartOwner, more: tuple[Part, ...] = (), expected: Plan | None = None) -> None:
        """`more` are parts of further models; `expected` the owner's plan, but for the models predicted by."""
        for part in more:
            replace(own, part=part).check()
        ids = [part.model for part in (own.part, *more)]
        if len(set(ids)) < len(ids):
            raise ModelError("Two of the parts are of one model; give one part of each.")
        self.parts, self.expected = (own.part, *more), expected
        super().__init__(own)

    def _choose(self, plan: Plan) -> None:
        known, method = self.expected, plan.method
        if known is not None and not (
            isinstance(method, Prediction)
            and replace(plan, method=known.method) == known
            and plan.active == known.active
        ):
            raise PolicyError("The driver's plan is not the one this party knows; compare the run files of both sides.")
        if isinstance(method, Prediction) and method.bagged:
            self._choose_some(method.bagged)
        else:
            for part in self.parts:
                if part.model == method.model:
                    self._take(part, (part.model,))

    def _choose_some(self, models: tuple[BaggedModel, ...]) -> None:
        """Take all parts of these models at once; none, where none is of them, which is then refused."""
        ids, have = {one.model for one in models}, {part.model for part in self.parts}
        for one in models:
            if self.own.name in one.parties and one.model not in have:
                raise ProtocolError(
                    f"The active party predicts by the model of {one.active!r} too, of which no part was given here; "
                    "give every part of these models with --part, or let the active party leave that model out."
                )
        given = [part for part in self.parts if part.model in ids]
        if given:
            self._take(bagged_part(given, models), tuple(part.model for part in given))
