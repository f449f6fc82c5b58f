"""What a run was, for whoever asks later: the plan, who took part, what became known to whom, and how much was said."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import msgspec

import hedgerow
from hedgerow.agreement.options import Method, Vertical
from hedgerow.agreement.plan import Plan
from hedgerow.corridor.messages import Disclosure, NamedColumns, disclosures
from hedgerow.errors import RunError
from hedgerow.privacy.promise import Promise, sentences
from hedgerow.protocols.align.progress import learnt
from hedgerow.protocols.link.ids import linkages
from hedgerow.protocols.probe import sentence
from hedgerow.protocols.state import State
from hedgerow.protocols.vertical.passive_run import GAVE
from hedgerow.run.folder.differences import differences
from hedgerow.storage.audit import Line

VERSION = 1
FINISHED, UNFINISHED = "finished", "unfinished"
SENT, RECEIVED = "sent", "received"
_GIVEN = {"sums": "sums", "sides": "sides", "bits_at_most": "bits"}


@dataclass(frozen=True)
class About:
    """What is known of a run before it begins; a run that goes on must have the same."""

    name: str
    role: Literal["simulation", "driver", "party"]
    who: str
    """Who keeps the folder: "driver", or a party's name."""
    method: Method
    plan: bytes
    """The plan's text. In a simulation each fingerprint in it is the party's name, because certificates are fresh."""
    data: Mapping[str, str] = field(default_factory=dict)
    """In a simulation, a hash of each party's rows."""

    @property
    def plan_sha256(self) -> str:
        """The hash of the plan's text."""
        return hashlib.sha256(self.plan).hexdigest()


def opening(about: About) -> dict[str, Any]:
    """The manifest of a run that has begun."""
    plan = msgspec.json.decode(about.plan)
    return {
        "version": VERSION,
        "hedgerow": hedgerow.__version__,
        "run": about.name,
        "status": UNFINISHED,
        "role": about.role,
        "who": about.who,
        "method": about.method.word,
        "plan_sha256": about.plan_sha256,
        "plan": about.plan.decode(),
        "parties": plan.get("members", []),
        "coordinator": plan.get("coordinator", ""),
        "data": dict(about.data),
    }


def said(lines: Iterable[Line]) -> list[dict[str, Any]]:
    """How many messages of each type went to and came from each party, and their bytes, from an audit log."""
    count: Counter[tuple[str, str, str]] = Counter()
    volume: Counter[tuple[str, str, str]] = Counter()
    for line in lines:
        if line["event"] in (SENT, RECEIVED):
            way = "to" if line["event"] == SENT else "from"
            what = (str(line.get(way, "")), way, str(line.get("type", "")))
            size = line.get("bytes")
            count[what] += 1
            volume[what] += size if isinstance(size, int) else 0
    return [
        {"party": party, "direction": way, "type": kind, "messages": count[party, way, kind], "bytes": n}
        for (party, way, kind), n in sorted(volume.items())
    ]


def bins_learnt(state: State) -> dict[str, Any]:
    """What the active party of a vertical run has learnt of passive columns' bins.

    Beside it, by party: the sums that were opened, the bits that they could carry at most, had the active party sealed
    whatever it likes, and the bits that the bins of all rows have.
    """
    if state.learnt is None:
        return {}
    columns, hold = state.learnt.told(), Counter[str]()
    sizes = {party: n for (party, _), n in zip(state.learnt.owners, state.learnt.sizes, strict=True)}
    for column in columns:
        hold[column.party] += round(column.entropy * sizes[column.party])
    sums = [
        {"party": party, "sums": n, "bits_at_most": bits, "bits_of_bins": hold[party]}
        for party, (n, bits) in state.learnt.opened.items()
    ]
    told = {"rows": len(state.learnt.rows), "columns": [asdict(column) for column in columns], "sums": sums}
    return {"learnt": told}


def promised(promise: Promise | None) -> dict[str, Any]:
    """What is promised of the rows by differential privacy, in numbers and in sentences; nothing where none is."""
    if promise is None:
        return {}
    return {"differential_privacy": {**asdict(promise), "sentences": list(sentences(promise))}}


def linked_at(plan: Plan) -> dict[str, Any]:
    """The speed of each link, as measured and signed, and what was chosen by it; nothing where none was measured."""
    if not plan.link_speeds:
        return {}
    return {"link": {"measured": [asdict(one) for one in plan.link_speeds], "chosen": sentence(plan.link_speeds)}}


def given(lines: Iterable[Line]) -> dict[str, Any]:
    """How many sums a passive party gave, and the bits that they can carry at most, by its own log."""
    gave = [line for line in lines if line["event"] == GAVE]
    total = {name: sum(n for line in gave if isinstance(n := line.get(key), int)) for name, key in _GIVEN.items()}
    return {"given": total} if gave else {}


def bytes_by_party(messages: Sequence[Mapping[str, Any]]) -> dict[str, tuple[int, int]]:
    """Bytes to and from each party."""
    totals: dict[str, tuple[int, int]] = {}
    for row in messages:
        to, came = totals.get(row["party"], (0, 0))
        sent = row["direction"] == "to"
        totals[row["party"]] = (to + row["bytes"] * sent, came + row["bytes"] * (not sent))
    return totals


def told(method: Method) -> Iterator[Disclosure]:
    """Every field of every message, but for those that are always empty in a run of this method."""
    empty = {"classes", "weighted", "absent"} if isinstance(method, Vertical) else set()
    shown = method.shares or not isinstance(method, Vertical)
    empty |= {"columns"} if method.private_names or not shown else set()
    for line in disclosures():
        if line.message != "Facts" or line.field not in empty:
            yield line


def known(messages: Sequence[Mapping[str, Any]], method: Method) -> list[dict[str, str]]:
    """What became known to whom: every field of the messages that really crossed; nothing is sealed by a plain plan."""
    crossed = {row["type"] for row in messages}
    lines = [line for line in told(method) if line.message in crossed]
    if method.plain:
        lines = [line._replace(how="clear") if line.how == "sealed" else line for line in lines]
    return [dict(line._asdict()) for line in lines]


def aligned(lines: Iterable[Line]) -> list[dict[str, Any]]:
    """What alignments told whoever keeps this log: how much each party brought, and how much of it all have."""
    return [dict(found._asdict()) for found in learnt(lines)]


def linked(lines: Iterable[Line], about: About) -> dict[str, Any]:
    """In a hybrid run: who shares columns with whom, and what linkages told whoever keeps this log."""
    method, plan = about.method, msgspec.json.decode(about.plan)
    if not method.links:
        return {}
    passive = [member["name"] for member in plan.get("members", []) if member["name"] != method.active]
    groups = [list(group) for group in method.groups(passive)]
    return {"linked": linkages(lines), **({"shared_columns": groups} if groups else {})}


def names_told(messages: Sequence[Mapping[str, Any]], who: str) -> list[str]:
    """The passive parties whose owners told the names of their columns, as far as whoever keeps this log knows."""
    return sorted({row["party"] or who for row in messages if row["type"] == NamedColumns.__name__})


def check_keeper(kept: Mapping[str, Any], about: About, where: object) -> None:
    """Refuse a folder that somebody else keeps."""
    if (kept["role"], kept["who"]) != (about.role, about.who):
        raise RunError(f"{where} holds a run of {kept['who']!r} ({kept['role']}); name another folder.")


def difference(kept: Mapping[str, Any], about: About, where: object) -> str:
    """In what a run differs from the one that was begun, as a sentence; empty if in nothing."""
    if kept["plan"] != about.plan.decode():
        before, now = msgspec.json.decode(kept["plan"]), msgspec.json.decode(about.plan)
        if before.get("version") != now.get("version"):
            return (
                f"{where} holds a run of another version of hedgerow, whose plans are written otherwise; go on with "
                "that version, or name another folder."
            )
        what = differences(before, now) or "its text differs"
        return (
            f"{where} holds a run with another plan: {what}; put the run file back as it was, or name another folder."
        )
    for name, digest in about.data.items():
        if kept["data"].get(name) != digest:
            return f"The rows of {name!r} are not those with which the run in {where} began; name another folder."
    return ""
