"""SciPy's elementwise special functions: the partial derivatives, in SciPy's own functions.

A line is as in primitives.py: text in the arguments and the answer y. The functions in it are those of SciPy, which
take arrays; so nothing here is a loop, and derivatives of every order are there. SciPy is imported when a line is
asked for: somebody who calls its functions has it.

Source: Abramowitz and Stegun, chapters 5 to 9 and 17; NIST's Digital Library of Mathematical Functions.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import NamedTuple

from dualrev.rules.primitives import Primitive

__all__ = ["NAMES", "UNKNOWN", "lines"]

_ANY, _POSITIVE, _UNIT = (-3.0, 3.0), (0.1, 4.0), (0.05, 0.95)
_ORDER = (1.0, 1.0)  # an order or a parameter without a derivative here
_NONE = "nan"

_SQRT_2_PI = "0.7978845608028654"  # sqrt(2 / pi)
_DENSITY = "exp(xlogy(a - 1.0, b) - b - gammaln(a)) if b < inf else 0.0 / b"
_SLOPE_OF_DENSITY = (
    "-exp(-b) if a == 1.0 else (a - 1.0 - b) * exp(xlogy(a - 2.0, b) - b - gammaln(a)) if b < inf else 0.0 / b"
)
_STUDENT = "(exp(-betaln(0.5, 0.5 * a) - (0.5 * a + 0.5) * log1p(b * b / a)) / sqrt(a))"
_DOWN = "(-0.7071067811865476 * x)"
_HAZARD = "(0.3989422804014327 * exp(-0.5 * x * x) / ndtr(x))"
_EXPONENT = "(b * log(a))"  # a**b = exp(b log a)
_BOXCOX_B = "((xlogy(power(a, b), a) - y) / b)"


_AT_0 = "0.5 * (jv(a - 1.0, b) + jv(a + 1.0, b))"
_TWICE_AT_0 = "0.25 * (jv(a - 2.0, b) + 2.0 * y + jv(a + 2.0, b))"


class _Line(NamedTuple):
    """A function: the intervals of its arguments in tests, its partials, and its second ones where a limit needs them.

    Those by an order, which is a constant, are 0.
    """

    name: str
    domain: tuple[tuple[float, float], ...]
    partials: tuple[str, ...]
    second: tuple[str, ...] = ()


def _series(z: str, sign: str, *factors: float) -> str:
    """1 + sign c1 t + c2 t**2 + sign c3 t**3 + ... of t = 1 / (2 z**2): asymptotic series of error functions."""
    text = repr(factors[-1])
    for factor in (*factors[-2::-1], 1.0):
        text = f"({factor} {sign} 0.5 / ({z} * {z}) * {text})"
    return text


def _slope_of_erfcx(z: str) -> str:
    """2 z erfcx(z) - 2 / sqrt(pi); where these two are almost equal, the asymptotic series (DLMF 7.12.1)."""
    far = f"-0.5641895835477563 / {z} / {z} * {_series(z, '-', 3.0, 15.0, 105.0, 945.0, 10395.0)}"
    return f"(2.0 * {z} * erfcx({z}) - 1.1283791670955126 if {z} < 26.0 else {far})"


def _slope(x: str) -> str:
    """The derivative of 1 / gamma at x <= 0.5, by reflection (DLMF 5.5.3): without poles, also at 0, -1, -2, ..."""
    angle = f"(3.141592653589793 * ({x}))"
    return f"gamma(1.0 - ({x})) * (cos({angle}) - 0.3183098861837907 * sin({angle}) * psi(1.0 - ({x})))"


def _beta(a: str, b: str) -> str:
    """The derivative of beta by a; for a whole b it is a rational function of a, with poles at 0, -1, ..., 1 - b.

    Of b = -1, -2, ... there is none: psi is NaN there, where gamma is infinite or NaN by SciPy's version.
    """
    return (
        f"y * (psi({a}) - psi(a + b)) if a + b > 0.5 else y * (psi(1.0 - {a}) - psi(1.0 - a - b))"
        f" if {b} > 0.5 and {b} == floor({b}) else {a} * psi({b}) if {b} < -0.5 and {b} == floor({b})"
        f" else y * psi({a}) + gamma(a) * gamma(b) * {_slope('a + b')}"
    )


def _second_kind() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The partials of a Bessel function of the second kind, yv and yn; where it is infinite, at 0, the sign is left."""
    first = "0.5 * (yv(a - 1.0, b) - yv(a + 1.0, b)) if abs(y) < inf else -y"
    second = "0.25 * (yv(a - 2.0, b) - 2.0 * y + yv(a + 2.0, b)) if abs(y) < inf else y"
    return (_NONE, first), ("0.0", "0.0", second)


# fmt: off
_LINES = (
    # normal distribution, error functions
    _Line("ndtr", (_ANY,), ("0.3989422804014327 * exp(-0.5 * x * x)",),
          ("-0.3989422804014327 * x * exp(-0.5 * x * x) if abs(x) < 1e100 else 0.0 / x",)),
    # from 38 on, erfcx is infinite
    _Line("log_ndtr", (_ANY,), (f"{_SQRT_2_PI} / erfcx({_DOWN}) if x < 5.0 else {_HAZARD}",),
          (f"-1.0 if x < -1e8 else 0.5641895835477563 * {_slope_of_erfcx(_DOWN)} / erfcx({_DOWN}) / erfcx({_DOWN})"
           f" if x < 5.0 else -{_HAZARD} * (x + {_HAZARD}) if x < 1e100 else 0.0 / x",)),
    _Line("ndtri", (_UNIT,), ("2.5066282746310002 * exp(0.5 * y * y)",)),
    _Line("erfinv", ((-0.9, 0.9),), ("0.886226925452758 * exp(y * y)",)),
    _Line("erfcinv", ((0.1, 1.9),), ("-0.886226925452758 * exp(y * y)",)),
    _Line("erfcx", (_ANY,), (_slope_of_erfcx("x"),),
          ("2.0 * y + 2.0 * x * (2.0 * x * y - 1.1283791670955126) if x < 26.0"
           f" else 1.1283791670955126 / x / x / x * {_series('x', '-', 6.0, 45.0, 420.0, 4725.0, 62370.0)}",)),
    _Line("dawsn", (_ANY,), ("1.0 - 2.0 * x * y if abs(x) < 26.0"
                             f" else -0.5 / x / x * {_series('x', '+', 3.0, 15.0, 105.0, 945.0, 10395.0)}",),
          ("-2.0 * y - 2.0 * x * (1.0 - 2.0 * x * y) if abs(x) < 26.0"
           f" else {_series('x', '+', 6.0, 45.0, 420.0, 4725.0, 62370.0)} / x / x / x",)),

    # logistic, logarithms
    _Line("logit", (_UNIT,), ("1.0 / (x * (1.0 - x))",), ("(2.0 * x - 1.0) / (x * (1.0 - x)) / (x * (1.0 - x))",)),
    _Line("log_expit", (_ANY,), ("expit(-x)",)),
    _Line("exp10", ((-2.0, 2.0),), ("2.302585092994046 * y",)),
    _Line("cosm1", (_ANY,), ("-sin(x)",)),
    _Line("entr", (_POSITIVE,), ("-1.0 - log(x)",)),
    _Line("xlogy", (_POSITIVE, _POSITIVE), ("log(b)", "a / b if a != 0.0 or b != 0.0 else 0.0"),
          ("0.0", "1.0 / b", "-a / b / b if a != 0.0 or b != 0.0 else 0.0")),
    _Line("xlog1py", (_POSITIVE, _POSITIVE), ("log1p(b)", "a / (1.0 + b) if a != 0.0 or b != -1.0 else 0.0"),
          ("0.0", "1.0 / (1.0 + b)", "-a / (1.0 + b) / (1.0 + b) if a != 0.0 or b != -1.0 else 0.0")),
    _Line("rel_entr", (_POSITIVE, _POSITIVE), ("1.0 + log(a / b)", "-a / b if a != 0.0 or b != 0.0 else 0.0"),
          ("1.0 / a", "-1.0 / b", "a / b / b if a != 0.0 or b != 0.0 else 0.0")),
    _Line("kl_div", (_POSITIVE, _POSITIVE), ("log(a / b)", "1.0 - a / b if a != 0.0 or b != 0.0 else 1.0"),
          ("1.0 / a", "-1.0 / b", "a / b / b if a != 0.0 or b != 0.0 else 0.0")),
    _Line("boxcox", (_POSITIVE, _POSITIVE), ("power(a, b - 1.0)",
        f"({_BOXCOX_B} if abs({_EXPONENT}) > 0.5"
        f" else 0.5 * log(a) * log(a) * hyp1f1(2.0, 3.0, {_EXPONENT})) if abs(y) < inf else abs(y)"),
        ("(b - 1.0) * power(a, b - 2.0) if b != 1.0 and power(a, b - 2.0) != 0.0 else 0.0",
         "xlogy(power(a, b - 1.0), a)",
         f"((xlogy(xlogy(power(a, b), a), a) - 2.0 * {_BOXCOX_B}) / b if abs({_EXPONENT}) > 0.5"
         f" else log(a) * log(a) * log(a) / 3.0 * hyp1f1(3.0, 4.0, {_EXPONENT})) if abs(y) < inf else y")),

    # the gamma function and its family
    _Line("loggamma", (_POSITIVE,), ("psi(x)",)),
    _Line("gammasgn", (_POSITIVE,), ("0.0",)),
    _Line("rgamma", (_POSITIVE,), (f"(-y * psi(x) if x < inf else 0.0 / x) if x > 0.5 else {_slope('x')}",)),
    _Line("beta", (_POSITIVE, _POSITIVE), (_beta("a", "b"), _beta("b", "a"))),
    _Line("betaln", (_POSITIVE, _POSITIVE), ("psi(a) - psi(a + b)", "psi(b) - psi(a + b)")),
    _Line("binom", ((3.0, 6.0), (0.5, 2.0)), (
        "y * (psi(a + 1.0) - psi(a - b + 1.0)) if a - b > -0.5"
        f" else y * psi(a + 1.0) + {_slope('a - b + 1.0')} / poch(a + 1.0, b - a)",
        f"(y * psi(a - b + 1.0) if a - b > -0.5 else -{_slope('a - b + 1.0')} / poch(a + 1.0, b - a))"
        f" + (-y * psi(b + 1.0) if b > -0.5 else {_slope('b + 1.0')} * poch(a - b + 1.0, b))")),
    _Line("poch", (_POSITIVE, _POSITIVE), (
        "y * (psi(a + b) - psi(a)) if a > 0.5 else y * (psi(1.0 - a - b) - psi(1.0 - a))"
        f" if a + b < 0.5 and b == floor(b) else y * psi(a + b) + gamma(a + b) * {_slope('a')}", "y * psi(a + b)")),
    _Line("gammainc", (_ORDER, _POSITIVE), (_NONE, _DENSITY), ("0.0", "0.0", _SLOPE_OF_DENSITY)),
    _Line("gammaincc", (_ORDER, _POSITIVE), (_NONE, f"-({_DENSITY})"), ("0.0", "0.0", f"-({_SLOPE_OF_DENSITY})")),
    _Line("betainc", (_ORDER, _ORDER, _UNIT),
        (_NONE, _NONE, "exp(xlogy(a - 1.0, c) + xlog1py(b - 1.0, -c) - betaln(a, b))"),
        ("0.0", "0.0", "0.0", "0.0", "0.0",
         "0.0 * c if a == 1.0 and b == 1.0 else (1.0 - b) * exp(xlog1py(b - 2.0, -c) - betaln(a, b)) if a == 1.0"
         " else (a - 1.0) * exp(xlogy(a - 2.0, c) - betaln(a, b)) if b == 1.0"
         " else ((a - 1.0) * (1.0 - c) - (b - 1.0) * c)"
         " * exp(xlogy(a - 2.0, c) + xlog1py(b - 2.0, -c) - betaln(a, b))")),
    _Line("stdtr", (_ORDER, _ANY), (_NONE, _STUDENT),
          ("0.0", "0.0", f"-(a + 1.0) * b / (a + b * b) * {_STUDENT} if abs(b) < 1e100 else 0.0 / b")),

    # Bessel functions
    _Line("i0", (_ANY,), ("i1(x)",)),
    _Line("i1", (_ANY,), ("0.5 * (i0(x) + iv(2.0, x)) if abs(x) < 1.0"
                          " else i0(x) - y / x if abs(y) < inf else abs(y)",)),
    _Line("i0e", (_POSITIVE,), ("i1e(x) - sign(x) * y",)),
    _Line("i1e", (_POSITIVE,), ("(0.5 * (i0e(x) + ive(2.0, x)) if abs(x) < 1.0 else i0e(x) - y / x) - sign(x) * y",)),
    _Line("j0", (_ANY,), ("-j1(x)",)),
    _Line("j1", (_ANY,), ("0.5 * (j0(x) - jv(2.0, x))",)),
    _Line("y0", (_POSITIVE,), ("-y1(x)",)),
    _Line("y1", (_POSITIVE,), ("y0(x) - y / x if abs(y) < inf else -y",),
          ("(2.0 * y / x - y0(x)) / x - y if abs(y) < inf else y",)),
    _Line("k0", (_POSITIVE,), ("-k1(x)",)),
    _Line("k1", (_POSITIVE,), ("-k0(x) - y / x",)),
    _Line("k0e", (_POSITIVE,), ("y - k1e(x) if y < inf else -y",),
          ("2.0 * y + k1e(x) * (1.0 / x - 2.0) if y < inf else y",)),
    _Line("k1e", (_POSITIVE,), ("y - k0e(x) - y / x if y < inf else -y",),
          ("y * (2.0 + (2.0 / x - 2.0) / x) - k0e(x) * (2.0 - 1.0 / x)",)),
    _Line("yn", (_ORDER, _POSITIVE), *_second_kind()),
    _Line("kn", (_ORDER, _POSITIVE), (_NONE, "-0.5 * (kv(a - 1.0, b) + kv(a + 1.0, b))")),
    _Line("jv", (_ORDER, _POSITIVE), (_NONE, "0.5 * (jv(a - 1.0, b) - jv(a + 1.0, b))")),
    _Line("yv", (_ORDER, _POSITIVE), *_second_kind()),
    # at 0, iv is jv, which has the right signs there
    _Line("iv", (_ORDER, _POSITIVE), (_NONE, f"0.5 * (iv(a - 1.0, b) + iv(a + 1.0, b)) if b != 0.0 else {_AT_0}"),
          ("0.0", "0.0", f"0.25 * (iv(a - 2.0, b) + 2.0 * y + iv(a + 2.0, b)) if b != 0.0 else {_TWICE_AT_0}")),
    _Line("ive", (_ORDER, _POSITIVE),
        (_NONE, f"0.5 * (ive(a - 1.0, b) + ive(a + 1.0, b)) - sign(b) * y if b != 0.0 else {_AT_0}"),
        ("0.0", "0.0", "0.25 * (ive(a - 2.0, b) + 2.0 * y + ive(a + 2.0, b))"
         f" - sign(b) * (ive(a - 1.0, b) + ive(a + 1.0, b)) + y if b != 0.0 else {_TWICE_AT_0}")),
    _Line("kv", (_ORDER, _POSITIVE), (_NONE, "-0.5 * (kv(a - 1.0, b) + kv(a + 1.0, b))")),
    _Line("kve", (_ORDER, _POSITIVE), (_NONE, "y - 0.5 * (kve(a - 1.0, b) + kve(a + 1.0, b)) if y < inf else -y"),
        ("0.0", "0.0", "1.5 * y - kve(a - 1.0, b) - kve(a + 1.0, b) + 0.25 * (kve(a - 2.0, b) + kve(a + 2.0, b))"
         " if kve(abs(a) + 2.0, b) < inf else kve(abs(a) + 2.0, b)")),

    # integrals
    _Line("expi", (_POSITIVE,), ("exp(x) / x if x < inf else x",), ("exp(x) / x * (1.0 - 1.0 / x) if x < inf else x",)),
    _Line("exp1", (_POSITIVE,), ("-exp(-x) / x",), ("exp(-x) / x * (1.0 + 1.0 / x)",)),
    _Line("spence", (_POSITIVE,), ("log(x) / (1.0 - x) if abs(1.0 - x) > 0.1 else -hyp2f1(1.0, 1.0, 2.0, 1.0 - x)",)),
    _Line("ellipk", (_UNIT,), ("0.5 * (ellipe(x) / (1.0 - x) - y) / x if abs(x) > 0.1"
                          " else 0.39269908169872414 * hyp2f1(1.5, 1.5, 2.0, x)",)),
    _Line("ellipe", (_UNIT,), ("0.5 * (y - ellipk(x)) / x if abs(x) > 0.1"
                          " else -0.39269908169872414 * hyp2f1(0.5, 1.5, 2.0, x)",)),

    # hypergeometric functions, which the others above are near the points where a quotient is 0 / 0
    _Line("hyp1f1", (_ORDER, _ORDER, _ANY),
        (_NONE, _NONE, "a / b * hyp1f1(a + 1.0, b + 1.0, c) if a != 0.0 else 0.0")),
    _Line("hyp2f1", (_ORDER, _ORDER, _ORDER, (-0.9, 0.9)), (_NONE, _NONE, _NONE,
        "a * b / c * hyp2f1(a + 1.0, b + 1.0, c + 1.0, d) if a * b != 0.0 else 0.0")),
)
# fmt: on

#: Their names in scipy.special.
NAMES = tuple(line.name for line in _LINES)

#: The arguments, counted from 0, by which there is no derivative: orders of Bessel functions and the like.
UNKNOWN: Mapping[str, tuple[int, ...]] = {
    line.name: tuple(k for k, text in enumerate(line.partials) if text == _NONE) for line in _LINES
}


@functools.cache
def lines() -> Mapping[str, Primitive]:
    """The lines by SciPy's names, with its functions in them.

    >>> lines()["ndtr"].value
    'ndtr(x)'
    """
    from scipy import special  # it takes time to import, and most programs do without

    used = ("expit", "gamma", "gammaln", "psi")
    functions = {name: getattr(special, name) for name in (*NAMES, *used) if hasattr(special, name)}
    made = {}
    for name, domain, partials, second in _LINES:
        parameters = ", ".join(("x",) if len(partials) == 1 else ("a", "b", "c", "d")[: len(partials)])
        made[name] = Primitive(name, f"{name}({parameters})", partials, domain, functions=functions, second=second)
    return made
