"""Symbol table of a function under lowering: name resolution, compile-time values, and names in core."""

from __future__ import annotations

import ast
import enum
from types import ModuleType
from typing import NoReturn

import numpy as np
from numba.core import types

from dualrev.compiler.frontend.messages import STATEMENTS
from dualrev.compiler.frontend.reading.ad_operators import MAKING, TRANSFORMATIONS
from dualrev.compiler.frontend.reading.source import (
    Source,
    Static,
    describe,
    is_numba_function,
    name_of,
    unlifted,
)
from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf.builder import AnfBuilder
from dualrev.compiler.ir.names import Names, bare
from dualrev.compiler.types.aliases import AccessPath, ArgNums, UserValue
from dualrev.eager.numba_rules import Ruled

__all__ = ["Scope"]


class Scope(AnfBuilder):
    """Scope of a function: resolves the user's names, allocates new ones, and collects emitted statements."""

    def __init__(
        self, source: Source, path: AccessPath, functions: dict[str, Static], refs: dict[str, anf.Ref], names: Names
    ) -> None:
        super().__init__()
        self.source, self.path, self.functions, self.refs, self.names = source, path, functions, refs, names
        self.list_names: set[str] = set()  # the variables that can be seen to be lists
        self.own: set[str] = set()  # the local variables that rewriter.py has made
        self.calls: list[Static] = []
        self.listed = False  # whether loops may go over what has no places: see iterables.py
        self.iterated: set[str] = set()  # what iterators go over: see iter_next.py
        self.lengths = set[str]()  # the lengths of what loops go over
        args = source.tree.args
        if args.kwarg:
            self.refuse(source.tree, "**kwargs", "the names of the arguments are not known", "every argument")
        for s in ast.walk(source.tree):  # before anybody asks for a name that it binds
            if isinstance(s, (ast.Import, ast.ImportFrom)):
                self.refuse(s, *STATEMENTS[type(s).__name__])
        self.parameters = source.parameters
        self.assigned = self.assigned_in(source.tree.body)
        self.locals = {*self.parameters, *self.assigned}

    def refuse(self, node: ast.AST, what: str, why: str, instead: str) -> NoReturn:
        """Raise UnsupportedError for a construct."""
        self.source.refuse(node, what, why, instead)

    def name(self, name: str) -> str:
        """Return the name in core of a user's variable."""
        return name if name in self.own else self.names.user(name)

    def own_name(self, name: str) -> str:
        """Allocate a local variable, with a name like this one."""
        made = self.names.fresh(f"{bare(name)}_{{k}}")
        self.own.add(made)
        self.locals.add(made)
        return made

    def temp(self) -> str:
        """Allocate a temporary."""
        return self.names.temporary()

    @staticmethod
    def assigned_in(body: list[ast.stmt]) -> set[str]:
        """Return the user's names that statements assign."""
        names = set()
        for s in body:
            for node in ast.walk(s):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    names.add(node.id)
        return names

    def static(self, node: ast.expr) -> Static | None:
        """Return the compile-time value of an expression; None if it is computed at run time."""
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
            if base is not None and isinstance(base.value, enum.Enum) and node.attr in ("value", "name"):
                return Static(getattr(base.value, node.attr), (*base.path, ("attr", node.attr)))
            return None
        if isinstance(node, ast.Subscript) and isinstance(node.value, (ast.Name, ast.Attribute)):
            return self.item(node)
        if isinstance(node, ast.Constant):
            return Static(node.value, ())
        if isinstance(node, ast.Call):
            return self.transformed(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            operand = self.static(node.operand)
            if operand is not None and type(operand.value) in (int, float):
                return Static(-operand.value, ())
        return None

    def item(self, node: ast.Subscript) -> Static | None:
        """Return the compile-time value of a global tuple's item at a constant index, or of an enum's member."""
        base, place = self.static(node.value), node.slice
        if base is not None and isinstance(base.value, enum.EnumMeta) and isinstance(place, ast.Constant):
            name = str(place.value)
            if name in base.value.__members__:
                return Static(base.value[name], (*base.path, ("item", name)))
        if base is None or not isinstance(base.value, tuple) or not isinstance(place, (ast.Constant, ast.UnaryOp)):
            return None
        k = self.static(place)
        if k is None or type(k.value) is not int or not -len(base.value) <= k.value < len(base.value):
            return None
        return unlifted(Static(base.value[k.value], (*base.path, ("item", k.value))))

    def transformed(self, node: ast.Call) -> Static | None:
        """Resolve `dr.grad(f)` and the like to a derivative; None for any other call."""
        static = self.static(node.func) if isinstance(node.func, (ast.Name, ast.Attribute)) else None
        transform = "" if static is None else TRANSFORMATIONS.name(static.value)
        if transform not in MAKING:
            return None
        names = MAKING[transform]
        given = dict(zip(names, node.args, strict=False)) | {str(k.arg): k.value for k in node.keywords}
        if len(node.args) > len(names) or not {"f"} <= given.keys() <= set(names):
            why = f"only {' and '.join(names)} can be given in numba code"
            self.refuse(node, f"dr.{transform} with these arguments", why, f"dr.{transform}(f)")
        of = self.differentiated(given["f"], transform, node)
        return self.derivative(of, transform, self.numbers(given.get("argnums"), node))

    def differentiated(self, f: ast.expr | None, transform: str, node: ast.Call) -> Static:
        """Resolve the numba function that an AD operator is applied to."""
        static = None if f is None else self.static(f)
        if static is None or not is_numba_function(static.value):
            why = "which function it is, is not known, or it is no numba function"
            self.refuse(node, f"this dr.{transform}", why, "a numba function outside of this one")
        assert static is not None
        if isinstance(static.value, Ruled):
            why = "the function has a rule of its own, which counts where it is called"
            self.refuse(node, f"this dr.{transform}", why, "a numba function that calls it, and differentiate that one")
        return static

    def numbers(self, node: ast.expr | None, call: ast.Call) -> UserValue:
        """Return the value of constant `argnums`."""
        if node is None:
            return 0
        if isinstance(node, ast.Tuple):
            return tuple(self.numbers(x, call) for x in node.elts)
        static = self.static(node)
        if static is None:
            self.refuse(call, "argnums that are computed", "which derivative it is, has to be known", "a constant")
        assert static is not None
        return static.value

    def derivative(self, of: Static, transform: str, argnums: ArgNums) -> Static:
        """Build a derivative of a numba function, with its access path."""
        argnums = TRANSFORMATIONS.numbers(of.value, argnums)
        made = TRANSFORMATIONS.derivative(of.value, transform, argnums)
        return Static(made, (*of.path, ("derivative", (transform, argnums))))

    def constant(self, node: ast.AST, static: Static) -> anf.Atom:
        """Lower a compile-time value to an atom: a constant or a reference."""
        x = static.value
        if isinstance(x, enum.IntEnum):
            return anf.Const(int(x))  # as numba does
        if x is None or (isinstance(x, (bool, int, str, bytes)) and not isinstance(x, enum.Enum)) or type(x) is float:
            return anf.Const(x)
        if isinstance(x, np.float64):
            return anf.Const(float(x))
        if isinstance(x, complex):
            return anf.Const(complex(x))
        if isinstance(x, np.complex64):
            return self.refuse(node, "a constant of type complex64", "it is not known", "a complex128")
        if isinstance(x, (np.generic, np.ndarray, tuple, enum.Enum)) or is_numba_function(x):
            return self.ref(static)
        if isinstance(x, types.Type):
            return self.refuse(node, f"the numba type {x} as a value", "it is known as a dtype", f"{x} as an argument")
        if callable(x) and not isinstance(x, type):
            instead = "@njit above its definition" if hasattr(x, "__code__") else "its own name where it is called"
            return self.refuse(node, f"{describe(x)} as a value", "it is no numba function", instead)
        what = describe(x) if isinstance(x, type) else f"a value of type {type(x).__name__}"
        return self.refuse(node, what, "it is no number, array, tuple or numba function", "one of these")

    def ref(self, static: Static) -> anf.Ref:
        """Return the reference by which the emitted module names a value of the user's program."""
        named = (str(s[1]) for s in reversed(static.path) if isinstance(s[1], str) and s[1] != "numba_function")
        base = "_" + next(named, "value")
        if static.path and static.path[-1][0] == "derivative":
            base = f"_{name_of(static.value)}"
        found = next((ref for ref in self.refs.values() if ref.value is static.value), None)
        if found is None:
            name = self.names.fresh(base)
            found = self.refs[name] = anf.Ref(name, static.value, static.path)
        return found
