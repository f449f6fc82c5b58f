"""`hedgerow serve`: a passive party answers sealed predictions with its parts of models, until it is stopped."""

import json
import time
from pathlib import Path
from typing import Annotated

import typer

from hedgerow.agreement.policy import Policy
from hedgerow.commands.option_names import in_options
from hedgerow.commands.predict_together import say, written_as
from hedgerow.commands.print_tables import note, print_grid
from hedgerow.commands.read_tables import Roles, read_like
from hedgerow.errors import HedgerowError, RunError
from hedgerow.identity.identity import Identity
from hedgerow.model.part import load_part
from hedgerow.protocols.predict.own_part import PartOwner, check_owner
from hedgerow.run.file.policy import read_policy
from hedgerow.run.file.read import open_run
from hedgerow.run.file.serving import ServedModel, Serving, read_serving
from hedgerow.run.folder.ledger_file import ledger_beside, open_answers
from hedgerow.run.real.serve_models import STATUS, ModelServer, Served
from hedgerow.threads import threads_of

LOOK_SECONDS = 1.0
"""How often the serving file is looked at, and the status is written."""

ServingFile = Annotated[
    Path, typer.Argument(metavar="SERVING", help="Serving file (.toml): own parts of models, and as whom.")
]
ShowStatus = Annotated[bool, typer.Option("--status", help="Show what a running `hedgerow serve` has done, and end.")]
Jobs = Annotated[int | None, typer.Option("--n-jobs", help="Threads; all cores if not given.", show_default=False)]


def serve(serving_file: ServingFile, status: ShowStatus = False, n_jobs: Jobs = None) -> None:
    """Answer sealed predictions with this party's parts of models, until Ctrl-C; it dials out and never listens.

    A model that is marked `withdrawn = true` in the serving file, or whose day in `expires` is over, is refused from
    then on; the file is read again when it changes.
    """
    serving = read_serving(serving_file)
    folder = serving.folder or serving_file.with_suffix("")
    if status:
        _show(folder)
        return
    rules = Policy() if serving.policy is None else read_policy(serving.policy)
    identity = Identity.load(serving.cert, serving.key)
    served = [_served(one, serving, rules, identity) for one in serving.models]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    ledger = open_answers(serving.ledger, serving.key, rules)
    server = ModelServer(served, ledger, folder, say, threads_of(n_jobs))
    server.start()
    _keep(server, serving_file)
    ledger.close()


def _served(model: ServedModel, serving: Serving, rules: Policy, identity: Identity) -> Served:
    run, part = open_run(model.run), load_part(model.part)
    check_owner(part, serving.name)
    roles = Roles(None, model.id or run.data.id, None, run.data.absent)
    table = read_like(str(model.data), part.columns, written_as(run, roles))
    for sentence in table.remarks:
        note(in_options(sentence))
    own = PartOwner(serving.name, part, table, rules, identity)
    own.check()
    return Served(run, own, model, f"{run.name}-{part.model[:8]}", serving.ledger or ledger_beside(serving.key))


def _keep(server: ModelServer, serving_file: Path) -> None:
    """Until Ctrl-C; whatever the owner changes in the file counts from then on."""
    seen = serving_file.stat().st_mtime_ns
    try:
        while server.alive:
            time.sleep(LOOK_SECONDS)
            now = serving_file.stat().st_mtime_ns if serving_file.exists() else seen
            if now != seen:
                seen = now
                try:
                    server.change(read_serving(serving_file).models)
                except HedgerowError as error:
                    say(f"The serving file cannot be used as it is now, and what was said before counts: {error}")
            server.note()
    except KeyboardInterrupt:
        say("Stopped.")
    server.note()


def _show(folder: Path) -> None:
    place = folder / STATUS
    if not place.exists():
        raise RunError(f"There is no {place}; start `hedgerow serve` with this file first.")
    told = json.loads(place.read_bytes())
    rows = [[str(cell) for cell in one.values()] for one in told["models"]]
    print_grid(["model", "state", "requests", "rows", "refusals", "last refusal"], rows, n_names=2)
    note(f"Noted {time.time() - told['noted']:.0f} seconds ago.")
