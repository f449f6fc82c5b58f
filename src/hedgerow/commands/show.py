"""`hedgerow show`: what is in a model, in words, in a picture, or for XGBoost."""

from pathlib import Path
from typing import Annotated

import typer

from hedgerow.commands import options as opt
from hedgerow.commands.print_tables import check_writable, print_grid
from hedgerow.errors import ParameterError
from hedgerow.model.file import content_of, decoded
from hedgerow.model.model import Model
from hedgerow.model.part import Part, is_part
from hedgerow.model.part import decoded as part_decoded
from hedgerow.model.xgboost import to_xgboost
from hedgerow.report import plots
from hedgerow.report.part_text import part_summary, part_tree_text
from hedgerow.report.tree_text import summary, tree_text

Tree = Annotated[int | None, typer.Option(help="Number of a tree to show, from 0.", show_default=False)]
Importances = Annotated[opt.ImportanceName | None, typer.Option(help="Rank all columns by this.", show_default=False)]
Picture = Annotated[
    Path | None,
    typer.Option(
        help="Draw the tree of --tree, the --importances, or both if neither is asked for; PNG, SVG or PDF.",
        show_default=False,
    ),
]
XGBoost = Annotated[
    Path | None, typer.Option("--xgboost", help="Write the model as XGBoost's JSON.", show_default=False)
]


def show(
    model: opt.ModelFile,
    tree: Tree = None,
    importances: Importances = None,
    picture: Picture = None,
    xgboost: XGBoost = None,
) -> None:
    """Show a model: a summary, a tree, the importances of columns; or write it as a picture or for XGBoost.

    Of a passive party's part of a vertical model, its own cuts: all of them, or those of a tree.
    """
    for path in (picture, xgboost):
        if path is not None:
            check_writable(path)
    if picture is not None:
        plots.check_suffix(picture)
    content = content_of(model)
    if is_part(content):
        _show_part(part_decoded(content, str(model)), tree, [importances, picture, xgboost])
        return
    loaded = decoded(content, str(model))
    if tree is not None:
        typer.echo(tree_text(loaded, tree))
    if importances is not None:
        rows = [[name, f"{share:.2%}"] for name, share in loaded.importances(importances.value).items()]
        print_grid(["column", f"share of {'cuts' if importances == 'split' else importances}"], rows)
    if tree is None and importances is None:
        typer.echo(summary(loaded))
    if picture is not None:
        _draw(loaded, tree, importances, picture)
        typer.echo(f"picture: {picture}")
    if xgboost is not None:
        to_xgboost(loaded, xgboost)
        typer.echo(f"XGBoost model: {xgboost}")


def _show_part(part: Part, tree: int | None, more: list[object]) -> None:
    if any(option is not None for option in more):
        raise ParameterError("A part of a model has no importances, picture or XGBoost form; show it alone, or --tree.")
    typer.echo(part_summary(part) if tree is None else part_tree_text(part, tree))


def _draw(model: Model, tree: int | None, importances: opt.ImportanceName | None, path: Path) -> None:
    if tree is not None and importances is None:
        plots.save_picture(plots.tree_picture(model, tree), path)
    elif importances is not None and tree is None:
        plots.save_picture(plots.importance_picture(model, importances.value), path)
    else:
        kind = importances or opt.ImportanceName.GAIN
        plots.save_picture(plots.model_picture(model, tree or 0, kind.value), path)
