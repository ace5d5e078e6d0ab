"""Trampoline for a recursive function that is differentiated: a function that calls it once."""

from __future__ import annotations

from dataclasses import replace

from dualrev.compiler.ir.core.atom_types import is_array, type_of
from dualrev.compiler.ir.core.atoms import Global, Var
from dualrev.compiler.ir.core.nodes import Call, Function
from dualrev.compiler.ir.core.program import Program
from dualrev.compiler.ir.core.traverse import leaves, mapped, renewed, statements
from dualrev.compiler.types.aliases import Dispatcher

__all__ = ["trampoline"]


def trampoline(f: Function, root: Dispatcher, program: Program) -> Function:
    """Trampoline for a recursive root, so that its sweeps exist once; the function itself, if it is not recursive.

    Both sweeps of f in one function would be a second derivative of it, beside the one that its calls have.
    """
    call = _call_of_itself(f, root, program)
    if call is None or f.again or any(isinstance(x, Global) or is_array(x) for x in leaves(f.result)):
        return f
    parameters = tuple(mapped(p, lambda x: Var(x.name, x.type)) for p in f.parameters)
    result = renewed(call.result)
    targets = tuple(x for x in leaves(result) if isinstance(x, Var))
    made = Call(targets, call.function, parameters, result, f.origin.source.tree.lineno)
    return replace(f, parameters=parameters, body=(made,), result=result)


def _call_of_itself(f: Function, root: Dispatcher, program: Program) -> Call | None:
    """Recursive call of the root with the same argument types, in a function or its callees; None without one."""
    key, seen, todo = (id(root), tuple(map(type_of, f.parameters))), set(), [f]
    for g in todo:
        for s in statements(g.body):
            if not isinstance(s, Call) or not isinstance(s.function, Global):
                continue
            called = program.key(s)
            if called == key:
                return s
            if called not in seen:
                seen.add(called)
                todo.append(program.function(s))
    return None
