"""A run file with several active parties, all in this process: a run of each, and what their models predict together.

Each run has a folder of its own, `parties/NAME`, as if its active party had run it alone. Beside these folders lie
`bag.json`, with all models, and `metrics.json`, in which every model is measured on the same rows as all together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from hedgerow.data.table import Table
from hedgerow.errors import DataError, RunError
from hedgerow.model import bag as bags
from hedgerow.model.bag import Bag
from hedgerow.model.file import load_model
from hedgerow.model.model import Model
from hedgerow.run.file import tables
from hedgerow.run.file.read import RunFile
from hedgerow.run.file.tables import Split
from hedgerow.run.folder.folder import METRICS, MODEL, is_finished
from hedgerow.run.simulation.local_run import LocalRun, Options, Outcome
from hedgerow.run.simulation.run_file import federated
from hedgerow.run.simulation.several_active import check_actives, left_out, sharing_rows
from hedgerow.storage.atomic import write_whole

BAG = "bag.json"
TOGETHER = "together"
PRIVATE_FILE = 0o600


@dataclass(frozen=True, eq=False)
class _One:
    """The run of one active party, its tables and what came of it."""

    run: RunFile
    split: Split
    notes: tuple[str, ...]
    outcome: Outcome | None = None

    @property
    def model(self) -> Model:
        """The model."""
        assert self.outcome is not None  # noqa: S101  # it was run
        return self.outcome.models[""]


@dataclass(frozen=True)
class _Told:
    """Stands for a model of which it is known what it predicts for the rows that are measured."""

    classes: tuple[Any, ...]
    predicted: NDArray[np.float64]

    def predict(self, table: Table, threads: int) -> NDArray[np.float64]:  # noqa: ARG002  # as a model's
        return self.predicted


def train(run: RunFile, options: Options) -> Outcome:
    """Run all of them, from the beginning or from where they stopped."""
    place = options.folder or run.folder
    if (place / BAG).exists():
        raise RunError(f"The run in {place} is finished and not overwritten; name another folder with --folder.")
    run.check_cipher()
    ones = [_prepared(run, active, place / "parties" / active) for active in run.actives]
    check_actives(run.actives, {one.run.active: one.split.training[one.run.active] for one in ones})
    ones = [_trained(one, options) for one in ones]
    bag = Bag({one.run.active: one.model for one in ones}, run.vote)
    kind, n_rows, found = _measured(ones, bag, options)
    whole = {"rows": kind, "final": found}
    write_whole(place / METRICS, msgspec.json.format(msgspec.json.encode(whole), indent=2) + b"\n", RunError,
                PRIVATE_FILE)  # fmt: skip
    for file in (place / BAG, *([run.model] if run.model is not None else [])):
        bags.save_bag(bag, file)
    notes = tuple(dict.fromkeys([*run.notes, *(sentence for one in ones for sentence in one.notes)]))
    seconds = sum(one.outcome.seconds for one in ones if one.outcome is not None)
    return Outcome(
        place, bag.models, kind, n_rows, found, seconds, bytes=_bytes(ones), notes=notes, bag=place / BAG
    )  # fmt: skip


def _prepared(run: RunFile, active: str, place: Path) -> _One:
    """The run of one active party and its tables, without the passive parties that have none of its rows."""
    everyone = run.each[run.actives.index(active)]
    training = tables.party_tables(everyone).training
    passive = {name: table for name, table in training.items() if name != active}
    beside = sharing_rows(active, training[active], passive)
    own = replace(run.of(active, beside), folder=place)
    split = tables.party_tables(own)
    _check_names(active, split.training[active], {name: split.training[name] for name in beside})
    said = tuple(f"{active}: {sentence}" for sentence in left_out(active, passive, beside))
    return _One(own, split, (*split.notes, *said))


def _check_names(active: str, own: Table, passive: Mapping[str, Table]) -> None:
    """Refuse own columns that would be called otherwise in the run of each active party."""
    theirs = {name for table in passive.values() for name in table.names}
    for name in own.names:
        bare = name.removeprefix(f"{active}.")
        both = [party for party in passive if bare != name and f"{party}.{bare}" in theirs]
        if both:
            raise DataError(
                f"{active!r} and {both[0]!r} both have a column {bare!r}, and with several active parties it would "
                "have another name in each of their runs; rename it at one of the two."
            )


def _trained(one: _One, options: Options) -> _One:
    """One run, or what it left if it has finished before."""
    run, place = one.run, one.run.folder
    if options.resume and is_finished(place):
        model = load_model(place / MODEL)
        return replace(one, outcome=Outcome(place, {"": model}, "", 0, {}, 0.0))

    def say(sentence: str) -> None:
        options.say(f"{run.active}: {sentence}")

    own = replace(options, folder=place, resume=options.resume and place.exists(), say=say)
    local = LocalRun(replace(run, notes=()), own, replace(one.split, notes=[]), place)
    outcome = federated(local)
    said = tuple(f"{run.active}: {sentence}" for sentence in outcome.notes)
    return replace(one, outcome=outcome, notes=(*one.notes, *said))


def _measured(ones: Sequence[_One], bag: Bag, options: Options) -> tuple[str, int, dict[str, dict[str, float]]]:
    """Metrics of every model and of all together, on test rows, or else all active parties' validation or own rows."""
    kind, rows = _rows(ones)
    predicted, labels, weights = [], [], []
    for own in rows:
        linked = [_linked(one, own) for one in ones]
        predicted.append([one.model.predict(table, options.threads) for one, table in zip(ones, linked, strict=True)])
        labels.append(linked[0].labels)
        weights.append(linked[0].weights)
    each = [np.concatenate(of_model) for of_model in zip(*predicted, strict=True)]
    n = len(each[0])
    table = Table((), np.empty((n, 0), np.float32), labels=_joined(labels), weights=_joined(weights))
    columns = {name: bag.of_one(name, own) for name, own in zip(bag.models, each, strict=True)}
    columns[TOGETHER] = bag.of_each(each)
    measure: Any = options.measure  # a stand-in predicts as a model does
    found = {name: measure(_Told(bag.classes, told), table, options.threads) for name, told in columns.items()}
    return kind, n, found


def _joined(parts: Sequence[Any]) -> Any:
    return None if any(part is None for part in parts) else np.concatenate(parts)


def _rows(ones: Sequence[_One]) -> tuple[str, Sequence[Table | None]]:
    """What is measured on: rows of active parties, or None for the run file's test rows."""
    if ones[0].run.data.test is not None:
        return "test", [None]
    valid = [table for one in ones if (table := one.split.valid.get(one.run.active)) is not None and table.n_rows]
    if valid:
        return "validation", valid
    return "training", [one.split.training[one.run.active] for one in ones]


def _linked(one: _One, rows: Table | None) -> Table:
    """Rows of any active party beside what this run's passive parties know of them, in its model's columns."""
    columns = one.model.columns
    if rows is None:
        test = tables.rows_to_measure(one.run, columns, one.split.training)
        assert test is not None  # noqa: S101  # the run file has one
        return test
    return tables.together(one.run, {**one.split.training, one.run.active: rows}, columns)


def _bytes(ones: Sequence[_One]) -> Mapping[str, tuple[int, int]]:
    """Bytes to and from each passive party, in all runs."""
    total: dict[str, tuple[int, int]] = {}
    for one in ones:
        for name, (to, came) in (one.outcome.bytes if one.outcome is not None else {}).items():
            before = total.get(name, (0, 0))
            total[name] = before[0] + to, before[1] + came
    return total
