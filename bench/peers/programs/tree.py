"""Recursion over data: the evaluation of an expression tree."""

import itertools

import numpy as np

from bench.peers.program import Program


def make_tree(nodes):
    """Return a random expression of `nodes` nodes, and one parameter for every four nodes: leaves share parameters."""
    rng = np.random.default_rng(0)
    leaves = itertools.count()
    parameters = rng.uniform(0.2, 1.4, max(1, nodes // 4)).tolist()

    def expression(size):
        """Return a random expression with `size` nodes."""
        if size == 1:
            return ("leaf", next(leaves) % len(parameters))
        if size == 2:
            return ("negate", expression(1))
        left = int(rng.integers(1, size - 1))
        return (("add", "multiply")[rng.integers(2)], expression(left), expression(size - 1 - left))

    return parameters, expression(nodes)


def in_array(parameters, expression):
    """Convert the parameters to an array; the expression stays a nested tuple."""
    return np.array(parameters), expression


def as_rows(parameters, expression):
    """Convert the tree to an array, with a row for each node (kind, and children or parameter) and the root last."""
    rows = []

    def enter(expression):
        """Append the rows of an expression, children first, and return the index of its root."""
        match expression:
            case ("leaf", k):
                rows.append((0, k, k))
            case ("negate", e):
                child = enter(e)
                rows.append((1, child, child))
            case (kind, left, right):
                rows.append((2 if kind == "add" else 3, enter(left), enter(right)))
        return len(rows) - 1

    enter(expression)
    return np.array(parameters), np.array(rows, dtype=np.int32), len(rows) - 1


tree = Program(
    "tree",
    "Expression tree, recursion",
    "A tree of sums, products and negations of parameters, a nested tuple, is evaluated by recursion.",
    make=make_tree,
    argnums=(0,),
    size=1000,
    unit="nodes",
    quick=100,
    small=20,
)


@tree.version("plain", "dualrev", "micrograd")
def _(math):
    def evaluate(parameters, expression):
        """Value of the expression in plain Python, by recursion with `match`."""
        match expression:
            case ("leaf", k):
                return parameters[k]
            case ("negate", e):
                return -evaluate(parameters, e)
            case ("add", left, right):
                return evaluate(parameters, left) + evaluate(parameters, right)
            case ("multiply", left, right):
                return evaluate(parameters, left) * evaluate(parameters, right)

    return evaluate


@tree.version("njit", "compiled", note="the tree as an array with a row for each node", inputs=as_rows)
def _():
    from numba import njit

    @njit
    def evaluate(parameters, nodes, node):
        """Value of the expression in numba, by recursion over rows of an array."""
        kind, left, right = nodes[node, 0], nodes[node, 1], nodes[node, 2]
        if kind == 0:
            return parameters[left]
        if kind == 1:
            return -evaluate(parameters, nodes, left)
        if kind == 2:
            return evaluate(parameters, nodes, left) + evaluate(parameters, nodes, right)
        return evaluate(parameters, nodes, left) * evaluate(parameters, nodes, right)

    return evaluate


@tree.version("jax", form="recursion", note="in tracing: it is compiled anew for every expression", inputs=in_array)
def _():
    def evaluate(parameters, expression):
        """Value of the expression in JAX: Python's recursion runs while JAX traces."""
        match expression:
            case ("leaf", k):
                return parameters[k]
            case ("negate", e):
                return -evaluate(parameters, e)
            case ("add", left, right):
                return evaluate(parameters, left) + evaluate(parameters, right)
            case ("multiply", left, right):
                return evaluate(parameters, left) * evaluate(parameters, right)

    return evaluate


@tree.version("jax", form="scan", note="the tree as an array with a row for each node, children first", inputs=as_rows)
def _():
    import jax.numpy as jnp
    from jax import lax

    def evaluate(parameters, nodes, root):
        """Value of the expression in JAX: `lax.scan` over the rows, children before parents."""

        def step(values, numbered):
            """Compute the value of one node from its children's values."""
            node, (kind, left, right) = numbered
            x, y = values[left], values[right]
            return values.at[node].set(lax.select_n(kind, parameters[left], -x, x + y, x * y)), None

        values, _ = lax.scan(step, jnp.zeros(len(nodes)), (jnp.arange(len(nodes)), nodes))
        return values[root]

    return evaluate


@tree.version("torch", inputs=in_array)
def _():
    def value(parameters, expression):
        """Value of the expression in PyTorch, by recursion with `match`."""
        match expression:
            case ("leaf", k):
                return parameters[k]
            case ("negate", e):
                return -value(parameters, e)
            case ("add", left, right):
                return value(parameters, left) + value(parameters, right)
            case ("multiply", left, right):
                return value(parameters, left) * value(parameters, right)

    return lambda parameters, expression: value(parameters.unbind(), expression)


@tree.version("autograd", inputs=in_array)
def _():
    def evaluate(parameters, expression):
        """Value of the expression in autograd, by recursion with `match`."""
        match expression:
            case ("leaf", k):
                return parameters[k]
            case ("negate", e):
                return -evaluate(parameters, e)
            case ("add", left, right):
                return evaluate(parameters, left) + evaluate(parameters, right)
            case ("multiply", left, right):
                return evaluate(parameters, left) * evaluate(parameters, right)

    return evaluate


@tree.version("casadi", note="the recursion is in building the graph: anew for every expression", inputs=in_array)
def _():
    def evaluate(parameters, expression):
        """Value of the expression in CasADi: Python's recursion runs while the graph is built."""
        match expression:
            case ("leaf", k):
                return parameters[k]
            case ("negate", e):
                return -evaluate(parameters, e)
            case ("add", left, right):
                return evaluate(parameters, left) + evaluate(parameters, right)
            case ("multiply", left, right):
                return evaluate(parameters, left) * evaluate(parameters, right)

    return evaluate
