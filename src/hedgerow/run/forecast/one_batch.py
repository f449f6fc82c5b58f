"""What the one batch of noised sums of a vertical run will cost, for the mean passive party."""

from collections.abc import Iterator

from hedgerow.agreement.ciphers import cipher_of, key_bytes
from hedgerow.agreement.plan import Plan
from hedgerow.protocols.vertical.batch import batch_of, rows_plan
from hedgerow.run.forecast.line import Line
from hedgerow.run.forecast.shape import Shape
from hedgerow.trees.noised.one_batch_rule import MOST_BINS


def one_batch(plan: Plan, shape: Shape, n_trees: int) -> Iterator[Line]:
    """Gradients of all rows, and the sums of all bins: as many as there can be, one for missing values included."""
    cipher, groups = cipher_of(plan), shape.columns * (min(plan.params.max_bin, MOST_BINS) + 1)
    agreed = rows_plan(cipher, batch_of(plan, shape.columns, shape.columns), shape.n_rows or 1, n_trees, groups)
    sealed = key_bytes(plan, agreed.merging or ()) + cipher.rows_bytes(agreed)
    yield Line("AskBatch", 1, sealed, trip=True)
    yield Line("BatchSums", 1, cipher.sums_bytes(agreed, groups))
