"""Sparse Jacobians and Hessians: the same as dense ones, by fewer passes; patterns; colourings of known graphs."""

import itertools
import math
import pickle

import numba
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import NonlinearConstraint, least_squares, minimize
from scipy.sparse.linalg import spsolve

import dualrev as dr
from dualrev.errors import SparsityError
from dualrev.sparse import colouring, matrices
from dualrev.sparse.compressed import compression, star_compression
from dualrev.sparse.patterns import find

# Colourings


def tridiagonal(n):
    return sparse.csr_array(sparse.diags_array([np.ones(n - 1), np.ones(n), np.ones(n - 1)], offsets=[-1, 0, 1]))


def grid(n):
    one = sparse.eye_array(n)
    return sparse.csr_array(sparse.kron(one, tridiagonal(n)) + sparse.kron(tridiagonal(n), one))


def arrow(n):
    made = np.eye(n)
    made[-1] = made[:, -1] = 1.0
    return sparse.csr_array(made)


def random(n, seed):
    generator = np.random.default_rng(seed)
    made = np.zeros(n * n)
    made[generator.choice(n * n, n * n // 10, replace=False)] = 1.0
    made = made.reshape(n, n)
    return sparse.csr_array(made + made.T)


def is_distance_two(pattern, colours):
    rows = (colours[np.flatnonzero(row)].tolist() for row in pattern.toarray())
    return all(len(set(row)) == len(row) for row in rows)


def is_star(pattern, colours):
    """Neighbours differ, and each path of four vertices has three colours."""
    near = [set(np.flatnonzero(row)) - {k} for k, row in enumerate(pattern.toarray())]
    for b, c in [(k, c) for k, some in enumerate(near) for c in some]:
        if colours[b] == colours[c]:
            return False
        for a, d in itertools.product(near[b] - {c}, near[c] - {b}):
            if a != d and colours[a] == colours[c] and colours[b] == colours[d]:
                return False
    return True


@pytest.mark.parametrize(
    ("pattern", "by_columns", "by_star"),
    [
        (tridiagonal(30), 3, 3),  # both are the least that there are
        (sparse.eye_array(5).tocsr(), 1, 1),
        (sparse.csr_array(np.ones((70, 70))), 70, 70),  # more colours than bits in a word
        (arrow(20), 20, 2),
        (grid(9), 7, 6),  # at least 5 and 4
        (sparse.csr_array((3, 3)), 1, 1),
        (random(40, 1), 20, 15),
        (random(40, 2), 20, 15),
    ],
)
def test_colours_of_known_graphs(pattern, by_columns, by_star):
    colours, star = colouring.columns(pattern), colouring.star(pattern)
    assert is_distance_two(pattern, colours)
    assert colours.max() + 1 <= by_columns
    if pattern.shape[0] < 70:
        assert is_star(pattern, star)
    assert star.max() + 1 <= by_star


@pytest.mark.parametrize("pattern", [tridiagonal(7), arrow(6), grid(4), random(30, 3)])
def test_a_compressed_matrix_is_the_matrix(pattern):
    """Matrix = gathered (directions . matrix), by columns, by rows, and by a star colouring of a symmetric one."""
    values = np.random.default_rng(5).normal(size=pattern.shape) * (pattern.toarray() != 0)
    for mode in ("fwd", "rev", None):
        way = compression(pattern, mode, 1)
        products = way.directions(True) @ (values if way.transposed else values.T)
        made, gaps = way.matrix(products, float)
        assert np.array_equal(made.toarray(), values)
        assert (gaps <= 1e-14).all()
    values = values + values.T
    way = star_compression(pattern)
    made, gaps = way.matrix(way.directions(True) @ values, float)
    assert np.array_equal(made.toarray(), values)
    assert (gaps <= 1e-14).all()
    values[0, 2] += 1e-10
    gaps = way.matrix(way.directions(True) @ values.T, float)[1]
    assert np.flatnonzero(gaps > 1e-13).tolist() in ([0], [2])  # the row that is read, or its mirror image
    products = way.directions(True) @ values.T
    products[:, 3] = math.inf
    assert np.flatnonzero(np.isnan(way.matrix(products, float)[1])).size >= 1  # what is not finite is not compared


class Known:
    """Passes of a known matrix that count their calls."""

    def __init__(self, matrix):
        self.matrix, self.shape, self.count = matrix, matrix.shape, 0

    def push(self, directions):
        self.count += len(directions)
        with np.errstate(invalid="ignore"):
            return np.array([self._product(self.matrix, t) for t in directions]).reshape(-1, self.shape[0])

    def pull(self, directions):
        self.count += len(directions)
        return np.array([self._product(self.matrix.T.tocsr(), t) for t in directions]).reshape(-1, self.shape[1])

    @staticmethod
    def _product(matrix, t):
        return matrix @ t  # a sparse product leaves out what is not in the pattern


@pytest.mark.parametrize(
    ("pattern", "most"),
    [
        (tridiagonal(3000), 200),
        (grid(40), 400),
        (sparse.csr_array(np.ones((7, 1))), 32),
        (sparse.csr_array(np.ones((5, 40))), 200),
        (sparse.csr_array((4, 3)), 40),
        (sparse.csr_array((0, 3)), 0),
        (random(100, 4), 500),
        (sparse.vstack([tridiagonal(2000), np.ones((1, 2000))]).tocsr(), 900),  # a full row: it is found by rows
        (sparse.hstack([tridiagonal(2000), np.ones((2000, 1))]).tocsr(), 900),
    ],
)
def test_patterns_are_found_by_few_passes(pattern, most):
    passes = Known(pattern)
    found = find(passes, None)
    assert (found != (pattern != 0)).nnz == 0
    assert found.has_sorted_indices
    assert passes.count <= most


# On the tape


def chain(x, scale=1.0):
    return scale * x[1:] ** 2 - x[:-1]


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def looped(x):
    """Scalars, a branch, nested data; the middle result is a constant."""
    a = [x["u"][i] * math.cos(0.5) if i % 2 else x["u"][i] * x["v"] for i in range(len(x["u"]))]
    return {"a": a, "b": (3, x["u"][0] - 1.0)}


def test_on_the_tape_it_is_the_dense_jacobian():
    x = np.linspace(0.0, 2.0, 50)
    for mode in (None, "fwd", "rev"):
        made = dr.sparse_jacobian(chain, mode=mode)(x, scale=3.0)
        assert isinstance(made, sparse.csr_array)
        assert np.array_equal(made.toarray(), dr.jacobian(chain)(x, scale=3.0))
        assert made.nnz == 98  # at x[0] = 0, too, where the derivative of the square is 0
    matrix = x[:48].reshape(6, 8)
    made = dr.sparse_jacobian(lambda a: np.sum(a * a, axis=0))(matrix)
    assert np.array_equal(made.toarray(), dr.jacobian(lambda a: np.sum(a * a, axis=0))(matrix).reshape(8, 48))
    assert made.nnz == 48


def test_of_nested_data_the_order_is_that_of_ravel():
    x = {"u": [0.5, 2.0, 3.0, 4.0], "v": 1.5}
    made = dr.sparse_jacobian(looped)(x).toarray()
    vector, unravel = dr.tree.ravel(x)
    dense = dr.jacobian(lambda v: dr.tree.leaves(dr.tree.real(looped(unravel(v)))))(vector)
    assert np.array_equal(made, np.array(dense))


def test_hessians_on_the_tape():
    x = np.linspace(-1.0, 2.0, 40)
    made = dr.sparse_hessian(rosenbrock)(x)
    assert np.allclose(made.toarray(), dr.hessian(rosenbrock)(x), rtol=1e-13, atol=1e-12)
    assert (made != made.T).nnz == 0
    assert made.nnz == 118
    half = sparse.triu(made)
    assert np.allclose(dr.sparse_hessian(rosenbrock, half)(x).toarray(), made.toarray(), rtol=1e-13, atol=1e-12)
    x = (np.ones(3), 2)
    made = dr.sparse_hessian(lambda n, x: n * x[1] * np.sum(x[0] ** 3), argnums=1)(2.0, x)
    assert np.array_equal(made.toarray(), 24.0 * np.eye(3))


def test_in_single_precision_the_array_is_too():
    x = np.linspace(0.0, 1.0, 9, dtype=np.float32)
    made = dr.sparse_jacobian(chain)(x)
    assert made.dtype == np.float32
    assert np.allclose(made.toarray(), dr.jacobian(chain)(x))


# Of numba functions


@numba.njit
def stencil(x, weights, far):
    """A row of five numbers, one of them elsewhere if a branch says so; and a sum."""
    made, total = np.empty(x.shape), 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            u = weights[0] * x[i, j] ** 3
            if i > 0 and j > 0:
                u += weights[1] * x[i - 1, j] * x[i, j - 1]
            if far and x[i, j] > 5.0:
                u += x[0, 0]
            made[i, j] = math.sin(u)
            total += u
    return made, 0.5 * total


@numba.njit
def coupled(x, k):
    total = 0.0
    for i in range(len(x) - 1):
        total += (x[i + 1] - k * x[i] ** 2) ** 2 + np.exp(x[0]) * x[i]
    return total


def is_that_by_differences(made, x, *args):
    def vector(x):
        y, total = stencil(x, *args)
        return np.append(y, total)

    steps = 1e-6 * np.eye(x.size).reshape(x.size, *x.shape)
    columns = [(vector(x + step) - vector(x - step)) / 2e-6 for step in steps]
    return np.allclose(made.toarray(), np.array(columns).T, rtol=1e-7, atol=1e-7)


def test_of_a_numba_function_it_is_the_dense_jacobian():
    x, weights = np.linspace(0.0, 2.0, 60).reshape(6, 10), np.array([1.5, -0.5])
    jacobian = dr.sparse_jacobian(stencil)
    made = jacobian(x, weights, far=False)
    assert is_that_by_differences(made, x, weights, False)
    assert made.nnz == 60 + 2 * 45 + 60
    rows = dr.sparse_jacobian(stencil, made, mode="rev", check=True)(x, weights, False)
    assert np.allclose(rows.toarray(), made.toarray(), rtol=1e-14, atol=1e-15)
    smaller = x[:3]
    assert is_that_by_differences(jacobian(smaller, weights, False), smaller, weights, False)
    assert np.array_equal(jacobian(x, weights, False).toarray(), made.toarray())


def test_where_a_branch_changes_the_pattern():
    """One that was found is extended, one that was given is refused, and named."""
    x, weights = np.linspace(0.0, 2.0, 60).reshape(6, 10), np.array([1.5, -0.5])
    jacobian = dr.sparse_jacobian(stencil)
    before = jacobian(x, weights, True)
    x[4, 4] = 6.0
    after = jacobian(x, weights, True)
    assert is_that_by_differences(after, x, weights, True)
    assert after.nnz == before.nnz + 1
    with pytest.raises(
        SparsityError, match=r"'stencil' lacks the entry \(44, 0\) at .*: the derivative there is -?0\.\d"
    ):
        dr.sparse_jacobian(stencil, before)(x, weights, True)
    dr.sparse_jacobian(stencil, before, check=False)(x, weights, True)  # as it was asked for
    assert dr.sparse_jacobian(stencil, before)(x, weights, False).nnz == before.nnz


# Patterns that a comparison of sums does not see through


def with_roots(x, far, scale):
    """A root in each row, which is infinite at 0; and another number in the first row, if it is asked for."""
    made = np.sqrt(x) + scale * x
    if far:
        made = np.append(made[:1] + 3.0 * x[1:2], made[1:])
    return made


BOTH = pytest.mark.parametrize("engine", [with_roots, numba.njit(with_roots)], ids=["tape", "compiled"])


def roots_by_hand(x, far, scale):
    with np.errstate(divide="ignore"):
        made = np.diag(0.5 / np.sqrt(x) + scale)
    made[0, 1] = far * 3.0
    return made


@BOTH
@pytest.mark.parametrize("mode", ["fwd", "rev"])
@pytest.mark.parametrize("zeros", [1, 2, 40], ids=["one row", "two rows", "all rows"])
def test_an_entry_is_found_where_the_row_is_not_finite(engine, mode, zeros):
    x = np.linspace(1.0, 2.0, 40)
    at = np.where(np.arange(40) < zeros, 0.0, x)
    jacobian = dr.sparse_jacobian(engine, mode=mode)
    assert np.allclose(jacobian(x, False, 1.0).toarray(), roots_by_hand(x, False, 1.0), rtol=1e-14)
    assert np.allclose(jacobian(at, False, 1.0).toarray(), roots_by_hand(at, False, 1.0), rtol=1e-14)
    assert np.allclose(jacobian(at, True, 1.0).toarray(), roots_by_hand(at, True, 1.0), rtol=1e-14)
    with pytest.raises(SparsityError, match=r"lacks the entry \(0, 1\).*the derivative there is 3,"):
        dr.sparse_jacobian(engine, np.eye(40), mode=mode)(at, True, 1.0)
    assert dr.sparse_jacobian(engine, np.eye(40), mode=mode)(at, False, 1.0).nnz == 40
    assert dr.sparse_jacobian(engine, np.eye(40), mode=mode, check=False)(at, True, 1.0).nnz == 40  # as asked for


@BOTH
def test_a_few_rows_that_are_not_finite_are_no_reason_to_look_for_another_pattern(engine, monkeypatch):
    found = []
    monkeypatch.setattr(matrices, "find", lambda *args: found.append(args) or find(*args))
    jacobian = dr.sparse_jacobian(engine)
    for zeros in (0, 1, 3):
        jacobian(np.where(np.arange(40) < zeros, 0.0, 1.0), True, 1.0)
    assert len(found) == 1


@BOTH
@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_an_entry_is_found_beside_large_ones(engine, mode):
    x = np.linspace(1.0, 2.0, 40)
    jacobian = dr.sparse_jacobian(engine, mode=mode)
    jacobian(x, False, 1e10)
    assert np.allclose(jacobian(x, True, 1e10).toarray(), roots_by_hand(x, True, 1e10), rtol=1e-15)


@BOTH
def test_single_precision_finds_what_is_larger_than_its_rounding(engine):
    x = np.linspace(1.0, 2.0, 40, dtype=np.float32)
    jacobian = dr.sparse_jacobian(engine)
    jacobian(x, False, 10.0)
    made = jacobian(x, True, 10.0)
    assert made.dtype == np.float32
    assert np.allclose(made.toarray(), roots_by_hand(x, True, 10.0), rtol=1e-5)


def test_other_precisions_give_those_that_scipy_has():
    assert dr.sparse_jacobian(chain)(np.ones(3, np.float16)).dtype == np.float32
    assert dr.sparse_jacobian(chain)(np.ones(3, np.longdouble)).dtype == np.float64


def test_of_another_number_of_rows_or_columns_the_pattern_is_another():
    jacobian = dr.sparse_jacobian(lambda x, m: x[:m] ** 2)
    for n, m in [(4, 3), (4, 2), (5, 3), (4, 3), (4, 0), (4, 4)]:
        x = np.arange(1.0, n + 1.0)
        assert np.array_equal(jacobian(x, m).toarray(), 2.0 * np.eye(m, n) * x)


def test_hessians_find_entries_where_a_row_is_not_finite():
    def f(x, far):
        made = np.sum(x**1.5) + x[1] * x[2]
        return made + 3.0 * x[0] * x[3] if far else made

    hessian = dr.sparse_hessian(f)
    hessian(np.ones(4), False)
    at = np.array([0.0, 1.0, 4.0, 0.0])
    expected = np.diag([np.inf, 0.75, 0.375, np.inf])
    expected[[0, 3, 1, 2], [3, 0, 2, 1]] = 3.0, 3.0, 1.0, 1.0
    assert np.allclose(hessian(at, True).toarray(), expected)
    with pytest.raises(SparsityError, match=r"lacks the entry \(0, 3\)"):
        dr.sparse_hessian(f, tridiagonal(4))(at, True)


def test_rounding_is_no_reason_to_look_for_a_pattern_again_and_again(monkeypatch):
    """The derivative is a small difference of large numbers: all rows differ from their sums by rounding."""
    found = []
    monkeypatch.setattr(matrices, "find", lambda *args: found.append(args) or find(*args))

    def rounded(x):
        far = 3e5 * np.sum(x)
        return (x + far) - far

    for sparsity in (None, np.ones((40, 40))):
        jacobian = dr.sparse_jacobian(rounded, sparsity)
        for k in range(5):
            made = jacobian(np.linspace(1.0, 2.0 + k, 40))
            assert np.allclose(made.toarray(), np.eye(40), atol=1e-9)
    assert len(found) <= 4


@dr.custom_jvp
def dropping(x):
    return 2.0 * x


@dropping.defjvp
def dropping_jvp(primals, tangents):
    return dropping(primals[0]), np.where(np.isnan(tangents[0]), 0.0, 2.0 * tangents[0])


def test_what_nan_does_not_find_is_an_error_that_names_an_entry():
    x = np.ones(40)
    with pytest.raises(SparsityError, match=r"that NaN finds for 'dropping' lacks .*is 2\. Write the pattern as `spar"):
        dr.sparse_jacobian(dropping)(x)
    assert np.array_equal(dr.sparse_jacobian(dropping, np.eye(40))(x).toarray(), 2.0 * np.eye(40))
    for rule in (dropping, wary, numba.njit(fastmath=True)(chain)):  # these do not take NaN: the entry is found without
        some = np.eye(len(rule(x)), 40, k=-1)
        with pytest.raises(
            SparsityError, match=r"lacks the entry \(\d+, \d+\) at .*is -?[12]\. Write a pattern with all"
        ):
            dr.sparse_jacobian(rule, some)(x)


def test_hessians_of_numba_functions():
    x = np.linspace(-1.0, 1.0, 25)
    made = dr.sparse_hessian(coupled)(x, 0.7)
    dense = dr.hessian(coupled.py_func)(x, 0.7)
    assert np.allclose(made.toarray(), dense, rtol=1e-13, atol=1e-13)
    assert (made != made.T).nnz == 0
    assert np.array_equal(made.toarray() != 0, dense != 0)
    with pytest.raises(SparsityError, match="lacks the entry"):
        dr.sparse_hessian(coupled, tridiagonal(25))(x, 0.7)


@numba.njit
def of_two(x):
    made = np.empty(2)
    made[0] = x[0] * x[1]
    made[1] = x[2] + x[0]
    return made


@numba.njit
def of_three(x):
    return np.array([x[0] * x[0], x[1] * x[2], math.sin(x[2])])


@numba.njit
def of_short_ones(x):
    made = np.zeros(2)
    made[0] = x[0] * x[1]
    return made, (np.array([x[0], x[1] * x[1]]), 2.0 * x[2])


@pytest.mark.parametrize("f", [of_two, of_three, of_short_ones])
@pytest.mark.parametrize("mode", ["fwd", "rev", None])
def test_results_may_be_short_arrays(f, mode):
    """Other derivatives have numbers in place of these: they return none of them."""
    x, step = np.array([1.5, 2.0, 0.5]), 1e-6
    columns = [dr.tree.ravel(f(x + e))[0] - dr.tree.ravel(f(x - e))[0] for e in step * np.eye(3)]
    made = dr.sparse_jacobian(f, mode=mode)(x).toarray()
    assert np.allclose(made, np.array(columns).T / (2 * step), atol=1e-8)


# What is refused, and what is not


@dr.custom_jvp
def wary(x):
    return 2.0 * x


@wary.defjvp
def wary_jvp(primals, tangents):
    if np.isnan(np.sum(tangents[0])):
        raise ValueError("no NaN, please")
    return wary(primals[0]), 2.0 * tangents[0]


def test_what_is_refused():
    x = np.ones(4)
    with pytest.raises(
        SparsityError, match=r"of shape \(4, 4\).*: the derivative is of shape \(3, 4\)\. Write a pattern"
    ):
        dr.sparse_jacobian(chain, np.eye(4))(x)
    with pytest.raises(SparsityError, match=r"lacks the entry \(0, 1\)"):
        dr.sparse_jacobian(chain, np.eye(3, 4))(x)
    with pytest.raises(SparsityError, match="a sparsity has 1 axes"):
        dr.sparse_jacobian(chain, np.ones(4))
    with pytest.raises(ValueError, match="mode is 'fwd', 'rev' or None"):
        dr.sparse_jacobian(chain, mode="both")
    with pytest.raises(SparsityError, match="SciPy's arrays hold plain numbers only"):
        dr.grad(lambda x: dr.sparse_jacobian(chain)(x).sum())(x)
    with pytest.raises(SparsityError, match="argument 0 of the numba function 'coupled' is of type float"):
        dr.sparse_hessian(coupled)(1.0, 0.5)
    with pytest.raises(SparsityError, match="'coupled' is an array of int64"):
        dr.sparse_hessian(coupled)(np.arange(3), 0.5)
    with pytest.raises(TypeError, match="a sparse derivative is by one argument"):
        dr.sparse_jacobian(chain, argnums=(0, 1))
    with pytest.raises(
        SparsityError, match=r"in the direction of NaN raises ValueError: no NaN, please\. Write the pat"
    ):
        dr.sparse_jacobian(wary)(x)
    with pytest.raises(dr.ScalarError):
        dr.sparse_hessian(chain)(x)


def test_without_scipy_the_error_says_so(monkeypatch):
    monkeypatch.setattr(matrices.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match="pip install scipy"):
        dr.sparse_jacobian(chain)


def test_with_fastmath_there_is_no_nan():
    fast = numba.njit(fastmath=True)(chain)
    with pytest.raises(SparsityError, match="its fastmath says that there is no NaN"):
        dr.sparse_jacobian(fast)(np.ones(4))


def test_a_derivative_that_is_not_finite_is_no_reason_to_look_for_another_pattern():
    made = dr.sparse_jacobian(lambda x: np.sqrt(x))
    assert np.array_equal(made(np.array([0.0, 1.0, 4.0])).diagonal(), [np.inf, 0.5, 0.25])
    assert made(np.array([0.0, 1.0, 4.0])).nnz == 3


def test_an_empty_argument_has_an_empty_jacobian():
    assert dr.sparse_jacobian(lambda x: 2.0 * x)(np.zeros(0)).shape == (0, 0)
    assert dr.sparse_jacobian(lambda x: 2.0 * x[:0])(np.zeros(3)).shape == (0, 3)
    assert dr.sparse_jacobian(lambda x: 2.0 * x[:0], mode="rev")(np.zeros(3)).shape == (0, 3)


def test_the_structures_of_results_are_their_own():
    jacobian = dr.sparse_jacobian(chain)
    made = jacobian(np.array([1.0, 0.0, 2.0]))
    made.eliminate_zeros()
    assert jacobian(np.ones(3)).nnz == 4


def test_what_is_written_into_an_argument_is_a_value_and_functions_pickle():
    def scale(x, out):
        out[:] = 3.0 * x

    made = dr.sparse_jacobian(scale, outputs=1)(np.ones(3), np.zeros(3))
    assert np.array_equal(made.toarray(), 3.0 * np.eye(3))
    again = pickle.loads(pickle.dumps(dr.sparse_hessian(rosenbrock)))
    assert again(np.ones(3)).nnz == 7


@numba.njit
def with_a_pole(x):
    s = 0.0
    for i in range(len(x) - 1):
        s += x[i] ** 1.5 * x[i + 1] + x[i] ** 2
    return s


@pytest.mark.parametrize("given", [False, True])
def test_nan_of_a_compiled_hessian_is_no_entry_that_a_pattern_lacks(given):
    """A direction of 0 gives NaN at a pole there; the pattern has all entries."""
    band = sparse.diags_array([np.ones(3), np.ones(4), np.ones(3)], offsets=[-1, 0, 1])
    hessian = dr.sparse_hessian(with_a_pole, sparsity=band if given else None)
    for x in (np.arange(1.0, 5.0), np.arange(4.0)):
        made, whole = hessian(x).toarray(), dr.hessian(with_a_pole.py_func)(x)
        assert np.array_equal(made != 0.0, np.isnan(made) | (whole != 0.0))
        inside = ~np.isnan(made)
        np.testing.assert_allclose(made[inside], whole[inside], rtol=1e-12)
        assert np.all(inside[np.abs(np.subtract.outer(range(4), range(4))) > 1])


# Optimisers


def test_with_solvers_of_scipy():
    x = np.full(40, 1.2)
    residuals = lambda x: np.concatenate([10.0 * (x[1:] - x[:-1] ** 2), 1.0 - x[:-1]])  # noqa: E731
    fit = least_squares(residuals, x, jac=dr.sparse_jacobian(residuals), method="trf", tr_solver="lsmr")
    assert np.allclose(fit.x, 1.0, atol=1e-6)
    hessian = dr.sparse_hessian(rosenbrock)
    u = np.full(40, 1.02)
    for _ in range(8):
        u = u - spsolve(hessian(u).tocsc(), dr.grad(rosenbrock)(u))
    assert np.allclose(u, 1.0)
    inside = NonlinearConstraint(
        chain,
        -10.0,
        10.0,
        jac=dr.sparse_jacobian(chain),
        hess=lambda x, v: sparse.diags_array(np.concatenate([[0.0], 2.0 * v])),
    )
    found = minimize(rosenbrock, x, jac=dr.grad(rosenbrock), hess=hessian, method="trust-constr", constraints=[inside])
    assert np.allclose(found.x, 1.0, atol=1e-3)
