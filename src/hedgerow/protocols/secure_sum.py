"""Sums over all parties, of which nobody sees a part.

    driver                            party (each)
    any request     ------------->    own words + pads shared with every other party of the request
                    <-------------    MaskedSums
    adds the words of all: the pads cancel

Sees in the clear.  Driver: the sum over the parties named in the request, and nothing if one part is missing.
                    Party: its own words.  Nobody: another party's words (of two parties, each learns the other's).

Pads are keyed by the secret of the pair and a hash of everything the driver has said so far, the request included:
parties that were told different things have pads that do not cancel, and no pad is used for two requests.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.plan import Plan
from hedgerow.corridor.messages import Answer, MaskedSums, NoisedSums, PlainSums, Request
from hedgerow.corridor.wire import sized
from hedgerow.errors import PrivacyError, ProtocolError
from hedgerow.privacy import masks
from hedgerow.protocols.session.group import ROOM, PartyGroup, expected


class SummingGroup(PartyGroup):
    """The driver's side: parties whose words are added up."""

    def opened_sum(self, request: Request, n_words: int, parties: Sequence[int]) -> NDArray[np.int64]:
        """The sum of these parties' words; the others hear the request too, and say nothing.

        What becomes known here: the sum. If a part is missing, nothing. Where the run goes on after a loss, that of a
        party whose part was not asked for does not keep the sum closed: asking again would open it for two sets.
        """
        answers, names = self.answers(request, 8 * n_words + ROOM, parties), self.plan.names
        parts = {names[i]: answers[names[i]] for i in parties}
        if self.plan.method.plain:
            plain = (expected(part, PlainSums, name).words for name, part in parts.items())
            return np.asarray(sum(sized(words, n_words, "words") for words in plain))
        hidden = (_hidden_words(part, name, self.plan.method.promises_dp) for name, part in parts.items())
        return masks.unmasked_sum([sized(words, n_words, "words") for words in hidden])


def _hidden_words(answer: Answer, party: str, must_be_noised: bool) -> NDArray[np.uint64]:
    """A party's words under masks; without noise they are refused where the plan promises noise."""
    if must_be_noised or isinstance(answer, NoisedSums):
        return expected(answer, NoisedSums, party).noised_words
    return expected(answer, MaskedSums, party).masked_words


class Unhidden(NamedTuple):
    """A party's words that are ready to leave but for what hides them."""

    words: NDArray[np.int64]
    pads: masks.Pads | None
    """None where plain sums were accepted."""
    noised: bool = False
    """Whether the party's share of noise is in them."""


def given(own: Sequence[Unhidden], threads: int) -> list[Answer]:
    """The words of each party as they leave it: masked in place, or plain where it has no pads."""
    masked = iter(masks.mask([(each.words, each.pads) for each in own if each.pads is not None], threads))

    def answer(each: Unhidden) -> Answer:
        if each.pads is None:
            return PlainSums(each.words.reshape(-1))
        return NoisedSums(next(masked)) if each.noised else MaskedSums(next(masked))

    return [answer(each) for each in own]


class SumRules(NamedTuple):
    """A party's side: whom it may be summed with."""

    plan: Plan
    own_number: int
    introduced: tuple[int, ...]
    fewest: int
    """Parties that a sum must be over, by the plan and the owner's policy."""

    def check(self, parties: Sequence[int]) -> None:
        """Refuse a sum over too few parties, or over others than were introduced."""
        if self.own_number not in parties or len(set(parties)) != len(parties):
            raise ProtocolError("A sum was asked for over parties that are not as the plan says.")
        if self.plan.method.plain:
            return
        if len(parties) < self.fewest:
            raise PrivacyError(
                f"A sum over {len(parties)} parties would show one party's part; at least {self.fewest} must take part."
            )
        if any(p not in self.introduced for p in parties):
            raise PrivacyError("A sum was asked for with a party that was never introduced.")
