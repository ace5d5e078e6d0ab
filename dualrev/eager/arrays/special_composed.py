"""SciPy's distribution functions and others that are special functions of other arguments.

    chdtr(v, x) = gammainc(v / 2, x / 2)

The value is SciPy's own, and the derivative is that of the formula.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dualrev.eager.arrays.memory.record import by_rule
from dualrev.eager.arrays.memory.storage import holds_duals, plain
from dualrev.rules.scipy_tape import WHOLE

__all__ = ["composed", "of_whole", "with_value"]


def with_value(y: Any, value: Any) -> Any:
    """Return a traced number or array with the value of a more exact computation of it."""

    def compute(u: Any) -> Any:
        return with_value(u, value) if holds_duals(u) else value

    if not holds_duals(y):
        return value
    return by_rule(compute, lambda xs, ys, gs: gs, lambda xs, ys, ts: ts, y, keeps_value=False, needs=[False])


def of_whole(ufunc: Any) -> Callable[..., Any]:
    """Return a function of SciPy that takes floats for an argument that is an int there."""
    place = WHOLE.get(ufunc.__name__)
    if place is None:
        whole: Callable[..., Any] = ufunc
        return whole

    def call(*args: Any, **kwargs: Any) -> Any:
        """Call it with ints, where the floats are whole numbers."""
        u = np.asarray(plain(args[place]))
        n = u.astype(int) if np.all(u == np.floor(u)) else u
        return ufunc(*args[:place], n, *args[place + 1 :], **kwargs)

    return call


def composed(ufunc: Any, args: Sequence[Any]) -> Any:
    """Return a function of SciPy that has a formula here, of traced arguments."""
    with np.errstate(all="ignore"):
        value = of_whole(ufunc)(*map(plain, args))
        return with_value(_formulas()[ufunc.__name__](*args), value)


def _formulas() -> dict[str, Callable[..., Any]]:
    from scipy import special as sp  # somebody who calls its functions has it

    def ratio(m: Any, n: Any, x: Any) -> Any:
        return m * x / (m * x + n)

    def quantile(m: Any, n: Any, p: Any) -> Any:
        x = sp.betaincinv(0.5 * m, 0.5 * n, p)
        return n * x / (m * (1.0 - x))

    def at_most(k: Any, n: Any, p: Any) -> Any:
        k, n = np.floor(plain(k)), np.floor(plain(n))
        return np.where(k < n, sp.betainc(np.maximum(n - k, 0.5), k + 1.0, 1.0 - p), 1.0)

    def within(k: Any, n: Any, p: Any) -> Any:
        return sp.betainc(np.floor(plain(n)), np.floor(plain(k)) + 1.0, p)

    def huber(delta: Any, r: Any) -> Any:
        near = np.abs(plain(r)) <= plain(delta)
        return np.where(near, 0.5 * r * r, delta * (np.abs(r) - 0.5 * delta))

    return {
        "chdtr": lambda v, x: sp.gammainc(0.5 * v, 0.5 * x),
        "chdtrc": lambda v, x: sp.gammaincc(0.5 * v, 0.5 * x),
        "chdtri": lambda v, p: 2.0 * sp.gammainccinv(0.5 * v, p),
        "gdtr": lambda a, b, x: sp.gammainc(b, a * x),
        "gdtrc": lambda a, b, x: sp.gammaincc(b, a * x),
        "fdtr": lambda m, n, x: sp.betainc(0.5 * m, 0.5 * n, ratio(m, n, x)),
        "fdtrc": lambda m, n, x: -sp.betainc(0.5 * m, 0.5 * n, ratio(m, n, x)),
        "fdtri": quantile,
        "pdtr": lambda k, m: sp.gammaincc(np.floor(plain(k)) + 1.0, m),
        "pdtrc": lambda k, m: sp.gammainc(np.floor(plain(k)) + 1.0, m),
        "bdtr": at_most,
        "bdtrc": lambda k, n, p: -at_most(k, n, p),
        "nbdtr": within,
        "nbdtrc": lambda k, n, p: -within(k, n, p),
        "boxcox1p": lambda x, b: sp.boxcox(1.0 + x, b),
        "inv_boxcox1p": lambda y, b: sp.inv_boxcox(y, b),
        "huber": huber,
    }
