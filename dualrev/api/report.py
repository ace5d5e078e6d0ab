"""Report on versions, settings and the cache, to paste into an issue: `dr.report()`."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import numba

from dualrev.compiler.bridge.cache.store import chosen_place, describe_folder
from dualrev.diagnostics.machine import cores, processor, versions
from dualrev.diagnostics.nans import debugging

__all__ = ["report"]

#: Packages that change what dualrev does; those that are not installed are left out.
_PACKAGES = ("numpy", "numba", "llvmlite", "scipy", "optree", "platformdirs", "pandas", "xarray", "dask", "rich")
#: Environment variables that dualrev, numba and their libraries read begin with these words.
_READ = ("DUALREV_", "NUMBA_", "OMP_", "MKL_", "OPENBLAS_", "GOTO_", "BLIS_", "VECLIB_", "NPY_", "KMP_")


def report() -> None:
    """Print versions, processor, settings and the state of the cache, to paste into an issue.

    The report has the versions of dualrev, Python, numpy, numba, llvmlite, SciPy and other packages that dualrev uses;
    the system, the processor and the number of threads; the environment variables that dualrev, numba and their
    libraries read; and the cache folder. It writes ~ for the path of your home folder. It compiles nothing, and creates
    nothing on disk.

    Returns:
        None: the text goes to stdout.

    >>> import dualrev as dr
    >>> dr.report()  # doctest: +ELLIPSIS
    Python... 3...
    dualrev...
    numpy...
    """
    lines = versions(_PACKAGES)
    lines |= {
        "system": platform.platform(),
        "machine": platform.machine(),
        "processor": processor(),
        "cores": str(cores()),
        "numba threads": f"{numba.config.NUMBA_NUM_THREADS}, {numba.config.THREADING_LAYER}",
        "debug_nans": "on" if debugging() else "off",
    }
    lines |= {name: value for name, value in sorted(os.environ.items()) if name.startswith(_READ)}
    place = chosen_place()
    lines |= {"cache folder": str(place), "cache": describe_folder(place)}
    width = max(map(len, lines)) + 2
    print(*(f"{name:{width}}{_without_home(value)}" for name, value in lines.items()), sep="\n")


def _without_home(text: str) -> str:
    """Write ~ in place of the home folder: its name may be a person's."""
    home = str(Path.home())
    return text if len(home) < 2 else text.replace(home, "~")
