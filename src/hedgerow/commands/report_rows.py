"""Rows that `hedgerow report` is given: curves are drawn of them, and some get reasons."""

from dataclasses import replace
from pathlib import Path

from hedgerow.commands.explain_rows import rows_of
from hedgerow.commands.option_names import in_options
from hedgerow.commands.print_tables import note
from hedgerow.commands.read_tables import Roles, label_of, read_like
from hedgerow.errors import ModelError, ParameterError
from hedgerow.model.model import Model
from hedgerow.report.explain import explain_model
from hedgerow.report.explain_reasons import Reasons, shap_reasons
from hedgerow.report.page.gather import Given


def with_rows(given: Given, model: Model | None, data: str, roles: Roles, label: str | None, rows: str | None) -> Given:
    """With labelled rows where the model is whole, and with reasons of some of them."""
    if model is None:
        raise ModelError("There is no model here to look at these rows with; leave out --data.")
    own = model.ownership
    if own is None or not own.units:
        given = replace(given, reasons=_reasons(given, model, data, roles, rows))
    if own is not None and not own.whole:
        note("Where others cut is not in this model, so its rows get reasons of own columns only, and no curves.")
        return given
    labelled = replace(roles, label=label_of(data, label, model.label))
    table = read_like(data, model.columns, labelled)
    for sentence in table.remarks:
        note(in_options(sentence))
    if table.labels is None:
        raise ParameterError(f"{data} has no labels to compare predictions with; name their column with --label.")
    return replace(given, table=table, rows=Path(data).name)


def _reasons(given: Given, model: Model, data: str, roles: Roles, rows: str | None) -> Reasons:
    chosen, names = rows_of(model, data, roles, rows)
    uses = explain_model(model, given.told).uses
    return shap_reasons(model, chosen, names, uses, given.threads)
