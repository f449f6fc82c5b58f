"""What hybrid training is compared with, by one word; whoever computes it holds all tables.

Nothing is encrypted or exchanged: a vertical run's forest is that of the joined table.
"""

from collections.abc import Callable

from hedgerow.data.hybrid_partition import HybridTables, merged, pooled
from hedgerow.data.table import Table
from hedgerow.errors import ParameterError


def _alone(made: HybridTables) -> dict[str, Table]:
    return {"active": made.active}


def _two_party(made: HybridTables) -> dict[str, Table]:
    return {name: pooled(made.active, {name: table}) for name, table in made.passive.items()}


def _merged(made: HybridTables) -> dict[str, Table]:
    return {"merged": pooled(made.active, {"merged": merged(made.passive)})}


def _pooled(made: HybridTables) -> dict[str, Table]:
    return {"pooled": made.pooled()}


BASELINES: dict[str, Callable[[HybridTables], dict[str, Table]]] = {
    "alone": _alone, "two-party": _two_party, "merged": _merged, "pooled": _pooled,
}  # fmt: skip


def baseline_tables(word: str, made: HybridTables) -> dict[str, Table]:
    """The tables, by name, on each of which one model of the baseline is trained or measured."""
    if word not in BASELINES:
        raise ParameterError(f"The baseline {word!r} is unknown; it is one of {', '.join(BASELINES)}.")
    return BASELINES[word](made)
