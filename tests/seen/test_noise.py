"""Frames as they leave a party: masked words are noise, and no sum, gradient, label or score is in them."""

import hashlib

import numpy as np
import pytest

from federated import Federation, labels, params_of, values
from hedgerow.agreement.plan import Goal
from hedgerow.corridor.messages import MaskedSums
from hedgerow.data import partition
from hedgerow.privacy import masks
from hedgerow.protocols import secure_sum
from hedgerow.protocols.horizontal.batch import PendingSums
from statistics_of_noise import looks_like_noise
from unpadded import leave_unpadded, note_own_sums, unpadded

WINDOW = 16
"""Bytes of private data in a row that count as found: two sums, two gradient pairs, four labels."""


def federation(protection="masked", kind="numbers"):
    X, signal = values(400, n_columns=6)
    goal = Goal("squared") if kind == "numbers" else Goal()
    parties = partition.rows(X, labels(kind, signal), 3)
    return Federation(parties, params_of(min_cut_rows=1, max_bin=64), goal, protection=protection)


def words_of(heard):
    return np.concatenate([one.message.masked_words for one in heard])


def test_every_partys_masked_words_are_noise():
    fed = federation()
    fed.model()
    for name in fed.parties:
        assert looks_like_noise(words_of([one for one in fed.of("MaskedSums") if one.sender == name]))
    assert looks_like_noise(words_of(fed.of("MaskedSums")))


def test_without_pads_they_are_not(monkeypatch):
    """The sabotage."""
    leave_unpadded(monkeypatch)
    fed = federation()
    fed.model()
    assert not looks_like_noise(words_of(fed.of("MaskedSums")))


def test_with_one_word_for_all_they_are_not(monkeypatch):
    """The sabotage as a known library has it: one word covers every bin of an answer, and cancels in the sum."""

    def scalar(own, threads):
        out = unpadded(own, threads)
        for i, (_, pads) in enumerate(own):
            for secret, is_taken in zip(pads.pair_secrets, pads.subtract, strict=True):
                pad = np.frombuffer(hashlib.sha256(bytes(secret) + pads.said).digest()[:8], np.uint64)
                out[i] = out[i] - pad if is_taken else out[i] + pad
        return out

    expected = federation().model()
    monkeypatch.setattr(masks, "mask", scalar)
    monkeypatch.setattr(PendingSums, "by_kernel", False)  # sums are hidden as other words are
    fed = federation()
    assert fed.model().forest == expected.forest
    longest = max((one.message.masked_words for one in fed.of("MaskedSums")), key=len)
    assert not looks_like_noise(longest)


# Searching


def windows(raw: bytes, step: int) -> set[bytes]:
    """Every stretch of private bytes that is not a repetition of one byte or of one item."""
    found = (raw[i : i + WINDOW] for i in range(0, len(raw) - WINDOW + 1, step))
    return {part for part in found if len(set(part)) > 4}


def private(fed, own_words):
    """What nobody but its owner may see: sums, gradients, labels and scores, as they lie in memory."""
    kinds = {"sums": set().union(*(windows(words.tobytes(), 8) for words in own_words))}
    kinds["gradients"], kinds["labels"], kinds["scores"] = set(), set(), set()
    for party in fed.parties.values():
        rows = party.steps.growing.rows
        kinds["gradients"] |= windows(rows.pairs.tobytes(), 8)
        kinds["labels"] |= windows(rows.own.labels.tobytes(), 4)
        kinds["scores"] |= windows(rows.own.scores.tobytes(), 4) | windows(
            (rows.own.scores - rows.own.labels).tobytes(), 4
        )
    return kinds


def found(needles: set[bytes], frames) -> int:
    """How many stretches of private bytes occur in frames, at any place."""
    begins = np.array([int.from_bytes(needle[:8], "little") for needle in needles], np.uint64)
    seen = set()
    for frame in frames:
        hay = np.frombuffer(frame + bytes(16), np.uint8)
        eights = np.lib.stride_tricks.sliding_window_view(hay, 8)[: len(frame)]
        for at in np.flatnonzero(np.isin(np.ascontiguousarray(eights).view(np.uint64)[:, 0], begins)):
            seen.add(frame[at : at + WINDOW])
    return len(needles & seen)


def searched(monkeypatch, protection="masked", leak=None, sabotage=None):
    """What was found of each kind in the frames that left the parties."""
    own_words = []
    given = secure_sum.given

    def noted(own, threads):
        own_words.extend(
            np.array(each.words) for each in own if len(each.words) > 20
        )  # not counts of one or two things
        return given(own, threads)

    monkeypatch.setattr(secure_sum, "given", noted)
    note_own_sums(monkeypatch, own_words)
    if sabotage is not None:
        sabotage(monkeypatch)
    fed = federation(protection)
    fed.model()
    frames = [one.frame for one in fed.heard if one.sender != "driver"]
    if leak is not None:
        frames.append(leak(fed))
    return {kind: found(needles, frames) for kind, needles in private(fed, own_words).items()}


def test_no_sum_gradient_label_or_score_leaves_a_party(monkeypatch):
    assert searched(monkeypatch) == {"sums": 0, "gradients": 0, "labels": 0, "scores": 0}


def test_plain_sums_are_found(monkeypatch):
    """The search works: sums are there where the plan says so."""
    counts = searched(monkeypatch, "plain")
    assert counts.pop("sums") > 100
    assert set(counts.values()) == {0}


@pytest.mark.parametrize(
    ("kind", "leak"),
    [
        ("gradients", lambda fed: fed.parties["party1"].steps.growing.rows.pairs.tobytes()),
        ("labels", lambda fed: fed.parties["party1"].steps.growing.rows.own.labels.tobytes()),
        ("scores", lambda fed: fed.parties["party1"].steps.growing.rows.own.scores.tobytes()),
    ],
)
def test_a_leak_of_another_kind_would_be_found(monkeypatch, kind, leak):
    """The sabotage: a frame that carries the bytes behind an odd byte."""
    assert searched(monkeypatch, leak=lambda fed: b"\x01" + leak(fed))[kind] > 20


def test_sums_in_answers_called_masked_would_be_found(monkeypatch):
    """The sabotage: an answer of the right type without pads."""
    assert searched(monkeypatch, sabotage=leave_unpadded)["sums"] > 100
    assert MaskedSums.__struct_fields__ == ("masked_words",)
