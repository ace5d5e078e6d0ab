"""`scipy.integrate.ode`, which has no derivative: traced numbers are refused by name."""

from __future__ import annotations

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


class ode(_integrate.ode):  # noqa: N801 - SciPy's name
    """SciPy's class; UnsupportedError for traced numbers."""

    def set_initial_value(self, y: Any, t: Any = 0.0) -> Any:
        """Set y(t) = y."""
        _check(y, t)
        return super().set_initial_value(y, t)

    def integrate(self, t: Any, *args: Any, **kwargs: Any) -> Any:
        """Return y at a time.

        f is called once before, because an exception from SciPy's compiled code would say something else.
        """
        _check(t, self.f_params)
        if len(self._y):
            _check(self.f(self.t, self._y.copy(), *self.f_params))
        return super().integrate(t, *args, **kwargs)
