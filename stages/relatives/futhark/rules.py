r"""The rules of reduce and scan: cotangents of the elements from the cotangent z of the result.

    reduce add          z for each element
    reduce maximum      z for the first element that is the maximum, 0 for the others
    reduce mul          z y / a, if y is not 0; else as any op. The paper counts the elements that are 0, and gives the
                        only one z times the product of the others; by the rule of any op, a derivative has one, too
    reduce op           l op a op r = y, for l and r the reductions of what is left and right of a: two scans
    scan add            the sums of the z from an element on: a scan from the right
    scan op             rk = zk + d(yk op a(k+1))/dyk r(k+1), from the right: a scan, too, as (r, c) is associative:
                        (r1, c1) o (r2, c2) = (r2 + c2 r1, c2 c1);  then ak gets d(y(k-1) op ak)/dak rk

All rules are in parallel constructs again, with work linear in n. `op` is a function of two arguments, and
`d_op(l, r, z)` gives the cotangents of both.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["reduce_add", "reduce_maximum", "reduce_mul", "reduce_op", "scan_add", "scan_op", "scanned"]


def scanned(op: Callable[[Any, Any], Any], neutral: Any, xs: Sequence[Any]) -> list[Any]:
    """The reductions of the first 0, 1, .., n elements."""
    ys = [neutral]
    for x in xs:
        ys.append(op(ys[-1], x))
    return ys


def reduce_add(xs: Sequence[Any], z: Any) -> list[Any]:
    """The cotangents of the elements of a sum."""
    return [z] * len(xs)


def reduce_maximum(xs: Sequence[Any], z: Any) -> list[Any]:
    """The cotangents of the elements of a maximum; of a NaN, if there is one.

    >>> reduce_maximum([1.0, 3.0, 3.0], 2.0)
    [0.0, 2.0, 0.0]
    """
    first = max(range(len(xs)), key=lambda k: (xs[k] != xs[k], xs[k], -k), default=0)
    return [z if k == first else 0.0 for k in range(len(xs))]


def reduce_mul(xs: Sequence[Any], z: Any) -> list[Any]:
    """The cotangents of the elements of a product.

    >>> reduce_mul([2.0, 3.0, 5.0], 1.0), reduce_mul([2.0, 0.0, 5.0], 1.0), reduce_mul([0.0, 3.0, 0.0], 1.0)
    ([15.0, 10.0, 6.0], [0.0, 10.0, 0.0], [0.0, 0.0, 0.0])
    """
    y = scanned(operator.mul, 1.0, xs)[-1]
    if y == 0.0:
        return reduce_op(operator.mul, lambda a, b, z: (z * b, z * a), 1.0, xs, z)
    return [z * (y / x) for x in xs]


def reduce_op(op: Any, d_op: Any, neutral: Any, xs: Sequence[Any], z: Any) -> list[Any]:
    """The cotangents of the elements of a reduction by any associative operator."""
    left = scanned(op, neutral, xs)
    right = scanned(lambda r, x: op(x, r), neutral, xs[::-1])[::-1]
    found = []
    for x, before, after in zip(xs, left, right[1:], strict=False):
        _, of_rest = d_op(before, op(x, after), z)
        found.append(d_op(x, after, of_rest)[0])
    return found


def scan_add(zs: Sequence[Any]) -> list[Any]:
    """The cotangents of the elements of a scan by addition.

    >>> scan_add([1.0, 10.0, 100.0])
    [111.0, 110.0, 100.0]
    """
    return scanned(lambda r, z: r + z, 0.0, zs[::-1])[:0:-1]


def scan_op(op: Any, d_op: Any, neutral: Any, xs: Sequence[Any], zs: Sequence[Any]) -> list[Any]:
    """The cotangents of the elements of a scan by any associative operator."""
    ys = scanned(op, neutral, xs)
    factors = [d_op(y, x, 1.0)[0] for y, x in zip(ys[1:], xs[1:], strict=False)]
    pairs = list(zip(zs, [*factors, 0.0][: len(zs)], strict=True))
    compose = lambda u, v: (v[0] + v[1] * u[0], v[1] * u[1])  # noqa: E731 - the operator o of the rule
    rs = [r for r, _ in scanned(compose, (0.0, 1.0), pairs[::-1])[:0:-1]]
    return [*rs[:1], *(d_op(y, x, r)[1] for y, x, r in zip(ys[1:], xs[1:], rs[1:], strict=False))]
