"""Cotangents of whole arrays, values kept by reference, ids that are not written out: random sequences, and edges."""

import random
import tracemalloc

import numpy as np
import pytest
from numba import njit
from support.oracle import assert_same

import dualrev as dr
from dualrev import numpy as dnp
from dualrev.eager.tape import row_kernels
from dualrev.eager.tape.blocks import Products
from dualrev.eager.tape.ids import Nodes


def _write_half(rng, a, b):
    k = rng.randrange(1, len(a))
    a[:k] = b[len(b) - k :]


def _write_elements(rng, a, b):
    places = rng.sample(range(len(a)), 3)
    a[places] = b[sorted(places)] * 0.5


def _write_one(rng, a, b):
    a[rng.randrange(len(a))] = b[rng.randrange(-len(b), len(b))]


def _write_through_a_view(rng, a, b):
    view = a.reshape(2, -1).T if rng.random() < 0.5 else a[::-1].reshape(-1, 2)
    view[1:, 0] = b[: len(view) - 1]


def _write_all(rng, a, b):
    a[...] = b


def _write_a_constant(rng, a, b):
    a[rng.randrange(len(a)) :] = 0.25


WRITES = [_write_half, _write_elements, _write_one, _write_through_a_view, _write_all, _write_a_constant]
MAKES = [
    lambda a, b, c: a + b,
    lambda a, b, c: a - b,
    lambda a, b, c: a * b,
    lambda a, b, c: a / (2.0 + b * b),
    lambda a, b, c: np.tanh(a),
    lambda a, b, c: np.exp(-a * a),
    lambda a, b, c: np.where(c > 0.0, a, b),
    lambda a, b, c: np.where(c > 0.0, a, 0.5),
    lambda a, b, c: np.concatenate([a[2:], b[:2]]),
    lambda a, b, c: a[np.arange(len(a)) // 2],
    lambda a, b, c: a[::-1] * b[::-1],
    lambda a, b, c: (a.reshape(2, -1) + b[: len(b) // 2]).reshape(-1),
    lambda a, b, c: (a.reshape(2, -1).T * b.reshape(-1, 2)).ravel(),
    lambda a, b, c: a - np.mean(b),
    lambda a, b, c: a * np.mean(b.reshape(2, -1), axis=1)[1],
    lambda a, b, c: a + np.dot(a, b) / len(a),
    lambda a, b, c: (a.reshape(2, -1) @ b.reshape(-1, 2)).reshape(-1)[np.arange(len(a)) % 4] / len(a),
    lambda a, b, c: np.sort(a) * c,
    lambda a, b, c: a[1] * b,
    lambda a, b, c: c * a,
    lambda a, b, c: np.copy(a),
    lambda a, b, c: a[:],
]

WITH_PRODUCTS = [
    *MAKES,
    lambda a, b, c: np.repeat(a.reshape(-1, 2) @ b[1:3], 2),
    lambda a, b, c: np.repeat(b[: len(b) // 2] @ a.reshape(-1, 2), len(a) // 2) / len(a),
]


def program(seed, makes=MAKES):
    """A sequence of operations and writes on arrays, some of them views of others, and its argument."""
    n = 240 if seed % 4 == 0 else 6

    def f(x):
        rng = random.Random(seed)
        c = np.linspace(-1.0, 1.5, n)
        zeros = dnp.zeros if isinstance(x, dr.RealArray) else np.zeros
        pool = [x * 1.0, x[::-1] * 0.5, zeros(n)]
        for _ in range(rng.randrange(4, 14)):
            if rng.random() < 0.4:
                rng.choice(WRITES)(rng, rng.choice(pool), rng.choice(pool))
            else:
                pool[rng.randrange(3)] = rng.choice(makes)(rng.choice(pool), rng.choice(pool), c)
            if rng.random() < 0.1:
                c[rng.randrange(n)] *= -1.0
        return np.sum(pool[0] * pool[1]) + np.sum(np.tanh(pool[2]))

    return f, np.random.default_rng(seed).uniform(-1.0, 1.0, n)


def agrees(seed, order=1, makes=MAKES):
    f, x = program(seed, makes)
    y, gradient = dr.value_and_grad(f)(x)
    v = np.random.default_rng(seed + 1).uniform(-1.0, 1.0, len(x))
    h = 1e-6
    if not np.isfinite(y) or np.abs(gradient).max() > 1e3:
        return
    assert y == pytest.approx(f(x), rel=1e-12, abs=1e-12), seed
    scale = 1.0 + np.abs(gradient).max()
    # Numbers may change places in np.sort, or cross a kink, within a step: there, a smaller one decides.
    steps = (h, 1e-8)
    expected = [(f(x + h * v) - f(x - h * v)) / (2 * h) for h in steps]
    assert any(gradient @ v == pytest.approx(u, rel=1e-4, abs=1e-4 * scale) for u in expected), seed
    assert dr.jvp(f, (x,), (v,))[1] == pytest.approx(gradient @ v, rel=1e-9, abs=1e-9 * scale), seed
    if order == 2 and len(x) < 10:
        hessian = dr.hessian(f)(x)
        product = dr.hvp(f)(x, v)
        size = 1.0 + np.abs(hessian).max()
        if size < 1e3:
            assert np.allclose(hessian, hessian.T, rtol=1e-8, atol=1e-8 * size), seed
            assert np.allclose(product, hessian @ v, rtol=1e-8, atol=1e-8 * size), seed
            slopes = (dr.grad(f)(x + h * v) - dr.grad(f)(x - h * v)) / (2 * h)
            assert np.allclose(product, slopes, rtol=1e-3, atol=1e-3 * size), seed


def test_random_sequences_have_the_derivatives_of_differences():
    for seed in range(150):
        agrees(seed, order=2 if seed % 10 == 0 else 1)
    for seed in range(50):
        agrees(seed, order=2 if seed % 10 == 0 else 1, makes=WITH_PRODUCTS)


@pytest.mark.slow
def test_many_random_sequences_have_the_derivatives_of_differences():
    for seed in range(1000, 21000):
        agrees(seed, order=2 if seed % 20 == 0 else 1)
        agrees(seed, order=2 if seed % 20 == 0 else 1, makes=WITH_PRODUCTS)


def test_what_is_kept_is_as_it_was_when_it_was_used():
    """The operand, the result, a view of it, a plain array and the user's own memory are written to afterwards."""
    memory = np.linspace(0.5, 1.5, 3000)

    def f(x):
        a, constant = x * 1.0, np.linspace(1.0, 2.0, 3000)
        mine = dr.RealArray(memory.copy())
        view = a[::2]
        y, z, u, v, w = a * a, np.exp(a), view * view, constant * x, mine * x
        a[:5] = 7.0
        z_before = np.sum(z * x)
        z[...] = 0.0
        view[-3:] = 1.0
        constant[10:] = 0.0
        mine.x[:] = 0.0
        again = constant * x
        return np.sum(y) + z_before + np.sum(z) + np.sum(u * u) + np.sum(v) + np.sum(w) + np.sum(again * x)

    x = np.linspace(-1.0, 1.0, 3000)
    everywhere = 2.0 * x + np.exp(x) * (1.0 + x) + np.linspace(1.0, 2.0, 3000) + memory
    everywhere[::2] += 4.0 * x[::2] ** 3
    everywhere[:10] += 2.0 * np.linspace(1.0, 2.0, 3000)[:10] * x[:10]
    assert np.allclose(dr.grad(f)(x), everywhere, rtol=1e-12, atol=1e-12)
    assert np.allclose(
        np.diag(dr.jacobian(lambda x: np.tanh(x) * x)(x[:5])), np.tanh(x[:5]) + x[:5] / np.cosh(x[:5]) ** 2
    )


def test_what_is_kept_under_two_derivatives_is_as_it_was_when_it_was_used():
    """Operands, results and views of products, sums, rules and matrices are written to after their use."""
    c, m = np.linspace(0.5, 1.5, 6), np.linspace(-1.0, 1.0, 9).reshape(3, 3) + np.eye(3)

    def f(x):
        a, b, constant, matrix = x * 1.0, x[::-1] * 1.0, c.copy(), m * x[:3]
        y, z, t = a * b, constant * a, np.tanh(a)
        p, q, r = a.reshape(2, 3) @ matrix, np.cumprod(b), np.linalg.inv(matrix)
        before = np.sum(y * z) + np.sum(p * p) + np.sum(q * t) + np.sum(r * r)
        for u in (a, b[::2], y, z, t, p[0], q, matrix.T[1], r[1:]):
            u[...] = 7.0 * u
        constant[...] = 0.0
        return before + np.sum(a * b * y * z) * 1e-3 + np.sum(matrix * r) * np.sum(p * p)

    def pure(x):
        a, b, matrix = x * 1.0, x[::-1] * 1.0, m * x[:3]
        y, z, t = a * b, c * a, np.tanh(a)
        p, q, r = a.reshape(2, 3) @ matrix, np.cumprod(b), np.linalg.inv(matrix)
        before = np.sum(y * z) + np.sum(p * p) + np.sum(q * t) + np.sum(r * r)
        sevens = np.where(np.arange(6) % 2 == 0, 7.0, 1.0)
        columns, below, top = np.array([1.0, 7.0, 1.0]), np.array([[1.0], [7.0], [7.0]]), np.array([[7.0], [1.0]])
        after = 7.0 * a * (sevens * b) * 49.0 * y * z
        return before + np.sum(after) * 1e-3 + np.sum(matrix * columns * r * below) * np.sum((top * p) ** 2)

    x, v = np.linspace(0.6, 1.4, 6), np.cos(np.arange(6.0))
    assert f(x) == pytest.approx(pure(x), rel=1e-13)
    assert np.allclose(dr.hvp(f)(x, v), dr.hvp(pure)(x, v), rtol=1e-10)
    assert np.allclose(dr.hessian(f)(x), dr.hessian(pure)(x), rtol=1e-10)
    third = [dr.grad(lambda x, g=g: dr.hvp(g)(x, v) @ v)(x) for g in (f, pure)]
    assert np.allclose(*third, rtol=1e-9)


def test_a_part_that_is_not_reached_takes_no_part():
    """A slice, a concatenation and an assignment leave elements out whose derivatives are infinite."""
    x = np.concatenate([np.zeros(100), np.ones(100)])

    def assigned(x):
        y = -np.sqrt(x)
        y[:100] = 1.0
        return np.sum(y * x)

    for f in [
        assigned,
        lambda x: np.sum(-np.sqrt(x)[100:]),
        lambda x: np.sum(np.concatenate([x[:100], -np.sqrt(x)[100:]])[100:]),
        lambda x: np.sum(np.where(x > 0.0, -np.sqrt(x), x)),
        lambda x: np.sum((-np.sqrt(x)).reshape(2, 100).T[:, 1]),
    ]:
        gradient = dr.grad(f)(x)
        assert np.isfinite(gradient).all()
        assert np.isfinite(dr.jvp(f, (x,), (np.ones(200) * (x > 0.0),))[1])
    assert dr.grad(lambda x: np.sum(-np.sqrt(x)))(x)[0] == -np.inf


def test_scattered_ids_find_their_nodes_without_going_over_all_others():
    """RK4 with small arrays made a thousand nodes a second time for each of its arrays: n^2."""
    nodes = Nodes({-3 * k: 3 for k in range(1, 1001)})
    assert nodes.of(np.array([-1, 5, -8, -7, -3000])) == [-3, -9, -3000]
    assert len(row_kernels.nodes_of(np.array([-1, 5, -8, -7, -3000]), nodes._end_array)) <= 5


def recurrence(w, x, n=40):
    """Many products with one matrix: on the left, transposed, in a batch, by a part of it, and after a write."""
    h, total = x, 0.0
    for k in range(n):
        h = np.tanh(w @ h + h @ w + w.T @ x)
        total = total + np.sum(np.outer(h, x)[:2] @ w) + np.sum(w[1:] @ h)
        if k == n // 2:
            w = w * 1.0
            w[0] = h
    return total


@pytest.mark.parametrize("n", [3, 40])
def test_many_products_with_a_matrix_have_the_derivatives_of_differences(n):
    rng = np.random.default_rng(0)
    w, x = rng.uniform(-0.3, 0.3, (4, 4)), rng.uniform(0.5, 1.0, 4)
    dr.check_grads(lambda w, x: recurrence(w, x, n), (w, x), order=2)


def test_products_that_are_larger_than_the_matrix_do_not_wait(monkeypatch):
    """Products of 500 rows with a 2 x 3 matrix are added at once: to concatenate them costs more than to add them."""
    rows, w = np.linspace(-1.0, 1.0, 1000).reshape(500, 2), np.linspace(0.5, 1.0, 6).reshape(2, 3)

    def f(w):
        return sum(np.sum(np.sin((k + 1.0) * rows @ w)) for k in range(3))

    monkeypatch.delattr(Products, "add")
    expected = sum((k + 1.0) * rows.T @ np.cos((k + 1.0) * rows @ w) for k in range(3))
    assert np.allclose(dr.grad(f)(w), expected, rtol=1e-12)
    dr.check_grads(f, (w,), order=2)
    with pytest.raises(AttributeError):
        dr.grad(lambda w: f(w) + sum(np.sum(w @ rows[0, :1].repeat(3)) for _ in range(3)))(w)


def test_products_that_wait_take_no_more_memory_than_the_matrix():
    """A gradient with 400 products needs at most two matrices more than a gradient with one."""
    w, x = np.full((300, 200), 0.5), np.ones(200)

    def peak(n):
        def f(w):
            return sum(np.sum(w @ x) for _ in range(n))

        _, pull = dr.vjp(f, w)
        tracemalloc.start()
        (ct,) = pull(1.0)
        assert np.array_equal(ct, np.full((300, 200), float(n)))
        made = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return made

    assert peak(400) < peak(1) + 2 * w.nbytes


def test_a_matrix_of_infinities_has_the_products_of_each_use():
    """Contributions are infinite where a factor is, NaN where infinities meet, and 0 without a use."""
    w = np.ones((3, 2))
    vectors = [np.array([np.inf, 1.0]), np.array([-np.inf, 1.0]), np.array([1.0, 1.0])]
    ups = [np.array([1.0, 0.0, 2.0]), np.array([0.0, 0.0, 1.0]), np.array([1.0, 1.0, 1.0])]
    f = lambda w: sum(np.sum(u * (w @ v)) for u, v in zip(ups, vectors, strict=True))  # noqa: E731
    with np.errstate(invalid="ignore"):
        expected = sum(np.outer(u, v) for u, v in zip(ups, vectors, strict=True))
        assert np.array_equal(dr.grad(f)(w), expected, equal_nan=True)
    never = lambda w: np.sum(w) + 0.0 * sum(len(w @ v) for v in vectors)  # noqa: E731
    assert np.array_equal(dr.grad(never)(w), np.ones((3, 2)))


@pytest.mark.parametrize(
    "write", ["a[1] = a[:, 2]", "a[:, 2] = a[1]", "a.T[2] = a[1]", "a[0] = a[:, 1]", "a.ravel()[1:] = a.ravel()[:-1]"]
)
def test_numbers_that_are_read_after_they_are_written_have_the_derivatives_of_what_is_read(write):
    """numpy stores a row in a column that crosses it in some order: values and derivatives follow the same one."""
    weights = np.arange(1.0, 10.0).reshape(3, 3) ** 2

    def f(a):
        exec(write, {"a": a})
        return np.sum(weights * a)

    a = np.linspace(0.5, 2.0, 9).reshape(3, 3)
    slopes = [f(a + d.reshape(3, 3)) - f(a - d.reshape(3, 3)) for d in 0.5 * np.eye(9)]  # f is linear
    assert np.allclose(dr.grad(f)(a), np.reshape(slopes, (3, 3)), rtol=1e-12)
    assert np.isclose(dr.jvp(f, (a,), (np.cos(a),))[1], np.sum(np.cos(a).ravel() * slopes), rtol=1e-12)
    assert dr.value_and_grad(f)(a)[0] == f(a.copy())


@pytest.mark.parametrize("lay_out", [np.array, np.asfortranarray, lambda x: np.repeat(x, 2, axis=0)[::2]])
def test_where_a_condition_differs_each_element_has_the_partial_of_its_side(lay_out):
    """The table's conditional expressions on arrays, in any order in memory and broadcast, as on numbers."""
    x = np.array([[-700.0, -20.0, -0.5], [0.0, 0.5, 0.9], [3.0, 400.0, np.nan]])
    gradient = dr.grad(lambda a: np.sum(np.tanh(a)))(lay_out(x))
    expected = [dr.grad(dr.math.tanh)(u) for u in x.ravel().tolist()]
    assert np.allclose(gradient.ravel(), expected, rtol=4e-15, atol=0.0, equal_nan=True)
    row = np.array([0.25, -0.5, 700.0])
    gradients = dr.grad(lambda a, b: np.sum(np.logaddexp(a, b)), (0, 1))(lay_out(x[:2]), row)
    one = dr.grad(lambda a, b: dr.math.logaddexp(a, b), (0, 1))
    expected = np.array([[one(a, b) for a, b in zip(line, row.tolist(), strict=True)] for line in x[:2].tolist()])
    assert np.allclose(gradients[0], expected[..., 0], rtol=1e-14)
    assert np.allclose(gradients[1], expected[..., 1].sum(axis=0), rtol=1e-14)


def test_an_inner_run_keeps_what_an_outer_array_was():
    """The outer array is written to between inner derivatives, which are called later."""
    a, pulls = dr.RealArray(np.ones(3)), []
    for k in range(3):
        pulls.append(dr.vjp(lambda x: np.sum(a * x * x), np.full(3, 0.5))[1])
        a[k] = 5.0
    found = [pull(1.0)[0].tolist() for pull in pulls]
    assert found == [[1.0, 1.0, 1.0], [5.0, 1.0, 1.0], [5.0, 5.0, 1.0]]


@pytest.mark.parametrize("others", [[], [0.1, -0.2], [2.64], [-2.65], [3.0], [np.nan], [np.inf, 0.3], [-np.inf, -3.0]])
def test_tanh_has_its_derivative_on_both_sides_of_its_condition(others):
    x = np.array([0.5, -0.25, *others])
    expected = np.exp(-2 * np.abs(x)) * (1 + np.abs(np.tanh(x))) ** 2
    found = dr.grad(lambda x: np.sum(np.tanh(x)))(x)
    assert np.allclose(found, expected, rtol=1e-13, atol=0.0, equal_nan=True)
    assert dr.grad(lambda x: np.sum(np.tanh(x)))(x[:0]).shape == (0,)


@njit
def middle(a):
    return np.median(a) + np.sum(np.sort(a) * np.arange(len(a)))


@pytest.mark.parametrize("size", [4, 5, 40])
def test_of_equal_numbers_the_first_one_comes_first(size):
    """As in numba functions: numpy's own sort leaves that open, and so did the derivative by one of them."""
    a = np.random.default_rng(size).integers(0, 3, size).astype(float)
    order = np.argsort(a, kind="stable")
    expected = np.empty(size)
    expected[order] = np.arange(size)
    expected[order[(size - 1) // 2]] += 0.5
    expected[order[size // 2]] += 0.5
    for f in (middle, middle.py_func):
        assert_same(dr.grad(f)(a), expected)
    with pytest.raises(ValueError, match="kind"):
        dr.grad(lambda x: np.sum(np.sort(x, kind="none")))(a)


VIEWS = {
    "all": lambda w: w,
    "the first": lambda w: w[:1],
    "the first ones": lambda w: w[:3],
    "the last ones": lambda w: w[3:],
    "shifted": lambda w: w[1:],
    "with steps": lambda w: w[::2],
    "backwards": lambda w: w[::-1],
    "by columns": lambda w: w.reshape(2, 3).T,
}
PLACED = {
    "a vector": lambda w, mask, u: np.place(w, mask, u),
    "rows": lambda w, mask, u: np.place(w.reshape(2, 3), mask.reshape(2, 3), u),
    "a vector backwards": lambda w, mask, u: np.place(w[::-1], mask, u),
}


@pytest.mark.parametrize("placed", PLACED)
@pytest.mark.parametrize("view", VIEWS)
def test_what_is_placed_may_be_a_view_of_the_array(placed, view):
    """numpy makes no copy of a contiguous one: it reads what it has written."""
    x, c = np.array([0.5, 1.0, 2.0, 3.0, 4.0, 5.0]), np.arange(1.0, 7.0)
    mask = np.array([True, False, True, True, True, False])

    def f(x):
        w = x * 2.0
        PLACED[placed](w, mask, VIEWS[view](w))
        return (w * c).sum()

    slopes = [(f(x + e) - f(x - e)) / 2.0 for e in np.eye(6)]  # it is linear
    value, gradient = dr.value_and_grad(f)(x)
    assert value == pytest.approx(f(x), rel=1e-14)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-12, atol=1e-12)
    assert dr.jvp(f, (x,), (c,))[1] == pytest.approx(np.dot(slopes, c))
