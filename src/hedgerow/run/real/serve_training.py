"""A party of a training answers its driver until it says goodbye."""

from hedgerow.errors import PartyLost, RunError
from hedgerow.protocols.party import Party
from hedgerow.run.folder.kept_model import KeptModel
from hedgerow.run.real.connect import Seat
from hedgerow.run.real.serve import serve


def served(seat: Seat, party: Party, kept: KeptModel) -> bytes:
    """Answer the driver until it says goodbye; the model that came, to this process or to one before it."""
    try:
        serve(seat, party.answer, lambda: party.most_bytes, kept.folder.log)
    except PartyLost as error:
        if kept.content is not None:
            raise PartyLost(f"{error} The model was received and saved to {kept.path}.") from None
        raise
    if kept.content is None:
        raise RunError("The driver ended the run without a model; ask its operator.")
    return kept.content
