"""Models of several active parties whose predictions count alike: the mean of them, or a vote.

A bag's file has the files of its models in it:

{"hedgerow bag": 1, "sha256": "<of the bytes of body>", "body": {"vote": false, "models": {"<active party>": {...}}}}
"""

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from hedgerow.data.table import Column, Table
from hedgerow.errors import DataError, ModelError
from hedgerow.model import file as files
from hedgerow.model.model import Absent, ClassLabel, Model
from hedgerow.model.part import ownership_of
from hedgerow.trees.forest import ImportanceKind

VERSION = 1
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Bag:
    """One model of each active party; in one process each predicts by itself, between parties all ask at once."""

    models: Mapping[str, Model]
    """By the active party that trained it."""
    vote: bool = False
    """Whether each model has a vote for a class; else probabilities, or numbers, are averaged."""

    def __post_init__(self) -> None:
        kinds = {bool(model.classes) for model in self.models.values()}
        if not kinds:
            raise ModelError("A bag without any model predicts nothing; give at least one.")
        if len(kinds) > 1:
            raise ModelError("Some of the models predict classes and others numbers; a bag has models of one kind.")
        if self.vote and kinds == {False}:
            raise ModelError("Models of numbers have no votes; leave vote out, and their predictions are averaged.")
        for name, model in self.models.items():
            if (whose := ownership_of(model).active) != name:
                raise ModelError(f"The model given for {name!r} is that of {whose!r}; name it by its active party.")
        self._check_columns()

    def _check_columns(self) -> None:
        first, *others = self.models
        known = _own_kinds(self.models[first])
        for name in others:
            odd = sorted(set(known.items()) ^ set(_own_kinds(self.models[name]).items()))
            if odd:
                raise ModelError(
                    f"The active parties' own column {odd[0][0]!r} is not the same in the models of {first!r} and "
                    f"{name!r}; a bag has models of the same columns."
                )

    @cached_property
    def classes(self) -> tuple[ClassLabel, ...]:
        """Those of all models, in order; a model that knows none of a class gives it no probability."""
        known = [model.classes for model in self.models.values()]
        if len(set(known)) == 1:
            return known[0]
        if len({isinstance(one, str) for classes in known for one in classes}) > 1:
            raise ModelError("The classes are text in one model and numbers in another; label rows alike everywhere.")
        return tuple(sorted({one for classes in known for one in classes}))

    @property
    def absent(self) -> Absent:
        """What an entry that a sparse table did not store meant."""
        return next(iter(self.models.values())).absent

    @property
    def label(self) -> str | None:
        """The label's column, where it had a name."""
        return next(iter(self.models.values())).label

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of all models."""
        return tuple(dict.fromkeys(name for model in self.models.values() for name in model.names))

    def predict(self, table: Table, threads: int = 1) -> Floats:
        """Expected numbers, or for each class its mean probability or share of the votes (rows x classes)."""
        return self.of_each(self.each(table, threads))

    def predict_labels(self, table: Table, threads: int = 1) -> NDArray[np.generic]:
        """Likeliest classes, or those with most votes; or expected numbers."""
        return self.labels_of_each(self.each(table, threads))

    def each(self, table: Table, threads: int = 1) -> list[Floats]:
        """What each model predicts from a table with the columns of all parties."""
        if not isinstance(table, Table):
            raise DataError(f"A bag predicts from a Table, not from a {type(table).__name__}; make one with Table.of.")
        return [model.predict(table, threads) for model in self.models.values()]

    def of_each(self, predicted: Sequence[Floats]) -> Floats:
        """One prediction from those of the models, in their order."""
        spread = self._spread(predicted)
        mean: Floats = np.mean(spread, axis=0)
        return self._votes(spread) if self.vote else mean

    def of_one(self, name: str, predicted: Floats) -> Floats:
        """One model's prediction, with the classes of all."""
        if not self.classes:
            return predicted
        out = np.zeros((len(predicted), len(self.classes)))
        out[:, [self.classes.index(one) for one in self.models[name].classes]] = predicted
        return out

    def labels_of_each(self, predicted: Sequence[Floats]) -> NDArray[np.generic]:
        """Likeliest classes, or those with most votes and among these the likeliest; or numbers as they are."""
        spread = self._spread(predicted)
        mean: Floats = np.mean(spread, axis=0)
        if not self.classes:
            return mean
        if self.vote:
            votes = self._votes(spread)
            mean = np.where(votes == votes.max(axis=1, keepdims=True), mean, -1.0)
        labels: NDArray[np.generic] = np.array(self.classes)[mean.argmax(axis=1)]
        return labels

    def _spread(self, predicted: Sequence[Floats]) -> Floats:
        """The models' predictions (models x rows, or models x rows x classes), with all models' classes."""
        each = [self.of_one(name, own) for name, own in zip(self.models, predicted, strict=True)]
        return np.stack(each)

    def _votes(self, spread: Floats) -> Floats:
        """The share of models for which each class is the likeliest."""
        likeliest = spread.argmax(axis=2)[:, :, None] == np.arange(len(self.classes))
        votes: Floats = likeliest.mean(axis=0)
        return votes

    def importances(self, kind: ImportanceKind = "gain") -> dict[str, float]:
        """Each column's mean share of the models' gain, cuts or cover, largest first."""
        shares = dict.fromkeys(self.names, 0.0)
        for model in self.models.values():
            for name, share in model.importances(kind).items():
                shares[name] += share / len(self.models)
        return dict(sorted(shares.items(), key=lambda item: -item[1]))


def own_columns(model: Model) -> tuple[Column, ...]:
    """The active party's own columns."""
    first, last = ownership_of(model).span(ownership_of(model).active)
    return model.columns[first:last]


def _own_kinds(model: Model) -> dict[str, str]:
    return {column.name: column.kind for column in own_columns(model)}


class _File(msgspec.Struct):
    version: int = msgspec.field(name="hedgerow bag")
    sha256: str
    body: msgspec.Raw


class _Body(msgspec.Struct, forbid_unknown_fields=True):
    vote: bool
    models: dict[str, msgspec.Raw]


def save_bag(bag: Bag, path: str | os.PathLike[str]) -> None:
    """Write all models into one file, which appears whole or not at all."""
    files.write_whole(Path(path), encoded(bag))


def save_any(model: Model | Bag, path: str | os.PathLike[str]) -> None:
    """Write a model or a bag."""
    save_bag(model, path) if isinstance(model, Bag) else files.save(model, path)


def encoded(bag: Bag) -> bytes:
    """The content of a bag's file."""
    models = {name: msgspec.Raw(files.encoded(model)) for name, model in bag.models.items()}
    body = msgspec.json.encode(_Body(bag.vote, models))
    return msgspec.json.encode(_File(VERSION, hashlib.sha256(body).hexdigest(), msgspec.Raw(body)))


def load_bag(path: str | os.PathLike[str]) -> Bag:
    """Read a bag; a damaged file, or one of another version, is refused."""
    return decoded(files.content_of(Path(path)), str(path))


def decoded(content: bytes, path: str) -> Bag:
    """A bag from the content of its file; `path` is how errors call it."""
    try:
        file = msgspec.json.decode(content, type=_File)
        if file.version != VERSION:
            raise ModelError(f"{path} is a bag of version {file.version}; this hedgerow reads version {VERSION}.")
        if hashlib.sha256(bytes(file.body)).hexdigest() != file.sha256:
            raise ModelError(f"{path} was changed or damaged after it was written: its hash does not fit.")
        body = msgspec.json.decode(file.body, type=_Body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ModelError(f"{path} is no bag of hedgerow models, or it is damaged.") from None
    return Bag({name: files.decoded(bytes(raw), f"{path} ({name})") for name, raw in body.models.items()}, body.vote)


def load_any(path: str | os.PathLike[str]) -> Model | Bag:
    """A model or a bag, whichever the file is."""
    content = files.content_of(Path(path))
    return decoded(content, str(path)) if files.is_bag(content) else files.decoded(content, str(path))
