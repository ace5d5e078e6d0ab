"""Programs with build, whose counts are compared: a dot product, a matrix product, a convolution, and others.

All are written as scalar code, in which an element is computed by its indices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from stages.relatives.bulk import language
from stages.relatives.bulk.language import Program, build, gather, let, scatter, sum_of, unary

__all__ = ["PROGRAMS", "Example"]


class Example(NamedTuple):
    """A program of each size, and the shapes of its arguments; those named in `whole` are indices below the size."""

    program: Callable[[int], Program]
    shapes: Callable[[int], list[tuple[int, ...]]]
    whole: tuple[int, ...] = ()

    def arguments(self, n: int, seed: int = 0) -> list[Any]:
        """Random arguments as nested lists."""
        rng = np.random.default_rng(seed)
        return [
            (rng.integers(-1, n + 1, s) if k in self.whole else rng.uniform(0.5, 1.5, s)).tolist()
            for k, s in enumerate(self.shapes(n))
        ]


def _dot(n: int) -> Program:
    return language.program(lambda xs, ys: sum_of(build(n, lambda i: xs[i] * ys[i])))


def _product(n: int) -> Program:
    return language.program(
        lambda a, b: build(n, lambda i: build(n, lambda j: sum_of(build(n, lambda k: a[i, k] * b[k, j]))))
    )


def _convolution(n: int) -> Program:
    return language.program(lambda xs, w: build(n, lambda i: sum_of(build(3, lambda j: w[j] * xs[i + j - 1]))))


def _softmax(n: int) -> Program:
    def body(xs):
        return let(
            build(n, lambda j: unary("exp", xs[j])), lambda es: let(sum_of(es), lambda s: build(n, lambda i: es[i] / s))
        )

    return language.program(body)


def _rows(n: int) -> Program:
    def row(xs, i):
        return let(sum_of(xs[i]), lambda s: let(unary("sin", s) * s, lambda z: build(n, lambda j: xs[i, j] / z - 2.0)))

    return language.program(lambda xs: build(n, lambda i: row(xs, i)))


def _table(n: int) -> Program:
    return language.program(lambda xs, of: build(n, lambda i: xs[of[i]] * xs[i]))


def _histogram(n: int) -> Program:
    return language.program(lambda xs, of: scatter((n,), build(n, lambda i: xs[i] * xs[i]), lambda k: [of[k]]))


def _nested(n: int) -> Program:
    def part(xs, i):
        turned = gather((n, n), xs, lambda p, q: [q, p])
        scaled = build(n, lambda j: turned[j] * xs[i])
        return scatter((n,), scaled, lambda k: [k * i])

    return language.program(lambda xs: build(n, lambda i: part(xs, i)[0]))


PROGRAMS: dict[str, Example] = {
    "dot product": Example(_dot, lambda n: [(n,), (n,)]),
    "matrix product": Example(_product, lambda n: [(n, n), (n, n)]),
    "convolution": Example(_convolution, lambda n: [(n,), (3,)]),
    "softmax": Example(_softmax, lambda n: [(n,)]),
    "rows": Example(_rows, lambda n: [(n, n)]),
    "table": Example(_table, lambda n: [(n,), (n,)], whole=(1,)),
    "histogram": Example(_histogram, lambda n: [(n,), (n,)], whole=(1,)),
    "nested": Example(_nested, lambda n: [(n, n)]),
}
