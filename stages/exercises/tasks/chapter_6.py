"""Answers to chapter 6: write the functions below, then run `python -m stages.exercises 6 chapter_6.py`."""


def read_pullback(n, indices, z):
    """Return the cotangent of x, a list of n numbers, for ys = [x[i] for i in indices] with the cotangent z of ys.

    An index may occur several times.
    """
    raise NotImplementedError


def write_pullback(i, ct):
    """Return the pair (cotangent of x before, cotangent of v) of the assignment x[i] = v.

    ct is the cotangent of the list x after the assignment. Do not change ct.
    """
    raise NotImplementedError


def resolve(backpropagators, n, z):
    """Return the list of the cotangents of n inputs. Call each backpropagator at most once, the highest id first.

    backpropagators[i] is a function d(z, c, m) for the id i. It returns nothing, and writes in place: if id i is input
    k (k need not be i), it adds to c[k], else it adds to m[j] for the ids j of its operands, which are smaller than i.
    c and m are lists of numbers (in the stage, m holds pairs), with an element for each input and for each id; allocate
    them once. The last id gets the argument z. In messages, graph[i] lists the pairs (partial derivative, j) of the id
    i; an empty list is the next input.
    """
    raise NotImplementedError
