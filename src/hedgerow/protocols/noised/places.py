"""The releases of a run in order, as the driver and every party work them out by themselves."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from hedgerow.trees.noised.greedy_rule import GreedySchedule
from hedgerow.trees.noised.rule import Opening, Planned, Schedule

Kind = Literal["rows", "cuts", "bins", "additive", "leaves", "root", "level", "ends"]
Part = tuple[Kind, Planned]


@dataclass(frozen=True)
class Place:
    """One release: its number in the run, and what is summed in which round of its kind."""

    number: int
    kind: Kind
    round: int
    planned: Planned
    """The noise of it alone."""

    @property
    def key(self) -> str:
        """What a ledger knows it by."""
        return f"{self.number} {self.planned.what} {self.round}"


def opening_places(opening: Opening) -> tuple[Place, ...]:
    """The releases before the schedule is known."""
    return _numbered(_opening(opening))


def places(schedule: Schedule) -> tuple[Place, ...]:
    """All releases."""
    return _numbered([*_opening(schedule.opening), *_rounds(schedule)])


def greedy_places(schedule: GreedySchedule) -> tuple[Place, ...]:
    """All releases of greedy trees: of every round its levels, of which the last may be left out, then its leaves."""
    opened, depth = opening_places(schedule.opening), schedule.max_depth
    root: list[tuple[Kind, int, Planned]] = [] if schedule.root is None else [("root", 0, schedule.root)]
    grown: list[tuple[Kind, int, Planned]] = []
    for round_ in range(schedule.n_trees):
        grown += [("level", round_ * depth + level, replace(schedule.level, times=1)) for level in range(depth)]
        grown.append(("ends", round_, replace(schedule.leaves, times=1)))
    later = [Place(len(opened) + number, *one) for number, one in enumerate([*root, *grown])]
    return (*opened, *later)


def _numbered(parts: list[Part]) -> tuple[Place, ...]:
    every = [(kind, i, replace(planned, times=1)) for kind, planned in parts for i in range(planned.times)]
    return tuple(Place(number, *one) for number, one in enumerate(every))


def _opening(opening: Opening) -> list[Part]:
    cuts: list[Part] = [] if opening.cuts is None else [("cuts", opening.cuts)]
    return [("rows", opening.rows), *cuts]


def _rounds(schedule: Schedule) -> Iterator[Part]:
    if schedule.additive is not None:
        yield "bins", schedule.additive.counts
        yield "additive", schedule.additive.gradients
    if schedule.trees is not None:
        yield "leaves", schedule.trees.leaves
