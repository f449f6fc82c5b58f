"""What a horizontal party needs of its rows, wherever they lie: in a table here (`own_table`), or on a cluster.

Nothing here is said to anybody. A party is given its `PartyTable` by one factory (`Owner.rows`); what it says of them
goes through `party`, which checks and writes down every request before it asks here.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.corridor.messages import AskMoments, ClassLabel, LocalCuts
from hedgerow.corridor.wire import Frame
from hedgerow.data.table import Column, Table
from hedgerow.trees.bins import Grid
from hedgerow.trees.forest import Forest
from hedgerow.trees.grow import Summed
from hedgerow.trees.local import Adding, RoundSettings, Step, Taken
from hedgerow.trees.losses import LabelFacts
from hedgerow.trees.splits import Cuts, Nodes


class PartyRows(Protocol):
    """A party's rows on their way down the trees; `LocalRows` are such rows.

    Whatever of a step the kernels can do in this process is handed out as steps, to be taken with other parties' in one
    call: one for a table that lies here, several for one in pieces, none where the work is done elsewhere.
    """

    @property
    def n_trees(self) -> int:
        """The trees of a round."""

    @property
    def threads(self) -> int:
        """With so many the kernels work for these rows."""

    @property
    def clipped(self) -> int:
        """Gradients that were cut off so far."""

    @property
    def one_step(self) -> bool:
        """Whether there is one step and its words are the own sums, so that the kernel makes and hides them at once.

        Else own sums are put together by `taken`, and hidden afterwards.
        """

    @property
    def validated(self) -> bool:
        """Whether there are held-out rows."""

    def put_at_roots(self, round_: int) -> bool:
        """Draw the rows that count, put all rows at the roots; whether gradients are to be computed then."""

    def steps(self, begins: bool, cuts: Cuts | None, nodes: Nodes, leaves: bool, counted: bool) -> tuple[Step, ...]:
        """Compute gradients if a round begins, divide the rows, sum them at the nodes; what is to be taken here."""

    def with_gradients(self, steps: Sequence[Step]) -> tuple[tuple[Step, ...], bytes]:
        """The first steps of a round with their gradients computed, and a hash of all gradients of these rows."""

    def taken(self, steps: Sequence[Step], found: Sequence[Taken]) -> NDArray[Any]:
        """Own sums, once the steps were taken; of `one_step` its words as they are, hidden or not."""

    def adding(self, leaves: Nodes, values: NDArray[np.float32]) -> list[Adding]:
        """Add the values of leaves to the scores; what is to be added here, with others', by `_native.add_values`."""

    def held_out_sums(self, metric: Summed, n_rounds: int) -> NDArray[np.int64]:
        """Own sums of the metric over the held-out rows."""


RowsAfter = Callable[[Forest], PartyRows]
"""The rows with the scores that some trees give them."""


class PartyTable(Protocol):
    """A party's rows in the agreed columns and classes, before the first tree."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The agreed ones."""

    @property
    def classes(self) -> Sequence[ClassLabel]:
        """The agreed ones."""

    @property
    def agreement(self) -> bytes:
        """A hash of what was agreed on."""

    def counts(self, frame: Frame) -> NDArray[np.int64]:
        """Own rows with each prefix that the `AskCounts` in this frame names."""

    def moments(self, request: AskMoments) -> NDArray[np.int64]:
        """Own sums of labels and weights."""

    def local_cuts(self, max_bin: int, threads: int) -> LocalCuts:
        """Own quantiles. What becomes known to the driver: values of single rows."""

    def forget_keys(self) -> None:
        """Counts are no longer asked for."""

    def check(self, facts: LabelFacts) -> None:
        """Refuse a range that this party's own labels or weights leave: it would clip them in silence."""

    def binned(self, grid: Grid, settings: RoundSettings, own_bins: int | None) -> RowsAfter:
        """The rows under the agreed cut points, binned once; refused if these have no place for own missing values.

        With `own_bins` they are summed over so many bins of their own, and the sums spread onto the agreed ones.
        """


TableFactory = Callable[[Table, Table | None, Sequence[ClassLabel], float, bytes, int], PartyTable]
"""Makes it of the own rows and validation rows in the agreed columns, classes, weight of the positive one, a hash of
what was agreed on, and how many threads work for it."""
