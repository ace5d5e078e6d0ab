"""What the names of a function stand for, and the names that its core has for them."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from dualrev.compiler.core import Atom, Const, Let, Ref
from dualrev.compiler.source import Source, Static, is_numba_function, unlifted

__all__ = ["Scope"]

#: Names that emitted code has for itself.
_RESERVED = re.compile(
    r"(math|np|numba|njit|runtime|tape|words|top|ct|BASE|KEPT)_*|(d_)?(result|final|ct|trips)_\d+_*|kept_.*|[dt]_.*"
)
_BUILTINS = {"abs", "bool", "divmod", "float", "int", "len", "max", "min", "pow", "print", "range", "round", "sum"}


class Scope:
    """What a function's names mean, and the statements that are written."""

    def __init__(
        self, source: Source, path: tuple[Any, ...], functions: dict[str, Static], refs: dict[str, Ref]
    ) -> None:
        self.source, self.path, self.functions, self.refs = source, path, functions, refs
        self.out: list[Any] = []
        self.count = 0
        args = source.tree.args
        if args.vararg or args.kwarg:
            self.refuse(source.tree, "*args or **kwargs", "the number of arguments is not known", "every argument")
        self.parameters = [a.arg for a in [*args.posonlyargs, *args.args, *args.kwonlyargs]]
        self.assigned = self.assigned_in(source.tree.body)
        self.locals = {*self.parameters, *self.assigned}
        self.own_names: dict[str, str] = {}

    def refuse(self, node: Any, what: str, why: str, instead: str) -> Any:
        """UnsupportedError for a construct."""
        self.source.refuse(node, what, why, instead)

    def name(self, name: str) -> str:
        """What a variable of the user's is called here."""
        if name not in self.own_names:
            made = name
            if name.startswith("_") or _RESERVED.fullmatch(name) or name in _BUILTINS:
                made = f"u_{name.lstrip('_')}"
                while made in self.locals or made in self.own_names.values():
                    made += "_"
            self.own_names[name] = made
        return self.own_names[name]

    def temp(self) -> str:
        """A new name."""
        self.count += 1
        return f"_{self.count}"

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
            if base is not None and isinstance(base.value, ModuleType):
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
        if x is None or isinstance(x, (bool, int, str)) or type(x) is float:
            return Const(x)
        if isinstance(x, np.float64):
            return Const(float(x))
        if isinstance(x, (np.generic, np.ndarray, tuple)) or is_numba_function(x):
            return self.ref(static)
        return self.refuse(
            node,
            f"a value of type {type(x).__name__}",
            "it is no number, array, tuple or numba function",
            "one of these",
        )

    def ref(self, static: Static) -> Ref:
        """The name under which the emitted module knows a value of the user's program."""
        base = "_" + next((str(s[1]) for s in reversed(static.path) if isinstance(s[1], str)), "value")
        for k in range(1, 1000):
            name = base if k == 1 else f"{base}{k}"
            if name not in self.refs:
                self.refs[name] = Ref(name, static.value, static.path)
            if self.refs[name].value is static.value:
                return self.refs[name]
        raise AssertionError

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
