"""How Sphinx builds these pages; lists of parameters and options are filled in from the code itself."""

import inspect
import typing
from enum import EnumType
from pathlib import Path
from typing import Any

from typer.models import OptionInfo

import hedgerow
from hedgerow import ForestClassifier, GBDTClassifier, GBDTRegressor, cli
from hedgerow.messages import disclosures
from hedgerow.trees.params import LIMITS

project = "hedgerow"
author = "the hedgerow authors"
copyright = author
version = release = hedgerow.__version__
language = "en-GB"

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"hedgerow {release}"
html_static_path = ["_static"]
html_css_files = ["fold.css"]
myst_heading_anchors = 3
smartquotes = False  # they turn the dashes of options into other dashes
default_role = "code"  # docstrings write `name` for code
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_inherit_docstrings = False
python_use_unqualified_type_names = True

MEANINGS = {
    "n_estimators": "rounds of trees; one tree a round, or one for each of three or more classes",
    "max_depth": "cuts on the way from the root to a leaf",
    "learning_rate": "what leaves are multiplied by",
    "reg_lambda": "added to the sum of hessians in a leaf's value and in the gain (L2)",
    "reg_alpha": "by how much a sum of gradients is drawn towards 0 (L1)",
    "gamma": "least gain of a cut",
    "min_child_weight": "least sum of hessians in a child",
    "max_bin": "bins of a numeric column",
    "subsample": "share of the rows drawn for each round, without replacement",
    "colsample_bytree": "share of the columns drawn for each tree",
    "colsample_bynode": "share of the tree's columns drawn for each node",
    "scale_pos_weight": "weight of the second of two classes",
    "monotone_constraints": "whether predictions may only rise (1) or only fall (-1) with a column",
    "early_stopping_rounds": "end after so many rounds without a better metric, and keep the best rounds",
    "eval_metric": "metric on the held-out rows",
    "base_score": "what every row is predicted before the first tree, as label or probability; None: the mean label",
    "gradient_bits": "bits of the integers whose sums choose cuts, sign included",
    "constant_hessian": "count every row as 1 (times its weight) in place of its second derivative",
    "min_cut_rows": "cuts do not tell apart values that fewer rows share; 1: exact quantiles; None: 1, or 50 in a "
    "horizontal federation",
    "min_child_rows": "least number of rows in a child",
    "federation": "how several parties' tables learn together; None: one table",
    "callbacks": "called with a `Round` after each round; training ends when one returns True",
    "random_state": "seed of the draws of rows and columns; None is 0",
    "n_jobs": "threads; None or -1 for all cores, -2 for all but one. The forest does not depend on it",
    "objective": "the loss",
    "tweedie_variance_power": "variance power of the Tweedie loss",
    "huber_slope": "residual at which the Huber loss turns linear",
}
OTHER_LIMITS = {
    "monotone_constraints": "-1, 0 or 1 for each column",
    "federation": "`Horizontal`, `WholeTrees` or None",
    "eval_metric": "see [losses and metrics](losses-and-metrics.md)",
    "base_score": "a number",
    "constant_hessian": "True or False",
    "callbacks": "callables",
    "n_jobs": "a whole number other than 0, or None",
    "objective": "squared, poisson, tweedie or huber",
    "tweedie_variance_power": "between 1 and 2, both excluded",
    "huber_slope": "above 0",
}
KINDS = {int: "whole number", float: "number", str: "text", bool: "switch", Path: "file"}


def table(*rows: list[str]) -> str:
    """A Markdown table; the first row is its head."""
    head, *rest = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, "|" + " --- |" * len(rows[0]), *rest])


def parameters() -> str:
    """Every parameter of the estimators, its defaults and its limits."""
    owners = [GBDTClassifier().get_params(), GBDTRegressor().get_params(), ForestClassifier().get_params()]
    names = [name for name in MEANINGS if any(name in owner for owner in owners)]
    unknown = {name for owner in owners for name in owner} - set(names)
    if unknown:
        raise ValueError(f"docs/conf.py has no meaning for {', '.join(sorted(unknown))}")
    rows = [["parameter", "boosted", "forest", "limits", "meaning"]]
    for name in names:
        boosted = next((f"`{owner[name]!r}`" for owner in owners[:2] if name in owner), "-")
        forest = f"`{owners[2][name]!r}`" if name in owners[2] else "-"
        limit = str(LIMITS[name]) if name in LIMITS else OTHER_LIMITS[name]
        rows.append([f"`{name}`", boosted, forest, limit, MEANINGS[name]])
    return table(*rows)


def disclosed() -> str:
    """Every field of every message, who says it to whom, and how it travels."""
    rows = [["message", "direction", "field", "travels", "tells"]]
    last = ""
    for line in disclosures():
        name = f"`{line.message}`" if line.message != last else ""
        rows.append([name, line.direction if name else "", f"`{line.field}`", line.how, line.tells])
        last = line.message
    return table(*rows)


def commands() -> str:
    """Every command with its arguments and options."""
    own = [[f"`--{name}`", option.help] for name, _, option, _ in options_of(cli._options)]
    parts = ["## hedgerow", "", table(["option", "meaning"], *own), ""]
    for command in (cli.train, cli.predict, cli.evaluate, cli.show):
        rows, arguments = [["option", "value", "meaning", "default"]], []
        for name, kind, option, default in options_of(command):
            if isinstance(option, OptionInfo):
                rows.append([f"`{name_of(option, name)}`", value_of(option, kind), option.help, shown(default)])
            else:
                arguments.append([f"`{name.upper()}`", option.help])
        usage = " ".join([f"hedgerow {command.__name__} [OPTIONS]", *(row[0].strip("`") for row in arguments)])
        parts += [f"## hedgerow {command.__name__}", "", inspect.getdoc(command), "", f"```text\n{usage}\n```", ""]
        parts += [table(["argument", "meaning"], *arguments), "", table(*rows), ""]
    return "\n".join(parts)


def options_of(command: Any) -> list[tuple[str, Any, Any, Any]]:
    """Name, kind, typer's description and default of everything a command takes."""
    hints = typing.get_type_hints(command, include_extras=True)
    signature = inspect.signature(command).parameters
    return [(name, *typing.get_args(hints[name])[:2], signature[name].default) for name in signature]


def name_of(option: Any, name: str) -> str:
    return next(iter(option.param_decls or ()), f"--{name.strip('_').replace('_', '-')}")


def value_of(option: Any, kind: Any) -> str:
    plain = next((part for part in typing.get_args(kind) if part is not type(None)), kind)
    if isinstance(plain, EnumType):
        return ", ".join(f"`{choice}`" for choice in plain)
    return f"`{option.metavar}`" if option.metavar else KINDS[plain]


def shown(default: Any) -> str:
    return "" if default in (None, inspect.Parameter.empty) else f"`{default}`"


def fill(app: Any, docname: str, source: list[str]) -> None:  # noqa: ARG001  # Sphinx calls it so
    """Put what the code says where a page asks for it."""
    for name, make in {"parameters": parameters, "commands": commands, "disclosures": disclosed}.items():
        mark = f"<!-- from the code: {name} -->"
        if mark in source[0]:
            source[0] = source[0].replace(mark, make())


def setup(app: Any) -> None:
    app.connect("source-read", fill)
