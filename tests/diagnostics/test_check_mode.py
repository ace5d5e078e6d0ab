"""dr.check and DUALREV_CHECK=1: the value of a derivative is that of the function, or an error says why not."""

import dataclasses
import math
import random
import re

import numpy as np
import pytest
from numba import njit
from support.oracle import assert_same

import dualrev as dr
from dualrev import numpy as dnp
from dualrev.compiler.bridge.dispatcher import Derivative
from dualrev.eager.checking.comparison import difference
from dualrev.eager.copies import copied
from dualrev.errors import ArgumentError, ArgumentNumberError, CheckError, CustomRuleError, OutputError
from stages import STAGES

ENGINES = {"default": None, **STAGES}
engines = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)


# Functions that can tell


def area(r):
    if isinstance(r, (int, float)):
        return 3.0 * r * r
    return 0.0 * r


def by_class(r):
    return 2.0 * r if r.__class__ is float else r


def by_pattern(r):
    match r:
        case float():
            return 5.0 * r
        case _:
            return r


def by_attribute(x):
    if hasattr(x, "ctypes"):
        x = 2.0 * x
    return np.sum(x)


def inner(r):
    return sum(u if type(u) is float else 0.0 for u in (r, 2.0 * r))


def in_a_callee(r):
    doubled = 2.0 * r
    return doubled + inner(r)


def caught(r):
    try:
        return math.sqrt(r)
    except TypeError:
        return 7.0 * r


def with_a_name(r):
    return {"value": r, "kind": type(r).__name__}


LINES = {
    area: ((2.0,), "returned 0.0 while differentiated but 12.0 normally", r"if isinstance\(r, \(int, float\)\)"),
    by_class: ((2.0,), "returned 2.0 while differentiated but 4.0 normally", r"if r\.__class__ is float"),
    by_pattern: ((2.0,), "returned 2.0 while differentiated but 10.0 normally", r"case float\(\)"),
    by_attribute: ((np.ones(3),), "returned 3.0 while differentiated but 6.0 normally", r'if hasattr\(x, "ctypes"\)'),
    in_a_callee: ((2.0,), "returned 4.0 while differentiated but 10.0 normally", r"if type\(u\) is float"),
}


@engines
@pytest.mark.parametrize("f", LINES)
def test_the_line_is_named_at_which_a_number_is_told_from_a_float(f, engine):
    args, numbers, line = LINES[f]
    if f is by_attribute and engine is not None:
        return  # stages keep arrays in numpy's
    with pytest.raises(CheckError, match=numbers) as caught:
        dr.check(f, *args, engine=engine)
    assert isinstance(caught.value, AssertionError)
    assert "\n" not in str(caught.value)
    place = rf"^'{f.__name__}' returned .*part at .*test_check_mode\.py:\d+: `.*{line}"
    assert re.search(place, str(caught.value))
    assert "no float, and an array no np.ndarray. Test for dualrev.Real or numbers.Real" in str(caught.value)


def test_other_differences_are_named():
    with pytest.raises(
        CheckError, match=r"returned 14.0 while differentiated but 1.414.* normally.*part at .*`return math\.sqrt\(r\)`"
    ):
        dr.check(caught, 2.0)
    with pytest.raises(
        CheckError, match=r"'Real' while differentiated but 'float' normally at \['kind'\]\. Both runs took the same"
    ):
        dr.check(with_a_name, 2.0)
    with pytest.raises(CheckError, match="data of another structure"):
        dr.check(lambda r: [r, r] if type(r) is float else [r], 2.0)
    with pytest.raises(CheckError, match=r"an array of shape \(3,\) while .* but one of shape \(2,\) normally"):
        dr.check(lambda x: x[:2] * 1.0 if type(x) is np.ndarray else x * 1.0, np.ones(3))
    with pytest.raises(CheckError, match="raised ZeroDivisionError normally but returned while differentiated"):
        dr.check(lambda r: r / 0 if type(r) is float else r, 2.0)
    with pytest.raises(CheckError, match=r"returned nan while differentiated but 1\.0 normally at \[1\]\[0\]"):
        dr.check(lambda r: (r, np.ones(1) if type(r) is float else math.nan * np.ones(1)), 2.0)


# Arguments that have data in common


def overwrites(a, b):
    a[-1] = 5.0
    return np.sum(a * b)


def overwrites_an_entry(p, q):
    p[0] = 7.0
    return p[0] * q[0]


def overwrites_a_field(p, q):
    p.x = 3.0 * p.x
    return p.x * q.x


@dataclasses.dataclass
class Point:
    x: float


def both(x):
    return x, x


def overlapping(x):
    return x[:-1], x[1:][::-1]


@pytest.mark.parametrize(
    ("f", "args", "words"),
    [
        (overwrites, both(np.ones(3)), "Arguments 0 and 1 share memory"),
        (overwrites, overlapping(np.arange(1.0, 6.0)), "Arguments 0 and 1 share memory"),
        (overwrites, both(dnp.ones(3)), "Arguments 0 and 1 share memory"),
        (overwrites_an_entry, both([1.0, 2.0]), "Arguments 0 and 1 are or hold the same list"),
        (overwrites_an_entry, both({0: 1.0}), "Arguments 0 and 1 are or hold the same dict"),
        (overwrites_a_field, both(Point(2.0)), "Arguments 0 and 1 are or hold the same Point"),
        (lambda p: overwrites(*p), ([np.ones(2)] * 2,), "Argument 0 holds data twice"),
        (
            lambda p: overwrites_an_entry(p["a"], p["b"]),
            (dict(zip("ab", both([1.0]), strict=True)),),
            "Argument 0 holds data twice",
        ),
    ],
)
def test_an_array_that_is_passed_twice_and_written(f, args, words):
    with pytest.raises(CheckError, match=f"{words}, and it is written; under differentiation there are two copies"):
        dr.check(f, *args)
    dr.check(f, *copied_apart(args))


def copied_apart(args):
    leaves, structure = dr.tree.flatten_leaves(args)
    return structure.rebuild_leaves([x.copy() if hasattr(x, "copy") else x for x in leaves])


def test_an_array_that_is_passed_twice_and_read():
    x = np.ones(3)
    dr.check(lambda a, b: np.sum(a * b), x, x)
    dr.check(lambda a, b: np.sum(a * b), x[:2], x[1:])


# What is no difference


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (lambda x: np.tanh(x[0]) * np.linalg.norm(x), (np.linspace(0.1, 0.9, 7),)),
        (lambda x: np.linalg.eigvalsh(np.outer(x, x) + np.eye(7)), (np.linspace(0.1, 0.9, 7),)),
        (lambda x: np.sum(np.sin(x)) - np.sum(np.sin(x)[::-1]), (np.linspace(0.1, 0.9, 99),)),
        (lambda x: np.sum(np.exp(x) * x), (np.linspace(0.1, 0.9, 7, dtype=np.float32),)),
        (lambda x: np.where(x > 0.5, np.nan, np.where(x < 0.2, np.inf, x)), (np.linspace(0.1, 0.9, 7),)),
        (lambda x: (x.mean(), len(x), "mean", None, len, {"shape": x.shape}), (np.linspace(0.1, 0.9, 7),)),
        (lambda x: int(x) * x, (2.5,)),
    ],
)
def test_values_that_agree(f, args):
    dr.check(f, *args)


def test_roundings_may_grow_as_fast_as_the_function_makes_them():
    """After 300 steps nothing is left of the digits in which the two runs agreed at first."""

    def logistic(a):
        x = 0.5 + 0.1 * np.tanh(a[0])
        for _ in range(300):
            x = 3.9 * x * (1.0 - x)
        return x

    at = [np.array([u]) for u in np.linspace(-2.0, 2.0, 100)]
    apart = [a for a in at if abs(dr.vjp(logistic, a)[0] - logistic(a)) > 1e-6]
    assert apart
    for a in apart:
        dr.check(logistic, a)


def test_a_difference_is_one_that_counts():
    assert not difference([1.0, {"a": np.ones(2)}], [1.0 + 1e-12, {"a": np.ones(2)}])
    told = {"how": ("here", "there")}
    assert (
        difference([{"a": np.ones(2)}], [{"a": np.array([1.0, 2.0])}], **told)
        == "1.0 here but 2.0 there at [0]['a'][1]"
    )
    assert difference(1.0, 1.0 + 1e-7, **told) == "1.0 here but 1.0000001 there"
    assert not difference(1.0, 1.0 + 1e-7, single=True)
    assert not difference(math.nan, math.nan)
    assert difference(math.inf, -math.inf, **told) == "inf here but -inf there"
    assert difference(1e-13, 0.0) == ""
    assert difference(1, 2, **told) == "1.0 here but 2.0 there"
    assert difference(Point(1.0), Point(2.0), **told) == "1.0 here but 2.0 there at .x"
    assert "but 'True' normally" in difference(True, "True")


# The environment


TRANSFORMS = {
    "grad": lambda f, engine: dr.grad(f, engine=engine)(2.0),
    "value_and_grad": lambda f, engine: dr.value_and_grad(f, engine=engine)(2.0),
    "vjp": lambda f, engine: dr.vjp(f, 2.0, engine=engine),
    "jvp": lambda f, engine: dr.jvp(f, (2.0,), (1.0,), engine=engine),
    "jacrev": lambda f, engine: dr.jacrev(f, engine=engine)(2.0),
    "jacfwd": lambda f, engine: dr.jacfwd(f, engine=engine)(2.0),
    "hessian": lambda f, engine: dr.hessian(f, engine=engine)(2.0),
    "hvp": lambda f, engine: dr.hvp(f, engine=engine)(2.0, 1.0),
    "inner": lambda f, engine: dr.grad(lambda x: x * dr.grad(f, engine=engine)(x), engine=engine)(2.0),
}


@engines
@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_every_derivative_compares_if_the_environment_says_so(transform, engine, monkeypatch):
    monkeypatch.delenv("DUALREV_CHECK", raising=False)
    transform(area, engine)
    monkeypatch.setenv("DUALREV_CHECK", "0")
    transform(area, engine)
    expected = transform(lambda r: 3.0 * r * r, engine)
    monkeypatch.setenv("DUALREV_CHECK", "1")
    with pytest.raises(CheckError, match="'area' returned"):
        transform(area, engine)
    found = transform(lambda r: 3.0 * r * r, engine)
    if transform is not TRANSFORMS["vjp"]:
        assert_same(found, expected)


def test_the_caller_sees_nothing_of_the_check(checked):
    x, log = np.ones(3), []

    def f(x, log, *, names):
        x *= 2.0
        log.append(len(x))
        names.add("f")
        return np.sum(x * x), log

    names = set()
    assert_same(dr.grad(f, has_aux=True)(x, log, names=names)[0], np.full(3, 8.0))
    assert_same(x, np.ones(3))
    assert (log, names) == ([3], {"f"})


def test_random_numbers_and_state_are_told_from_other_reasons(checked):
    rng, calls = random.Random(0), []
    with pytest.raises(CheckError, match="It gives another value each time: pass random numbers and state to it"):
        dr.grad(lambda x: x * rng.random())(2.0)
    with pytest.raises(CheckError, match="It gives another value each time"):
        dr.grad(lambda x: (calls.append(0), x * len(calls))[1])(2.0)


def test_the_error_of_the_function_is_its_own(checked):
    with pytest.raises(KeyError, match="missing"):
        dr.grad(lambda x: {}["missing"] * x)(2.0)
    with pytest.raises(OutputError):
        dr.grad(lambda x: None)(2.0)


def test_what_check_takes():
    dr.check(lambda x, n: x**n, 2.0, 3)
    dr.check(lambda r, x: area(r) * x, 2.0, 3.0, argnums=1)
    with pytest.raises(CheckError):
        dr.check(lambda r, x: area(r) * x, 2.0, 3.0, argnums=(0, 1))
    with pytest.raises(ArgumentError, match=r"Write 2\.0 where you wrote 2"):
        dr.check(area, 2)
    with pytest.raises(ArgumentNumberError):
        dr.check(area, 2.0, argnums=1)
    assert dr.check(lambda x: x, 1.0) is None


# Copies


def test_a_copy_is_arranged_as_the_original():
    x = np.arange(12.0).reshape(3, 4)
    data = {
        "x": x,
        "column": x[:, 1],
        "back": x[::-1, ::2],
        "twice": [x, x],
        "n": np.arange(3),
        "s": {1},
        "p": Point(1.0),
    }
    data["again"] = data["twice"]
    data["real"], data["f"] = dnp.ones(2), len
    made = copied(data)
    assert list(made) == list(data)
    assert made["again"] is made["twice"] is not data["twice"]
    assert made["twice"][0] is made["twice"][1] is made["x"] is not x
    assert made["column"].strides == x[:, 1].strides
    assert made["back"].strides == x[::-1, ::2].strides
    made["x"][0, 1] = made["real"][0] = made["n"][0] = 99.0
    made["s"].add(2)
    assert made["column"][0] == 99.0
    assert (x[0, 1], data["real"][0], data["n"][0], data["s"], made["f"]) == (1.0, 1.0, 0, {1}, len)
    assert np.array_equal(made["back"], x[::-1, ::2])


def test_a_copy_of_complex_arrays_has_their_parts():
    """They come apart into new arrays, one of which might get the id of another."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 4, 60)
    arrays = [rng.normal(size=n) + 1j * rng.normal(size=n) for n in sizes]
    for z, made in zip(arrays, copied(arrays), strict=True):
        assert made is not z
        assert_same(made, z)


def test_a_copy_of_data_that_is_deep_or_contains_itself():
    chain, loop = None, [1.0]
    for k in range(100_000):
        chain = (float(k), chain)
    assert copied(chain)[0] == 99_999.0
    loop.append(loop)
    made = copied(loop)
    assert made is not loop
    assert made[0] == 1.0


@pytest.mark.parametrize("step", [(1, 1), (1, 2), (-1, 1), (2, -3)])
def test_a_copy_of_an_array_has_its_views(step):
    x = np.arange(20.0).reshape(4, 5)[:: step[0], :: step[1]]
    made = copied([x])[0]
    assert np.shares_memory(made, made.reshape(-1)) == np.shares_memory(x, x.reshape(-1))
    assert_same(made, x)


# Checkpoints


LAST_DIGITS = {
    "tanh": lambda a: np.tanh(a[0]) * a[1],
    "einsum": lambda a: np.einsum("i,i,i->", a, a, a),
    "eigvalsh": lambda a: np.linalg.eigvalsh(np.outer(a, a) + np.eye(len(a)))[1],
    "norm": lambda a: np.linalg.norm(a),
    "of data": lambda a: {"y": np.tanh(a[0]) * a, "n": 3, "s": "s"}["y"][1],
    "forced": lambda a: np.sum(a * a) * (1.0 if type(a) is np.ndarray else 1.0 + np.finfo(float).eps),
}


@pytest.mark.parametrize("f", LAST_DIGITS.values(), ids=LAST_DIGITS)
def test_a_checkpoint_may_differ_in_the_last_digit(f):
    """Whether it does depends on the processor, but for the function that tells the two runs apart."""
    rng, differ = np.random.default_rng(0), 0
    for a in rng.normal(size=(60, 5)):
        differ += dr.vjp(f, a)[0] != f(a)
        assert_same(dr.grad(dr.checkpoint(f))(a), dr.grad(f)(a))
    assert differ or f is not LAST_DIGITS["forced"]


def test_a_checkpoint_that_computes_something_else_under_differentiation():
    with pytest.raises(CheckError, match=r"'area' returned .*part at .*test_check_mode"):
        dr.grad(dr.checkpoint(area))(2.0)


@pytest.mark.parametrize("order", [1, 2])
def test_a_checkpoint_that_keeps_count(order):
    """It gives the same value from the second time on; that of the first time has been used."""
    calls = []

    def f(x):
        calls.append(0)
        return x * x * (2.0 if len(calls) > 1 else 1.0)

    g = dr.checkpoint(f)
    for _ in range(order):
        g = dr.grad(g)
    with pytest.raises(CustomRuleError, match="the same value when it is run again"):
        g(3.0)


# Compiled derivatives


@njit
def scaled(x, a):
    total = 0.0
    for i in range(len(a)):
        a[i] *= math.sin(x)
        total += a[i] * x
    return total


@njit
def pair(x, a, n=3):
    if x > 10.0:
        a[0] = 7.0
        raise ValueError("too large")
    return a * x, x * n


@njit
def cubed(x):
    return x * x * x


def arguments():
    return 0.5, np.array([1.0, 2.0])


def test_compiled_derivatives_that_are_right_are_what_they_were(checked, monkeypatch):
    found = {}
    for value in ("1", "0"):
        monkeypatch.setenv("DUALREV_CHECK", value)
        assert (type(dr.grad(scaled)) is Derivative) == (value == "0")
        assert dr.grad(scaled) is dr.grad(scaled)
        found[value] = (
            dr.grad(scaled)(*arguments()),
            dr.value_and_grad(scaled, (0, 1))(*arguments()),
            dr.vjp(pair, *arguments())[1]((np.ones(2), 1.0)),
            dr.jvp(pair, arguments(), (1.0, np.zeros(2))),
            dr.jacobian(pair, (0, 1))(*arguments()),
            dr.grad(lambda x: dr.lift(cubed)(x) * x)(0.5),
        )
    assert_same(found["1"], found["0"], rtol=0.0, floor=0.0)
    dr.check(scaled, *arguments())
    dr.check(scaled, *arguments(), argnums=0)
    dr.check(pair, *arguments())
    with pytest.raises(ArgumentError):
        dr.check(scaled, 2, np.arange(3))


def test_a_compiled_derivative_raises_and_leaves_what_the_function_does(checked):
    a = np.ones(2)
    with pytest.raises(ValueError, match="too large"):
        dr.jvp(pair, (50.0, a), (1.0, np.zeros(2)))
    assert_same(a, np.array([7.0, 1.0]))


WRONG = {
    "value": (lambda y, g, args: (y + 1e-6, g), "returned "),
    "structure": (lambda y, g, args: ((y, y), g), "data of another structure"),
    "argument": (lambda y, g, args: (args[1].__setitem__(1, 9.0), (y, g))[1], r"left in its arguments 9\.0 while "),
}


@pytest.mark.parametrize(("change", "words"), WRONG.values(), ids=WRONG)
@pytest.mark.parametrize(
    "call",
    [
        lambda: dr.value_and_grad(scaled)(*arguments()),
        lambda: dr.vjp(scaled, *arguments())[1](1.0),
        lambda: dr.jvp(scaled, arguments(), (1.0, np.zeros(2))),
        lambda: dr.check(scaled, *arguments()),
    ],
)
def test_a_compiled_derivative_of_another_value_is_an_error(change, words, call, checked, monkeypatch):
    right = Derivative.__call__

    def wrong(self, *args):
        return change(*right(self, *args), args)

    monkeypatch.setattr(Derivative, "__call__", wrong, raising=False)
    with pytest.raises(CheckError, match=f"'scaled' .*{words}.*a defect of dualrev"):
        call()


def test_a_compiled_gradient_is_compared_with_value_and_grad(checked, monkeypatch):
    right = Derivative.__call__

    def wrong(self, *args):
        made = right(self, *args)
        return 2.0 * made if self.derivative_of[1] == "grad" else made

    monkeypatch.setattr(Derivative, "__call__", wrong, raising=False)
    with pytest.raises(CheckError, match=r"has the gradient .* by grad but .* by value_and_grad"):
        dr.grad(scaled)(*arguments())


def test_a_compiled_derivative_that_returns_where_the_function_raises(checked, monkeypatch):
    monkeypatch.setattr(Derivative, "__call__", lambda self, *args: (1.0, 1.0), raising=False)
    with pytest.raises(CheckError, match="raised ValueError normally but returned while differentiated"):
        dr.jvp(pair, (50.0, np.ones(2)), (1.0, np.zeros(2)))


@njit
def grows(body, rate):
    body.x *= rate
    return body.x


def test_a_record_is_changed_once(monkeypatch):
    monkeypatch.setenv("DUALREV_CHECK", "1")
    body = np.array([(2.0, 1)], dtype=[("x", "f8"), ("k", "i8")])[0]
    assert dr.value_and_grad(grows, 1)(body, 1.5) == (3.0, 2.0)
    assert body["x"] == 3.0
