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

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.plan import Goal
from hedgerow.corridor.messages import AskCounts, AskLocalCuts, AskMoments, LocalCuts
from hedgerow.data.table import Column
from hedgerow.errors import DataError, ProtocolError
from hedgerow.model import labels
from hedgerow.model.prepare import n_categories
from hedgerow.protocols.columns import Common
from hedgerow.protocols.horizontal.counts import LABEL, MOST_AT_ONCE, VALID_LABEL, VALID_WEIGHT, WEIGHT
from hedgerow.protocols.secure_sum import SummingGroup
from hedgerow.protocols.state import Start
from hedgerow.trees import fixedpoint
from hedgerow.trees.bins import Grid
from hedgerow.trees.cut_search import KEY_BITS, CutSearch, Prefixes, RangeSearch
from hedgerow.trees.losses import LabelFacts, Loss
from hedgerow.trees.params import TreeParams

DAMAGED = "Sums over all parties are no numbers of rows: some party's part is damaged."


def start(group: SummingGroup, shared: Common, loss: Loss) -> Start:
    """Find everything that is fixed before the first tree. What becomes known: see the head of this file."""
    plan = group.plan
    counter = Counter(group)
    width = len(shared.columns)
    label = counter.present([width + LABEL])[0]
    if not label:
        raise DataError("The tables of all parties have no rows to learn from.")
    facts, valid = _facts(counter, shared, plan.goal, width)
    loss.check_labels(facts)
    grid = (
        grid_by_counts(counter, shared.columns, plan.params, int(label))
        if not plan.method.local_cuts
        else _merged_cuts(group, shared)
    )
    return Start(facts, valid, _first_score(group, loss, facts), grid)


class Counter:
    """Asks for sums of counts over all parties."""

    def __init__(self, group: SummingGroup) -> None:
        self.group, self.step = group, 0

    def __call__(self, asked: Prefixes) -> NDArray[np.int64]:
        """Rows of all parties with each of these prefixes."""
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


def _facts(counter: Counter, shared: Common, goal: Goal, width: int) -> tuple[LabelFacts, LabelFacts]:
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


def grid_by_counts(counter: Counter, columns: Sequence[Column], params: TreeParams, n_rows: int) -> Grid:
    """Cut points of these columns over so many rows. What becomes known: see the head of this file."""
    sizes = n_categories(columns)
    categorical = np.array([c.kind == "categorical" for c in columns])
    numeric = np.flatnonzero(~categorical)
    present = np.zeros(len(columns), np.int64)
    if len(numeric):
        present[numeric] = counter.present(numeric.tolist())
    search = CutSearch(present, params.max_bin, params.min_cut_rows)
    counter.run([search])
    cuts, starts = search.cuts()
    return _with_categories(cuts, starts, (present < n_rows) | categorical, sizes)


def _with_categories(
    cuts: NDArray[np.float32],
    starts: NDArray[np.int64],
    has_missing: NDArray[np.bool_],
    sizes: NDArray[np.int64],
) -> Grid:
    parts = [np.arange(1, n, dtype=np.float32) if n else cuts[starts[c] : starts[c + 1]] for c, n in enumerate(sizes)]
    ends = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
    return Grid(np.concatenate([np.empty(0, np.float32), *parts]), ends, has_missing, sizes > 0)


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
    cuts = np.concatenate([np.empty(0, np.float32), *merged])
    return _with_categories(cuts, starts, missing, n_categories(shared.columns))


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
