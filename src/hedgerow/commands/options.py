"""The options of `hedgerow train`, and those that several commands share."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

TREES, STOPPING = "Trees", "Held-out rows"


class TaskName(StrEnum):
    """What is learnt from the labels."""

    AUTO = "auto"
    CLASSIFY = "classify"
    REGRESS = "regress"


class KindName(StrEnum):
    """What is grown."""

    BOOSTED = "boosted"
    FOREST = "forest"


class ObjectiveName(StrEnum):
    """The losses for numbers."""

    SQUARED = "squared"
    POISSON = "poisson"
    TWEEDIE = "tweedie"
    HUBER = "huber"


class AbsentName(StrEnum):
    """What an entry that a LIBSVM file leaves out means."""

    MISSING = "missing"
    ZERO = "zero"


class WhatName(StrEnum):
    """What is predicted."""

    LABEL = "label"
    PROBABILITY = "probability"
    RAW = "raw"
    LEAF = "leaf"


class ImportanceName(StrEnum):
    """What columns are ranked by."""

    GAIN = "gain"
    SPLIT = "split"
    COVER = "cover"


def _option(help_: str, group: str | None = None, metavar: str | None = None, name: tuple[str, ...] = ()) -> Any:
    return typer.Option(*name, help=help_, rich_help_panel=group, metavar=metavar, show_default=False)


_TABLE = (
    "CSV, TSV, Parquet or LIBSVM file, also gzipped; or builtin:NAME with breast_cancer, diabetes, digits, iris or wine"
)
Data = Annotated[str, typer.Argument(help=f"{_TABLE}.", show_default=False)]
DataUnlessServing = Annotated[
    str | None, typer.Argument(help=f"{_TABLE}; none with --serve.", metavar="DATA", show_default=False)
]
DataOrRun = Annotated[
    str, typer.Argument(help=f"{_TABLE}; or a run file (.toml, or FedTree's .conf).", show_default=False)
]
ModelFile = Annotated[Path, typer.Argument(help="Model file written by `hedgerow train`.", show_default=False)]
Label = Annotated[str | None, _option("Column of the labels.", metavar="COL")]
Id = Annotated[str | None, _option("Column of the rows' ids; not a feature.", metavar="COL", name=("--id",))]
Weight = Annotated[str | None, _option("Column of the rows' weights; not a feature.", metavar="COL")]
Absent = Annotated[
    AbsentName | None,
    _option("What an entry that a LIBSVM file leaves out means. (default missing, or as in --continue-from)"),
]
Jobs = Annotated[int | None, _option("Threads; all cores if not given.")]

Delimiter = Annotated[
    str | None,
    _option("What stands between the fields of a CSV file, or tab. (default: recognised)", metavar="SIGN"),
]
Decimal = Annotated[
    str | None, _option("What stands before decimals in a CSV file, '.' or ','. (default: recognised)", metavar="SIGN")
]
Ignore = Annotated[
    list[str] | None,
    _option("Columns to ignore, separated by commas; may be repeated.", metavar="COLUMNS"),
]

Categorical = Annotated[
    list[str] | None, _option("Numeric column to treat as categorical; may be repeated.", metavar="COL")
]
ModelOut = Annotated[Path, typer.Option(help="Where the model goes; a file that exists is overwritten.")]
Task = Annotated[TaskName, typer.Option(help="auto: classes if labels are text or at most 20 distinct whole numbers.")]
Kind = Annotated[KindName | None, _option("Boosted trees, or a random forest. (default boosted)")]
Objective = Annotated[ObjectiveName | None, _option("Loss for numbers. (default squared)")]
TweediePower = Annotated[float | None, _option("Variance power of tweedie, between 1 and 2. (default 1.5)")]
HuberSlope = Annotated[float | None, _option("Slope of huber. (default 1)")]
InPieces = Annotated[
    bool | None,
    typer.Option(
        "--in-pieces/--no-in-pieces",
        help="Read DATA in pieces, and keep a byte a cell in memory: a Parquet file, a folder of them, or CSV. "
        "(default: if the table would take half of the machine's memory)",
        show_default=False,
    ),
]
Cluster = Annotated[
    str | None,
    _option(
        "Address of a Dask cluster whose workers read DATA, a file or a folder of them; or local: worker processes on "
        "this machine.",
        metavar="ADDRESS",
    ),
]
WithoutTls = Annotated[
    bool, typer.Option("--without-tls", help="Accept a cluster on another machine whose address is not tls://.")
]
ContinueFrom = Annotated[Path | None, _option("Model to which trees are added.", metavar="MODEL")]

Valid = Annotated[str | None, _option("Data on which the metric is followed while training.", STOPPING, metavar="FILE")]
Test = Annotated[str | None, _option("Data that only the final metrics are computed on.", STOPPING, metavar="FILE")]
EarlyStopping = Annotated[
    int | None, _option("Stop after this many rounds without a better metric on --valid.", STOPPING)
]
EvalMetric = Annotated[
    str | None, _option("Metric on --valid, by XGBoost's name: logloss, auc, error, rmse, mae, ...", STOPPING)
]

Estimators = Annotated[int | None, _option("Rounds of trees. (default 100)", TREES)]
MaxDepth = Annotated[int | None, _option("Maximum depth: splits on the way to a leaf. (default 6; forest 12)", TREES)]
LearningRate = Annotated[float | None, _option("Factor on the values of leaves. (default 0.1)", TREES)]
RegLambda = Annotated[float | None, _option("L2 penalty on leaves. (default 1; forest 0)", TREES)]
RegAlpha = Annotated[float | None, _option("L1 penalty on leaves. (default 0)", TREES)]
Gamma = Annotated[float | None, _option("Least gain of a split. (default 0)", TREES)]
MinChildWeight = Annotated[float | None, _option("Least sum of hessians in a child. (default 1)", TREES)]
MaxBin = Annotated[int | None, _option("Bins of a feature. (default 255)", TREES)]
Subsample = Annotated[float | None, _option("Share of rows for each tree. (default 1; forest 0.632)", TREES)]
ColsampleByTree = Annotated[float | None, _option("Share of columns for each tree. (default 1)", TREES)]
ColsampleByNode = Annotated[
    float | None, _option("Share of columns for each node. (default 1; forest: the square root of their number)", TREES)
]
ScalePosWeight = Annotated[float | None, _option("Weight of the second of two classes. (default 1)", TREES)]
Monotone = Annotated[
    str | None, _option("Columns whose effect may only rise (1) or fall (-1).", TREES, metavar="COL=1,COL=-1")
]
GradientBits = Annotated[int | None, _option("Bits of the integers whose sums choose splits. (default 20)", TREES)]
RandomState = Annotated[int | None, _option("Seed of the samples of rows and columns. (default 0)", TREES)]

# Runs

Resume = Annotated[bool, typer.Option("--resume", help="Go on with a run that stopped, after its last complete tree.")]
Folder = Annotated[
    Path | None,
    typer.Option(help="The run's folder, in place of the one that the run file names.", show_default=False),
]
Compare = Annotated[
    bool,
    typer.Option(
        "--compare", help="Of a run file, also train every party alone, and all data in one place, and measure them."
    ),
]
RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="Run file (.toml).", show_default=False)]
Certificate = Annotated[Path, typer.Option("--cert", help="Own certificate, PEM.", show_default=False)]
Key = Annotated[Path, typer.Option(help="Own key, PEM.", show_default=False)]
Name = Annotated[str, typer.Option("--as", help="Own name, as the run file has it.", show_default=False)]
OwnData = Annotated[Path, typer.Option("--data", help="Own rows: CSV, TSV, Parquet or LIBSVM.", show_default=False)]
ActiveData = Annotated[
    Path | None,
    typer.Option("--data", help="Own rows of the active party, with labels; vertical runs only.", show_default=False),
]
OwnValid = Annotated[
    Path | None, typer.Option("--valid", help="Own validation rows, for the metric.", show_default=False)
]
PolicyFile = Annotated[
    Path | None, typer.Option("--policy", help="Own rules (.toml); without them, the strictest.", show_default=False)
]
ActivePolicy = Annotated[
    Path | None,
    typer.Option(
        "--policy",
        help="Own rules (.toml) of the active party: how much all its runs may tell (most_epsilon, most_delta, "
        "epsilon_budget); other keys are for owners that answer.",
        show_default=False,
    ),
]
LedgerPath = Annotated[
    Path | None,
    typer.Option(
        "--ledger",
        help="What this owner counts over all runs; without it, the file beside --key that ends in .ledger.",
        show_default=False,
    ),
]
