"""Hidden rows: a vertical run in which no passive party learns which rows share a node.

    active (drives)                                  passive (each)
  every level, for all nodes that it can have:
    AskHiddenSums(gradients of all rows) ----------->  adds them up per bin, over all rows
                                         <-----------  SealedSums
    AskHiddenSides(cuts, members)  to the owners --->  keeps the cuts; filters the members by its left rows
                                         <-----------  HiddenSides
  the rest is as in `vertical`

Sums.  For every node the gradients of all rows that count are sealed, zero for the rows outside it. A level has as many
such vectors as it can have nodes, and every tree all levels of the plan: what a tree lacks is zero throughout
(`hidden_sizes`). A passive party makes one selection, the bins of all its rows, and sums every vector by it. Nothing in
a request names a node; the vectors cannot be told apart. They go by the rows of their nodes, most first, so that it is
known of every place how large its sums can be; that order is seen by nobody else.

Sides.  A chosen cut goes to its owner without its node. With it goes a sealed vector that has a one for each row at the
node. The owner keeps the ones of rows that go left and adds up the vectors of all its cuts of the level. A row is at
one node of a tree, so the sum is its own side there; each tree has a bit of its own. Validation rows and rows outside
the sample are among them. The order of the cuts is theirs, not that of the nodes.

Keys.  Where a cipher's key does not keep rows and slots apart (Paillier), members are sealed under another than
gradients: an owner could else answer with sides that it made of sealed gradients, and so of labels.

Names.  The owner never learns where its cut stands: it numbers the cuts of a round as they come. The active party's
forest has the number (counted from 1) in the place of the threshold, and `parts.called` reads it.

Sees in the clear.  Active: as in `vertical`; sides of the rows of a node only.
                    Passive: its own cuts and at which level they were chosen; how many rounds there are; with more
                    than 15 classes, in which group of 15 trees a cut is.
                    Where every cut of a level and of those above is its own, it can guess how they hang together.

A passive party cannot see what it sums, so it checks less: steps come in order, as many sums, cuts and levels as the
plan's trees can have, cuts of its own grid (`hidden_passive`).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from hedgerow.corridor.messages import AskHiddenSides, AskHiddenSums, BeginSealed, HiddenCuts, HiddenSides, SealedSums
from hedgerow.errors import ParameterError, ProtocolError
from hedgerow.privacy.additive import SecretKey
from hedgerow.privacy.shapes import RowsPlan
from hedgerow.protocols.session.group import ROOM, answer_of
from hedgerow.protocols.vertical.active import NOBODY, Talk, VerticalRows
from hedgerow.protocols.vertical.columns import AllColumns
from hedgerow.protocols.vertical.hidden_sizes import (
    KINDS,
    TREES_TOGETHER,
    HiddenSizes,
    hidden_plans,
    sides_plan,
    sums_plan,
)
from hedgerow.trees.forest import Forest
from hedgerow.trees.grow import LARGEST_LEVEL
from hedgerow.trees.local import LocalRows, Part
from hedgerow.trees.splits import Cuts, Nodes


class _Following:
    """Where rows lie in what is sealed in a round: part after part, those that count first; and names of cuts."""

    def __init__(self, parts: Sequence[Part], secret: SecretKey | None, to_hear: set[str]) -> None:
        self.parts, self.n_rows = parts, 0
        self.n_counted = parts[0].orders.shape[1] if parts else 0
        self._secret, self.to_hear = secret, to_hear
        """The key for sides, and parties that do not have it yet."""
        self._numbers: Counter[str] = Counter()
        self.named: list[tuple[int, int, int]] = []
        """Tree, node and the owner's number of each passive cut of the round."""
        self._places = []
        for part in parts:
            order = part.orders[0]
            places = np.zeros(part.sample.matrix.n_rows, np.int64)
            places[order] = np.arange(self.n_rows, self.n_rows + len(order))
            self._places.append(places)
            self.n_rows += len(order)

    def at(self, node: Nodes) -> list[NDArray[np.int64]]:
        """The places of the rows at a node, in the order of each part."""
        return [places[part.rows(node)] for part, places in zip(self.parts, self._places, strict=True)]

    @property
    def secret(self) -> SecretKey:
        """The key for sides, of a round that asks parties."""
        if self._secret is None:
            raise ProtocolError("Nobody is asked for sides in this round.")
        return self._secret

    def name(self, party: str, nodes: Nodes) -> None:
        """The owner of these cuts numbers them as they come."""
        first = self._numbers[party] + 1
        self._numbers[party] += len(nodes.tree)
        self.named += zip(nodes.tree.tolist(), nodes.node.tolist(), range(first, first + len(nodes.tree)), strict=True)


class HiddenRows(VerticalRows):
    """The active party's side: it alone knows the nodes."""

    seals_sides = True

    def __init__(self, talk: Talk, own: LocalRows, joint: AllColumns, done: int) -> None:
        params = talk.group.plan.params
        held_out = 0 if own.held_out is None else own.held_out.matrix.n_rows
        n_rows = own.own.matrix.n_rows + held_out
        self.hidden = HiddenSizes(len(own.own.scores), params.n_estimators, params.max_depth, n_rows)
        widest, bins = self.hidden.most_cuts(params.max_depth - 1), int(joint.grid.offsets[-1]) + 1
        if widest * bins * 16 > LARGEST_LEVEL:
            raise ParameterError(
                f"With hidden_rows the sums of all {widest} nodes of a level are kept at once, too many for {bins} "
                "bins; use fewer levels (max_depth) or bins (max_bin)."
            )
        self.following = _Following((), None, set())
        super().__init__(talk, own, joint, done)

    def _run_nodes(self, n_trees: int) -> int:  # noqa: ARG002  # known by the sizes
        """As many as trees can have, and as if sides were sums."""
        return KINDS * self.hidden.run_nodes

    def _largest(self, party: str, begin: BeginSealed) -> Iterable[RowsPlan]:  # noqa: ARG002  # all have the same rows
        """Every step of a tree."""
        return hidden_plans(begin, self.hidden, self.own.own.matrix.n_rows)

    def _plans(self, party: str) -> Iterator[RowsPlan]:  # noqa: ARG002  # all have the same rows
        """What this round's key is for where a party answers, as it knows too."""
        return hidden_plans(self.begin, self.hidden, self.own.parts[0].orders.shape[1])

    def start_round(self, round_: int) -> None:
        """A new key; nothing is said yet."""
        super().start_round(round_)
        secret, to_hear = None, set[str]()
        if self.now.asked and self.cipher.keys_apart:
            secret = self.sealing.secret
        elif self.now.asked:
            secret, to_hear = self.cipher.new_key(self.own.threads), set(self.now.asked)
        self.following = _Following(self.own.parts, secret, to_hear)

    def histograms(self, nodes: Nodes) -> NDArray[np.int64]:
        """What becomes known here: the sums of every passive column at these nodes."""
        opened: dict[str, list[NDArray[np.int64]]] = {party: [] for party in self.now.asked}
        with ThreadPoolExecutor(1) as beside:
            own = beside.submit(self.own.histograms, nodes)
            order = self._by_size(nodes)
            for plan, answers in self._level(nodes.at(order)):
                if plan is not None:
                    for party, answer in answers.items():
                        opened[party].append(self._opened_by_node(party, answer, plan))
        self.now.level += 1
        places = np.argsort(order)
        told = {party: np.concatenate(sums)[places] for party, sums in opened.items() if sums}
        return self._checked(nodes, own.result(), told)

    def _by_size(self, nodes: Nodes) -> NDArray[np.int64]:
        """The order in which nodes are sealed: those with most rows first."""
        return np.argsort(-self.own.parts[0].sizes(nodes), kind="stable")

    def _level(self, nodes: Nodes) -> Iterator[tuple[RowsPlan | None, dict[str, SealedSums]]]:
        """Asks for the sums of a level: of these nodes, and of zeros in the place of all others that it can have."""
        counted = self.following.n_counted
        for step in self.hidden.steps(self.now.level, counted) if self.now.asked else ():
            merging = next(iter(self.now.merging.values()))  # of all alike: they have the same rows
            plan = sums_plan(self.begin, self.hidden, self.now.level, step, counted, merging) if counted else None
            sealed = b"" if plan is None else self.sealing.secret.seal_rows(self._vectors(nodes, step), plan).encode()
            key = self.sealing.secret.public.encode(merging) if self.now.level == step.start == 0 else b""
            request = AskHiddenSums(self.now.number, self.now.level, step.start, key, sealed)
            answers = self.group.ask(dict.fromkeys(self.now.asked, request), SealedSums, self._most_sums(plan))
            if plan is not None:
                for party in self.now.asked:
                    self._note(party, plan, len(step))
            yield plan, answers

    def _vectors(self, nodes: Nodes, step: range) -> NDArray[np.int64]:
        """Gradients and hessians of all rows that count, zero outside each node."""
        out = np.zeros((self.following.n_counted, len(step), 2), np.int64)
        part = self.own.parts[0]
        for i in range(step.start, min(step.stop, len(nodes.tree))):
            node = nodes.at(np.array([i]))
            out[self.following.at(node)[0], i - step.start] = self.now.own_gradients[nodes.tree[i], part.rows(node)]
        return out.reshape(len(out), -1)

    def _opened_by_node(self, party: str, answer: SealedSums, plan: RowsPlan) -> NDArray[np.int64]:
        """What becomes known here: the sums, each checked to be one that rows can have (nodes x groups x 2)."""
        sums = self._opened_sums(party, answer.sealed_sums, plan)
        return np.ascontiguousarray(sums.reshape(self.groups[party], -1, 2).swapaxes(0, 1))

    def _told(self, asked: Mapping[str, Cuts]) -> dict[str, list[NDArray[np.bool_]]]:
        """What becomes known here: the sides of the rows at these cuts, node after node, part by part."""
        turns = {party: self._turns(cuts) for party, cuts in asked.items()}
        sides: dict[str, dict[int, list[NDArray[np.bool_]]]] = {party: {} for party in asked}
        for turn in range(max(map(len, turns.values()))):
            now = {party: _Members(asked[party], at[turn], self) for party, at in turns.items() if turn < len(at)}
            requests = {party: members.request(party) for party, members in now.items()}
            most = max(self.cipher.slots_bytes(members.plan, 1, 1) for members in now.values())
            answers = self.group.ask(requests, HiddenSides, ROOM + most)
            for party, members in now.items():
                sides[party] |= members.sides(party, answers[party])
                self.following.name(party, asked[party].nodes.at(members.which))
        n_parts = len(self.own.parts)
        return {
            party: [np.concatenate([found[i][part] for i in range(len(found))]) for part in range(n_parts)]
            for party, found in sides.items()
        }

    def _turns(self, cuts: Cuts) -> list[NDArray[np.int64]]:
        """The cuts of each request to an owner, in an order that says nothing of their nodes."""
        order = np.lexsort((*cuts.left_bins.T, cuts.bin, cuts.column))
        turns = []
        for bit in np.unique(cuts.nodes.tree // TREES_TOGETHER):
            which = order[cuts.nodes.tree[order] // TREES_TOGETHER == bit]
            turns += [which[i : i + self.hidden.cuts_together] for i in range(0, len(which), self.hidden.cuts_together)]
        return turns

    def finish_round(self, leaves: Nodes, values: NDArray[np.float32]) -> None:
        """The levels that the trees lack are asked for like the others; then as in every vertical run."""
        while self.now.level < self.hidden.depth:
            for _ in self._level(NOBODY):
                pass
            self.now.level += 1
        super().finish_round(leaves, values)

    def number(self, trees: Forest) -> None:
        """Writes the owners' numbers of passive cuts where the round's new trees have no thresholds."""
        for tree, node, number in self.following.named:
            trees.thresholds[trees.roots[tree] + node] = number


class _Members:
    """Which rows are at the nodes of some cuts of one owner, on their way there and back."""

    def __init__(self, cuts: Cuts, which: NDArray[np.int64], rows: HiddenRows) -> None:
        self.cuts, self.which, self.rows = cuts, which, rows
        self.plan = sides_plan(rows.hidden, rows.following.n_rows, len(which))
        self.bits = cuts.nodes.tree[which] % TREES_TOGETHER
        self.places = [rows.following.at(cuts.nodes.at(np.array([i]))) for i in which]
        self.own_members = np.zeros((self.plan.rows, len(which)), np.int64)
        for column, (bit, places) in enumerate(zip(self.bits, self.places, strict=True)):
            for some in places:
                self.own_members[some, column] = 1 << bit

    def request(self, party: str) -> AskHiddenSides:
        """The cuts in the clear, their members sealed; the key with the first of a round."""
        cuts, at, rows = self.cuts, self.which, self.rows
        listed = HiddenCuts(cuts.column[at], cuts.bin[at], cuts.missing_left[at], cuts.left_bins[at].reshape(-1))
        sealed = rows.following.secret.seal_slots(self.own_members, self.plan).encode()
        key = rows.following.secret.public.encode() if party in rows.following.to_hear else b""
        rows.following.to_hear.discard(party)
        return AskHiddenSides(rows.now.number, rows.now.level, listed, sealed, key)

    def sides(self, party: str, answer: HiddenSides) -> dict[int, list[NDArray[np.bool_]]]:
        """What becomes known here: by cut and part, which of the rows at its node go left."""
        secret = self.rows.following.secret
        with answer_of(party):
            opened = secret.open_slots(secret.public.read_slots(answer.sealed_sides, self.plan, 1, 1))[:, 0]
        if (opened & ~self.own_members.sum(axis=1)).any():
            raise ProtocolError(f"Party {party!r} told sides of rows that were not sealed for it; the run stops.")
        found = zip(self.which.tolist(), self.bits, self.places, strict=True)
        return {i: [(opened[some] >> bit & 1).astype(np.bool_) for some in places] for i, bit, places in found}
