"""Escape analysis: functions that only borrow memory, so that numba need not count references in them.

numba counts the references to every array among the arguments at every call, and drops that only where the function
cannot raise. A function that makes no memory and hands none on counts for nothing: its caller holds the arrays. In a
recursive function that is half of the time of a call.

What is not known to make no memory may make some: only statements and expressions that are listed here are taken. And
numba compiles what such a function calls without counting, too: so its calls are of others that only borrow.
"""

from __future__ import annotations

from numba.core import types

from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Applied, Constant, Global, Index, Method, Pack, Symbol, Var
from dualrev.compiler.ir.core.nodes import (
    Call,
    Copy,
    Discrete,
    Effect,
    For,
    Function,
    If,
    Load,
    Pop,
    Push,
    Real,
    Reserve,
    Statement,
    Store,
    While,
)
from dualrev.compiler.ir.core.program import Gradient, Program
from dualrev.compiler.ir.core.traverse import leaves, parts, statements, variables, writes
from dualrev.compiler.types.aliases import NumbaType

__all__ = ["handed_on", "only_borrows"]

_SCALAR = (types.Number, types.Boolean)
_FUNCTIONS = {"abs", "bool", "float", "int", "len", "max", "min", "runtime.bits", "runtime.whole"}


def only_borrows(f: Function, program: Program) -> bool:
    """Whether a function and its callees allocate nothing, and return scalars only."""
    return _all_borrow(f, program, set())


def handed_on(f: Function, symbol: Symbol, program: Program) -> list[int]:
    """Indices of array parameters passed unchanged in every recursive call; empty if the recursion is mutual."""
    own = [s for s in _calls(f) if s.function is symbol]
    if not own or any(_leads_to(symbol, s, program, {symbol}) for s in _calls(f) if s not in own):
        return []
    written = {x for s in statements(f.body) for x in writes(s)}
    fixed = {k: x for k, x in enumerate(f.parameters) if isinstance(x, Var) and is_array(x) and x not in written}
    return [k for k, x in fixed.items() if all(s.args[k] is x for s in own)]


def _calls(f: Function | Gradient) -> list[Call]:
    return [s for s in statements(f.body) if isinstance(s, Call)] if isinstance(f, Function) else []


def _leads_to(symbol: Symbol, s: Call, program: Program, seen: set[Symbol]) -> bool:
    """Whether a call reaches a function, at any depth."""
    if s.function in seen or not isinstance(s.function, Symbol):
        return s.function is symbol
    seen.add(s.function)
    return any(_leads_to(symbol, t, program, seen) for t in _calls(program.made(s.function)))


def _all_borrow(f: Function, program: Program, seen: set[Symbol]) -> bool:
    """Whether `f` and its callees only borrow; `seen` are the callees checked before."""
    known = all(_is_number(x.type) or _is_array(x.type) for x in variables(f))
    numbers = all(_is_number(x.type) for x in leaves(f.result) if isinstance(x, Var))
    if not (known and numbers and all(map(_borrows, statements(f.body)))):
        return False
    for s in statements(f.body):
        if isinstance(s, Call) and s.function not in seen:
            made = program.made(s.function) if isinstance(s.function, Symbol) else None
            if not isinstance(made, Function):
                return False
            assert isinstance(s.function, Symbol)
            seen.add(s.function)
            if not _all_borrow(made, program, seen):
                return False
    return True


def _is_number(t: NumbaType) -> bool:
    return isinstance(t, _SCALAR) and not isinstance(t, types.Complex)


def _is_array(t: NumbaType) -> bool:
    return isinstance(t, types.Array) and _is_number(t.dtype)


def _borrows(s: Statement) -> bool:
    match s:
        case Copy(target=target) | Real(target=target):
            return _is_number(target.type)
        case Discrete():
            return _is_number(s.target.type) and _is_plain(s.value)
        case Load() | Store():
            scalar = isinstance(s, Load) or Ellipsis not in s.index
            return scalar and all(map(_is_plain, s.index))
        case Call():
            return all(_is_number(x.type) for x in s.targets)
        case Effect():
            return s.raises and not s.args
    return isinstance(s, (If, For, While, Push, Pop, Reserve))


def _is_plain(e: Index) -> bool:
    """Whether an expression allocates nothing: only atoms and listed functions occur in it."""
    if isinstance(e, (Var, Constant, Global)):
        return True
    if isinstance(e, (Method, Pack)) or (isinstance(e, Applied) and not _is_listed(e.function)):
        return False
    return all(map(_is_plain, parts(e)))


def _is_listed(function: str | Global) -> bool:
    return isinstance(function, str) and (function in _FUNCTIONS or function.startswith("math."))
