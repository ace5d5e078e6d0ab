"""Scalar replacement (SROA) of small new arrays with constant indices (core -> core).

    y = np.empty((2,))                      y_0, y_1 = 0.0, 0.0
    y[0] = a * b                            y_0 = a * b
    y[1] = a + b                            y_1 = a + b
    return y                                return (y_0, y_1)

So a function that is called for every column of a small matrix makes no arrays: for the entries that fill such matrices
(entrypoints/jacobian.py), which know of the tuples in place of its results.
"""

from __future__ import annotations

from dataclasses import replace

from numba.core import types

from dualrev.compiler.ir.core.atoms import Applied, Atom, Constant, Expr, Node, Pack, Tree, Var
from dualrev.compiler.ir.core.builder import ZERO
from dualrev.compiler.ir.core.nodes import Block, Copy, Discrete, Function, Load, Make, Real, Statement, Store
from dualrev.compiler.ir.core.traverse import blocks, leaves, mapped, reads, statements, with_blocks, writes
from dualrev.rules.primitives import PRIMITIVES

__all__ = ["with_few"]

FEW = 16  # numbers: so many have room in registers, or next to them
_SUMS = {"+=": "add", "-=": "sub"}


def with_few(f: Function) -> tuple[Function, dict[Var, int]]:
    """Replace small arrays by scalars; also the arrays replaced, with their lengths."""
    lengths, names = _lengths(f)
    while banned := {names.get(x, x) for s in statements(f.body) for x in _as_arrays(s, lengths)}:
        lengths = {x: n for x, n in lengths.items() if names.get(x, x) not in banned}
    if not lengths:
        return f, lengths
    made = _Numbers(f, lengths, names)
    return replace(f, body=made.block(f.body), result=mapped(f.result, made.leaf)), lengths


def _lengths(f: Function) -> tuple[dict[Var, int], dict[Var, Var]]:
    """New float64 vectors of known, small length, with one definition; and the aliases of them by copies."""
    found: dict[Var, int | None] = {}
    names: dict[Var, Var] = {}
    outside = {*f.body}  # in a loop, the other name could be that of the array of the iteration before
    for s in statements(f.body):
        for x in writes(s):
            n = None
            if x not in found and isinstance(s, Make):
                n = _length(s.value, found)
            elif x not in found and isinstance(s, Copy) and isinstance(s.source, Var) and s in outside:
                n, names[x] = found.get(s.source), names.get(s.source, s.source)
            found[x] = n
    makes = {s.target for s in f.body if isinstance(s, Make)}
    vector = types.Array(types.float64, 1, "C")
    lengths = {x: n for x, n in found.items() if n is not None and 0 < n <= FEW and x.type == vector}
    lengths = {x: n for x, n in lengths.items() if x not in names or (names[x] in makes and names[x] in lengths)}
    return lengths, {x: of for x, of in names.items() if x in lengths}


def _length(value: Expr, known: dict[Var, int | None]) -> int | None:
    """The length of the vector that an expression makes; None if it is not known."""
    match value:
        case Applied("np.zeros_like" | "np.empty_like", (Var() as x,), ()):
            return known.get(x)
        case Applied("np.empty" | "np.zeros", (Pack((Constant(int() as n),)) | Constant(int() as n), *_), ()):
            return n
    return None


def _as_arrays(s: Statement, lengths: dict[Var, int]) -> list[Var]:
    """Small arrays that a statement needs in memory, and not as scalars at constant indices."""
    match s:
        case Load(_, x, (Constant(int() as k),)) if 0 <= k < lengths.get(x, 0):  # type: ignore[arg-type]
            return []
        case Store(x, (Constant(int() as k),), value) if 0 <= k < lengths.get(x, 0) and s.op in ("=", *_SUMS):
            return [value] if isinstance(value, Var) and value in lengths else []
        case Make(x) if x in lengths:
            return []  # it may be like another one, which has a length, too
        case Copy(x) if x in lengths:
            return []  # another name
    return [x for x in [*reads(s), *writes(s)] if isinstance(x, Var) and x in lengths]


class _Numbers:
    def __init__(self, f: Function, lengths: dict[Var, int], names: dict[Var, Var]) -> None:
        made = {x: tuple(_number(x, k) for k in range(n)) for x, n in lengths.items() if x not in names}
        self.numbers = {x: made[names.get(x, x)] for x in lengths}
        loads = (s.array for s in statements(f.body) if isinstance(s, Load))
        self.used = {self.numbers[x] for x in [*leaves(f.result), *loads] if x in lengths}

    def leaf(self, x: Atom) -> Tree:
        """The tuple of scalars for a replaced array in the result; any other leaf itself."""
        return Node(self.numbers[x]) if isinstance(x, Var) and x in self.numbers else x

    def block(self, body: Block) -> Block:
        """Replace the arrays in the statements of a block."""
        return tuple(made for at, s in enumerate(body) for made in self.statement(s, body[at + 1 :]))

    def statement(self, s: Statement, later: Block) -> Block:
        """Replace creations, copies, loads and stores of the arrays by scalar statements."""
        match s:
            case Make(x) if x in self.numbers:
                numbers = self.numbers[x]
                assigned = self.assigned(later)
                missing = [y for y in numbers if y not in assigned] if numbers in self.used else []
                return tuple(Copy(y, ZERO, s.line) for y in missing)
            case Copy(x) if x in self.numbers:
                return ()
            case Load(target, x, (Constant(k),)) if x in self.numbers:
                return (Copy(target, self.numbers[x][k], s.line),)
            case Store(x, (Constant(k),)) if x in self.numbers:
                return self.store(self.numbers[x][k], s) if self.numbers[x] in self.used else ()
        inner = blocks(s)
        return (with_blocks(s, map(self.block, inner)) if inner else s,)

    def assigned(self, later: Block) -> set[Var]:
        """Scalars that are certainly assigned before they are read (definite assignment)."""
        found: set[Var] = set()
        read: set[Var] = set()
        for s in later:
            match s:
                case Load(_, x, (Constant(k),)) if x in self.numbers:
                    read.add(self.numbers[x][k])
                case Store(x, (Constant(k),)) if x in self.numbers:
                    number = self.numbers[x][k]
                    (found if s.op == "=" and number not in read else read).add(number)
                case Copy() | Discrete() | Real() | Load() | Store() | Make():
                    pass
                case _:
                    break
        return found

    def store(self, x: Var, s: Store) -> Block:
        """Emit a store to an element as an assignment to its scalar."""
        if s.op == "=":
            return (Copy(x, s.value, s.line),)
        return (Real(x, PRIMITIVES[_SUMS[s.op]], s.op[0], (x, s.value), s.line),)


def _number(x: Var, k: int) -> Var:
    """The scalar for element `k` of a vector."""
    return Var(x.name if x.name == "_" else f"{x.name}_{k}", types.float64, x.of)
