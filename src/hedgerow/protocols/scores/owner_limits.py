"""What the owners of a session ask for, checked by the active party before any row is asked about."""

from hedgerow.errors import ProtocolError
from hedgerow.model.fixed_scores import FixedScores
from hedgerow.model.model import Model
from hedgerow.model.part import ownership_of
from hedgerow.model.score_paths import check_paths
from hedgerow.protocols.scores.active import SealedAsking
from hedgerow.protocols.scores.blur import check_blur


def check_owners(model: Model, fixed: FixedScores, asking: SealedAsking) -> None:
    """Refuse more blur than there is room for, more reasons than columns, and a score that tells too much."""
    told = dict(zip(asking.layout.names, asking.session.ready, strict=True))
    check_blur(asking.method, fixed, {name: ready.blur_permille for name, ready in told.items()})
    for name, ready in told.items():
        first, last = ownership_of(model).span(name)
        if len(ready.reasons) > last - first + 1:
            raise ProtocolError(f"Party {name!r} would tell contributions of more columns than it has.")
        if ready.least_paths:
            check_paths(model, name, ready.least_paths, bits=fixed.bits)
