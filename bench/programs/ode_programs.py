"""The initial value problems of `bench/ode.py`, for numba code.

The function of each is the sum of the squares of the solution at the end, by the parameters. `ode_diffrax.py` has the
same right-hand sides for JAX.

Sources: E. Hairer, S. Nørsett, G. Wanner, "Solving Ordinary Differential Equations I", 1993, and II, 1996 (Robertson's
reaction, the Brusselator with diffusion); A. Chenciner, R. Montgomery, "A remarkable periodic solution of the
three-body problem in the case of equal masses", Annals of Mathematics, 2000 (numbers by C. Simó). The sources of the
model of a drug: R. Savic et al., "Implementation of a transit compartment model for describing drug absorption in
pharmacokinetic studies", 2007; L. Sheiner et al., "Simultaneous modeling of pharmacokinetics and pharmacodynamics",
1979 (the effect compartment); N. Dayneka, V. Garzone, W. Jusko, "Comparison of four basic models of indirect
pharmacodynamic responses", 1993.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
from numba import njit

from dualrev import ode

__all__ = ["PROGRAMS", "Program"]

NOTHING = np.empty((0, 0))


@dataclasses.dataclass(frozen=True, eq=False)
class Program:
    """An initial value problem: fun(t, y, p, data) is solved from start(p, data), over times[0]..times[-1].

    If there is a dose, the solution starts again at each of the times between, where the dose is added to the state.
    `step` is that of central differences, relative to a parameter.
    """

    name: str
    title: str
    fun: Any
    start: Any
    p: np.ndarray
    method: str
    times: np.ndarray
    rtol: float
    atol: float
    data: np.ndarray = dataclasses.field(default_factory=NOTHING.copy)
    dose: np.ndarray | None = None
    band: tuple[int, int] | None = None
    step: float = 1e-3

    @property
    def scale(self) -> np.ndarray:
        """The absolute values of the parameters, with 1 for 0."""
        return np.where(self.p == 0.0, 1.0, np.abs(self.p))

    @functools.cached_property
    def end(self) -> Any:
        """The numba function end(p, data, rtol, atol): the state at the end, and the number of accepted steps."""
        method, fun, start, band = getattr(ode, self.method), self.fun, self.start, self.band
        times, dose = self.times, self.dose
        first, last = float(times[0]), float(times[-1])

        @njit
        def once(p, data, rtol, atol):
            y = start(p, data)
            solution = method(fun, (first, last), y, args=(p, data), rtol=rtol, atol=atol, band=band)
            return solution.y[:, -1], len(solution.t) - 1

        @njit
        def with_doses(p, data, rtol, atol):
            y, steps = start(p, data), 0
            for k in range(len(times) - 1):
                solution = method(fun, (times[k], times[k + 1]), y, args=(p, data), rtol=rtol, atol=atol)
                steps += len(solution.t) - 1
                y = solution.y[:, -1]
                if k < len(times) - 2:
                    y = y + dose
            return y, steps

        return once if dose is None else with_doses

    @functools.cached_property
    def function(self) -> Any:
        """The numba function that is differentiated: function(p, data, rtol, atol)."""
        end = self.end

        @njit
        def squares(p, data, rtol, atol):
            y, _ = end(p, data, rtol, atol)
            return np.sum(y * y)

        return squares

    @property
    def args(self) -> tuple[Any, ...]:
        """The arguments of both numba functions."""
        return self.p, self.data, self.rtol, self.atol


# ----------------------------------------------------------------------------------------------------------------------
# Lotka-Volterra: prey and predators


@njit
def lotka_volterra(t, y, p, data):
    """Prey grow and are eaten; predators grow by that, and die."""
    return p[0] * y[0] - p[1] * y[0] * y[1], p[3] * y[0] * y[1] - p[2] * y[1]


@njit
def two_ones(p, data):
    """Return the first state."""
    return np.ones(2)


# ----------------------------------------------------------------------------------------------------------------------
# Robertson's reaction, stiff


@njit
def robertson(t, y, p, data):
    """Robertson's equations: three substances, and three reactions at very different rates."""
    slow, fast, back = p[0] * y[0], p[1] * y[1] * y[1], p[2] * y[1] * y[2]
    return back - slow, slow - back - fast, fast


@njit
def first_only(p, data):
    """Return the first state."""
    return np.array([1.0, 0.0, 0.0])


# ----------------------------------------------------------------------------------------------------------------------
# A drug: absorption through a chain of six compartments, three compartments, an effect site, an indirect response

CHAIN = 6


@njit
def drug(t, y, p, data):
    """Six transit compartments, absorption, centre, two peripheral ones, effect site, response: twelve states."""
    ktr, ka, cl, v, q2, v2, q3, v3, ke, kin, kout, half = p
    f = np.empty(12)
    f[0] = -ktr * y[0]
    for i in range(1, CHAIN):
        f[i] = ktr * (y[i - 1] - y[i])
    centre, second, third, site = y[7] / v, y[8] / v2, y[9] / v3, y[10]
    f[6] = ktr * y[5] - ka * y[6]
    f[7] = ka * y[6] - cl * centre - q2 * (centre - second) - q3 * (centre - third)
    f[8] = q2 * (centre - second)
    f[9] = q3 * (centre - third)
    f[10] = ke * (centre - site)
    f[11] = kin * (1.0 - site / (half + site)) - kout * y[11]
    return f


@njit
def first_dose(p, data):
    """Return the first state: the first dose, and the response at its equilibrium."""
    y = np.zeros(12)
    y[0], y[11] = 100.0, p[9] / p[10]
    return y


DOSE = 100.0 * np.eye(12)[0]

# ----------------------------------------------------------------------------------------------------------------------
# An epidemic in regions: susceptible, exposed, infected, recovered


@njit
def epidemic(t, y, p, data):
    """Each of the parts of y has a value for each region, each of the parts of p, too; data couples the regions."""
    n = len(data)
    f = np.empty(4 * n)
    for r in range(n):
        force = 0.0
        for s in range(n):
            force += data[r, s] * y[2 * n + s]
        infected = p[r] * force * y[r]
        onset, recovered = p[n + r] * y[n + r], p[2 * n + r] * y[2 * n + r]
        f[r] = -infected
        f[n + r] = infected - onset
        f[2 * n + r] = onset - recovered
        f[3 * n + r] = recovered
    return f


@njit
def outbreak(p, data):
    """Return the first state: one in a thousand is infected in the first region."""
    n = len(data)
    y = np.zeros(4 * n)
    y[:n] = 1.0
    y[0], y[2 * n] = 0.999, 0.001
    return y


def regions(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the parameters of n regions, and their coupling: less with the distance, rows with the sum 1."""
    rng = np.random.default_rng(0)
    places = rng.uniform(size=(n, 2))
    coupling = np.exp(-10.0 * np.linalg.norm(places[:, None] - places, axis=2))
    p = np.concatenate([rng.uniform(low, high, n) for low, high in ((0.3, 0.6), (0.15, 0.3), (0.1, 0.2))])
    return p, coupling / coupling.sum(axis=1, keepdims=True)


# ----------------------------------------------------------------------------------------------------------------------
# Three bodies in the plane, on a figure eight


@njit
def three_bodies(t, y, p, data):
    """Six coordinates, then their velocities; the masses are the last three parameters."""
    f = np.empty(12)
    for i in range(6):
        f[i] = y[6 + i]
        f[6 + i] = 0.0
    for i in range(3):
        for j in range(i):
            dx, dy = y[2 * j] - y[2 * i], y[2 * j + 1] - y[2 * i + 1]
            cubed = (dx * dx + dy * dy) ** -1.5
            f[6 + 2 * i] += p[12 + j] * dx * cubed
            f[7 + 2 * i] += p[12 + j] * dy * cubed
            f[6 + 2 * j] -= p[12 + i] * dx * cubed
            f[7 + 2 * j] -= p[12 + i] * dy * cubed
    return f


@njit
def first_twelve(p, data):
    """Return the first state, the first of the parameters."""
    return p[:12].copy()


PERIOD = 6.32591398
PLACE, SPEED = np.array([0.97000436, -0.24308753]), np.array([-0.93240737, -0.86473146])
EIGHT = np.concatenate([PLACE, -PLACE, np.zeros(2), -SPEED / 2.0, -SPEED / 2.0, SPEED, np.ones(3)])

# ----------------------------------------------------------------------------------------------------------------------
# The Brusselator with diffusion in one dimension


@njit
def brusselator(t, y, p, data):
    """y has u and v of each cell in turn, p is A, B and alpha; u = A and v = B / A at both ends."""
    n = len(y) // 2
    a, b, rate = p[0], p[1], p[2] * (n + 1.0) ** 2
    f = np.empty(2 * n)
    for i in range(n):
        u, v = y[2 * i], y[2 * i + 1]
        left_u, left_v = (y[2 * i - 2], y[2 * i - 1]) if i > 0 else (a, b / a)
        right_u, right_v = (y[2 * i + 2], y[2 * i + 3]) if i < n - 1 else (a, b / a)
        f[2 * i] = a + u * u * v - (b + 1.0) * u + rate * (left_u - 2.0 * u + right_u)
        f[2 * i + 1] = b * u - u * u * v + rate * (left_v - 2.0 * v + right_v)
    return f


@njit
def sine(p, data):
    """Return the first state, by the places of the cells in data."""
    n = len(data)
    y = np.empty(2 * n)
    for i in range(n):
        y[2 * i], y[2 * i + 1] = p[0] + np.sin(2.0 * np.pi * data[i, 0]), p[1] / p[0]
    return y


def cells(n: int) -> np.ndarray:
    """Return the places of n cells in (0, 1), a column."""
    return np.arange(1.0, n + 1.0)[:, None] / (n + 1.0)


# ----------------------------------------------------------------------------------------------------------------------


def epidemic_in(n: int) -> Program:
    """Return the epidemic in n regions."""
    p, coupling = regions(n)
    span, title = np.array([0.0, 60.0]), f"SEIR, {n} regions"
    return Program("epidemic", title, epidemic, outbreak, p, "rk45", span, 1e-9, 1e-12, coupling)


def brusselator_of(n: int) -> Program:
    """Return the Brusselator of n cells."""
    p, places = np.array([1.0, 3.0, 0.02]), cells(n)
    span, title = np.array([0.0, 10.0]), f"Brusselator, {n} cells"
    return Program("brusselator", title, brusselator, sine, p, "radau", span, 1e-8, 1e-8, places, band=(2, 2))


def eight(periods: int) -> Program:
    """Return the three bodies on the figure eight for some periods: the state moves far with the masses."""
    span, title = np.array([0.0, periods * PERIOD]), f"three bodies, {periods} periods"
    return Program("eight", title, three_bodies, first_twelve, EIGHT, "dop853", span, 1e-10, 1e-10, step=1e-5)


PROGRAMS = {
    program.name: program
    for program in (
        Program(
            "prey", "Lotka-Volterra", lotka_volterra, two_ones, np.array([1.5, 1.0, 3.0, 1.0]),
            "rk45", np.array([0.0, 10.0]), 1e-8, 1e-8,
        ),
        Program(
            "robertson", "Robertson", robertson, first_only, np.array([0.04, 3e7, 1e4]),
            "radau", np.array([0.0, 1e5]), 1e-8, 1e-10,
        ),
        Program(
            "drug", "PK/PD, 6 doses", drug, first_dose,
            np.array([4.0, 1.2, 5.0, 20.0, 8.0, 40.0, 2.0, 100.0, 0.5, 10.0, 0.2, 1.0]),
            "rk45", np.arange(0.0, 73.0, 12.0), 1e-8, 1e-8, dose=DOSE,
        ),
        epidemic_in(100),
        eight(20),
        brusselator_of(200),
    )
}  # fmt: skip
