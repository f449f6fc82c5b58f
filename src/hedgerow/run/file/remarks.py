"""What a party's user should know of a file to learn from, in the run file's words."""

from hedgerow.data.id_columns import asked_about
from hedgerow.data.table import Table
from hedgerow.errors import DataError
from hedgerow.run.file.options import DataOptions
from hedgerow.run.file.section import Source
from hedgerow.run.file.source import in_keys

NO_ID = 'Set [data] id = "{0}", or ignore = ["{0}"].'
OTHER_ID = 'Set [data] ignore = ["{}"].'


def remark(table: Table, options: DataOptions, source: Source, notes: list[str]) -> None:
    """Add to the notes how the file was read and which columns look like ids; refuse text that does.

    The categories of a horizontal run are told to all parties: ids among them would be too.
    """
    try:
        asked = asked_about(table, options.categorical, NO_ID if options.id is None else OTHER_ID)
    except DataError as error:
        raise DataError(f"{source}: {in_keys(error.sentence)}") from None
    notes += [said for sentence in (*table.remarks, *asked) if (said := in_keys(sentence)) not in notes]
