"""`hedgerow show`: what is in a model, in words, in a picture, or for XGBoost."""

from pathlib import Path
from typing import Annotated

import typer

from hedgerow.commands import options as opt
from hedgerow.commands.print_tables import check_writable, print_grid
from hedgerow.errors import ParameterError
from hedgerow.model.bag import Bag
from hedgerow.model.bag import decoded as decoded_bag
from hedgerow.model.file import content_of, decoded, is_bag
from hedgerow.model.model import Model
from hedgerow.model.part import Part, is_part
from hedgerow.model.part import decoded as part_decoded
from hedgerow.model.xgboost import to_xgboost
from hedgerow.report import plots
from hedgerow.report.part_text import part_summary, part_tree_text
from hedgerow.report.tree_text import plain, summary, tree_text

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

    Of a passive party's part of a vertical model, its own cuts: all of them, or those of a tree. Of a bag, its models.
    """
    for path in (picture, xgboost):
        if path is not None:
            check_writable(path)
    if picture is not None:
        plots.check_suffix(picture)
    content = content_of(model)
    if is_part(content):
        _show_part(part_decoded(content, str(model)), tree, [importances, picture, xgboost])
    elif is_bag(content):
        _show_bag(decoded_bag(content, str(model)), importances, [tree, picture, xgboost])
    else:
        _show_model(decoded(content, str(model)), tree, importances, picture, xgboost)


def _show_model(
    loaded: Model,
    tree: int | None,
    importances: opt.ImportanceName | None,
    picture: Path | None,
    xgboost: Path | None,
) -> None:
    if tree is not None:
        typer.echo(tree_text(loaded, tree))
    if importances is not None:
        print_importances(loaded, importances)
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


def _show_bag(bag: Bag, importances: opt.ImportanceName | None, more: list[object]) -> None:
    if any(option is not None for option in more):
        raise ParameterError("A bag has several models and no trees of its own; show one of its models with that.")
    if importances is not None:
        print_importances(bag, importances)
        return
    how = "the class that most of them choose" if bag.vote else "the mean of what they predict"
    typer.echo(f"{len(bag.models)} models of active parties; {how}")
    for name, model in bag.models.items():
        typer.echo(f"\n{plain(name)}: {summary(model)}")


def print_importances(model: Model | Bag, kind: opt.ImportanceName) -> None:
    """All columns by their share."""
    rows = [[name, f"{share:.2%}"] for name, share in model.importances(kind.value).items()]
    print_grid(["column", f"share of {'cuts' if kind == 'split' else kind}"], rows)


def _draw(model: Model, tree: int | None, importances: opt.ImportanceName | None, path: Path) -> None:
    if tree is not None and importances is None:
        plots.save_picture(plots.plot_tree(model, tree), path)
    elif importances is not None and tree is None:
        plots.save_picture(plots.plot_importance(model, importances.value), path)
    else:
        kind = importances or opt.ImportanceName.GAIN
        plots.save_picture(plots.plot_model(model, tree or 0, kind.value), path)
