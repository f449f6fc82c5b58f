"""How good the model is, in curves: ROC, precision and recall, calibration, KS, what is taken for what; learning."""

from hedgerow.model.score_counts import Judged
from hedgerow.report.page.html import Html, paragraph, picture, tag
from hedgerow.report.page.subject import Section, Subject
from hedgerow.report.pictures.curves import (
    exact,
    plot_calibration,
    plot_confusion,
    plot_ks,
    plot_precision_recall,
    plot_roc,
)
from hedgerow.report.pictures.learning import curve_picture
from hedgerow.report.tree_text import best_round


def curves(subject: Subject) -> Section:
    """The curves of labelled rows."""
    told = subject.judged
    if told is None:
        return Section("curves", "Curves", lacks=(_why_none(subject),))
    lacks = []
    if not told.scores and told.classes:
        lacks.append(f"There are {len(told.classes)} classes, too many for curves of single ones.")
    elif not told.classes:
        lacks.append("ROC, precision-recall, KS and confusion are of classes; this model predicts numbers.")
    elif len(told.classes) > 2:
        lacks.append(f"The KS statistic is of two classes; this model has {len(told.classes)}.")
    shown = _pictures(told)
    if not shown:
        return Section("curves", "Curves", lacks=tuple(lacks))
    said = f"Of {told.n_rows:,} {told.rows} rows. {told.remark}".strip()
    return Section("curves", "Curves", (paragraph(said), tag("div", *shown, class_="pictures")), tuple(lacks))


def learning(subject: Subject) -> Section:
    """How the metric went, round by round."""
    lines = {name: values for name, values in subject.curves.items() if any(v is not None for v in values)}
    lacks = []
    if "validation" not in lines:
        lacks.append("No metric was followed on validation rows; hold some out ([validation] share, or valid).")
    if "training" not in lines:
        lacks.append(
            "The metric on the training rows is not known here: only whoever has their labels and scores has it."
        )
    if not lines:
        return Section("learning", "Learning curve", lacks=tuple(lacks))
    kept = None if subject.model is None else subject.model.n_rounds
    said = "; ".join(f"{name} rows: {_course(values, subject.metric)}" for name, values in lines.items())
    shown = picture(
        lambda: curve_picture(lines, subject.metric, kept=kept), f"Learning curve of {subject.metric}. {said}.", said
    )
    note: tuple[Html, ...] = ()
    if kept is not None and max(map(len, lines.values())) > kept:
        note = (paragraph(f"The model keeps the first {kept} rounds, which were best (dotted line).", class_="note"),)
    return Section("learning", "Learning curve", (shown or paragraph(said), *note), tuple(lacks))


def _course(values: object, metric: str | None) -> str:
    known = [value for value in values if value is not None]  # type: ignore[attr-defined]  # a sequence
    best = best_round(tuple(known), metric)
    return f"from {known[0]:.4g} to {known[-1]:.4g}, best {known[best]:.4g} after {best + 1} rounds"


def _pictures(told: Judged) -> list[Html]:
    if not told.classes:
        return [picture(lambda: plot_calibration(None, told), "Mean labels over mean predictions.",
                        "On the dotted line predictions are right on average.")]  # fmt: skip
    if not told.scores:
        return []
    aucs = ", ".join(f"{one.of} {exact(told, 'auc', one.auc):.3f}" for one in told.scores)
    precise = ", ".join(f"{one.of} {exact(told, 'auprc', one.average_precision):.3f}" for one in told.scores)
    found = [
        picture(lambda: plot_roc(None, told), f"ROC curves; areas: {aucs}.", "The dotted line is guessing."),
        picture(lambda: plot_precision_recall(None, told), f"Precision over recall; average precision: {precise}."),
        picture(lambda: plot_calibration(None, told), f"Calibration: {_calibration(told)}.",
                "On the dotted line probabilities come true; each mark is a group of about equally many rows."),
    ]  # fmt: skip
    if len(told.classes) == 2:
        ks = exact(told, "ks", told.scores[0].ks)
        found.append(picture(lambda: plot_ks(None, told), f"Both classes' rows below each probability; KS {ks:.3f}.",
                             "The upright line is where the two classes are farthest apart."))  # fmt: skip
    right = sum(told.confusion[i][i] for i in range(len(told.classes)))
    total = sum(map(sum, told.confusion)) or 1.0
    found.append(picture(lambda: plot_confusion(None, told), f"Confusion matrix: {right / total:.1%} are taken for "
                         "what they are.", "The likeliest class is chosen; shares are of each line."))  # fmt: skip
    return [one for one in found if one]


def _calibration(told: Judged) -> str:
    said, true = told.scores[0].calibration()
    return "; ".join(f"said {a:.2f}, true {b:.2f}" for a, b in zip(said, true, strict=True))


def _why_none(subject: Subject) -> str:
    run = subject.run
    if run is None:
        return "Curves need labelled rows; give some with --data."
    if not run.finished:
        return "Curves are drawn when the run has finished."
    if run.part is not None:
        return "A passive party has neither labels nor scores, so there are no curves."
    if run.of_each_party:
        return "There are several models, one of each party; name one, parties/NAME/model.json, to see its curves."
    if run.manifest["role"] == "driver" and not run.plan.get("method", {}).get("active"):
        return (
            "The coordinator has no rows, so the run kept no scores to draw curves of; give labelled rows with --data."
        )
    return "The run kept no scores of labelled rows to draw curves of; give some with --data, where the model is whole."
