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

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.plan import Plan
from hedgerow.corridor.frame_hash import sha256_of
from hedgerow.corridor.messages import Answer, MaskedSums, PlainSums, Request
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
        masked = (expected(part, MaskedSums, name).masked_words for name, part in parts.items())
        return masks.unmasked_sum([sized(words, n_words, "words") for words in masked])


class Told:
    """Everything the driver has said to a party in this attempt, as one hash."""

    def __init__(self, plan: Plan) -> None:
        self.chain = hashlib.sha256(b"hedgerow said" + plan.digest).digest()

    def hear(self, frame: bytes) -> None:
        """One more request."""
        self.chain = _hash_of_both(self.chain, sha256_of(frame))

    def forget(self) -> None:
        """From now on nobody else has the same hash, so that no pad made from it cancels another's."""
        self.chain = secrets.token_bytes(len(self.chain))


@lru_cache(maxsize=4)  # parties of one process are told the same
def _hash_of_both(said: bytes, more: bytes) -> bytes:
    """Of all that was said, and one more thing: a request, or in the end those that are summed over, in order."""
    return hashlib.sha256(said + more).digest()


def given(own: Sequence[tuple[NDArray[np.int64], masks.Pads | None]], threads: int) -> list[Answer]:
    """The words of each party as they leave it: masked in place, or plain where it has no pads."""
    masked = iter(masks.mask([(words, pads) for words, pads in own if pads is not None], threads))
    return [PlainSums(words.reshape(-1)) if pads is None else MaskedSums(next(masked)) for words, pads in own]


class Hiding:
    """A party's side: gives its words away only as the plan says."""

    def __init__(
        self, plan: Plan, own_number: int, pair_secrets: Mapping[int, bytes], threads: int, fewest: int
    ) -> None:
        self.plan, self.own_number, self.threads, self.fewest = plan, own_number, threads, fewest
        self.pair_secrets = pair_secrets
        self._set: tuple[int, ...] = ()
        """The set of parties last summed over, and what is made of it below."""

    def pads(self, parties: tuple[int, ...], told: Told) -> masks.Pads | None:
        """What hides this party's part of the sum over these parties; nothing where plain sums were accepted."""
        if self._set != parties:
            self._check(parties)
            self._set = parties
            peers = [p for p in parties if p != self.own_number]
            joined = b"".join(self.pair_secrets[p] for p in peers) if self.pair_secrets else b""
            self._secrets = np.frombuffer(joined, np.uint8).reshape(-1, masks.KEY_BYTES)
            self._subtract = np.array([p < self.own_number for p in peers], np.bool_)
            self._numbers = np.array(sorted(parties), "<u4").tobytes()
        if self.plan.method.plain:
            return None
        return masks.Pads(self._secrets, self._subtract, _hash_of_both(told.chain, self._numbers))

    def _check(self, parties: Sequence[int]) -> None:
        if self.own_number not in parties or len(set(parties)) != len(parties):
            raise ProtocolError("A sum was asked for over parties that are not as the plan says.")
        if self.plan.method.plain:
            return
        if len(parties) < self.fewest:
            raise PrivacyError(
                f"A sum over {len(parties)} parties would show one party's part; at least {self.fewest} must take part."
            )
        if any(p not in self.pair_secrets for p in parties if p != self.own_number):
            raise PrivacyError("A sum was asked for with a party that was never introduced.")
