"""A run file with all parties in this process: a simulation, or one of the baselines it is compared with."""

import time
from contextlib import closing
from dataclasses import replace

from hedgerow.agreement.plan import Member
from hedgerow.run.file import tables
from hedgerow.run.file.options import Baseline
from hedgerow.run.file.read import RunFile
from hedgerow.run.folder import manifest
from hedgerow.run.folder.checkpoint import Checkpoint, losses_of
from hedgerow.run.folder.folder import CHECKPOINT, check_folder
from hedgerow.run.folder.recorder import Recorder
from hedgerow.run.forecast.disclosures import leaks
from hedgerow.run.simulation.baselines import baseline
from hedgerow.run.simulation.local_run import LocalRun, Options, Outcome
from hedgerow.run.simulation.parties import Simulation, members
from hedgerow.run.simulation.party_files import NamedLog, files_in
from hedgerow.run.simulation.simulate import simulate

__all__ = ["Options", "Outcome", "train"]


def train(run: RunFile, options: Options) -> Outcome:
    """Run it, from the beginning or from where it stopped."""
    place = options.folder or run.folder
    check_folder(place, options.resume)
    run.check_cipher()
    local = LocalRun(run, options, tables.party_tables(run), place)
    return baseline(local) if isinstance(run.method, Baseline) else federated(local)


def federated(local: LocalRun) -> Outcome:
    """The same messages, masks and checks as between real parties; certificates are fresh in every process."""
    who, identities = members(local.run.names)
    plan = local.run.plan(who)
    named = replace(plan, members=tuple(Member(name, name) for name in plan.names))
    with closing(local.open(named.text)) as folder:
        with closing(Checkpoint(folder.path / CHECKPOINT, named, folder.attempts)) as checkpoint:
            recorder = Recorder(folder.log, local.options.watch)
            simulation = Simulation(
                local.split.training, local.split.valid, local.options.threads, [recorder.after_round], (recorder,),
                identities=identities, state=checkpoint.state, keep=checkpoint.keeping(folder.log), notes=local.notes,
                parts=local.parts, notes_bins=True, tell=local.options.say, files=files_in(folder, plan, named),
                log=NamedLog(folder.log, plan, named), commit=folder.commit,
            )  # fmt: skip
            began = time.perf_counter()
            model, state = simulate(plan, simulation)
            if plan.method.promises_dp:
                local.notes.append(
                    "Metrics are measured on rows at hand without noise, and the manifest has a hash of each party's "
                    "rows: no epsilon covers these, so do not publish them with the model."
                )
            seconds = checkpoint.seconds or [time.perf_counter() - began]
        beside = {"losses": losses_of(state), "leaks": list(leaks(plan)), **manifest.bins_learnt(state)}
        beside |= manifest.promised(model.promise)
        return local.finish(folder, {"": model}, beside, seconds)
