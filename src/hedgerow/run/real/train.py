"""Real parties, each in a process of its own: the driver's (`drive`) and a data owner's (`join`).

Every side has its own copy of the run file; the plan made from it must be the same everywhere, to the last byte. The
driver listens, parties dial. Whoever was killed is started again with the same command (the driver with --resume).
"""

import hashlib
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from hedgerow.agreement.plan import Plan
from hedgerow.agreement.policy import Policy
from hedgerow.corridor.wire import Corridor
from hedgerow.data.table import Table
from hedgerow.errors import (
    ParameterError,
    PartyLost,
    RunError,
)
from hedgerow.identity.identity import Identity
from hedgerow.model import part as parts
from hedgerow.model.file import decoded, encoded
from hedgerow.model.model import Model
from hedgerow.protocols.driver import Driver, State
from hedgerow.protocols.driver import run as drive_run
from hedgerow.protocols.party import Owner, Party
from hedgerow.protocols.vertical.train import Active
from hedgerow.run.file import tables
from hedgerow.run.file.options import DriverOptions
from hedgerow.run.file.read import RunFile, Source
from hedgerow.run.folder import manifest
from hedgerow.run.folder.checkpoint import Checkpoint
from hedgerow.run.folder.folder import CHECKPOINT, METRICS, MODEL, PART, RunFolder, check_folder, open_folder
from hedgerow.run.folder.ledger_file import opened
from hedgerow.run.folder.manifest import About
from hedgerow.run.folder.private_state import CUTS, CutsFile, PlacesFile
from hedgerow.run.folder.recorder import Recorder, Say, Watch, noting
from hedgerow.run.folder.restart import STOPPED_BY_DRIVER
from hedgerow.run.forecast.disclosures import leaks
from hedgerow.run.real.connect import (
    ca_of,
    check_own,
    discreet,
    listening,
    passive_entry,
    revoked_by,
    settings_of,
    told_of_driver,
)
from hedgerow.run.simulation.run_file import keeping, losses_of
from hedgerow.transports.grpc.party import STOPPED, serve

ROWS = "rows.sha256"
"""Beside a party's log: a hash of its rows, so that a run does not go on with others."""


@dataclass(frozen=True)
class Options:
    """How to take part, beside what the run file says."""

    folder: Path | None = None
    resume: bool = False
    threads: int = 1
    watch: Watch = lambda _: None
    say: Say = lambda _: None


@dataclass(frozen=True)
class Own:
    """The files that a party brings."""

    data: Source
    valid: Source | None = None


@dataclass(frozen=True, eq=False)
class Driven:
    """What the driver of a finished run has."""

    folder: Path
    model: Model
    seconds: float
    bytes: Mapping[str, tuple[int, int]]


def drive(run: RunFile, identity: Identity, options: Options, own: Own | None = None) -> Driven:
    """Drive a run of real parties, a vertical one as its active party; whatever ends it, they are told."""
    plan, place = run.real_plan(), options.folder or run.folder
    settings = settings_of(run)
    check_own(identity, plan.coordinator, f"[[party]] {plan.active!r}" if plan.active else "[driver]", settings)
    check_folder(place, options.resume)
    active = _active(run, plan, own, options, PlacesFile(place, plan.digest))
    data = {} if active is None else {plan.active: _digest(active.own_table, active.own_valid)}
    about = About(run.name, "driver", plan.active or "driver", run.method, plan.text, data)
    with (
        closing(open_folder(place, about, options.resume, options.say)) as folder,
        closing(Checkpoint(folder.path / CHECKPOINT, plan, folder.attempts)) as checkpoint,
        listening(settings, identity, plan, folder, options.say) as transport,
    ):
        options.say(f"Listening at {settings.listen}; waiting for {', '.join(plan.answering)}.")
        recorder, notes = Recorder(folder.log, options.watch), list[str]()
        driver = Driver(
            plan, Corridor(transport, (recorder,)), identity, options.threads, settings.deadline, settings.patience,
            [recorder.after_round], keeping(folder, checkpoint), options.say, noting(notes, options.say), active,
            notes_bins=True, log=folder.log,
        )  # fmt: skip
        model, state = drive_run(driver, checkpoint.state)
        return _driven(folder, plan, model, state, checkpoint.seconds, notes)


def _active(run: RunFile, plan: Plan, own: Own | None, options: Options, places: PlacesFile) -> Active | None:
    """The active party's tables; a driver without data has none."""
    if not plan.active:
        if own is not None:
            raise ParameterError(
                f"--data and --valid do not go with method {run.method.word}, whose driver has no data."
            )
        return None
    if own is None:
        raise ParameterError(f"--data is missing; {plan.active!r}, who drives a vertical run, names its own table.")
    run.check_cipher()
    _check_followed(plan, own.valid)
    table, valid = _own_tables(run, plan.active, own, options.say)
    return Active(table, valid, places)


def _own_tables(run: RunFile, name: str, own: Own, say: Say) -> tuple[Table, Table | None]:
    notes: list[str] = []
    found = tables.own_tables(run, name, own.data, own.valid, notes)
    for sentence in notes:
        say(sentence)
    return found


def _digest(*own: Table | None) -> str:
    return hashlib.sha256("".join(tables.digest(table) for table in own if table is not None).encode()).hexdigest()


def _check_followed(plan: Plan, valid: Source | None) -> None:
    if plan.active and valid is not None and not plan.goal.follow:
        raise ParameterError("--valid has no use, because the run follows no metric; add [trees] eval_metric.")


def _driven(
    folder: RunFolder, plan: Plan, model: Model, state: State, seconds: list[float], notes: list[str]
) -> Driven:
    folder.write_json(METRICS, {"metric": model.metric, "history": model.history, "seconds_per_tree": seconds})
    beside = {"losses": losses_of(state), "leaks": list(leaks(plan)), "notes": notes}
    kept = folder.finish({MODEL: encoded(model)}, {**beside, **manifest.bins_learnt(state)})
    return Driven(folder.path, model, sum(seconds), manifest.bytes_by_party(kept["messages"]))


@dataclass(frozen=True, eq=False)
class Joining:
    """Who joins, with what, and under which rules of its own."""

    name: str
    data: Source
    valid: Source | None
    identity: Identity
    policy: Policy
    ledger: Path | None = None
    """What this owner counts over all its runs; None: the run's own log."""

    @property
    def own(self) -> Own:
        """The files it brings."""
        return Own(self.data, self.valid)


def join(run: RunFile, own: Joining, options: Options) -> Path:
    """Take part in a run until the driver says that it is finished; returns the folder with the model."""
    plan, settings = run.real_plan(), settings_of(run)
    entry = passive_entry(run, plan, own.name, "hedgerow drive")
    check_own(own.identity, entry.fingerprint, f"[[party]] {own.name!r}", settings)
    policy = replace(own.policy, plan=own.policy.plan or plan.digest.hex())
    policy.check(plan)
    run.check_cipher()
    _check_followed(plan, own.valid)
    place = options.folder or run.folder.with_name(f"{run.folder.name}-{own.name}")
    check_folder(place, None)
    table, valid = _own_tables(run, own.name, own.own, options.say)
    rows = _digest(table, valid)
    about = About(run.name, "party", own.name, run.method, plan.text)
    other_rows = (place / ROWS).exists() and (place / ROWS).read_text() != rows
    with (
        opened(own.ledger) as ledger,
        closing(open_folder(place, about, None, options.say, other_rows)) as folder,
    ):
        _check_rows(folder, rows)
        revoked = revoked_by(settings, ca_of(settings))
        keeps = CutsFile(folder.path / CUTS, plan.digest) if plan.active else None
        notes, say = list[str](), options.say
        owner = Owner(
            own.name, table, valid, policy, own.identity, folder.log, revoked, True, keeps, say, noting(notes, say),
            ledger, PlacesFile(folder.path, plan.digest),
        )  # fmt: skip
        content = _served(owner, plan, settings, folder, options)
        beside = {"leaks": list(leaks(plan)), "notes": notes, **manifest.given(folder.log.lines())}
        folder.finish({kept_file(run): content}, beside)
    return place


def kept_file(run: RunFile) -> str:
    """What a party has in its folder at the end: the model, or its part of a vertical one."""
    return PART if run.active else MODEL


def _served(owner: Owner, plan: Plan, settings: DriverOptions, folder: RunFolder, options: Options) -> bytes:
    """Answer the driver until it says goodbye; the model that came, to this process or to one before it."""
    file, check = (PART, parts.decoded) if plan.active else (MODEL, decoded)
    before = folder.path / file
    kept = [before.read_bytes()] if before.exists() else []

    def keep_model(content: bytes) -> None:
        check(content, "What the driver had this party keep")
        folder.write(file, content)
        kept.append(content)

    tell = told_of_driver(options.say)

    def on_event(what: str, who: str) -> None:
        if what == STOPPED:
            folder.log.note(STOPPED_BY_DRIVER)
        tell(what, who)

    party, ca = Party(owner, options.threads, keep_model), ca_of(settings)
    options.say(f"Calling the driver at {settings.address}.")
    try:
        serve(
            settings.address, owner.identity, ca, owner.name, discreet(party.answer, options.say), run=plan.digest,
            most_bytes=lambda: party.most_bytes, patience=settings.patience, driver=plan.coordinator,
            revoked=owner.revoked, on_event=on_event,
        )  # fmt: skip
    except PartyLost as error:
        if kept:
            raise PartyLost(f"{error} The model was received and saved to {before}.") from None
        raise
    if not kept:
        raise RunError("The driver ended the run without a model; ask its operator.")
    return kept[-1]


def _check_rows(folder: RunFolder, digest: str) -> None:
    """Sums over other rows than before would show, in the difference, the rows that changed."""
    known = folder.path / ROWS
    if not known.exists():
        folder.write(ROWS, digest.encode())
    elif known.read_text() != digest:
        raise RunError(
            f"The rows are not those with which this party joined the run in {folder.path}; give the same data, or "
            "another --folder in a new run."
        )
