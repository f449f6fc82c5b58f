"""What the driver of a finished run of real parties leaves behind: model, metrics, curves of its own rows, manifest."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hedgerow.agreement.plan import Plan
from hedgerow.model import score_counts
from hedgerow.model.file import encoded
from hedgerow.model.model import Model
from hedgerow.protocols.driver import State
from hedgerow.run.folder import manifest
from hedgerow.run.folder.checkpoint import losses_of
from hedgerow.run.folder.folder import CURVES, METRICS, MODEL, RunFolder
from hedgerow.run.forecast.disclosures import leaks
from hedgerow.run.real.active_curves import ActiveCurves


@dataclass(frozen=True, eq=False)
class Driven:
    """What the driver of a finished run has."""

    folder: Path
    model: Model
    seconds: float
    bytes: Mapping[str, tuple[int, int]]


def driven(
    folder: RunFolder, plan: Plan, model: Model, state: State, *,
    seconds: list[float], notes: list[str], curves: ActiveCurves,
) -> Driven:  # fmt: skip
    """Write everything down, the manifest last; an active party's curves are of its own rows."""
    found: dict[str, Any] = {"metric": model.metric, "history": model.history, "seconds_per_tree": seconds}
    told = curves.judged(state, model)
    if told is not None:
        folder.write(CURVES, score_counts.encoded(told))
        found |= {"rows": told.rows, "n_rows": told.n_rows, "final": told.metrics}
    if curves.training:
        found["training"] = curves.training
    folder.write_json(METRICS, found)
    beside = {"losses": losses_of(state), "leaks": list(leaks(plan)), "notes": notes}
    beside |= {**manifest.bins_learnt(state), **manifest.promised(model.promise), **manifest.linked_at(plan)}
    kept = folder.finish({MODEL: encoded(model)}, beside)
    return Driven(folder.path, model, sum(seconds), manifest.bytes_by_party(kept["messages"]))
