"""SciPy's elementwise special functions: the partial derivatives, in SciPy's own functions.

A line is as in primitives.py: text in the arguments and the answer y. The functions in it are those of SciPy, which
take arrays; so nothing here is a loop, and derivatives of every order are there. SciPy is imported when a line is
asked for: somebody who calls its functions has it.

Source: Abramowitz and Stegun, chapters 5 to 9 and 17; NIST's Digital Library of Mathematical Functions.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from dualrev.rules.primitives import Primitive

__all__ = ["NAMES", "UNKNOWN", "lines"]

_ANY, _POSITIVE, _UNIT = (-3.0, 3.0), (0.1, 4.0), (0.05, 0.95)
_ORDER = (1.0, 1.0)  # an order or a parameter without a derivative here
_NONE = "nan"

_SQRT_2_PI = "0.7978845608028654"  # sqrt(2 / pi)
_TAIL = "(0.5 / (x * x))"
# 2 x erfcx(x) - 2 / sqrt(pi) where these two are almost equal: the asymptotic series, DLMF 7.12.1
_FAR = (
    f"-1.1283791670955126 * {_TAIL} * (1.0 - {_TAIL} * (3.0 - {_TAIL} * (15.0 - {_TAIL} * (105.0 - 945.0 * {_TAIL}))))"
)

_EXPONENT = "(b * log(a))"  # a**b = exp(b log a)


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


# fmt: off
_LINES: tuple[tuple[str, tuple[tuple[float, float], ...], tuple[str, ...]], ...] = (
    # normal distribution, error functions
    ("ndtr", (_ANY,), ("0.3989422804014327 * exp(-0.5 * x * x)",)),
    ("log_ndtr", (_ANY,), (f"{_SQRT_2_PI} / erfcx(-0.7071067811865476 * x) if x < 5.0"
                           " else 0.3989422804014327 * exp(-0.5 * x * x) / ndtr(x)",)),  # erfcx is infinite from 38 on
    ("ndtri", (_UNIT,), ("2.5066282746310002 * exp(0.5 * y * y)",)),
    ("erfinv", ((-0.9, 0.9),), ("0.886226925452758 * exp(y * y)",)),
    ("erfcinv", ((0.1, 1.9),), ("-0.886226925452758 * exp(y * y)",)),
    ("erfcx", (_ANY,), (f"2.0 * x * y - 1.1283791670955126 if x < 26.0 else {_FAR}",)),
    ("dawsn", (_ANY,), ("1.0 - 2.0 * x * y",)),

    # logistic, logarithms
    ("logit", (_UNIT,), ("1.0 / (x * (1.0 - x))",)),
    ("log_expit", (_ANY,), ("expit(-x)",)),
    ("exp10", ((-2.0, 2.0),), ("2.302585092994046 * y",)),
    ("cosm1", (_ANY,), ("-sin(x)",)),
    ("entr", (_POSITIVE,), ("-1.0 - log(x)",)),
    ("xlogy", (_POSITIVE, _POSITIVE), ("log(b)", "a / b if a != 0.0 or b != 0.0 else 0.0")),
    ("xlog1py", (_POSITIVE, _POSITIVE), ("log1p(b)", "a / (1.0 + b) if a != 0.0 or b != -1.0 else 0.0")),
    ("rel_entr", (_POSITIVE, _POSITIVE), ("1.0 + log(a / b)", "-a / b")),
    ("kl_div", (_POSITIVE, _POSITIVE), ("log(a / b)", "1.0 - a / b")),
    ("boxcox", (_POSITIVE, _POSITIVE), ("power(a, b - 1.0)",
        f"(power(a, b) * log(a) - y) / b if abs({_EXPONENT}) > 0.5"
        f" else 0.5 * log(a) * log(a) * hyp1f1(2.0, 3.0, {_EXPONENT})")),

    # the gamma function and its family
    ("loggamma", (_POSITIVE,), ("psi(x)",)),
    ("gammasgn", (_POSITIVE,), ("0.0",)),
    ("rgamma", (_POSITIVE,), (f"-y * psi(x) if x > 0.5 else {_slope('x')}",)),
    ("beta", (_POSITIVE, _POSITIVE), (_beta("a", "b"), _beta("b", "a"))),
    ("betaln", (_POSITIVE, _POSITIVE), ("psi(a) - psi(a + b)", "psi(b) - psi(a + b)")),
    ("binom", ((3.0, 6.0), (0.5, 2.0)), (
        "y * (psi(a + 1.0) - psi(a - b + 1.0)) if a - b > -0.5"
        f" else y * psi(a + 1.0) + {_slope('a - b + 1.0')} / poch(a + 1.0, b - a)",
        f"(y * psi(a - b + 1.0) if a - b > -0.5 else -{_slope('a - b + 1.0')} / poch(a + 1.0, b - a))"
        f" + (-y * psi(b + 1.0) if b > -0.5 else {_slope('b + 1.0')} * poch(a - b + 1.0, b))")),
    ("poch", (_POSITIVE, _POSITIVE), (
        "y * (psi(a + b) - psi(a)) if a > 0.5 else y * (psi(1.0 - a - b) - psi(1.0 - a))"
        f" if a + b < 0.5 and b == floor(b) else y * psi(a + b) + gamma(a + b) * {_slope('a')}", "y * psi(a + b)")),
    ("gammainc", (_ORDER, _POSITIVE), (_NONE, "exp(xlogy(a - 1.0, b) - b - gammaln(a))")),
    ("gammaincc", (_ORDER, _POSITIVE), (_NONE, "-exp(xlogy(a - 1.0, b) - b - gammaln(a))")),
    ("betainc", (_ORDER, _ORDER, _UNIT), (_NONE, _NONE,
        "exp(xlogy(a - 1.0, c) + xlog1py(b - 1.0, -c) - betaln(a, b))")),
    ("stdtr", (_ORDER, _ANY), (_NONE,
        "exp(-betaln(0.5, 0.5 * a) - (0.5 * a + 0.5) * log1p(b * b / a)) / sqrt(a)")),

    # Bessel functions
    ("i0", (_ANY,), ("i1(x)",)),
    ("i1", (_ANY,), ("0.5 * (i0(x) + iv(2.0, x))",)),
    ("i0e", (_POSITIVE,), ("i1e(x) - sign(x) * y",)),
    ("i1e", (_POSITIVE,), ("0.5 * (i0e(x) + ive(2.0, x)) - sign(x) * y",)),
    ("j0", (_ANY,), ("-j1(x)",)),
    ("j1", (_ANY,), ("0.5 * (j0(x) - jv(2.0, x))",)),
    ("y0", (_POSITIVE,), ("-y1(x)",)),
    ("y1", (_POSITIVE,), ("y0(x) - y / x",)),
    ("k0", (_POSITIVE,), ("-k1(x)",)),
    ("k1", (_POSITIVE,), ("-k0(x) - y / x",)),
    ("k0e", (_POSITIVE,), ("y - k1e(x)",)),
    ("k1e", (_POSITIVE,), ("y - k0e(x) - y / x",)),
    ("yn", (_ORDER, _POSITIVE), (_NONE, "0.5 * (yv(a - 1.0, b) - yv(a + 1.0, b))")),
    ("kn", (_ORDER, _POSITIVE), (_NONE, "-0.5 * (kv(a - 1.0, b) + kv(a + 1.0, b))")),
    ("jv", (_ORDER, _POSITIVE), (_NONE, "0.5 * (jv(a - 1.0, b) - jv(a + 1.0, b))")),
    ("yv", (_ORDER, _POSITIVE), (_NONE, "0.5 * (yv(a - 1.0, b) - yv(a + 1.0, b))")),
    ("iv", (_ORDER, _POSITIVE), (_NONE, "0.5 * (iv(a - 1.0, b) + iv(a + 1.0, b))")),
    ("ive", (_ORDER, _POSITIVE), (_NONE, "0.5 * (ive(a - 1.0, b) + ive(a + 1.0, b)) - sign(b) * y")),
    ("kv", (_ORDER, _POSITIVE), (_NONE, "-0.5 * (kv(a - 1.0, b) + kv(a + 1.0, b))")),
    ("kve", (_ORDER, _POSITIVE), (_NONE, "y - 0.5 * (kve(a - 1.0, b) + kve(a + 1.0, b))")),

    # integrals
    ("expi", (_POSITIVE,), ("exp(x) / x",)),
    ("exp1", (_POSITIVE,), ("-exp(-x) / x",)),
    ("spence", (_POSITIVE,), ("log(x) / (1.0 - x) if abs(1.0 - x) > 0.1 else -hyp2f1(1.0, 1.0, 2.0, 1.0 - x)",)),
    ("ellipk", (_UNIT,), ("0.5 * (ellipe(x) / (1.0 - x) - y) / x if abs(x) > 0.1"
                          " else 0.39269908169872414 * hyp2f1(1.5, 1.5, 2.0, x)",)),
    ("ellipe", (_UNIT,), ("0.5 * (y - ellipk(x)) / x if abs(x) > 0.1"
                          " else -0.39269908169872414 * hyp2f1(0.5, 1.5, 2.0, x)",)),

    # hypergeometric functions, which the others above are near the points where a quotient is 0 / 0
    ("hyp1f1", (_ORDER, _ORDER, _ANY), (_NONE, _NONE, "a / b * hyp1f1(a + 1.0, b + 1.0, c)")),
    ("hyp2f1", (_ORDER, _ORDER, _ORDER, (-0.9, 0.9)), (_NONE, _NONE, _NONE,
        "a * b / c * hyp2f1(a + 1.0, b + 1.0, c + 1.0, d)")),
)
# fmt: on

#: Their names in scipy.special.
NAMES = tuple(name for name, _, _ in _LINES)

#: The arguments, counted from 0, by which there is no derivative: orders of Bessel functions and the like.
UNKNOWN: Mapping[str, tuple[int, ...]] = {
    name: tuple(k for k, text in enumerate(partials) if text == _NONE) for name, _, partials in _LINES
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
    for name, domain, partials in _LINES:
        parameters = ", ".join(("x",) if len(partials) == 1 else ("a", "b", "c", "d")[: len(partials)])
        made[name] = Primitive(name, f"{name}({parameters})", partials, domain, functions=functions)
    return made
