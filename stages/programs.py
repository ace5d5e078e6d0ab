"""The paper's example programs, in teaching order, with inputs of any size from a seed.

The step-by-step comparison, the tests, the benchmarks and the figures use them. Each is ordinary Python, and gives the
same value on floats as inside a stage. It is differentiable in its arguments; discrete data (a number of steps, a
label) is an int argument, whose cotangent is None. `Program.about` is the first line of the program's docstring.

>>> doublings = PROGRAMS["doublings"]
>>> x, n = doublings.make(10, 0)  # size, seed
>>> doublings.function(x, n) == 2**10 * x
True
"""

from __future__ import annotations

import functools
import inspect
import itertools
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dualrev.eager.numbers.overload import function
from dualrev.math import cos, exp, log, sin
from dualrev.rules.primitives import Primitive

__all__ = ["LOOP_OPERATIONS", "PROGRAMS", "Program", "rotate_vec_by_quat", "wide_inputs"]


@dataclass(frozen=True)
class Program:
    """A program, its source, and a maker of inputs for it."""

    name: str
    paper: str  # where it comes from
    about: str  # what it computes and what it shows, in one line
    function: Callable[..., Any]
    make: Callable[[int, int], tuple[Any, ...]]  # (size, seed) -> primals, one for every argument of the function
    size: int  # a size at which every stage but naive is done in a moment
    unit: str  # what size counts


PROGRAMS: dict[str, Program] = {}


def _program(paper: str, size: int, unit: str, inputs: Callable[[int, np.random.Generator], tuple[Any, ...]]) -> Any:
    """Decorate a function to enter it in `PROGRAMS`; `inputs(size, random numbers)` makes its primals."""

    def enter(f: Callable[..., Any]) -> Callable[..., Any]:
        """Enter f in `PROGRAMS` under its name; the first line of its docstring says what it computes."""
        about = (inspect.getdoc(f) or "").partition("\n")[0]

        def make(size: int, seed: int) -> tuple[Any, ...]:
            """The primals of a size and a seed. ValueError for a size below 1."""
            if size < 1:
                raise ValueError(f"the size of a program's input is at least 1, got {size}")
            return inputs(size, np.random.default_rng(seed))

        PROGRAMS[f.__name__] = Program(f.__name__, paper, about, f, make, size, unit)
        return f

    return enter


def _floats(rng: np.random.Generator, n: int, low: float = -1.0, high: float = 1.0) -> list[float]:
    return rng.uniform(low, high, n).tolist()


def _sum(xs: Iterable[Any]) -> Any:
    """Plain additions from left to right: from Python 3.12 on, `sum` corrects rounding errors, but of floats only."""
    return functools.reduce(operator.add, xs)


# Sharing: a scalar that is used more than once


@_program("Fig. 1", 1, "", lambda size, rng: tuple(_floats(rng, 2)))
def fig1(x, y):
    """The product x * (x + y): the paper's first example, in which x is used twice."""
    z = x + y
    return x * z


@_program("Fig. 2", 16, "doublings", lambda n, rng: (*_floats(rng, 1), n))
def doublings(x, n):
    """The value x = x + x, n times: about 2^(n+1) calls of backpropagators in the naive stage, n + 1 from then on."""
    for _ in range(n):
        x = x + x
    return x


@_program("Fig. 2, scaled", 1000, "doublings", lambda n, rng: (*_floats(rng, 1), n))
def scaled_doublings(x, n):
    """The value x = (x + x) * 0.5, n times: the same sharing without overflow, so that n may be large."""
    for _ in range(n):
        x = (x + x) * 0.5
    return x


_two_three = function(Primitive("two_three", "2.0 * a + 3.0 * b", ("2.0", "3.0"), ((-1.0, 1.0), (-1.0, 1.0))))
_four_five = function(Primitive("four_five", "4.0 * a + 5.0 * b", ("4.0", "5.0"), ((-1.0, 1.0), (-1.0, 1.0))))
_one_two = function(Primitive("one_two", "a + 2.0 * b", ("1.0", "2.0"), ((-1.0, 1.0), (-1.0, 1.0))))


@_program("section 4", 1, "", lambda size, rng: tuple(_floats(rng, 1)))
def section4(x1):
    r"""The order of calls: evaluated plainly, f4 calls f2 twice and f1 five times; staged, each is called once.

    The paper gives the backpropagators, and each line here makes the one of its number:

        f2 = \z. f1 (2z) + f1 (3z)      f3 = \z. f2 (4z) + f1 (5z)      f4 = \z. f2 z + f3 (2z)

    f1 is the input's. From f4 1, the arguments resolve to f3: 2, f2: 9 and f1: 55, the derivative.
    """
    x2 = _two_three(x1, x1)
    x3 = _four_five(x2, x1)
    return _one_two(x2, x3)


# Table 1, and programs after the authors' later artifact (JFP 2025)


def _pairs(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    return (list(zip(_floats(rng, n), _floats(rng, n), strict=True)),)


@_program("Table 1", 100, "pairs", _pairs)
def scalar_mult(pairs):
    """The products of n pairs of scalars: the paper differentiates one product n times, here they stand in a list."""
    return [x * y for x, y in pairs]


@_program("Table 1", 100, "scalars", lambda n, rng: (_floats(rng, n), _floats(rng, n)))
def dot(xs, ys):
    """The dot product of two lists: every scalar is used once, so size alone decides the cost."""
    return _sum(x * y for x, y in zip(xs, ys, strict=True))


@_program("Table 1", 10, "rows", lambda n, rng: ([_floats(rng, n) for _ in range(n)], _floats(rng, n)))
def sum_mat_vec(rows, xs):
    """The sum of a matrix-vector product, n by n: nested lists, and a vector that every row shares."""
    return _sum(dot(row, xs) for row in rows)


@dataclass(frozen=True)
class Vec3:
    """A vector."""

    x: float
    y: float
    z: float

    def __add__(self, v: Vec3) -> Vec3:
        return Vec3(self.x + v.x, self.y + v.y, self.z + v.z)

    def dot(self, v: Vec3) -> float:
        """The inner product."""
        return self.x * v.x + self.y * v.y + self.z * v.z

    def scale(self, k: float) -> Vec3:
        """K times the vector."""
        return Vec3(k * self.x, k * self.y, k * self.z)

    def cross(self, v: Vec3) -> Vec3:
        """The cross product."""
        return Vec3(self.y * v.z - self.z * v.y, self.z * v.x - self.x * v.z, self.x * v.y - self.y * v.x)


@dataclass(frozen=True)
class Quaternion:
    """A quaternion; w is its real part."""

    x: float
    y: float
    z: float
    w: float


def rotate_vec_by_quat(v: Vec3, q: Quaternion) -> Vec3:
    """Krawiec's program, operation by operation: 38 of them, and the constant 2.0 twice."""
    u = Vec3(q.x, q.y, q.z)
    s = q.w
    return u.scale(2.0 * u.dot(v)) + v.scale(s * s - u.dot(u)) + u.cross(v).scale(2.0 * s)


def _rotations(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    return [Vec3(*_floats(rng, 3)) for _ in range(n)], Quaternion(*_floats(rng, 4))


@_program("Krawiec et al. 2022, Fig. 12; Table 1", 10, "vectors", _rotations)
def rotate(vectors, q):
    """Rotate vectors by one quaternion: records in and out; at size 1 it is Krawiec's rotate_vec_by_quat."""
    return [rotate_vec_by_quat(v, q) for v in vectors]


@dataclass(frozen=True)
class Layer:
    """A layer of neurons: a row of weights and a bias for each."""

    weights: list[list[float]]
    biases: list[float]


def _network(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    layers = [Layer([_floats(rng, n) for _ in range(n)], _floats(rng, n)) for _ in range(2)]
    return layers, _floats(rng, n), int(rng.integers(n))


@_program("own, after the authors' later artifact", 6, "neurons a layer", _network)
def neural(layers, xs, label):
    """A relu layer, a softmax layer and the loss of one label: a branch for every neuron, and max of all outputs.

    The artifact's network has relu on every layer, and sums the softmax, whose gradient is 0.
    """

    def affine(layer, xs):
        """The weighted sums of a layer before its activation function: W x + b."""
        return [dot(row, xs) + bias for row, bias in zip(layer.weights, layer.biases, strict=True)]

    *hidden, last = layers
    for layer in hidden:
        xs = [x if x > 0.0 else 0.0 for x in affine(layer, xs)]
    ys = affine(last, xs)
    largest = max(ys)  # a softmax that cannot overflow
    powers = [exp(y - largest) for y in ys]
    return -log(powers[label] / _sum(powers))


@dataclass(frozen=True)
class Particle:
    """A particle in the plane."""

    position: tuple[float, float]
    velocity: tuple[float, float]


def _particles(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    return [Particle((*_floats(rng, 2),), (*_floats(rng, 2),)) for _ in range(n)], 1000  # type: ignore[arg-type]


@_program("authors' later artifact", 1, "particle(s), 1000 Euler steps each", _particles)
def particles(swarm, steps):
    """Particles on springs, with friction, by Euler steps; the sum of x * y at the end."""
    dt, mass = 0.05, 1.0
    products = []
    for particle in swarm:
        (x, y), (vx, vy) = particle.position, particle.velocity
        for _ in range(steps):
            ax = (1.0 / mass) * (-0.5 * x + -0.2 * vx)
            ay = (1.0 / mass) * (-0.5 * y + -0.2 * vy)
            x, y, vx, vy = x + dt * vx, y + dt * vy, vx + dt * ax, vy + dt * ay
        products.append(x * y)
    return _sum(products)


# Section 9: data types, recursion, functions as values


@dataclass(frozen=True)
class Const:
    """A number, to be differentiated."""

    value: float


@dataclass(frozen=True)
class Var:
    """The value of a name in the environment."""

    name: str


@dataclass(frozen=True)
class Add:
    """Left + right."""

    left: Expression
    right: Expression


@dataclass(frozen=True)
class Mul:
    """Left * right."""

    left: Expression
    right: Expression


@dataclass(frozen=True)
class Sin:
    """The sine of an expression."""

    argument: Expression


Expression = Const | Var | Add | Mul | Sin


def _expression(leaves: int, rng: np.random.Generator) -> Expression:
    """An expression with this many leaves; no side of a node has more than three times the other's."""
    if leaves == 1:
        return Const(*_floats(rng, 1)) if rng.random() < 0.5 else Var(str(rng.choice(["x", "y"])))
    left = int(rng.integers((leaves + 3) // 4, leaves - (leaves + 3) // 4 + 1))
    node = (Add if rng.random() < 0.6 else Mul)(_expression(left, rng), _expression(leaves - left, rng))
    return Sin(node) if rng.random() < 0.5 else node  # keeps values near 1


@_program(
    "own, for section 9", 64, "leaves", lambda n, rng: (_expression(n, rng), {"x": rng.uniform(), "y": rng.uniform()})
)
def expression(tree, variables):
    """The value of an expression tree: recursion over a tagged union, differentiated in constants and variables."""
    match tree:
        case Const(value):
            return value
        case Var(name):
            return variables[name]
        case Add(left, right):
            return expression(left, variables) + expression(right, variables)
        case Mul(left, right):
            return expression(left, variables) * expression(right, variables)
        case Sin(argument):
            return sin(expression(argument, variables))


def _links(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    pairs = zip(_floats(rng, n, 0.9, 1.1), _floats(rng, n, -0.5, 0.5), strict=True)
    return list(pairs), *_floats(rng, 1)


@_program("own, for Fig. 4", 100, "closures", _links)
def compose(pairs, x):
    """The composition of n closures, applied: functions as values, with scalars of the input captured in them.

    They are x -> b - a * x and x -> x + b * sin(a * x) in turn, composed two by two, so that calls nest only log2 n
    deep.
    """

    def link(k, a, b):
        """The k-th closure, which captures the scalars a and b."""
        return (lambda x: b - a * x) if k % 2 == 0 else (lambda x: x + b * sin(a * x))

    def whole(links):
        """The composition of all closures, the first one innermost."""
        if len(links) == 1:
            return links[0]
        first, second = whole(links[: len(links) // 2]), whole(links[len(links) // 2 :])
        return lambda x: second(first(x))

    return whole([link(k, a, b) for k, (a, b) in enumerate(pairs)])(x)


# What a cost bound has to hold for: much input and little work, deep input, much work and little input


def wide_inputs(n: int, t: int, seed: int) -> tuple[list[float], int]:
    """The primals of `wide`: n scalars, and t, the number of products."""
    return _floats(np.random.default_rng(seed), n), t


@_program("own, for section 4.1", 100, "scalars", lambda n, rng: (_floats(rng, n), max(1, n // 10)))
def wide(xs, t):
    """The sum of t products of two of n scalars (t products, t - 1 sums): much input of which little is used.

    As long as t <= n / 2, no scalar is used twice.
    """
    return _sum(xs[k % len(xs)] * xs[(k + t) % len(xs)] for k in range(t))


@dataclass(frozen=True)
class Cell:
    """A cell of a linked list."""

    value: float
    next: Cell | None


def _linked(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    cells = None
    for value in _floats(rng, n):
        cells = Cell(value, cells)
    return cells, _floats(rng, 3, 0.5, 1.5)


@_program("own, for section 5.2", 100, "cells", _linked)
def deep(cell, weights):
    """The weighted sum of a linked list of n cells: a scalar lies up to n pairs deep, and cayley pays that for each.

    Three weights take turns.
    """
    total, turns = 0.0, itertools.cycle(weights)
    while cell is not None:
        total = total + next(turns) * cell.value
        cell = cell.next
    return total


@_program("own, for section 9", 10, "roots", lambda n, rng: (_floats(rng, n, 0.5, 2.5), *_floats(rng, 1, 0.2, 0.6)))
def newton(means, e):
    """Kepler's equation x - e * sin(x) = m for every m, by Newton's iteration: a trip count that depends on the data.

    The derivatives are those of the root, since the last step is so small that the next one could change nothing.
    """
    roots = []
    for m in means:
        x, step = m, 1.0
        while abs(step) > 1e-9:
            step = (x - e * sin(x) - m) / (1.0 - e * cos(x))
            x = x - step
        roots.append(x)
    return roots


#: Primitive operations in a step of `loop`, on both of its branches. None has a constant among its arguments.
LOOP_OPERATIONS = 5


@_program("own", 2000, "steps", lambda n, rng: (*rng.uniform([-1.0, 0.6, 0.3], [1.0, 0.8, 0.5]).tolist(), n))
def loop(x, a, b, n):
    """A loop of n steps of 5 operations with a branch: much work on 3 scalars, to time the cost of an operation.

    Both branches are taken, in turn as a rule, and each shrinks an error in x by a^2 or more: values and derivatives
    stay bounded. Every intermediate value is used once, so that even the naive stage takes time linear in n.
    """
    for _ in range(n):
        if x > 0.0:
            x = a * (b - sin(a * x + b))
        else:
            x = b + a * sin(b - a * x)
    return x
