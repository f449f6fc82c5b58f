"""`hedgerow evaluate`: how good a model is on labelled rows."""

import json
from pathlib import Path
from typing import Annotated

import typer

from hedgerow.commands import options as opt
from hedgerow.commands import predict_bag, predict_together
from hedgerow.commands.option_names import in_options
from hedgerow.commands.print_tables import (
    check_writable,
    comparable,
    measured,
    measured_by,
    metric_rows,
    note,
    print_grid,
)
from hedgerow.commands.read_tables import Roles, label_of, read_like
from hedgerow.model.bag import Bag, load_any
from hedgerow.model.file import write_whole
from hedgerow.run.file.options import DataOptions
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
    ignore: opt.Ignore = None,
    delimiter: opt.Delimiter = None,
    decimal: opt.Decimal = None,
    with_: predict_together.With = None,
    cert: predict_together.Cert = None,
    key: predict_together.KeyFile = None,
    without: predict_together.Without = None,
    folder: predict_together.Folder = None,
    n_jobs: opt.Jobs = None,
) -> None:
    """Compare a model's predictions with labels (without --label, its own); a vertical model with its other parties."""
    if json_ is not None:
        check_writable(json_)
    loaded = load_any(model)
    parties = predict_together.parties_of(with_, cert, key, without, folder)
    known = DataOptions() if parties is None else parties.run.data
    label = label_of(data, label, loaded.label or known.label)
    side = (label, id_ or known.id, weight or known.weight)
    roles = Roles(*side, loaded.absent, tuple(ignore or ()), delimiter, decimal)
    if isinstance(loaded, Bag):
        table = predict_bag.read_rows(loaded, data, roles, parties)
        comparable(table.labels, loaded.classes)  # before anybody is asked
        each = predict_bag.predicted_by_each(loaded, table, parties, threads_of(n_jobs))
        found = measured_by(loaded, table, loaded.of_each(each))
    elif parties is None:
        loaded.check_whole()
        table = read_like(data, loaded.columns, roles)
        found = measured(loaded, table, threads_of(n_jobs))
    else:
        table = predict_together.own_rows(loaded, data, roles, parties)
        comparable(table.labels, loaded.classes)  # before anybody is asked
        leaves = predict_together.ask(loaded, table, parties)
        found = measured_by(loaded, table, loaded.means(loaded.scores_at(leaves)))
    for sentence in table.remarks:
        note(in_options(sentence))
    print_grid(["", data], [["rows", str(table.n_rows)], *metric_rows({data: found})])
    if json_ is not None:
        report = {"model": str(model), "data": data, "rows": table.n_rows, "metrics": found}
        write_whole(json_, (json.dumps(report, indent=2) + "\n").encode())
