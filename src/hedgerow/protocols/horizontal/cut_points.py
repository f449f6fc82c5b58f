"""Label range, first score and cut points, from counts that only all parties together show.

    driver                                 party (each)
    AskCounts(prefixes)     ------------->  (about ten times)
                            <-------------  MaskedSums: rows per prefix of an ordered key
    AskMoments              ------------->
                            <-------------  MaskedSums: sum of labels, sum of weights
  or, for the cut points, FedTree's way:
    AskLocalCuts            ------------->
                            <-------------  LocalCuts

Sees in the clear.  Driver: over all parties together the number of rows per prefix that was refined (a prefix with
                    fewer rows than the plan's min_cut_rows never is), the least and greatest label and weight, the
                    mean label, the cut points.  Party: all of these but the counts.
                    With LocalCuts the driver sees each party's own quantiles.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.agreement.plan import Goal, Plan
from hedgerow.corridor.messages import AskCounts, AskLocalCuts, AskMoments, ClassLabel, LocalCuts
from hedgerow.data.table import Table
from hedgerow.errors import DataError, ProtocolError
from hedgerow.model import labels
from hedgerow.protocols.columns import Common
from hedgerow.protocols.horizontal.counts import MOST_AT_ONCE, NO_COLUMN, asked_by
from hedgerow.protocols.secure_sum import SummingGroup
from hedgerow.trees import bins, fixedpoint
from hedgerow.trees.bins import Grid
from hedgerow.trees.cut_search import KEY_BITS, CutSearch, Prefixes, RangeSearch
from hedgerow.trees.losses import LabelFacts, Loss

LABEL, WEIGHT, VALID_LABEL, VALID_WEIGHT = range(4)
"""Counted like columns, behind these."""

DAMAGED = "Sums over all parties are no numbers of rows: some party's part is damaged."

ZERO_KEY = _native.sorted_keys([np.zeros(1, np.float32)], 1)[0][0]
"""The ordered key of 0."""


@dataclass(frozen=True, eq=False)
class Start:
    """All that is fixed before the first tree."""

    facts: LabelFacts
    valid_facts: LabelFacts
    base: float
    grid: Grid


def start(group: SummingGroup, shared: Common, loss: Loss) -> Start:
    """Find everything that is fixed before the first tree. What becomes known: see the head of this file."""
    plan = group.plan
    counter = _Counter(group)
    width = len(shared.columns)
    label = counter.present([width + LABEL])[0]
    if not label:
        raise DataError("The tables of all parties have no rows to learn from.")
    facts, valid = _facts(counter, shared, plan.goal, width)
    loss.check_labels(facts)
    grid = (
        _grid_by_counts(counter, shared, plan, int(label))
        if not plan.method.local_cuts
        else _merged_cuts(group, shared)
    )
    return Start(facts, valid, _first_score(group, loss, facts), grid)


class _Counter:
    """Asks for sums of counts over all parties."""

    def __init__(self, group: SummingGroup) -> None:
        self.group, self.step = group, 0

    def __call__(self, asked: Prefixes) -> NDArray[np.int64]:
        parts = []
        for first in range(0, len(asked.column), MOST_AT_ONCE):
            some = slice(first, first + MOST_AT_ONCE)
            request = AskCounts(self.step, asked.column[some], asked.prefix[some], asked.shift[some])
            self.step += 1
            parts.append(self.group.opened_sum(request, len(request.column), self.group.numbers))
        counts = np.concatenate(parts)
        if (counts < 0).any():
            raise ProtocolError(DAMAGED)
        fixedpoint.check_rows(int(counts.max(initial=0)))
        return counts

    def present(self, columns: Sequence[int]) -> NDArray[np.int64]:
        """How many rows have a value in these columns."""
        n = len(columns)
        return self(Prefixes(np.array(columns, np.int32), np.zeros(n, np.uint32), np.full(n, KEY_BITS, np.uint8)))

    def run(self, searches: Sequence[CutSearch | RangeSearch]) -> None:
        """Several searches at once, an exchange for the next digit of all."""
        while True:
            asked = [search.ask() for search in searches]
            sizes = [len(part.column) for part in asked]
            if not sum(sizes):
                return
            counts = self(Prefixes(*map(np.concatenate, zip(*asked, strict=True))))
            for search, part, size in zip(searches, np.split(counts, np.cumsum(sizes)[:-1]), sizes, strict=True):
                if not search.fits(part):
                    raise ProtocolError(DAMAGED)  # else made-up rows could be looked for without end
                if size:
                    search.tell(part)


def _facts(counter: _Counter, shared: Common, goal: Goal, width: int) -> tuple[LabelFacts, LabelFacts]:
    """Ranges of labels and weights, of the rows to learn from and of the validation rows."""
    numbers, weighted = not shared.classes, shared.weighted or goal.scale_pos_weight != 1
    wanted = {
        LABEL: numbers,
        WEIGHT: weighted,
        VALID_LABEL: numbers and shared.validated,
        VALID_WEIGHT: shared.weighted and shared.validated,
    }
    searches = {which: RangeSearch(width + which) for which, is_wanted in wanted.items() if is_wanted}
    counter.run(list(searches.values()))
    found = {which: search.range() for which, search in searches.items()}
    of_classes = (0.0, float(len(shared.classes) - 1))
    low, high = (found[LABEL] or (0.0, 0.0)) if numbers else of_classes
    facts = LabelFacts(low, high, (found.get(WEIGHT) or (1.0, 1.0))[1])
    valid = found.get(VALID_LABEL) or (low, high)
    heaviest = (found.get(VALID_WEIGHT) or (1.0, 1.0))[1]
    return facts, LabelFacts(min(low, valid[0]), max(high, valid[1]), heaviest)


def _grid_by_counts(counter: _Counter, shared: Common, plan: Plan, n_rows: int) -> Grid:
    n_categories = np.array([len(c.categories) for c in shared.columns])
    categorical = np.array([c.kind == "categorical" for c in shared.columns])
    numeric = np.flatnonzero(~categorical)
    present = np.zeros(len(shared.columns), np.int64)
    if len(numeric):
        present[numeric] = counter.present(numeric.tolist())
    search = CutSearch(present, plan.params.max_bin, plan.params.min_cut_rows)
    counter.run([search])
    cuts, starts = search.cuts()
    return _with_categories(cuts, starts, (present < n_rows) | categorical, n_categories)


def _with_categories(
    cuts: NDArray[np.float32],
    starts: NDArray[np.int64],
    has_missing: NDArray[np.bool_],
    n_categories: NDArray[np.int64],
) -> Grid:
    parts = [
        np.arange(1, n, dtype=np.float32) if n else cuts[starts[c] : starts[c + 1]] for c, n in enumerate(n_categories)
    ]
    ends = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
    return Grid(np.concatenate([np.empty(0, np.float32), *parts]), ends, has_missing, n_categories > 0)


def _merged_cuts(group: SummingGroup, shared: Common) -> Grid:
    """FedTree's way: the union of the parties' own cut points, thinned to the greatest number of bins."""
    parts: list[list[NDArray[np.float32]]] = [[] for _ in shared.columns]
    missing = np.array([c.kind == "categorical" for c in shared.columns])
    for name, answer in group.tell(AskLocalCuts(), LocalCuts).items():
        if len(answer.starts) != len(parts) + 1 or len(answer.missing) != len(parts):
            raise ProtocolError(f"Party {name!r} answered cut points that do not fit the columns.")
        if (np.diff(answer.starts) < 0).any() or answer.starts[0] != 0 or answer.starts[-1] != len(answer.cuts):
            raise ProtocolError(f"Party {name!r} answered cut points that do not follow each other.")
        missing |= answer.missing
        for c, part in enumerate(parts):
            part.append(answer.cuts[answer.starts[c] : answer.starts[c + 1]])
    most = group.plan.params.max_bin - 1
    merged = [_thinned(np.unique(np.concatenate(part)), most) for part in parts]
    starts = np.concatenate([[0], np.cumsum([len(part) for part in merged])])
    n_categories = np.array([len(c.categories) for c in shared.columns])
    return _with_categories(np.concatenate([np.empty(0, np.float32), *merged]), starts, missing, n_categories)


def _thinned(cuts: NDArray[np.float32], most: int) -> NDArray[np.float32]:
    if len(cuts) <= most:
        return cuts
    return cuts[((np.arange(most) + 0.5) * len(cuts) / most).astype(np.int64)]


def _first_score(group: SummingGroup, loss: Loss, facts: LabelFacts) -> float:
    given = group.plan.goal.base_score
    if given is not None:
        return float(np.float32(loss.base_score(float(given))))
    if loss.base_score(0.25) == loss.base_score(0.75):  # a loss whose first score is the same for all labels
        return 0.0
    request = AskMoments(facts.low, facts.high, facts.max_weight)
    return labels.first_score(loss, group.opened_sum(request, 2, group.numbers), facts)


class OwnRows:
    """A party's side: its tables in the agreed shape, its values as sorted keys for as long as counts are asked for."""

    def __init__(
        self,
        own: Table,
        valid: Table | None,
        classes: Sequence[ClassLabel],
        scale_pos_weight: float,
        agreement: bytes,
        threads: int,
    ) -> None:
        self.threads = threads
        self.table, self.valid, self.classes, self.agreement = own, valid, classes, agreement
        self.labels = labels.labels_of(own, classes)
        self.weights = labels.weights_of(own, classes, scale_pos_weight)
        self._columns: Any = None
        self.gappy: set[int] = set()
        """Columns found to have missing values, when their rows were counted."""
        self._keys: dict[int, NDArray[np.uint32]] = {}

    def counts(self, request: AskCounts) -> NDArray[np.int64]:
        """Own rows with each prefix."""
        asked = asked_by(request)
        if asked.columns and not 0 <= asked.columns[0] <= asked.columns[-1] <= self.table.n_columns + VALID_WEIGHT:
            raise ProtocolError(NO_COLUMN)
        self._sort({run.column for run in asked.runs if run.digits < KEY_BITS or run.column < self.table.n_columns})
        keys = self._keys
        prefixes = [(keys[run.column], run.prefixes, run.digits) for run in asked.runs if run.digits < KEY_BITS]
        found = _native.count_prefixes(prefixes, self.threads)
        if len(prefixes) == len(asked.runs) and self._columns is None:
            return found
        out = np.empty(len(request.column), np.int64)
        out[request.shift < KEY_BITS] = found
        for run in asked.runs:
            if run.digits == KEY_BITS:
                out[run.at] = self._present(run.column)
            elif gaps := self._gaps(run.column):
                out[run.at] += gaps * (run.prefixes == ZERO_KEY >> run.digits)
        return out

    def _sort(self, columns: set[int]) -> None:
        """The keys of these columns, from now on."""
        if self._columns is None and not isinstance(self.table.values, np.ndarray):
            self._columns = self.table.values.tocsc()
        new = sorted(columns - self._keys.keys())
        if new:
            keys = _native.sorted_keys([self._values(column) for column in new], self.threads)
            self._keys.update(zip(new, keys, strict=True))

    def _present(self, column: int) -> int:
        """How many rows have a value there; labels and weights all rows have."""
        if column >= self.table.n_columns:
            return len(self._values(column))
        n_rows = len(self._keys[column]) + self._gaps(column)
        if n_rows < self.table.n_rows:
            self.gappy.add(column)
        return n_rows

    def _gaps(self, column: int) -> int:
        """Rows whose zero is not stored."""
        if self._columns is None or column >= self.table.n_columns or self.table.absent != 0:
            return 0
        begin, end = self._columns.indptr[column : column + 2]
        return self.table.n_rows - int(end - begin)

    def _values(self, column: int) -> NDArray[np.float32]:
        if column < self.table.n_columns:
            if self._columns is None:
                return np.asarray(self.table.values[:, column])
            begin, end = self._columns.indptr[column : column + 2]
            return np.ascontiguousarray(self._columns.data[begin:end])
        which, valid = column - self.table.n_columns, self.valid
        if which == LABEL:
            return self.labels
        if which == WEIGHT:
            return self.weights if len(self.weights) else np.ones(self.table.n_rows, np.float32)
        if valid is None:
            return np.empty(0, np.float32)
        if which == VALID_LABEL:
            return labels.labels_of(valid, self.classes)
        return valid_weights(valid, True)

    def moments(self, request: AskMoments) -> NDArray[np.int64]:
        """Own sums of labels and weights."""
        facts = LabelFacts(request.low, request.high, request.max_weight)
        self.check(facts)
        return labels.moments(self.labels, self.weights, facts)

    def check(self, facts: LabelFacts) -> None:
        """Refuse a range that this party's own labels or weights leave: it would clip them in silence."""
        low, high = float(self.labels.min(initial=np.inf)), float(self.labels.max(initial=-np.inf))
        heaviest = float(self.weights.max()) if len(self.weights) else float(len(self.labels) > 0)
        if low < facts.low or high > facts.high or heaviest > facts.max_weight or facts.max_weight <= 0:
            raise ProtocolError("The agreed range of labels or weights leaves out some of this party's rows.")

    def local_cuts(self, max_bin: int, threads: int) -> LocalCuts:
        """Own quantiles. What becomes known to the driver: values of single rows."""
        n_categories = np.array([len(c.categories) for c in self.table.columns], np.int64)
        grid, _ = bins.find(self.table.values, self.table.absent, n_categories, max_bin, 1, threads)
        return LocalCuts(grid.cuts, grid.cut_starts, grid.has_missing)

    def forget_keys(self) -> None:
        """Counts are no longer asked for."""
        self._keys, self._columns = {}, None


def valid_weights(valid: Table, written_out: bool = False) -> NDArray[np.float32]:
    """Weights of validation rows; empty if all are 1, unless they are to be written out."""
    if valid.weights is None:
        return np.ones(valid.n_rows, np.float32) if written_out else np.empty(0, np.float32)
    return labels.as_float32(valid.weights)
