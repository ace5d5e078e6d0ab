"""Answers to chapter 4: write the functions below, then run `python -m stages.exercises 4 chapter_4.py`."""


def merge(m1, m2):
    """Return the union of two maps of delayed calls, {id: (backpropagator, argument)}, as a new dict.

    By linear factoring, an id in both maps keeps its backpropagator, and its arguments are added. Do not change m1, m2.
    """
    raise NotImplementedError


def resolve(c, m):
    """Return the cotangent of the input after all delayed calls. Call each backpropagator at most once.

    c is a number, the cotangent of the only input so far. m is a dict {id: (d, argument)} of delayed calls. A call
    d(argument) returns a pair (number, dict): a cotangent to add to c, and more delayed calls, of smaller ids. You may
    use your `merge`.
    """
    raise NotImplementedError


def arguments(graph, z):
    """Return the list of the arguments with which a staged resolve calls each id, if it calls the last one with z.

    graph[i] is the list of pairs (partial derivative, j): id i passes its argument, times the partial derivative, to
    id j, which is smaller than i. An id that receives nothing has the argument 0.0.

    For the graph of section 4, [[], [(2.0, 0), (3.0, 0)], [(4.0, 1), (5.0, 0)], [(1.0, 1), (2.0, 2)]], and z = 1.0, the
    result is [55.0, 9.0, 2.0, 1.0].
    """
    raise NotImplementedError
