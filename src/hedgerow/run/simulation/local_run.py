"""A run whose parties' tables all lie in this process: what it is told, and what it leaves behind."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hedgerow.data.table import Table
from hedgerow.model import own_quality, score_counts
from hedgerow.model.file import encoded, write_whole
from hedgerow.model.model import Model
from hedgerow.run.file import tables
from hedgerow.run.file.read import RunFile
from hedgerow.run.file.tables import Split
from hedgerow.run.folder import manifest
from hedgerow.run.folder.folder import CURVES, METRICS, MODEL, PART, RunFolder, open_folder
from hedgerow.run.folder.manifest import About
from hedgerow.run.folder.recorder import Say, Watch
from hedgerow.run.simulation.comparison import alone_and_pooled

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
    compare: bool = False
    """Whether every party alone, and all data in one place, are trained and measured too."""


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
    compared: Mapping[str, dict[str, float]] = field(default_factory=dict)
    """What it is compared with, where that was asked for."""
    bag: Path | None = None
    """Of several active parties, the file with all of their models."""


class LocalRun:
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
            rows, test = self._rows(model)
            found[name] = self.options.measure(model, test, self.options.threads)
        history = {name: model.history for name, model in models.items()}
        whole: dict[str, Any] = {
            "rows": rows,
            "final": found.get("", found),
            "metric": next(iter(models.values())).metric,
            "history": history.get("", history),
            "seconds_per_tree": seconds,
            "n_rows": test.n_rows,
        }
        if self.options.compare:
            whole["compared"] = self._compared(models[""])
        if "" in models:
            whole["training"] = self._keep_curves(folder, models[""], rows, test)
        folder.write_json(METRICS, whole)
        contents = {f"parties/{name}/{MODEL}" if name else MODEL: encoded(model) for name, model in models.items()}
        parts = {f"parties/{name}/{PART}": content for name, content in self.parts.items()}
        kept = folder.finish({**contents, **parts}, {**beside, "notes": self.notes})
        if self.run.model is not None and MODEL in contents:
            write_whole(self.run.model, contents[MODEL])
        totals = manifest.bytes_by_party(kept["messages"])
        return Outcome(
            self.place,
            models,
            rows,
            test.n_rows,
            found,
            sum(seconds),
            bytes=totals,
            notes=tuple(self.notes),
            compared=whole.get("compared", {}),
        )

    def _compared(self, together: Model) -> dict[str, dict[str, float]]:
        """What each party reaches alone, and all data in one place, on the rows that the run is measured on."""

        def measured(model: Model) -> dict[str, float]:
            return self.options.measure(
                model, self._rows(together if self.run.active else model)[1], self.options.threads
            )

        return alone_and_pooled(self.run, self.split, together, measured, self.options.say, self.options.threads)

    def _keep_curves(self, folder: RunFolder, model: Model, rows: str, test: Table) -> tuple[float, ...]:
        """Counts of the scores of the measured rows as a file, and the metric on the training rows, round by round."""
        threads = self.options.threads
        folder.write(CURVES, score_counts.encoded(own_quality.judge(model, test, rows, threads)))
        training = tables.together(self.run, self.split.training, model.columns)
        return own_quality.followed(model, training, threads)

    def _rows(self, model: Model) -> tuple[str, Table]:
        """What is measured on: the test rows, or else all parties' validation rows, or else those it learnt from."""
        test = tables.rows_to_measure(self.run, model.columns, self.split.training)
        kind = "test"
        if test is None:
            parts, kind = {name: part for name, part in self.split.valid.items() if part.n_rows}, "validation"
            if not parts:
                parts, kind = self.split.training, "training"
            if self.run.method.links:  # passive parties' tables serve for all rows
                parts = {**self.split.training, **parts}
            test = tables.together(self.run, parts, model.columns)
        return kind, test
