"""The table's partials at kinks and at the edge of domains, against JAX, whose conventions they follow."""

from __future__ import annotations

import math

import pytest
from support.oracle import assert_same

from dualrev.eager.numbers.overload import function
from dualrev.rules.primitives import PRIMITIVES
from stages import STAGES

jax = pytest.importorskip("jax", reason="the conventions are JAX's; pip install 'dualrev[peers]'")
jnp, special = jax.numpy, jax.scipy.special

inf, nan = math.inf, math.nan

#: JAX's name of a line that is no function of numpy. `remainder`, to the nearest whole quotient, JAX does not have.
NAMES = {
    "erf": special.erf,
    "erfc": special.erfc,
    "gamma": special.gamma,
    "lgamma": special.gammaln,
    "digamma": special.digamma,
    "polygamma": special.polygamma,
}
WITHOUT = {"remainder"}

#: Not kinks of the table, or not worth a line there: (name, arguments).
MORE = [
    ("abs", (-0.0,)),
    ("sqrt", (inf,)),
    ("cbrt", (-0.0,)),
    ("exp", (inf,)),
    ("exp", (nan,)),
    ("exp2", (-inf,)),
    ("expm1", (-inf,)),
    ("log1p", (inf,)),
    ("tanh", (inf,)),
    ("tanh", (-inf,)),
    ("atan", (-inf,)),
    ("asinh", (inf,)),
    ("div", (0.0, 2.0)),
    ("div", (1.0, inf)),
    ("pow", (1.0, inf)),
    ("pow", (0.0, 1.5)),
    ("pow", (0.0, 3.0)),
    ("pow", (-3.0, -1.0)),
    ("pow", (-1.0, 2.0)),
    ("pow", (inf, 2.0)),
    ("pow", (2.0, -inf)),
    ("atan2", (0.0, 1.0)),
    ("atan2", (-0.0, -1.0)),
    ("atan2", (1.0, 0.0)),
    ("hypot", (0.0, 1.0)),
    ("hypot", (-2.0, 0.0)),
    ("hypot", (1.0, inf)),
    ("maximum", (inf, inf)),
    ("maximum", (1.0, nan)),
    ("maximum", (nan, 1.0)),
    ("minimum", (-0.0, 0.0)),
    ("minimum", (nan, nan)),
    ("mod", (-4.0, 2.0)),
    ("mod", (-1.0, 2.0)),
    ("mod", (1.0, -2.0)),
    ("mod", (-3.0, -2.0)),
    ("fmod", (-4.0, 2.0)),
    ("fmod", (1.0, -2.0)),
    ("fmod", (1.0, inf)),
    ("floordiv", (-3.0, 2.0)),
    ("copysign", (2.0, -0.0)),
    ("copysign", (-2.0, 0.0)),
    ("copysign", (0.0, -2.0)),
    ("sign", (-0.0,)),
    ("floor", (-0.5,)),
    ("ceil", (-0.5,)),
    ("trunc", (-1.0,)),
    ("round", (1.5,)),
    ("logaddexp", (0.0, 0.0)),
    ("logaddexp", (0.0, -inf)),
    ("logaddexp", (1000.0, 0.0)),
    ("logaddexp", (-inf, -inf)),
    ("logaddexp", (0.0, inf)),
    ("logaddexp", (2.0, inf)),
    ("logaddexp", (inf, inf)),
    ("erf", (inf,)),
    ("erfc", (-inf,)),
    ("lgamma", (-1.5,)),
    ("lgamma", (-0.5,)),
    ("gamma", (-1.5,)),
    ("polygamma", (0.0, -0.5)),
    ("polygamma", (0.0, inf)),
    ("polygamma", (2.0, 0.5)),
]
CASES = [(name, args) for name, line in PRIMITIVES.items() for args in line.edges] + MORE

#: Where the table does not follow JAX: our partials, JAX's, and why. JAX's are checked too: a line whose reason has
#: gone, in a later JAX, is to be looked at again.
DEVIATIONS = {
    ("pow", (0.0, 0.0)): ((0.0, 0.0), (nan, 0.0), "0 * 0**-1; for an int exponent, JAX has 0 as well: x**0 is 1"),
    ("hypot", (0.0, 0.0)): ((nan, nan), (0.5, 0.5), "the tie of its max(|a|, |b|) shows through; the tip of a cone"),
    ("hypot", (1.0, inf)): ((0.0, nan), (nan, nan), "inf / inf; the first one has a limit"),
    ("logaddexp", (0.0, inf)): ((0.0, 1.0), (1.0, 1.0), "it computes exp(a - 0), since it replaces inf by 0"),
    ("logaddexp", (2.0, inf)): ((0.0, 1.0), (math.exp(2.0), 1.0), "it computes exp(a - 0): this one is even above 1"),
    ("polygamma", (0.0, inf)): ((0.0,), (nan,), "the limit is 0"),
}


def gradient(f, args, positions):
    return tuple(map(float, jax.grad(f, argnums=positions)(*args)))


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize(("name", "args"), CASES, ids=lambda x: x if isinstance(x, str) else str(x))
def test_partials_are_those_of_jax(name, args):
    line = PRIMITIVES[name]
    if name in WITHOUT:
        pytest.skip("JAX has no such function")
    positions = tuple(k for k, text in enumerate(line.partials) if not text.startswith("nan"))
    f = NAMES.get(name) or getattr(jnp, line.ufunc)
    theirs = gradient(f, args if len(positions) == len(args) else (int(args[0]), *args[1:]), positions)
    _, pullback = STAGES["sparse"].vjp(function(line), *args)
    ours = tuple(pullback(1.0)[k] for k in positions)
    expected, jaxs, _ = DEVIATIONS.get((name, args), (theirs, theirs, ""))
    assert_same(ours, expected)
    assert_same(theirs, jaxs)


def test_deviations_are_cases():
    assert set(DEVIATIONS) <= set(CASES)
    assert all(reason for *_, reason in DEVIATIONS.values())
