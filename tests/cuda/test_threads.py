"""Adjoints of kernels whose threads share arrays, run thread by thread: no race, in any order, and right.

`support/threads.py` runs kernels and adjoints, and logs what each thread accesses. Random kernels show that a kernel is
refused, or free of races. What dualrev takes on trust (docs/cuda.md) does not occur in them.
"""

import inspect
import itertools
import math

import numpy as np
import pytest
from programs.block_kernels import BLOCKS
from programs.generators.kernels import arguments, kernel, launches
from programs.racing_kernels import RACING, X, Y
from programs.shared_kernels import SHARED
from support.threads import DivergenceError, Program

import dualrev as dr
from dualrev.diagnostics.quoting import execute, remember
from dualrev.errors import UnsupportedError

WITH_DEVICE_FUNCTIONS = {"softmax", "exchanged"}
ALL = BLOCKS | {name: case for name, case in SHARED.items() if name not in WITH_DEVICE_FUNCTIONS}
SOME, MORE = range(24), range(1000, 1400)


def copied(args):
    return [x.copy() if isinstance(x, np.ndarray) else x for x in args]


def floats(args):
    return [k for k, x in enumerate(args) if isinstance(x, np.ndarray) and x.dtype.kind == "f"]


def pulled(made, adjoint, grid, args, cts, rng):
    """Return the cotangents after the adjoint; None if a thread has too little tape."""
    given, shadows, needed = copied(args), copied(cts), np.zeros(1, np.int64)
    assert not adjoint.run(grid, [*given, *shadows, *[needed] * (made.limit is not None)], rng)
    for x, kept in zip(given, args, strict=True):
        np.testing.assert_array_equal(x, kept)
    return None if made.limit is not None and needed[0] > made.limit else shadows


def check_adjoint(program, made, grid, args, seed=0):
    """Compare an adjoint with central differences, and with itself in another order of threads."""
    rng, arrays = np.random.default_rng(seed), floats(args)
    adjoint, cts = Program(made.text, made.name, made.refs), [rng.standard_normal(args[k].shape) for k in arrays]
    found, again = (pulled(made, adjoint, grid, args, cts, rng) for _ in range(2))
    if found is None:
        return
    for x, y in zip(found, again, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-11)
    along, ends = {k: rng.standard_normal(args[k].shape) for k in arrays}, []
    for h in (1e-6, -1e-6):
        moved = [x + h * along[k] if k in along else x for k, x in enumerate(copied(args))]
        program.run(grid, moved, rng)
        ends.append(math.fsum((ct * moved[k]).sum() for k, ct in zip(arrays, cts, strict=True)))
    actual = math.fsum((along[k] * x).sum() for k, x in zip(arrays, found, strict=True))
    assert actual == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=2e-5, abs=2e-5)


@pytest.mark.parametrize("name", ALL)
def test_adjoints_are_right_in_any_order_of_threads(name):
    case, rng = ALL[name], np.random.default_rng(1)
    space = inspect.getmodule(case.kernel.py_func).__dict__
    program = Program(inspect.getsource(case.kernel.py_func), case.kernel.py_func.__name__, space)
    assert not program.run(case.grid, copied(case.args), rng)
    adjoint = dr.cuda.adjoint(case.kernel)
    made = adjoint.derived(case.grid, case.args)
    check_adjoint(program, made, case.grid, case.args)
    assert (made.limit is None) == case.second
    if case.second:
        first = Program(made.text, made.name, made.refs)
        args = (*case.args, *(rng.standard_normal(case.args[k].shape) for k in case.arrays))
        second = dr.cuda.adjoint(adjoint.compiled(*case.args)).derived(case.grid, args)
        check_adjoint(first, second, case.grid, args)


@pytest.mark.parametrize(("racing", "threads", "line"), RACING, ids=[r[0].py_func.__name__ for r in RACING])
def test_kernels_that_race_are_refused(racing, threads, line):
    f = racing.py_func
    assert Program(inspect.getsource(f), f.__name__).run((1, threads), copied((X, Y)), np.random.default_rng(2))
    with pytest.raises(UnsupportedError) as caught:
        dr.cuda.adjoint(racing).source(X, Y)
    assert caught.value.args[0].split("`")[1] == line


def raced(program, grids, args, rng):
    """Return the launches that a kernel can run with, and what is wrong with it."""
    ran, wrong = [], set()
    for grid, n in itertools.product(grids, (2, 3)):
        given = (*args[:-1], n)
        try:
            wrong |= program.run(grid, copied(given), rng)
        except IndexError:
            continue
        except DivergenceError:
            wrong.add("divergence")
        ran.append((grid, given))
    return ran, wrong


def check_random_kernel(seed):
    text, args, rng = kernel(seed), arguments(seed), np.random.default_rng(seed)
    print(text)
    program = Program(text, "kernel")
    ran, wrong = raced(program, launches(seed), args, rng)
    file, space = f"<random kernel {seed}>", {}
    remember(text, file)
    execute(text, space, file)
    adjoint = dr.cuda.adjoint(space["kernel"])
    try:
        adjoint.source(*args)
    except UnsupportedError:
        return False
    assert not wrong
    for grid, given in ran[::2]:
        check_adjoint(program, adjoint.derived(grid, given), grid, given, seed)
    return bool(ran)


def test_random_kernels_are_refused_or_free_of_races():
    assert sum(map(check_random_kernel, SOME))


@pytest.mark.slow
@pytest.mark.parametrize("seed", MORE)
def test_more_random_kernels_are_refused_or_free_of_races(seed):
    check_random_kernel(seed)
