"""The page of several runs that belong together: what all of them reach in one picture, then each by itself."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from hedgerow.model.meanings import load_meanings
from hedgerow.model.quality import LESS_IS_BETTER
from hedgerow.report.page.cases import CASES, Case, Cases, Step, read_cases
from hedgerow.report.page.ending import again, warnings
from hedgerow.report.page.gather import Given, of_run
from hedgerow.report.page.html import Html, document, folded, paragraph, picture, table, tag
from hedgerow.report.page.inside import columns, reasons, trees
from hedgerow.report.page.protection import privacy, seen
from hedgerow.report.page.quality import curves
from hedgerow.report.page.result import all_figures, heading, tiles
from hedgerow.report.page.style import SCRIPT, STYLE
from hedgerow.report.page.subject import Section, Subject
from hedgerow.report.page.traffic import size, traffic
from hedgerow.report.pictures.comparison import plot_cases
from hedgerow.run.folder.kept_run import read_run

OPEN: tuple[Callable[[Subject], Section], ...] = (reasons, columns, seen)
FOLDED: tuple[Callable[[Subject], Section], ...] = (curves, trees, privacy, traffic, warnings, again)


def is_several(folder: Path) -> bool:
    """Whether a folder holds several runs with what they reach."""
    return (folder / CASES).exists()


def page_of_folder(folder: Path, n_trees_drawn: int) -> str:
    """The page of the runs in a folder."""
    return page_of_cases(read_cases(folder), folder, Given(n_trees_drawn=n_trees_drawn))


def page_of_cases(cases: Cases, folder: Path, given: Given) -> str:
    """The page; everything that it shows lies in the folder."""
    sections = [_case(case, folder, given) for case in cases.cases]
    names = [("result", "Result"), *((case.name, case.title) for case in cases.cases)]
    contents = tag("nav", *(tag("a", title, href=f"#{name}") for name, title in names), aria_label="Contents")
    about = f"{len(cases.cases)} run{'s' * (len(cases.cases) != 1)}"
    main = tag("main", heading(cases.title, about, ""), contents, _result(cases), *sections)
    return document(f"{cases.title}: report", STYLE, SCRIPT, main)


def _result(cases: Cases) -> Html:
    """The first picture: alone, together and pooled in every run."""
    bars = {case.title: {name: of[cases.metric] for name, of in case.figures.items()} for case in cases.cases}
    said = "; ".join(
        f"{title}: {', '.join(f'{name} {value:.4g}' for name, value in of.items())}" for title, of in bars.items()
    )
    better = "less" if cases.metric in LESS_IS_BETTER else "more"
    drawn = picture(
        lambda: plot_cases(bars, cases.metric), f"Bars of the {cases.metric}. {said}.",
        "Alone is what an organisation reaches with its own data, together is with the others' data, of which it sees "
        f"no row, pooled is all data in one place; {better} {cases.metric} is better.", "first",
    )  # fmt: skip
    lines = [[case.title, case.rows, *_cost(case.steps)] for case in cases.cases]
    shown = table(["run", "measured on", "seconds", "bytes to and from all"], lines, (2, 3))
    return tag("section", tag("h2", "Result"), paragraph(cases.about), drawn, shown, id="result")


def _case(case: Case, folder: Path, given: Given) -> Html:
    subject = _subject(case, folder, given)
    own = next((of for name, of in case.figures.items() if name.startswith("together")), None)
    parts: list[Html] = [tag("h2", case.title), paragraph(case.story)]
    parts += [] if own is None else [tiles(own)]
    parts += [paragraph(f"Measured on {case.rows}.", class_="note"), all_figures(case.figures), _steps(case.steps)]
    for make in OPEN:
        section = make(subject)
        parts += [tag("h3", section.title), *section.parts] if section.parts else []
    for make in FOLDED:
        section = make(subject)
        parts += [folded(section.title, *section.parts)] if section.parts else []
    return tag("section", *parts, id=case.name)


def _subject(case: Case, folder: Path, given: Given) -> Subject:
    told = {name: load_meanings(folder / name) for name in case.meanings}
    found = of_run(
        read_run(folder / case.run), replace(given, told=told, reasons=case.reasons_of_rows(folder), beside=())
    )
    return replace(found, judged=case.judged(folder) or found.judged)


def _cost(steps: Sequence[Step]) -> tuple[str, str]:
    """Seconds and bytes of everything."""
    return f"{sum(step.seconds for step in steps):.1f}", size(sum(step.n_bytes for step in steps))


def _steps(steps: Sequence[Step]) -> Html:
    lines = [[step.what, *_cost([step])] for step in steps]
    return table(["together they did", "seconds", "bytes to and from all"], lines, (1, 2))
