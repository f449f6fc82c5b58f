"""Figures of one seed, kept in a file each, so that a run that was ended goes on where it stopped."""

import json
import re
from collections.abc import Callable

from benchmarks.settings import Request

Found = dict[str, float]


def kept(request: Request, name: str, measure: Callable[[], Found]) -> Found:
    """As they were measured before under this name, if a folder was given and has them; else measured now."""
    if request.keep is None:
        return measure()
    file = request.keep / f"{re.sub('[^a-z0-9.]+', '-', name.lower())}.json"
    if file.is_file():
        return dict(json.loads(file.read_text()))
    found = measure()
    request.keep.mkdir(parents=True, exist_ok=True)
    begun = file.with_suffix(".begun")
    begun.write_text(json.dumps(found))
    begun.replace(file)
    return found
