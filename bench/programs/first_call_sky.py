"""Programs with long first calls, from mechanics, optics and astronomy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from bench.programs.first_call_program import Program, table

__all__ = ["SKY"]


# ----------------------------------------------------------------------------------------------------------------------
# A gravitational lens of several planes


@njit
def turned(x, y, angle):
    """Return the coordinates in a frame that is turned by an angle."""
    c, s = math.cos(angle), math.sin(angle)
    return c * x + s * y, c * y - s * x


@njit
def ellipsoid(x, y, lens):
    """Return the deflection by a singular isothermal ellipsoid: strength, centre, axis ratio, angle and core."""
    strength, cx, cy, q, angle, core = lens
    u, v = turned(x - cx, y - cy, angle)
    f = math.sqrt(1.0 - q * q)
    psi = math.sqrt(q * q * (core * core + u * u) + v * v)
    au = strength * q / f * math.atan(f * u / (psi + core))
    av = strength * q / f * math.atanh(f * v / (psi + q * q * core))
    return turned(au, av, -angle)


@njit
def shear(x, y, gamma1, gamma2):
    """Return the deflection by an external shear."""
    return gamma1 * x + gamma2 * y, gamma2 * x - gamma1 * y


@njit
def traced(x, y, lenses, distances, gamma1, gamma2):
    """Return where a ray from the image position (x, y) meets the plane of the source."""
    planes = len(distances)
    px, py = np.empty(planes), np.empty(planes)
    bx, by = x, y
    for k in range(planes):
        px[k], py[k] = x, y
        for j in range(k):
            weight = (distances[k] - distances[j]) / distances[k]
            lens = (lenses[j, 0], lenses[j, 1], lenses[j, 2], lenses[j, 3], lenses[j, 4], lenses[j, 5])
            ax, ay = ellipsoid(px[j], py[j], lens)
            px[k] -= weight * ax
            py[k] -= weight * ay
        bx, by = px[k], py[k]
    sx, sy = shear(x, y, gamma1, gamma2)
    return bx - sx, by - sy


@njit
def lensing(lenses, p, images, distances):
    """Return the chi square of image positions and fluxes. p has the source, the shear and the source's width."""
    total = 0.0
    for k in range(len(images)):
        x, y, flux = images[k]
        bx, by = traced(x, y, lenses, distances, p[2], p[3])
        dx, dy = bx - p[0], by - p[1]
        total += (dx * dx + dy * dy) / 0.05**2
        light = math.exp(-0.5 * (dx * dx + dy * dy) / p[4] ** 2)
        total += (light - flux) ** 2 / 0.1**2
    return 0.5 * total


def make_lensing() -> tuple[Any, ...]:
    """Return two lenses of six parameters, the source and the shear, 12 images and three distances."""
    lenses = np.array([[1.1, 0.02, -0.03, 0.8, 0.4, 0.05], [0.3, 0.4, 0.2, 0.7, 1.1, 0.08]])
    angle = np.linspace(0.0, 6.0, 12)
    images = np.column_stack((1.2 * np.cos(angle), 1.1 * np.sin(angle), 0.3 + 0.2 * np.cos(3.0 * angle)))
    return lenses, np.array([0.05, -0.04, 0.03, 0.02, 0.4]), images, np.array([0.4, 0.7, 1.0])


# ----------------------------------------------------------------------------------------------------------------------
# Planets


@njit
def pull(a, b, mass, soft):
    """Return the acceleration of a body at `a` by a mass at `b`."""
    x, y, z = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    r2 = x * x + y * y + z * z + soft * soft
    s = mass / (r2 * math.sqrt(r2))
    return s * x, s * y, s * z


@njit
def three_bodies(start, masses, steps, dt):
    """Return the distance of the first two bodies and the energy, for three bodies whose state is a tuple."""
    place = [(start[k, 0], start[k, 1], start[k, 2]) for k in range(3)]
    speed = [(start[k, 3], start[k, 4], start[k, 5]) for k in range(3)]
    for _ in range(steps):
        for i in range(3):
            ax, ay, az = 0.0, 0.0, 0.0
            for j in range(3):
                if i != j:
                    gx, gy, gz = pull(place[i], place[j], masses[j], 0.05)
                    ax, ay, az = ax + gx, ay + gy, az + gz
            u = speed[i]
            speed[i] = (u[0] + dt * ax, u[1] + dt * ay, u[2] + dt * az)
        for i in range(3):
            a, u = place[i], speed[i]
            place[i] = (a[0] + dt * u[0], a[1] + dt * u[1], a[2] + dt * u[2])
    energy = 0.0
    for i in range(3):
        u, v, w = speed[i]
        energy += 0.5 * masses[i] * (u * u + v * v + w * w)
    (xa, ya, za), (xb, yb, zb) = place[0], place[1]
    return math.sqrt((xa - xb) ** 2 + (ya - yb) ** 2 + (za - zb) ** 2) + energy


def make_three_bodies() -> tuple[Any, ...]:
    """Return positions and speeds of three bodies, their masses, and 200 steps."""
    start = np.array(
        [[0.0, 0.0, 0.0, 0.0, 0.0, 0.01], [1.0, 0.0, 0.1, 0.0, 0.9, 0.0], [-2.1, 0.2, 0.0, 0.05, -0.6, 0.1]]
    )
    return start, np.array([1.0, 0.03, 0.01]), 200, 0.01


SKY = table(
    Program(lensing, make_lensing, (0, 1)),
    Program(three_bodies, make_three_bodies, (0, 1)),
)
