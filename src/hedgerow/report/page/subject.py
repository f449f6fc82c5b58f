"""What a page is about: a run's folder or a model, and what else is given or found beside it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hedgerow.model.model import Model
from hedgerow.model.score_counts import Judged
from hedgerow.report.explain import Explanation
from hedgerow.report.page.html import Html
from hedgerow.run.folder.kept_run import KeptRun

Figures = Mapping[str, Mapping[str, float]]
"""Metrics by whose model it is."""


@dataclass(frozen=True, eq=False)
class Subject:
    """Everything that the sections of a page are made from."""

    title: str
    run: KeptRun | None = None
    explanation: Explanation | None = None
    judged: Judged | None = None
    curves: Mapping[str, Sequence[float | None]] = field(default_factory=dict)
    """The metric after each round, by which rows."""
    metric: str | None = None
    figures: Figures = field(default_factory=dict)
    """The run's own first."""
    rows: str = ""
    """Which rows the figures are of."""
    remarks: tuple[str, ...] = ()
    """What must be said of what was found beside the run."""
    n_trees_drawn: int = 3

    @property
    def model(self) -> Model | None:
        """The model, or the active party's part of it."""
        return None if self.explanation is None else self.explanation.model


@dataclass(frozen=True)
class Section:
    """A part of the page, and what of it cannot be shown, a sentence each; without parts it is not shown."""

    name: str
    title: str
    parts: tuple[Html, ...] = ()
    lacks: tuple[str, ...] = ()
