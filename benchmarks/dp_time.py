"""Seconds of masked parties with differential privacy, beside those of a run without that opens sums as often.

A run with `auto` opens a sum a release, one without privacy a sum a level and one for the leaves: as many trees are
grown as make both open equally many.
"""

from collections.abc import Iterator

from benchmarks.dp_sets import SETS as SETS
from benchmarks.dp_sets import Private
from benchmarks.measure import timed
from benchmarks.quiet import Neighbours
from benchmarks.rows import RatioAtMost, Row
from benchmarks.settings import Request
from hedgerow.agreement.dp import DP
from hedgerow.agreement.options import Horizontal
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.estimators.gbdt import GBDTClassifier, GBDTRegressor
from hedgerow.model.model import Model

FULL = ("a9a", "credit1", "credit2")
QUICK = ("a9a",)
PARTIES, DEPTH, BINS = 5, 6, 32
BAR = RatioAtMost(3.0)
TURNS = 5


def run(request: Request) -> Iterator[Row]:
    """The better of some turns of each, taken in turn."""
    for name in request.sets:
        private = SETS[name]
        parties = partition.rows(private.tables()[0], n=PARTIES)
        with Neighbours() as neighbours:
            first, model = _noised(private, parties)
            trees = max(1, round(_opened(model) / (DEPTH + 1)))
            noised, plain = [first], []
            for _ in range(1 if request.quick else TURNS):
                plain.append(_plain(private, parties, trees))
                noised.append(_noised(private, parties)[0])
        what = f"{name}: auto, {PARTIES} masked parties, {_opened(model)} sums, beside {trees} trees without privacy"
        bar = BAR if name == "a9a" else None
        yield Row(what, "real", min(noised), min(plain), bar, neighbours.cores)


def _noised(private: Private, parties: dict[str, Table]) -> tuple[float, Model]:
    federation = Horizontal(dp=DP(epsilon=1.0, **private.declared))
    seconds, fitted = timed(lambda: _kind(private)(federation=federation).fit(parties))
    return seconds, fitted.model_


def _plain(private: Private, parties: dict[str, Table], trees: int) -> float:
    estimator = _kind(private)(n_estimators=trees, max_depth=DEPTH, max_bin=BINS, federation=Horizontal())
    return timed(lambda: estimator.fit(parties))[0]


def _kind(private: Private) -> type[GBDTClassifier] | type[GBDTRegressor]:
    return GBDTRegressor if private.numbers else GBDTClassifier


def _opened(model: Model) -> int:
    """How many sums were opened: as many as there are releases."""
    assert model.promise is not None  # noqa: S101  # the run had noise
    return sum(release.times for release in model.promise.releases)
