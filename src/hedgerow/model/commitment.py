"""A commitment to the leaf values of a vertical model, which the active party makes when it keeps the model.

The passive parties get a salted hash of the leaf values in whole numbers, and of where these lie in the trees, and keep
it with their parts. It tells them nothing of the values. In a dispute the active party opens it, by telling values and
salt, and everybody sees whether they are those of then. It does not show that a sealed query used them: that is what
the audit of an opened query does.

The hash is SHA-256 over "hedgerow leaf values 1", then, each with its length (8 bytes, little-endian) before it: the
salt, the id of the model, and the numbers (8 bytes each): bits, exponent of the step, scores of a row, leaves of every
tree, weights of all leaves; last the SHA-256 of two more lists of such numbers, for each node of the forest its left
child (-1: it is a leaf) and which party cuts it (-1: none).
"""

import hashlib
import hmac
import secrets
from pathlib import Path

import msgspec
import numpy as np

from hedgerow.errors import ModelError, PrivacyError
from hedgerow.model.file import content_of
from hedgerow.model.fixed_scores import BITS, fixed_scores
from hedgerow.model.model import Model
from hedgerow.model.part import ownership_of
from hedgerow.storage.atomic import write_whole

DOMAIN = b"hedgerow leaf values 1"
SALT = 32
"""Bytes of a salt: without it, guesses of the values could be tried out."""
TREES = 32
"""Bytes of the hash of the trees."""


class Commitment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What passive parties keep: which model, and the hash."""

    model: str
    digest: bytes


class Opening(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was committed to: leaf values and salt. Whoever has it has the leaf values."""

    model: str
    bits: int
    exponent: int
    """Of two: the step of the weights."""
    n_classes: int
    leaves: list[int]
    """How many each tree has."""
    weights: list[int]
    salt: bytes
    trees: bytes
    """The hash of how cuts lie above leaves, and whose they are."""


class _SaltFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    model: str
    bits: int
    salt: bytes


def new_salt() -> bytes:
    """A salt that nobody can guess."""
    return secrets.token_bytes(SALT)


def commit(model: Model, salt: bytes, bits: int = BITS) -> bytes:
    """The hash of a model's leaf values, in whole numbers whose sums have so many bits."""
    return digest_of(opening(model, salt, bits))


def commitment(model: Model, salt: bytes, bits: int = BITS) -> Commitment:
    """What to send to the passive parties."""
    return Commitment(ownership_of(model).model, commit(model, salt, bits))


def opening(model: Model, salt: bytes, bits: int = BITS) -> Opening:
    """What shows that a commitment is of this model."""
    fixed = fixed_scores(model, bits)
    leaves = np.bincount(fixed.trees, minlength=model.forest.n_trees).tolist()
    shape = (ownership_of(model).model, bits, fixed.exponent, fixed.n_classes)
    return Opening(*shape, leaves, fixed.weights.tolist(), salt, trees=_trees(model))


def _trees(model: Model) -> bytes:
    """The hash of children and owners."""
    columns, ends = model.forest.columns, np.cumsum([n for _, n in ownership_of(model).columns])
    owner = np.where(columns >= 0, np.searchsorted(ends, columns, side="right"), -1)
    children = np.where(columns >= 0, model.forest.children, -1)
    return hashlib.sha256(children.astype("<i8").tobytes() + owner.astype("<i8").tobytes()).digest()


def digest_of(opened: Opening) -> bytes:
    """The hash that an opening belongs to; refuses one that no model can have."""
    try:
        numbers = [[opened.bits, opened.exponent, opened.n_classes], opened.leaves, opened.weights]
        raw = [np.array(one, np.int64).astype("<i8").tobytes() for one in numbers]
        name = opened.model.encode()
    except (OverflowError, UnicodeEncodeError):
        raise _impossible() from None
    if (
        len(opened.trees) != TREES
        or len(opened.salt) != SALT
        or min(opened.leaves, default=1) < 1
        or sum(opened.leaves) != len(opened.weights)
    ):
        raise _impossible()
    if opened.n_classes < 1 or len(opened.leaves) % opened.n_classes:
        raise _impossible()
    made = hashlib.sha256(DOMAIN)
    for part in (opened.salt, name, *raw, opened.trees):
        made.update(len(part).to_bytes(8, "little") + part)
    return made.digest()


def check_opening(kept: Commitment, opened: Opening) -> None:
    """Refuse an opening of other leaf values, another salt or another model than were committed to."""
    if opened.model != kept.model:
        raise PrivacyError("The opened leaf values are of another model than the commitment that this party keeps.")
    if not hmac.compare_digest(digest_of(opened), kept.digest):
        raise PrivacyError(
            "The opened leaf values are not those that the active party committed to when the model was trained; "
            "answer nothing more for this model, and ask why."
        )


def encoded(kept: Commitment | Opening) -> bytes:
    """A commitment or an opening as bytes."""
    return msgspec.json.encode(kept)


def decoded_commitment(content: bytes) -> Commitment:
    """A commitment from bytes; refuses what is none."""
    try:
        found = msgspec.json.decode(content, type=Commitment)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ModelError("This is no commitment to the leaf values of a model, or it is damaged.") from None
    if len(found.digest) != hashlib.sha256().digest_size:
        raise ModelError("This commitment to the leaf values of a model has a hash of a wrong length.")
    return found


def decoded_opening(content: bytes) -> Opening:
    """An opening from bytes; refuses what is none."""
    try:
        return msgspec.json.decode(content, type=Opening)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ModelError("This is no opening of the leaf values of a model, or it is damaged.") from None


def keep_salt(path: Path, model: Model, salt: bytes, bits: int = BITS) -> None:
    """Write the salt of a model's commitment where only its owner can read it."""
    content = msgspec.json.encode(_SaltFile(ownership_of(model).model, bits, salt))
    write_whole(path, content, ModelError, 0o600)


def kept_opening(path: Path, model: Model) -> Opening:
    """The opening of a model's commitment, with the salt that was kept; refuses the salt of another model."""
    try:
        kept = msgspec.json.decode(content_of(path), type=_SaltFile)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ModelError(f"{path} is not the salt of a commitment, or it is damaged.") from None
    if kept.model != ownership_of(model).model:
        raise ModelError(f"{path} has the salt of another model's commitment; name the one beside this model.")
    return opening(model, kept.salt, kept.bits)


def salt_beside(model: Path) -> Path:
    """Where the salt of a model's commitment lies: beside the model's file."""
    return model.with_suffix(".salt")


def _impossible() -> PrivacyError:
    return PrivacyError("The opened leaf values are such as no model has; answer nothing more for this model.")
