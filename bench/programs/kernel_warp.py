"""The kernels of kernel_programs.py for NVIDIA Warp, and their adjoints, which Warp compiles with them.

Without a GPU, Warp runs both on the processor, also with several threads in a block.
"""

import functools
from typing import Any

import warp as wp

from bench.programs.kernel_programs import Prepared, Problem

__all__ = ["device", "prepare"]

wp.config.log_level = wp.LOG_WARNING
wp.config.enable_cpu_blocks = True
wp.config.enable_vector_component_overwrites = True  # else gradients of `m[i, j] = ...` are wrong, in batched_lu


def saxpy(real, threads):
    @wp.kernel(module="unique")
    def saxpy(a: real, x: wp.array(dtype=real), y: wp.array(dtype=real)):
        """Add a multiple of an array to another one."""
        i = wp.tid()
        y[i] += a * x[i]

    return saxpy


def wave(real, threads):
    @wp.kernel(module="unique")
    def wave(u: wp.array2d(dtype=real), before: wp.array2d(dtype=real), after: wp.array2d(dtype=real)):
        """Time step of a wave with a cubic force."""
        i, j = wp.tid()
        if i > 0 and i < u.shape[0] - 1 and j > 0 and j < u.shape[1] - 1:
            v = u[i, j]
            curvature = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - real(4.0) * v
            after[i, j] = real(2.0) * v - before[i, j] + real(0.1) * (curvature - v * v * v)

    return wave


def n_body(real, threads):
    vector = wp.types.vector(length=3, dtype=real)

    @wp.kernel(module="unique")
    def n_body(x: wp.array(dtype=vector), force: wp.array(dtype=vector)):
        """Forces between all pairs of bodies: a block loads one tile of bodies after the other."""
        i = wp.tid()
        here = x[i]
        total = vector()
        for k in range(x.shape[0] // threads):
            tile = wp.tile_load(x, shape=threads, offset=k * threads, storage="shared")
            for j in range(threads):
                d = tile[j] - here
                r = wp.length_sq(d) + real(0.01)
                total += d / (r * wp.sqrt(r))
        force[i] = total

    return n_body


def scatter(real, threads):
    @wp.kernel(module="unique")
    def scatter(k: wp.array(dtype=wp.int64), w: wp.array(dtype=real), h: wp.array(dtype=real)):
        """Squares of weights, added into bins."""
        i = wp.tid()
        wp.atomic_add(h, int(k[i]), w[i] * w[i])

    return scatter


def black_scholes(real, threads):
    @wp.kernel(module="unique")
    def black_scholes(market: wp.array(dtype=real), z: wp.array(dtype=real), price: wp.array(dtype=real)):
        """Price of a call option, from terminal values."""
        i = wp.tid()
        spot = market[0]
        strike = market[1]
        rate = market[2]
        volatility = market[3]
        maturity = market[4]
        drift = (rate - real(0.5) * volatility * volatility) * maturity
        end = spot * wp.exp(drift + volatility * wp.sqrt(maturity) * z[i])
        if end > strike:
            wp.atomic_add(price, 0, wp.exp(-rate * maturity) * (end - strike) / real(z.shape[0]))

    return black_scholes


def batched_lu(real, threads):
    matrix = wp.types.matrix(shape=(4, 4), dtype=real)

    @wp.kernel(module="unique")
    def batched_lu(a: wp.array(dtype=matrix), factors: wp.array(dtype=matrix)):
        """LU factors of 4 x 4 matrices, without pivots; all loops are unrolled."""
        b = wp.tid()
        m = matrix(a[b])
        for k in range(4):
            for i in range(wp.static(k + 1), 4):
                m[i, k] = m[i, k] / m[k, k]
                for j in range(wp.static(k + 1), 4):
                    m[i, j] = m[i, j] - m[i, k] * m[k, j]
        factors[b] = m

    return batched_lu


BUILDERS = {f.__name__: f for f in (saxpy, wave, n_body, scatter, black_scholes, batched_lu)}


@functools.cache
def _kernel(name: str, real: Any, threads: int) -> Any:
    return BUILDERS[name](real, threads)


def device() -> str:
    """Return the platform of Warp's default device: "gpu" or "cpu"."""
    return "gpu" if wp.get_device().is_cuda else "cpu"


def prepare(problem: Problem) -> Prepared:
    """Launch a kernel and its adjoint once, which compiles them."""
    program, real = problem.program, wp.dtype_from_numpy(problem.dtype)
    kernel = _kernel(program.build.__name__, real, problem.threads)
    given = []
    for x, parameter in zip(problem.args, kernel.adj.args, strict=True):
        if getattr(x, "ndim", 0):
            is_real = x.dtype == problem.dtype
            given.append(wp.array(x, dtype=parameter.type.dtype, requires_grad=is_real))
        else:
            given.append(x)
    shadows = [x.grad if isinstance(x, wp.array) else None for x in given]
    shadow = shadows[program.result]
    ct = wp.array(problem.ct, dtype=shadow.dtype)
    shape = given[program.inputs[-1]].shape

    def launch(**more: Any) -> None:
        """Launch, and wait until the device is done."""
        wp.launch(kernel, dim=shape, inputs=given, block_dim=problem.threads, **more)
        wp.synchronize()

    def adjoint() -> None:
        """Launch the adjoint, which adds to the gradients of the inputs."""
        launch(adj_inputs=shadows, adjoint=True)

    def renew() -> None:
        """Set the cotangent of the result again."""
        wp.copy(shadow, ct)
        wp.synchronize()

    renew()
    adjoint()
    gradients = [shadows[k].numpy().copy() for k in program.inputs]
    launch()
    return Prepared(given[program.result].numpy().copy(), gradients, launch, adjoint, renew)
