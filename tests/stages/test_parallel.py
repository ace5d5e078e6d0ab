"""Fork and join: the stage `parallel` gives the gradients of `tape` under every schedule; work and span are counted."""

import contextlib
import math
import random
import threading

import numpy as np
import pytest
from programs.forks import chain, gradient, program, tree

import dualrev as dr
from dualrev import math as dm
from stages import STAGES, count, fork
from stages.fork_join import atomic
from stages.fork_join.jobs import ForkError, Jobs

SCHEDULES = 40


class Turnstile:
    """Threads that go on one at a time, from job to job; which is next is chosen at random."""

    def __init__(self, seed, resolve):
        self.choices, self.resolve, self.order = random.Random(seed), resolve, []
        self.changed, self.waiting = threading.Condition(), {}
        self.active, self.turn, self.made = 1, None, 0
        self.me = threading.local()

    def _next(self):
        if self.active == 0 and self.turn is None and self.waiting:
            self.turn = self.choices.choice(sorted(self.waiting))
            self.changed.notify_all()

    def job(self, first, *more):
        """In place of the loop: wait for a turn."""
        name = getattr(self.me, "name", 0)
        with self.changed:
            self.waiting[name] = first
            self.active -= 1
            self._next()
            self.changed.wait_for(lambda: self.turn == name)
            del self.waiting[name]
            self.turn, self.active = None, self.active + 1
        self.order.append(int(first))
        self.resolve(first, *more)

    def beside(self, first, second, free):
        """In place of the threads of the stage."""
        state = {"done": False, "awaited": False}
        with self.changed:
            self.made += 1
            name = self.made
            self.active += 1

        def run():
            self.me.name = name
            second()
            with self.changed:
                state["done"] = True
                self.active -= not state["awaited"]  # or else the thread that waits for this one goes on in its place
                self._next()
                self.changed.notify_all()

        thread = threading.Thread(target=run)
        thread.start()
        first()
        with self.changed:
            if not state["done"]:
                state["awaited"] = True
                self.active -= 1
                self._next()
                self.changed.wait_for(lambda: state["done"])
        thread.join()


def test_gradients_are_those_of_tape_under_many_schedules(monkeypatch):
    stage, orders = STAGES["parallel"], set()
    for seed in range(SCHEDULES):
        f, xs = program(seed % 10), [0.3, 1.1, -0.7]
        turnstile = Turnstile(seed, stage.resolve)
        with monkeypatch.context() as patch:
            patch.setattr(stage, "resolve", turnstile.job)
            patch.setattr(stage, "beside", turnstile.beside)
            y, found = gradient("parallel", f, *xs)
        expected, wanted = gradient("tape", f, *xs)
        assert y == expected
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)
        orders.add((seed % 10, tuple(turnstile.order)))
    assert len(orders) > 0.9 * SCHEDULES  # they were different ones


def test_gradients_are_those_of_tape_on_threads_that_run_at_once(monkeypatch):
    monkeypatch.setattr(STAGES["parallel"], "WORTH", 0)
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    before = threading.active_count()
    for seed in range(20):
        f = program(seed)
        y, found = gradient("parallel", f, 0.3, 1.1, -0.7)
        expected, wanted = gradient("tape", f, 0.3, 1.1, -0.7)
        assert y == expected
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)
    assert threading.active_count() == before


def test_sums_of_threads_lose_nothing():
    """Without atomic additions, of 400,000 on one place from two threads thousands are lost."""
    import numba

    @numba.njit(nogil=True)
    def many(a, n):
        for _ in range(n):
            atomic.add(a, 0, 1.0)

    a = np.zeros(1)
    many(a, 0)
    threads = [threading.Thread(target=many, args=(a, 200_000)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert a[0] == 400_000.0
    atomic.add(a, 0, 1.0)  # in Python, too
    assert a[0] == 400_001.0


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_takes_programs_with_forks(stage):
    xs = [0.5, -1.5, 2.0]
    if stage == "naive":
        assert gradient(stage, tree, xs) == (6.5, ([1.0, -3.0, 4.0],))
        return
    y, found = gradient(stage, program(3), *xs)
    expected, wanted = gradient("tape", program(3), *xs)
    assert y == expected
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("log", [3, 5, 8])
def test_of_a_balanced_tree_of_forks_work_is_n_and_span_log_n(log):
    n = 2**log
    counts = count("parallel", tree, [0.1 * k for k in range(n)])
    assert counts.calls == n + n + (n - 1)  # inputs, squares and sums
    assert counts.span == 1 + log  # a square, and a sum on every level
    assert counts.calls == count("tape", tree, [0.1 * k for k in range(n)]).calls


@pytest.mark.parametrize("n", [10, 1000])
def test_of_a_chain_span_is_the_work(n):
    counts = count("parallel", chain, 1.0, n)
    assert (counts.calls, counts.span) == (n + 1, n)  # the input waits for all, and all is in front of it


def test_the_span_is_that_of_the_longer_part():
    def f(x):
        a, b = fork(lambda: chain(x, 7), lambda: chain(x, 3))
        return a * b

    assert count("parallel", f, 1.0).span == 1 + 7
    assert count("tape", f, 1.0).span == 0  # no jobs


def test_the_work_is_linear_and_the_span_no_part_of_it():
    works = [count("parallel", tree, [1.0] * n).work for n in (16, 32, 64)]
    assert works[2] - works[1] == 2 * (works[1] - works[0])


def test_derivatives_nest():
    def f(x):
        a, b = fork(lambda: x * x, lambda: dm.sin(x))
        return a * b

    parallel = STAGES["parallel"]
    second = dr.grad(dr.grad(f, engine=parallel), engine=parallel)(0.7)
    x = 0.7
    assert second == pytest.approx(2 * math.sin(x) + 4 * x * math.cos(x) - x * x * math.sin(x), rel=1e-12)
    assert dr.grad(dr.grad(f), engine=parallel)(0.7) == pytest.approx(second, rel=1e-12)


def test_a_number_of_the_other_part_is_refused():
    def f(x):
        seen = []
        fork(lambda: seen.append(x * x), lambda: seen.append(seen[0] + x))
        return seen[1]

    with pytest.raises(ForkError, match="g uses a number that f has computed"):
        gradient("parallel", f, 2.0)
    assert gradient("tape", f, 2.0) == (6.0, (5.0,))

    def after(x):
        seen = []
        fork(lambda: seen.append(x * x), lambda: seen.append(x + x))
        return seen[0] * seen[1]

    assert gradient("parallel", after, 2.0) == (16.0, (24.0,))


def test_a_part_that_raises_leaves_the_others_as_they_are():
    def f(x):
        y = x * x
        with contextlib.suppress(ZeroDivisionError):
            fork(lambda: y / 0.0, lambda: y)
        with contextlib.suppress(IndexError):
            fork(lambda: y * 2.0, lambda: [y][1])
        a, b = fork(lambda: y * x, lambda: y + x)
        return a + b

    assert gradient("parallel", f, 3.0) == (39.0, (34.0,))
    with pytest.raises(ZeroDivisionError):
        gradient("parallel", lambda x: fork(lambda: x / 0.0, lambda: x)[1], 1.0)
    assert gradient("parallel", f, 3.0) == (39.0, (34.0,))


def test_ids_are_pairs_of_a_job_and_a_number_in_it():
    seen = []

    def f(x, y):
        a, b = fork(lambda: x * y, lambda: dm.sin(x) + y)
        seen.extend([x, y, a, b, a + b])
        return seen[-1]

    STAGES["parallel"].vjp(f, 1.0, 2.0)
    (a, _), (b, _) = seen[2].i, seen[3].i
    assert {a, b} == {1, 2}  # in free-threaded Python, either side may begin first
    assert [u.i for u in seen] == [(0, 0), (0, 1), (a, 0), (b, 1), (3, 0)]
    assert isinstance(seen[0].run, Jobs)
