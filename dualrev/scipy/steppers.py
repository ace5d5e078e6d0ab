"""`scipy.integrate.ode`, which has no derivative: traced numbers are refused by name."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from scipy import integrate as _integrate

from dualrev.errors import UnsupportedError
from dualrev.scipy.calls import is_plain

__all__ = ["ode"]


def _check(*given: Any) -> None:
    if not is_plain(given):
        raise UnsupportedError.call(
            "scipy.integrate.ode of numbers that are being differentiated",
            "its methods have no derivative rule",
            "integrate.solve_ivp(f, (t0, t1), y0, method='DOP853', args=args) of dualrev.scipy",
        )


def _checked(f: Callable[..., Any], refusals: list[UnsupportedError]) -> Callable[..., Any]:
    @functools.wraps(f)
    def call(*args: Any) -> Any:
        """Call f, and refuse traced numbers from its closure; SciPy's message says something else."""
        made = f(*args)
        try:
            _check(made)
        except UnsupportedError as refusal:
            refusals.append(refusal)
            raise
        return made

    return call


class ode(_integrate.ode):  # noqa: N801 - SciPy's name
    """SciPy's class; UnsupportedError for traced numbers."""

    def __init__(self, f: Callable[..., Any], jac: Callable[..., Any] | None = None) -> None:
        self._refusals: list[UnsupportedError] = []
        super().__init__(_checked(f, self._refusals), jac if jac is None else _checked(jac, self._refusals))

    def set_initial_value(self, y: Any, t: Any = 0.0) -> Any:
        """Set y(t) = y."""
        _check(y, t)
        return super().set_initial_value(y, t)

    def integrate(self, t: Any, *args: Any, **kwargs: Any) -> Any:
        """Return y at a time."""
        _check(t)
        try:
            return super().integrate(t, *args, **kwargs)
        except ValueError:
            if self._refusals:
                raise self._refusals.pop() from None
            raise
