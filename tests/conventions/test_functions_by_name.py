"""Functions of numpy, one test for each name, over shapes, axes and options: value, both modes, and order 2.

The names are those that other libraries for reverse mode differentiate. Values are compared with the function on plain
numbers, derivatives with differences.
"""

import itertools

import numpy as np
import pytest

import dualrev as dr

# numpy 2.5 deprecates np.fix
pytestmark = pytest.mark.filterwarnings("ignore:numpy.fix is deprecated:DeprecationWarning")

SHAPES = [(), (3,), (2, 3), (2, 3, 4)]
PAIRS = [((), ()), ((3,), ()), ((), (3,)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((2, 3, 4), (3, 1))]


def numbers(shape, low=-2.0, high=2.0):
    """Numbers that are well apart from one another and from zero, a float where there are no axes."""
    count = int(np.prod(shape, dtype=int))
    made = np.random.default_rng(count).permutation(np.linspace(low, high, 2 * count + 1)[1::2])
    return made.reshape(shape) + 0.013 if shape else float(made[0]) + 0.013


def correct(f, *args):
    dr.check(f, *args)
    dr.check_grads(f, args, atol=1e-5, rtol=1e-5)


ANYWHERE = (
    "negative absolute fabs exp exp2 expm1 sin cos sinh cosh tanh arctan arcsinh sign floor ceil rint square real"
)
ANYWHERE += (
    " imag conj conjugate angle real_if_close deg2rad rad2deg degrees radians sinc nan_to_num positive trunc fix"
)
INTERVALS = {
    **dict.fromkeys(["log", "log2", "log10", "log1p", "sqrt", "cbrt", "reciprocal"], (0.2, 3.0)),
    **dict.fromkeys(["arcsin", "arccos", "arctanh"], (-0.9, 0.9)),
    "arccosh": (1.1, 3.0),
    "tan": (-1.0, 1.0),
    **dict.fromkeys(ANYWHERE.split(), (-2.0, 2.0)),
}


@pytest.mark.parametrize("name", INTERVALS)
def test_functions_of_elements(name):
    for shape in SHAPES[:3]:
        correct(getattr(np, name), numbers(shape, *INTERVALS[name]))


BINARY = "add subtract multiply divide true_divide maximum minimum fmax fmin logaddexp logaddexp2 arctan2 hypot power"
BINARY += " float_power mod remainder copysign"


@pytest.mark.parametrize("name", BINARY.split())
def test_functions_of_two(name):
    """They broadcast."""
    for s, t in PAIRS:
        correct(getattr(np, name), numbers(s, 0.3, 2.0), numbers(t, 0.5, 3.0))


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "var", "std", "max", "min", "amax", "amin"])
def test_reductions(name):
    f = getattr(np, name)
    for shape in SHAPES[1:3]:
        axes = [None, *range(len(shape)), -1, tuple(range(len(shape)))]
        for axis, keepdims in itertools.product(axes, (False, True)):
            correct(lambda x, axis=axis, keepdims=keepdims: f(x, axis=axis, keepdims=keepdims), numbers(shape))
    correct(lambda x: f(x, axis=(0, -1)), numbers((2, 3, 4)))
    if name not in ("var", "std"):
        correct(f, 0.7)


#: Functions of one array, which may have one axis or more; where a test needs two axes, of a matrix.
ONE = {
    "cumsum": [lambda x: np.cumsum(x), lambda x: np.cumsum(x, -1)],
    "cumprod": [lambda x: np.cumprod(x), lambda x: np.cumprod(x, 0)],
    "sort, partition": [np.sort, lambda x: np.sort(x, 0), lambda x: np.sort(x, None), lambda x: np.partition(x, 1)],
    "reshape, ravel": [lambda x: np.reshape(x, -1, order="F"), np.ravel, lambda x: np.ravel(x, "F")],
    "squeeze, expand_dims": [np.squeeze, lambda x: np.expand_dims(x, 0), np.atleast_3d, np.atleast_2d, np.atleast_1d],
    "tile, repeat": [lambda x: np.tile(x, (2, 3)), lambda x: np.repeat(x, 2), lambda x: np.repeat(x, [2] * len(x), 0)],
    "roll, flip": [lambda x: np.roll(x, 4), lambda x: np.roll(x, -1, 0), np.flipud, lambda x: np.flip(x, -1)],
    "split": [lambda x: np.array_split(x, 2, -1)[0], lambda x: np.split(x, [1])[1]],
    "pad": [lambda x: np.pad(x, 1), lambda x: np.pad(x, 1, "edge"), lambda x: np.pad(x, 1, "reflect")],
    "diff, gradient": [np.diff, lambda x: np.diff(x, 2), lambda x: np.gradient(x, axis=-1), np.trapezoid],
    "indices": [lambda x: x[0], lambda x: x[::-1], lambda x: x[[0, 1, 1]], lambda x: x[..., None, 0]],
    "stack": [
        lambda x: np.stack([x, 2.0 * x], -1),
        lambda x: np.concatenate([x, x * x], -1),
        lambda x: np.dstack([x, x]),
    ],
    "full, likes": [lambda x: np.full_like(x, x[(0,) * x.ndim]), lambda x: x + np.ones_like(x) + np.zeros_like(x)],
    "clip, select": [lambda x: np.clip(x, -0.3, 0.4), lambda x: np.select([dr.value(x) > 0], [x * x], -x)],
    "kron, outer, inner": [lambda x: np.kron(x, x), lambda x: np.outer(x, x), lambda x: np.inner(x, 2.0 * x)],
    "statistics": [np.median, np.ptp, np.average, lambda x: np.quantile(x, 0.3), np.nansum, np.nanmean],
    "norms": [np.linalg.norm, lambda x: np.linalg.norm(x, axis=-1), lambda x: np.linalg.norm(x, 1, axis=0)],
    "methods": [
        lambda x: x.sum() + x.std() + x.max() + x.prod(),
        lambda x: x.T.cumsum() * x.flatten() + x.clip(0, 1).sum(),
    ],
    "transforms": [
        lambda x: np.abs(np.fft.fft(x)),
        lambda x: np.fft.irfft(np.fft.rfft(x)),
        lambda x: np.fft.fftshift(x),
    ],
}
MATRIX = {
    "axes": [
        lambda x: np.swapaxes(x, 0, 1),
        lambda x: np.moveaxis(x, 0, -1),
        lambda x: np.rollaxis(x, 1),
        np.transpose,
    ],
    "turning": [np.rot90, np.fliplr, lambda x: np.hsplit(x, [1])[1], lambda x: np.vsplit(x, 2)[0]],
    "diagonals": [lambda x, k=k: np.triu(x, k) + np.tril(x, -k) + np.trace(x, k) for k in (-1, 0, 1)],
    "diag": [lambda x: np.diag(x, 1), lambda x: np.diag(x[0]), lambda x: np.diagonal(x, -1)],
    "norms of matrices": [lambda x, o=o: np.linalg.norm(x, o) for o in ("fro", "nuc", 1, 2, np.inf)],
    "pinv, svd": [np.linalg.pinv, lambda x: np.linalg.svd(x, compute_uv=False), lambda x: np.linalg.qr(x.T)[1] ** 2],
    "cov": [np.cov, np.corrcoef, lambda x: np.cross(x[0], x[1]), lambda x: np.stack(np.gradient(x))],
}


@pytest.mark.parametrize("name", [*ONE, *MATRIX])
def test_functions_of_arrays(name):
    for f in {**ONE, **MATRIX}[name]:
        for shape in SHAPES[1:3] if name in ONE else SHAPES[2:3]:
            correct(f, numbers(shape))


PRODUCTS = [
    ((), (2, 3)),
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 2)),
    ((2, 3), (3, 2)),
    ((2, 3, 4), (4, 2)),
    ((2, 3, 4), (4,)),
]
EINSUMS = {
    "i->": [(3,)],
    "ii": [(3, 3)],
    "ii->i": [(3, 3)],
    "ij->ji": [(2, 3)],
    "ij,jk": [(2, 3), (3, 4)],
    "i,i": [(3,), (3,)],
    "...j,j->...": [(2, 3, 4), (4,)],
    "ij,kj,kl->il": [(2, 3), (4, 3), (4, 2)],
    ",i->i": [(), (3,)],
}


def test_products():
    for s, t in PRODUCTS:
        correct(np.dot, numbers(s), numbers(t))
        if s:
            correct(np.matmul, numbers(s), numbers(t))
    for axes in (0, 1, 2, ([1], [0]), ([0, 1], [1, 0])):
        correct(lambda x, y, axes=axes: np.tensordot(x, y, axes), numbers((2, 2)), numbers((2, 2)))
    for subscripts, shapes in EINSUMS.items():
        correct(lambda *xs, subscripts=subscripts: np.einsum(subscripts, *xs), *map(numbers, shapes))


def test_linear_algebra():
    a = numbers((3, 3)) + 4.0 * np.eye(3)
    symmetric, several = a @ a.T, np.stack([a, a.T + 1.0])
    for f in (
        np.linalg.inv,
        np.linalg.det,
        lambda x: np.linalg.slogdet(x)[1],
        lambda x: np.linalg.solve(x, x[..., :2]),
    ):
        correct(f, a)
        correct(f, several)
    for f in (np.linalg.eigvalsh, lambda x: np.abs(np.linalg.eigh(x, "U")[1]), lambda x: np.linalg.cholesky(x + x.T)):
        correct(f, symmetric)
