"""Registry of the AD operators (`dr.grad`, `dr.jvp`, ...) that numba functions may call; filled by the API above.

They stand in dualrev/api/derivatives.py, and what they make of a numba function is made by bridge/make_dispatcher.py;
both are built on this package. `dualrev` hands them down when it is imported: see `learn` in
bridge/numba_ext/register.py.
"""

from __future__ import annotations

from collections.abc import Callable

from dualrev.compiler.types.aliases import UserValue

__all__ = ["AT_A_POINT", "FROM_PYTHON", "MAKING", "TRANSFORMATIONS"]

#: Those that make a function of a function: what they take in numba code.
MAKING = {
    "hvp": ("f",),
    **dict.fromkeys(("grad", "value_and_grad", "hessian", "jacfwd", "jacrev", "jacobian"), ("f", "argnums")),
}
#: Those that are called with numbers.
AT_A_POINT = ("jvp", "vjp")
#: What is said of dr.vmap(f) and of the derivatives of Python functions: the reason, and the remedy.
FROM_PYTHON = ("it is called from Python", "a loop over f, or over dr.grad(f), of a numba function f")


class Transformations:
    """AD operators by identity, and callbacks: `numbers(f, argnums)`, `derivative(f, transform, argnums)`."""

    __slots__ = ("derivative", "names", "numbers")
    names: dict[int, str]
    numbers: Callable[[UserValue, UserValue], UserValue]
    derivative: Callable[[UserValue, str, UserValue], UserValue]

    def name(self, f: UserValue) -> str:
        """Return the name of an AD operator; an empty string for any other object."""
        return self.names.get(id(f), "")


TRANSFORMATIONS = Transformations()
