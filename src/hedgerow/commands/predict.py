"""`hedgerow predict`: a CSV of predictions."""

import csv
import io
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray

from hedgerow.commands import options as opt
from hedgerow.commands import predict_bag, predict_together, scoring
from hedgerow.commands.option_names import in_options
from hedgerow.commands.predict_together import Parties
from hedgerow.commands.print_tables import check_writable, note
from hedgerow.commands.read_tables import Roles, read_like
from hedgerow.data.table import Table
from hedgerow.errors import ParameterError
from hedgerow.model.bag import Bag, load_any
from hedgerow.model.file import write_whole
from hedgerow.model.fixed_scores import BITS
from hedgerow.model.model import Model
from hedgerow.run.real.score_plan import Sealing
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
    data: opt.DataUnlessServing = None,
    out: Out = None,
    what: What = opt.WhatName.LABEL,
    id_: opt.Id = None,
    ignore: opt.Ignore = None,
    delimiter: opt.Delimiter = None,
    decimal: opt.Decimal = None,
    with_: predict_together.With = None,
    cert: predict_together.Cert = None,
    key: predict_together.KeyFile = None,
    without: predict_together.Without = None,
    folder: predict_together.Folder = None,
    sealed: scoring.Sealed = False,
    cipher: scoring.CipherOption = scoring.CipherName.LATTICE,
    bits: scoring.BitsOption = BITS,
    link_mbit: scoring.Link = scoring.LINK_MBIT,
    keep_openings: scoring.KeepOpenings = None,
    serve: scoring.Serve = False,
    listen: scoring.Listen = "127.0.0.1:8321",
    token_file: scoring.TokenFile = Path("hedgerow.token"),
    n_jobs: opt.Jobs = None,
) -> None:
    """Predict the rows of a table, one line a row, in the table's order; a vertical model with its other parties.

    With --sealed nobody learns the way of a row, and with --serve the process stays and scores rows for local clients.
    """
    if out is not None:
        check_writable(out)
    loaded = load_any(model)
    parties = predict_together.parties_of(with_, cert, key, without, folder)
    if keep_openings is not None and not sealed:
        raise ParameterError("--keep-openings goes with --sealed; add that.")
    if isinstance(loaded, Bag):
        predict_bag.check_bag(loaded, what, sealed, serve)
        roles = Roles(
            None,
            id_ or (parties.run.data.id if parties else None),
            None,
            loaded.absent,
            tuple(ignore or ()),
            delimiter,
            decimal,
        )
        table = predict_bag.read_rows(loaded, _given(data), roles, parties)
        each = predict_bag.predicted_by_each(loaded, table, parties, threads_of(n_jobs))
        _write(out, table, roles.id, predict_bag.columns_of(loaded, each, what))
        return
    sealing = scoring.sealing_of(cipher, bits, link_mbit, parties, keep_openings) if sealed else None
    if serve:
        scoring.stay(loaded, parties, sealing, data, threads_of(n_jobs), (listen, token_file))
        return
    data = _given(data)
    _check_told(loaded, what, sealed)
    roles = Roles(None, id_, None, loaded.absent, tuple(ignore or ()), delimiter, decimal)
    if parties is None:
        loaded.check_whole()
        table, threads = read_like(data, loaded.columns, roles), threads_of(n_jobs)
        reached = _Reached(lambda: loaded.scores(table, threads), lambda: loaded.leaves(table, threads))
    else:
        id_ = id_ or parties.run.data.id
        table = predict_together.own_rows(loaded, data, replace(roles, id=id_), parties)
        reached = _asked(loaded, table, parties, sealing, threads_of(n_jobs))
    _write(out, table, id_, _predicted(loaded, reached, what))


def _given(data: str | None) -> str:
    if data is None:
        raise ParameterError("DATA is missing; name the table whose rows are predicted.")
    return data


def _write(out: Path | None, table: Table, id_: str | None, predicted: tuple[list[str], list[Sequence[Any]]]) -> None:
    """The table's remarks, and the CSV."""
    for sentence in table.remarks:
        note(in_options(sentence))
    header, columns = predicted
    if table.ids is not None:
        header, columns = [id_ or "id", *header], [table.ids.tolist(), *columns]
    lines = _lines(header, columns)
    if out is None:
        for part in lines:
            sys.stdout.write(part)
    else:
        write_whole(out, "".join(lines).encode())


def _check_told(model: Model, what: opt.WhatName, sealed: bool) -> None:
    """Refuse to tell what there is not."""
    if sealed and what is opt.WhatName.LEAF:
        raise ParameterError("A sealed prediction tells scores and no leaves; leave out --what leaf, or --sealed.")
    if what is opt.WhatName.PROBABILITY and not model.classes:
        raise ParameterError("The model predicts numbers and has no probabilities; use --what label.")


class _Reached(NamedTuple):
    """What the trees say of the rows, computed when it is asked for."""

    scores: Callable[[], NDArray[np.float32]]
    leaves: Callable[[], NDArray[np.int32]]


def _asked(model: Model, table: Table, parties: Parties, sealing: Sealing | None, threads: int) -> _Reached:
    """What the parties of a vertical model say of the active party's rows."""
    if sealing is not None:
        scores = scoring.score(model, table, parties, sealing, threads)
        return _Reached(lambda: scores, lambda: np.empty((0, 0), np.int32))
    leaves = predict_together.ask(model, table, parties)
    return _Reached(lambda: model.scores_at(leaves), lambda: leaves)


def _predicted(model: Model, reached: _Reached, what: opt.WhatName) -> tuple[list[str], list[Sequence[Any]]]:
    """Names and values of the predicted columns."""
    if what is opt.WhatName.LEAF:
        leaves = reached.leaves()
        return [f"tree_{i}" for i in range(leaves.shape[1])], leaves.T.tolist()
    scores = reached.scores()
    if what is opt.WhatName.RAW:
        names = [f"score_{c}" for c in model.classes] if scores.shape[1] > 1 else ["score"]
        return names, [[str(score) for score in column] for column in scores.T]
    means = model.means(scores)
    if what is opt.WhatName.LABEL:
        return ["prediction"], [model.labels_of(means).tolist()]
    return [f"probability_{c}" for c in model.classes], means.T.tolist()


def _lines(header: Sequence[str], columns: Sequence[Sequence[Any]]) -> Iterator[str]:
    """The CSV text, some rows at a time."""
    rows = chain([header], zip(*columns, strict=True))
    while batch := list(islice(rows, ROWS_AT_ONCE)):
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(batch)
        yield text.getvalue()
