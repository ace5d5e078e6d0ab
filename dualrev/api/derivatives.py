"""Derivatives of functions: gradients, Jacobians, Hessians and products with them, all from `vjp` and `jvp`.

Names and conventions are JAX's. Arguments and values are nested data: floats, numpy floating scalars and arrays of
them, in tuples, lists, dicts, namedtuples, dataclasses and classes registered with `register_node`. Cotangents and
gradients have the structure, the shapes and the dtypes of what they belong to, and None in place of everything discrete
(ints, strings, None, ...).

`engine=None` differentiates a numba function with the compiler (dualrev.compiler, docs/numba/), and any other
function with the tape (dualrev.eager.tape.engine). Any module or object with `vjp(f, *primals) -> (y, pullback)`, such
as a stage of the paper, can take the tape's place: `dr.grad(f, engine=stages.d2_staged)`. Compiled derivatives have any
order, without has_aux. The compiler raises UnsupportedError (a TypeError) for constructs that it does not know.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, Literal, ParamSpec, SupportsFloat, TypeVar, TypeVarTuple, overload

from numba.core.dispatcher import Dispatcher
from numba.core.registry import CPUDispatcher
from numba.np.ufunc.dufunc import DUFunc
from numba.np.ufunc.gufunc import GUFunc

from dualrev.api.transform_types import as_hessian, as_jacobian
from dualrev.diagnostics.keywords import answered
from dualrev.eager import transforms
from dualrev.eager.arguments import FIRST, Argnames, Argnums, chosen_by, positions
from dualrev.errors import TangentError
from dualrev.outputs import Outputs, check_outputs, writing
from dualrev.transformed import Pullback, Transformed

__all__ = [
    "callable_of",
    "compiled",
    "grad",
    "hessian",
    "hvp",
    "is_compiled",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "value_and_grad",
    "vjp",
    "writing_outputs",
]

# What types can say: a gradient has the type of the first argument, which is passed by position; the other parameters
# are those of f. An int in nested data is None in the gradient, which is not said: a dict of floats stays one.
A = TypeVar("A")
P = ParamSpec("P")
Ts = TypeVarTuple("Ts")
Y = TypeVar("Y")
Number = TypeVar("Number", bound=SupportsFloat)
Aux = TypeVar("Aux")
Seq = Sequence[Any]
First = Literal[0]
No = Literal[False]
Yes = Literal[True]


@overload
def vjp(
    f: Callable[[*Ts], Y], *primals: *Ts, has_aux: No = False, engine: Any = None, outputs: None = None
) -> tuple[Y, Callable[[Any], tuple[*Ts]]]: ...


@overload
def vjp(
    f: Callable[[*Ts], tuple[Y, Aux]], *primals: *Ts, has_aux: Yes, engine: Any = None
) -> tuple[Y, Callable[[Any], tuple[*Ts]], Aux]: ...


@overload
def vjp(
    f: Callable[..., Any], *primals: *Ts, engine: Any = None, outputs: Outputs
) -> tuple[Any, Callable[[Any], tuple[*Ts]]]: ...


@answered  # type: ignore[misc]  # mypy takes *primals: *Ts for another kind of parameter
def vjp(
    f: Callable[..., Any],
    *primals: Any,
    has_aux: bool = False,
    engine: Any = None,
    outputs: Outputs | None = None,
) -> Any:
    """Value of f and its pullback, the vector-Jacobian product: reverse mode.

    Args:
        f: Function to differentiate, of the primals. Its value is nested data of real numbers and arrays.
        *primals: Arguments of f.
        has_aux: Whether f returns (y, aux). aux is any data, and is not differentiated.
        engine: What differentiates f. None: the compiler for a numba function, the tape for any other. Else a module or
            object with `vjp(f, *primals) -> (y, pullback)`, such as a stage of the paper.
        outputs: Number of an argument into which f writes its result, or a tuple of numbers. y is what that argument
            holds at the end, or a tuple of them; what f returns is ignored.

    Returns:
        (y, pullback), or (y, pullback, aux) with has_aux. pullback(ct) takes a cotangent with the structure and the
        shapes of y, and returns a tuple with one cotangent for each primal. It can be called any number of times. The
        pullback of a numba function is compiled, and runs f again in each call. njit code can write `y, pullback =
        vjp(f, x)`.

    Raises:
        ArgumentError: The primals hold no real number.
        OutputError: y holds no real number.
        OutputNumberError: `outputs` names an argument that f cannot write to.
        CotangentError: From the pullback: ct has another structure or shape than y.
        UnsupportedError: f does something that has no derivative, or no rule.

    Source: Smeding and Vákár 2023, section 3 (Wrap).

    >>> import dualrev as dr
    >>> y, pullback = dr.vjp(lambda x, y: x * (x + y), 3.0, 2.0)
    >>> y, pullback(1.0)
    (15.0, (8.0, 3.0))

    >>> import numpy as np
    >>> def scale(x, by, out):
    ...     out[:] = x * by
    >>> y, pullback = dr.vjp(scale, np.array([1.0, 2.0]), 3.0, np.zeros(2), outputs=2)
    >>> y, pullback(np.ones(2))
    (array([3., 6.]), (array([3., 3.]), 3.0, array([0., 0.])))
    """
    f = callable_of(f)
    if outputs is not None:
        f = writing_outputs(f, check_outputs(outputs, primals), has_aux)
    if is_compiled(f, False, engine):
        if has_aux:
            y, pull, aux = compiled().vjp_with_aux(f, primals)
            return y, Pullback(f, pull), aux
        y, pull = compiled().vjp(f, primals)
        return y, Pullback(f, pull)
    y, derivative, aux = transforms.linearize(f, primals, has_aux, engine)
    pullback = Pullback(f, derivative.pull)
    return (y, pullback, aux) if has_aux else (y, pullback)


@overload
def jvp(
    f: Callable[..., Y], primals: Seq, tangents: Seq, has_aux: No = False, engine: Any = None, outputs: None = None
) -> tuple[Y, Y]: ...


@overload
def jvp(
    f: Callable[..., tuple[Y, Aux]], primals: Seq, tangents: Seq, has_aux: Yes, engine: Any = None
) -> tuple[Y, Y, Aux]: ...


@overload
def jvp(
    f: Callable[..., Any], primals: Seq, tangents: Seq, *, engine: Any = None, outputs: Outputs
) -> tuple[Any, Any]: ...


@answered
def jvp(
    f: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: bool = False,
    engine: Any = None,
    outputs: Outputs | None = None,
) -> Any:
    """Value of f and its directional derivative, the Jacobian-vector product: forward mode.

    Args:
        f: Function to differentiate, of the primals.
        primals: Arguments of f, in a tuple or a list.
        tangents: Direction, in a tuple or a list: for each primal a tangent of its structure and shapes. None for ints
            and other discrete values, and for a primal that does not move.
        has_aux: Whether f returns (y, aux). aux is any data, and is not differentiated.
        engine: What differentiates f. None: the compiler for a numba function, the tape for any other. Else a module or
            object with `vjp(f, *primals) -> (y, pullback)`: the transpose of its pullback is the derivative.
        outputs: Numbers of the arguments into which f writes its results: see `vjp`.

    Returns:
        (y, dy), or (y, dy, aux) with has_aux. dy has the structure and the shapes of y.

    Raises:
        TangentError: The tangents have another structure or shape than the primals.
        ArgumentError, OutputError, OutputNumberError, UnsupportedError: As in `vjp`.

    The tape runs f once and pushes the tangents along the recorded operations: memory grows with the number of
    operations. The compiled derivative records nothing, and skips the primals whose tangent is None. njit code can call
    jvp.

    >>> import dualrev as dr
    >>> dr.jvp(lambda x, y: x * y, (3.0, 2.0), (1.0, 0.5))
    (6.0, 3.5)
    """
    if not isinstance(primals, (tuple, list)):
        raise TypeError(f"jvp takes a tuple of primals, got {type(primals).__name__}: write jvp(f, (x,), (t,))")
    if not isinstance(tangents, (tuple, list)):
        raise TangentError(tangents, "a tuple or a list around them: write jvp(f, (x,), (t,))")
    f = callable_of(f)
    if outputs is not None:
        f = writing_outputs(f, check_outputs(outputs, primals), has_aux)
    if is_compiled(f, False, engine):
        y, dy = compiled().jvp(f, tuple(primals), tuple(tangents))
        if not has_aux:
            return y, dy
        y, aux = compiled().without_aux(y)
        return y, dy[0], aux
    y, derivative, aux = transforms.linearize(f, tuple(primals), has_aux, engine)
    dy = derivative.push(*transforms.with_zeros(primals, tangents))
    return (y, dy, aux) if has_aux else (y, dy)


@overload
def grad(  # type: ignore[overload-overlap]  # argnums=0 is an int, too: the first one that fits counts
    f: Callable[Concatenate[A, P], Number], argnums: First = 0, has_aux: No = False, engine: Any = None
) -> Callable[Concatenate[A, P], A]: ...


@overload
def grad(
    f: Callable[Concatenate[A, P], tuple[Number, Aux]], argnums: First = 0, *, has_aux: Yes, engine: Any = None
) -> Callable[Concatenate[A, P], tuple[A, Aux]]: ...


@overload
def grad(f: Callable[P, Number], argnums: Argnums, has_aux: No = False, engine: Any = None) -> Callable[P, Any]: ...


@overload
def grad(
    f: Callable[P, tuple[Number, Aux]], argnums: Argnums, has_aux: Yes, engine: Any = None
) -> Callable[P, tuple[Any, Aux]]: ...


@overload
def grad(
    f: Callable[P, Number], *, argnames: Argnames, has_aux: No = False, engine: Any = None
) -> Callable[P, Any]: ...


@overload
def grad(
    f: Callable[P, tuple[Number, Aux]], *, argnames: Argnames, has_aux: Yes, engine: Any = None
) -> Callable[P, tuple[Any, Aux]]: ...


@answered
def grad(
    f: Callable[..., Any],
    argnums: Argnums = FIRST,
    has_aux: bool = False,
    engine: Any = None,
    argnames: Argnames | None = None,
) -> Callable[..., Any]:
    """Gradient of a function that returns one real number.

    Args:
        f: Function to differentiate. It returns one real number, or (y, aux) with has_aux.
        argnums: Position of the argument to differentiate with respect to, from 0; or a tuple of positions. Default: 0.
        has_aux: Whether f returns (y, aux). aux is any data, and is not differentiated.
        engine: What differentiates f. None: the compiler for a numba function, the tape for any other. Else a module or
            object with `vjp(f, *primals) -> (y, pullback)`, such as a stage of the paper. Other engines take no
            numba function: write f.py_func for these.
        argnames: Name of the parameter to differentiate with respect to, or a tuple of names, in place of argnums. The
            argument may be passed by keyword, and may be a default value.

    Returns:
        A function of the arguments of f that returns the gradient, with the structure, shapes and dtypes of the
        argument, in units of y per unit of the argument, with None for ints, strings and other discrete values. A tuple
        of gradients if argnums is a tuple; (gradient, aux) with has_aux. For a numba function it is a numba function,
        too.

    Raises:
        ArgumentError: A chosen argument holds no real number, such as 2 in place of 2.0.
        ArgumentNumberError: argnums names no positional argument of the call, or argnames no parameter of f.
        ScalarError: f returns something else than one real number.
        UnsupportedError: f does something that has no derivative, or no rule.

    >>> import dualrev as dr
    >>> dr.grad(lambda x, y: x * x * y)(3.0, 2.0)
    12.0
    >>> dr.grad(lambda p: p["a"] * p["n"])({"a": 0.5, "n": 3})
    {'a': 3.0, 'n': None}

    >>> from numba import njit
    >>> square = njit(lambda x: x * x)
    >>> slope = dr.grad(square)  # compiled: other njit functions can call it
    >>> slope(3.0)
    6.0
    """
    f = callable_of(f)
    chosen = chosen_by(f, argnums, argnames, "grad")
    if is_compiled(f, False, engine):
        return compiled().gradient(f, "grad", positions(f, chosen), has_aux)
    return Transformed(transforms.grad, f, argnums=chosen, has_aux=has_aux, engine=engine)


@overload
def value_and_grad(  # type: ignore[overload-overlap]  # argnums=0 is an int, too: the first one that fits counts
    f: Callable[Concatenate[A, P], Number], argnums: First = 0, has_aux: No = False, engine: Any = None
) -> Callable[Concatenate[A, P], tuple[Number, A]]: ...


@overload
def value_and_grad(
    f: Callable[Concatenate[A, P], tuple[Number, Aux]], argnums: First = 0, *, has_aux: Yes, engine: Any = None
) -> Callable[Concatenate[A, P], tuple[tuple[Number, Aux], A]]: ...


@overload
def value_and_grad(
    f: Callable[P, Number], argnums: Argnums, has_aux: No = False, engine: Any = None
) -> Callable[P, tuple[Number, Any]]: ...


@overload
def value_and_grad(
    f: Callable[P, tuple[Number, Aux]], argnums: Argnums, has_aux: Yes, engine: Any = None
) -> Callable[P, tuple[tuple[Number, Aux], Any]]: ...


@overload
def value_and_grad(
    f: Callable[P, Number], *, argnames: Argnames, has_aux: No = False, engine: Any = None
) -> Callable[P, tuple[Number, Any]]: ...


@overload
def value_and_grad(
    f: Callable[P, tuple[Number, Aux]], *, argnames: Argnames, has_aux: Yes, engine: Any = None
) -> Callable[P, tuple[tuple[Number, Aux], Any]]: ...


@answered
def value_and_grad(
    f: Callable[..., Any],
    argnums: Argnums = FIRST,
    has_aux: bool = False,
    engine: Any = None,
    argnames: Argnames | None = None,
) -> Callable[..., Any]:
    """Value and gradient of a function that returns one real number, from one run of it.

    Args:
        f: Function to differentiate. It returns one real number, or (y, aux) with has_aux.
        argnums: Position of the argument to differentiate with respect to, from 0; or a tuple of positions. Default: 0.
        has_aux: Whether f returns (y, aux). aux is any data, and is not differentiated.
        engine: What differentiates f. None: the compiler for a numba function, the tape for any other. Else a module or
            object with `vjp(f, *primals) -> (y, pullback)`, such as a stage of the paper.
        argnames: Names of parameters, in place of argnums: see `grad`.

    Returns:
        A function of the arguments of f that returns (y, gradient), or ((y, aux), gradient) with has_aux. The gradient
        is as in `grad`. For a numba function it is a numba function, too.

    Raises:
        ArgumentError, ArgumentNumberError, ScalarError, UnsupportedError: As in `grad`.

    >>> import dualrev as dr
    >>> dr.value_and_grad(lambda x: x**3)(2.0)
    (8.0, 12.0)
    """
    f = callable_of(f)
    chosen = chosen_by(f, argnums, argnames, "value_and_grad")
    if is_compiled(f, False, engine):
        return compiled().gradient(f, "value_and_grad", positions(f, chosen), has_aux)
    return Transformed(transforms.value_and_grad, f, argnums=chosen, has_aux=has_aux, engine=engine)


@as_jacobian
@answered
def jacrev(
    f: Callable[P, Any],
    argnums: Argnums = FIRST,
    has_aux: bool = False,
    engine: Any = None,
    outputs: Outputs | None = None,
    holomorphic: bool = False,
    argnames: Argnames | None = None,
) -> Callable[P, Any]:
    """Jacobian, row by row in reverse mode: best for fewer results than arguments.

    See `jacobian`, which has the same parameters, results and errors.

    >>> import dualrev as dr
    >>> dr.jacrev(lambda x: [x[0] * x[1], x[0]])([2.0, 3.0])
    [[3.0, 2.0], [1.0, 0.0]]
    """
    return _jacobian(f, "jacrev", argnums, argnames, has_aux, engine, outputs, holomorphic)


@as_jacobian
@answered
def jacfwd(
    f: Callable[P, Any],
    argnums: Argnums = FIRST,
    has_aux: bool = False,
    engine: Any = None,
    outputs: Outputs | None = None,
    holomorphic: bool = False,
    argnames: Argnames | None = None,
) -> Callable[P, Any]:
    """Jacobian, column by column in forward mode: best for fewer arguments than results.

    See `jacobian`, which has the same parameters, results and errors.

    >>> import dualrev as dr
    >>> import numpy as np
    >>> dr.jacfwd(lambda x: np.array([x, x * x]))(3.0)
    array([1., 6.])
    """
    return _jacobian(f, "jacfwd", argnums, argnames, has_aux, engine, outputs, holomorphic)


@as_jacobian
@answered
def jacobian(
    f: Callable[P, Any],
    argnums: Argnums = FIRST,
    has_aux: bool = False,
    engine: Any = None,
    outputs: Outputs | None = None,
    holomorphic: bool = False,
    argnames: Argnames | None = None,
) -> Callable[P, Any]:
    """Jacobian, by rows or by columns, whichever takes less work.

    Args:
        f: Function to differentiate. Its value is nested data of real numbers and arrays.
        argnums: Position of the argument to differentiate with respect to, from 0; or a tuple of positions. Default: 0.
        has_aux: Whether f returns (y, aux). aux is any data, and is not differentiated.
        engine: What differentiates f. None: the compiler for a numba function, the tape for any other. Else a module or
            object with `vjp(f, *primals) -> (y, pullback)`, such as a stage of the paper.
        outputs: Numbers of the arguments into which f writes its results: see `vjp`.
        holomorphic: Whether f is a complex-differentiable function of complex numbers; its Jacobian is then f'(z).
        argnames: Names of parameters, in place of argnums: see `grad`.

    Returns:
        A function of the arguments of f that returns the Jacobian, with the structure of y, with the structure of the
        argument in place of each leaf. A leaf of shape s by a leaf of shape t is an array of shape s + t, or a float if
        both are scalars. A tuple of Jacobians in place of each leaf if argnums is a tuple; (jacobian, aux) with
        has_aux. For a numba function it is a numba function, too, and estimated costs decide between rows and columns.

    Raises:
        ArgumentError, ArgumentNumberError: As in `grad`.
        OutputError, OutputNumberError: As in `vjp`.
        UnsupportedError: As in `vjp`; and y and the argument are complex, without holomorphic=True or for a function
            that is not holomorphic.

    A complex value has a complex derivative by a real argument. By a complex argument z = x + iy, an entry for a real
    value u is du/dx - i du/dy.

    >>> import dualrev as dr
    >>> import numpy as np
    >>> dr.jacobian(lambda x: x * x[0])(np.array([2.0, 3.0]))
    array([[4., 0.],
           [3., 2.]])
    """
    return _jacobian(f, "jacobian", argnums, argnames, has_aux, engine, outputs, holomorphic)


def _jacobian(
    f: Any,
    name: str,
    argnums: Argnums,
    argnames: Argnames | None,
    has_aux: bool,
    engine: Any,
    outputs: Outputs | None,
    holomorphic: bool,
) -> Any:
    f = writing_outputs(callable_of(f), outputs, has_aux)
    chosen = chosen_by(f, argnums, argnames, name)
    f = _lifted(f, has_aux, engine)
    if is_compiled(f, holomorphic, engine):
        return compiled().directional(f, name, positions(f, chosen))
    options = {"argnums": chosen, "has_aux": has_aux, "engine": engine, "holomorphic": holomorphic}
    return Transformed(getattr(transforms, name), f, **options)


@as_hessian
@answered
def hessian(
    f: Callable[P, Any],
    argnums: Argnums = FIRST,
    has_aux: bool = False,
    engine: Any = None,
    holomorphic: bool = False,
    argnames: Argnames | None = None,
) -> Callable[P, Any]:
    """Hessian, the second derivatives of f: the Jacobian of its Jacobian.

    Args:
        f: Function to differentiate: of one real number, or of nested data of numbers and arrays.
        argnums: Position of the argument to differentiate with respect to, from 0; or a tuple of positions. Default: 0.
        has_aux: Whether f returns (y, aux). aux is any data, and is not differentiated.
        engine: What differentiates f. None: the compiler for a numba function, the tape for any other. Else a module or
            object with `vjp(f, *primals) -> (y, pullback)`, such as a stage of the paper.
        holomorphic: Whether f is a complex-differentiable function of complex numbers: see `jacobian`.
        argnames: Names of parameters, in place of argnums: see `grad`.

    Returns:
        A function of the arguments of f that returns the Hessian, an array of shape s + s for a scalar function of an
        array of shape s, and of shape r + s + s for a value of shape r. Nested data has the structure of y, with that
        of the argument twice in place of each leaf. For a numba function it is a numba function, too.

    Raises:
        ArgumentError, ArgumentNumberError: As in `grad`.
        OutputError: f returns no real number.
        UnsupportedError: As in `vjp`. A numba function that returns several numbers must not change its arguments.

    The compiled Hessian computes two to four columns in each run of f and its gradient. Both halves are computed, so
    that they may differ by rounding.

    >>> import dualrev as dr
    >>> import numpy as np
    >>> dr.hessian(lambda x: x[0] ** 2 * x[1])(np.array([3.0, 2.0]))
    array([[4., 6.],
           [6., 0.]])
    >>> dr.hessian(lambda x: (x**3, 2.0 * x * x))(2.0)
    (12.0, 4.0)
    """
    f = callable_of(f)
    chosen = chosen_by(f, argnums, argnames, "hessian")
    f = _lifted(f, has_aux, engine)
    if is_compiled(f, holomorphic, engine):
        return compiled().directional(f, "hessian", positions(f, chosen))
    options = {"argnums": chosen, "has_aux": has_aux, "engine": engine, "holomorphic": holomorphic}
    return Transformed(transforms.hessian, f, **options)


@answered
def hvp(f: Callable[Concatenate[A, P], Number], engine: Any = None) -> Callable[Concatenate[A, A, P], A]:
    """Hessian-vector product of a function that returns one real number.

    Args:
        f: Function to differentiate, f(x, *args). It returns one real number.
        engine: What differentiates f. None: the compiler for a numba function, the tape for any other. Else a module or
            object with `vjp(f, *primals) -> (y, pullback)`, such as a stage of the paper.

    Returns:
        A function of (x, p, *args), the order of SciPy's `hessp`, that returns the Hessian of f at x times p. p and the
        product have the structure and the shapes of x. The cost is a small multiple of that of f: no Hessian is made.
        For a numba function it is a numba function, too.

    Raises:
        ArgumentError: x holds no real number.
        ScalarError: f returns something else than one real number.
        TangentError: p has another structure or shape than x.
        UnsupportedError: f does something that has no derivative, or no rule.

    >>> import dualrev as dr
    >>> dr.hvp(lambda x: 2 * x[0] ** 2 + 3 * x[0] * x[1] + 4 * x[1] ** 2)([3.0, 4.0], [7.0, 8.0])
    [52.0, 85.0]
    """
    f = callable_of(f)
    if is_compiled(f, False, engine):
        return compiled().directional(f, "hvp", 0)
    return Transformed(transforms.hvp, f, engine=engine)


# Which engine


def writing_outputs(f: Callable[..., Any], outputs: Outputs | None, has_aux: bool) -> Callable[..., Any]:
    """Return f as a function of its output arguments: see `writing`. A numba function becomes a numba function."""
    if outputs is not None and not has_aux and isinstance(f, Dispatcher):
        made: Callable[..., Any] = compiled().written(f, outputs)
        return made
    return writing(f, outputs, has_aux)


def _lifted(f: Any, has_aux: bool, engine: Any) -> Any:
    """Return a numba function that returns (y, aux) as one for the tape, which calls its compiled derivatives."""
    if not (has_aux and is_compiled(f, False, engine)):
        return f
    from dualrev.compiler.bridge.tape_block import lift

    return lift(f)


def callable_of(f: Any) -> Any:
    """Return the numba function that calls a ufunc of `vectorize` or `guvectorize`, and any other f unchanged."""
    if f.__class__ is CPUDispatcher or not isinstance(f, (DUFunc, GUFunc)):
        return f
    from dualrev.compiler.bridge import ufunc_calls

    return ufunc_calls.calling(f)


def is_compiled(f: Any, has_aux: bool, engine: Any) -> bool:
    """Whether the compiler differentiates f: f is a numba function, and neither has_aux nor engine is given."""
    return engine is None and not has_aux and (f.__class__ is CPUDispatcher or isinstance(f, Dispatcher))


@functools.cache
def compiled() -> Any:
    """Return the module with these functions for numba functions, which takes time to import."""
    from dualrev.compiler.bridge import api

    return api
