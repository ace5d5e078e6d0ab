r"""Ids from object identity: no id is drawn; the id of a scalar is its memory address.

Paper:   Smeding and Vákár 2023, section 12.2, "Getting IDs from memory addresses"
D[R] =   (R, Contrib)                               Contrib = [(R, D[R])]
Changed: in lists (section 8.2) every scalar draws an id, and the program threads the counter. Here its address is its
         id, so no counter is threaded, and scalars that no result needs are garbage at once. But addresses do not
         tell which scalar is older, since memory is reused. So a search of the contributions has to find the order,
         and a table of addresses replaces the array.
Needs:   overloading, and objects whose identity is unique while they live. Contributions keep the scalars that they
         lead to alive, so that no two of them share an address. Haskell moves objects in memory; its StableName is
         such an identity, and Kmett's `ad` uses it.
Cost:    O(1) for an operation: its object. The reverse pass takes O(1) for each contribution, twice: to find the order,
         and to resolve; both use a step in the table in place of an array access. Only the scalars that the result
         needs are kept, not all that were computed.

    D[r]           = r, which makes no contribution
    D[op(t1..tn)]  = (op(x1..xn), [(p1, t1), ..., (pn, tn)])                 for the dual numbers among the ti
    Interleave_R x = (x, [])
    order u        = (for (p, v) in the contributions of u: order v); u      unless u has been visited
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
    """Mark u as visited; False if it has been visited before."""
    new = id(u) not in seen
    seen.add(id(u))
    return new


def order(us):
    """All dual numbers reachable from these, each after its operands."""
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
    """The input with a dual number for every scalar, and these dual numbers."""
    duals = [Dual(run, x, []) for x in scalars]
    return structure.rebuild(duals), duals


def deinterleave(run, y):
    """The output's value; the dual numbers in it, with their indices; the structure of its cotangents."""
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
        """Map a cotangent of the output to the cotangents of the primals."""
        zs, arguments = output.read(ct), alloc()
        for k, u in duals:
            add(arguments, u, zs[k])
        resolve(order([u for _, u in duals]), arguments)
        return structure.cotangent([arguments.get(id(u), 0.0) for u in given])

    return y, pullback
