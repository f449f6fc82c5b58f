"""The driver's side of a whole run: joining, an attempt as the plan's method has it, and another when a party was lost.

With `on_loss = "wait"` a lost party ends the attempt; when it is back everybody is introduced anew and the run goes on
from the last complete tree. With "continue" the run goes on without it: see `horizontal`; in a vertical run the tree
that was under way is grown again from the columns of those that remain, of whom one beside the active party must.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from hedgerow.agreement.options import Horizontal, Hybrid, Method, Vertical, WholeTrees
from hedgerow.agreement.plan import Plan
from hedgerow.errors import PartyLost
from hedgerow.model.model import Model
from hedgerow.protocols import joining
from hedgerow.protocols.horizontal.run import HorizontalRun
from hedgerow.protocols.hybrid.run import HybridRun
from hedgerow.protocols.noised.ways import run_of
from hedgerow.protocols.opener.run import OpenerRun
from hedgerow.protocols.secure_sum import SummingGroup
from hedgerow.protocols.state import Drive, Driver, Progress, State
from hedgerow.protocols.vertical.run import VerticalRun
from hedgerow.protocols.whole_trees import WholeTreesRun

__all__ = ["Driver", "State", "run"]

MOST_IN_VAIN = 10
"""Attempts in a row that may end without a new tree."""

DRIVES: Mapping[type[Method], Callable[[Progress], Drive]] = {
    Horizontal: HorizontalRun,
    WholeTrees: WholeTreesRun,
    Vertical: VerticalRun,
    Hybrid: HybridRun,
}
"""How a run of each method is driven, where nobody opens sums for the others."""


def drive_of(plan: Plan) -> Callable[[Progress], Drive]:
    """How a run of this plan is driven."""
    if plan.method.dp is not None and isinstance(plan.method, Horizontal):
        return run_of(plan.method.dp)
    return OpenerRun if plan.opener else DRIVES[type(plan.method)]


def run(driver: Driver, state: State | None = None) -> tuple[Model, State]:
    """Train; every party has the model when this returns."""
    progress = Progress(driver, state or State())
    drive = drive_of(driver.plan)(progress)
    _gather(progress)
    in_vain = 0
    while True:
        done = progress.state.steps
        try:
            model = _attempt(progress, drive)
        except PartyLost as loss:
            if drive.goes_on(loss):
                continue
            in_vain = in_vain + 1 if progress.state.steps == done else 0
            if in_vain == MOST_IN_VAIN:
                raise PartyLost(
                    f"{loss} {in_vain} attempts in a row ended without a new tree; resume the run when that is mended.",
                    loss.parties,
                ) from None
            _wait_for(progress, loss)
        else:
            return model, progress.state


def _gather(progress: Progress) -> None:
    """Wait until all are here for the first time."""
    patience = progress.driver.patience
    absent = _absent(progress, patience)
    if absent:
        names, done = ", ".join(map(repr, sorted(absent))), progress.state.forest.n_trees
        raise PartyLost(
            f"{names} did not come within {patience:g} seconds; {done} trees are kept, "
            "resume the run when all can be here.",
            absent,
        )


def _absent(progress: Progress, deadline: float) -> frozenset[str]:
    return progress.driver.corridor.transport.wait(frozenset(progress.present), deadline)


def _attempt(progress: Progress, drive: Drive) -> Model:
    """Everything from the introduction on, as far as it was not done before."""
    driver, number = progress.driver, progress.state.attempt + 1
    progress.keep(replace(progress.state, attempt=number))
    absent = _absent(progress, 0)
    if absent:
        raise PartyLost(f"{', '.join(map(repr, sorted(absent)))} went away.", absent)
    group = SummingGroup(driver.corridor, driver.plan, progress.present, driver.deadline)
    return drive.attempt(group, joining.introduce(group, joining.propose(group, driver.identity), number))


def _wait_for(progress: Progress, loss: PartyLost) -> None:
    """Until the lost parties are back; too long ends the run, to be resumed."""
    driver = progress.driver
    driver.tell(f"{loss} Waiting for {', '.join(map(repr, sorted(loss.parties)))}.")
    absent = driver.corridor.transport.wait(loss.parties, driver.patience)
    if absent:
        names = ", ".join(map(repr, sorted(absent)))
        done = progress.state.forest.n_trees
        raise PartyLost(
            f"{names} did not come back within {driver.patience:g} seconds; {done} trees are kept, "
            "resume the run when it is back.",
            absent,
        )
