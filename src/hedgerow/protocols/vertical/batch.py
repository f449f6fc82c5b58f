"""One batch of noised sums, once the active party has grown trees of its own columns: `protects = "passive"`.

    active (drives)                              passive (each)
    AskColumns                      ----------->  finds cut points of its own columns from counts with noise
                                    <-----------  OwnColumns: numbers of bins
  grows all its trees from its own columns, and says nothing
    AskBatch(sealed gradients)      ----------->  adds up what is sealed in all bins, and its noise
                                    <-----------  BatchSums
  makes a tree of each of their columns
    KeepPart(model id, commitment)  ----------->  keeps its part of the model: the cuts of these trees

Sees in the clear.  Active: how many bins each numbered column has, which follows from noised counts; one sum of
                    gradients and one of hessians for each bin, with noise. No side of a row, no node, no exact count.
                    Passive: that there are so many trees; no gradient, no label, no value.  Nobody: cut points.

What each side makes of a plan alike is here; `batch_active` and `batch_passive` have the sides, `batch_request` what is
sealed and opened.

Noise is in the sums before they are returned: it is a summand under the encryption. A party draws it once, and gives it
again only for the very same request and rows, because two answers with one noise would tell their exact difference. Any
other would be a second release, which its ledger refuses.
"""

from collections.abc import Sequence
from dataclasses import replace

from hedgerow.agreement.dp import DP
from hedgerow.agreement.dp_vertical import words_of
from hedgerow.agreement.plan import Plan
from hedgerow.errors import ProtocolError
from hedgerow.model.noised_terms import all_released
from hedgerow.privacy.accountant import Release, mu_of_budget, spent
from hedgerow.privacy.additive import Cipher
from hedgerow.privacy.ledger import Budget
from hedgerow.privacy.promise import Promise, promised
from hedgerow.privacy.shapes import RowsPlan
from hedgerow.trees.noised.one_batch_rule import OneBatch

REPEATS = 16
"""So often may the very same be asked, after losses: each answer is hidden anew, and all of them together are."""


def batch_of(plan: Plan, n_columns: int, n_numeric: int) -> OneBatch:
    """What the owner of so many columns releases."""
    dp = plan.method.dp
    mu = 0.0 if dp is None else mu_of_budget(dp.epsilon, dp.delta)
    numbers = dp.label_range if dp is not None and plan.goal.objective is not None else None
    return OneBatch(mu, len(plan.answering), n_columns, n_numeric, numbers)


def releases_of_batch(batch: OneBatch) -> tuple[Release, ...]:
    """The same, as a ledger has it."""
    return all_released(batch.planned)


def budget_of(plan: Plan, batch: OneBatch) -> Budget:
    """An owner's part of the plan's budget: what its releases cost, once each."""
    dp = _promised(plan)
    epsilon = spent(releases_of_batch(batch), dp.delta).epsilon
    return Budget(epsilon, dp.delta, dp.unit, words_of(plan)[0])


def promise_of(plan: Plan, batches: Sequence[OneBatch]) -> Promise:
    """What all owners together release."""
    dp = _promised(plan)
    neighbours, adversary, scope = words_of(plan)
    made = [release for batch in batches for release in releases_of_batch(batch)]
    budget = Budget(dp.epsilon, dp.delta, dp.unit, neighbours)
    return promised(budget, spent(made, dp.delta, dp.unit, neighbours), adversary, scope)


def _promised(plan: Plan) -> DP:
    dp = plan.method.dp
    if dp is None:
        raise ProtocolError("The plan promises nothing.")
    return dp


def rows_plan(cipher: Cipher, batch: OneBatch, n_rows: int, n_scores: int, groups: int) -> RowsPlan:
    """How all rows are sealed, for sums with noise in so many bins."""
    plan = RowsPlan(
        rows=n_rows,
        bounds=(batch.clip,) * 2 * n_scores,
        positive=(False, True) * n_scores,
        groups=groups,
        columns=batch.n_columns,
        run_sums=REPEATS * groups * 2 * n_scores,
        summand=batch.most_noise,
        by_holder=True,
    )
    return replace(plan, merging=cipher.merging([plan]))
