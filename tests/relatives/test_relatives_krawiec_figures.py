"""Krawiec et al. 2022, Figs. 12 and 14 to 16: the trace, functions that are one step, first-order types."""

import dataclasses
import itertools
import math
import re

import numpy as np
import pytest
from support.oracle import assert_same, check_order_2, check_vjp, flat, rebuild

import dualrev as dr
from dualrev import math as dm
from dualrev.eager.tape import engine
from dualrev.errors import CotangentError, CustomRuleError, PrimitiveError
from stages import STAGES
from stages.comparison import counting
from stages.programs import PROGRAMS, Quaternion, Vec3, rotate_vec_by_quat
from stages.relatives import vectorised
from stages.relatives.deltas import delta, delta_array, delta_map
from stages.relatives.deltas.delta_data import Var, Zero
from stages.relatives.deltas.delta_trace import trace
from stages.relatives.fused import fused, primitive

MODULES = {"vectorised": vectorised, "delta": delta, "delta_map": delta_map, "delta_array": delta_array}
ENGINES = {**MODULES, **{name: STAGES[name] for name in ("naive", "arrays", "contrib", "tape")}, "dualrev": engine}
in_each = pytest.mark.parametrize("module", MODULES.values(), ids=MODULES)


def cotangent(y, seed=1):
    numbers = np.random.default_rng(seed).uniform(0.5, 1.5, len(flat(y))).tolist()
    return rebuild(y, numbers, discrete=lambda leaf: None)


def gradient(module, f, *primals):
    y, pullback = module.vjp(f, *primals)
    return y, pullback(1.0)


def count(module, f, *primals):
    """Count the module's operations for f's value and one pullback of ones, as stages.count does."""
    recorder = counting.Recorder(float("inf"))
    y, pullback = recorder.instrument(module).vjp(f, *primals)
    pullback(rebuild(y, [1.0] * len(flat(y)), discrete=lambda leaf: None))
    return recorder.counts


# ---- Fig. 12 ---------------------------------------------------------------------------------------------------------

# The right-hand side as it is printed, but for one letter: in x23 it has Var yy, which no input is called; vy is meant.
FIG_12 = """
Let x1 = Add (Scale 5.5 (Var qy)) (Scale 2.2 (Var vx)) in
Let x2 = Add (Scale 6.6 (Var qx)) (Scale 1.1 (Var vy)) in
Let x3 = Add (Var x2) (Scale (-1.0) (Var x1)) in
Let x4 = Add (Scale 7.7 (Var qx)) (Scale 1.1 (Var vz)) in
Let x5 = Add (Scale 5.5 (Var qz)) (Scale 3.3 (Var vx)) in
Let x6 = Add (Var x5) (Scale (-1.0) (Var x4)) in
Let x7 = Add (Scale 6.6 (Var qz)) (Scale 3.3 (Var vy)) in
Let x8 = Add (Scale 7.7 (Var qy)) (Scale 2.2 (Var vz)) in
Let x9 = Add (Var x8) (Scale (-1.0) (Var x7)) in
Let x10 = Zero in
Let x11 = Add (Scale 4.4 (Var x10)) (Scale 2 (Var qw)) in
Let x12 = Add (Scale (-4.84) (Var x11)) (Scale 8.8 (Var x3)) in
Let x13 = Add (Scale 9.68 (Var x11)) (Scale 8.8 (Var x6)) in
Let x14 = Add (Scale (-4.84) (Var x11)) (Scale 8.8 (Var x9)) in
Let x15 = Add (Scale 3.3 (Var qz)) (Scale 3.3 (Var qz)) in
Let x16 = Add (Scale 2.2 (Var qy)) (Scale 2.2 (Var qy)) in
Let x17 = Add (Scale 1.1 (Var qx)) (Scale 1.1 (Var qx)) in
Let x18 = Add (Var x17) (Var x16) in
Let x19 = Add (Var x18) (Var x15) in
Let x20 = Add (Scale 4.4 (Var qw)) (Scale 4.4 (Var qw)) in
Let x21 = Add (Var x20) (Scale (-1.0) (Var x19)) in
Let x22 = Add (Scale 7.7 (Var x21)) (Scale 2.42 (Var vz)) in
Let x23 = Add (Scale 6.6 (Var x21)) (Scale 2.42 (Var vy)) in
Let x24 = Add (Scale 5.5 (Var x21)) (Scale 2.42 (Var vx)) in
Let x25 = Add (Scale 7.7 (Var qz)) (Scale 3.3 (Var vz)) in
Let x26 = Add (Scale 6.6 (Var qy)) (Scale 2.2 (Var vy)) in
Let x27 = Add (Scale 5.5 (Var qx)) (Scale 1.1 (Var vx)) in
Let x28 = Add (Var x27) (Var x26) in
Let x29 = Add (Var x28) (Var x25) in
Let x30 = Zero in
Let x31 = Add (Scale 45.98 (Var x30)) (Scale 2 (Var x29)) in
Let x32 = Add (Scale 3.3 (Var x31)) (Scale 91.96 (Var qz)) in
Let x33 = Add (Scale 2.2 (Var x31)) (Scale 91.96 (Var qy)) in
Let x34 = Add (Scale 1.1 (Var x31)) (Scale 91.96 (Var qx)) in
Let x35 = Add (Var x32) (Var x22) in
Let x36 = Add (Var x33) (Var x23) in
Let x37 = Add (Var x34) (Var x24) in
Let x38 = Add (Var x35) (Var x12) in
Let x39 = Add (Var x36) (Var x13) in
Let x40 = Add (Var x37) (Var x14) in
Var x40
""".strip().splitlines()

Q, V = Quaternion(1.1, 2.2, 3.3, 4.4), Vec3(5.5, 6.6, 7.7)
NAMES = ("qx", "qy", "qz", "qw", "vx", "vy", "vz")


def fig_12_without_bound_constants():
    """The figure's lines without those that bind Zero, which stands where they were used; (-1.0) as (-1)."""
    lines = [line.replace("(-1.0)", "(-1)") for line in FIG_12]
    zeros = re.findall(r"Let (\w+) = Zero in", "\n".join(lines))
    assert zeros == ["x10", "x30"]
    for zero in zeros:
        lines = [line.replace(f"(Var {zero})", "Zero") for line in lines if not line.startswith(f"Let {zero} ")]
    return lines


def renamed(lines, names):
    return [re.sub(r"\bx\d+", lambda found: names[found[0]], line) for line in lines]


def bound(line):
    return line.split()[1]


def tree(name, bindings):
    """Replace every name in a binding by its own binding."""
    return re.sub(r"Var (x\d+)", lambda found: tree(found[1], bindings), bindings[name])


def traced(f):
    return trace(f, Q, V, names=NAMES)


def test_fig_12_the_trace_has_the_figures_bindings_in_another_order():
    figure, ours = fig_12_without_bound_constants(), traced(lambda q, v: rotate_vec_by_quat(v, q).x)
    assert len(ours) == len(figure) == 38 + 1
    # No two of the figure's bindings stand for the same Delta, nor do two of ours: Delta by Delta, they are paired.
    texts = []
    for lines in (figure, ours):
        bindings = {bound(line): re.match(r"Let \w+ = (.*) in$", line)[1] for line in lines[:-1]}
        texts.append({tree(name, bindings): name for name in bindings})
    assert len(texts[0]) == len(texts[1]) == 38
    assert set(texts[0]) == set(texts[1])
    pairs = {texts[1][text]: texts[0][text] for text in texts[0]}
    # With the figure's numbers, our lines are the figure's lines, and so is the result.
    again = renamed(ours, pairs)
    assert sorted(again) == sorted(figure)
    assert again[-1] == figure[-1] == "Var x40"
    assert (ours[0], pairs["x1"]) == ("Let x1 = Add (Scale 5.5 (Var qx)) (Scale 1.1 (Var vx)) in", "x27")


def from_right_to_left(q, v, two=lambda: 2.0):
    """rotate_vec_by_quat with operands, arguments and fields evaluated from right to left, as OCaml does."""

    def dot(p, q):
        zz = p.z * q.z
        yy = p.y * q.y
        return p.x * q.x + yy + zz

    def plus(p, q):
        z = p.z + q.z
        y = p.y + q.y
        return Vec3(p.x + q.x, y, z)

    def scale(k, v):
        z = k * v.z
        y = k * v.y
        return Vec3(k * v.x, y, z)

    def cross(a, b):
        right = a.y * b.x
        z = a.x * b.y - right
        right = a.x * b.z
        y = a.z * b.x - right
        right = a.z * b.y
        return Vec3(a.y * b.z - right, y, z)

    u, s = Vec3(q.x, q.y, q.z), q.w
    crossed = cross(u, v)
    third = scale(two() * s, crossed)
    squares = dot(u, u)
    second = scale(s * s - squares, v)
    product = dot(u, v)
    first = scale(two() * product, u)
    return plus(plus(first, second), third)


def test_fig_12_from_right_to_left_the_trace_is_the_figure_line_by_line():
    figure = fig_12_without_bound_constants()
    numbers = itertools.count(1)
    names = {bound(line): f"x{next(numbers)}" for line in figure[:-1]}
    assert traced(lambda q, v: from_right_to_left(q, v).x) == renamed(figure, names)
    assert (names["x9"], names["x11"], names["x40"]) == ("x9", "x10", "x38")


def test_fig_12_with_constants_bound_to_ids_too_the_trace_is_the_figure():
    def from_float(run, r):
        return delta_map.Dual(run, r, Var(delta_map.delta_let(run, Zero())))  # Fig. 9 has (r, Zero)

    found = traced(lambda q, v: from_right_to_left(q, v, two=lambda: from_float(q.x.run, 2.0)).x)
    assert found == [line.replace("(-1.0)", "(-1)") for line in FIG_12]


def test_fig_12_is_program_rotate_at_size_1():
    lines = trace(PROGRAMS["rotate"].function, [V], Q, names=NAMES[4:] + NAMES[:4])
    assert lines[:-1] == traced(lambda q, v: rotate_vec_by_quat(v, q).x)[:-1]
    assert lines[-1] == "Var x36, Var x37, Var x38"
    assert [type(x) for x in PROGRAMS["rotate"].make(1, 0)] == [list, Quaternion]


@in_each
def test_fig_12_evaluates_to_the_seven_derivative_entries(module):
    # by hand from the figure: x40 = x34 + x24 + x14, with the entries of x31 (2.0 u.v), x21 (s^2 - u.u) and x11 (2 s)
    _, (q, v) = gradient(module, lambda q, v: rotate_vec_by_quat(v, q).x, Q, V)
    expected_v = Vec3(1.1 * 2.0 * 1.1 + 2.42, 2.2 * 2.0 * 1.1 - 8.8 * 3.3, 3.3 * 2.0 * 1.1 + 8.8 * 2.2)
    expected_q = Quaternion(
        91.96 + 2.2 * 5.5 - 5.5 * 2.2,
        2.2 * 6.6 - 5.5 * 4.4 + 8.8 * 7.7,
        2.2 * 7.7 - 5.5 * 6.6 - 8.8 * 6.6,
        5.5 * 8.8 - 4.84 * 2.0,
    )
    assert_same((q, v), (expected_q, expected_v))


def test_section_8_2_the_rules_of_sin_cos_and_atan2():
    assert trace(dm.sin, 0.5) == [f"Let x1 = Scale {math.cos(0.5):g} (Var s1) in", "Var x1"]
    assert trace(dm.cos, 0.5) == [f"Let x1 = Scale ({-math.sin(0.5):g}) (Var s1) in", "Var x1"]
    # the paper adds the term of x first; terms are in the order of arguments here, and the first is y
    t = 1.0 / (3.0 * 3.0 + 2.0 * 2.0)
    line = f"Let x1 = Add (Scale {3.0 * t:g} (Var y)) (Scale ({-2.0 * t:g}) (Var x)) in"
    assert trace(dm.atan2, 2.0, 3.0, names=("y", "x")) == [line, "Var x1"]


def test_a_trace_shows_constants_results_and_inputs_as_they_are():
    assert trace(lambda x: (x, 2.0, [x * 3.0]), 0.5) == [
        "Let x1 = Add (Scale 3 (Var s1)) (Scale 0.5 Zero) in",
        "Var s1, Zero, Var x1",
    ]
    with pytest.raises(ValueError, match="1 names for 2 real scalars: x"):
        trace(lambda x, y: x, 1.0, 2.0, names=("x",))
    with pytest.raises(dr.errors.OutputError):
        trace(lambda x: None, 1.0)


# ---- Fig. 14 ---------------------------------------------------------------------------------------------------------


def polar(r, t):
    return r * dm.cos(t), r * dm.sin(t)


def polar_partials(r, t):
    return [[dm.cos(t), -r * dm.sin(t)], [dm.sin(t), r * dm.cos(t)]]


to_plane = primitive(polar, polar_partials)


def use_polar(step):
    def f(r, t):
        x, y = step(r * t, t)
        return x * x * y, step(2.0, x)

    return f


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
def test_fig_14_a_primitive_from_r2_to_r2_in_every_transformation(engine):
    y, pullback = engine.vjp(use_polar(to_plane), 1.5, 0.7)
    expected_y, expected = engine.vjp(use_polar(polar), 1.5, 0.7)
    assert_same(y, expected_y)
    for seed in range(3):
        assert_same(pullback(cotangent(y, seed)), expected(cotangent(y, seed)))
    check_vjp(engine.vjp, use_polar(to_plane), 1.5, 0.7)
    check_order_2(engine.vjp, use_polar(to_plane), 1.5, 0.7)


def test_fig_14_binds_one_sum_of_n_terms_for_each_of_m_results():
    r, t = 2.0, 0.5
    assert trace(to_plane, r, t, names=("r", "t")) == [
        f"Let x1 = Add (Scale {math.cos(t):g} (Var r)) (Scale ({-r * math.sin(t):g}) (Var t)) in",
        f"Let x2 = Add (Scale {math.sin(t):g} (Var r)) (Scale {r * math.cos(t):g} (Var t)) in",
        "Var x1, Var x2",
    ]
    assert len(trace(polar, r, t)) == 4 + 1


def test_fig_14_a_primitive_on_plain_numbers_is_the_function():
    assert to_plane(2.0, 0.5) == polar(2.0, 0.5)
    assert to_plane.__name__ == "polar"


def test_fig_14_nested_data_and_integers_in_a_primitive():
    def f(data, n):
        return {"y": data["a"] ** n, "n": n}

    def df(data, n):
        return [[n * data["a"] ** (n - 1), 0.0]]

    y, pullback = delta_array.vjp(lambda a, b: primitive(f, df)({"a": a, "b": b}, 3), 2.0, 5.0)
    assert y == {"y": 8.0, "n": 3}
    assert pullback({"y": 1.0, "n": None}) == (12.0, 0.0)


def product_and_second(xs):
    return np.array([xs[0] * xs[1], xs[1]])


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
@pytest.mark.parametrize(
    "step",
    [primitive(product_and_second, lambda xs: np.array([[xs[1], xs[0]], [0.0, 1.0]])), fused(product_and_second)],
    ids=["primitive", "fused"],
)
def test_fig_14_and_15_arrays_in_and_out(engine, step):
    y, pullback = engine.vjp(lambda xs: list(step(xs * 2.0)), np.array([2.0, 3.0]))
    assert_same(y, [24.0, 6.0])
    assert_same(pullback([1.0, 100.0]), (np.array([4.0 * 3.0, 4.0 * 2.0 + 2.0 * 100.0]),))


@pytest.mark.parametrize("rows", [[[1.0]], [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]], [], [[1.0, 2.0]] * 3])
def test_fig_14_a_jacobian_of_another_shape_is_refused(rows):
    with pytest.raises(PrimitiveError, match=r"primitive 'polar': its Jacobian needs 2 rows of 2 entries"):
        delta_array.vjp(primitive(polar, lambda r, t: rows), 1.0, 2.0)


# ---- Fig. 15 ---------------------------------------------------------------------------------------------------------


def test_fig_15_the_papers_function_is_recorded_as_one_scale():
    # section 8.7: f = \x. x * sin x. Its code there returns x + sin x; the product is meant.
    def f(x):
        return x * dm.sin(x)

    x = 0.5
    assert trace(f, x) == [
        f"Let x1 = Scale {math.cos(x):g} (Var s1) in",
        f"Let x2 = Add (Scale {math.sin(x):g} (Var s1)) (Scale 0.5 (Var x1)) in",
        "Var x2",
    ]
    assert trace(fused(f), x) == [f"Let x1 = Scale {math.sin(x) + x * math.cos(x):g} (Var s1) in", "Var x1"]


def polynomial(x):
    y = 0.0
    for k in range(20):
        y = y * x + float(k)
    return y


def every(step):
    def f(xs):
        total = 0.0
        for x in xs:
            total = total + step(x)
        return total

    return f


XS = [0.1 * k for k in range(1, 31)]


@pytest.mark.parametrize("inner", MODULES.values(), ids=MODULES)
@in_each
def test_fig_15_a_fused_function_has_the_same_derivatives(module, inner):
    if delta in (module, inner):  # exponential in the sharing of x at order 2
        step, xs = (lambda x: x * dm.sin(x)), [0.3, 0.7]
    else:
        step, xs = polynomial, XS[:3]
    y, pullback = module.vjp(every(fused(step, inner.vjp)), xs)
    expected_y, expected = module.vjp(every(step), xs)
    assert_same(y, expected_y)
    assert_same(pullback(1.0), expected(1.0))
    check_order_2(module.vjp, every(fused(step, inner.vjp)), xs)


def test_fig_15_saves_bindings_where_a_function_has_many_operations():
    plain, with_fused = trace(every(polynomial), XS), trace(every(fused(polynomial)), XS)
    assert len(plain) - 1 == 30 * 40 + 30  # 40 operations in a call, and an addition after it
    assert len(with_fused) - 1 == 30 * 1 + 30


def test_fig_15_saves_visits_in_every_pullback_and_spends_them_once_in_the_forward_pass():
    def visits(pullbacks, make):
        recorder = counting.Recorder(float("inf"))
        copy = recorder.instrument(delta_array)
        _, pullback = copy.vjp(every(make(copy)), XS)
        for _ in range(pullbacks):
            pullback(1.0)
        return recorder.counts.calls

    plain = [visits(n, lambda copy: polynomial) for n in (0, 1, 2)]
    with_fused = [visits(n, lambda copy: fused(polynomial, copy.vjp)) for n in (0, 1, 2)]
    # The paper's compiler would remove what is spent in the forward pass; here, one pullback alone saves nothing.
    assert plain == [0, plain[1], 2 * plain[1]]
    assert with_fused[1] > plain[1] > with_fused[0]
    assert with_fused[2] - with_fused[1] == with_fused[1] - with_fused[0] < plain[1] / 20
    assert with_fused[2] < plain[2]


def test_fig_15_costs_where_there_are_many_inputs():
    def ends(xs):
        return xs[0] * xs[-1]

    for n in (10, 100, 1000):
        xs = [2.0 + k for k in range(n)]
        plain, with_fused = trace(ends, xs), trace(fused(ends), xs)
        assert len(plain) == len(with_fused) == 2
        assert [lines[0].count("Var") for lines in (plain, with_fused)] == [2, n]
        # the result's Var; n Scales of a Var, in n - 1 Adds
        assert count(delta_array, ends, xs).calls == 1 + 2 * 2 + 1
        assert count(delta_array, fused(ends), xs).calls == 1 + 2 * n + n - 1
        assert_same(gradient(delta_array, fused(ends), xs)[1], gradient(delta_array, ends, xs)[1])


def test_fig_15_costs_a_pullback_for_every_result():
    def powers(x):
        return [x, x * x, x * x * x]

    assert len(trace(fused(powers), 2.0)) == 3 + 1
    asked = []

    def vjp(f, *primals):
        y, pullback = delta_array.vjp(f, *primals)
        return y, lambda ct: asked.append(ct) or pullback(ct)

    y, pullback = delta_array.vjp(fused(powers, vjp), 2.0)
    assert asked == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    assert (y, pullback([1.0, 10.0, 100.0])) == ([2.0, 4.0, 8.0], (1241.0,))


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
def test_fig_15_a_number_in_the_closure_is_refused_rather_than_lost(engine):
    with pytest.raises(CustomRuleError, match="every number under differentiation to be among its arguments"):
        engine.vjp(lambda x, y: fused(lambda u: u * y)(x), 2.0, 3.0)
    with pytest.raises(CustomRuleError, match="every number under differentiation to be among its arguments"):
        engine.vjp(lambda x: engine.vjp(lambda y: fused(lambda u: u * y)(x), 3.0)[1](1.0)[0], 2.0)
    # of an outer derivative, it is a constant with respect to the arguments
    y, pullback = engine.vjp(lambda x: engine.vjp(fused(lambda u: u * u * x), 3.0)[1](1.0)[0], 2.0)
    assert (y, pullback(1.0)) == (12.0, (6.0,))


# ---- Fig. 16 ---------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Inl:
    """The left summand."""

    value: object


@dataclasses.dataclass
class Inr:
    """The right summand."""

    value: object


@in_each
def test_fig_16_an_integer_between_two_vectors_of_different_shapes(module):
    # the paper's example of a type: R^a1 * Z * R^a2
    def f(xs, n, ys):
        total = 0.0
        for x in xs:
            total = total + x**n
        for y in ys:
            total = total * y
        return total

    y, pullback = module.vjp(f, (1.0, 2.0), 3, [2.0, 5.0, 1.0])
    assert_same(y, 90.0)
    assert_same(pullback(1.0), ((30.0, 120.0), None, [45.0, 18.0, 90.0]))


@in_each
@pytest.mark.parametrize(
    ("s", "expected_y", "ct", "expected"),
    [
        (Inl(3.0), Inr((9.0, 1)), Inr((1.0, None)), Inl(6.0)),
        (Inr((2.0, 5, 4.0)), Inl([8.0, 2.0]), Inl([1.0, 10.0]), Inr((14.0, None, 2.0))),
        (Inr((2.0, 0, 4.0)), Inr((2.0, 0)), Inr((7.0, None)), Inr((7.0, None, 0.0))),
    ],
)
def test_fig_16_a_sum_goes_in_and_a_sum_comes_out(module, s, expected_y, ct, expected):
    def f(s):
        match s:
            case Inl(x):
                return Inr((x * x, 1))
            case Inr((x, n, y)):
                return Inl([x * y, x]) if n else Inr((x, n))

    y, pullback = module.vjp(f, s)
    assert_same(y, expected_y)
    # the cotangent has the argument's summand, as section 5.2 asks of the zero of a sum
    assert_same(pullback(ct), (expected,))
    other = Inl([1.0, 1.0]) if isinstance(y, Inr) else Inr((1.0, None))
    with pytest.raises(CotangentError):
        pullback(other)


@in_each
def test_fig_16_the_number_of_ids_depends_on_the_value_of_a_sum(module):
    def f(s):
        return s.value if isinstance(s, Inl) else s.value[0] * s.value[1] * s.value[2]

    assert gradient(module, f, Inl(3.0)) == (3.0, (Inl(1.0),))
    assert gradient(module, f, Inr((2.0, 3.0, 5.0))) == (30.0, (Inr((15.0, 10.0, 6.0)),))


@in_each
def test_fig_16_strings_integers_and_none_pass_through(module):
    def f(data):
        return {"name": data["name"], "sum": data["x"] * data["k"], "rest": (None, True, 7)}

    y, pullback = module.vjp(f, {"name": "a", "x": 2.0, "k": 4, "none": None})
    assert y == {"name": "a", "sum": 8.0, "rest": (None, True, 7)}
    ct = {"name": None, "sum": 10.0, "rest": (None, None, None)}
    assert_same(pullback(ct), ({"name": None, "x": 40.0, "k": None, "none": None},))


@in_each
def test_fig_16_the_pullback_is_that_of_the_dot_product_with_its_cotangent(module):
    program = PROGRAMS["rotate"]
    primals = program.make(2, 0)
    y, pullback = module.vjp(program.function, *primals)
    zs = flat(cotangent(y))

    def dot(*primals):
        return sum(z * x for z, x in zip(zs, flat(program.function(*primals)), strict=True))

    assert_same(pullback(cotangent(y)), gradient(module, dot, *primals)[1])
