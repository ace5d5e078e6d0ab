"""Solutions to chapter 8: compiled reverse mode."""

import math


def loop_gradient(x, ys):
    """The forward sweep records x before each iteration overwrites it."""
    tape = []
    for y in ys:
        tape.append(x)
        x = math.sin(x) * y
    d_x, d_ys = 1.0, [0.0] * len(ys)
    for k in reversed(range(len(ys))):
        before = tape.pop()
        d_ys[k] += d_x * math.sin(before)
        d_x = d_x * ys[k] * math.cos(before)
    return x, d_x, d_ys


def branch_gradient(x):
    """The forward sweep records the branch, and x where the partial derivative needs it."""
    tape = []
    while x < 100.0:
        if x < 2.0:
            tape.append((True, x))
            x = x * x + 1.0
        else:
            tape.append((False, 0.0))
            x = 3.0 * x - 2.0
    d_x = 1.0
    while tape:
        squared, before = tape.pop()
        d_x = d_x * 2.0 * before if squared else d_x * 3.0
    return x, d_x


def recorded(statements):
    """A product reads both operands, sin its operand, exp its result; sums read nothing."""
    needed = set()
    for target, op, *operands in statements:
        if op in ("mul", "sin"):
            needed.update(operands)
        elif op == "exp":
            needed.add(target)
    return sorted(needed)
