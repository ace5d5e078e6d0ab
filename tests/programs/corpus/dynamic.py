"""Dynamic programming with real costs: hard minima and maxima, and their soft versions."""

from functools import cache
from itertools import pairwise, product

import numpy as np

from dualrev import math
from dualrev import numpy as dnp
from programs.corpus.case import case


def logsumexp(xs):
    """log of a sum of exponentials, without overflow."""
    largest = max(xs)
    return largest + math.log(sum(math.exp(x - largest) for x in xs))


@case("kitten", "sitting", {"insert": 1.0, "delete": 1.3, "replace": 1.7})
def edit_distance(a, b, costs):
    """The cheapest edit of one word into another; only the last row is kept."""
    row = [j * costs["insert"] for j in range(len(b) + 1)]
    for x in a:
        new = [row[0] + costs["delete"]]
        for j, y in enumerate(b, 1):
            replaced = row[j - 1] + (0.0 if x == y else costs["replace"])
            new.append(min(replaced, row[j] + costs["delete"], new[-1] + costs["insert"]))
        row = new
    return row[-1] ** 2


@case([1.0, 4.0, 9.0, 2.0], [1.2, 1.1, 4.3, 8.5, 2.4])
def dynamic_time_warping(xs, ys):
    """The distance of two series that may be stretched, with a dict as the table."""
    d = {(0, 0): 0.0}
    for i, j in product(range(1, len(xs) + 1), range(1, len(ys) + 1)):
        before = [d[cell] for cell in ((i - 1, j), (i, j - 1), (i - 1, j - 1)) if cell in d]
        d[i, j] = (xs[i - 1] - ys[j - 1]) ** 2 + min(before)
    return d[len(xs), len(ys)]


@case([1.0, 2.2, 3.1, 2.0], [1.1, 1.3, 2.4], 0.5)
def soft_dynamic_time_warping(xs, ys, gamma):
    """The same with a soft minimum, in an array with an infinite border."""
    d = dnp.full((len(xs) + 1, len(ys) + 1), np.inf)
    d[0, 0] = 0.0
    for i, x in enumerate(xs, 1):
        for j, y in enumerate(ys, 1):
            before = [-c / gamma for c in (d[i - 1, j], d[i, j - 1], d[i - 1, j - 1]) if c < np.inf]
            d[i, j] = (x - y) ** 2 - gamma * logsumexp(before)
    return d[-1, -1]


START, MOVE, EMIT = [0.6, 0.4], [[0.7, 0.3], [0.4, 0.6]], [[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]]


@case(START, MOVE, EMIT, [0, 1, 2, 2])
def viterbi(start, move, emit, seen):
    """The most probable path of hidden states: its log-probability, and the states as ints."""
    paths = [(math.log(p) + math.log(emit[s][seen[0]]), [s]) for s, p in enumerate(start)]
    for y in seen[1:]:
        paths = [
            max(
                ((score + math.log(move[p[-1]][s] * emit[s][y]), [*p, s]) for score, p in paths),
                key=lambda path: path[0],
            )
            for s in range(len(start))
        ]
    return max(paths, key=lambda path: path[0])


@case(np.log(START), np.log(MOVE), np.log(EMIT), [0, 1, 2, 2])
def forward_in_logarithms(start, move, emit, seen):
    """Log-probability of the observations, by the forward algorithm with logsumexp."""
    alpha = start + emit[:, seen[0]]
    for y in seen[1:]:
        scores = alpha[:, None] + move
        alpha = np.logaddexp(scores[0], scores[1]) + emit[:, y]
    return np.logaddexp(alpha[0], alpha[1])


RULES = {"S": [("A", "B", 0.6), ("B", "A", 0.4)], "A": [("A", "A", 0.3)], "B": [("A", "B", 0.2)]}


@case(RULES, {("A", "a"): 0.7, ("B", "b"): 0.8, ("B", "a"): 0.1}, "aab")
def inside_probability(rules, words, text):
    """The probability of a text under a grammar: CKY's inside sums, in a dict."""
    n, inside = len(text), {}
    for i, letter in enumerate(text):
        for name in rules:
            inside[name, i, i + 1] = words.get((name, letter), 0.0)
    for width in range(2, n + 1):
        for i in range(n - width + 1):
            for name, productions in rules.items():
                inside[name, i, i + width] = sum(
                    p * inside[left, i, k] * inside[right, k, i + width]
                    for left, right, p in productions
                    for k in range(i + 1, i + width)
                )
    return inside["S", 0, n]


@case([0.15, 0.05, 0.5, 0.1, 0.25])
def optimal_search_tree(weights):
    """The cost of the best binary search tree, memoised by intervals."""

    @cache
    def cost(i, j):
        if i == j:
            return 0.0
        return sum(weights[i:j]) + min(cost(i, k) + cost(k + 1, j) for k in range(i, j))

    return cost(0, len(weights))


@case([3.0, 3.5, 1.2, 7.0], [3, 4, 2, 5], 8)
def knapsack(values, sizes, capacity):
    """The most valuable choice, in one row that is filled backwards."""
    best = [0.0] * (capacity + 1)
    for value, size in zip(values, sizes, strict=True):
        for room in range(capacity, size - 1, -1):
            best[room] = max(best[room], best[room - size] + value**1.5)
    return best[capacity]


@case([1.0, 2.0, 0.5, 3.0, 1.5])
def matrix_chain(sizes):
    """The cheapest order of products of matrices with these sizes."""
    n = len(sizes) - 1
    cost = dnp.zeros((n, n))
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i, j] = min(cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j))
    return cost[0, -1]


@case({"a": {"b": 1.0, "c": 3.0}, "b": {"c": 2.5, "d": 0.5}, "c": {"d": 1.5}, "d": {}})
def longest_path(graph):
    """The longest weighted path of a graph without cycles, memoised by names."""
    memo = {}

    def longest(node):
        if node not in memo:
            memo[node] = max((math.sqrt(w) + longest(to) for to, w in graph[node].items()), default=0.0)
        return memo[node]

    return longest("a")


@case({"a": {"b": 1.0, "c": 2.0}, "b": {"c": 1.5, "d": 0.5}, "c": {"d": 1.2}, "d": {}}, 2.0)
def soft_longest_path(graph, beta):
    """The smooth maximum over all paths."""

    def value(node):
        following = [w + value(to) for to, w in graph[node].items()]
        return logsumexp([beta * v for v in following]) / beta if following else 0.0

    return value("a")


@case("GATC", "GCTA", 0.7, 1.0, -0.6)
def soft_alignment(a, b, temperature, match, gap):
    """Needleman and Wunsch's alignment score with a soft maximum."""
    table = [[j * gap for j in range(len(b) + 1)]]
    for i, x in enumerate(a, 1):
        row = [i * gap]
        for j, y in enumerate(b, 1):
            options = (table[-1][j - 1] + (match if x == y else -match), table[-1][j] + gap, row[-1] + gap)
            row.append(temperature * logsumexp([o / temperature for o in options]))
        table.append(row)
    return table[-1][-1]


@case([[1.0, 3.0, 1.5], [0.5, 0.4, 4.0], [2.7, 1.0, 0.9]])
def cheapest_way_through_a_grid(costs):
    """The cheapest way from corner to corner, in place on a copy of the rows."""
    cost = [list(row) for row in costs]
    for i, row in enumerate(cost):
        for j in range(len(row)):
            above = [cost[i - 1][j]] if i else []
            beside = [row[j - 1]] if j else []
            row[j] += min(above + beside, default=0.0)
    return math.log(cost[-1][-1])


@case([0.5, 1.5, 0.9], 3.0)
def partitions_of_a_sum(weights, z):
    """A partition function over multisets of up to four parts: an unbounded knapsack of products."""
    ways = [1.0] + [0.0] * 4
    for k, w in enumerate(weights, 1):
        for total in range(k, 5):
            ways[total] += w / z * ways[total - k]
    return ways


@case([1.0, 0.3, 10.0], [[0.8, 0.2], [0.3, 0.7]], 0.6)
def value_iteration(rewards, stay, gamma):
    """Bellman's equation for a small decision process, some sweeps of it."""
    value = [0.0, 0.0]
    for _ in range(12):
        safe = [rewards[s] + gamma * sum(p * v for p, v in zip(stay[s], value, strict=True)) for s in range(2)]
        value = [max(safe[0], rewards[1] + gamma * value[0] / 2), max(safe[1], rewards[2] * 0.5 + gamma * value[0])]
    return value


@case([0.9, 0.8, 0.95, 0.7], [0, 1, 3])
def poisson_binomial(probabilities, counts):
    """The distribution of a number of successes, by convolution with one coin after the other."""
    distribution = [1.0]
    for p in probabilities:
        padded = [0.0, *distribution, 0.0]
        distribution = [(1 - p) * b + p * a for a, b in pairwise(padded)]
    return [distribution[k] for k in counts]
