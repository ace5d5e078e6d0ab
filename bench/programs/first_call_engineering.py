"""Programs with long first calls, from engineering: a Roe solver, a cable, kinetics, a robot, a spline."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from bench.programs.first_call_program import Program, table

__all__ = ["ENGINEERING"]


# ----------------------------------------------------------------------------------------------------------------------
# Euler's equations in one dimension, by Roe's average


@njit
def entropy_fixed(speed, width):
    """Return the absolute value of a wave's speed, rounded near zero."""
    return abs(speed) if abs(speed) >= width else 0.5 * (speed * speed / width + width)


@njit
def roe_flux(left, right, gamma):
    """Return Roe's flux between two states of density, speed and pressure."""
    rl, ul, pl = left
    rr, ur, pr = right
    hl = gamma / (gamma - 1.0) * pl / rl + 0.5 * ul * ul
    hr = gamma / (gamma - 1.0) * pr / rr + 0.5 * ur * ur
    root = math.sqrt(rr / rl)
    u = (ul + root * ur) / (1.0 + root)
    h = (hl + root * hr) / (1.0 + root)
    c = math.sqrt((gamma - 1.0) * (h - 0.5 * u * u))
    density = root * rl
    dr, du, dp = rr - rl, ur - ul, pr - pl
    waves = (
        (dp - density * c * du) / (2.0 * c * c),
        dr - dp / (c * c),
        (dp + density * c * du) / (2.0 * c * c),
    )
    speeds = (
        entropy_fixed(u - c, 0.1 * c),
        abs(u),
        entropy_fixed(u + c, 0.1 * c),
    )
    vectors = ((1.0, u - c, h - u * c), (1.0, u, 0.5 * u * u), (1.0, u + c, h + u * c))
    f0 = 0.5 * (rl * ul + rr * ur)
    f1 = 0.5 * (rl * ul * ul + pl + rr * ur * ur + pr)
    f2 = 0.5 * (rl * ul * hl + rr * ur * hr)
    for k in range(3):
        s = 0.5 * waves[k] * speeds[k]
        f0 -= s * vectors[k][0]
        f1 -= s * vectors[k][1]
        f2 -= s * vectors[k][2]
    return f0, f1, f2


@njit
def van_leer(a, b):
    """Return van Leer's limited slope."""
    return 2.0 * a * b / (a + b) if a * b > 0.0 else 0.0


@njit
def conserved(w, gamma, u):
    """Write density, momentum and energy of all cells."""
    for i in range(len(w)):
        r, v, p = w[i]
        u[i, 0], u[i, 1], u[i, 2] = r, r * v, p / (gamma - 1.0) + 0.5 * r * v * v


@njit
def roe_step(u, w, gamma, ratio, new):
    """Write the state after a step; the ends do not change. w is room for the primitive state."""
    n = len(u)
    for i in range(n):
        v = u[i, 1] / u[i, 0]
        w[i, 0], w[i, 1], w[i, 2] = u[i, 0], v, (gamma - 1.0) * (u[i, 2] - 0.5 * u[i, 1] * v)
    new[:] = u
    for i in range(1, n - 2):
        left, right = np.empty(3), np.empty(3)
        for k in range(3):
            left[k] = w[i, k] + 0.5 * van_leer(w[i, k] - w[i - 1, k], w[i + 1, k] - w[i, k])
            right[k] = w[i + 1, k] - 0.5 * van_leer(w[i + 1, k] - w[i, k], w[i + 2, k] - w[i + 1, k])
        flux = roe_flux((left[0], left[1], left[2]), (right[0], right[1], right[2]), gamma)
        for k, f in enumerate(flux):
            new[i, k] -= ratio * f
            new[i + 1, k] += ratio * f


@njit
def roe_tube(start, gamma, steps, ratio, sensor, target):
    """Return the misfit of the pressure at a sensor, in a tube whose first state is given, by Heun's method."""
    n = len(start)
    u, one, two, w = np.empty((n, 3)), np.empty((n, 3)), np.empty((n, 3)), np.empty((n, 3))
    conserved(start, gamma, u)
    total = 0.0
    for t in range(steps):
        roe_step(u, w, gamma, ratio, one)
        roe_step(one, w, gamma, ratio, two)
        u[:] = 0.5 * (u + two)
        pressure = (gamma - 1.0) * (u[sensor, 2] - 0.5 * u[sensor, 1] ** 2 / u[sensor, 0])
        total += (pressure - target[t]) ** 2
    return total


def make_roe_tube() -> tuple[Any, ...]:
    """Return a smooth first state of 100 cells, gamma, and the pressure in 40 steps."""
    x = np.linspace(0.0, 1.0, 100)
    start = np.column_stack((1.0 - 0.6 * x**2, 0.1 * np.cos(3.0 * x), 1.0 - 0.7 / (1.0 + np.exp(-20.0 * (x - 0.5)))))
    return start, 1.4, 40, 0.2, 60, np.full(40, 0.6)


# ----------------------------------------------------------------------------------------------------------------------
# A dendrite of many compartments


@njit
def solve_tridiagonal(lower, middle, upper, right):
    """Return the solution of a tridiagonal system, by Thomas's algorithm."""
    n = len(middle)
    c, d = np.empty(n), np.empty(n)
    c[0], d[0] = upper[0] / middle[0], right[0] / middle[0]
    for i in range(1, n):
        pivot = middle[i] - lower[i] * c[i - 1]
        c[i] = upper[i] / pivot
        d[i] = (right[i] - lower[i] * d[i - 1]) / pivot
    for i in range(n - 2, -1, -1):
        d[i] -= c[i] * d[i + 1]
    return d


@njit
def cable(density, p, steps, dt, recorded):
    """Return the misfit of the voltage at the far end; p has axial and leak conductance, capacity, stimulus."""
    n = len(density)
    v, gate, rest = np.full(n, -65.0), np.full(n, 0.05), np.full(n, 0.6)
    lower, middle, upper, right = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    total = 0.0
    for t in range(steps):
        for i in range(n):
            opened = 1.0 / (1.0 + math.exp(-(v[i] + 40.0) / 6.0))
            closed = 1.0 / (1.0 + math.exp((v[i] + 62.0) / 6.0))
            gate[i] += dt / 0.4 * (opened - gate[i])
            rest[i] += dt / (1.0 + 8.0 / (1.0 + math.exp((v[i] + 60.0) / 12.0))) * (closed - rest[i])
            sodium = density[i] * gate[i] ** 3 * rest[i]
            potassium = 0.3 * density[i] * gate[i] ** 2
            middle[i] = p[2] / dt + p[1] + sodium + potassium
            right[i] = p[2] / dt * v[i] - 65.0 * p[1] + 50.0 * sodium - 77.0 * potassium
            if i == 0 and t < 40:
                right[i] += p[3]
            if i > 0:
                lower[i] = -p[0]
                middle[i] += p[0]
            if i < n - 1:
                upper[i] = -p[0]
                middle[i] += p[0]
        v = solve_tridiagonal(lower, middle, upper, right)
        total += (v[n - 1] - recorded[t]) ** 2
    return total / steps


def make_cable() -> tuple[Any, ...]:
    """Return the channel densities of 40 compartments, the parameters, and 120 samples."""
    density = 60.0 + 10.0 * np.cos(np.arange(40.0))
    return density, np.array([5.0, 0.3, 1.0, 60.0]), 120, 0.05, -60.0 + 10.0 * np.sin(np.arange(120.0) / 20.0)


# ----------------------------------------------------------------------------------------------------------------------
# Kinetics of twenty reactions, written out


@njit
def reaction_rates(k, temperature, y, r):
    """Write the rates of twenty reactions; k has rates and activation temperatures."""
    f = 1.0 - 300.0 / temperature
    a, b, c, d, e, g, h, m = y[0], y[1], y[2], y[3], y[4], y[5], y[6], y[7]
    r[0] = k[0, 0] * math.exp(k[0, 1] * f) * a
    r[1] = k[1, 0] * math.exp(k[1, 1] * f) * b * b
    r[2] = k[2, 0] * math.exp(k[2, 1] * f) * b * c
    r[3] = k[3, 0] * math.exp(k[3, 1] * f) * a * d
    r[4] = k[4, 0] * math.exp(k[4, 1] * f) * c
    r[5] = k[5, 0] * math.exp(k[5, 1] * f) * d * e
    r[6] = k[6, 0] * math.exp(k[6, 1] * f) * e
    r[7] = k[7, 0] * math.exp(k[7, 1] * f) * e * g
    r[8] = k[8, 0] * math.exp(k[8, 1] * f) * g * a
    r[9] = k[9, 0] * math.exp(k[9, 1] * f) * g * g * m
    r[10] = k[10, 0] * math.exp(k[10, 1] * f) * h
    r[11] = k[11, 0] * math.exp(k[11, 1] * f) * h * b
    r[12] = k[12, 0] * math.exp(k[12, 1] * f) * c * d * m
    r[13] = k[13, 0] * math.exp(k[13, 1] * f) * m
    r[14] = k[14, 0] * math.exp(k[14, 1] * f) * b * m
    r[15] = k[15, 0] * math.exp(k[15, 1] * f) * math.sqrt(c * c + 1e-12)
    r[16] = k[16, 0] * math.exp(k[16, 1] * f) * d
    r[17] = k[17, 0] * math.exp(k[17, 1] * f) * e * h / (1.0 + e)
    r[18] = k[18, 0] * math.exp(k[18, 1] * f) * g / (1.0 + 2.0 * h)
    r[19] = k[19, 0] * math.exp(k[19, 1] * f) * a * b


@njit
def kinetics(k, temperature, start, steps, dt, measured):
    """Return the misfit of concentrations to measurements, by semi-implicit steps of eight species."""
    y, r = start.copy(), np.empty(20)
    total = 0.0
    for t in range(steps):
        reaction_rates(k, temperature, y, r)
        made = np.zeros(8)
        lost = np.zeros(8)
        lost[0] = r[0] + r[3] + r[8] + r[19]
        made[0] = r[4] + r[16]
        lost[1] = 2.0 * r[1] + r[2] + r[11] + r[14] + r[19]
        made[1] = r[0] + r[6] + r[13]
        lost[2] = r[2] + r[4] + r[12] + r[15]
        made[2] = r[1] + r[3] + r[10]
        lost[3] = r[3] + r[5] + r[12] + r[16]
        made[3] = r[2] + r[7] + 0.5 * r[19]
        lost[4] = r[5] + r[6] + r[7] + r[17]
        made[4] = r[12] + r[8] + r[14]
        lost[5] = r[7] + r[8] + 2.0 * r[9] + r[18]
        made[5] = r[5] + r[11] + r[15]
        lost[6] = r[10] + r[11] + r[17]
        made[6] = r[9] + r[18] + 0.5 * r[19]
        lost[7] = r[13] + r[14]
        made[7] = r[17] + 0.1 * r[12]
        for s in range(8):
            y[s] = (y[s] + dt * made[s]) / (1.0 + dt * lost[s] / (y[s] + 1e-9))
        for s in range(8):
            total += (math.log(y[s] + 1e-6) - measured[t, s]) ** 2
    return total / steps


def make_kinetics() -> tuple[Any, ...]:
    """Return the rates of twenty reactions, the temperature, eight concentrations, and 100 measurements."""
    k = np.column_stack((0.2 + 0.1 * np.cos(np.arange(20.0)), 1.0 + 0.5 * np.sin(np.arange(20.0))))
    return k, 350.0, np.linspace(1.0, 0.1, 8), 100, 0.05, np.full((100, 8), -1.5)


# ----------------------------------------------------------------------------------------------------------------------
# A natural cubic spline


@njit
def spline_moments(x, y):
    """Return the second derivatives of the natural cubic spline at its knots."""
    n = len(x)
    lower, middle, upper, right = np.zeros(n), np.ones(n), np.zeros(n), np.zeros(n)
    for i in range(1, n - 1):
        h0, h1 = x[i] - x[i - 1], x[i + 1] - x[i]
        lower[i], middle[i], upper[i] = h0 / 6.0, (h0 + h1) / 3.0, h1 / 6.0
        right[i] = (y[i + 1] - y[i]) / h1 - (y[i] - y[i - 1]) / h0
    return solve_tridiagonal(lower, middle, upper, right)


@njit
def spline_fit(knots, heights, x, y, smooth):
    """Return the penalised misfit of a spline through movable knots, linear beyond its ends."""
    moments = spline_moments(knots, heights)
    n = len(knots)
    total = 0.0
    for i in range(len(x)):
        if x[i] <= knots[0]:
            h = knots[1] - knots[0]
            slope = (heights[1] - heights[0]) / h - h * (2.0 * moments[0] + moments[1]) / 6.0
            value = heights[0] + slope * (x[i] - knots[0])
        elif x[i] >= knots[n - 1]:
            h = knots[n - 1] - knots[n - 2]
            slope = (heights[n - 1] - heights[n - 2]) / h + h * (2.0 * moments[n - 1] + moments[n - 2]) / 6.0
            value = heights[n - 1] + slope * (x[i] - knots[n - 1])
        else:
            k = min(max(np.searchsorted(knots, x[i]) - 1, 0), n - 2)
            h = knots[k + 1] - knots[k]
            a, b = (knots[k + 1] - x[i]) / h, (x[i] - knots[k]) / h
            bend = (a**3 - a) * moments[k] + (b**3 - b) * moments[k + 1]
            value = a * heights[k] + b * heights[k + 1] + h * h * bend / 6.0
        total += (value - y[i]) ** 2
    rough = 0.0
    for k in range(n - 1):
        p, q = moments[k], moments[k + 1]
        rough += (knots[k + 1] - knots[k]) * (p * p + p * q + q * q) / 3.0
    return total + smooth * rough


def make_spline() -> tuple[Any, ...]:
    """Return twelve knots, their heights, and 300 points. Some points lie outside of the knots."""
    knots = np.linspace(0.0, 10.0, 12) + 0.1 * np.sin(np.arange(12.0))
    x = np.linspace(-0.5, 10.7, 300)
    return knots, np.sin(knots), x, np.sin(x) + 0.1 * np.cos(9.0 * x), 0.01


ENGINEERING = table(
    Program(roe_tube, make_roe_tube, (0, 1)),
    Program(cable, make_cable, (0, 1)),
    Program(kinetics, make_kinetics, (0, 1, 2)),
    Program(spline_fit, make_spline, (0, 1)),
)
