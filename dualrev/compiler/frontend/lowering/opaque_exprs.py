"""Opaque code, emitted unchanged, because no derivative goes through it.

Sets, dicts, strings, calls that only numba knows, and the blocks of `try` and `with objmode()`.

Types are not known here. So such a value is an OpaqueExpr, and
scalarize/opaque/opaque_statements.py refuses it where its types say that a derivative may go through.
"""

# ruff: noqa: N802 - methods are named after the nodes of the syntax tree, as in ast.NodeVisitor

from __future__ import annotations

import ast
import builtins
import copy
import random
from collections.abc import Callable
from typing import Any

from numba.core import types

from dualrev.compiler.frontend.desugar.closures import Comprehension, Inlined, renamed
from dualrev.compiler.frontend.lowering.exits import exits_of
from dualrev.compiler.frontend.lowering.scope import Scope
from dualrev.compiler.frontend.messages import EXPRESSIONS, FUNCTIONS, STATEMENTS, Words, about_function
from dualrev.compiler.frontend.reading.ad_operators import FROM_PYTHON
from dualrev.compiler.frontend.reading.ast_purity import gives_new_arrays
from dualrev.compiler.frontend.reading.callables import callable_name, is_known_to_numba, is_pointer
from dualrev.compiler.frontend.reading.source import Static, describe
from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf import to_python
from dualrev.rules.functions import canonical as of_the_table
from dualrev.transformed import Transformed

__all__ = ["WrittenAsTheyAre"]

_PURE = {
    *(set, dict, list, tuple, str, repr, chr, ord, bytes, bytearray, sorted, hash, len, type, hasattr, slice, range),
}

_FIXED = ("heapq", "_heapq", "bisect", "_bisect")  # modules whose functions change their arguments at most


class WrittenAsTheyAre(Scope):
    """Lowering of opaque expressions and statements."""

    atom: Callable[[ast.expr], anf.Atom]
    expr: Callable[..., anf.Atom]
    block_into: Callable[[list[ast.stmt]], None]
    statement: Callable[[ast.stmt], object]

    # Expressions

    def written(
        self, tree: ast.expr, args: list[anf.Atom], target: str, node: ast.AST, said: Words, **how: Any
    ) -> anf.Atom:
        """Emit `target = expression` as opaque code; `args` are the atoms in it."""
        names = tuple(dict.fromkeys(x for x in args if isinstance(x, str)))
        return self.emit(anf.OpaqueExpr(target, names, tree, said, node.lineno, **how))  # type: ignore[attr-defined]

    def _Set(self, node: ast.Set, target: str) -> anf.Atom:
        items = [self.atom(x) for x in node.elts]
        return self.written(ast.Set(list(map(to_python.atom, items))), items, target, node, EXPRESSIONS["Set"])

    def _Dict(self, node: ast.Dict, target: str) -> anf.Atom:
        if None in node.keys:
            self.refuse(node, "a dict with **", "its keys are not known", "every key")
        pairs = [(self.atom(k), self.atom(x)) for k, x in zip(node.keys, node.values, strict=True) if k is not None]
        tree = ast.Dict([to_python.atom(k) for k, _ in pairs], [to_python.atom(x) for _, x in pairs])
        return self.written(tree, [x for pair in pairs for x in pair], target, node, EXPRESSIONS["Dict"])

    def _JoinedStr(self, node: ast.JoinedStr, target: str) -> anf.Atom:
        """Lower `f"{k} of {n}"` as `str(k) + " of " + str(n)`."""
        parts: list[ast.expr] = []
        for x in node.values:
            if isinstance(x, ast.FormattedValue):
                if x.format_spec is not None or x.conversion != -1:
                    self.refuse(node, "a format in an f-string", "numba has none", "str(x)")
                parts.append(ast.Call(ast.Name("str", ast.Load()), [x.value], []))
            else:
                parts.append(x)
        made: ast.expr = parts[0] if parts else ast.Constant("")
        for x in parts[1:]:
            made = ast.BinOp(made, ast.Add(), x)
        for part in ast.walk(made):
            if isinstance(part, ast.expr) and not hasattr(part, "lineno"):
                ast.copy_location(part, node)
        return self.expr(made, target)

    def _SetComp(self, node: ast.SetComp, target: str) -> anf.Atom:
        def add(items: ast.expr, x: Any) -> ast.stmt:
            """Build `items.add(x)`."""
            return ast.Expr(ast.Call(ast.Attribute(items, "add", ast.Load()), [x.elt], []))

        return self.filled(node, ast.Call(ast.Name("set"), [], []), add, target)

    def _DictComp(self, node: ast.DictComp, target: str) -> anf.Atom:
        def add(items: ast.expr, x: Any) -> ast.stmt:
            """Build `items[k] = x`."""
            return ast.Assign([ast.Subscript(items, x.key, ast.Store())], x.value)

        return self.filled(node, ast.Dict([], []), add, target)

    def filled(self, node: Any, start: ast.expr, add: Callable[[ast.expr, Any], ast.stmt], target: str) -> anf.Atom:
        """Lower a comprehension to loops that fill an empty set or dict."""
        targets = {x.id for g in node.generators for x in ast.walk(g.target) if isinstance(x, ast.Name)}
        names = {x: self.own_name(x) for x in sorted(targets)}
        made, items = copy.deepcopy(node), self.own_name("items")
        for field in ("elt", "key", "value"):
            if hasattr(made, field):
                setattr(made, field, renamed(getattr(made, field), names))
        body = [add(ast.Name(items, ast.Load()), made)]
        for k, g in reversed(list(enumerate(made.generators))):
            for test in reversed(g.ifs):
                body = [ast.If(renamed(test, names), body, [])]
            body = [ast.For(renamed(g.target, names), renamed(g.iter, names) if k else g.iter, body, [])]
        for x in ast.walk(body[0]):
            if not hasattr(x, "lineno"):
                ast.copy_location(x, node)
        self.written(start, [], items, node, EXPRESSIONS[type(node).__name__])
        self.block_into(body)
        return self.emit(anf.Copy(target, items, node.lineno))

    def class_method(self, node: ast.Call, target: str) -> anf.Atom | None:
        """Lower the call of a method of a class, such as `Dict.empty`; None for any other call."""
        base = self.static(node.func.value) if isinstance(node.func, ast.Attribute) else None
        if base is None or not isinstance(base.value, type) or not is_known_to_numba(base.value):
            return None
        assert isinstance(node.func, ast.Attribute)
        f = ast.Attribute(self.spelled(base, node.func.value), node.func.attr, ast.Load())
        return self.call_as_written(node, f, target, (f"a {base.value.__name__}", *FUNCTIONS["dict"]), pure=True)

    def unknown_call(self, node: ast.Call, static: Static, target: str) -> anf.Atom:
        """Lower the call of a function that only numba knows to opaque code; refuse one that numba cannot type."""
        f, name = static.value, describe(static.value)
        what = f"the call of {name}"
        plain = callable(f) and hasattr(f, "__code__") and not name.startswith(("numpy.", "numba."))
        if is_pointer(f):
            what, why = f"the call of {ast.unparse(node.func)}", "it is a function in C, whose derivative is not known"
            said = what, why, "a numba function that calls it, with dualrev.custom_jvp"
        elif isinstance(f, Transformed):
            said = f"{what}, which dr.{f.made_by} has made,", *FROM_PYTHON
        elif (about := about_function(name)) is not None:
            said = what, *about
        elif plain:
            said = what, "it is no numba function", "@njit above its definition"
        else:
            on_tape = of_the_table(f) is not None
            why = "only the tape has a rule for it" if on_tape else ""
            instead = "dr.grad(f.py_func), which runs f on the tape, or the call" if on_tape else "it"
            said = what, why, f"{instead} with loops, or with functions that docs/numba/supported.md lists"
        never = f is complex or name.startswith(("cmath.", "random.", "numpy.nditer", "operator.truth"))
        if (never and f != random.shuffle) or not is_known_to_numba(f):
            return self.refuse(node, *said)
        out = any(k.arg == "out" for k in node.keywords)
        pure = any(f is g for g in _PURE) or (gives_new_arrays(f) and not out)
        fixed = getattr(f, "__module__", "") in _FIXED
        return self.call_as_written(node, self.spelled(static, node.func), target, said, pure, fixed)

    def call_as_written(
        self, node: ast.Call, f: ast.expr, target: str, said: Words, pure: bool, fixed: bool = False
    ) -> anf.Atom:
        """Emit `target = f(*args, **keywords)` as opaque code."""
        atoms: list[anf.Atom] = []
        if any(isinstance(x, ast.Starred) for x in node.args):
            self.refuse(node, *said)
        args = [self.unknown_argument(x, atoms) for x in node.args]
        keywords = [ast.keyword(k.arg, self.unknown_argument(k.value, atoms)) for k in node.keywords]
        return self.written(ast.Call(f, args, keywords), atoms, target, node, said, pure=pure, fixed=fixed)

    def unknown_argument(self, node: ast.expr, atoms: list[anf.Atom]) -> ast.expr:
        """Lower an argument of an opaque call: an atom, or a compile-time value by its name."""
        base = self.static(node.value) if isinstance(node, ast.Subscript) else None
        if isinstance(node, ast.Subscript) and base is not None and isinstance(base.value, types.Type):
            return ast.Subscript(self.spelled(base, node.value), copy.deepcopy(node.slice), ast.Load())
        static = self.static(node) if not isinstance(node, ast.Constant) else None
        of = self.static(node.value) if isinstance(node, ast.Subscript) else None
        if isinstance(node, ast.Subscript) and of is not None and isinstance(of.value, types.Type):  # float64[::1]
            return ast.Subscript(self.spelled(of, node.value), node.slice, ast.Load())
        if static is not None and not isinstance(static.value, (bool, int, float, str, tuple, type(None))):
            return self.spelled(static, node)
        atoms.append(self.atom(node))
        return to_python.atom(atoms[-1])

    def spelled(self, static: Static, node: ast.expr) -> ast.expr:
        """Return the expression by which the emitted module names a compile-time value."""
        if isinstance(node, ast.Name) and getattr(builtins, node.id, None) is static.value:
            return ast.Name(node.id, ast.Load())
        if isinstance(static.value, (bool, int, float, str, bytes, type(None))):
            return ast.Constant(static.value)
        text = callable_name(static.value)
        return to_python.name(text if text is not None else self.ref(static).name)

    # Statements

    def _Delete(self, s: ast.Delete) -> None:
        if not all(isinstance(x, ast.Subscript) for x in s.targets):
            self.refuse(s, *STATEMENTS["Delete"])
        self.opaque_block(s, STATEMENTS["Delete"])

    def _Try(self, s: ast.Try) -> None:
        if _only_ends(s):
            for inner in [*s.body, *s.finalbody]:
                self.statement(inner)
            return
        self.opaque_block(s, STATEMENTS["Try"])

    def _With(self, s: ast.With) -> None:
        call = s.items[0].context_expr
        static = self.static(call.func) if isinstance(call, ast.Call) else None
        if len(s.items) > 1 or static is None or "objmode" not in type(static.value).__name__.lower():
            self.refuse(s, *STATEMENTS["With"])
        assert isinstance(call, ast.Call)
        self.opaque_block(s, STATEMENTS["With"], {str(k.arg) for k in call.keywords})

    def opaque_block(self, s: ast.stmt, said: Words, results: set[str] | None = None) -> None:
        """Emit a statement and its blocks as opaque code; `results` are its live-outs, if not all it assigns."""
        inside = list(ast.walk(s))
        never = (Inlined, ast.FunctionDef, ast.Lambda, ast.Yield, ast.NamedExpr, ast.Starred, *Comprehension)
        left = any(isinstance(x, ast.Return) for x in inside) or any(exits_of(b) for b in _blocks(s))
        if left or any(isinstance(x, never) for x in inside):
            self.refuse(s, *said)
        made = _Spelling(self).visit(copy.deepcopy(s))
        names = [x for x in ast.walk(s) if isinstance(x, ast.Name) and x.id in self.locals]
        stored = (x.id for x in names if isinstance(x.ctx, ast.Store) and (results is None or x.id in results))
        targets = list(dict.fromkeys(map(self.name, stored)))
        read = {id(x.target) for x in inside if isinstance(x, ast.AugAssign)}
        args = tuple(dict.fromkeys(self.name(x.id) for x in names if isinstance(x.ctx, ast.Load) or id(x) in read))
        calls = [x.func for x in inside if isinstance(x, ast.Call)]
        unknown = isinstance(s, ast.With) or not all(map(self.is_builtin, calls))
        self.add(anf.Opaque(targets, args, [made], s.lineno, True, unknown, said))

    def is_builtin(self, f: ast.expr) -> bool:
        """Whether a callee does the same in each call: a Python builtin, or a method of a variable."""
        static = self.static(f) if isinstance(f, (ast.Name, ast.Attribute)) else None
        return isinstance(f, ast.Attribute) if static is None else not static.path


def _only_ends(s: ast.Try) -> bool:
    """Whether a `try` is its body and then its `finally`: no handlers, and no effects that a caller could see."""
    inside = [x for b in (s.body, s.finalbody) for t in b for x in ast.walk(t)]
    stays = not any(isinstance(x, ast.Return) for x in inside) and not any(map(exits_of, (s.body, s.finalbody)))
    seen = (ast.Call, ast.Subscript, ast.Attribute)
    return not s.handlers and stays and not any(isinstance(x, seen) for t in s.finalbody for x in ast.walk(t))


def _blocks(s: ast.stmt) -> list[list[ast.stmt]]:
    """Return the blocks of a `try` or a `with`."""
    handlers = [h.body for h in getattr(s, "handlers", [])]
    return [getattr(s, "body", []), *handlers, getattr(s, "orelse", []), getattr(s, "finalbody", [])]


class _Spelling(ast.NodeTransformer):
    """Rename a user's names to the names of the emitted module."""

    def __init__(self, scope: WrittenAsTheyAre) -> None:
        self.scope = scope

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Rename a variable; spell a compile-time value."""
        if node.id in self.scope.locals:
            return ast.copy_location(ast.Name(self.scope.name(node.id), node.ctx), node)
        static = self.scope.static(node)
        assert static is not None
        return ast.copy_location(self.scope.spelled(static, node), node)

    def visit_With(self, node: ast.With) -> ast.With:
        """Rename the variables of a `with` block, its keywords included."""
        self.generic_visit(node)
        for item in node.items:  # objmode(y="float64") names a variable, too
            for k in item.context_expr.keywords if isinstance(item.context_expr, ast.Call) else ():
                k.arg = self.scope.name(str(k.arg))
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Spell an attribute that is a compile-time value."""
        static = self.scope.static(node)
        if static is None:
            self.generic_visit(node)
            return node
        return ast.copy_location(self.scope.spelled(static, node), node)
