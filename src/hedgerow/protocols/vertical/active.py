"""The active party's side of a vertical run: its own rows, and everybody's columns.

The folder has the conversation and who sees what.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.corridor import messages as m
from hedgerow.errors import ProtocolError
from hedgerow.privacy.additive import Cipher, Merging, SealedSums, SecretKey
from hedgerow.privacy.shapes import RowsPlan
from hedgerow.protocols.session.group import ROOM, answer_of
from hedgerow.protocols.told_trees import cut_list, sides_of
from hedgerow.protocols.vertical.answer_checks import AllowedRows, ClaimedSums
from hedgerow.protocols.vertical.columns import (
    JOINT,
    PASSIVE_ONLY,
    RUN_SUMS,
    AllColumns,
    Asked,
    asks,
    levels_of,
    run_nodes,
    tree_plans,
    wanted,
)
from hedgerow.protocols.vertical.held_rows import HeldRows, RowSides, parts_at
from hedgerow.protocols.vertical.room import ensure_room, largest
from hedgerow.protocols.vertical.talk import KeyUse as KeyUse
from hedgerow.protocols.vertical.talk import Talk as Talk
from hedgerow.trees.grow import Summed
from hedgerow.trees.local import LocalRows, Part, added
from hedgerow.trees.splits import Cuts, Nodes

_NONE = np.empty(0, np.int64)
NOBODY = Nodes(_NONE, _NONE)


class ActiveRound:
    """What the active party holds while the trees of one round grow."""

    def __init__(self, number: int, asked: Mapping[str, int], own_gradients: NDArray[np.int32]) -> None:
        self.number, self.level, self.depth = number, 0, 0
        """Which round; steps that were asked for; levels that were cut."""
        self.asked = asked
        """Sums of a node by the parties that this round asks; without any, nothing is sealed."""
        self.own_gradients = own_gradients
        self.levels = dict.fromkeys(asked, 0)
        """Steps that each party was asked for."""
        self.moves: dict[str, tuple[m.Moves, ...]] = dict.fromkeys(asked, ())
        """For each party, where its rows went since the last request for sums, level by level."""
        self.held: dict[str, HeldRows] = {}
        """The rows of parties that have some."""
        self.merging: dict[str, Merging] = {}
        """For each party, the distances at which its results are merged."""


class Sealing(NamedTuple):
    """What a round has where parties are asked for sums: a key of its own, and what is checked of their answers."""

    secret: SecretKey
    own_absolute: NDArray[np.int32]
    claimed: ClaimedSums


class Step(NamedTuple):
    """What one party is asked for at a level, and how its gradients are sealed; no plan: it has no row there."""

    request: Callable[[], m.AskSealedSums]
    """Makes the request."""
    plan: RowsPlan | None
    at: NDArray[np.int64]
    """The nodes among those of the level."""


class VerticalRows:
    """The active party's side: its own rows, and everybody's columns."""

    seals_sides = False
    """Whether sides are sealed, too."""
    claims = ClaimedSums
    """What is checked of sums that are claimed."""
    counts_every = True
    """What allows and refuses cuts is told of every node by itself."""

    def __init__(self, talk: Talk, own: LocalRows, joint: AllColumns, done: int) -> None:
        self.group, self.keys, self.asks, self.before, self.links = talk
        self.own, self.joint, self.params = own, joint, self.group.plan.params
        asked = {party: int(wanted(joint.bins(o)).sum()) for o in joint.passive() for party in joint.holders(o)}
        self.groups = {party: n for party, n in asked.items() if n}
        """Sums of a node by party; a party none of whose columns can be cut is not asked for anything."""
        places = {o.party: joint.places(o) for o in joint.passive() if o.party in self.groups}
        self.allowed = AllowedRows(places, self.params.min_child_rows, own.own.matrix.n_rows)
        columns = max((int((joint.bins(o) > 1).sum()) for o in joint.passive()), default=0)
        total = sum(self.groups.values())
        n_trees, bound = len(own.own.scores), 1 << (own.settings.scales.bits - 1)
        run_sums = RUN_SUMS * total * self._run_nodes(n_trees)
        self.begin = m.BeginSealed(done, n_trees, bound, total, columns, run_sums)
        self.opened: list[tuple[str, int, int]] = []
        """Party, sums and bits that these can carry at most, of every answer since somebody looked."""
        self.now = ActiveRound(-1, {}, np.empty((0, 0, 2), np.int32))
        self._sealing: Sealing | None = None
        self.begins = {party: self._begin(party, n_trees) for party in self.groups}
        """What each party hears of the sizes of the run."""
        for party, begin in self.begins.items():
            ensure_room(self.cipher, party, begin, partial(self._largest, party))
        self._begin_run()

    def _begin_run(self) -> None:
        self.group.ask(self.begins, m.Done)

    def _begin(self, party: str, n_trees: int) -> m.BeginSealed:
        """One that has rows of its own gets gradients of its own, laid out for its own sums or its group's total."""
        if party not in self.links:
            return self.begin
        sharing, groups = self.joint.group_of(party), self.groups[party]
        rows = sum(len(self.links[party].own) for party in sharing) * (n_trees if self.cipher.seals_once else 1)
        run_sums = RUN_SUMS * groups * self._run_nodes(n_trees)
        together = max(rows, 1) if sharing else 0
        return msgspec.structs.replace(self.begin, groups=groups, run_sums=run_sums, together=together)

    def _largest(self, party: str, begin: m.BeginSealed) -> Iterable[RowsPlan]:
        """The step that takes most room in a run of these sizes: one node with all rows."""
        rows = len(self.links[party].own) if party in self.links else self.own.own.matrix.n_rows
        if not rows or not any(map(asks, self.group.plan.schedule or JOINT)):
            return ()
        return (largest(begin, rows, self.cipher.seals_once, self.summand),)

    def _run_nodes(self, n_trees: int) -> int:
        """The nodes whose sums a run of so many trees a round may open."""
        return run_nodes(self.params, n_trees, self.group.plan.schedule)

    @property
    def clipped(self) -> int:
        """Gradients that were cut to the agreed range."""
        return self.own.clipped

    @property
    def cipher(self) -> Cipher:
        """What gradients are sealed with."""
        return self.keys.cipher

    def _letter(self, depth: int) -> str:
        """Whose columns compete at this level."""
        levels = self.group.plan.schedule
        return levels[depth] if levels else JOINT

    @property
    def summand(self) -> int:
        """The largest absolute value of what owners add to a sum before they return it: they add nothing."""
        return 0

    @property
    def asking(self) -> bool:
        """Whether anybody is asked at this level."""
        return bool(self.now.asked) and asks(self._letter(self.now.depth))

    def start_round(self, round_: int) -> None:
        """A new key, where anybody is asked; nothing is said yet."""
        self.own.start_round(round_)
        among, self.opened = self.asks(round_), []
        asked = {party: n for party, n in self.groups.items() if party in among}
        self.now = ActiveRound(round_, asked, _native.narrow(self.own.pairs, self.own.settings.scales.bits))
        linked = ((party, self.links[party]) for party in asked if party in self.links)
        self.now.held = {party: HeldRows(rows, self.own, self.own.draw, round_) for party, rows in linked}
        self._sealing = self._new_sealing(asked) if asked else None
        if asked:
            self.before.start_round(round_, self._asked_for)

    def _new_sealing(self, asked: Mapping[str, int]) -> Sealing | None:
        """A new key, and nothing claimed yet."""
        self.now.merging = {party: self.cipher.merging(self._plans(party)) for party in asked}
        use = KeyUse(self.own.threads, self.seals_sides, tuple(self.now.merging.values()))
        secret = self.keys.take(use, more=self.now.number + 1 < self.params.n_estimators)
        spans = (o._replace(party=", ".join(self.joint.holders(o))) for o in self.joint.owned if o.party in asked)
        letters = self.group.plan.schedule
        again = levels_of(letters).twice([depth for depth, letter in enumerate(letters) if asks(letter)])
        return Sealing(secret, np.abs(self.now.own_gradients), self.claims(list(spans), self.joint.grid, again))

    @property
    def _asked_for(self) -> bytes:
        """What, beside the trees so far, decides what the others are asked first; nothing does."""
        return b""

    def _plans(self, party: str) -> Iterator[RowsPlan]:
        """What this round's key is for where a party answers, as it knows too."""
        n_rows = parts_at(self.now.held.get(party), self.own)[0].orders.shape[1]
        sharing, levels = len(self.joint.group_of(party)), self.group.plan.schedule
        return tree_plans(self.begins[party], n_rows, self.params, levels, sharing, self.summand)

    @property
    def sealing(self) -> Sealing:
        """Of this round, which asks parties for sums."""
        if self._sealing is None:
            raise ProtocolError("Nobody is asked for sums in this round.")
        return self._sealing

    def histograms(self, nodes: Nodes) -> NDArray[np.int64]:
        """What becomes known here: the sums of every passive column at these nodes."""
        if not self.asking:
            return self._joined(self.own.histograms(nodes), {})
        steps = self._steps(nodes)
        with ThreadPoolExecutor(1) as beside:
            own = beside.submit(self.own.choosing_histograms, nodes)
            opened = self._opened(nodes, steps)
        self.now.level += 1
        return self._checked(nodes, own.result(), opened)

    def _steps(self, nodes: Nodes) -> dict[str, Step]:
        """What each party is asked at these nodes; parties that have all rows are asked the same.

        Gradients are sealed when it is the party's turn: those of a level, of all parties, may be more than fits.
        """
        alike: dict[int, tuple[RowsPlan | None, Callable[[], bytes]]] = {}
        together = {group: self._together(group, nodes) for group in self.joint.groups}
        out = {}
        for party in self.now.asked:
            held, most = self.now.held.get(party), together.get(self.joint.group_of(party), 0)
            part, at = parts_at(held, self.own)[0], self._asked_at(party, nodes)
            if not len(at):
                continue
            some = nodes.at(at)
            if id(part) not in alike:
                begin = msgspec.structs.replace(self.begins[party], together=most)
                once, merging = self.cipher.seals_once, self.now.merging[party]
                plan = Asked.plan_of(begin, part, some, once, merging, self.summand)
                seal = partial(self._sealed, party, begin, part, some)
                alike[id(part)] = plan, seal if held is not None else cache(seal)
            plan, sealed = alike[id(part)]
            out[party] = Step(partial(self._request, party, some, sealed, most), plan, at)
        return out

    def _together(self, sharing: Sequence[str], nodes: Nodes) -> int:
        """Rows of the largest of these nodes, of all that share columns; where all are sealed at once, all rows."""
        asked = [party for party in sharing if party in self.now.asked]
        if self.cipher.seals_once or not asked:
            return max((self.begins[party].together for party in asked), default=0)
        sizes = np.sum([self.now.held[party].parts[0].sizes(nodes) for party in asked], axis=0)
        return max(int(sizes.max()), 1)

    def _asked_at(self, party: str, nodes: Nodes) -> NDArray[np.int64]:
        """Which of a level's nodes a party is asked about: where it has subtrees of its own, those of its rows."""
        plan, n_rows = self.group.plan, np.zeros(len(nodes.tree), np.int64)
        if not plan.units:
            return np.arange(len(nodes.tree))
        for name in next(unit for unit in plan.units if party in unit):
            n_rows += self.now.held[name].parts[0].sizes(nodes)
        return np.flatnonzero(n_rows)

    def _checked(
        self, nodes: Nodes, own: NDArray[np.int64], opened: Mapping[str, NDArray[np.int64]]
    ) -> NDArray[np.int64]:
        """Own and opened sums side by side; opened ones that cannot be those of rows end the run."""
        out = self._joined(own, opened)
        if opened or self.links:
            names = {party: ", ".join(self.joint.group_of(party)) or party for party in opened}
            self.before.hear({names[party]: (sums, *self.allowed.told(party)) for party, sums in opened.items()})
            self.sealing.claimed.give(nodes, out, self._sums(self.sealing.own_absolute, nodes))
        return out

    def exact(self, sums: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """These sums and the rows' own, as far as nothing was added to them."""
        return sums, self.now.own_gradients

    def _sums(self, own_pairs: NDArray[np.int32], nodes: Nodes) -> NDArray[np.int64]:
        """Over the rows by which cuts are chosen here, which are sealed."""
        return self._part_sums(self.own.parts[0], own_pairs, nodes)

    def _part_sums(self, part: Part, own_pairs: NDArray[np.int32], nodes: Nodes) -> NDArray[np.int64]:
        return _native.leaf_sums(own_pairs, part.orders, part.spans, nodes, self.own.threads)

    def _sealed(self, party: str, begin: m.BeginSealed, part: Part, nodes: Nodes) -> bytes:
        """The gradients of a party's rows, where they are sealed in this step."""
        asked = Asked.of(begin, part, nodes, self.cipher.seals_once, self.now.merging[party], self.summand)
        if asked.plan is None or not asked.sealed_now(self.now.levels[party]):
            return b""
        held = self.now.held.get(party)
        if held is not None and not len(held.linked.own):
            return self.sealing.secret.seal_rows(np.zeros((1, 2), np.int64), asked.plan).encode()
        rows = asked.rows if held is None else held.linked.own[asked.rows]
        values = np.ascontiguousarray(self.now.own_gradients[asked.tree, rows].astype(np.int64))
        return self.sealing.secret.seal_rows(values, asked.plan).encode()

    def _key(self, party: str) -> bytes:
        """The round's public key, as far as this party's answers need it."""
        return self.sealing.secret.public.encode(self.now.merging[party])

    def _request(self, party: str, nodes: Nodes, sealed: Callable[[], bytes], together: int) -> m.AskSealedSums:
        level, moves = self.now.levels[party], self.now.moves[party]
        key = self._key(party) if level == 0 else b""
        return m.AskSealedSums(self.now.number, level, moves, m.NodeList(*nodes), key, sealed(), together)

    def _opened(self, nodes: Nodes, steps: Mapping[str, Step]) -> dict[str, NDArray[np.int64]]:
        """What becomes known here: the sums, each checked to be one that rows can have."""
        if not steps:
            return {}
        most_bytes = max(self._most_sums(step.plan) for step in steps.values()) + self.allowed.n_bytes(nodes)
        kind = m.AllowedSums if self.params.min_child_rows > 1 else m.SealedSums
        requests = {party: step.request for party, step in steps.items()}
        answers = self.group.ask_in_turn(requests, kind, most_bytes)
        self.now.moves |= dict.fromkeys(steps, ())
        self.allowed.hear(nodes, answers)
        parts = {}
        for party, (_, plan, at) in steps.items():
            self.now.levels[party] += 1
            if plan is not None:
                parts[party] = self._sums_of(party, answers[party].sealed_sums, plan)
                self._note(party, plan, len(at), nodes)
        totals = [group for group in self.joint.groups if group[0] in parts]
        found = {group[0]: self.sealing.secret.open_total([parts[party] for party in group]) for group in totals}
        alone = (party for party in parts if not self.joint.group_of(party))
        found |= {party: self._opened_part(party, parts[party]) for party in alone}
        return {party: _spread(sums, steps[party].at, len(nodes.tree)) for party, sums in found.items()}

    def _most_sums(self, plan: RowsPlan | None) -> int:
        """Bytes of the longest answer, what it says of rows aside."""
        return ROOM + (0 if plan is None else max(self.cipher.sums_bytes(plan, n) for n in self.now.asked.values()))

    def _opened_sums(self, party: str, sealed_sums: bytes, plan: RowsPlan) -> NDArray[np.int64]:
        """Nodes x groups x channels; what cannot be opened is said with the name of the party."""
        return self._opened_part(party, self._sums_of(party, sealed_sums, plan))

    def _sums_of(self, party: str, sealed_sums: bytes, plan: RowsPlan) -> SealedSums:
        with answer_of(party):
            return self.sealing.secret.public.read_sums(sealed_sums, plan, self.groups[party])

    def _opened_part(self, party: str, sums: SealedSums) -> NDArray[np.int64]:
        with answer_of(party):
            return self.sealing.secret.open_sums(sums)

    def _note(self, party: str, plan: RowsPlan, n_nodes: int, told_of: Nodes = NOBODY) -> None:
        """So much could be opened of a party that was asked, or was told in the clear with it."""
        n = self.now.asked[party]
        bits = self.cipher.room(plan, n) + self.allowed.room(party, told_of)
        self.opened.append((party, 2 * n_nodes * n, bits))

    def _joined(self, own: NDArray[np.int64], opened: Mapping[str, NDArray[np.int64]]) -> NDArray[np.int64]:
        """Own and opened sums side by side, in the order of all columns; each node's total last."""
        offsets = self.joint.grid.offsets.astype(np.int64)
        out = np.zeros((len(own), int(offsets[-1]) + 1, own.shape[-1]), np.int64)
        out[:, -1] = total = own[:, -1]
        for owned in self.joint.owned:
            here = slice(int(offsets[owned.first]), int(offsets[owned.last]))
            if owned.party != self.joint.own or self._letter(self.now.depth) == PASSIVE_ONLY:
                out[:, here] = completed(opened.get(owned.party), self.joint.bins(owned), total)
            else:
                out[:, here] = own[:, :-1]
        return out

    def counts(self, nodes: Nodes) -> NDArray[np.int64]:
        """Numbers of rows a node and bin: of passive columns such that allow the cuts that their owners do."""
        own, offsets = self.own.counts(nodes), self.joint.grid.offsets.astype(np.int64)
        out = np.zeros((len(own), int(offsets[-1]) + 1), np.int64)
        out[:, -1] = own[:, -1]
        for owned in self.joint.owned:
            here = slice(int(offsets[owned.first]), int(offsets[owned.last]))
            if owned.party == self.joint.own:
                out[:, here] = own[:, :-1]
            elif owned.party in self.now.asked and asks(self._letter(self.now.depth)):
                out[:, here] = self.allowed.rows(owned.party, nodes, own[:, -1])
        return out

    def divide(self, cuts: Cuts) -> NDArray[np.int64]:
        """What becomes known here: the sides of all rows at the cuts of passive columns."""
        left: Sequence[NDArray[np.bool_]]
        left = [np.repeat(cuts.missing_left, part.sizes(cuts.nodes)) for part in self.own.parts]
        asked: dict[str, NDArray[np.int64]] = {}
        theirs: dict[str, Cuts] = {}
        for owned in self.joint.owned:
            at = np.flatnonzero((cuts.column >= owned.first) & (cuts.column < owned.last))
            mine = some_cuts(cuts, at, owned.first)
            if len(at) and owned.party == self.joint.own:
                fill_sides(left, self.own.parts, cuts.nodes, at, [part.sides(mine) for part in self.own.parts])
            elif len(at):
                asked |= dict.fromkeys(self.joint.holders(owned), at)
                theirs |= dict.fromkeys(self.joint.holders(owned), mine)
        told = self._told(theirs) if theirs else {}
        left = self._moved(left, cuts, asked, theirs, told)
        sizes = [p.divide_by(cuts.nodes, cuts.child, s) for p, s in zip(self.own.parts, left, strict=True)]
        asking = self.asking
        self.now.depth += 1
        if asking:
            self.before.hear(told)
        if self._sealing is not None and not (asking and len(cuts.child)):
            self._sealing.claimed.forget()
        elif self._sealing is not None:
            self._check_cuts(cuts, {party: sizes[0][at] for party, at in asked.items()})
        return added(sizes[: self.own.draw.counted])

    def _moved(
        self,
        left: Sequence[NDArray[np.bool_]],
        cuts: Cuts,
        asked: Mapping[str, NDArray[np.int64]],
        theirs: Mapping[str, Cuts],
        told: Mapping[str, list[NDArray[np.bool_]]],
    ) -> Sequence[NDArray[np.bool_]]:
        """All sides, with those that the owners of cuts told of their rows; of rows that none of them has as before."""
        linked = [party for party in told if party in self.now.held]
        for party in told.keys() - linked:
            fill_sides(left, self.own.parts, cuts.nodes, asked[party], told[party])
        rows = RowSides(self.own, cuts.nodes, left) if self.now.held else None
        if rows is not None and linked:
            for party in linked:
                rows.put(self.now.held[party], theirs[party].nodes, told[party])
            left = rows.of_all()
        self._move(cuts, left, rows)
        return left

    def _move(self, cuts: Cuts, left: Sequence[NDArray[np.bool_]], rows: RowSides | None) -> None:
        """Each party will hear with the next request where its rows go; those of others it does not hear."""
        every = cache(partial(_packed, left))
        for party in self.now.asked:
            held = self.now.held.get(party)
            sides = every() if held is None or rows is None else _packed(held.divide(cuts.nodes, cuts.child, rows))
            self.now.moves[party] = (*self.now.moves[party], m.Moves(*cuts.nodes, cuts.child, sides))

    def _check_cuts(self, cuts: Cuts, sizes: Mapping[str, NDArray[np.int64]]) -> None:
        """Cuts of passive columns, by the rows that now are left and right of them, are what their owners said."""
        for party, rows in sizes.items():
            self.allowed.check(party, rows)
        which = self.sealing.claimed.theirs(cuts)
        left_children = Nodes(cuts.nodes.tree[which], cuts.child[which])
        self.sealing.claimed.cut(cuts, which, self._sums(self.now.own_gradients, left_children))

    def _told(self, asked: Mapping[str, Cuts]) -> dict[str, list[NDArray[np.bool_]]]:
        """What the owners of these cuts say: the sides of the rows at them, part by part."""
        number, levels = self.now.number, self.now.levels
        requests = {party: m.AskSides(number, levels[party], cut_list(cuts)) for party, cuts in asked.items()}
        rows = {party: self._rows_at(party, cuts.nodes) for party, cuts in asked.items()}
        answers = self.group.ask(requests, m.Sides, ROOM + max(map(sum, rows.values())) // 8)
        wrong = "did not tell the sides of the rows it was asked about."
        return {party: sides_of(answers[party].left, rows[party], f"Party {party!r} {wrong}") for party in asked}

    def _rows_at(self, party: str, nodes: Nodes) -> list[int]:
        """Of a party's rows, part by part, how many are at these nodes."""
        return [int(part.sizes(nodes).sum()) for part in parts_at(self.now.held.get(party), self.own)]

    def node_sums(self, nodes: Nodes) -> NDArray[np.int64]:
        """From the own gradients, as parties sum them; nothing is said."""
        return added([self._part_sums(part, self.now.own_gradients, nodes) for part in self.own.counted_parts])

    def leaf_sums(self, leaves: Nodes) -> NDArray[np.int64]:
        """From the own gradients at full precision; nothing is said."""
        return self.own.leaf_sums(leaves)

    def finish_round(self, leaves: Nodes, values: NDArray[np.float32]) -> None:
        """Values stay here; the others keep their cuts."""
        self._end_round()
        self.own.finish_round(leaves, values)

    def _end_round(self) -> None:
        self.group.ask(dict.fromkeys(self.groups, m.EndRound(self.now.number)), m.Done)

    def held_out_sums(self, metric: Summed, n_rounds: int) -> NDArray[np.int64]:
        """Over the own validation rows."""
        return self.own.held_out_sums(metric, n_rounds)


def _spread(sums: NDArray[np.int64], at: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Sums of `n` nodes of which some were asked about: those of the others are 0."""
    if len(at) == n:
        return sums
    out = np.zeros((n, *sums.shape[1:]), np.int64)
    out[at] = sums
    return out


def completed(sums: NDArray[np.int64] | None, bins: NDArray[np.int64], total: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sums of all bins: the last of each column is what the others leave of the node's total."""
    out = np.zeros((len(total), int(bins.sum()), total.shape[-1]), np.int64)
    ends = np.cumsum(bins)
    last = np.zeros(int(bins.sum()), np.bool_)
    last[ends - 1] = True
    if sums is not None:
        out[:, ~last] = sums
    starts = ends - bins
    out[:, ends - 1] = total[:, None] - np.add.reduceat(out, starts, axis=1) if len(bins) else 0
    return out


def some_cuts(cuts: Cuts, at: NDArray[np.int64], first: int) -> Cuts:
    """Some cuts, their columns counted from `first`."""
    column = (cuts.column[at] - first).astype(np.int32)
    nodes = Nodes(cuts.nodes.tree[at], cuts.nodes.node[at])
    return Cuts(nodes, cuts.child[at], column, cuts.bin[at], cuts.missing_left[at], cuts.left_bins[at])


def _packed(sides: Sequence[NDArray[np.bool_]]) -> NDArray[np.uint8]:
    """All parts' sides as bits."""
    return np.packbits(np.concatenate(sides), bitorder="little")


def fill_sides(
    left: Sequence[NDArray[np.bool_]],
    parts: Sequence[Part],
    nodes: Nodes,
    at: NDArray[np.int64],
    sides: Sequence[NDArray[np.bool_]],
) -> None:
    """Put the sides of some nodes' rows among those of all."""
    for out, part, some in zip(left, parts, sides, strict=True):
        sizes = part.sizes(nodes)
        mine = np.zeros(len(sizes), np.bool_)
        mine[at] = True
        out[np.repeat(mine, sizes)] = some
