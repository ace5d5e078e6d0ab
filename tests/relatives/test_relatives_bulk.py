"""The array language, the bulk-operation transform, and dual arrays against D4, differences and `dr.grad`."""

from __future__ import annotations

import doctest
from pathlib import Path

import numpy as np
import pytest

import dualrev as dr
from stages import STAGES, count
from stages.relatives.bulk import dual_arrays, elementwise
from stages.relatives.bulk.binding import free, rewritten
from stages.relatives.bulk.language import build, gather, let, program, scatter, sum_of, unary
from stages.relatives.bulk.programs import PROGRAMS
from stages.relatives.bulk.shapes import shape
from stages.relatives.bulk.terms import Build, Index, Var
from stages.relatives.bulk.vectorise import vectorised

PAGE = Path(__file__).parents[2] / "docs" / "relatives.md"

#: Programs for the cases of the transform that the examples do not have, with the shapes of their arguments.
CASES = {
    "a body that does not use its index": (lambda x: build(3, lambda i: x[0] * 2.0), [(2,)]),
    "a sum with an index of the name k": (lambda x: build(2, lambda k: sum_of(x[k])), [(2, 3)]),
    "sums in builds in builds": (lambda x: build(2, lambda k: build(3, lambda j: sum_of(x[k, j]))), [(2, 3, 4)]),
    "a sum of rows": (lambda x: sum_of(build(3, lambda i: x[i])), [(3, 2)]),
    "an index of an array built inside": (
        lambda x: build(3, lambda i: build(2, lambda j: x[j] * x[i])[1]),
        [(3,)],
    ),
    "a shadow of an outer let": (
        lambda x: let(unary("sin", x[0]), lambda s: build(2, lambda i: let(s * x[i], lambda p: p * p / s))),
        [(2,)],
    ),
    "let of an array in a build": (
        lambda x: build(2, lambda i: let(build(3, lambda j: x[j] * x[i]), lambda r: sum_of(r) - r[i])),
        [(3,)],
    ),
    "reads out of bounds": (lambda x: build(4, lambda i: x[i - 2] + x[i + 1]), [(3,)]),
    "gather in a build": (
        lambda x: build(2, lambda i: sum_of(gather((3, 2), x, lambda p, q: [q, p])[1]) * x[i, 1]),
        [(2, 3)],
    ),
    "scatter of rows, twice to one and once to none": (
        lambda x: scatter((2,), x, lambda i: [i * i - i]),
        [(3, 2)],
    ),
    "a scatter of a constant array": (
        lambda x: build(2, lambda i: scatter((3,), x, lambda p: [p + i])[2] * x[i]),
        [(3,)],
    ),
    "a result that is an argument": (lambda x: x, [(2, 2)]),
    "no array at all": (lambda x, y: unary("log", x) / unary("sqrt", y) + unary("cos", -x), [(), ()]),
}


def cases():
    rng = np.random.default_rng(3)
    small = [(program(f), [rng.uniform(0.5, 1.5, s).tolist() for s in shapes]) for f, shapes in CASES.values()]
    return [*((example.program(4), example.arguments(4)) for example in PROGRAMS.values()), *small]


every = pytest.mark.parametrize(("made", "args"), cases(), ids=[*PROGRAMS, *CASES])


def shapes_of(made, args):
    return dict(zip(made.arguments, map(np.shape, args), strict=True))


def terms(t):
    found = [t]
    rewritten(lambda u: (found.extend(terms(u)), u)[1], t)
    return found


@every
def test_b_removes_every_build_and_keeps_the_meaning(made, args):
    bulk = vectorised(made, shapes_of(made, args))
    assert not any(isinstance(t, (Build, Index)) for t in terms(bulk.body) if not _in_an_index(bulk.body, t))
    assert free(bulk.body) <= set(bulk.arguments)
    assert shape(bulk.body, shapes_of(made, args)) == np.shape(elementwise.function(made)(*args))
    y = elementwise.function(made)(*args)
    np.testing.assert_array_equal(elementwise.function(bulk)(*args), y)
    np.testing.assert_allclose(dual_arrays.vjp(made, *args)[0], y, rtol=1e-15)


def _in_an_index(whole, t):
    """Whether a term stands in the indices of a gather or scatter: a table of whole numbers is indexed there."""
    return any(t in terms(j) for u in terms(whole) for j in getattr(u, "at", ()))


@every
@pytest.mark.parametrize("bulk_operations", [True, False])
def test_value_and_gradient_are_those_of_d4(made, args, bulk_operations):
    y, pullback = STAGES["arrays"].vjp(elementwise.function(made), *args)
    same, again = dual_arrays.vjp(made, *args, bulk_operations=bulk_operations)
    np.testing.assert_allclose(same, y, rtol=1e-15)
    ct = np.random.default_rng(1).normal(size=np.shape(y))
    for u, expected, found in zip(args, pullback(ct.tolist()), again(ct), strict=True):
        if found is None:
            assert np.asarray(u).dtype.kind == "i"
        else:
            assert found.shape == np.shape(u)
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@every
def test_gradients_are_those_of_differences_and_of_dr_vjp(made, args):
    f, h = elementwise.function(made), 1e-5
    ct = np.random.default_rng(2).normal(size=np.shape(f(*args)))
    cts = dual_arrays.vjp(made, *args)[1](ct)
    for found, expected in zip(cts, dr.vjp(f, *args)[1](ct.tolist()), strict=True):
        if found is not None:
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    real = [k for k, z in enumerate(cts) if z is not None]
    rng = np.random.default_rng(4)
    vs = {k: rng.normal(size=np.shape(args[k])) for k in real}

    def at(s):
        return np.array(f(*((np.array(u) + s * h * vs[k]).tolist() if k in vs else u for k, u in enumerate(args))))

    expected = np.sum((at(1) - at(-1)) / (2 * h) * ct)
    assert sum(np.sum(cts[k] * vs[k]) for k in real) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("name", ["softmax", "rows", "nested"])
def test_second_derivatives_with_d4_around_it(name):
    made, args = PROGRAMS[name].program(2), PROGRAMS[name].arguments(2)
    weights = np.random.default_rng(5).normal(size=np.shape(elementwise.function(made)(*args)))

    def slopes(*args):
        boxed = [np.array(u, dtype=object) for u in args]
        return [z.tolist() for z in dual_arrays.vjp(made, *boxed)[1](weights)]

    def of_d4(*args):
        return list(STAGES["arrays"].vjp(elementwise.function(made), *args)[1](weights.tolist()))

    second = []
    for f in (slopes, of_d4):
        zs, pullback = STAGES["arrays"].vjp(f, *args)
        second.append(pullback([np.cos(np.array(z, dtype=float)).tolist() for z in zs]))
    np.testing.assert_allclose(*second, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", ["dot product", "matrix product", "convolution"])
def test_d4_has_a_backpropagator_for_each_scalar_and_dual_arrays_for_each_bulk_operation(name):
    example = PROGRAMS[name]
    created = {n: dual_arrays.count(example.program(n), *example.arguments(n)).created for n in (4, 8, 16)}
    assert len(set(created.values())) == 1
    of_d4 = {
        n: count("arrays", elementwise.function(example.program(n)), *example.arguments(n)).created for n in (4, 8)
    }
    assert of_d4[8] >= 1.8 * of_d4[4]


@pytest.mark.parametrize(("name", "power"), [("dot product", 1), ("matrix product", 3), ("convolution", 1)])
def test_without_b_an_index_costs_a_whole_array(name, power):
    example = PROGRAMS[name]
    for bulk_operations, grows in ((True, power), (False, power + (2 if name == "matrix product" else 1))):
        small, large = (
            dual_arrays.count(example.program(n), *example.arguments(n), bulk_operations=bulk_operations).array_writes
            for n in (8, 16)
        )
        assert grows - 0.6 < np.log2(large / small) < grows + 0.1


def test_the_table_on_the_page_is_what_is_counted():
    rows = [line.split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `bulk` ")]
    assert len(rows) == 6
    for _, name, n, *cells in rows:
        example, n = PROGRAMS[name], int(n)
        made, args = example.program(n), example.arguments(n)
        of_d4 = count("arrays", elementwise.function(made), *args)
        loops, bulk = (dual_arrays.count(made, *args, bulk_operations=on) for on in (False, True))
        found = [of_d4.created, loops.created, loops.array_writes, bulk.created, bulk.array_writes]
        assert [f"{u:,}" for u in found] == [cell.strip(" |") for cell in cells]


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: program(lambda i: build(2, lambda i: i)), ValueError, "i is bound again in its scope; use another"),
        (lambda: program(lambda x: Var("y") * x), ValueError, "y is not bound; the variables in scope are x"),
        (lambda: dual_arrays.vjp(program(lambda x: x * 2.0), [1.0]), ValueError, "operands of the shapes () and (1,)"),
        (
            lambda: dual_arrays.vjp(program(lambda x: x[0, 0]), [1.0]),
            ValueError,
            "2 indices for an array of shape (1,)",
        ),
        (lambda: dual_arrays.vjp(program(lambda x: build(0, lambda i: x)), 1.0), ValueError, "sizes are at least 1"),
        (lambda: dual_arrays.vjp(program(lambda x: x * x), [1, 2]), TypeError, "which can only be an index"),
        (lambda: dual_arrays.vjp(program(lambda x, y: x[y]), [1.0], 0.0), TypeError, "made from whole numbers"),
        (
            lambda: dual_arrays.vjp(program(lambda x: build(2, lambda i: x * i)), 1.0),
            TypeError,
            "i is no array element",
        ),
        (lambda: dual_arrays.vjp(program(lambda x: x), [1.0])[1]([1.0, 2.0]), ValueError, "a cotangent of shape (2,)"),
        (lambda: dual_arrays.vjp(program(lambda x: x), 1j), TypeError, "an array of complex128"),
        (lambda: shape(gather((2,), Var("x"), lambda i, j: [i]), {"x": (2,)}), ValueError, "1 axes and 2 indices"),
    ],
)
def test_errors_name_the_term(make, error, says):
    with pytest.raises(error) as caught:
        make()
    assert says in str(caught.value)


def test_a_gather_and_a_scatter_are_each_others_transposes():
    rng = np.random.default_rng(6)
    f = lambda i, j: [i + 2 * j - 1]  # noqa: E731
    read, write = program(lambda x: gather((3, 2), x, f)), program(lambda x: scatter((4,), x, f))
    x, z = rng.normal(size=4), rng.normal(size=(3, 2))
    np.testing.assert_allclose(dual_arrays.vjp(read, x)[1](z)[0], dual_arrays.vjp(write, z)[0], rtol=1e-14)
    np.testing.assert_allclose(dual_arrays.vjp(write, z)[1](x)[0], dual_arrays.vjp(read, x)[0], rtol=1e-14)


def test_the_examples_on_the_page_run():
    assert doctest.testfile(str(PAGE), module_relative=False).failed == 0
