"""Derivatives that are made inside of njit code: dr.grad(f), dr.jvp(f, ...), dr.vjp(f, ...) and the like written there.

The tape says what is right, for the functions and for their own derivatives.
"""

import numpy as np
import pytest
from numba import njit, types
from numba.core.errors import TypingError
from programs.models import Model
from support.twin import twin
from test_compiled_nested import A, M, bump, overwrites, same, waves

import dualrev as dr
from dualrev.compiler.bridge.cache.store import CachedModule, resolve
from dualrev.compiler.driver.emit import emit
from dualrev.errors import UnsupportedError


class Inside:
    """Functions that make derivatives themselves, of numba functions or of Python functions."""

    def __init__(self, of_bump, of_waves):
        self.bump, self.waves = of_bump, of_waves

    def functions(self):
        f, g = self.bump, self.waves

        def of_functions(x, a):
            slope = dr.value_and_grad(g, argnums=(0, -1))
            y, (by_x, by_a) = slope(x, a)
            return y * by_x + np.sum(by_a) + dr.grad(dr.grad(f))(x) + dr.vjp(f, x)[1](y)[0]

        return of_functions

    def points(self):
        g = self.waves

        def of_points(x, a):
            b = a * x
            y, pull = dr.vjp(g, x, b)
            b[0] = 7.0  # the pullback has a copy
            pair = x, a
            z, t = dr.jvp(g, pair, (y, a))
            total = z * t
            for k in range(2):
                by_x, by_b = pull(z + k)
                total += by_x * np.sum(by_b * b)
            return total

        return of_points


@pytest.mark.parametrize("name", ["points", pytest.param("functions", marks=pytest.mark.slow)])
def test_derivatives_that_are_made_inside(name):
    """Their values, and derivatives of these in both modes."""
    compiled = njit(getattr(Inside(bump, waves), name)())
    plain = getattr(Inside(twin(bump), twin(waves)), name)()
    assert compiled(0.4, A) == pytest.approx(plain(0.4, A), rel=1e-12)
    same(dr.grad(compiled, (0, 1))(0.4, A), dr.grad(plain, (0, 1))(0.4, A))
    if name == "functions":
        same(dr.jvp(compiled, (0.4, A), (1.0, A))[1], dr.jvp(plain, (0.4, A), (1.0, A))[1])


@njit
def of_tuples(m, a, x=0.5):
    return m.weights * x, (np.sum(a) * m.bias * x, m.count)


def test_what_a_pullback_holds():
    """Copies, in the structure of the arguments: of strided arrays, and where f writes to them."""

    @njit
    def pulled(f, m, a, b, x):
        y, pull = dr.vjp(overwrites, b, x)
        b[0] = 5.0
        first, second = pull(1.0), pull(2.0)
        _, back = dr.vjp(of_tuples, m, a)
        a[:] = 0.0
        _, tangent = dr.jvp(of_tuples, (m, a), (m, a))
        return y, first, second, back((m.weights, (2.0, None))), dr.grad(f)(x), tangent

    given = np.linspace(0.3, 1.2, 6)
    y, first, second, back, slope, tangent = pulled(bump, M, given[::2], A.copy(), 0.4)
    expected, pull = dr.vjp(twin(overwrites), A.copy(), 0.4)
    assert y == pytest.approx(expected, rel=1e-13)
    same(first, pull(1.0))
    same(second, pull(2.0))
    assert list(given[::2]) == [0.0, 0.0, 0.0]
    by_m, by_a = dr.vjp(twin(of_tuples), M, np.linspace(0.3, 1.2, 6)[::2])[1]((M.weights, (2.0, None)))
    same(back, (Model(*by_m), by_a))
    assert isinstance(back[0], Model)
    assert slope == pytest.approx(dr.grad(twin(bump))(0.4), rel=1e-13)
    same(tangent, dr.jvp(twin(of_tuples), (M, 0.0 * A), (M._replace(count=None), 0.0 * A))[1])


def test_a_wrong_cotangent_is_no_broadcast():
    @njit
    def pulled(a, ct):
        return dr.vjp(njit_sum, a)[1](ct)

    with pytest.raises(ValueError, match="another shape"):
        pulled(A, A[:1])
    with pytest.raises(TypingError, match="CotangentError: a cotangent of numba type float64"):
        pulled(A, 1.0)


@njit
def njit_sum(a):
    return a * a


def test_derivatives_inside_follow_their_function():
    """f.recompile() means what was made of it inside."""
    factor = 2.0

    @njit
    def times(x):
        return factor * x * x

    @njit
    def inside(x):
        y, pull = dr.vjp(times, x)
        return y, pull(1.0)[0], dr.jvp(times, (x,), (1.0,))[1], dr.grad(times)(x)

    assert inside(1.0) == (2.0, 4.0, 4.0, 4.0)
    factor = 3.0
    times.recompile()
    inside.recompile()
    assert inside(1.0) == (3.0, 6.0, 6.0, 6.0)


def test_the_way_to_a_derivative_inside():
    """It is found again from what a file of the cache has."""

    @njit
    def constant_slope(x):
        return x * dr.grad(waves, argnums=(0, 1))(0.3, FROZEN)[0]

    emitted = emit(constant_slope, "grad", 0, (types.float64,))
    module = CachedModule.from_bytes(CachedModule(emitted.source, emitted.entry, emitted.constants).to_bytes())
    found = [resolve(constant_slope, (types.float64,), path) for path in module.constants.values()]
    assert any(x is dr.grad(waves, (0, 1)) for x in found)


FROZEN = A * 2.0

# What is refused


def twin_sum(a):
    return np.sum(a * a)


def at_once(x):
    made = dr.vjp(bump, x)
    return made[1](1.0)[0]


def passed_on(x):
    _, pull = dr.vjp(bump, x)
    other = pull
    return other(1.0)[0]


def named_twice(x):
    slope = dr.grad(bump)
    slope = dr.grad(slope)
    return slope(x)


def computed(x):
    n = int(x)
    return dr.grad(bump, n)(x)


def with_aux(x):
    return dr.grad(bump, has_aux=True)(x)[0]


def of_python(x):
    return dr.grad(twin_sum)(x)


def too_few(x):
    return dr.jvp(bump, (x, x), (x,))[1]


def escapes(x):
    return dr.vjp(bump, x)


def of_ints(x):
    return dr.vjp(bump, 2)[1](x)[0]


@dr.custom_vjp
@njit
def ruled(x):
    return x * x


def of_a_rule(x):
    return dr.jvp(ruled, (x,), (x,))[1]


def of_a_rule_later(x):
    return dr.grad(ruled)(x)


def no_tuples(x):
    return dr.jvp(bump, x, x)[0]


DIFFERENTIATED = {  # what the compiler says, with the line
    at_once: r"made = dr.vjp\(bump, x\)`: dr.vjp in this place.*y, pull = dr.vjp\(f, x\)",
    passed_on: r"other = pull`: dr.vjp in this place.*a name for each pullback",
    named_twice: r"slope = dr.grad\(bump\)`: several values of slope.*a name for each function",
    computed: r"dr.grad\(bump, n\)\(x\)`: argnums that are computed.*a constant",
    with_aux: r"has_aux=True\)\(x\)\[0\]`: dr.grad with these arguments.*dr.grad\(f\)",
    of_python: r"dr.grad\(twin_sum\)\(x\)`: this dr.grad.*a numba function outside",
    too_few: r"dr.jvp\(bump.*as many tangents as primals.*a tangent for each",
    of_a_rule: r"a rule of its own, which counts where it is called.*a numba function that calls it",
    of_a_rule_later: r"a rule of its own, which counts where it is called.*a numba function that calls it",
    escapes: r"return dr.vjp\(bump, x\)`: dr.vjp in this place",
}


@pytest.mark.parametrize("f", DIFFERENTIATED, ids=lambda f: f.__name__)
def test_what_is_refused_where_it_is_differentiated(f):
    with pytest.raises(UnsupportedError, match=DIFFERENTIATED[f]):
        dr.grad(njit(f))(0.5)


TYPED = {  # what numba says
    computed: "argnums of type int64: inside of njit code it is a constant",
    with_aux: "dr.grad inside of njit code has no has_aux and no engine",
    too_few: "TangentError: a tangent of numba type",
    escapes: "a pullback is known inside of njit code only",
    of_ints: "ArgumentError: there is nothing to differentiate",
    of_a_rule: "jvp of ruled, which has a rule of its own",
    of_a_rule_later: "grad of ruled, which has a rule of its own",
    no_tuples: "takes tuples inside of njit code",
}


@pytest.mark.parametrize("f", TYPED, ids=lambda f: f.__name__)
def test_what_numba_refuses(f):
    with pytest.raises(TypingError, match=TYPED[f]):
        njit(f)(0.5)
