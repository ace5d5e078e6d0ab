"""Newton's iteration: a `while` whose number of iterations depends on the data."""

import numpy as np

from bench.peers.program import Program


def in_array(numbers):
    """Convert the list of numbers to an array."""
    return (np.array(numbers),)


newton = Program(
    "newton",
    "Newton's iteration, while",
    "The sum of the cube roots of many numbers, each by Newton's iteration in a `while` that ends on the error.",
    make=lambda size: (np.random.default_rng(0).uniform(0.5, 20.0, size).tolist(),),
    argnums=(0,),
    size=200,
    unit="numbers",
    quick=20,
    small=10,
    in_quick=True,
)

STEPS = 10  # enough for all numbers from 0.5 to 20: for versions that have to say beforehand how many


@newton.version("plain", "dualrev", "micrograd")
def _(math):
    def cube_root(a):
        """Cube root in plain Python; comparisons without `abs`, which micrograd lacks."""
        x, error, allowed = a, a * a * a - a, 1e-13 * a
        while error > allowed or error < -allowed:
            x = x - error / (3.0 * x * x)
            error = x * x * x - a
        return x

    def newton(numbers):
        """Sum of cube roots in plain Python, one number after the other."""
        total = 0.0
        for a in numbers:
            total = total + cube_root(a)
        return total

    return newton


@newton.version("njit", "compiled", inputs=in_array)
def _():
    from numba import njit

    @njit
    def cube_root(a):
        """Cube root in numba: iterate until the error is small."""
        x = a
        while abs(x * x * x - a) > 1e-13 * a:
            x -= (x * x * x - a) / (3.0 * x * x)
        return x

    @njit
    def newton(numbers):
        """Sum of cube roots in numba, one number after the other."""
        total = 0.0
        for a in numbers:
            total += cube_root(a)
        return total

    return newton


@newton.version("jax", form="while_loop", inputs=in_array, refused=True)
def _():
    import jax
    import jax.numpy as jnp
    from jax import lax

    def cube_root(a):
        """Cube root in JAX, by `lax.while_loop`, which has no reverse mode."""

        def unfinished(x):
            """Whether the error is still above the tolerance."""
            return jnp.abs(x**3 - a) > 1e-13 * a

        return lax.while_loop(unfinished, lambda x: x - (x**3 - a) / (3.0 * x**2), a)

    return lambda numbers: jnp.sum(jax.vmap(cube_root)(numbers))


@newton.version("jax", form="scan", note=f"{STEPS} steps for every number", inputs=in_array)
def _():
    import jax
    import jax.numpy as jnp
    from jax import lax

    def cube_root(a):
        """Cube root in JAX, by a fixed number of steps in `lax.scan`."""

        def step(x, _):
            """Return one step of Newton's iteration."""
            return x - (x**3 - a) / (3.0 * x**2), None

        return lax.scan(step, a, length=STEPS)[0]

    return lambda numbers: jnp.sum(jax.vmap(cube_root)(numbers))


@newton.version(
    "jax",
    form="custom_root",
    note="differentiated by the implicit function theorem, not through the iteration",
    inputs=in_array,
)
def _():
    import jax
    import jax.numpy as jnp
    from jax import lax

    def cube_root(a):
        """Cube root in JAX, by `lax.custom_root`: reverse mode uses the implicit function theorem."""

        def solve(f, x):
            """Find a root of `f` by Newton's iteration, from `x`."""

            def step(x):
                """Return one step of Newton's iteration."""
                return x - f(x) / (3.0 * x**2)

            return lax.while_loop(lambda x: jnp.abs(f(x)) > 1e-13 * a, step, x)

        return lax.custom_root(lambda x: x**3 - a, a, solve, lambda slope, y: y / slope(1.0))

    return lambda numbers: jnp.sum(jax.vmap(cube_root)(numbers))


@newton.version("torch", form="loop", inputs=in_array)
def _():
    def cube_root(a):
        """Cube root in PyTorch: iterate until the error is small."""
        x = a
        while abs(error := x * x * x - a) > 1e-13 * a:
            x = x - error / (3.0 * x * x)
        return x

    def newton(numbers):
        """Sum of cube roots in PyTorch, one number after the other."""
        total = 0.0
        for a in numbers:
            total = total + cube_root(a)
        return total

    return newton


@newton.version(
    "torch",
    form="one tensor",
    note="all numbers take as many steps as the last one needs",
    inputs=in_array,
)
def _():
    def newton(numbers):
        """Sum of cube roots in PyTorch: iterate on the whole tensor until every error is small."""
        x = numbers
        while ((error := x * x * x - numbers).abs() > 1e-13 * numbers).any():
            x = x - error / (3.0 * x * x)
        return x.sum()

    return newton


@newton.version("autograd", form="loop", inputs=in_array)
def _():
    def cube_root(a):
        """Cube root in autograd: iterate until the error is small."""
        x = a
        while abs(error := x * x * x - a) > 1e-13 * a:
            x = x - error / (3.0 * x * x)
        return x

    def newton(numbers):
        """Sum of cube roots in autograd, one number after the other."""
        total = 0.0
        for a in numbers:
            total = total + cube_root(a)
        return total

    return newton


@newton.version(
    "autograd",
    form="one array",
    note="all numbers take as many steps as the last one needs",
    inputs=in_array,
)
def _():
    import autograd.numpy as anp

    def newton(numbers):
        """Sum of cube roots in autograd: iterate on the whole array until every error is small."""
        x = numbers
        while anp.any(anp.abs(error := x * x * x - numbers) > 1e-13 * numbers):
            x = x - error / (3.0 * x * x)
        return anp.sum(x)

    return newton


@newton.version("casadi", form="while", refused=True)
def _():
    def cube_root(a):
        """Cube root by a Python `while`, which CasADi's symbols refuse."""
        x = a
        while abs(x * x * x - a) > 1e-13 * a:
            x = x - (x * x * x - a) / (3.0 * x * x)
        return x

    return lambda numbers: sum(cube_root(a) for a in numbers)


@newton.version(
    "casadi",
    form="rootfinder",
    note="differentiated by the implicit function theorem, not through the iteration",
    inputs=in_array,
    symbols="MX",
)
def _():
    import casadi as ca

    def newton(numbers):
        """Sum of cube roots in CasADi, by `rootfinder`: reverse mode uses the implicit function theorem."""
        x, a = ca.SX.sym("x"), ca.SX.sym("a")
        cube_root = ca.rootfinder("cube_root", "fast_newton", {"x": x, "p": a, "g": x**3 - a}, {"abstol": 1e-13})
        return ca.sum2(cube_root.map(numbers.shape[0])(numbers.T, numbers.T))

    return newton


@newton.version("casadi", form="fixed steps", note=f"{STEPS} steps for every number", inputs=in_array, symbols="MX")
def _():
    import casadi as ca

    def newton(numbers):
        """Sum of cube roots in CasADi, by a fixed number of unrolled steps."""
        a = ca.SX.sym("a")
        x = a
        for _ in range(STEPS):
            x = x - (x**3 - a) / (3.0 * x**2)
        cube_root = ca.Function("cube_root", [a], [x])
        return ca.sum2(cube_root.map(numbers.shape[0])(numbers.T))

    return newton
