r"""Ids from object identity: no id is drawn, a scalar is known by where it lies in memory.

Paper:   Smeding and Vákár 2023, section 12.2, "Getting IDs from memory addresses"
D[R] =   (R, Contrib)                               Contrib = [(R, D[R])]
Changed: in lists (section 8.2) every scalar draws an id, and the program threads the counter. Here its address is its
         id, so that nothing is threaded, and what no result needs is garbage at once. But addresses do not tell which
         scalar is older: memory is given out again. So no order comes with the ids; a search of the contributions makes
         one, and a table of addresses is in place of the array.
Needs:   overloading, and objects with an identity that is theirs as long as they live. Contributions keep what they
         lead to alive, so that no address is given out twice among them. Haskell moves objects: its StableName is such
         an identity, by which Kmett's `ad` works.
Cost:    O(1) for an operation, and nothing but its object. In the reverse pass O(1) for each contribution, twice: there
         to find the order, and back, both with a step in the table where the array has an access. What is kept is what
         the result needs, not all that was done.

    D[r]           = r, which has no contribution to make
    D[op(t1..tn)]  = (op(x1..xn), [(p1, t1), ..., (pn, tn)])                 ti, those that are dual numbers
    Interleave_R x = (x, [])
    order u        = (for (p, v) in the contributions of u: order v); u      unless u was there before
    SResolve us    = for u of order us, the last first: for (p, v) in u's: args[id v] := args[id v] + args[id u]*p
    Deinterleave, Wrap: as in lists
"""

from __future__ import annotations

from dualrev.eager.numbers.overload import DualNumber, Run, overload
from dualrev.tree import inputs, outputs


class Dual(DualNumber):
    """D[R]: a number x, and the contributions d: [(partial, dual number)]."""

    __slots__ = ("d", "run", "x")

    def __init__(self, run, x, d):
        self.run, self.x, self.d = run, x, d


def alloc():
    """A table: address -> argument"""
    return {}


def add(arguments, u, z):
    """args[id u] := args[id u] + z"""
    arguments[id(u)] = arguments.get(id(u), 0.0) + z


def interpret(d, z, arguments):
    """For (p, v) in the contributions: args[id v] := args[id v] + z*p"""
    for p, v in d:
        add(arguments, v, z * p)


def visit(u, seen):
    """Whether u is here for the first time."""
    new = id(u) not in seen
    seen.add(id(u))
    return new


def order(us):
    """All dual numbers that these are made of, and they: each after those that it is made of."""
    seen: set[int] = set()
    found: list[Dual] = []
    todo = [(u, False) for u in us]
    while todo:
        u, made = todo.pop()
        if made:
            found.append(u)
        elif visit(u, seen):
            todo.append((u, True))
            todo.extend((v, False) for _, v in u.d)
    return found


def resolve(ordered, arguments):
    """SResolve: the last first"""
    for u in reversed(ordered):
        interpret(u.d, arguments[id(u)], arguments)


constant = None  # not represented


def op(run, y, args, partials):
    """D[op(t1..tn)] = (op(x1..xn), [(p1, t1), ..., (pn, tn)])"""
    return Dual(run, y, list(zip(partials, args, strict=True)))


overload(Dual, constant, op)


def interleave(run, scalars, structure):
    """The input with a dual number for every scalar, and they."""
    duals = [Dual(run, x, []) for x in scalars]
    return structure.rebuild(duals), duals


def deinterleave(run, y):
    """The output's value; the dual numbers in it, with their places; the structure of its cotangents."""
    leaves, structure = outputs(y)
    duals = [(k, u) for k, u in enumerate(leaves) if isinstance(u, Dual) and u.run is run]
    for k, u in duals:
        leaves[k] = u.x
    return structure.rebuild(leaves), duals, structure


def vjp(f, *primals):
    """Wrap[f] primals: f's value, and the map from a cotangent of it to a tuple of cotangents, one for every primal.

    >>> y, pullback = vjp(lambda x, y: x * (x + y), 3.0, 2.0)
    >>> y, pullback(1.0)
    (15.0, (8.0, 3.0))
    """
    scalars, structure = inputs(primals)
    with Run() as run:
        dual_primals, given = interleave(run, scalars, structure)
        y, duals, output = deinterleave(run, f(*dual_primals))

    def pullback(ct):
        zs, arguments = output.read(ct), alloc()
        for k, u in duals:
            add(arguments, u, zs[k])
        resolve(order([u for _, u in duals]), arguments)
        return structure.cotangent([arguments.get(id(u), 0.0) for u in given])

    return y, pullback
