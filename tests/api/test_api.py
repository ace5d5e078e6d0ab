"""The functions of the API: arguments, structures, dtypes, Jacobians, and what is refused; through every engine."""

import collections
import dataclasses
import math

import numba
import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher
from support.oracle import assert_same

import dualrev as dr
from dualrev import numpy as dnp
from dualrev.eager.tape import engine as tape
from dualrev.errors import ArgumentError, ArgumentNumberError, AuxiliaryError, CotangentError, ScalarError, TangentError
from stages import STAGES

ENGINES = {"default": None, **STAGES}
engines = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
transforms = pytest.mark.parametrize("transform", [dr.grad, dr.value_and_grad, dr.jacrev, dr.jacfwd, dr.jacobian])


def product(a, b, c):
    return a * b * b * c


# argnums


@pytest.mark.parametrize(
    ("argnums", "expected"),
    [
        (0, 36.0),
        (-1, 18.0),
        (np.int64(1), 48.0),
        ((1,), (48.0,)),
        ((0, -1), (36.0, 18.0)),
        ([2, 0], (18.0, 36.0)),
        ((np.int32(1), np.uint8(0)), (48.0, 36.0)),
        (range(2), (36.0, 48.0)),
    ],
)
@pytest.mark.parametrize("transform", [dr.grad, dr.jacrev, dr.jacfwd, dr.jacobian])
def test_argnums(transform, argnums, expected):
    assert transform(product, argnums)(2.0, 3.0, 4.0) == expected


@transforms
@pytest.mark.parametrize(
    "argnums", [3, -4, (), (0, 0), (2, -1), True, (True, 0), 1.0, None, "ab", np.array([0, 1]), (0, None)], ids=repr
)
def test_argnums_that_name_no_arguments(transform, argnums):
    with pytest.raises(ArgumentNumberError, match=r"argnums must be an int or (a tuple of|distinct) ints.*, got "):
        transform(product, argnums)(2.0, 3.0, 4.0)


@transforms
def test_what_is_passed_by_keyword_is_not_differentiated(transform):
    with pytest.raises(ArgumentNumberError, match="what is passed by keyword is not differentiated"):
        transform(product)(a=2.0, b=3.0, c=4.0)


@engines
def test_keyword_arguments_are_passed_through(engine):
    def f(x, n=1, *, scale, shift=0.0):
        return scale * x**n + shift

    assert dr.grad(f, engine=engine)(2.0, n=3, scale=2.0) == 24.0
    assert dr.hessian(f, engine=engine)(2.0, n=3, scale=2.0, shift=7.0) == 24.0
    assert dr.hvp(f, engine=engine)(2.0, 0.5, 3, scale=2.0) == 12.0


@transforms
@pytest.mark.parametrize("x", [2, True, None, "2", np.arange(3), [1, 2], {}], ids=repr)
def test_an_argument_without_a_real_leaf_is_a_type_error_that_says_so(transform, x):
    with pytest.raises(ArgumentError, match=r"Write (2\.0 where you wrote 2|x\.astype\(float\))") as caught:
        transform(lambda x, y: y)(x, 1.0)
    assert isinstance(caught.value, TypeError)
    with pytest.raises(ArgumentError, match=rf"\(types: {type(x).__name__}\)"):
        transform(lambda x, y: y, argnums=(1, 0))(x, 1.0)


@pytest.mark.parametrize("transform", [dr.grad, dr.jacobian, dr.hessian, dr.hvp, dr.checkpoint, dr.custom_vjp])
def test_what_is_no_function_is_refused_at_once(transform):
    with pytest.raises(TypeError, match=r"expected a function.*3\.0 \(type float\)"):
        transform(3.0)


def test_hvp_says_what_it_takes():
    with pytest.raises(TypeError, match=r"hvp\(f\)\(x, p, \*args\)"):
        dr.hvp(product)(1.0)


# Values and auxiliary results


@transforms
@engines
def test_aux_is_what_the_function_returned_beside_its_value(transform, engine):
    def f(x):
        return np.sum(x * x), {"double": 2.0 * x, "n": 3, "first": x[0]}

    made = transform(f, has_aux=True, engine=engine)(np.array([1.0, 2.0]))
    expected = {"double": np.array([2.0, 4.0]), "n": 3, "first": 1.0}
    gradient = np.array([2.0, 4.0])
    assert_same(made, ((5.0, expected), gradient) if transform is dr.value_and_grad else (gradient, expected))


def test_aux_of_vjp_jvp_and_hessian():
    def f(x):
        return x**3, x + 1.0

    y, pullback, aux = dr.vjp(f, 2.0, has_aux=True)
    assert (y, pullback(1.0), aux) == (8.0, (12.0,), 3.0)
    assert dr.jvp(f, (2.0,), (1.0,), has_aux=True) == (8.0, 12.0, 3.0)
    assert dr.hessian(f, has_aux=True)(2.0) == (12.0, 3.0)


@engines
def test_aux_of_an_inner_derivative_carries_the_outer_one(engine):
    def outer(x):  # 2xy at y = x, times x*x
        gradient, aux = dr.grad(lambda y: (np.sum(x * y * y), x * y), has_aux=True, engine=engine)(x)
        return np.sum(gradient * aux)

    assert_same(dr.grad(outer, engine=engine)(np.array([3.0, 2.0])), np.array([216.0, 64.0]))


@engines
def test_aux_of_a_function_that_empties_its_argument(engine):
    def clears(p):
        y = p[0] * p[1][0]
        p[1][...] = 0.0
        p.clear()
        return y, 1.0

    made = dr.grad(clears, has_aux=True, engine=engine)([3.0, np.ones(1)])
    assert_same(made, ([1.0, np.array([3.0])], 1.0))


@pytest.mark.parametrize("y", [lambda x: x, lambda x: [x, x], lambda x: (x, x, x)])
@transforms
def test_aux_that_is_missing(transform, y):
    with pytest.raises(AuxiliaryError, match=r"returns a pair \(value, aux\)"):
        transform(y, has_aux=True)(1.0)


@pytest.mark.parametrize("y", [lambda x: [x], lambda x: np.ones(1) * x, lambda x: (x, x)])
def test_a_gradient_is_of_one_number(y):
    with pytest.raises(ScalarError, match="Return one number, such as the sum"):
        dr.grad(y)(1.0)


# Structures and dtypes


Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass(frozen=True)
class Model:
    weights: np.ndarray
    bias: float
    name: str = "m"


class Interval:
    def __init__(self, low, high):
        self.low, self.high = low, high


dr.register_node(Interval, lambda i: ((i.low, i.high), None), lambda rest, children: Interval(*children))


@engines
@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (lambda p: p["a"] * p["n"], {"a": 0.5, "n": 3}, {"a": 3.0, "n": None}),
        (lambda p: p.x * p.y, Point(2.0, 3.0), Point(3.0, 2.0)),
        (lambda m: np.sum(m.weights) * m.bias, Model(np.ones(2), 3.0), Model(np.full(2, 3.0), 2.0, None)),
        (lambda p: p[0][0] * p[1][0], [(2.0, None), [3.0, "s"]], [(3.0, None), [2.0, None]]),
        (lambda x: x * x, np.float32(3.0), np.float32(6.0)),
        (lambda x: x * x, np.float64(3.0), np.float64(6.0)),
        (lambda x: x * x, np.float16(3.0), np.float16(6.0)),
        (lambda x: np.sum(x * x), np.ones((1, 2), np.float32), np.full((1, 2), 2.0, np.float32)),
        (lambda x: np.sum(x[1:] * x[:-1]), np.ones((3, 2)), np.array([[1.0, 1.0], [2.0, 2.0], [1.0, 1.0]])),
        (lambda x: 3.0, np.ones(2), np.zeros(2)),
        (lambda x: x, 2.0, 1.0),
    ],
)
def test_gradients_look_like_their_argument(engine, f, x, expected):
    assert_same(dr.grad(f, engine=engine)(x), expected)


@engines
def test_gradients_of_a_registered_class(engine):
    made = dr.grad(lambda i: i.low * i.high, engine=engine)(Interval(2.0, 3.0))
    assert isinstance(made, Interval)
    assert (made.low, made.high) == (3.0, 2.0)


ZERO_D = pytest.mark.parametrize("dtype", [np.float64, np.float32])


@engines
@ZERO_D
def test_an_array_without_axes(engine, dtype):
    x = np.array(3.0, dtype)
    y, gradient = dr.value_and_grad(lambda x: x * x * x, engine=engine)(x)
    assert y == 27.0
    assert_same(gradient, np.array(27.0, dtype))
    assert_same(dr.hvp(lambda x: x * x * x, engine=engine)(x, np.array(2.0)), np.array(36.0, dtype))
    for transform in (dr.jacrev, dr.jacfwd, dr.jacobian):
        assert_same(transform(lambda x: x * x * x, engine=engine)(x), np.array(27.0, dtype))


@pytest.mark.parametrize("shape", [(0,), (0, 3)])
def test_empty_arrays(shape):
    x = np.zeros(shape)
    assert_same(dr.grad(np.sum)(x), x)
    for transform in (dr.jacrev, dr.jacfwd, dr.jacobian):
        assert_same(transform(lambda x: 2.0 * x)(x), np.zeros(shape + shape))
    assert_same(dr.hessian(lambda x: np.sum(x * x))(x), np.zeros(shape + shape))


@engines
def test_the_same_array_twice_is_two_arguments(engine):
    a = np.arange(3.0)
    made = dr.grad(lambda p: np.sum(p[0] * p[1] * p[1]), engine=engine)([a, a])
    assert_same(made, [a * a, 2.0 * a * a])


@engines
def test_the_caller_s_array_stays_as_it_is(engine):
    def f(x):
        x[0] = 5.0
        x *= 2.0
        return np.sum(x * x)

    a = np.arange(3.0)
    assert_same(dr.value_and_grad(f, engine=engine)(a), (120.0, np.array([0.0, 8.0, 16.0])))
    assert_same(dr.hvp(f, engine=engine)(a, np.ones(3)), np.array([0.0, 8.0, 8.0]))
    assert_same(dr.hessian(f, engine=engine)(a), np.diag([0.0, 8.0, 8.0]))
    assert_same(a, np.arange(3.0))


def test_a_value_that_is_the_argument_is_a_copy():
    a = np.ones(2)
    y, pullback = dr.vjp(lambda x: x, a)
    y[0] = 7.0
    assert_same(a, np.ones(2))
    assert_same(pullback(np.array([1.0, 2.0])), (np.array([1.0, 2.0]),))


# Jacobians: all combinations, against differences of one number by one number


S, V, M = 1.5, np.array([0.5, 2.0]), np.array([[0.3, -0.4, 1.0]])
INPUTS = {
    "scalar": S,
    "vector": V,
    "matrix": M,
    "nested": {"v": V, "n": 3, "s": (S, None)},
    "numpy scalar": np.float32(1.5),
    "float32": V.astype(np.float32),
}
OUTPUTS = {
    "scalar": lambda t: t,
    "vector": lambda t: t * np.array([1.0, 2.0, 3.0]),
    "matrix": lambda t: t * np.array([[1.0, -1.0]]) + np.array([[0.5], [2.0]]) * t**2,
    "constant": lambda t: np.ones(2),
    "nested": lambda t: {"a": t * t, "b": [np.array([1.0, 2.0]) * t, None, 3]},
}


def of_leaves(leaves):
    return sum((np.sum(np.sin(leaf) * leaf) for leaf in leaves), 0.0)


def expected_jacobian(y, x, slope):
    """Structure of y, of x in each leaf: shape of y's leaf + shape of x's."""

    def by_input(dy):
        def of(leaf):
            if not isinstance(leaf, (float, np.ndarray, np.floating)):
                return None
            inner = np.sin(leaf) + leaf * np.cos(leaf)
            made = np.multiply.outer(np.asarray(dy), np.asarray(inner, dtype=float))
            dtype = leaf.dtype if hasattr(leaf, "dtype") else float
            return (
                made.astype(dtype) if made.ndim else (leaf.dtype.type(made) if hasattr(leaf, "dtype") else float(made))
            )

        if isinstance(x, dict):
            return {"v": of(x["v"]), "n": None, "s": (of(x["s"][0]), None)}
        return of(x)

    if isinstance(y, dict):
        return {"a": by_input(slope["a"]), "b": [by_input(slope["b"][0]), None, None]}
    return by_input(slope)


@pytest.mark.parametrize("transform", [dr.jacrev, dr.jacfwd, dr.jacobian])
@pytest.mark.parametrize("x", INPUTS.values(), ids=INPUTS)
@pytest.mark.parametrize("output", OUTPUTS.values(), ids=OUTPUTS)
def test_jacobians_of_all_combinations(transform, x, output):
    def f(x):
        return output(of_leaves([x["v"], x["s"][0]] if isinstance(x, dict) else [x]))

    t = of_leaves([x["v"], x["s"][0]] if isinstance(x, dict) else [x])
    slopes = {
        "scalar": 1.0,
        "vector": np.array([1.0, 2.0, 3.0]),
        "matrix": np.array([[1.0, -1.0]]) + 2.0 * t * np.array([[0.5], [2.0]]),
        "constant": np.zeros(2),
        "nested": {"a": 2.0 * t, "b": [np.array([1.0, 2.0])]},
    }
    slope = next(slopes[name] for name, g in OUTPUTS.items() if g is output)
    expected = expected_jacobian(output(t), x, slope)
    rtol = 1e-6 if "float32" in str(getattr(x, "dtype", "")) else 1e-12
    assert_same(transform(f)(x), expected, rtol=rtol)
    assert_same(transform(f, argnums=(0,))(x), expected_tuple(expected, output(t)), rtol=rtol)


def expected_tuple(expected, y):
    if isinstance(y, dict):
        return {"a": (expected["a"],), "b": [(expected["b"][0],), None, None]}
    return (expected,)


def test_jacobian_takes_the_side_that_is_shorter():
    calls = []

    class Engine:
        @staticmethod
        def linearize(f, *primals):
            y, derivative = tape.linearize(f, *primals)
            pull, push = derivative.pull, derivative.push

            class Counted:
                def pull(self, ct):
                    calls.append("pull")
                    return pull(ct)

                def push(self, *tangents):
                    calls.append("push")
                    return push(*tangents)

            return y, Counted()

    dr.jacobian(lambda x: x[:2] * x[2], engine=Engine)(np.ones(5))
    assert calls == ["pull"] * 2
    calls.clear()
    dr.jacobian(lambda x: np.ones(5) * x[0] * x[1], engine=Engine)(np.ones(2))
    assert calls == ["push"] * 2


@engines
def test_jacobians_hessians_and_products_through_every_engine(engine):
    x = np.array([2.0, 3.0])

    def f(x):
        return x[0] ** 2 * x[1] + np.sum(x) ** 3

    h = np.array([[2.0 * 3.0 + 30.0, 4.0 + 30.0], [4.0 + 30.0, 30.0]])
    assert_same(dr.hessian(f, engine=engine)(x), h)
    for outer in (dr.jacrev, dr.jacfwd):
        for inner in (dr.jacrev, dr.jacfwd, dr.grad):
            assert_same(outer(inner(f, engine=engine), engine=engine)(x), h)
    assert_same(dr.hvp(f, engine=engine)(x, np.array([1.0, -1.0])), h @ np.array([1.0, -1.0]))
    primals, tangents = (2.0, np.ones(2)), (1.0, np.array([0.5, 1.0]))
    made = dr.jvp(lambda a, b: [a * b[0], 3.0, np.ones(2), 2.0 * b, "s"], primals, tangents, engine=engine)
    assert_same(made[0], [2.0, 3.0, np.ones(2), np.full(2, 2.0), "s"])
    assert_same(made[1], [2.0, 0.0, np.zeros(2), np.array([1.0, 2.0]), None])


@engines
def test_the_hessian_of_a_gradient_is_all_third_derivatives(engine):
    """hessian(grad(f)) has all third derivatives, with the shape s + s + s for an argument of shape s, as in JAX."""
    third = np.full((2, 2, 2), 6.0)
    for place in ((0, 0, 1), (0, 1, 0), (1, 0, 0)):
        third[place] += 2.0
    x = np.array([2.0, 3.0])

    def f(x):
        return x[0] ** 2 * x[1] + (x[0] + x[1]) ** 3

    for inner in (dr.grad, dr.jacrev, dr.jacfwd):
        assert_same(dr.hessian(inner(f, engine=engine), engine=engine)(x), third)
    assert_same(dr.jacfwd(dr.hessian(f, engine=engine), engine=engine)(x), third)


@engines
@pytest.mark.parametrize("constant", [3.0, np.float64(3.0), np.float32(3.0)])
def test_a_tangent_is_of_the_type_of_the_value(engine, constant):
    y, dy = dr.jvp(lambda x: [constant, x], (2.0,), (1.0,), engine=engine)
    assert [type(u) for u in (*y, *dy)] == [float] * 4


@engines
@pytest.mark.parametrize("transform", [dr.jacrev, dr.jacfwd])
def test_jacobians_of_an_array_without_axes_by_a_number(engine, transform):
    made = transform(lambda x: [np.array(2.0), np.array(x * x), x], engine=engine)(0.5)
    assert [type(u) for u in made] == [float] * 3
    assert made == [0.0, 1.0, 1.0]


def test_hessians_of_nested_data():
    p = {"a": 2.0, "v": np.array([3.0, 4.0]), "n": 1}
    made = dr.hessian(lambda p: p["a"] ** 2 * np.sum(p["v"] ** 2))(p)
    v = p["v"]
    expected = {
        "a": {"a": 50.0, "v": 8.0 * v, "n": None},
        "v": {"a": 8.0 * v, "v": 8.0 * np.eye(2), "n": None},
        "n": None,
    }
    assert_same(made, expected)
    made = dr.hessian(product, argnums=(0, 1))(2.0, 3.0, 4.0)
    assert made == ((0.0, 24.0), (24.0, 16.0))
    assert_same(dr.hessian(lambda m: Point(m.bias**3, np.sum(m.weights)))(Model(np.ones(1), 2.0)).x.bias.bias, 12.0)


def test_jacobians_of_arrays_of_dualrev_numpy():
    x = dnp.array([1.0, 2.0])
    for transform in (dr.jacrev, dr.jacfwd, dr.jacobian):
        assert_same(transform(lambda x: x * x[0])(x), np.array([[2.0, 0.0], [2.0, 1.0]]))


# Tangents and cotangents of another structure


@engines
@pytest.mark.parametrize(
    "tangents",
    [(1.0,), (1.0, 1.0), (1.0, np.ones(3)), (np.ones(2), 1.0), (1.0, [1.0, 1.0]), (1.0, (None, None)), 1.0],
    ids=str,
)
def test_tangents_of_another_structure(engine, tangents):
    with pytest.raises(TangentError, match=r"a tangent is .* where the primals have"):
        dr.jvp(lambda x, v: x * v, (2.0, np.ones(2)), tangents, engine=engine)


@engines
@pytest.mark.parametrize(("tangents", "expected"), [((None, np.ones(2)), 2.0), ((1.0, None), 1.0), ((None, None), 0.0)])
def test_an_argument_without_a_tangent_does_not_move(engine, tangents, expected):
    y, dy = dr.jvp(lambda x, v: x * v, (2.0, np.ones(2)), tangents, engine=engine)
    assert_same((y, dy), (np.full(2, 2.0), np.full(2, expected)))


def test_primals_that_are_no_tuple():
    with pytest.raises(TypeError, match=r"write jvp\(f, \(x,\), \(t,\)\)"):
        dr.jvp(np.sum, np.ones(2), (np.ones(2),))


@engines
@pytest.mark.parametrize("ct", [None, 1.0, [1.0], {"a": 1.0}, {"a": 1.0, "b": np.ones(3)}, {"a": "1", "b": np.ones(2)}])
def test_cotangents_of_another_structure(engine, ct):
    _, pullback = dr.vjp(lambda x: {"a": x, "b": x * np.ones(2)}, 2.0, engine=engine)
    with pytest.raises(CotangentError, match="the pullback was given"):
        pullback(ct)
    assert pullback({"a": 1, "b": np.ones(2, int)}) == (3.0,)


# Functions as methods, and their names


class Oscillator:
    k = 3.0

    def energy(self, x):
        """Half k x^2."""
        return 0.5 * self.k * x * x

    force = dr.grad(energy, argnums=1)

    @dr.checkpoint
    def saved(self, x):
        return self.k * x * x

    @dr.custom_vjp
    def ruled(self, x):
        return self.k * x

    ruled.defvjp(lambda self, x: (self.k * x, self.k), lambda k, ct: (None, k * ct))

    @dr.custom_jvp
    def pushed(self, x):
        return self.k * x

    pushed.defjvp(lambda primals, tangents: (primals[0].k * primals[1], primals[0].k * tangents[1]))


def test_methods():
    o = Oscillator()
    assert (o.force(2.0), Oscillator.force(o, 2.0), dr.grad(o.energy)(2.0)) == (6.0, 6.0, 6.0)
    assert (o.saved(2.0), dr.grad(o.saved)(2.0), dr.hessian(o.saved)(2.0)) == (12.0, 12.0, 6.0)
    assert (o.ruled(2.0), dr.grad(o.ruled)(2.0), dr.grad(o.pushed)(2.0)) == (6.0, 3.0, 3.0)


def test_a_derivative_has_the_name_of_its_function():
    assert Oscillator.force.__name__ == "energy"
    assert Oscillator.force.__doc__ == "Half k x^2."
    assert repr(dr.value_and_grad(math.sin)) == "<dualrev.value_and_grad of sin>"


# check_grads


def wrong_vjp(order):
    """A square whose derivative of this order is wrong."""

    @dr.custom_vjp
    def f(x):
        return x * x * x

    @dr.custom_vjp
    def slope(x):
        return 3.0 * x * x

    f.defvjp(lambda x: (x * x * x, x), lambda x, ct: ((3.1 * x * x if order == 1 else slope(x)) * ct,))
    slope.defvjp(lambda x: (3.0 * x * x, x), lambda x, ct: (5.9 * x * ct,))
    return f


@pytest.mark.parametrize("modes", [("fwd",), ("rev",), ("fwd", "rev"), ["rev"]])
@pytest.mark.parametrize("x", [1.5, np.array([1.5, -0.5]), np.array([[1.5]], np.float32)], ids=str)
def test_check_grads_finds_what_is_wrong_in_each_mode_and_order(modes, x):
    def total(f):
        return lambda p: np.sum(f(p["x"])) * p["n"]

    args = ({"x": x, "n": 2},)
    dr.check_grads(total(lambda x: x * x * x), args, 2, modes)
    with pytest.raises(
        AssertionError,
        match=r"'.*total.*' with respect to argument 0, order 1: found .*The rule of '.*wrong_vjp.*' takes part",
    ):
        dr.check_grads(total(wrong_vjp(1)), args, 1, modes)
    dr.check_grads(total(wrong_vjp(2)), args, 1, modes)
    with pytest.raises(AssertionError):
        dr.check_grads(total(wrong_vjp(2)), args, 2, modes)


@pytest.mark.parametrize("modes", [("fwd",), ("rev",)])
def test_check_grads_finds_a_hessian_that_is_not_symmetric(modes):
    skew = np.array([[0.0, 1.0], [-1.0, 0.0]])

    @dr.custom_vjp
    def slope(x):
        return 2.0 * x

    slope.defvjp(lambda x: (2.0 * x, None), lambda _, ct: (2.0 * ct + skew @ ct,))

    @dr.custom_vjp
    def f(x):
        return np.sum(x * x)

    f.defvjp(lambda x: (np.sum(x * x), x), lambda x, ct: (slope(x) * ct,))
    dr.check_grads(f, (np.ones(2),), 1, modes)
    with pytest.raises(AssertionError):
        dr.check_grads(f, (np.ones(2),), 2, modes)


def test_check_grads_leaves_its_arguments_alone():
    def f(x):
        x *= 2.0
        return np.sum(x**2)

    a = np.array([1.0, 2.0])
    dr.check_grads(f, (a,))
    assert_same(a, np.array([1.0, 2.0]))


@engines
def test_check_grads_through_every_engine(engine):
    dr.check_grads(lambda x, p: np.sin(x) * p["v"] * p["n"], (0.5, {"v": np.ones(2), "n": 2}), engine=engine)
    wrong = STAGES["sparse"]

    class Off:
        @staticmethod
        def vjp(f, *primals):
            y, pullback = wrong.vjp(f, *primals)
            return y, lambda ct: tuple(2.0 * u for u in pullback(ct))

    with pytest.raises(AssertionError):
        dr.check_grads(lambda x: x * x, (0.5,), engine=Off)


@pytest.mark.parametrize(
    "options",
    [
        *({"order": 0}, {"order": 1.5}, {"order": True}, {"order": "2"}),
        *({"modes": ()}, {"modes": ("forward",)}, {"modes": "fwd"}),
    ],
    ids=str,
)
def test_check_grads_says_what_it_takes(options):
    with pytest.raises(ValueError, match="modes are 'fwd' and 'rev', an order is an int of at least 1"):
        dr.check_grads(np.sin, (1.0,), **options)


@pytest.mark.parametrize("eps", [0.0, -1e-5, np.nan])
def test_check_grads_takes_a_step(eps):
    with pytest.raises(ValueError, match="eps is the step of the differences"):
        dr.check_grads(np.sin, (1.0,), eps=eps)


def test_check_grads_takes_a_tuple_of_arguments():
    with pytest.raises(TypeError, match=r"write check_grads\(f, \(x,\)\)"):
        dr.check_grads(np.sum, np.ones(2))


def test_check_grads_of_nan_fails():
    with pytest.raises(AssertionError, match="nan"):
        dr.check_grads(lambda x: x * math.nan, (1.0,), 1)


@pytest.mark.parametrize("modes", [("fwd",), ("rev",)])
def test_check_grads_of_an_infinite_difference_fails(modes):
    """Any derivative would be within a tolerance that grows with the difference: here exp overflows beside x."""
    with np.errstate(over="ignore"), pytest.raises(dr.CheckError, match=r"expected -?inf"):
        dr.check_grads(lambda x: np.exp(x) * 1.0, (709.78271,), 1, modes)


@pytest.mark.parametrize("engine", ["tape", np, 3])
@transforms
def test_what_is_no_engine(transform, engine):
    with pytest.raises(TypeError, match=r"an engine has vjp\(f, \*primals\)"):
        transform(lambda x: x * x, engine=engine)(2.0)


# Numba functions


@numba.njit
def cubed(x):
    return x * x * x


def test_what_there_is_for_numba_functions_is_exported():
    assert {"UnsupportedError", "derivative_source", "lift"} <= set(dr.__all__)
    assert all(hasattr(dr, name) for name in dr.__all__)
    assert issubclass(dr.UnsupportedError, TypeError)


def test_a_numba_function_is_the_switch_to_compiled_derivatives():
    slope, both = dr.grad(cubed), dr.value_and_grad(cubed)
    assert isinstance(slope, Dispatcher)
    assert isinstance(both, Dispatcher)
    assert not isinstance(dr.grad(cubed.py_func), Dispatcher)
    assert slope(2.0) == dr.grad(cubed.py_func)(2.0) == 12.0
    assert both(2.0) == (8.0, 12.0)
    assert "d_x" in dr.derivative_source(cubed, 2.0)
    assert dr.grad(lambda x: dr.lift(cubed)(x) * x)(2.0) == 32.0


@numba.njit
def scaled(x, y):
    return x * x * y


@pytest.mark.parametrize("argnums", [1.0, True, np.bool_(True), "1", None, np.array([0, 1]), (True, 0), (0, 0), 2, -3])
@pytest.mark.parametrize("transform", [dr.grad, dr.value_and_grad, dr.jacobian])
def test_argnums_of_a_numba_function_are_ints(transform, argnums):
    """Also after the derivative by an equal number was asked for."""
    assert dr.grad(scaled, 1) is dr.grad(scaled, np.int64(1)) is dr.grad(scaled, -1)
    with pytest.raises(ArgumentNumberError, match=r"argnums must be an int or (a tuple of|distinct) ints.*, got "):
        transform(scaled, argnums)(2.0, 3.0)
    with pytest.raises(ArgumentNumberError):
        dr.derivative_source(scaled, 2.0, 3.0, argnums=argnums)
    with pytest.raises(ValueError, match="transform is one of grad, "):
        dr.derivative_source(scaled, 2.0, 3.0, transform="gradient")


def test_second_derivatives_of_a_numba_function_are_those_of_its_python_function():
    assert dr.hessian(cubed)(2.0) == dr.hessian(cubed.py_func)(2.0) == 12.0
    assert dr.hvp(cubed)(2.0, 0.5) == dr.hvp(cubed.py_func)(2.0, 0.5) == 6.0


def test_check_grads_by_some_arguments():
    def f(x, y):
        return x * x * abs(y)  # it has no derivative by y at 0

    dr.check_grads(f, (2.0, 0.0), argnums=0)
    with pytest.raises(dr.CheckError):
        dr.check_grads(f, (2.0, 0.0))
    dr.check_grads(numba.njit(f), (2.0, 0.0), argnums=0)  # of order 2, too: of its compiled derivatives
    with pytest.raises(ArgumentNumberError):
        dr.check_grads(f, (2.0, 0.0), argnums=2)
