# ruff: noqa: E501  # sentences of pages
"""The page about data."""

from benchmarks.results.page import Cell, Found, Page, Section, grid

ORIGINS = {
    "breast": "Breast Cancer Wisconsin, from LIBSVM's page of sets; a quarter of the rows, drawn with seed 0, to test on",
    "abalone": "UCI; rings scaled to [0, 1], a quarter to test on",
    "a9a": "Adult in LIBSVM's encoding, with its own test rows; the HybridTree paper's Adult",
    "cod-rna": "LIBSVM's page; a quarter to test on, which is how the HybridTree paper has it",
    "mnist": "with its own test rows; all 784 columns, LIBSVM's file has the 780 that are not always 0",
    "credit1": "UCI's default of credit card clients, Fed-EINI's Credit1, which prints 25 columns",
    "credit2": "Give Me Some Credit, Fed-EINI's Credit2",
    "jdt": "generated, in the size of Fed-EINI's third set, which is not public",
    "payments-ad": "generated, in the form of HybridTree's AD, which is not public: 25 banks, rare anomalies",
    "payments-dev": "generated, in the form of HybridTree's DEV-AD, which is not public",
}
REAL = ("breast", "abalone", "a9a", "cod-rna", "mnist", "credit1", "credit2")


def table(found: Found) -> str:
    """All sets."""
    headings = ("set", "data", "rows to train on", "to test on", "columns", "to predict", "missing", "what it is")
    lines: list[list[Cell]] = []
    for row in found.rows():
        kind = f"{row['classes']} classes" if row["classes"] else "a number"
        if row["positive"] is not None:
            kind += f", {row['positive']:.2%} positive"
        data = "real" if row["set"] in REAL else "generated"
        sizes = (row["train"], row["test"], row["columns"])
        lines.append([row["set"], data, *sizes, kind, f"{row['missing']:.1%}", ORIGINS[row["set"]]])
    return grid(headings, lines)


PAGE = Page(
    "data-sets",
    "Data sets",
    "Real sets are read from the folder that `HEDGEROW_DATA` names; [which files they are](../how-to/run-benchmarks.md#data). Generated ones are made on the "
    "spot, from seeds.",
    (
        Section(
            "All sets",
            "As they are loaded for most tables. Fed-EINI's tables take 60 % of the rows of credit1, credit2 and jdt to train on and 20 % "
            "to test on; the figures here for the first two are those of other benchmarks, a quarter to test on.",
            ("data-sets",),
            table,
        ),
    ),
)
