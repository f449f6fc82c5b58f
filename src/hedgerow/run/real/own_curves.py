"""What a party that has the whole model at the end sees of its quality on its own rows; kept in its own folder.

Nothing is said to anybody.
"""

from hedgerow.data.table import Table
from hedgerow.errors import HedgerowError
from hedgerow.model import own_quality, score_counts
from hedgerow.model.file import decoded
from hedgerow.run.file.tables import shaped_like
from hedgerow.run.folder.folder import CURVES, METRICS, MODEL, RunFolder
from hedgerow.run.folder.recorder import Say
from hedgerow.trees.watched_metrics import OWN


def keep_own_curves(
    folder: RunFolder, content: bytes, table: Table, valid: Table | None, say: Say, threads: int
) -> None:
    """What it gives on the own validation rows, or else on those learnt from."""
    rows, kind = (valid, "own validation") if valid is not None and valid.n_rows else (table, "own training")
    try:
        model = decoded(content, MODEL)
        told = own_quality.judge(model, shaped_like(rows, model.columns), kind, threads)
        curve = own_quality.followed(model, shaped_like(table, model.columns), threads)
    except HedgerowError as error:  # rows of no known class, say: the run itself has gone well
        say(f"No curves of the own rows are kept: {error}")
        return
    folder.write(CURVES, score_counts.encoded(told))
    known = {"metric": model.metric or OWN[model.loss.name], "history": model.history, "training": curve}
    folder.write_json(METRICS, {**known, "rows": kind, "n_rows": rows.n_rows, "final": told.metrics})
