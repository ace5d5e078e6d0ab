"""The programs of `bench/peers.py`: each written once, for floats (`network`: for numpy's arrays).

What a program needs of exp, log and the like it takes from `ops`, which every peer brings along.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

__all__ = ["PROGRAMS", "Program", "convert", "count_operations"]


def oscillator(ops: Any, parameters: list[Any], steps: int) -> Any:
    """The mean square of a damped oscillator's position, by Euler steps. It has a stop, and brakes one way only."""
    stiffness, damping, x, v = parameters
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


def tree(ops: Any, parameters: list[Any], expression: tuple[Any, ...]) -> Any:
    """An expression, evaluated by recursion: its leaves name their parameters."""
    match expression:
        case ("leaf", k):
            return parameters[k]
        case ("negate", e):
            return -tree(ops, parameters, e)
        case ("add", left, right):
            return tree(ops, parameters, left) + tree(ops, parameters, right)
        case ("multiply", left, right):
            return tree(ops, parameters, left) * tree(ops, parameters, right)
    raise ValueError(f"no expression: {expression}")


def mixture(ops: Any, parameters: list[Any], points: list[list[float]]) -> Any:
    """The log-likelihood of points under a mixture of Gaussians with diagonal covariances, up to a constant."""
    logits, means, log_scales = parameters
    largest = max(logits)
    log_weights = largest + ops.log(sum([ops.exp(logit - largest) for logit in logits]))
    heights = [logit - log_weights - sum(row) for logit, row in zip(logits, log_scales, strict=True)]
    widths = [[ops.exp(-log_scale) for log_scale in row] for row in log_scales]
    total = 0.0
    for point in points:
        scores = []
        for height, mean, width in zip(heights, means, widths, strict=True):
            score = height
            for x, m, w in zip(point, mean, width, strict=True):
                z = (x - m) * w
                score = score - 0.5 * z * z
            scores.append(score)
        largest = max(scores)
        total = total + largest + ops.log(sum([ops.exp(score - largest) for score in scores]))
    return total


def network(ops: Any, parameters: list[Any], data: list[Any]) -> Any:
    """The mean cross-entropy of a network of two layers with tanh between them, in arrays."""
    weights_1, biases_1, weights_2, biases_2 = parameters
    rows, inputs, labels = data
    hidden = ops.tanh(inputs @ weights_1 + biases_1)
    scores = hidden @ weights_2 + biases_2
    scores = scores - ops.max(scores, axis=1, keepdims=True)
    log_totals = ops.log(ops.sum(ops.exp(scores), axis=1))
    return ops.sum(log_totals - scores[rows, labels]) / len(labels)


def make_tree(nodes: int) -> tuple[list[float], tuple[Any, ...]]:
    """An expression of so many nodes, split at random, and a parameter for every fourth: leaves share some."""
    rng = np.random.default_rng(0)
    leaves = itertools.count()
    parameters = rng.uniform(0.2, 1.4, max(1, nodes // 4)).tolist()

    def expression(size: int) -> tuple[Any, ...]:
        if size == 1:
            return ("leaf", next(leaves) % len(parameters))
        if size == 2:
            return ("negate", expression(1))
        left = int(rng.integers(1, size - 1))
        return (("add", "multiply")[rng.integers(2)], expression(left), expression(size - 1 - left))

    return parameters, expression(nodes)


def make_mixture(points: int, dimensions: int = 2, components: int = 5) -> tuple[list[Any], list[list[float]]]:
    rng = np.random.default_rng(0)
    means, log_scales = rng.normal(0, 2, (components, dimensions)), rng.normal(0, 0.3, (components, dimensions))
    parameters = [rng.normal(0, 1, components).tolist(), means.tolist(), log_scales.tolist()]
    return parameters, rng.normal(0, 2, (points, dimensions)).tolist()


def make_network(batch: int, sizes: tuple[int, int, int] = (32, 64, 10)) -> tuple[list[Any], list[Any]]:
    rng = np.random.default_rng(0)
    i, h, o = sizes
    parameters = [rng.normal(0, 0.3, shape) for shape in [(i, h), (h,), (h, o), (o,)]]
    return parameters, [np.arange(batch), rng.normal(0, 1, (batch, i)), rng.integers(0, o, batch)]


@dataclasses.dataclass(frozen=True)
class Program:
    """`function(ops, parameters, data)` is differentiated with respect to the parameters, nested lists of numbers."""

    function: Callable[[Any, Any, Any], Any]
    make: Callable[[int], tuple[list[Any], Any]]
    size: int
    unit: str
    arrays: bool = False  # whether its numbers are arrays


PROGRAMS = {
    "oscillator": Program(oscillator, lambda steps: ([30.0, 0.8, 1.0, 0.2], steps), 1000, "steps"),
    "tree": Program(tree, make_tree, 1000, "nodes"),
    "mixture": Program(mixture, make_mixture, 1000, "points"),
    "network": Program(network, make_network, 64, "rows, layers 32-64-10", arrays=True),
}


def convert(f: Callable[[Any], Any], x: Any) -> Any:
    """Nested lists with f of every number, or array, in them."""
    return [convert(f, y) for y in x] if isinstance(x, (list, tuple)) else f(x)


def count_operations(program: Program) -> int:
    """How many operations of real numbers the program takes; comparisons are none."""
    count = itertools.count()

    class Number(float):
        pass

    def counted(f: Callable[..., float]) -> Callable[..., Number]:
        def g(*xs: float) -> Number:
            next(count)
            return Number(f(*xs))

        return g

    for name in ("neg", "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv"):
        setattr(Number, f"__{name}__", counted(getattr(float, f"__{name}__")))
    parameters, data = program.make(program.size)
    program.function(SimpleNamespace(exp=counted(math.exp), log=counted(math.log)), convert(Number, parameters), data)
    return next(count)
