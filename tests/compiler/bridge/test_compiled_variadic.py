"""Numba functions with *args: bridge/variadic.py."""

import pickle

import numpy as np
import pytest
from numba import njit
from support.oracle import assert_same
from support.processes import run_program

import dualrev as dr
from dualrev.compiler.bridge.variadic import Compared
from dualrev.errors import ArgumentError, ArgumentNumberError, UnsupportedError

A = np.array([1.3, 0.7])
FACTOR = 2.0


@njit
def cubes(*xs):
    s = 0.0
    for x in xs:
        s += x * x * x
    return s


@njit
def rest(x, y=2.0, *r):
    return x * y * r[0] * r[0] + len(r) * x * x


@njit
def scaled(*xs):
    return xs[0] * xs[0] * xs[1]


@njit
def mixed(x, *r):
    r[1][0] *= x
    return x * r[0] * np.sum(r[1] * r[1]) * r[2][0]


def test_argnums_count_all_arguments():
    assert dr.grad(cubes, 2)(1.0, 2.0, 3.0) == 27.0
    assert dr.grad(cubes, (0, -1))(1.0, 2.0) == (3.0, 12.0)
    value, slopes = dr.value_and_grad(rest, (0, 1, 3))(1.0, 2.0, 3.0, 4.0)
    assert_same((value, slopes), (20.0, (22.0, 9.0, 0.0)))
    assert dr.grad(cubes) is dr.grad(cubes)
    with pytest.raises(ArgumentNumberError, match=r"distinct ints in 0\.\.1, got 2"):
        dr.grad(cubes, 2)(1.0, 2.0)
    with pytest.raises(ArgumentNumberError, match="'x'"):
        dr.grad(cubes, "x")
    with pytest.raises(ArgumentError):
        dr.grad(rest, 1)(1.0, 2, 3.0)


def test_every_derivative():
    assert_same(dr.jvp(cubes, (1.0, 2.0), (1.0, 0.5)), (9.0, 9.0))
    value, pull = dr.vjp(cubes, 1.0, 2.0, 3.0)
    assert_same((value, pull(2.0)), (36.0, (6.0, 24.0, 54.0)))
    assert_same(dr.hessian(cubes, (0, 1))(1.0, 2.0), ((6.0, 0.0), (0.0, 12.0)))
    assert dr.hvp(cubes)(1.0, 2.0, 5.0) == 12.0
    for jacobian in (dr.jacobian, dr.jacfwd, dr.jacrev):
        assert_same(jacobian(cubes, (0, 1))(1.0, 2.0), (3.0, 12.0))
    assert dr.grad(dr.grad(cubes, 1), 1)(1.0, 2.0) == 12.0
    assert dr.grad(dr.lift(cubes))(1.0, 2.0) == 3.0
    dr.check(cubes, 1.0, 2.0)
    dr.check_grads(cubes, (1.0, 2.0), order=2)
    assert "def value_and_grad_cubes(xs_0, xs_1):" in dr.derivative_source(cubes, 1.0, 2.0)


def test_arguments_of_several_types():
    a = A.copy()
    y, slopes = dr.value_and_grad(mixed, (0, 2, 3))(2.0, 3.0, a, (0.5, 4))
    b = np.array([2.6, 0.7])
    assert_same((y, a), (3.0 * np.sum(b * b), b), types=False)
    np.testing.assert_allclose(slopes[0], 1.5 * np.sum(b * b) + 3.0 * 2.0 * b[0] * 1.3)
    np.testing.assert_allclose(slopes[1], 3.0 * 2.0 * b * np.array([2.0, 1.0]))
    assert slopes[2] == (2.0 * y, None)


slope = dr.grad(cubes, 1)


@njit
def newton(x, y):
    return y - slope(x, y) * dr.grad(cubes)(x) + dr.hvp(rest)(x, 1.0, y, 3.0)


@njit
def at_a_point(x, y):
    _, dy = dr.jvp(cubes, (x, y), (1.0, 1.0))
    value, pull = dr.vjp(cubes, x, y)
    return dy, value, pull(1.0)


def test_in_njit_code_which_is_differentiated_itself():
    assert newton(1.0, 2.0) == 2.0 - 12.0 * 3.0 + 2.0
    assert dr.grad(newton, (0, 1))(1.0, 2.0) == (-72.0, 1.0 - 36.0)
    assert at_a_point(1.0, 2.0) == (15.0, 9.0, (3.0, 12.0))


def test_what_is_refused():
    @njit
    def after(x, *r, k):
        return x * r[0] * k

    @njit
    def starred(x, t):
        return slope(x, *t)

    @njit
    def inside(x, *r):
        return len({x, r[0]}) * x

    for call, words in (
        (lambda: dr.grad(after)(1.0, 2.0, k=3.0), r"Write k before \*args"),
        (lambda: dr.grad(starred)(1.0, (2.0,)), "every argument, by position"),
        (lambda: dr.grad(inside)(1.0, 2.0), r"`return len\(\{x, r\[0\]\}\) \* x`: a set"),
    ):
        with pytest.raises(UnsupportedError, match=words):
            call()


def test_samples_and_patterns():
    v = np.array([1.0, 2.0])
    assert_same(dr.vmap(cubes)(v, v), 2.0 * v**3)
    assert_same(dr.vmap(dr.grad(cubes), in_axes=(0, None))(v, 2.0), 3.0 * v * v)
    assert_same(dr.sparse_jacobian(scaled)(v, 3.0).toarray(), 6.0 * np.diag(v))


def test_globals_are_frozen_as_in_the_function(monkeypatch):
    @njit
    def scaled(*xs):
        return xs[0] * FACTOR * xs[1]

    assert (scaled(1.0, 2.0), dr.grad(scaled)(1.0, 2.0)) == (4.0, 4.0)
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    with pytest.raises(UnsupportedError, match=r"`FACTOR` was changed .* scaled\.recompile\(\)"):
        dr.grad(scaled)(1.0, 2.0, 3.0)
    scaled.recompile()
    assert (scaled(1.0, 2.0), dr.grad(scaled)(1.0, 2.0), dr.grad(scaled, 1)(1.0, 2.0)) == (6.0, 6.0, 3.0)


def test_pickled_and_compared(monkeypatch):
    assert pickle.loads(pickle.dumps(slope))(1.0, 2.0) == 12.0
    monkeypatch.setenv("DUALREV_CHECK", "1")
    compared = dr.grad(njit(cubes.py_func), 1)
    assert isinstance(compared, Compared)
    assert compared(1.0, 2.0) == 12.0


def test_from_the_cache(tmp_path):
    text = "from numba import njit\nimport dualrev as dr\n@njit\ndef f(*xs): return xs[0] * xs[1]\n"
    (tmp_path / "main.py").write_text(text + "print(dr.grad(f)(1.0, 2.0), dr.grad(f).stats.cache_hits)\n")
    for _ in range(2):
        done = run_program("main.py", cwd=tmp_path, DUALREV_CACHE_DIR=str(tmp_path / "cache"))
        assert done.stdout.startswith("2.0"), done.stderr
    assert len(list((tmp_path / "cache").glob("*.py"))) == 1
