"""Solvers with a derivative: `custom_root`, `custom_fixed_point`, `custom_linear_solve`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numba.core.dispatcher import Dispatcher

from dualrev.diagnostics.signatures import signature
from dualrev.eager.arrays.memory.storage import holds_duals, plain
from dualrev.errors import CustomRuleError, SolutionError
from dualrev.implicit.compiled import CompiledSolver, difference
from dualrev.implicit.solution import Solve, applied, attached, constant
from dualrev.transformed import Wrapper, check_functions
from dualrev.tree import flatten_leaves, map, real

__all__ = ["custom_fixed_point", "custom_linear_solve", "custom_root"]

F = TypeVar("F", bound=Callable[..., Any])


def custom_root(
    residual: Callable[..., Any], *, solve: Solve | None = None, has_aux: bool = False, tol: float | None = 1e-6
) -> Callable[[F], F]:
    """Solver of residual(x, *args) = 0 with the derivative of its solution: a decorator.

    Args:
        residual: Function (x, *args) that returns as many numbers as x holds. It may use traced numbers that are not
            among args.
        solve: Linear solver for the derivative: see `attach`.
        has_aux: Whether the solver returns (x, aux). aux is not differentiated.
        tol: Tolerance of the check that x is a solution: see `attach`.

    Returns:
        A decorator of solver(start, *args), which returns x, a float, an array or nested data. The solver gets plain
        copies of its arguments, and may do anything: call SciPy or a C program. start and keyword-only arguments are
        constants; the result is differentiated with respect to args.

    Raises:
        SolutionError: See `attach`.
        CustomRuleError: A traced number is passed to a keyword-only argument, or the solver returns no pair with
            has_aux.

    If solver and residual are numba functions with the same parameters, numba functions can call the result, and its
    derivatives are compiled. x is then a float or a vector, and the Jacobian dense.

    >>> import numpy as np
    >>> import dualrev as dr
    >>> @dr.implicit.custom_root(lambda x, a: x * x - a)
    ... def square_root(start, a):
    ...     x = start
    ...     for _ in range(20):
    ...         x = 0.5 * (x + a / x)
    ...     return x
    >>> square_root(1.0, 4.0), dr.grad(square_root, 1)(1.0, 4.0)
    (2.0, 0.25)
    >>> dr.jacobian(square_root, 1)(np.ones(2), np.array([4.0, 16.0]))
    array([[0.25 , 0.   ],
           [0.   , 0.125]])
    """
    check_functions(residual, residual if solve is None else solve)

    def decorate(solver: F) -> F:
        """Give the solver the derivative of its solution."""
        call = Call(residual, solve, has_aux, tol)
        if isinstance(solver, Dispatcher) and isinstance(residual, Dispatcher) and not has_aux and solve is None:
            made: Any = CompiledSolver(solver, residual, call, tol)
        else:
            made = Solver(solver, call)
        decorated: F = made
        return decorated

    return decorate


def custom_fixed_point(
    f: Callable[..., Any], *, solve: Solve | None = None, has_aux: bool = False, tol: float | None = 1e-6
) -> Callable[[F], F]:
    """Solver of f(x, *args) = x with the derivative of its solution: a decorator.

    Args:
        f: Function (x, *args) whose fixed point the solver finds.
        solve: Linear solver for the derivative: see `attach`.
        has_aux: Whether the solver returns (x, aux). aux is not differentiated.
        tol: Tolerance of the check that x is a solution: see `attach`.

    Returns:
        A decorator of solver(start, *args), as `custom_root` with the residual f(x, *args) - x.

    Raises:
        SolutionError, CustomRuleError: As in `custom_root`.

    >>> import math
    >>> import dualrev as dr
    >>> @dr.implicit.custom_fixed_point(lambda x, a: a * dr.math.cos(x))
    ... def settled(x, a):
    ...     while abs(x - a * math.cos(x)) > 1e-14:
    ...         x = a * math.cos(x)
    ...     return x
    >>> x = settled(0.5, 0.8)
    >>> abs(dr.grad(settled, 1)(0.5, 0.8) - math.cos(x) / (1.0 + 0.8 * math.sin(x))) < 1e-12
    True
    """
    check_functions(f)
    step = applied(f)

    def residual(x: Any, *args: Any) -> Any:
        """Return f(x, *args) - x, leaf by leaf."""
        return map(lambda after, before: after - before, real(step(x, *args)), real(x))

    residual.__qualname__ = getattr(f, "__qualname__", repr(f))
    in_python = custom_root(residual, solve=solve, has_aux=has_aux, tol=tol)

    def decorate(solver: F) -> F:
        """Give the solver the derivative of its fixed point, in compiled code if solver and f are numba functions."""
        if isinstance(solver, Dispatcher) and isinstance(f, Dispatcher) and not has_aux and solve is None:
            return custom_root(difference(f), tol=tol)(solver)
        return in_python(solver)

    return decorate


def custom_linear_solve(
    matvec: Callable[[Any], Any],
    b: Any,
    solve: Solve,
    transpose_solve: Solve | None = None,
    symmetric: bool = False,
    *,
    args: tuple[Any, ...] = (),
    tol: float = 1e-4,
) -> Any:
    """Solution of the linear system matvec(x, *args) = b, with its derivative with respect to b and args.

    Args:
        matvec: Function (x, *args), linear in x, made of operations that dualrev can differentiate. It may use traced
            numbers that are not among args; the derivative then computes its matrix.
        b: Right-hand side: a float, an array or nested data.
        solve: Solver solve(matvec, b), which gets plain data, and matvec as a function of x alone.
        transpose_solve: Solver of the transposed system: transpose_solve(vecmat, b). None: `solve` does it.
        symmetric: Whether the map is symmetric: then `solve` does the transposed system.
        args: More arguments of matvec, in a tuple.
        tol: Tolerance of the residual, relative to |b|.

    Returns:
        The solution, with the structure that `solve` returns.

    Raises:
        SolutionError: While it is differentiated: matvec(x, *args) differs from b by more than tol |b| (a
            RuntimeError).

    >>> import numpy as np
    >>> import dualrev as dr
    >>> def steepest(matvec, b):
    ...     x = 0.0 * b
    ...     for _ in range(100):
    ...         x = x + 0.3 * (b - matvec(x))
    ...     return x
    >>> a = np.array([[3.0, 1.0], [1.0, 2.0]])
    >>> solved = lambda b: dr.implicit.custom_linear_solve(lambda x: a @ x, b, steepest)
    >>> dr.grad(lambda b: solved(b)[0])(np.array([1.0, 0.0])).round(6)
    array([ 0.4, -0.2])
    """
    check_functions(matvec, solve, solve if transpose_solve is None else transpose_solve)
    product, fixed = applied(matvec), constant(args)

    def residual(x: Any, b: Any, *args: Any) -> Any:
        """Return matvec(x, *args) - b, leaf by leaf."""
        return map(lambda found, wanted: found - wanted, real(product(x, *args)), real(b))

    def forward(x: Any) -> Any:
        """Apply matvec to plain data."""
        return constant(product(x, *fixed))

    residual.__qualname__ = getattr(matvec, "__qualname__", repr(matvec))
    target = constant(b)
    x = constant(solve(forward, target))
    found = flatten_leaves(residual(x, b, *args))[0]
    if any(holds_duals(leaf) for leaf in found):
        size = max((np.max(np.abs(leaf), initial=0.0) for leaf in flatten_leaves(target)[0]), default=0.0)
        far = max((np.max(np.abs(plain(leaf)), initial=0.0) for leaf in found), default=0.0)
        if not far <= tol * size:
            raise SolutionError(residual, f"it differs from b by {far:.1e}, and tol={tol:g} allows {tol * size:.1e}")
    return attached(residual, x, (b, *args), solve, solve if symmetric else transpose_solve, None)


class Call:
    """Call of a solver with a residual from Python."""

    def __init__(self, residual: Callable[..., Any], solve: Solve | None, has_aux: bool, tol: float | None) -> None:
        self._residual, self._solve, self._has_aux, self._tol = residual, solve, has_aux, tol

    def __call__(self, solver: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return what the solver returns, with the derivative of its solution."""
        args, kwargs = _by_position(solver, args, kwargs)
        if not args or any(map(holds_duals, flatten_leaves(kwargs)[0])):
            raise CustomRuleError(solver, "its start, and all that is under differentiation, by position")
        made, aux = constant(solver(*constant(args), **kwargs)), None
        if self._has_aux:
            if not isinstance(made, tuple) or len(made) != 2:
                raise CustomRuleError(solver, "a solver that returns (x, aux), since has_aux says so")
            made, aux = made
        x = attached(self._residual, made, args[1:], self._solve, None, self._tol)
        return (x, aux) if self._has_aux else x


def _by_position(solver: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The same arguments with as many as possible by position: the residual gets those, and no defaults."""
    if not kwargs:
        return args, kwargs
    try:
        bound = signature(getattr(solver, "py_func", solver)).bind(*args, **kwargs)
    except ValueError:  # a function in C may have no signature
        return args, kwargs
    return bound.args, bound.kwargs


class Solver(Wrapper):
    """Solver with the derivative of its solution: a Python function, or one whose residual is a Python function."""

    made_by = "implicit.custom_root"

    def __init__(self, solver: Callable[..., Any], call: Call) -> None:
        super().__init__(solver)
        self._call = call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(self._f, args, kwargs)
