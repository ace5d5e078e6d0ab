"""Answers to chapter 1: write the functions below, then run `python -m stages.exercises 1 chapter_1.py`."""


def forward_difference(f, x, h):
    """Return the forward difference (f(x + h) - f(x)) / h. Call f at most twice."""
    raise NotImplementedError


def central_difference(f, x, h):
    """Return the central difference of f at x with step h. Call f at most twice.

    The central difference is the slope of the line through the points of f at x - h and at x + h.
    """
    raise NotImplementedError


def difference_gradient(f, xs):
    """Return the gradient of f at the list xs, as a list: a central difference for each element, with h = 1e-5.

    f takes a list of n numbers. Call f at most 2n times, and do not change xs.
    """
    raise NotImplementedError
