"""Gradients of the programs of `bench/compiled.py`, written by hand in numba and as fast as we could make them.

`dot_adjoint` is the gradient of `dot`: it takes the same arguments, and returns the value and then the cotangent of
every real argument. An adjoint saves only values that the loops overwrite and the derivative needs, and recomputes the
rest. Where iterations are independent, one loop does the forward and the reverse pass.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from bench.programs.compiled_helpers import cross, inner, log_sum_exp, rotate_vec_by_quat


@njit
def dot_adjoint(x, y):
    """Adjoint of `dot`: one loop computes the value and both cotangents."""
    x_ct, y_ct = np.empty_like(x), np.empty_like(y)
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
        x_ct[i] = y[i]
        y_ct[i] = x[i]
    return total, x_ct, y_ct


@njit
def matrix_vector_adjoint(a, x):
    """Adjoint of `matrix_vector`: one loop over rows does both passes."""
    rows, columns = a.shape
    a_ct, x_ct = np.empty_like(a), np.zeros_like(x)
    total = 0.0
    for i in range(rows):
        y = 0.0
        for j in range(columns):
            y += a[i, j] * x[j]
        total += y
        for j in range(columns):
            a_ct[i, j] = x[j]
            x_ct[j] += a[i, j]
    return total, a_ct, x_ct


@njit
def quaternions_adjoint(q, v, turns):
    """Adjoint of `quaternions`: saves the vector of every turn."""
    saved = np.empty((turns, 3))
    for t in range(turns):
        saved[t, 0], saved[t, 1], saved[t, 2] = v
        v = rotate_vec_by_quat(q, v)
    value = v[0] + v[1] + v[2]

    s, u = q[0], (q[1], q[2], q[3])
    same = s * s - inner(u, u)
    u0 = u1 = u2 = c0 = c1 = c2 = same_ct = 0.0
    w = (1.0, 1.0, 1.0)  # the cotangent of v
    for t in range(turns - 1, -1, -1):
        v = (saved[t, 0], saved[t, 1], saved[t, 2])
        along, along_ct = 2.0 * inner(u, v), 2.0 * inner(u, w)
        same_ct += inner(v, w)
        u0 += along * w[0] + along_ct * v[0]
        u1 += along * w[1] + along_ct * v[1]
        u2 += along * w[2] + along_ct * v[2]
        c = cross(v, w)
        c0, c1, c2 = c0 + c[0], c1 + c[1], c2 + c[2]
        turned = cross(w, u)
        w = (
            along_ct * u[0] + same * w[0] + 2.0 * s * turned[0],
            along_ct * u[1] + same * w[1] + 2.0 * s * turned[1],
            along_ct * u[2] + same * w[2] + 2.0 * s * turned[2],
        )
    q_ct = (
        2.0 * s * same_ct + 2.0 * inner(u, (c0, c1, c2)),
        u0 + 2.0 * s * c0 - 2.0 * same_ct * u[0],
        u1 + 2.0 * s * c1 - 2.0 * same_ct * u[1],
        u2 + 2.0 * s * c2 - 2.0 * same_ct * u[2],
    )
    return value, q_ct, w


@njit
def particles_adjoint(stiffness, damping, x, v, steps):
    """Adjoint of `particles`: saves position and speed of every step; branches are decided again from them."""
    xs, vs = np.empty(steps), np.empty(steps)
    total = 0.0
    for t in range(steps):
        xs[t], vs[t] = x, v
        force = -stiffness * x - (damping if v < 0.0 else 0.5 * damping) * v
        if x > 0.75:
            force -= 40.0 * (x - 0.75)
        v += 0.01 * force / 1.5
        x += 0.01 * v
        total += x * x

    stiffness_ct = damping_ct = x_ct = v_ct = 0.0
    share = 2.0 / steps
    for t in range(steps - 1, -1, -1):
        x_ct += share * x
        v_ct += 0.01 * x_ct
        force_ct = 0.01 / 1.5 * v_ct
        x, v = xs[t], vs[t]
        stiffness_ct -= force_ct * x
        x_ct -= force_ct * (stiffness + 40.0 if x > 0.75 else stiffness)
        braking = force_ct if v < 0.0 else 0.5 * force_ct
        damping_ct -= braking * v
        v_ct -= braking * damping
    return total / steps, stiffness_ct, damping_ct, x_ct, v_ct


@njit
def pendulum_adjoint(angle, speed, pull, steps):
    """Adjoint of `pendulum`: saves angle and sine of every step, and computes the cosine again."""
    angles, sines = np.empty(steps), np.empty(steps)
    total = 0.0
    for t in range(steps):
        angles[t], sines[t] = angle, math.sin(angle)
        speed -= 0.001 * pull * sines[t]
        angle += 0.001 * speed
        total += angle * angle

    angle_ct = speed_ct = pull_ct = 0.0
    share = 2.0 / steps
    for t in range(steps - 1, -1, -1):
        angle_ct += share * angle
        speed_ct += 0.001 * angle_ct
        angle = angles[t]
        pull_ct -= 0.001 * speed_ct * sines[t]
        angle_ct -= 0.001 * pull * speed_ct * math.cos(angle)
    return total / steps, angle_ct, speed_ct, pull_ct


@njit
def newton_adjoint(numbers):
    """Adjoint of `newton`: saves the iterates of one number at a time, in a buffer that grows."""
    cts = np.empty_like(numbers)
    saved = np.empty(64)
    total = 0.0
    for i in range(len(numbers)):
        a = x = numbers[i]
        n = 0
        while abs(x * x * x - a) > 1e-12 * a:
            if n == len(saved):
                saved = np.concatenate((saved, saved))
            saved[n] = x
            n += 1
            x = x - (x * x * x - a) / (3.0 * x * x)
        total += x
        x_ct, a_ct = 1.0, 0.0
        for k in range(n - 1, -1, -1):  # of x - (x**3 - a) / (3 x**2), which is 2/3 x + a / (3 x**2)
            x = saved[k]
            inverse = 1.0 / x
            slope = inverse * inverse / 3.0
            a_ct += x_ct * slope
            x_ct *= 2.0 * (x * x * x - a) * slope * inverse
        cts[i] = x_ct + a_ct
    return total, cts


@njit
def garch_adjoint(mean, omega, alpha, beta, returns):
    """Adjoint of `garch`: saves the variances."""
    n = len(returns)
    variances = np.empty(n)
    variance = start = omega / (1.0 - alpha - beta)
    total = 0.0
    for t in range(n):
        variances[t] = variance
        e = returns[t] - mean
        total += math.log(variance) + e * e / variance
        variance = omega + alpha * e * e + beta * variance

    returns_ct = np.empty(n)
    mean_ct = omega_ct = alpha_ct = beta_ct = variance_ct = 0.0
    for t in range(n - 1, -1, -1):
        e = returns[t] - mean
        scaled = e / variances[t]
        e_ct = 2.0 * alpha * e * variance_ct - scaled
        omega_ct += variance_ct
        alpha_ct += e * e * variance_ct
        beta_ct += variances[t] * variance_ct
        variance_ct = beta * variance_ct - 0.5 / variances[t] + 0.5 * scaled * scaled
        returns_ct[t] = e_ct
        mean_ct -= e_ct
    slope = variance_ct / (1.0 - alpha - beta)
    return -0.5 * total, mean_ct, omega_ct + slope, alpha_ct + start * slope, beta_ct + start * slope, returns_ct


@njit
def mixture_adjoint(logits, means, factors, points):
    """Adjoint of `mixture`: both passes for each point, so that only the intermediates of one point are saved."""
    n, d = points.shape
    k = len(logits)
    diagonals, heights = np.empty((k, d)), np.empty(k)
    for j in range(k):
        heights[j] = logits[j]
        for a in range(d):
            heights[j] += factors[j, a]
            diagonals[j, a] = math.exp(factors[j, a])
    logits_ct, means_ct, factors_ct = np.zeros(k), np.zeros((k, d)), np.zeros_like(factors)
    points_ct = np.zeros((n, d))
    scores, centred, z, centred_ct = np.empty(k), np.empty((k, d)), np.empty((k, d)), np.empty(d)
    total = 0.0
    for i in range(n):  # the points are independent: each is reversed at once
        for j in range(k):
            squares = 0.0
            at = d
            for a in range(d):
                centred[j, a] = points[i, a] - means[j, a]
                s = diagonals[j, a] * centred[j, a]
                for b in range(a):
                    s += factors[j, at] * centred[j, b]
                    at += 1
                squares += s * s
                z[j, a] = s
            scores[j] = heights[j] - 0.5 * squares
        largest = scores[0]
        for j in range(1, k):
            largest = max(largest, scores[j])
        weights = 0.0
        for j in range(k):
            scores[j] = math.exp(scores[j] - largest)
            weights += scores[j]
        total += largest + math.log(weights)
        for j in range(k):
            weight = scores[j] / weights
            logits_ct[j] += weight
            at = d
            for a in range(d):
                z_ct = -weight * z[j, a]
                factors_ct[j, a] += z_ct * centred[j, a]
                centred_ct[a] = z_ct * diagonals[j, a]
                for b in range(a):
                    factors_ct[j, at] += z_ct * centred[j, b]
                    centred_ct[b] += z_ct * factors[j, at]
                    at += 1
            for a in range(d):
                means_ct[j, a] -= centred_ct[a]
                points_ct[i, a] += centred_ct[a]
    norm = log_sum_exp(logits)
    for j in range(k):
        for a in range(d):
            factors_ct[j, a] = factors_ct[j, a] * diagonals[j, a] + logits_ct[j]
        logits_ct[j] -= n * math.exp(logits[j] - norm)
    return total - n * norm, logits_ct, means_ct, factors_ct, points_ct


@njit
def cholesky_adjoint(matrix):
    """Adjoint of `cholesky`: the reverse pass needs only the factor, which overwrites a copy of the matrix."""
    n = len(matrix)
    a = matrix.copy()
    total = 0.0
    for i in range(n):
        for j in range(i):
            s = a[i, j]
            for k in range(j):
                s -= a[i, k] * a[j, k]
            a[i, j] = s / a[j, j]
        s = a[i, i]
        for k in range(i):
            s -= a[i, k] * a[i, k]
        a[i, i] = math.sqrt(s)
        total += math.log(a[i, i])

    ct = np.zeros((n, n))
    for i in range(n - 1, -1, -1):
        s_ct = (ct[i, i] + 2.0 / a[i, i]) / (2.0 * a[i, i])
        ct[i, i] = s_ct
        for k in range(i):
            ct[i, k] -= 2.0 * s_ct * a[i, k]
        for j in range(i - 1, -1, -1):
            s_ct = ct[i, j] / a[j, j]
            ct[j, j] -= s_ct * a[i, j]
            ct[i, j] = s_ct
            for k in range(j):
                ct[i, k] -= s_ct * a[j, k]
            for k in range(j):
                ct[j, k] -= s_ct * a[i, k]
    return 2.0 * total, ct


@njit
def tree_forward(node, left, right, weights, sums):
    """Forward pass of `tree_adjoint`: the value of a node, with the sum of its children saved in `sums`."""
    if left[node] < 0:
        return weights[node]
    below = tree_forward(left[node], left, right, weights, sums) + tree_forward(right[node], left, right, weights, sums)
    sums[node] = below
    return weights[node] * below / (1.0 + below * below)


@njit
def tree_reverse(node, left, right, weights, sums, ct, weights_ct):
    """Reverse pass of `tree_adjoint`: add the weights' cotangents below a node, whose own cotangent is `ct`."""
    if left[node] < 0:
        weights_ct[node] += ct
        return
    below = sums[node]
    inverse = 1.0 / (1.0 + below * below)
    weights_ct[node] += ct * below * inverse
    below_ct = ct * weights[node] * (1.0 - below * below) * inverse * inverse
    tree_reverse(left[node], left, right, weights, sums, below_ct, weights_ct)
    tree_reverse(right[node], left, right, weights, sums, below_ct, weights_ct)


@njit
def tree_adjoint(node, left, right, weights):
    """Adjoint of `tree`: a forward and a reverse recursion, with a number saved for each inner node."""
    sums, weights_ct = np.empty_like(weights), np.zeros_like(weights)
    value = tree_forward(node, left, right, weights, sums)
    tree_reverse(node, left, right, weights, sums, 1.0, weights_ct)
    return value, weights_ct
