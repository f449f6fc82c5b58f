"""From a run's folder or a model's file to what a page is about; nothing is sent, and nothing written."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hedgerow.data.table import Table
from hedgerow.errors import HedgerowError, ParameterError, RunError
from hedgerow.model import own_quality
from hedgerow.model.labels import loss_of_classes
from hedgerow.model.meanings import Meanings
from hedgerow.model.model import Model
from hedgerow.model.score_counts import Judged
from hedgerow.report.explain import Explanation, explain_model
from hedgerow.report.explain_reasons import Reasons
from hedgerow.report.page.result import figures_of
from hedgerow.report.page.subject import Subject
from hedgerow.report.pictures.comparison import ALONE, POOLED, TOGETHER
from hedgerow.run.folder.folder import MANIFEST, METRICS
from hedgerow.run.folder.kept_run import KeptRun
from hedgerow.trees.watched_metrics import OWN

BASELINES = (ALONE, POOLED)


@dataclass(frozen=True, eq=False)
class Given:
    """What the reader of a page gives beside the run."""

    told: Mapping[str, Meanings] | None = None
    """What owners disclosed of their columns."""
    table: Table | None = None
    """Labelled rows."""
    rows: str = "given"
    """What they are called."""
    reasons: Reasons | None = None
    beside: Sequence[tuple[str, Path]] = ()
    """Runs or files of figures to compare with, by the name that each is given; empty: its own."""
    n_trees_drawn: int = 3
    threads: int = 1


def of_run(run: KeptRun, given: Given) -> Subject:
    """A run's page."""
    explanation, remarks = None, list[str]()
    if run.model is not None:
        explanation = _explained(run.model, given)
    judged, curves = run.judged, _curves(run)
    rows = str(run.metrics.get("rows") or "")
    figures: Mapping[str, Mapping[str, float]] = figures_of(run.metrics)
    if given.table is not None and run.model is not None:
        judged, more = _on_rows(run.model, given)
        curves |= more
        figures, rows = {TOGETHER: judged.metrics}, given.rows
    figures = _renamed(figures, str(run.manifest["method"]))
    found = {} if given.table is not None else _beside_it(run) | dict(run.metrics.get("compared") or {})
    for name, path in given.beside:
        found |= _figures_in(path, name, run, remarks)
    return Subject(
        str(run.manifest["run"]), run, explanation, judged, curves=curves, metric=_metric(run),
        figures={**figures, **found}, rows=rows, remarks=tuple(remarks), n_trees_drawn=given.n_trees_drawn,
    )  # fmt: skip


def of_model(model: Model, title: str, given: Given) -> Subject:
    """A model's page."""
    judged: Judged | None = None
    curves: dict[str, Sequence[float | None]] = {"validation": model.history} if model.history else {}
    figures: dict[str, Mapping[str, float]] = {}
    if given.table is not None:
        judged, more = _on_rows(model, given)
        curves |= more
        figures = {"this model": judged.metrics}
    remarks: list[str] = []
    for name, path in given.beside:
        figures |= _figures_in(path, name, None, remarks)
    return Subject(
        title, None, _explained(model, given), judged, curves=curves,
        metric=model.metric or OWN[model.loss.name], figures=figures,
        rows=given.rows, remarks=tuple(remarks), n_trees_drawn=given.n_trees_drawn,
    )  # fmt: skip


def _metric(run: KeptRun) -> str:
    """The metric that was followed, or the one that measures the loss itself."""
    goal, params = run.plan.get("goal") or {}, run.plan.get("params") or {}
    named = run.metrics.get("metric") or goal.get("eval_metric")
    if named:
        return str(named)
    if run.model is not None:
        return OWN[run.model.loss.name]
    loss = goal.get("objective") or (
        loss_of_classes(run.gone.n_classes, bool(params.get("average"))).name if run.gone.n_classes else ""
    )
    return OWN.get(loss, "metric")


def _explained(model: Model, given: Given) -> Explanation:
    found = explain_model(model, given.told)
    return found if given.reasons is None else found.with_reasons(given.reasons)


def _on_rows(model: Model, given: Given) -> tuple[Judged, dict[str, Sequence[float | None]]]:
    """Curves of rows that are given, which are the reader's own: exact ones."""
    assert given.table is not None  # noqa: S101  # asked before
    table = given.table.aligned(model.columns)
    judged = own_quality.judge(model, table, given.rows, given.threads, least_rows=1)
    return judged, {given.rows: own_quality.followed(model, table, given.threads)}


def _curves(run: KeptRun) -> dict[str, Sequence[float | None]]:
    found: dict[str, Sequence[float | None]] = {}
    history = run.metrics.get("history") or list(run.gone.history)
    if isinstance(history, list) and history:
        found["validation"] = history
    training = run.metrics.get("training")
    if isinstance(training, list) and training:
        found["training"] = training
    return found


def _renamed(figures: Mapping[str, Mapping[str, float]], method: str) -> dict[str, Mapping[str, float]]:
    """A baseline's one model is called as the baseline."""
    return {method if name == TOGETHER and method in BASELINES else name: found for name, found in figures.items()}


def _beside_it(run: KeptRun) -> dict[str, Mapping[str, float]]:
    """Runs in folders beside this one that learnt from the same rows and were measured on the same number of rows."""
    found: dict[str, Mapping[str, float]] = {}
    if not run.manifest.get("data") or not run.finished or run.manifest["method"] in BASELINES:
        return found
    for folder in sorted(run.path.resolve().parent.iterdir()):
        if folder == run.path.resolve() or not (folder / MANIFEST).exists() or not (folder / METRICS).exists():
            continue
        try:
            about, metrics = _json(folder / MANIFEST), _json(folder / METRICS)
        except HedgerowError:
            continue
        same = about.get("data") == run.manifest["data"] and about.get("method") in BASELINES
        measured = ("rows", "n_rows")
        if same and [metrics.get(key) for key in measured] == [run.metrics.get(key) for key in measured]:
            found |= _renamed(figures_of(metrics), str(about["method"]))
    return found


def _figures_in(path: Path, name: str, run: KeptRun | None, remarks: list[str]) -> dict[str, Mapping[str, float]]:
    """The figures of another run's folder, of `baselines --json`, or of `evaluate --json`."""
    if path.is_dir():
        about, metrics = _json(path / MANIFEST), _json(path / METRICS)
        found = _renamed(figures_of(metrics), str(about.get("method")))
        if run is not None and metrics.get("n_rows") != run.metrics.get("n_rows"):
            remarks.append(f"{path} was measured on other rows than this run; compare its figures with care.")
    else:
        given = _json(path).get("metrics")
        if not isinstance(given, dict) or not given:
            raise RunError(f"{path} has no metrics; name a run's folder, or what `evaluate --json` wrote.")
        nested = all(isinstance(value, dict) for value in given.values())
        found = {str(key): value for key, value in given.items()} if nested else {name or path.stem: given}
    if not found:
        raise RunError(f"{path} has no final metrics to compare with; name a run that was measured.")
    if name:
        found = {name if len(found) == 1 else f"{name} {key}": value for key, value in found.items()}
    for value in found.values():
        if not all(isinstance(number, int | float) for number in value.values()):
            raise RunError(f"{path} has metrics that are no numbers; name what `evaluate --json` wrote.")
    return found


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise ParameterError(f"There is no {path}; name a run's folder, or what `evaluate --json` wrote.") from None
    except (OSError, ValueError, RecursionError):
        raise RunError(
            f"{path} cannot be read as JSON; name a run's folder, or what `evaluate --json` wrote."
        ) from None
    if not isinstance(found, dict):
        raise RunError(f"{path} is no JSON object; name a run's folder, or what `evaluate --json` wrote.")
    return found
