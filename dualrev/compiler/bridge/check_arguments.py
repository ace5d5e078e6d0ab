"""Argument checks of dispatchers: the error for a value without a numba type says what to write instead."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence

import numba
import numpy as np
from numba.core import types
from numba.core.errors import NumbaError

from dualrev.compiler.frontend.reading.source import describe
from dualrev.compiler.types.aliases import Dispatcher, UserValue
from dualrev.errors import OutputNumberError, UnsupportedError

__all__ = ["OUTPUTS", "check_taken", "check_writable"]

#: Where the Python function that output_arguments.py makes has the numbers of the arguments that it returns.
OUTPUTS = "_dualrev_outputs"


#: What to write for an argument that numba does not know: the first that fits.
_INSTEAD: tuple[tuple[Callable[[UserValue], bool], str], ...] = (
    (lambda x: hasattr(x, "to_numpy"), "x.to_numpy()"),
    (lambda x: isinstance(x, dict) or dataclasses.is_dataclass(x), "a named tuple with these fields"),
    (lambda x: isinstance(x, (list, set)), "np.array(x)"),
    (lambda x: isinstance(x, np.complexfloating), "complex(x)"),
    (lambda x: isinstance(x, np.floating), "float(x)"),
    (lambda x: hasattr(x, "__array__"), "np.asarray(x)"),
    (lambda x: hasattr(x, "__float__"), "float(x)"),
)

#: What to write for an array whose elements numba does not know, by their kind.
_ELEMENTS = {
    kind: f"np.asarray(x, {of})" for kind, of in (("f", "float"), ("O", "float"), ("c", "complex"), ("i", "int"))
}


def check_taken(f: Dispatcher, args: Sequence[UserValue]) -> None:
    """Raise UnsupportedError for an argument without a numba type."""
    for k, x in enumerate(args):
        if _is_known(x):
            continue
        code = f.py_func.__code__
        what = f"argument {k} of {describe(f.py_func)}, a value of type {describe(type(x))},"
        why, instead = "numba has no type for it", "numbers, arrays of floats, and tuples or named tuples of these"
        if isinstance(x, np.ndarray):
            why = f"numba has no arrays of dtype {x.dtype.str!r}"
            instead = _ELEMENTS.get(x.dtype.kind, instead)
            if type(x) is not np.ndarray:
                why, instead = f"numba does not know {describe(type(x))}", "np.asarray(x)"
        else:
            instead = next((text for fits, text in _INSTEAD if fits(x)), instead)
        raise UnsupportedError.at(f"{code.co_filename}:{code.co_firstlineno}", what, why, instead)


def check_writable(f: Dispatcher, kinds: Sequence[types.Type]) -> None:
    """Raise OutputNumberError for outputs of a type that no function can write to."""
    for k in vars(f.py_func).get(OUTPUTS, ()):
        if k < len(kinds) and isinstance(kinds[k], (types.Number, types.Boolean, types.NoneType, types.Omitted)):
            raise OutputNumberError.of_type(k, str(kinds[k]))


def _is_known(x: UserValue) -> bool:
    if x.__class__ is np.ndarray:
        return _is_known_dtype(x.dtype)
    try:
        kind = numba.typeof(x)
        memory = isinstance(kind, types.Buffer) and not isinstance(kind, types.Array)  # such as an array of JAX
        return not (memory and hasattr(x, "__array__")) and not _is_unknown(kind)
    except (NumbaError, ValueError, NotImplementedError):
        return False


@functools.lru_cache(maxsize=256)  # numba makes the type of records anew in each call of `typeof`
def _is_known_dtype(dtype: np.dtype) -> bool:
    """Whether numba has arrays of this dtype."""
    try:
        return not _is_unknown(numba.typeof(np.empty(0, dtype)))
    except (NumbaError, ValueError, NotImplementedError):
        return False


def _is_unknown(kind: types.Type) -> bool:
    """Whether numba has this type, but no values of it: objects of Python, and on CPUs float16."""
    if isinstance(kind, types.BaseTuple):
        return any(map(_is_unknown, kind.types))
    of = kind.dtype if isinstance(kind, types.Array) else kind
    return of is types.pyobject or of == types.float16
