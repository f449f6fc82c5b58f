"""The first section: how good the model is, and how good it would be alone or with all data in one place."""

from collections.abc import Mapping
from datetime import datetime

from hedgerow.errors import ParameterError
from hedgerow.model.quality import LESS_IS_BETTER
from hedgerow.report.page.html import Html, joined, paragraph, picture, table, tag
from hedgerow.report.page.subject import Section, Subject
from hedgerow.report.pictures.comparison import TOGETHER, plot_comparison

MAIN = ("auc", "accuracy", "rmse", "log loss", "mae")
"""The metric of the first picture is the first of these that every model has."""
MOST_TILES = 6


def result(subject: Subject) -> Section:
    """Alone, together and pooled, as far as they are known."""
    figures, lacks = subject.figures, list[str]()
    if not figures:
        return Section("result", "Result", _so_far(subject), (_why_none(subject),))
    own = next(iter(figures.values()))
    learnt = " The model has learnt from them, so the figures are too good." if "training" in subject.rows else ""
    parts = [tiles(own), paragraph(f"Measured on {_rows(subject)}.{learnt}", class_="note")] if _is_one(subject) else []
    if len(figures) > 1:
        parts += [_first_picture(figures), all_figures(figures)]
    else:
        lacks.append(
            "What each party reaches alone, or all with their data in one place, is not known here: put runs of "
            'method = "alone" and "pooled" of the same rows beside this one, or name their figures with --beside.'
        )
    return Section("result", "Result", (*_so_far(subject), *parts), tuple(lacks))


def main_metric(figures: Mapping[str, Mapping[str, float]]) -> str:
    """The metric of the first picture."""
    shared = set.intersection(*(set(found) for found in figures.values()))
    found = next((name for name in MAIN if name in shared), None) or next(iter(sorted(shared)), None)
    if found is None:
        raise ParameterError("The figures to compare have no metric in common; give those of the same kind of labels.")
    return found


def _is_one(subject: Subject) -> bool:
    """Whether the page is of one model."""
    return subject.run is None or not subject.run.of_each_party


def tiles(own: Mapping[str, float]) -> Html:
    """A model's figures, large."""
    shown = [tag("div", tag("b", f"{value:.4g}"), tag("span", name)) for name, value in list(own.items())[:MOST_TILES]]
    return tag("div", *shown, class_="figures")


def _rows(subject: Subject) -> str:
    n = subject.judged.n_rows if subject.judged is not None else _n_rows(subject)
    return f"{f'{n:,} ' if n else ''}{subject.rows or 'unnamed'} rows"


def _n_rows(subject: Subject) -> int:
    found = subject.run.metrics.get("n_rows") if subject.run is not None else 0
    return found if isinstance(found, int) else 0


def _first_picture(figures: Mapping[str, Mapping[str, float]]) -> Html:
    metric = main_metric(figures)
    values = {name: found[metric] for name, found in figures.items()}
    order = sorted(values, key=lambda name: (not name.startswith("alone"), name.startswith("pooled")))
    shown = {name: values[name] for name in order}
    said = ", ".join(f"{name} {value:.4g}" for name, value in shown.items())
    better = "less" if metric in LESS_IS_BETTER else "more"
    return picture(
        lambda: plot_comparison(shown, metric), f"Bars of the {metric}: {said}.",
        "Alone is what a party reaches with its own data, together is this run, pooled is all data in one place; "
        f"{better} {metric} is better.", "first",
    )  # fmt: skip


def all_figures(figures: Mapping[str, Mapping[str, float]]) -> Html:
    """All models' figures, one model a line."""
    metrics = list(dict.fromkeys(name for found in figures.values() for name in found))
    rows = [[name, *(f"{found[m]:.4g}" if m in found else "" for m in metrics)] for name, found in figures.items()]
    return table(["model", *metrics], rows, range(1, len(metrics) + 1))


def _so_far(subject: Subject) -> tuple[Html, ...]:
    """How far a run has come that has not finished."""
    run = subject.run
    if run is None or run.finished:
        return ()
    asked = (run.plan.get("params") or {}).get("n_estimators")
    rounds = f"{run.rounds} of {asked}" if asked else str(run.rounds)
    tiles = [("rounds so far", rounds), ("messages", f"{sum(m['messages'] for m in run.messages):,}")]
    if run.gone.history and subject.metric:
        tiles.append((f"{subject.metric} on validation rows", f"{run.gone.history[-1]:.4g}"))
    if run.gone.seconds and asked:
        left = (asked - run.rounds) * sum(run.gone.seconds) / len(run.gone.seconds)
        tiles.append(("seconds to go, at most", f"{max(left, 0):.3g}"))
    if run.last:
        tiles.append(("last message (UTC)", f"{datetime.fromisoformat(run.last):%H:%M:%S}"))
    shown = [tag("div", tag("b", value), tag("span", name)) for name, value in tiles]
    return (paragraph(tag("b", "The run has not finished."), class_="warning"), tag("div", *shown, class_="figures"))


def _why_none(subject: Subject) -> str:
    run = subject.run
    if run is not None and not run.finished:
        return "The final metrics are known when the run has finished."
    if run is not None and run.part is not None:
        return "A passive party has neither labels nor scores, so it cannot say how good the model is."
    if run is not None and run.manifest["role"] == "driver":
        return "Whoever drives has no labelled rows of its own; give some with --data, where the model is whole."
    return "How good the model is, is not known without labelled rows; give some with --data."


def figures_of(metrics: Mapping[str, object]) -> dict[str, dict[str, float]]:
    """The final metrics of a run, by model: of one model they are those of together."""
    final = metrics.get("final")
    if not isinstance(final, Mapping) or not final:
        return {}
    if all(isinstance(value, Mapping) for value in final.values()):
        return {f"alone {name}": dict(found) for name, found in final.items()}
    return {TOGETHER: dict(final)}


def heading(title: str, state: str, facts: str) -> Html:
    """The head of the page."""
    return tag("header", tag("h1", title), tag("p", joined(tag("span", state, class_="state"), " ", facts)))
