"""`hedgerow plan`: who will see what in a run, and what it will cost, before anything runs."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from hedgerow.agreement.plan import Member, Plan
from hedgerow.commands.print_tables import note, print_grid
from hedgerow.data.table import Table
from hedgerow.errors import ParameterError
from hedgerow.protocols import dropped_columns
from hedgerow.run.file.read import RunFile, open_run
from hedgerow.run.file.tables import party_tables
from hedgerow.run.forecast.cost import BITS_PER_SECOND, SECONDS_PER_TRIP, Cost, Shape, cost
from hedgerow.run.forecast.disclosures import leaks, sights
from hedgerow.threads import threads_of

MOST_READ = 50 << 20
FULL = "full trees, so an upper estimate"
GROWN = "trees as large as some grown of it here"

LINK = (
    "Links are measured when the parties meet, before they sign; here ciphertexts are laid out as for "
    f"{BITS_PER_SECOND / 1e6:g} Mbit/s. [privacy] link_mbit names a speed instead."
)
TO_PREDICT = (
    "Between real parties, each active one drives a run of its own. To score rows by another's model it must be given "
    "that one's part: where its columns are cut, and leaf values, which tell averages of its labels (hedgerow share)."
)

Run = Annotated[Path, typer.Argument(help="Run file in TOML, or one of FedTree's (.conf).", show_default=False)]
Columns = Annotated[
    int | None,
    typer.Option(
        min=1, help="Number of columns, where the data is not at hand or larger than 50 MB.", show_default=False
    ),
]


Rows = Annotated[
    int | None,
    typer.Option(min=1, help="Number of rows of a vertical run, where the data is not at hand.", show_default=False),
]


def plan(run: Run, columns: Columns = None, rows: Rows = None) -> None:
    """Show who will see what in a run, and its cost in bytes and seconds, before anything runs."""
    described = open_run(run)
    for one in described.each:
        if described.actives:
            typer.echo(f"The run of {one.active}, with every passive party that has some of its rows:\n")
        _show(one, columns, rows)
        typer.echo("\n" * bool(described.actives), nl=False)
    if described.actives:
        typer.echo(TO_PREDICT)


def _show(described: RunFile, columns: int | None, rows: int | None) -> None:
    agreed, is_real = _plan(described)
    shape, source = _shape(described, agreed, columns, rows)
    told = described.disclosed()
    for sentence in described.notes:
        if sentence not in told:
            note(sentence)
    print_grid(["who", "message", "how", "what"], sights(agreed), n_names=4)
    typer.echo(f"\nWhat is {'promised' if agreed.method.promises_dp else 'still disclosed'}:")
    for sentence in [*told, *leaks(agreed)]:
        typer.echo(f"- {sentence}")
    typer.echo()
    _print_cost(cost(agreed, shape))
    sizes = FULL if shape.trees is None else GROWN
    typer.echo(f"\nReckoned with {source}; {sizes}; {BITS_PER_SECOND / 1e6:g} Mbit/s at the driver, which carries "
               f"all parties' bytes; {SECONDS_PER_TRIP * 1000:g} ms a round trip; computing comes on top.")  # fmt: skip
    if agreed.measures:
        typer.echo(LINK)
    if is_real:
        typer.echo(f"plan: sha256:{agreed.digest.hex()}")
    else:
        typer.echo("plan: known when the run starts, because a simulation makes its parties' certificates then")


def _plan(run: RunFile) -> tuple[Plan, bool]:
    """The plan, and whether it is that of real parties; else names stand for the certificates."""
    if run.driver is not None:
        return run.real_plan(), True
    return run.plan(tuple(Member(name, name) for name in run.names)), False


def _shape(run: RunFile, agreed: Plan, columns: int | None, rows: int | None) -> tuple[Shape, str]:
    """The shape of the data, and where it is known from."""
    if rows is not None and (columns is None or not agreed.active):
        raise ParameterError("--rows goes with --columns, the columns of a passive party, in a vertical run.")
    if columns is not None:
        told = f"{columns} columns, every bin used, and two classes"
        shown = f"{rows} rows, {told}; {agreed.method.protection} encryption" if agreed.active else told
        return Shape.wide(columns, agreed.params.max_bin, rows), shown
    sources = [run.partition.data] if run.partition is not None else [entry.data for entry in run.parties]
    files = [source for source in sources if isinstance(source, Path)]
    if any(source is None for source in sources):
        raise ParameterError("The data of the parties is not in the run file; say how wide it is with --columns.")
    run.check_files()
    if sum(file.stat().st_size for file in files) > MOST_READ:
        raise ParameterError(
            "The data is larger than 50 MB and is not read for this; say how wide it is with --columns."
        )
    tables = party_tables(run).training
    if agreed.active:
        shape = Shape.by_columns(tables, agreed, threads_of(None))
        which = "rows" if not agreed.method.aligns else f"common rows of {shape.n_ids} of the mean party"
        if agreed.method.links:
            which = f"linked rows of the mean passive party, {shape.n_ids} ids of {agreed.active}"
        return shape, f"the data at hand: {shape.n_rows} {which}, {shape.columns} columns of the mean passive party"
    _note_left_out(agreed, tables)
    shape = Shape.of(list(tables.values()), agreed, threads_of(None))
    return shape, f"the data at hand: {shape.n_rows} rows, {shape.columns} columns, {shape.n_bins} bins"


def _note_left_out(agreed: Plan, tables: Mapping[str, Table]) -> None:
    """Columns that not all parties have; names only where the run tells them to the driver."""
    names = {party: table.names for party, table in tables.items()}
    lacking, sizes = dropped_columns.left_out(names), {party: len(own) for party, own in names.items()}
    common = len({name for own in names.values() for name in own}) - len(lacking)
    if lacking and not agreed.method.all_columns:
        is_open = not agreed.method.private_names
        note(dropped_columns.told_driver(names) if is_open else dropped_columns.counted(sizes, common))
        dropped_columns.check_enough(agreed, sizes, common, lacking if is_open else ())


def _print_cost(reckoned: Cost) -> None:
    times: Counter[str] = Counter()
    n_bytes: Counter[str] = Counter()
    for line in reckoned.lines:
        times[line.message] += line.times
        n_bytes[line.message] += round(line.n_bytes)
    rows = [[message, f"{times[message]:,}", f"{n_bytes[message]:,}"] for message in times]
    print_grid(["message", "times", "bytes for each party"], rows)
    parties = f"{reckoned.n_parties} part{'y' if reckoned.n_parties == 1 else 'ies'}"
    typer.echo()
    print_grid(
        ["", ""],
        [
            ["each party", f"{_size(reckoned.per_party)}"],
            [f"all {parties}", f"{_size(reckoned.total)}"],
            ["round trips", f"{reckoned.trips:,}"],
            ["seconds on the way", f"{reckoned.seconds:,.1f}"],
        ],
    )


def _size(n_bytes: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if n_bytes < 1000 or unit == "GB":
            return f"{n_bytes:,.0f} {unit}" if unit == "bytes" else f"{n_bytes:,.1f} {unit}"
        n_bytes /= 1000
    return ""
