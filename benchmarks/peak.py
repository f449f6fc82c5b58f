"""Peak memory of one fit, in a fresh process that holds the training table and nothing else of note."""

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from benchmarks.seats import SEATS
from benchmarks.sets import REPOSITORY, SETS
from benchmarks.settings import Settings

CLEAR_REFS = Path("/proc/self/clear_refs")


def can_measure() -> bool:
    """Whether this system tells peak memory the way we ask."""
    return CLEAR_REFS.exists()


def peak_mib(seat: str, set_name: str, settings: Settings) -> float:
    """Peak resident MiB of one fit, the table included, measured in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.peak", seat, set_name, json.dumps(asdict(settings))]
    done = subprocess.run(command, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE, text=True)
    return float(done.stdout)


def measure_here(seat: str, set_name: str, settings: Settings) -> float:
    """Loads the table, forgets the peak that took, fits, and reads the new peak."""
    split = SETS[set_name].load()
    X, y = split.X_train, split.y_train
    del split
    learner = SEATS[seat](settings)
    CLEAR_REFS.write_text("5")
    learner.fit(X, y)
    return high_water_mib()


def high_water_mib() -> float:
    """The peak resident memory of this process since it was last forgotten."""
    return _status_mib("VmHWM:")


def resident_mib(process: int | None = None) -> float:
    """The resident memory of a process, by its number; of this one if not said."""
    return _status_mib("VmRSS:", process)


def _status_mib(field: str, process: int | None = None) -> float:
    status = Path(f"/proc/{process or 'self'}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith(field)) / 1024


if __name__ == "__main__":
    print(measure_here(sys.argv[1], sys.argv[2], Settings(**json.loads(sys.argv[3]))))
