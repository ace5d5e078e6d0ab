"""Initial value problems in numba code: adaptive Runge-Kutta methods that the compiler differentiates.

    rk23  rk45  dop853    explicit methods of order 3, 5 and 8
    radau                 implicit method of order 5, for stiff equations
    checkpointed          the explicit methods with checkpoints: a gradient in less memory
    continuous            the explicit methods with the continuous adjoint

Each is a numba function with SciPy's steps, tolerances and interpolants. Other numba functions can call it, and the
derivative of such a caller is compiled, in both modes and to second order. `dualrev.scipy.integrate.solve_ivp` calls
these methods for a numba function.

    solution = rk45(fun, (t0, t1), y0, t_eval=None, args=(), rtol=1e-3, atol=1e-6)

fun(t, y, *args) returns the n time derivatives, as an array or a tuple of floats. y0 is a vector of n floats, t_eval a
sorted vector of times or None, args a tuple of numbers and arrays, rtol a float, atol a float or a vector. A wrong
number of derivatives, times out of order, or a band that leaves out elements of the Jacobian raise a ValueError.

The compiler differentiates the steps that were taken: "discretise, then optimise". The sizes of the steps are constants
in the derivative, as in most libraries: they move the result by no more than the tolerances allow.

>>> import numpy as np
>>> from numba import njit
>>> import dualrev as dr
>>> @njit
... def decay(t, y, rate):
...     return -rate * y
>>> @njit
... def remaining(rate):
...     return rk45(decay, (0.0, 1.0), np.ones(1), args=(rate,), rtol=1e-9, atol=1e-9).y[0, -1]
>>> value, slope = dr.value_and_grad(remaining)(2.0)
>>> round(value, 8), round(slope, 8)  # exp(-rate) and -exp(-rate)
(0.13533528, -0.13533528)
"""

from dualrev.ode import checkpointed, continuous
from dualrev.ode.explicit import dop853, rk23, rk45
from dualrev.ode.radau import radau
from dualrev.ode.solution import Solution

__all__ = ["Solution", "checkpointed", "continuous", "dop853", "radau", "rk23", "rk45"]


def __dir__() -> list[str]:
    return __all__
