"""Programs with long first calls, from fluids and electrophysiology: shock tubes, shallow water, neurons, options."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from bench.programs.first_call_program import Program, table

__all__ = ["FLOWS"]


# ----------------------------------------------------------------------------------------------------------------------
# Euler's equations in one dimension, by HLLC


@njit
def minmod(a, b):
    """Return the smaller slope, or zero where the slopes disagree."""
    if a * b <= 0.0:
        return 0.0
    return a if abs(a) < abs(b) else b


@njit
def primitive(density, momentum, energy, gamma):
    """Return the speed, the pressure and the speed of sound."""
    speed = momentum / density
    pressure = (gamma - 1.0) * (energy - 0.5 * momentum * speed)
    return speed, pressure, math.sqrt(gamma * pressure / density)


@njit
def hllc_flux(rl, ml, el, rr, mr, er, gamma):
    """Return the HLLC flux of density, momentum and energy between two states."""
    ul, pl, cl = primitive(rl, ml, el, gamma)
    ur, pr, cr = primitive(rr, mr, er, gamma)
    pressure = max(0.0, 0.5 * (pl + pr) - 0.125 * (ur - ul) * (rl + rr) * (cl + cr))
    ql, qr = 1.0, 1.0
    if pressure > pl:
        ql = math.sqrt(1.0 + 0.5 * (gamma + 1.0) / gamma * (pressure / pl - 1.0))
    if pressure > pr:
        qr = math.sqrt(1.0 + 0.5 * (gamma + 1.0) / gamma * (pressure / pr - 1.0))
    sl, sr = ul - cl * ql, ur + cr * qr
    star = (pr - pl + ml * (sl - ul) - mr * (sr - ur)) / (rl * (sl - ul) - rr * (sr - ur))
    if sl >= 0.0:
        return ml, ml * ul + pl, ul * (el + pl)
    if sr <= 0.0:
        return mr, mr * ur + pr, ur * (er + pr)
    if star >= 0.0:
        factor = rl * (sl - ul) / (sl - star)
        energy = factor * (el / rl + (star - ul) * (star + pl / (rl * (sl - ul))))
        return (
            ml + sl * (factor - rl),
            ml * ul + pl + sl * (factor * star - ml),
            ul * (el + pl) + sl * (energy - el),
        )
    factor = rr * (sr - ur) / (sr - star)
    energy = factor * (er / rr + (star - ur) * (star + pr / (rr * (sr - ur))))
    return (
        mr + sr * (factor - rr),
        mr * ur + pr + sr * (factor * star - mr),
        ur * (er + pr) + sr * (energy - er),
    )


@njit
def hllc_tube(p, cells, steps, ratio):
    """Return the mean energy density in a quarter of a shock tube, with MUSCL and HLLC.

    p has density, speed and pressure on the left, then on the right, and gamma.
    """
    gamma = p[6]
    u = np.empty((cells, 3))
    for i in range(cells):
        k = 0 if i < cells // 2 else 3
        u[i, 0] = p[k]
        u[i, 1] = p[k] * p[k + 1]
        u[i, 2] = p[k + 2] / (gamma - 1.0) + 0.5 * p[k] * p[k + 1] ** 2
    slope = np.zeros((cells, 3))
    flux = np.zeros((cells + 1, 3))
    for _ in range(steps):
        for i in range(1, cells - 1):
            for k in range(3):
                slope[i, k] = minmod(u[i, k] - u[i - 1, k], u[i + 1, k] - u[i, k])
        for i in range(1, cells):
            left = u[i - 1] + 0.5 * slope[i - 1]
            right = u[i] - 0.5 * slope[i]
            f = hllc_flux(left[0], left[1], left[2], right[0], right[1], right[2], gamma)
            flux[i, 0], flux[i, 1], flux[i, 2] = f
        for i in range(1, cells - 1):
            for k in range(3):
                u[i, k] -= ratio * (flux[i + 1, k] - flux[i, k])
    total = 0.0
    for i in range(cells // 2, 3 * cells // 4):
        total += u[i, 2]
    return total / (cells // 4)


def make_tube() -> tuple[Any, ...]:
    """Return Sod's states, 200 cells and 80 steps."""
    return np.array([1.0, 0.02, 1.0, 0.125, -0.01, 0.1, 1.4]), 200, 80, 0.25


# ----------------------------------------------------------------------------------------------------------------------
# Shallow water in two dimensions, by HLL


@njit
def hll_water(hl, nl, tl, hr, nr, tr, gravity):
    """Return the HLL flux of height, normal and tangential momentum between two columns of water."""
    ul, ur = nl / hl, nr / hr
    cl, cr = math.sqrt(gravity * hl), math.sqrt(gravity * hr)
    sl, sr = min(ul - cl, ur - cr), max(ul + cl, ur + cr)
    fl = (nl, nl * ul + 0.5 * gravity * hl * hl, tl * ul)
    fr = (nr, nr * ur + 0.5 * gravity * hr * hr, tr * ur)
    if sl >= 0.0:
        return fl
    if sr <= 0.0:
        return fr
    width = sr - sl
    return (
        (sr * fl[0] - sl * fr[0] + sl * sr * (hr - hl)) / width,
        (sr * fl[1] - sl * fr[1] + sl * sr * (nr - nl)) / width,
        (sr * fl[2] - sl * fr[2] + sl * sr * (tr - tl)) / width,
    )


@njit
def shallow_water(height, bed_friction, gravity, steps, ratio):
    """Return the mismatch of the water level along a line of gauges, after a dam break in a closed basin."""
    ny, nx = height.shape
    h, mx, my = height.copy(), np.zeros((ny, nx)), np.zeros((ny, nx))
    for _ in range(steps):
        hn, xn, yn = h.copy(), mx.copy(), my.copy()
        for j in range(ny):
            for i in range(nx - 1):
                f0, f1, f2 = hll_water(h[j, i], mx[j, i], my[j, i], h[j, i + 1], mx[j, i + 1], my[j, i + 1], gravity)
                hn[j, i] -= ratio * f0
                xn[j, i] -= ratio * f1
                yn[j, i] -= ratio * f2
                hn[j, i + 1] += ratio * f0
                xn[j, i + 1] += ratio * f1
                yn[j, i + 1] += ratio * f2
        for j in range(ny - 1):
            for i in range(nx):
                g0, g1, g2 = hll_water(h[j, i], my[j, i], mx[j, i], h[j + 1, i], my[j + 1, i], mx[j + 1, i], gravity)
                hn[j, i] -= ratio * g0
                yn[j, i] -= ratio * g1
                xn[j, i] -= ratio * g2
                hn[j + 1, i] += ratio * g0
                yn[j + 1, i] += ratio * g1
                xn[j + 1, i] += ratio * g2
        for j in range(ny):
            for i in range(nx):
                edge = 0.5 * gravity * h[j, i] ** 2  # the walls push back
                if i == 0:
                    xn[j, i] += ratio * edge
                if i == nx - 1:
                    xn[j, i] -= ratio * edge
                if j == 0:
                    yn[j, i] += ratio * edge
                if j == ny - 1:
                    yn[j, i] -= ratio * edge
                speed = math.sqrt(xn[j, i] ** 2 + yn[j, i] ** 2 + 1e-12) / hn[j, i]
                brake = 1.0 / (1.0 + bed_friction * speed / hn[j, i])
                xn[j, i] *= brake
                yn[j, i] *= brake
        h, mx, my = hn, xn, yn
    total = 0.0
    for i in range(nx):
        total += (h[ny // 2, i] - 1.2) ** 2
    return total


def make_water() -> tuple[Any, ...]:
    """Return a tilted basin of 24 x 32 cells with a smooth hump, the friction and gravity, and 20 steps."""
    y, x = np.mgrid[0:24, 0:32]
    level = 1.0 + 0.02 * x + 0.017 * y
    return level + 0.6 * np.exp(-((x - 9.3) ** 2 + (y - 11.2) ** 2) / 20.0), 0.05, 9.81, 20, 0.05


# ----------------------------------------------------------------------------------------------------------------------
# A nerve cell


@njit
def gate_rates(v):
    """Return the opening and closing rates of the gates m, h and n at a voltage in mV."""
    a, b = 0.1 * (v + 40.0), 0.01 * (v + 55.0)
    am = a / (1.0 - math.exp(-0.1 * (v + 40.0))) if abs(a) > 1e-7 else 1.0
    an = b / (1.0 - math.exp(-0.1 * (v + 55.0))) if abs(b) > 1e-7 else 0.1
    return (
        (am, 4.0 * math.exp(-(v + 65.0) / 18.0)),
        (0.07 * math.exp(-(v + 65.0) / 20.0), 1.0 / (1.0 + math.exp(-(v + 35.0) / 10.0))),
        (an, 0.125 * math.exp(-(v + 65.0) / 80.0)),
    )


@njit
def cell_slopes(state, current, p):
    """Return the time derivatives of the voltage and the three gates."""
    v, m, h, n = state
    (am, bm), (ah, bh), (an, bn) = gate_rates(v)
    sodium = p[0] * m**3 * h * (v - 50.0)
    potassium = p[1] * n**4 * (v + 77.0)
    leak = p[2] * (v + 54.4)
    return (
        (current - sodium - potassium - leak) / p[3],
        am * (1.0 - m) - bm * m,
        ah * (1.0 - h) - bh * h,
        an * (1.0 - n) - bn * n,
    )


@njit
def shifted(state, slope, dt):
    """Return the state after a step along a slope."""
    return (
        state[0] + dt * slope[0],
        state[1] + dt * slope[1],
        state[2] + dt * slope[2],
        state[3] + dt * slope[3],
    )


@njit
def hodgkin_huxley(p, recorded, dt):
    """Return the misfit to a recorded voltage, by Runge-Kutta steps. p has conductances, capacity and current."""
    state = (-65.0, 0.053, 0.596, 0.317)
    total = 0.0
    for t in range(len(recorded)):
        current = p[4] if 50 <= t < 350 else 0.0
        k1 = cell_slopes(state, current, p)
        k2 = cell_slopes(shifted(state, k1, 0.5 * dt), current, p)
        k3 = cell_slopes(shifted(state, k2, 0.5 * dt), current, p)
        k4 = cell_slopes(shifted(state, k3, dt), current, p)
        state = shifted(shifted(state, k1, dt / 6.0), k2, dt / 3.0)
        state = shifted(shifted(state, k3, dt / 3.0), k4, dt / 6.0)
        total += (state[0] - recorded[t]) ** 2
    return total / len(recorded)


def make_cell() -> tuple[Any, ...]:
    """Return the parameters and 400 samples of a voltage."""
    return np.array([120.0, 36.0, 0.3, 1.0, 10.0]), -60.0 + 5.0 * np.sin(np.arange(400.0) / 40.0), 0.02


FLOWS = table(
    Program(hllc_tube, make_tube),
    Program(shallow_water, make_water, (0, 1, 2)),
    Program(hodgkin_huxley, make_cell),
)
