"""Whether a party could take part in a run, looked at before anybody waits for anybody. Nothing leaves or is written.

Every question is asked, whatever came of the others, so that one look shows all that is to be mended.
"""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hedgerow.agreement.plan import Plan
from hedgerow.agreement.policy import Policy
from hedgerow.data.table import Table
from hedgerow.errors import HedgerowError, ParameterError
from hedgerow.identity import x509
from hedgerow.identity.identity import Identity
from hedgerow.protocols.vertical.prepare import check_labels
from hedgerow.run.file.policy import read_policy
from hedgerow.run.file.read import RunFile, open_run
from hedgerow.run.real.connect import bound_policy, driver_seat, party_seat
from hedgerow.run.real.own_tables import Own
from hedgerow.transports import reach

LEAST_ROOM = 1 << 30
DRIVER = "driver"


class Finding(NamedTuple):
    """A question, what was found, and whether that is in order."""

    what: str
    found: str
    fine: bool = True


@dataclass(frozen=True)
class Files:
    """What a party would start with."""

    run: Path
    name: str
    data: Path | None = None
    valid: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    policy: Path | None = None
    folder: Path | None = None


def findings(files: Files) -> Iterator[Finding]:
    """Question by question; the run file and its plan come first, since the others depend on them."""
    try:
        run = open_run(files.run)
        plan = run.real_plan()
        drives = _drives(plan, files.name)
    except HedgerowError as error:
        yield Finding("run file", str(error), fine=False)
        return
    yield Finding("run file", f"{run.method.word}, {', '.join(plan.names)}")
    yield Finding("plan", f"sha256:{plan.digest.hex()}; compare it with the others")
    yield from _asked("rules", lambda: _rules(files, plan, drives))
    yield from _asked("certificate", lambda: _certificate(files, run, plan, drives))
    if files.name != DRIVER:
        yield from _table(files, run, plan)
    yield _way(run, drives)
    yield _room(files, run)


def _drives(plan: Plan, name: str) -> bool:
    """Whether this party drives; refuses a name that is not in the run."""
    driver = plan.active or DRIVER
    if name not in (*plan.names, driver):
        raise ParameterError(
            f"{name!r} is not in this run; it names {', '.join(dict.fromkeys((driver, *plan.names)))}."
        )
    return name == driver


def _asked(what: str, answer: Callable[[], str]) -> Iterator[Finding]:
    try:
        yield Finding(what, answer())
    except HedgerowError as error:
        yield Finding(what, str(error), fine=False)


def _rules(files: Files, plan: Plan, drives: bool) -> str:
    if drives:
        return "the driver has none"
    bound_policy(Policy() if files.policy is None else read_policy(files.policy), plan, files.name)
    return "allow this run" if files.policy else "the strictest, which allow this run"


def _certificate(files: Files, run: RunFile, plan: Plan, drives: bool) -> str:
    if files.cert is None or files.key is None:
        raise ParameterError("Not looked at; give --cert and --key.")
    identity = Identity.load(files.cert, files.key)
    if drives:
        seat = driver_seat(run, plan, identity, _silent)
    else:
        seat = party_seat(run, plan, files.name, identity, _silent, instead="hedgerow drive")
    own = x509.read_certificate(identity.certificate)
    x509.check_issued(x509.read_authority(seat.ca), own, f"The certificate {files.cert}")
    return f"the one that the run names, valid until {own.not_valid_after_utc:%Y-%m-%d}"


def _silent(_: str) -> None:
    """What would be said while taking part."""


def _table(files: Files, run: RunFile, plan: Plan) -> Iterator[Finding]:
    """What is found in the own rows, for this party's eyes alone."""
    remarks: list[str] = []
    try:
        if files.data is None:
            raise ParameterError("Not looked at; give --data.")
        run.check_cipher()
        own = Own(files.data, files.valid)
        own.check(plan)
        table, valid = own.tables(run, files.name, remarks.append)
        if plan.active == files.name:
            check_labels(plan, table)
    except HedgerowError as error:
        yield Finding("data", str(error), fine=False)
        return
    yield Finding("data", _shape(table) + ("" if valid is None else f"; {valid.n_rows} rows held out"))
    yield Finding("columns", _columns(table))
    yield _ids(run, table)
    if table.labels is not None:
        yield Finding("labels", _labels(table))
    for sentence in remarks:
        yield Finding("remark", sentence)


def _shape(table: Table) -> str:
    return f"{table.n_rows} rows, {table.n_columns} columns"


def _columns(table: Table) -> str:
    kinds = [column.kind for column in table.columns]
    text = f"{kinds.count('numeric')} of numbers, {kinds.count('categorical')} of categories"
    if isinstance(table.values, np.ndarray):
        alike = [c.name for i, c in enumerate(table.columns) if _constant(table.values[:, i])]
        missing = int(np.isnan(table.values).any(axis=0).sum())
        text += f"; {missing} with missing values" * bool(missing)
        text += (
            f"; {', '.join(map(repr, alike[:5]))} {'have' if len(alike) > 1 else 'has'} one value only" if alike else ""
        )
    return text


def _constant(values: np.ndarray) -> bool:
    return len(values) > 1 and bool((values == values[0]).all() or np.isnan(values).all())


def _ids(run: RunFile, table: Table) -> Finding:
    if table.ids is None:
        needed = bool(run.active) and run.method.aligns
        return Finding(
            "ids", "none; name their column in [data] id" if needed else "none, and none are needed", not needed
        )
    different = len(np.unique(table.ids))
    return Finding(
        "ids", f"{different} different ones" + (f" in {table.n_rows} rows" if different < table.n_rows else "")
    )


def _labels(table: Table) -> str:
    labels = np.asarray(table.labels)
    different, counts = np.unique(labels, return_counts=True)
    if len(different) > 10:
        return f"{len(different)} different ones"
    return ", ".join(f"{label}: {count}" for label, count in zip(different.tolist(), counts.tolist(), strict=True))


def _way(run: RunFile, drives: bool) -> Finding:
    """Whether the driver's address can be listened at, or is there to be dialled."""
    if run.driver is None:
        return Finding("way", "no [driver]", fine=False)
    if drives:
        why = reach.cannot_listen(run.driver.listen)
        return Finding("listening", why or f"{run.driver.listen} is free", not why)
    why = reach.nobody_at(run.driver.address)
    if why == reach.NOBODY_YET:
        return Finding("way to the driver", f"{run.driver.address}: the machine answers, the driver is not there yet")
    return Finding("way to the driver", why or f"{run.driver.address} answers", not why)


def _room(files: Files, run: RunFile) -> Finding:
    """Room on the disk of the run's folder."""
    place = (files.folder or run.folder).absolute()
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    return Finding("disk", f"{free >> 20} MB free at {place}", free >= LEAST_ROOM)
