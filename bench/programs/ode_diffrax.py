"""The initial value problems of `bench/ode.py` for diffrax: the right-hand sides in JAX, and the solution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench.programs.ode_programs import CHAIN, Program

__all__ = ["value_and_grad"]

SOLVERS = {"rk45": "Dopri5", "dop853": "Dopri8", "radau": "Kvaerno5"}
MOST_STEPS = 1 << 14


def lotka_volterra(np: Any, t: Any, y: Any, p: Any, data: Any) -> Any:
    """Prey and predators."""
    return np.stack([p[0] * y[0] - p[1] * y[0] * y[1], p[3] * y[0] * y[1] - p[2] * y[1]])


def robertson(np: Any, t: Any, y: Any, p: Any, data: Any) -> Any:
    """Robertson's reaction."""
    slow, fast, back = p[0] * y[0], p[1] * y[1] * y[1], p[2] * y[1] * y[2]
    return np.stack([back - slow, slow - back - fast, fast])


def drug(np: Any, t: Any, y: Any, p: Any, data: Any) -> Any:
    """A drug's twelve compartments."""
    ktr, ka, cl, v, q2, v2, q3, v3, ke, kin, kout, half = p
    centre, second, third, site = y[7] / v, y[8] / v2, y[9] / v3, y[10]
    passed = ktr * y[:CHAIN]
    others = [
        passed[-1] - ka * y[6],
        ka * y[6] - cl * centre - q2 * (centre - second) - q3 * (centre - third),
        q2 * (centre - second),
        q3 * (centre - third),
        ke * (centre - site),
        kin * (1.0 - site / (half + site)) - kout * y[11],
    ]
    return np.concatenate([-passed[:1], passed[:-1] - passed[1:], np.stack(others)])


def epidemic(np: Any, t: Any, y: Any, p: Any, data: Any) -> Any:
    """An epidemic in regions."""
    susceptible, exposed, ill, _ = y.reshape(4, -1)
    beta, sigma, gamma = p.reshape(3, -1)
    infected, onset, recovered = beta * (data @ ill) * susceptible, sigma * exposed, gamma * ill
    return np.concatenate([-infected, infected - onset, onset - recovered, recovered])


def three_bodies(np: Any, t: Any, y: Any, p: Any, data: Any) -> Any:
    """Three bodies in the plane."""
    places, masses = y[:6].reshape(3, 2), p[12:]
    forces = [np.zeros(2)] * 3
    for i in range(3):
        for j in range(i):
            apart = places[j] - places[i]
            force = apart * (apart @ apart) ** -1.5
            forces[i] = forces[i] + masses[j] * force
            forces[j] = forces[j] - masses[i] * force
    return np.concatenate([y[6:], *forces])


def brusselator(np: Any, t: Any, y: Any, p: Any, data: Any) -> Any:
    """The Brusselator's cells."""
    a, b = p[0], p[1]
    ends = np.stack([a, b / a])[None]
    cells = y.reshape(-1, 2)
    wide = np.concatenate([ends, cells, ends])
    moved = p[2] * (len(cells) + 1.0) ** 2 * (wide[:-2] - 2.0 * cells + wide[2:])
    u, v = cells[:, 0], cells[:, 1]
    reaction = np.stack([a + u * u * v - (b + 1.0) * u, b * u - u * u * v], axis=1)
    return (reaction + moved).reshape(-1)


def value_and_grad(program: Program) -> Callable[[], Any]:
    """Prepare the value and the gradient of a program's function, by `jax.value_and_grad` under `jax.jit`."""
    import diffrax
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_cpu_enable_async_dispatch", False)
    fun, data = globals()[program.fun.__name__], jnp.asarray(program.data)
    term = diffrax.ODETerm(lambda t, y, p: fun(jnp, t, y, p, data))
    solver = getattr(diffrax, SOLVERS[program.method])()
    controller = diffrax.PIDController(rtol=program.rtol, atol=program.atol)

    def function(p: Any) -> Any:
        y, steps = start(jnp, program, p), 0
        for k, (begin, end) in enumerate(zip(program.times[:-1], program.times[1:], strict=True)):
            y = y if k == 0 else y + program.dose
            solution = diffrax.diffeqsolve(
                term, solver, begin, end, None, y, p, stepsize_controller=controller, max_steps=MOST_STEPS
            )
            y, steps = solution.ys[-1], steps + solution.stats["num_accepted_steps"]
        return jnp.sum(y * y), steps

    made, p = jax.jit(jax.value_and_grad(function, has_aux=True)), jnp.asarray(program.p)
    return lambda: jax.block_until_ready(made(p))


def start(np: Any, program: Program, p: Any) -> Any:
    """Return the first state, where it depends on the parameters, in JAX."""
    name = program.start.__name__
    y = np.asarray(program.start(program.p, program.data))
    if name == "first_dose":
        return y.at[11].set(p[9] / p[10])
    if name == "first_twelve":
        return p[:12]
    if name == "sine":
        places = program.data[:, 0]
        return np.stack([p[0] + np.sin(2.0 * np.pi * places), p[1] / p[0] + 0.0 * places], axis=1).reshape(-1)
    return y
