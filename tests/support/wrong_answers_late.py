"""Typical wrong answers to the exercises of chapters 6 to 10, after those of wrong_answers.py: `WRONG` has all."""

import math

from support.wrong_answers import WRONG, wrong

__all__ = ["WRONG"]

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
