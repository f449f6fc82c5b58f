"""What the parties of a simulation keep in the run's folder, where the plan is known by their names.

Certificates are fresh in every process, and so is the plan's hash.
"""

from collections.abc import Iterator
from typing import Any

from hedgerow.agreement.plan import Plan
from hedgerow.run.folder.folder import RunFolder
from hedgerow.run.folder.private_state import CUTS, CutsFile, PlacesFile, noised_words
from hedgerow.run.simulation.parties import PartyFiles
from hedgerow.storage.audit import AuditLog


def files_in(folder: RunFolder, plan: Plan, named: Plan) -> dict[str, PartyFiles]:
    """The files of all parties; `named` is the plan with names in place of this process's fingerprints."""
    private = plan.method.aligns or plan.method.links or plan.method.private_names
    files = {}
    for name in plan.answering:
        log, own = NamedLog(folder.open_party_log(name), plan, named), folder.path / "parties" / name
        cuts = CutsFile(own / CUTS, named.digest) if plan.active else None
        noised = noised_words(own, named.digest)
        files[name] = PartyFiles(log, cuts, PlacesFile(own, named.digest) if private else None, noised)
    if plan.active:
        places = PlacesFile(folder.path, named.digest) if private else None
        files[plan.active] = PartyFiles(places=places, noised=noised_words(folder.path, named.digest))
    return files


class NamedLog:
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
