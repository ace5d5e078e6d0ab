"""Answers to chapter 3: write the functions below, then run `python -m stages.exercises 3 chapter_3.py`."""


def plus(row1, row2):
    """Add two rows (lists of cotangents) element by element."""
    return [a + b for a, b in zip(row1, row2, strict=True)]


def inputs(xs):
    """Return the list of dual numbers of the inputs xs: pairs (x, d).

    The backpropagator d of input number k maps z to a row with len(xs) elements: z at position k, and 0.0 elsewhere.
    """
    raise NotImplementedError


def product(u, v):
    """Return the dual number of the product: a pair (value, backpropagator).

    u and v are dual numbers, pairs (x, d) of a number and a backpropagator. A backpropagator maps a number z to a row,
    and `plus` adds rows. A call of the new backpropagator may call each of the two old ones once; the call of `product`
    itself must not call them.
    """
    raise NotImplementedError


def calls(graph):
    """Return how many calls of backpropagators D1 makes in all when the result's is called.

    graph[i] is the list of pairs (partial derivative, j) of the scalar with the id i: its backpropagator calls that of
    j once for each pair. The last id is the result. Its own call counts, too. Every j is smaller than i.

    For x * (x + y) the graph is [[], [], [(1.0, 0), (1.0, 1)], [(5.0, 0), (3.0, 2)]], and there are 5 calls.
    """
    raise NotImplementedError
