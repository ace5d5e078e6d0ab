"""custom_vjp, custom_jvp, checkpoint, stop_gradient, value and primitive: right in every mode, order and engine."""

import itertools
import math

import numpy as np
import pytest
from scipy import special
from support.oracle import assert_same, flat

import dualrev as dr
from dualrev import math as dm
from dualrev import numpy as dnp
from dualrev.eager.arrays.ufuncs import table_by_ufunc
from dualrev.errors import ClosureError, ConversionError, CustomRuleError, PrimitiveError
from dualrev.rules.primitives import PRIMITIVES
from stages import STAGES

ENGINES = {"default": None, **STAGES}
engines = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)


@pytest.fixture(autouse=True)
def _the_table_as_it_was():
    before = dict(PRIMITIVES)
    yield
    PRIMITIVES.clear()
    PRIMITIVES.update(before)
    table_by_ufunc.cache_clear()


def plain(p, n, b=2.0):
    return {"y": p["a"] * p["v"] ** n * b, "s": np.sum(p["v"]) * p["a"], "n": n}


by_vjp = dr.custom_vjp(plain)
by_vjp.defvjp(
    lambda p, n, b: (by_vjp(p, n, b), (p, n, b)),
    lambda saved, ct: (
        {
            "a": np.sum(ct["y"] * saved[0]["v"] ** saved[1]) * saved[2] + ct["s"] * np.sum(saved[0]["v"]),
            "v": ct["y"] * saved[0]["a"] * saved[1] * saved[0]["v"] ** (saved[1] - 1) * saved[2]
            + ct["s"] * saved[0]["a"],
        },
        None,
        np.sum(ct["y"] * saved[0]["a"] * saved[0]["v"] ** saved[1]),
    ),
)
by_jvp = dr.custom_jvp(plain)


@by_jvp.defjvp
def rule(primals, tangents):
    (p, n, b), (dp, dn, db) = primals, tangents
    assert dn is None
    v = p["v"]
    dy = dp["a"] * v**n * b + p["a"] * n * v ** (n - 1) * dp["v"] * b + p["a"] * v**n * db
    return by_jvp(p, n, b), {"y": dy, "s": np.sum(dp["v"]) * p["a"] + np.sum(v) * dp["a"], "n": None}


BLOCKS = {
    "custom_vjp": by_vjp,
    "custom_jvp": by_jvp,
    "checkpoint": dr.checkpoint(plain),
    "checkpoint in checkpoint": dr.checkpoint(lambda p, n, b=2.0: dr.checkpoint(plain)(p, n, b=b)),
    "checkpoint of custom_jvp": dr.checkpoint(by_jvp),
}
blocks = pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS)
P = ({"a": 2.0, "v": np.array([1.0, 3.0])}, 1.5)
T = ({"a": 1.0, "v": np.array([0.5, -0.2])}, 0.3)


def total(block):
    def f(p, b):
        y = block(p, 2, b=b)
        return np.sum(y["y"] * y["y"][::-1]) + y["s"] ** 2 * y["n"]

    return f


@blocks
@engines
def test_a_block_is_the_function_that_it_stands_for(block, engine):
    f, g = total(plain), total(block)
    both = (0, 1)
    assert_same(dr.value_and_grad(g, both, engine=engine)(*P), dr.value_and_grad(f, both)(*P))
    assert_same(dr.jvp(g, P, T, engine=engine), dr.jvp(f, P, T))
    if engine is STAGES["naive"]:
        return  # it takes exponential time
    hessian = flat(dr.hessian(f, both)(*P))
    for outer, inner in itertools.product((dr.jacrev, dr.jacfwd), repeat=2):
        for e_out, e_in in {(engine, engine), (engine, None), (None, engine)}:
            assert_same(flat(outer(inner(g, both, engine=e_in), both, engine=e_out)(*P)), hessian)


@blocks
def test_a_block_has_the_derivatives_that_differences_show(block):
    dr.check_grads(total(block), P, order=2)
    dr.check_grads(lambda b: total(block)(P[0], b), P[1:], order=2)


@pytest.mark.parametrize("make", ["custom_vjp", "custom_jvp", "checkpoint"])
@pytest.mark.parametrize(("outer", "inner"), list(itertools.product(("default", "staged", "tape"), repeat=2)))
def test_numbers_of_an_outer_derivative_in_a_closure(make, outer, inner):
    def f(a):
        def h(x):
            return a * x * x * x

        if make == "custom_vjp":
            h = dr.custom_vjp(h)
            h.defvjp(lambda x: (a * x * x * x, x), lambda x, ct: (3.0 * a * x * x * ct,))
        elif make == "custom_jvp":
            h = dr.custom_jvp(h)
            h.defjvp(lambda primals, tangents: (None, 3.0 * a * primals[0] ** 2 * tangents[0]))
        else:
            h = dr.checkpoint(h)
        return dr.grad(h, engine=ENGINES[inner])(2.0) * a  # 12 a^2

    assert dr.grad(f, engine=ENGINES[outer])(3.0) == 72.0
    assert dr.hessian(f, engine=ENGINES[outer])(3.0) == 24.0


def closure(make):
    def f(a):
        def h(x):
            return a * x

        if make is dr.custom_vjp:
            h = dr.custom_vjp(h)
            h.defvjp(lambda x: (a * x, None), lambda _, ct: (ct,))
        elif make is dr.custom_jvp:
            h = dr.custom_jvp(h)
            h.defjvp(lambda primals, tangents: (a * primals[0], a * tangents[0]))
        else:
            h = dr.checkpoint(h)
        return h(a)  # this very line

    return f


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (dr.custom_vjp, CustomRuleError, "every number under differentiation that it uses to be among its arguments"),
        (dr.custom_jvp, CustomRuleError, "every number under differentiation that it uses to be among its arguments"),
        (dr.checkpoint, ClosureError, "uses a number under differentiation that is not among its arguments"),
    ],
)
def test_numbers_of_the_same_derivative_in_a_closure_are_refused(make, error, text):
    with pytest.raises(error, match=text) as caught:
        dr.grad(closure(make))(3.0)
    assert f"at {__file__}:" in str(caught.value)
    assert "`return h(a)  # this very line`" in str(caught.value)
    with pytest.raises(error, match=text):  # those of an inner one, where the argument is of an outer one
        dr.grad(
            lambda w: dr.grad(
                lambda y: dr.checkpoint(lambda x: x * y)(w) if make is dr.checkpoint else closure(make)(y) * w
            )(2.0)
        )(3.0)


@pytest.mark.parametrize("make", ["custom_vjp", "custom_jvp", "checkpoint"])
def test_arguments_that_are_changed_in_place_are_refused(make):
    def h(x):
        x[0] *= 3.0
        return np.sum(x * x)

    if make == "custom_vjp":
        block = dr.custom_vjp(h)
        block.defvjp(lambda x: (h(x), x), lambda x, ct: (2.0 * x * ct,))
    elif make == "custom_jvp":
        block = dr.custom_jvp(h)
        block.defjvp(lambda primals, tangents: (None, np.sum(2.0 * primals[0] * tangents[0])))
    else:
        block = dr.checkpoint(h)
    with pytest.raises(CustomRuleError, match="not to change its arguments in place: work on a copy, and return it"):
        dr.grad(lambda x: block(2.0 * x))(np.ones(2))


def test_what_is_changed_after_the_call_changes_no_derivative():
    def f(x):
        x = x.copy()
        y = dr.checkpoint(lambda u: np.sum(u * u))(x)
        x[0] = 7.0
        return y + x[0]

    assert_same(dr.grad(f)(np.array([1.0, 2.0])), np.array([2.0, 4.0]))


# Rules that do not fit


def vjp_of(fwd, bwd):
    f = dr.custom_vjp(lambda x: x * x)
    f.defvjp(fwd, bwd)
    return f


def jvp_of(rule):
    f = dr.custom_jvp(lambda x: x * x)
    f.defjvp(rule)
    return f


def saved(x):
    return x * x, x


TRANSFORMS = {
    "reverse": lambda f: dr.grad(lambda x: np.sum(f(x))),
    "forward": lambda f: lambda x: dr.jvp(f, (x,), (x,)),
    "second order": lambda f: dr.hessian(lambda x: np.sum(f(x))),
    "stage": lambda f: dr.grad(lambda x: np.sum(f(x)), engine=STAGES["contrib"]),
}


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
@pytest.mark.parametrize(
    ("f", "text"),
    [
        (dr.custom_vjp(lambda x: x), r"it needs defvjp\(fwd, bwd\)"),
        (dr.custom_jvp(lambda x: x), r"it needs defjvp\(rule\)"),
        (vjp_of(lambda x: x * x, None), r"a fwd that returns a pair \(y, residuals\)"),
        (vjp_of(saved, lambda x, ct: x * ct), "a bwd that returns a tuple of 1"),
        (vjp_of(saved, lambda x, ct: (x, x)), "a bwd that returns a tuple of 1"),
        (vjp_of(saved, lambda x, ct: (np.ones(3),)), r"an array of shape \(2,\) .* argument .* got array\(\[1., 1., 1"),
        (vjp_of(saved, lambda x, ct: (1.0,)), r"an array of shape \(2,\) .* got 1.0 \(type float\)"),
        (vjp_of(saved, lambda x, ct: ([x, x],)), r"an array of shape \(2,\) .* \(type list\)"),
        (jvp_of(lambda p, t: 2.0 * p[0] * t[0]), r"a rule that returns a pair \(y, dy\)"),
        (jvp_of(lambda p, t: (p[0], t[0][:1])), r"an array of shape \(2,\) .* value"),
        (jvp_of(lambda p, t: (p[0], t[0][0])), r"an array of shape \(2,\) .* value"),
        (jvp_of(lambda p, t: (p[0], None)), r"an array of shape \(2,\) .* got None \(type NoneType\)"),
    ],
)
def test_rules_that_do_not_fit(transform, f, text):
    with pytest.raises(CustomRuleError, match=text) as caught:
        transform(f)(np.array([1.0, 2.0]))
    assert "the derivative of '" in str(caught.value)
    assert f"at {__file__}:" in str(caught.value)


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_exceptions_in_a_rule_arrive_unchanged(transform):
    def fails(*args):
        raise KeyError("mine")

    for f in (vjp_of(fails, None), vjp_of(saved, fails), jvp_of(fails), dr.checkpoint(fails)):
        with pytest.raises(KeyError, match="mine"):
            transform(f)(np.ones(2))
    assert dr.grad(lambda x: x * x)(3.0) == 6.0


def test_none_stands_for_zero():
    f = vjp_of(saved, lambda x, ct: (None,))
    assert_same(dr.grad(lambda x: np.sum(f(x) + x))(np.ones(2)), np.ones(2))
    assert_same(dr.jvp(f, (np.ones(2),), (np.ones(2),))[1], np.zeros(2))


def test_rules_get_all_arguments_in_their_order():
    seen = []
    f = dr.custom_vjp(lambda x, n=2, scale=1.0: scale * x**n)
    f.defvjp(
        lambda *args: seen.append(args) or (args[2] * args[0] ** args[1], args),
        lambda args, ct: (ct * args[2] * args[1] * args[0] ** (args[1] - 1), None, None),
    )
    assert dr.grad(f)(2.0) == 4.0
    assert dr.grad(f)(2.0, scale=3.0, n=3) == 36.0
    assert seen == [(2.0, 2, 1.0), (2.0, 3, 3.0)]
    with pytest.raises(CustomRuleError, match="parameters that can be passed by position"):
        dr.grad(dr.custom_vjp(lambda x, *, k=1.0: k * x))(2.0)
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        dr.grad(f)(2.0, m=3)


def test_checkpoint_runs_the_function_again_and_takes_what_it_takes():
    runs = []

    @dr.checkpoint
    def f(x, p, *, n):
        runs.append(n)
        return {"y": x * p["v"] ** n, "n": n, "none": None}

    def g(x, p):
        y = f(x, p, n=2)
        return np.sum(y["y"]) * y["n"]

    y, pullback = dr.vjp(g, 3.0, {"v": np.ones(2), "name": "s"})
    assert (y, runs) == (12.0, [2])
    for times in (2, 3):
        assert_same(pullback(1.0), (4.0, {"v": np.full(2, 12.0), "name": None}))
        assert runs == [2] * times


def test_checkpoint_of_constants_and_of_the_argument():
    assert dr.grad(lambda x: x + dr.checkpoint(lambda u: 3.0)(x))(2.0) == 1.0
    assert dr.grad(lambda x: x * dr.checkpoint(lambda u: 3)(x))(2.0) == 3.0
    assert dr.grad(dr.checkpoint(lambda u: u))(2.0) == 1.0
    assert dr.grad(lambda x: dr.checkpoint(lambda u: x * u)(2.0))(3.0) == 2.0
    assert dr.grad(lambda x: np.sum(dr.checkpoint(lambda u: u * u)(dnp.array([x, 2.0, x * x]))))(2.0) == 36.0


# stop_gradient and value


@engines
def test_stop_gradient_is_a_constant_in_every_order(engine):
    f = lambda x: x**2 * dr.stop_gradient(x)  # noqa: E731
    assert dr.grad(f, engine=engine)(3.0) == 18.0
    assert dr.hessian(f, engine=engine)(3.0) == 6.0
    assert dr.jvp(f, (3.0,), (1.0,), engine=engine) == (27.0, 18.0)
    assert dr.grad(lambda x: x * dr.grad(lambda y: y * dr.stop_gradient(x * y), engine=engine)(3.0))(2.0) == 6.0
    made = dr.grad(lambda p: p["a"] * np.sum(dr.stop_gradient(p)["v"] * p["v"]), engine=engine)(P[0])
    assert_same(made, {"a": 10.0, "v": np.array([2.0, 6.0])})


@engines
def test_value_is_the_plain_number_at_any_depth(engine):
    seen = []

    def f(x):
        seen.append((dr.value(x[0]), dr.value(x), dr.value(np.sum(x))))
        return np.sum(x * x)

    dr.hessian(f, engine=engine)(np.array([1.0, 2.0]))
    for found in seen:
        assert_same(found, (1.0, np.array([1.0, 2.0]), 3.0), types=False)
        assert type(found[0]) is float
    assert (dr.value(3), dr.value(None), dr.value("a")) == (3, None, "a")


def test_stop_gradient_outside_of_a_derivative():
    data = {"a": 1, "b": None, "c": 2.0, "d": np.ones(2, np.float32), "e": [dnp.ones(1)]}
    made = dr.stop_gradient(data)
    assert_same({k: made[k] for k in "abcd"}, {k: data[k] for k in "abcd"})
    assert_same(made["e"], [np.ones(1)])


# primitive


@pytest.fixture(autouse=True)
def table():
    from dualrev.rules.primitives import PRIMITIVES

    before = dict(PRIMITIVES)
    yield
    for name in PRIMITIVES.keys() - before.keys():
        del PRIMITIVES[name]


LINES = {
    "text": (("log1p(exp(x))", "1.0 / (1.0 + exp(-x))"), 1, lambda x: math.log1p(math.exp(x))),
    "functions": ((lambda x: math.log1p(math.exp(x)), lambda x: 1.0 / (1.0 + dm.exp(-x))), 1, None),
    "y": (("exp(x) if x < 0.0 else exp(x)", "y"), 1, None),
    "two": (("a * b * b", "b * b", "2.0 * a * b"), 2, None),
    "two functions": ((lambda a, b: math.hypot(a, b), lambda a, b: a / dm.hypot(a, b), "b / y"), 2, None),
    "three": (("a * b + c", "b", "a", "1.0"), 3, None),
}


@engines
@pytest.mark.parametrize(("texts", "n", "_"), LINES.values(), ids=LINES)
def test_a_line_of_one_s_own(engine, texts, n, _):
    f = dr.primitive("of_mine", *texts)
    args = (0.7, 1.3, -0.4)[:n]
    assert isinstance(f(*args), float)
    dr.check_grads(f, args, order=2, engine=engine)
    vectors = tuple(np.array([x, 2.0 * x + 0.1]) for x in args)
    assert_same(f(*vectors), np.array([f(*(v[k] for v in vectors)) for k in range(2)]))
    dr.check_grads(f, vectors, order=2, engine=engine)
    dr.check_grads(lambda *xs: np.sum(f(*xs)), (vectors[0], *args[1:]), order=2, engine=engine)
    dr.check_grads(lambda x: np.sum(f(*[dnp.zeros((2, 1)) + x for _ in args])), args[:1], order=2, engine=engine)


def test_a_line_takes_all_kinds_of_numbers():
    f = dr.primitive("of_mine", "x * x", "2.0 * x")
    assert [f(2), f(np.float32(2.0)), f(True), type(f(np.array(2.0)))] == [4, 4.0, 1, float]
    assert isinstance(f(dnp.ones(2)), dr.RealArray)
    assert type(f(np.ones(2))) is np.ndarray
    assert f.__name__ == "of_mine"
    with pytest.raises(TypeError, match="expected a real number"):
        f("2")


def test_a_line_added_before_is_replaced():
    old = dr.primitive("of_mine", "x * x", "2.0 * x")
    new = dr.primitive("of_mine", "x * x * x", "3.0 * x * x")
    assert (dr.grad(old)(2.0), dr.grad(new)(2.0)) == (4.0, 12.0)


def test_a_partial_that_cannot_be_differentiated_says_so_at_the_second_order():
    f = dr.primitive("of_mine", lambda x: math.sin(x), lambda x: math.cos(x))
    assert dr.grad(f)(0.0) == 1.0
    with pytest.raises(ConversionError, match=r"from dualrev import math"):
        dr.hessian(f)(0.0)


def test_a_line_for_a_ufunc_of_scipy():
    dr.primitive("of_mine", "1.0 / (1.0 + exp(-x))", "y * (1.0 - y)", ufunc="expit")
    x = np.array([0.3, -1.0])
    dr.check_grads(special.expit, (0.5,))
    dr.check_grads(lambda x: special.expit(x) * x, (x,))
    assert_same(dr.grad(lambda x: np.sum(special.expit(x)))(x), special.expit(x) * special.expit(-x))


@pytest.mark.parametrize(
    ("name", "texts", "options", "why"),
    [
        ("sin", ("x", "1.0"), {}, "the name is taken"),
        ("lgamma", ("x", "1.0"), {}, "the name is taken"),
        ("a b", ("x", "1.0"), {}, "is no name"),
        ("lambda", ("x", "1.0"), {}, "is no name"),
        (3, ("x", "1.0"), {}, "is no name"),
        ("q", ("x", "1.0"), {"ufunc": np.sin}, "ufunc is the name of one"),
        ("q", ("x", "1.0"), {"ufunc": "sin"}, r"numpy\.sin has a line"),
        ("q", ("x *", "1.0"), {}, "is no expression of Python"),
        ("q", (3.0, "1.0"), {}, "3.0 is no expression of Python"),
        ("q", ("f(x)", "1.0"), {}, "names f; known are abs, "),
        ("q", ("y * x", "1.0"), {}, "names y"),
        ("q", ("x * b", "1.0"), {}, "names b"),
        ("q", ("a * b", "x", "b"), {}, "names x"),
        ("q", ("x.real", "1.0"), {}, "more than operators, conditional expressions and calls"),
        ("q", ("__import__('os')", "1.0"), {}, "names __import__"),
        ("q", ("[x][0]", "1.0"), {}, "more than operators"),
        ("q", ("x",), {}, "as many partial derivatives as arguments, 1 to 3"),
        ("q", ("a", "1.0", "1.0", "1.0", "1.0"), {}, "as many partial derivatives as arguments, 1 to 3"),
    ],
)
def test_lines_that_are_refused(name, texts, options, why):
    from dualrev.rules.primitives import PRIMITIVES

    before = dict(PRIMITIVES)
    with pytest.raises(PrimitiveError, match=why) as caught:
        dr.primitive(name, *texts, **options)
    assert f"primitive {name!r}" in str(caught.value)
    assert before == PRIMITIVES


def test_a_replaced_line_for_a_ufunc():
    for factor in ("3.0", "5.0"):
        dr.primitive("of_mine", "x", factor, ufunc="expit")
        assert_same(dr.grad(lambda x: np.sum(special.expit(x)))(np.zeros(1)), np.array([float(factor)]))


def test_a_line_for_a_ufunc_of_scipy_in_a_stage():
    dr.primitive("of_mine", "1.0 / (1.0 + exp(-x))", "y * (1.0 - y)", ufunc="expit")
    assert dr.grad(special.expit, engine=STAGES["staged"])(0.0) == 0.25


# What a rule must not be fooled by


def test_a_residual_that_the_caller_gets_as_the_value():
    exp = dr.custom_vjp(lambda x: np.exp(x))
    exp.defvjp(lambda x: (y := np.exp(x), y), lambda y, ct: (ct * y,))

    def f(x):
        y = exp(x)
        y *= 2.0
        return np.sum(y)

    x = np.array([0.3, 0.8])
    assert_same(dr.grad(f)(x), 2.0 * np.exp(x))


@pytest.mark.parametrize("kind", ["checkpoint", "custom_vjp"])
def test_an_array_of_ints_that_changes_after_the_call(kind):
    def step(x, i):
        return np.sum(x[i] * np.array([1.0, 5.0]))

    if kind == "checkpoint":
        step = dr.checkpoint(step)
    else:
        plain_step, step = step, dr.custom_vjp(step)
        step.defvjp(
            lambda x, i: (plain_step(x, i), (x, i)),
            lambda saved, ct: (ct * np.bincount(saved[1], [1.0, 5.0], len(saved[0])), None),
        )

    def f(x):
        i = np.array([0, 1])
        total = 0.0
        for _ in range(2):
            total = total + step(x, i)
            i[0] = 1
        return total

    assert_same(dr.grad(f)(np.array([0.3, 0.8])), np.array([1.0, 11.0]))


@pytest.mark.parametrize(
    "f",
    [
        lambda x, c: (c.update(hits=c["hits"] + 1), x * c["hits"])[1],
        lambda x, c: (c["log"].append("a"), x * x)[1],
        lambda x, c: (c["n"].__setitem__(0, 5), x * c["n"][0])[1],
    ],
)
def test_discrete_contents_that_change_inside(f):
    with pytest.raises(CustomRuleError, match="not to change its arguments in place"):
        dr.grad(lambda x: dr.checkpoint(f)(x, {"hits": 0, "log": [], "n": np.array([1, 2])}))(2.0)


def test_a_checkpoint_that_gives_another_value_the_second_time():
    rng = np.random.default_rng(0)
    dropped = dr.checkpoint(lambda x: np.sum(x * (rng.random(4) > 0.5)))
    with pytest.raises(CustomRuleError, match=r"the same value when it is run again.*pass random numbers"):
        dr.grad(dropped)(np.array([1.0, 10.0, 100.0, 1000.0]))


def test_a_partial_that_is_an_argument_is_an_array_of_its_own():
    """Its user may write the product there: values that are kept stay as they are, for the next cotangent, too."""
    leaky = dr.primitive("leaky", "x * x if x > 0.0 else 0.0 * x", "x if x > 0.0 else 0.0 * x")
    x = np.array([0.5, 2.0, 3.0])
    _, pull = dr.vjp(lambda x: leaky(np.exp(x)), x)
    for _ in range(3):
        assert np.array_equal(pull(np.array([1.0, 10.0, 100.0]))[0], np.exp(x) ** 2 * [1.0, 10.0, 100.0])
