"""Tables as pandas frames; the only file that imports pandas."""

from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import DataError, MissingExtra

if TYPE_CHECKING:
    import pandas as pd

    from hedgerow.data.table import Table


def to_pandas(table: "Table", label: str = "label", weight: str = "weight", id_: str = "id") -> "pd.DataFrame":
    """Columns as they were named, categories as such; labels, weights and ids in columns of these names, if any."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtra(
            "A frame needs pandas, which is not installed; run: pip install 'hedgerow[pandas]'"
        ) from None
    beside = {id_: table.ids, label: table.labels, weight: table.weights}
    found: dict[str, Any] = {name: part for name, part in beside.items() if part is not None}
    clash = next((name for name in found if name in table.names), None)
    if clash is not None:
        raise DataError(
            f"The table has a column {clash!r} already; give another name for what stands beside the columns."
        )
    values = table.values if isinstance(table.values, np.ndarray) else _filled(table)
    for i, column in enumerate(table.columns):
        cells = values[:, i]
        if column.kind == "categorical":
            codes = np.where(np.isnan(cells), -1, np.nan_to_num(cells)).astype(np.int64)
            categories = pd.Index(list(column.categories))
            found[column.name] = pd.Categorical.from_codes(codes, categories)
        else:
            found[column.name] = cells
    order = [name for name in (id_,) if name in found] + list(table.names)
    order += [name for name in (label, weight) if name in found]
    return pd.DataFrame({name: found[name] for name in order})


def _filled(table: "Table") -> Any:
    """A sparse table's cells; what it does not store is what it means by that."""
    values: Any = table.values
    out, cells = np.full(values.shape, table.absent, np.float32), values.tocoo()
    out[cells.row, cells.col] = cells.data
    return out
