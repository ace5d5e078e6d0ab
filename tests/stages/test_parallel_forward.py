"""The forward pass of the stage `parallel` on threads, in any Python: with a lock (the GIL), threads take turns."""

import contextlib
import sys
import threading

import numpy as np
import pytest
from programs.forks import gradient, program

import dualrev as dr
from dualrev import math as dm
from dualrev import tree
from stages import STAGES, count, fork
from stages.fork_join.jobs import ForkError
from stages.fork_join.threads import locked, threads
from stages.programs import PROGRAMS

LONG = 20.0  # seconds that a side waits for the other, before it gives up


@pytest.fixture(autouse=True)
def turns():
    """Let threads change turns as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def at_once(f, g):
    """fork(f, g) whose sides wait for each other: it ends only if both run at the same time."""
    barrier = threading.Barrier(2)

    def side(function):
        barrier.wait(LONG)
        try:
            return function()
        finally:
            barrier.wait(LONG)

    return fork(lambda: side(f), lambda: side(g))


def test_gradients_are_those_of_tape():
    alive = threading.active_count()
    for seed in range(40):
        f = program(seed)
        with threads(4):
            y, found = gradient("parallel", f, 0.3, 1.1, -0.7)
        expected, wanted = gradient("tape", f, 0.3, 1.1, -0.7)
        assert y == expected
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)
    assert threading.active_count() == alive


def test_both_sides_run_at_the_same_time_in_forks_of_forks_too():
    used = set()

    def chain(x, k):
        used.add(threading.get_ident())
        for _ in range(300):
            x = dm.sin(x) + 0.01 * k
        return x

    def of(fork):
        def f(x, y):
            a, b = fork(
                lambda: fork(lambda: chain(x, 1), lambda: chain(y, 2)),
                lambda: fork(lambda: chain(x * y, 3), lambda: chain(x - y, 4)),
            )
            return a[0] * a[1] + b[0] * b[1]

        return f

    with threads(4):
        y, found = gradient("parallel", of(at_once), 0.4, 0.9)
    assert len(used) == 4
    expected, wanted = gradient("tape", of(fork), 0.4, 0.9)
    assert y == expected
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_no_more_threads_than_allowed():
    now, most, lock = [0], [0], threading.Lock()

    def leaf(x):
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        x = dm.sin(dm.sin(x))
        with lock:
            now[0] -= 1
        return x

    def f(x, depth=6):
        if depth == 0:
            return leaf(x)
        a, b = fork(lambda: f(x, depth - 1), lambda: f(x, depth - 1))
        return a + b

    for allowed in (1, 2, 3):
        most[0] = 0
        with threads(allowed):
            assert gradient("parallel", f, 0.5) == gradient("parallel", f, 0.5)
        assert most[0] <= allowed


def test_by_default_there_is_one_thread_if_the_interpreter_has_a_lock():
    used = set()
    gradient("parallel", lambda x: fork(lambda: used.add(threading.get_ident()) or x, lambda: x)[0], 1.0)
    assert used == {threading.get_ident()} or not locked()
    assert locked() == getattr(sys, "_is_gil_enabled", lambda: True)()


@pytest.mark.parametrize("uses", ["g uses f's", "f uses g's"])
def test_a_number_of_the_other_side_is_refused_whichever_side_runs_first(uses):
    ready, seen = threading.Event(), []

    def f(x):
        def makes():
            seen.append(x * x)
            ready.set()
            return x

        def takes():
            assert ready.wait(LONG)
            return seen[-1] + x

        return fork(takes, makes)[0] if uses == "f uses g's" else fork(makes, takes)[1]

    with threads(2), pytest.raises(ForkError, match="Compute the number before the fork"):
        gradient("parallel", f, 2.0)


def test_a_number_of_an_earlier_fork_is_not_of_the_other_side():
    def f(x):
        a, b = fork(lambda: x * x, lambda: x + 1.0)
        c, d = fork(lambda: fork(lambda: a * b, lambda: b)[0] + x, lambda: fork(lambda: a, lambda: a * b)[1])
        return c * d

    for allowed in (1, 4):
        with threads(allowed):
            assert gradient("parallel", f, 3.0) == gradient("tape", f, 3.0)


def test_a_thread_that_fork_has_not_started_is_refused():
    def f(x):
        raised = []

        def work():
            try:
                x * x
            except ForkError as error:
                raised.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        raise raised[0]

    with pytest.raises(ForkError, match=r"Start threads by\s+stages.fork"):
        gradient("parallel", f, 2.0)


@pytest.mark.parametrize(("outer", "inner"), [("tape", "parallel"), ("parallel", "tape"), ("lists", "parallel")])
def test_with_another_stage_around_or_inside_there_is_one_thread(outer, inner):
    used = set()

    def f(x):
        def side(k):
            used.add(threading.get_ident())
            return dm.sin(x) * k

        a, b = fork(lambda: side(2.0), lambda: side(3.0))
        return a * b * x

    first, second = STAGES[outer], STAGES[inner]
    with threads(4):
        found = dr.grad(lambda x: dr.grad(f, engine=second)(x) * x, engine=first)(0.7)
    assert used == {threading.get_ident()}
    assert found == pytest.approx(dr.grad(lambda x: dr.grad(f)(x) * x)(0.7), rel=1e-12)


def test_derivatives_nest_on_threads():
    def f(x):
        a, b = at_once(lambda: x * x, lambda: dm.sin(x))
        return a * b

    parallel, x = STAGES["parallel"], 0.7
    with threads(2):
        second = dr.grad(dr.grad(f, engine=parallel), engine=parallel)(x)
    assert second == pytest.approx(2 * np.sin(x) + 4 * x * np.cos(x) - x * x * np.sin(x), rel=1e-12)


def test_a_side_that_raises_leaves_the_other_as_it_is():
    def f(x):
        y = x * x
        with contextlib.suppress(ZeroDivisionError):
            fork(lambda: y / 0.0, lambda: y * x)
        with contextlib.suppress(ZeroDivisionError):
            fork(lambda: y * x, lambda: y / 0.0)
        a, b = fork(lambda: y * x, lambda: y + x)
        return a + b

    with threads(2):
        assert gradient("parallel", f, 3.0) == (39.0, (34.0,))
        with pytest.raises(ZeroDivisionError):
            gradient("parallel", lambda x: at_once(lambda: x * x, lambda: x / 0.0)[0], 1.0)
        assert gradient("parallel", f, 3.0) == (39.0, (34.0,))


def test_counts_are_those_of_one_thread():
    with threads(4):
        found = count("parallel", program(3), 0.3, 1.1, -0.7)
    assert found == count("parallel", program(3), 0.3, 1.1, -0.7)


def test_particles_on_threads():
    """The program of section 10's artifact, with a side for each half of the swarm."""
    swarm, _ = PROGRAMS["particles"].make(8, 0)
    whole = PROGRAMS["particles"].function

    def f(swarm):
        if len(swarm) == 1:
            return whole(swarm, 50)
        half = len(swarm) // 2
        a, b = fork(lambda: f(swarm[:half]), lambda: f(swarm[half:]))
        return a + b

    with threads(3):
        y, found = gradient("parallel", f, swarm)
    expected, wanted = gradient("tape", f, swarm)
    assert y == expected
    structure = tree.inputs((swarm,))[1]
    np.testing.assert_allclose(structure.read(found), structure.read(wanted), rtol=1e-12)
