"""Training by real parties, a data owner's side (`hedgerow join`): it dials, and never has a listening socket.

Every side has its own copy of the run file; the plan made from it must be the same everywhere, to the last byte. A
party that was killed is started again with the same command.
"""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from hedgerow.agreement.policy import Policy
from hedgerow.identity.identity import Identity
from hedgerow.protocols.party import Owner, Party
from hedgerow.run.file.read import RunFile
from hedgerow.run.folder import manifest
from hedgerow.run.folder.folder import MODEL, PART, check_folder, open_folder
from hedgerow.run.folder.kept_model import KeptModel
from hedgerow.run.folder.ledger_file import opened
from hedgerow.run.folder.private_state import CUTS, CutsFile, PlacesFile, noised_words
from hedgerow.run.folder.recorder import noting
from hedgerow.run.real.connect import Options, bound_policy, party_seat
from hedgerow.run.real.own_tables import Own, check_rows, digest, other_than
from hedgerow.run.real.party_end import keep_end
from hedgerow.run.real.serve_training import served


@dataclass(frozen=True, eq=False)
class Joining:
    """Who joins, with what, and under which rules of its own."""

    name: str
    own: Own
    identity: Identity
    policy: Policy
    ledger: Path | None = None
    """What this owner counts over all its runs; None: the run's own log."""


def join(run: RunFile, joining: Joining, options: Options) -> Path:
    """Take part in a run until the driver says that it is finished; returns the folder with the model."""
    name, plan, say = joining.name, run.real_plan(), options.say
    seat = party_seat(run, plan, name, joining.identity, say, instead="hedgerow drive")
    policy = bound_policy(joining.policy, plan, name)
    run.check_cipher()
    joining.own.check(plan)
    place = options.folder or run.folder.with_name(f"{run.folder.name}-{name}")
    check_folder(place, None)
    table, valid = joining.own.tables(run, name, say)
    rows = digest(table, valid)
    about = manifest.About(run.name, "party", name, run.method, plan.text)
    with (
        opened(joining.ledger) as ledger,
        closing(open_folder(place, about, None, say, other_than(place, rows))) as folder,
    ):
        check_rows(folder, rows)
        notes: list[str] = []
        owner = Owner(
            name, table, valid, policy, joining.identity, folder.log, seat.revoked, durable=True,
            keeps=CutsFile(folder.path / CUTS, plan.digest) if plan.active else None, tell=say,
            note=noting(notes, say), ledger=ledger, places=PlacesFile(folder.path, plan.digest),
            noised=noised_words(folder.path, plan.digest),
        )  # fmt: skip
        kept = KeptModel(folder, kept_file(run))
        party = Party(owner, options.threads, kept.keep)
        content = served(seat, party, kept)
        keep_end(folder, party.member.plan or plan, (kept.file, content), (table, valid), notes, options)
    return place


def kept_file(run: RunFile) -> str:
    """What a party has in its folder at the end: the model, or its part of a vertical one."""
    return PART if run.active else MODEL
