r"""Define-by-run AD by effect handlers: the handler of an operation runs the rest, and then the reverse step.

Paper:   de Vilhena and Pottier 2021, "Verifying an effect-handler-based define-by-run reverse-mode AD library"; Sigal,
         "Automatic differentiation via effects and handlers"; by their published definitions
D[R] =   (R, Ref R)                                 the value, and a cell that accumulates its cotangent
Changed: in shift_reset an operation captures its continuation. Here it is an effect, which says nothing about
         derivatives: the handler around the program decides. The same program runs forward, in reverse, or plainly.
Needs:   effects, one-shot continuations; here generators (handlers.py), so that programs have to be generators
Cost:    O(1) for an operation: linear. A clause waits for each operation, as a frame does in shift_reset.

    handle f x with op(t1..tn), k ->  let y = perform op(x1..xn) in let z = (y, ref 0) in continue k z;
                                      d1 += !(z.d) * p1; ...; dn += !(z.d) * pn        each * and + is performed, too

A clause performs its own operations for the handler outside: so derivatives nest. A number belongs to one handler; an
operation without any of its numbers goes to the next one.

>>> from stages.relatives.effects.operations import mul, sin
>>> def f(x):
...     y = yield mul(x, x)
...     return (yield sin(y))
>>> y, pullback = vjp(f, 0.5)
>>> pullback(1.0), evaluate(derivative(f)(0.5))
((0.9689124217106447,), 0.9689124217106447)
>>> round(evaluate(grad(grad(f))(0.5)), 9), round(evaluate(derivative(grad(f))(0.5)), 9)
(1.690420884, 1.690420884)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from stages.relatives.effects.handlers import Program, Resume, handle, run
from stages.relatives.effects.operations import PARTIALS, Operation, add, answer, arguments, mul

__all__ = ["Checkpoint", "derivative", "evaluate", "grad", "reverse", "vjp"]

zero = None  # nothing has been added yet: 0 times a partial that is infinite would be NaN


class Number:
    """A number x of a handler; d is its tangent, or its cotangent so far."""

    __slots__ = ("d", "handler", "x")

    def __init__(self, handler: object, x: Any, d: Any = zero) -> None:
        self.handler, self.x, self.d = handler, x, d


class Checkpoint(NamedTuple):
    """The effect of a call f(args), of which reverse mode keeps nothing: it runs again for its reverse step."""

    f: Callable[..., Program]
    args: tuple[Any, ...]


def evaluate(program: Program) -> Any:
    """The value of a program on numbers."""

    def known(effect: Any) -> Any:
        """Evaluate a call or an operation."""
        return evaluate(effect.f(*effect.args)) if isinstance(effect, Checkpoint) else answer(effect)

    return run(program, known)


def _plus(d: Any, z: Any) -> Program:
    """d + z"""
    return z if d is zero else (yield add(d, z))


def reverse(f: Callable[..., Program], xs: tuple[Any, ...], ct: Any) -> Program:
    """The value of f at xs, and the cotangents of xs for a cotangent of the value: a program."""
    me = object()
    mine = lambda u: isinstance(u, Number) and u.handler is me  # noqa: E731

    def clause(effect: Any) -> Program:
        """Run the rest, and then the reverse step."""
        if not any(map(mine, arguments(effect))):
            y = yield effect
            return (yield Resume(y))
        plain = tuple(u.x if mine(u) else u for u in effect.args)
        y = yield effect._replace(args=plain)
        z = Number(me, y)
        result = yield Resume(z)
        if z.d is not zero:
            yield from step(effect, plain, z)
        return result

    def step(effect: Any, plain: tuple[Any, ...], z: Number) -> Program:
        """d1 += !(z.d) * p1; ...; of a call: run it again, forward and reverse"""
        if isinstance(effect, Checkpoint):
            _, cts = yield from reverse(effect.f, plain, z.d)
        else:
            partials = yield from PARTIALS[effect.name](*plain, z.x)
        for k, u in enumerate(effect.args):
            if mine(u):
                more = cts[k] if isinstance(effect, Checkpoint) else (yield mul(z.d, partials[k]))
                u.d = yield from _plus(u.d, more)

    def whole() -> Program:
        """Run f, and set the cotangent of its value, before the first reverse step."""
        y = yield from f(*inputs)
        if mine(y):
            y.d = yield from _plus(y.d, ct)
            return y.x
        return y

    inputs = [Number(me, x) for x in xs]
    y = yield from handle(whole(), clause)
    return y, tuple(0.0 if u.d is zero else u.d for u in inputs)


def grad(f: Callable[..., Program]) -> Callable[..., Program]:
    """The derivative of f in its first argument, by reverse mode: a program again."""

    def derived(*xs: Any) -> Program:
        """Run f with the cotangent 1."""
        _, cts = yield from reverse(f, xs, 1.0)
        return cts[0]

    return derived


def vjp(f: Callable[..., Program], *primals: float) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """f's value at the primals, and the map from a cotangent to a tuple of cotangents, which runs f again.

    f is a generator function of numbers that returns a number.

    >>> def f(x, y):
    ...     return (yield mul(x, (yield add(x, y))))
    >>> y, pullback = vjp(f, 3.0, 2.0)
    >>> y, pullback(1.0)
    (15.0, (8.0, 3.0))
    """
    return evaluate(f(*primals)), lambda ct: evaluate(reverse(f, primals, ct))[1]


def derivative(f: Callable[..., Program]) -> Callable[..., Program]:
    """The derivative of f in its first argument, by forward mode: the same effects, another clause."""

    def derived(x: Any, *others: Any) -> Program:
        """Run f with the tangent 1."""
        me = object()
        mine = lambda u: isinstance(u, Number) and u.handler is me  # noqa: E731

        def clause(effect: Any) -> Program:
            """let z = (op(x1..xn), p1 * d1 + ... + pn * dn) in continue k z"""
            if not any(map(mine, arguments(effect))):
                return (yield Resume((yield effect)))
            if isinstance(effect, Checkpoint):
                return (yield Resume((yield from handle(effect.f(*effect.args), clause))))
            plain = tuple(u.x if mine(u) else u for u in effect.args)
            y = yield Operation(effect.name, plain)
            partials = yield from PARTIALS[effect.name](*plain, y)
            total: Any = zero
            for u, p in zip(effect.args, partials, strict=True):
                if mine(u):
                    total = yield from _plus(total, (yield mul(u.d, p)))
            return (yield Resume(Number(me, y, total)))

        y = yield from handle(f(Number(me, x, 1.0), *others), clause)
        return y.d if mine(y) else 0.0

    return derived
