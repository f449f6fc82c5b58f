"""From one of FedTree's files to the choices of a run of real parties: mode, number of parties and trees."""

from pathlib import Path
from typing import Any

from hedgerow.errors import ParameterError
from hedgerow.run.file.fedtree import read_distributed
from hedgerow.run.starter.choices import MODES, PORT


def choices_of(path: Path) -> dict[str, Any]:
    """What the file says; labels and ids have the columns that FedTree's tables have.

    Its `privacy_tech=none` is no consent of several organisations: sums are masked or gradients encrypted all the same.
    """
    said = read_distributed(path)
    if said.method not in MODES:
        raise ParameterError(f"{path}: its parties do not train one model together; use mode=horizontal or vertical.")
    names = tuple(f"party{i}" for i in range(1, said.n_parties + 1))
    kept = {key: value for key, value in said.privacy.items() if key == "cut_points"}
    return {
        "method": said.method, "parties": names, "label": "y", "id": "id", "task": said.task,
        "address": f"{said.host}:{PORT}", "trees": said.trees, "privacy": kept, "held_out": 0.0,
        **({"active": names[0]} if MODES[said.method].active else {}),
    }  # fmt: skip
