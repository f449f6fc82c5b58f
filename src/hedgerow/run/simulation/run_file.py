"""A run file with all parties in this process: a simulation, or one of the baselines it is compared with."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from hedgerow.agreement.plan import Member, Plan
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.model import labels
from hedgerow.model import train as pooled
from hedgerow.model.file import encoded, write_whole
from hedgerow.model.model import ClassLabel, Model, classes_of
from hedgerow.run.file import tables
from hedgerow.run.file.read import RunFile
from hedgerow.run.file.rules import BASELINES
from hedgerow.run.file.tables import Split
from hedgerow.run.folder import manifest
from hedgerow.run.folder.checkpoint import Checkpoint, losses_of
from hedgerow.run.folder.folder import CHECKPOINT, METRICS, MODEL, PART, RunFolder, check_folder, open_folder
from hedgerow.run.folder.manifest import About
from hedgerow.run.folder.private_state import CUTS, CutsFile, PlacesFile
from hedgerow.run.folder.recorder import Progress, Recorder, Say, Watch
from hedgerow.run.forecast.disclosures import leaks
from hedgerow.run.simulation.simulate import Simulation, members, simulate
from hedgerow.storage.audit import AuditLog
from hedgerow.trees.boost import Round
from hedgerow.trees.losses import Loss

Measure = Callable[[Model, Table, int], dict[str, float]]
"""The metrics of a model on labelled rows, with so many threads."""


@dataclass(frozen=True)
class Options:
    """How a run file is run, beside what it says."""

    measure: Measure
    folder: Path | None = None
    resume: bool = False
    threads: int = 1
    watch: Watch = lambda _: None
    say: Say = lambda _: None


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a run gave: models by name ("" for the one of all parties), and their metrics on some rows."""

    folder: Path
    models: Mapping[str, Model]
    rows: str
    """Which rows the metrics are of: test, validation or training."""
    n_rows: int
    metrics: Mapping[str, dict[str, float]]
    seconds: float
    bytes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Bytes to and from each party."""
    notes: tuple[str, ...] = ()


def train(run: RunFile, options: Options) -> Outcome:
    """Run it, from the beginning or from where it stopped."""
    place = options.folder or run.folder
    check_folder(place, options.resume)
    run.check_cipher()
    local = _Local(run, options, tables.party_tables(run), place)
    return _baseline(local) if run.method in BASELINES else _federated(local)


class _Local:
    """A run whose parties' tables all lie in this process."""

    def __init__(self, run: RunFile, options: Options, split: Split, place: Path) -> None:
        self.run, self.options, self.split, self.place = run, options, split, place
        self.notes = [*run.notes, *split.notes]
        self.parts: dict[str, bytes] = {}
        """What passive parties keep of a vertical model."""

    def open(self, plan: bytes) -> RunFolder:
        """The run's folder."""
        data = {name: tables.digest(table) for name, table in self.split.training.items()}
        about = About(self.run.name, "simulation", "driver", self.run.method, plan, data)
        return open_folder(self.place, about, self.options.resume, self.options.say)

    def finish(
        self, folder: RunFolder, models: Mapping[str, Model], beside: dict[str, Any], seconds: list[float]
    ) -> Outcome:
        """Measure, and write everything down; the manifest last."""
        found = {}
        for name, model in models.items():
            rows, n_rows, found[name] = self._measured(model)
        history = {name: model.history for name, model in models.items()}
        whole = {
            "rows": rows,
            "final": found.get("", found),
            "metric": next(iter(models.values())).metric,
            "history": history.get("", history),
            "seconds_per_tree": seconds,
        }
        folder.write_json(METRICS, whole)
        contents = {f"parties/{name}/{MODEL}" if name else MODEL: encoded(model) for name, model in models.items()}
        parts = {f"parties/{name}/{PART}": content for name, content in self.parts.items()}
        kept = folder.finish({**contents, **parts}, {**beside, "notes": self.notes})
        if self.run.model is not None and MODEL in contents:
            write_whole(self.run.model, contents[MODEL])
        totals = manifest.bytes_by_party(kept["messages"])
        return Outcome(self.place, models, rows, n_rows, found, sum(seconds), totals, tuple(self.notes))

    def _measured(self, model: Model) -> tuple[str, int, dict[str, float]]:
        """Metrics on the test rows, or else on all parties' validation rows, or else on those it learnt from."""
        test = tables.rows_to_measure(self.run, model.columns)
        kind = "test"
        if test is None:
            parts, kind = {name: part for name, part in self.split.valid.items() if part.n_rows}, "validation"
            if not parts:
                parts, kind = self.split.training, "training"
            test = tables.together(self.run, parts, model.columns)
        return kind, test.n_rows, self.options.measure(model, test, self.options.threads)


# A federation: the same messages, masks and checks as between real parties; certificates are fresh in every process


def _federated(local: _Local) -> Outcome:
    who, identities = members(local.run.names)
    plan = local.run.plan(who)
    named = replace(plan, members=tuple(Member(name, name) for name in plan.names))
    with closing(local.open(named.text)) as folder:
        with closing(Checkpoint(folder.path / CHECKPOINT, named, folder.attempts)) as checkpoint:
            recorder = Recorder(folder.log, local.options.watch)
            simulation = Simulation(
                local.split.training, local.split.valid, local.options.threads, [recorder.after_round], (recorder,),
                {name: _NamedLog(folder.open_party_log(name), plan, named) for name in plan.answering}, identities,
                checkpoint.state, checkpoint.keeping(folder.log), local.notes,
                _kept_cuts(folder, plan, named), local.parts, notes_bins=True, tell=local.options.say,
                log=_NamedLog(folder.log, plan, named), places=_kept_places(folder, plan, named),
            )  # fmt: skip
            began = time.perf_counter()
            model, state = simulate(plan, simulation)
            seconds = checkpoint.seconds or [time.perf_counter() - began]
        beside = {"losses": losses_of(state), "leaks": list(leaks(plan)), **manifest.bins_learnt(state)}
        return local.finish(folder, {"": model}, beside, seconds)


def _kept_cuts(folder: RunFolder, plan: Plan, named: Plan) -> dict[str, CutsFile]:
    """Where passive parties keep their own cuts; the plan is known by the parties' names, as in the folder."""
    if not plan.active:
        return {}
    return {name: CutsFile(folder.path / "parties" / name / CUTS, named.digest) for name in plan.answering}


def _kept_places(folder: RunFolder, plan: Plan, named: Plan) -> dict[str, PlacesFile]:
    """Where the parties keep which of their rows, or columns, are common."""
    if "private" not in (plan.align, plan.column_names):
        return {}
    places = {name: folder.path / "parties" / name for name in plan.answering}
    places |= {plan.active: folder.path} if plan.active else {}
    return {name: PlacesFile(place, named.digest) for name, place in places.items()}


class _NamedLog:
    """A party's log in which the run has the hash of the plan with names in place of this process's fingerprints."""

    def __init__(self, log: AuditLog, plan: Plan, named: Plan) -> None:
        self._log, self._own, self._kept = log, plan.digest.hex(), named.digest.hex()

    def note(self, event: str, /, **facts: int | str | list[str]) -> None:
        """Write one line."""
        if facts.get("run") == self._own:
            facts["run"] = self._kept
        self._log.note(event, **facts)

    def sync(self) -> None:
        """Return when it is on disk."""
        self._log.sync()

    def lines(self) -> Iterator[dict[str, Any]]:
        """What was written, also by processes before this one."""
        for line in self._log.lines():
            yield {**line, "run": self._own} if line.get("run") == self._kept else line


# Baselines, in which nobody exchanges anything: each party alone, or all rows in one table


def _baseline(local: _Local) -> Outcome:
    run = local.run
    plan = {"method": run.method, "goal": run.goal, "params": run.params, "names": run.names}
    with closing(local.open(msgspec.json.encode(plan, order="sorted"))) as folder:
        models, seconds = {}, []
        for name, (own, valid) in _pieces(local).items():
            began = time.perf_counter()
            models[name] = _trained(local, own, valid)
            seconds.append(time.perf_counter() - began)
        return local.finish(folder, models, {}, seconds)


def _pieces(local: _Local) -> dict[str, tuple[Table, Table | None]]:
    """What each model learns from, and the rows it is followed on."""
    training, valid = local.split.training, {n: table for n, table in local.split.valid.items() if table.n_rows}
    if local.run.method == "alone":
        return {name: (table, valid.get(name)) for name, table in training.items()}
    return {"": (partition.pooled(training), partition.pooled(valid) if valid else None)}


def _trained(local: _Local, own: Table, valid: Table | None) -> Model:
    goal, options = local.run.goal, local.options
    classes, loss = _classes(local)
    began = time.perf_counter()

    def after_round(told: Round) -> None:
        options.watch(Progress(told, 0, time.perf_counter() - began))

    followed = valid is not None
    task = pooled.Task(
        loss, classes, goal.base_score, goal.scale_pos_weight, valid, goal.eval_metric if followed else None,
        goal.early_stopping_rounds if followed else None, [after_round], label=goal.label, threads=options.threads,
    )  # fmt: skip
    model = pooled.train(own, local.run.params, task)
    local.notes += task.notes
    return model


def _classes(local: _Local) -> tuple[tuple[ClassLabel, ...], Loss]:
    """The classes of all parties together, so that models of single parties can be compared."""
    goal = local.run.goal
    if goal.objective is not None:
        return (), Loss(goal.objective, goal.parameter)
    found = [table.labels for table in local.split.training.values() if table.labels is not None]
    classes = classes_of(np.concatenate(found))
    return classes, labels.loss_of_classes(len(classes), local.run.params.average)
