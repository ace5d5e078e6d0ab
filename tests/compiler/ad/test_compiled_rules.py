"""stop_gradient, custom_vjp, custom_jvp and checkpoint in numba functions: the same as the tape does with f.py_func."""

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numba import njit
from support.oracle import assert_same
from support.twin import twin

import dualrev as dr
from dualrev.errors import CustomRuleError, LoopError, UnsupportedError


class Pair(NamedTuple):
    number: float
    array: np.ndarray
    count: int


def same(found, expected):
    """Equal numbers in equal structures."""
    assert type(found) is type(expected) or np.isscalar(expected)
    if isinstance(expected, tuple):
        for a, b in zip(found, expected, strict=True):
            same(a, b)
    elif expected is not None:
        assert_same(np.asarray(found), np.asarray(expected), rtol=1e-10, floor=1e-11)


# stop_gradient


@njit
def with_constants(x, v, p):
    y = dr.stop_gradient(x) * x
    w = dr.stop_gradient(v * x)
    w[0] = 2.0
    z = dr.stop_gradient((x, v, p))
    v[1] = 3.0  # z has copies
    total = 0.0
    for i in range(len(v)):
        total += w[i] * v[i] + z[2].array[i] * p.array[i] * p.number * z[2].number * z[2].count + z[1][i] * z[0] * x
    if dr.stop_gradient(x) > 0.0:
        total += np.sin(dr.stop_gradient(x) * x)
    x = dr.stop_gradient(x)
    return y + total * x


def constants():
    return 0.7, np.array([1.0, 2.0, 3.0]), Pair(1.5, np.array([0.3, 0.2, 0.1]), 2)


def test_constants_are_constants_in_both_modes():
    twin = with_constants.py_func

    def of_tape(x, v, p):
        return twin(x, dr.numpy.array(v), p)

    assert with_constants(*constants()) == twin(*constants())
    same(
        dr.value_and_grad(with_constants, (0, 1, 2))(*constants()), dr.value_and_grad(of_tape, (0, 1, 2))(*constants())
    )
    tangents = 1.0, np.ones(3), Pair(0.5, np.ones(3), None)
    same(dr.jvp(with_constants, constants(), tangents), dr.jvp(of_tape, constants(), tangents))


@pytest.mark.slow
def test_constants_are_constants_in_second_derivatives():
    @njit
    def f(x, v):
        return x * x * dr.stop_gradient(x * v[0]) * np.sum(dr.stop_gradient(v) * v * v)

    args = 0.7, np.array([1.0, 2.0, 3.0])
    same(dr.hvp(f)(0.7, 1.0, args[1]), dr.hvp(f.py_func)(0.7, 1.0, args[1]))


def test_constants_are_values_in_numba_functions_that_are_not_differentiated():
    @njit
    def f(x):
        return dr.stop_gradient(x)

    a, counts = np.ones(2, np.float32), np.arange(3)
    made = f((1, True, None, a, Pair(2.0, a, 3), counts))
    assert made[:3] == (1, True, None)
    assert made[3].dtype == np.float32
    assert not np.shares_memory(made[3], a)
    assert type(made[4]) is Pair
    assert not np.shares_memory(f.py_func(a), a)


# checkpoint


@dr.checkpoint
@njit
def block(u, rates):
    v = u.copy()
    for i in range(1, len(u) - 1):
        v[i] = u[i] + rates[0] * (u[i - 1] - 2.0 * u[i] + u[i + 1]) - rates[1] * u[i] ** 3
    return v, np.sum(v)


@dr.checkpoint
@njit
def in_place(u, w, rate):
    for i in range(1, len(u) - 1):
        w[i] = u[i] + rate * (u[i - 1] - 2.0 * u[i] + u[i + 1])
    for i in range(1, len(u) - 1):
        u[i] = w[i] * np.cos(w[i])


@dr.checkpoint
@njit
def numbers(x, y):
    for _ in range(5):
        x = x + 0.1 * x * y * x
    return x, x * y


@njit
def of_blocks(u, rate, n):
    x, total, w = rate, 0.0, u.copy()
    for _ in range(n):
        in_place(u, w, rate)
        u[3] *= u[4]
        w, s = block(u, (rate, 0.1))
        x, y = numbers(x, s)
        total += s * y
    return total + np.sum(u * w)


def test_checkpoints_change_no_derivative():
    args = lambda: (np.linspace(0.0, 1.0, 8) ** 2, 0.2, 4)  # noqa: E731
    assert of_blocks(*args()) == of_blocks.py_func(*args())
    expected = dr.value_and_grad(twin(of_blocks), (0, 1))(*twin_args(args()))
    same(dr.value_and_grad(of_blocks, (0, 1))(*args()), expected)
    source = dr.derivative_source(of_blocks, *args())
    assert "def in_place_again_reverse(" in source
    assert source.count(" = np.copy(u)") == 1  # in_place changes it


def twin_args(args):
    return tuple(dr.numpy.array(x) if isinstance(x, np.ndarray) else x for x in args)


def test_checkpoints_in_second_derivatives():
    @njit
    def f(x, n):
        y = 0.5 * x
        for _ in range(n):
            x, z = numbers(x, y)
            y = y * 0.9 + 0.01 * z
        return x * y

    same(dr.hessian(f)(0.3, 4), dr.hessian(twin(f))(0.3, 4))
    assert "numbers_tangent_again_reverse" in dr.derivative_source(f, 0.3, 4, transform="hessian")


def test_a_checkpoint_for_python_and_the_tape():
    x, y = dr.vjp(lambda x: numbers(x, 0.5)[1] * x, 0.3)
    expected, pull = dr.vjp(lambda x: numbers.py_func(x, 0.5)[1] * x, 0.3)
    assert x == pytest.approx(expected, rel=1e-15)
    assert y(1.0)[0] == pytest.approx(pull(1.0)[0], rel=1e-15)
    assert numbers(0.3, 0.5) == numbers.py_func(0.3, 0.5)
    assert pickle.loads(pickle.dumps(numbers)) is numbers


def test_a_checkpoint_returns_new_arrays():
    @dr.checkpoint
    @njit
    def same_array(u):
        return u

    @njit
    def f(u):
        return np.sum(same_array(u) * u)

    message = r"the call of .*same_array, a checkpoint, cannot be differentiated: an array that it returns may share"
    with pytest.raises(UnsupportedError, match=message):
        dr.grad(f)(np.ones(3))


@dr.checkpoint
@njit
def recursive(x, n):
    return x if n == 0 else recursive(x * x, n - 1) * x


def test_a_checkpoint_does_not_call_itself():
    @njit
    def f(x):
        return recursive(x, 3)

    with pytest.raises(UnsupportedError, match=r"recursive, a checkpoint, cannot be differentiated: it calls itself"):
        dr.grad(f)(0.5)
    assert dr.jvp(f, (0.5,), (1.0,))[0] == f(0.5)


# Loops


@njit
def heat(k, u, r):
    v = u.copy()
    for i in range(1, len(u) - 1):
        v[i] = u[i] + r[i] * (u[i - 1] - 2.0 * u[i] + u[i + 1]) + 0.01 * k * u[i] ** 2
    return v


heated = dr.checkpoint(heat, loop=2)


@njit
def temperature(u, r, n):
    u = heated(n, u, r)
    return np.sum(u * u)


@pytest.mark.parametrize("n", [0, 1, 2, 7, 20])
def test_a_loop_in_blocks_is_a_loop(n):
    u, r = np.linspace(0.0, 1.0, 6) ** 2, np.linspace(0.1, 0.3, 6)
    found = dr.value_and_grad(temperature, (0, 1))(u, r, n)

    def of_tape(u, r):
        u, step = dr.numpy.array(u), twin(heat)
        for k in range(n):
            u = step(k, u, r)
        return dr.numpy.sum(u * u)

    same(found, dr.value_and_grad(of_tape, (0, 1))(u, r))


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_a_loop_of_a_python_function(levels):
    calls = []

    def step(k, state, rate):
        calls.append(k)
        x, n = state
        return x + rate * x * x / (1 + k), n + 1

    run = dr.checkpoint(step, loop=levels)
    assert run(0, (0.5, 0), 0.1) == (0.5, 0)
    calls.clear()
    found = dr.grad(lambda x, rate: run(30, (x, 0), rate)[0], (0, 1))(0.5, 0.1)
    assert len(calls) == 30 * (levels + 1)

    def plain(x, rate):
        state = x, 0
        for k in range(30):
            state = step(k, state, rate)
        return state[0]

    assert found == pytest.approx(dr.grad(plain, (0, 1))(0.5, 0.1), rel=1e-14)


def test_what_cannot_be_the_step_of_a_loop():
    for levels in (-1, 1.5, True, 1000):
        with pytest.raises(LoopError, match="loop is the number of levels"):
            dr.checkpoint(heat, loop=levels)
    with pytest.raises(LoopError, match="a step takes its number"):
        dr.checkpoint(lambda *args: args, loop=1)


MEMORY = """
import resource, sys
import numpy as np
import dualrev as dr
from numba import njit

@njit
def heat(k, u, r):
    v = u.copy()
    for i in range(1, len(u) - 1):
        v[i] = u[i] + r[i] * (u[i - 1] - 2.0 * u[i] + u[i + 1])
    return v

run = dr.checkpoint(heat, loop=2)

@njit
def f(u, r, n):
    u = run(n, u, r)
    return np.sum(u * u)

cells, steps = map(int, sys.argv[1:])
u, r = np.random.default_rng(0).normal(size=cells), np.full(cells, 0.2)
gradient = dr.grad(f, (0, 1))
gradient(u[:9].copy(), r[:9].copy(), 5)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
gradient(u, r, steps)
print(before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def peak():
    """The most memory that this process had since the peak was reset, in MB."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1000


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="the peak of the memory cannot be reset")
def test_the_memory_of_a_loop_grows_with_the_root_of_its_steps():
    """All states would take 400 MB, and their cotangents as much again."""
    u, r = np.linspace(0.0, 1e-3, 20000), np.full(20000, 0.2)
    gradient = dr.value_and_grad(temperature, (0, 1))
    gradient(u[:9].copy(), r[:9].copy(), 5)
    Path("/proc/self/clear_refs").write_text("5")
    before = peak()
    gradient(u, r, 2500)
    assert peak() - before < 60


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes there")
def test_a_heat_equation_of_many_cells_and_steps_fits_into_a_gigabyte(tmp_path):
    """All states would take 8 GB."""
    file = tmp_path / "heat.py"
    file.write_text(MEMORY)
    run = subprocess.run([sys.executable, file, str(10**5), str(10**4)], capture_output=True, text=True, check=True)
    before, after = map(int, run.stdout.split())
    assert after - before < 500 * 1000
    assert after < 1000 * 1000


# custom_vjp and custom_jvp


@dr.custom_vjp
@njit
def taken(x, places):
    return np.nextafter(x[places], x[places])


@njit
def taken_fwd(x, places):
    return np.nextafter(x[places], x[places]), (places, len(x))


@njit
def taken_bwd(residuals, ct):
    places, n = residuals
    made = np.zeros(n)
    for k in range(len(places)):
        made[places[k]] += ct[k]
    return made, None


taken.defvjp(taken_fwd, taken_bwd)


@dr.custom_vjp
@njit
def mixed(p, x, n=2):
    return p.number * np.sum(p.array) * x * n, p.array * x, n + 1


@njit
def mixed_fwd(p, x, n):
    return mixed(p, x, n), (p, x, n, np.sum(p.array), n > 2, None)


@njit
def mixed_bwd(residuals, cts):
    p, x, n, total, flag, _ = residuals
    ct, of_array, _ = cts
    found = np.empty(len(p.array))
    for i in range(len(found)):
        found[i] = ct * p.number * x * n + x * of_array[i]
    if flag:
        found[0] += 0.0
    return Pair(ct * total * x * n, found, None), ct * p.number * total * n + np.sum(p.array * of_array), None


mixed.defvjp(mixed_fwd, mixed_bwd)


@dr.custom_jvp
@njit
def scaled(v, k, x):
    return v * x, x * k


@scaled.defjvp
@njit
def scaled_rule(primals, tangents):
    v, k, x = primals
    t, _, of_x = tangents
    return scaled(v, k, x), (t * x * 2.0 + v * of_x, of_x * k)


@dr.custom_vjp
@njit
def clipped(x):
    return x


clipped.defvjp(njit(lambda x: (x, None)), njit(lambda _, ct: (min(max(ct, -1.0), 1.0),)))


@njit
def with_rules(p, x, n):
    total = clipped(100.0 * x)
    for k in range(n):
        y, v, m = mixed(p, x, k)
        x = y * 0.01 + v[0]
        w, z = scaled(v, 3, x)
        w[0] = z
        total += x * v[1] * m + clipped(50.0 * w[2] * p.array[1])
        p.array[1] = 0.3 * x
    y, v, m = mixed(p, x=x)
    return total + y


def of_rules():
    return Pair(0.5, np.array([0.5, 0.4, 0.3]), 2), 0.7, 3


def test_rules_are_those_of_the_tape_in_reverse_mode():
    tape = twin(with_rules)
    expected = dr.value_and_grad(lambda p, x: tape(Pair(p.number, dr.numpy.array(p.array), 2), x, 3), (0, 1))
    found = dr.value_and_grad(with_rules, (0, 1))(*of_rules())
    same(found, expected(*of_rules()[:2]))
    assert found[0] == with_rules(*of_rules())


@pytest.mark.slow
def test_rules_in_forward_mode():
    @njit
    def f(p, x, n):
        y, v, _ = mixed(p, x, n)
        w, z = scaled(v, 2, y)
        return np.sum(w * w) * z

    args, t = of_rules(), Pair(0.5, np.array([1.0, 0.5, 0.2]), None)
    same(dr.jvp(f, args, (t, 0.3, None)), dr.jvp(twin(f), (twin_pair(args[0]), *args[1:]), (t, 0.3, None)))


def twin_pair(p):
    return Pair(p.number, dr.numpy.array(p.array), p.count)


@dr.custom_vjp
@njit
def product(x, v):
    return x * v


@njit
def product_fwd(x, v):
    return x * v, (x, v, None)


@njit
def product_bwd(residuals, ct):
    x, v, _ = residuals
    return np.sum(v * ct), 2.0 * x * ct


product.defvjp(product_fwd, product_bwd)


@dr.custom_jvp
@njit
def cube(x):
    return x**3


@cube.defjvp
@njit
def cube_rule(primals, tangents):
    (x,), (t,) = primals, tangents
    return cube(x), 3.0 * x * x * t


def test_rules_in_second_derivatives():
    """The Hessian is the gradient of a derivative in a direction, also of a rule that is no derivative."""

    @njit
    def f(v, x):
        return np.sum(product(cube(x) * x, v) * v)

    v, t, tape = np.array([0.5, 0.4, 0.3]), np.array([1.0, 0.5, 0.2]), twin(f)
    slope = lambda v: dr.jvp(lambda u: tape(u, 0.7), (v,), (t,))[1]  # noqa: E731
    same(dr.hvp(f)(v, t, 0.7), dr.grad(slope)(v))


def test_a_rule_for_what_the_compiler_does_not_know():
    @njit
    def f(x, y, places):
        first = taken(x * y, places)
        places[0] = 1  # the residuals of the first call were others
        first[1] = 0.5 * y
        second = taken(first, places)
        return first[2] * second[0] + 3.0 * second[2]

    x, places = np.array([3.0, -1.0, 2.0]), np.array([2, 0, 0])
    expected = dr.value_and_grad(lambda x, y: f.py_func(x, y, places.copy()), (0, 1))(x, 0.5)
    same(dr.value_and_grad(f, (0, 1))(x, 0.5, places.copy()), expected)
    with pytest.raises(UnsupportedError, match=r"`return np.nextafter.*len.x..`: the call of (numpy.)?nextafter"):
        dr.jvp(f, (x, 0.5, places), (x, 1.0, None))


def test_functions_with_rules_for_python_and_the_tape():
    assert clipped(3.0) == 3.0
    assert dr.grad(lambda x: 100.0 * clipped(x) * x)(3.0) == 301.0
    p, x, _ = of_rules()
    assert mixed(p, 0.7)[2] == 3
    found = dr.grad(lambda p, x: scaled(p.array, 2, x)[1] * np.sum(mixed(p, x, 3)[1]), (0, 1))(p, x)
    same(found[1], 2 * 2 * x * np.sum(p.array))
    assert pickle.loads(pickle.dumps(mixed)) is mixed


def test_a_function_with_a_rule_is_an_argument():
    @njit
    def apply(f, x):
        return f(10.0 * x)

    assert dr.grad(apply, 1)(clipped, 3.0) == 10.0

    @njit
    def twice(x):
        return apply(clipped, x) + x

    assert dr.grad(twice)(3.0) == 11.0


# What is refused


def gradient_of(g, x=1.0):
    @njit
    def of_number(x):
        return g(x)

    @njit
    def of_array(x):
        return np.sum(g(x))

    return dr.grad(of_array if isinstance(x, np.ndarray) else of_number)(x)


def ruled(fwd, bwd, f=lambda x: x * x):
    made = dr.custom_vjp(njit(f))
    made.defvjp(njit(fwd), njit(bwd))
    return made


def double(x):
    return 2.0 * x


def doubled(x):
    return 2.0 * x, None


def double_bwd(_, ct):
    return (2.0 * ct,)


REFUSED = {
    "its fwd does not return a pair": (double, double_bwd),
    "its bwd does not return a tuple of 1, one cotangent": (doubled, lambda _, ct: ct),
    "a residual of its fwd is of numba type unicode_type": (lambda x: (2.0 * x, "x"), double_bwd),
    "the value that its fwd returns has another type": (lambda x: (2, None), double_bwd),
    "its bwd returns a cotangent of numba type array": (doubled, lambda _, ct: (np.ones(3),)),
    "numba does not compile its bwd": (doubled, lambda _, ct: (ct.nothing,)),
}


@pytest.mark.parametrize("message", REFUSED)
def test_a_rule_that_does_not_fit(message):
    with pytest.raises(UnsupportedError, match=f"which has a custom_vjp, cannot be differentiated: {message}"):
        gradient_of(ruled(*REFUSED[message], double))


def test_functions_with_rules_change_nothing_and_return_new_arrays():
    def write(x):
        x[0] = 2.0
        return 2.0 * x

    def write_sorted(x):
        x.sort()
        return 2.0 * x

    for f in (write, write_sorted):
        with pytest.raises(UnsupportedError, match="it changes an array among its arguments, or may do so"):
            gradient_of(ruled(doubled, double_bwd, f), np.ones(3))
    with pytest.raises(UnsupportedError, match="fwd changes an array"):
        gradient_of(ruled(write_fwd, double_bwd, double), np.ones(3))
    with pytest.raises(UnsupportedError, match="an array that it returns may share memory with an argument"):
        gradient_of(ruled(doubled, double_bwd, lambda x: x[:2]), np.ones(3))
    with pytest.raises(UnsupportedError, match="an array that fwd returns may share memory with an argument"):
        gradient_of(ruled(lambda x: (x, None), double_bwd, double), np.ones(3))
    with pytest.raises(ValueError, match="a rule gives a derivative of another shape"):
        gradient_of(ruled(doubled, lambda _, ct: (ct[:1],), double), np.ones(3))


def write_fwd(x):
    x[0] = 2.0
    return 2.0 * x, None


def square_in_rows(x):
    return np.asfortranarray(x * x)


def squared_in_rows(x):
    return np.asfortranarray(x * x), x


def square_single(x):
    return np.float32(x) * np.float32(x)


def squared_single(x):
    return np.float32(x) * np.float32(x), x


def square_bwd(x, ct):
    return (2.0 * x * ct,)


def test_the_value_of_a_rule_may_go_to_a_variable_that_holds_others():
    """The result of a rule may go to a variable whose numba type has another layout or another width."""
    arrays = ruled(squared_in_rows, square_bwd, square_in_rows)
    numbers = ruled(squared_single, square_bwd, square_single)

    @njit
    def f(x, a):
        y = x[0, 0]
        if len(x) > 1:
            a = arrays(x)
            y = numbers(y)
        return np.sum(a * x) + y * y

    x = np.array([[1.5, 2.0], [0.5, 3.0]])
    wanted = 3.0 * x**2
    wanted[0, 0] += 4.0 * 1.5**3
    np.testing.assert_allclose(dr.grad(f)(x, x.copy()), wanted, rtol=1e-6)
    v = np.array([[1.0, -1.0], [0.5, 2.0]])
    np.testing.assert_allclose(dr.jvp(f, (x, x.copy()), (v, 0.0 * v))[1], np.sum(wanted * v), rtol=1e-6)


def test_a_rule_is_there_and_a_numba_function_and_the_only_one():
    bare = dr.custom_vjp(njit(double))
    with pytest.raises(CustomRuleError, match=r"it needs defvjp\(fwd, bwd\)"):
        gradient_of(bare)
    plain = dr.custom_vjp(njit(double))
    plain.defvjp(doubled, double_bwd)
    with pytest.raises(UnsupportedError, match=r"its fwd is no numba function\. Write @njit above it"):
        gradient_of(plain)
    fine = ruled(doubled, double_bwd, double)
    assert gradient_of(fine) == 2.0
    fine.defvjp(*fine.functions)
    with pytest.raises(CustomRuleError, match="one rule for good: numba code has been compiled with another one"):
        fine.defvjp(njit(doubled), njit(double_bwd))
    pushed = dr.custom_jvp(njit(double))

    @pushed.defjvp
    @njit
    def rule(primals, tangents):
        return 1.0

    with pytest.raises(UnsupportedError, match="its rule does not return a pair"):
        gradient_of(pushed)


CACHED = """
import dualrev as dr
from numba import njit

@dr.custom_vjp
@njit
def g(x):
    return x * x

@njit
def fwd(x):
    return x * x, x

@njit
def bwd(x, ct):
    return (FACTOR * x * ct,)

g.defvjp(fwd, bwd)

@njit
def f(x):
    return g(x) + x

gradient = dr.grad(f)
print(gradient(3.0), dict(gradient.stats.cache_hits))
"""


def test_the_cache_knows_the_rule(tmp_path):
    """Another rule is another derivative; the same one is loaded."""
    file, found = tmp_path / "program.py", []
    environment = {**os.environ, "DUALREV_CACHE_DIR": str(tmp_path / "cache")}
    for factor in ("2.0", "2.0", "3.0"):
        file.write_text(CACHED.replace("FACTOR", factor))
        run = subprocess.run([sys.executable, file], capture_output=True, text=True, check=True, env=environment)
        assert not run.stderr
        found.append(run.stdout.split(maxsplit=1))
    assert [x for x, _ in found] == ["7.0", "7.0", "10.0"]
    assert [hits.strip() != "{}" for _, hits in found] == [False, True, False]
