"""Inline generators into the loops over them: the loop's body in place of each `yield`.

    for y in g(x): s += y        def g(u):                          u1 = x
                                     for k in range(3):             for k1 in range(3):
                                         yield u * k                    y = u1 * k1
                                                                        s += y

The names of the generator's variables are new. What its globals stand for is looked up where it is defined, and known
to the scope under new names. A `break` of the loop, and a `return` of the generator, would leave several loops: they
are refused.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any

from dualrev.compiler.frontend.desugar.closures import bound_in, renamed
from dualrev.compiler.frontend.desugar.ndindex import assigned, builtin, located, read
from dualrev.compiler.frontend.lowering.exits import exits_of
from dualrev.compiler.frontend.lowering.scope import Scope
from dualrev.compiler.frontend.reading.njit_options import differing
from dualrev.compiler.frontend.reading.source import Static, describe, is_numba_function
from dualrev.compiler.frontend.reading.source import read as read_source
from dualrev.compiler.types.aliases import Dispatcher

__all__ = ["Generators"]

_DEPTH = 4  # loops over one generator, each inside of another: from there on, it seems to go over itself


class Generators:
    """Inlining of the generators of a function; `local` allocates a fresh name."""

    def __init__(self, scope: Scope, local: Callable[[str], str]) -> None:
        self.scope, self.local = scope, local
        self.open: list[Any] = []  # those whose loops are being replaced

    def loop(self, node: ast.For, block: Callable[[list[ast.stmt]], list[ast.stmt]]) -> list[ast.stmt] | None:
        """Inline the generator of a loop; None if the loop is over something else. `block` desugars the result."""
        call, counter, made = node.iter, None, list[ast.stmt]()
        if self._is_enumerate(node):
            assert isinstance(call, ast.Call)
            counter = self.local("i")
            made.append(assigned(counter, [*call.args[1:], ast.Constant(0)][0], node))
            call = call.args[0]
        static = self._generator(call)
        if static is None:
            return None
        assert isinstance(call, ast.Call)
        f = static.value
        self._check(node, call, f)
        source = read_source(f)
        body = source.tree.body
        own = {*source.parameters, *bound_in(body)}
        names: dict[str, Any] = {x: self.local(x) for x in sorted(own)}
        for name in sorted({x.id for s in body for x in ast.walk(s) if isinstance(x, ast.Name)} - own):
            names[name] = self._known(name, source.lookup(name, static.path))
        made += [assigned(names[name], value, node) for name, value in self._arguments(static, call, node)]
        inner = [renamed(s, {k: x for k, x in names.items() if x is not None}) for s in body]
        for x in (x for s in inner for x in ast.walk(s) if hasattr(x, "lineno")):
            ast.copy_location(x, node)  # the lines are of another function
        self.open.append(f)
        try:
            made += block(_Yields(self, node, counter).block(inner))
        finally:
            self.open.pop()
        return made + block(node.orelse)

    def _is_enumerate(self, node: ast.For) -> bool:
        """Whether a loop is `for i, y in enumerate(...)`."""
        call, pair = node.iter, node.target
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.keywords or not call.args:
            return False
        known = call.func.id == "enumerate" and "enumerate" not in self.scope.locals
        return known and isinstance(pair, (ast.Tuple, ast.List)) and len(pair.elts) == 2

    def _generator(self, call: ast.expr) -> Static | None:
        """Resolve the generator that is called; None for any other call."""
        if not isinstance(call, ast.Call) or not isinstance(call.func, (ast.Name, ast.Attribute)):
            return None
        static = self.scope.static(call.func)
        known = static is not None and is_numba_function(static.value)
        return static if known and inspect.isgeneratorfunction(static.value.py_func) else None  # type: ignore[union-attr]

    def _check(self, node: ast.For, call: ast.Call, f: Dispatcher) -> None:
        """Refuse a loop with a `break`, a recursive generator, other compile options, or starred arguments."""
        what = f"the loop over the generator {describe(f.py_func)}"
        options = differing(self.scope.source.dispatcher, f)
        if any(option in f.targetoptions for option in options):  # without them, it is compiled as its caller
            why = f"it becomes a part of this function, whose {options[0]} is another"
            self.scope.refuse(node, what, why, "the same options for both")
        if self.open.count(f) == _DEPTH:
            self.scope.refuse(node, what, "it goes over itself", "a list of what is to be done")
        if ast.Break in exits_of(node.body):
            why = "a `break` would have to leave the generator's loops, too"
            self.scope.refuse(node, what, why, "the loops themselves, or an `if` around the body")
        if any(isinstance(x, ast.Starred) for x in call.args) or any(k.arg is None for k in call.keywords):
            self.scope.refuse(node, what, "the number of its arguments is not known", "every argument")

    def _known(self, name: str, static: Static | None) -> str | None:
        """Bind a global of the generator to a fresh name; None for a name that is no global."""
        if static is None:
            return None
        made = self.local(name)
        self.scope.functions[made] = static
        return made

    def _arguments(self, static: Static, call: ast.Call, node: ast.AST) -> list[tuple[str, ast.expr]]:
        """Bind the generator's parameters to the arguments of the call, in the order of evaluation."""
        signature = inspect.signature(static.value.py_func)
        what = f"the call of the generator {describe(static.value.py_func)}"
        if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in signature.parameters.values()):
            self.scope.refuse(node, what, "it has *args", "every argument")
        try:
            given = signature.bind(*call.args, **{str(k.arg): k.value for k in call.keywords}).arguments
        except TypeError as error:
            self.scope.refuse(node, what, str(error), "its arguments")
        rest = [p for p in signature.parameters.values() if p.name not in given]
        for p in rest:
            known = self._known(p.name, Static(p.default, (*static.path, ("default", p.name))))
            assert known is not None
            given[p.name] = read(known)
        return list(given.items())


class _Yields:
    """Replace each `yield` of a generator by the body of the loop."""

    def __init__(self, generators: Generators, node: ast.For, counter: str | None) -> None:
        self.generators, self.node, self.counter = generators, node, counter

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Rewrite the whole generator, which may end with a `return`."""
        return self.inside(body[:-1] if isinstance(body[-1], ast.Return) and body[-1].value is None else body)

    def statement(self, s: ast.stmt) -> list[ast.stmt]:
        """Rewrite one statement."""
        if isinstance(s, ast.Expr) and isinstance(s.value, ast.Yield) and s.value.value is not None:
            return self.consumed(s.value.value)
        if isinstance(s, ast.FunctionDef):
            return [s]
        if isinstance(s, (ast.For, ast.While, ast.If)):
            s.body, s.orelse = self.inside(s.body), self.inside(s.orelse)
        elif any(isinstance(x, (ast.Yield, ast.YieldFrom, ast.Return)) for x in ast.walk(s)):
            what, why = "this generator", "its `yield` is no statement of its own in a loop or a branch, or it returns"
            self.generators.scope.refuse(self.node, what, why, "an array of the results")
        return [s]

    def inside(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Rewrite a nested block."""
        return [t for s in body for t in self.statement(s)]

    def consumed(self, value: ast.expr) -> list[ast.stmt]:
        """Build the loop's body for a yielded value; with a `continue`, in a loop of one iteration."""
        node, made = self.node, list[ast.stmt]()
        target = renamed(node.target, {})
        if self.counter is not None:
            made.append(ast.Assign([target.elts[0]], read(self.counter)))
            one = ast.BinOp(read(self.counter), ast.Add(), ast.Constant(1))
            made.append(ast.Assign([ast.Name(self.counter, ast.Store())], one))
            target = target.elts[1]
        made.append(ast.Assign([target], value))
        body = [renamed(s, {}) for s in node.body]
        if ast.Continue in exits_of(body):
            once = ast.Call(builtin("range"), [ast.Constant(1)], [])
            counter = ast.Name(self.generators.local("once"), ast.Store())
            body = [ast.For(counter, once, body, [])]
        for s in [*made, *body]:
            located(s, node)
        return [*made, *body]
