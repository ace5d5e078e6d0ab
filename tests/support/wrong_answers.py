"""Typical wrong answers to the exercises of the course, each with text that the check's message has to contain.

The first text is a part of the input that the check names.
"""

import math

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


# ---- 6: mutable arrays


@wrong(6, "read_pullback", "read_pullback(1, [0, 0], [2.0, 3.0])", "found     [3.0]")
def last_read(n, indices, z):
    ct = [0.0] * n
    for i, zi in zip(indices, z, strict=True):
        ct[i] = zi
    return ct


@wrong(6, "read_pullback", "read_pullback(2, [1], [3.0])")
def no_zeros(n, indices, z):
    return z


@wrong(6, "write_pullback", "write_pullback(0, [2.0])", "found     ([2.0], 2.0)")
def not_cleared(i, ct):
    return ct, ct[i]


@wrong(6, "write_pullback", "write_pullback(0, [2.0])", "found     ([0.0], 0.0)")
def cleared_first(i, ct):
    ct[i] = 0.0
    return ct, ct[i]


@wrong(6, "resolve", "resolve(backpropagators, 1, 2.0) for the graph [[], [(3.0, 0)]]", "found     [0.0]")
def ascending(backpropagators, n, z):
    c, m = [0.0] * n, [0.0] * len(backpropagators)
    m[-1] = z
    for i in range(len(backpropagators)):
        backpropagators[i](m[i], c, m)
    return c


@wrong(6, "resolve", "resolve(backpropagators, 1, 2.0) for the graph [[]]", "expected  [2.0]")
def no_seed(backpropagators, n, z):
    c, m = [0.0] * n, [0.0] * len(backpropagators)
    for i in reversed(range(len(backpropagators))):
        backpropagators[i](m[i], c, m)
    return c


# ---- 7: the tape


@wrong(7, "resolve", "resolve([0, 0, 1, 2], [inf, 4.0], [0, 0], 1.0)", "found     [nan, 0.0, 1.0]")
def zero_times_infinity(ends, partials, ids, z):
    arguments = [0.0] * (len(ends) - 1)
    arguments[-1] = z
    for i in reversed(range(len(arguments))):
        for k in range(ends[i], ends[i + 1]):
            arguments[ids[k]] += partials[k] * arguments[i]
    return arguments


@wrong(7, "resolve", "resolve([0, 0], [], [], 3.0)", "IndexError", "line")
def one_entry_more(ends, partials, ids, z):
    arguments = [0.0] * (len(ends) - 1)
    arguments[-1] = z
    for i in reversed(range(len(arguments))):
        for k in range(ends[i], ends[i + 1] + 1):
            if arguments[i]:
                arguments[ids[k]] += partials[k] * arguments[i]
    return arguments


@wrong(7, "record", "record([('mul', 0, 1)], [2.0, 3.0])", "expected")
def own_values(program, xs):
    values, ends, partials, ids = list(xs), [0] * (len(xs) + 1), [], []
    for op, *operands in program:
        u = [values[i] for i in operands]
        values.append(sum(u) if op == "add" else u[0] * u[1] if op == "mul" else math.sin(u[0]))
        partials += [1.0, 1.0] if op == "add" else u if op == "mul" else [math.cos(u[0])]
        ids += operands
        ends.append(len(ids))
    return values, ends, partials, ids


@wrong(7, "record", "record([], [2.0])", "found     ([2.0], [0], [], [])")
def short_ends(program, xs):
    return list(xs), [0] * len(xs), [], []


@wrong(7, "gradient", "gradient([], [2.0])", "expected  [1.0]")
def all_zero(program, xs):
    return [0.0] * len(xs)


@wrong(7, "gradient", "gradient([('mul', 0, 0)], [3.0])", "expected  [6.0]")
def one_use(program, xs):
    values, below = list(xs), [{} for _ in xs]
    for i, row in enumerate(below):
        row[i] = 1.0
    for op, i, *j in program:
        u, v = values[i], values[j[0]] if j else 0.0
        values.append(u + v if op == "add" else u * v if op == "mul" else math.sin(u))
        p, q = (1.0, 1.0) if op == "add" else (v, u) if op == "mul" else (math.cos(u), 0.0)
        row = {k: p * d for k, d in below[i].items()}
        below.append({**row, **{k: q * d for k, d in below[j[0]].items()}} if j else row)
    return [below[-1].get(k, 0.0) for k in range(len(xs))]


# ---- 8: compiled reverse mode


@wrong(8, "loop_gradient", "loop_gradient(0.5, [2.0, 3.0])")
def first_x_only(x, ys):
    start, d_x, d_ys = x, 1.0, [0.0] * len(ys)
    for y in ys:
        x = math.sin(x) * y
    for k in reversed(range(len(ys))):
        d_ys[k] = d_x * math.sin(start)
        d_x = d_x * ys[k] * math.cos(start)
    return x, d_x, d_ys


@wrong(8, "loop_gradient", "loop_gradient(0.5, [2.0, 3.0])")
def from_the_front(x, ys):
    tape = []
    for y in ys:
        tape.append(x)
        x = math.sin(x) * y
    d_x, d_ys = 1.0, [0.0] * len(ys)
    for k in range(len(ys)):
        d_ys[k] = d_x * math.sin(tape[k])
        d_x = d_x * ys[k] * math.cos(tape[k])
    return x, d_x, d_ys


@wrong(8, "branch_gradient", "branch_gradient(1.25)")
def branch_of_the_result(x):
    states = []
    while x < 100.0:
        x = x * x + 1.0 if x < 2.0 else 3.0 * x - 2.0
        states.append(x)
    d_x = 1.0
    for state in reversed(states):
        d_x *= 2.0 * state if state < 2.0 else 3.0
    return x, d_x


@wrong(8, "branch_gradient", "branch_gradient(150.0)", "3,000,000 operations")
def never_stops(x):
    while True:
        x = x * 1.0


@wrong(8, "recorded", "recorded([('a', 'add', 'x', 'y')])", "found     ['x', 'y']")
def all_operands(statements):
    return sorted({x for _, _, *operands in statements for x in operands})


@wrong(8, "recorded", "recorded([('a', 'exp', 'x')])", "expected  ['a']")
def operand_of_exp(statements):
    return sorted({x for _, op, *operands in statements if op in ("mul", "sin", "exp") for x in operands})


@wrong(8, "recorded", "recorded([])", "expected a list, got a value of type set")
def a_set(statements):
    return {operand for _, op, operand, *_ in statements if op == "sin"}


# ---- 9: checkpoints


@wrong(9, "store_all", "State(1.0), 1, 2.0)", "calls of step: 1, bound 0")
def last_state_too(step, pullback, x, n, z):
    states = [x]
    for _ in range(n):
        states.append(step(states[-1]))
    for k in reversed(range(n)):
        z = pullback(states[k], z)
    return z


@wrong(9, "store_all", "State(1.0), 1, 2.0)", "found")
def states_after(step, pullback, x, n, z):
    states = []
    for _ in range(n):
        x = step(x)
        states.append(x)
    while states:
        z = pullback(states.pop(), z)
    return z


@wrong(9, "store_one", "State(1.0), 10, 2.0)", "states kept: 10, bound 3")
def keeps_all(step, pullback, x, n, z):
    states = [x]
    for _ in range(n - 1):
        states.append(step(states[-1]))
    for k in reversed(range(n)):
        z = pullback(states[k], z)
    return z


@wrong(9, "store_blocks", "State(1.0), 10, 2.0)", "step was called")
def without_blocks(step, pullback, x, n, z):
    for k in reversed(range(n)):
        state = x
        for _ in range(k):
            state = step(state)
        z = pullback(state, z)
    return z


@wrong(9, "store_blocks", "State(1.0), 50, 2.0)", "states kept: 50, bound 18")
def one_block(step, pullback, x, n, z):
    return keeps_all(step, pullback, x, n, z)


# ---- 10: parallel reverse mode


@wrong(10, "tree_sum", "tree_sum([1.0, 2.0, 3.0, 4.0])", "longest chain of additions: 3, bound 2")
def in_a_loop(xs):
    total = xs[0]
    for x in xs[1:]:
        total = total + x
    return total


@wrong(10, "tree_sum", "tree_sum([1.0, 2.0, 3.0])", "found     3.0")
def odd_element_lost(xs):
    while len(xs) > 1:
        xs = [x + y for x, y in zip(xs[::2], xs[1::2], strict=False)]
    return xs[0]


@wrong(10, "span", "span([[]])", "expected  0")
def inputs_count(graph):
    longest = []
    for operands in graph:
        longest.append(1 + max((longest[j] for _, j in operands), default=0))
    return max(longest)


@wrong(10, "span", "span([[], [(2.0, 0)], [], [(7.0, 2)]])", "found     2")
def operations(graph):
    return sum(bool(operands) for operands in graph)


@wrong(10, "levels", "levels([[], [(2.0, 0)], [], [(7.0, 2)]])")
def unused_too(graph):
    level = [0] * len(graph)
    for i in reversed(range(len(graph))):
        for _, j in graph[i]:
            level[j] = max(level[j], level[i] + 1)
    return [[i for i in range(len(graph)) if level[i] == at] for at in range(max(level) + 1)]


@wrong(10, "levels", "levels(")
def first_user(graph):
    last = len(graph) - 1
    level = {last: 0}
    for i in reversed(range(len(graph))):
        for _, j in graph[i] if i in level else ():
            level.setdefault(j, level[i] + 1)
    return [sorted(i for i in level if level[i] == at) for at in range(max(level.values()) + 1)]
