"""Nested AD: desugar `dr.grad(f)`, `dr.jvp(f, ...)` and the like in a differentiated function to dispatcher calls.

    dr.grad(f)(x)                    that dispatcher is a constant, as if it had been made outside
    h = dr.grad(f); h(x)             and so is h
    dr.jvp(f, (x, y), t)             jvp_f(x, y, *t)
    y, pull = dr.vjp(f, x, y)        kept = keep_f(x, y); y = kept[0]
    pull(ct)                         vjp_f(kept[1][0], kept[1][1], ct)[1]

So the passes that follow know nothing of them. What numba makes of the same is in bridge/numba_ext/ad_in_njit.py.
"""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from dataclasses import dataclass
from typing import Any, NoReturn

from dualrev.compiler.frontend.desugar.closures import Inlined
from dualrev.compiler.frontend.lowering.scope import Scope
from dualrev.compiler.frontend.reading.ad_operators import AT_A_POINT, TRANSFORMATIONS
from dualrev.compiler.frontend.reading.source import Static, is_numba_function
from dualrev.compiler.ir.names import readable

__all__ = ["Inside"]

_FORM = "y, pull = dr.vjp(f, x), and pull(ct), with a name for each pullback"


@dataclass(frozen=True)
class _Pullback:
    """A pullback: the names of `keep_f`'s result and of `vjp_f`, the arguments given, and the parameters in all.

    functions are the arguments that are numba functions. The code names them, so no variable has to hold them.
    """

    kept: str
    vjp: str
    given: int
    count: int
    functions: dict[int, ast.expr]


class Inside:
    """Derivatives that a function takes itself, for rewriter.py."""

    def __init__(self, scope: Scope, bindings: Counter[str]) -> None:
        self.scope, self.bindings = scope, bindings
        self.pullbacks: dict[str, _Pullback] = {}

    def at_a_point(self, node: ast.AST) -> str:
        """Return the name of the operator if a node is a call of `dr.jvp` or `dr.vjp`; else an empty string."""
        if not isinstance(node, ast.Call) or not self.is_global(node.func):
            return ""
        static = self.scope.static(node.func)
        name = "" if static is None else TRANSFORMATIONS.name(static.value)
        return name if name in AT_A_POINT else ""

    def is_global(self, node: ast.expr) -> bool:
        """Whether a name, or a name with attributes, is not a local one."""
        while isinstance(node, ast.Attribute):
            node = node.value
        own = self.bindings.keys() | set(self.scope.parameters)
        return isinstance(node, ast.Name) and node.id not in own and not self.scope.own & {node.id}

    # A name for a derivative

    def name_function(self, node: ast.Assign) -> bool:
        """Record `h = dr.grad(f)` as a definition of `h` at compile time; return whether it is one."""
        target, value = node.targets[0], node.value
        if not isinstance(target, ast.Name) or not isinstance(value, ast.Call) or not self.is_global(value.func):
            return False
        static = self.scope.static(value)
        if static is None or not is_numba_function(static.value):
            return False
        self.only(target.id, node)
        self.scope.functions[target.id] = static
        self.scope.assigned.discard(target.id)
        return True

    def only(self, name: str, node: ast.AST) -> None:
        """Refuse a name that has other bindings, too."""
        if self.bindings[name] > 1 or name in self.scope.parameters:
            why = "which of the functions it is may depend on what runs"
            self.scope.refuse(node, f"several values of {readable(name)}", why, "a name for each function")

    # dr.jvp and dr.vjp

    def constant(self, static: Static, name: str, node: ast.AST) -> ast.expr:
        """Bind a compile-time value to a fresh name."""
        made = self.scope.own_name(name)
        self.scope.functions[made] = static
        return ast.copy_location(ast.Name(made, ast.Load()), node)

    def derivative(self, of: Static, transform: str, node: ast.AST) -> ast.expr:
        """Bind a derivative to a fresh name."""
        made = self.scope.derivative(of, transform, 0)
        return self.constant(made, made.value.py_func.__name__, node)

    def rest(self, f: Static, count: int, node: ast.Call, name: str) -> list[inspect.Parameter]:
        """Return the parameters after the given ones; they must have defaults."""
        every = list(inspect.signature(f.value.py_func).parameters.values())
        if any(p.kind is p.VAR_POSITIONAL for p in every):
            self.scope.refuse(node, f"dr.{name} of this function", "it has *args", "a function without")
        if len(every) < count or any(p.default is p.empty for p in every[count:]):
            what = f"dr.{name} with these arguments"
            self.scope.refuse(node, what, "the function has other parameters", "its arguments, one by one")
        return every[count:]

    def jvp(self, node: ast.Call) -> ast.expr:
        """Desugar `dr.jvp(f, primals, tangents)` to a call of the forward-mode derivative."""
        given = dict(zip(("f", "primals", "tangents"), node.args, strict=False))
        given |= {str(k.arg): k.value for k in node.keywords}
        if given.keys() != {"f", "primals", "tangents"}:
            self.scope.refuse(node, "dr.jvp with these arguments", "others are known", "dr.jvp(f, (x, y), (dx, dy))")
        f = self.scope.differentiated(given["f"], "jvp", node)
        primals, tangents = given["primals"], given["tangents"]
        parts = [x.elts if isinstance(x, ast.Tuple) else [ast.Starred(x, ast.Load())] for x in (primals, tangents)]
        every = inspect.signature(f.value.py_func).parameters.values()
        if isinstance(primals, ast.Tuple) and not any(isinstance(x, ast.Starred) for x in primals.elts):
            if isinstance(tangents, ast.Tuple) and len(tangents.elts) != len(primals.elts):
                why = "there are not as many tangents as primals"
                self.scope.refuse(node, "this dr.jvp", why, "a tangent for each")
            for p in self.rest(f, len(primals.elts), node, "jvp"):
                if not isinstance(p.default, (int, float, str, type(None))):
                    why = f"the default of {p.name} is no number"
                    self.scope.refuse(node, "this dr.jvp", why, "every argument, and its tangent")
                zero = 0.0 if isinstance(p.default, float) else None
                parts[0] = [*parts[0], ast.copy_location(ast.Constant(p.default), node)]
                parts[1] = [*parts[1], ast.copy_location(ast.Constant(zero), node)]
        elif any(p.default is not p.empty for p in every):
            why = "how many arguments are given is not known here, as the function has defaults"
            self.scope.refuse(node, "this dr.jvp", why, "the tuples with their entries: dr.jvp(f, (x, y), (dx, dy))")
        made = ast.Call(self.derivative(f, "jvp", node), [*parts[0], *parts[1]], [])
        return _located(made, node)

    def keep(self, node: ast.Call) -> tuple[list[ast.stmt], _Pullback]:
        """Build the call that keeps the value of `dr.vjp(f, ...)` and copies of its arguments, and the pullback."""
        if node.keywords or any(isinstance(x, ast.Starred) for x in node.args):
            self.scope.refuse(node, "dr.vjp with these arguments", "plain ones are known", "dr.vjp(f, x, y)")
        f, args = self.scope.differentiated(next(iter(node.args), None), "vjp", node), node.args[1:]
        count = len(args) + len(self.rest(f, len(args), node, "vjp"))
        kept = self.scope.own_name("kept")
        vjp = self.derivative(f, "vjp", node)
        assert isinstance(vjp, ast.Name)
        call = ast.Call(self.derivative(f, "keep", node), args, [])
        made = ast.Assign([ast.Name(kept, ast.Store())], call)
        functions = {k: x for k, x in enumerate(args) if self.is_named_function(x)}
        return [_located(made, node)], _Pullback(kept, vjp.id, len(args), count, functions)

    def is_named_function(self, x: ast.expr) -> bool:
        """Whether an expression names a numba function: a global one, or an argument."""
        static = self.scope.static(x) if isinstance(x, (ast.Name, ast.Attribute)) else None
        return static is not None and is_numba_function(static.value)

    def define_pullback(self, node: ast.Assign) -> list[ast.stmt]:
        """Desugar `y, pull = dr.vjp(f, x)`, and record the pullback."""
        target = node.targets[0]
        if len(node.targets) > 1 or not isinstance(target, ast.Tuple) or len(target.elts) != 2:
            return self.refuse(node)
        value, pull = target.elts
        if not isinstance(pull, ast.Name) or isinstance(value, ast.Starred):
            return self.refuse(node)
        if self.bindings[pull.id] > 1 or pull.id in self.scope.parameters:
            return self.refuse(node)
        assert isinstance(node.value, ast.Call)
        before, self.pullbacks[pull.id] = self.keep(node.value)
        first = ast.Subscript(_read(self.pullbacks[pull.id].kept), ast.Constant(0), ast.Load())
        return [*before, _located(ast.Assign([value], first), node)]

    def pull(self, p: _Pullback, node: ast.Call) -> ast.expr:
        """Desugar the call of a pullback to a call of the reverse-mode derivative."""
        if len(node.args) != 1 or node.keywords or isinstance(node.args[0], ast.Starred):
            self.scope.refuse(node, "this call of a pullback", "it takes one cotangent", "pull(ct)")
        kept = ast.Subscript(_read(p.kept), ast.Constant(1), ast.Load())
        args = [p.functions.get(k, ast.Subscript(kept, ast.Constant(k), ast.Load())) for k in range(p.count)]
        made = ast.Subscript(ast.Call(_read(p.vjp), [*args, node.args[0]], []), ast.Constant(1), ast.Load())
        if p.given == p.count:
            return _located(made, node)
        name = self.scope.own_name("cts")
        before = ast.Assign([ast.Name(name, ast.Store())], made)
        parts: list[ast.expr] = [ast.Subscript(_read(name), ast.Constant(k), ast.Load()) for k in range(p.given)]
        return _located(Inlined.of([before], ast.Tuple(parts, ast.Load())), node)

    def pull_at_once(self, node: ast.Call) -> ast.expr:
        """Desugar `dr.vjp(f, x)[1](ct)`."""
        assert isinstance(node.func, ast.Subscript)
        assert isinstance(node.func.value, ast.Call)
        before, p = self.keep(node.func.value)
        return _located(Inlined.of(before, self.pull(p, node)), node)

    def is_pulled(self, node: ast.Call) -> bool:
        """Whether a call is `dr.vjp(f, x)[1](ct)`."""
        f = node.func
        if not isinstance(f, ast.Subscript) or self.at_a_point(f.value) != "vjp":
            return False
        return isinstance(f.slice, ast.Constant) and f.slice.value == 1

    def refuse(self, node: ast.AST) -> NoReturn:
        """Refuse `dr.vjp`, or a pullback, in a position where the pullback is not known by name."""
        why = "a pullback is known by its name only, where the function around it is differentiated"
        self.scope.refuse(node, "dr.vjp in this place", why, _FORM)


def _read(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _located(made: Any, node: ast.AST) -> Any:
    """Give new nodes the source location of another one."""
    for x in ast.walk(made):
        if isinstance(x, (ast.expr, ast.stmt)) and not hasattr(x, "lineno"):
            ast.copy_location(x, node)
    return made
