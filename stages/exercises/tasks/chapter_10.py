"""Answers to chapter 10: write the functions below, then run `python -m stages.exercises 10 chapter_10.py`."""


def tree_sum(xs):
    """Return the sum of a list of at least one number, with the shortest possible chain of additions.

    The longest chain in which each addition needs the one before has log2(n) additions for n numbers, rounded up. In
    each round, add neighbours in pairs.
    """
    raise NotImplementedError


def span(graph):
    """Return the largest number of operations in which each needs the one before.

    graph[i] is the list of pairs (partial derivative, j) of the operands of id i, as in chapter 3; every j is smaller
    than i. An id without operands is an input: it is no operation.
    """
    raise NotImplementedError


def levels(graph):
    """Return the levels of the reverse pass, as a list of sorted lists of ids. The first level is [last id].

    All ids of a level can be resolved at the same time: each id stands in a level after those of all ids that use it,
    and as early as possible. Leave out the ids that do not reach the last one.
    """
    raise NotImplementedError
