"""Functions that launch kernels through the record of `dr.cuda.vjp`."""

import numpy as np
from numba import cuda

import dualrev as dr
from programs.cuda_kernels import elementwise, grid_stride, in_place, logistic

GRID = 2, 4
X, Y = np.random.default_rng(5).uniform(0.1, 1.0, (2, 8))


@cuda.jit
def leapfrog(u, before):
    """A step of a nonlinear wave, which overwrites the state before the last one."""
    i = cuda.grid(1)
    if 0 < i < u.size - 1:
        force = u[i - 1] - 2 * u[i] + u[i + 1] - u[i] ** 3
        before[i] = 2 * u[i] - before[i] + 0.1 * force


@cuda.jit
def product(x, y, z):
    i = cuda.grid(1)
    if i < z.size:
        z[i] = x[i] * y[i]


@cuda.jit
def total(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(out, 0, x[i] * x[i])


@cuda.jit
def doubled(k, x):
    i = cuda.grid(1)
    if i < x.size:
        k[i] = (k[i] + 1) % x.size
        x[i] = x[i] * (1 + k[i])


def time_steps(record, u, before):
    for _ in range(5):
        record[leapfrog, *GRID](u, before)
        u, before = before, u
    return u, before


def loss_of_a_wave(record, u, before):
    out = record.zeros(1, u.dtype)
    record[total, *GRID](time_steps(record, u, before)[0], out)
    return out


def in_place_twice(record, x):
    record[in_place, *GRID](x)
    record[in_place, *GRID](x)
    return x


def allocated_inside(record, x):
    """Arrays of zeros and of constants, one of which the next launch overwrites."""
    y, c = record.zeros(x.shape, x.dtype), record.to_device(Y.astype(x.dtype))
    record[elementwise, *GRID](x, y)
    record[product, *GRID](x, y, c)
    record[product, *GRID](c, y, x)
    return x


def states_in_rows(record, x):
    """All states in one array, whose rows are views."""
    states = record.zeros((4, x.size), x.dtype)
    record[elementwise, *GRID](x, states[0])
    for k in range(3):
        record[elementwise, *GRID](states[k], states[k + 1])
    record[elementwise, *GRID](states[1], states[0])
    return states[1:, 2:5], states[0], states[-1]


def one_array_twice(record, x, y):
    z = record.zeros(x.shape, x.dtype)
    record[product, *GRID](x, x, z)
    record[product, *GRID](z, y, x)
    return z, x, y


def parts(record, x):
    record[product, *GRID](x[:4], x[:4], x[4:])
    record[in_place, *GRID](x[:4])
    record[product, *GRID](x[4:], x[4:], x[:4])
    return x[::3]


def with_a_tape(record, x):
    y, z = record.zeros(x.shape, x.dtype), record.to_device(Y[:3].astype(x.dtype))
    record[dr.cuda.adjoint(logistic, tape=100), *GRID](x, y, 3)
    record[grid_stride, *GRID](y, z)
    return y, z


def integers(record, x):
    k = record.to_device(np.arange(x.size) % 3)
    for _ in range(3):
        record[doubled, *GRID](k, x)
    return x


def unchanged(record, x, y):
    return x


CASES = {
    f.__name__: (f, n)
    for f, n in (
        (time_steps, 2),
        (loss_of_a_wave, 2),
        (in_place_twice, 1),
        (allocated_inside, 1),
        (states_in_rows, 1),
        (one_array_twice, 2),
        (parts, 1),
        (with_a_tape, 1),
        (integers, 1),
        (unchanged, 2),
    )
}
