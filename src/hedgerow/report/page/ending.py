"""The end of the page: warnings, what it lacks and why, how to do the same again."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

import hedgerow
from hedgerow.report.page.html import Html, bullets, facts, folded, joined, paragraph, preformatted, tag
from hedgerow.report.page.subject import Section, Subject
from hedgerow.run.folder.kept_run import KeptRun

COMMANDS = {
    "simulation": "hedgerow train RUN.toml",
    "driver": "hedgerow drive RUN.toml{data} --cert OWN.pem --key OWN.key",
    "party": "hedgerow join RUN.toml --as {who} --data OWN.csv --cert OWN.pem --key OWN.key",
}


def warnings(subject: Subject) -> Section:
    """What was noted while the run went on, and what could not be read of it."""
    run = subject.run
    said = [*subject.remarks]
    if run is not None:
        said += [str(note) for note in run.manifest.get("notes") or ()]
        said += [
            f"{', '.join(loss['parties'])} was lost in round {loss['round']}, and the run went on without."
            for loss in run.manifest.get("losses") or ()
        ]
        said += list(run.wrong)
    if not said:
        return Section("warnings", "Warnings", (paragraph("None."),))
    return Section("warnings", "Warnings", (tag("div", bullets(said), class_="warning"),))


def lacking(sections: Sequence[Section]) -> Section:
    """What the page does not show, and why."""
    said = [joined(tag("b", section.title), ": ", why) for section in sections for why in section.lacks]
    return Section("lacking", "What this page lacks, and why", (bullets(said),) if said else ())


def again(subject: Subject) -> Section:
    """Everything that is needed to do the same again and to check what was kept."""
    run, model = subject.run, subject.model
    if run is None:
        params = {} if model is None else msgspec.to_builtins(model.params)
        same = paragraph("The same table, parameters and version of hedgerow give the same model, to the last bit.")
        return Section("again", "How to reproduce", (same, facts(_facts(None)), facts(_parameters(params))))
    plan = run.plan
    about = facts(_facts(run))
    method = plan.get("method")
    data = " --data OWN.csv" if isinstance(method, Mapping) and method.get("active") else ""
    command = COMMANDS.get(str(run.manifest["role"]), COMMANDS["simulation"])
    lines = [command.format(who=run.manifest["who"], data=data)]
    lines += [
        f"hedgerow audit verify --last {last} {run.path / log}"
        for log, last in (run.manifest.get("audit") or {}).items()
    ]
    same = paragraph(
        "The same rows, run file and version of hedgerow give the same model, to the last bit, where the method has no "
        "noise; the run file is that from which the plan below was made. The audit logs must end with these hashes."
    )
    whole = msgspec.json.format(msgspec.json.encode(plan), indent=2).decode()
    parts = (same, about, preformatted("\n".join(lines)), tag("h3", "Parameters of the trees"),
             facts(_parameters(plan.get("params") or {})), folded("The whole plan", preformatted(whole)))  # fmt: skip
    return Section("again", "How to reproduce", parts)


def _facts(run: KeptRun | None) -> list[tuple[str, object]]:
    if run is None:
        return [("hedgerow", hedgerow.__version__)]
    kept = run.manifest
    hashes = {
        **(kept.get("models") or {}),
        **{f"rows of {name}": digest for name, digest in (kept.get("data") or {}).items()},
    }
    parties = [str(party["name"]) for party in kept.get("parties") or ()]
    return [
        ("hedgerow", kept.get("hedgerow", "")),
        ("run", kept["run"]),
        ("plan (SHA-256)", _code(kept.get("plan_sha256", ""))),
        ("parties", ", ".join(parties) or "-"),
        ("kept by", f"{kept['who']} ({kept['role']})"),
        *((f"{name} (SHA-256)", _code(digest)) for name, digest in hashes.items()),
    ]  # fmt: skip


def _code(text: object) -> Html:
    return tag("code", text)


def _parameters(params: Any) -> list[tuple[str, str]]:
    shown = {name: value for name, value in dict(params).items() if value not in ([], None)}
    return [(name, str(value)) for name, value in shown.items()]
