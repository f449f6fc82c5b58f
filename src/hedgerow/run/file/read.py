"""Run files: TOML, or FedTree's `key=value`, read into the same description of a run."""

import re
import tomllib
from pathlib import Path

from hedgerow.errors import ParameterError, RunError
from hedgerow.run.file.description import RunFile, run_of
from hedgerow.run.file.fedtree import read_conf
from hedgerow.run.file.fedtree_keys import file_text
from hedgerow.run.file.options import DataOptions, DriverOptions, PartitionOptions, PartyEntry
from hedgerow.run.file.section import Source

__all__ = [
    "DataOptions", "DriverOptions", "PartitionOptions", "PartyEntry", "RunFile", "Source",
    "open_run", "read_run_file",
]  # fmt: skip


def open_run(path: Path, files: bool = False) -> RunFile:
    """A run file in TOML, or FedTree's (.conf); with `files`, the data of a simulation must be there."""
    if path.suffix.lower() == ".conf":
        run = read_conf(path)
    elif path.suffix.lower() == ".toml":
        run = read_run_file(path)
    else:
        raise RunError(f"{path} is no run file; its name must end in .toml, or in .conf for a file of FedTree's.")
    if files:
        run.check_files()
    return run


def read_run_file(path: Path) -> RunFile:
    """A run file in TOML."""
    text = file_text(path)
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RunError(f"{path} is not TOML: {_reason(str(error), text)}; correct it there.") from None
    except (RecursionError, ValueError):
        raise RunError(f"{path} is not TOML that can be read; values are nested too deep or too long.") from None
    try:
        return run_of(tables, path, path.parent)
    except (ParameterError, RunError) as error:
        raise type(error)(f"{path}: {error}") from None


def _reason(said: str, text: str) -> str:
    """What is wrong and at which line, from what the parser said."""
    found = re.search(r"^(.*?) \(at (?:line (\d+), column (\d+)|end of document)\)$", said, re.DOTALL)
    if found is None:
        return said.rstrip(".")
    what = found[1][:1].lower() + found[1][1:]
    return f"{what} in line {found[2] or len(text.splitlines())}"
