"""Dispatcher of a derivative of a numba function; in check mode (check_mode.py), one that compares."""

from __future__ import annotations

from dualrev.compiler.bridge.check_mode import Checked
from dualrev.compiler.bridge.dispatcher import Derivative, made
from dualrev.compiler.bridge.variadic import TRANSFORMS, Compared, Variadic, is_variadic
from dualrev.compiler.types.aliases import ArgNums, Dispatcher
from dualrev.eager.checking import plain_run

__all__ = ["derivative"]


def derivative(f: Dispatcher, transform: str, argnums: ArgNums = 0) -> Derivative:
    """Memoised derivative of a numba function, as a numba function.

    transform is "grad", "value_and_grad", "hessian", "jacfwd", "jacrev" or "jacobian", with the arguments of f;
    "grad_aux" or "value_and_grad_aux", with those, of a function f that returns (y, aux); "keep",
    with those, for the value and copies of them; "vjp", with those and a cotangent; "jvp", with those and as many
    tangents; "product", with those and a tangent for each chosen one; "hvp", with a tangent after the first one; or
    "pushes" and "products", with those and a matrix, for the products of the Jacobian, or the Hessian, and its rows.
    argnums is an int or a tuple of ints. Nothing is compiled before the first call, and errors (dualrev.errors) come
    then. If the environment has DUALREV_CHECK=1, it compares.
    """
    if transform in TRANSFORMS and is_variadic(f):
        return made(Compared if plain_run.wanted() else Variadic, f, transform, argnums)
    return made(Checked if plain_run.wanted() else Derivative, f, transform, argnums)


Variadic.derivative = staticmethod(derivative)
