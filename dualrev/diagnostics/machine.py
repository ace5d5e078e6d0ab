"""Facts about this machine and its packages, for reports: processor, cores, versions."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from dualrev._version import __version__

__all__ = ["cores", "processor", "versions"]


def processor() -> str:
    """Return the processor's name as the system gives it."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of Python, dualrev and the installed packages, without importing these.

    >>> list(versions(["numpy", "no-such-package"]))
    ['Python', 'dualrev', 'numpy']
    """
    found = {"Python": platform.python_version(), "dualrev": __version__}
    for name in packages:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
