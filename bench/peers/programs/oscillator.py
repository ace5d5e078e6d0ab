"""A scalar loop with branches: a damped oscillator that hits a wall, and is damped more in one direction."""

from bench.peers.program import Program

oscillator = Program(
    "oscillator",
    "Scalar loop with branches",
    "The mean square of a damped oscillator's position, by Euler steps, with two branches on the state in each.",
    make=lambda steps: (30.0, 0.8, 1.0, 0.2, steps),
    argnums=(0, 1, 2, 3),
    size=1000,
    unit="steps",
    quick=100,
    small=150,
    in_quick=True,
)


@oscillator.version("plain", "dualrev", "micrograd")
def _(math):
    def mean_square(stiffness, damping, x, v, steps):
        """Mean square in plain Python, a loop with two `if`s on the state."""
        total = 0.0
        for _ in range(steps):
            force = -(stiffness * x)
            if v < 0.0:
                force = force - damping * v
            else:
                force = force - 0.5 * damping * v
            if x > 0.75:
                force = force - 40.0 * (x - 0.75)
            v = v + 0.01 * force / 1.5
            x = x + 0.01 * v
            total = total + x * x
        return total / steps

    return mean_square


@oscillator.version("njit", "compiled")
def _():
    from numba import njit

    @njit
    def mean_square(stiffness, damping, x, v, steps):
        """Mean square in numba, a loop with two `if`s on the state."""
        total = 0.0
        for _ in range(steps):
            force = -stiffness * x
            if v < 0.0:
                force -= damping * v
            else:
                force -= 0.5 * damping * v
            if x > 0.75:
                force -= 40.0 * (x - 0.75)
            v += 0.01 * force / 1.5
            x += 0.01 * v
            total += x * x
        return total / steps

    return mean_square


@oscillator.version("jax", form="scan", note="branches as jnp.where, the loop as lax.scan")
def _():
    import jax.numpy as jnp
    from jax import lax

    def mean_square(stiffness, damping, x, v, steps):
        """Mean square in JAX: `lax.scan` over the steps, `jnp.where` for the branches."""

        def step(state, _):
            """Advance position and speed by one Euler step; the output is the squared position."""
            x, v = state
            force = -stiffness * x - jnp.where(v < 0.0, damping, 0.5 * damping) * v
            force = force - jnp.where(x > 0.75, 40.0 * (x - 0.75), 0.0)
            v = v + 0.01 * force / 1.5
            x = x + 0.01 * v
            return (x, v), x * x

        _, squares = lax.scan(step, (x, v), length=steps)
        return jnp.sum(squares) / steps

    return mean_square


@oscillator.version("torch")
def _():
    import torch

    def mean_square(stiffness, damping, x, v, steps):
        """Mean square in PyTorch, a loop with two `if`s on tensors of one number."""
        total = torch.zeros((), dtype=torch.float64)
        for _ in range(steps):
            force = -stiffness * x
            if v < 0.0:
                force = force - damping * v
            else:
                force = force - 0.5 * damping * v
            if x > 0.75:
                force = force - 40.0 * (x - 0.75)
            v = v + 0.01 * force / 1.5
            x = x + 0.01 * v
            total = total + x * x
        return total / steps

    return mean_square


@oscillator.version("autograd")
def _():
    def mean_square(stiffness, damping, x, v, steps):
        """Mean square in autograd, a loop with two `if`s on the state."""
        total = 0.0
        for _ in range(steps):
            force = -stiffness * x
            if v < 0.0:
                force = force - damping * v
            else:
                force = force - 0.5 * damping * v
            if x > 0.75:
                force = force - 40.0 * (x - 0.75)
            v = v + 0.01 * force / 1.5
            x = x + 0.01 * v
            total = total + x * x
        return total / steps

    return mean_square


@oscillator.version("casadi", form="SX", note="branches as if_else, the loop unrolled into the graph")
def _():
    import casadi as ca

    def mean_square(stiffness, damping, x, v, steps):
        """Mean square in CasADi: the loop is unrolled, `if_else` for the branches."""
        total = 0.0
        for _ in range(steps):
            force = -stiffness * x - ca.if_else(v < 0.0, damping, 0.5 * damping) * v
            force -= ca.if_else(x > 0.75, 40.0 * (x - 0.75), 0.0)
            v = v + 0.01 * force / 1.5
            x = x + 0.01 * v
            total = total + x * x
        return total / steps

    return mean_square


@oscillator.version("casadi", form="mapaccum", note="branches as if_else, the loop as Function.mapaccum", symbols="MX")
def _():
    import casadi as ca

    def mean_square(stiffness, damping, x, v, steps):
        """Mean square in CasADi: `Function.mapaccum` over the steps, `if_else` for the branches."""
        state, parameters = ca.SX.sym("state", 2), ca.SX.sym("parameters", 2)
        at, speed = state[0], state[1]
        force = -parameters[0] * at - ca.if_else(speed < 0.0, parameters[1], 0.5 * parameters[1]) * speed
        force -= ca.if_else(at > 0.75, 40.0 * (at - 0.75), 0.0)
        new_speed = speed + 0.01 * force / 1.5
        step = ca.Function("step", [state, parameters], [ca.vertcat(at + 0.01 * new_speed, new_speed)])
        states = step.mapaccum(steps)(ca.vertcat(x, v), ca.repmat(ca.vertcat(stiffness, damping), 1, steps))
        return ca.sumsqr(states[0, :]) / steps

    return mean_square
