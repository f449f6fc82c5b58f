"""How parties train or predict together: one frozen object for each method, which a plan carries.

A user writes it in Python, a run file parses to it, and it is part of the text that every party signs. It checks itself
and answers, in `Method`'s words, what the rest of the program asks of any method. What is built for a method stands in
one table each, by its class: roles in `protocols.roles`, costs in `run.forecast.cost`, disclosures in
`run.forecast.disclosures`.
"""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import msgspec

from hedgerow.agreement.dp import DP as DP
from hedgerow.agreement.dp_hybrid import check_protects
from hedgerow.agreement.dp_vertical import check_vertical, levels_of, way_of
from hedgerow.errors import ParameterError
from hedgerow.privacy.lattice.cipher import Lattice as Lattice
from hedgerow.privacy.paillier.cipher import Paillier as Paillier

if TYPE_CHECKING:
    from hedgerow.agreement.plan import Plan

FEWEST_MASKED = 3
"""Below this a party learns the others' sums: its own part subtracted leaves one other's."""

MOST_IDS = 10_000_000
"""Ids of one party that are aligned; with many more, a set could hold every id that there can be."""

DEEPEST_HIDDEN = 12
"""Levels of a tree with hidden rows: each has twice the nodes of the one above it, in every tree."""

CutPoints = Literal["counts", "local"]
Columns = Literal["shared", "all"]
ColumnNames = Literal["open", "private"]
Align = Literal["given", "private"]
OnLoss = Literal["wait", "continue"]
PassiveCuts = Literal["best", "random"]
MOST_UNITS = 255
"""Passive parties, or groups of them, with subtrees of their own: categories that a column can have."""
DEALING = "D"
"""The letter of levels that deal rows to these; a plan's schedule has it, and nobody writes it."""
Order = Literal["bagging", "sequential"]
PREDICT = "predict"
SEALED = "predict-sealed"
MOST_SCORES = 1000
"""Scores of a row in a sealed prediction: one a class."""


class SecureAggregation(msgspec.Struct, frozen=True, tag="masked"):
    """Masks: the driver sees sums over all parties, and no party's own."""


class NoPrivacy(msgspec.Struct, frozen=True, tag="plain"):
    """Nothing is hidden; to be accepted in words.

    The driver sees every party's own sums, from which rows can be reconstructed. In a vertical federation the passive
    parties see every gradient, and with it the labels.
    """

    i_accept_disclosure: bool = False

    def __post_init__(self) -> None:
        if self.i_accept_disclosure is not True:
            raise ParameterError(
                "Without privacy the driver reads every party's sums, from which rows can be reconstructed, and in a "
                "vertical federation passive parties read every gradient, and with it the labels; "
                "say NoPrivacy(i_accept_disclosure=True) if that is meant."
            )


Privacy = SecureAggregation | Lattice | Paillier | NoPrivacy


class Method(msgspec.Struct, frozen=True, tag_field="kind"):
    """What can be asked of every method: of an option that it does not have, what goes without saying."""

    @property
    def word(self) -> str:
        """What a run file calls it, or of a prediction the run's folder."""
        return str(self.__struct_config__.tag)

    @property
    def privacy(self) -> Privacy | None:
        """What hides sums or gradients; None where there are none."""
        return None

    @property
    def dp(self) -> DP | None:
        """What is promised of the noise on everything that is released; None: there is none."""
        return None

    @property
    def promises_dp(self) -> bool:
        """Whether one epsilon holds for everything that is released."""
        return self.dp is not None and self.dp.promises

    @property
    def active(self) -> str | None:
        """The party that has the labels and drives."""
        return None

    @property
    def model(self) -> str:
        """Of a prediction, the id that all parts of the model share."""
        return ""

    @property
    def opener(self) -> str:
        """The party that decrypts sums and chooses the cuts, where the driver does not."""
        return ""

    @property
    def party_share(self) -> float:
        """The share of parties drawn for each tree; of a vertical run, of passive ones."""
        return 1.0

    @property
    def passive_rows(self) -> float:
        """The share of the rows by which cuts are chosen at levels that ask passive parties."""
        return 1.0

    @property
    def for_link(self) -> bool:
        """Whether encryption is laid out for the speed of a link that is not named."""
        return False

    @property
    def goes_on(self) -> bool:
        """Whether the run goes on without a party that is lost."""
        return getattr(self, "on_loss", None) == "continue"

    @property
    def aligns(self) -> bool:
        """Whether common rows are found by private set intersection."""
        return getattr(self, "align", None) == "private"

    @property
    def links(self) -> bool:
        """Whether each passive party has some of the rows, which it is linked with by their ids."""
        return False

    @property
    def shares(self) -> bool:
        """Whether passive parties have the same columns, and only the total of their sums is opened."""
        return False

    def groups(self, passive: Sequence[str]) -> tuple[tuple[str, ...], ...]:  # noqa: ARG002  # of whomever
        """Passive parties that share their columns, group by group."""
        return ()

    def units(self, passive: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """Passive parties with subtrees of their own: groups that share columns, and others alone."""
        if not self.separates:
            return ()
        groups = self.groups(passive)
        return tuple(dict.fromkeys(next((g for g in groups if name in g), (name,)) for name in passive))

    @property
    def shows_ids(self) -> bool:
        """Whether the active party shows its ids to those that it is linked with."""
        return False

    @property
    def levels(self) -> str:
        """A letter for each level of a tree, whose columns compete there (A active, P passive, J both); empty: all."""
        return ""

    @property
    def separates(self) -> bool:
        """Whether passive parties have subtrees of their own for the rows that they hold."""
        return False

    @property
    def draws_cuts(self) -> bool:
        """Whether cuts of passive columns are drawn by a hash, without a look at labels, so that nothing is summed."""
        return False

    @property
    def hidden_rows(self) -> bool:
        """Whether passive parties are kept from learning which rows share a node; see `vertical.hidden_active`."""
        return False

    @property
    def private_names(self) -> bool:
        """Whether the name of a column that not all have stays unknown to everybody else."""
        return getattr(self, "column_names", None) == "private"

    @property
    def local_cuts(self) -> bool:
        """Whether cut points are merged from the parties' own quantiles."""
        return getattr(self, "cut_points", None) == "local"

    @property
    def all_columns(self) -> bool:
        """Whether a column that not all have is used, absent values being missing."""
        return getattr(self, "columns", None) == "all"

    @property
    def allow_few_columns(self) -> bool:
        """Whether fewer than half of the columns of the party that has most may be left."""
        return False

    @property
    def allow_two(self) -> bool:
        """Whether two parties may hide their sums, of which each, or the opener, then learns the other's."""
        return False

    @property
    def only_sums(self) -> bool:
        """Whether sums over all parties are opened and no party's own, so that too few parties would show them."""
        return False

    @property
    def plain(self) -> bool:
        """Whether what could be hidden is not."""
        return isinstance(self.privacy, NoPrivacy)

    @property
    def encrypted(self) -> bool:
        """Whether sums or gradients are encrypted."""
        return isinstance(self.privacy, Lattice | Paillier)

    @property
    def protection(self) -> str:
        """A run file's word for the privacy; empty where there is nothing to hide."""
        return "" if self.privacy is None else str(self.privacy.__struct_config__.tag)

    @property
    def class_bits(self) -> int | None:
        """Bits of the gradients of classes whose rows weigh the same, unless it is said otherwise; None: the usual."""
        return None

    @property
    def in_turn(self) -> bool:
        """Whether parties grow whole trees one after the other."""
        return getattr(self, "order", None) == "sequential"

    @property
    def masked(self) -> bool:
        """Whether sums are hidden by masks."""
        return isinstance(self.privacy, SecureAggregation)

    def check(self, plan: "Plan") -> None:
        """Refuse what the rest of the plan contradicts."""

    def warnings(self, n_parties: int) -> tuple[str, ...]:  # noqa: ARG002  # what a method shows may depend on it
        """What so many parties learn of each other that a user might not expect, in sentences."""
        return ()


class Horizontal(Method, frozen=True, tag="horizontal"):
    """Same columns, different rows: trees grown from sums over all parties.

    `cut_points` are found from masked counts, or ("local") merged from the parties' own quantiles as FedTree does;
    `columns` are those all parties share, or "all"; fewer than half of those of the party that has most are refused
    without `allow_few_columns`; with `column_names="private"` a name that not all have stays
    unknown to everybody else; `party_share` is the share of parties drawn for each tree.
    With encryption (`Lattice`, `Paillier`) the driver sees no sums: `opener` names the party that decrypts and chooses.
    With `on_loss="continue"` a run goes on without a party that is lost; two parties take `allow_two`, because each
    learns the other's sums, or the opener does (a simulation takes it for granted, and says so).
    With `dp=DP(epsilon=1)` every sum that is opened has noise, of which each party adds a share, and so has the model.
    """

    privacy: SecureAggregation | Lattice | Paillier | NoPrivacy = SecureAggregation()
    cut_points: CutPoints = "counts"
    columns: Columns = "shared"
    party_share: float = 1.0
    opener: str = ""
    column_names: ColumnNames = "open"
    allow_few_columns: bool = False
    on_loss: OnLoss = "wait"
    allow_two: bool = False
    dp: DP | None = None

    def __post_init__(self) -> None:
        _check_kind("privacy", self.privacy, (SecureAggregation, Lattice, Paillier, NoPrivacy))
        _check_dp(self.dp)
        _check_words(self, cut_points=get_args(CutPoints), columns=get_args(Columns), on_loss=get_args(OnLoss))
        _check_words(self, column_names=get_args(ColumnNames), allow_few_columns=(True, False), allow_two=(True, False))
        _check_numbers(self, party_share=Real)
        _check_share(self.party_share)
        if not isinstance(self.opener, str):
            raise ParameterError(f"opener must be the name of a party; it is {_shown(self.opener)}.")

    @property
    def only_sums(self) -> bool:
        """Sums over all parties are opened and no party's own, unless nothing is hidden."""
        return not self.plain

    def warnings(self, n_parties: int) -> tuple[str, ...]:
        """What two parties learn of each other; of noise, whom it does not hold against."""
        promises, told = self.dp is not None and self.dp.promises, list[str]()
        bounded = self.dp is not None and promises and self.dp.colluders > 0
        if promises and not bounded:
            told.append("With colluders = 0 nothing is promised against the parties, which know their own noise.")
        if self.only_sums and self.drawn(n_parties) == 2 and not bounded:
            one = self.opener or "each"
            told.append(f"With two parties, {one} can subtract its own sums from the total and so learns the other's.")
        return tuple(told)

    def drawn(self, present: int) -> int:
        """How many of the present parties take part in a tree."""
        return max(1, round(self.party_share * present))

    def allowing_two(self, n_parties: int) -> "Horizontal":
        """The same where all parties are simulated by one user, who may see what two would learn of each other."""
        return msgspec.structs.replace(self, allow_two=self.only_sums and self.drawn(n_parties) == 2)

    def check(self, plan: "Plan") -> None:
        """Refuse parties, names and sums that contradict each other."""
        if self.dp is not None:
            self.dp.check(plan)
        self._check_names(len(plan.members))
        self._check_opener(plan.names)
        if self.only_sums:
            self._check_sums(plan)

    def _check_names(self, n_parties: int) -> None:
        if not self.private_names:
            return
        if n_parties < 2:
            raise ParameterError("Names of columns are aligned between two or more parties of a horizontal run only.")
        if self.opener:
            raise ParameterError("Names of columns are not aligned in a run that has an opener; leave one of them out.")
        if self.all_columns:
            raise ParameterError('A name that not all parties have stays unknown; use columns = "shared".')
        if self.goes_on:
            raise ParameterError('Names of columns are aligned between all parties; use on_loss = "wait".')

    def _check_opener(self, names: Sequence[str]) -> None:
        if not self.encrypted:
            if self.opener:
                raise ParameterError(
                    "Only a horizontal run with encryption has an opener; leave it out, or use lattice or paillier."
                )
            return
        if not self.opener:
            raise ParameterError(
                "A horizontal run with encryption needs an opener: the party that decrypts the sums and chooses the "
                f"cuts; name one of {', '.join(names)}."
            )
        if self.opener not in names:
            raise ParameterError(
                f"The opener {self.opener!r} is not among the parties; it decrypts the sums, name one of them."
            )
        link = isinstance(self.privacy, Lattice) and self.privacy.link_mbit is not None
        for name, is_set in (('cut_points = "local"', self.local_cuts), ("link_mbit", link)):
            if is_set:
                raise ParameterError(f"A horizontal run with encryption does not go with {name}; leave it out.")

    def _check_sums(self, plan: "Plan") -> None:
        what = "Encryption" if self.opener else "Secure aggregation"
        if plan.params.average and plan.sets_change:
            raise ParameterError(
                "All trees of a random forest have the same gradients, so sums over different sets of parties would "
                'show single parties\' sums; use party_share = 1 and on_loss = "wait".'
            )
        drawn = self.drawn(len(plan.members))
        if len(plan.members) == 1:
            raise ParameterError(f"{what} needs at least 3 parties; there is one, with nobody to hide among.")
        if drawn < 2 or (drawn == 2 and not self.allow_two):
            raise ParameterError(
                f"{what} of {drawn} parties a tree shows {'the opener' if self.opener else 'each'} the other's sums; "
                f"take at least {FEWEST_MASKED}, or accept it with allow_two."
            )


class WholeTrees(Method, frozen=True, tag="whole trees"):
    """Baselines of the literature: each party grows trees on its own rows, and the trees are shared.

    `order` is "bagging" (all at once, averaged) or "sequential" (in turn, each on what the trees before it left);
    `columns` and `allow_few_columns` are as for `Horizontal`.
    """

    order: Order = "bagging"
    allow_few_columns: bool = False
    columns: Columns = "shared"

    def __post_init__(self) -> None:
        _check_words(self, order=get_args(Order), allow_few_columns=(True, False), columns=get_args(Columns))

    @property
    def word(self) -> str:
        """What a run file calls it."""
        return self.order

    def warnings(self, n_parties: int) -> tuple[str, ...]:  # noqa: ARG002  # of however many
        """What whole trees show."""
        return ("Whole trees of each party are shared, with sums over its own rows in their leaves.",)


class Vertical(Method, frozen=True, tag="vertical"):
    """Same rows, different columns: the active party, which has the labels, grows trees over everybody's columns.

    `active` names it; without a name it is the one party whose table has labels. `align` says whether rows are the same
    everywhere and in order ("given"), or found by their ids ("private"), of which each party brings at most `most_ids`;
    None: found, where they are not the same. The first `local_trees` rounds are grown from its own columns only;
    `party_share` is the share of passive parties that each later tree asks. With `hidden_rows` the others do not learn
    which rows share a node, at several times the cost. With `on_loss="continue"` a run goes on without the columns of a
    party that is lost. `levels` has a letter for each level of a tree, whose columns compete there: A the active
    party's, P the passive parties', J all; empty: all at every level. With `passive_rows=0.2` the cuts at levels that
    ask passive parties are chosen by a fifth of the rows, drawn by a hash of their ids; leaf values are of all rows.
    With `dp=DP(epsilon=0, protects="labels")` nothing that passive parties see depends on labels; with an epsilon above
    0, or protects="model" or "passive", sums have noise: see `DP`.
    """

    privacy: Lattice | Paillier | NoPrivacy = Lattice()
    active: str | None = None
    align: Align | None = None
    local_trees: int = 0
    party_share: float = 1.0
    hidden_rows: bool = False
    on_loss: OnLoss = "wait"
    most_ids: int = MOST_IDS
    levels: str = ""
    passive_rows: float = 1.0
    dp: DP | None = None

    def __post_init__(self) -> None:
        _check_kind("privacy", self.privacy, (Lattice, Paillier, NoPrivacy))
        _check_dp(self.dp)
        if self.dp is not None:
            way_of(self.dp)
        if set(self.levels) - set("APJ"):
            raise ParameterError(f'levels must be letters A, P and J, like "AAAJJ"; it is {_shown(self.levels)}.')
        _check_words(self, align=(*get_args(Align), None), hidden_rows=(True, False), on_loss=get_args(OnLoss))
        _check_numbers(self, party_share=Real, local_trees=Integral, most_ids=Integral, passive_rows=Real)
        _check_share(self.party_share)
        if not 0 < self.passive_rows <= 1:
            raise ParameterError(
                f"passive_rows must be a number above 0 and at most 1; it is {_shown(self.passive_rows)}."
            )
        if not isinstance(self.active, str | None):
            raise ParameterError(f"active must be the name of a party, or None; it is {_shown(self.active)}.")
        if not 1 <= self.most_ids <= MOST_IDS:
            raise ParameterError(f"most_ids must be from 1 to {MOST_IDS}; it is {self.most_ids!r}.")

    @property
    def draws_cuts(self) -> bool:
        """Where a promise is kept by that."""
        return self.dp is not None and way_of(self.dp) in ("drawn", "model")

    @property
    def for_link(self) -> bool:
        """Of lattice ciphertexts, where any are sent."""
        return isinstance(self.privacy, Lattice) and self.privacy.link_mbit is None and not self.draws_cuts

    def scheduled(self, max_depth: int) -> "Vertical":
        """The same with a letter for each of so many levels, where a promise needs that."""
        if self.levels or self.dp is None:
            return self
        return msgspec.structs.replace(self, levels=levels_of(self.dp, max_depth))

    @property
    def class_bits(self) -> int | None:
        """Few where they are encrypted."""
        return FEW_BITS if self.encrypted and not self.draws_cuts else None

    def check(self, plan: "Plan") -> None:
        """Refuse parties and trees that contradict each other."""
        if self.active not in plan.names:
            raise ParameterError(f"The active party {self.active!r} of a {self.word} run is not among its parties.")
        if self.align is None:
            raise ParameterError(f"The plan of a {self.word} run says whether its rows are aligned; set align.")
        if len(plan.members) < 2:
            raise ParameterError(f"A {self.word} run needs a passive party beside the active one.")
        rounds = plan.params.n_estimators
        if not 0 <= self.local_trees < rounds:
            raise ParameterError(
                f"local_trees must be from 0 to below n_estimators, {rounds}; it is {self.local_trees!r}."
            )
        if self.levels and len(self.levels) != plan.params.max_depth:
            raise ParameterError(
                f"levels must have a letter for each of the {plan.params.max_depth} levels of a tree (max_depth); it "
                f"is {self.levels!r}."
            )
        if self.passive_rows < 1 and (self.hidden_rows or self.draws_cuts or plan.params.min_child_rows > 1):
            raise ParameterError(
                "passive_rows below 1 is a sample of rows that are seen, summed and not counted; it does not go with "
                'hidden_rows, passive_cuts = "random" or min_child_rows above 1.'
            )
        if self.hidden_rows:
            self._check_hidden(plan)
        if self.dp is not None:
            check_vertical(self.dp, plan)

    def _check_hidden(self, plan: "Plan") -> None:
        if self.levels:
            raise ParameterError("With hidden_rows every level asks the passive parties; leave out levels.")
        if self.plain:
            raise ParameterError(
                "Without encryption a passive party reads which rows of a node have gradients, so hidden_rows would "
                "hide nothing; use lattice or paillier."
            )
        if self.goes_on:
            raise ParameterError('A run with hidden_rows does not go on without a lost party; use on_loss = "wait".')
        if plan.params.min_child_rows > 1:
            raise ParameterError(
                "With hidden_rows no passive party can count the rows of a node; use min_child_rows = 1."
            )
        if plan.params.max_depth > DEEPEST_HIDDEN:
            raise ParameterError(
                f"With hidden_rows every level is as wide as it can be, 2^max_depth nodes in all; use a max_depth of "
                f"at most {DEEPEST_HIDDEN}."
            )


class Hybrid(Vertical, frozen=True, tag="hybrid"):
    """Some of the rows, different columns: each passive party has further columns for the rows whose ids it knows.

    One id of a passive party may stand in many rows of the active one (an account and its payments), and a row may be
    known to several passive parties or to none; where a party's column is cut, rows that it lacks go the learnt default
    way. `align` says whether ids are linked by private set intersection ("private", the default) or shown to each
    passive party ("given"). Without `levels` the first half of a tree's levels, or one more, are the active party's,
    and at the others all columns compete ("AAAAJJJ").

    Passive parties that share their columns agree on cut points from masked counts, grow one subtree, and only the
    total of their sums is ever opened; that takes three of them, or `allow_two`, because the active party together with
    all but one reads the sums of the last. `shared` says who does: True, all; False, nobody; or groups of names. None:
    in one process those whose columns have the same names, else all where there are three passive parties.

    With `passive_cuts="random"` cuts at the passive parties' levels are drawn by a public hash: these parties tell
    sides of rows, and nothing that comes from gradients is sealed or summed. `depth_active=5, depth_passive=2` is
    another way to say `levels="AAAAAPP"`. With `separate`, below the levels of the active party each passive party, or
    each group that shares columns, has subtrees of its own for the rows that it holds, as in the HybridTree paper.

    `dp=DP(epsilon=1, protects="model")` promises that the model tells little of any of the active party's rows with
    what others have of its id; with `rows_per_id`, of any id, which has at most so many rows at the active party.
    """

    align: Align | None = "private"
    shared: bool | tuple[tuple[str, ...], ...] | None = None
    allow_two: bool = False
    passive_cuts: PassiveCuts = "best"
    depth_active: int | None = None
    depth_passive: int | None = None
    separate: bool = False

    def __post_init__(self) -> None:
        check_protects(self.dp, self.passive_cuts)
        super().__post_init__()
        _check_words(self, allow_two=(True, False), separate=(True, False), passive_cuts=get_args(PassiveCuts))
        if self.passive_cuts == "random" and "J" in self.levels:
            raise ParameterError(
                'With passive_cuts = "random" no cuts compete at a level, so none can have the letter J; use A and P, '
                'like "AAAPP".'
            )
        if (self.depth_active, self.depth_passive) != (None, None):
            self._check_depths()

    def _check_depths(self) -> None:
        """Both are said, or none, and not the same with other words."""
        depths = (self.depth_active, self.depth_passive)
        if any(type(depth) is not int or depth < 0 for depth in depths) or not any(depths):
            raise ParameterError(
                "depth_active and depth_passive go together, whole numbers of levels of which one is above 0; they are "
                f"{self.depth_active!r} and {self.depth_passive!r}."
            )
        if self.levels:
            raise ParameterError("levels says what depth_active and depth_passive say; leave one of them out.")

    @property
    def aligns(self) -> bool:
        """Rows are linked with each party by itself; there are none that all must have."""
        return False

    @property
    def links(self) -> bool:
        """Every passive party has some of the rows."""
        return True

    @property
    def class_bits(self) -> int | None:
        """More than in a vertical run: payments and the like have rare classes, which are lost in very few."""
        return RARE_BITS if self.encrypted and not self.draws_cuts else None

    @property
    def shares(self) -> bool:
        """As `shared` says."""
        return bool(self.shared)

    def groups(self, passive: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """Passive parties that share their columns, group by group."""
        if isinstance(self.shared, bool) or self.shared is None:
            return (tuple(passive),) if self.shared else ()
        return self.shared

    @property
    def shows_ids(self) -> bool:
        """Ids are no secret."""
        return self.align == "given"

    def scheduled(self, max_depth: int) -> "Hybrid":
        """The same with a letter for each of so many levels."""
        if self.levels:
            return self
        if self.dp is not None and self.depth is None:
            return msgspec.structs.replace(self, levels=levels_of(self.dp, max_depth))
        passive = max(1, max_depth // 2)
        if self.depth is None:
            levels = "A" * (max_depth - passive) + ("P" if self.draws_cuts else "J") * passive
        elif self.depth == max_depth:
            levels = "A" * (self.depth_active or 0) + "P" * (self.depth_passive or 0)
        else:
            raise ParameterError(
                f"depth_active and depth_passive are {self.depth} levels together, and max_depth is {max_depth}; say "
                f"max_depth = {self.depth}."
            )
        return msgspec.structs.replace(self, levels=levels, depth_active=None, depth_passive=None)

    @property
    def depth(self) -> int | None:
        """The levels of a tree, where `depth_active` and `depth_passive` say how many there are."""
        return None if self.depth_active is None else self.depth_active + (self.depth_passive or 0)

    @property
    def separates(self) -> bool:
        """As `separate` says."""
        return self.separate

    @property
    def draws_cuts(self) -> bool:
        """As `passive_cuts` says, or a promise needs."""
        return self.passive_cuts == "random" or super().draws_cuts

    def sharing(self, alike: Sequence[Sequence[str]]) -> "Hybrid":
        """The same where it is said who shares columns: unless it was, each of these groups that is large enough."""
        if self.shared is not None:
            return self
        fewest = 2 if self.allow_two else FEWEST_MASKED
        changes = self.party_share < 1 or self.goes_on or self.dp is not None
        groups = () if changes else tuple(tuple(group) for group in alike if len(group) >= fewest)
        return msgspec.structs.replace(self, shared=groups or False)

    def check(self, plan: "Plan") -> None:
        """Refuse parties and trees that contradict each other, and what needs rows that all have."""
        if self.hidden_rows:
            raise ParameterError("hidden_rows needs rows that all parties have; a hybrid run has none of that kind.")
        if plan.params.min_child_rows > 1:
            raise ParameterError(
                "In a hybrid run no passive party can count the rows of a node that it lacks; use min_child_rows = 1."
            )
        super().check(plan)
        if self.draws_cuts and not self.levels:
            raise ParameterError('The plan of a run with passive_cuts = "random" says whose each level is; set levels.')
        if self.shared:
            self._check_shared(plan.answering)
        if self.separate:
            self._check_separate(plan)

    def _check_separate(self, plan: "Plan") -> None:
        if not set(self.levels) - {"A"}:
            raise ParameterError('With separate some levels need the letter P or J, like levels = "AAAPP".')
        if self.goes_on or self.party_share < 1 or self.local_trees:
            raise ParameterError(
                "With separate every tree has subtrees of all passive parties; use party_share = 1, local_trees = 0 "
                'and on_loss = "wait".'
            )
        if plan.params.monotone_constraints:
            raise ParameterError(
                "With separate it also matters who holds a row, so no column's effect is monotone over all rows; leave "
                "out monotone_constraints."
            )
        if len(plan.units) > MOST_UNITS:
            raise ParameterError(
                f"{len(plan.units)} passive parties cannot have subtrees of their own; with separate at most "
                f"{MOST_UNITS} can."
            )

    def _check_shared(self, passive: Sequence[str]) -> None:
        names = [name for group in self.groups(passive) for name in group]
        if strange := sorted(set(names) - set(passive)):
            raise ParameterError(f"shared names {strange[0]!r}, which is no passive party; name passive ones.")
        if len(set(names)) < len(names):
            raise ParameterError("shared names a party twice; each shares its columns with one group.")
        n = min(map(len, self.groups(passive)))
        if n < 2 or (n == 2 and not self.allow_two):
            raise ParameterError(
                f"Sums over {n} passive part{'y' if n == 1 else 'ies'} would show one party's; with shared take at "
                f"least {FEWEST_MASKED}, or accept two with allow_two."
            )
        if self.party_share < 1 or self.goes_on:
            raise ParameterError(
                "Sums over different sets of parties would show single parties' sums; with shared use party_share = 1 "
                'and on_loss = "wait".'
            )


class BaggedModel(msgspec.Struct, frozen=True):
    """One of the models of several active parties by which rows are predicted together."""

    model: str
    """The id that its parts share."""
    active: str
    """Whose labels it was trained with."""
    trees: int
    parties: tuple[str, ...]
    """The passive parties that have a part of it."""


class Prediction(Method, frozen=True, tag=PREDICT):
    """A vertical model's parties predict: `active` asks the others, each of which has its part of `model` (its id).

    Where rows are predicted by the models of several active parties, `bagged` has them, and `model` is their common id.
    """

    active: str
    model: str
    bagged: tuple[BaggedModel, ...] = ()

    def check(self, plan: "Plan") -> None:
        """Refuse a prediction without an active party, or of no model, or by models that others have."""
        if self.active not in plan.names or not self.model:
            raise ParameterError("A prediction over several parties has an active party among them, and a model's id.")
        for one in self.bagged:
            strange = sorted(set(one.parties) - set(plan.answering))
            if strange or one.trees < 0:
                raise ParameterError(
                    f"The model of {one.active!r} needs {(strange or [one.active])[0]!r}, which is no passive party of "
                    "this prediction; name all of them in the run file."
                )
        if sum(one.trees for one in self.bagged) >= 1 << 31:
            raise ParameterError("The models of a prediction have 2^31 trees or more together, which none have.")
        if len({one.model for one in self.bagged}) < len(self.bagged):
            raise ParameterError("A prediction by several models has one of them twice; name each once.")


class SealedPrediction(Method, frozen=True, tag=SEALED):
    """A vertical model's parties predict in one round: the active party learns scores, the others nothing of them.

    Scores are integers modulo the prime `modulus`, which so bounds what an answer can carry; `scores` are the scores of
    a row, one a class. Passive parties that share their columns are in `sharing`, group by group: of each group one is
    asked about a row, and all tell which rows they have. With `separate` it is one of all passive parties.
    """

    active: str
    model: str
    modulus: int
    scores: int = 1
    privacy: Lattice | Paillier = Lattice()
    sharing: tuple[tuple[str, ...], ...] = ()
    separate: bool = False

    def __post_init__(self) -> None:
        _check_kind("privacy", self.privacy, (Lattice, Paillier))
        _check_numbers(self, modulus=Integral, scores=Integral)
        _check_words(self, separate=(True, False))

    @property
    def separates(self) -> bool:
        """As `separate` says."""
        return self.separate

    def groups(self, passive: Sequence[str]) -> tuple[tuple[str, ...], ...]:  # noqa: ARG002  # of whomever
        """As `sharing` says."""
        return self.sharing

    @property
    def word(self) -> str:
        """What a run's folder calls it."""
        return SEALED

    def check(self, plan: "Plan") -> None:
        """Refuse a prediction without an active party, or of no model, or without scores."""
        if self.active not in plan.names or not self.model:
            raise ParameterError("A prediction over several parties has an active party among them, and a model's id.")
        if not (3 <= self.modulus < 1 << 27 and 1 <= self.scores <= MOST_SCORES):
            raise ParameterError(
                f"A sealed prediction has 1 to {MOST_SCORES} scores a row, modulo a prime below 2^27; it has "
                f"{self.scores}, modulo {self.modulus}."
            )
        names = [name for group in self.sharing for name in group]
        if len(set(names)) < len(names) or not set(names) <= set(plan.answering):
            raise ParameterError("Only passive parties share their columns in a prediction, each with one group.")


Federation = Horizontal | Vertical | Hybrid | WholeTrees


def check_federation(given: object) -> None:
    """Refuse anything that is no federation, such as its name."""
    if given is not None:
        _check_kind("federation", given, (Horizontal, Vertical, Hybrid, WholeTrees), " (None for one table)")


def _check_kind(name: str, given: object, kinds: tuple[type, ...], more: str = "") -> None:
    if not isinstance(given, kinds):
        calls = [f"{k.__name__}({'i_accept_disclosure=True' if k is NoPrivacy else ''})" for k in kinds]
        allowed = f"{', '.join(calls[:-1])} or {calls[-1]}"
        raise ParameterError(f"{name} must be {allowed}{more}; it is {_shown(given)}.")


def _check_dp(given: object) -> None:
    if not isinstance(given, DP | None):
        raise ParameterError(f"dp must be DP(epsilon=...) or None; it is {_shown(given)}.")


def _check_words(own: Method, **allowed: tuple[object, ...]) -> None:
    for name, words in allowed.items():
        given = getattr(own, name)
        if not any(given is word or (isinstance(given, str) and given == word) for word in words):
            shown = [repr(word) for word in words]
            choice = f"{', '.join(shown[:-1])} or {shown[-1]}"
            raise ParameterError(f"{name} must be {choice}; it is {_shown(given)}.")


def _check_numbers(own: Method, **kinds: type) -> None:
    """Refuse anything else than numbers; keep them as a plan's text has them, so that all read the same."""
    for name, kind in kinds.items():
        given = getattr(own, name)
        if not isinstance(given, kind) or isinstance(given, bool):
            what = "a whole number" if kind is Integral else "a number"
            raise ParameterError(f"{name} must be {what}; it is {_shown(given)}.")
        msgspec.structs.force_setattr(own, name, (int if kind is Integral else float)(cast(Any, given)))


def _check_share(party_share: float) -> None:
    if not 0 < party_share <= 1:
        raise ParameterError(f"party_share must be above 0 and at most 1; it is {party_share!r}.")


def _shown(given: object) -> str:
    """A value in a sentence; a class is one that was not called."""
    return f"the class {given.__name__}, which is not called" if isinstance(given, type) else repr(given)


LEAST_CUT_ROWS = 50
"""In a federation values that fewer rows share are not told apart by a cut, unless it says otherwise."""
FEW_BITS = 8
"""Of sealed gradients of classes whose rows weigh the same, unless it says otherwise; what that costs:
`benchmarks.gradient_bits`. Beside a heavy row, a large number or a class of fewer than one row in a thousand, light
rows would be lost in so few."""
RARE_BITS = 12
"""The same of hybrid runs, whose tables have rarer classes: of five positives in ten thousand payments 8 bits learn
nothing, and 12 as much as 20. With many rows 20 leave no room for the flood of a total."""
