"""Solutions to chapter 5: the Cayley transform."""


def total(rows, zero):
    """The function of the last row is applied first, so the left operand of each sum is one row."""
    s = zero
    for row in reversed(rows):
        s = row + s
    return s


def apply(function, s):
    """A stack in place of recursion; the last part is on top."""
    todo = [function]
    while todo:
        f = todo.pop()
        if isinstance(f, tuple):
            todo.extend(f)
        else:
            s = f(s)
    return s


def update(path, z, c):
    """Rebuild the pairs on the path, and share everything beside it."""
    if not path:
        return c + z
    half, *rest = path
    left, right = c
    return (left, update(rest, z, right)) if half else (update(rest, z, left), right)
