"""FedTree itself, where its program is named: the environment variable HEDGEROW_FEDTREE is the path of `FedTree-train`.

Seconds of a tree are those of a longer run less those of a shorter one, so that reading and binning do not count.
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sklearn.datasets import dump_svmlight_file

from benchmarks.sets import Split
from benchmarks.settings import Settings

VARIABLE = "HEDGEROW_FEDTREE"
LIMIT = 3600.0
"""Seconds after which a run has failed."""


@dataclass(frozen=True)
class FedTree:
    """The program, with the settings of a run."""

    program: Path
    settings: Settings

    @classmethod
    def at_hand(cls, settings: Settings) -> "FedTree | None":
        """If it is named, and there."""
        named = os.environ.get(VARIABLE)
        if not named:
            return None
        if not Path(named).is_file():
            raise FileNotFoundError(f"{VARIABLE} names {named}, which is not there: name the program FedTree-train")
        return cls(Path(named), settings)

    def seconds(self, split: Split, mode: str, trees: int, classes: int) -> float:
        """Of a tree of so many more, masked in the horizontal mode, encrypted in the vertical one."""
        with tempfile.TemporaryDirectory(prefix="hedgerow-benchmark-") as folder:
            place = Path(folder)
            dump_svmlight_file(split.X_train, split.y_train, str(place / "train.libsvm"), zero_based=False)
            keys = self.keys(mode, classes, split.X_train.shape[1])
            few, more = (self._run(place, keys | {"n_trees": n}) for n in (1, 1 + trees))
        return (more - few) / trees

    def keys(self, mode: str, classes: int, columns: int) -> dict[str, object]:
        """Its configuration."""
        objective = {0: "reg:linear", 2: "binary:logistic"}.get(classes, "multi:softmax")
        return {
            "data": "train.libsvm", "n_features": columns, "mode": mode, "partition": 1, "partition_mode": mode,
            "n_parties": 2, "privacy_tech": "sa" if mode == "horizontal" else "he", "objective": objective,
            "num_class": max(classes, 1), "max_depth": self.settings.depth, "max_num_bin": self.settings.bins,
            "learning_rate": self.settings.learning_rate, "lambda": 0.1, "gamma": 0.001, "min_child_weight": 0,
            "n_gpus": 0,
        }  # fmt: skip

    def _run(self, place: Path, keys: Mapping[str, object]) -> float:
        file = place / "run.conf"
        file.write_text("".join(f"{key}={value}\n" for key, value in keys.items()))
        environment = {**os.environ, "OMP_NUM_THREADS": str(self.settings.threads)}
        began = time.perf_counter()
        done = subprocess.run(
            [str(self.program), str(file)], cwd=place, env=environment, timeout=LIMIT, capture_output=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"FedTree ended with {done.returncode}: {done.stdout.decode(errors='replace')[-500:]}")
        return time.perf_counter() - began
