"""What a data owner counts in sealed predictions: answers about each id, over all models, runs and processes.

Whoever asks for a sealed score seals what it likes, and nobody can look. What it learns about an id is bounded by the
bits for which an answer has room, times the answers: so both are counted here, on disk before an answer is sent, and
for ids that the party does not have exactly alike, or a refusal would tell who is in its table.

Sees in the clear.  Its own file has no id, but a keyed hash of each, the key beside them: who can read the file can
try out ids. What a refusal tells: that answers about one of these ids were used up, perhaps by another active party.
"""

import hashlib
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.policy import AnswerLimits
from hedgerow.errors import ParameterError, PolicyError, RunError
from hedgerow.protocols.session.answer_counts import MOST_CHARGES, NONE, AnswerCounts, Charges
from hedgerow.storage.shared_records import MemoryRecords, SharedRecords

DAY, PARTS, HASH = 86_400, 1000, 8
"""Seconds of a day; bits are counted in thousandths, rounded up, so that sums are exact; bytes of an id's hash."""
MANY, MANY_RECORDS = 1 << 20, 1 << 17
"""Charges, and records of them, that are read at a time."""
MOST = 10**6
"""Answers of a charge, and bits of an answer; more is a mistake."""


class _Charge(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    model: str
    day: int
    answers: int
    bits: int
    """Thousandths of bits, of all these answers."""
    ids: bytes
    """Keyed hashes, eight bytes each; one that is asked about twice is here twice."""


_ENCODER, _DECODER = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder(_Charge)


@dataclass(frozen=True)
class AnswerTotals:
    """Of all charges that still count, or of those of one model."""

    ids: int
    answers: int
    bits: float
    most_answers: int
    """Answers about the id that was asked about most."""
    most_bits: float


@dataclass(frozen=True)
class AnswerSummary:
    """What the ledger holds."""

    limits: AnswerLimits
    total: AnswerTotals
    by_model: dict[str, AnswerTotals]


class AnswerLedger:
    """Counts answers about ids; in the file `path`, which other processes of the owner use too, or in memory."""

    def __init__(self, path: Path | None, limits: AnswerLimits, clock: Callable[[], float] = time.time) -> None:
        self.limits, self._clock = limits, clock
        self._records = MemoryRecords() if path is None else SharedRecords(path)
        self._counts = AnswerCounts()
        self._lock = threading.Lock()
        with self._records.turn() as is_new:  # a file that cannot be used is refused before anyone asks
            self._catch_up(is_new)

    def charge(self, model: str, ids: Sequence[str], answers: int, bits: float) -> None:
        """Count so many answers, of so many bits each, about each of these ids: about all, or it is refused for all.

        When it returns they are on disk, and may be sent; not before.
        """
        if not (1 <= answers <= MOST and 0 < bits <= MOST):
            raise ParameterError(f"{answers} answers of {bits} bits cannot be counted; at least one of some bits can.")
        if not ids:
            return
        each = answers * math.ceil(bits * PARTS)
        with self._lock, self._records.turn() as is_new:
            self._catch_up(is_new)
            hashes = self._hashes(ids)
            refusal = self._refusal(hashes, answers, each)
            if not refusal:
                charge = _Charge(model, self._today, answers, each, hashes.tobytes())
                self._records.add(_ENCODER.encode(charge))
                self._counts.add(_charges([charge]), self._since)
        if refusal:
            raise PolicyError(refusal)

    def summary(self) -> AnswerSummary:
        """What is counted of all ids."""
        charges, names, of_model = self._all()
        by_model = {name: _totals(charges, of_model == i) for i, name in enumerate(names)}
        return AnswerSummary(self.limits, _totals(charges, np.ones(len(of_model), np.bool_)), by_model)

    def counted(self, one: str) -> dict[str, AnswerTotals]:
        """What is counted of one id, by model; for the owner's eyes alone."""
        charges, names, of_model = self._all()
        own = charges.ids == self._hashes([one])[0]
        found = {name: _totals(charges, own & (of_model == i)) for i, name in enumerate(names)}
        return {name: total for name, total in found.items() if total.answers}

    def compact(self) -> int:
        """Write the file anew without the charges that no longer count; returns how many went.

        Only with the longest period of all policies of this owner: what another process still counts must stay.
        """
        kept: dict[tuple[str, int, int, int], bytearray] = {}
        gone = 0
        with self._lock, self._records.turn() as is_new:
            self._catch_up(is_new)
            for one in map(_decoded, self._records.records()):
                if one.day < self._since:
                    gone += len(one.ids) // HASH
                else:
                    kept.setdefault((one.model, one.day, one.answers, one.bits), bytearray()).extend(one.ids)
            self._records.replace(_ENCODER.encode(_Charge(*of, bytes(ids))) for of, ids in kept.items())
        return gone

    def close(self) -> None:
        """Let go of the file."""
        self._records.close()

    @property
    def _today(self) -> int:
        return max(0, int(self._clock() // DAY))

    @property
    def _since(self) -> int:
        """The first day that counts: a charge counts for its whole period, and to the end of the last day."""
        return self._today - self.limits.days

    def _hashes(self, ids: Sequence[str]) -> NDArray[np.uint64]:
        key = self._records.secret
        raw = [hashlib.blake2b(one.encode("utf-8", "surrogatepass"), digest_size=HASH, key=key).digest() for one in ids]
        return np.frombuffer(b"".join(raw), "<u8").astype(np.uint64, copy=False)

    def _catch_up(self, is_new: bool) -> None:
        """Count what other processes have written meanwhile."""
        if is_new:
            self._counts = AnswerCounts()
        for some in _many(self._records.unread()):
            self._counts.add(_charges(some), self._since)

    def _refusal(self, hashes: NDArray[np.uint64], answers: int, each: int) -> str:
        """The rule that these charges would break, in a sentence; empty if there is none."""
        limits, (ids, times) = self.limits, np.unique(hashes, return_counts=True)
        had, had_bits = self._counts.of(ids, self._since)
        if (had + times * answers > limits.most_answers).any():
            what, rule = "answers about an id", f"most_answers_per_id = {limits.most_answers}"
        elif (had_bits + times * each > limits.most_bits * PARTS).any():
            what, rule = "bits about an id", f"most_bits_per_id = {limits.most_bits}"
        elif len(self._counts) + len(hashes) > MOST_CHARGES:
            what, rule = "answers about all ids", f"at most {MOST_CHARGES:,}, which its ledger can hold"
        else:
            return ""
        return f"The run asks for more {what} within {limits.days} days than this party's policy allows ({rule})."

    def _all(self) -> tuple[Charges, list[str], NDArray[np.int64]]:
        """All charges that count, the names of the models, and of which of these each charge is."""
        numbers: dict[str, int] = {}
        parts, models = [], [np.empty(0, np.int64)]
        with self._lock, self._records.turn() as is_new:
            self._catch_up(is_new)
            for some in _many(self._records.records()):
                charges = _charges(some)
                counts = charges.days >= self._since
                of = [numbers.setdefault(one.model, len(numbers)) for one in some]
                parts.append(charges.only(counts))
                models.append(np.repeat(of, [len(one.ids) // HASH for one in some])[counts])
        return NONE.behind(parts), list(numbers), np.concatenate(models)


def answers_beside(ledger: Path) -> Path:
    """Where the ledger of answers is: beside the owner's other ledger."""
    return ledger.with_suffix(".answers")


def _decoded(payload: bytes) -> _Charge:
    try:
        return _DECODER.decode(payload)
    except msgspec.DecodeError:
        raise RunError("The ledger of answers was written by another version of hedgerow; use that version.") from None


def _many(records: Iterable[bytes]) -> Iterator[list[_Charge]]:
    """Records decoded, many at a time."""
    some: list[_Charge] = []
    n = 0
    for one in map(_decoded, records):
        some.append(one)
        n += len(one.ids) // HASH
        if n >= MANY or len(some) >= MANY_RECORDS:
            yield some
            some, n = [], 0
    if some:
        yield some


def _charges(some: list[_Charge]) -> Charges:
    """The charges of some records, an entry for each id."""
    numbers = [len(one.ids) // HASH for one in some]
    return Charges(
        np.frombuffer(b"".join(one.ids for one in some), "<u8").astype(np.uint64, copy=False),
        np.repeat(np.array([one.day for one in some], np.int32), numbers),
        np.repeat(np.array([one.answers for one in some], np.int64), numbers),
        np.repeat(np.array([one.bits for one in some], np.int64), numbers),
    )


def _totals(charges: Charges, which: NDArray[np.bool_]) -> AnswerTotals:
    """The sums over these charges."""
    ids, whose = np.unique(charges.ids[which], return_inverse=True)
    answers, bits = np.zeros((2, len(ids)), np.int64)
    np.add.at(answers, whose, charges.answers[which])
    np.add.at(bits, whose, charges.bits[which])
    most = (int(answers.max(initial=0)), int(bits.max(initial=0)) / PARTS)
    return AnswerTotals(len(ids), int(answers.sum()), int(bits.sum()) / PARTS, *most)
