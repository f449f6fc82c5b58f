"""Jobs that any version of hedgerow can do: a process that is named one on its input and answers with its seconds.

Started by `versions` with the Python of each version; it imports nothing of this folder, because an older version has
to run it as well. Proofs that keys are well formed are timed apart.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from hedgerow import GBDTClassifier, Horizontal, Lattice, Paillier, SecureAggregation, Vertical, _native, partition

PROOFS = ("prove", "proven", "roots", "raised")
"""Native functions whose names have one of these are proofs."""
proving = 0.0


def table(rows: int, columns: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Values and labels, the same in every version."""
    rng = np.random.default_rng(7)
    values = rng.normal(size=(rows, columns)).astype(np.float32)
    score = values[:, 0] + values[:, -1] * values[:, columns // 2]
    return values, (score + rng.normal(size=rows) > 0).astype(np.int64)


def fitted(federation: Any, parties: Any, trees: int, depth: int) -> None:
    """One fit."""
    GBDTClassifier(n_estimators=trees, max_depth=depth, max_bin=32, n_jobs=2, federation=federation).fit(*parties)


def jobs() -> dict[str, Callable[[], None]]:
    """What is timed, by name."""
    wide, tall, small = table(20_000, 12), table(100_000, 10), table(3000, 6)
    by_rows, by_columns = partition.rows(*wide, n=3), partition.columns(*wide, n=2)
    few = partition.columns(*small, n=2)
    sealed = Horizontal(privacy=Lattice(), opener=next(iter(by_rows)))
    return {
        "pooled": lambda: fitted(None, tall, 40, 6),
        "masked": lambda: fitted(Horizontal(privacy=SecureAggregation()), (by_rows,), 40, 6),
        "opener": lambda: fitted(sealed, (by_rows,), 4, 6),
        "lattice": lambda: fitted(Vertical(privacy=Lattice()), (by_columns,), 6, 6),
        "lattice, link": lambda: fitted(Vertical(privacy=Lattice(100.0)), (by_columns,), 3, 6),
        "hidden rows": lambda: fitted(Vertical(privacy=Lattice(), hidden_rows=True), (by_columns,), 2, 4),
        "Paillier": lambda: fitted(Vertical(privacy=Paillier(2048)), (few,), 1, 4),
    }


def time_proofs() -> None:
    """From here on, seconds that proofs take are counted in `proving`."""
    for name in dir(_native):
        if any(word in name for word in PROOFS):
            setattr(_native, name, timed(getattr(_native, name)))


def timed(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, its seconds counted."""

    def call(*given: Any) -> Any:
        global proving  # one count for the process
        start = time.perf_counter()
        try:
            return function(*given)
        finally:
            proving += time.perf_counter() - start

    return call


def main() -> None:
    """One line of JSON for every name that comes in."""
    global proving  # one count for the process
    time_proofs()
    known = jobs()
    print(json.dumps(list(known)), flush=True)
    for line in sys.stdin:
        proving = 0.0
        start = time.perf_counter()
        known[line.strip()]()
        seconds = time.perf_counter() - start
        print(json.dumps({"seconds": seconds, "proofs": proving}), flush=True)


if __name__ == "__main__":
    main()
