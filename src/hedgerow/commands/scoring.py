"""Sealed predictions on the command line: `hedgerow predict --sealed`, for a file or (`--serve`) for local clients."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from hedgerow.agreement.options import Lattice, Paillier
from hedgerow.commands.predict_together import Parties, say
from hedgerow.data.table import Table
from hedgerow.errors import ParameterError
from hedgerow.model.fixed_scores import BITS, FEWEST_BITS
from hedgerow.model.model import Model
from hedgerow.protocols.align.lists import texts_of
from hedgerow.report.explain_reasons import Reason, Reasons
from hedgerow.run.folder.openings_file import OpeningsFolder
from hedgerow.run.real.connect import Options
from hedgerow.run.real.score_http import ScoreServer, loopback, token_in
from hedgerow.run.real.score_plan import Sealing
from hedgerow.run.real.scoring import scoring

MOST_BITS = 24
LINK_MBIT = 100.0


class CipherName(StrEnum):
    """What seals the weights."""

    LATTICE = "lattice"
    PAILLIER = "paillier"


Sealed = Annotated[
    bool,
    typer.Option(
        "--sealed",
        help="Predict in one sealed round, in which nobody learns the way of a row; the others run `hedgerow serve`.",
    ),
]
CipherOption = Annotated[CipherName, typer.Option("--cipher", help="What seals the scores; goes with --sealed.")]
BitsOption = Annotated[
    int, typer.Option("--bits", min=FEWEST_BITS, max=MOST_BITS, help="Bits of a sealed score; goes with --sealed.")
]
Link = Annotated[
    float, typer.Option("--link-mbit", min=0.001, help="Speed of the slowest link in Mbit/s; goes with --sealed.")
]  # fmt: skip
KeepOpenings = Annotated[
    Path | None,
    typer.Option(
        "--keep-openings",
        metavar="FOLDER",
        help="Keep every session's key and requests, for `hedgerow audit opening`; goes with --sealed.",
        show_default=False,
    ),
]
OwnColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--own",
        metavar="COL",
        help="Own column whose contribution is found beside those that others disclose; each is an answer about the "
        "row. May be repeated; goes with --with.",
        show_default=False,
    ),
]
Serve = Annotated[
    bool, typer.Option("--serve", help="Stay, and score rows for local clients over HTTP; goes with --sealed.")
]
Listen = Annotated[str, typer.Option("--listen", help="Loopback address and port for local clients.")]
TokenFile = Annotated[
    Path,
    typer.Option("--token-file", help="File with the token that local clients send; made if it is not there."),
]


def sealing_of(
    cipher: CipherName, bits: int, link_mbit: float, parties: Parties | None, keep_openings: Path | None = None
) -> Sealing:
    """How scores are sealed; refused without the other parties."""
    if parties is None:
        raise ParameterError("--sealed goes with --with, a vertical model's run file; add that, --cert and --key.")
    if keep_openings is not None and bits != BITS:
        raise ParameterError(
            f"--keep-openings goes with --bits {BITS}, in which leaf values are committed to; leave out --bits."
        )
    privacy = Lattice(link_mbit) if cipher is CipherName.LATTICE else Paillier()
    return Sealing(privacy, bits, parties.absent, OpeningsFolder(keep_openings) if keep_openings is not None else None)


def score(model: Model, own_table: Table, parties: Parties, sealing: Sealing, threads: int) -> NDArray[np.float32]:
    """Raw scores of a table's rows."""
    options = Options(parties.folder, threads=threads, say=say)
    with scoring(parties.run, model, parties.identity, sealing, options) as scored:
        return scored.scores(own_table, progress)


def reasons_of(
    model: Model, own_table: Table, parties: Parties, sealing: Sealing, threads: int, own_columns: Sequence[str]
) -> Reasons:
    """What columns contribute to the scores of a table's rows, found by sealed prediction."""
    options = Options(parties.folder, threads=threads, say=say)
    with scoring(parties.run, model, parties.identity, sealing, options) as scored:
        scores, found = scored.explained(own_table, own_columns)
    likeliest = scores.argmax(axis=1)
    rows = texts_of(own_table)
    reasons = [
        Reason(row, f"{one.label} ({one.party})", float(one.contributions[i, likeliest[i]]))
        for i, row in enumerate(rows)
        for one in found
    ]
    told = [] if found else ["No passive party discloses a column, and no own one is named with --own: no reasons."]
    of_class = " of the row's likeliest class" if scores.shape[1] > 1 else ""
    note = (
        f"Each contribution is the raw score{of_class} less the score that the row would have if the column were "
        "missing, found by sealed prediction; contributions need not add up to the score."
    )
    return Reasons(reasons, " ".join([note, *told]))


def progress(done: int, of: int) -> None:
    """Tell how many rows are scored."""
    if done < of:
        say(f"scored {done:,} of {of:,} rows")


def stay(
    model: Model,
    parties: Parties | None,
    sealing: Sealing | None,
    data: str | None,
    threads: int,
    where: tuple[str, Path],
) -> None:
    """Score rows for local clients until Ctrl-C."""
    if parties is None or sealing is None or data is not None:
        raise ParameterError("--serve goes with --sealed and --with, and without DATA: local clients send rows.")
    listen, token_file = where
    loopback(listen)
    token = token_in(token_file)
    options = Options(parties.folder, threads=threads, say=say)
    with scoring(parties.run, model, parties.identity, sealing, options) as scored:
        server = ScoreServer(listen, token, scored)
        host, port = server.server_address[:2]
        say(f"Scoring rows at http://{host!s}:{port}/score for whoever has the token in {token_file}; Ctrl-C ends it.")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            say("Stopped; the other parties are told.")
        finally:
            server.server_close()
            server.desk.close()
