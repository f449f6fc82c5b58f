"""Serving files (TOML): which parts of models a passive party answers sealed predictions with, and as whom.

name = "insurer"
cert = "insurer.pem"
key = "insurer.key"
policy = "policy.toml"

[[model]]
run = "credit.toml"
part = "part.json"
data = "customers.csv"
expires = 2027-06-30
"""

import datetime
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hedgerow.errors import ParameterError, RunError
from hedgerow.run.file.section import Section

OWN = ("name", "cert", "key", "policy", "ledger", "folder", "model")
OF_MODEL = ("run", "part", "data", "id", "expires", "withdrawn")


@dataclass(frozen=True)
class ServedModel:
    """One part of a model, and the rows that it answers about."""

    run: Path
    part: Path
    data: Path
    id: str | None = None
    expires: datetime.date | None = None
    """The last day on which it answers."""
    withdrawn: bool = False

    def refusal(self, today: datetime.date) -> str:
        """Why it does not answer, in a sentence; empty if it does."""
        if self.withdrawn:
            return "The owner of this part has withdrawn the model; ask the owner."
        if self.expires is not None and today > self.expires:
            return f"The owner lets this model be used until {self.expires}; ask the owner for longer."
        return ""


@dataclass(frozen=True)
class Serving:
    """A passive party, and the parts that it answers with."""

    name: str
    cert: Path
    key: Path
    models: tuple[ServedModel, ...]
    policy: Path | None = None
    ledger: Path | None = None
    folder: Path | None = None


def read_serving(path: Path) -> Serving:
    """A serving file; one that cannot be used is refused in a sentence."""
    try:
        given = tomllib.loads(path.read_bytes().decode())
    except OSError as error:
        raise RunError(f"Cannot read the serving file {path}: {error.strerror or error}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RunError(f"The serving file {path} is not TOML: {error}.") from None
    try:
        return _serving(given, path.parent)
    except ParameterError as error:
        raise ParameterError(f"{path}: {error}") from None


def _serving(given: Mapping[str, Any], folder: Path) -> Serving:
    top = Section("The file", given, OWN, folder)
    models = given.get("model", [])
    if not isinstance(models, list) or not models:
        raise ParameterError("The file names no model; add a [[model]] section with run, part and data.")
    return Serving(
        top.name("name"),
        _needed(top, "cert"),
        _needed(top, "key"),
        tuple(_model(Section("[[model]]", one, OF_MODEL, folder)) for one in models),
        top.path("policy"),
        top.path("ledger"),
        top.path("folder"),
    )


def _model(own: Section) -> ServedModel:
    expires = own.given.get("expires")
    if expires is not None and (not isinstance(expires, datetime.date) or isinstance(expires, datetime.datetime)):
        raise own.wrong("expires", f"must be a date without quotes, like 2027-06-30; it is {expires!r}.")
    run, part, data = (_needed(own, key) for key in ("run", "part", "data"))
    return ServedModel(run, part, data, own.text("id"), expires, own.flag("withdrawn"))


def _needed(own: Section, key: str) -> Path:
    found = own.path(key)
    if found is None:
        raise ParameterError(f'{own.title} lacks {key}; add a line like {key} = "FILE".')
    return found
