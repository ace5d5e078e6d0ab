"""Complex numbers in compiled code: values against numba's, gradients against differences and against forward mode.

The gradient by z = x + i y of a real value is df/dx - i df/dy, as in JAX.
"""

from __future__ import annotations

import cmath
from collections.abc import Iterator
from typing import Any

import numba
import numpy as np
import pytest
from numba import njit
from numba.core.compiler_lock import global_compiler_lock
from programs.constructs.numbers.constructs_complex import COMPLEX
from support.oracle import assert_same

import dualrev as dr
from dualrev.compiler.analysis.activity import carries
from dualrev.compiler.bridge.fast_compilation import fast_compilation
from dualrev.compiler.driver.context import Front
from dualrev.compiler.ir.core.atom_types import is_real_array
from dualrev.compiler.ir.core.traverse import leaves

pytestmark = pytest.mark.usefixtures("checked", "unoptimized")


#: Those that `make test` compiles, too: of the others it runs core.
QUICK = {k for k, e in enumerate(COMPLEX) if e.function.py_func.__name__ in ("oscillator", "escape", "joukowski")}


def numbers(x: Any) -> list[float]:
    """All real numbers, those that complex ones are made of too."""
    if isinstance(x, tuple):
        return [u for y in x for u in numbers(y)]
    a = np.asarray(x)
    if a.dtype.kind not in "fc":
        return []
    return [float(u) for part in ((a.real, a.imag) if a.dtype.kind == "c" else (a,)) for u in part.ravel()]


def like(x: Any, values: Iterator[float]) -> Any:
    """The same with other numbers."""
    if isinstance(x, tuple):
        parts = [like(y, values) for y in x]
        return type(x)(*parts) if hasattr(x, "_fields") else tuple(parts)
    a = np.asarray(x)
    if a.dtype.kind not in "fc":
        return x
    parts = [np.array([next(values) for _ in range(a.size)]).reshape(a.shape) for _ in range(1 + (a.dtype.kind == "c"))]
    made = (parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1]).astype(a.dtype)
    return made if isinstance(x, np.ndarray) else type(x)(made)


def differences(f: Any, args: tuple[Any, ...], step: float) -> list[float]:
    """The slopes of f by every real number of its arguments."""
    v, slopes = numbers(args), []
    for k in range(len(v)):
        up, down = list(v), list(v)
        up[k], down[k] = v[k] + step, v[k] - step
        slopes.append((f(*like(args, iter(up))) - f(*like(args, iter(down)))) / (2.0 * step))
    return slopes


def conjugate(x: Any) -> Any:
    """Conjugate all complex numbers in nested tuples; None stays None."""
    return tuple(map(conjugate, x)) if isinstance(x, tuple) else x if x is None else np.conj(x)


def flattened(x: Any) -> list[Any]:
    """The numbers and arrays in nested tuples."""
    return [u for y in x for u in flattened(y)] if isinstance(x, tuple) else [x]


def parts(x: Any) -> Any:
    """Core's form of arguments: a tuple for a complex number, and for an array of them."""
    if isinstance(x, tuple):
        return tuple(map(parts, x))
    if isinstance(x, complex | np.complexfloating) or (isinstance(x, np.ndarray) and x.dtype.kind == "c"):
        return x.real.copy() if isinstance(x, np.ndarray) else x.real, (
            x.imag.copy() if isinstance(x, np.ndarray) else x.imag
        )
    return x


@pytest.mark.parametrize("k", range(len(COMPLEX)), ids=[e.function.py_func.__name__ for e in COMPLEX])
@global_compiler_lock
@fast_compilation()
def test_core_has_the_derivative_of_differences(k):
    """Both modes, by the evaluator of core: nothing is compiled."""
    entry = COMPLEX[k]
    f, args, front = entry.function.py_func, entry.args, Front()
    core = front.entered(entry.function, tuple(map(numba.typeof, args)))
    single = getattr(args[0], "dtype", None) == np.complex64
    inputs = [x for p in core.parameters for x in leaves(p)]
    moving = [x for x in inputs if carries(x)]
    direction = like(args, iter(np.random.default_rng(k).normal(size=len(numbers(args))).tolist()))
    given = flattened(parts(direction))
    tangents = [t for t, x in zip(given, inputs, strict=True) if carries(x)]
    made = front.forward.function(core, moving).function
    y, slope = front.program.run(made, (*parts(args), *tangents))
    assert_same(float(y), float(f(*args)), rtol=1e-4 if single else 1e-12)
    v, t, step = np.array(numbers(args)), np.array(numbers(direction)), 1e-3 if single else 1e-6
    ends = [f(*like(args, iter((v + h * t).tolist()))) for h in (step, -step)]
    expected = float((ends[0] - ends[1]) / (2.0 * step))
    assert_same(float(slope), expected, rtol=1e-2 if single else 1e-6)
    reverse = front.reverse.pullback(core, moving)
    shadows = [np.zeros_like(x) for x, m in zip(flattened(parts(args)), inputs, strict=True) if is_real_array(m)]
    y, scalars = front.program.run(reverse, (*parts(args), *shadows, 1.0))
    found = [*shadows, *flattened(scalars)]
    ordered = [t for t in tangents if isinstance(t, np.ndarray)] + [
        t for t in tangents if not isinstance(t, np.ndarray)
    ]
    total = sum(float(np.sum(d * t)) for d, t in zip(found, ordered, strict=True))
    assert_same(total, float(slope), rtol=1e-3 if single else 1e-9)


@pytest.mark.parametrize(
    "k",
    [
        pytest.param(k, id=f"{e.function.py_func.__name__}-{k}", marks=[] if k in QUICK else [pytest.mark.slow])
        for k, e in enumerate(COMPLEX)
    ],
)
def test_gradients_are_differences(k):
    """And forward mode is their transpose, and the arguments stay as they are."""
    entry = COMPLEX[k]
    f, args = entry.function, entry.args
    single = getattr(args[0], "dtype", None) == np.complex64
    share = 2e-3 if single else 1e-6
    before = numbers(args)
    y, gradient = dr.value_and_grad(f, entry.argnums)(*args)
    assert_same(y, f(*args), rtol=1e-5 if single else 1e-12)
    slopes = differences(f, args, 1e-2 if single else 1e-6)
    found = numbers(conjugate(gradient))
    assert_same(found, slopes, rtol=share, floor=share * max(map(abs, slopes)))
    rng = np.random.default_rng(k)
    direction = rng.normal(size=len(before)).tolist()
    tangents = like(args, iter(direction))
    value, slope = dr.jvp(f, args, tangents)
    assert_same(value, y, rtol=1e-5 if single else 1e-12)
    expected = float(np.dot(found, numbers(tangents)))
    assert_same(slope, expected, rtol=1e-4 if single else 1e-10, floor=1e-10 * np.abs(found).max())
    assert numbers(args) == before


@njit
def gain(z, w):
    return abs(np.exp(1j * w) + z) ** 2 / abs(z)


def test_functions_of_real_numbers_have_every_derivative():
    @njit
    def of_reals(x):
        return gain(complex(x[0], x[1]), x[2])

    x = np.array([2.0, 0.7, 0.3])
    slopes = dr.jacfwd(of_reals)(x)
    assert_same(slopes, dr.grad(of_reals)(x), rtol=1e-12)
    step = 1e-5 * np.eye(3)
    rows = [(dr.grad(of_reals)(x + h) - dr.grad(of_reals)(x - h)) / 2e-5 for h in step]
    assert_same(dr.hessian(of_reals)(x), np.array(rows), rtol=1e-6, floor=1e-7)


def test_derivatives_by_complex_numbers():
    """In njit code, by a pullback, and those that are refused."""

    @njit
    def step(z, w):
        return z - 0.1 * dr.grad(gain)(z, w).conjugate()

    z, w = 2.0 + 0.5j, 0.3
    slope = dr.grad(gain)(z, w)
    assert_same(step(z, w), z - 0.1 * slope.conjugate(), rtol=1e-13)
    y, pull = dr.vjp(gain, z, w)
    assert_same((y, pull(2.0)[0]), (gain(z, w), 2.0 * slope), rtol=1e-13)
    assert_same(dr.jvp(gain, (z, w), (1j, 0.0)), (y, -slope.imag), rtol=1e-13)
    for made in (dr.hessian(gain), dr.jacfwd(gain), dr.grad(dr.grad(gain)), dr.hvp(gain)):
        args = (z, z, w) if made is dr.hvp(gain) else (z, w)
        with pytest.raises(dr.errors.UnsupportedError, match=r"complex.*Write real and imaginary parts"):
            made(*args)
    with pytest.raises(dr.errors.TangentError, match="a real scalar"):
        dr.jvp(gain, (z, w), (1j, 1j))


@njit
def edges(zero, x):
    z = complex(zero, zero)
    y = abs(z) + abs(z) ** 2 * x + (z**2 + z**3 + z * x).real
    root = cmath.sqrt(complex(-4.0 * x, zero)) + cmath.sqrt(-1.0 * complex(4.0 * x, zero))
    far = cmath.tanh(complex(750.0 * x, x)) + complex(1e200 * x, 1e200) / complex(2e200, x)
    return y + root.imag + far.real + far.imag + cmath.sqrt(complex(1e308 * x, 1e308 * x)).real * 1e-154


def test_edges():
    """The derivative of abs at 0 is 0; the sides of the root's cut; what overflows is scaled."""
    x = 0.8
    y, (by_zero, by_x) = dr.value_and_grad(edges, (0, 1))(0.0, x)
    assert_same(y, edges(0.0, x), rtol=1e-14)
    assert_same(by_zero, x, rtol=1e-13)
    assert_same(by_x, (2.0 + 0.5 * cmath.sqrt(1 + 1j).real) / x**0.5 + 0.5, rtol=1e-13)


@njit
def in_place_and_again(z):
    w = 1j * z.copy()
    w[1:] += w[:-1]
    w -= w[::-1]
    for _ in range(2):
        w = w * w + z[0]
    w = -np.conj(w)
    m = np.outer(w, z)
    m *= m[0]
    return np.sum(np.abs(w) ** 2) + abs(m[1, 1])


def test_what_is_written_in_place_is_read_as_numba_reads_it():
    """Element by element, with what has just been written."""
    z = np.array([0.5 + 1.0j, -0.2j, 0.3 - 0.4j])
    value, gradient = dr.value_and_grad(in_place_and_again)(z)
    assert_same(value, in_place_and_again(z), rtol=1e-13)
    for k in range(3):
        for step, slope in ((1e-5, gradient[k].real), (1e-5j, -gradient[k].imag)):
            d = np.zeros(3, complex)
            d[k] = step
            change = in_place_and_again(z + d) - in_place_and_again(z - d)
            assert abs(change / 2e-5 - slope) < 1e-6 * abs(gradient).max()


@njit
def through_a_view(z, x):
    x[0] *= 2.0
    return z[0].real * x[0]


def test_a_view_of_complex_numbers_that_is_written_is_noticed():
    z = np.array([0.5 + 1.0j, -0.2j])
    value, _ = dr.value_and_grad(through_a_view, (0, 1))(z, z.real.copy())
    assert value == 0.5
    with pytest.raises(ValueError, match="share memory"):
        dr.value_and_grad(through_a_view, (0, 1))(z, z.real)


@njit
def in_conditions(x):
    z = complex(x, 1.0)
    w = z and complex(x, x)
    v = z * 0 or w
    s, k = 0.0, 0
    while z - 3 * k:
        k += 1
        if (z and w * k) and not (z * 0 or v * 0):
            s += k * z.real**2
        if k > 2:
            break
    c = np.array([z, w * 0, v])
    far = np.abs(c) > 1
    same = np.where(np.abs(c) > 1.0, c, 0 * c) * (c == w)
    return s + (w * v).real + np.sum(c[far]).imag * x + np.sum(same).real + np.sum(np.isnan(c))


@njit
def powers(x, n):
    z = complex(x, 0.0) - x
    return (z**n).real + x * x


def test_conditions_and_powers_of_zero():
    """The truth of complex numbers, comparisons of arrays; numba's value where Python would raise."""
    for x in (2.0, 0.4):
        slope = (in_conditions(x + 1e-6) - in_conditions(x - 1e-6)) / 2e-6
        assert_same(dr.value_and_grad(in_conditions)(x), (in_conditions(x), slope), rtol=1e-7)
    both = dr.value_and_grad(powers)
    assert_same([both(2.0, n)[0] for n in (2 + 0j, 0j)], [powers(2.0, n) for n in (2 + 0j, 0j)])
    for n in (-1 + 0j, 1 + 1j):
        assert np.isnan([powers(2.0, n), *both(2.0, n)]).all()
