"""Alternating timings: the machine is shared, so both seats take turns and each keeps its best."""

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.quiet import Neighbours
from benchmarks.seats import SEATS
from benchmarks.sets import Split
from benchmarks.settings import Settings

REPEAT_SECONDS = 0.5
LEAST_REPEATS, MOST_REPEATS = 5, 20

T = TypeVar("T")


@dataclass(frozen=True)
class Outcome:
    """Seconds one seat took, how well it predicted, and how many cores others kept busy while it trained."""

    train_seconds: float
    predict_seconds: float
    score: float
    others_cores: float | None


def race(ours: str, peer: str, settings: Settings, split: Split, pairs: int) -> tuple[Outcome, Outcome]:
    """Both seats in turn: ours, peer, ours, peer, after a small unmeasured round that loads and starts everything."""
    small = Split(split.X_train[:2000], split.y_train[:2000], split.X_test[:100], split.y_test[:100])
    for seat in (ours, peer):
        SEATS[seat](settings).fit(small.X_train, small.y_train).predict_proba(small.X_test)
    turns = [(attempt(ours, settings, split), attempt(peer, settings, split)) for _ in range(pairs)]
    return best([mine for mine, _ in turns]), best([theirs for _, theirs in turns])


def attempt(seat: str, settings: Settings, split: Split) -> Outcome:
    """One fit from arrays to forest, and the best of a few predictions of the test rows."""
    gc.collect()
    learner = SEATS[seat](settings)
    with Neighbours() as neighbours:
        train_seconds, _ = timed(lambda: learner.fit(split.X_train, split.y_train))
    predict_seconds, probabilities = timed(lambda: learner.predict_proba(split.X_test))
    spent, repeats = predict_seconds, 1
    while repeats < LEAST_REPEATS or (spent < REPEAT_SECONDS and repeats < MOST_REPEATS):
        seconds, _ = timed(lambda: learner.predict_proba(split.X_test))
        spent, repeats, predict_seconds = spent + seconds, repeats + 1, min(predict_seconds, seconds)
    return Outcome(train_seconds, predict_seconds, score(split.y_test, probabilities), neighbours.cores)


def score_of(seat: str, settings: Settings, split: Split) -> float:
    """How well one seat predicts, without timings."""
    learner = SEATS[seat](settings).fit(split.X_train, split.y_train)
    return score(split.y_test, learner.predict_proba(split.X_test))


def timed(call: Callable[[], T]) -> tuple[float, T]:
    """Seconds a call takes, and its result."""
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def score(y: Any, probabilities: Any) -> float:
    """AUC for two classes, accuracy for more; labels count from 0, so that a class is its column."""
    if probabilities.shape[1] == 2:
        return float(roc_auc_score(y, probabilities[:, 1]))
    return float(np.mean(np.argmax(probabilities, axis=1) == y))


def best(outcomes: list[Outcome]) -> Outcome:
    """The turn that trained fastest, with the least prediction time of all; every fit of a seat gives one forest."""
    fastest = min(outcomes, key=lambda each: each.train_seconds)
    return replace(fastest, predict_seconds=min(each.predict_seconds for each in outcomes))
