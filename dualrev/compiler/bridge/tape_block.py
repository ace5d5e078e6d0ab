"""Numba functions on the tape: one block, with the compiled VJP as its reverse pass.

Numba's dispatchers take plain numbers and arrays only. `lift` makes a Python function of one, which gives the
dispatcher the values, and writes a block in which the compiled vjp is the reverse sweep. A call of the dispatcher
itself with numbers under differentiation is an error that says so, in place of numba's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import ParamSpec, TypeVar

import numba
import numpy as np
from numba.core.dispatcher import Dispatcher
from numba.extending import typeof_impl

from dualrev.compiler.bridge.dispatcher import Derivative
from dualrev.compiler.bridge.make_dispatcher import derivative
from dualrev.compiler.bridge.ufunc_calls import callable_of
from dualrev.compiler.bridge.variadic import of_count
from dualrev.compiler.frontend.reading.source import StandIn
from dualrev.compiler.types.aliases import NumbaType, NumbaTypes, UserValue
from dualrev.eager.arrays.complex.pairs import ComplexArray, ComplexNumber
from dualrev.eager.arrays.memory.storage import RealArray, holds_duals, innermost, own, plain, zero
from dualrev.eager.custom import _Call, _positional, _Rule
from dualrev.eager.numbers.overload import DualNumber
from dualrev.errors import ClosureError, LiftError, UnsupportedError
from dualrev.transformed import name_of
from dualrev.tree import Structure, flatten_leaves

__all__ = ["Lifted", "derivative_source", "lift", "refuse"]


P = ParamSpec("P")
Y = TypeVar("Y")


def lift(f: Callable[P, Y]) -> Callable[P, Y]:
    """Python function with the compiled derivative of a numba function, for use in functions that the tape
    differentiates.

    Args:
        f: Numba function, or a ufunc of numba's `vectorize` or `guvectorize`.

    Returns:
        A function that is f on plain arguments. The tape records a call with traced arguments as one block with the
        compiled derivative, the first one only, in both modes. Numba functions can call it, too.

    Raises:
        LiftError: f is not a numba function (a TypeError).
        UnsupportedError: From a traced call: the compiler does not know a construct, a second derivative is needed, f
            changes an array among its arguments, or f returns a view of one (a TypeError).

    `lift` can be a decorator above numba.njit.

    >>> import numba
    >>> import dualrev as dr
    >>> @dr.lift
    ... @numba.njit
    ... def square(x):
    ...     return x * x
    >>> square(3.0), dr.grad(lambda x: square(x) * x)(3.0)
    (9.0, 27.0)
    """
    if isinstance(f, Lifted):
        return f
    f = callable_of(f)
    if not isinstance(f, Dispatcher):
        raise LiftError(f)
    return Lifted(f)


def derivative_source(
    f: Dispatcher,
    *args: UserValue,
    argnums: int | Sequence[int] = 0,
    transform: str = "value_and_grad",
    stage: str = "emitted",
) -> str:
    """Python source of the compiled derivative of a numba function.

    Args:
        f: Numba function.
        *args: Arguments of f, whose types count.
        argnums: Positions of the arguments to differentiate with respect to, as in `grad`. Not for hvp.
        transform: "value_and_grad", "grad", "vjp", "jvp", "hvp", "hessian", "jacfwd", "jacrev" or "jacobian".
        stage: "emitted" for the source of a module: the derivative, and the forward and reverse sweeps of each function
            that f calls. "lowered" for f with a name for every intermediate value; "expanded" for f as scalar
            operations, loops and stores, with types; "forward" and "reverse" for its sweeps in that form. Any pass of
            the compiler names a stage, too: `python -m dualrev.compiler.driver` lists them, and docs/compiler.md
            explains them.

    Returns:
        The source as a string. Functions that f calls stand below f.

    Raises:
        UnsupportedError: The compiler does not know a construct, or f is not a numba function (a TypeError).
        ValueError: transform or stage is something else, or argnums is given for hvp.

    >>> import numba, numpy as np
    >>> import dualrev as dr
    >>> @numba.njit
    ... def norm(a):
    ...     return np.sum(a * a)
    >>> print(dr.derivative_source(norm, np.ones(3), stage="expanded"))
    def norm(a: array(float64, 1d, C)):
        _1: float64 = 0.0
        _2: int64 = a.shape[0]
        for _3: int64 in range(0, _2, 1):
            _4: float64 = a[_3]
            _5: float64 = mul(_4, _4)
            _1 = add(_1, _5)
        _6: float64 = _1
        return _6
    <BLANKLINE>
    """
    from dualrev.compiler.bridge import api  # it takes time to import, and most programs do without

    return api.derivative_source(f, *args, argnums=argnums, transform=transform, stage=stage)


class Lifted(StandIn):
    """Python function with a compiled derivative, which `lift` returns."""

    def __init__(self, f: Dispatcher) -> None:
        super().__init__(f)
        self._f: Dispatcher = f
        self._known: set[NumbaTypes] = set()  # the types for which the derivative has been compiled

    def __call__(self, *args: UserValue, **kwargs: UserValue) -> UserValue:
        f = self._f
        if not any(map(_may_hold_duals, args)) and not any(map(_may_hold_duals, kwargs.values())):
            return f(*args, **kwargs)
        args = _positional(f.py_func, args, kwargs)
        leaves, structure = flatten_leaves(args)
        if innermost(leaves) is None:
            return f(*structure.rebuild_leaves([x.x if isinstance(x, RealArray) else x for x in leaves]))
        call = _Call(f.py_func, args)
        if isinstance(f, Derivative) or any(map(holds_duals, flatten_leaves(call.stripped)[0])):
            raise _second_derivative(f)
        made: list[_LinearMap] = []

        def run(*xs: UserValue) -> UserValue:
            """Call f, and make its derivative at these arguments."""
            y = f(*xs)
            made.append(self._derivative(call.stripped, xs, y))
            return y

        y = call.value(run)
        rule = _Rule(f.py_func, made[0].pull, made[0].push)
        return call.record(y, rule, ClosureError(f.py_func))

    def _derivative(self, kept: UserValue, xs: UserValue, y: UserValue) -> _LinearMap:
        """Derivative at the arguments `xs`, whose copy is `kept`; refusals come now."""
        f = of_count(self._f, len(xs))
        made = _LinearMap(f, kept, y)
        compiled = made.compiled
        kinds, ct = tuple(map(numba.typeof, xs)), numba.typeof(made.zero)
        if (kinds, ct) not in self._known:
            if written := _written(f, compiled._declared((*kinds, ct))[: len(kinds)]):
                raise UnsupportedError.call(
                    f"the numba function {f.__name__!r} was called with numbers that are being differentiated",
                    f"it changes its argument {written[0]!r} in place, or may do so, and dualrev.lift cannot do that to"
                    " the caller's",
                    "a function that makes an array and returns it",
                )
            if flatten_leaves(y)[0]:  # an int has no derivative
                compiled.compile((*kinds, ct))
            self._known.add((kinds, ct))
        if _share_memory(_arrays(y), _arrays(xs)):
            raise UnsupportedError.call(
                f"the numba function {f.__name__!r} was called with numbers that are being differentiated",
                "an array that it returns shares memory with an argument or another result, which dualrev.lift cannot"
                " keep up",
                "x.copy() where it returns x or a view of x",
            )
        return made

    def __repr__(self) -> str:
        return f"<dualrev.lift of {name_of(self._f)}>"

    def __reduce__(self) -> tuple[UserValue, ...]:
        return lift, (self._f,)


class _LinearMap:
    """Linear map of a call's derivative; outer runs call it with numbers under differentiation, too."""

    def __init__(self, f: Dispatcher, xs: tuple[UserValue, ...], y: UserValue) -> None:
        self._f, self._xs, self._structure = f, xs, flatten_leaves(xs)[1]
        leaves, self._output = flatten_leaves(y)
        self.zero = self._output.cotangent_leaves(list(map(zero, leaves)))
        self.compiled: Dispatcher = derivative(f, "vjp")

    def pull(self, ct: UserValue) -> UserValue:
        """Pull a cotangent of the value back to every argument."""
        call = _Call(self._f.py_func, (ct,))
        if call.run is None:
            return self.compiled(*self._xs, _typed(self._output, ct))[1]
        rule = _Rule(self._f.py_func, pull=lambda cts: (self.push(*cts),), push=self.pull)
        return call.record(call.value(self.pull), rule, ClosureError(self._f.py_func))

    def push(self, *tangents: UserValue) -> UserValue:
        """Push tangents forward to the value."""
        call = _Call(self._f.py_func, tangents)
        if call.run is None:
            return derivative(self._f, "jvp")(*self._xs, *_typed(self._structure, tangents))[1]
        rule = _Rule(self._f.py_func, pull=self.pull, push=self.push)
        return call.record(call.value(self.push), rule, ClosureError(self._f.py_func))


def _may_hold_duals(x: UserValue) -> bool:
    """Whether an argument may hold dual numbers: an array of floats cannot."""
    if isinstance(x, np.ndarray):
        return x.dtype == object
    if isinstance(x, (tuple, list)):
        return any(map(_may_hold_duals, x))
    return isinstance(x, (DualNumber, RealArray, ComplexNumber, ComplexArray))


def _arrays(x: UserValue) -> list[np.ndarray]:
    """Arrays in the arguments or in the value of a numba function."""
    if isinstance(x, tuple):
        return [a for part in x for a in _arrays(part)]
    return [x] if isinstance(x, np.ndarray) else []


def _share_memory(results: list[np.ndarray], arguments: list[np.ndarray]) -> bool:
    """Whether a result is a view of another result or of an argument."""
    return any(np.may_share_memory(a, b) for k, a in enumerate(results) for b in [*results[:k], *arguments])


def _typed(structure: Structure, ct: UserValue) -> UserValue:
    """Cotangent or tangent as compiled code takes it: plain arrays of the dtypes that belong there, in C order."""
    return structure.cotangent_leaves([own(plain(leaf)) for leaf in structure.read_leaves(ct)])


def _written(f: Dispatcher, argtypes: NumbaTypes) -> list[str]:
    """Parameters that hold an array that f may write to.

    To compare the arrays before and after would not do: what f writes may be what was there, and have a derivative.
    """
    from dualrev.compiler.driver.context import Front
    from dualrev.compiler.ir.core.traverse import leaves

    front = Front()
    f_in_core = front.entered(f, argtypes)
    written = front.memory.written(f_in_core)
    parameters = zip(front.source(f).parameters, f_in_core.parameters, strict=True)
    return [name for name, parts in parameters if any(x in written for x in leaves(parts))]


def _second_derivative(f: Dispatcher) -> UnsupportedError:
    f = f.derivative_of[0] if isinstance(f, Derivative) else f
    return UnsupportedError.call(
        f"a second derivative of the numba function {f.__name__!r} was asked for",
        "the tape takes first derivatives of compiled functions",
        f"{f.__name__}.py_func there, which is the Python function: the tape makes its derivatives of every order",
    )


# Calls of a dispatcher itself


def refuse(x: object, context: object) -> None:
    """Refuse to type a number under differentiation, when numba types arguments."""
    f = _called()
    if isinstance(f, Derivative):
        raise _second_derivative(f)
    name = getattr(f, "__name__", "f")
    raise UnsupportedError.call(
        f"the numba function {name!r} was called with numbers that are being differentiated",
        "numba knows plain numbers and arrays only",
        f"dualrev.lift({name})(...), which has the compiled derivative, or {name}.py_func(...), which is Python",
    )


def _called() -> UserValue:
    """Dispatcher that is typing an argument, found on the call stack."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != "typeof_pyval":
        frame = frame.f_back
    return None if frame is None else frame.f_locals.get("self")


def _lifted_type(x: Lifted, context: object) -> NumbaType:
    return typeof_impl(x._f, context)


typeof_impl.register(Lifted, _lifted_type)
