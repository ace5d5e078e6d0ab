"""Typical wrong answers to the exercises of chapters 1 to 5 of the course, each with parts of the check's message.

The first part is of the input that the check names.
"""

from stages.exercises.dual import Forward

WRONG = []


def wrong(chapter, name, *texts):
    def enter(answer):
        WRONG.append((chapter, name, texts, answer))
        return answer

    return enter


# ---- 1: differences


@wrong(1, "forward_difference", "forward_difference(square, 1.0, 0.5)", "found     0.25")
def no_parentheses(f, x, h):
    return f(x + h) - f(x) / h


@wrong(1, "forward_difference", "forward_difference(square, 1.0, 0.5)", "found     2.0")
def central(f, x, h):
    return (f(x + h) - f(x - h)) / (2.0 * h)


@wrong(1, "central_difference", "central_difference(square, 1.0, 0.5)", "found     4.0")
def half_the_distance(f, x, h):
    return (f(x + h) - f(x - h)) / h


@wrong(1, "central_difference", "central_difference(square, 1.0, 0.5)", "calls of f: 4, bound 2")
def mean_of_both(f, x, h):
    return ((f(x + h) - f(x)) / h + (f(x) - f(x - h)) / h) / 2.0


@wrong(1, "difference_gradient", "difference_gradient(first_times_second, [2.0, 3.0])", "found")
def all_at_once(f, xs):
    h = 1e-5
    return [(f([x + h for x in xs]) - f([x - h for x in xs])) / (2.0 * h)] * len(xs)


@wrong(1, "difference_gradient", "difference_gradient(only, [2.0])", "changed its argument")
def not_restored(f, xs):
    found = []
    for k in range(len(xs)):
        xs[k] += 1e-5
        above = f(xs)
        xs[k] -= 2e-5
        found.append((above - f(xs)) / 2e-5)
    return found


@wrong(1, "difference_gradient", "difference_gradient(only, [2.0])", "found")
def step_too_small(f, xs):
    return [(f([*xs[:k], x + 1e-14, *xs[k + 1 :]]) - f(xs)) / 1e-14 for k, x in enumerate(xs)]


# ---- 2: forward mode


@wrong(2, "multiply", "multiply((3.0, 1.0), (2.0, 0.0))", "found     (6.0, 0.0)")
def product_of_tangents(u, v):
    return u[0] * v[0], u[1] * v[1]


@wrong(2, "multiply", "multiply((3.0, 1.0), (2.0, 0.0))", "expected a pair (value, tangent), got 6.0")
def value_only(u, v):
    return u[0] * v[0]


@wrong(2, "divide", "divide((3.0, 0.0), (2.0, 1.0))")
def sign(u, v):
    return u[0] / v[0], (u[1] * v[0] + u[0] * v[1]) / v[0] ** 2


@wrong(2, "divide", "divide((3.0, 1.0), (2.0, 0.0))", "expected  (1.5, 0.5)")
def no_square(u, v):
    return u[0] / v[0], (u[1] * v[0] - u[0] * v[1]) / v[0]


@wrong(2, "forward_gradient", "forward_gradient(fig1, [3.0, 2.0])", "found     [11.0, 11.0]")
def all_tangents_one(f, xs):
    return [f([Forward(x, 1.0) for x in xs]).d for _ in xs]


@wrong(2, "forward_gradient", "forward_gradient(constant, [3.0, 2.0])", "AttributeError", "line")
def no_constants(f, xs):
    return [f([Forward(x, float(i == k)) for i, x in enumerate(xs)]).d for k in range(len(xs))]


# ---- 3: naive backpropagators


@wrong(3, "inputs", "inputs([5.0, 6.0])", "k=k")
def late_binding(xs):
    return [(x, lambda z: [z if i == k else 0.0 for i in range(len(xs))]) for k, x in enumerate(xs)]  # noqa: B023


@wrong(3, "inputs", "inputs([5.0])", "found     [(5.0, [1.0])]")
def always_one(xs):
    return [(x, lambda z, k=k: [float(i == k) for i in range(len(xs))]) for k, x in enumerate(xs)]


def plus(row1, row2):
    return [a + b for a, b in zip(row1, row2, strict=True)]


@wrong(3, "product", "product((3.0, d1), (2.0, d2))", "found     (6.0, [3.0, 2.0])")
def swapped(u, v):
    return u[0] * v[0], lambda z: plus(u[1](z * u[0]), v[1](z * v[0]))


@wrong(3, "product", "product((3.0, d1), (2.0, d2))", "called 2 backpropagators already")
def too_early(u, v):
    row = plus(u[1](v[0]), v[1](u[0]))
    return u[0] * v[0], lambda z: [z * a for a in row]


@wrong(3, "product", "product((3.0, d1), (2.0, d2))", "TypeError", "row_times_number")
def row_times_number(u, v):
    return u[0] * v[0], lambda z: "row_times_number" and u[1](z) * v[0]


@wrong(3, "calls", "calls(graph) for the graph of 60 doublings", "3,000,000 operations")
def one_by_one(graph):
    def count(i):
        return 1 + sum(count(j) for _, j in graph[i])

    return count(len(graph) - 1)


@wrong(3, "calls", "calls([[]])", "expected  1")
def entries(graph):
    return sum(map(len, graph))


@wrong(3, "calls", "calls([[], [(1.0, 0), (1.0, 0)]])", "expected  3")
def ids(graph):
    return len(graph)


# ---- 4: staged calls


@wrong(4, "merge", "merge({1: (d1, 2.0)}, {1: (d1, 5.0)})", "found     {1: (d1, 5.0)}")
def last_wins(m1, m2):
    return {**m1, **m2}


@wrong(4, "merge", "merge({}, {1: (d1, 2.0)})", "changed its argument")
def in_place(m1, m2):
    for i, (d, z) in m2.items():
        m1[i] = d, z + (m1[i][1] if i in m1 else 0.0)
    return m1


def merged(m1, m2):
    return in_place(dict(m1), m2)


@wrong(4, "resolve", "resolve(5.0, {0: (d0, 1.0), 1: (d1, 2.0)})", "calls of backpropagators: 3, bound 2")
def lowest_first(c, m):
    while m:
        i = min(m)
        d, z = m[i]
        more, calls = d(z)
        c, m = c + more, merged({j: call for j, call in m.items() if j != i}, calls)
    return c


@wrong(4, "resolve", "resolve(5.0, {0: (d0, 1.0), 1: (d1, 2.0)})", "found     7.0")
def forgets_c(c, m):
    found = 0.0
    while m:
        i = max(m)
        d, z = m[i]
        more, calls = d(z)
        found, m = found + more, merged({j: call for j, call in m.items() if j != i}, calls)
    return found


@wrong(4, "arguments", "arguments([[], [(1.0, 0), (1.0, 0)]], 1.0)", "found     [1.0, 1.0]")
def overwritten(graph, z):
    found = [0.0] * len(graph)
    found[-1] = z
    for i in reversed(range(len(graph))):
        for p, j in graph[i]:
            found[j] = p * found[i]
    return found


@wrong(4, "arguments", "arguments([[], [], [(1.0, 0), (1.0, 1)], [(5.0, 0), (3.0, 2)]], 1.0)")
def upwards(graph, z):
    found = [0.0] * len(graph)
    found[-1] = z
    for i in range(len(graph)):
        for p, j in graph[i]:
            found[j] += p * found[i]
    return found


# ---- 5: the Cayley transform


@wrong(5, "total", "total([Row([1, 2]), Row([]), Row([3])], Row([]))", "elements copied: 4, bound 3")
def from_the_left(rows, zero):
    s = zero
    for row in rows:
        s = s + row
    return s


@wrong(5, "total", "total([Row([1]), Row([2])], Row([]))", "found     [2, 1]")
def reversed_rows(rows, zero):
    s = zero
    for row in rows:
        s = row + s
    return s


@wrong(5, "apply", "20,000 times", "RecursionError")
def recursive(function, s):
    if not isinstance(function, tuple):
        return function(s)
    for f in reversed(function):
        s = recursive(f, s)
    return s


@wrong(5, "apply", "apply((add_1, double), 2)", "found     6")
def first_to_last(function, s):
    todo = [function]
    while todo:
        f = todo.pop()
        if isinstance(f, tuple):
            todo.extend(reversed(f))
        else:
            s = f(s)
    return s


@wrong(5, "update", "update([], 5.0, 1.0)", "found     5.0")
def replaced(path, z, c):
    if not path:
        return z
    left, right = c
    return (left, replaced(path[1:], z, right)) if path[0] else (replaced(path[1:], z, left), right)


@wrong(5, "update", "update([0, 1], 5.0, ((1.0, 2.0), (3.0, 4.0)))", "tuples built: 3, bound 2")
def copied(path, z, c):
    def copy(c):
        return (copy(c[0]), copy(c[1])) if isinstance(c, tuple) else c

    if not path:
        return c + z
    left, right = c
    return (copy(left), copied(path[1:], z, right)) if path[0] else (copied(path[1:], z, left), copy(right))
