"""Steps of Runge-Kutta methods between known times, with traced numbers.

    explicit     k_i = f(t + c_i h, y + h sum_j a_ij k_j), one after the other
    Radau        the same equations all at once, for implicit methods: solved on plain numbers, and given their
                 derivative by the implicit function theorem (dualrev.implicit)
    after that   y + h sum_i b_i k_i

The coefficients of explicit methods are those of SciPy's classes; Radau is the collocation method at its points.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dualrev.eager.arrays.memory.storage import plain, real_array
from dualrev.eager.tape import engine
from dualrev.errors import UnsupportedError
from dualrev.implicit.solution import attach, constant
from dualrev.scipy.calls import is_plain

__all__ = ["Explicit", "Radau", "Steps"]

Slope = Callable[[Any, Any, Any], Any]  # of t, y and args
_ITERATIONS, _DIGITS, _SMALL = 50, 1e-13, 1e-9


class Steps:
    """The states at the given times, and between them."""

    def __init__(self, method: Any, f: Slope, args: tuple[Any, ...], times: Sequence[Any], y0: Any) -> None:
        self._method, self._slope_of, self._args, self._times = method, f, args, times
        self.states: list[Any] = [real_array(y0)]
        for t, after in itertools.pairwise(times):
            self.states.append(self.step(t, after - t, self.states[-1]))

    def _f(self, t: Any, y: Any) -> Any:
        return self._slope_of(t, y, self._args)

    def step(self, t: Any, h: Any, y: Any) -> Any:
        """The state after a step; what is needed for its interpolant is kept."""
        raise NotImplementedError

    def between(self, k: int, x: Any, h: Any) -> Any:
        """The state within step k, at the part x of its length h."""
        raise NotImplementedError

    def at(self, t_eval: Any) -> Any:
        """A column for every time: those of the steps, or others between them."""
        if t_eval is None:
            return np.stack(self.states, axis=1)
        known, wanted = np.array([plain(t) for t in self._times]), list(real_array(t_eval))
        forward = 1.0 if known[-1] >= known[0] else -1.0
        places = np.searchsorted(forward * known, [forward * plain(t) for t in wanted]) - 1
        columns = []
        for place, t in zip(places, wanted, strict=True):
            k = min(max(int(place), 0), len(known) - 2)
            h = self._times[k + 1] - self._times[k]
            if plain(h) == 0.0:
                columns.append(self._unmoved(k, t, h))
                continue
            columns.append(self.between(k, (t - self._times[k]) / h, h))
        return np.stack(columns, axis=1)

    def _unmoved(self, k: int, t: Any, h: Any) -> Any:
        """The state at the end of a step of no length."""
        if not is_plain(t, h):
            raise UnsupportedError.call(
                "an integration over no time, of whose ends one is being differentiated,",
                "there is no interpolant",
                "the initial value",
            )
        return self.states[k]


class Explicit(Steps):
    """RK23, RK45 and DOP853."""

    def __init__(self, method: Any, f: Slope, args: tuple[Any, ...], times: Sequence[Any], y0: Any) -> None:
        self._slopes: list[list[Any]] = []
        self._slope: Any = f(times[0], real_array(y0), args)
        super().__init__(method, f, args, times, y0)

    def step(self, t: Any, h: Any, y: Any) -> Any:
        """See `Steps`."""
        stages = [self._slope]
        for row, c in zip(self._method.A[1:], self._method.C[1:], strict=True):
            stages.append(self._f(t + c * h, y + h * _combined(row, stages)))
        y = y + h * _combined(self._method.B, stages)
        self._slope = self._f(t + h, y)
        self._slopes.append([*stages, self._slope])
        return y

    def between(self, k: int, x: Any, h: Any) -> Any:
        """See `Steps`."""
        y, stages = self.states[k], self._slopes[k]
        if not hasattr(self._method, "D"):
            columns = enumerate(self._method.P.T)
            return y + h * sum(x ** (j + 1) * _combined(column, stages) for j, column in columns)
        found = y * 0.0
        for j, part in enumerate(reversed(self._of_order_7(k, h))):
            found = (found + part) * (x if j % 2 == 0 else 1.0 - x)
        return y + found

    def _of_order_7(self, k: int, h: Any) -> list[Any]:
        """The coefficients of DOP853's interpolant, for which it takes more stages."""
        method, t, y = self._method, self._times[k], self.states[k]
        stages, moved = list(self._slopes[k]), self.states[k + 1] - self.states[k]
        for row, c in zip(method.A_EXTRA, method.C_EXTRA, strict=True):
            stages.append(self._f(t + c * h, y + h * _combined(row, stages)))
        first, last = stages[0], self._slopes[k][-1]
        bent = [moved, h * first - moved, 2.0 * moved - h * (last + first)]
        return [*bent, *(h * _combined(row, stages) for row in method.D)]


class Radau(Steps):
    """Radau IIA of order 5. Unknown are the moves z_i = y(t + c_i h) - y at three points; the last is the end."""

    POINTS = np.array([(4.0 - 6.0**0.5) / 10.0, (4.0 + 6.0**0.5) / 10.0, 1.0])
    #: Row i integrates the parabola through the slopes at the points up to point i.
    WEIGHTS = (POINTS[:, None] ** [1, 2, 3] / [1, 2, 3]) @ np.linalg.inv(POINTS[:, None] ** [0, 1, 2])

    def __init__(self, method: Any, f: Slope, args: tuple[Any, ...], times: Sequence[Any], y0: Any) -> None:
        self._moves: list[Any] = []
        super().__init__(method, f, args, times, y0)

    def step(self, t: Any, h: Any, y: Any) -> Any:
        """See `Steps`."""
        start = self._solved(plain(t), plain(h), plain(y), constant(self._args))
        z = attach(self._residual, start, t, h, y, self._args)
        self._moves.append(z)
        return y + z[-1]

    def between(self, k: int, x: Any, h: Any) -> Any:
        """See `Steps`: the cubic through the start and the three points."""
        coefficients = np.linalg.inv(self.POINTS[:, None] ** [1, 2, 3]) @ self._moves[k]
        return self.states[k] + sum(x ** (j + 1) * coefficients[j] for j in range(3))

    def _residual(self, z: Any, t: Any, h: Any, y: Any, args: tuple[Any, ...]) -> Any:
        slopes = [self._slope_of(t + c * h, y + z[i], args) for i, c in enumerate(self.POINTS)]
        return z - h * (self.WEIGHTS @ np.stack(slopes))

    def _solved(self, t: float, h: float, y: np.ndarray, args: tuple[Any, ...]) -> np.ndarray:
        """The moves, by Newton's method with the Jacobian at the start of the step."""
        linear = engine.linearize(lambda y: self._slope_of(t, y, args), y)[1]
        slope = np.stack([plain(linear.push(unit)) for unit in np.eye(y.size)], axis=1)
        matrix = np.eye(3 * y.size) - h * np.kron(self.WEIGHTS, slope)
        z, last = np.zeros((3, y.size)), np.inf
        for _ in range(_ITERATIONS):
            step = np.linalg.solve(matrix, plain(self._residual(z, t, h, y, args)).ravel()).reshape(z.shape)
            z, size = z - step, np.max(np.abs(step))
            if size <= _DIGITS * np.max(np.abs(y) + np.abs(z)) or last <= size < _SMALL * np.max(np.abs(y) + np.abs(z)):
                break
            last = size
        return z


def _combined(weights: Any, stages: Sequence[Any]) -> Any:
    """The sum of the stages so far, each with its weight."""
    known = [(w, k) for w, k in zip(weights, stages, strict=False) if w != 0.0]
    return np.array([w for w, _ in known]) @ np.stack([k for _, k in known])  # few blocks on the tape, not one a stage
