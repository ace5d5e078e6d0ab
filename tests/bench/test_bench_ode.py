"""bench/ode.py: the problems are those of the literature, and the table says what was measured. No time is asserted."""

import dataclasses
import math

import numpy as np
import pytest
from numba import njit
from scipy import integrate, linalg

import dualrev as dr
from bench import ode
from bench.programs import ode_diffrax
from bench.programs.ode_programs import DOSE, PERIOD, PROGRAMS, brusselator_of, eight, epidemic_in
from bench.second import Entry

SMALL = PROGRAMS | {"epidemic": epidemic_in(7), "eight": eight(1), "brusselator": brusselator_of(12)}


def at_the_end(name, tolerance=1e-10, **changed):
    """Return the state at the end of a small problem, by SciPy."""
    return ode.by_scipy(dataclasses.replace(SMALL[name], **changed), tolerance, 1e-2 * tolerance)


@pytest.mark.parametrize("name", SMALL)
def test_the_right_hand_sides_for_numba_and_for_jax_are_equal(name):
    """Those for JAX run with numpy here."""
    program = SMALL[name]
    y = program.start(program.p, program.data)
    y = y + 0.1 * np.cos(np.arange(len(y)))
    expected = np.array(program.fun(0.3, y, program.p, program.data))
    found = getattr(ode_diffrax, program.fun.__name__)(np, 0.3, y, program.p, program.data)
    assert found == pytest.approx(expected, rel=1e-13, abs=1e-13 * np.abs(expected).max())


@pytest.mark.parametrize("name", SMALL)
def test_another_method_of_scipy_has_the_same_solution(name):
    """LSODA knows neither the band nor the method of the table; for the doses, it takes the parts."""
    program, y = SMALL[name], SMALL[name].start(SMALL[name].p, SMALL[name].data)
    for k, span in enumerate(zip(program.times[:-1], program.times[1:], strict=True)):
        y = y if k == 0 else y + program.dose
        y = integrate.solve_ivp(
            program.fun, span, y, "LSODA", args=(program.p, program.data), rtol=1e-10, atol=1e-13
        ).y[:, -1]
    assert at_the_end(name) == pytest.approx(y, rel=1e-6, abs=1e-8)


def test_robertson_has_the_solution_of_sundials():
    """The output of CVODE's example cvRoberts_dns at t = 40, with the digits that it prints."""
    found = at_the_end("robertson", times=np.array([0.0, 40.0]))
    assert found == pytest.approx([0.7158, 9.185e-6, 0.2842], rel=2e-4)


def test_the_eight_is_periodic():
    assert at_the_end("eight") == pytest.approx(SMALL["eight"].p[:12], abs=1e-6)
    assert SMALL["eight"].times[1] == PERIOD


def test_prey_and_predators_keep_their_invariant():
    a, b, c, d = SMALL["prey"].p
    x, y = at_the_end("prey")
    assert d * x - c * math.log(x) + b * y - a * math.log(y) == pytest.approx(d + b, rel=1e-8)


def test_a_drug_without_effects_is_a_matrix_exponential():
    """All but the response are linear in the state."""
    program = SMALL["drug"]
    matrix = np.stack([program.fun(0.0, row, program.p, program.data)[:10] for row in np.eye(12)[:10]], axis=1)
    y = np.zeros(10)
    for _ in range(6):
        y = linalg.expm(12.0 * matrix) @ (y + DOSE[:10])
    assert at_the_end("drug")[:10] == pytest.approx(y, rel=1e-6, abs=1e-8)


def test_people_in_a_region_stay_there():
    assert at_the_end("epidemic").reshape(4, 7).sum(axis=0) == pytest.approx(np.ones(7), rel=1e-9)


def test_the_compiled_solution_is_scipys_and_its_gradient_right():
    program = PROGRAMS["prey"]
    state, steps = program.end(*program.args)
    options = {"args": (program.p, program.data), "rtol": program.rtol, "atol": program.atol}
    expected = integrate.solve_ivp(program.fun, (0.0, 10.0), np.ones(2), **options)
    assert state == pytest.approx(expected.y[:, -1], rel=1e-12)
    assert steps == len(expected.t) - 1
    value, gradient = dr.value_and_grad(program.function)(*program.args)
    assert value == pytest.approx(np.sum(state**2), rel=1e-14)
    by_differences = ode.reference(program)
    assert ode.error(program, gradient, by_differences) < 1e-6
    assert ode.error(program, 1.001 * gradient, by_differences) == pytest.approx(1e-3, rel=1e-2)


@njit
def gaussian(p, data, rtol, atol):
    return math.exp(-p[0] * p[0]) * p[1]


def test_differences_of_a_function():
    program = dataclasses.replace(PROGRAMS["prey"], p=np.array([0.5, 0.0]))
    vars(program)["function"] = gaussian
    value, gradient = ode.differences(program)(*program.args)
    expected = np.array([0.0, math.exp(-0.25)])
    assert value == 0.0
    assert gradient == pytest.approx(expected, rel=1e-6)
    indices, exact = ode.reference(program)
    assert indices.tolist() == [0, 1]
    assert exact == pytest.approx(expected, rel=1e-10)


def test_the_table_has_ratios_to_the_solution():
    seconds = {"solution": 0.002, "reverse": 0.005, "SciPy": 0.4, "differences": 0.01}
    entries = {key: Entry(seconds=[2.0 * s, s]) for key, s in seconds.items()}
    entries |= {"forward": Entry(absent="x"), "diffrax": Entry(absent="not installed")}
    *_, line = ode.markdown([ode.Row(PROGRAMS["prey"], entries, 2, 1200, 31.0, 2e-9)])
    cells = ["Lotka-Volterra", "rk45, 1e-08", "2", "4", "1,200", "2", "31"]
    cells += ["2.5", "-", "3.9", "1,000", "5", "-", "2e-09", "-"]
    assert [cell.strip() for cell in line.strip("| ").split("|")] == cells


def test_diffrax_has_the_same_gradient():
    pytest.importorskip("diffrax")
    program = PROGRAMS["prey"]
    (_, steps), gradient = ode_diffrax.value_and_grad(program)()
    assert steps > 100
    assert np.asarray(gradient) == pytest.approx([-6.9485004, -0.88281453, -1.95331616, -3.06353321], rel=1e-5)
