"""A run file as text, with a remark where somebody may want something else."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

HEAD = "# The run, the same at every party. `hedgerow plan run.toml` says what it discloses, with a hash to compare.\n"
REMARKS = {
    "run": "",
    "data": "# The names of columns in the parties' files.",
    "privacy": "# How sums or gradients are hidden.",
    "validation": "# Rows that are held out to see how good the model is; without this section all are learnt from.",
    "trees": "",
    "driver": "# Who listens; all others dial this address.",
}
DRIVER = "driver"
"""Who drives a horizontal run, and has no rows."""
TO_COME = '# fingerprint = ""  # to come: `hedgerow certs sign`\n'
USUAL_TREES = {"n_estimators": 100, "max_depth": 6}


def run_text(sections: Mapping[str, Mapping[str, Any]], parties: Sequence[Mapping[str, str]]) -> str:
    """The file. Keys without a value are left to be filled in."""
    parts = [HEAD]
    for name, keys in sections.items():
        remark = f"{REMARKS[name]}\n" if REMARKS[name] else ""
        lines = {**USUAL_TREES, **keys} if name == "trees" else keys
        parts.append(f"{remark}[{name}]\n" + _lines(lines))
    parts += ["[[party]]\n" + _lines(keys) for keys in parties]
    return "\n".join(parts)


def pinned(text: str, fingerprints: Mapping[str, str]) -> str:
    """The file with these fingerprints in the sections of their names, a driver's in [driver], if it waits for them."""
    found = {name: re.search(_place(name), text, re.MULTILINE) for name in fingerprints}
    for name, place in found.items():
        if place is not None:
            text = text.replace(place[0], f'{place[1]}fingerprint = "{fingerprints[name]}"\n', 1)
    return text


def _place(name: str) -> str:
    """Where a fingerprint is to be filled in: in the section of its name, before the next one begins."""
    head = r"\[driver\]\n" if name == DRIVER else rf"name = {re.escape(json.dumps(name))}\n"
    return rf"^({head}(?:[^\[\n][^\n]*\n)*?){re.escape(TO_COME)}"


def _lines(keys: Mapping[str, Any]) -> str:
    return "".join(_line(key, value) for key, value in keys.items())


def _line(key: str, value: Any) -> str:
    if key == "fingerprint" and not value:
        return TO_COME
    return f"{key} = {json.dumps(value, ensure_ascii=False)}\n"
