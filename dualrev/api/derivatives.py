"""The public API: gradients, Jacobians, Hessians and products with them, all from `vjp` and `jvp`.

Names and conventions are JAX's. Every function here takes an `engine`: by default the tape
(dualrev.eager.tape.engine); any module or object with `vjp(f, *primals) -> (y, pullback)`, such as a stage of the
paper, does as well: `dr.grad(f, engine=stages.d2_staged)`.

Arguments and values are nested data: floats, numpy floating scalars and arrays of them, in tuples, lists, dicts,
namedtuples, dataclasses and classes registered with `register_node`. Cotangents and gradients have the structure, the
shapes and the dtypes of what they belong to, and None in place of everything discrete (ints, strings, None, ...).

A function that numba.njit compiles has compiled derivatives (dualrev.compiler, docs/numba/), unless an engine is given:
of any order, without has_aux. UnsupportedError (a TypeError) for what the compiler does not know.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Concatenate, Literal, ParamSpec, SupportsFloat, TypeVar, TypeVarTuple, overload

from numba.core.dispatcher import Dispatcher
from numba.np.ufunc.dufunc import DUFunc
from numba.np.ufunc.gufunc import GUFunc

from dualrev.eager import transforms
from dualrev.eager.arguments import Argnums, check_ints
from dualrev.errors import TangentError
from dualrev.outputs import Outputs, check_outputs, writing
from dualrev.transformed import Transformed

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


def vjp(  # type: ignore[misc]  # mypy takes *primals: *Ts for another kind of parameter
    f: Callable[..., Any],
    *primals: Any,
    has_aux: bool = False,
    engine: Any = None,
    outputs: Outputs | None = None,
) -> Any:
    """The value of f at the primals, and the pullback: the map from cotangents of the value to those of the primals.

    Returns (y, pullback), or (y, pullback, aux) if has_aux says that f returns (y, aux). pullback(ct) takes a cotangent
    of the structure of y and returns a tuple with one cotangent for every primal. It can be called any number of times.
    If f is a numba function, the pullback is compiled, and each call of it runs f again. Inside of njit code,
    y, pullback = vjp(f, x) is known, too.

    Where f writes its results into arguments, `outputs` is the number of one of them, or a tuple of numbers: y is then
    what that argument holds at the end, or a tuple of them, and what f returns is left out.

    Raises ArgumentError if the primals hold no real scalar, OutputError if y holds none, OutputNumberError for outputs
    that f cannot write to, and CotangentError (from the pullback) for a cotangent of another structure. Source:
    Smeding and Vákár 2023, section 3 (Wrap).

    >>> y, pullback = vjp(lambda x, y: x * (x + y), 3.0, 2.0)
    >>> y, pullback(1.0)
    (15.0, (8.0, 3.0))
    >>> import numpy as np
    >>> def scale(x, by, out):
    ...     out[:] = x * by
    >>> y, pullback = vjp(scale, np.array([1.0, 2.0]), 3.0, np.zeros(2), outputs=2)
    >>> y, pullback(np.ones(2))
    (array([3., 6.]), (array([3., 3.]), 3.0, array([0., 0.])))
    """
    f = callable_of(f)
    if outputs is not None:
        f = _writing(f, check_outputs(outputs, primals), has_aux)
    if is_compiled(f, has_aux, engine):
        return compiled().vjp(f, primals)
    y, derivative, aux = transforms.linearize(f, primals, has_aux, engine)
    return (y, derivative.pull, aux) if has_aux else (y, derivative.pull)


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


def jvp(
    f: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: bool = False,
    engine: Any = None,
    outputs: Outputs | None = None,
) -> Any:
    """The value of f at the primals, and its derivative in the direction of the tangents: forward mode.

    Primals and tangents are tuples (or lists) of the same structure; None is the tangent of what is discrete, and of an
    argument that does not move: the compiled derivative of a numba function carries no tangent for that. Returns (y,
    dy), or (y, dy, aux) if has_aux says that f returns (y, aux). TangentError if the structures differ. `outputs` names
    the arguments that f writes its results to, as in `vjp`.

    The default engine runs f once, and pushes the tangents along the tape: memory grows with the operations of f. If f
    is a numba function, its compiled derivative computes both, and records nothing; it can be written inside of njit
    code.

    >>> jvp(lambda x, y: x * y, (3.0, 2.0), (1.0, 0.5))
    (6.0, 3.5)
    """
    if not isinstance(primals, (tuple, list)):
        raise TypeError(f"jvp takes a tuple of primals, got {type(primals).__name__}: write jvp(f, (x,), (t,))")
    if not isinstance(tangents, (tuple, list)):
        raise TangentError(tangents, "a tuple or a list around them: write jvp(f, (x,), (t,))")
    f = callable_of(f)
    if outputs is not None:
        f = _writing(f, check_outputs(outputs, primals), has_aux)
    if is_compiled(f, has_aux, engine):
        return compiled().jvp(f, tuple(primals), tuple(tangents))
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


def grad(f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, engine: Any = None) -> Callable[..., Any]:
    """The gradient of f, a function that returns one real number.

    The function that is returned takes the arguments of f, and returns the gradient with respect to the argument
    `argnums`, or a tuple of gradients if argnums is a tuple; (gradient, aux) if has_aux says that f returns (y, aux).
    If f is a numba function, so is its gradient: a dispatcher that Python and other numba functions can call.

    Raises ArgumentError (a TypeError) if a chosen argument holds no real scalar, such as 2 in place of 2.0, and
    ScalarError (a TypeError) if f returns something else than one real number.

    >>> grad(lambda x, y: x * x * y)(3.0, 2.0)
    12.0
    >>> grad(lambda p: p["a"] * p["n"])({"a": 0.5, "n": 3})
    {'a': 3.0, 'n': None}

    >>> from numba import njit
    >>> @njit
    ... def power(x, n):
    ...     y = 1.0
    ...     for _ in range(n):
    ...         y *= x
    ...     return y
    >>> slope = grad(power)
    >>> @njit
    ... def newton_step(x, n, y):
    ...     return x - (power(x, n) - y) / slope(x, n)
    >>> slope(2.0, 3), newton_step(2.0, 3, 2.0)
    (12.0, 1.5)
    """
    f = callable_of(f)
    check_ints(argnums, "grad")
    if is_compiled(f, has_aux, engine):
        return compiled().gradient(f, "grad", argnums)
    return Transformed(transforms.grad, f, argnums=argnums, has_aux=has_aux, engine=engine)


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


def value_and_grad(
    f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, engine: Any = None
) -> Callable[..., Any]:
    """The value of f and its gradient, from one run of f: see `grad`.

    Returns (y, gradient), or ((y, aux), gradient) with has_aux. For a numba function the result is one, too.

    >>> value_and_grad(lambda x: x**3)(2.0)
    (8.0, 12.0)
    """
    f = callable_of(f)
    check_ints(argnums, "value_and_grad")
    if is_compiled(f, has_aux, engine):
        return compiled().gradient(f, "value_and_grad", argnums)
    return Transformed(transforms.value_and_grad, f, argnums=argnums, has_aux=has_aux, engine=engine)


def jacrev(
    f: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    engine: Any = None,
    outputs: Outputs | None = None,
    holomorphic: bool = False,
) -> Callable[P, Any]:
    """The Jacobian of f, row by row in reverse mode: best where f has fewer results than arguments.

    It has the structure of f's value, with the structure of the argument in place of each leaf: a leaf of shape s by a
    leaf of shape t is an array of shape s + t, or a float where both are scalars. For a numba function the
    result is one, too. `outputs` names the arguments that f writes its results to, as in `vjp`.

    Complex values have complex derivatives by real arguments; by a complex argument z = x + iy, an entry of a real
    value f is df/dx - i df/dy. That of a complex value is f'(z), with holomorphic=True: UnsupportedError (a TypeError)
    without, and for a function that is not holomorphic.

    >>> jacrev(lambda x: [x[0] * x[1], x[0]])([2.0, 3.0])
    [[3.0, 2.0], [1.0, 0.0]]
    """
    return _jacobian(f, "jacrev", argnums, has_aux, engine, outputs, holomorphic)


def jacfwd(
    f: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    engine: Any = None,
    outputs: Outputs | None = None,
    holomorphic: bool = False,
) -> Callable[P, Any]:
    """The Jacobian of f, column by column in forward mode: best where f has fewer arguments than results.

    For a numba function the result is one, too; it computes several columns at a time.

    >>> import numpy as np
    >>> jacfwd(lambda x: np.array([x, x * x]))(3.0)
    array([1., 6.])
    """
    return _jacobian(f, "jacfwd", argnums, has_aux, engine, outputs, holomorphic)


def jacobian(
    f: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    engine: Any = None,
    outputs: Outputs | None = None,
    holomorphic: bool = False,
) -> Callable[P, Any]:
    """The Jacobian of f, by rows or by columns, whichever is fewer: see `jacrev`.

    For a numba function the result is one, too: forward or reverse mode is chosen by estimated cost.

    >>> import numpy as np
    >>> jacobian(lambda x: x * x[0])(np.array([2.0, 3.0]))
    array([[4., 0.],
           [3., 2.]])
    """
    return _jacobian(f, "jacobian", argnums, has_aux, engine, outputs, holomorphic)


def _jacobian(
    f: Any, name: str, argnums: Argnums, has_aux: bool, engine: Any, outputs: Outputs | None, holomorphic: bool
) -> Any:
    f = _writing(callable_of(f), outputs, has_aux)
    check_ints(argnums, name)
    if is_compiled(f, has_aux or holomorphic, engine):
        return compiled().directional(f, name, argnums)
    mode = {"jacrev": "rev", "jacfwd": "fwd", "jacobian": None}[name]
    options = {"argnums": argnums, "has_aux": has_aux, "engine": engine, "mode": mode, "holomorphic": holomorphic}
    return Transformed(transforms.jacobian, f, **options)


def hessian(
    f: Callable[P, Any], argnums: Argnums = 0, has_aux: bool = False, engine: Any = None, holomorphic: bool = False
) -> Callable[P, Any]:
    """The second derivatives of f: the Jacobian of its Jacobian.

    For f of an array of shape s to a number, an array of shape s + s; for one to an array of shape r, an array of shape
    r + s + s, and so on for any structure: that of the value, with that of the argument twice in place of each leaf.
    By complex arguments there is one of holomorphic functions, with holomorphic=True: see `jacrev`.

    If f is a numba function, so is its Hessian: a dispatcher. It computes two to four columns in one run of f and of
    its gradient, in compiled code. Half of the matrix would be no less work, since each run gives whole columns; its
    halves may differ by rounding. If f returns more than one number, it must not change its arguments.

    Raises ArgumentError if a chosen argument holds no real scalar, ScalarError or OutputError if f returns none, and
    UnsupportedError for what the compiler does not know: all of them TypeErrors.

    >>> import numpy as np
    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([3.0, 2.0]))
    array([[4., 6.],
           [6., 0.]])
    >>> hessian(lambda x: (x**3, 2.0 * x * x))(2.0)
    (12.0, 4.0)
    """
    f = callable_of(f)
    check_ints(argnums, "hessian")
    if is_compiled(f, has_aux or holomorphic, engine):
        return compiled().directional(f, "hessian", argnums)
    gradient = jacrev(f, argnums, has_aux, engine, holomorphic=holomorphic)
    return jacobian(gradient, argnums, has_aux, engine, holomorphic=holomorphic)


def hvp(f: Callable[Concatenate[A, P], Number], engine: Any = None) -> Callable[Concatenate[A, A, P], A]:
    """The product of the Hessian of f and a vector.

    hvp(f)(x, p, *args) is that of f at x, where f(x, *args) is one real number, with p. p has the structure of
    x. The order of the arguments is that of SciPy's `hessp`. It costs a small multiple of f; no Hessian is made. That
    of a numba function is a numba dispatcher.

    >>> hvp(lambda x: 2 * x[0] ** 2 + 3 * x[0] * x[1] + 4 * x[1] ** 2)([3.0, 4.0], [7.0, 8.0])
    [52.0, 85.0]
    """
    f = callable_of(f)
    if is_compiled(f, False, engine):
        return compiled().directional(f, "hvp", 0)
    return Transformed(transforms.hvp, f, engine=engine)


# Which engine


def _writing(f: Callable[..., Any], outputs: Outputs | None, has_aux: bool) -> Callable[..., Any]:
    """See `writing`; of a numba function it is a numba function."""
    if outputs is not None and not has_aux and isinstance(f, Dispatcher):
        made: Callable[..., Any] = compiled().written(f, outputs)
        return made
    return writing(f, outputs, has_aux)


def callable_of(f: Any) -> Any:
    """The numba function that calls a ufunc of `vectorize` or `guvectorize`; f for any other function."""
    if not isinstance(f, (DUFunc, GUFunc)):
        return f
    from dualrev.compiler.bridge import ufunc_calls

    return ufunc_calls.calling(f)


def is_compiled(f: Any, has_aux: bool, engine: Any) -> bool:
    """Whether f is a numba function, whose derivative is compiled: the user's own njit is the switch."""
    return engine is None and isinstance(f, Dispatcher) and not has_aux


def compiled() -> Any:
    """What the functions above are for numba functions; it takes time to import."""
    from dualrev.compiler.bridge import api

    return api
