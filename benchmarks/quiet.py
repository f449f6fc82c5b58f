"""How busy others keep the machine: one busy core of two slows XGBoost's two threads three- to sixfold."""

import os
import time
from pathlib import Path
from types import TracebackType
from typing import Self

STAT = Path("/proc/stat")


class Neighbours:
    """Measures over a `with` block how many cores other processes kept busy; None where the system does not tell."""

    cores: float | None = None

    def __enter__(self) -> Self:
        self._start = time.perf_counter()
        self._before = others_seconds()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        after, seconds = others_seconds(), time.perf_counter() - self._start
        if self._before is not None and after is not None:
            self.cores = max(0.0, (after - self._before) / seconds)


def others_seconds() -> float | None:
    """Processor seconds spent since the start by everyone but this process."""
    if not STAT.exists():
        return None
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, STAT.read_text().split()[1:9])
    busy = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    return busy - time.process_time()
