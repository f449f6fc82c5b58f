"""A passive party's side of a vertical run, as far as it is the same whether nodes are told to it or hidden from it.

The sizes and limits that it holds the active party to, what it gave, and its own cuts. `passive_rows` and
`hidden_passive` answer about nodes; both have what is here.

Rules are those of the plan and of its owner's policy. What an answer gives is in the party's log, and there for good,
before it leaves. Sums are counted before they are worked out, so that the disk writes meanwhile; an answer that is
refused half-way counts as given.

Nobody else sees the own cuts: a cut is a place among the own cut points, and a threshold leaves with nothing.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass

import numpy as np
from msgspec.structs import astuple
from numpy.typing import NDArray

from hedgerow.corridor.messages import AskSealedSums, BeginSealed, Done, EndRound, KeepPart
from hedgerow.data.table import Column
from hedgerow.errors import ParameterError, PolicyError, PrivacyError, ProtocolError
from hedgerow.model.part import COMMITMENT, Part
from hedgerow.privacy.pads import Pads
from hedgerow.privacy.shapes import RowsPlan
from hedgerow.protocols.session.journal import Journal
from hedgerow.protocols.session.stores import CutStore, OwnCuts
from hedgerow.protocols.vertical.columns import POSITIVE, RUN_SUMS, asks
from hedgerow.protocols.vertical.passive_table import PassiveTable
from hedgerow.trees.grow import joined_cuts
from hedgerow.trees.splits import NO_CUTS, Cuts, Nodes

MOST_GROUPS = 1 << 20
"""Sums of a node that another passive party may be asked for."""
MOST_PLACES = 1 << 29
"""Trees of a round times rows."""
REPEATS = 2
"""A party gives at most so many times the sums that all trees need: after a loss one may be grown again."""

GAVE = "gave"
"""The line of the party's log that counts what it gave."""
FIRST = -1
"""Of a cut with no own cut above it; of others, twice the number of that cut, and one more right of it."""


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What a passive party holds the active one to, beside the parameters of the trees."""

    asked: Callable[[int], bool] = lambda _: True
    """Whether a round may ask this party for anything."""
    shrinks: bool = False
    """Whether parties may be lost on the way, so that the sizes of the run become smaller."""
    fewest_rows: int = 1
    """Of a node that is summed, and of each side of a cut."""
    most_trees: int = 1
    """Trees of a round: one, or one a class."""
    bin_rows: int = 1
    """Of each bin that has any; the own cut points are made coarser where they give smaller ones."""
    most_sides: int = 10**18
    most_bits: int = 10**18
    """What the owner gives at most, however much the trees of the plan need."""
    others: int = 0
    """Other passive parties, which may be asked for sums, too."""

    def check_given(self, sides: int, bits: int) -> None:
        """Refuse to give more than the owner's policy allows."""
        for n, most, what in ((sides, self.most_sides, "most_sides"), (bits, self.most_bits, "most_bits")):
            if n > most:
                raise PolicyError(f"The run takes more of this party's rows than its policy gives away ({what}).")


@dataclass
class Given:
    """What was given so far, also by processes before this one."""

    sums: int = 0
    sides: int = 0
    """Of rows at chosen cuts."""
    bits: int = 0
    """That the sums can carry at most, whatever was sealed, and what is told with them."""


class PassiveRun:
    """How far a run has come with this party, and what it gave."""

    def __init__(self, table: PassiveTable, terms: Terms, given: Given, keeps: CutStore | None = None) -> None:
        self.table, self.terms, self.given, self.keeps = table, terms, given, keeps
        self.kept: list[OwnCuts] = [] if keeps is None else keeps.read()
        self.reached = len(self.kept)
        """Rounds that were ever complete."""
        self.begun: BeginSealed | None = None
        self.most_sums = 0
        self.round, self.finished = -1, True
        self.underway = False
        """Whether a step was begun and not answered, because it was refused on the way: the round cannot go on."""
        self.cuts: list[Cuts] = []
        """The own cuts of this round."""
        self.pads: Callable[[AskSealedSums], Pads] | None = None
        """What hides this party's part of a total in the answer to a request, where it shares its columns."""
        self.sharing = 0
        """How many parties do."""
        self.on_counted: Callable[[], None] = lambda: None
        """Called when sums are counted and still to be worked out."""

    def begin(self, request: BeginSealed, run_nodes: int, kinds: int = 1) -> Done:
        """Take over the sizes of the run, if they can be: sums of so many nodes, each hidden as if it were several."""
        params, widths, terms = self.table.params, self.table.widths, self.terms
        trees, width = request.n_trees, self.table.n_sums
        fits = 1 <= trees <= terms.most_trees and trees * self.table.n_own <= MOST_PLACES
        most = terms.others * MOST_GROUPS
        fits = fits and width <= request.groups <= width + most and len(widths) <= request.columns
        if not fits or request.columns > max(len(widths), most):
            raise ProtocolError("The active party begins a run whose sizes do not fit this party's columns.")
        # What decides how much a sum can carry is the plan's, whatever the request says.
        bound = 1 << (params.gradient_bits - 1)
        if (request.bound, request.run_sums) != (bound, RUN_SUMS * request.groups * kinds * run_nodes):
            raise ProtocolError("The active party begins a run whose sizes are not those of the plan.")
        self._check_sizes(request)
        self._check_together(request)
        self._check_room(request)
        if not max(self.reached - 1, 0) <= request.done <= len(self.kept):
            raise ProtocolError("The active party goes on after trees that this party did not help to grow.")
        del self.kept[request.done :]
        self.most_sums = REPEATS * 2 * width * run_nodes
        self.begun, self.round, self.finished, self.underway = request, request.done - 1, True, False
        return Done()

    def _check_sizes(self, request: BeginSealed) -> None:
        """Sizes stay; where parties may be lost, what is asked of all of them together may shrink."""
        now = astuple(request)[1:]
        before = now if self.begun is None else astuple(self.begun)[1:]
        shrunk = self.terms.shrinks and now[:2] == before[:2] and all(a <= b for a, b in zip(now, before, strict=True))
        if now != before and not shrunk:
            raise ProtocolError("The active party changes the sizes of the run in its middle.")

    def _check_together(self, request: BeginSealed) -> None:
        """Sums are opened in total where this party shares its columns, and only there."""
        if (request.together > 0) != (self.pads is not None) or 0 < request.together < self.table.n_own:
            raise ProtocolError("The active party opens sums in another way than the plan says, in total or by party.")

    def _check_room(self, request: BeginSealed) -> None:
        """Sizes with which not even one row could be sealed are none, where any sum is to be given."""
        if self.table.widths.size and request.run_sums:
            bounds, groups, run_sums = (request.bound, request.bound), request.groups, request.run_sums
            one = RowsPlan(
                rows=1, bounds=bounds, groups=groups, columns=request.columns, run_sums=run_sums,
                together=request.together, positive=POSITIVE,
            )  # fmt: skip
            self.table.cipher.ensure_rows(one)

    def has_begun(self) -> BeginSealed:
        """The sizes of the run, without which nothing is summed."""
        if self.begun is None:
            raise ProtocolError("The active party asks for sums before the run has begun.")
        return self.begun

    def check_start(self, round_: int) -> None:
        """The round is one of the plan's, and may ask this party."""
        self._check_round(round_)
        if not self.terms.asked(round_):
            raise ProtocolError("The active party asks for sums in a round that the plan grows without this party.")

    def _check_round(self, round_: int) -> None:
        most = self.table.params.n_estimators
        if round_ >= most:
            raise ProtocolError(f"The active party grows more than the {most} rounds of the plan.")

    def check_whole(self) -> None:
        """In this round nothing was refused half-way."""
        if self.underway:
            raise ProtocolError("The active party goes on after a step that this party refused; it has to begin again.")

    def start(self, round_: int) -> None:
        """The next round begins."""
        self.round, self.finished, self.cuts = round_, False, []

    def count_sums(self, nodes: int, kinds: int = 1) -> None:
        """Sums of so many nodes are given; more than the run needs are refused."""
        self.given.sums += 2 * nodes * self.table.n_sums
        if self.given.sums > self.most_sums or kinds * self.given.sums > self.has_begun().run_sums:
            raise PrivacyError("The active party asks for more sums than the run was to open; this party stops.")

    def count_bits(self, bits: int) -> None:
        """They carry so many bits; more than the policy gives away are refused. Then they are worked out."""
        self.given.bits += bits
        self.terms.check_given(self.given.sides, self.given.bits)
        self.on_counted()

    def most_request(self, sealed: Callable[[BeginSealed], int]) -> int:
        """Bytes of the next request beside a key and lists of nodes: what is sealed, and a side a row and tree."""
        begun = self.begun
        if begun is None or not self.table.widths.size:
            return 0
        try:
            return sealed(begun) + begun.n_trees * self.table.n_rows // 8
        except (ParameterError, PrivacyError):
            return 0  # no plan of such sizes is ever answered

    def end(self, request: EndRound, after: Sequence[NDArray[np.int64]] = ()) -> Done:
        """The own cuts of the round belong to the model, and how they lie below each other if that is known."""
        if self.begun is not None and self.finished and request.round == self.round + 1:
            self._pass(request.round)
        if request.round != self.round:
            raise ProtocolError("The active party ends another round than this one.")
        self.check_whole()
        if not self.finished:
            self.kept.append(OwnCuts(self.round, tuple(self.cuts), tuple(after)))
            self.reached = max(self.reached, len(self.kept))
            if self.keeps is not None:
                self.keeps.append(self.kept[-1])
            self.finished = True
        return Done()

    def _pass(self, round_: int) -> None:
        """A round that asked nothing of this party, which learns only that there was one.

        The plan grows it without this party, or its trees ended at levels of the active party, or no cut that was drawn
        is of this party's columns.
        """
        drawn = self.has_begun().run_sums == 0
        if not self.terms.asked(round_) or drawn or (self.table.levels and not asks(self.table.levels[0])):
            self._check_round(round_)
            self.start(round_)

    def part(self, request: KeepPart, party: str, columns: tuple[Column, ...], hides: bool) -> Part:
        """The party's part of the model: its own thresholds, which nobody else has."""
        n_trees = self.begun.n_trees if self.begun is not None else 1
        cuts = cuts_of(self.kept, n_trees, request.n_trees)
        numeric = cuts.bin >= 0
        thresholds = np.where(numeric, self.table.grid.thresholds(cuts.column, cuts.bin), np.float32(0))
        sets = np.where(numeric[:, None], np.uint64(0), cuts.left_bins)
        own = (cuts.nodes.tree, cuts.nodes.node, cuts.column, thresholds, cuts.missing_left, sets)
        after = None if hides else after_of(self.kept, n_trees, request.n_trees)
        if len(request.commitment) not in (0, COMMITMENT):
            raise ProtocolError("The active party's commitment to its leaf values has a wrong length.")
        return Part(
            request.model, party, request.first, columns, *own, hides, after, commitment=request.commitment or None
        )


def cuts_of(kept: Sequence[OwnCuts], n_trees: int, first_trees: int) -> Cuts:
    """The cuts of the rounds that the first trees are of, `n_trees` a round; trees counted over all rounds."""
    found = ((own.round * n_trees, cuts) for own in kept for cuts in own.cuts)
    counted = (
        cuts._replace(nodes=Nodes(cuts.nodes.tree + first, cuts.nodes.node))
        for first, cuts in found
        if first < first_trees
    )
    return joined_cuts([NO_CUTS, *counted])


def after_of(kept: Sequence[OwnCuts], n_trees: int, first_trees: int) -> NDArray[np.int64] | None:
    """What each cut of the first trees comes after, numbered as `cuts_of` joins them; None if not all know."""
    found, before = [np.empty(0, np.int64)], 0
    for own in kept:
        if own.round * n_trees >= first_trees:
            continue
        if [len(after) for after in own.after] != [len(cuts.column) for cuts in own.cuts]:
            return None
        codes = np.concatenate([found[0][:0], *own.after])
        found.append(np.where(codes >= 0, codes + 2 * before, FIRST))
        before += len(codes)
    return np.concatenate(found)


class DisclosureCounter:
    """What one answer gives; with `durable` it would outlast a loss of power."""

    def __init__(self, given: Given, journal: Journal, durable: bool) -> None:
        self.given, self.journal, self.durable = given, journal, durable
        self._noted = asdict(given)
        self._written: Future[None] | None = None

    def _note(self) -> None:
        before, self._noted = self._noted, asdict(self.given)
        new = {what: n - before[what] for what, n in self._noted.items()}
        if self.journal.kept:
            self.journal.log.note(GAVE, run=self.journal.run, **new)

    def begin(self) -> None:
        """Note what is about to be worked out; the disk begins to write it."""
        self._note()
        if self.durable:
            writing = ThreadPoolExecutor(1)
            self._written = writing.submit(self.journal.log.sync)
            writing.shutdown(wait=False)

    def finish(self) -> None:
        """Return when everything that the answer gives is written; raises if it could not be."""
        if self._written is not None:
            self._written.result()
        if self._noted != asdict(self.given):
            self._note()
            if self.durable:
                self.journal.log.sync()
