"""Who saw what, and what was promised: from the manifest of the run, which has what really crossed."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from hedgerow.report.page.html import Html, bullets, facts, folded, joined, paragraph, table, tag
from hedgerow.report.page.subject import Section, Subject
from hedgerow.run.folder.kept_run import KeptRun

HOW = {
    "clear": "as it is",
    "masked": "in sum only",
    "noised": "with noise",
    "sealed": "encrypted",
    "opened": "decrypted",
    "blinded": "not at all; equal ids match",
}
PROMISES = ("differential_privacy", "promise")
"""Where a manifest, and a model, have what is promised."""
SENTENCES = "sentences"
NOT_COVERED = (
    "The promise is of what the run released. Curves and figures on this page that come from own rows have no noise: "
    "they are not covered by it, and should not be passed on as if they were."
)
NO_PROMISE = "No differential privacy: nothing bounds what the trained model may tell of one row."
ASKED_ONLY = (
    "Differential privacy was asked for, as above, and no promise is kept here: as long as the run has not finished, "
    "or where its folder lacks the promise, do not count on any epsilon."
)
SMALL = 12
"""Entries of a list of numbers that are shown one by one."""


def seen(subject: Subject) -> Section:
    """Who saw what, and what was disclosed in spite of the protection."""
    run = subject.run
    if run is None:
        return Section("seen", "Who saw what", lacks=("Who saw what is known of runs; this is a model alone.",))
    known = run.manifest.get("known") or []
    if not known:
        return Section("seen", "Who saw what", lacks=(_why_nothing(run),))
    parts = [_leaks(run), _numbers(run), folded("Every kind of message that crossed", _messages(known))]
    return Section("seen", "Who saw what", tuple(part for part in parts if part))


def privacy(subject: Subject) -> Section:
    """What was agreed on, and what differential privacy promises."""
    parts, run = [], subject.run
    promise = promise_of(subject)
    if promise:
        parts.append(_promised(promise))
    if run is not None:
        plan = run.plan
        method = plan.get("method")
        parts.append(tag("h3", "What all agreed to"))
        parts.append(facts(_flat(method) if isinstance(method, Mapping) else [("method", method)]))
        if not promise:
            asked = isinstance(method, Mapping) and method.get("dp")
            parts.append(paragraph(ASKED_ONLY if asked else NO_PROMISE))
    if not parts:
        return Section(
            "privacy", "Privacy settings", lacks=("A model that was trained on one table has no such plan.",)
        )
    return Section("privacy", "Privacy settings", tuple(parts))


def promise_of(subject: Subject) -> Mapping[str, Any]:
    """What the run or the model says of differential privacy; empty where nothing is promised."""
    kept = {} if subject.run is None else subject.run.manifest
    found = next((kept[name] for name in PROMISES if kept.get(name)), None)
    found = found or next((one for name in PROMISES if (one := getattr(subject.model, name, None))), None)
    plain = msgspec.to_builtins(found, enc_hook=str)
    return plain if isinstance(plain, Mapping) else {} if plain is None else {PROMISES[-1]: plain}


def _promised(promise: Mapping[str, Any]) -> Html:
    """Its sentences, its numbers, and what was released, whatever it has of these."""
    said = [str(sentence) for sentence in promise.get(SENTENCES) or ()]
    tables = {key: value for key, value in promise.items() if _is_table(value)}
    numbers = {key: value for key, value in promise.items() if key != SENTENCES and key not in tables}
    folds = [folded(key.replace("_", " "), _shown(value)) for key, value in tables.items()]
    return joined(
        tag("h3", "Differential privacy"), bullets(said), facts(_flat(numbers)), *folds, paragraph(NOT_COVERED)
    )


def _is_table(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(line, Mapping) for line in value)


def _why_nothing(run: KeptRun) -> str:
    if not run.finished:
        return "Who saw what is in the manifest when the run has finished; `hedgerow plan` tells it before."
    return f"Nobody saw anything: in a run of method {run.manifest['method']!r} nothing is exchanged."


def _leaks(run: KeptRun) -> Html:
    leaks = [str(sentence) for sentence in run.manifest.get("leaks") or ()]
    return joined(tag("h3", "Disclosed in spite of the protection"), bullets(leaks)) if leaks else Html("")


def _messages(known: Sequence[Mapping[str, str]]) -> Html:
    grouped: dict[tuple[str, str, str], list[str]] = {}
    for line in known:
        direction = (
            f"{line['direction']}, passed on to {line['passed_on_to']}"
            if line.get("passed_on_to")
            else line["direction"]
        )
        grouped.setdefault((direction, line["message"], HOW.get(line["how"], line["how"])), []).append(line["tells"])
    ordered = sorted(grouped.items(), key=lambda entry: entry[0][0].startswith(("driver", "active party")))
    rows = [[way, " · ".join(dict.fromkeys(tells)), how, message] for (way, message, how), tells in ordered]
    return table(["from, to", "what it tells", "how it is read", "message"], rows)


def _numbers(run: KeptRun) -> Html:
    """What was learnt in numbers: of ids, links, bins."""
    parts = []
    for name, title in (
        ("aligned", "Common ids"), ("linked", "Linked ids"), ("given", "Sums that this party gave"),
        ("losses", "Parties lost on the way"), ("names_told", "Parties that told names of columns"),
    ):  # fmt: skip
        if found := run.manifest.get(name):
            parts.append(folded(title, _shown(found)))
    learnt = run.manifest.get("learnt") or {}
    if learnt.get("columns"):
        said = "Of each column that is cut: the bits of its bins, and the share that sides, and sides with sums, tell."
        columns = [{k: v for k, v in column.items() if k != "told"} for column in learnt["columns"]]
        sums, title = _shown(learnt.get("sums") or []), "What the active party could learn of bins"
        parts.append(folded(title, paragraph(said), sums, _shown(columns)))
    return joined(*parts)


def _shown(found: Any) -> Html:
    """Whatever the manifest has, as a table, a list or names and values."""
    if isinstance(found, Mapping):
        return facts(_flat(found))
    if isinstance(found, Sequence) and not isinstance(found, str):
        if found and all(isinstance(line, Mapping) for line in found):
            head = list(dict.fromkeys(key for line in found for key in line))
            numbers = [
                i for i, key in enumerate(head) if all(isinstance(line.get(key, 0), int | float) for line in found)
            ]
            rows = [[_word(line.get(key, "")) for key in head] for line in found]
            return table([key.replace("_", " ") for key in head], rows, numbers)
        return bullets(_word(one) for one in found)
    return paragraph(_word(found))


def _flat(found: Mapping[str, Any], before: str = "") -> Iterable[tuple[str, str]]:
    """Names and values of what is nested, in one list."""
    for name, value in found.items():
        title = f"{before}{str(name).replace('_', ' ')}"
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{title}: ")
        else:
            yield title, _word(value)


def _word(value: Any) -> str:
    if value is None or value == "" or value == []:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_word(one)}" for name, one in value.items())
    if isinstance(value, list | tuple):
        more = f" and {len(value) - SMALL} more" if len(value) > SMALL else ""
        return ", ".join(_word(one) for one in value[:SMALL]) + more
    return str(value)
