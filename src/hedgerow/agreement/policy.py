"""A data owner's own rules: what a party checks before it consents to a run, whatever the driver says."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from hedgerow.agreement.options import (
    FEWEST_MASKED,
    Horizontal,
    Paillier,
    Prediction,
    SealedPrediction,
    Vertical,
    WholeTrees,
)
from hedgerow.agreement.plan import Plan
from hedgerow.errors import PolicyError
from hedgerow.privacy.lifetime import LifetimeLimit


@dataclass(frozen=True)
class AnswerLimits:
    """What an owner allows to be told about one id in sealed predictions, over all models and processes."""

    most_answers: int
    days: int
    """For so many days an answer counts."""
    most_bits: int
    """Bits for which all these answers together may have room."""


@dataclass(frozen=True)
class Policy:
    """What this owner allows. The defaults are the strictest that a masked run with three parties meets."""

    # more than 15 attributes: one for each rule that an owner can write

    plan: str | None = None
    """The hash of the one plan that is allowed."""
    fewest_parties: int = FEWEST_MASKED
    allow_two: bool = False
    allow_plain: bool = False
    """The driver may read this party's own sums; in a vertical run nothing is sealed."""
    allow_local_cuts: bool = False
    """The driver may read this party's own quantiles."""
    allow_whole_trees: bool = False
    """Others may read trees grown on this party's rows alone."""
    allow_continue: bool = False
    """The run may go on without a party that is lost."""
    allow_party_sampling: bool = False
    min_cut_rows: int = 50
    min_child_rows: int = 1
    """In a vertical run, also of a node whose sums or sides this party gives."""
    min_bin_rows: int = 1
    """Of this party's own bins in a vertical run; smaller ones are merged."""
    most_trees: int = 10_000
    most_classes: int = 10
    """Trees of a round, one a class: of a vertical run by the active party's word, else of all parties together.

    A goal for numbers has one tree a round, whatever is said. Of classes a vertical run's passive party knows nothing,
    and each that is made up gives the sums and sides of another tree; ten are digits, and more must be meant.
    """
    most_sides: int = 10_000_000_000
    """Sides of rows at own cuts that a vertical run may be told, over all its processes, whatever its plan needs.

    A million rows, 100 rounds and a depth of 6 are 6e8 sides where every cut is this party's, 6e9 of ten classes; with
    hidden rows, where all rows count at every one of 63 cuts of a tree, 6.3e9.
    """
    most_bits: int = 100_000_000_000
    """Bits for which the sums that a vertical run is given have room, likewise.

    100 columns of 255 bins, 100 rounds and a depth of 6 are 32 nodes a tree and 1.6e8 sums of at most 54 bits, 8.8e9
    bits; 8.8e10 of ten classes.
    """
    min_key_bits: int = 2048
    """Of Paillier keys."""
    most_probe_bytes: int = 10_000_000
    """Bytes that a driver may send and ask back to measure the link before the plan is signed, in one process.

    A measurement takes 1.7 MB on a fast link, less on a slow one, and 1.6 MB more beside other parties.
    """
    least_link_mbit: float = 0.1
    """The slowest measured link that a run may be laid out for: with fewer bytes each party computes more."""
    openers: tuple[str, ...] | None = None
    """Parties that may open the sums of an encrypted horizontal run; None: the one that the run file names."""
    allow_prediction: bool = True
    """The active party of a vertical model may ask which way rows go at this party's cuts."""
    most_predicted_rows: int = 1_000_000
    """Rows of one model that it may ask about, in all predictions together; counted in the owner's ledger."""
    allow_sealed: bool = True
    """It may ask for sealed scores, which depend on this party's columns; each is an answer about an id."""
    most_answers_per_id: int = 3
    """Answers about one id within `answer_days`, of all models: three scores a year, or one with two reasons."""
    answer_days: int = 365
    most_bits_per_id: int = 60
    """Bits for which those answers together have room; whoever asks can seal what it likes, so room is what counts."""
    most_score_bits: int = 24
    """Bits for which one answer has room."""
    blur_permille: int = 0
    """Thousandths of the largest score by which each is blurred at most, at random, before it is told."""
    least_paths: int = 1000
    """Ways through this party's cuts that must share a score, so that the score does not tell the way."""
    least_own_cuts: int = 20
    """Own cuts of a model, below which its sealed scores tell too much of each; counted in the party's own part."""
    least_own_trees: int = 10
    """Trees with such cuts."""
    most_epsilon: float | None = None
    """What all runs together may tell of a row, or a person, of this owner; runs without noise then tell too much.

    None: a run may promise any epsilon or none. It is counted in the owner's ledger all the same.
    """
    most_delta: float = 1e-6
    """The delta at which that holds."""
    epsilon_budget: str = ""
    """Tables that share no row with others have a budget of their own by this name; all runs without one share one."""
    columns: tuple[str, ...] | None = None
    """The only columns this owner gives; None: all of its table."""
    tell_columns: Literal["codes", "names"] | None = None
    """What a vertical run's active party is told of this owner's columns: numbers alone ("codes"), or their names too.

    None: numbers, but names where the plan says that passive parties share their columns.
    """
    disclose: Mapping[str, str] | None = None
    """Columns whose meaning this owner discloses once a vertical model is trained, with a description; None: none."""
    most_bins: int = 16
    """The most bins of a disclosed column that are ever shown; 1: its meaning alone, and nothing of its cuts."""

    def check(self, plan: Plan, party: str = "") -> None:
        """Refuse a plan that these rules do not allow, with the rule's name; of this party, where parties differ."""
        if self.plan is not None and plan.digest.hex() != self.plan.removeprefix("sha256:"):
            raise PolicyError("The driver's plan is not the one this party knows; compare the run files of both sides.")
        if isinstance(plan.method, Prediction):
            if not self.allow_prediction:
                raise PolicyError("The run predicts, which this party's policy refuses (allow_prediction).")
            return
        if isinstance(plan.method, SealedPrediction):
            self.check_sealed(math.log2(plan.method.modulus))
            if self._weak(plan):
                raise PolicyError(f"The run has keys of only {_key_bits(plan)} bits, which this party's policy refuses "
                                  "(min_key_bits).")  # fmt: skip
            return
        whole, sharing = isinstance(plan.method, WholeTrees), plan.group_of(party)
        refused = [
            (whole and not self.allow_whole_trees, "shows whole trees of one party", "allow_whole_trees"),
            (plan.method.plain and not self.allow_plain, "has no protection", "allow_plain"),
            (plan.method.local_cuts and not self.allow_local_cuts, "shows quantiles", "allow_local_cuts"),
            (self._weak(plan), f"has keys of only {_key_bits(plan)} bits", "min_key_bits"),
            (self._unknown_opener(plan), f"lets {plan.opener!r} open the sums", "openers"),
            (self._too_slow(plan), f"is laid out for a link of only {plan.link_mbit} Mbit/s", "least_link_mbit"),
            (plan.goes_on and not self.allow_continue, "goes on without a lost party", "allow_continue"),
            (plan.method.party_share < 1 and not self.allow_party_sampling, "samples parties", "allow_party_sampling"),
            (self._too_few(plan), f"has only {len(plan.members)} parties", "fewest_parties or allow_two"),
            (self._few_after_losses(plan), "may grow trees from three parties after a loss", "fewest_parties"),
            (self._too_fine(plan), f"refines cuts to {plan.params.min_cut_rows} rows", "min_cut_rows"),
            (self._too_few_in(sharing, plan), f"adds up {len(sharing)} parties' sums", "fewest_parties or allow_two"),
            (sharing and self.tell_columns == "codes", "tells names of shared columns", "tell_columns"),
            (plan.params.min_child_rows < self.min_child_rows, "opens smaller nodes", "min_child_rows"),
            (
                plan.method.hidden_rows and self.min_child_rows > 1,
                "hides nodes, so that their sizes cannot be checked",
                "min_child_rows",
            ),
            (plan.params.n_estimators > self.most_trees, "grows too many trees", "most_trees"),
            *self._too_telling(plan),
        ]
        for is_refused, what, rule in refused:
            if is_refused:
                raise PolicyError(f"The run {what}, which this party's policy refuses ({rule}).")

    @property
    def lifetime(self) -> LifetimeLimit:
        """What all runs together may tell of a row."""
        return LifetimeLimit(self.epsilon_budget, self.most_epsilon, self.most_delta)

    def _too_telling(self, plan: Plan) -> list[tuple[bool, str, str]]:
        """What a run promises by itself; what it adds to others is counted when it begins."""
        if self.most_epsilon is None:
            return []
        dp = plan.method.dp
        if dp is None or not dp.promises:
            return [(True, "promises no differential privacy", "most_epsilon")]
        if dp.protects == "labels":
            return [(True, "promises no differential privacy of this party's columns", "most_epsilon")]
        return [
            (dp.epsilon > self.most_epsilon, f"promises an epsilon of only {dp.epsilon:g}", "most_epsilon"),
            (dp.delta > self.most_delta, f"promises a delta of only {dp.delta:g}", "most_delta"),
        ]

    @property
    def answer_limits(self) -> AnswerLimits:
        """What may be told about one id."""
        return AnswerLimits(self.most_answers_per_id, self.answer_days, self.most_bits_per_id)

    def check_sealed(self, bits: float) -> None:
        """Refuse sealed scores altogether, or an answer with room for this many bits."""
        if not self.allow_sealed:
            raise PolicyError("The run asks for sealed scores, which this party's policy refuses (allow_sealed).")
        if not bits <= self.most_score_bits:  # refuses NaN too
            raise PolicyError(
                f"An answer of the run has room for {bits:.4g} bits, more than this party's policy allows "
                f"(most_score_bits = {self.most_score_bits}); use fewer digits."
            )

    def fewest(self, plan: Plan) -> int:
        """The fewest parties over which this owner gives a part of a sum, masked or sealed."""
        return 2 if self.allow_two and plan.method.allow_two else max(self.fewest_parties, FEWEST_MASKED)

    def _too_few(self, plan: Plan) -> bool:
        return plan.only_sums and plan.drawn(len(plan.members)) < self.fewest(plan)

    def _too_few_in(self, sharing: tuple[str, ...], plan: Plan) -> bool:
        return 0 < len(sharing) < self.fewest(plan)

    def _few_after_losses(self, plan: Plan) -> bool:
        """Drawn parties that are lost are not replaced, as long as three are left."""
        shrinks = plan.only_sums and plan.method.party_share < 1 and plan.goes_on
        return shrinks and self.fewest(plan) > FEWEST_MASKED

    def _weak(self, plan: Plan) -> bool:
        return 0 < _key_bits(plan) < self.min_key_bits

    def _too_slow(self, plan: Plan) -> bool:
        return plan.link_mbit is not None and plan.link_mbit < self.least_link_mbit

    def _unknown_opener(self, plan: Plan) -> bool:
        return bool(plan.opener) and self.openers is not None and plan.opener not in self.openers

    def _too_fine(self, plan: Plan) -> bool:
        by_counts = isinstance(plan.method, Horizontal) and not plan.method.local_cuts
        return (by_counts or isinstance(plan.method, Vertical)) and plan.params.min_cut_rows < self.min_cut_rows


def _key_bits(plan: Plan) -> int:
    """Bits of Paillier keys; 0 where there are none."""
    return plan.method.privacy.bits if isinstance(plan.method.privacy, Paillier) else 0


ALLOW_ALL = Policy(
    fewest_parties=1,
    allow_two=True,
    allow_plain=True,
    allow_local_cuts=True,
    allow_whole_trees=True,
    allow_continue=True,
    allow_party_sampling=True,
    min_cut_rows=1,
    most_trees=10**9,
    most_classes=10**9,
    most_sides=10**18,
    most_bits=10**18,
    most_predicted_rows=10**12,
    most_probe_bytes=10**12,
    least_link_mbit=0.0,
    most_answers_per_id=10**12,
    most_bits_per_id=10**15,
    most_score_bits=10**6,
    least_paths=0,
    least_own_cuts=0,
    least_own_trees=0,
)
"""For parties that live in one process, where there is nobody to hide from."""
