"""Diagnostic at the first compiled derivative: numba is newer than the versions that the tests ran with.

The compiler calls and replaces functions inside of numba (faster_numba.py, runtime/link.py), which a minor version of
numba may change.
"""

from __future__ import annotations

import functools
import re
import warnings

import numba

from dualrev._version import NEWEST_NUMBA
from dualrev.errors import UntestedVersionWarning

__all__ = ["is_tested", "warn_untested_numba"]


def is_tested(version: str, newest: str = NEWEST_NUMBA) -> bool:
    """Whether a version of numba belongs to the newest tested minor version, or to an older one.

    >>> is_tested("0.68.2", newest="0.68"), is_tested("0.69.0rc1", newest="0.68"), is_tested("1.0.0", newest="0.68")
    (True, False, False)
    """
    return _minor(version) <= _minor(newest)


def _minor(version: str) -> tuple[int, ...]:
    """Major and minor number of a version; (0, 0) for text that has none, as that of a build from a bare source."""
    found = re.match(r"(\d+)\.(\d+)", version)
    return tuple(map(int, found.groups())) if found else (0, 0)


@functools.cache
def warn_untested_numba() -> None:
    """Warn, once in a process, if numba is newer than the versions that the tests ran with."""
    if not is_tested(numba.__version__):
        warnings.warn(UntestedVersionWarning(numba.__version__, NEWEST_NUMBA), stacklevel=2)
