"""All parties in this process, for research and tests: the same messages, masks and checks as between real ones."""

from functools import partial
from typing import Any

from hedgerow.agreement.options import Vertical
from hedgerow.agreement.plan import Plan
from hedgerow.agreement.policy import ALLOW_ALL
from hedgerow.corridor.wire import Corridor
from hedgerow.errors import DataError, ParameterError, Sentence
from hedgerow.model import part as parts
from hedgerow.model.model import Model
from hedgerow.protocols.driver import Driver, State, run
from hedgerow.protocols.horizontal.batch import worked_out
from hedgerow.protocols.party import Owner, Party
from hedgerow.protocols.session.owner import Active
from hedgerow.run.folder.recorder import noting
from hedgerow.run.simulation.parties import Simulation
from hedgerow.run.simulation.party_tables import check_persons, note_ids, note_left_out
from hedgerow.transports.inproc import Begin, InProcess


def simulate(plan: Plan, simulation: Simulation) -> tuple[Model, State]:
    """Train over all parties' tables."""
    sim = simulation
    if set(sim.parties) != set(plan.names):
        raise ParameterError("The tables are not those of the plan's parties.")
    note = noting(sim.notes, sim.tell)
    if plan.method.aligns:
        note_ids(sim.parties, note)
    if plan.method.dp is not None and plan.method.promises_dp:
        note_left_out(sim.parties, plan.method.dp, note)
        check_persons([sim.parties[plan.active]] if plan.active else sim.parties.values(), plan.method.dp)
    begin: dict[str, Begin] = {}
    kept = sim.parts if isinstance(plan.method, Vertical) else {}
    for name in plan.answering:
        tables, identity, files = (sim.parties[name], sim.valid.get(name)), sim.identities[name], sim.files_of(name)
        owner = Owner(
            name, *tables, ALLOW_ALL, identity, files.log, keeps=files.cuts, places=files.places, noised=files.noised
        )  # fmt: skip
        begin[name] = _named(name, Party(owner, sim.threads, partial(kept.__setitem__, name)).begin)
    corridor = Corridor(InProcess(begin, partial(worked_out, threads=sim.threads)), sim.listeners)
    active = plan.active
    own = None
    if active:
        files = sim.files_of(active)
        own = Active(sim.parties[active], sim.valid.get(active), files.places, files.noised)
    driver = Driver(
        plan, corridor, threads=sim.threads, callbacks=sim.callbacks, keep=sim.keep, tell=sim.tell, note=note, own=own,
        notes_bins=sim.notes_bins, log=sim.log, commit=sim.commit,
    )  # fmt: skip
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


def _named(name: str, begin: Begin) -> Begin:
    """What a party says of its rows, with its name before it."""

    def named(frame: Any) -> Any:
        try:
            return begin(frame)
        except DataError as error:
            raise DataError(Sentence(f"Party {name!r}: ", error.sentence)) from None

    return named
