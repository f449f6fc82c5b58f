"""Run folders for tests of the report page, with names that try to be HTML."""

import csv
from pathlib import Path

import numpy as np

from hedgerow.commands.print_tables import measured
from hedgerow.run.file.read import open_run
from hedgerow.run.simulation import run_file as local_run

SCRIPT, IMAGE = "<script>alert(1)</script>", '"><img src=x onerror=alert(2)>'
LABEL = "outcome <b>"
CLASSES = ("</td></table>no", "yes & 'so'")
TREES = "n_estimators = 6\nmax_depth = 3\nmin_cut_rows = 5"
PLAIN = 'protection = "plain"\ni_accept_disclosure = true'


def write_table(path: Path, n: int = 320, seed: int = 0) -> Path:
    """Rows whose columns and classes have hostile names."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).round(3)
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.4 * rng.normal(size=n) > 0, CLASSES[1], CLASSES[0])
    with path.open("w", newline="") as file:
        header = ["id", SCRIPT, IMAGE, "c", "d", LABEL]
        csv.writer(file).writerows(
            [header, *([f"r{i}", *x, label] for i, (x, label) in enumerate(zip(X, y, strict=True)))]
        )
    return path


def write_run(folder: Path, name: str, method: str, more: str = "", privacy: str = PLAIN) -> Path:
    """A run file of three parties, cut from one table, with test rows and held-out rows."""
    write_table(folder / "rows.csv")
    write_table(folder / "test.csv", 90, 1)
    file = folder / f"{name}.toml"
    parts = {
        "run": f'name = "{name}"\nmethod = "{method}"\n{more}',
        "data": f'label = "{LABEL}"\nid = "id"\ntask = "classify"\ntest = "test.csv"',
        "partition": 'data = "rows.csv"\nparties = 3',
        "validation": "share = 0.2",
        "privacy": "" if method in ("alone", "pooled") else privacy,
        "trees": TREES,
    }
    file.write_text("\n".join(f"[{section}]\n{text}" for section, text in parts.items() if text))
    return file


def train(file: Path, **more) -> Path:
    """The folder that such a run leaves."""
    return local_run.train(open_run(file), local_run.Options(measured, **more)).folder
