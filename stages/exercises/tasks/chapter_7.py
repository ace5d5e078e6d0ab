"""Answers to chapter 7: write the functions below, then run `python -m stages.exercises 7 chapter_7.py`.

A program is a list of instructions here. ("add", i, j) adds the numbers with the ids i and j, ("mul", i, j) multiplies
them, ("sin", i) is the sine. The inputs have the ids 0, 1, ..., and every instruction makes the next id.
"""


def resolve(ends, partials, ids, z):
    """Return the list of the arguments of all ids, if the last id gets the argument z.

    The contributions of id i are the entries from ends[i] to ends[i + 1] (which is not one of them) of two lists:
    partials[k] times the argument of i is added to the argument of ids[k]. There are len(ends) - 1 ids. An id that
    nobody has called passes nothing on, not even 0.0 times an infinite partial derivative.
    """
    raise NotImplementedError


def record(program, xs):
    """Run a program on the inputs xs, and return (values, ends, partials, ids): the values of all ids, and the tape.

    An operation writes one entry for each operand, in their order. An input writes none.
    """
    raise NotImplementedError


def gradient(program, xs):
    """Return the gradient of the program's last value with respect to the inputs, as a list."""
    raise NotImplementedError
