"""The public API: gradients, Jacobians, Hessians and products with them, all from `vjp` and `jvp`.

Names and conventions are JAX's. Every function here takes an `engine`: by default the tape (dualrev.eager.engine); any
module or object with `vjp(f, *primals) -> (y, pullback)`, such as a stage of the paper, does as well:
`dr.grad(f, engine=stages.d2_staged)`.

Arguments and values are nested data: floats, numpy floating scalars and arrays of them, in tuples, lists, dicts,
namedtuples, dataclasses and classes registered with `register_node`. Cotangents and gradients have the structure, the
shapes and the dtypes of what they belong to, and None in place of everything discrete (ints, strings, None, ...).

A function that numba.njit compiles has compiled derivatives (dualrev.compiler, docs/numba.md), unless an engine is
given: of any order, without has_aux. UnsupportedError (a TypeError) for what the compiler does not know.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from dualrev.eager import engine as default_engine
from dualrev.eager.arrays.storage import RealArray, innermost, own, strip, zero
from dualrev.eager.overload import DualNumber
from dualrev.eager.plain_run import PlainRun, wanted
from dualrev.errors import ArgumentError, ArgumentNumberError, AuxiliaryError, ScalarError, TangentError
from dualrev.objects import explaining
from dualrev.outputs import Outputs, check_outputs, writing
from dualrev.transformed import Transformed
from dualrev.tree import flatten_leaves

__all__ = [
    "argument_numbers",
    "choose",
    "compiled",
    "grad",
    "hessian",
    "hvp",
    "is_compiled",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "linearize",
    "value_and_grad",
    "vjp",
]

Argnums = int | Sequence[int]


def vjp(
    f: Callable[..., Any],
    *primals: Any,
    has_aux: bool = False,
    engine: Any = None,
    outputs: Outputs | None = None,
) -> Any:
    """The value of f at the primals, and the pullback: the map from cotangents of the value to those of the primals.

    Returns (y, pullback), or (y, pullback, aux) if has_aux says that f returns (y, aux). pullback(ct) takes a cotangent
    of the structure of y and returns a tuple with one cotangent for every primal. It can be called any number of times.
    If f is a numba function, the pullback is compiled, and each call of it runs f again.

    Where f writes its results into arguments, `outputs` is the number of one of them, or a tuple of numbers: y is then
    what that argument holds at the end, or a tuple of them, and what f returns is left out.

    Raises ArgumentError if the primals hold no real scalar, OutputError if y holds none, OutputNumberError for outputs
    that f cannot write to, and CotangentError (from the pullback) for a cotangent of another structure. Source:
    Smeding and Vákár 2023, section 3 (Wrap).

    >>> y, pullback = vjp(lambda x, y: x * (x + y), 3.0, 2.0)
    >>> y, pullback(1.0)
    (15.0, (8.0, 3.0))
    >>> def scale(x, by, out):
    ...     out[:] = x * by
    >>> y, pullback = vjp(scale, np.array([1.0, 2.0]), 3.0, np.zeros(2), outputs=2)
    >>> y, pullback(np.ones(2))
    (array([3., 6.]), (array([3., 3.]), 3.0, array([0., 0.])))
    """
    if outputs is not None:
        f = writing(f, check_outputs(outputs, primals), has_aux)
    if is_compiled(f, has_aux, engine):
        return compiled().vjp(f, primals)
    y, derivative, aux = linearize(f, primals, has_aux, engine)
    return (y, derivative.pull, aux) if has_aux else (y, derivative.pull)


def jvp(
    f: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: bool = False,
    engine: Any = None,
    outputs: Outputs | None = None,
) -> Any:
    """The value of f at the primals, and its derivative in the direction of the tangents: forward mode.

    Primals and tangents are tuples (or lists) of the same structure; None is the tangent of what is discrete. Returns
    (y, dy), or (y, dy, aux) if has_aux says that f returns (y, aux). TangentError if the structures differ. `outputs`
    names the arguments that f writes its results to, as in `vjp`.

    The default engine runs f once, and pushes the tangents along the tape: memory grows with the operations of f. If f
    is a numba function, its compiled derivative computes both, and records nothing.

    >>> jvp(lambda x, y: x * y, (3.0, 2.0), (1.0, 0.5))
    (6.0, 3.5)
    """
    if not isinstance(primals, (tuple, list)):
        raise TypeError(f"jvp takes a tuple of primals, got {type(primals).__name__}: write jvp(f, (x,), (t,))")
    if not isinstance(tangents, (tuple, list)):
        raise TangentError(tangents, "a tuple or a list around them: write jvp(f, (x,), (t,))")
    if outputs is not None:
        f = writing(f, check_outputs(outputs, primals), has_aux)
    if is_compiled(f, has_aux, engine):
        return compiled().jvp(f, tuple(primals), tuple(tangents))
    y, derivative, aux = linearize(f, tuple(primals), has_aux, engine)
    dy = derivative.push(*tangents)
    return (y, dy, aux) if has_aux else (y, dy)


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
    if is_compiled(f, has_aux, engine):
        return compiled().gradient(f, "grad", argnums)
    return Transformed(_grad, f, argnums=argnums, has_aux=has_aux, engine=engine)


def value_and_grad(
    f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, engine: Any = None
) -> Callable[..., Any]:
    """The value of f and its gradient, from one run of f: see `grad`.

    Returns (y, gradient), or ((y, aux), gradient) with has_aux. That of a numba function is a numba dispatcher.

    >>> value_and_grad(lambda x: x**3)(2.0)
    (8.0, 12.0)
    """
    if is_compiled(f, has_aux, engine):
        return compiled().gradient(f, "value_and_grad", argnums)
    return Transformed(_value_and_grad, f, argnums=argnums, has_aux=has_aux, engine=engine)


def jacrev(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    engine: Any = None,
    outputs: Outputs | None = None,
) -> Callable[..., Any]:
    """The Jacobian of f, row by row in reverse mode: best where f has fewer results than arguments.

    It has the structure of f's value, with the structure of the argument in place of each leaf: a leaf of shape s by a
    leaf of shape t is an array of shape s + t, or a float where both are scalars. That of a numba function is a numba
    dispatcher. `outputs` names the arguments that f writes its results to, as in `vjp`.

    >>> jacrev(lambda x: [x[0] * x[1], x[0]])([2.0, 3.0])
    [[3.0, 2.0], [1.0, 0.0]]
    """
    f = writing(f, outputs, has_aux)
    if is_compiled(f, has_aux, engine):
        return compiled().directional(f, "jacrev", argnums)
    return Transformed(_jacobian, f, argnums=argnums, has_aux=has_aux, engine=engine, mode="rev")


def jacfwd(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    engine: Any = None,
    outputs: Outputs | None = None,
) -> Callable[..., Any]:
    """The Jacobian of f, column by column in forward mode: best where f has fewer arguments than results.

    That of a numba function is a numba dispatcher, which makes several columns at a time in compiled code.

    >>> jacfwd(lambda x: np.array([x, x * x]))(3.0)
    array([1., 6.])
    """
    f = writing(f, outputs, has_aux)
    if is_compiled(f, has_aux, engine):
        return compiled().directional(f, "jacfwd", argnums)
    return Transformed(_jacobian, f, argnums=argnums, has_aux=has_aux, engine=engine, mode="fwd")


def jacobian(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    engine: Any = None,
    outputs: Outputs | None = None,
) -> Callable[..., Any]:
    """The Jacobian of f, by rows or by columns, whichever is fewer: see `jacrev`.

    That of a numba function is a numba dispatcher.

    >>> jacobian(lambda x: x * x[0])(np.array([2.0, 3.0]))
    array([[4., 0.],
           [3., 2.]])
    """
    f = writing(f, outputs, has_aux)
    if is_compiled(f, has_aux, engine):
        return compiled().directional(f, "jacobian", argnums)
    return Transformed(_jacobian, f, argnums=argnums, has_aux=has_aux, engine=engine, mode=None)


def hessian(
    f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, engine: Any = None
) -> Callable[..., Any]:
    """The second derivatives of f: the Jacobian of its Jacobian.

    For f of an array of shape s to a number, an array of shape s + s. If f is a numba function that returns a number,
    so is its Hessian: a dispatcher, which computes it column by column in compiled code.

    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([3.0, 2.0]))
    array([[4., 6.],
           [6., 0.]])
    """
    if is_compiled(f, has_aux, engine):
        return compiled().directional(f, "hessian", argnums)
    return jacobian(jacrev(f, argnums, has_aux, engine), argnums, has_aux, engine)


def hvp(f: Callable[..., Any], engine: Any = None) -> Callable[..., Any]:
    """The product of the Hessian of f and a vector.

    hvp(f)(x, p, *args) is that of f at x, where f(x, *args) is one real number, with p. p has the structure of
    x. The order of the arguments is that of SciPy's `hessp`. It costs a small multiple of f; no Hessian is made. That
    of a numba function is a numba dispatcher.

    >>> hvp(lambda x: 2 * x[0] ** 2 + 3 * x[0] * x[1] + 4 * x[1] ** 2)([3.0, 4.0], [7.0, 8.0])
    [52.0, 85.0]
    """
    if is_compiled(f, False, engine):
        return compiled().directional(f, "hvp", 0)
    return Transformed(_hvp, f, engine=engine)


# One run of f


def is_compiled(f: Any, has_aux: bool, engine: Any) -> bool:
    """Whether f is a numba function, whose derivative is compiled: the user's own njit is the switch."""
    return engine is None and isinstance(f, Dispatcher) and not has_aux


def compiled() -> Any:
    """What the functions above are for numba functions; it takes time to import."""
    from dualrev.compiler.host import api

    return api


class _ByPullback:
    """The derivative of an engine that has no forward mode: the transpose of its transpose."""

    def __init__(self, engine: Any, primals: tuple[Any, ...], y: Any, pull: Callable[[Any], tuple[Any, ...]]) -> None:
        self._engine, self._primals, self._y, self.pull = engine, primals, y, pull

    def push(self, *tangents: Any) -> Any:
        flatten_leaves(self._primals)[1].read_leaves(tangents, TangentError)
        leaves, structure = flatten_leaves(self._y)
        _, transpose = self._engine.vjp(self.pull, structure.cotangent_leaves([zero(x) for x in leaves]))
        return transpose(tangents)[0]


def linearize(
    f: Callable[..., Any], primals: tuple[Any, ...], has_aux: bool, engine: Any, call: Any = None, check: bool = False
) -> tuple[Any, Any, Any]:
    """The value of f, its derivative (with `pull` and `push`), and what else it returned.

    If the user's function has other arguments, too, `call` is that function and its (args, kwargs). With `check`, or if
    the environment says so, the value is compared with that on plain numbers.
    """
    engine = default_engine if engine is None else engine
    if not (hasattr(engine, "vjp") or hasattr(engine, "linearize")):
        raise TypeError(f"an engine has vjp(f, *primals) -> (y, pullback), and engine={engine!r} has none")
    aux: list[Any] = []
    function = _without_aux(f, aux) if has_aux else f
    called, args, kwargs = call or (f, primals, {})
    plain = PlainRun(called, args, kwargs, has_aux) if check or wanted() else None

    def run() -> tuple[Any, Any]:
        if hasattr(engine, "linearize"):
            return engine.linearize(function, *primals)
        y, pull = engine.vjp(function, *primals)
        return y, _ByPullback(engine, primals, y, pull)

    with explaining():
        y, derivative = run()
    if plain is not None:
        plain.compare(y, lambda: run()[0])
    return y, derivative, aux[0] if has_aux else None


def _without_aux(f: Callable[..., Any], aux: list[Any]) -> Callable[..., Any]:
    """f without its second result, which goes to the list, as the values that the caller's own level sees."""

    def function(*duals: Any) -> Any:
        run = innermost(flatten_leaves(duals)[0])
        assert run is not None
        made = f(*duals)
        if not isinstance(made, tuple) or len(made) != 2:
            raise AuxiliaryError(made)
        leaves, structure = flatten_leaves(made[1])
        for leaf in leaves:
            innermost([leaf])  # is it left over from a call that has ended?
        aux[:] = [structure.rebuild_leaves([own(strip(leaf, run)) for leaf in leaves])]
        return made[0]

    return function


def _index(k: Any) -> int | None:
    """A number of an argument as an int; a bool is none, it was meant for something else."""
    try:
        return None if isinstance(k, (bool, np.bool_)) else operator.index(k)
    except TypeError:
        return None


def argument_numbers(argnums: Argnums, count: int) -> list[int]:
    """The numbers of the chosen ones of so many arguments; ArgumentNumberError if argnums does not name any."""
    given = argnums if isinstance(argnums, Sequence) else (argnums,)
    numbers = [k % count for k in map(_index, given) if k is not None and -count <= k < count]
    if not numbers or len(set(numbers)) < len(given):
        raise ArgumentNumberError(argnums, count)
    return numbers


def _numbers(argnums: Argnums, args: tuple[Any, ...]) -> list[int]:
    """The numbers of the chosen arguments."""
    numbers = argument_numbers(argnums, len(args))
    if len(numbers) > 1:  # a single one is looked at by the engine
        for k in numbers:
            if not flatten_leaves(args[k])[0]:
                raise ArgumentError((args[k],))
    return numbers


def choose(
    f: Callable[..., Any], argnums: Argnums, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """f as a function of the chosen arguments only, and those."""
    numbers = _numbers(argnums, args)

    def function(*duals: Any) -> Any:
        whole = list(args)
        for k, u in zip(numbers, duals, strict=True):
            whole[k] = u
        return f(*whole, **kwargs)

    return functools.update_wrapper(function, f), tuple(args[k] for k in numbers)


def _value_and_grad(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    argnums: Argnums,
    has_aux: bool,
    engine: Any,
) -> Any:
    function, chosen = choose(f, argnums, args, kwargs)
    y, derivative, aux = linearize(function, chosen, has_aux, engine, (f, args, kwargs))
    one: Any = 1.0
    if not isinstance(y, (float, np.floating, DualNumber)):
        if not isinstance(y, (np.ndarray, RealArray)) or y.ndim:
            raise ScalarError(y)
        one = np.ones(())
    gradient = derivative.pull(one)
    gradient = gradient if isinstance(argnums, Sequence) else gradient[0]
    return ((y, aux) if has_aux else y), gradient


def _grad(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], **options: Any) -> Any:
    y, gradient = _value_and_grad(f, args, kwargs, **options)
    return (gradient, y[1]) if options["has_aux"] else gradient


def _hvp(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], *, engine: Any) -> Any:
    if len(args) < 2:
        raise TypeError("hvp(f) takes x and p, and then whatever else f takes: hvp(f)(x, p, *args)")
    x, p, *rest = args
    gradient = grad(f, engine=engine)
    product = jvp(lambda x: gradient(x, *rest, **kwargs), (x,), (p,), engine=engine)[1]
    return flatten_leaves(x)[1].cotangent_leaves(flatten_leaves(product)[0])


def _jacobian(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    argnums: Argnums,
    has_aux: bool,
    engine: Any,
    mode: str | None,
) -> Any:
    function, chosen = choose(f, argnums, args, kwargs)
    y, derivative, aux = linearize(function, chosen, has_aux, engine, (f, args, kwargs))
    outputs, output = flatten_leaves(y)
    inputs, structure = flatten_leaves(chosen)
    if mode is None:
        mode = "rev" if sum(map(_size, outputs)) <= sum(map(_size, inputs)) else "fwd"
    if mode == "rev":
        rows = [flatten_leaves(derivative.pull(ct))[0] for ct in _basis(outputs, output)]
        blocks = _blocks(outputs, inputs, rows)
    else:
        columns = [flatten_leaves(derivative.push(*tangents))[0] for tangents in _basis(inputs, structure)]
        transposed = _blocks(inputs, outputs, columns)
        blocks = [[_transpose(transposed[k][j], np.ndim(x)) for k, x in enumerate(inputs)] for j in range(len(outputs))]
    parts = structure.leaf_parts()
    nested = [structure.map_leaves(list(map(_in_dtype, row, parts))) for row in blocks]
    made = output.map_leaves(nested if isinstance(argnums, Sequence) else [row[0] for row in nested])
    return (made, aux) if has_aux else made


def _in_dtype(block: Any, part: Any) -> Any:
    """A block of a Jacobian in the dtype of its argument."""
    kind = getattr(part, "dtype", None) or part.kind
    if isinstance(block, np.ndarray):
        return block.astype(kind, copy=False) if block.dtype != object and isinstance(kind, (type, np.dtype)) else block
    if block.__class__ is not float:
        return block
    return np.array(block, kind) if isinstance(kind, np.dtype) else kind(block)


def _basis(leaves: Sequence[Any], structure: Any) -> Any:
    """Every unit vector of nested data with these leaves."""
    zeros = [zero(x) for x in leaves]
    for k, x in enumerate(leaves):
        for place in range(_size(x)):
            one: Any = zero(x)
            if isinstance(one, np.ndarray):
                one.reshape(-1)[place] = 1.0
            else:
                one = 1.0
            yield structure.cotangent_leaves([*zeros[:k], one, *zeros[k + 1 :]])


def _size(x: Any) -> int:
    return math.prod(np.shape(x))


def _blocks(of: Sequence[Any], by: Sequence[Any], rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """For every leaf of the one side and of the other, their part of the matrix: shape of the one + of the other."""
    blocks, start = [], 0
    for x in of:
        mine = rows[start : start + _size(x)]
        start += _size(x)
        if np.ndim(x):
            blocks.append([_stack([row[k] for row in mine], np.shape(x), u) for k, u in enumerate(by)])
        else:
            blocks.append(list(mine[0]))
    return blocks


def _stack(rows: list[Any], shape: tuple[int, ...], u: Any) -> Any:
    if not rows:
        return np.zeros(shape + np.shape(u))
    return np.reshape(np.stack(rows), shape + np.shape(u))


def _transpose(block: Any, first: int) -> Any:
    """The first axes behind the others."""
    if not first:
        return block
    return np.transpose(block, [*range(first, np.ndim(block)), *range(first)])
