"""Batching (vmap) of a numba function: one compiled loop over the samples, for dualrev/api/vmap.py.

    def loop(start, stop, a0, a1, out0):          the text for f(x[i], w) -> an array, with x mapped and w shared
        for i in range(start, stop):
            made = f(a0[i], a1)
            put(out0, i, made)                 out0[i] = made, if that has the shape of the first one

The first sample is run on its own: it says what there has to be room for. Threads have a part of the samples each.
"""

from __future__ import annotations

import itertools
import uuid
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
from numba.core import types
from numba.core.registry import CPUDispatcher
from numba.extending import overload
from numba.np.numpy_support import as_dtype

from dualrev.compiler.bridge.check_arguments import check_taken
from dualrev.compiler.frontend.reading.source import describe
from dualrev.compiler.types.aliases import Dispatcher, NumbaType, UserValue
from dualrev.diagnostics.quoting import execute, identifier, remember
from dualrev.errors import BatchError

__all__ = ["mapped"]


def mapped(
    f: Dispatcher, args: tuple[UserValue, ...], axes: tuple[UserValue, ...], count: int, parallel: bool
) -> UserValue:
    """Map f over `count` samples: the leading axis of the arguments that have an axis in `axes`."""
    check_taken(f, args)
    if not count:
        raise BatchError("vmap over no samples", "the shape of a result is not known", "at least one")
    loop = _loop(f, args, axes)
    first = loop.first(*args)
    kind = loop.first.overloads[tuple(map(numba.typeof, args))].signature.return_type
    room: list[np.ndarray] = []
    made = _room(f, first, kind, count, room)
    fill = loop.filling(made, room)
    fill(1, 1, *args, *room)  # to compile it, and to check the types
    threads = min(numba.get_num_threads(), count - 1) if parallel else 1
    if threads <= 1:
        fill(1, count, *args, *room)
    else:
        edges = np.linspace(1, count, threads + 1).astype(int).tolist()
        with ThreadPoolExecutor(threads) as pool:
            parts = [pool.submit(fill, *part, *args, *room) for part in itertools.pairwise(edges)]
            for part in parts:
                part.result()
    return _with_arrays(made)


class _Out:
    """Result array of a batch, with the samples along its first axis."""

    def __init__(self, array: np.ndarray, number: int, is_array: bool) -> None:
        self.array, self.number, self.is_array = array, number, is_array


def _room(f: Dispatcher, first: UserValue, kind: NumbaType, count: int, room: list[np.ndarray]) -> UserValue:
    """Allocate the results of all samples, in the structure of the first one, which is stored."""
    if isinstance(kind, types.BaseTuple):
        parts = [_room(f, x, k, count, room) for x, k in zip(first, kind.types, strict=True)]
        return parts, kind.instance_class if isinstance(kind, types.BaseNamedTuple) else None
    if first is None and not isinstance(kind, types.Optional):
        return None
    is_array = isinstance(kind, types.Array)
    if not is_array and not isinstance(kind, (types.Number, types.Boolean)):
        what = f"vmap of {describe(f.py_func)}, which returns a value of numba type {kind}"
        raise BatchError(
            what, "only numbers and arrays are stacked", "a function that returns these, or tuples of them"
        )
    dtype = as_dtype(kind.dtype if is_array else kind)
    made = np.empty((count, *np.shape(first)), dtype)
    made[0] = first
    room.append(made)
    return _Out(made, len(room) - 1, is_array)


def _with_arrays(made: UserValue) -> UserValue:
    if isinstance(made, _Out):
        return made.array
    if made is None:
        return None
    parts, cls = made
    return tuple(map(_with_arrays, parts)) if cls is None else cls(*map(_with_arrays, parts))


# The loop


class _BatchLoop:
    """Compiled loops over f, for arguments that are mapped in one way."""

    def __init__(self, f: Dispatcher, names: list[str], call: str, classes: dict[str, type]) -> None:
        self._f, self._names, self._call, self._classes = f, names, call, classes
        self._filling: dict[str, Dispatcher] = {}
        text = f"def first({', '.join(names)}):\n    i = 0\n    return {call}\n"
        self.first = self._compiled(text, "first")

    def filling(self, made: UserValue, room: list[np.ndarray]) -> UserValue:
        """Compiled loop that fills the arrays for results of this structure."""
        outs = [f"out{k}" for k in range(len(room))]
        stores = "".join(f"        {line}\n" for line in _stores(made, "made"))
        head = f"def loop({', '.join(['start', 'stop', *self._names, *outs])}):\n"
        text = head + f"    for i in range(start, stop):\n        made = {self._call}\n{stores}"
        if text not in self._filling:
            self._filling[text] = self._compiled(text, "loop")
        return self._filling[text]

    def _compiled(self, text: str, name: str) -> Dispatcher:
        file = f"<vmap of {identifier(self._f.__name__, 'function')} {uuid.uuid4().hex}>"
        namespace: dict[str, object] = {"f": self._f, "put": put, **self._classes}
        execute(text, namespace, file)
        made: Dispatcher = CPUDispatcher(namespace[name], {}, {"nopython": True, "nogil": True})
        remember(text, file, made)
        return made


def _loop(f: Dispatcher, args: tuple[UserValue, ...], axes: tuple[UserValue, ...]) -> _BatchLoop:
    """Memoised loops for these arguments."""
    names = [f"a{k}" for k in range(len(args))]
    classes: dict[str, type] = {}
    given = ", ".join(_sample(x, axis, name, classes) for x, axis, name in zip(args, axes, names, strict=True))
    known = vars(f).setdefault("_dualrev_batches", {})
    key = id(f), given, tuple(classes.items())  # id: functools.wraps copies the dictionary to another function
    return known.get(key) or known.setdefault(key, _BatchLoop(f, names, f"f({given})", classes))


def _sample(x: UserValue, axis: UserValue, text: str, classes: dict[str, type]) -> str:
    """Text of a sample of an argument."""
    if axis is None or x is None:
        return text
    if isinstance(x, np.ndarray):
        return f"{text}[i]"
    if not isinstance(x, tuple):
        what = f"vmap of a numba function over an argument of type {type(x).__name__}"
        raise BatchError(what, "samples are taken of arrays, and of tuples of them", "one of these")
    axes = [axis] * len(x) if isinstance(axis, int) else axis
    parts = [_sample(u, a, f"{text}[{k}]", classes) for k, (u, a) in enumerate(zip(x, axes, strict=True))]
    if hasattr(x, "_fields"):
        name = next((known for known, cls in classes.items() if cls is type(x)), f"C{len(classes)}")
        classes[name] = type(x)
        return f"{name}({', '.join(parts)})"
    return f"({', '.join(parts)},)"


def _stores(made: UserValue, text: str) -> list[str]:
    """Text of the stores of a sample's result."""
    if made is None:
        return []
    if isinstance(made, _Out):
        out = f"out{made.number}"
        return [f"put({out}, i, {text})"] if made.is_array else [f"{out}[i] = {text}"]
    return [line for k, part in enumerate(made[0]) for line in _stores(part, f"{text}[{k}]")]


def put(out: UserValue, i: int, made: UserValue) -> None:
    """Store `out[i] = made`; raise ValueError if a sample's result has another shape than the first one."""
    raise NotImplementedError("it is called from compiled code")


@overload(put)
def _overload_put(out, i, made):  # type: ignore[no-untyped-def]
    in_order = made.layout == "C"

    def put(out, i, made):  # type: ignore[no-untyped-def]
        """Copy a sample's result into the array of all."""
        if made.shape != out.shape[1:]:
            raise ValueError("vmap of a function whose results differ in shape: return arrays of one shape")
        if in_order:  # numba's assignment takes several times as long for a small array
            first = i * made.size
            for k in range(made.size):
                out.flat[first + k] = made.flat[k]
        else:
            out[i, ...] = made

    return put
