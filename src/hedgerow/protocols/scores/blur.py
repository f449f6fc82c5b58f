"""Blur of sealed scores: an owner moves each score at random before it is told, as far as its policy says.

Sums are taken modulo the scores' prime, so one that is moved beyond the end of the range would come out at the other
end. The prime has room for an eighth of the largest score beyond either end (`FixedScores.reach`); what all owners that
are asked blur together must stay within it. The active party checks that, since it alone knows the largest score.

Sees in the clear.  Active: how far each owner blurs at most; scores that are off by that much at most.
"""

import secrets
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.options import SealedPrediction
from hedgerow.errors import PolicyError
from hedgerow.model.fixed_scores import BLUR_PART, FixedScores
from hedgerow.protocols.scores.pads import uniform

THOUSAND = 1000


def blur_width(method: SealedPrediction, permille: int) -> int:
    """How far a blur of so many thousandths of the largest score moves a score at most, to either side.

    Owners do not know the largest score, and take the one that the plan's prime is made for.
    """
    return _largest(method) * permille // THOUSAND


def blurred(rows: int, method: SealedPrediction, permille: int) -> NDArray[np.int64]:
    """Uniform noise for every row and score, up to the blur's width to either side, drawn anew."""
    most = blur_width(method, permille)
    drawn = uniform(secrets.token_bytes(32), rows * method.scores, 2 * most + 1) - most
    return drawn.reshape(rows, method.scores)


def check_blur(method: SealedPrediction, fixed: FixedScores, blurs: Mapping[str, int]) -> None:
    """Refuse, at the active party, owners that together blur scores further than there is room for."""
    room = method.modulus // 2 - fixed.largest
    if sum(blur_width(method, permille) for permille in blurs.values()) > room:
        names = " and ".join(repr(name) for name, permille in blurs.items() if permille)
        raise PolicyError(
            f"By the policy of {names} scores are blurred by {sum(blurs.values())} thousandths of the largest score, "
            f"and beyond {room * THOUSAND // _largest(method)} one could come out at the other end of its range; ask "
            "for a smaller blur_permille."
        )


def _largest(method: SealedPrediction) -> int:
    """The largest score for which the plan's prime was chosen, or a little more."""
    return method.modulus // 2 * BLUR_PART // (BLUR_PART + 1)
