"""The tables of a hybrid run file as those compare them who hold them all: rows to learn from, and rows to measure."""

from dataclasses import dataclass, replace

import msgspec
import numpy as np

from hedgerow.agreement.options import Hybrid
from hedgerow.data.hybrid_partition import HybridTables
from hedgerow.data.table import Table
from hedgerow.errors import ParameterError
from hedgerow.model.model import dense
from hedgerow.run.file import tables
from hedgerow.run.file.description import RunFile


@dataclass(frozen=True, eq=False)
class Sample:
    """What a run is compared with others on."""

    method: Hybrid
    training: HybridTables
    test: HybridTables
    rows: str
    """Which rows are measured: test, validation or training."""
    notes: tuple[str, ...]


def sample(run: RunFile) -> Sample:
    """The parties' tables; columns that several passive parties have under one name are taken for one column."""
    if not isinstance(run.method, Hybrid):
        raise ParameterError(
            f"[run] method is {run.method.word}, and only a hybrid run is compared with baselines; use method = "
            '"hybrid".'
        )
    alike = replace(run, method=msgspec.structs.replace(run.method, shared=True))
    split = tables.party_tables(alike)
    kind, test = "training", split.training
    if run.data.test is not None:
        kind, test = "test", tables.test_parties(alike, split.training)
    elif run.active in split.valid:
        kind, test = "validation", {**split.training, **split.valid}
    return Sample(run.method, _made(split.training, run.active), _made(test, run.active), kind, tuple(split.notes))


def _made(parts: dict[str, Table], active: str) -> HybridTables:
    whole = {name: replace(table, values=dense(table), absent=np.nan) for name, table in parts.items()}
    return HybridTables(whole.pop(active), whole)
