"""What a party is, and how a run is driven, in a horizontal run with differential privacy: by its way to grow trees."""

from collections.abc import Callable, Mapping

from hedgerow.agreement.dp import DP, PUBLIC_TREES, PrivateMethod, checked_way
from hedgerow.protocols.horizontal.batch import Pending
from hedgerow.protocols.horizontal.laplace_run import LaplaceParty, LaplaceRun
from hedgerow.protocols.noised.greedy_party import GreedyParty
from hedgerow.protocols.noised.greedy_run import GreedyRun
from hedgerow.protocols.noised.party import NoisedParty
from hedgerow.protocols.noised.run import NoisedRun
from hedgerow.protocols.session.owner import PartyContext
from hedgerow.protocols.session.shell import Role
from hedgerow.protocols.state import Drive, Progress

PARTIES: Mapping[PrivateMethod, Callable[[PartyContext], Role[Pending]]] = {
    **dict.fromkeys(PUBLIC_TREES, NoisedParty),
    "greedy": GreedyParty,
    "laplace": LaplaceParty,
}
RUNS: Mapping[PrivateMethod, Callable[[Progress], Drive]] = {
    **dict.fromkeys(PUBLIC_TREES, NoisedRun),
    "greedy": GreedyRun,
    "laplace": LaplaceRun,
}


def party_of(dp: DP) -> Callable[[PartyContext], Role[Pending]]:
    """What a party is."""
    return PARTIES[checked_way(dp, PARTIES)]


def run_of(dp: DP) -> Callable[[Progress], Drive]:
    """How the run is driven."""
    return RUNS[checked_way(dp, RUNS)]
