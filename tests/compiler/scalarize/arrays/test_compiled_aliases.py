"""Views and copies: every function of numba's that returns the elements of an array, in each memory layout.

The result is written, so that a view changes the array, and a copy does not. The value is compared with numba's own
run first, then the derivatives with differences. The table in dualrev/rules/functions says which of them is what.
"""

import importlib
from pathlib import Path

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError
from support.incore import gradient
from support.oracle import assert_same, differences, direction, inner

import dualrev as dr
from dualrev.eager.copies import copied
from dualrev.rules.functions import TABLE

pytestmark = pytest.mark.usefixtures("unoptimized")

BASE = np.linspace(0.5, 2.5, 48)


@njit
def write_vector(a, b):
    b[0] = b[0] * b[1] + 1.0
    return a[0] * a[1] + a[-1] * a[-2] + 3.0 * b[0]


@njit
def write_matrix(a, b):
    b[0, 1] = b[0, 1] * b[1, 0] + 1.0
    return a[0, 1] * a[1, 0] + a[0, 0] * a[1, 1] + 3.0 * b[0, 1]


@njit
def of_vectors(a, step):
    """Everything that gives the elements of a vector; the numbers are the places of the arguments."""
    total = write_vector(a[0], np.asarray(a[0])) + write_vector(a[1], np.ascontiguousarray(a[1]))
    total += write_vector(a[2], np.copy(a[2])) + write_vector(a[3], np.ravel(a[3]))
    total += write_vector(a[4], a[4].flatten()) + write_vector(a[5], a[5].astype(np.float64))
    total += write_vector(a[6], np.transpose(a[6])) + write_vector(a[7], a[7][1:])
    total += write_vector(a[8], a[8][::2]) + write_vector(a[9], np.ascontiguousarray(a[9][::step]))
    total += write_vector(a[10], np.ascontiguousarray(a[10][::-1])) + write_vector(a[11], np.ravel(a[11][::step]))
    total += write_vector(a[12], np.asarray(a[12], np.float64)) + write_vector(a[13], a[13][None][0])
    return total + write_vector(a[14], +a[14])


@njit
def of_matrices(a, step):
    total = write_matrix(a[0], np.asarray(a[0])) + write_matrix(a[1], np.ascontiguousarray(a[1]))
    total += write_matrix(a[2], a[2].copy()) + write_vector(a[3][0], a[3].ravel())
    total += write_vector(a[4][0], a[4].flatten()) + write_matrix(a[5], a[5].astype(np.float64))
    total += write_matrix(a[6], a[6].transpose()) + write_matrix(a[7], a[7].T)
    total += write_vector(a[8][1], a[8][:, 1]) + write_matrix(a[9], np.ascontiguousarray(a[9].T))
    total += write_matrix(a[10], np.ascontiguousarray(a[10][::step]))
    total += write_vector(a[11][0], np.ascontiguousarray(a[11][:, 1])) + write_vector(a[12][0], a[12].T.ravel())
    for row in a[13]:
        row[0] = row[0] * row[1] + 2.0
    return total + a[13][0, 0] * a[13][1, 0]


@njit
def reshaped(a, n):
    total = write_vector(a[0][0], np.reshape(a[0], n)) + write_vector(a[1][1], a[1].reshape(n))
    return total + write_matrix(a[2], a[2].reshape(3, n // 3)) + write_vector(a[3][0], a[3].reshape((1, n))[0])


@njit
def in_parts(a, n):
    total = write_vector(a[0], np.split(a[0], 2)[0]) + write_vector(a[1], np.array_split(a[1], 2)[0])
    total += write_vector(a[2], np.hsplit(a[2], 2)[0]) + write_vector(a[3], np.vsplit(a[3].reshape(n, 3), 2)[0][0])
    total += write_vector(a[4], np.dsplit(a[4].reshape(1, 3, n), 2)[0][0, :, 0])
    only_read = np.broadcast_arrays(a[6], a[0])[0]
    a[6][0] = a[6][1] * a[6][2]
    total += write_vector(a[5], np.trim_zeros(a[5])) + only_read[0] * only_read[1]
    return total + write_vector(a[7], np.resize(a[7], 3 * n)) + write_vector(a[8], np.resize(a[8], 4 * n))


def many(count, x):
    """A tuple of arrays like x, each with memory and numbers of its own."""
    made = tuple(copied((x,))[0] for _ in range(count))
    for k, u in enumerate(made):
        u *= 1.0 + 0.01 * k
    return made


VECTORS = {
    "C": BASE[:6].copy(),
    "A": BASE[:18:3],
    "reversed": BASE[:6].copy()[::-1],
}
MATRICES = {
    "C": BASE[:12].reshape(3, 4).copy(),
    "F": BASE[:12].reshape(4, 3).copy().T,
    "A": BASE.reshape(6, 8)[::2, ::2],
}
SLOW = [pytest.mark.slow]  # minutes of numba's compilation; the views below are strided ones, too
CASES = [(f"vector-{name}", of_vectors, many(15, x), 1) for name, x in VECTORS.items()]
CASES += [(f"vector-{name}-2", of_vectors, many(15, x), 2) for name, x in VECTORS.items()]
CASES += [(f"matrix-{name}", of_matrices, many(14, MATRICES[name]), 1) for name in "FA"]
CASES += [("parts", in_parts, many(9, VECTORS["C"]), 2)]
CASES += [("reshaped", reshaped, many(4, MATRICES["C"]), 12)]


def slopes(f, args, v, step=1e-4):
    """The derivative in the direction v; f is a polynomial of a small degree."""
    values = []
    for h in (-2.0, -1.0, 1.0, 2.0):
        moved = copied(args)
        for u, d in zip(moved[0], v, strict=True):
            u += h * step * d
        values.append(f(*moved))
    return (values[0] - 8.0 * values[1] + 8.0 * values[2] - values[3]) / (12.0 * step)


QUICK = ("vector-C", "reshaped", "parts")
EACH = [pytest.param(*case[1:], id=case[0], marks=[] if case[0].startswith(QUICK) else SLOW) for case in CASES]


@pytest.mark.parametrize(("f", "arrays", "n"), EACH)
def test_what_is_written_through_a_view_or_to_a_copy(f, arrays, n):
    args = (arrays, n)
    rng = np.random.default_rng(0)
    directions = [tuple(rng.normal(size=u.shape) for u in arrays) for _ in range(3)]
    given = copied(args)
    y = f(*given)

    mine = copied(args)
    value, gradient = dr.value_and_grad(f)(*mine)
    assert_same(value, y, rtol=1e-14)
    for u, v in zip(mine[0], given[0], strict=True):
        assert_same(u, v, rtol=0.0)
    found = [gradient]
    if not arrays[0].flags.c_contiguous:  # the pullback runs on a copy of the arguments, with the same strides
        again, pullback = dr.vjp(f, *copied(args))
        assert_same(again, y, rtol=1e-14)
        found.append(pullback(1.0)[0])
    for v in directions:
        expected = slopes(f, args, v)
        by = [sum(float(np.sum(g * d)) for g, d in zip(made, v, strict=True)) for made in found]
        forward = dr.jvp(f, copied(args), (v, None))
        assert_same(forward[0], y, rtol=1e-14)
        assert_same([*by, float(forward[1])], [expected] * (1 + len(by)), rtol=1e-8)
    for k in range(len(arrays)):  # each function by itself: none hides behind the others
        v = tuple(d if j == k else 0.0 * d for j, d in enumerate(directions[0]))
        assert_same(float(np.sum(gradient[k] * v[k])), slopes(f, args, v), rtol=1e-7, floor=1e-8)


# Shadows have the strides of their arrays: whether a view of a view is contiguous depends on the first one


@njit
def turned_twice(a):
    b = np.ascontiguousarray(a[::-1])
    b[0] = b[0] * b[0]
    b[1] *= 3.0
    return np.sum(a * a) + 3.0 * np.sum(b)


@njit
def slice_of_swapped_axes(a):
    b = np.ascontiguousarray(a[0].T)
    b[0, 0] = b[0, 0] * b[1, 0]
    return np.sum(a * a) + 3.0 * np.sum(b * b)


@njit
def contiguous(b):
    c = np.ascontiguousarray(b)
    c[0] = c[0] * c[1]
    return c


@njit
def in_a_callee(a):
    c = contiguous(a[::-1])
    c[1] *= a[0]
    return np.sum(a * a) + np.sum(c * c)


@njit
def in_a_loop(a):
    c = a
    for i in range(3):
        c = np.ascontiguousarray(c[:: 1 - 2 * (i % 2)])
        c[0] = c[0] * c[1] + i
    return np.sum(a * a) + np.sum(c * c)


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (turned_twice, BASE[:5].copy()[::-1]),
        (turned_twice, BASE[:10:2]),
        (slice_of_swapped_axes, BASE[:24].reshape(2, 4, 3).copy().transpose(0, 2, 1)),
        (in_a_callee, BASE[:5].copy()[::-1]),
        (in_a_loop, BASE[:6].copy()[::-1]),
        (in_a_loop, BASE[:12:2]),
    ],
)
def test_views_of_strided_arguments(f, x):
    y, rng = f(*copied((x,))), np.random.default_rng(1)
    value, gradient = dr.value_and_grad(f)(*copied((x,)))
    again, pullback = dr.vjp(f, *copied((x,)))
    assert value == again == y
    for v in rng.normal(size=(3, *x.shape)):
        expected = slopes(lambda u: f(u[0]), ((x,),), (v,))
        forward = dr.jvp(f, copied((x,)), (v,))[1]
        found = [float(np.sum(gradient * v)), float(np.sum(pullback(1.0)[0] * v)), float(forward)]
        assert_same(found, [expected] * 3, rtol=1e-8)


def test_the_pullback_runs_on_memory_like_that_of_the_arguments():
    """x[::9] has large gaps; its copy has them, too."""
    for x in (BASE[::9], BASE[::-1], BASE.reshape(6, 8)[1:, ::3], np.broadcast_to(BASE[:3], (2, 3))):
        (made,) = copied((x,))
        assert made.strides == x.strides
        assert_same(made, x, rtol=0.0)
        assert not np.may_share_memory(made, x)


def test_jacobian_and_grad_of_a_strided_argument_agree():
    x = BASE[:10:2]
    gradient = dr.value_and_grad(turned_twice)(*copied((x,)))[1]  # compiled already
    assert_same(dr.jacobian(turned_twice)(*copied((x,))), gradient, rtol=1e-15)


@njit
def as_single(a):
    """A dtype of its own: always a copy."""
    b = np.asarray(a, np.float32)
    b[0] = 5.0
    return a[0] * a[1] + b[1] * b[1]


def test_another_dtype_is_a_copy():
    x = np.array([1.5, 2.5])
    assert as_single(x.copy()) == 1.5 * 2.5 + 2.5 * 2.5
    value, gradient = dr.value_and_grad(as_single)(x.copy())
    assert value == as_single(x.copy())
    assert_same(gradient, np.array([2.5, 1.5 + 2.0 * 2.5]), rtol=1e-7)


def test_the_table_has_what_the_tests_write_to():
    """A function with a line in the table, and none here, would be untested."""
    catalogue = (
        Path(__file__).parents[3] / "programs/constructs/arrays/constructs_catalogue.py"
    )  # views_by_functions writes to others
    text = Path(__file__).read_text() + catalogue.read_text()
    sharing = {name: f.shares for name, f in TABLE.items() if f.shares}
    for name in sharing:
        assert f"{name}(" in text or f".{name}(" in text
    assert {how for row in sharing.values() for how in row} == {"view", "copy", "either"}


REFUSED = ["np.squeeze(a)"]


@pytest.mark.parametrize("number", range(len(REFUSED)), ids=REFUSED)
def test_what_is_not_in_the_table_is_refused(number, tmp_path, monkeypatch):
    """By its name; some of these numba itself does not compile."""
    name = f"refused_{number}"
    text = f"import numpy as np\nfrom numba import njit\n\n\n@njit\ndef f(a):\n    return np.sum({REFUSED[number]})\n"
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    f = importlib.import_module(name).f
    with pytest.raises((dr.UnsupportedError, TypingError)):
        dr.grad(f)(BASE[:3].copy())


@njit
def array_of_a_number(x, k):
    """An array without axes, which shares nothing with the number."""
    a = np.asarray(x)
    b = np.asarray(k)
    a[()] = a[()] * x + b[()]
    return a[()] * 2.0 * x


def test_asarray_of_a_number_is_a_new_array():
    assert dr.value_and_grad(array_of_a_number)(1.5, 3) == (array_of_a_number(1.5, 3), 3 * 2.0 * 1.5**2 + 6.0)
    assert dr.jvp(array_of_a_number, (1.5, 3), (1.0, None)) == (array_of_a_number(1.5, 3), 19.5)


@njit
def real_parts(a, b, c):
    return write_vector(a, a.real) + write_vector(b, np.real(b)) + write_vector(c, c.conj())


def test_real_parts_are_views_and_conjugates_are_copies():
    """For real arrays the real part is a view and the conjugate a copy; numpy's conj returns the array itself."""
    args = [BASE[3 * k : 3 * k + 3] for k in range(3)]
    mine, plain = [x.copy() for x in args], [x.copy() for x in args]
    value = real_parts(*plain)
    found, gradient = dr.value_and_grad(real_parts, (0, 1, 2))(*mine)
    assert found == value
    assert_same(mine, plain, rtol=0.0, floor=0.0)
    v = direction(tuple(args))
    (slope,) = differences(lambda *xs: real_parts(*(x.copy() for x in xs)), tuple(args), v)
    assert_same(float(inner(gradient, v)), float(slope), rtol=1e-8)


@njit
def backwards_into_itself(a, x):
    """numba writes element by element: the second half is made of what it has written."""
    np.multiply(a[::-1], x, a)
    return np.sum(a * a * a)


def test_a_result_that_overlaps_an_argument_is_written_as_numba_writes_it():
    a = np.array([0.5, -1.2, 2.0, 0.7])
    value, gradient = dr.value_and_grad(backwards_into_itself)(a.copy(), 1.3)
    assert value == backwards_into_itself(a.copy(), 1.3)
    steps = 1e-6 * np.eye(4)
    differences = [(backwards_into_itself(a + d, 1.3) - backwards_into_itself(a - d, 1.3)) / 2e-6 for d in steps]
    np.testing.assert_allclose(gradient, differences, rtol=1e-7)


@njit
def of_one_argument(a, x):
    """Unary ufuncs whose last argument is the result: of all elements, of a view, and of a number."""
    np.square(a, a)
    np.reciprocal(a[1:], a[:-1])
    b = a * x
    np.deg2rad(b, b)
    np.degrees(b[::-1], a)
    np.multiply(x, a[1], b)
    return np.sum(a * a * b)


def test_a_product_with_a_result_among_its_arguments_writes_it():
    a, x = np.array([0.5, -1.2, 2.0, 0.7]), 1.3
    _, parts = gradient(of_one_argument, (a.copy(), x), (0, 1))
    steps = 1e-6 * np.eye(4)
    slopes = [(of_one_argument(a + d, x) - of_one_argument(a - d, x)) / 2e-6 for d in steps]
    slopes.append((of_one_argument(a.copy(), x + 1e-6) - of_one_argument(a.copy(), x - 1e-6)) / 2e-6)
    np.testing.assert_allclose(np.hstack(parts), slopes, rtol=1e-6, atol=1e-8)


@njit
def results_in_views_of_arguments(a, m, x):
    """Ufuncs that read one row of a matrix and write to another."""
    np.multiply(m[0], x, m[1])
    np.add(m[1], a, m[0])
    np.sin(m[2] * x, m[2])
    return np.sum(m * m * m)


def test_rows_of_one_matrix_may_be_argument_and_result():
    a, m = np.array([0.5, -1.2, 0.8]), np.arange(9.0).reshape(3, 3) / 7.0
    value, (by_x, by_m) = dr.value_and_grad(results_in_views_of_arguments, (2, 1))(a, m.copy(), 1.3)
    assert value == results_in_views_of_arguments(a, m.copy(), 1.3)
    ends = [results_in_views_of_arguments(a, m + s * 1e-6 * np.cos(m), 1.3 + s * 1e-6) for s in (1, -1)]
    np.testing.assert_allclose(by_x + np.sum(by_m * np.cos(m)), (ends[0] - ends[1]) / 2e-6, rtol=1e-7)
