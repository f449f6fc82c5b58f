"""`hedgerow evaluate`: how good a model is on labelled rows."""

import json
from pathlib import Path
from typing import Annotated

import typer

from hedgerow.commands import options as opt
from hedgerow.commands.inputs import Roles, label_of, read_like
from hedgerow.commands.outputs import check_writable, measured, metric_rows, print_grid
from hedgerow.saved import load_model, write_whole
from hedgerow.threads import threads_of

Json = Annotated[
    Path | None,
    typer.Option("--json", help="Also write the metrics here; a file that exists is overwritten.", show_default=False),
]


def evaluate(
    model: opt.ModelFile,
    data: opt.Data,
    label: opt.Label = None,
    json_: Json = None,
    id_: opt.Id = None,
    weight: opt.Weight = None,
    n_jobs: opt.Jobs = None,
) -> None:
    """Compare a model's predictions with labels; without --label, the column it was trained with."""
    if json_ is not None:
        check_writable(json_)
    loaded = load_model(model)
    loaded.check_whole()
    roles = Roles(label_of(data, label, loaded.label), id_, weight, loaded.absent)
    table = read_like(data, loaded.columns, roles)
    found = measured(loaded, table, threads_of(n_jobs))
    print_grid(["", data], [["rows", str(table.n_rows)], *metric_rows({data: found})])
    if json_ is not None:
        report = {"model": str(model), "data": data, "rows": table.n_rows, "metrics": found}
        write_whole(json_, (json.dumps(report, indent=2) + "\n").encode())
