"""Lines of SciPy's special functions with their derivatives by shape parameters and orders, for the tape.

rules/scipy.py has the other derivatives. Numba code cannot call the integrals that these need.

    gammainc, (None, density)        ~>  gammainc, (gammainc_a, density)
    derivatives of gammainc_a itself:    gammainc_aa, and the density's derivative by a

Relative errors are below 1e-9 for shapes between 0.01 and 10,000 and orders up to 1000.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dualrev.eager.arrays.bessel_orders import ive_by_order, kve_by_order
from dualrev.eager.arrays.elementwise import elementwise
from dualrev.eager.arrays.memory.storage import holds_duals, plain
from dualrev.eager.arrays.shape_integrals import beta_integral, gamma_integral, in_parts, trigamma
from dualrev.eager.arrays.special import ArrayFunction
from dualrev.rules import scipy
from dualrev.rules.primitives import Primitive
from dualrev.rules.scipy_tape import MORE, OUTPUTS

__all__ = ["NAMES", "by_name", "lines", "unknown"]


class _Slope(ArrayFunction):
    """Derivative of a special function, with derivatives of its own. Without partials, its operations are traced."""

    def __init__(self, name: str, f: Callable[..., Any], partials: tuple[str, ...] = ()) -> None:
        self.name, self.f, self._partials = name, f, partials

    def __call__(self, *args: Any) -> Any:
        """Return the value for arrays, plain or traced."""
        if not self._partials or not any(map(holds_duals, args)):
            return self.f(*args)
        ones = [u if np.ndim(u) else np.reshape(u, 1) for u in args]
        made = elementwise(self.line, ones, self.f)
        return made if any(map(np.ndim, args)) else made[0]

    @functools.cached_property
    def line(self) -> Primitive:
        """The line of the table."""
        parameters = "x" if len(self._partials) == 1 else "abcd"[: len(self._partials)]
        text = f"{self.name}({', '.join(parameters)})"
        return Primitive(self.name, text, self._partials, ((0.1, 4.0),) * len(parameters), functions=_functions())


# fmt: off
_GAMMA = "exp(xlogy(a - 1.0, b) - b - gammaln(a))"
_GAMMA_BY_A = f"(xlogy({_GAMMA}, b) - {_GAMMA} * psi(a) if b < inf else 0.0 / b)"
_BETA = "exp(xlogy(a - 1.0, c) + xlog1py(b - 1.0, -c) - betaln(a, b))"
_BETA_BY_A = f"(xlogy({_BETA}, c) - {_BETA} * (psi(a) - psi(a + b)))"
_BETA_BY_B = f"(xlog1py({_BETA}, -c) - {_BETA} * (psi(b) - psi(a + b)))"
_T_BY_A = "density_of_t_a(a, b)"
_IVE_BY_B = "0.5 * (ive_a(a - 1.0, b) + ive_a(a + 1.0, b)) - ive_a(a, b)"


def _zeta(x: Any, q: Any) -> Any:
    from scipy import special

    return special.zeta(x, q)


def _output(name: str, k: int, x: Any) -> Any:
    from scipy import special

    return getattr(special, name)(x)[k]


def _hermite(kind: str, n: Any, x: Any) -> Any:
    from scipy import special

    return getattr(special, f"eval_hermite{kind}")(np.asarray(n).astype(int), x)


def _density_of_t(n: int, df: Any, t: Any) -> Any:
    """n-th derivative of Student's density by the degrees of freedom, for n = 1 or 2."""
    f = _functions()
    square = np.where(np.abs(plain(t)) < 1e100, t * t, 1.0)
    large, small = np.where(plain(df) > 30.0, df, 30.0), np.where(plain(df) > 30.0, 30.0, df)
    inverse = 1.0 / (large * large)  # psi((df + 1) / 2) - psi(df / 2) - 1 / df, and its derivative
    far = inverse * (0.5 - inverse * (0.25 - inverse * (0.5 - 2.125 * inverse)))
    psi = np.where(plain(df) > 30.0, far, f["psi"](0.5 * small + 0.5) - f["psi"](0.5 * small) - 1.0 / small)
    ratio = square / df
    slope = 0.5 * (psi + (ratio / (1.0 + ratio) - np.log1p(ratio)) + ratio / (1.0 + ratio) / df)
    made = slope
    if n == 2:
        far = inverse / large * (-1.0 + inverse * (1.0 - inverse * (3.0 - 17.0 * inverse)))
        near = 0.5 * (trigamma(0.5 * small + 0.5) - trigamma(0.5 * small)) + 1.0 / (small * small)
        part = ratio / (1.0 + ratio)
        rest = part * part / df - part * (2.0 + ratio) / (1.0 + ratio) / (df * df)
        made = slope * slope + 0.5 * (np.where(plain(df) > 30.0, far, near) + rest)
    constant = f["betaln"](0.5, 0.5 * df) + 0.5 * np.log(df)
    density = np.exp(-constant - (0.5 * df + 0.5) * np.log1p(ratio))
    return np.where(np.abs(plain(t)) < 1e100, made * density, np.where(np.isnan(plain(t)), np.nan, 0.0))


def _stdtr(n: int, df: Any, t: Any) -> Any:
    """n-th derivative of stdtr by the degrees of freedom: an integral of the density's, or by betainc in the tails."""
    df, t = (u + np.zeros(np.broadcast_shapes(np.shape(df), np.shape(t))) for u in (df, t))
    inside = np.isfinite(plain(t)) & np.isfinite(plain(df))
    near = np.abs(plain(t)) < np.minimum(1.5, 0.5 * np.sqrt(plain(df)))
    middle, tail = inside & near, inside & ~near
    nodes, weights = (u.reshape(-1, *(1,) * np.ndim(plain(t))) for u in np.polynomial.legendre.leggauss(32))
    of_middle = np.where(middle, t, 0.0)
    density = _density_of_t(n, np.where(middle, df, 1.0), 0.5 * of_middle * (nodes + 1.0))
    made = 0.5 * of_middle * np.sum(weights * density, axis=0)
    of_tail = _tail_of_t(n, np.where(tail, df, 1.0), np.where(tail, t, 1.0))
    made = np.where(tail, -np.sign(plain(t)) * of_tail, made)
    return np.where(np.isnan(plain(t)) | ~(plain(df) > 0.0), np.nan, made)


def _tail_of_t(n: int, df: Any, t: Any) -> Any:
    """n-th derivative of betainc(df / 2, 1 / 2, df / (df + t * t)) / 2 by the degrees of freedom."""
    f, square = _functions(), t * t
    a, x = 0.5 * df, df / (df + square)
    by_x = square / (df + square) / (df + square)
    density = np.exp(f["xlogy"](a - 1.0, x) - 0.5 * np.log(square / (df + square)) - f["betaln"](a, 0.5))
    if n == 1:
        return 0.5 * (0.5 * f["betainc_a"](a, 0.5, x) + density * by_x)
    mixed = density * (np.log(x) - f["psi"](a) + f["psi"](a + 0.5))
    slope = density * ((a - 1.0) / x + 0.5 * (df + square) / square)
    twice = -2.0 * by_x / (df + square)
    return 0.5 * (0.25 * f["betainc_aa"](a, 0.5, x) + mixed * by_x + slope * by_x * by_x + density * twice)


_SLOPES = (
    _Slope("gammainc_a", lambda a, x: gamma_integral(1, a, x), ("gammainc_aa(a, b)", _GAMMA_BY_A)),
    _Slope("gammainc_aa", lambda a, x: gamma_integral(2, a, x)),
    _Slope("betainc_a", lambda a, b, x: beta_integral(1, 0, a, b, x),
           ("betainc_aa(a, b, c)", "betainc_ab(a, b, c)", _BETA_BY_A)),
    _Slope("betainc_b", lambda a, b, x: beta_integral(0, 1, a, b, x),
           ("betainc_ab(a, b, c)", "betainc_bb(a, b, c)", _BETA_BY_B)),
    _Slope("betainc_aa", lambda a, b, x: beta_integral(2, 0, a, b, x)),
    _Slope("betainc_ab", lambda a, b, x: beta_integral(1, 1, a, b, x)),
    _Slope("betainc_bb", lambda a, b, x: beta_integral(0, 2, a, b, x)),
    _Slope("density_of_t_a", lambda df, t: _density_of_t(1, df, t)),
    _Slope("stdtr_a", lambda df, t: in_parts(functools.partial(_stdtr, 1), df, t), ("stdtr_aa(a, b)", _T_BY_A)),
    _Slope("stdtr_aa", lambda df, t: in_parts(functools.partial(_stdtr, 2), df, t)),
    _Slope("ive_a", lambda v, x: in_parts(functools.partial(ive_by_order, 1), v, x), ("ive_aa(a, b)", _IVE_BY_B)),
    _Slope("ive_aa", lambda v, x: in_parts(functools.partial(ive_by_order, 2), v, x)),
    _Slope("kve_a", lambda v, x: in_parts(functools.partial(kve_by_order, 1), v, x),
           ("kve_aa(a, b)", "kve_a(a, b) - 0.5 * (kve_a(a - 1.0, b) + kve_a(a + 1.0, b))")),
    _Slope("kve_aa", lambda v, x: in_parts(functools.partial(kve_by_order, 2), v, x)),
    _Slope("zeta", _zeta, ("nan", "-a * zeta(a + 1.0, b)")),
    *(_Slope(f"{name}_{k}", functools.partial(_output, name, k), (text,))
      for name, texts in OUTPUTS.items() for k, text in enumerate(texts)),
    _Slope("hermite", lambda n, x: _hermite("", n, x), ("nan", "2.0 * a * hermite(a - 1.0, b) if a > 0.0 else 0.0")),
    _Slope("hermitenorm", lambda n, x: _hermite("norm", n, x),
           ("nan", "a * hermitenorm(a - 1.0, b) if a > 0.0 else 0.0")),
)

#: The partials and the second partials of a function; None for a text that rules/scipy.py has.
_TEXTS: dict[str, tuple[tuple[str | None, ...], tuple[str | None, ...]]] = {
    "gammainc": (("gammainc_a(a, b)", None), ("gammainc_aa(a, b)", _GAMMA_BY_A, None)),
    "gammaincc": (("-gammainc_a(a, b)", None), ("-gammainc_aa(a, b)", f"-{_GAMMA_BY_A}", None)),
    "betainc": (("betainc_a(a, b, c)", "betainc_b(a, b, c)", None),
                ("betainc_aa(a, b, c)", "betainc_ab(a, b, c)", _BETA_BY_A, "betainc_bb(a, b, c)", _BETA_BY_B, None)),
    "stdtr": (("stdtr_a(a, b)", None), ("stdtr_aa(a, b)", _T_BY_A, None)),
    "iv": (("exp(b) * ive_a(a, b)", None), ("exp(b) * ive_aa(a, b)", f"exp(b) * (ive_a(a, b) + {_IVE_BY_B})", None)),
    "ive": (("ive_a(a, b)", None), ("ive_aa(a, b)", _IVE_BY_B, None)),
    "kv": (("exp(-b) * kve_a(a, b)", None), ()),
    "kve": (("kve_a(a, b)", None),
            ("kve_aa(a, b)", "kve_a(a, b) - 0.5 * (kve_a(a - 1.0, b) + kve_a(a + 1.0, b))", None)),
}

# fmt: on


@functools.cache
def lines() -> Mapping[str, Primitive]:
    """The lines by SciPy's names; unlike those of rules/scipy.py, they may call functions of arrays in Python."""
    made = dict(scipy.lines())
    for name, (domain, more) in MORE.items():
        parameters = ("x",) if len(more) == 1 else tuple("abcd")[: len(more)]
        text = f"{name}({', '.join(parameters)})"
        made[name] = Primitive(name, text, more, domain, functions=_functions())
    for name, texts in _TEXTS.items():
        line = made[name]
        partials, second = (
            tuple(known[k] if text is None else text for k, text in enumerate(new))
            for known, new in zip((line.partials, line.second), texts, strict=True)
        )
        made[name] = dataclasses.replace(line, partials=partials, second=second, functions=_functions())
    return made


@functools.cache
def _functions() -> dict[str, Callable[..., Any]]:
    from scipy import special  # somebody who calls its functions has it

    known = next(iter(scipy.lines().values())).functions
    used = {name: getattr(special, name) for name in (*MORE, "gamma") if hasattr(special, name)}
    return {**known, **used, **{slope.name: slope for slope in _SLOPES}}


#: The functions that have lines.
NAMES = frozenset({*scipy.NAMES, *MORE})


def by_name(name: str) -> Callable[..., Any]:
    """Return a function that partials call, for arrays, plain and traced."""
    return _functions()[name]


def unknown(name: str) -> tuple[int, ...]:
    """Return the arguments, counted from 0, by which there is no derivative."""
    if name in MORE:
        return tuple(k for k, text in enumerate(MORE[name][1]) if text == "nan")
    return () if name in _TEXTS else scipy.UNKNOWN.get(name, ())
