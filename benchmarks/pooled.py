"""Pooled training and prediction beside XGBoost's hist trees: same threads, bins, depth, trees and learning rate."""

import sys
from collections.abc import Iterator
from dataclasses import replace

from benchmarks.measure import Outcome, race, score_of
from benchmarks.peak import can_measure, peak_mib
from benchmarks.rows import AtLeast, NotBelowPeer, RatioAtMost, Row
from benchmarks.sets import SETS, DataSet, Split
from benchmarks.settings import Request

FULL = ("a9a", "cod-rna", "credit1", "credit2", "mnist", "generated-5m")
QUICK = ("a9a", "credit2", "generated-300k")

METRICS = {"mnist": "accuracy"}  # the others: AUC
PAIRS = {"mnist": 1, "generated-5m": 2}  # the others: 3
TRAIN_BAR = {"a9a", "credit2", "mnist", "generated-5m"}
MEMORY_BAR = {"generated-5m"}

SAME_SCORE = NotBelowPeer(0.002)
SAME_TIME = RatioAtMost(1.5)
SAME_MEMORY = RatioAtMost(1.0)
PUBLISHED_A9A = AtLeast(0.9020)

CURVE_SETS = {"a9a", "credit1", "credit2"}
CURVE_BITS = (4, 5, 6, 7, 8, 9, 10, 12, 16, 20)
QUICK_BITS = (7, 10)
BARRED_BITS = range(7, 11)


def run(request: Request) -> Iterator[Row]:
    """The rows of every set asked for, as they come."""
    for name in request.sets:
        yield from rows_of(SETS[name], request)


def rows_of(data: DataSet, request: Request) -> Iterator[Row]:
    """Score, times, memory and the curve over gradient bits of one set."""
    if data.name in MEMORY_BAR:
        yield from memory(data, request)
    split = data.load()
    pairs = 1 if request.quick else PAIRS.get(data.name, 3)
    ours, peer = race(request.ours, request.peer, request.settings, split, pairs)
    yield from side_by_side(data, ours, peer)
    if data.name in CURVE_SETS:
        yield from curve(data, split, peer.score, request)


def side_by_side(data: DataSet, ours: Outcome, peer: Outcome) -> Iterator[Row]:
    """Score and seconds of both seats."""
    name, origin = data.name, data.origin
    yield Row(f"{name}: {METRICS.get(name, 'AUC')}", origin, ours.score, peer.score, SAME_SCORE)
    if name == "a9a":
        yield Row("a9a: AUC as published", origin, ours.score, bar=PUBLISHED_A9A)
    train_bar = SAME_TIME if name in TRAIN_BAR else None
    yield Row(f"{name}: train s", origin, ours.train_seconds, peer.train_seconds, train_bar, busier(ours, peer))
    yield Row(f"{name}: predict s", origin, ours.predict_seconds, peer.predict_seconds, SAME_TIME)


def busier(ours: Outcome, peer: Outcome) -> float | None:
    """How busy others kept the machine during the less quiet of both fits."""
    return max((each for each in (ours.others_cores, peer.others_cores) if each is not None), default=None)


def memory(data: DataSet, request: Request) -> Iterator[Row]:
    """Peak memory of a fit in each seat, the table included."""
    if not can_measure():
        print("Left out, for only Linux tells it: peak memory.", file=sys.stderr)
        return
    ours, peer = (peak_mib(seat, data.name, request.settings) for seat in (request.ours, request.peer))
    yield Row(f"{data.name}: peak MiB", data.origin, ours, peer, SAME_MEMORY)


def curve(data: DataSet, split: Split, peer_score: float, request: Request) -> Iterator[Row]:
    """Our score as gradients are kept in fewer bits, beside the peer's one score."""
    for bits in QUICK_BITS if request.quick else CURVE_BITS:
        ours = score_of(request.ours, replace(request.settings, gradient_bits=bits), split)
        bar = SAME_SCORE if bits in BARRED_BITS else None
        yield Row(f"{data.name}: AUC at {bits} bits", data.origin, ours, peer_score, bar)
