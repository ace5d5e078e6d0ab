"""Functions as values, generators, and the rest of the language: try, with, match, walrus, starred arguments."""

import functools
import itertools
import operator
from contextlib import contextmanager, suppress

from dualrev import math
from programs.corpus.case import case


@case(0.5, 1.5, 2.0)
def adders_and_scalers(x, a, b):
    """Closures that capture numbers, composed by a higher-order function."""

    def compose(*functions):
        return lambda y: functools.reduce(lambda value, f: f(value), functions, y)

    return compose(lambda y: y + a, lambda y: y * b, math.sin, lambda y: y**2 + a)(x)


@case([1.2, 0.8, 2.0, 1.5])
def reduce_with_an_operator(xs):
    """functools.reduce with operators."""
    return functools.reduce(operator.mul, xs, 1) - functools.reduce(operator.add, xs) ** 2


@case(0.7, 2.0, 3.0)
def partial_application(x, scale, power):
    """functools.partial with positional and keyword arguments."""

    def law(a, b, x, shift=0.0):
        return a * (x + shift) ** b

    f = functools.partial(law, scale, power)
    g = functools.partial(law, 1.0, b=2, shift=scale)
    return f(x) + g(x=x)


@case(0.4, 1.3)
def decorated(x, factor):
    """Decorators with and without an argument, on a function inside."""

    def scaled(by):
        def decorate(f):
            @functools.wraps(f)
            def wrapper(*args, **kwargs):
                return by * f(*args, **kwargs)

            return wrapper

        return decorate

    def squared(f):
        return lambda *args, **kwargs: f(*args, **kwargs) ** 2

    @scaled(factor)
    @squared
    def base(y, shift=1.0):
        return math.exp(y) + shift

    return base(x) + base(x, shift=factor)


@case(0.3, 0.9, 8)
def generator_of_iterates(x, a, n):
    """An endless generator, cut off by islice."""

    def iterates(y):
        while True:
            yield y
            y = a * y * (2 - y)

    return sum(y**2 for y in itertools.islice(iterates(x), n))


@case(((1.0, 2.0), ((0.5, 3.0), 1.5)), 0.6)
def leaves_by_yield_from(tree, decay):
    """The leaves of a tree by a recursive generator, with weights from another one."""

    def leaves(node):
        if isinstance(node, tuple):
            for child in node:
                yield from leaves(child)
        else:
            yield node

    weights = itertools.accumulate(itertools.repeat(decay), operator.mul)
    return sum(w * leaf**2 for w, leaf in zip(weights, leaves(tree), strict=False))


@case([0.5, 1.5, 2.5], 0.1)
def accumulated_interest(deposits, rate):
    """itertools.accumulate with a function of one's own."""
    balances = list(itertools.accumulate(deposits, lambda balance, deposit: balance * (1 + rate) + deposit))
    return balances[-1] + max(balances) * rate


@case(2.0, 0.5)
def generator_that_receives(x, gain):
    """A coroutine: numbers are sent into a generator, which answers with a running filter."""

    def low_pass():
        state = 0.0
        while True:
            received = yield state
            state += gain * (received - state)

    channel = low_pass()
    next(channel)
    return sum(channel.send(x**k) for k in range(1, 5))


@case(0.8, 1.7, 0.4)
def default_arguments(x, y, z):
    """Defaults that are computed once, when the inner function is made."""

    def blend(value, weight=y / (y + z), *, bias=z * z):
        return weight * value + bias

    return blend(x) * blend(x, 0.5) + blend(x, bias=y)


@case({"a": 1.0, "b": 2.0}, 0.5, 1.5, 3.0)
def stars(options, *values):
    """Starred arguments and keywords on both sides of a call."""

    def total(first, *rest, a, b=0.0, **others):
        return first * a + sum(rest) * b + sum(others.values())

    return total(*values, **options) * total(values[0], a=1.0, c=values[1], d=options["b"])


@case([1.5, 0.0, -2.0, 0.5, 4.0])
def skip_what_fails(xs):
    """Exceptions in try, except, else and finally: a root of a negative number counts as a penalty."""
    total, tries = 0.0, 0
    for x in xs[:1] + xs[2:]:
        try:
            root = math.sqrt(x)
        except ValueError:
            total += 0.1 * x * x
        else:
            total += root
        finally:
            tries += 1
    return total / tries


@case(2.5, 0.3)
def early_exit_by_exception(x, step):
    """An exception of one's own carries the result out of nested loops."""

    class Found(Exception):  # noqa: N818 - it is no error
        pass

    try:
        for i in range(1, 4):
            for j in range(1, 4):
                if step * 4 ** (i * j) > 16 * x:
                    raise Found(x**2 * i - j * step)
    except Found as found:
        return found.args[0] * step
    return x


@case(0.9, 1.8)
def scaled_inside_a_context(x, factor):
    """A context manager that changes a setting and restores it."""
    settings = {"scale": 1.0}

    @contextmanager
    def scale(by):
        previous = settings["scale"]
        settings["scale"] = previous * by
        try:
            yield settings
        finally:
            settings["scale"] = previous

    def measure(y):
        return settings["scale"] * math.sin(y)

    with scale(factor), suppress(KeyError):
        inside = measure(x)
        with scale(factor):
            inside += measure(x + 1)
        settings["missing"]
    return inside + measure(x)


@case([("push", 1.5), ("push", 2.0), ("mul", None), ("push", 0.5), ("pow", 2), ("add", None), ("neg", None)])
def match_commands(program):
    """A stack machine by a match statement with guards and captures."""
    stack = []
    for command in program:
        match command:
            case ("push", value):
                stack.append(value)
            case ("add" | "mul" as name, None):
                b, a = stack.pop(), stack.pop()
                stack.append(a + b if name == "add" else a * b)
            case ("pow", int(n)) if n > 0:
                stack.append(stack.pop() ** n)
            case ("neg", _):
                stack.append(-stack.pop())
    return stack[-1]


@case(2.0)
def walrus(x):
    """Assignments within conditions and comprehensions."""
    total = 0.0
    while (x := x * 0.6 + 0.1) > 0.55:
        total += x
    return total + sum(square + 1 / square for k in range(1, 5) if (square := (k * x) ** 2) > 0.1)


@case([1.0, -2.0, 0.5, 3.0, -0.2])
def filters_and_maps(xs):
    """filter, map, sorted with a key, and any and all."""
    positive = list(filter(lambda x: x > 0, xs))
    by_size = sorted(xs, key=abs)
    bonus = 1.0 if any(x < 0 for x in xs) and not all(xs[0] > x for x in xs) else 0.0
    return sum(map(operator.mul, positive, by_size)) + bonus * by_size[-1] ** 2


@case(0.7, 3)
def nonlocal_counter(x, calls):
    """A closure with a state of its own, which each call changes."""

    def make(state):
        def step(y):
            nonlocal state
            state = 0.5 * state + y * y
            return state

        return step

    step = make(x)
    return [step(x + k) for k in range(calls)]


@case(0.6, 1.2, 2.1)
def dispatch_table(x, y, z):
    """Functions in a dict, looked up by name."""
    table = {"sum": lambda a, b: a + b, "ratio": lambda a, b: a / b, "norm": math.hypot, "power": pow}
    values = {name: f(x + y, z) for name, f in table.items()}
    return sum(values.values()) + max(values.values(), key=lambda v: -v)


@case(0.5, 0.8)
def numeric_derivative_of_a_closure(x, a):
    """A higher-order function that takes and gives functions: a difference quotient of a difference quotient."""

    def slope(f, h=0.1):
        return lambda y: (f(y + h) - f(y - h)) / (2 * h)

    return slope(slope(lambda y: math.exp(a * y) * y))(x)


@case([1.0, 2.0, 0.5, 1.5, 3.0, 0.7])
def group_by_sign(xs):
    """itertools: chunks, pairs and groups."""
    groups = itertools.groupby(sorted(xs), key=lambda x: x > 1.2)
    spread = [math.log(sum(x * x for x in group)) for _, group in groups]
    pairs = sum(a * b for a, b in itertools.combinations(xs[:4], 2))
    return sum(spread) + pairs / 10 + sum(a - b * b for a, b in zip(xs[::2], xs[1::2], strict=True))
