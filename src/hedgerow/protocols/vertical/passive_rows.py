"""A passive party's answers about nodes that it is told, and the checks of what it is told.

`vertical` has the conversation.

Sees in the clear.  Which rows share a node, and the cuts of its own columns. Gradients come sealed; labels never come.

A party that is told the nodes of all rows sees every node that is cut, whoever's cut it is. So it can tell, for each of
its own cuts, the nearest of its own cuts above, and on which side of it (`OwnPaths`). With that, a prediction is held
to the path of a row (`predict/passive`). Nobody else learns anything by it.
"""

from collections.abc import Container, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.corridor import messages as m
from hedgerow.errors import PrivacyError, ProtocolError
from hedgerow.privacy.additive import Merging, PublicKey
from hedgerow.privacy.shapes import RowsPlan, Selection
from hedgerow.protocols.told_trees import (
    ANYWHERE,
    CHILDREN,
    NODE,
    TWICE,
    ToldNodes,
    check_places,
    nodes_of,
    sides_of,
    somewhere,
)
from hedgerow.protocols.vertical.columns import (
    POSITIVE,
    Asked,
    CutPlaces,
    asks,
    levels_of,
    run_nodes,
    tree_plans,
    with_siblings,
)
from hedgerow.protocols.vertical.passive_run import FIRST, REPEATS, PassiveRun
from hedgerow.trees.local import Part
from hedgerow.trees.splits import Cuts, Nodes

LEVEL = -1
WRONG = {
    NODE: "The active party moves rows of nodes that are not at the lowest level, or too deep.",
    CHILDREN: "The active party numbers the children of its cuts in another order than agreed.",
    TWICE: "The active party asks for nodes that are not at the lowest level, or twice.",
    LEVEL: "The active party asks for sums at a level that is its own by the plan.",
}
"""What a step is refused with."""
OFF_GRID = "The active party cuts a column of this party at a place that is not on its grid."

Giving = m.AskSealedSums | m.AskHiddenSums | m.AskSides | m.AskDrawnSides | m.AskHiddenSides | m.AskBatch
"""What is answered with something of the own columns."""


class OwnPaths:
    """The own cuts of one round, numbered in the order in which they were told."""

    def __init__(self, n_trees: int) -> None:
        self.after: list[NDArray[np.int64]] = []
        """For the cuts of every request, what they come after."""
        self._n_cuts = 0
        self._below = np.full((n_trees, 64), FIRST, np.int64)
        """For every node, the nearest own cut above it, and the side."""
        self._number = np.full((n_trees, 64), -1, np.int64)
        """For every node that is cut by an own column, the number of the cut."""

    def cut(self, nodes: Nodes) -> None:
        """These nodes are cut by own columns."""
        self.after.append(self._below[nodes.tree, nodes.node])
        self._number[nodes.tree, nodes.node] = self._n_cuts + np.arange(len(nodes.tree))
        self._n_cuts += len(nodes.tree)

    def move(self, nodes: Nodes, child: NDArray[np.int64]) -> None:
        """These nodes are cut, by whomever; each has two children now."""
        self._widen(int(child.max(initial=0)) + 2)
        above, number = self._below[nodes.tree, nodes.node], self._number[nodes.tree, nodes.node]
        self._below[nodes.tree, child] = np.where(number >= 0, 2 * number, above)
        self._below[nodes.tree, child + 1] = np.where(number >= 0, 2 * number + 1, above)

    def _widen(self, width: int) -> None:
        n_trees, now = self._below.shape
        if width > now:
            more = np.full((n_trees, width), -1, np.int64)
            self._below, self._number = (np.concatenate([a, more], axis=1) for a in (self._below, self._number))


class OpenRound:
    """What a party holds while the trees of one round grow: its rows, the nodes, and what is sealed for it."""

    def __init__(self, parts: list[Part], nodes: ToldNodes, public: PublicKey | None, merging: Merging = ()) -> None:
        """Without a key where nothing is sealed."""
        self.parts, self.nodes, self.public = parts, nodes, public
        self.merging = merging
        """Distances at which results are merged."""
        self.level = 0
        self.paths = OwnPaths(len(nodes.sizes))
        self.told: dict[tuple[int, int], list[NDArray[np.bool_]]] = {}
        """The sides that were told at nodes of the lowest level."""
        self.sealed_gradients = b""
        self.selection: Selection | None = None
        """The bins of the rows that were sealed."""


class PassiveRows:
    """Rows on their way down trees that others cut too."""

    hides = False
    """Whether this party is not told which rows share a node."""

    def __init__(self, run: PassiveRun) -> None:
        self.run = run
        grid = run.table.grid
        self.places = CutPlaces.of(grid.n_values, grid.has_missing, grid.categorical)
        self.now: OpenRound | None = None

    def begin(self, request: m.BeginSealed) -> m.Done:
        """Take over the sizes of the run, if they can be."""
        done = self.run.begin(request, run_nodes(self.run.table.params, request.n_trees, self.run.table.levels))
        self.now = None
        return done

    def answer(self, request: Giving) -> m.SealedSums | m.Sides:
        """What the active party may ask for in the trees of this run."""
        if isinstance(request, m.AskSealedSums):
            return self.sums(request)
        if isinstance(request, m.AskSides):
            return self.sides(request)
        raise ProtocolError(f"The plan of this run does not allow {type(request).__name__}.")

    def end(self, request: m.EndRound) -> m.Done:
        """The own cuts of the round belong to the model."""
        done = self.run.end(request, () if self.now is None else self.now.paths.after)
        self.now = None
        return done

    def sums(self, request: m.AskSealedSums) -> m.SealedSums:
        """Own columns' sums of what is sealed: the active party will read them, and only them."""
        begun, run = self._check_step(request), self.run
        run.underway = True
        nodes = nodes_of(request.nodes.tree, request.nodes.node)
        now = self.now = self._followed(request, begun, nodes)
        self._check_rows(now.parts[0].sizes(nodes))
        now.level = request.level + 1
        sealed = self._sealed_sums(begun, request, nodes)
        run.underway = False
        return m.SealedSums(sealed) if not self._counted else m.AllowedSums(sealed, *self._allowed(nodes))

    def _check_step(self, request: m.AskSealedSums) -> m.BeginSealed:
        """The step must be the next, of a round in which nothing was refused half-way."""
        run, begun = self.run, self.run.has_begun()
        if run.finished and request.level == 0 and request.round == run.round + 1:
            run.check_start(request.round)
        elif run.finished or (request.round, request.level) != (run.round, self._level):
            raise ProtocolError("The active party asks for another step than the next.")
        run.check_whole()
        return begun

    @property
    def _level(self) -> int:
        return 0 if self.now is None else self.now.level

    def _followed(self, request: m.AskSealedSums, begun: m.BeginSealed, nodes: Nodes) -> OpenRound:
        """The next round, begun, or this one with its rows moved as told; one key for each, given with its first step.

        Nothing moves unless the nodes that are cut and asked about are such as may be.
        """
        table, now = self.run.table, self.now
        if self.run.finished or now is None:
            self.run.start(request.round)
            parts = table.parts(begun.n_trees, request.round)
            n_rows, sharing = parts[0].orders.shape[1], self.run.sharing
            plans = tree_plans(begun, n_rows, table.params, table.levels, sharing, self.summand)
            merging = table.cipher.merging(plans)
            public = table.cipher.read_public_key(request.public_key, table.threads, merging)
            now = OpenRound(parts, self._roots(begun), public, merging)
        elif request.public_key:
            raise ProtocolError("The active party gives another key in the middle of a tree.")
        told = self._followed_moves(now.nodes, request.moves)
        told = told.step(None, ANYWHERE, nodes, WRONG)
        if table.levels and not asks(table.levels[told.depth]):
            raise ProtocolError(WRONG[LEVEL])
        self._move_all(now, request.moves)
        now.nodes = told
        return now

    def _roots(self, begun: m.BeginSealed) -> ToldNodes:
        """The trees of a round before their first step."""
        return ToldNodes.at_roots(begun.n_trees, levels_of(self.run.table.levels))

    def _followed_moves(self, told: ToldNodes, every: Sequence[m.Moves]) -> ToldNodes:
        """The nodes after these moves, if they can be; nothing moves yet."""
        for moves in every:
            cut = nodes_of(moves.tree, moves.node)
            if told.depth + 1 >= (len(self.run.table.levels) or self.run.table.params.max_depth):
                raise ProtocolError(WRONG[NODE])
            if moves.child.shape != cut.tree.shape:
                raise ProtocolError(WRONG[CHILDREN])
            told = told.cut(somewhere(cut, moves.child), ANYWHERE, WRONG)
        return told

    def _move_all(self, now: OpenRound, every: Sequence[m.Moves]) -> None:
        for moves in every:
            self._move(now, nodes_of(moves.tree, moves.node), moves.child, moves.left)

    def _move(self, now: OpenRound, nodes: Nodes, child: NDArray[np.int64], told: NDArray[np.uint8]) -> None:
        sizes = [int(part.sizes(nodes).sum()) for part in now.parts]
        left = sides_of(told, sizes, "The active party did not tell the side of every row.")
        self._check_told(now, nodes, left)
        moved = [part.divide_by(nodes, child, sides) for part, sides in zip(now.parts, left, strict=True)]
        self._check_rows(moved[0])
        now.paths.move(nodes, child)
        now.told = {}

    def _check_told(self, now: OpenRound, nodes: Nodes, left: Sequence[NDArray[np.bool_]]) -> None:
        """Rows go where this party said they do at its own cuts."""
        by_node = [
            np.split(sides, np.cumsum(part.sizes(nodes))[:-1]) for part, sides in zip(now.parts, left, strict=True)
        ]
        for i, place in enumerate(zip(nodes.tree.tolist(), nodes.node.tolist(), strict=True)):
            told = now.told.get(place)
            if told is not None and not all(np.array_equal(a, b[i]) for a, b in zip(told, by_node, strict=True)):
                raise ProtocolError("The active party moves rows otherwise than this party told at its own cut.")

    def _check_rows(self, sizes: NDArray[np.int64]) -> None:
        """The owner's policy, whatever the active party's rules are."""
        fewest, some = self.run.terms.fewest_rows, sizes[sizes > 0] if self.run.table.lacks else sizes
        if fewest > 1 and int(some.min(initial=fewest)) < fewest:
            raise PrivacyError(
                "The active party asks about nodes of fewer rows than this party's policy allows (min_child_rows); "
                "this party stops."
            )

    @property
    def _counted(self) -> bool:
        """Whether the plan bounds the rows of a child, so that sums are told with what `CutPlaces` tells."""
        return self.run.table.params.min_child_rows > 1

    def _allowed(self, nodes: Nodes) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """What becomes known to the active party of these nodes and their siblings: see `CutPlaces`."""
        table, part = self.run.table, self._under_way.parts[0]
        counts = _native.count_rows(table.own.matrix, part.orders, part.spans, with_siblings(nodes), table.threads)
        return self.places.told(counts, table.params.min_child_rows)

    @property
    def _under_way(self) -> OpenRound:
        if self.now is None:
            raise ProtocolError("The active party asks for sides of another step than this one.")
        return self.now

    def _sealed_sums(self, begun: m.BeginSealed, request: m.AskSealedSums, nodes: Nodes) -> bytes:
        run, table, now = self.run, self.run.table, self._under_way
        if (request.together > 0) != (begun.together > 0) or request.together > begun.together:
            raise ProtocolError("The active party asks for a part of a total over more rows than there are.")
        begun = msgspec.structs.replace(begun, together=request.together)
        asked = Asked.of(begun, now.parts[0], nodes, table.cipher.seals_once, now.merging, self.summand)
        if asked.plan is None:
            return b""
        run.count_sums(len(nodes.tree))
        # What is told with the sums has room for bits, too.
        beside = len(with_siblings(nodes).node) if self._counted else 0
        room = table.cipher.room(asked.plan, table.n_sums)
        run.count_bits(room + self.places.room(beside, table.n_own))
        if asked.sealed_now(request.level):
            now.sealed_gradients = request.sealed_gradients
            codes = table.own_codes if table.n_own else np.zeros((len(table.own_codes), 1), np.uint8)
            now.selection = Selection(np.take(codes, asked.rows, axis=1), table.widths)
        elif request.sealed_gradients:
            raise ProtocolError("The active party seals gradients a second time in one tree.")
        if now.selection is None or now.public is None:
            raise ProtocolError("The active party asks for sums before it has sealed any gradients.")
        sealed, pads = (
            now.public.read_rows(now.sealed_gradients, asked.plan),
            None if run.pads is None else run.pads(request),
        )
        selection = now.selection
        if not asked.once:  # the next step brings others; these may be large
            now.sealed_gradients, now.selection = b"", None
        return now.public.group_sums(sealed, selection, asked.nodes, plus=self._plus(asked.plan), pads=pads).encode()

    @property
    def summand(self) -> int:
        """The largest absolute value of what is added to a sum before it is returned: nothing is."""
        return 0

    def _plus(self, plan: RowsPlan) -> NDArray[np.int64] | None:  # noqa: ARG002  # whichever sums it is for
        """What is added to sums before they are returned, under encryption where there is any."""
        return None

    def sides(self, request: m.AskSides) -> m.Sides:
        """What becomes known to the active party: which rows go left at these cuts of own columns."""
        run, now = self.run, self._under_way
        if run.finished or (request.round, request.level) != (run.round, now.level):
            raise ProtocolError("The active party asks for sides of another step than this one.")
        run.check_whole()
        return self._told_sides(now, self._own_cuts(now.nodes, request.cuts, now.told))

    def _told_sides(self, now: OpenRound, cuts: Cuts) -> m.Sides:
        """What becomes known to the active party: which rows go left at these cuts, which belong to the model."""
        run = self.run
        left = [part.sides(cuts) for part in now.parts]
        ends = [np.cumsum(part.sizes(cuts.nodes))[:-1] for part in now.parts]
        # From here on a refusal tells of own rows: it counts, and the round cannot go on, else cuts could be tried out.
        run.underway = True
        self._count_sides(sum(map(len, left)))
        self._check_rows(np.array([(s.sum(), (~s).sum()) for s in np.split(left[0], ends[0])], np.int64))
        run.underway = False
        run.cuts.append(cuts)
        now.paths.cut(cuts.nodes)
        by_node = zip(*(np.split(sides, at) for sides, at in zip(left, ends, strict=True)), strict=True)
        now.told |= {place: list(sides) for place, sides in zip(_places(cuts.nodes), by_node, strict=True)}
        return m.Sides(np.packbits(np.concatenate(left), bitorder="little"))

    def _own_cuts(self, told: ToldNodes, listed: m.CutList, before: Container[tuple[int, int]] = ()) -> Cuts:
        """The cuts, if they are of nodes at the lowest level that were not cut `before`, and of this party's grid."""
        n = len(listed.tree)
        alike = {len(part) for part in (listed.node, listed.child, listed.column, listed.bin, listed.missing_left)}
        if alike != {n} or not n or len(listed.left_bins) != 4 * n:
            raise ProtocolError("The active party's cuts are not well formed.")
        nodes = nodes_of(listed.tree, listed.node)
        if not told.has_lowest(nodes) or any(place in before for place in _places(nodes)):
            raise ProtocolError("The active party cuts a node that is not at the lowest level, or twice.")
        sets = listed.left_bins.reshape(n, 4)
        cuts = Cuts(nodes, listed.child, listed.column, listed.bin, listed.missing_left, sets)
        check_places(cuts, self.run.table.grid, OFF_GRID)
        return cuts

    def _count_sides(self, n: int) -> None:
        """A row goes down every tree of the plan once, by own cuts at some levels, and once more after losses."""
        run, params = self.run, self.run.table.params
        n_trees = run.begun.n_trees if run.begun is not None else 1
        depth = sum(map(asks, run.table.levels)) if run.table.levels else params.max_depth
        run.given.sides += n
        if run.given.sides > REPEATS * n_trees * params.n_estimators * depth * run.table.n_rows:
            raise PrivacyError("The active party asks for more sides than the trees of the run have; this party stops.")
        run.terms.check_given(run.given.sides, run.given.bits)

    @property
    def most_request(self) -> int:
        """Bytes that the next request may have; a longer one is refused before it is taken in."""
        return self.run.most_request(self._most_sealed)

    def _most_sealed(self, begun: m.BeginSealed) -> int:
        """Gradients of all rows at most, for as many nodes as there can be at the next level."""
        table = self.run.table
        own, widest = table.n_own, begun.n_trees << max(table.params.max_depth - 1, 0)
        lowest = begun.n_trees if self.now is None else 2 * self.now.nodes.n_lowest
        if table.levels:  # several levels may lie between, and nodes above them may be asked about again
            lowest = widest
        if not own:
            return 0
        plan = RowsPlan(
            rows=own * begun.n_trees,
            bounds=(begun.bound, begun.bound),
            positive=POSITIVE,
            groups=begun.groups,
            columns=begun.columns,
            nodes=max(min(lowest, widest), 1),
            most_rows=0 if table.cipher.seals_once else own,
            run_sums=begun.run_sums,
            summand=self.summand,
            together=begun.together,
            merging=(),  # with any at all it takes no longer
        )
        return table.cipher.most_rows_bytes(plan)


def _places(nodes: Nodes) -> list[tuple[int, int]]:
    return list(zip(nodes.tree.tolist(), nodes.node.tolist(), strict=True))
