"""From the words of the command line to tables: files, and the data sets that come along."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hedgerow.data.builtin import BUILTIN, BUILTIN_LABEL, read_builtin
from hedgerow.data.read import LIBSVM, read_table
from hedgerow.data.table import Column, Table
from hedgerow.errors import DataError, ParameterError, Sentence


@dataclass(frozen=True)
class Roles:
    """What the columns of a file are for, those not named being features; and how it is written, if that is said."""

    label: str | None = None
    id: str | None = None
    weight: str | None = None
    absent: str = "missing"
    ignore: tuple[str, ...] = ()
    delimiter: str | None = None
    decimal: str | None = None
    repeated_ids: bool = False

    @property
    def instead(self) -> str:
        """What to do about a column that looks like an id."""
        return "Use --ignore {}." if self.id is not None else "Use --id {0}, or --ignore {0}."


def read_labelled(data: str, roles: Roles, categorical: Sequence[str] = ()) -> Table:
    """A table to learn from; refuses one without labels."""
    if data.startswith(BUILTIN):
        return _builtin(data, roles, categorical)
    if roles.label is None and not _is_libsvm(data):
        raise ParameterError(f"{data} needs a label; name its column with --label.")
    return _read(data, roles, categorical, lenient=False)


def read_like(data: str, columns: Sequence[Column], roles: Roles) -> Table:
    """A table with these columns, in their order and with their categories, whatever else its file holds."""
    categorical = [column.name for column in columns if column.kind == "categorical"]
    _check_free(roles, columns)
    try:
        if data.startswith(BUILTIN):
            return _builtin(data, roles).aligned(columns)
        if _is_libsvm(data):
            places = [j for j, column in enumerate(columns) if column.kind == "categorical"]
            return _read(data, roles, places, n_columns=len(columns)).aligned(columns)
        return _read_file_like(data, columns, roles, categorical)
    except DataError as error:
        raise DataError(Sentence("" if data in error.sentence else f"{data}: ", error.sentence)) from None


def _check_free(roles: Roles, columns: Sequence[Column]) -> None:
    """A column that the model looks at cannot also be the label, the id or the weight, nor be ignored."""
    ignored = [("ignore", name) for name in roles.ignore]
    for option, name in (("label", roles.label), ("id", roles.id), ("weight", roles.weight), *ignored):
        if name is not None and name in (column.name for column in columns):
            raise ParameterError(f"--{option} {name} is a column from which the model predicts; name another.")


def _read_file_like(data: str, columns: Sequence[Column], roles: Roles, categorical: list[str]) -> Table:
    try:
        table = _read(data, roles, categorical)
    except DataError:
        # A categorical column that is not there is lacking, which `aligned` says better.
        plain = _read_or_none(data, roles)
        if plain is None or set(categorical) <= set(plain.names):
            raise
        table = plain
    return table.aligned(columns)


def _read_or_none(data: str, roles: Roles) -> Table | None:
    with suppress(DataError):
        return _read(data, roles)
    return None


def _read(
    data: str,
    roles: Roles,
    categorical: Sequence[str | int] = (),
    n_columns: int | None = None,
    lenient: bool = True,
) -> Table:
    return read_table(
        data, label=roles.label, id_column=roles.id, weight=roles.weight, categorical=categorical, absent=roles.absent,
        n_columns=n_columns, delimiter=roles.delimiter, decimal=roles.decimal, ignore=roles.ignore, lenient=lenient,
        repeated_ids=roles.repeated_ids,
    )  # fmt: skip


def label_of(data: str, given: str | None, known: str | None) -> str | None:
    """The label's column: the one given, or the model's where the file does not say itself."""
    itself = data.startswith(BUILTIN) or _is_libsvm(data)
    return given if given is not None or itself else known


def _is_libsvm(data: str) -> bool:
    return Path(data.lower().removesuffix(".gz")).suffix.removeprefix(".") in LIBSVM


def _builtin(data: str, roles: Roles, categorical: Sequence[str] = ()) -> Table:
    table = read_builtin(data, categorical)
    if roles.label not in (None, BUILTIN_LABEL) or roles.id is not None or roles.weight is not None:
        raise ParameterError(f"{data} has its own label, {BUILTIN_LABEL!r}; leave out --label, --id and --weight.")
    if roles.ignore or roles.delimiter is not None or roles.decimal is not None:
        raise ParameterError(f"{data} is no file; leave out --ignore, --delimiter and --decimal.")
    return table
