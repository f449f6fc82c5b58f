"""Peak memory of a large sealed prediction, both parties and their data in one fresh process."""

import json
import subprocess
import sys
from collections.abc import Iterator

from benchmarks.ciphers_rows import Below
from benchmarks.generated import ACTIVE_COLUMNS, generate_applicants
from benchmarks.peak import CLEAR_REFS, can_measure, high_water_mib
from benchmarks.rows import Row
from benchmarks.sealed_runs import Trained, dealt
from benchmarks.sealed_sets import MEMORY as SETS
from benchmarks.sets import REPOSITORY
from benchmarks.settings import Request

FULL = ("30000x108x100",)
QUICK = ("10000x108x100",)

TRAINING_ROWS = 20_000
BAR = Below(2.0)


def run(request: Request) -> Iterator[Row]:
    """The rows of every shape asked for; none where the system does not tell peaks."""
    if not can_measure():
        print("Left out, for this system does not tell peak memory: memory.", file=sys.stderr)
        return
    for name in request.sets:
        told = measured(name, request.settings.threads)
        yield Row(f"{name}: memory, GiB", "generated", told["GiB"], bar=BAR)
        yield Row(f"{name}: whole, s", "generated", told["s"], others=told["others"])


def measured(name: str, threads: int) -> dict[str, float]:
    """One prediction in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.sealed_memory", name, str(threads)]
    done = subprocess.run(command, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE, text=True)
    told: dict[str, float] = json.loads(done.stdout)
    return told


def measure_here(name: str, threads: int) -> dict[str, float]:
    """Trains, forgets the peak that took, and scores."""
    n, passive, trees = SETS[name].numbers
    columns = ACTIVE_COLUMNS + passive
    trained = Trained.of(*generate_applicants(TRAINING_ROWS, columns, seed=0), threads, trees)
    rows = dealt(generate_applicants(n, columns, seed=1)[0])
    CLEAR_REFS.write_text("5")
    asked = trained.sealed(rows)
    return {"GiB": high_water_mib() / 1024, "s": asked.joining + asked.seconds, "others": asked.others or 0.0}


if __name__ == "__main__":
    print(json.dumps(measure_here(sys.argv[1], int(sys.argv[2]))))
