"""What answers about nodes in a passive party: by whether nodes are told to it, hidden from it, or cut by draws.

And by whether its sums get noise.
"""

from hedgerow.agreement.plan import Plan
from hedgerow.data.table import Table
from hedgerow.protocols.vertical.batch_passive import BatchRows
from hedgerow.protocols.vertical.cut_releases import CutReleases
from hedgerow.protocols.vertical.drawn_passive import DrawnPassiveRows
from hedgerow.protocols.vertical.hidden_passive import HiddenPassiveRows
from hedgerow.protocols.vertical.laplace import sum_noise
from hedgerow.protocols.vertical.laplace_passive import LaplacePassiveRows
from hedgerow.protocols.vertical.passive_rows import Giving as Giving
from hedgerow.protocols.vertical.passive_rows import PassiveRows
from hedgerow.protocols.vertical.passive_run import PassiveRun

Answers = PassiveRows | HiddenPassiveRows | BatchRows


def answers_of(plan: Plan, run: PassiveRun, releases: CutReleases, table: Table) -> Answers:
    """As the plan says."""
    batch = releases.batch(table)
    if batch is not None:
        return BatchRows(run, batch, releases.noise(batch))
    if plan.method.hidden_rows:
        return HiddenPassiveRows(run)
    noise = sum_noise(plan)
    if noise is not None:
        return LaplacePassiveRows(run, noise)
    return (DrawnPassiveRows if plan.method.draws_cuts else PassiveRows)(run)
