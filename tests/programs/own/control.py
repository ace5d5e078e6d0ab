"""Programs outside of the corpus: control flow, closures, exceptions, generators, iterations."""

from __future__ import annotations

import contextlib
import functools
import itertools

from programs.own.functions import atan, case, cos, sin, sqrt, tanh


@case([0.3, -1.2, 0.7, 0.5], 0.9)
def closures(coefficients, x):
    """Closures in a list, which share a cell that later closures overwrite."""
    scale, calls = x, []

    def link(a):
        def step(y):
            nonlocal scale
            calls.append(a)
            scale = scale * 0.5 + a
            return y * scale - a

        return step

    links = [link(a) for a in coefficients]
    y = x
    for step in [*links, *links[::-1]]:
        y = step(y)
    return y + sum(calls[::3], 0.0) * scale


@case(7, 0.6, 1.1)
def mutual_recursion(n, x, y):
    """Two functions that call each other, each with its own rule for the argument."""

    def even(n, z):
        return z if n == 0 else x * odd(n - 1, sin(z) + y)

    def odd(n, z):
        return z * z if n == 0 else y - even(n - 1, z / (1.0 + z * z))

    return even(n, x), odd(n, y)


@case(1.0, 0.3)
def a_while_loop(a, b):
    """The arithmetic-geometric mean: as many iterations as the numbers need."""
    n = 0
    while abs(a - b) > 1e-15 * a and n < 50:
        a, b = (a + b) / 2.0, sqrt(a * b)
        n += 1
    return a


class FoundError(Exception):
    """Carries a number."""

    def __init__(self, value):
        super().__init__("found")
        self.value = value


@case([0.4, 1.5, -0.7, 2.2], 0.3)
def exceptions(xs, y):
    """An exception that carries a number through two frames, and `finally`."""
    log_of = []

    def search(bound):
        try:
            for x in xs:
                if x > bound:
                    raise FoundError(x * y)
                log_of.append(x)
        finally:
            log_of.append(y)
        return 0.0

    total = 0.0
    for bound in (0.0, 1.0, 2.0, 9.0):
        try:
            total = total + (search(bound) or y)
        except FoundError as found:
            total = total * 0.5 + found.value
        try:
            total = total / (0 if bound == 2.0 else 2)
        except ZeroDivisionError:
            total = total * y
    return total * sum(log_of, 0.0)


@case(0.35, 1.4)
def generators(x, y):
    """A series as a generator, one that receives numbers, and `yield from`."""

    def terms():
        term = x
        for k in itertools.count(1):
            yield term
            term = term * x * k / (k + 1.0)

    def mean():
        total, n = 0.0, 0
        while True:
            z = yield (total / n if n else y)
            total, n = total + z, n + 1

    def both():
        yield from itertools.islice(terms(), 12)
        yield y

    averaging = mean()
    next(averaging)
    last = [averaging.send(z) for z in both()][-1]
    return last, sum(itertools.takewhile(lambda z: z > 1e-3, terms()), 0.0)


@case([1.2, 2.5, 0.8, 3.1, 1.7])
def a_continued_fraction(parts):
    """The value, and the numerators and denominators of its convergents by their recurrence."""
    value = parts[-1]
    for part in parts[-2::-1]:
        value = part + 1.0 / value
    (p, q), (p_, q_) = (parts[0], 1.0), (1.0, 0.0)
    for part in parts[1:]:
        p, q, p_, q_ = part * p + p_, part * q + q_, p, q
    return value, p / q


@case(2.0, 0.5)
def newton_in_newton(a, b):
    """A root of a function whose values are roots themselves."""

    def solve(f, slope, x):
        for _ in range(8):
            x = x - f(x) / slope(x)
        return x

    def inner(x):  # y^3 + y = x a
        return solve(lambda y: y**3 + y - x * a, lambda y: 3.0 * y**2 + 1.0, x)

    def outer_slope(x):
        return a / (3.0 * inner(x) ** 2 + 1.0) + b

    return solve(lambda x: inner(x) + b * x - 1.0, outer_slope, 1.0)


@case(0.3, 0.2)
def shared_subterms(x, y):
    """Every value is used twice or more, across two variables."""
    for k in range(5):
        x, y = x * y + x / (k + 1), sin(x) - y * y
    z = x + y
    return z * z + z


@case(27, 0.9, 1.05)
def integer_control(n, x, y):
    """Collatz's rule decides the operations; a power by squaring; shifts and remainders."""
    steps = 0
    while n != 1 and steps < 12:
        x, n = (x * y, n // 2) if n % 2 == 0 else (x - y / (steps + 1), 3 * n + 1)
        steps += 1
    power, base, k = 1.0, y, 13
    while k:
        if k & 1:
            power = power * base
        base, k = base * base, k >> 1
    return x * power, x ** (steps % 4), y**-2


@case([0.4, 0.9, 0.7, 1.6], 1.5)
def early_returns(xs, bound):
    """The first prefix above a bound; break, continue, and else after loops."""

    def first(bound):
        total = 0.0
        for k, x in enumerate(xs):
            total = total + x * x
            if total > bound:
                return total / (k + 1)
        return -total

    product = 1.0
    for x in xs:
        if x > 1.0:
            continue
        for y in xs:
            if y > x:
                product = product * (y - x)
                break
        else:
            product = product + bound
    return first(0.5), first(bound), first(99.0) * bound, product


@case(0.5, 0.99)
def a_deep_chain(x, a):
    """Six hundred operations, one on the other."""
    y = 0.0
    for k in range(150):
        x = a * sin(x + y) + 0.1
        y = 0.3 * x if k % 3 else y
    return x


@case([0.6, 1.4], 2)
def contexts_and_decorators(xs, times):
    """A context that scales and restores, a decorator with a cache, default arguments, keyword arguments."""
    state = {"scale": xs[0]}

    @contextlib.contextmanager
    def scaled(by):
        before = state["scale"]
        state["scale"] = before * by
        try:
            yield state
        finally:
            state["scale"] = before

    def repeated(f):
        @functools.wraps(f)
        def g(x, *, rate=xs[1], **more):
            for _ in range(times):
                x = f(x, rate=rate, **more)
            return x

        return g

    @repeated
    def step(x, *, rate, shift=0.0):
        return tanh(rate * x) * state["scale"] + shift

    with scaled(xs[1]), contextlib.suppress(KeyError):
        inner = step(xs[0], shift=xs[1])
        inner = inner * state["missing"]
    return inner, step(xs[1]), atan(state["scale"]), cos(2**inner)
