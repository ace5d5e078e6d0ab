"""Differentiation under the integral sign, of functions that capture traced numbers.

    I(a, b, p) = integral of f(x, p) over a..b        dI = f(b) db - f(a) da + (integral of df/dp) dp

The integral of df/dp is computed by the same method, with the same options and its own choice of points: its tolerance
is that of the derivative. The derivatives of f at a point come from a window of the tape (eager/tape/window.py), so
that f may read traced numbers from anywhere. They are traced by the runs further out, which gives higher derivatives.

The derivative is right where f is continuous in p. Where f jumps at a point that moves with p, the integral has one
more term: take that point for a limit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dualrev.eager.arrays.memory.storage import holds_duals, innermost, plain, real_array, strip
from dualrev.eager.numbers.dual import Run
from dualrev.eager.tape.tape import Real, Tape, op, real
from dualrev.eager.tape.window import Window
from dualrev.errors import UnsupportedError

__all__ = ["Integral", "Runs"]

#: Function of x, a float or a tuple of floats, that returns a vector.
Integrand = Callable[[Any], Any]
#: Integral of a vector-valued function of plain numbers: (f, limits, number of elements).
Method = Callable[[Integrand, tuple[float, ...], int], np.ndarray]


class Runs:
    """The runs that trace a function's values and arguments."""

    def __init__(self) -> None:
        self._found: set[Run] = set()

    def add(self, y: Any) -> Any:
        """Note the runs of an array or a number, and return its plain value."""
        while holds_duals(y):
            run = innermost([y])
            assert run is not None
            self._found.add(run)
            y = strip(y, run)
        return plain(y)

    def inner_first(self) -> list[Run]:
        """Return the runs, the innermost first."""
        return sorted(self._found, key=lambda run: -run.level)


class Integral:
    """Integral by one method.

    `size` is the number of elements of the integrand. `weight` is the factor that the method multiplies it with.
    """

    def __init__(self, method: Method, size: int, weight: Callable[[Any], Any] | None = None) -> None:
        self._method, self._size, self._weight = method, size, weight

    def traced(self, f: Integrand, limits: tuple[Any, ...], runs: list[Run], size: int | None = None) -> Any:
        """Return the integral of f, traced by these runs. The limits are (a, b), or nothing if they are constants."""
        size = self._size if size is None else size
        if not runs:
            fixed = tuple(float(plain(u)) for u in limits)
            return self._method(lambda x: np.asarray(plain(f(x)), dtype=float), fixed, size)
        run, *outer = runs
        if not isinstance(run, Tape):
            raise UnsupportedError("scipy.integrate.quad in a stage of the paper", "it with the default engine")
        known = _Captured(f, run)
        inner = tuple(strip(u, run) for u in limits)
        value = self.traced(known.value, inner, outer, size)
        slopes: Any = np.zeros((size, 0))
        while slopes.shape[1] < len(known.ids):
            count = len(known.ids)
            made = self.traced(known.partials(count), inner, outer, size * count)
            slopes = np.reshape(real_array(made), (size, count))
        moving = [(u, sign) for u, sign in zip(limits, (-1.0, 1.0), strict=False) if _moves(u, run)]
        ends = [(u, sign, self._at(f, u, run)) for u, sign in moving]
        elements = []
        for k in range(size):
            numbers = [real(run, 0.0, i) for i in known.ids] + [end for end, _, _ in ends]
            partials = [*slopes[k], *(sign * y[k] for _, sign, y in ends)]
            elements.append(op(run, _number(value[k]), numbers, [_number(p) for p in partials]))
        return real_array(elements)

    def _at(self, f: Integrand, end: Any, run: Run) -> Any:
        """Return the integrand at a limit, as the runs further out see it."""
        x = strip(end, run)
        y = strip(real_array(f(x)), run)
        return y if self._weight is None else y * self._weight(x)


def _moves(end: Any, run: Run) -> bool:
    """Whether a limit is traced by a run, and finite: at infinity, the integrand is 0."""
    return isinstance(end, Real) and end.run is run and bool(np.isfinite(plain(end)))


def _number(u: Any) -> Any:
    return u if holds_duals(u) else float(plain(u))


class _Captured:
    """Function of x whose values a run traces: its values without the run, and its derivatives by what it reads."""

    def __init__(self, f: Integrand, run: Tape) -> None:
        self._f, self._run = f, run
        self.ids: list[int] = []
        self._places: dict[int, int] = {}

    def value(self, x: Any) -> Any:
        """Return f(x) as the runs further out see it, and note the ids that it read."""
        return self._evaluated(x)[0]

    def partials(self, count: int) -> Integrand:
        """Return the function of the derivatives by the first `count` ids."""

        def slopes(x: Any) -> Any:
            """Return the derivatives of all elements, one after the other."""
            _, rows = self._evaluated(x)
            made: list[Any] = []
            for row in rows:
                at = [row.get(i, 0.0) for i in self.ids[:count]]
                made += at
            return real_array(made)

        return slopes

    def _evaluated(self, x: Any) -> tuple[Any, list[dict[int, Any]]]:
        window = Window(self._run)
        y = real_array(self._f(x))
        elements = y.tolist() if y.ndim else [y[()]]
        outputs = [u.i if isinstance(u, Real) and u.run is self._run else 0 for u in elements]
        ids, found = window.partials([i for i in outputs if i])
        for i in ids:
            if i not in self._places:
                self._places[i] = len(self.ids)
                self.ids.append(i)
        rest = iter(found)
        rows = [dict(zip(ids, next(rest), strict=True)) if i else {} for i in outputs]
        return strip(y, self._run), rows
