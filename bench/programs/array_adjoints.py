"""Gradients of the programs of array_programs.py, written by hand in numba. See also compiled_adjoints.py.

They use scalar loops where these are faster than array expressions, as an expert would.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit
def rk4_adjoint(x, v, k, steps):
    """Adjoint of `rk4`: oscillators are independent, so each does both passes, with its own states saved."""
    h, n = 0.01, len(x)
    x_ct, v_ct, k_ct = np.empty(n), np.empty(n), np.empty(n)
    xs, vs = np.empty(steps + 1), np.empty(steps + 1)
    total = 0.0
    for i in range(n):
        xs[0], vs[0] = x[i], v[i]
        for t in range(steps):
            p, q = xs[t], vs[t]
            a1 = -k[i] * np.sin(p) - 0.1 * q
            q2 = q + 0.5 * h * a1
            a2 = -k[i] * np.sin(p + 0.5 * h * q) - 0.1 * q2
            q3 = q + 0.5 * h * a2
            a3 = -k[i] * np.sin(p + 0.5 * h * q2) - 0.1 * q3
            q4 = q + h * a3
            a4 = -k[i] * np.sin(p + h * q3) - 0.1 * q4
            xs[t + 1] = p + h / 6.0 * (q + 2.0 * q2 + 2.0 * q3 + q4)
            vs[t + 1] = q + h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
        total += xs[steps] ** 2 + vs[steps] ** 2
        px, pv, pk = 2.0 * xs[steps], 2.0 * vs[steps], 0.0
        for t in range(steps - 1, -1, -1):
            p, q = xs[t], vs[t]
            s1, c1 = np.sin(p), np.cos(p)
            q2 = q + 0.5 * h * (-k[i] * s1 - 0.1 * q)
            s2, c2 = np.sin(p + 0.5 * h * q), np.cos(p + 0.5 * h * q)
            q3 = q + 0.5 * h * (-k[i] * s2 - 0.1 * q2)
            s3, c3 = np.sin(p + 0.5 * h * q2), np.cos(p + 0.5 * h * q2)
            s4, c4 = np.sin(p + h * q3), np.cos(p + h * q3)
            r1 = r4 = h / 6.0 * pv
            r2 = r3 = h / 3.0 * pv
            w1 = w4 = h / 6.0 * px
            w2 = w3 = h / 3.0 * px
            u4 = -k[i] * c4 * r4
            pk -= s4 * r4
            w4 -= 0.1 * r4
            u, w = px + u4, pv + w1 + w4
            w3 += h * u4
            r3 += h * w4
            u3 = -k[i] * c3 * r3
            pk -= s3 * r3
            w3 -= 0.1 * r3
            u += u3
            w2 += 0.5 * h * u3
            w += w3
            r2 += 0.5 * h * w3
            u2 = -k[i] * c2 * r2
            pk -= s2 * r2
            w2 -= 0.1 * r2
            u += u2
            w += 0.5 * h * u2 + w2
            r1 += 0.5 * h * w2
            pk -= s1 * r1
            px, pv = u - k[i] * c1 * r1, w - 0.1 * r1
        x_ct[i], v_ct[i], k_ct[i] = px, pv, pk
    return total, x_ct, v_ct, k_ct


@njit
def heat_adjoint(conductivity, start, measured, steps):
    """Adjoint of `heat`: saves the temperatures of all steps, and reverses a step by a loop over cells."""
    rows, columns = start.shape
    c = conductivity
    ts = np.empty((steps + 1, rows, columns))
    ts[0] = start
    for k in range(steps):
        t, new = ts[k], ts[k + 1]
        new[:] = t
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                right = 0.5 * (c[i, j + 1] + c[i, j]) * (t[i, j + 1] - t[i, j])
                left = 0.5 * (c[i, j] + c[i, j - 1]) * (t[i, j] - t[i, j - 1])
                below = 0.5 * (c[i + 1, j] + c[i, j]) * (t[i + 1, j] - t[i, j])
                above = 0.5 * (c[i, j] + c[i - 1, j]) * (t[i, j] - t[i - 1, j])
                new[i, j] += 0.1 * (right - left + below - above)
    apart = ts[steps] - measured
    t_ct, c_ct = 2.0 * apart, np.zeros_like(c)
    before = np.empty_like(start)
    for k in range(steps - 1, -1, -1):
        t = ts[k]
        before[:] = t_ct
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                d = 0.05 * t_ct[i, j]
                right, left = t[i, j + 1] - t[i, j], t[i, j] - t[i, j - 1]
                below, above = t[i + 1, j] - t[i, j], t[i, j] - t[i - 1, j]
                c_ct[i, j + 1] += d * right
                c_ct[i, j - 1] -= d * left
                c_ct[i + 1, j] += d * below
                c_ct[i - 1, j] -= d * above
                c_ct[i, j] += d * (right - left + below - above)
                by_right, by_left = d * (c[i, j + 1] + c[i, j]), d * (c[i, j] + c[i, j - 1])
                by_below, by_above = d * (c[i + 1, j] + c[i, j]), d * (c[i, j] + c[i - 1, j])
                before[i, j + 1] += by_right
                before[i, j - 1] += by_left
                before[i + 1, j] += by_below
                before[i - 1, j] += by_above
                before[i, j] -= by_right + by_left + by_below + by_above
        t_ct, before = before, t_ct
    return np.sum(apart**2), c_ct, t_ct, -2.0 * apart


@njit
def gravity_adjoint(x, mass):
    """Adjoint of `gravity`: one loop over pairs does both passes."""
    n = x.shape[0]
    x_ct, mass_ct = np.zeros_like(x), np.zeros(n)
    energy = 0.0
    for i in range(n):
        energy -= 0.5 * mass[i] * mass[i] / np.sqrt(0.01)
        mass_ct[i] -= mass[i] / np.sqrt(0.01)
        for j in range(i):
            a, b, c = x[i, 0] - x[j, 0], x[i, 1] - x[j, 1], x[i, 2] - x[j, 2]
            one = 1.0 / (a * a + b * b + c * c + 0.01)
            root = np.sqrt(one)
            energy -= mass[i] * mass[j] * root
            mass_ct[i] -= mass[j] * root
            mass_ct[j] -= mass[i] * root
            f = mass[i] * mass[j] * root * one
            x_ct[i, 0] += f * a
            x_ct[i, 1] += f * b
            x_ct[i, 2] += f * c
            x_ct[j, 0] -= f * a
            x_ct[j, 1] -= f * b
            x_ct[j, 2] -= f * c
    return energy, x_ct, mass_ct


@njit
def network_adjoint(w1, b1, w2, b2, x, labels):
    """Adjoint of `network`: both passes as matrix products, with the scores overwritten by their cotangents."""
    n = len(labels)
    hidden = np.tanh(x @ w1 + b1)
    scores = hidden @ w2 + b2
    loss = 0.0
    for i in range(n):
        row = scores[i]
        most = row.max()
        e = np.exp(row - most)
        total = e.sum()
        loss += np.log(total) + most - row[labels[i]]
        row[:] = e / (n * total)
        row[labels[i]] -= 1.0 / n
    hidden_ct = (scores @ w2.T) * (1.0 - hidden * hidden)
    by_b1, by_b2 = hidden_ct.sum(axis=0), scores.sum(axis=0)
    return loss / n, x.T @ hidden_ct, by_b1, hidden.T @ scores, by_b2, hidden_ct @ w1.T


@njit
def attention_adjoint(x, query, key, value):
    """Adjoint of `attention`: matrix products; the softmax of a row is reversed from its result."""
    q, k, v = x @ query, x @ key, x @ value
    root = np.sqrt(q.shape[1])
    weights = q @ k.T
    for i in range(weights.shape[0]):
        e = np.exp((weights[i] - weights[i].max()) / root)
        weights[i] = e / e.sum()
    y = weights @ v
    y_ct = 2.0 * y
    v_ct = weights.T @ y_ct
    s_ct = y_ct @ v.T
    for i in range(weights.shape[0]):
        s_ct[i] = weights[i] * (s_ct[i] - np.sum(s_ct[i] * weights[i])) / root
    q_ct, k_ct = s_ct @ k, s_ct.T @ q
    x_ct = q_ct @ query.T + k_ct @ key.T + v_ct @ value.T
    return np.sum(y * y), x_ct, x.T @ q_ct, x.T @ k_ct, x.T @ v_ct


@njit
def stencil_adjoint(u, rate, steps):
    """Adjoint of `stencil`: saves all steps, and reverses a step by gathering from the neighbours."""
    n = len(u)
    us = np.empty((steps + 1, n))
    us[0] = u
    for k in range(steps):
        now, then = us[k], us[k + 1]
        then[0], then[n - 1] = u[0], u[n - 1]
        for i in range(1, n - 1):
            then[i] = now[i] + rate * (now[i - 1] - 2.0 * now[i] + now[i + 1])
    ct, before = 2.0 * us[steps], np.zeros(n)
    rate_ct = low = high = 0.0
    for k in range(steps - 1, -1, -1):
        now = us[k]
        low, high = low + ct[0], high + ct[n - 1]
        ct[0] = ct[n - 1] = 0.0
        for i in range(1, n - 1):
            rate_ct += ct[i] * (now[i - 1] - 2.0 * now[i] + now[i + 1])
        for i in range(1, n - 1):
            before[i] = ct[i] + rate * (ct[i - 1] - 2.0 * ct[i] + ct[i + 1])
        before[0], before[n - 1] = rate * ct[1], rate * ct[n - 2]
        ct, before = before, ct
    ct[0] += low
    ct[n - 1] += high
    return np.sum(us[steps] ** 2), ct, rate_ct


@njit
def horner_adjoint(coefficients, x):
    """Adjoint of `horner`: both passes for each x, with the partial sums of the polynomial saved."""
    n = len(coefficients)
    c_ct, x_ct, ps = np.zeros(n), np.empty_like(x), np.empty(n + 1)
    total = 0.0
    for i in range(len(x)):
        ps[0] = 0.0
        for k in range(n):
            ps[k + 1] = ps[k] * x[i] + coefficients[k]
        total += ps[n] * ps[n]
        ct, by_x = 2.0 * ps[n], 0.0
        for k in range(n - 1, -1, -1):
            c_ct[k] += ct
            by_x += ct * ps[k]
            ct *= x[i]
        x_ct[i] = by_x
    return total, c_ct, x_ct
