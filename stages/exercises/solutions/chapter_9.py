"""Solutions to chapter 9: checkpoints."""

import math


def store_all(step, pullback, x, n, z):
    """All states before a step are kept."""
    states = []
    for k in range(n):
        states.append(x)
        if k < n - 1:
            x = step(x)
    while states:
        z = pullback(states.pop(), z)
    return z


def store_one(step, pullback, x, n, z):
    """Each state is computed again from the first: n * (n - 1) / 2 steps."""
    for k in reversed(range(n)):
        state = x
        for _ in range(k):
            state = step(state)
        z = pullback(state, z)
    return z


def store_blocks(step, pullback, x, n, z):
    """A checkpoint at the start of each block of m steps; the states of one block at a time."""
    m = max(1, math.isqrt(n))
    checkpoints = []
    for k in range(n):
        if k % m == 0:
            checkpoints.append((k, x))
        if k < n - 1:
            x = step(x)
    while checkpoints:
        k, x = checkpoints.pop()
        z = store_all(step, pullback, x, min(m, n - k), z)
    return z
