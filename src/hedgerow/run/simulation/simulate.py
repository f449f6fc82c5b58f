"""All parties in this process, for research and tests: the same messages, masks and checks as between real ones."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec
import numpy as np

from hedgerow.agreement.options import Align, Federation, Horizontal, Vertical
from hedgerow.agreement.plan import Member, Plan
from hedgerow.agreement.policy import ALLOW_ALL
from hedgerow.corridor.wire import Corridor, Listener
from hedgerow.data.ids import AS_TEXT, n_common, nearly_common
from hedgerow.data.table import Table
from hedgerow.errors import DataError, ParameterError
from hedgerow.identity.identity import Identity
from hedgerow.model import part as parts
from hedgerow.model.model import Model
from hedgerow.protocols.align.lists import PlaceStore, texts_of
from hedgerow.protocols.driver import Driver, State, run
from hedgerow.protocols.horizontal.batch import Begun, worked_out
from hedgerow.protocols.party import Owner, Party
from hedgerow.protocols.session.journal import Log, NoLog
from hedgerow.protocols.session.notify import Tell, silent
from hedgerow.protocols.vertical.kept_cuts import CutStore
from hedgerow.protocols.vertical.train import Active
from hedgerow.run.folder.recorder import noting
from hedgerow.transports.inproc import InProcess
from hedgerow.trees.boost import Callback


@dataclass(frozen=True, eq=False)
class Simulation:
    """What is simulated, and what is done along the way."""

    parties: Mapping[str, Table]
    valid: Mapping[str, Table] = field(default_factory=dict)
    threads: int = 1
    callbacks: Sequence[Callback] = ()
    listeners: tuple[Listener, ...] = ()
    logs: Mapping[str, Log] = field(default_factory=dict)
    identities: Mapping[str, Identity] = field(default_factory=dict)
    state: State | None = None
    keep: Callable[[State], None] = lambda _: None
    """Called with the state after every tree."""
    notes: list[str] = field(default_factory=list)
    """Filled with sentences about what the user should know."""
    keeps: Mapping[str, CutStore] = field(default_factory=dict)
    """Where the passive parties of a vertical run keep their own cuts."""
    parts: dict[str, bytes] = field(default_factory=dict)
    """Filled with each passive party's part of a vertical model, as it keeps it."""
    notes_bins: bool = False
    """Whether the active party notes what it learns of passive columns' bins."""
    tell: Tell = silent
    log: Log = NoLog()  # noqa: RUF009  # it holds nothing
    """The driver's own."""
    places: Mapping[str, PlaceStore] = field(default_factory=dict)
    """Where the parties of a vertical run keep which of their rows are common."""


def members(names: Sequence[str]) -> tuple[tuple[Member, ...], dict[str, Identity]]:
    """Parties with fresh identities."""
    identities = {name: Identity.fresh(name) for name in names}
    return tuple(Member(name, identity.fingerprint) for name, identity in identities.items()), identities


def simulate(plan: Plan, simulation: Simulation) -> tuple[Model, State]:
    """Train over all parties' tables."""
    sim = simulation
    if set(sim.parties) != set(plan.names):
        raise ParameterError("The tables are not those of the plan's parties.")
    note = noting(sim.notes, sim.tell)
    if plan.method.aligns:
        _note_ids(sim, note)
    begin: dict[str, Callable[[bytes], Begun]] = {}
    kept = sim.parts if isinstance(plan.method, Vertical) else {}
    for name in plan.answering:
        identity = sim.identities[name]
        tables, log, keeps = (sim.parties[name], sim.valid.get(name)), sim.logs.get(name), sim.keeps.get(name)
        owner = Owner(name, *tables, ALLOW_ALL, identity, log, keeps=keeps, places=sim.places.get(name))
        begin[name] = _named(name, Party(owner, sim.threads, partial(kept.__setitem__, name)).begin)
    corridor = Corridor(InProcess(begin, partial(worked_out, threads=sim.threads)), sim.listeners)
    active = plan.active
    own = Active(sim.parties[active], sim.valid.get(active), sim.places.get(active)) if active else None
    driver = Driver(
        plan,
        corridor,
        threads=sim.threads,
        callbacks=sim.callbacks,
        keep=sim.keep,
        tell=sim.tell,
        note=note,
        own=own,
        notes_bins=sim.notes_bins,
        log=sim.log,
    )
    model, state = run(driver, sim.state)
    if isinstance(plan.method, Vertical):
        model = parts.joined(model, {name: parts.decoded(part, f"The part of {name!r}") for name, part in kept.items()})
    if state.clipped:
        many = "Some" if plan.opener else str(state.clipped)  # how many, only the opener knows
        sim.notes.append(
            f"{many} gradients were beyond the range the labels suggest and were cut to it; "
            "a smaller learning_rate or scaled labels avoid that."
        )
    return model, state


def _note_ids(sim: Simulation, note: Tell) -> None:
    """Tell how many more rows would be found if ids were written alike; only whoever simulates all parties can know."""
    if any(table.ids is None for table in sim.parties.values()):
        return
    ids = [texts_of(table) for table in sim.parties.values()]
    more, ways = nearly_common(ids)
    if not more:
        return
    alike = f"without {ways}; {AS_TEXT}, so write them alike everywhere."
    if not n_common(ids):
        raise DataError(f"No id is common to all parties' rows, and {more} would be {alike}")
    note(f"{more} more ids would be common to all parties {alike}")


def _named(name: str, begin: Callable[[bytes], Begun]) -> Callable[[bytes], Begun]:
    """What a party says of its rows, with its name before it."""

    def named(frame: bytes) -> Begun:
        try:
            return begin(frame)
        except DataError as error:
            raise DataError(f"Party {name!r}: {error}") from None

    return named


def tables_of(parties: Any) -> dict[str, Table]:
    """Named tables, one a party, from a mapping or a list of tables or of pairs (X, y)."""
    if not isinstance(parties, Mapping):
        if not isinstance(parties, (list, tuple)):
            raise DataError("A federation learns from several tables: give a list of them, or a mapping by party name.")
        parties = {f"party{i + 1}": table for i, table in enumerate(parties)}
    tables = {}
    for name, given in parties.items():
        table = given if isinstance(given, Table) else Table.of(*given) if isinstance(given, tuple) else None
        if table is None:
            raise DataError(f"Party {name!r} must have a Table, or a pair of table and labels.")
        tables[str(name)] = table
    if not tables:
        raise DataError("There is no party; give at least one table.")
    return tables


def settled(federation: Federation, tables: Mapping[str, Table], valid: Mapping[str, Table]) -> Federation:
    """A user's options with what a plan must name: who is active, whether rows are aligned, that two were accepted."""
    if isinstance(federation, Horizontal):
        return federation.allowing_two(len(tables))
    if not isinstance(federation, Vertical):
        return federation
    active, align = federation.active or _active(tables), federation.align or _align(tables, valid)
    return msgspec.structs.replace(federation, active=active, align=align)


def _active(tables: Mapping[str, Table]) -> str:
    """The only party with labels."""
    labelled = [name for name, table in tables.items() if table.labels is not None]
    if len(labelled) != 1:
        raise DataError(
            f"{len(labelled)} parties have labels; a vertical run has one active party: name it (active=...)."
        )
    return labelled[0]


def _align(tables: Mapping[str, Table], valid: Mapping[str, Table]) -> Align:
    """Whether the rows of a vertical run are the same at all parties and in order, or must be found by their ids."""
    keys = [[table.row_keys() for table in part.values()] for part in (tables, valid)]
    same = all(np.array_equal(part[0], other) for part in keys for other in part[1:])
    return "given" if same else "private"
