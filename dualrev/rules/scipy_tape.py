"""SciPy's elementwise special functions that only the tape differentiates: numba code cannot call their partials.

A line has the intervals of the arguments in tests, and the partials as text. An order or a parameter without a
derivative has the text nan. Inverse functions have the partials of the function, at the answer y.

Source: NIST's Digital Library of Mathematical Functions, chapters 8, 18 and 19.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["COMPOSED", "MORE", "OUTPUTS", "WHOLE"]

_ANY, _POSITIVE, _UNIT, _DEGREE = (-2.0, 2.0), (0.3, 4.0), (0.1, 0.9), (3.0, 3.0)
_NONE = "nan"

_GAMMA = "exp(xlogy(a - 1.0, y) - y - gammaln(a))"
_BETA = "exp(xlogy(a - 1.0, y) + xlog1py(b - 1.0, -y) - betaln(a, b))"
_BETA_AT_C = "exp(xlogy(a - 1.0, c) + xlog1py(b - 1.0, -c) - betaln(a, b))"
_T = "(exp(-betaln(0.5, 0.5 * a) - (0.5 * a + 0.5) * log1p(y * y / a)) / sqrt(a))"
_BOXCOX_B = (
    "((xlogy(power(y, b), y) - a) / b if abs(b * log(y)) > 0.5"
    " else 0.5 * log(y) * log(y) * hyp1f1(2.0, 3.0, b * log(y)))"
)
_DEGREES = "0.017453292519943295"

# fmt: off
MORE: Mapping[str, tuple[tuple[tuple[float, float], ...], tuple[str, ...]]] = {
    "gammaincinv": ((_POSITIVE, _UNIT), (f"-gammainc_a(a, y) / {_GAMMA}", f"1.0 / {_GAMMA}")),
    "gammainccinv": ((_POSITIVE, _UNIT), (f"-gammainc_a(a, y) / {_GAMMA}", f"-1.0 / {_GAMMA}")),
    "betaincc": ((_POSITIVE, _POSITIVE, _UNIT), ("-betainc_a(a, b, c)", "-betainc_b(a, b, c)", f"-{_BETA_AT_C}")),
    "betaincinv": ((_POSITIVE, _POSITIVE, _UNIT),
                   (f"-betainc_a(a, b, y) / {_BETA}", f"-betainc_b(a, b, y) / {_BETA}", f"1.0 / {_BETA}")),
    "betainccinv": ((_POSITIVE, _POSITIVE, _UNIT),
                    (f"-betainc_a(a, b, y) / {_BETA}", f"-betainc_b(a, b, y) / {_BETA}", f"-1.0 / {_BETA}")),
    "stdtrit": ((_POSITIVE, _UNIT), (f"-stdtr_a(a, y) / {_T}", f"1.0 / {_T}")),
    "ndtri_exp": (((-3.0, -0.1),), ("2.5066282746310002 * exp(x + 0.5 * y * y)",)),
    "owens_t": ((_ANY, _ANY), ("-0.19947114020071635 * exp(-0.5 * a * a) * erf(0.7071067811865476 * a * b)",
                              "0.15915494309189535 * exp(-0.5 * a * a * (1.0 + b * b)) / (1.0 + b * b)")),
    "erfi": ((_ANY,), ("1.1283791670955126 * exp(x * x)",)),
    "exprel": ((_ANY,), ("0.5 * hyp1f1(2.0, 3.0, x)",)),
    "expn": ((_DEGREE, _POSITIVE), (_NONE, "-expn(a - 1.0, b) if a >= 1.0 else -exp(-b) * (1.0 + 1.0 / b) / b")),
    "inv_boxcox": ((_POSITIVE, (0.2, 2.0)), ("power(y, 1.0 - b)", f"-{_BOXCOX_B} * power(y, 1.0 - b)")),
    "pseudo_huber": ((_POSITIVE, _ANY), (
        "b * b / (hypot(a, b) + a) * (b * b / (hypot(a, b) + a)) / hypot(a, b) if a != 0.0 else 0.0",
        "a * b / hypot(a, b) if a != 0.0 else 0.0")),
    "ellipkm1": ((_UNIT,), ("-0.5 * (ellipe(1.0 - x) / x - y) / (1.0 - x) if x < 0.9"
                            " else -0.39269908169872414 * hyp2f1(1.5, 1.5, 2.0, 1.0 - x)",)),
    "ellipkinc": ((_ANY, _UNIT), ("1.0 / sqrt(1.0 - b * sin(a) * sin(a))", _NONE)),
    "ellipeinc": ((_ANY, _UNIT), ("sqrt(1.0 - b * sin(a) * sin(a))", _NONE)),
    "hyp0f1": ((_POSITIVE, _ANY), (_NONE, "hyp0f1(a + 1.0, b) / a")),
    "sindg": (((-50.0, 50.0),), (f"{_DEGREES} * cosdg(x)",)),
    "cosdg": (((-50.0, 50.0),), (f"-{_DEGREES} * sindg(x)",)),
    "tandg": (((-50.0, 50.0),), (f"{_DEGREES} * (1.0 + y * y)",)),

    # orthogonal polynomials, by their last argument
    "eval_legendre": ((_DEGREE, _ANY),
                      (_NONE, "0.5 * (a + 1.0) * eval_jacobi(a - 1.0, 1.0, 1.0, b) if a != 0.0 else 0.0")),
    "eval_chebyt": ((_DEGREE, _ANY), (_NONE, "a * eval_chebyu(a - 1.0, b) if a != 0.0 else 0.0")),
    "eval_chebyu": ((_DEGREE, _ANY), (_NONE, "2.0 * eval_gegenbauer(a - 1.0, 2.0, b) if a != 0.0 else 0.0")),
    "eval_gegenbauer": ((_DEGREE, _POSITIVE, _ANY),
                        (_NONE, _NONE, "2.0 * b * eval_gegenbauer(a - 1.0, b + 1.0, c) if a != 0.0 else 0.0")),
    "eval_jacobi": ((_DEGREE, _POSITIVE, _POSITIVE, _ANY), (_NONE, _NONE, _NONE,
        "0.5 * (a + b + c + 1.0) * eval_jacobi(a - 1.0, b + 1.0, c + 1.0, d) if a != 0.0 else 0.0")),
    "eval_hermite": ((_DEGREE, _ANY), (_NONE, "2.0 * a * hermite(a - 1.0, b) if a > 0.0 else 0.0")),
    "eval_hermitenorm": ((_DEGREE, _ANY), (_NONE, "a * hermitenorm(a - 1.0, b) if a > 0.0 else 0.0")),
    "eval_laguerre": ((_DEGREE, _ANY), (_NONE, "-eval_genlaguerre(a - 1.0, 1.0, b) if a != 0.0 else 0.0")),
    "eval_genlaguerre": ((_DEGREE, _POSITIVE, _ANY),
                         (_NONE, _NONE, "-eval_genlaguerre(a - 1.0, b + 1.0, c) if a != 0.0 else 0.0")),
}
# fmt: on

#: Functions that are formulas of other ones.
COMPOSED = (
    *("bdtr", "bdtrc", "boxcox1p", "chdtr", "chdtrc", "chdtri", "fdtr", "fdtrc", "fdtri", "gdtr", "gdtrc", "huber"),
    *("inv_boxcox1p", "nbdtr", "nbdtrc", "pdtr", "pdtrc"),
)

#: The partials of functions that return several numbers; the text calls them airy_0, airy_1, ...
OUTPUTS: Mapping[str, tuple[str, ...]] = {
    "airy": ("airy_1(x)", "x * airy_0(x)", "airy_3(x)", "x * airy_2(x)"),
    "fresnel": ("sin(1.5707963267948966 * x * x)", "cos(1.5707963267948966 * x * x)"),
    "shichi": ("sinh(x) / x if x != 0.0 else 1.0", "cosh(x) / x"),
    "sici": ("sin(x) / x if x != 0.0 else 1.0", "cos(x) / x"),
}

#: Arguments, counted from 0, for which SciPy wants ints.
WHOLE: Mapping[str, int] = {"bdtr": 1, "bdtrc": 1, "eval_hermite": 0, "eval_hermitenorm": 0}
