"""Functions of the programs: on dual numbers of dual.py by their slopes, on all others by dualrev.math."""

from __future__ import annotations

import math

from dualrev import math as dm
from programs.own.dual import Dual

__all__ = ["CASES", "atan", "case", "cos", "exp", "log", "sin", "sqrt", "tanh"]

#: The programs by name, with their arguments.
CASES = {}


def case(*primals):
    """Enter a program with its arguments."""
    return lambda f: CASES.setdefault(f.__name__, (f, primals))[0]


def _lifted(name, slope):
    """The function of dualrev, and of `Dual`."""
    plain, of_math = getattr(dm, name), getattr(math, name)
    return lambda x: Dual(of_math(x.x), slope(x.x) * x.t) if isinstance(x, Dual) else plain(x)


sin = _lifted("sin", math.cos)
cos = _lifted("cos", lambda x: -math.sin(x))
exp = _lifted("exp", math.exp)
log = _lifted("log", lambda x: 1.0 / x)
sqrt = _lifted("sqrt", lambda x: 0.5 / math.sqrt(x))
atan = _lifted("atan", lambda x: 1.0 / (1.0 + x * x))
tanh = _lifted("tanh", lambda x: 1.0 - math.tanh(x) ** 2)
