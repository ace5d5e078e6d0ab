"""Programs outside of the corpus: trees, tables, records, heaps, lists of lists, text."""

from __future__ import annotations

import bisect
import copy
import functools
import heapq
import itertools
import math
import operator
from collections import ChainMap, Counter, defaultdict, deque, namedtuple
from dataclasses import dataclass, replace

from programs.own.functions import case, exp, log, sin, sqrt

TREE = ((None, 0.7, (None, -0.4, None)), 1.3, ((None, 0.2, None), 0.9, None))


@case(TREE, 0.8)
def recursion_over_trees(tree, x):
    """The weighted values of a search tree, by depth, and the product along its left edge."""

    def walk(node, depth):
        if node is None:
            return x * depth
        left, value, right = node
        return sin(walk(left, depth + 1)) * value + walk(right, depth + 1) / (1.0 + x**depth)

    def left_edge(node):
        return 1.0 if node is None else node[1] * left_edge(node[0])

    return walk(tree, 0), left_edge(tree)


@case([[0.3, 0.8, 0.2], [0.5, 0.1, 0.9], [0.4, 0.6, 0.7]])
def a_memo_table(cells):
    """The sum over all paths through a grid of the products of their cells, each subproblem once."""
    memo = {}

    def paths(i, j):
        if i < 0 or j < 0:
            return 0.0
        if (i, j) not in memo:
            memo[i, j] = cells[i][j] if i == j == 0 else cells[i][j] * (paths(i - 1, j) + paths(i, j - 1))
        return memo[i, j]

    return paths(2, 2), functools.reduce(operator.add, memo.values())


@case([0.4, -1.1, 2.3, 0.9, -0.2], [1.0, 0.5, 0.25, 2.0, 3.0])
def sorting_by_values(xs, ws):
    """Ranks, a median, the place of a number among sorted ones, the largest by a key."""
    ordered = sorted(zip(xs, ws, strict=True), key=lambda pair: pair[0] * pair[1])
    ranked = sum((k * x * w for k, (x, w) in enumerate(ordered)), 0.0)
    up = sorted(xs)
    place = bisect.bisect(up, ws[2])
    return ranked, up[2] * ws[0], max(xs, key=abs) * place, min(ws) * min(*xs, ws[1])


class Parser:
    """Sums, products, powers and calls: builds a function of the environment."""

    def __init__(self, text):
        self.tokens = deque(text.replace("(", " ( ").replace(")", " ) ").split())

    def sum(self):
        left = self.product()
        while self.tokens and self.tokens[0] in "+-":
            op = {"+": operator.add, "-": operator.sub}[self.tokens.popleft()]
            left = functools.partial(lambda op, a, b, env: op(a(env), b(env)), op, left, self.product())
        return left

    def product(self):
        left = self.atom()
        while self.tokens and self.tokens[0] in ("*", "/", "^"):
            op = {"*": operator.mul, "/": operator.truediv, "^": operator.pow}[self.tokens.popleft()]
            left = functools.partial(lambda op, a, b, env: op(a(env), b(env)), op, left, self.atom())
        return left

    def atom(self):
        token = self.tokens.popleft()
        if token == "(":
            inside = self.sum()
            self.tokens.popleft()
            return inside
        if token in FUNCTIONS:
            argument = self.atom()
            return lambda env: FUNCTIONS[token](argument(env))
        return (lambda env: env[token]) if token.isalpha() else (lambda env: float(token))


FUNCTIONS = {"sin": sin, "exp": exp, "log": log}


@case(0.7, 1.9)
def a_string_parser(x, y):
    """An expression is read from text, and run in two environments."""
    parsed = Parser("x * ( y + 3 ) - sin ( x ^ y ) / ( 1 + exp ( 0 - x ) ) + log y").sum()
    return parsed({"x": x, "y": y}), parsed(ChainMap({"x": y}, {"y": x, "x": 5.0}))


@case([[0.1, 0.5, -0.3], [0.2, -0.4, 0.6], [0.0, 0.3, 0.2]], 0.8)
def a_matrix_exponential(a, t):
    """Scaling, a Taylor series, and squaring, on lists of lists."""
    n = len(a)

    def times(p, q):
        return [[sum((p[i][k] * q[k][j] for k in range(n)), 0.0) for j in range(n)] for i in range(n)]

    scaled = [[x * t / 4.0 for x in row] for row in a]
    term = total = [[float(i == j) for j in range(n)] for i in range(n)]
    for k in range(1, 9):
        term = [[x / k for x in row] for row in times(term, scaled)]
        total = [[x + y for x, y in zip(*rows, strict=True)] for rows in zip(total, term, strict=True)]
    for _ in range(2):
        total = times(total, total)
    return total[0], sum((total[i][i] for i in range(n)), 0.0)


@case({"ab": 0.3, "aa": 0.7, "ba": 0.6, "bb": 0.4}, {"a": [0.9, 0.1], "b": [0.2, 0.8]})
def an_automaton(moves, emits):
    """The probability of a word, by all ways through a hidden automaton, and its most likely way."""
    word = "0110100"
    weights, best = {"a": 0.5, "b": 0.5}, {"a": (0.5, "a"), "b": (0.5, "b")}
    for letter in map(int, word):
        weights = {s: sum((weights[r] * moves[r + s] for r in weights), 0.0) * emits[s][letter] for s in "ab"}
        best = {
            s: max((best[r][0] * moves[r + s] * emits[s][letter], best[r][1] + s) for r in sorted(best)) for s in "ab"
        }
    return log(sum(weights.values(), 0.0)), max(best.values())[0]


@case({0: 1.5, 1: -0.5, 3: 0.25}, {0: 0.8, 2: 1.2}, 0.9)
def dictionaries_of_numbers(p, q, x):
    """Polynomials as tables from exponents to coefficients: product, derivative, value."""
    product = defaultdict(float)
    for (i, a), (j, b) in itertools.product(p.items(), q.items()):
        product[i + j] += a * b
    slope = {i - 1: i * a for i, a in product.items() if i}
    counted = Counter("abca")
    return {"value": sum((a * x**i for i, a in product.items()), 0.0), "slope": {**slope, 0: slope[0] * counted["a"]}}


Moments = namedtuple("Moments", "n mean rest")


@case([0.4, 1.9, -0.3, 0.8, 1.1])
def folds(xs):
    """Welford's variance as a fold over records, running products, a fold of functions."""

    def add(m, x):
        n = m.n + 1
        mean = m.mean + (x - m.mean) / n
        return Moments(n, mean, m.rest + (x - m.mean) * (x - mean))

    m = functools.reduce(add, xs, Moments(0, 0.0, 0.0))
    running = list(itertools.accumulate(xs, lambda a, b: a * b + 0.1, initial=1.0))
    composed = functools.reduce(lambda f, x: lambda y: f(y * x + 1.0), xs, lambda y: y)
    return m.rest / (m.n - 1), running[::2], composed(m.mean)


@case(((0.3, (1.2, 0.7)), ((0.5, 0.9), 1.4)))
def nested_pairs(tree):
    """Rotations of nested pairs, and the pairs that they leave."""

    def turned(t):
        match t:
            case ((a, b), c):
                return a, turned((b, c))
            case (a, b):
                return a, turned(b) if isinstance(b, tuple) else b
        return t

    def flat(t):
        return [*flat(t[0]), *flat(t[1])] if isinstance(t, tuple) else [t]

    turn = turned(tree)
    weights = [(-0.5) ** k for k in range(6)]
    return turn, sum((w * sin(x) for w, x in zip(weights, flat(turn), strict=True)), 0.0) * flat(tree)[-1]


@dataclass(frozen=True)
class Body:
    """A body in the plane."""

    at: tuple
    speed: tuple
    mass: float = 1.0


@case([Body((0.0, 0.5), (0.1, 0.0), 1.2), Body((1.0, -0.3), (0.0, -0.2)), Body((-0.6, 0.4), (0.2, 0.1), 0.7)], 0.1)
def records(bodies, dt):
    """Bodies that attract each other: records that are replaced, three leapfrog steps."""
    for _ in range(3):
        moved = []
        for i, one in enumerate(bodies):
            force = [0.0, 0.0]
            for j, other in enumerate(bodies):
                if i != j:
                    dx, dy = (b - a for a, b in zip(one.at, other.at, strict=True))
                    r = sqrt(dx * dx + dy * dy + 0.01)
                    force[0] += other.mass * dx / r**3
                    force[1] += other.mass * dy / r**3
            speed = tuple(v + dt * f for v, f in zip(one.speed, force, strict=True))
            moved.append(replace(one, speed=speed, at=tuple(p + dt * v for p, v in zip(one.at, speed, strict=True))))
        bodies = moved
    return bodies[0], bodies[2].at


ROADS = {"ab": 0.7, "ac": 1.9, "bc": 0.8, "bd": 2.5, "cd": 0.6, "ad": 3.3}


@case(ROADS)
def a_heap_of_numbers(roads):
    """Shortest ways by Dijkstra: numbers decide the order in the heap, inside of tuples."""
    done, heap = {}, [(0.0, "a", ())]
    while heap:
        length, town, way = heapq.heappop(heap)
        if town in done:
            continue
        done[town] = length * (1.0 + 0.1 * len(way))
        for road, cost in roads.items():
            if town in road:
                heapq.heappush(heap, (length + cost, road.replace(town, ""), (*way, road)))
    return done


class Vector:
    """A vector with operators of its own."""

    def __init__(self, *xs):
        self.xs = xs

    def __matmul__(self, v):
        return sum((a * b for a, b in zip(self.xs, v.xs, strict=True)), 0.0)

    def __rmul__(self, k):
        return Vector(*(k * x for x in self.xs))

    def __sub__(self, v):
        return Vector(*(a - b for a, b in zip(self.xs, v.xs, strict=True)))

    def __iter__(self):
        return iter(self.xs)

    @property
    def norm(self):
        """The length."""
        return sqrt(self @ self)


@case([[1.0, 0.4, -0.2], [0.3, 1.1, 0.6], [-0.5, 0.2, 0.9]])
def operators_of_a_class(rows):
    """Gram-Schmidt on vectors of a class: operators, a property, unpacking, a copy."""
    basis = []
    for v in (Vector(*row) for row in copy.deepcopy(rows) if row):
        for u in basis:
            v = v - (v @ u) * u
        basis.append((1.0 / v.norm) * v)
    first, *_, last = basis
    return list(first), list(last), math.prod(v @ v for v in basis)
