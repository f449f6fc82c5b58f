"""Runs that stopped before their first tree was complete: they may be mended and begun anew, and nothing is lost.

What they left is moved beside the run's folder, audit logs included, for they say what was told to whom.

A party that has given something summed over its rows does not begin anew with others: the difference of two sums would
show the rows that changed. What it may have said before that tells how many rows it has, what its columns are called
and how many bins they have, and which of its ids all parties have, as every run does. How often that was begun, and how
many wrong hashes of its rows were heard, is counted on: else whoever drives could let runs fail to try out more ids.
"""

import hashlib
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

from hedgerow.agreement.options import PREDICT
from hedgerow.corridor import messages as m
from hedgerow.errors import RunError
from hedgerow.protocols.session.journal import ALIGNING
from hedgerow.protocols.session.owner_ledger import RESET, WRONG
from hedgerow.run.folder.checkpoint import progress_in
from hedgerow.run.folder.manifest import SENT
from hedgerow.storage import audit

LOG, CHECKPOINT, MODEL, PART = "audit.log", "checkpoint", "model.json", "part.json"

BEFORE_SUMS = frozenset(
    kind.__name__
    for kind in (
        m.Echo, m.Consent, m.Facts, m.Done, m.SetSize, m.BlindedIds, m.Marks, m.Proofs, m.CommonColumns, m.OwnColumns,
        m.NamedColumns,
    )
)  # fmt: skip
"""What a party says before it is asked for anything that is summed over its rows."""

SETTLED, STOPPED_BY_DRIVER = "settled", "stopped by the driver"
"""Events in the log of a run."""

COUNTED = frozenset((ALIGNING, WRONG, RESET))
"""Lines by which a party bounds what others try out; they go into the log of the run that is begun anew."""


def stopped_early(path: Path, kept: Mapping[str, Any]) -> bool:
    """Whether no tree of this unfinished run was complete, and at a party: whether no sums were given either."""
    if kept.get("method") == PREDICT or any((path / name).exists() for name in (MODEL, PART)):
        return False
    if kept["role"] == "party":
        return all(line.get("type") in BEFORE_SUMS for line in audit.read(path / LOG) if line["event"] == SENT)
    return progress_in(path / CHECKPOINT)[1] == 0


def is_over(path: Path, kept: Mapping[str, Any]) -> bool:
    """Whether its keeper is bound to what all had in common, in a run that its driver has stopped for everybody.

    Another party's table may have been mended since. A process that was killed, or that gave the driver up, goes on
    where it was: the others are still there, and hold it to what was settled.
    """
    events = {line["event"] for line in audit.read(path / LOG)} if kept["role"] != "simulation" else set()
    return {SETTLED, STOPPED_BY_DRIVER} <= events


def count_on(aside: Path, log: audit.AuditLog) -> None:
    """Write into the log of the run that is begun anew what its keeper had counted before."""
    for line in audit.read(aside / LOG):
        if line["event"] in COUNTED:
            log.note(str(line["event"]), **{name: fact for name, fact in line.items() if name not in audit.OWN})


def set_aside(path: Path, kept: Mapping[str, Any]) -> Path:
    """Move a run's folder out of the way, unless another process is at it."""
    place = path.resolve()
    log = audit.AuditLog(place / LOG, hashlib.sha256(kept["plan"].encode()).hexdigest(), kept["who"])
    try:
        aside = next(p for n in count(1) if not (p := place.with_name(f"{place.name}.unfinished-{n}")).exists())
        place.rename(aside)
    except OSError as error:
        raise RunError(f"Cannot move {path} away: {error.strerror or error}; name another --folder.") from None
    finally:
        log.close()
    return path.with_name(aside.name) if path.name else aside
