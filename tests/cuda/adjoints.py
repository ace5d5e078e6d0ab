"""Adjoints of kernels, which test_cuda.py runs in processes of their own: in the simulator, and on a GPU if any."""

import functools
import importlib
import math
import re
import runpy
import types
from pathlib import Path

import numba
import numpy as np
import pytest
from numba import cuda
from programs.constant_kernels import CONSTANT
from programs.cuda_kernels import CASES, elementwise, grid_stride, in_place, logistic, scatter, stencil
from programs.extreme_kernels import EXTREME
from programs.shared_kernels import SHARED, sum_of_squares

import dualrev as dr
from dualrev.errors import LaunchError

SIMULATED = bool(numba.config.ENABLE_CUDASIM)
ALL = CASES | SHARED | CONSTANT | EXTREME
rng = np.random.default_rng(1)
adjoint_of = functools.cache(dr.cuda.adjoint)  # derived once for all tests


def copied(args):
    return [x.copy() if isinstance(x, np.ndarray) else x for x in args]


def pulled(launch, args, arrays, cts):
    """Return the cotangents after a launch of an adjoint, which leaves the arguments unchanged."""
    given, shadows = copied(args), copied(cts)
    launch(*given, *shadows)
    for x, kept in zip(given, args, strict=True):
        np.testing.assert_array_equal(x, kept)
    return shadows


def check_differences(kernel, launch, args, arrays, tolerance=1e-6, directions=2):
    """Compare an adjoint with central differences of the kernel, in random directions."""
    cts = [rng.standard_normal(args[k].shape) for k in arrays]
    found = pulled(launch, args, arrays, cts)
    for _ in range(directions):
        along = {k: rng.standard_normal(args[k].shape) for k in arrays}
        ends = []
        for h in (1e-6, -1e-6):
            moved = [x + h * along[k] if k in along else x for k, x in enumerate(copied(args))]
            kernel(*moved)
            ends.append(math.fsum((ct * moved[k]).sum() for k, ct in zip(arrays, cts, strict=True)))
        expected = (ends[0] - ends[1]) / 2e-6
        actual = math.fsum((along[k] * ct).sum() for k, ct in zip(arrays, found, strict=True))
        assert actual == pytest.approx(expected, rel=tolerance, abs=tolerance)


@pytest.mark.parametrize("case", ALL.values(), ids=ALL)
def test_adjoint_agrees_with_differences(case):
    adjoint = adjoint_of(case.kernel)
    check_differences(case.kernel[case.grid], adjoint[case.grid], case.args, case.arrays)
    assert adjoint.before(*case.args) == case.before


@pytest.mark.parametrize("case", [c for c in ALL.values() if c.second], ids=[k for k, c in ALL.items() if c.second])
def test_adjoint_of_an_adjoint_agrees_with_differences(case):
    first = adjoint_of(case.kernel).compiled(*case.args)
    args = (*case.args, *(rng.standard_normal(case.args[k].shape) for k in case.arrays))
    arrays = [*case.arrays, *range(len(case.args), len(args))]
    check_differences(first[case.grid], dr.cuda.adjoint(first)[case.grid], args, arrays)


@pytest.mark.parametrize("case", ALL.values(), ids=ALL)
def test_adjoint_in_single_precision(case):
    adjoint = adjoint_of(case.kernel)
    single = [x.astype(np.float32) if k in case.arrays else x for k, x in enumerate(case.args)]
    double = [x.astype(np.float64) if k in case.arrays else x for k, x in enumerate(single)]
    cts = [rng.standard_normal(case.args[k].shape).astype(np.float32) for k in case.arrays]
    found = pulled(adjoint[case.grid], single, case.arrays, cts)
    expected = pulled(adjoint[case.grid], double, case.arrays, [ct.astype(np.float64) for ct in cts])
    for x, y in zip(found, expected, strict=True):
        assert x.dtype == np.float32
        np.testing.assert_allclose(x, y, rtol=2e-4, atol=2e-5)  # the chaotic map of `logistic` loses a few digits


SOME = {k: c for k, c in ALL.items() if k not in SHARED}  # no kernel among those reads what it overwrites


@pytest.mark.parametrize("case", SOME.values(), ids=SOME)
def test_arrays_that_are_not_needed_from_before_may_be_those_after(case):
    adjoint = adjoint_of(case.kernel)
    after = copied(case.args)
    case.kernel[case.grid](*after)
    names = adjoint.parameters
    mixed = [case.args[k] if names[k] in case.before else x for k, x in enumerate(after)]
    cts = [rng.standard_normal(case.args[k].shape) for k in case.arrays]
    found = pulled(adjoint[case.grid], mixed, case.arrays, cts)
    expected = pulled(adjoint[case.grid], case.args, case.arrays, cts)
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12)  # threads add in another order


SHUFFLED = ["stencil", "scatter", "histogram", "grid stride", "bodies", "wave", *EXTREME]
SHUFFLED += ["halo", "block histogram", "sum of squares"]  # test_threads.py runs all that share arrays


@pytest.mark.skipif(not SIMULATED, reason="a GPU chooses the order itself")
@pytest.mark.parametrize("name", SHUFFLED)
def test_order_of_threads_does_not_matter(name, monkeypatch):
    case = ALL[name]
    adjoint = adjoint_of(case.kernel)
    cts = [rng.standard_normal(case.args[k].shape) for k in case.arrays]
    expected = pulled(adjoint[case.grid], case.args, case.arrays, cts)

    def shuffled(*shape):
        return iter(rng.permutation([*np.ndindex(*shape)]).tolist())

    simulator = importlib.import_module("numba.cuda.simulator.kernel")
    monkeypatch.setattr(simulator, "np", types.SimpleNamespace(**vars(np) | {"ndindex": shuffled}))
    for _ in range(3):
        for x, y in zip(pulled(adjoint[case.grid], case.args, case.arrays, cts), expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12)


@numba.njit(parallel=True)
def stencil_on_a_processor(u, v, c):
    v = v.copy()
    for i in numba.prange(1, u.size - 1):
        v[i] = u[i] * u[i] + c * (u[i - 1] - 2 * u[i] + u[i + 1])
    return u, v


@numba.njit(parallel=True)
def logistic_on_a_processor(x, y, steps):
    y = y.copy()
    for i in numba.prange(x.size):
        v = x[i]
        for _ in range(steps):
            v = 3.7 * v * (1 - v)
        y[i] = v
    return x, y


@pytest.mark.parametrize(("name", "same"), [("stencil", stencil_on_a_processor), ("logistic", logistic_on_a_processor)])
def test_adjoint_is_the_pullback_of_the_same_loop_over_prange(name, same):
    case = CASES[name]
    cts = [rng.standard_normal(case.args[k].shape) for k in case.arrays]
    _, pull = dr.vjp(same, *case.args)
    expected = pull(tuple(cts))
    found = pulled(adjoint_of(case.kernel)[case.grid], case.args, case.arrays, cts)
    for k, x in zip(case.arrays, found, strict=True):
        np.testing.assert_allclose(x, expected[k], rtol=1e-11)


def test_shadows_of_one_array_that_is_read_twice_may_be_one():
    @cuda.jit
    def product(x, y, z):
        i = cuda.grid(1)
        if i < x.size:
            z[i] = x[i] * y[i]

    x, d_x = np.arange(3.0), cuda.to_device(np.zeros(3))
    dr.cuda.adjoint(product)[1, 4](x, x, np.zeros(3), d_x, d_x, np.ones(3))
    np.testing.assert_array_equal(d_x.copy_to_host(), 2 * x)
    host = np.zeros(3)
    with pytest.raises(LaunchError, match="d_x and d_y share memory"):  # numba copies each of both to the device
        dr.cuda.adjoint(product)[1, 4](x, x, np.zeros(3), host, host, np.ones(3))


def test_shadows_that_share_memory_are_added_to_atomically():
    @cuda.jit
    def neighbours(x, y, z):
        i = cuda.grid(1)
        if i < z.size:
            z[i] = x[i] * y[i + 1]

    x = np.arange(1.0, 6.0)
    given = x[:4], x[1:], np.zeros(3)
    adjoint, whole = dr.cuda.adjoint(neighbours), cuda.to_device(np.zeros(5))
    assert "d_x[i] +=" in adjoint.source(*given)
    adjoint[1, 4](*given, whole[:4], whole[1:], np.ones(3))
    np.testing.assert_array_equal(whole.copy_to_host(), [3.0, 4.0, 6.0, 2.0, 3.0])
    last, _ = list(adjoint._made.values())[-1]
    assert not last.alone
    assert "cuda.atomic.add(d_x, i, " in last.text
    adjoint[1, 4](*given, *np.zeros((2, 4)), np.ones(3))
    assert len(adjoint._made) == 2


def test_a_long_tape_of_known_length_is_asked_for():
    @cuda.jit
    def iterated(x, y):
        i = cuda.grid(1)
        if i < x.size:
            v = x[i]
            for _ in range(600):
                v = math.sin(v)
            y[i] = v

    x, cts = np.full(2, 0.3), (np.zeros(2), np.ones(2))
    with pytest.raises(LaunchError, match=r"needs 600 words of tape and has 64.*adjoint\(kernel, tape=600\)"):
        dr.cuda.adjoint(iterated)[1, 2](x, np.zeros(2), *copied(cts))
    assert "cuda.local.array(600, np.float64)" in dr.cuda.adjoint(iterated, tape=600).source(x, x)


def test_arrays_on_the_device_and_no_elements_and_nan():
    adjoint = dr.cuda.adjoint(elementwise)
    x = np.array([0.0, np.nan, 1.0])
    given = [cuda.to_device(a) for a in (x, np.zeros(3), np.zeros(3), np.ones(3))]
    adjoint[1, 4](*given)
    np.testing.assert_array_equal(given[2].copy_to_host(), np.cos(x) * x + np.sin(x))
    adjoint[1, 4](*np.zeros((4, 0)))


def test_a_thread_that_runs_out_of_tape_is_an_error_with_the_number_of_words():
    x, cts = np.full(3, 0.3), (np.zeros(3), np.ones(3))
    with pytest.raises(LaunchError, match=r"needs 100 words of tape and has 64.*adjoint\(kernel, tape=100\)"):
        dr.cuda.adjoint(logistic)[1, 4](x, np.zeros(3), 100, *copied(cts))
    check_differences(logistic[1, 4], dr.cuda.adjoint(logistic, tape=100)[1, 4], (x, np.zeros(3), 2), [0, 1])
    with pytest.raises(LaunchError, match="the shadows and x are half done"):
        dr.cuda.adjoint(grid_stride, tape=1)[1, 4](x, np.ones(3), np.zeros(3), np.ones(3))


def test_all_threads_of_a_block_stop_if_the_tape_of_one_is_too_short():
    case = SHARED["sum of squares"]
    cts = [np.ones(10), np.ones(1)]
    with pytest.raises(LaunchError, match="needs 2 words of tape and has 1"):
        dr.cuda.adjoint(sum_of_squares, tape=1)[case.grid](*case.args, *cts)


def launched(kernel, *args, grid=(1, 4)):
    return lambda: dr.cuda.adjoint(kernel)[grid](*args)


A, B, C, D = np.ones((4, 3))
BIG = np.ones(6)

MISFITS = {
    "too few arguments": (launched(elementwise, A), "it takes x, y, and shadows, got 1 arguments"),
    "no shadows": (launched(elementwise, A, B), r"it takes 2 shadows \(d_x, d_y\), got 0"),
    "another shape": (launched(elementwise, A, B, C, np.ones(2)), r"the shadow of y has shape \(2,\)"),
    "another dtype": (launched(elementwise, A, B, C, D.astype(np.float32)), "dtype float32, and y .* float64"),
    "no array": (launched(elementwise, A, B, C, 1.0), "the shadow of y has shape None"),
    "an array that is written and read": (launched(elementwise, A, A, C, D), "x and y share memory"),
    "a shadow of what is written": (launched(elementwise, A, B, C, C), "d_x and d_y share memory"),
    "a shadow that is an argument": (launched(elementwise, A, B, A, D), "x and d_x share memory"),
    "parts of one array": (launched(elementwise, BIG[:3], BIG[2:5], C, D), "x and y share memory"),
    "a class of no type": (
        launched(elementwise, A, object(), C, D),
        r"no type for y, of class object.*np.asarray\(y\)",
    ),
    "an axis of threads": (launched(elementwise, A, B, C, D, grid=(1, (4, 2))), "does not ask for cuda.threadIdx.y"),
    "no grid": (lambda: dr.cuda.adjoint(elementwise)(A, B, C, D), "a launch needs a grid"),
    "no kernel": (lambda: dr.cuda.adjoint(math.sin), "takes a kernel of numba.cuda.jit, got builtin"),
    "an adjoint": (lambda: dr.cuda.adjoint(dr.cuda.adjoint(elementwise)), "got dualrev.cuda.adjoint"),
    "a tape of no words": (lambda: dr.cuda.adjoint(elementwise, tape=0), "tape is a positive number of words, got 0"),
}


@pytest.mark.parametrize(("launch", "said"), MISFITS.values(), ids=MISFITS)
def test_launches_that_do_not_fit(launch, said):
    with pytest.raises(LaunchError, match=said):
        launch()


def test_parts_of_arrays_that_do_not_overlap_fit():
    whole = np.ones((2, 6))
    dr.cuda.adjoint(elementwise)[1, 8](whole[0, :3], whole[0, 3:], whole[1, :3], whole[1, 3:])
    np.testing.assert_allclose(whole[1, :3], 1 + np.cos(1) + np.sin(1))


def test_atomic_kernels_may_run_on_more_threads_than_they_ask_for():
    case = CASES["scatter"]
    check_differences(scatter[3, (4, 2)], dr.cuda.adjoint(scatter)[3, (4, 2)], case.args, case.arrays)


def test_steps_of_a_simulation_are_reversed_launch_by_launch():
    """Launches in the reverse order, with copies of what `before` names."""
    adjoint = dr.cuda.adjoint(in_place)
    x0, ct = np.array([0.3, 0.8]), np.array([1.0, -2.0])

    def simulated(x):
        kept = []
        for _ in range(3):
            kept.append(x.copy())
            in_place[1, 2](x)
        return x, kept

    d_x = ct.copy()
    for x in reversed(simulated(x0.copy())[1]):
        adjoint[1, 2](x, d_x)
    h = 1e-6
    for k in range(2):
        step = h * np.eye(2)[k]
        expected = ct @ (simulated(x0 + step)[0] - simulated(x0 - step)[0]) / (2 * h)
        assert d_x[k] == pytest.approx(expected, rel=1e-7)


def test_unused_names_of_the_kernels_do_not_collide():
    @cuda.jit
    def named(grid_x, d_x, cuda_, floats):
        i = cuda.grid(1)
        needed = 1.0
        if i < grid_x.size:
            for _ in range(floats):
                needed = needed * grid_x[i]
            d_x[i] = needed * cuda_

    x = np.array([0.5, 2.0])
    check_differences(named[1, 2], dr.cuda.adjoint(named)[1, 2], (x, np.zeros(2), 3.0, 4), [0, 1])


def test_stencil_with_a_scalar_has_no_shadow_for_it():
    assert "d_c" not in dr.cuda.adjoint(stencil).source(*CASES["stencil"].args)


def test_the_code_of_the_page_runs(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "cuda.md").read_text(encoding="utf-8")
    blocks = re.findall(r"(?<!-->\n)```python\n(.*?)```", page, re.DOTALL)
    file = tmp_path / "page.py"
    file.write_text("\n".join(blocks), encoding="utf-8")
    found = runpy.run_path(str(file))
    d_v, ct = found["d_v"], np.ones(10)
    ct[[0, -1]] = 0.0
    np.testing.assert_array_equal(d_v, 1.0 - ct)
    inner = np.convolve(ct, [0.3, 0.0, 0.3], "same") + ct * (2 * found["u"] - 0.6)
    np.testing.assert_allclose(found["d_u"], inner, rtol=1e-12, atol=1e-12)
    u, h = np.linspace(0.0, 1.0, 10), 1e-6
    for k in range(10):
        ends = [dr.cuda.vjp(found["simulate"], u + step * np.eye(10)[k])[0][0] for step in (h, -h)]
        assert found["slope"][k] == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-6, abs=1e-7)
    ends = [found["final_energy"](np.sin((0.3 + step) * np.arange(10.0)))[0] for step in (h, -h)]
    assert found["whole"] == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-6)
