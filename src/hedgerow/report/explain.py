"""An explanation of a model: the columns it uses, the direction of their effects, the reasons of rows."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hedgerow.model.meanings import Meanings, by_column
from hedgerow.model.model import Model
from hedgerow.report.explain_effects import Effect, effects
from hedgerow.report.explain_reasons import Reasons
from hedgerow.report.importance import ColumnUse, columns_used
from hedgerow.report.tree_text import plain
from hedgerow.trees.forest import ImportanceKind

MOST_REASONS = 8
"""Contributions of a row that are shown one by one."""
KINDS: tuple[ImportanceKind, ...] = ("gain", "cover")
COLUMN_FACTS = ("column", "party", "known by", "effect", "meaning", "splits", "trees", "gain", "cover")


@dataclass(frozen=True, eq=False)
class Explanation:
    """What is known of a model here, with what its owners disclosed."""

    model: Model
    uses: list[ColumnUse]
    """The columns that the trees use, the greatest gain first."""
    effects: list[Effect]
    """Of own columns, and of those whose bins are disclosed."""
    reasons: Reasons | None = None
    """Of rows, where they were asked for."""

    def with_reasons(self, reasons: Reasons) -> "Explanation":
        """With reasons of rows, wherever they come from."""
        return replace(self, reasons=reasons)

    def column_rows(self) -> list[list[str]]:
        """A row for each column that is used, as `COLUMN_FACTS` says; gain and cover are shares."""
        directions = {effect.use.column: effect.direction or "see page" for effect in self.effects}
        all_gain, all_cover = (sum(use.total(kind) for use in self.uses) or 1.0 for kind in KINDS)
        return [
            [
                plain(use.name),
                plain(use.party),
                use.known,
                directions.get(use.column, ""),
                plain(use.description),
                str(use.splits),
                str(use.trees),
                f"{use.gain / all_gain:.1%}",
                f"{use.cover / all_cover:.1%}",
            ]
            for use in self.uses
        ]

    def notes(self) -> list[str]:
        """What a reader must know of these numbers."""
        said = []
        unknown = [use for use in self.uses if use.known in ("name", "number")]
        if unknown:
            said.append(
                f"Of the {len(self.uses)} columns used, {len(unknown)} undisclosed; ask their owners for a file "
                "of meanings (hedgerow disclose)."
            )
        if self.effects:
            said.append(
                "Effects are averages by the covers of the trees, with splits rounded to the edges of the bins: they "
                "show a direction, not the score of a row."
            )
        if self.reasons is not None:
            said.append(self.reasons.note)
        return said


def explain_model(model: Model, told: Mapping[str, Meanings] | None = None) -> Explanation:
    """Explain a model with what owners told of their columns; `told` by how errors call each file."""
    meanings = by_column(model, told or {})
    uses = columns_used(model, meanings)
    return Explanation(model, uses, effects(model, uses, meanings))
