"""What a horizontal run with encryption will cost: the requests of a masked run, sealed and passed through the opener.

Sealed sums are reckoned by what the cipher makes of them. What the opener alone gets and sends is spread over all
parties.
"""

from collections.abc import Iterable, Iterator
from math import ceil

from hedgerow.agreement.ciphers import key_bytes
from hedgerow.agreement.plan import Plan
from hedgerow.corridor import messages as m
from hedgerow.protocols.opener.packing import HEAD, SealedVector, word_bits
from hedgerow.run.forecast.line import Line

SIGNATURE, LEAD, WORD = 72, 64, 8
TREES = 3
"""Bytes of a round's trees, for one of its leaves and their values."""
KINDS = {kind.__name__: kind for kind in (m.AskCounts, m.AskMoments, m.AskHistograms, m.AskLeafSums, m.FinishRound)}


def through_opener(plan: Plan, lines: Iterable[Line]) -> Iterator[Line]:
    """These messages with one party that opens the sums; requests come each before its answer."""
    rounds, share = plan.params.n_estimators, 1 / len(plan.members)
    key, new = key_bytes(plan), {"AskCounts": 1, "AskHistograms": rounds}
    request, trees = Line("", 0, 0), 0.0
    yield Line("Lead", 1, LEAD * share, trip=True)
    for line in lines:
        if line.trip:
            request = line
            trees = TREES * line.n_bytes if line.message == "FinishRound" else trees
            n_bytes = line.n_bytes + line.times * SIGNATURE + new.get(line.message, 0) * key
            yield Line("FromOpener", line.times, n_bytes, trip=True)
            yield Line("ToEveryParty", line.times, n_bytes * share)
        elif line.message == "SealedWords":
            yield from _sealed(plan, request.message, line)
        else:
            yield line
            yield Line("PassSum", line.times, line.times * share, trip=True)
    yield Line("RoundGrown", rounds, trees * share)
    yield Line("GoOn", rounds, rounds * share, trip=True)
    yield Line("Led", 1, WORD * share)


def _sealed(plan: Plan, request: str, answer: Line) -> Iterator[Line]:
    """As many words in every request of a kind as in the mean one."""
    words = max(1, ceil(answer.n_bytes / WORD / max(answer.times, 1)))
    vector = SealedVector(plan, words, word_bits(plan, KINDS[request]))
    yield Line("SealedWords", answer.times, answer.times * (vector.most_bytes() - HEAD))
    passed = answer.times * (vector.most_bytes(added=True) - HEAD) / len(plan.members)
    yield Line("PassSum", answer.times, passed, trip=True)
