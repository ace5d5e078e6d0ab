"""Recursion: over numbers, over trees of tuples, lists, dicts and classes, mutual, memoised, in continuations."""

from __future__ import annotations

from dataclasses import dataclass

from dualrev import math
from programs.corpus.case import case


@case(1.1, 13)
def power_by_squaring(x, n):
    """A whole power by repeated squaring."""
    if n == 0:
        return 1.0
    if n % 2:
        return x * power_by_squaring(x, n - 1)
    half = power_by_squaring(x, n // 2)
    return half * half


@case(((1.0, (2.0, 0.5)), ((0.3, 4.0), 1.7)))
def product_of_leaves(tree):
    """A binary tree of nested pairs: each node adds the product of its sides to their sum."""
    if not isinstance(tree, tuple):
        return tree
    left, right = map(product_of_leaves, tree)
    return left + right + left * right / 10


@case([1.0, [2.0, [3.0, 0.5], -1.0], [[0.2]]], 0.5)
def sum_by_depth(items, weight):
    """A nested list whose entries count less the deeper they stand."""
    total = 0.0
    for item in items:
        total += weight * sum_by_depth(item, weight) if isinstance(item, list) else item**2
    return total


@case(0.9, 0.4, 8)
def fibonacci_with_a_memo(a, b, n):
    """A Fibonacci-like recurrence with a memo in a dict."""
    memo = {0: a, 1: b}

    def f(k):
        if k not in memo:
            memo[k] = f(k - 1) + a * f(k - 2)
        return memo[k]

    return f(n)


@case(0.5, 7)
def even_and_odd(x, n):
    """Mutual recursion: two functions that take turns."""

    def even(k, y):
        return y if k == 0 else odd(k - 1, math.sin(y) + x)

    def odd(k, y):
        return y if k == 0 else even(k - 1, y * math.cos(x))

    return even(n, x * x)


@case([0.5, 1.5, -0.4, 2.0])
def fold_in_continuations(xs):
    """Continuation-passing style: the rest of the work is an argument."""

    def walk(k, rest):
        if k == len(xs):
            return rest(1.0)
        return walk(k + 1, lambda y: rest(xs[k] + y * y / (k + 2)))

    return walk(0, lambda y: y**2)


@case(1.05, 2, 2)
def ackermann_style(x, m, n):
    """Ackermann's recursion on the indices, with a number that is changed on the way."""
    if m == 0:
        return n + 1, x * 1.1
    if n == 0:
        return ackermann_style(math.sqrt(x), m - 1, 1)
    inner, y = ackermann_style(x + 0.01 * x * x, m, n - 1)
    return ackermann_style(y, m - 1, inner)


@case(1.2, 4)
def power_tower(x, height):
    """The tower x ** (x ** (x ** ...))."""
    return x ** power_tower(x, height - 1) if height else 1.0


@case(0.35, 11)
def chebyshev(x, n):
    """T_n by doubling: T_2k = 2 T_k^2 - 1."""
    if n == 0:
        return 1.0
    if n == 1:
        return x
    if n % 2 == 0:
        return 2 * chebyshev(x, n // 2) ** 2 - 1
    return 2 * chebyshev(x, n // 2) * chebyshev(x, n // 2 + 1) - x


@case([1.0, 2.0, 0.5, 3.0, 1.2])
def continued_fraction(terms):
    """a + 1 / (b + 1 / (c + ...)), by slices of a list."""
    head, *tail = terms
    return head if not tail else head + 1 / continued_fraction(tail)


@case([0.5, 1.2, -0.7, 2.0], 1.3)
def sum_over_subsets(xs, bound):
    """A sum over all subsets: take the first entry or leave it."""

    def choose(k, total):
        if k == len(xs):
            return math.tanh(total / bound)
        return choose(k + 1, total) + choose(k + 1, total + xs[k])

    return choose(0, 0.0)


@case([3.0, 1.0, 2.2, 0.4, 5.0])
def merge_sort_and_weigh(xs):
    """Merge sort, and then a weighted sum by rank."""

    def sort(ys):
        if len(ys) < 2:
            return ys
        left, right, merged = sort(ys[: len(ys) // 2]), sort(ys[len(ys) // 2 :]), []
        while left and right:
            merged.append((left if left[0] < right[0] else right).pop(0))
        return merged + left + right

    return sum(rank * x**2 for rank, x in enumerate(sort(list(xs)), 1))


@case([[2.0, 0.5, -1.0], [1.0, 3.0, 0.2], [0.4, -0.6, 1.5]])
def laplace_expansion(rows):
    """The determinant by expansion along the first row."""
    if len(rows) == 1:
        return rows[0][0]

    def minor(j):
        return [row[:j] + row[j + 1 :] for row in rows[1:]]

    return sum((-1) ** j * x * laplace_expansion(minor(j)) for j, x in enumerate(rows[0]))


@case(0.2, 1.7, 5)
def bisected_integral(a, b, depth):
    """An integral by the midpoint rule on halves of halves."""
    middle = (a + b) / 2
    if depth == 0:
        return (b - a) * math.exp(-middle * middle)
    return bisected_integral(a, middle, depth - 1) + bisected_integral(middle, b, depth - 1)


@dataclass(frozen=True)
class Leaf:
    """A value at the end of a branch."""

    value: float


@dataclass(frozen=True)
class Split:
    """A soft decision between two subtrees."""

    weight: float
    threshold: float
    below: Leaf | Split
    above: Leaf | Split


@case(Split(2.0, 0.5, Leaf(1.0), Split(-1.0, 0.8, Leaf(2.5), Leaf(-0.3))), 0.7)
def soft_decision_tree(tree, x):
    """The answer of a soft decision tree: a mixture of its leaves."""
    match tree:
        case Leaf(value):
            return value
        case Split(weight, threshold, below, above):
            p = 1 / (1 + math.exp(-weight * (x - threshold)))
            return (1 - p) * soft_decision_tree(below, x) + p * soft_decision_tree(above, x)


TREE = {"cost": 1.0, "children": [{"cost": 2.0, "children": []}, {"cost": 0.5, "children": [{"cost": 3.0}]}]}


@case(TREE, 0.8)
def cost_of_a_tree_of_dicts(node, discount):
    """The costs in a tree of dicts, discounted at every level."""
    below = sum(cost_of_a_tree_of_dicts(child, discount) for child in node.get("children", []))
    return node["cost"] ** 2 + discount * below


@case((1.0, (2.0, (0.5, (1.5, None)))))
def alternating_sum_of_a_linked_list(cell):
    """A linked list of pairs that ends in None, by recursion on its tail."""
    if cell is None:
        return 0.0
    head, tail = cell
    return head**2 - 0.5 * alternating_sum_of_a_linked_list(tail)


@case(0.6, 6)
def fixed_point_combinator(x, n):
    """Recursion without a name: the combinator passes the function to itself."""

    def fix(f):
        return (lambda g: g(g))(lambda g: f(lambda *args: g(g)(*args)))

    falling = fix(lambda again: lambda k: 1.0 if k == 0 else (x + k) / 4 * again(k - 1))
    return falling(n)


@case([1.0, 0.5], [0.2, 1.4], 4)
def hanoi_energy(a, b, disks):
    """The towers of Hanoi, where each move costs energy that depends on the disk and the pegs."""

    def move(n, source, target, spare):
        if n == 0:
            return 0.0
        step = math.sqrt(a[n % 2] ** 2 + b[n % 2] ** 2 * abs(source - target))
        return move(n - 1, source, spare, target) + step + move(n - 1, spare, target, source)

    return move(disks, 0, 2, 1)
