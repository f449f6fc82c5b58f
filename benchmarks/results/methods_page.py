# ruff: noqa: E501  # sentences of pages
"""The page that compares ways of learning."""

from benchmarks.results.page import Cell, Found, Page, Section, grid, shown

TOLD = {
    "pooled": "everything is in one place",
    "alone, half of the rows": "nothing",
    "alone, half of the columns": "nothing",
    "whole trees, mean of models": "each party's trees",
    "horizontal, unprotected": "each party's sums",
    "horizontal, masked": "sums over both, of which each of only two can work out the other's",
    "horizontal, masked, epsilon 5": "noised sums over both",
    "horizontal, masked, epsilon 1": "noised sums over both",
    "vertical, unprotected": "gradients of rows to the passive party, its sums to the active one",
    "vertical, lattice": "rows of nodes to the passive party, its sums to the active one",
    "vertical, lattice for 100 Mbit/s": "as with lattice encryption",
    "vertical, lattice, hidden rows": "the passive party's sums to the active one",
    "vertical, Paillier 2048": "as with lattice encryption",
}
"""What is told beside the model, in a few words."""


def table(found: Found) -> str:
    """A line for each way and set."""
    headings = (
        "set",
        "way",
        "score",
        "MB a tree",
        "exchanges a tree",
        "processor seconds / pooled",
        "told, beside the model",
    )
    rows: list[list[Cell]] = []
    for row in found.rows():
        name, _, way = row["name"].partition(": ")
        size = None if row["MB/tree"] is None else shown(row["MB/tree"], 2)
        costs = (size, row["exchanges/tree"], row["processor s / pooled"])
        rows.append([f"{name}, {row['score']}", way, f"{row['reached']:.4f}", *costs, TOLD[way]])
    return grid(headings, rows, 1)


PAGE = Page(
    "methods",
    "Ways of learning, compared",
    "Two parties, 50 trees of depth 6, learning rate .1, 64 bins; 20 bits of gradients, 8 where they are encrypted, as runs have by default. [The sets](data-sets.md), [the machine](index.md#the-machine). "
    "[Which mode is mine?](../how-to/which-mode.md) asks the same question from the other end.",
    (
        Section(
            "Scores and costs",
            "Bytes and exchanges are those of a run of five trees (with hidden rows two, with Paillier one), joining, bins and keys among them, both ways, divided by the trees: with 50 trees a tree has fewer. *Processor seconds* are those "
            "of all parties together, as a multiple of pooled training of as many trees in the same run; a small table is grown in milliseconds, beside which everything is dear. "
            "What is told is a few words here; [the table of disclosures](../reference/disclosures.md) has all of it.",
            ("methods",),
            table,
        ),
    ),
)
