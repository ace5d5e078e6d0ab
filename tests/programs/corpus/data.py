"""Structured data in and out: dicts of dicts, lists of tuples, namedtuples, ints, strings and None in between."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dualrev import math
from programs.corpus.case import case


@case({"layer1": {"w": 0.5, "b": -0.2}, "layer2": {"w": 1.5, "b": 0.3}}, 0.8)
def network_of_dicts(params, x):
    """A dict of dicts of parameters."""
    for name in sorted(params):
        x = math.tanh(params[name]["w"] * x + params[name]["b"])
    return x


@case([("apple", 3, 1.2), ("pear", 0, 0.8), ("plum", 5, 2.0)], {"plum": 0.9})
def invoice(items, discounts):
    """A bill: names, counts and prices mixed, and a dict with some discounts."""
    lines = {name: n * price * discounts.get(name, 1.0) for name, n, price in items if n}
    return {"lines": lines, "total": sum(lines.values()), "count": len(lines)}


class Summary(NamedTuple):
    """The result of `describe`."""

    n: int
    mean: float
    spread: float
    label: str


@case([1.0, 2.5, 0.7, 4.0], "test")
def describe(xs, label):
    """A namedtuple of numbers, an int and a string."""
    mean = sum(xs) / len(xs)
    return Summary(len(xs), mean, math.sqrt(sum((x - mean) ** 2 for x in xs) / (len(xs) - 1)), label)


@case([("a", 1.0), ("b", 2.0), ("a", 0.5), ("c", -1.5), ("b", 3.0)])
def group_means(records):
    """Records grouped by a key, in a defaultdict of lists."""
    groups = defaultdict(list)
    for key, x in records:
        groups[key].append(x)
    return {key: (sum(xs) / len(xs), max(xs) - min(xs) if len(xs) > 1 else None) for key, xs in groups.items()}


@case({"x": [1.0, None, 2.0, None], "weights": (0.5, 1.5, 0.7, 0.2)})
def mean_without_missing(table):
    """Weighted mean of a table's column, in which None is a missing value."""
    pairs = [(x, w) for x, w in zip(table["x"], table["weights"], strict=True) if x is not None]
    return sum(x * w for x, w in pairs) / sum(w for _, w in pairs), len(pairs)


@case({"kind": "gauss", "mu": 0.5, "sigma": 1.2}, [0.1, 1.4])
@case({"kind": "laplace", "mu": 0.5, "scale": 0.8}, [0.1, 1.4])
@case({"kind": "logistic", "mu": 0.5, "scale": 0.8}, [0.1, 1.4])
def log_density_by_kind(spec, xs):
    """A density chosen by a string in the data, with a match on dicts."""
    match spec:
        case {"kind": "gauss", "mu": mu, "sigma": sigma}:
            return [-((x - mu) ** 2) / (2 * sigma**2) - math.log(sigma) for x in xs]
        case {"kind": "laplace", "mu": mu, "scale": scale}:
            return [-abs(x - mu) / scale - math.log(2 * scale) for x in xs]
        case {"mu": mu, "scale": s, **rest} if rest:
            return [-(x - mu) / s - math.log(s) - 2 * math.log1p(math.exp(-(x - mu) / s)) for x in xs]


@dataclass(frozen=True)
class Config:
    """Settings of several types, an array among them."""

    name: str
    scale: float
    steps: int
    start: np.ndarray
    clip: float | None = None


@case(Config("run", 0.5, 3, np.array([0.2, -0.4])), {"bias": 0.1})
@case(Config("run", 0.5, 3, np.array([0.2, -0.4]), clip=0.3), {"bias": 0.1})
def run_with_a_config(config, extra):
    """A dataclass of settings with an optional number."""
    state = config.start
    for _ in range(config.steps):
        state = np.sin(config.scale * state) + extra["bias"]
    return state if config.clip is None else np.minimum(state, config.clip) * config.clip


@case("the cat and the hat", {"the": 0.5, "cat": 1.5, "hat": -0.7}, 0.1)
def bag_of_words(text, weights, unknown):
    """Words counted with a Counter, weights looked up in a dict."""
    counts = Counter(text.split())
    score = sum(n * weights.get(word, unknown) for word, n in counts.items())
    return {"score": score, "probability": 1 / (1 + math.exp(-score)), "words": len(counts)}


@case({"a": [("b", 1.0), ("c", 4.0)], "b": [("c", 2.0), ("d", 6.0)], "c": [("d", 1.5)], "d": []}, "a")
def shortest_paths(graph, start):
    """Bellman and Ford on a graph of dicts: distances by name."""
    distance = dict.fromkeys(graph, math.inf)
    distance[start] = 0.0
    for _ in graph:
        for node, edges in graph.items():
            for target, length in edges:
                distance[target] = min(distance[target], distance[node] + length)
    return {node: d for node, d in distance.items() if node != start}


@case([{"pos": (0.0, 1.0), "charge": 1}, {"pos": (2.0, 0.5), "charge": -2}, {"pos": (1.0, -1.0), "charge": 1}])
def potential_energy(particles):
    """A list of dicts with tuples of floats, and int charges."""
    energy = 0.0
    for i, p in enumerate(particles):
        for q in particles[i + 1 :]:
            (x1, y1), (x2, y2) = p["pos"], q["pos"]
            energy += p["charge"] * q["charge"] / math.hypot(x1 - x2, y1 - y2)
    return energy


@case([["+", "x", 2.0], ["*", "x", ["sin", "y"]], ["-", 1.5, "x"]], {"x": 0.6, "y": 1.1})
def lisp(program, variables):
    """An interpreter of nested lists: strings are names, numbers are themselves."""
    functions = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "sin": math.sin}

    def evaluate(form):
        if isinstance(form, str):
            return variables[form]
        if isinstance(form, list):
            name, *args = form
            return functions[name](*map(evaluate, args))
        return form

    return [evaluate(form) for form in program]


@case({("a", "b"): 0.7, ("b", "a"): 0.2, ("a", "a"): 0.3, ("b", "b"): 0.8}, "abba")
def markov_chain_of_pairs(probabilities, word):
    """A dict with tuples as keys."""
    return sum(math.log(probabilities[pair]) for pair in pairwise(word))


@case(np.array([1.0, 2.0]), [np.array([[0.5, 1.0], [0.2, -0.3]]), np.array([0.1, -0.8])], {"gain": 1.5, "mode": "relu"})
def mixed_arguments(x, layer, options):
    """Arrays, a list of arrays and a dict of options as arguments; a tuple of a dict and an array as the answer."""
    weights, bias = layer
    y = options["gain"] * (weights @ x + bias)
    if options["mode"] == "relu":
        y = np.maximum(y, 0.0)
    return {"sum": y.sum(), "largest": y.max()}, y * x


@case({"rate": 0.3, "schedule": [(0, 1.0), (2, 0.5), (4, 0.1)]}, 6)
def learning_rate_schedule(options, epochs):
    """Breakpoints in the data decide which factor holds when."""
    total = 0.0
    for epoch in range(epochs):
        factor = [f for start, f in options["schedule"] if start <= epoch][-1]
        total += options["rate"] * factor / (1 + options["rate"] * epoch)
    return total


@case([2.0, 0.5, 1.0, 3.0], 2)
def top_k(scores, k):
    """The places of the largest, as ints, with a softmax over their scores."""
    places = sorted(range(len(scores)), key=lambda i: -scores[i])[:k]
    total = sum(math.exp(scores[i]) for i in places)
    return [(i, math.exp(scores[i]) / total) for i in places]


@case({"b": 2.0, "a": 1.0}, {"a": 0.5, "c": 3.0})
def merge_dicts(left, right):
    """Sparse vectors as dicts: union, update and a product over the common keys."""
    union = {**left, **right} | {"norm": math.sqrt(sum(x * x for x in left.values()))}
    union["dot"] = sum(left[key] * right[key] for key in left.keys() & right.keys())
    union.setdefault("rest", union.pop("c") ** 2)
    return union
