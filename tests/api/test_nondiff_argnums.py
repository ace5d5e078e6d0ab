"""nondiff_argnums of custom_vjp and custom_jvp, as in JAX: the rule takes these arguments first."""

import functools

import pytest
from numba import njit

import dualrev as dr
from dualrev.errors import ArgumentNumberError, CustomRuleError, UnsupportedError

X = 2.0


def power(n, x, a):
    return x**n * a


def fwd(n, x, a):
    return x**n * a, (x, a)


def bwd(n, residuals, ct):  # twice the cotangents: one sees that it is called
    x, a = residuals
    return 2.0 * ct * n * x ** (n - 1) * a, 2.0 * ct * x**n


def jvp(n, primals, tangents):
    (x, a), (dx, da) = primals, tangents
    return x**n * a, 2.0 * (n * x ** (n - 1) * a * dx + x**n * da)


def with_rules(wrap):
    by_vjp = functools.partial(dr.custom_vjp, nondiff_argnums=(0,))(wrap(power))
    by_vjp.defvjp(wrap(fwd), wrap(bwd))
    by_jvp = functools.partial(dr.custom_jvp, nondiff_argnums=0)(wrap(power))
    by_jvp.defjvp(wrap(jvp))
    return by_vjp, by_jvp


by_vjp, by_jvp = with_rules(lambda f: f)
vjp_in_numba, jvp_in_numba = with_rules(njit)


@njit
def total_by_vjp(x, n, a):
    return vjp_in_numba(n, x, a)


@njit
def total_by_jvp(x, n, a):
    return jvp_in_numba(n, x, a)


TOTALS = {
    "vjp": lambda x, n, a: by_vjp(n, x, a),
    "jvp": lambda x, n, a: by_jvp(n, x, a),
    "vjp, numba": total_by_vjp,
    "jvp, numba": total_by_jvp,
}
totals = pytest.mark.parametrize("f", TOTALS.values(), ids=TOTALS)


@totals
def test_a_rule_takes_the_constants_first(f):
    assert f(X, 3, 2.0) == 16.0
    assert dr.grad(f, (0, 2))(X, 3, 2.0) == (48.0, 16.0)
    assert dr.jvp(f, (X, 3, 2.0), (1.0, None, 1.0)) == (16.0, 64.0)
    assert dr.hessian(f)(X, 3, 2.0) == 48.0


@totals
def test_a_constant_under_differentiation_is_refused(f):
    error, text = (CustomRuleError, "its argument 'n', which nondiff_argnums names")
    if f in (total_by_vjp, total_by_jvp):
        error = UnsupportedError
    for derivative in (lambda: dr.grad(f, 1)(X, 3.0, 2.0), lambda: dr.jvp(f, (X, 3.0, 2.0), (1.0, 1.0, 1.0))):
        with pytest.raises(error, match=rf"{text}.*rite dualrev\.stop_gradient\(n\) for a constant, or leave 0 out"):
            derivative()


def test_the_cure_works():
    assert dr.grad(lambda n: by_vjp(dr.stop_gradient(n), X, 2.0) * n)(3.0) == 16.0


@functools.partial(dr.custom_vjp, nondiff_argnums=(1,))
@njit
def applied(x, g):
    return g(x)


@njit
def applied_fwd(x, g):
    return g(x), x


@njit
def applied_bwd(g, x, ct):
    return (3.0 * dr.grad(g)(x) * ct,)


applied.defvjp(applied_fwd, applied_bwd)


@njit
def square(x):
    return x * x


@njit
def applied_square(x):
    return applied(x, square)


def test_a_constant_may_be_a_function():
    assert dr.value_and_grad(applied_square)(2.0) == dr.jvp(applied_square, (2.0,), (1.0,)) == (4.0, 12.0)

    @functools.partial(dr.custom_vjp, nondiff_argnums=-1)
    def on_tape(x, g):
        return g(x)

    on_tape.defvjp(lambda x, g: (g(x), x), lambda g, x, ct: (3.0 * dr.grad(g)(x) * ct,))
    assert dr.value_and_grad(lambda x: on_tape(x, lambda u: u * u))(2.0) == (4.0, 12.0)


@functools.partial(dr.custom_vjp, nondiff_argnums=(0,))
@njit
def doubled(f, x, args):
    return 2.0 * f(x, *args)


@njit
def doubled_fwd(f, x, args):
    return doubled(f, x, args), (x, args)


@njit
def doubled_step(x, f, args):
    return f(x, *args)


@njit
def doubled_bwd(f, residuals, ct):
    x, args = residuals
    _, pull = dr.vjp(doubled_step, x, f, args)
    dx, _, dargs = pull(2.0 * ct)
    return dx, dargs


doubled.defvjp(doubled_fwd, doubled_bwd)


@njit
def scaled_cube(x, a):
    return a * x**3


@njit
def doubled_cube(x):
    return doubled(scaled_cube, x, (x,))


def test_bwd_may_take_the_pullback_of_a_constant():
    """The function is known where the pullback is called: it is no value of the tape, in any mode (2 x**4)."""
    assert dr.grad(doubled_cube)(2.0) == dr.jacfwd(doubled_cube)(2.0) == 64.0
    assert dr.hessian(doubled_cube)(2.0) == 96.0


def test_a_constant_of_the_inner_derivative_may_belong_to_an_outer_one():
    @functools.partial(dr.custom_vjp, nondiff_argnums=(0,))
    def scaled(a, x):
        return a * x

    scaled.defvjp(lambda a, x: (a * x, None), lambda a, _, ct: (2.0 * a * ct,))
    assert dr.grad(lambda a: dr.grad(lambda x: scaled(a, x))(5.0) * a)(3.0) == 12.0


@njit
def too_many(n, residuals, ct):
    return None, ct, ct


def test_what_bwd_returns_and_the_numbers_are_checked():
    wrong = dr.custom_vjp(power, nondiff_argnums=(0,))
    wrong.defvjp(fwd, lambda n, residuals, ct: (None, *bwd(n, residuals, ct)))
    with pytest.raises(CustomRuleError, match="tuple of 2, one cotangent per argument that nondiff_argnums does not"):
        dr.grad(lambda x: wrong(3, x, 2.0))(X)
    compiled = dr.custom_vjp(njit(power), nondiff_argnums=(0,))
    compiled.defvjp(njit(fwd), too_many)

    @njit
    def total(x):
        return compiled(3, x, 2.0)

    with pytest.raises(UnsupportedError, match=r"numba does not compile its bwd .*'expected 2, got 3'"):
        dr.grad(total)(X)
    for numbers in ((0, 0), 3, (0, 1, 2), "n", (0.5,)):
        with pytest.raises(ArgumentNumberError, match=r"nondiff_argnums must be distinct ints in 0\.\.2, and leave"):
            dr.custom_jvp(power, nondiff_argnums=numbers)
    with pytest.raises(CustomRuleError, match=r"no \*args"):
        dr.custom_vjp(lambda n, *x: x, nondiff_argnums=0)
