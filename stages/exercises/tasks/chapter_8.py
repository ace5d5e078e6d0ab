"""Answers to chapter 8: write the functions below, then run `python -m stages.exercises 8 chapter_8.py`."""


def loop_gradient(x, ys):
    """Return (value, derivative with respect to x, list of derivatives with respect to ys) of this loop.

    for y in ys:
        x = sin(x) * y

    Write both sweeps by hand: a forward sweep that records what the reverse sweep needs, and a reverse sweep.
    """
    raise NotImplementedError


def branch_gradient(x):
    """Return (value, derivative) of the result x of this loop.

    while x < 100.0:
        if x < 2.0:
            x = x * x + 1.0
        else:
            x = 3.0 * x - 2.0

    The reverse sweep has to know how often the loop ran, and which branch it took.
    """
    raise NotImplementedError


def recorded(statements):
    """Return the sorted list of the variables whose values the reverse sweep reads.

    A statement is (target, op, operand, ...); every variable is assigned once. The ops are "add" and "sub" (two
    operands), "mul" (two), "sin" (one) and "exp" (one). Use exp(u), not u, for the derivative of exp. For example,
    [("a", "mul", "x", "y"), ("b", "add", "a", "x")] gives ["x", "y"].
    """
    raise NotImplementedError
