"""check_grads: are the derivatives of a function those that differences show?"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dualrev.arrays.storage import RealArray, own, zero
from dualrev.derivatives import jvp, vjp
from dualrev.errors import CheckError
from dualrev.tree import flatten, flatten_leaves

__all__ = ["check_grads"]


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int = 2,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    engine: Any = None,
) -> None:
    """Compare the derivatives of f at args with central differences, up to an order, in random directions.

    In mode "fwd", jvp in a direction v against (f(x + eps v) - f(x - eps v)) / (2 eps); in mode "rev", the cotangent
    that vjp gives along v against the same. Then the derivatives are checked as functions of args themselves, up to
    `order`. The directions are the same in every call. By default eps is 1e-5 and the tolerances are 1e-6 times the
    size of the numbers.

    args is a tuple or a list of all arguments of f; modes is a tuple or a list. CheckError (an AssertionError) if the
    derivatives differ; NaN differs from everything. ValueError for other modes, or an order below 1.

    >>> check_grads(lambda x: np.sum(np.sin(x) * x), (np.array([0.5, 1.0]),))
    """
    if not modes or set(modes) - {"fwd", "rev"} or order < 1:
        raise ValueError(
            f"modes are 'fwd' and 'rev', an order is at least 1; got modes={modes!r}, order={order!r}. Write a tuple of"
            " modes, such as modes=('rev',)."
        )
    eps, atol, rtol = 1e-5 if eps is None else eps, 1e-6 if atol is None else atol, 1e-6 if rtol is None else rtol
    _check(f, tuple(args), 1, order, modes, atol, rtol, eps, engine)


def _check(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    order: int,
    last: int,
    modes: Sequence[str],
    atol: float,
    rtol: float,
    eps: float,
    engine: Any,
) -> None:
    """Derivatives of this order, where f is one of the order before."""
    rng = random.Random(order)  # other directions in every order: v^T H v says nothing of H - H^T
    v = _random_like(args, rng)
    y = f(*_copied(args))
    leaves, structure = flatten_leaves(y)
    ct = structure.cotangent_leaves([_random_leaf(x, rng) for x in leaves])
    expected = _inner(ct, _difference(f, args, v, eps))
    scale = _inner_of_sizes(ct, y)

    def check(what: str, found: float) -> None:
        allowed = atol * max(scale, 1.0) + rtol * abs(expected)
        if not abs(found - expected) <= allowed:
            raise CheckError(f"{what} in a random direction, order {order}", found, expected, f"within {allowed:.2g}")

    if "fwd" in modes:
        check("jvp", _inner(ct, jvp(f, args, v, engine=engine)[1]))
    if "rev" in modes:
        check("vjp", _inner(vjp(f, *args, engine=engine)[1](ct), v))
    if order < last:
        for g in (
            (lambda *xs: jvp(f, xs, v, engine=engine)[1]) if "fwd" in modes else None,
            (lambda *xs: vjp(f, *xs, engine=engine)[1](ct)) if "rev" in modes else None,
        ):
            if g is not None:
                _check(g, args, order + 1, last, modes, atol, rtol, eps, engine)


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


def _inner(ct: Any, v: Any) -> float:
    return math.fsum(c * w for c, w in zip(flatten(ct)[0], flatten(v)[0], strict=True))


def _inner_of_sizes(ct: Any, y: Any) -> float:
    """The size of the numbers that differences were taken of."""
    return math.fsum(abs(c * x) for c, x in zip(flatten(ct)[0], flatten(y)[0], strict=True))
