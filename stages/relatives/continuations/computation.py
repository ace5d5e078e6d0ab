"""Programs in continuation-passing style, and a trampoline that makes their calls without growing Python's stack.

An operation `x * y` is a Computation: it is called with its continuation k, a function of one value, and calls k. So
does k, which calls another Computation; the last one is called with the continuation of the whole program.

    def cube(x):                                   lambda x: x * x * x in direct style
        return lambda k: (x * x)(lambda y: (y * x)(k))

    pure(x)(k)               k(x)
    call(f, *args)(k)        f(*args)(k), for recursion of any depth
    fold(step, x, items)(k)  a loop

A call of a Computation or of k only returns the next call, so return its value; `there` makes the calls. An operation
puts its work for the time after k has returned on the list `waits`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

__all__ = ["Computation", "ComputationError", "End", "call", "fold", "pure", "there"]

Continuation = Callable[[Any], Any]  # of the last value; it returns a Bounce or End


class ComputationError(TypeError):
    """A function that is not in continuation-passing style."""


class Computation:
    """A computation that waits for its continuation k: an operation, `pure`, `call`, or `fold`."""

    def __init__(self, then: Callable[[Continuation, list[Any]], Any], run: Any = None) -> None:
        self._then, self._run = then, run

    def __call__(self, k: Continuation) -> Bounce:
        """Pass the continuation k; return the result of this call in turn."""
        if self._run is not None:
            self._run.called += 1
        return Bounce(self._then, k)

    def _refuse(self, *_: Any) -> Any:
        raise ComputationError(
            "an operation in continuation-passing style is no number yet: write (x * y)(lambda z: ...) and use z"
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __neg__ = _refuse
    __pow__ = __rpow__ = __abs__ = __bool__ = __float__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __hash__ = None  # type: ignore[assignment]


class Bounce(NamedTuple):
    """The next call for the trampoline `there`."""

    then: Callable[[Continuation, list[Any]], Any]
    k: Continuation


class End:
    """The value that the last continuation returns."""


def pure(x: Any) -> Computation:
    """A known value as a Computation, which calls k at once."""
    return Computation(lambda k, waits: k(x))


def call(f: Callable[..., Any], *args: Any) -> Computation:
    """Call f(*args), with f in continuation-passing style, from the trampoline, so that f may recur at any depth."""
    return Computation(lambda k, waits: f(*args)(k))


def fold(step: Callable[[Any, Any], Any], x: Any, items: Iterable[Any]) -> Computation:
    """A loop: for each item in turn, x becomes step(x, item), with step in continuation-passing style.

    >>> from stages.relatives.continuations.cps import vjp
    >>> vjp(lambda x: fold(lambda x, _: x + x, x, range(10)), 1.0)[0]
    1024.0
    """

    def then(k: Continuation, waits: list[Any]) -> Any:
        """Start the loop, with k as the continuation after the last item."""
        rest = iter(items)

        def turn(x: Any) -> Any:
            """Run the step of the next item, with this function as its continuation; call k after the last one."""
            for item in rest:
                return call(step, x, item)(turn)
            return k(x)

        return turn(x)

    return Computation(then)


def there(computation: Any, k: Continuation) -> list[Any]:
    """Run the Computation with k, call by call, and return the list of the work that waits for k to return."""
    if not callable(computation):
        kind = type(computation).__name__
        raise ComputationError(
            f"a function in continuation-passing style returned a {kind}: write pure(x) for a value x"
        )
    waits: list[Any] = []
    result = computation(k)
    while isinstance(result, Bounce):
        result = result.then(result.k, waits)
    if result is not End:
        kind = type(result).__name__
        raise ComputationError(f"a continuation returned a {kind}: the call of the next one is to be its value")
    return waits
