"""Runs that stopped before their first tree was complete: they may be mended and begun anew, and nothing is lost.

What they left is moved beside the run's folder, audit logs included, for they say what was told to whom.

A party that has given something summed over its rows does not begin anew with others: the difference of two sums would
show the rows that changed. What it may have said before that tells how many rows it has, what its columns are called
and how many bins they have, and which of its ids all parties have, as every run does.
"""

import hashlib
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

from hedgerow import audit
from hedgerow import messages as m
from hedgerow.errors import RunError
from hedgerow.run.checkpoint import progress_in
from hedgerow.run.manifest import SENT

LOG, CHECKPOINT, MODEL, PART = "audit.log", "checkpoint", "model.json", "part.json"

BEFORE_SUMS = frozenset(
    kind.__name__
    for kind in (
        m.Consent, m.Facts, m.Done, m.SetSize, m.BlindedIds, m.Marks, m.Proofs, m.CommonColumns, m.OwnColumns,
        m.NamedColumns,
    )
)  # fmt: skip
"""What a party says before it is asked for anything that is summed over its rows."""


def stopped_early(path: Path, kept: Mapping[str, Any]) -> bool:
    """Whether no tree of this unfinished run was complete, and at a party: whether no sums were given either."""
    if kept.get("method") == "predict" or any((path / name).exists() for name in (MODEL, PART)):
        return False
    if kept["role"] == "party":
        return all(line.get("type") in BEFORE_SUMS for line in audit.read(path / LOG) if line["event"] == SENT)
    return progress_in(path / CHECKPOINT)[1] == 0


def has_settled(path: Path, kept: Mapping[str, Any]) -> bool:
    """Whether a party is bound to what all had in common, which another party's mended table may change."""
    return kept["role"] == "party" and any(line["event"] == "settled" for line in audit.read(path / LOG))


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
