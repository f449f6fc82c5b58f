"""How many bytes the next request of the active party may have: what it seals is known in advance from the run's sizes.

Nothing is said here; a request that is longer is refused before it is taken in.
"""

from collections.abc import Iterator

import numpy as np

from hedgerow.corridor.messages import BeginSealed
from hedgerow.errors import ParameterError, PrivacyError
from hedgerow.privacy.shapes import RowsPlan
from hedgerow.protocols.on_wire import LOWEST
from hedgerow.protocols.vertical.hidden_passive import HiddenPassiveRows
from hedgerow.protocols.vertical.hidden_sizes import sides_plan, sums_plan
from hedgerow.protocols.vertical.passive_rows import PassiveRows
from hedgerow.trees import sampling


def most_request(rows: PassiveRows) -> int:
    """Bytes beside a key and lists of nodes: what is sealed, and a side a row and tree."""
    begun = rows.begun
    if begun is None or not rows.widths.size:
        return 0
    try:
        sealed = _most_hidden(rows, begun) if isinstance(rows, HiddenPassiveRows) else _most_sealed(rows, begun)
    except (ParameterError, PrivacyError):
        return 0  # no plan of such sizes is ever answered
    samples = (rows.own, rows.held_out)
    n_rows = sum(sample.matrix.n_rows for sample in samples if sample is not None)
    return sealed + begun.n_trees * n_rows // 8


def _most_sealed(rows: PassiveRows, begun: BeginSealed) -> int:
    """Gradients of all rows at most, for as many nodes as there can be at the next level."""
    own, widest = rows.own.matrix.n_rows, begun.n_trees << max(rows.params.max_depth - 1, 0)
    lowest = begun.n_trees if rows.finished else 2 * int(np.count_nonzero(rows.status >= LOWEST))
    if not own:
        return 0
    plan = RowsPlan(
        rows=own * begun.n_trees,
        bounds=(begun.bound, begun.bound),
        groups=begun.groups,
        columns=begun.columns,
        nodes=max(min(lowest, widest), 1),
        most_rows=0 if rows.cipher.seals_once else own,
        run_sums=begun.run_sums,
    )
    return rows.cipher.most_rows_bytes(plan)


def _most_hidden(rows: HiddenPassiveRows, begun: BeginSealed) -> int:
    """The next step of sums, or the members of as many cuts as may still come."""
    return max((*_hidden_sums(rows, begun), *_hidden_sides(rows)))


def _hidden_sums(rows: HiddenPassiveRows, begun: BeginSealed) -> Iterator[int]:
    level, counted = (0, drawn(rows)) if rows.finished else (rows.level, rows.n_counted)
    steps = list(rows.hidden.steps(0, counted)) if rows.finished else rows.to_come
    yield 0
    if counted and steps:
        yield rows.cipher.rows_bytes(sums_plan(begun, rows.hidden, level, steps[0], counted))


def _hidden_sides(rows: HiddenPassiveRows) -> Iterator[int]:
    most = 0
    if not rows.finished and rows.level:
        most = min(rows.hidden.cuts_together, rows.hidden.most_cuts(rows.level - 1) - rows.n_cuts)
    n_rows = sum(part.orders.shape[1] for part in rows.parts) if most > 0 else 0
    for cuts in {most, *(1 << i for i in range(most.bit_length()))} if n_rows else ():
        yield rows.cipher.slots_bytes(sides_plan(rows.hidden, n_rows, cuts), cuts)


def drawn(rows: PassiveRows) -> int:
    """Rows that count in the round to come."""
    if rows.draw.subsample >= 1:
        return rows.own.matrix.n_rows
    return int(sampling.rows(rows.own.keys, rows.draw.subsample, rows.draw.seed, rows.round + 1).sum())
