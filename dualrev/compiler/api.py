"""The public functions of derivatives.py for numba functions: what they return, and how Python calls it."""

from __future__ import annotations

import ctypes
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np
from numba.core import types
from numba.core.errors import NumbaError, UnsupportedBytecodeError
from numpy.lib.array_utils import byte_bounds

from dualrev.arrays.storage import RealArray
from dualrev.compiler.build import Derivative, derivative
from dualrev.compiler.pipeline import emit
from dualrev.compiler.source import describe, is_numba_function
from dualrev.errors import ArgumentError, CotangentError, OutputError, TangentError, UnsupportedError
from dualrev.overload import DualNumber
from dualrev.tree import Structure, flatten_leaves

__all__ = [
    "Linear",
    "derivative_source",
    "gradient",
    "is_numba_function",
    "jvp",
    "linearize",
    "refuse_second_order",
    "vjp",
]


def _first_order(f: Any, wanted: str) -> None:
    if isinstance(f, Derivative):
        inner, transform, _ = f.derivative_of
        raise UnsupportedError.at(
            describe(inner.py_func),
            f"the {transform} of a numba function, once more ({wanted})",
            "the compiler makes first derivatives only",
            "dr.hessian(f.py_func) or another function of the tape for the second ones",
        )


def gradient(f: Any, transform: str, argnums: int | Sequence[int]) -> Derivative:
    """The numba dispatcher for `grad` and `value_and_grad` of a numba function."""
    _first_order(f, transform)
    return derivative(f, transform, tuple(argnums) if isinstance(argnums, Sequence) else argnums)


def refuse_second_order(f: Any, wanted: str) -> None:
    """UnsupportedError: second derivatives are the tape's."""
    if isinstance(f, Derivative):
        _first_order(f, wanted)
    raise UnsupportedError.at(
        describe(f.py_func),
        f"a numba function twice ({wanted})",
        "the compiler makes first derivatives only",
        f"dr.{wanted}(f.py_func), which takes the tape",
    )


def jvp(f: Any, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
    """The value of a numba function, and its derivative in the direction of the tangents."""
    _first_order(f, "jvp")
    if any(p.kind is p.VAR_POSITIONAL for p in inspect.signature(f.py_func).parameters.values()):
        emit(f, "jvp", 0, tuple(map(numba.typeof, primals)))  # says that it cannot
    leaves, structure = _real_leaves(f, primals)
    _real_leaves(f, tangents)
    given = structure.cotangent_leaves(structure.read_leaves(tangents, TangentError))
    if not leaves:
        raise ArgumentError(primals)
    args = _bound(f, primals, {})
    y, dy = derivative(f, "jvp")(*args, *given, *_zeros(args[len(primals) :]))
    outputs, output = flatten_leaves(y)
    if not outputs:
        raise OutputError(y)
    return y, output.cotangent_leaves(flatten_leaves(dy)[0])


def vjp(f: Any, primals: tuple[Any, ...]) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """The value of a numba function, and its pullback; what cannot be differentiated is refused before f runs."""
    _first_order(f, "vjp")
    _compile_pullback(f, _bound(f, primals, {}))
    y, linear = linearize(f, primals, {}, range(len(primals)))
    return y, linear.pull


def linearize(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], numbers: Sequence[int]) -> tuple[Any, Linear]:
    """The value of a numba function, and its derivative by the arguments of these numbers."""
    _first_order(f, "vjp")
    if not _real_leaves(f, tuple(args[k] for k in numbers))[0]:
        raise ArgumentError(tuple(args[k] for k in numbers))
    whole = _bound(f, args, kwargs)
    _real_leaves(f, whole)
    kept = _copied(whole)
    y = f(*whole)
    return y, Linear(f, kept, numbers, y)


def _compile_pullback(f: Any, args: tuple[Any, ...]) -> None:
    """Compile the pullback for these arguments, once."""
    argtypes = tuple(map(numba.typeof, args))
    compiled = vars(f).setdefault("_dualrev_pullbacks", set())
    if argtypes in compiled or not f._can_compile:
        return
    try:
        f.compile(argtypes)
    except (NumbaError, UnsupportedBytecodeError):
        emit(f, "vjp", 0, argtypes)  # we can say better what cannot be done
        raise
    returned = f.overloads[argtypes].signature.return_type
    derivative(f, "vjp").compile((*argtypes, _cotangent_type(returned)))
    compiled.add(argtypes)


def _cotangent_type(kind: Any) -> Any:
    """The type of a cotangent of a value, as `Linear.pull` passes it."""
    if isinstance(kind, types.Float):
        return types.float64
    if isinstance(kind, types.Array) and isinstance(kind.dtype, types.Float):
        return types.Array(kind.dtype, kind.ndim, "C")
    if isinstance(kind, types.BaseTuple):
        return types.BaseTuple.from_types(
            [_cotangent_type(t) for t in kind.types], getattr(kind, "instance_class", None)
        )
    return types.none


class Linear:
    """The derivative of a numba function at its arguments, as a linear map that goes both ways: see engine.py."""

    def __init__(self, f: Any, args: tuple[Any, ...], numbers: Sequence[int], y: Any) -> None:
        self._f, self._args, self._numbers = f, args, numbers
        self._structure = flatten_leaves(tuple(args[k] for k in numbers))[1]
        leaves, self._output = flatten_leaves(y)
        if not leaves:
            raise OutputError(y)

    def pull(self, ct: Any) -> tuple[Any, ...]:
        """A cotangent for every chosen argument, from a cotangent of the value."""
        given = self._output.cotangent_leaves(self._output.read_leaves(ct, CotangentError))
        cts = derivative(self._f, "vjp")(*_copied(self._args), given)[1]
        made = self._structure.cotangent_leaves(flatten_leaves(tuple(cts[k] for k in self._numbers))[0])
        assert isinstance(made, tuple)
        return made

    def push(self, *tangents: Any) -> Any:
        """A tangent of the value, from a tangent for every chosen argument."""
        given = self._structure.cotangent_leaves(self._structure.read_leaves(tangents, TangentError))
        whole = list(_zeros(self._args))
        for k, tangent in zip(self._numbers, given, strict=True):
            whole[k] = tangent
        dy = derivative(self._f, "jvp")(*_copied(self._args), *whole)[1]
        return self._output.cotangent_leaves(flatten_leaves(dy)[0])


def _real_leaves(f: Any, x: Any) -> tuple[list[Any], Structure]:
    """`flatten_leaves`; UnsupportedError for numbers under differentiation, which numba does not know."""
    leaves, structure = flatten_leaves(x)
    if any(isinstance(leaf, (DualNumber, RealArray)) for leaf in leaves):
        raise UnsupportedError.at(
            describe(f.py_func),
            "a numba function of numbers that are being differentiated",
            "numba has no derivatives of its derivatives",
            "f.py_func in its place, which takes the tape",
        )
    return leaves, structure


def _bound(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """All arguments of f, those that have their default values too."""
    bound = inspect.signature(f.py_func).bind(*args, **kwargs)
    bound.apply_defaults()
    return tuple(bound.arguments.values())


def _zeros(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tangents of arguments that do not move."""
    leaves, structure = flatten_leaves(args)
    made = structure.cotangent_leaves([np.zeros_like(x) if isinstance(x, np.ndarray) else 0.0 for x in leaves])
    assert isinstance(made, tuple)
    return made


def _copied(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same arguments with copies of the arrays, since f may write them.

    What shares memory does so in the copies: f is refused then if it writes there, and is another function otherwise.
    """
    made: dict[int, Any] = {}
    group: list[Any] = []
    end = 0
    for x in sorted(_arrays(args), key=lambda x: byte_bounds(x)[0]):
        low, high = byte_bounds(x)
        if group and low >= end:
            _copy_group(group, end, made)
            group = []
        group.append(x)
        end = max(end, high)
    if group:
        _copy_group(group, end, made)

    def visit(x: Any) -> Any:
        if isinstance(x, tuple):
            parts = map(visit, x)
            return type(x)(*parts) if hasattr(x, "_fields") else tuple(parts)
        return made[id(x)] if isinstance(x, np.ndarray) else x

    return tuple(map(visit, args))


def _arrays(x: Any) -> list[Any]:
    if isinstance(x, tuple):
        return [a for part in x for a in _arrays(part)]
    return [x] if isinstance(x, np.ndarray) else []


def _copy_group(group: list[Any], end: int, made: dict[int, Any]) -> None:
    """Copies of arrays that lie in one piece of memory, which ends before `end`, by their ids."""
    if len(group) == 1:
        made[id(group[0])] = group[0].copy("K")
        return
    start = byte_bounds(group[0])[0]
    memory = np.frombuffer(ctypes.string_at(start, end - start), np.uint8).copy()
    for x in group:
        offset = x.__array_interface__["data"][0] - start
        made[id(x)] = np.ndarray(x.shape, x.dtype, memory, offset, x.strides)


def derivative_source(f: Any, *args: Any, argnums: int | Sequence[int] = 0, transform: str = "value_and_grad") -> str:
    """The Python source of the derivative of a numba function, for arguments of these types.

    The source is a module: the derivative itself, and for each function that f calls its forward and reverse sweeps.
    transform is "value_and_grad", "grad", "vjp" or "jvp". Raises UnsupportedError as dualrev.grad does.
    """
    if not is_numba_function(f):
        raise UnsupportedError.at(describe(f), "derivative_source", "this is no numba function", "@njit above it")
    _first_order(f, "derivative_source")
    numbers = tuple(argnums) if isinstance(argnums, Sequence) else argnums
    kinds = list(map(numba.typeof, args))
    defaults = [p.default for p in inspect.signature(f.py_func).parameters.values()][len(args) :]
    if transform in ("grad", "value_and_grad"):
        if inspect.Parameter.empty in defaults:
            inspect.signature(f.py_func).bind(*args)  # raises Python's error for a missing argument
        kinds += [types.Omitted(x) for x in defaults]
    return emit(f, transform, numbers, tuple(kinds)).source
