"""`hedgerow predict`: a CSV of predictions."""

import csv
import io
import sys
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any

import typer

from hedgerow.commands import options as opt
from hedgerow.commands.inputs import Roles, read_like
from hedgerow.commands.outputs import check_writable
from hedgerow.data.table import Table
from hedgerow.errors import ParameterError
from hedgerow.model import Model
from hedgerow.saved import load_model, write_whole
from hedgerow.threads import threads_of

ROWS_AT_ONCE = 10_000

Out = Annotated[
    Path | None,
    typer.Option(help="CSV file to write; one that exists is overwritten. Without it, stdout.", show_default=False),
]
What = Annotated[
    opt.WhatName,
    typer.Option(help="label: class or number; raw: scores before the link; leaf: where each row ends in every tree."),
]


def predict(
    model: opt.ModelFile,
    data: opt.Data,
    out: Out = None,
    what: What = opt.WhatName.LABEL,
    id_: opt.Id = None,
    n_jobs: opt.Jobs = None,
) -> None:
    """Predict the rows of a table, one line a row, in the table's order."""
    if out is not None:
        check_writable(out)
    loaded = load_model(model)
    table = read_like(data, loaded.columns, Roles(id=id_, absent=loaded.absent))
    header, columns = _predicted(loaded, table, what, threads_of(n_jobs))
    if table.ids is not None:
        header, columns = [id_ or "id", *header], [table.ids.tolist(), *columns]
    lines = _lines(header, columns)
    if out is None:
        for part in lines:
            sys.stdout.write(part)
    else:
        write_whole(out, "".join(lines).encode())


def _predicted(model: Model, table: Table, what: opt.WhatName, threads: int) -> tuple[list[str], list[Sequence[Any]]]:
    """Names and values of the predicted columns."""
    if what is opt.WhatName.LABEL:
        return ["prediction"], [model.predict_labels(table, threads).tolist()]
    if what is opt.WhatName.LEAF:
        leaves = model.leaves(table, threads)
        return [f"tree_{i}" for i in range(leaves.shape[1])], leaves.T.tolist()
    if what is opt.WhatName.RAW:
        scores = model.scores(table, threads)
        names = [f"score_{c}" for c in model.classes] if scores.shape[1] > 1 else ["score"]
        return names, [[str(score) for score in column] for column in scores.T]
    if not model.classes:
        raise ParameterError("The model predicts numbers and has no probabilities; use --what label.")
    return [f"probability_{c}" for c in model.classes], model.predict(table, threads).T.tolist()


def _lines(header: Sequence[str], columns: Sequence[Sequence[Any]]) -> Iterator[str]:
    """The CSV text, some rows at a time."""
    rows = chain([header], zip(*columns, strict=True))
    while batch := list(islice(rows, ROWS_AT_ONCE)):
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(batch)
        yield text.getvalue()
