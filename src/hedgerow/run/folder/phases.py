"""The phases of a run, told from the messages in an audit log: how many bytes and seconds each of them took."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from hedgerow.corridor import messages as m
from hedgerow.run.folder.manifest import RECEIVED, SENT
from hedgerow.storage.audit import OPENED, Line

JOINING, FINDING, PREPARING, GROWING, PREDICTING, ENDING = (
    "joining", "finding common ids", "columns and cuts", "growing trees", "predicting", "handing out the model",
)  # fmt: skip
OTHER = "other"
_KINDS: Mapping[str, tuple[type[m.Request] | type[m.Answer], ...]] = {
    JOINING: (m.Probe, m.Echo, m.Propose, m.Consent, m.Introduce, m.Facts, m.Agree, m.Lead),
    FINDING: (
        m.AskSetSize, m.SetSize, m.BeginBlinding, m.AskBlinded, m.BlindedIds, m.BlindIds, m.MarkCommon, m.Marks,
        m.AskProofs, m.Proofs, m.BeginLink, m.LinkSize, m.LinkIds, m.LinkedIds, m.ShowIds, m.HeldIds, m.LinkCounts,
    ),
    PREPARING: (
        m.AskCounts, m.AskLocalCuts, m.LocalCuts, m.AskMoments, m.AskCommonColumns, m.CommonColumns, m.AskColumns,
        m.OwnColumns, m.NamedColumns, m.ShareColumns, m.AskNoisedCounts,
    ),
    GROWING: (
        m.Begin, m.AskHistograms, m.AskLeafSums, m.FinishRound, m.NextRound, m.FromOpener, m.SealedWords, m.PassSum,
        m.GoOn, m.ToEveryParty, m.RoundGrown, m.AskTrees, m.OwnTrees, m.BeginSealed, m.AskSealedSums, m.SealedSums,
        m.AllowedSums, m.AskSides, m.Sides, m.AskDrawnSides, m.AskHiddenSums, m.AskHiddenSides, m.HiddenSides,
        m.EndRound, m.AskBatch, m.BatchSums, m.BeginNoised, m.AskNoisedSums, m.AskNoisedRoot, m.AskNoisedLevel,
    ),
    PREDICTING: (m.AskKnown, m.Known, m.AskWays, m.BeginScores, m.ScoresReady, m.AskScores, m.Scores),
    ENDING: (m.KeepPart, m.Led, m.Farewell),
}  # fmt: skip
PHASE_OF = {kind.__name__: phase for phase, kinds in _KINDS.items() for kind in kinds}
"""Each message's phase. What is not here, as sums and what only says that it is done, is of the phase it comes in."""


@dataclass
class Phase:
    """What one phase took, by one log: bytes that left and came, and seconds."""

    name: str
    messages: int = 0
    sent: int = 0
    received: int = 0
    seconds: float = 0.0
    """From the message before to each of its messages."""
    answering: float = 0.0
    """At a party that answers: from a request to its answer, which is its own computing."""


def phases(lines: Iterable[Line]) -> list[Phase]:
    """The phases of a log, in the order in which they first come; time between two processes is nobody's."""
    found: dict[str, Phase] = {}
    current, before, asked = JOINING, None, False
    for line in lines:
        if line["event"] == OPENED:
            before = None
        if line["event"] not in (SENT, RECEIVED):
            continue
        current = PHASE_OF.get(str(line.get("type")), current)
        phase = found.setdefault(current, Phase(current))
        at, size = datetime.fromisoformat(str(line["at"])), line.get("bytes")
        gap = 0.0 if before is None else max((at - before).total_seconds(), 0.0)
        phase.seconds += gap
        phase.answering += gap if asked and line["event"] == SENT else 0.0
        phase.messages += 1
        bytes_ = size if isinstance(size, int) else 0
        phase.sent += bytes_ if line["event"] == SENT else 0
        phase.received += bytes_ if line["event"] == RECEIVED else 0
        before, asked = at, line["event"] == RECEIVED
    return list(found.values())
