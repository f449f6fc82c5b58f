"""What the run cost: bytes of each party, bytes and seconds of each phase."""

from collections.abc import Sequence

from hedgerow.report.page.html import Html, folded, paragraph, picture, table, tag
from hedgerow.report.page.subject import Section, Subject
from hedgerow.report.pictures.traffic import plot_bytes, plot_phases
from hedgerow.run.folder.kept_run import KeptRun
from hedgerow.run.folder.manifest import bytes_by_party
from hedgerow.run.folder.phases import Phase

MOST_PARTIES = 16
"""Parties in a picture."""


def traffic(subject: Subject) -> Section:
    """Bytes and seconds, by party and by phase."""
    run = subject.run
    if run is None or not run.messages:
        why = (
            "Bytes and seconds are known of runs."
            if run is None
            else "Nothing was sent, so there are no bytes to show."
        )
        return Section("traffic", "Bytes and seconds", lacks=(why,))
    parts = [_pictures(run), *_tables(run)]
    seconds = run.metrics.get("seconds_per_tree") or list(run.gone.seconds)
    if seconds:
        said = f"{len(seconds)} rounds in {sum(seconds):.4g} s: {sum(seconds) / len(seconds):.3g} s a round on average"
        parts.append(paragraph(f"{said}, {max(seconds):.3g} s the longest."))
    return Section("traffic", "Bytes and seconds", tuple(parts), _lacks(run))


def size(n_bytes: int) -> str:
    """Bytes for people."""
    for unit, least in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if n_bytes >= least:
            return f"{n_bytes / least:.1f} {unit}"
    return f"{n_bytes} B"


def _pictures(run: KeptRun) -> Html:
    by_party = {_other(name): pair for name, pair in bytes_by_party(run.messages).items()}
    said = "; ".join(f"{name}: {size(to)} to it, {size(came)} from it" for name, (to, came) in by_party.items())
    own = _own_phases(run)
    seconds = {phase.name: round(phase.seconds, 3) for phase in own if phase.seconds}
    shown = [
        picture(lambda: plot_bytes(by_party), f"Bytes: {said}.") if len(by_party) <= MOST_PARTIES else Html(""),
        picture(lambda: plot_phases(seconds), "Seconds of each phase: "
                + ", ".join(f"{name} {value:.3g}" for name, value in seconds.items()) + ".") if seconds else Html(""),
    ]  # fmt: skip
    return tag("div", *shown, class_="pictures")


def _tables(run: KeptRun) -> list[Html]:
    by_party = bytes_by_party(run.messages)
    count = {name: sum(m["messages"] for m in run.messages if m["party"] == name) for name in by_party}
    rows = [[_other(name), f"{count[name]:,}", size(to), size(came)] for name, (to, came) in by_party.items()]
    parts = [table(["party", "messages", "to it", "from it"], rows, (1, 2, 3)), _phases(_own_phases(run))]
    others = {name: found for name, found in run.phases.items() if name != run.manifest["who"] and found}
    answering = [
        [name, phase.name, f"{phase.messages:,}", size(phase.sent), size(phase.received), f"{phase.answering:.3g}"]
        for name, found in others.items()
        for phase in found
    ]
    if answering:
        head = ["party", "phase", "messages", "it sent", "it received", "seconds it computed"]
        parts.append(folded("Each party's phases, by its own log", table(head, answering, (2, 3, 4, 5))))
    return parts


def _phases(found: Sequence[Phase]) -> Html:
    rows = [[p.name, f"{p.messages:,}", size(p.sent), size(p.received), f"{p.seconds:.3g}"] for p in found]
    return table(["phase", "messages", "sent", "received", "seconds"], rows, (1, 2, 3, 4)) if rows else Html("")


def _own_phases(run: KeptRun) -> Sequence[Phase]:
    return run.phases.get(str(run.manifest["who"])) or []


def _other(name: str) -> str:
    """Who a message went to or came from; a party hears of nobody but whoever drives."""
    return name or "the driver"


def _lacks(run: KeptRun) -> tuple[str, ...]:
    if run.manifest["role"] == "driver":
        return ("How long each party computed is in its own log, which lies with it.",)
    return ()
