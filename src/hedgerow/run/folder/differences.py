"""What differs between the plan that a run began with and the one it is started with, in the run file's words."""

from collections.abc import Iterator
from typing import Any

MOST = 5
"""Differences that are named; the others are counted."""
LONGEST = 40
KEYS = {
    "run": "[run] name",
    "coordinator": "[driver] fingerprint",
    "follow": "whether a metric is followed on validation rows",
    "parameter": "the objective's parameter",
    "average": "[trees] kind = \"forest\"",
    "kind": "[run] method",
    "type": "protection",
}  # fmt: skip
"""Keys of a plan that a run file calls otherwise, or has no key for."""


def differences(before: Any, now: Any) -> str:
    """Every key that differs, like "max_depth was 4, now 5"; empty if none does. Plans hold nothing of the data."""
    found = list(_found(before, now, ""))
    named, more = found[:MOST], len(found) - MOST
    return ", and ".join([*named, *([f"{more} more"] if more > 0 else [])])


def _found(before: Any, now: Any, key: str) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(now, dict):
        for tag in ("kind", "type"):  # of options, whose other keys differ with it
            if before.get(tag) != now.get(tag):
                yield from _found(before.get(tag), now.get(tag), tag)
                return
        for name in sorted({*before, *now}):
            if before.get(name) != now.get(name):
                yield from _found(before.get(name), now.get(name), name)
    elif key == "members" and isinstance(before, list) and isinstance(now, list):
        yield from _members(before, now)
    else:
        yield f"{KEYS.get(key, key)} was {_shown(before)}, now {_shown(now)}"


def _members(before: list[Any], now: list[Any]) -> Iterator[str]:
    """Parties by name; where those are the same, whose certificate changed."""
    names = [[member["name"] for member in members] for members in (before, now)]
    if names[0] != names[1]:
        yield f"the parties were {_listed(names[0])}, now {_listed(names[1])}"
        return
    for old, new in zip(before, now, strict=True):
        if old != new:
            was, is_ = _shown(old["fingerprint"]), _shown(new["fingerprint"])
            yield f"[[party]] {old['name']!r} fingerprint was {was}, now {is_}"


def _listed(names: list[str]) -> str:
    return _short(", ".join(names))


def _shown(value: Any) -> str:
    if value is None or value == "":
        return "not given"
    if isinstance(value, bool):
        return "true" if value else "false"
    return _short(str(value))


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
