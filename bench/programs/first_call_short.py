"""Ordinary programs: losses, special functions, small matrices, stencils, dynamic programs."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from bench.programs.first_call_program import Program, table

__all__ = ["SHORT"]

WAVE = np.sin(0.1 * np.arange(500.0))


@njit
def pendulum(length, damping, angle, recorded, dt):
    """Return the misfit of a damped pendulum's angle, by the leapfrog method."""
    speed, total = 0.0, 0.0
    for t in range(len(recorded)):
        speed += 0.5 * dt * (-9.81 / length * math.sin(angle) - damping * speed)
        angle += dt * speed
        speed += 0.5 * dt * (-9.81 / length * math.sin(angle) - damping * speed)
        total += (angle - recorded[t]) ** 2
    return total


@njit
def lennard_jones(atoms, epsilon, sigma, cutoff):
    """Return the energy of atoms whose pairs interact up to a cutoff."""
    energy = 0.0
    shift = (sigma / cutoff) ** 12 - (sigma / cutoff) ** 6
    for i in range(len(atoms)):
        for j in range(i):
            d = atoms[i] - atoms[j]
            square = d @ d
            if square < cutoff * cutoff:
                s6 = (sigma * sigma / square) ** 3
                energy += 4.0 * epsilon * (s6 * s6 - s6 - shift)
    return energy


@njit
def soft_time_warping(a, b, gamma):
    """Return the soft dynamic time warping of two series."""
    n, m = len(a), len(b)
    r = np.full((n + 1, m + 1), 1e10)
    r[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            x, y, z = -r[i - 1, j] / gamma, -r[i, j - 1] / gamma, -r[i - 1, j - 1] / gamma
            most = max(x, y, z)
            soft = most + math.log(math.exp(x - most) + math.exp(y - most) + math.exp(z - most))
            r[i, j] = (a[i - 1] - b[j - 1]) ** 2 - gamma * soft
    return r[n, m]


@njit
def black_scholes(spot, strike, maturity, rate, sigma):
    """Return the price of a call in closed form."""
    width = sigma * math.sqrt(maturity)
    d1 = (math.log(spot / strike) + (rate + 0.5 * sigma * sigma) * maturity) / width
    d2 = d1 - width
    n1 = 0.5 * (1.0 + math.erf(d1 / math.sqrt(2.0)))
    n2 = 0.5 * (1.0 + math.erf(d2 / math.sqrt(2.0)))
    return spot * n1 - strike * math.exp(-rate * maturity) * n2


@njit
def bessel(x, order):
    """Return Bessel's function of the first kind by its series."""
    term = (0.5 * x) ** order / math.gamma(order + 1.0)
    total, k = term, 0
    while abs(term) > 1e-17 * abs(total) and k < 200:
        k += 1
        term *= -0.25 * x * x / (k * (k + order))
        total += term
    return total


@njit
def quantile_loss(w, x, y, tau):
    """Return the mean pinball loss of a linear prediction."""
    total = 0.0
    for i in range(len(y)):
        e = y[i] - x[i] @ w
        total += tau * e if e >= 0.0 else (tau - 1.0) * e
    return total / len(y)


@njit
def elastic_net(w, x, y, first, second):
    """Return the loss of a linear regression with both penalties."""
    e = x @ w - y
    return 0.5 * np.mean(e * e) + first * np.sum(np.abs(w)) + 0.5 * second * np.sum(w * w)


@njit
def cross_entropy(w, x, labels):
    """Return the mean cross entropy of a linear classifier."""
    total = 0.0
    for i in range(len(labels)):
        scores = w @ x[i]
        most = scores.max()
        total += most + np.log(np.sum(np.exp(scores - most))) - scores[labels[i]]
    return total / len(labels)


@njit
def rotations(angles):
    """Return the distance of the end of a chain of rotations from a target, by small matrices."""
    place = np.array([0.0, 0.0, 1.0])
    for k in range(len(angles)):
        c, s = math.cos(angles[k]), math.sin(angles[k])
        turn = np.array([[c, -s, 1.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        place = turn @ place
    return (place[0] - 2.0) ** 2 + (place[1] - 1.0) ** 2


@njit
def moved(state, force, dt):
    """Return the state of a charged particle after a step; a state is a tuple."""
    x, y, u, v = state
    u, v = u + dt * (force * v - 0.1 * x), v - dt * (force * u + 0.1 * y)
    return x + dt * u, y + dt * v, u, v


@njit
def tuple_state(start, force, steps, dt):
    """Return the action of a particle in a magnetic field."""
    state, total = start, 0.0
    for _ in range(steps):
        state = moved(state, force, dt)
        total += state[2] * state[2] + state[3] * state[3] - 0.1 * (state[0] * state[0] + state[1] * state[1])
    return 0.5 * dt * total


@njit
def update_bodies(x, v, mass, dt):
    """Move bodies on springs, in place."""
    n = len(x)
    for i in range(n):
        force = -x[i]
        if i > 0:
            force += 2.0 * (x[i - 1] - x[i])
        if i < n - 1:
            force += 2.0 * (x[i + 1] - x[i])
        v[i] += dt * force / mass[i]
    for i in range(n):
        x[i] += dt * v[i]


@njit
def spring_chain(start, mass, steps, dt):
    """Return the energy in the last third of a chain of springs."""
    x, v = start.copy(), np.zeros(len(start))
    for _ in range(steps):
        update_bodies(x, v, mass, dt)
    energy = 0.0
    for i in range(2 * len(x) // 3, len(x)):
        energy += 0.5 * mass[i] * v[i] ** 2 + 0.5 * x[i] ** 2
    return energy


@njit
def diffusion(field, rate, steps):
    """Return the mean square of a field after diffusion, by a stencil of five points."""
    u = field.copy()
    n, m = u.shape
    for _ in range(steps):
        new = u.copy()
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j]
                new[i, j] = u[i, j] + rate * around
        u = new
    return np.mean(u * u)


@njit
def gamma_cdf(shape, x):
    """Return the regularised lower incomplete gamma function: a series, or a continued fraction for large x."""
    front = math.exp(shape * math.log(x) - x - math.lgamma(shape))
    if x < shape + 1.0:
        term = total = 1.0 / shape
        k = shape
        for _ in range(200):
            k += 1.0
            term *= x / k
            total += term
            if term < 1e-16 * total:
                break
        return total * front
    b = x + 1.0 - shape
    c, d = 1e300, 1.0 / b
    h = d
    for i in range(1, 200):
        a = -i * (i - shape)
        b += 2.0
        d = 1.0 / (a * d + b)
        c = b + a / c
        h *= c * d
        if abs(c * d - 1.0) < 1e-16:
            break
    return 1.0 - front * h


@njit
def censored_survival(p, times, observed, treated):
    """Return the negative log-likelihood of a Weibull model with censored and treated patients."""
    shape, scale = math.exp(p[0]), math.exp(p[1])
    total = 0.0
    for i in range(len(times)):
        s = scale * math.exp(p[2]) if treated[i] else scale
        z = times[i] / s
        if observed[i]:
            total -= math.log(shape / s) + (shape - 1.0) * math.log(z)
        elif z > 50.0:
            total += 1e6
        total += z**shape
    return total


@njit
def secant_root(a, b):
    """Return the root of a cubic by the secant method."""
    x, y = 0.5, 1.5
    fx, fy = x**3 + a * x - b, y**3 + a * y - b
    for _ in range(50):
        if abs(fy) < 1e-14 or fy == fx:
            break
        x, y, fx = y, y - fy * (y - x) / (fy - fx), fy
        fy = y**3 + a * y - b
    return y


def _classes(rows, columns, labels):
    """Return weights, data and labels."""
    rng = np.random.default_rng(4)
    return 0.1 * rng.normal(size=(labels, columns)), rng.normal(size=(rows, columns)), np.arange(rows) % labels


def _line(rows, columns, *rest):
    """Return weights, data, and a response."""
    w, x, _ = _classes(rows, columns, 1)
    return w[0], x, x[:, 0] - 0.5 * x[:, 1] + 0.3 * np.cos(np.arange(float(rows))), *rest


def _crystal():
    """Return the positions of 36 atoms near a lattice."""
    lattice = np.indices((3, 3, 4)).reshape(3, -1).T
    return 1.1 * lattice + 0.02 * np.sin(7.0 * np.arange(108.0)).reshape(36, 3)


def _survival():
    """Return three parameters, and 100 patients."""
    k = np.arange(100)
    return np.array([0.2, 1.0, 0.4]), 1.0 + np.abs(np.sin(k)) * 3.0, k % 3 > 0, k % 2 == 0


SHORT = table(
    Program(pendulum, lambda: (1.2, 0.1, 0.5, WAVE[:200], 0.02), (0, 1, 2)),
    Program(lennard_jones, lambda: (_crystal(), 1.0, 1.0, 2.5), (0, 1, 2)),
    Program(soft_time_warping, lambda: (WAVE[:60], WAVE[10:60], 0.1), (0, 1)),
    Program(black_scholes, lambda: (100.0, 102.0, 0.8, 0.02, 0.25), (0, 1, 2, 3, 4)),
    Program(bessel, lambda: (2.7, 1.3), (0, 1)),
    Program(quantile_loss, lambda: _line(200, 5, 0.9)),
    Program(elastic_net, lambda: _line(200, 20, 0.1, 0.2)),
    Program(cross_entropy, lambda: _classes(200, 6, 4)),
    Program(rotations, lambda: (0.3 * np.cos(np.arange(7.0)),)),
    Program(tuple_state, lambda: ((0.1, 0.2, 1.0, -0.3), 0.7, 300, 0.02), (0, 1)),
    Program(spring_chain, lambda: (WAVE[:40].copy(), 1.0 + 0.2 * WAVE[40:80], 150, 0.05), (0, 1)),
    Program(diffusion, lambda: (np.cos(np.arange(900.0)).reshape(30, 30), 0.2, 25), (0, 1)),
    Program(gamma_cdf, lambda: (2.3, 1.7), (0, 1)),
    Program(censored_survival, _survival),
    Program(secant_root, lambda: (1.2, 2.5), (0, 1)),
)
