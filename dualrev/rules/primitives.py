"""The table of primitives: one line per operation, and the only list of derivative rules in the project.

A line is text in the arguments (`x`; or `a`, `b`) and the answer `y`, because every user of the table wants something
else from it: dual numbers evaluate it (overload.py), a compiler pastes it, forward mode multiplies it, and a second
derivative differentiates it. The text is Python: operators, conditional expressions, and functions of `FUNCTIONS`.

    name      what `dualrev.math` and this table call it
    value     y
    partials  dy/dx, or dy/da and dy/db
    domain    an interval for each argument, to sample tests from
    kink      an expression that is 0 where the function is not smooth; tests stay away from its zeros
    edges     what holds at kinks and at the edge of the domain: arguments -> partials. The values are JAX's wherever
              JAX has a convention; where it has none, the note says why
    symbol    Python's name of the operator, without its underscores: "add" for __add__ and __radd__
    ufunc     numpy's name of the function, if it has one
    cheap     may be computed twice rather than recorded
    by_value  of a line of one argument whose partial is in x, too: the same in y alone, if with fewer digits. Second
              derivatives are those of this text: less work
    second    the second partials, where the partials' own derivatives would not have their limits: d2y/dx2, or
              d2y/da2, d2y/da db, d2y/db2. They speak of y only if the partials do
    functions what else the text may call, by name: for lines that users add (dualrev.primitive)

Values raise what Python raises (1.0 / 0.0, log(-1.0)) and give IEEE's answer for NaN and infinities. Partials never
raise: where Python's arithmetic would, they take IEEE's limit (sqrt at 0 has the partial derivative inf).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dualrev.rules.special import digamma, expit, polygamma

__all__ = ["FUNCTIONS", "PRIMITIVES", "Primitive"]

inf, nan = math.inf, math.nan


@dataclass(frozen=True, slots=True, eq=False)
class Primitive:
    """One line of the table; the module's docstring explains the fields.

    >>> PRIMITIVES["mul"].partials
    ('b', 'a')
    """

    name: str
    value: str
    partials: tuple[str, ...]
    domain: tuple[tuple[float, float], ...]
    kink: str = ""
    edges: Mapping[tuple[float, ...], tuple[float, ...]] = field(default_factory=dict)
    note: str = ""
    symbol: str = ""
    ufunc: str = ""
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    cheap: bool = False
    by_value: str = ""
    second: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.partials)
        if n != len(self.domain) or not 1 <= n <= 4:
            raise ValueError(f"primitive {self.name}: one partial and one interval for each of 1 to 4 arguments")
        if self.second and len(self.second) != n * (n + 1) // 2:
            raise ValueError(f"primitive {self.name}: a second partial for each pair of arguments")

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the arguments in the text: ('x',), or as many as there are of ('a', 'b', 'c', 'd')."""
        return ("x",) if len(self.partials) == 1 else ("a", "b", "c", "d")[: len(self.partials)]


R = (-3.0, 3.0)
POSITIVE = (0.1, 4.0)
ABOVE = (0.5, 3.0)  # a divisor, well away from 0

# fmt: off
_LINES = (
    #         name, value, partials, domain
    Primitive("add", "a + b", ("1.0", "1.0"), (R, R), symbol="add", ufunc="add", cheap=True),
    Primitive("sub", "a - b", ("1.0", "-1.0"), (R, R), symbol="sub", ufunc="subtract", cheap=True),
    Primitive("mul", "a * b", ("b", "a"), (R, R), symbol="mul", ufunc="multiply", cheap=True),
    Primitive("div", "a / b", ("1.0 / b", "-y / b"), (R, ABOVE), symbol="truediv", ufunc="divide", cheap=True,
              second=("0.0", "-1.0 / b / b", "2.0 * y / b / b")),
    Primitive("pow", "power(a, b)", (
        "0.0 if b == 0.0 else b * power(a, b - 1.0) if abs(b) < inf"
        " else 0.0 if power(a, b) == 0.0 else b * power(a, b)",
        "(log(a) * y if y != 0.0 else 0.0) if a > 0.0 else (0.0 * y if b >= 0.0 else b * inf) if a == 0.0"
        " else nan * a * b"), (POSITIVE, R),
              second=(
        "0.0 if b * (b - 1.0) == 0.0 else b * power(a, b - 2.0) * (b - 1.0) if abs(b) < inf"
        " else 0.0 if power(a, b) == 0.0 else abs(b) * power(a, b)",
        "(power(a, b - 1.0) * (1.0 + b * log(a)) if power(a, b - 1.0) != 0.0 else 0.0) if a > 0.0"
        " else (0.0 if b > 1.0 else -inf if b > 0.0 else inf if b < 0.0 else nan * b) if a == 0.0 else nan * a * b",
        "(log(a) * log(a) * y if y != 0.0 else 0.0) if a > 0.0 else (0.0 * y if b >= 0.0 else -b * inf) if a == 0.0"
        " else nan * a * b"),
              edges={(0.0, 0.0): (0.0, 0.0), (3.0, 0.0): (0.0, math.log(3.0)), (0.0, 1.0): (1.0, 0.0),
                     (0.0, 2.0): (0.0, 0.0), (0.0, 0.5): (inf, 0.0),
                     (-2.0, 3.0): (12.0, nan), (-2.0, 2.0): (-4.0, nan), (-2.0, 0.0): (0.0, nan)},
              note="0**y: 0 with respect to y; x**0: 0 with respect to x, 0 included. A"
                   " negative base has a real power for whole exponents only, so the derivative with respect to the"
                   " exponent is NaN there",
              symbol="pow", ufunc="power"),
    Primitive("neg", "-x", ("-1.0",), (R,), symbol="neg", ufunc="negative", cheap=True),
    Primitive("pos", "+x", ("1.0",), (R,), symbol="pos", ufunc="positive", cheap=True),
    Primitive("abs", "abs(x)", ("1.0 if x >= 0.0 else -1.0 if x < 0.0 else nan",), (R,), kink="x",
              edges={(0.0,): (1.0,)}, symbol="abs", ufunc="absolute", cheap=True),

    Primitive("sqrt", "sqrt(x)", ("0.5 / abs(y)",), (POSITIVE,), edges={(0.0,): (inf,)}, ufunc="sqrt", cheap=True,
              second=("-0.25 / abs(y) / abs(x)",)),
    Primitive("cbrt", "cbrt(x)", ("1.0 / (3.0 * y * y)",), (R,), kink="x", edges={(0.0,): (inf,)}, ufunc="cbrt",
              second=("-0.2222222222222222 / x / y / y",)),
    Primitive("exp", "exp(x)", ("y",), (R,), edges={(-inf,): (0.0,)}, ufunc="exp"),
    Primitive("exp2", "exp2(x)", ("0.6931471805599453 * y",), (R,), ufunc="exp2"),
    Primitive("expm1", "expm1(x)", ("exp(x)",), (R,), ufunc="expm1"),
    Primitive("log", "log(x)", ("1.0 / x",), (POSITIVE,), edges={(inf,): (0.0,)}, ufunc="log"),
    Primitive("log1p", "log1p(x)", ("1.0 / (1.0 + x)",), ((-0.9, 4.0),), ufunc="log1p"),
    Primitive("log2", "log2(x)", ("1.4426950408889634 / x",), (POSITIVE,), ufunc="log2"),
    Primitive("log10", "log10(x)", ("0.4342944819032518 / x",), (POSITIVE,), ufunc="log10"),

    Primitive("sin", "sin(x)", ("cos(x)",), (R,), ufunc="sin"),
    Primitive("cos", "cos(x)", ("-sin(x)",), (R,), ufunc="cos"),
    Primitive("tan", "tan(x)", ("1.0 + y * y",), ((-1.3, 1.3),), ufunc="tan"),
    Primitive("asin", "asin(x)", ("1.0 / sqrt((1.0 - x) * (1.0 + x))",), ((-0.9, 0.9),),
              edges={(1.0,): (inf,), (-1.0,): (inf,)}, ufunc="arcsin",
              second=("x / ((1.0 - x) * (1.0 + x)) / sqrt((1.0 - x) * (1.0 + x))",)),
    Primitive("acos", "acos(x)", ("-1.0 / sqrt((1.0 - x) * (1.0 + x))",), ((-0.9, 0.9),),
              edges={(1.0,): (-inf,), (-1.0,): (-inf,)}, ufunc="arccos",
              second=("-x / ((1.0 - x) * (1.0 + x)) / sqrt((1.0 - x) * (1.0 + x))",)),
    Primitive("atan", "atan(x)", ("1.0 / (1.0 + x * x)",), (R,), edges={(inf,): (0.0,)}, ufunc="arctan",
              second=("-2.0 * x / (1.0 + x * x) / (1.0 + x * x) if abs(x) < 1e100 else -2.0 / x / x / x",)),
    Primitive("atan2", "atan2(a, b)", (
        "b / hypot(a, b) / hypot(a, b) if abs(a) + abs(b) < inf else 0.0 * y",
        "-a / hypot(a, b) / hypot(a, b) if abs(a) + abs(b) < inf else 0.0 * y"), (R, ABOVE),
              second=(
        "-2.0 * (a / hypot(a, b) / hypot(a, b)) * (b / hypot(a, b) / hypot(a, b))"
        " if abs(a) + abs(b) < inf else 0.0 * y",
        "(abs(a) - abs(b)) / hypot(a, b) / hypot(a, b) * ((abs(a) + abs(b)) / hypot(a, b) / hypot(a, b))"
        " if abs(a) + abs(b) < inf else 0.0 * y",
        "2.0 * (a / hypot(a, b) / hypot(a, b)) * (b / hypot(a, b) / hypot(a, b))"
        " if abs(a) + abs(b) < inf else 0.0 * y"),
              edges={(0.0, 0.0): (nan, nan), (0.0, -1.0): (-1.0, -0.0)},
              note="no limit at (0, 0): NaN", ufunc="arctan2"),
    Primitive("sinh", "sinh(x)", ("cosh(x)",), (R,), ufunc="sinh"),
    Primitive("cosh", "cosh(x)", ("sinh(x)",), (R,), ufunc="cosh"),
    Primitive("tanh", "tanh(x)", ("1.0 - y * y if abs(y) < 0.99"
                                  " else exp(-2.0 * abs(x)) * (1.0 + abs(y)) * (1.0 + abs(y))",), (R,),
              note="1 - y y has few digits where y is almost 1", ufunc="tanh", by_value="1.0 - y * y"),
    Primitive("asinh", "asinh(x)", ("1.0 / hypot(x, 1.0)",), (R,), ufunc="arcsinh",
              second=("-x / hypot(x, 1.0) / hypot(x, 1.0) / hypot(x, 1.0) if abs(x) < 1e100 else -1.0 / x / abs(x)",)),
    Primitive("acosh", "acosh(x)", ("1.0 / (sqrt(x - 1.0) * sqrt(x + 1.0))",), ((1.1, 4.0),),
              edges={(1.0,): (inf,)}, ufunc="arccosh",
              second=("-x / ((x - 1.0) * (x + 1.0)) / (sqrt(x - 1.0) * sqrt(x + 1.0)) if x < 1e100"
                      " else -1.0 / x / x",)),
    Primitive("atanh", "atanh(x)", ("1.0 / ((1.0 - x) * (1.0 + x))",), ((-0.9, 0.9),), ufunc="arctanh",
              second=("2.0 * x / ((1.0 - x) * (1.0 + x)) / ((1.0 - x) * (1.0 + x))",)),
    Primitive("hypot", "hypot(a, b)", (
        "a / y if y < inf else copysign(1.0, a) if abs(a) > abs(b) else a / y",
        "b / y if y < inf else copysign(1.0, b) if abs(b) > abs(a) else b / y"), (R, ABOVE),
              second=(
        "b / y * (b / y) / y if y < inf else minimum(abs(a), abs(b)) / y",
        "-a / y * (b / y) / y if y < inf else minimum(abs(a), abs(b)) / y",
        "a / y * (a / y) / y if y < inf else minimum(abs(a), abs(b)) / y"), edges={(0.0, 0.0): (nan, nan)},
              note="the tip of a cone: NaN at (0, 0)", ufunc="hypot"),

    # piecewise constant: 0, at the steps too
    Primitive("floor", "floor(x)", ("0.0",), (R,), kink="x - round(x)", edges={(2.0,): (0.0,)}, ufunc="floor",
              cheap=True),
    Primitive("ceil", "ceil(x)", ("0.0",), (R,), kink="x - round(x)", edges={(2.0,): (0.0,)}, ufunc="ceil"),
    Primitive("trunc", "trunc(x)", ("0.0",), (R,), kink="x - round(x)", edges={(2.0,): (0.0,)}, ufunc="trunc"),
    Primitive("round", "round(x)", ("0.0",), (R,), kink="x - floor(x) - 0.5", edges={(0.5,): (0.0,)},
              note="halves go to the even neighbour, as Python's round and numpy's rint", ufunc="rint"),
    Primitive("sign", "sign(x)", ("0.0",), (R,), kink="x", edges={(0.0,): (0.0,)}, ufunc="sign", cheap=True),
    Primitive("floordiv", "a // b", ("0.0", "0.0"), (R, ABOVE), kink="a / b - round(a / b)",
              edges={(4.0, 2.0): (0.0, 0.0)}, symbol="floordiv", ufunc="floor_divide"),

    # three remainders: the quotient is rounded down, towards zero, and to the nearest whole number
    Primitive("mod", "a % b", ("1.0", "-(a // b)"), (R, ABOVE), kink="a / b - round(a / b)",
              edges={(4.0, 2.0): (1.0, -2.0), (-3.0, 2.0): (1.0, 2.0)}, symbol="mod", ufunc="remainder",
              second=("0.0", "0.0", "0.0")),
    Primitive("fmod", "fmod(a, b)", ("1.0", "round((y - a) / b)"), (R, ABOVE), kink="a / b - round(a / b)",
              edges={(4.0, 2.0): (1.0, -2.0), (-3.0, 2.0): (1.0, 1.0)}, ufunc="fmod",
              second=("0.0", "0.0", "0.0")),
    Primitive("remainder", "remainder(a, b)", ("1.0", "round((y - a) / b)"), (R, ABOVE),
              kink="a / b - floor(a / b) - 0.5",
              edges={(4.0, 2.0): (1.0, -2.0), (-3.5, 2.0): (1.0, 2.0), (3.0, 2.0): (1.0, -2.0), (1.0, 2.0): (1.0, 0.0)},
              note="halves go to the even neighbour, as in IEEE 754 and math.remainder",
              second=("0.0", "0.0", "0.0")),

    Primitive("maximum", "maximum(a, b)", (
        "0.0 if a < b else 1.0 if a > b else 0.5 if a == b else 1.0 if b == b else 0.5 if a != a else 0.0",
        "0.0 if b < a else 1.0 if b > a else 0.5 if a == b else 1.0 if a == a else 0.5 if b != b else 0.0"),
              (R, R), kink="a - b", edges={(2.0, 2.0): (0.5, 0.5), (nan, 2.0): (1.0, 0.0), (nan, nan): (0.5, 0.5)},
              note="a tie is shared: one half each, and so are two that are NaN", ufunc="maximum", cheap=True),
    Primitive("minimum", "minimum(a, b)", (
        "0.0 if a > b else 1.0 if a < b else 0.5 if a == b else 1.0 if b == b else 0.5 if a != a else 0.0",
        "0.0 if b > a else 1.0 if b < a else 0.5 if a == b else 1.0 if a == a else 0.5 if b != b else 0.0"),
              (R, R), kink="a - b", edges={(2.0, 2.0): (0.5, 0.5), (nan, 2.0): (1.0, 0.0), (nan, nan): (0.5, 0.5)},
              note="a tie is shared: one half each, and so are two that are NaN", ufunc="minimum", cheap=True),
    Primitive("copysign", "copysign(a, b)", ("copysign(1.0, b) * (1.0 if a >= 0.0 else -1.0 if a < 0.0 else nan)",
                                             "0.0"), (R, R), kink="a * b",
              edges={(0.0, 2.0): (1.0, 0.0), (2.0, 0.0): (1.0, 0.0), (-2.0, -0.0): (1.0, 0.0)},
              note="|a| with the sign of b, and abs at 0 as above", ufunc="copysign", cheap=True),
    Primitive("logaddexp", "logaddexp(a, b)", (
        "(1.0 if b == b else nan * b) if a == inf"
        " else 1.0 / (1.0 + exp(b - a)) if a > b else exp(a - b) / (1.0 + exp(a - b))",
        "(1.0 if a == a else nan * a) if b == inf"
        " else 1.0 / (1.0 + exp(a - b)) if b > a else exp(b - a) / (1.0 + exp(b - a))"),
              (R, R), edges={(-inf, 0.0): (0.0, 1.0), (0.0, inf): (0.0, 1.0), (inf, inf): (1.0, 1.0)},
              ufunc="logaddexp"),

    Primitive("expit", "expit(x)", ("exp(-abs(x)) / (1.0 + exp(-abs(x))) / (1.0 + exp(-abs(x)))",), (R,)),
    Primitive("erf", "erf(x)", ("1.1283791670955126 * exp(-x * x)",), (R,),
              second=("-2.256758334191025 * x * exp(-x * x) if abs(x) < 1e100 else 0.0 / x",)),
    Primitive("erfc", "erfc(x)", ("-1.1283791670955126 * exp(-x * x)",), (R,),
              second=("2.256758334191025 * x * exp(-x * x) if abs(x) < 1e100 else 0.0 / x",)),
    Primitive("gamma", "gamma(x)", ("y * digamma(x)",), (POSITIVE,),
              second=("y * (digamma(x) * digamma(x) + polygamma(1.0, x))",)),
    Primitive("lgamma", "lgamma(x)", ("digamma(x)",), (POSITIVE,)),
    Primitive("digamma", "digamma(x)", ("polygamma(1.0, x)",), (POSITIVE,)),
    Primitive("polygamma", "polygamma(a, b)", ("nan * a * b", "polygamma(a + 1.0, b)"), ((0.0, 0.0), POSITIVE),
              edges={(1.0, 2.0): (nan, polygamma(2.0, 2.0))},
              note="the derivatives of digamma; the order a is a whole number, so there is no derivative in it: NaN"),
)
# fmt: on

PRIMITIVES: Mapping[str, Primitive] = {line.name: line for line in _LINES}


def power(a: float, b: float) -> float:
    """A ** b, with an error where Python would go on with a complex number."""
    y = a**b
    if isinstance(y, complex):
        raise ValueError(f"{a} ** {b} is not a real number: a negative base needs a whole exponent")
    return y


def floor(x: float) -> float:
    """The whole number at or below x, as a float; infinities and NaN stay (math.floor raises there)."""
    return float(math.floor(x)) if math.isfinite(x) else x


def ceil(x: float) -> float:
    """The whole number at or above x, as a float; infinities and NaN stay."""
    return float(math.ceil(x)) if math.isfinite(x) else x


def trunc(x: float) -> float:
    """The whole number next to x towards zero, as a float; infinities and NaN stay."""
    return float(math.trunc(x)) if math.isfinite(x) else x


def nearest(x: float) -> float:
    """The whole number nearest to x, halves to the even one, as a float; infinities and NaN stay."""
    return float(round(x)) if math.isfinite(x) else x


def sign(x: float) -> float:
    """-1.0, 0.0 or 1.0; NaN stays."""
    return 1.0 if x > 0.0 else -1.0 if x < 0.0 else x * 0.0


def maximum(a: float, b: float) -> float:
    """The larger argument; NaN if one of them is, as numpy's (Python's max depends on their order)."""
    return float(a if a >= b or a != a else b)


def minimum(a: float, b: float) -> float:
    """The smaller argument; NaN if one of them is."""
    return float(a if a <= b or a != a else b)


def logaddexp(a: float, b: float) -> float:
    """log(exp(a) + exp(b)) without overflow."""
    if a == b:
        return a + 0.6931471805599453
    return a + math.log1p(math.exp(b - a)) if a > b else b + math.log1p(math.exp(a - b)) if a < b else a + b


#: What the functions in the table's text are, on floats.
FUNCTIONS: Mapping[str, Callable[..., float]] = {
    "abs": abs,
    **{f: getattr(math, f) for f in ["sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log1p", "log2", "log10"]},
    **{f: getattr(math, f) for f in ["sin", "cos", "tan", "asin", "acos", "atan", "atan2", "hypot"]},
    **{f: getattr(math, f) for f in ["sinh", "cosh", "tanh", "asinh", "acosh", "atanh"]},
    **{f: getattr(math, f) for f in ["fmod", "remainder", "copysign", "erf", "erfc", "gamma", "lgamma"]},
    "floor": floor,
    "ceil": ceil,
    "trunc": trunc,
    "round": nearest,
    "sign": sign,
    "power": power,
    "maximum": maximum,
    "minimum": minimum,
    "logaddexp": logaddexp,
    "expit": expit,
    "digamma": digamma,
    "polygamma": polygamma,
}
