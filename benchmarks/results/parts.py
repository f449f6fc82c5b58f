"""What there is to measure for the pages: parts, each over some sets, by the names of the papers and their tables."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks import (
    dp_table4,
    horizontal_tables,
    hybrid_figures,
    hybrid_meta,
    hybrid_overhead,
    hybrid_predict,
    hybrid_tables,
    hybrid_time,
    many_parties,
    methods,
    process_tables,
    sealed_sweep,
    sealed_tables,
    set_sizes,
    tree_seconds,
    vertical_tables,
    xgboost_scores,
)
from benchmarks.horizontal_sets import SETS as TABLES
from benchmarks.hybrid_sets import SETS as HYBRID_SETS
from benchmarks.rows import Row
from benchmarks.settings import Request, Settings

FIVE = ("breast", "abalone", "a9a", "cod-rna", "mnist")
SMALL = ("breast", "abalone")


@dataclass(frozen=True)
class Measured:
    """A part: what runs, and over which sets."""

    title: str
    run: Callable[[Request], Iterator[Row]]
    sets: tuple[str, ...]
    known: Mapping[str, Any]
    quick: tuple[str, ...] = SMALL
    timed: bool = False
    """Whether seconds are among its figures, which need a quiet machine."""
    edition: int = 1
    """Raised when something else is measured than before, so that what is kept does not count any more."""

    def fingerprint(self, quick: bool) -> dict[str, Any]:
        """What must be alike for a kept file to count."""
        return {"edition": self.edition, "quick": quick, **asdict(Settings())}


def hybrid_part(name: str) -> Measured:
    """A table of the HybridTree paper."""
    table, quick = hybrid_tables.TABLES[name], ("cod-rna",)
    return Measured(f"HybridTree's {name.replace('-', ' ')}", table.run, table.full, HYBRID_SETS, quick)


PARTS: dict[str, Measured] = {
    "data-sets": Measured("How large the sets are", set_sizes.run, set_sizes.FULL, set_sizes.SETS, ("breast",)),
    "fedtree-horizontal": Measured(
        "FedTree's tables 1 and 5, horizontal", horizontal_tables.run, FIVE, TABLES
    ),
    "fedtree-vertical": Measured(
        "FedTree's tables 1 and 5, vertical", vertical_tables.run, FIVE, TABLES
    ),
    "fedtree-xgboost": Measured(
        "XGBoost with FedTree's settings", xgboost_scores.run, FIVE, TABLES
    ),
    "fedtree-noise": Measured("FedTree's table 4", dp_table4.run, dp_table4.FULL, dp_table4.SETS, ("abalone",)),
    **{
        f"fedtree-parties-{mode}": Measured(
            f"FedTree's table 8, {mode}", many_parties.MODES[mode].run, FIVE, TABLES, timed=True
        )
        for mode in many_parties.MODES
    },
    "fedtree-seconds": Measured(
        "FedTree's tables 2 and 3", tree_seconds.run, FIVE, TABLES, ("breast",), timed=True
    ),
    "fedtree-processes": Measured(
        "FedTree's table 6", process_tables.run_6, FIVE, TABLES, ("breast",), timed=True
    ),
    "fedtree-link": Measured(
        "FedTree's table 7", process_tables.run_7, FIVE, TABLES, ("breast",), timed=True
    ),
    "hybridtree-1": hybrid_part("table-1"),
    "hybridtree-3": hybrid_part("table-3"),
    "hybridtree-6": hybrid_part("table-6"),
    "hybridtree-9": hybrid_part("table-9"),
    "hybridtree-10": hybrid_part("table-10"),
    "hybridtree-12": hybrid_part("table-12"),
    "hybridtree-figures": Measured(
        "HybridTree's figures 6, 8 and 9", hybrid_figures.run, hybrid_figures.FULL, HYBRID_SETS, ("cod-rna",)
    ),
    "hybridtree-rules": Measured(
        "HybridTree's figure 3a", hybrid_meta.run, hybrid_meta.FULL, hybrid_meta.SETS, ("cod-rna",)
    ),
    "hybridtree-prediction": Measured(
        "HybridTree's table 8", hybrid_predict.run, hybrid_predict.FULL, HYBRID_SETS, ("cod-rna",), timed=True
    ),
    "hybridtree-training": Measured(
        "HybridTree's tables 2 and 11", hybrid_time.run, hybrid_time.FULL, hybrid_time.SETS, ("cod-rna",)
    ),
    "hybridtree-overhead": Measured(
        "HybridTree's table 7", hybrid_overhead.run, hybrid_overhead.FULL, hybrid_overhead.SETS, ("cod-rna",)
    ),
    "methods": Measured(
        "Ways of learning, compared", methods.run, methods.FULL, methods.SETS, methods.QUICK, edition=2
    ),
    "fed-eini-scores": Measured(
        "Fed-EINI's table IV and figure 7", sealed_tables.run, sealed_tables.FULL, sealed_tables.SETS,
        ("jdt-30k",), timed=True,
    ),
    "fed-eini-sweep": Measured(
        "Fed-EINI's figure 8", sealed_sweep.run, sealed_sweep.FULL, sealed_sweep.SETS, ("1000x5x100",), timed=True
    ),
}  # fmt: skip
"""By the names that `--parts` takes."""

MINUTES: Mapping[str, Mapping[str, float]] = {
    "fedtree-horizontal": {"mnist": 3},
    "fedtree-vertical": {"cod-rna": 1, "mnist": 12},
    "fedtree-parties-horizontal": {"mnist": 4},
    "fedtree-parties-vertical": {"mnist": 4},
    "fedtree-seconds": {"a9a": 1.5, "cod-rna": 1.5, "mnist": 12},
    "fedtree-processes": {"mnist": 8},
    "fedtree-link": {"a9a": 2, "cod-rna": 2, "mnist": 8},
    "hybridtree-figures": {"cod-rna": 2, "adult-20": 3, "payments-ad": 6, "payments-dev": 6},
    "hybridtree-training": {"cod-rna": 2, "a9a": 3},
    "methods": {"a9a": 1, "credit1": 1, "cod-rna": 1},
    "fed-eini-scores": {"credit2": 1, "jdt": 10},
}
"""About how long a set takes on two quiet cores, by part, where that is more than `USUAL_MINUTES`."""
USUAL_MINUTES = 0.5
