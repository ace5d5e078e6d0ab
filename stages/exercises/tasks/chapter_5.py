"""Answers to chapter 5: write the functions below, then run `python -m stages.exercises 5 chapter_5.py`."""


def total(rows, zero):
    """Return rows[0] + rows[1] + ... + zero. A sum a + b copies a, so it costs len(a): use as few copies as possible.

    Represent each row by the function that adds it to the left of another row, compose these functions, and apply the
    composition to zero. The cost is then at most the sum of the lengths of the rows.
    """
    raise NotImplementedError


def apply(function, s):
    """Return function(s), for a composed function: either a Python function of one argument, or a tuple of those.

    A tuple stands for the composition of its parts, and the last part is applied first: apply((f, g), s) is f(g(s)).
    Its parts may be tuples, nested 20,000 deep. The empty tuple is the identity.
    """
    raise NotImplementedError


def update(path, z, c):
    """Return the nested pairs c with z added to one number. The path lists the halves, 0 or 1, from the root on.

    For example, update([1, 0], 5.0, (1.0, (2.0, 3.0))) is (1.0, (7.0, 3.0)). Build len(path) new tuples at most: all
    other parts of the result are the same objects as in c. An empty path adds z to the number c.
    """
    raise NotImplementedError
