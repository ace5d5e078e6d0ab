"""Functions of numbers, and of arrays element by element."""

from __future__ import annotations

import math

from dualrev.rules.functions.entry import Function, rows
from dualrev.rules.primitives import PRIMITIVES
from dualrev.rules.scipy import NAMES as SPECIAL
from dualrev.rules.scipy_tape import COMPOSED, MORE, OUTPUTS

__all__ = ["ELEMENTS"]

_LINES = {line.name: line for line in PRIMITIVES.values()}  # now: dualrev.primitive adds lines for the tape
_DEGREES, _RADIANS = ("*", 180.0 / math.pi), ("*", math.pi / 180.0)

# fmt: off
ELEMENTS = (
    # the lines of primitives.py, under their names in math and in numpy
    *(Function(f"math.{n}", line=n, pure=True) for n in _LINES if hasattr(math, n)),
    *(Function(f"np.{x.ufunc}", "", "elementwise", line=n, pure=True) for n, x in _LINES.items() if x.ufunc),
    Function("abs", line="abs", pure=True),
    Function("math.fabs", line="abs", pure=True),
    Function("np.fabs", "", "elementwise", line="abs"),
    Function("pow", line="pow"),
    Function("np.float_power", "", "elementwise", line="pow"),

    # products and quotients
    Function("math.degrees", product=_DEGREES),
    Function("math.radians", product=_RADIANS),
    *rows("degrees rad2deg", "", "elementwise", product=_DEGREES),
    *rows("radians deg2rad", "", "elementwise", product=_RADIANS),
    Function("np.square", "", "elementwise", product=("*", None)),
    Function("np.reciprocal", "", "elementwise", product=("/", 1.0)),
    Function("math.ldexp", scalar="ldexp"),
    Function("math.frexp", scalar="frexp"),

    # Python's
    Function("min", scalar="extremum", pure=True),
    Function("max", scalar="extremum", pure=True),
    Function("sum", core="sum"),
    Function("sorted", "iterable", core="sorted", makes=True),
    Function("len", core="len", pure=True),
    Function("divmod", scalar="divmod"),
    Function("round", scalar="round"),
    Function("float", scalar="float", pure=True),
    Function("np.float64", scalar="float"),
    Function("np.float32", scalar="float"),
    Function("int", written=True, pure=True),
    Function("bool", written=True, pure=True),

    # the compiler leaves them as they are written, where nothing is differentiated
    *rows("fmax fmin", "", "elementwise", written=True),
    *(Function(f"math.{n}", written=True, pure=True) for n in ("isnan", "isinf", "isfinite", "gcd")),
    *(Function(n, written=True, pure=True) for n in ("ord", "hash")),

    # composed of the others, on the tape
    *rows("conjugate divmod frexp heaviside ldexp logaddexp2 matmul matvec modf nextafter vecdot vecmat", "",
          "elementwise"),
    *(Function(f"scipy.special.{n}", "", "scipy") for n in ("erf", "erfc", "expit", "gamma", "gammaln", "psi")),
    *(Function(f"scipy.special.{n}", "", "scipy") for n in (*SPECIAL, *MORE, *COMPOSED, *OUTPUTS)),
)
# fmt: on
