"""The whole page, in the order in which a reader asks: how good, why, who saw what, what did it cost, how again."""

from collections.abc import Callable, Sequence
from datetime import datetime

from hedgerow.errors import MissingExtra
from hedgerow.report.page.ending import again, lacking, warnings
from hedgerow.report.page.html import Html, document, joined, tag
from hedgerow.report.page.inside import columns, reasons, trees
from hedgerow.report.page.protection import privacy, seen
from hedgerow.report.page.quality import curves, learning
from hedgerow.report.page.result import heading, result
from hedgerow.report.page.style import SCRIPT, STYLE
from hedgerow.report.page.subject import Section, Subject
from hedgerow.report.page.traffic import traffic
from hedgerow.report.pictures.canvas import matplotlib

SECTIONS: tuple[Callable[[Subject], Section], ...] = (
    result, curves, learning, columns, trees, reasons, seen, privacy, traffic, warnings,
)  # fmt: skip


def page(subject: Subject) -> str:
    """The page."""
    return document(f"{subject.title}: report", STYLE, SCRIPT, tag("main", content(subject)))


def content(subject: Subject) -> Html:
    """All that changes of a page while a run goes on."""
    sections = [make(subject) for make in SECTIONS]
    sections += [lacking([*sections, Section("pictures", "Pictures", lacks=_without_matplotlib())]), again(subject)]
    shown = [section for section in sections if section.parts]
    return joined(_head(subject), _contents(shown), *(_section(section) for section in shown))


def _head(subject: Subject) -> Html:
    run = subject.run
    if run is None:
        return heading(subject.title, "model", "")
    parties = len(run.manifest.get("parties") or ())
    about = [str(run.manifest["method"]), f"{parties} parties" if parties else "", _when(run.begun, run.last)]
    role = "" if run.manifest["role"] == "simulation" else f"kept by {run.manifest['who']}"
    state = "finished" if run.finished else "not finished"
    return heading(subject.title, state, " · ".join(part for part in (*about, role) if part))


def _when(begun: str, last: str) -> str:
    if not begun:
        return ""
    first, end = datetime.fromisoformat(begun), datetime.fromisoformat(last)
    return f"{first:%d %B %Y, %H:%M} UTC, {(end - first).total_seconds():.3g} s"


def _contents(sections: Sequence[Section]) -> Html:
    return tag(
        "nav", *(tag("a", section.title, href=f"#{section.name}") for section in sections), aria_label="Contents"
    )


def _section(section: Section) -> Html:
    return tag("section", tag("h2", section.title), *section.parts, id=section.name)


def _without_matplotlib() -> tuple[str, ...]:
    try:
        matplotlib()
    except MissingExtra as error:
        return (str(error),)
    return ()
