"""Reasons of single rows: what a column, or a group of columns, contributes to a row's score.

A reason is a row, a label and a number, wherever it comes from: SHAP values here, or the score less the score with some
columns missing, where a vertical model's parties predict together.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hedgerow.data.table import Table
from hedgerow.model.model import Model
from hedgerow.report.importance import ColumnUse


class Reason(NamedTuple):
    """What a column or a group of columns contributes to the score of a row."""

    row: str
    """The row's id, or its number."""
    label: str
    contribution: float


class Reasons(NamedTuple):
    """Reasons, and what must be said of how they were found."""

    reasons: list[Reason]
    note: str


def shap_reasons(
    model: Model, table: Table, ids: Sequence[str], uses: Sequence[ColumnUse], threads: int = 1
) -> Reasons:
    """SHAP values of a table's rows; of an active party's part of a vertical model, those of its own columns."""
    own = model.ownership
    alone = own is not None and not own.whole
    found = model.own_shap_values(table, threads) if alone else model.shap_values(table, threads)
    if found.ndim == 3:
        likeliest = found.sum(axis=2).argmax(axis=1)
        found = found[np.arange(len(found)), likeliest]
        start = "the mean score of the row's likeliest class"
    else:
        start = f"the mean score ({found[0, -1]:.4g})" if len(found) else "the mean score"
    used = [use for use in uses if not alone or use.known == "own"]
    reasons = [
        Reason(row, use.label, float(values[use.column]))
        for row, values in zip(ids, found, strict=True)
        for use in used
    ]
    note = f"SHAP values: they add up from {start} to the raw score of the row."
    if alone:
        note = (
            f"SHAP values of the active party's own columns alone: they add up from {start} to the score that these "
            "columns let expect, not to the row's score; at the splits of the others' columns a row goes both ways."
        )
    return Reasons(reasons, note)


def largest(reasons: Sequence[Reason], most: int) -> list[Reason]:
    """Of each row the largest contributions first, the rest of them added up in one."""
    by_row: dict[str, list[Reason]] = {}
    for reason in reasons:
        by_row.setdefault(reason.row, []).append(reason)
    found: list[Reason] = []
    for row, of_row in by_row.items():
        ordered = sorted(of_row, key=lambda reason: -abs(reason.contribution))
        rest = ordered[most:]
        found += ordered[:most]
        if rest:
            found.append(Reason(row, f"{len(rest)} more", sum(reason.contribution for reason in rest)))
    return found
