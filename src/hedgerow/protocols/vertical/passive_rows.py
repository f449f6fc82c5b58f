"""A passive party's side of a vertical run: its own columns, and the checks of what it is told.

`vertical` has the conversation.

Sees in the clear.  Which rows share a node, and the cuts of its own columns. Gradients come sealed; labels never come.
"""

from collections.abc import Callable, Sequence

import numpy as np
from msgspec.structs import astuple
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.agreement.ciphers import cipher_of
from hedgerow.agreement.plan import Plan
from hedgerow.corridor.messages import (
    AllowedSums,
    AskSealedSums,
    AskSides,
    BeginSealed,
    Done,
    EndRound,
    KeepPart,
    Moves,
    OwnColumns,
    SealedSums,
    Sides,
)
from hedgerow.data.table import Column, Table
from hedgerow.errors import PrivacyError, ProtocolError
from hedgerow.model.part import Part
from hedgerow.model.prepare import own_cuts
from hedgerow.privacy.additive import Cipher
from hedgerow.privacy.shapes import RowsPlan, Selection
from hedgerow.protocols.on_wire import ASKED, CUT, LEAF, LOWEST, nodes_of, sides_of
from hedgerow.protocols.vertical.active import RUN_SUMS, Asked, bins_of, run_nodes, wanted
from hedgerow.protocols.vertical.allowed_cuts import CutPlaces, with_siblings
from hedgerow.protocols.vertical.kept_cuts import CutStore, OwnCuts, cuts_of
from hedgerow.protocols.vertical.paths import OwnPaths, after_of
from hedgerow.protocols.vertical.terms import Terms
from hedgerow.trees import bins
from hedgerow.trees.bins import Grid
from hedgerow.trees.local import Draw, Sample, parts_of
from hedgerow.trees.merge_bins import coarser, counts_of
from hedgerow.trees.params import TreeParams
from hedgerow.trees.splits import Cuts, Nodes

MOST_GROUPS = 1 << 20
"""Sums of a node that another passive party may be asked for."""
MOST_PLACES = 1 << 29
"""Trees of a round times rows."""
REPEATS = 2
"""A party gives at most so many times the sums that all trees need: after a loss one may be grown again."""
GAVE = "gave"
"""The line of the party's log that counts them."""


class PassiveRows:
    """Rows on their way down trees that others cut too."""

    hides = False
    """Whether this party is not told which rows share a node."""

    def __init__(
        self,
        own: Sample,
        held_out: Sample | None,
        grid: Grid,
        params: TreeParams,
        cipher: Cipher,
        threads: int,
        keeps: CutStore | None = None,
        terms: Terms = Terms(),  # noqa: B008  # frozen
    ) -> None:
        self.own, self.held_out, self.grid, self.params = own, held_out, grid, params
        self.terms = terms
        self.cipher, self.threads = cipher, threads
        self.draw = Draw(params.subsample, params.random_state, params.average)
        self.bins = bins_of(grid)
        self.places = CutPlaces.of(grid.n_values, grid.has_missing, grid.categorical)
        cut = np.flatnonzero(self.bins > 1)
        by_column = own.matrix.by_column
        every = by_column if by_column.size else _native.columns_of(own.matrix, threads)
        self.own_codes, self.widths = every[cut], wanted(self.bins)
        self.keeps = keeps
        self.kept: list[OwnCuts] = [] if keeps is None else keeps.read()
        self.begun: BeginSealed | None = None
        self.round, self.level, self.finished = -1, 0, True
        self.underway = False
        """Whether a step was begun and not answered, because it was refused on the way: the round cannot go on."""
        self.returned = terms.given
        """Sums given so far, also by processes before this one."""
        self.told_sides = terms.told
        """Sides of rows told so far, likewise."""
        self.most_sums = 0
        self.reached = len(self.kept)
        """Rounds that were ever complete."""
        self.carried = terms.carried
        """Bits that the sums can carry at most, whatever was sealed, and what is told with them, likewise."""
        self.on_counted: Callable[[], None] = lambda: None
        """Called when sums are counted and still to be worked out."""

    def describe(self) -> OwnColumns:
        """What becomes known: numbers of columns and bins."""
        return OwnColumns(self.grid.n_values, self.grid.has_missing, self.grid.categorical)

    def begin(self, request: BeginSealed) -> Done:
        """Take over the sizes of the run, if they can be."""
        trees, width = request.n_trees, int(self.widths.sum())
        fits = 1 <= trees <= self.terms.most_trees and trees * self.own.matrix.n_rows <= MOST_PLACES
        most = self.terms.others * MOST_GROUPS
        fits = fits and width <= request.groups <= width + most and len(self.widths) <= request.columns
        if not fits or request.columns > max(len(self.widths), most):
            raise ProtocolError("The active party begins a run whose sizes do not fit this party's columns.")
        # What decides how much a sum can carry is the plan's, whatever the request says.
        bound, run_nodes = 1 << (self.params.gradient_bits - 1), self._run_nodes(trees)
        if (request.bound, request.run_sums) != (bound, RUN_SUMS * request.groups * run_nodes):
            raise ProtocolError("The active party begins a run whose sizes are not those of the plan.")
        self._check_sizes(request)
        self._check_room(request)
        if not max(self.reached - 1, 0) <= request.done <= len(self.kept):
            raise ProtocolError("The active party goes on after trees that this party did not help to grow.")
        del self.kept[request.done :]
        self.most_sums = REPEATS * 2 * width * run_nodes
        self.begun, self.round, self.finished, self.underway = request, request.done - 1, True, False
        return Done()

    def _run_nodes(self, n_trees: int) -> int:
        """The nodes that all trees of the plan may ask about, twice as many sums being asked for at each."""
        return run_nodes(self.params, n_trees)

    def _check_sizes(self, request: BeginSealed) -> None:
        """Sizes stay; where parties may be lost, what is asked of all of them together may shrink."""
        now = astuple(request)[1:]
        before = now if self.begun is None else astuple(self.begun)[1:]
        shrunk = self.terms.shrinks and now[:2] == before[:2] and all(a <= b for a, b in zip(now, before, strict=True))
        if now != before and not shrunk:
            raise ProtocolError("The active party changes the sizes of the run in its middle.")

    def _check_room(self, request: BeginSealed) -> None:
        """Sizes with which not even one row could be sealed are none."""
        if self.widths.size:
            bounds, groups, run_sums = (request.bound, request.bound), request.groups, request.run_sums
            one = RowsPlan(rows=1, bounds=bounds, groups=groups, columns=request.columns, run_sums=run_sums)
            self.cipher.ensure_rows(one)

    def sums(self, request: AskSealedSums) -> SealedSums | AllowedSums:
        """Own columns' sums of what is sealed: the active party will read them, and only them."""
        begun = self._check_step(request)
        self.underway = True
        self._follow(request, begun)
        self._take_key(request)
        nodes = nodes_of(request.nodes.tree, request.nodes.node)
        if not len(nodes.tree) or not _native.name_nodes(self.status, nodes, (LOWEST,), ASKED):
            raise ProtocolError("The active party asks for nodes that are not at the lowest level, or twice.")
        self._check_rows(self.parts[0].sizes(nodes))
        self.level = request.level + 1
        sealed = self._sealed_sums(begun, request, nodes)
        self.underway = False
        return SealedSums(sealed) if self.params.min_child_rows == 1 else AllowedSums(sealed, *self._allowed(nodes))

    def _check_rows(self, sizes: NDArray[np.int64]) -> None:
        """The owner's policy, whatever the active party's rules are."""
        fewest = self.terms.fewest_rows
        if fewest > 1 and int(sizes.min()) < fewest:
            raise PrivacyError(
                "The active party asks about nodes of fewer rows than this party's policy allows (min_child_rows); "
                "this party stops."
            )

    def _allowed(self, nodes: Nodes) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """What becomes known to the active party of these nodes and their siblings: see `allowed_cuts`."""
        part, every = self.parts[0], with_siblings(nodes)
        counts = _native.count_rows(self.own.matrix, part.orders, part.spans, every, self.threads)
        return self.places.told(counts, self.params.min_child_rows)

    def _allowed_room(self, nodes: Nodes) -> int:
        """Bits that this has room for, which are given like those of the sums."""
        counted = self.params.min_child_rows > 1
        return self.places.room(len(with_siblings(nodes).node), self.own.matrix.n_rows) if counted else 0

    def _sealed_sums(self, begun: BeginSealed, request: AskSealedSums, nodes: Nodes) -> bytes:
        asked = Asked.of(begun, self.parts[0], nodes, self.cipher.seals_once)
        if asked.plan is None:
            return b""
        self.returned += 2 * len(nodes.tree) * int(self.widths.sum())
        if self.returned > min(self.most_sums, begun.run_sums):
            raise PrivacyError("The active party asks for more sums than the run was to open; this party stops.")
        self.carried += self.cipher.room(asked.plan, int(self.widths.sum())) + self._allowed_room(nodes)
        self.terms.check_given(self.told_sides, self.carried)
        self.on_counted()
        if asked.sealed_now(request.level):
            self.sealed_gradients = request.sealed_gradients
            self.selection = Selection(np.take(self.own_codes, asked.rows, axis=1), self.widths)
        elif request.sealed_gradients:
            raise ProtocolError("The active party seals gradients a second time in one tree.")
        sealed = self.public.read_rows(self.sealed_gradients, asked.plan)
        return self.public.group_sums(sealed, self.selection, asked.nodes).encode()

    def _check_step(self, request: AskSealedSums) -> BeginSealed:
        """The step must be the next, of a round in which nothing was refused half-way."""
        if self.begun is None:
            raise ProtocolError("The active party asks for sums before the run has begun.")
        if self.finished and request.level == 0 and request.round == self.round + 1:
            self._check_start(request.round)
        elif request.round != self.round or request.level != self.level or self.finished:
            raise ProtocolError("The active party asks for another step than the next.")
        self._check_whole()
        return self.begun

    def _check_start(self, round_: int) -> None:
        self._check_round(round_)
        if not self.terms.asked(round_):
            raise ProtocolError("The active party asks for sums in a round that the plan grows without this party.")

    def _check_whole(self) -> None:
        if self.underway:
            raise ProtocolError("The active party goes on after a step that this party refused; it has to begin again.")

    def _follow(self, request: AskSealedSums, begun: BeginSealed) -> None:
        """Begin the next round, or move the rows as told."""
        if self.finished:
            self._start(request.round, begun.n_trees)
        elif len(request.moves.tree):
            self._move(request.moves)

    def _take_key(self, request: AskSealedSums) -> None:
        """One key for each tree, given with its first step."""
        if request.level == 0:
            self.public = self.cipher.read_public_key(request.public_key, self.threads)
        elif request.public_key:
            raise ProtocolError("The active party gives another key in the middle of a tree.")

    def _start(self, round_: int, n_trees: int) -> None:
        self.round, self.level, self.depth, self.finished = round_, 0, 0, False
        self.parts = parts_of(self.own, self.held_out, n_trees, self.draw, round_, self.threads)
        self.status = np.zeros((n_trees, 64), np.uint8)
        self.status[:, 0] = LOWEST
        self.sizes = np.ones(n_trees, np.int64)
        self.cuts: list[Cuts] = []
        self.paths = OwnPaths(n_trees)
        self.told: dict[tuple[int, int], list[NDArray[np.bool_]]] = {}
        """The sides that were told at nodes of the lowest level."""
        self.sealed_gradients = b""

    def _check_round(self, round_: int) -> None:
        if round_ >= self.params.n_estimators:
            raise ProtocolError(f"The active party grows more than the {self.params.n_estimators} rounds of the plan.")

    def _move(self, moves: Moves) -> None:
        nodes = nodes_of(moves.tree, moves.node)
        lowest = _native.name_nodes(self.status, nodes, (LOWEST, ASKED), 0)
        if self.depth + 1 >= self.params.max_depth or not lowest:
            raise ProtocolError("The active party moves rows of nodes that are not at the lowest level, or too deep.")
        tree = nodes.tree
        rank = np.arange(len(tree)) - np.searchsorted(tree, tree)
        if (np.diff(tree) < 0).any() or not np.array_equal(moves.child, self.sizes[tree] + 2 * rank):
            raise ProtocolError("The active party numbers the children of its cuts in another order than agreed.")
        most = int(moves.child.max()) + 2
        if most > self.status.shape[1]:
            self.status = np.concatenate([self.status, np.zeros((len(self.status), most), np.uint8)], axis=1)
        sizes = [int(part.sizes(nodes).sum()) for part in self.parts]
        left = sides_of(moves.left, sizes, "The active party did not tell the side of every row.")
        self._check_told(nodes, left)
        moved = [part.divide_by(nodes, moves.child, sides) for part, sides in zip(self.parts, left, strict=True)]
        self._check_rows(moved[0])
        self.paths.move(nodes, moves.child)
        self.status[self.status >= LOWEST] = LEAF
        self.status[tree, nodes.node] = CUT
        self.status[tree, moves.child] = self.status[tree, moves.child + 1] = LOWEST
        self.sizes += 2 * np.bincount(tree, minlength=len(self.sizes))
        self.depth += 1
        self.told = {}

    def _check_told(self, nodes: Nodes, left: Sequence[NDArray[np.bool_]]) -> None:
        """Rows go where this party said they do at its own cuts."""
        places = list(zip(nodes.tree.tolist(), nodes.node.tolist(), strict=True))
        by_node = [
            np.split(sides, np.cumsum(part.sizes(nodes))[:-1]) for part, sides in zip(self.parts, left, strict=True)
        ]
        for i, place in enumerate(places):
            told = self.told.get(place)
            if told is not None and not all(np.array_equal(a, b[i]) for a, b in zip(told, by_node, strict=True)):
                raise ProtocolError("The active party moves rows otherwise than this party told at its own cut.")

    def sides(self, request: AskSides) -> Sides:
        """What becomes known to the active party: which rows go left at these cuts of own columns."""
        if self.finished or (request.round, request.level) != (self.round, self.level):
            raise ProtocolError("The active party asks for sides of another step than this one.")
        self._check_whole()
        listed = request.cuts
        n = len(listed.tree)
        alike = {len(part) for part in (listed.node, listed.child, listed.column, listed.bin, listed.missing_left)}
        if alike != {n} or not n or len(listed.left_bins) != 4 * n:
            raise ProtocolError("The active party's cuts are not well formed.")
        nodes = nodes_of(listed.tree, listed.node)
        places = list(zip(listed.tree.tolist(), listed.node.tolist(), strict=True))
        lowest = _native.name_nodes(self.status, nodes, (LOWEST, ASKED), 0)
        if not lowest or not self.told.keys().isdisjoint(places):
            raise ProtocolError("The active party cuts a node that is not at the lowest level, or twice.")
        sets = listed.left_bins.reshape(n, 4)
        cuts = Cuts(nodes, listed.child, listed.column, listed.bin, listed.missing_left, sets)
        self._check_places(cuts)
        left = [part.sides(cuts) for part in self.parts]
        ends = [np.cumsum(part.sizes(nodes))[:-1] for part in self.parts]
        # From here on a refusal tells of own rows: it counts, and the round cannot go on, else cuts could be tried out.
        self.underway = True
        self._count_sides(sum(map(len, left)))
        self._check_rows(np.array([(s.sum(), (~s).sum()) for s in np.split(left[0], ends[0])], np.int64))
        self.underway = False
        self.cuts.append(cuts)
        self.paths.cut(nodes)
        by_node = zip(*(np.split(sides, at) for sides, at in zip(left, ends, strict=True)), strict=True)
        self.told |= {place: list(sides) for place, sides in zip(places, by_node, strict=True)}
        return Sides(np.packbits(np.concatenate(left), bitorder="little"))

    def _count_sides(self, n: int) -> None:
        """A row goes down every tree of the plan once, and once more after losses."""
        samples = (self.own, self.held_out)
        rows = sum(sample.matrix.n_rows for sample in samples if sample is not None)
        n_trees = self.begun.n_trees if self.begun is not None else 1
        self.told_sides += n
        if self.told_sides > REPEATS * n_trees * self.params.n_estimators * self.params.max_depth * rows:
            raise PrivacyError("The active party asks for more sides than the trees of the run have; this party stops.")
        self.terms.check_given(self.told_sides, self.carried)

    def _check_places(self, cuts: Cuts) -> None:
        """Each cut must be one of this party's own grid; checked as if it were alone in a tree of its own."""
        n = len(cuts.column)
        status, sizes = np.zeros((n, 4), np.uint8), np.ones(n, np.int64)
        status[:, 0] = LOWEST
        alone = cuts._replace(nodes=Nodes(np.arange(n), np.zeros(n, np.int64)), child=np.ones(n, np.int64))
        if _native.follow_cuts(status, sizes, alone, self.grid):
            raise ProtocolError("The active party cuts a column of this party at a place that is not on its grid.")

    def end(self, request: EndRound) -> Done:
        """The own cuts of the round belong to the model."""
        if self.begun is not None and self.finished and request.round == self.round + 1:
            self._pass(request.round)
        if request.round != self.round:
            raise ProtocolError("The active party ends another round than this one.")
        self._check_whole()
        if not self.finished:
            self.kept.append(OwnCuts(self.round, tuple(self.cuts), tuple(self.paths.after)))
            self.reached = max(self.reached, len(self.kept))
            if self.keeps is not None:
                self.keeps.append(self.kept[-1])
            self.finished = True
        return Done()

    def _pass(self, round_: int) -> None:
        """A round that the plan grows without this party, which learns only that there was one."""
        if not self.terms.asked(round_):
            self._check_round(round_)
            self.round, self.cuts, self.paths, self.finished = round_, [], OwnPaths(0), False

    def part(self, request: KeepPart, party: str, columns: tuple[Column, ...]) -> Part:
        """The party's part of the model: its own thresholds, which nobody else has."""
        n_trees = self.begun.n_trees if self.begun is not None else 1
        cuts = cuts_of(self.kept, n_trees, request.n_trees)
        numeric = cuts.bin >= 0
        thresholds = np.where(numeric, self.grid.thresholds(cuts.column, cuts.bin), np.float32(0))
        sets = np.where(numeric[:, None], np.uint64(0), cuts.left_bins)
        own = (cuts.nodes.tree, cuts.nodes.node, cuts.column, thresholds, cuts.missing_left, sets)
        after = None if self.hides else after_of(self.kept, n_trees, request.n_trees)
        return Part(request.model, party, request.first, columns, *own, self.hides, after)


def passive_rows(
    plan: Plan,
    own: Table,
    valid: Table | None,
    threads: int,
    keeps: CutStore | None,
    terms: Terms,
    kind: type[PassiveRows] = PassiveRows,
) -> PassiveRows:
    """A passive party's tables, binned by its own cut points."""
    params = plan.params
    found = own_cuts(own, params.max_bin, params.min_cut_rows, threads)
    if terms.bin_rows > 1:
        codes = _native.columns_of(bins.to_bins(*found, own.values, own.absent, threads), threads)
        grid = coarser(found[0], counts_of(codes, found[0]), terms.bin_rows)
        found = grid, bins.fullest_under(grid, own.values, own.absent, threads)
    none = np.empty(0, np.float32)

    def sample(table: Table) -> Sample:
        matrix = bins.to_bins(*found, table.values, table.absent, threads)
        return Sample(matrix, none, none, table.row_keys(), none.reshape(0, 0))

    held_out = None if valid is None else sample(valid.aligned(own.columns))
    return kind(sample(own), held_out, found[0], params, cipher_of(plan), threads, keeps, terms)
