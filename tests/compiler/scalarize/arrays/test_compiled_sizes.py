"""Numba functions of arrays without elements, of one row, one column and one element: what numba makes of them.

One program makes many calls: `k` says which. The value and the errors of its derivatives are those of the program, and
the gradient and `jvp` agree with one another and with differences.
"""

import linecache

import numpy as np
import pytest
from numba import njit, types
from numba.core.errors import NumbaError
from numba.extending import overload
from support.sizes import REFUSED, numbers
from support.sizes_of_numba import OF_ONE, OF_TWO, SHAPES, SHAPES_OF_TWO

import dualrev as dr

pytestmark = pytest.mark.usefixtures("unoptimized")

#: Two programs each: `make test` compiles the second one, which has each kind of call, and `make campaign` both.
VECTOR = """
np.sum(x), np.median(x), np.std(x), np.diff(x), np.nanquantile(x, 0.3), np.mean(x), np.nanstd(x), np.quantile(x, 0.3)
np.quantile(x, np.array([0.0, 0.7])), np.interp(x, x, x), np.sort(x), np.dot(x, x), x[:-1] * x[1:]
np.linalg.norm(x, 1.5)

np.max(x), np.var(x), np.cumsum(x), np.percentile(x, 100.0), np.concatenate((x, x[:0])), x[5:]
np.interp(x, np.array([0.0, 1.0]), np.array([1.0, 3.0])), np.linalg.norm(x, -1), np.resize(x, 3)
"""
MATRIX = """
np.prod(x), np.linalg.norm(x), np.trace(x), np.ravel(x), np.cross(x, x), np.mean(x), x @ x.T, np.linalg.det(x)
np.cov(x), x[:, :0]

np.sum(x, axis=0), x.T @ x, np.linalg.inv(x), np.concatenate((x, x), axis=1), np.resize(x, 3)
"""


def shape_of(made):
    """A number that tells shapes apart."""


@overload(shape_of)
def _shape_of(made):
    if isinstance(made, types.Array) and made.ndim:
        return weighted
    return lambda made: 0.5


def weighted(made):
    total = 0.0
    for k, n in enumerate(made.shape):
        total += n * (k + 1.0)
    return total


def program(text):
    """A numba function of k and x: the k-th call's sum of squares, with its shape."""
    calls = [call for line in text.strip().splitlines() for call in split(line)]
    lines = ["def f(k, x):"]
    for k, call in enumerate(calls):
        lines += [f"    if k == {k}:", f"        r{k} = {call}"]
        lines += [f"        return np.sum(np.asarray(r{k}) * np.asarray(r{k})) + shape_of(r{k})"]
    return calls, "\n".join([*lines, "    return np.sum(x)", ""])


def split(line):
    """The calls of a line, between which there are commas outside of brackets."""
    depth, start, found = 0, 0, []
    for k, c in enumerate(line):
        depth += (c in "([") - (c in ")]")
        if c == "," and not depth:
            found.append(line[start:k].strip())
            start = k + 1
    return [*found, line[start:].strip()]


def outcome(f):
    try:
        return f(), None
    except Exception as error:
        return None, type(error)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("part", [pytest.param(0, marks=pytest.mark.slow), 1])  # it compiles for a minute
@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        (VECTOR, [(0,), (1,)]),
        (MATRIX, [(1, 1), (0, 0), (0, 3), (3, 0), (1, 3), (3, 1)]),
    ],
    ids=["vector", "matrix"],
)
def test_values_and_errors_are_numba_s(text, shapes, part, tmp_path):
    calls, source = program(text.split("\n\n")[part])
    path = tmp_path / "sizes.py"
    path.write_text(source)
    names = {"np": np, "shape_of": shape_of}
    exec(compile(source, str(path), "exec"), names)
    f = njit(names["f"])
    both = dr.value_and_grad(f, 1)
    for k, call in enumerate(calls):
        for shape in shapes:
            x, where = numbers(shape, 0.31), f"{call} of {shape}"
            plain, error = outcome(lambda k=k, x=x: f(k, x.copy()))
            found, raised = outcome(lambda k=k, x=x: both(k, x.copy()))
            forth, also = outcome(lambda k=k, x=x: dr.jvp(f, (k, x.copy()), (None, np.ones(x.shape))))
            assert raised is also is error, where
            if error is None:
                value, gradient = found
                np.testing.assert_allclose([value, forth[0]], [plain, plain], rtol=1e-12, err_msg=where)
                assert gradient.shape == shape, where
                np.testing.assert_allclose(np.sum(gradient), forth[1], rtol=1e-9, atol=1e-12, err_msg=where)
                ends = [outcome(lambda k=k, z=x + s * 1e-6: f(k, z))[0] for s in (1, -1)]
                if None not in ends and np.isfinite(ends).all():
                    slope = (ends[0] - ends[1]) / 2e-6
                    np.testing.assert_allclose(forth[1], slope, rtol=1e-5, atol=1e-7, err_msg=where)


@njit
def largest(x, out):
    out[0] = 5.0
    return np.max(x) * np.sum(x)


@njit
def apart(x, y, out):
    out[0] = 5.0
    return np.sum(x * x) + np.sum(y)


def test_hessians_without_directions_run_the_function():
    """Its errors were not raised, and arrays that it writes were not written."""
    empty, out = np.zeros(0), np.zeros(1)
    for derivative in (dr.hessian, dr.jacfwd, dr.jacrev, dr.jacobian):
        with pytest.raises(ValueError, match="zero-size array"):
            derivative(largest)(empty, np.zeros(1))
    with pytest.raises(ValueError, match="zero-size array"):
        dr.hvp(largest)(empty, empty, np.zeros(1))
    for shapes in [(0, 2), (2, 0), (0, 0)]:
        out[0] = 0.0
        h = dr.hessian(apart, (0, 1))(*map(np.ones, shapes), out)
        assert out[0] == 5.0
        assert [[part.shape for part in row] for row in h] == [[(n, m) for m in shapes] for n in shapes]
    assert dr.hessian(largest)(np.array([3.0]), out) == [[2.0]]


@njit
def at_places(y, x):
    return np.trapezoid(y, x)


def test_a_trapezoid_of_other_places_broadcasts():
    """As numba's; it read behind the end, or left out steps."""
    derivative = dr.value_and_grad(at_places, (0, 1))
    for n, m in [(3, 2), (2, 3), (2, 1), (1, 0), (3, 3), (0, 0)]:
        y, x = numbers((n,)), numbers((m,), 0.7)
        value, (d_y, d_x) = derivative(y, x)
        np.testing.assert_allclose(value, at_places(y, x), rtol=1e-14)
        np.testing.assert_allclose(value, np.trapezoid(y, x), rtol=1e-14)
        for k, (slope, a) in enumerate(((d_y, y), (d_x, x))):
            for j in range(len(a)):
                ends = []
                for step in (1e-6, -1e-6):
                    moved = [y.copy(), x.copy()]
                    moved[k][j] += step
                    ends.append(at_places(*moved))
                np.testing.assert_allclose(slope[j], (ends[0] - ends[1]) / 2e-6, rtol=1e-6, atol=1e-9)
    for n, m in [(0, 3), (1, 3), (3, 0), (3, 1)]:
        with pytest.raises(ValueError, match="broadcast"):
            derivative(numbers((n,)), numbers((m,)))


@njit
def to_the_power(x, n):
    return np.sum(np.linalg.matrix_power(x, n)) + np.sum(x)


def test_the_power_0_of_a_wide_matrix():
    """It has the matrix's shape, in numba; of a high one, numba writes behind its end, which is an error here."""
    derivative = dr.value_and_grad(to_the_power)
    for shape in [(1, 3), (0, 3), (2, 2), (0, 0)]:
        value, gradient = derivative(numbers(shape), 0)
        assert value == to_the_power(numbers(shape), 0)
        assert np.array_equal(gradient, np.ones(shape))
    with pytest.raises(ValueError, match="square"):
        derivative(numbers((3, 1)), 0)


@njit
def crossed(a, b):
    return np.sum(np.cross(a, b))


def test_cross_products_of_no_rows_are_checked():
    """Vectors of any length went through where there were none."""
    for a, b in [((0, 0), (0, 0)), ((0, 4), (0, 3)), ((0, 3), (0, 1)), ((0, 2), (0, 2))]:
        for f in (crossed, dr.grad(crossed)):
            with pytest.raises(ValueError, match=r"cross product|is 2|3-dimensional"):
                f(np.zeros(a), np.zeros(b))
    assert dr.grad(crossed)(np.zeros((0, 3)), np.zeros((0, 3))).shape == (0, 3)


def one_call(call, parameters):
    """A numba function that makes one call, and Python's of the same text."""
    *before, call = (part.strip() for part in call.split(";"))
    lines = [f"def f({parameters}):", *(f"    {part}" for part in before), f"    r = np.ravel(np.asarray({call}))"]
    source, file = "\n".join([*lines, "    return np.sum(r * r) + r.size + np.sum(x)", ""]), f"<{call} of {parameters}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    names = {"np": np}
    exec(compile(source, file, "exec"), names)
    return njit(names["f"]), names["f"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("call", "parameters", "every"),
    [
        *((call, "x", [(s,) for s in shapes]) for shapes in SHAPES.values() for call in OF_ONE),
        *((call, "x, y", pairs) for pairs in SHAPES_OF_TWO.values() for call in OF_TWO),
    ],
    ids=lambda part: "".join(map(str, map(len, part[0]))) if isinstance(part, list) else part,
)
def test_every_function_of_every_size(call, parameters, every):
    """The campaign: value, errors, both modes, differences and the Hessian of every call. NUMBA_OPT=0 makes it faster.

    Where numba does not see that arrays do not fit, and reads what is not there, an error is right if numpy has one.
    """
    f, python = one_call(call, parameters)
    moving = tuple(range(len(every[0])))
    try:
        f.compile(tuple(types.Array(types.float64, len(s), "C") for s in every[0]))
    except NumbaError:
        pytest.skip("numba does not know this call")
    first, second = dr.value_and_grad(f, moving), dr.hessian(f, moving)
    for shapes in every:
        made = lambda shapes=shapes: [numbers(s, 0.31 + 0.13 * k) for k, s in enumerate(shapes)]  # noqa: E731
        plain, error = outcome(lambda made=made: f(*made()))
        found, raised = outcome(lambda made=made: first(*made()))
        if raised is not None and issubclass(raised, REFUSED):
            return
        ones = tuple(np.ones(s) for s in shapes)
        forth, also = outcome(lambda made=made, ones=ones: dr.jvp(f, tuple(made()), ones))
        hessian, too = outcome(lambda made=made: second(*made()))
        assert raised is also is too, (shapes, raised, also, too)
        if raised is not error:
            assert raised is not None, (shapes, error)
            assert outcome(lambda made=made: python(*made()))[1] is not None, (shapes, raised, error)
        if raised is not None:
            continue
        value, gradients = found
        np.testing.assert_allclose([value, forth[0]], [plain, plain], rtol=1e-12, err_msg=str(shapes))
        assert [g.shape for g in gradients] == [*shapes]
        assert [[h.shape for h in row] for row in hessian] == [[s + t for t in shapes] for s in shapes]
        np.testing.assert_allclose(sum(map(np.sum, gradients)), forth[1], rtol=1e-8, atol=1e-10, err_msg=str(shapes))
        moved = [[z + step for z in made()] for step in (1e-6, -1e-6)]
        ends = [outcome(lambda z=z: first(*z))[0] for z in moved]
        if None not in ends and "float32" not in call:
            slope = (ends[0][0] - ends[1][0]) / 2e-6
            if np.isfinite(slope):
                np.testing.assert_allclose(forth[1], slope, rtol=1e-4, atol=1e-5, err_msg=str(shapes))
            for k in moving:
                curve = (ends[0][1][k] - ends[1][1][k]) / 2e-6
                rows = sum(np.sum(h, axis=tuple(range(len(shapes[k]), h.ndim))) for h in hessian[k])
                if np.all(np.isfinite(curve)):
                    np.testing.assert_allclose(rows, curve, rtol=1e-4, atol=1e-4, err_msg=str(shapes))
