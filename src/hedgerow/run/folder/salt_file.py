"""The salt of a vertical model's commitment, which the active party keeps beside the model."""

from pathlib import Path

from hedgerow.model.commitment import digest_of, keep_salt, kept_opening, new_salt, salt_beside
from hedgerow.model.model import Model
from hedgerow.run.folder.restart import MODEL


def committed(folder: Path, model: Model) -> bytes:
    """The commitment to a finished model's leaf values; its salt is in the run's folder when this returns.

    A run that hands out its model again, after a loss or in another process, keeps the salt.
    """
    path = salt_beside(folder / MODEL)
    if not path.exists():
        keep_salt(path, model, new_salt())
    return digest_of(kept_opening(path, model))
