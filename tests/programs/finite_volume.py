"""The Euler equations in one dimension, as their users solve them: a finite-volume method with a Riemann solver.

Conserved are density, momentum and energy, of an ideal gas. The states at the faces come from limited slopes of the
primitive variables; the fluxes are those of HLLC or Rusanov; two stages of Runge and Kutta make a step, as long as the
Courant number says. Limiter, solver and boundaries are options.
"""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np
from numba import njit

__all__ = ["euler"]

GAMMA = 1.4
State = namedtuple("State", "density speed pressure")


@njit
def primitive(u):
    """Density, speed and pressure of the conserved quantities."""
    speed = u[1] / u[0]
    return State(u[0], speed, (GAMMA - 1.0) * (u[2] - 0.5 * u[0] * speed**2))


@njit
def energy(s):
    return s.pressure / (GAMMA - 1.0) + 0.5 * s.density * s.speed**2


@njit
def flux_of(s):
    return s.density * s.speed, s.density * s.speed**2 + s.pressure, s.speed * (energy(s) + s.pressure)


@njit
def behind(s, wave, middle):
    """The conserved quantities between a wave and the contact."""
    factor = s.density * (wave - s.speed) / (wave - middle)
    inner = energy(s) / s.density + (middle - s.speed) * (middle + s.pressure / (s.density * (wave - s.speed)))
    return factor, factor * middle, factor * inner


@njit
def hllc(left, right):
    """The flux between two states."""
    sound_left = math.sqrt(GAMMA * left.pressure / left.density)
    sound_right = math.sqrt(GAMMA * right.pressure / right.density)
    first = min(left.speed - sound_left, right.speed - sound_right)
    last = max(left.speed + sound_left, right.speed + sound_right)
    if first >= 0.0:
        return flux_of(left)
    if last <= 0.0:
        return flux_of(right)
    mass_left, mass_right = left.density * (first - left.speed), right.density * (last - right.speed)
    push = right.pressure - left.pressure + left.speed * mass_left - right.speed * mass_right
    middle = push / (mass_left - mass_right)
    if middle >= 0.0:
        s, wave = left, first
    else:
        s, wave = right, last
    f, u = flux_of(s), behind(s, wave, middle)
    return (
        f[0] + wave * (u[0] - s.density),
        f[1] + wave * (u[1] - s.density * s.speed),
        f[2] + wave * (u[2] - energy(s)),
    )


@njit
def rusanov(left, right):
    """The mean of the fluxes, less the fastest wave times half of the jump."""
    fastest = max(abs(left.speed) + sound_of(left), abs(right.speed) + sound_of(right))
    f, g, u, v = flux_of(left), flux_of(right), conserved(left), conserved(right)
    made = [0.5 * (f[k] + g[k]) - 0.5 * fastest * (v[k] - u[k]) for k in range(3)]
    return made[0], made[1], made[2]


@njit
def sound_of(s):
    return math.sqrt(GAMMA * s.pressure / s.density)


@njit
def conserved(s):
    return s.density, s.density * s.speed, energy(s)


# Slopes


@njit
def minmod(a, b):
    if a * b <= 0.0:
        return 0.0
    return a if abs(a) < abs(b) else b


@njit
def van_leer(a, b):
    return 2.0 * a * b / (a + b) if a * b > 0.0 else 0.0


@njit
def slopes(w, out, limiter):
    """Half of the limited slopes of the primitive variables, between the ghost cells."""
    for i in range(1, w.shape[0] - 1):
        for k in range(3):
            before, after = w[i, k] - w[i - 1, k], w[i + 1, k] - w[i, k]
            if limiter == "minmod":
                out[i, k] = 0.5 * minmod(before, after)
            elif limiter == "van Leer":
                out[i, k] = 0.5 * van_leer(before, after)
            else:  # none: first order
                out[i, k] = 0.0


# Steps


@njit
def with_ghosts(u, w, boundary):
    """Writes the primitive variables of the cells and of one more at each end; returns the fastest wave."""
    n, fastest = u.shape[0], 0.0
    for i in range(n):
        s = primitive(u[i])
        w[i + 1, 0], w[i + 1, 1], w[i + 1, 2] = s
        fastest = max(fastest, abs(s.speed) + sound_of(s))
    if boundary == "periodic":
        w[0], w[-1] = w[-2], w[1]
    else:
        w[0], w[-1] = w[1], w[-2]
        if boundary == "walls":
            w[0, 1] *= -1.0
            w[-1, 1] *= -1.0
    return fastest


@njit
def fluxes(w, s, flux, solver):
    """Writes the fluxes through the faces between neighbours."""
    for i in range(flux.shape[0]):
        l, r = w[i] + s[i], w[i + 1] - s[i + 1]  # noqa: E741
        left, right = State(l[0], l[1], l[2]), State(r[0], r[1], r[2])
        flux[i, 0], flux[i, 1], flux[i, 2] = hllc(left, right) if solver == "HLLC" else rusanov(left, right)


@njit
def change(u, work, limiter, solver, boundary, gravity):
    """Change of the state per unit of time, times the width of a cell, and the fastest wave."""
    w, s, flux = work
    fastest = with_ghosts(u, w, boundary)
    slopes(w, s, limiter)
    fluxes(w, s, flux, solver)
    made = flux[:-1] - flux[1:]
    made[:, 1] -= gravity * u[:, 0]
    made[:, 2] -= gravity * u[:, 1]
    return made, fastest


@njit
def euler(u, steps, courant, limiter="minmod", solver="HLLC", boundary="open", gravity=0.0):
    """The pressure at the end, weighted by the place; u changes, and is changed by what is returned."""
    n, time = u.shape[0], 0.0
    work = np.zeros((n + 2, 3)), np.zeros((n + 2, 3)), np.zeros((n + 1, 3))
    for _ in range(steps):
        first, fastest = change(u, work, limiter, solver, boundary, gravity)
        ratio = courant / fastest
        middle = u + ratio * first
        second, _ = change(middle, work, limiter, solver, boundary, gravity)
        u[:] = 0.5 * (u + middle + ratio * second)
        time += ratio
    total = 0.1 * time
    for i, row in enumerate(u):
        total += (i + 1) * primitive(row).pressure
    return total
