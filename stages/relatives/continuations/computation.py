"""Programs in continuation-passing style, and the loop that makes their calls, so that Python's stack does not grow.

An operation `x * y` is a Computation: called with its continuation k, a function of one value, it goes on. k does, too,
by calling another Computation; the last one is called with the k that the whole program was given.

    def cube(x):                                   lambda x: x * x * x in direct style
        return lambda k: (x * x)(lambda y: (y * x)(k))

    pure(x)(k)               k(x)
    call(f, *args)(k)        f(*args)(k), for recursion of any depth
    fold(step, x, items)(k)  a loop

A call of a Computation or of k only says which call is next, so its value has to be returned; `there` makes the calls.
What an operation has to do when k has returned, it puts on the list `waits` before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

__all__ = ["Computation", "ComputationError", "End", "call", "fold", "pure", "there"]

Continuation = Callable[[Any], Any]  # of the last value; it returns a Bounce or End


class ComputationError(TypeError):
    """The function is not in continuation-passing style."""


class Computation:
    """What has still to be given its continuation k: an operation, `pure`, `call`, or `fold`."""

    def __init__(self, then: Callable[[Continuation, list[Any]], Any], run: Any = None) -> None:
        self._then, self._run = then, run

    def __call__(self, k: Continuation) -> Bounce:
        """Go on with k; what this returns is to be returned, too."""
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
    """A call that `there` is to make, with the list of what waits."""

    then: Callable[[Continuation, list[Any]], Any]
    k: Continuation


class End:
    """What the last continuation returns."""


def pure(x: Any) -> Computation:
    """A value that is known, as a Computation: k is called with it at once."""
    return Computation(lambda k, waits: k(x))


def call(f: Callable[..., Any], *args: Any) -> Computation:
    """f(*args), for f in continuation-passing style; the call is made by `there`, so that f may recur at any depth."""
    return Computation(lambda k, waits: f(*args)(k))


def fold(step: Callable[[Any, Any], Any], x: Any, items: Iterable[Any]) -> Computation:
    """A loop: x becomes step(x, item), in continuation-passing style, for one item after the other.

    >>> from stages.relatives.continuations.cps import vjp
    >>> vjp(lambda x: fold(lambda x, _: x + x, x, range(10)), 1.0)[0]
    1024.0
    """

    def then(k: Continuation, waits: list[Any]) -> Any:
        rest = iter(items)

        def turn(x: Any) -> Any:
            for item in rest:
                return call(step, x, item)(turn)
            return k(x)

        return turn(x)

    return Computation(then)


def there(computation: Any, k: Continuation) -> list[Any]:
    """Call the Computation with k, and whatever calls that leads to: the list of what waits for its k to return."""
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
