"""Complex numbers under differentiation: of real arguments, of complex ones, and the transforms of numpy.fft.

Values are compared with the function on plain numbers (dr.check), derivatives of both modes and of order 2 with
differences (dr.check_grads), and gradients by complex arguments with JAX's convention, df/dx - i df/dy.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import dualrev as dr
from dualrev import numpy as dnp

X = np.array([0.4, -0.7, 1.3])
M = np.array([[0.4, -0.7, 1.3], [0.9, 0.2, -0.5]])
C = np.array([0.5 + 1.0j, -0.3j, 2.0 - 0.4j])
K = np.array([[0.5 + 1.0j, -0.3j, 2.0 - 0.4j], [1.5, 0.2 + 0.7j, -1.0j], [0.3j, -0.8, 1.0 + 1.0j]])


def parts(z):
    """A complex value as a real one."""
    return np.stack([np.real(z), np.imag(z)])


def correct(f, *args):
    """The value, and all derivatives of order 1 and 2."""
    dr.check(f, *args)
    dr.check_grads(f, args)


def turned(x):
    """An array that is complex all over."""
    return (x + 0.3) * np.exp(1j * x) + 0.2


UFUNCS = "exp exp2 expm1 log log1p log2 log10 sqrt sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh arccosh"
UFUNCS += " arctanh square reciprocal negative positive conjugate absolute sign"


@pytest.mark.parametrize("name", UFUNCS.split())
def test_elementwise(name):
    """Gradients of elementwise functions equal differences, for arrays and for numbers."""
    f = getattr(np, name)
    correct(lambda x: parts(f(turned(x))), X)
    correct(lambda x: f(turned(x)).imag + f(turned(x)).real, 0.7)


OPERATORS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "pow": lambda a, b: a**b,
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name):
    """Gradients of operators equal differences, for complex and real numbers, arrays and constants, on either side."""
    op = OPERATORS[name]
    correct(lambda x: parts(op(turned(x), turned(2.0 * x))), X)
    correct(lambda x: parts(op(turned(x), x + 3.0) + op(x + 3.0, turned(x))), X)
    correct(lambda x: parts(op(turned(x), C + 2.0) + op(C + 2.0, turned(x))), X)
    correct(lambda x: parts(op(x + 3.0, C + 2.0) + op(C + 2.0, x + 3.0) + op(x[0] + 3.0, 1.0 + 2.0j)), X)
    correct(lambda x: parts(op(turned(x), 2) + op(2.0, turned(x)) + op(turned(x), turned(x[0]))), X)
    correct(lambda x: (op(x, 1.0 + 2.0j) * op(1.0 - 1.0j, x) + op(turned(x), x)).imag, 0.7)
    correct(lambda x: abs(op(x, np.complex128(0.5j)) + op(turned(x), turned(x + 1.0)) + op(2, 1j * x)), 0.7)


FUNCTIONS = {
    "sum, mean": lambda z: np.sum(z, axis=0) * np.mean(z, axis=0) * z.sum(),
    "prod": lambda z: np.prod(z, axis=-1) + np.prod(z) + np.prod(z, axis=0, keepdims=True)[0, 0],
    "cumsum, cumprod": lambda z: np.cumsum(z, 0) + np.cumprod(z, 1) + np.cumprod(z).reshape(2, 3),
    "var, std": lambda z: np.var(z, axis=0) + np.std(z) + np.var(z, ddof=1),
    "norm": lambda z: np.linalg.norm(z) + np.linalg.norm(z, axis=0) + np.linalg.norm(z, 1),
    "matmul": lambda z: z @ K + z @ np.real(K) + np.ones((2, 2)) @ z,
    "dot, vdot": lambda z: np.dot(z, z.T)[0, 1] + np.vdot(z, z + 1j) + np.inner(z, K)[0, 0],
    "outer, kron": lambda z: np.outer(z[0], z[1]) + np.kron(z[0], z[1]).reshape(3, 3),
    "tensordot": lambda z: np.tensordot(z, K, 1) + np.tensordot(z, z, 2),
    "einsum": lambda z: np.einsum("ij,kj->ik", z, np.conj(z)) + np.einsum("ij,jk,lk->il", z, K, z),
    "convolve, correlate": lambda z: np.convolve(z[0], z[1]) * np.correlate(z[0], z[1] + 1j, "full"),
    "cross, vecdot": lambda z: np.cross(z[0], C) * np.vecdot(z[0], z[1]),
    "trace, diff": lambda z: np.trace(z) + np.diff(z, axis=1) + np.trapezoid(z, axis=1)[:, None],
    "moving": lambda z: np.roll(np.flip(z.T.reshape(2, 3), 1), 1) + np.repeat(z, 2, 0)[1:3] + z[..., ::-1],
    "joining": lambda z: np.concatenate([z, np.real(z)]) * np.stack([z[0], z[1], C, X]) + np.vstack([z, K[:2]]),
    "where": lambda z: np.where(np.abs(z) > 0.8, z, 1j) + np.where(z.real > 0, 2.0, z) + np.where(z == 0, 0, z),
    "cutting": lambda z: np.split(z, 3, axis=1)[1] + np.take(z, [0, 2], axis=1) + np.broadcast_to(z[0, 0], (2, 2)),
    "triangles": lambda z: np.triu(z) + np.tril(z, -1) * 2j + np.pad(z, 1)[1:-1, 1:-1],
    "polyval": lambda z: np.polyval(z[0], z[1]) + np.polyval([1.0, 2.0], z[0]),
    "angle": lambda z: np.angle(z) + np.angle(z, deg=True) * np.abs(z),
    "likes": lambda z: np.ones_like(z) * z + np.zeros_like(z) + np.full_like(z, 2j) * z,
    "reductions": lambda z: np.add.reduce(z) + np.multiply.reduce(z) + np.multiply.accumulate(z)[1],
    "outer of ufuncs": lambda z: np.multiply.outer(z[0], z[1]) + np.subtract.outer(z[0], X),
    "methods": lambda z: z.conj().T.reshape(-1).copy() * z.ravel() + z.mean() * z.prod() + z.item(1, 2),
    "loops": lambda z: sum((u * v for u, v in zip(z[0], z[1].tolist(), strict=True)), 1j),
    "initial": lambda z: np.sum(z, initial=2.0) + z.sum(initial=1j) + np.add.reduce(z[0], initial=2.0),
    "pad with numbers": lambda z: np.pad(z, 1, constant_values=2.0) * np.pad(z, 1, constant_values=1j),
    "prepend": lambda z: np.diff(z, prepend=1.0) + np.diff(z, append=2j) + np.diff(z, 1, 1, z[:, :1] * z[:, :1]),
    "ediff1d": lambda z: np.ediff1d(z[0], 1.0, to_begin=1j) + np.ediff1d(z[1], to_end=z[0, 0], to_begin=2.0),
    "contours": lambda z: np.trapezoid(z, x=X) + np.trapezoid(X, z) * np.trapezoid(y=z**2, x=z),
    "places": lambda z: np.where(z, z, 1.0) + np.stack(arrays=[z[0], z[1]]),
    "norms": lambda z: np.linalg.norm(z * [[0], [1]]) * np.linalg.vector_norm(z * [0, 1, 1], axis=0)[1:],
    "products by name": lambda z: np.outer(a=z[0], b=z[1]) + np.kron(z[0], b=z[1]).reshape(3, 3) + np.dot(a=z, b=K)[0],
    "matrix product": lambda z: np.linalg.matmul(z, K) + np.tensordot(a=z, b=K, axes=1),
    "correlate by name": lambda z: np.correlate(v=z[1], a=z[0], mode="full") + np.convolve(z[0], v=z[1]),
    "empty": lambda z: z * np.empty_like(prototype=z).size,
    "out": lambda z: np.dot(z, K, np.zeros_like(z)) + np.concatenate([z[:1], z[1:] * 2j], 0, np.zeros_like(z)),
    "all by position": lambda z: np.prod(z, 0, None, None) + np.std(z, 0, None, None, 1) * np.mean(z, 0, None, None),
    "interp": lambda z: np.interp([0.3, 1.5], [0.0, 1.0, 2.0], z[0]) + np.append(z[0, :1], z[1, 1]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    f = FUNCTIONS[name]
    correct(lambda x: parts(f(turned(x))), M)


FFT = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
FFTN = ["fft2", "ifft2", "fftn", "ifftn", "rfft2", "irfft2", "rfftn", "irfftn"]


def of_its_kind(name, x):
    """Return x, or a complex array for transforms of complex numbers."""
    return x if name.startswith(("rfft", "ihfft")) else x + 1j * np.cos(3.0 * x)


@pytest.mark.parametrize("name", FFT)
@pytest.mark.parametrize("options", [{}, {"n": 2}, {"n": 5, "axis": 0}, {"n": 6, "axis": -1, "norm": "ortho"}])
def test_transforms(name, options):
    f = getattr(np.fft, name)
    correct(lambda x: parts(f(of_its_kind(name, x), **options)), M)
    for norm in ("forward", "backward"):
        correct(lambda x, norm=norm: parts(f(of_its_kind(name, x), norm=norm)), X)


@pytest.mark.parametrize("name", FFTN)
@pytest.mark.parametrize(
    "options", [{}, {"s": (3, 5), "axes": (0, 1), "norm": "forward"}, {"axes": (1, 0), "norm": "ortho"}]
)
def test_transforms_over_several_axes(name, options):
    f = getattr(np.fft, name)
    correct(lambda x: parts(f(of_its_kind(name, x), **options)), M)


def test_transforms_of_what_is_around_them():
    correct(lambda x: parts(np.fft.fftshift(np.fft.fft(x)) * np.fft.ifftshift(x) * np.fft.fftfreq(3, x[0])), X)
    correct(lambda x: np.fft.irfft(np.fft.rfft(x, 8) * np.exp(-x[0] * np.fft.rfftfreq(8))), X)
    correct(lambda x: np.fft.fftshift(np.outer(x, x), axes=1), X)
    assert_allclose(dr.grad(lambda x: np.sum(np.abs(np.fft.fft(x)) ** 2))(X), 6.0 * X)  # Parseval


def spectrum(a, b):
    z = dnp.zeros(4, dtype=complex)
    z[0] = a * 1j
    z[1:3] = [a + 1j * b, 2.0]
    z[3] += b * z[1]
    z *= 1.0 + a * 1j
    view = z[::2]
    view[1] = z[0] * z[3]
    z.imag[3] += a
    z.real = z.real * b
    return np.sum(np.abs(z) ** 2) + z[2].imag


def test_arrays_that_are_written_to():
    correct(spectrum, 0.6, -1.1)
    z = dnp.zeros((2, 2), complex)
    assert type(z).__name__ == "ComplexArray"
    assert (z.shape, z.ndim, z.size, len(z), z.dtype) == ((2, 2), 2, 4, 2, np.dtype(complex))
    z[0] = [1j, 2.0]
    z.T[1, 1] = 3.0
    assert_array_equal(np.asarray(z), [[1j, 2.0], [0.0, 3.0]])
    assert repr(z[0]) == "ComplexArray([0.+1.j, 2.+0.j])"
    assert z[0, 0] == 1j


def test_ufuncs_that_write():
    def f(x):
        z = turned(x)
        np.add.at(z, [0, 0, 1], 1j * x)
        np.subtract.at(z, [2, 2], x[0])
        np.multiply.at(z, [1, 2], 1j * x[1:])
        np.copyto(z, z * z, where=[True, False, False])
        return parts(z + np.exp(z, out=np.zeros_like(z), where=[True, False, True]))

    correct(f, X)


def test_a_number_that_is_assigned_to_in_place():
    def f(x):
        z = w = 1j * x + 1.0
        z += x
        z -= 1j
        z *= z
        z /= w
        z **= 2
        return parts(w) + parts(z)

    correct(f, 0.7)
    assert dr.grad(lambda z: abs(_newton(z)))(0.5 + 0.8j) == pytest.approx(
        by_differences(lambda z: abs(_newton(z)), NEAR)
    )


NEAR = np.array(0.5 + 0.8j)


def _newton(z):
    for _ in range(3):
        z -= (z**3 - 1) / (3 * z**2)
    return z


def test_abs_has_no_second_derivative_at_zero():
    """The second derivative of abs(z)**2 at 0 is NaN, not 0, as abs loses it; without abs, it is right."""
    bins = np.ones(3)  # the transform is zero but for the first one
    assert np.all(np.isnan(dr.hessian(lambda x: np.sum(np.abs(np.fft.fft(x)) ** 2))(bins)))
    assert np.isnan(dr.hvp(lambda x: abs(1j * x) ** 2)(0.0, 1.0))
    assert not np.isfinite(dr.hessian(lambda x: abs(1j * x))(0.0))
    assert dr.grad(lambda x: abs(1j * x) ** 2)(0.0) == 0

    def power(x):
        z = np.fft.fft(x)
        return np.sum(z.real**2 + z.imag**2)

    assert_allclose(dr.hessian(power)(bins), 6.0 * np.eye(3), atol=1e-12)
    squares = dr.hessian(lambda x: np.sum(np.fft.fft(x) * np.fft.fft(x).conj()).real)(bins)
    assert_allclose(squares, 6.0 * np.eye(3), atol=1e-12)


def test_abs_in_compiled_code_has_no_second_derivative_at_zero():
    from numba import njit

    @njit
    def square(x):
        return abs(x * (1.0 + 2.0j)) ** 2

    assert dr.grad(square)(0.0) == 0
    assert np.isnan(dr.hessian(square)(0.0))
    assert_allclose(dr.hessian(square)(0.3), 10.0)


def test_scalars_behave_as_pythons():
    def f(x):
        z = complex(0.5, 1.0) * x + 1j
        assert isinstance(z, __import__("numbers").Complex)
        assert z == dr.value(z)
        assert z != 0
        assert bool(z)
        assert f"{z:.1f}" == f"{dr.value(z):.1f}"
        assert str(dr.value(z)) == str(z)
        return abs(z) ** 2 + (z.conjugate() * z).real + (-z).imag + (+z).real + (z**2).imag + pow(z, 3).real

    correct(f, 0.7)
    for wrong in (lambda z: z < 1j, float, int, lambda z: z / 0j, lambda z: 1 / (z - z), hash, lambda z: z // 2):
        with pytest.raises((TypeError, ZeroDivisionError)):
            dr.grad(lambda x, wrong=wrong: wrong(x + 1j).real)(2.0)


def magnitude(z, w):
    return np.sum(np.abs(z * w + np.exp(z)) ** 2) + np.real(z[0] * np.conj(w))


def by_differences(f, z, h=1e-6):
    """df/dx - i df/dy for every element."""
    made = np.zeros(np.shape(z), complex)
    for k in np.ndindex(np.shape(z)):
        e = np.zeros(np.shape(z))
        e[k] = h
        slopes = [(f(z + d * e) - f(z - d * e)) / (2.0 * h) for d in (1.0, 1j)]
        made[k] = slopes[0] - 1j * slopes[1]
    return made


def test_gradients_by_complex_arguments():
    z, w = C.copy(), 0.3 - 1.2j
    gz, gw = dr.grad(magnitude, (0, 1))(z, w)
    assert type(gw) is complex
    assert gz.dtype == complex
    assert_allclose(gz, by_differences(lambda u: magnitude(u, w), z), rtol=1e-7)
    assert_allclose(gw, by_differences(lambda u: magnitude(z, u), w), rtol=1e-7)
    t, s = np.array([1.0 - 1.0j, 0.5, 2.0j]), 0.7 + 0.1j
    _, dy = dr.jvp(magnitude, (z, w), (t, s))
    assert_allclose(dy, np.real(np.sum(gz * t) + gw * s))
    single = dr.grad(lambda z: np.sum(np.abs(z) ** 2))(C.astype(np.complex64))
    assert single.dtype == np.complex64
    assert_allclose(single, 2.0 * np.conj(C), rtol=1e-6)
    assert type(dr.grad(abs)(np.complex64(3.0 + 4.0j))) is np.complex64
    assert dr.grad(abs)(0j) == 0
    assert dr.grad(lambda p: abs(p["a"]) * p["b"])({"a": 3.0 + 4.0j, "b": 2.0}) == {"a": 1.2 - 1.6j, "b": 5.0}


def test_the_gradients_are_those_of_compiled_code():
    from numba import njit

    @njit
    def gain(z, w, v):
        return abs(np.exp(1j * w) + z) ** 2 + np.sum(np.abs(v * z)) + (v[0] * w).imag

    z, w, v = 2.0 + 1.0j, 0.4, C
    compiled = dr.grad(gain, (0, 1, 2))(z, w, v)
    for found, expected in zip(dr.grad(gain.py_func, (0, 1, 2))(z, w, v), compiled, strict=True):
        assert_allclose(found, expected, rtol=1e-12)
    lifted, by_tape = (dr.grad(lambda z, g=g: g(z * 1.5j, w, v * z) * 2.0)(z) for g in (dr.lift(gain), gain.py_func))
    assert_allclose(lifted, by_tape, rtol=1e-12)
    with pytest.raises(dr.UnsupportedError, match=r"dualrev\.lift\(gain\)"):
        dr.grad(lambda z: gain(z * 1.5j, w, v))(z)


def test_complex_values():
    """Cotangents and tangents of a complex value are complex numbers, by the same convention."""
    y, pull = dr.vjp(lambda z: z * z, 1.0 + 2.0j)
    assert (y, pull(1.0), pull(1j)) == (-3 + 4j, (2 + 4j,), (-4 + 2j,))
    assert dr.jvp(lambda x: np.exp(1j * x), (0.0,), (2.0,)) == (1.0, 2j)
    y, pull = dr.vjp(lambda x: {"z": x * C}, X)
    assert_array_equal(y["z"], X * C)
    assert_allclose(pull({"z": np.array([1.0, 1j, 0.0])})[0], [0.5, 0.3, 0.0])
    with pytest.raises(dr.CotangentError):
        pull({"z": "a"})
    with pytest.raises(dr.CotangentError):
        pull({"z": np.ones(2, complex)})
    dr.check_grads(lambda z: z * z * C, (1.0 + 2.0j,))
    dr.check_grads(lambda z, x: np.fft.ifft(z * x), (C, X), order=1)
    dr.check(lambda z: [z, z * C], 1.0 + 2.0j)


@dr.custom_vjp
def turn(z):
    return z * 1j


turn.defvjp(lambda z: (z * 1j, None), lambda _, ct: (ct * 1j,))


@dr.custom_jvp
def twice(z):
    return z * 2.0


twice.defjvp(lambda primals, tangents: (primals[0] * 2.0, tangents[0] * 2.0))


def test_rules_of_users_and_checkpoints():
    for f in (turn, twice, dr.checkpoint(lambda z: np.exp(z) * z)):
        correct(lambda x, f=f: parts(f(turned(x))), X)
        dr.check_grads(f, (C,), order=1)
    z = 0.6 - 0.2j
    assert_allclose(dr.grad(lambda z: turn(z).real)(z), 1j)
    assert_allclose(dr.grad(lambda z: (z * dr.stop_gradient(z)).real)(z), z)


def test_nested_derivatives():
    """Nested derivatives equal differences when the outer argument is in a complex number of the inner function."""

    def outer(x):
        def inner(y):
            z = np.exp(1j * x * y) * (x + 1j)
            return (z * z).real + abs(z)

        return dr.grad(inner)(x * x) * x

    correct(outer, 0.8)
    correct(lambda x: parts(dr.grad(lambda z: np.sum(np.abs(z * x[0]) ** 2))(turned(x))), X)
    h = dr.hvp(lambda x: np.sum(np.abs(np.fft.fft(x)) ** 3))
    assert_allclose(h(X, X), dr.hessian(lambda x: np.sum(np.abs(np.fft.fft(x)) ** 3))(X) @ X)
    kept = []
    dr.grad(lambda x: kept.append(x * 1j) or x)(1.0)
    with pytest.raises(dr.LeakError):
        dr.grad(lambda x: (x * kept[0]).imag)(1.0)
