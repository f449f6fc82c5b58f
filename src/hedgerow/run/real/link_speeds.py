"""The speed of the links of a real run: measured once all parties are here, kept in the folder for every later process.

A resumed run does not measure again, so that its ciphertexts are laid out as they were.
"""

from contextlib import suppress
from dataclasses import replace

import msgspec

from hedgerow.agreement.link_speeds import LinkSpeed
from hedgerow.agreement.plan import Plan
from hedgerow.corridor.wire import Corridor
from hedgerow.errors import ParameterError, PartyLost, RunError
from hedgerow.protocols.probe import measured, sentence
from hedgerow.run.folder.folder import RunFolder
from hedgerow.run.real.connect import Seat
from hedgerow.run.real.drive import wait_for

KEPT = "links.json"
LATE = "0 trees are kept, resume the run when all can be here."
TRIES = 3
"""For which a party's usual policy (most_probe_bytes) has room, if its process is the same."""


def settled(seat: Seat, corridor: Corridor, folder: RunFolder) -> Plan:
    """The plan as the parties will be asked to sign it: with the speed of their links, where it matters."""
    plan = seat.plan
    if not plan.measures:
        return plan
    speeds = _kept(folder)
    if speeds is None:
        speeds = _measured(seat, corridor)
        folder.write(KEPT, msgspec.json.encode(speeds))
    seat.say(sentence(speeds))
    try:
        return replace(plan, link_speeds=speeds)
    except ParameterError:
        raise _damaged(folder) from None


def _measured(seat: Seat, corridor: Corridor) -> tuple[LinkSpeed, ...]:
    """Of all parties; one that goes away meanwhile is waited for, and all are measured anew."""
    for _ in range(TRIES - 1):
        wait_for(seat.plan.answering, seat, corridor, LATE)
        with suppress(PartyLost):
            return measured(corridor, seat.plan, seat.settings.deadline)
    wait_for(seat.plan.answering, seat, corridor, LATE)
    return measured(corridor, seat.plan, seat.settings.deadline)


def _kept(folder: RunFolder) -> tuple[LinkSpeed, ...] | None:
    place = folder.path / KEPT
    try:
        return msgspec.json.decode(place.read_bytes(), type=tuple[LinkSpeed, ...]) if place.exists() else None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, ParameterError):
        raise _damaged(folder) from None


def _damaged(folder: RunFolder) -> RunError:
    return RunError(
        f"{folder.path / KEPT} is damaged or of another run; without it a resumed run would be laid out otherwise. "
        "Begin anew in another folder."
    )
