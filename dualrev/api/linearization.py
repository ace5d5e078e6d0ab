"""The derivative of a function at a point as a function of tangents: `linearize`, with JAX's name and meaning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar, TypeVarTuple, overload

from dualrev.api.derivatives import callable_of, compiled, is_compiled, writing_outputs
from dualrev.diagnostics.keywords import answered
from dualrev.eager import transforms
from dualrev.outputs import Outputs, check_outputs
from dualrev.transformed import Pushforward

__all__ = ["linearize"]

Ts = TypeVarTuple("Ts")
Y = TypeVar("Y")
Aux = TypeVar("Aux")


@overload
def linearize(
    f: Callable[[*Ts], Y], *primals: *Ts, has_aux: Literal[False] = False, engine: Any = None, outputs: None = None
) -> tuple[Y, Callable[[*Ts], Y]]: ...


@overload
def linearize(
    f: Callable[[*Ts], tuple[Y, Aux]], *primals: *Ts, has_aux: Literal[True], engine: Any = None
) -> tuple[Y, Callable[[*Ts], Y], Aux]: ...


@overload
def linearize(
    f: Callable[..., Any], *primals: *Ts, engine: Any = None, outputs: Outputs
) -> tuple[Any, Callable[[*Ts], Any]]: ...


@answered  # type: ignore[misc]  # mypy takes *primals: *Ts for another kind of parameter
def linearize(
    f: Callable[..., Any],
    *primals: Any,
    has_aux: bool = False,
    engine: Any = None,
    outputs: Outputs | None = None,
) -> Any:
    """Value of f and its derivative at the primals, a function of tangents: forward mode for many directions.

    Args:
        f: Function to differentiate, of the primals. Its value is nested data of real numbers and arrays.
        *primals: Arguments of f.
        has_aux: Whether f returns (y, aux). aux is any data, and is not differentiated.
        engine: What differentiates f. None: the compiler for a numba function, the tape for any other. Else a module or
            object with `vjp(f, *primals) -> (y, pullback)`: the transpose of its pullback is the derivative.
        outputs: Numbers of the arguments into which f writes its results: see `vjp`.

    Returns:
        (y, push), or (y, push, aux) with has_aux. push(*tangents) takes a tangent for each primal, with its structure
        and shapes, and returns the tangent of y. None is the tangent of ints and other discrete values, and of a primal
        that does not move. push can be called any number of times. On the tape, it does not run f again; the derivative
        of a numba function is compiled, and runs f again in each call.

    Raises:
        TangentError: From push: the tangents have another structure or shape than the primals.
        ArgumentError, OutputError, OutputNumberError, UnsupportedError: As in `vjp`.

    >>> import dualrev as dr
    >>> y, push = dr.linearize(lambda x, y: x * y, 3.0, 2.0)
    >>> y, push(1.0, 0.0), push(None, 1.0)
    (6.0, 2.0, 3.0)
    """
    f = callable_of(f)
    if outputs is not None:
        f = writing_outputs(f, check_outputs(outputs, primals), has_aux)
    if is_compiled(f, False, engine):
        y, push, aux = compiled().pushforward(f, primals, has_aux)
    else:
        y, derivative, aux = transforms.linearize(f, primals, has_aux, engine)
        push = derivative.push
    moved = Pushforward(f, lambda *tangents: push(*transforms.with_zeros(primals, tangents)))
    return (y, moved, aux) if has_aux else (y, moved)
