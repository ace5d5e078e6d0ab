"""Answers to chapter 9: write the functions below, then run `python -m stages.exercises 9 chapter_9.py`.

`step(x)` computes the next state from the state x. `pullback(x, z)` maps the cotangent z of step(x) to the cotangent of
x. All three functions make n steps from the state x, and return the cotangent of x if the last state has the cotangent
z.
"""


def store_all(step, pullback, x, n, z):
    """Return the cotangent of x. Call step at most n - 1 times: keep every state that a pullback needs."""
    raise NotImplementedError


def store_one(step, pullback, x, n, z):
    """Return the cotangent of x. Keep at most 3 states at any time, x included: compute a state again from x."""
    raise NotImplementedError


def store_blocks(step, pullback, x, n, z):
    """Return the cotangent of x. Keep at most 2 * sqrt(n) + 4 states at any time, and call step at most 2 * n times.

    Keep every m-th state as a checkpoint, for an m near sqrt(n). Go through the blocks from the last one to the first:
    compute the states of a block again from its checkpoint.
    """
    raise NotImplementedError
