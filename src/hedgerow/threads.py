"""How many threads a number of jobs means, and how soon they take turns."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from hedgerow.errors import ParameterError

TURN = 0.0005
"""Seconds after which a thread lets another have Python, where some of them carry frames; 0.005 otherwise."""


@contextmanager
def short_turns() -> Iterator[None]:
    """For the process of one party: a thread that carries a frame does not wait long for one that computes."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(TURN)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def threads_of(n_jobs: Any) -> int:
    """How many threads `n_jobs` means: None or -1 for all cores, -2 for all but one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None:
        return cores
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise ParameterError(f"n_jobs must be a whole number other than 0, or None; it is {n_jobs!r}.")
    return int(n_jobs) if n_jobs > 0 else max(1, cores + 1 + int(n_jobs))
