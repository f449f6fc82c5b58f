"""The accuracy tables of the HybridTree paper: 1, 3, 6, 9, 10 and 12, ours beside theirs.

HybridTree itself (`5+2`) and what it is compared with begin at a score of 0, as the paper's trees do; the default of
hybrid runs (`shared`) at the mean label, as all models here do unless told otherwise.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np

from benchmarks.horizontal_rows import Figure, Line
from benchmarks.hybrid_published import TABLE_1, TABLE_3, TABLE_6, TABLE_9, TABLE_10, TABLE_12, Published
from benchmarks.hybrid_runs import Trial
from benchmarks.hybrid_sets import SETS as SETS
from benchmarks.hybrid_sets import HybridSet, Pair
from benchmarks.kept import Found, kept
from benchmarks.settings import Request
from hedgerow.data.hybrid_partition import HybridTables
from hedgerow.run.file.hybrid_tables import joined

FULL = tuple(SETS)
QUICK = ("cod-rna", "adult-20")

SEEDS, QUICK_SEEDS = range(3), range(1)
ACTIVE_PARTIES = 5
SHARES = (0.2, 0.5, 0.8, 1.0)
DEPTHS = tuple(TABLE_9)
EXTRA = 0.05
"""Each passive party has up to a twentieth of all rows beside its own."""


@dataclass(frozen=True)
class PaperTable:
    """One of them, as a part of the benchmark."""

    lines: Callable[[HybridSet, Request], Iterator[Line]]
    """Of one set."""
    full: tuple[str, ...] = FULL
    quick: tuple[str, ...] = QUICK

    def run(self, request: Request) -> Iterator[Line]:
        """The lines of the sets asked for that this table has."""
        for name in request.sets:
            if name in self.full:
                yield from self.lines(SETS[name], request)


def run(request: Request) -> Iterator[Line]:
    """All lines, table by table."""
    for table in TABLES.values():
        yield from table.run(request)


def line(sheet: str, data: HybridSet, request: Request, measure: Any, said: Published, name: str = "") -> Line:
    """Means over the seeds, theirs beside them; the row's own figure is that of our default, its peer's pooled."""
    mean = mean_of(sheet, name or data.name, request, partial(measure, data, request=request))
    figures = {**mean, **theirs(said)}
    return Line(name or data.name, data.origin, mean["shared"], mean["pooled"], sheet=sheet, figures=figures)


def mean_of(sheet: str, name: str, request: Request, measure: Callable[[int], Found]) -> Found:
    """The mean over seeds of each figure, measured or kept."""
    seeds = QUICK_SEEDS if request.quick else SEEDS
    found = [kept(request, f"{sheet} {name} {seed}", partial(measure, seed)) for seed in seeds]
    return {way: float(np.mean([each[way] for each in found])) for way in found[0]}


def theirs(said: Published) -> dict[str, Figure]:
    """What the paper prints, under headings of their own."""
    low, high = said.two_party
    return {
        "their 5+2": said.hybrid,
        "their alone": said.alone,
        "their two-party": f"{low:g}-{high:g}",
        "their whole trees": said.whole_trees,
        "their pooled": said.pooled,
    }


def ways(trial: Trial) -> Found:
    """All forms of one trial."""
    zero = trial.from_zero()
    two_party = zero.two_party()
    return {
        "shared": trial.shared(),
        "random": trial.random(),
        "5+2": zero.separate(),
        "alone": zero.alone(),
        "two-party least": min(two_party),
        "most": max(two_party),
        "whole trees": zero.whole_trees(own_rows=False),
        "for own rows": zero.whole_trees(own_rows=True),
        "pooled": zero.pooled(),
    }


def usual(data: HybridSet, seed: int, request: Request) -> Found:
    """Table 1."""
    return ways(Trial.of(data, data.pair(seed, few=True), request))


# Several active parties


def by_several(data: HybridSet, seed: int, request: Request) -> Found:
    """Table 3: the active party's training rows dealt to several, whose models' probabilities are averaged."""
    pair = data.pair(seed, few=True)
    trials = [Trial.of(data, Pair(own, pair.test), request) for own in dealt(pair.train, seed)]
    every, zeros = trials[0], [trial.from_zero() for trial in trials]
    levels = "J" * every.params.max_depth
    alone = [zero.alone() for zero in zeros]
    return {
        "shared": bagged(trials, [trial.shared_scores() for trial in trials]),
        "random": bagged(trials, [trial.random_scores() for trial in trials]),
        "5+2": bagged(zeros, [zero.separate_scores() for zero in zeros]),
        "5+2 by votes": voted(zeros, [zero.separate_scores() for zero in zeros]),
        "alone least": min(alone),
        "alone most": max(alone),
        "pooled, bagged": bagged(zeros, [zero.by_scores(levels) for zero in zeros]),
        "pooled": Trial.of(data, pair, request).from_zero().pooled(),
    }


def dealt(train: HybridTables, seed: int) -> list[HybridTables]:
    """The active party's rows in equal parts, each with the passive parties' rows of its own."""
    order = np.random.default_rng(seed).permutation(train.active.n_rows)
    out = []
    for rows in np.array_split(order, ACTIVE_PARTIES):
        active = train.active.take(np.sort(rows))
        keys = active.row_keys()
        held = {name: own.take(np.flatnonzero(np.isin(own.row_keys(), keys))) for name, own in train.passive.items()}
        out.append(HybridTables(active, {name: own for name, own in held.items() if own.n_rows}))
    return out


def bagged(trials: list[Trial], scores: list[Any]) -> float:
    """The mean of the probabilities; it is a half where the score of it is 0."""
    mean = np.mean([1 / (1 + np.exp(-each)) for each in scores], axis=0)
    return trials[0].score(mean - 0.5)


def voted(trials: list[Trial], scores: list[Any]) -> float:
    """A vote each, as the paper has it for classes; rows of equal votes are not told apart."""
    return trials[0].score(np.mean([each > 0 for each in scores], axis=0) - 0.5)


# Rows in common and missing columns


def overlapping(data: HybridSet, seed: int, request: Request) -> Found:
    """Table 6 (C.4): up to all but one of the columns are dropped, up to a twentieth of all rows held beside.

    `united` is what no run offers: all share the columns of all, missing where a party lacks one.
    """
    passive = data.whole(seed, True).passive
    pair = data.pair(seed, few=True, extra=EXTRA, dropped=len(passive) - 1)
    trial = Trial.of(data, pair, request)
    found = ways(trial)
    united = found.pop("shared")
    return {**found, **beside(trial), "united": united}


def beside(trial: Trial) -> Found:
    """Parties whose columns differ: those that three or more have alike are shared, others stand by themselves."""
    train, groups = trial.pair.train, groups_of(trial.pair.train)
    tables = [joined({"": made.active, **made.passive}, "", groups) for made in trial.pair]
    alone = [own.n_columns for name, own in train.passive.items() if not any(name in group for group in groups)]
    widths = [*alone, *(train.passive[group[0]].n_columns for group in groups)]
    ends = train.active.n_columns + np.cumsum(widths)
    spans = tuple((int(end) - width, int(end)) for end, width in zip(ends, widths, strict=True))
    random = trial.random_scores(*tables, spans=spans)
    return {"shared": trial.score(trial.shared_scores(*tables)), "random": trial.score(random)}


def groups_of(made: HybridTables, least: int = 3) -> list[list[str]]:
    """Passive parties that have the same columns, where there are so many, as hybrid runs group them."""
    named = sorted(made.passive, key=lambda name: made.passive[name].names)
    groups = [list(group) for _, group in groupby(named, key=lambda name: made.passive[name].names)]
    return [group for group in groups if len(group) >= least]


# Depth, merged, and the size of the active party


def depth_line(data: HybridSet, depth: int, request: Request) -> Line:
    """Table 9: trees of other depths, of which HybridTree's last two levels are passive."""

    def measure(data: HybridSet, seed: int, request: Request) -> Found:
        return ways(Trial.of(data, data.pair(seed, few=True), request, max_depth=depth))

    return line("table 9, depth of trees", data, request, measure, TABLE_9[depth], f"{data.name}: depth {depth}")


def merged_line(data: HybridSet, request: Request) -> Line:
    """Table 10: all passive parties are one, so that vertical training is pooled training."""
    sheet = "table 10, passive parties merged into one"

    def measure(seed: int) -> Found:
        trial = Trial.of(data, data.pair(seed, few=True), request)
        zero = trial.from_zero()
        return {"AAAAJJJ": trial.shared(), "AAAAAPP": zero.by("AAAAAPP"), "vertical": zero.pooled()}

    mean = mean_of(sheet, data.name, request, measure)
    hybrid, vertical = TABLE_10[data.name]
    figures: Mapping[str, Figure] = {**mean, "their 5+2": hybrid, "their vertical": vertical}
    return Line(data.name, data.origin, mean["AAAAJJJ"], mean["vertical"], sheet=sheet, figures=figures)


def share_lines(data: HybridSet, request: Request) -> Iterator[Line]:
    """Table 12: the active party has a share of its rows or columns."""
    sheet = "table 12, a share of the active party's rows or columns"
    for what, said in TABLE_12.items():
        for share in SHARES:

            def measure(
                data: HybridSet, seed: int, request: Request, key: str = f"active_{what}", share: float = share
            ) -> Found:
                cut = {} if share == 1 else {key: share}
                return ways(Trial.of(data, data.pair(seed, few=True, **cut), request))

            yield line(sheet, data, request, measure, said[share], f"{data.name}: {share:.0%} of the {what}")


def usual_lines(data: HybridSet, request: Request) -> Iterator[Line]:
    """Table 1."""
    yield line("table 1", data, request, usual, TABLE_1[data.name])


def several_lines(data: HybridSet, request: Request) -> Iterator[Line]:
    """Table 3."""
    yield line(f"table 3, {ACTIVE_PARTIES} active parties", data, request, by_several, TABLE_3[data.name])


def overlapping_lines(data: HybridSet, request: Request) -> Iterator[Line]:
    """Table 6."""
    sheet = "table 6, passive parties with rows in common and missing columns"
    yield line(sheet, data, request, overlapping, TABLE_6[data.name])


def depth_lines(data: HybridSet, request: Request) -> Iterator[Line]:
    """Table 9."""
    yield from (depth_line(data, depth, request) for depth in DEPTHS)


def merged_lines(data: HybridSet, request: Request) -> Iterator[Line]:
    """Table 10."""
    yield merged_line(data, request)


TABLES = {
    "table-1": PaperTable(usual_lines),
    "table-3": PaperTable(several_lines),
    "table-6": PaperTable(overlapping_lines),
    "table-9": PaperTable(depth_lines, ("payments-ad",), ()),
    "table-10": PaperTable(merged_lines),
    "table-12": PaperTable(share_lines, ("adult-20",), ("adult-20",)),
}
"""By the names of the benchmark's parts."""
