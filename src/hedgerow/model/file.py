"""Model files: JSON with a version and a hash, read back only if every index, size and number in it makes sense.

{"hedgerow": 1, "sha256": "<of the bytes of body>", "body": {...}}
"""

import hashlib
import os
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from hedgerow.data.table import Column
from hedgerow.errors import HedgerowError, ModelError
from hedgerow.model.model import Absent, ClassLabel, Model, Ownership
from hedgerow.privacy.promise import Promise
from hedgerow.storage import atomic
from hedgerow.trees.bins import MOST_BINS
from hedgerow.trees.forest import Forest
from hedgerow.trees.losses import Loss
from hedgerow.trees.params import TreeParams

VERSION = 1
MOST_BYTES = 4 << 30
FOREST_KINDS = {
    "columns": np.int32, "thresholds": np.float32, "missing_left": np.bool_, "children": np.int32, "sets": np.int32,
    "values": np.float32, "gains": np.float64, "covers": np.float32, "roots": np.int64,
}  # fmt: skip


class _File(msgspec.Struct):
    hedgerow: int
    sha256: str
    body: msgspec.Raw


class _Forest(msgspec.Struct, forbid_unknown_fields=True):
    columns: list[int]
    thresholds: list[float]
    missing_left: list[bool]
    children: list[int]
    sets: list[int]
    category_sets: list[list[int]]
    values: list[float]
    gains: list[float]
    covers: list[float]
    roots: list[int]


class _Body(msgspec.Struct, forbid_unknown_fields=True):
    columns: list[Column]
    loss: Loss
    base_score: float
    params: TreeParams
    classes: list[ClassLabel]
    label: str | None
    absent: Absent
    history: list[float]
    metric: str | None
    forest: _Forest
    ownership: Ownership | None = None
    promise: Promise | None = None


def save(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model; the file appears whole or not at all. What `load_model` would refuse is refused here."""
    write_whole(Path(path), encoded(model))


def encoded(model: Model) -> bytes:
    """The content of a model file."""
    check_model(model)
    forest = {f.name: getattr(model.forest, f.name).tolist() for f in fields(Forest)}
    body = {
        "columns": [asdict(c) for c in model.columns],
        "loss": asdict(model.loss),
        "base_score": model.base_score,
        "params": asdict(model.params),
        "classes": list(model.classes),
        "label": model.label,
        "absent": model.absent,
        "history": list(model.history),
        "metric": model.metric,
        "forest": forest,
        **({} if model.ownership is None else {"ownership": _ownership(model.ownership)}),
        **({} if model.promise is None else {"promise": asdict(model.promise)}),
    }
    raw = msgspec.json.encode(body)
    whole = _File(VERSION, hashlib.sha256(raw).hexdigest(), msgspec.Raw(raw))
    return msgspec.json.encode(whole)


def _ownership(own: Ownership) -> dict[str, Any]:
    """As it was written before parties could have the same columns or subtrees of their own, where none have."""
    return {name: value for name, value in asdict(own).items() if value or name not in ("groups", "units")}


def write_whole(path: Path, content: bytes) -> None:
    """Write a file; it appears whole or not at all."""
    atomic.write_whole(path, content, ModelError)


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read a model; a damaged file, or one of another version, is refused."""
    path = Path(path)
    return decoded(content_of(path), str(path))


PART_BEGINS = b'{"hedgerow part"'
"""The file of a passive party's part (`model.part`)."""


def content_of(path: Path) -> bytes:
    """What is in the file of a model, or of a part of one."""
    if path.is_dir():
        raise ModelError(f"{path} is a folder; name the file in it, such as {path / 'model.json'}.")
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ModelError(f"{path} is larger than any model hedgerow writes ({MOST_BYTES >> 30} GiB).")
        return path.read_bytes()
    except OSError as error:
        raise ModelError(f"Cannot read the model {path}: {error.strerror or error}.") from None


def decoded(content: bytes, path: str) -> Model:
    """A model from the content of a file; `path` is how errors call it."""
    try:
        file = msgspec.json.decode(content, type=_File)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        if is_bag(content):
            raise ModelError(f"{path} is a bag of several models; read it with load_bag.") from None
        if content.lstrip()[:20].startswith(PART_BEGINS):
            raise ModelError(f"{path} is a passive party's part of a model; the active party has the model.") from None
        raise ModelError(f"{path} is not a hedgerow model, or it is damaged.") from None
    if file.hedgerow != VERSION:
        raise ModelError(f"{path} is a model of version {file.hedgerow}; this hedgerow reads version {VERSION}.")
    if hashlib.sha256(bytes(file.body)).hexdigest() != file.sha256:
        raise ModelError(f"{path} was changed or damaged after it was written: its hash does not fit.")
    try:
        return _model(msgspec.json.decode(file.body, type=_Body))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, HedgerowError, OverflowError) as error:
        raise ModelError(f"{path} is not a model that can be used: {error}") from None


def is_bag(content: bytes) -> bool:
    """Whether this is the content of a bag's file (`model.bag`), whole or damaged, and not of a model's."""
    return content.lstrip()[:20].startswith(b'{"hedgerow bag"')


def _model(body: _Body) -> Model:
    model = Model(
        _forest(body.forest),
        tuple(body.columns),
        body.loss,
        body.base_score,
        body.params,
        tuple(body.classes),
        label=body.label,
        absent=body.absent,
        history=tuple(body.history),
        metric=body.metric,
        ownership=body.ownership,
        promise=body.promise,
    )
    check_model(model)
    return model


def check_model(model: Model) -> None:
    """Refuse a model whose parts do not fit each other."""
    check_forest(model.forest, list(model.columns))
    if not np.isfinite([model.base_score, *model.history]).all():
        raise ModelError("a score is not finite")
    if len(set(model.names)) != len(model.names):
        raise ModelError("two columns have one name")
    if any(len(set(c.categories)) != len(c.categories) or len(c.categories) > MOST_BINS for c in model.columns):
        raise ModelError("a column has a category twice, or too many categories")
    wanted = {"logistic": {2}, "squared": {0, 2} if model.params.average else {0}}
    many = {model.loss.n_classes} if model.loss.n_classes > 1 else {0}
    if len(model.classes) not in wanted.get(model.loss.name, many):
        raise ModelError("the classes do not fit the loss")
    _check_ownership(model)
    if len(model.params.monotone_constraints) not in (0, len(model.columns)):
        raise ModelError("the monotone constraints do not fit the columns")


def _check_ownership(model: Model) -> None:
    own = model.ownership
    if own is None:
        return
    numbers = [n for _, n in own.columns]
    alone = {party for party, _ in own.columns} - {own.active}
    if own.active not in own.parties or len(set(own.parties)) != len(own.parties):
        raise ModelError("its parties are not as they can be")
    if any(len(group) < 2 or group[0] not in alone for group in own.groups):
        raise ModelError("its parties are not as they can be")
    dealt, passive = sorted(name for unit in own.units for name in unit), sorted({*own.parties} - {own.active})
    if own.units and (dealt != passive or not dict(own.columns).get(own.active)):
        raise ModelError("its parties are not as they can be")
    if min(numbers) < 0 or sum(numbers) != len(model.columns):
        raise ModelError("the columns of its parties are not those of the model")


def _forest(flat: _Forest) -> Forest:
    arrays: dict[str, NDArray[Any]] = {}
    for name, kind in FOREST_KINDS.items():
        wide = np.array(getattr(flat, name), np.float64 if np.issubdtype(kind, np.floating) else np.int64)
        with np.errstate(over="ignore"):
            arrays[name] = wide.astype(kind)
        if not np.issubdtype(kind, np.floating) and not np.array_equal(arrays[name], wide):
            raise ModelError(f"a number in {name!r} is out of range")
    sets = flat.category_sets
    if any(len(s) != 4 for s in sets):
        raise ModelError("a set of categories has a wrong size")
    return Forest(**arrays, category_sets=np.array(sets, np.uint64).reshape(-1, 4))


def check_forest(forest: Forest, columns: list[Column]) -> None:
    """Refuse a forest in which a walk could leave its tree, never end, or meet what is not a number."""
    n = len(forest.columns)
    per_node = [f.name for f in fields(Forest) if f.name not in ("category_sets", "roots")]
    if any(len(getattr(forest, name)) != n for name in per_node):
        raise ModelError("the arrays of the forest differ in length")
    roots = forest.roots
    if len(roots) == 0 or roots[0] != 0 or roots[-1] != n or (np.diff(roots) < 1).any():
        raise ModelError("the trees do not follow each other")
    for name in ("thresholds", "values", "gains", "covers"):
        if not np.isfinite(getattr(forest, name)).all():
            raise ModelError(f"a number in {name!r} is not finite")
    cut = np.flatnonzero(forest.columns >= 0)
    child = forest.children[cut].astype(np.int64)
    ends = roots[1:][np.searchsorted(roots, cut, side="right") - 1]
    if (forest.columns < -1).any() or (forest.columns >= len(columns)).any():
        raise ModelError("a node names a column that is not there")
    if (child <= cut).any() or (child + 1 >= ends).any():
        raise ModelError("a node's child is not behind it in its tree")
    parents = np.bincount(np.concatenate([child, child + 1]), minlength=n)
    parents[roots[:-1]] += 1
    if (parents != 1).any():
        raise ModelError("a node has no parent, or more than one")
    categorical = np.array([c.kind == "categorical" for c in columns], np.bool_)
    by_set = forest.sets[cut] >= 0
    if (forest.sets < -1).any() or (forest.sets >= len(forest.category_sets)).any():
        raise ModelError("a node names a set of categories that is not there")
    if not np.array_equal(by_set, categorical[forest.columns[cut]]):
        raise ModelError("a cut does not fit the kind of its column")
