"""The operations that a program performs, and their partial derivatives, which are programs, too.

The value is that of the table of primitives. A handler inside of another one performs the partial derivatives outside,
so they are written with operations here: for a few of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from dualrev.eager.numbers.overload import function
from dualrev.rules.primitives import PRIMITIVES
from stages.relatives.effects.handlers import HandlerError, Program

__all__ = [
    "PARTIALS",
    "Operation",
    "add",
    "answer",
    "arguments",
    "cos",
    "div",
    "exp",
    "log",
    "mul",
    "neg",
    "sin",
    "sub",
]


class Operation(NamedTuple):
    """The effect of an operation."""

    name: str
    args: tuple[Any, ...]


def answer(effect: Any) -> Any:
    """The value of an operation on numbers.

    >>> answer(mul(3.0, 2.0))
    6.0
    """
    args = arguments(effect)
    if any(hasattr(u, "handler") for u in args):
        raise HandlerError(
            "an operation on a number whose derivative has ended, or that a Checkpoint captures: pass it as an argument"
        )
    return function(PRIMITIVES[effect.name])(*args)


def arguments(effect: Any) -> tuple[Any, ...]:
    """The arguments of an effect. HandlerError for anything else that a program has yielded."""
    if not hasattr(effect, "args"):
        raise HandlerError(f"no handler for the effect {effect!r}: yield an operation, such as mul(x, y)")
    return tuple(effect.args)


def _effect(name: str) -> Callable[..., Operation]:
    def perform(*args: Any) -> Operation:
        return Operation(name, args)

    perform.__name__ = name
    perform.__doc__ = f"The operation {name}, to be yielded."
    return perform


add, sub, mul, div, neg = map(_effect, ("add", "sub", "mul", "div", "neg"))
sin, cos, exp, log = map(_effect, ("sin", "cos", "exp", "log"))


def _known(partials: Callable[..., tuple[Any, ...]]) -> Callable[..., Program]:
    """Partial derivatives that need no operation."""

    def program(*args: Any) -> Program:
        return partials(*args)
        yield

    return program


def _div(a: Any, b: Any, y: Any) -> Program:
    p = yield div(1.0, b)
    q = yield div(y, b)
    return p, (yield neg(q))


def _sin(x: Any, y: Any) -> Program:
    return ((yield cos(x)),)


def _cos(x: Any, y: Any) -> Program:
    s = yield sin(x)
    return ((yield neg(s)),)


def _log(x: Any, y: Any) -> Program:
    return ((yield div(1.0, x)),)


#: The partial derivatives of an operation, as a program of its arguments and its value.
PARTIALS: dict[str, Callable[..., Program]] = {
    "add": _known(lambda a, b, y: (1.0, 1.0)),
    "sub": _known(lambda a, b, y: (1.0, -1.0)),
    "mul": _known(lambda a, b, y: (b, a)),
    "div": _div,
    "neg": _known(lambda x, y: (-1.0,)),
    "sin": _sin,
    "cos": _cos,
    "exp": _known(lambda x, y: (y,)),
    "log": _log,
}
