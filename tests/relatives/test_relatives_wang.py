"""Wang et al. 2019: forward mode with tags, reverse mode by continuations, and what the paper derives from it."""

import gc
import math
import threading
from importlib import import_module

import numpy as np
import pytest
from greenlet import greenlet
from support.oracle import assert_same, check_order_2, check_vjp
from support.stage_programs import cotangent, small

import dualrev as dr
from dualrev import math as dm
from dualrev.errors import ArgumentError, CotangentError, LeakError, OutputError, TangentError
from stages import STAGES
from stages.comparison import counting
from stages.programs import PROGRAMS, wide_inputs
from stages.relatives import global_tape, tagged_forward
from stages.relatives.continuations import functional, shift_reset
from stages.relatives.continuations.control import reset, shift

DIRECT = {m.__name__.rpartition(".")[2]: m for m in (tagged_forward, shift_reset, global_tape, functional)}
REVERSE = {name: m for name, m in DIRECT.items() if m is not tagged_forward}
BY_SHIFT = {"shift_reset": shift_reset, "functional": functional}

in_all = pytest.mark.parametrize("algorithm", DIRECT.values(), ids=DIRECT)
in_reverse = pytest.mark.parametrize("algorithm", REVERSE.values(), ids=REVERSE)
by_shift = pytest.mark.parametrize("algorithm", BY_SHIFT.values(), ids=BY_SHIFT)
everywhere = pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)


def running(x):
    """The paper's running example, 2*x + x*x*x."""
    return 2.0 * x + x * x * x


def gradient(algorithm, f, *primals):
    y, pullback = algorithm.vjp(f, *primals)
    return y, pullback(1.0)


def derivative(algorithm):
    """`grad` of the paper: of functions of one number."""
    return lambda f: lambda x: algorithm.vjp(f, x)[1](1.0)[0]


def counted(algorithm, f, *primals):
    recorder = counting.Recorder(float("inf"))
    y, pullback = recorder.instrument(algorithm).vjp(f, *primals)
    pullback(cotangent(y))
    return recorder.counts


def doublings(x, n):
    for _ in range(n):
        x = (x + x) * 0.5
    return x


def mixed(x, y):
    for _ in range(3400):
        x = dm.sin(x) + 0.5 * y
    return x


# ---- the corpus ------------------------------------------------------------------------------------------------------


@in_all
@everywhere
@pytest.mark.parametrize("seed", [1])
def test_value_and_gradient_are_those_of_the_tape(program, algorithm, seed):
    primals = small(program, seed)
    y, pullback = algorithm.vjp(program.function, *primals)
    expected, expected_pullback = STAGES["tape"].vjp(program.function, *primals)
    assert_same(y, expected, rtol=1e-12, floor=0.0)
    ct = cotangent(y)
    found = pullback(ct)
    assert_same(found, expected_pullback(ct), rtol=1e-12, floor=0.0)
    assert_same(pullback(ct), found, rtol=0.0, floor=0.0)  # a pullback may be called again


@in_all
@everywhere
def test_the_derivative_is_that_of_differences(program, algorithm):
    check_vjp(algorithm.vjp, program.function, *small(program, 0))


@in_all
@everywhere
def test_the_derivative_of_the_derivative_is_that_of_differences(program, algorithm):
    check_order_2(algorithm.vjp, program.function, *small(program, 0))


# ---- what every algorithm has to get right ---------------------------------------------------------------------------


@in_all
def test_the_running_example(algorithm):
    for x in (-1.5, 0.0, 0.5, 3.0):
        assert gradient(algorithm, running, x) == (running(x), (2.0 + 3.0 * x * x,))


@in_all
def test_structures_in_and_out(algorithm):
    def f(data, n):
        return {"sum": data["a"][0] + data["b"][1], "same": data["a"], "n": n, "fixed": (1.5, None)}

    y, pullback = algorithm.vjp(f, {"a": [2.0], "b": np.array([1.0, 3.0])}, 7)
    assert_same(y, {"sum": 5.0, "same": [2.0], "n": 7, "fixed": (1.5, None)})
    cts, none = pullback({"sum": 1.0, "same": [10.0], "n": None, "fixed": (100.0, None)})
    assert_same(cts, {"a": [11.0], "b": np.array([0.0, 1.0])})
    assert none is None
    with pytest.raises(CotangentError):
        pullback(1.0)


@in_all
def test_an_unused_input_a_constant_and_a_shared_output(algorithm):
    y, pullback = algorithm.vjp(lambda x, y: (x, x, 3.0), 2.0, 5.0)
    assert y == (2.0, 2.0, 3.0)
    assert pullback((1.0, 10.0, 100.0)) == (11.0, 0.0)


@in_all
def test_what_does_not_reach_the_output_takes_no_part(algorithm):
    def f(x, y):
        unused = dm.sqrt(x)  # an infinite partial, which 0 times would make NaN
        return x * 2.0 + dm.sqrt(y) if unused == 0.0 else x

    y, cts = gradient(algorithm, f, 0.0, 0.0)
    assert (y, cts) == (0.0, (2.0, math.inf))


@in_all
def test_nothing_real_in_or_out(algorithm):
    with pytest.raises(ArgumentError):
        algorithm.vjp(lambda n: n, 3)
    with pytest.raises(OutputError):
        algorithm.vjp(lambda x: 3, 1.0)


@in_all
def test_an_exception_in_the_function_passes_and_leaves_nothing_behind(algorithm):
    class MineError(Exception):
        pass

    def f(x):
        y = x * x
        if x > 0.0:
            raise MineError
        return y

    with pytest.raises(MineError):
        algorithm.vjp(f, 1.0)
    assert gradient(algorithm, f, -1.0) == (1.0, (-2.0,))

    def g(x):  # an inner derivative that fails, inside of an outer one that goes on
        with pytest.raises(MineError):
            algorithm.vjp(f, x)
        return x * x

    assert gradient(algorithm, g, 3.0) == (9.0, (6.0,))


@in_reverse
def test_a_number_that_is_kept_is_refused_when_the_call_has_ended(algorithm):
    kept = []
    algorithm.vjp(lambda x: kept.append(x) or x * x, 2.0)
    with pytest.raises(LeakError):
        kept[0] * 2.0
    with pytest.raises(LeakError):
        algorithm.vjp(lambda x: x * kept[0], 2.0)


@in_all
def test_threads_do_not_meet(algorithm):
    _, pullback = algorithm.vjp(lambda x: doublings(x, 30) * x, 3.0)
    found = []

    def work(k):
        y, ct = gradient(algorithm, lambda x: doublings(x, 30) * k, 1.0)
        found.append((k, y, ct[0], pullback(1.0)))

    threads = [threading.Thread(target=work, args=(float(k),)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [(k, k, k, (6.0,)) for k in map(float, range(8))]


@in_reverse
def test_a_chain_of_10_000_operations(algorithm):
    _, cts = gradient(algorithm, mixed, 1.0, 0.25)  # 10,200 of them
    assert_same(cts, gradient(STAGES["tape"], mixed, 1.0, 0.25)[1], rtol=1e-12, floor=0.0)


@in_all
def test_numpy_scalars_and_float32(algorithm):
    y, pullback = algorithm.vjp(lambda x, a: x * a[0] * a[1], np.float64(3.0), np.array([2.0, 5.0], np.float32))
    expected, expected_pullback = STAGES["tape"].vjp(
        lambda x, a: x * a[0] * a[1], 3.0, np.array([2.0, 5.0], np.float32)
    )
    assert_same(y, expected)
    assert_same(pullback(1.0)[1], expected_pullback(1.0)[1])


# ---- growth, in counts -----------------------------------------------------------------------------------------------


@in_reverse
def test_every_way_back_is_called_once(algorithm):
    for n in (1, 10, 100, 1000):
        assert counted(algorithm, doublings, 0.75, n).calls == 2 * n


@in_reverse
@pytest.mark.parametrize("name", ["scaled_doublings", "wide", "deep"])
def test_the_work_is_linear(algorithm, name):
    """n log n for the map of functional."""
    program = PROGRAMS[name]
    works = [counted(algorithm, program.function, *program.make(n, 0)).work for n in (100, 200, 400)]
    assert works[2] - works[1] <= (2.4 if algorithm is functional else 2.05) * (works[1] - works[0])


def test_the_map_of_functional_stays_as_small_as_what_is_still_to_come():
    steps = [counted(functional, doublings, 0.75, n).map_steps for n in (100, 200, 400)]
    assert steps[2] - steps[1] == 2 * (steps[1] - steps[0])  # one entry at a time: no logarithm


def test_forward_mode_takes_n_times_as_long_for_n_inputs():
    # every pass follows one input: itself, its product, and its square added to the sum
    def squares(xs):
        total = 0.0
        for x in xs:
            total = total + x * x
        return total

    for n in (10, 20, 40):
        passes = sum(1 + 1 + (n - i) for i in range(n))
        assert counted(tagged_forward, squares, [1.0] * n).created == passes == n * (n + 5) // 2
        assert counted(global_tape, squares, [1.0] * n).created == 3 * n
    for n in (100, 200):  # a single input costs what the program costs
        assert counted(tagged_forward, doublings, 0.75, n).created == 2 * n + 1


def test_forward_mode_grows_with_the_square_of_a_wide_input():
    created = [counted(tagged_forward, PROGRAMS["wide"].function, *wide_inputs(n, n // 2, 0)).created for n in (40, 80)]
    assert created[1] / created[0] == pytest.approx(4.0, rel=0.1)


# ---- section 2: forward mode -----------------------------------------------------------------------------------------


class NumF:
    """Fig. 5, without tags."""

    def __init__(self, x, d):
        self.x, self.d = x, d

    def __add__(self, that):
        return NumF(self.x + that.x, self.d + that.d)

    def __mul__(self, that):
        return NumF(self.x * that.x, self.d * that.x + that.d * self.x)


def test_section_2_4_without_tags_perturbations_are_confused():
    def grad(f):
        return lambda x: f(NumF(x, 1.0)).d

    inner = []
    outer = grad(lambda x: inner.append(grad(lambda y: x + y)(1.0)) or x * NumF(inner[0], 0.0))
    assert (outer(1.0), inner) == (2.0, [2.0])  # 1.0 would be right, both times


@in_all
def test_section_2_4_with_tags_they_are_not(algorithm):
    grad = derivative(algorithm)
    inner = []

    def f(x):
        inner.append(grad(lambda y: x + y)(1.0))
        return x * inner[-1]

    assert grad(f)(1.0) == 1.0
    assert set(inner) == {1.0}


def test_jvp_of_the_running_example():
    assert tagged_forward.jvp(running, (3.0,), (1.0,)) == (33.0, 29.0)
    assert tagged_forward.jvp(running, (3.0,), (0.5,)) == (33.0, 14.5)


@everywhere
def test_jvp_is_that_of_the_library(program):
    primals = small(program, 0)
    y, pullback = STAGES["tape"].vjp(program.function, *primals)
    tangents = pullback(cotangent(y))  # any direction
    assert_same(tagged_forward.jvp(program.function, primals, tangents), dr.jvp(program.function, primals, tangents))


def test_jvp_of_an_input_that_does_not_move():
    assert tagged_forward.jvp(lambda x, y: dm.sqrt(x) + y, (0.0, 1.0), (0.0, 1.0)) == (1.0, 1.0)
    assert tagged_forward.jvp(lambda x: (x, 2), (3.0,), (0.0,)) == ((3.0, 2), (0.0, None))
    with pytest.raises(TangentError):
        tagged_forward.jvp(lambda x: x, (3.0,), ((1.0, 2.0),))


def test_jvp_nests():
    def grad(f):
        return lambda x: tagged_forward.jvp(f, (x,), (1.0,))[1]

    assert [f(2.0) for f in (grad(running), grad(grad(running)), grad(grad(grad(running))))] == [14.0, 12.0, 6.0]
    assert grad(lambda x: x * grad(lambda y: x + y)(1.0))(1.0) == 1.0


# ---- sections 3.2, 3.5 and 3.6: there and back -----------------------------------------------------------------------


def test_fig_8_the_order_there_and_back():
    seen = []
    module = counting.fresh(shift_reset)
    module.visit, visit = lambda z, args, partials: seen.append(z.x) or visit(z, args, partials), module.visit

    def f(x):
        y = 2.0 * x
        seen.append("y")
        z = x * x
        seen.append("z")
        return y + z

    _, pullback = module.vjp(f, 3.0)
    assert seen == ["y", "z"]
    assert pullback(1.0) == (8.0,)
    assert seen == ["y", "z", "y", "z", 15.0, 9.0, 6.0]


@by_shift
def test_the_function_runs_once_for_the_value_and_once_for_each_pullback(algorithm):
    runs = []
    _, pullback = algorithm.vjp(lambda x: runs.append(1) or x * x, 3.0)
    assert len(runs) == 1
    assert [pullback(1.0), pullback(2.0)] == [(6.0,), (12.0,)]
    assert len(runs) == 3


@by_shift
def test_a_function_that_changes_is_refused(algorithm):
    factors = [2.0, 2.0, 3.0]
    _, pullback = algorithm.vjp(lambda x: x * factors.pop(0), 1.0)
    assert pullback(1.0) == (2.0,)
    with pytest.raises(RuntimeError, match="its value has changed"):
        pullback(1.0)


@by_shift
def test_inputs_that_change_between_the_value_and_the_pullback_do_no_harm(algorithm):
    xs, places = np.array([1.0, 2.0, 3.0]), np.array([2, 0])
    _, pullback = algorithm.vjp(lambda xs, places: xs[places[0]] * xs[places[1]], xs, places)
    xs[:], places[:] = 9.0, 1
    assert_same(pullback(1.0), (np.array([3.0, 0.0, 1.0]), None))


@pytest.mark.parametrize(
    "f",
    [
        lambda xs: np.sum(np.sin(xs) * xs),
        lambda xs: np.dot(xs, xs),
        lambda xs: np.linalg.norm(xs),
        lambda xs: sum(x * x for x in xs),
        lambda xs: sorted(xs)[1] * xs[0],
    ],
    ids=["sin", "dot", "norm", "generator", "sorted"],
)
@by_shift
def test_operations_may_be_made_by_numpy_and_generators(algorithm, f):
    xs = np.array([3.0, 1.0, 2.0])
    assert_same(gradient(algorithm, f, xs), gradient(STAGES["tape"], f, xs), rtol=1e-15)


@by_shift
def test_recursion_as_deep_as_in_python(algorithm):
    def power(x, n):
        return x if n == 1 else x * power(x, n - 1)

    assert gradient(algorithm, lambda x: power(x, 700), 1.0) == (1.0, (700.0,))


@by_shift
def test_no_greenlet_is_left_over(algorithm):
    def broken(x):
        raise ValueError(f"at {dm.sin(x)}")

    def left():
        gc.collect()
        return sum(issubclass(type(x), greenlet) for x in gc.get_objects())  # isinstance asks proxies of what is gone

    gradient(algorithm, running, 1.0)
    before = left()
    for _ in range(3):
        gradient(algorithm, derivative(algorithm)(running), 1.0)
        algorithm.vjp(running, 1.0)
        for f in (broken, lambda x: algorithm.vjp(broken, x)[0]):
            with pytest.raises(ValueError, match="at "):
                algorithm.vjp(f, 1.0)
    assert left() <= before


@by_shift
def test_the_users_own_shift_and_reset_inside(algorithm):
    def f(x):
        return x * reset(lambda: 1.0 + shift(lambda k: x * k(x)))  # x * (x * (1 + x))

    assert gradient(algorithm, f, 2.0) == (12.0, (2.0 * 2.0 + 3.0 * 4.0,))


def test_fig_12_the_tape_is_played_from_its_end():
    seen = []
    module = counting.fresh(global_tape)
    module.visit, visit = lambda z, args, partials: seen.append(z.x) or visit(z, args, partials), module.visit
    _, pullback = module.vjp(running, 3.0)
    assert seen == []
    assert pullback(1.0) == (29.0,)
    assert seen == [33.0, 27.0, 9.0, 6.0]


def test_after_an_exception_on_the_way_back_the_tape_starts_anew(monkeypatch):
    module = counting.fresh(global_tape)
    plain, broken = module.visit, [True]

    def visit(z, args, partials):
        if broken and z.x == 9.0:
            raise KeyboardInterrupt
        plain(z, args, partials)

    module.visit = visit
    _, pullback = module.vjp(running, 3.0)
    with pytest.raises(KeyboardInterrupt):
        pullback(1.0)
    broken.clear()
    assert pullback(1.0) == (29.0,)


# ---- section 3.7: nesting --------------------------------------------------------------------------------------------

NESTED = {
    **DIRECT,
    "delcont": import_module("stages.relatives.continuations.delcont"),
    "tape": STAGES["tape"],
    "engine": dr,
}
pairs = pytest.mark.parametrize(
    ("outer", "inner"),
    [pytest.param(a, b, id=f"{m} over {n}") for m, a in NESTED.items() for n, b in NESTED.items()],
)


@pairs
def test_fig_13_second_derivatives(outer, inner):
    """Reverse over reverse, forward over reverse, and all others."""
    for x in (-1.0, 0.5, 3.0):
        assert derivative(outer)(derivative(inner)(running))(x) == pytest.approx(6.0 * x, rel=1e-15)


@pairs
def test_perturbations_are_not_confused(outer, inner):
    assert derivative(outer)(lambda x: x * derivative(inner)(lambda y: x + y)(1.0))(1.0) == 1.0
    assert derivative(outer)(lambda x: x * derivative(inner)(lambda y: x * y * y)(2.0))(3.0) == 24.0


@in_all
def test_third_derivatives(algorithm):
    grad = derivative(algorithm)
    assert grad(grad(grad(lambda x: dm.exp(2.0 * x))))(0.5) == pytest.approx(8.0 * math.exp(1.0), rel=1e-14)


@in_reverse
def test_forward_over_reverse_is_a_product_with_the_hessian(algorithm):
    def f(v):
        x, y = v
        return 2.0 * x * x + 3.0 * x * y + 4.0 * y * y

    y, hv = tagged_forward.jvp(lambda v: algorithm.vjp(f, v)[1](1.0)[0], ([3.0, 4.0],), ([7.0, 8.0],))
    assert (y, hv) == ([24.0, 41.0], [52.0, 85.0])


@by_shift
def test_one_level_of_continuations_is_not_enough(algorithm):
    """Why the paper needs shift2: an operation of the outer derivative would capture what is left of the inner one."""
    module = counting.fresh(algorithm)
    module.shift, module.reset = lambda body, level: shift(body), lambda thunk, level: reset(thunk)
    grad = derivative(module)
    assert grad(running)(3.0) == 29.0
    try:
        found = grad(grad(running))(3.0)
    except AttributeError:  # a map where a number is expected
        found = None
    assert found != 18.0


class NumR:
    """Fig. 8 to the letter."""

    def __init__(self, x, d=0.0):
        self.x, self.d = x, d

    def __add__(self, that):
        def body(k):
            y = NumR(self.x + that.x)
            k(y)
            self.d += y.d
            that.d += y.d

        return shift(body)

    def __mul__(self, that):
        def body(k):
            y = NumR(self.x * that.x)
            k(y)
            self.d += that.x * y.d
            that.d += self.x * y.d

        return shift(body)

    @staticmethod
    def grad(f):
        def gradient(x):
            z = NumR(x)
            reset(lambda: setattr(f(z), "d", 1.0))
            return z.d

        return gradient


def shift2(body):
    """Fig. 13: the outer level by shift and reset, the inner one by explicit continuations inside of it."""

    def outer(k):
        def context(k2):
            def kk(y):
                return shift(lambda k3: k(y)(k3))

            return reset(lambda: (body(kk), k2()))

        return context

    return shift(outer)


class NumRR:
    """Fig. 13 to the letter."""

    def __init__(self, x, d):
        self.x, self.d = x, d

    def __add__(self, that):
        def body(k):
            y = NumRR(self.x + that.x, NumR(0.0))
            k(y)
            self.d = self.d + y.d
            that.d = that.d + y.d

        return shift2(body)

    def __mul__(self, that):
        def body(k):
            y = NumRR(self.x * that.x, NumR(0.0))
            k(y)
            self.d = self.d + y.d * that.x
            that.d = that.d + y.d * self.x

        return shift2(body)

    @staticmethod
    def grad(f):
        def gradient(x):
            def body(k):
                z = NumRR(x, NumR(0.0))

                def inside():
                    f(z).d = NumR(1.0)
                    return lambda k2: k2()

                return reset(inside)(lambda: k(z.d))

            return shift(body)

        return gradient


def test_figs_8_and_13_to_the_letter_and_by_levels():
    for x in (-1.0, 0.5, 3.0):
        assert NumR.grad(lambda x: NumR(2.0) * x + x * x * x)(x) == 2.0 + 3.0 * x * x
        second = NumR.grad(NumRR.grad(lambda x: NumRR(NumR(2.0), NumR(0.0)) * x + x * x * x))
        assert second(x) == derivative(shift_reset)(derivative(shift_reset)(running))(x) == 6.0 * x


@by_shift
def test_a_long_second_derivative(algorithm):
    def f(x):
        for _ in range(10):
            x = dm.sin(x)
        return x

    def g(x):
        for _ in range(120):
            x = x + 0.001 * derivative(algorithm)(f)(x)
        return x

    assert_same(gradient(algorithm, g, 1.0), gradient(dr, g, 1.0), rtol=1e-12)
