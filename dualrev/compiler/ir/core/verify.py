"""Verifier of typed core: an ill-formed function is an AssertionError, with the statement.

scopes   what a statement reads has been assigned on some path to it; nothing assigns a global or a constant
types    a target has the type of what it is assigned: real operations give floats of reals, loads the elements of
their arrays, views and whole-array operations arrays; indices, bounds and flags are ints and bools
shape    trees of results and targets agree; an expression (Discrete) has no real number for its value
"""

from __future__ import annotations

from collections.abc import Callable

from numba.core import types

from dualrev.compiler.ir.core import atoms, nodes, traverse
from dualrev.compiler.ir.core.atoms import Atom, Constant, Global, Index, Var
from dualrev.compiler.ir.core.nodes import Function, Statement
from dualrev.compiler.ir.core.printer import show_expr
from dualrev.compiler.types.aliases import NumbaType

__all__ = ["check"]


def check(f: Function, refuse: Callable[[Statement, str], object] | None = None) -> None:
    """Verify that a function is well formed.

    AssertionError if it is not well formed. With `refuse`, what that raises for a statement and the reason; scopes are
    numba's matter then.
    """
    known = {x for p in f.parameters for x in traverse.leaves(p) if isinstance(x, Var)}
    _Checking(f, refuse).block(f.body, known)
    for x in traverse.leaves(f.result) if refuse is None else ():
        assert not isinstance(x, Var) or x in known, f"{f.name}: the result {x} is never assigned"


class _Checking:
    def __init__(self, f: Function, refuse: Callable[[Statement, str], object] | None) -> None:
        self.f, self.refuse = f, refuse

    def block(self, body: tuple[Statement, ...], known: set[Var]) -> None:
        """Verify a block; `known` gains the variables that it assigns."""
        for s in body:
            self.statement(s, known)

    def hold(self, right: bool, s: Statement, what: str) -> None:
        """Refuse a statement unless a condition holds."""
        if not right and self.refuse is not None:
            self.refuse(s, what)
        assert right, f"{self.f.name}, line {s.line}: {type(s).__name__}: {what}"

    def statement(self, s: Statement, known: set[Var]) -> None:
        """Verify a statement and its scopes; `known` gains the variables that it assigns."""
        inside: set[Var] = set()
        if isinstance(s, (nodes.For, nodes.While)):
            inside = {x for t in traverse.statements((s,)) for x in traverse.writes(t)}
        for x in traverse.reads(s) if self.refuse is None else ():
            self.hold(not isinstance(x, Var) or x in known, s, f"{show_expr(x)} is read before it is assigned")
        match s:
            case nodes.If():
                self.hold(self.is_flag(s.test), s, "the condition is no bool or number")
                branches = [set(known), set(known)]
                self.block(s.then, branches[0])
                self.block(s.orelse, branches[1])
                known |= branches[0] | branches[1]
            case nodes.For():
                whole = all(isinstance(_plain_type(x), types.Integer) for x in (s.target, s.start, s.stop, s.step))
                self.hold(whole, s, "a bound or the counter is no int")
                known |= inside
                self.block(s.body, known)
                self.flags(s, known)
            case nodes.While():
                known |= inside
                self.block(s.before, known)
                self.hold(self.is_flag(s.test), s, "the condition is no bool or number")
                self.block(s.body, known)
                self.flags(s, known)
            case _:
                self.simple(s)
        known |= set(traverse.writes(s))

    def is_flag(self, x: atoms.Atom) -> bool:
        """Whether an atom is a bool or a number."""
        return isinstance(_plain_type(x), (types.Boolean, types.Integer, types.Float))

    def flags(self, s: nodes.For | nodes.While, known: set[Var]) -> None:
        """Verify the exit flags of a loop."""
        right = all(x in known and isinstance(x.type, types.Boolean) for x in s.exits)
        self.hold(right, s, "an exit is no bool of this function")

    def simple(self, s: Statement) -> None:
        """Verify the types of a statement without blocks."""
        match s:
            case nodes.Copy():
                self.hold(_fits(s.target.type, _plain_type(s.source)), s, f"{s.target.type} = {_plain_type(s.source)}")
            case nodes.Discrete():
                self.hold(not isinstance(s.target.type, (types.BaseTuple, types.Dispatcher)), s, "a tuple")
                self.hold(not _converts_reals(s.value), s, "a real number is converted without its derivative")
            case nodes.Real():
                self.hold(isinstance(s.target.type, types.Float), s, f"the target has type {s.target.type}")
                self.hold(len(s.args) == len(s.rule.partials), s, f"{s.rule.name} of {len(s.args)} arguments")
                self.hold(all(map(self.is_flag, s.args)), s, "an argument is no number")
            case nodes.Load():
                self.element(s, s.array, s.index, s.target.type)
            case nodes.Store():
                if s.index == (...,) and isinstance(_plain_type(s.value), types.Array):
                    self.hold(
                        _plain_type(s.value).ndim == _plain_type(s.array).ndim,
                        s,
                        "an array with another number of axes",
                    )
                    return
                self.element(s, s.array, s.index, None)
                self.hold(s.op in ("=", "+=", "-="), s, s.op)
            case nodes.View():
                arrays = isinstance(s.target.type, types.Array) and isinstance(_plain_type(s.base), types.Array)
                self.hold(arrays, s, "the target or the base is no array")
                self.hold(s.base in traverse.atoms_of(s.value), s, "it does not speak of its base")
                self.hold(s.target.type.dtype == _plain_type(s.base).dtype, s, "other elements than those of the base")
            case nodes.Push():
                numbers = all(self.is_flag(x) for x in s.values)
                self.hold(numbers, s, "a value is no number")
            case nodes.Pop():
                self.hold(all(map(self.is_flag, s.targets)), s, "a target is no number")
            case nodes.Columns():
                lines = all(isinstance(x.type, types.Array) and x.type.ndim == 1 for x in s.targets)
                self.hold(lines, s, "a target is no array with one axis")
            case nodes.Keep() | nodes.Accumulate():
                self.hold(isinstance(_plain_type(s.array), types.Array), s, "no array")
            case nodes.Barrier():
                self.hold(all(isinstance(x.type, types.Array) for x in s.arrays), s, "no array")
            case nodes.Hold():
                self.hold(_fits(s.target.type, _plain_type(s.source)), s, f"{s.target.type} = {_plain_type(s.source)}")
            case nodes.Make() | nodes.Kept():
                self.hold(isinstance(s.target.type, types.Array), s, "the target is no array")
            case nodes.Call():
                self.hold([x for x in traverse.leaves(s.result) if isinstance(x, Var)] == list(s.targets), s, "targets")

    def element(self, s: Statement, array: Var | Global, index: tuple[Index, ...], kind: NumbaType) -> None:
        """Verify the index and the type of an array element."""
        of = _plain_type(array)
        self.hold(isinstance(of, types.Array), s, "no array")
        self.hold(len(index) == of.ndim, s, f"{len(index)} indices of an array with {of.ndim} axes")
        whole = all(
            isinstance(_plain_type(x), (types.Integer, types.Boolean)) for i in index for x in traverse.atoms_of(i)
        )
        self.hold(whole, s, "an index is no int")
        wider = any(isinstance(kind, t) and isinstance(of.dtype, t) for t in (types.Float, types.Integer))
        self.hold(kind is None or kind == of.dtype or wider, s, f"an element of {of} is no {kind}")


def _plain_type(x: Atom) -> NumbaType:
    """Numba type of an atom, constants included, without its literal value."""
    assert isinstance(x, (Var, Constant, Global))
    return types.unliteral(x.type) if x.type is not None else None


def _converts_reals(e: atoms.Expr) -> bool:
    """Whether an expression converts a real number, or an array, to a float: its derivative would be lost."""
    if not isinstance(e, atoms.Applied) or e.function not in ("float", "np.float64", "np.float32"):
        return False
    return any(isinstance(x, Var) and isinstance(x.type, (types.Float, types.Array)) for x in e.args)


def _fits(target: NumbaType, source: NumbaType) -> bool:
    if isinstance(target, types.Array):
        return isinstance(source, types.Array) and (target.dtype, target.ndim) == (source.dtype, source.ndim)
    number = (types.Number, types.Boolean)
    return target == source or (isinstance(target, number) and isinstance(source, number)) or source is None
