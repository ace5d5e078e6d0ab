"""Answers to chapter 2: write the functions below, then run `python -m stages.exercises 2 chapter_2.py`."""


def multiply(u, v):
    """Return the product of two dual numbers.

    A dual number is a pair (value, tangent) here. For example, multiply((3.0, 1.0), (2.0, 0.0)) is (6.0, 2.0).
    """
    raise NotImplementedError


def divide(u, v):
    """Return the quotient u / v of two dual numbers, each a pair (value, tangent)."""
    raise NotImplementedError


def forward_gradient(f, xs):
    """Return the gradient of f at the list xs, as a list, by forward mode. Run f at most n times for n inputs.

    f takes a list of numbers. Call it with a list of dual numbers: `from stages.exercises.dual import Forward`, then
    Forward(x, d) has the value x and the tangent d. The result of f is a Forward, too, or a float if f is constant.
    """
    raise NotImplementedError
