"""Whether two parties have the same rows, in one order: by a hash, which tells nothing else."""

import hashlib

import numpy as np

from hedgerow.agreement.plan import Plan
from hedgerow.data.table import Table


def rows_digest(plan: Plan, table: Table | None) -> bytes:
    """A hash of the ids of all rows, in order: both sides can tell whether theirs are the same, and nothing else."""
    keys = b"" if table is None else np.ascontiguousarray(table.row_keys(), "<u8").tobytes()
    return hashlib.sha256(b"hedgerow rows" + plan.digest + keys).digest()
