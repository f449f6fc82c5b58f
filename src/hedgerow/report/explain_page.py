"""An explanation as one HTML page that needs no other file, and as CSV."""

import base64
import csv
import io
from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby

from hedgerow.report.explain import COLUMN_FACTS, MOST_REASONS, Explanation
from hedgerow.report.explain_reasons import Reason, largest
from hedgerow.report.tree_text import plain, summary

NUMBERS = ("splits", "trees", "gain", "cover")
STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; color: #26323a; max-width: 68rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2rem }
pre { background: #eef2ef; padding: .8rem; overflow-x: auto; font-size: .85rem }
table { border-collapse: collapse; margin: .5rem 0 }
th, td { padding: .25rem .7rem; text-align: left; vertical-align: top }
th { border-bottom: 1px solid #9aa8a1; font-weight: 600 } tr:nth-child(even) td { background: #f6f8f6 }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums }
.pictures img { max-width: 100%; margin: .4rem 1rem .4rem 0; vertical-align: top }
.bar { display: inline-block; height: .7rem; background: #4c7f5b } .bar.down { background: #b5542f }
.rows { display: flex; flex-wrap: wrap; gap: 0 2.5rem } .rows h3 { font-size: 1rem; margin: 1rem 0 0 }
"""


def page(explanation: Explanation, pictures: Mapping[str, bytes]) -> str:
    """The page; `pictures` are PNGs by what they show, the one of importances first."""
    images = [
        f'<img alt="{_text(name)}" src="data:image/png;base64,{base64.b64encode(png).decode()}">'
        for name, png in pictures.items()
    ]
    rows = explanation.column_rows()
    parts = [
        "<h1>Explanation of a model</h1>",
        f"<pre>{_text(summary(explanation.model, n_columns=0))}</pre>",
        "<h2>Columns used</h2>",
        _table(COLUMN_FACTS, rows, NUMBERS) if rows else "<p>No column is used.</p>",
        *(f"<p>{_text(note)}</p>" for note in explanation.notes()),
        '<h2>Importances and effects</h2><div class="pictures">' if images else "",
        *images,
        "</div>" if images else "",
    ]
    if explanation.reasons is not None:
        parts += ["<h2>Reasons of rows</h2>", f'<div class="rows">{_reasons(explanation.reasons.reasons)}</div>']
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Explanation of a model</title>'
        f"<style>{STYLE}</style></head><body>\n" + "\n".join(part for part in parts if part) + "\n</body></html>\n"
    )


def _text(text: str) -> str:
    return escape(plain(text) if "\n" not in text else text)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[str]) -> str:
    kinds = [' class="number"' if name in numbers else "" for name in head]
    top = "".join(f"<th{kind}>{_text(name)}</th>" for name, kind in zip(head, kinds, strict=True))
    lines = [
        "<tr>" + "".join(f"<td{kind}>{_text(cell)}</td>" for cell, kind in zip(row, kinds, strict=True)) + "</tr>"
        for row in rows
    ]
    return f"<table><thead><tr>{top}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _reasons(reasons: Sequence[Reason]) -> str:
    """A table for each row, with a bar for each contribution."""
    shown = largest(reasons, MOST_REASONS)
    greatest = max((abs(reason.contribution) for reason in shown), default=0.0) or 1.0
    parts = []
    for row, of_row in groupby(shown, key=lambda reason: reason.row):
        lines = [_line(reason, 7 * abs(reason.contribution) / greatest) for reason in of_row]
        parts.append(f"<div><h3>row {_text(row)}</h3><table>{''.join(lines)}</table></div>")
    return "".join(parts)


def _line(reason: Reason, width: float) -> str:
    kind = "bar down" if reason.contribution < 0 else "bar"
    bar = f'<span class="{kind}" style="width:{width:.2f}rem"></span>'
    return f'<tr><td>{_text(reason.label)}</td><td class="number">{reason.contribution:+.4f}</td><td>{bar}</td></tr>'


def columns_csv(explanation: Explanation) -> str:
    """The list for compliance: every column that is used, with whole numbers in place of shares."""
    head = ["party", "number", "name", "known_by", "splits", "trees", "gain", "cover", "description"]
    rows = [
        [use.party, use.number, use.name, use.known, use.splits, use.trees, use.gain, use.cover, use.description]
        for use in explanation.uses
    ]
    return _csv([head, *rows])


def reasons_csv(reasons: Sequence[Reason]) -> str:
    """All reasons, one a line."""
    return _csv([["row", "column", "contribution"], *reasons])


def _csv(rows: Sequence[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
