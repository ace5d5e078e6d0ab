"""Signatures and source of the user's functions, read without evaluating annotations and without warnings.

From Python 3.14 on, annotations are evaluated on request, and a name in them may stand for nothing at run time, such
as one that is imported under `if TYPE_CHECKING:`. Python has given the warnings of the source when it compiled the
file.
"""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

__all__ = ["signature", "unwarned"]


def signature(f: Callable[..., Any]) -> inspect.Signature:
    """`inspect.signature(f)`, with annotations as text where they would be evaluated.

    >>> def area(r: "Length") -> float:
    ...     return 3.0 * r * r
    >>> list(signature(area).parameters)
    ['r']
    """
    if isinstance(f, Dispatcher):
        found: inspect.Signature = f._compiler.pysig  # numba has read it
        return found
    if sys.version_info >= (3, 14):
        from annotationlib import Format

        return inspect.signature(f, annotation_format=Format.STRING)
    return inspect.signature(f)


@contextmanager
def unwarned() -> Iterator[None]:
    r"""Python parses and compiles source here without its warnings (of `"\d"`, of `return` in `finally`).

    Under numba's lock: the filters of warnings belong to the process, and a thread would put back those of another.

    >>> import ast
    >>> with unwarned():
    ...     tree = ast.parse("name = 'a\\d'")
    """
    with global_compiler_lock, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
