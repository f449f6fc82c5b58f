"""Contenders in turn: the machine is shared, so each fits once a round and the median of its seconds counts."""

import gc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.measure import timed
from benchmarks.quiet import Neighbours

Contenders = Mapping[str, Callable[[], Any]]


@dataclass(frozen=True)
class Taken:
    """What one contender made, the median of its seconds, and of the cores that others kept busy meanwhile."""

    made: Any
    seconds: float
    others: float | None


def take_turns(contenders: Contenders, rounds: int) -> dict[str, Taken]:
    """Every contender once in each round, in order."""
    turns = [{name: turn(fit) for name, fit in contenders.items()} for _ in range(rounds)]
    return {name: middle([each[name] for each in turns]) for name in contenders}


def turn(fit: Callable[[], Any]) -> Taken:
    """One fit."""
    gc.collect()
    with Neighbours() as neighbours:
        seconds, made = timed(fit)
    return Taken(made, seconds, neighbours.cores)


def middle(turns: list[Taken]) -> Taken:
    """The medians of all turns; every fit of a contender gives one forest."""
    others = [each.others for each in turns if each.others is not None]
    return Taken(turns[-1].made, median(each.seconds for each in turns), median(others) if others else None)


def busier(*taken: Taken) -> float | None:
    """How busy others kept the machine during the least quiet of these."""
    return max((each.others for each in taken if each.others is not None), default=None)
