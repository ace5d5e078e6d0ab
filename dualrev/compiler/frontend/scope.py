"""What the names of a function stand for, and the names that its core has for them."""

from __future__ import annotations

import ast
import enum
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from dualrev.compiler.core.lowered import Atom, Const, Let, Ref
from dualrev.compiler.core.naming import Names, readable
from dualrev.compiler.frontend.source import Source, Static, is_numba_function, unlifted

__all__ = ["Scope"]


class Scope:
    """What a function's names mean, and the statements that are written."""

    def __init__(
        self, source: Source, path: tuple[Any, ...], functions: dict[str, Static], refs: dict[str, Ref], names: Names
    ) -> None:
        self.source, self.path, self.functions, self.refs, self.names = source, path, functions, refs, names
        self.out: list[Any] = []
        self.list_names: set[str] = set()  # the variables that can be seen to be lists
        self.own: set[str] = set()  # the local variables that desugar.py has made
        self.calls: list[Static] = []
        args = source.tree.args
        if args.vararg or args.kwarg:
            self.refuse(source.tree, "*args or **kwargs", "the number of arguments is not known", "every argument")
        self.parameters = [a.arg for a in [*args.posonlyargs, *args.args, *args.kwonlyargs]]
        self.assigned = self.assigned_in(source.tree.body)
        self.locals = {*self.parameters, *self.assigned}

    def refuse(self, node: Any, what: str, why: str, instead: str) -> Any:
        """UnsupportedError for a construct."""
        self.source.refuse(node, what, why, instead)

    def name(self, name: str) -> str:
        """What a variable of the user's is called here."""
        return name if name in self.own else self.names.user(name)

    def own_name(self, name: str) -> str:
        """A new local variable, with a name like this one."""
        made = self.names.fresh(f"{readable(name).strip('_') or 'u'}_{{k}}")
        self.own.add(made)
        self.locals.add(made)
        return made

    def temp(self) -> str:
        """A new name."""
        return self.names.temporary()

    @staticmethod
    def assigned_in(body: list[ast.stmt]) -> set[str]:
        """The user's names that statements assign."""
        names = set()
        for s in body:
            for node in ast.walk(s):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    names.add(node.id)
        return names

    def static(self, node: ast.expr) -> Static | None:
        """What an expression stands for that is known now; None if it is computed when the function runs."""
        if isinstance(node, ast.Name):
            if node.id in self.functions and node.id not in self.assigned:
                return self.functions[node.id]
            if node.id in self.locals:
                return None
            found = self.source.lookup(node.id, self.path)
            if found is None:
                self.refuse(node, f"the name {node.id}", "it is not defined", "a name that is")
            return found
        if isinstance(node, ast.Attribute):
            base = self.static(node.value)
            if base is not None and isinstance(base.value, (ModuleType, enum.EnumMeta)):
                if not hasattr(base.value, node.attr):
                    self.refuse(node, f"{base.value.__name__}.{node.attr}", "it does not exist", "a name that does")
                found = Static(getattr(base.value, node.attr), (*base.path, ("attr", node.attr)))
                return unlifted(found)
            return None
        if isinstance(node, ast.Constant):
            return Static(node.value, ())
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            operand = self.static(node.operand)
            if operand is not None and type(operand.value) in (int, float):
                return Static(-operand.value, ())
        return None

    def constant(self, node: ast.AST, static: Static) -> Atom:
        """A static value as an atom."""
        x = static.value
        if isinstance(x, enum.IntEnum):
            return Const(int(x))  # as numba does
        if x is None or (isinstance(x, (bool, int, str)) and not isinstance(x, enum.Enum)) or type(x) is float:
            return Const(x)
        if isinstance(x, np.float64):
            return Const(float(x))
        if isinstance(x, (np.generic, np.ndarray, tuple, enum.Enum)) or is_numba_function(x):
            return self.ref(static)
        return self.refuse(
            node,
            f"a value of type {type(x).__name__}",
            "it is no number, array, tuple or numba function",
            "one of these",
        )

    def ref(self, static: Static) -> Ref:
        """The name under which the emitted module knows a value of the user's program."""
        named = (str(s[1]) for s in reversed(static.path) if isinstance(s[1], str) and s[1] != "numba_function")
        base = "_" + next(named, "value")
        found = next((ref for ref in self.refs.values() if ref.value is static.value), None)
        if found is None:
            name = self.names.fresh(base)
            found = self.refs[name] = Ref(name, static.value, static.path)
        return found

    # Writing

    def let(self, target: str, op: str, args: tuple[Any, ...], info: Any, line: int) -> str:
        """Write an operation."""
        self.out.append(Let(target, op, args, info, line))
        return target

    def collect(self, work: Callable[[], object]) -> list[Any]:
        """The statements that a piece of work writes."""
        before, self.out = self.out, []
        try:
            work()
            return self.out
        finally:
            self.out = before
