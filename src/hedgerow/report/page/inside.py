"""What is in the model: the columns that matter, single trees with whose each cut is, reasons of single rows."""

from itertools import groupby

from hedgerow.report.explain import MOST_REASONS, Explanation
from hedgerow.report.explain_reasons import largest
from hedgerow.report.page.html import Html, bar, folded, joined, paragraph, picture, preformatted, table, tag
from hedgerow.report.page.subject import Section, Subject
from hedgerow.report.part_text import part_summary
from hedgerow.report.pictures.effects import effect_picture
from hedgerow.report.pictures.trees import plot_tree
from hedgerow.report.tree_text import summary, tree_text, tree_title

FIRST_COLUMNS, MOST_EFFECTS = 10, 4
DEEPEST = 4
"""Levels of cuts that a picture shows."""


def columns(subject: Subject) -> Section:
    """The columns that the model uses, by their shares, and the direction of their effects."""
    told = subject.explanation
    if told is None:
        part = None if subject.run is None else subject.run.part
        if part is not None:
            own = preformatted(part_summary(part))
            note = paragraph("Of the model a passive party has its own cuts and nothing else.")
            return Section(
                "columns", "Own cuts", (note, own), ("Importances and trees are known to the active party.",)
            )
        return Section("columns", "Columns that matter", lacks=("There is no model yet to show columns and trees of.",))
    if not told.uses:
        return Section(
            "columns", "Columns that matter", lacks=("The model uses no column: its trees are leaves alone.",)
        )
    parts = [_uses(told), *(paragraph(note, class_="note") for note in told.notes()[:2])]
    effects = [
        picture(lambda effect=effect: effect_picture(effect),  # type: ignore[misc]  # bound here
                f"What bins of {effect.use.label} add to the score on average: {effect.direction or 'see picture'}.")
        for effect in told.effects[:MOST_EFFECTS]
    ]  # fmt: skip
    if any(effects):
        parts += [tag("h3", "Direction of effects"), tag("div", *effects, class_="pictures")]
    parts.append(folded("The model in words", preformatted(summary(told.model, n_columns=0))))
    return Section("columns", "Columns that matter", tuple(parts))


def _uses(told: Explanation) -> Html:
    gains = sum(use.gain for use in told.uses) or 1.0
    several = told.model.ownership is not None
    directions = {effect.use.column: effect.direction for effect in told.effects}
    rows = []
    for use in told.uses:
        share = joined(tag("span", bar(use.gain / gains), class_="meter"), f"{use.gain / gains:.1%}")
        owner = [use.party, use.known] if several else []
        rows.append([use.name, *owner, share, directions.get(use.column) or "", str(use.splits)])
    head = ["column", *(["party", "known by"] if several else []), "share of the gain", "effect", "cuts"]
    first = table(head, rows[:FIRST_COLUMNS], (len(head) - 1,), class_="brief")
    rest = rows[FIRST_COLUMNS:]
    title = f"{len(rest)} more column{'s' * (len(rest) != 1)}"
    return joined(first, folded(title, table(head, rest, (len(head) - 1,), class_="brief")) if rest else "")


def trees(subject: Subject) -> Section:
    """The first trees, with whose column each cut is of and the shares of rows."""
    model = subject.model
    if model is None or not model.forest.n_trees:
        return Section("trees", "Trees")
    shown = []
    for tree in range(min(subject.n_trees_drawn, model.forest.n_trees)):
        title = tree_title(model, tree)
        words = folded(f"{title}, in words", preformatted(tree_text(model, tree)))
        drawn = picture(lambda tree=tree: plot_tree(model, tree, levels=DEEPEST),  # type: ignore[misc]  # bound here
                        f"{title}, drawn; the same in words below.", class_="tree")  # fmt: skip
        shown += [drawn, words]
    said = "Yes goes up, no goes down; shares are of the rows by their weight in training (in the first tree, of rows)."
    if model.ownership is not None:
        said += " A letter and a colour say whose column a cut is of."
    many = f"{min(subject.n_trees_drawn, model.forest.n_trees)} of {model.forest.n_trees} trees."
    return Section("trees", "Trees", (paragraph(f"{many} {said}"), *shown))


def reasons(subject: Subject) -> Section:
    """Why single rows have their score."""
    told = None if subject.explanation is None else subject.explanation.reasons
    if told is None:
        why = "Reasons of single rows need these rows: give them with --data (and --rows), where they may be seen."
        return Section("reasons", "Reasons of single rows", lacks=(why,) if subject.model is not None else ())
    shown = largest(told.reasons, MOST_REASONS)
    greatest = max((abs(reason.contribution) for reason in shown), default=0.0) or 1.0
    tables = []
    for row, of_row in groupby(shown, key=lambda reason: reason.row):
        lines = [[reason.label, _added(reason.contribution, greatest)] for reason in of_row]
        tables.append(tag("div", table(["column", "adds to the score"], lines, caption=f"row {row}")))
    grid = tag("div", *tables, class_="pictures")
    return Section("reasons", "Reasons of single rows", (paragraph(told.note), grid))


def _added(contribution: float, greatest: float) -> Html:
    """What a column adds, as a bar and a number."""
    below = contribution < 0
    drawn = tag("span", bar(abs(contribution) / greatest, below), class_="meter")
    return joined(drawn, tag("span", f"{contribution:+.4f}", class_="down" if below else None))
