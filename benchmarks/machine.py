"""The machine and the versions a run's figures belong to."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("hedgerow", "xgboost-cpu", "xgboost", "numpy", "scipy", "scikit-learn")


def describe_machine() -> dict[str, Any]:
    """Processor, cores, Python and the versions of what ran."""
    return {
        "cpu": processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {name: found for name in PACKAGES if (found := installed(name))},
    }


def processor() -> str:
    """The processor's own name where Linux tells it."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def installed(package: str) -> str | None:
    """A package's version, or None where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None
