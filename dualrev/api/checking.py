"""Checks of derivatives against finite differences, and of values against the undifferentiated function's."""

from __future__ import annotations

import contextlib
import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dualrev.api.derivatives import callable_of, compiled, grad, is_compiled, jacfwd, jacrev, jvp, vjp
from dualrev.diagnostics.keywords import answered
from dualrev.diagnostics.progress import progress
from dualrev.eager.arguments import Argnums, argument_numbers, choose
from dualrev.eager.arrays.memory.storage import RealArray, own, zero
from dualrev.eager.custom import rules_that_run
from dualrev.eager.numba_rules import rules_in
from dualrev.eager.transforms import linearize
from dualrev.errors import ArgumentError, CheckError, ConversionError, HashError, UnsupportedError
from dualrev.transformed import name_of
from dualrev.tree import flatten_leaves, flatten_scalars

__all__ = ["check", "check_grads"]


@answered
def check(f: Callable[..., Any], *args: Any, argnums: int | Sequence[int] | None = None, engine: Any = None) -> None:
    """Compare what f computes while it is differentiated with what it computes on plain numbers.

    A function can tell traced numbers from floats, and copies of its arguments from the arguments: by isinstance(x,
    float), or by writing to an array that it was given twice. Then it computes something else, and so does its
    derivative.

    Args:
        f: Function to check.
        *args: Arguments of f. f runs a few times, with copies of them; objects that are not nested data are not copied.
        argnums: Positions of the arguments to differentiate with respect to. None: all that hold real numbers.
        engine: What differentiates f: see `grad`. For a numba function, its compiled derivatives in both modes are
            checked.

    Raises:
        CheckError: The values differ. The error (an AssertionError) names the numbers, and the line where the runs
            part.
        ConversionError, HashError, UnsupportedError: f does something that cannot be differentiated. The error lists
            all such places: f goes on after each, with the same value. Branches not taken are not seen. The compiler
            reads f again without the statement, and without those that depend on it.
        ArgumentError: args hold no real number.

    With DUALREV_CHECK=1 in the environment, every derivative checks its value: f runs twice, or more often if they
    differ.

    >>> import dualrev as dr
    >>> def area(r):
    ...     return 3.0 * r * r if isinstance(r, float) else 0.0 * r
    >>> dr.check(area, 2.0)
    Traceback (most recent call last):
    dualrev.errors.CheckError: ...
    """
    f = callable_of(f)
    if is_compiled(f, False, engine):
        compiled().check(f, args, argnums)
        return
    if argnums is None:
        numbers = [k for k, x in enumerate(args) if flatten_leaves(x)[0]]
        if not numbers:
            raise ArgumentError(args)
    else:
        numbers = argument_numbers(argnums, len(args))
    function, chosen = choose(f, numbers, args, {})
    try:
        linearize(function, chosen, False, engine, (f, args, {}), check=True)
    except (ConversionError, HashError, UnsupportedError) as error:
        if engine is not None:
            raise
        from dualrev.eager.checking.survey import survey  # which needs all of dualrev.math

        found = survey(f, args, numbers, error)
        if found is error:
            raise
        raise found from None


@answered
def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int | None = None,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    engine: Any = None,
    argnums: Argnums | None = None,
) -> None:
    """Compare the derivatives of f with central differences, in random directions.

    Args:
        f: Function to check.
        args: Arguments of f, in a tuple or a list.
        order: Highest order of the derivatives. Order 2 checks the derivatives as functions of args. None: 2, and 1 for
            a numba function, whose second derivatives can take a minute to compile.
        modes: "fwd" compares jvp in a direction v with (f(x + eps v) - f(x - eps v)) / (2 eps); "rev" compares vjp.
        atol: Absolute tolerance, in units of the size of the numbers; 1e-6 by default.
        rtol: Relative tolerance, 1e-6 by default.
        eps: Step of the differences, 1e-5 by default.
        engine: What differentiates f: see `grad`.
        argnums: Positions of the arguments to differentiate with respect to. None: all that hold real numbers.

    Raises:
        CheckError: Derivatives differ (an AssertionError). NaN and infinite differences differ from everything.
        ValueError: modes, order or eps are not as above, or argnums names no argument (ArgumentNumberError).
        TypeError: args is neither a tuple nor a list.

    The directions are the same in every call.

    >>> import dualrev as dr
    >>> dr.check_grads(lambda x: np.sum(np.sin(x) * x), (np.array([0.5, 1.0]),))
    >>> dr.check_grads(lambda x, y: x * abs(y), (2.0, 0.0), argnums=0)
    """
    if order is None:
        order = 1 if is_compiled(callable_of(f), False, engine) else 2
    whole = isinstance(order, (int, np.integer)) and not isinstance(order, bool)
    if not modes or set(modes) - {"fwd", "rev"} or not whole or order < 1:
        raise ValueError(
            f"modes are 'fwd' and 'rev', an order is an int of at least 1; got modes={modes!r}, order={order!r}. Write"
            " a tuple of modes, such as modes=('rev',)."
        )
    if not isinstance(args, (tuple, list)):
        raise TypeError(
            f"check_grads takes a tuple of arguments, got {type(args).__name__}: write check_grads(f, (x,))"
        )
    eps, atol, rtol = 1e-5 if eps is None else eps, 1e-6 if atol is None else atol, 1e-6 if rtol is None else rtol
    if not eps > 0.0:
        raise ValueError(f"eps is the step of the differences, a positive number, and not {eps!r}")
    args = tuple(args)
    numbers = range(len(args)) if argnums is None else argument_numbers(argnums, len(args))
    f = callable_of(f)
    said = _Said(f, args, dict(enumerate(range(len(args)))), engine)
    if argnums is not None and not is_compiled(f, False, engine):
        said = _Said(f, args, dict(enumerate(numbers)), engine)
        f, args = choose(f, argnums, args, {})
        numbers = range(len(args))
    with progress(f"checking the derivatives of {name_of(f)}", lambda: f"order {said.order} of {order}"):
        _check(f, args, numbers, 1, order, modes, atol, rtol, eps, engine, said)


class _Said:
    """Words of an error about the function that the user gave: its name, its arguments, and the rules in it."""

    def __init__(self, f: Callable[..., Any], args: tuple[Any, ...], numbers: dict[int, int], engine: Any) -> None:
        self._f, self._args, self._numbers, self._engine = f, args, numbers, engine
        self.order = 1  # that is being checked

    def what(self, mode: str, wrong: Sequence[int], order: int) -> str:
        """Name the derivative that is wrong, and its arguments."""
        by = ", ".join(str(self._numbers[k]) for k in wrong)
        name = getattr(self._f, "__qualname__", None) or repr(self._f)
        argument = "argument" if len(wrong) == 1 else "arguments"
        return f"{mode} of {name!r} with respect to {argument} {by}, order {order}"

    def rules(self) -> list[str]:
        """The functions with rules of the user's that take part."""
        if is_compiled(self._f, False, self._engine):
            return rules_in(self._f)
        with rules_that_run() as names, contextlib.suppress(Exception):
            vjp(self._f, *self._args, engine=self._engine)
        return list(dict.fromkeys(names))


def _check(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    numbers: Sequence[int],
    order: int,
    last: int,
    modes: Sequence[str],
    atol: float,
    rtol: float,
    eps: float,
    engine: Any,
    said: _Said,
) -> None:
    """Derivatives of this order by the arguments of these numbers, where f is one of the order before."""
    said.order = order
    rng = random.Random(order)  # other directions in every order: v^T H v says nothing of H - H^T
    v = tuple((_random_like if k in numbers else _zero_like)(x, rng) for k, x in enumerate(args))
    real = [k for k in numbers if flatten_leaves(args[k])[0]]
    y = f(*_copied(args))
    leaves, structure = flatten_leaves(y)
    ct = structure.cotangent_leaves([_random_leaf(x, rng) for x in leaves])
    pairing = _pairing(ct)
    expected = _inner(pairing, _difference(f, args, v, eps))
    scale = _inner_of_sizes(pairing, y)

    def allowed(expected: float) -> float:
        return atol * max(scale, 1.0) + rtol * abs(expected)

    def agree(found: float, expected: float) -> bool:
        """Whether a derivative equals its difference. An infinite one equals none: every error is small beside it."""
        return abs(found - expected) <= allowed(expected) < math.inf

    def along(k: int) -> tuple[Any, ...]:
        """The direction in which only argument k moves."""
        return tuple(v[k] if j == k else _zero_like(x, rng) for j, x in enumerate(args))

    def check(mode: str, found: float, part: Callable[[int], float]) -> None:
        """Compare; if they differ, find the arguments to blame: part(k) is the derivative along argument k."""
        if agree(found, expected):
            return
        slopes = {k: _inner(pairing, _difference(f, args, along(k), eps)) for k in real}
        wrong = [k for k, slope in slopes.items() if not agree(part(k), slope)]
        what = said.what(mode, wrong or real, order)
        raise CheckError(what, found, expected, f"within {allowed(expected):.2g}", said.rules())

    if "fwd" in modes:
        found = _inner(pairing, jvp(f, args, v, engine=engine)[1])
        check("jvp", found, lambda k: _inner(pairing, jvp(f, args, along(k), engine=engine)[1]))
    if "rev" in modes:
        cts = vjp(f, *args, engine=engine)[1](ct)
        parts = {k: _inner(_pairing([cts[k]]), [v[k]]) for k in numbers}
        check("vjp", math.fsum(parts.values()), parts.__getitem__)
    if order < last:
        compiled_of = {"fwd": jacfwd, "rev": grad if isinstance(y, float) else jacrev}
        python_of: dict[str, Callable[..., Any]] = {
            "fwd": lambda *xs: jvp(f, xs, v, engine=engine)[1],
            "rev": lambda *xs: vjp(f, *xs, engine=engine)[1](ct),
        }
        chosen = tuple(k for k in numbers if flatten_leaves(args[k])[0])
        for mode in dict.fromkeys(modes):
            # the derivative of a numba function is one itself, where a Python function would take the tape
            g = compiled_of[mode](f, chosen) if is_compiled(f, False, engine) else python_of[mode]
            _check(g, args, numbers, order + 1, last, modes, atol, rtol, eps, engine, said)


def _copied(args: Any) -> Any:
    """The arguments for a function that may change them in place."""
    leaves, structure = flatten_leaves(args)
    return structure.rebuild_leaves(list(map(own, leaves)))


def _random_leaf(x: Any, rng: random.Random) -> Any:
    if not isinstance(x, (np.ndarray, RealArray)):
        return rng.uniform(0.5, 1.0) * rng.choice([-1, 1])
    return np.array([rng.uniform(0.5, 1.0) * rng.choice([-1, 1]) for _ in range(np.size(x))]).reshape(np.shape(x))


def _random_like(data: Any, rng: random.Random) -> Any:
    leaves, structure = flatten_leaves(data)
    return structure.map_leaves([_random_leaf(x, rng) for x in leaves])


def _zero_like(data: Any, _: random.Random) -> Any:
    leaves, structure = flatten_leaves(data)
    return structure.map_leaves(list(map(zero, leaves)))


def _difference(f: Callable[..., Any], args: tuple[Any, ...], v: Any, eps: float) -> Any:
    """(f(x + eps v) - f(x - eps v)) / (2 eps), in double precision."""
    leaves, structure = flatten_leaves(args)
    steps = flatten_leaves(v)[0]
    wide = [float(x) if zero(x).__class__ is float else np.asarray(x, dtype=float) for x in leaves]
    above, below = (
        flatten_leaves(f(*structure.rebuild_leaves([x + t * s for x, s in zip(wide, steps, strict=True)])))[0]
        for t in (eps, -eps)
    )
    slopes = [(np.asarray(a) - np.asarray(b)) / (2.0 * eps) for a, b in zip(above, below, strict=True)]
    return [x.tolist() if not x.ndim else x for x in slopes]


def _pairing(ct: Any) -> Any:
    """Return the numbers by which the numbers of a tangent are multiplied: for complex ones, Re(ct z)."""
    leaves, structure = flatten_leaves(ct)
    return structure.conjugated(leaves)


def _inner(ct: Any, v: Any) -> float:
    return math.fsum(c * w for c, w in zip(_numbers(ct), _numbers(v), strict=True))


def _inner_of_sizes(ct: Any, y: Any) -> float:
    """The size of the numbers that differences were taken of."""
    return math.fsum(abs(c * x) for c, x in zip(_numbers(ct), _numbers(y), strict=True))


def _numbers(x: Any) -> list[Any]:
    """The real scalars of nested data."""
    return flatten_scalars(flatten_leaves(x)[0])[0]
