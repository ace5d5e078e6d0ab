"""Desugar a syntax tree to the subset of Python that lowering (to_anf.py) accepts.

for i, j in np.ndindex(m.shape)       loops over ranges, one inside of the other; np.ndenumerate the same
for v in np.nditer(a)                 a loop over its elements, see nditer.py
it = iter(a), next(it)                places in a, see iter_next.py
match k: case 1 | 2: ...              if and elif
def g(y): ...   g = lambda y: ...     the body of g in place of each call, with names of its own, as numba has it
x or y                                x if x else y, where that may be a number; x is computed once
[x] * n                               [x for _ in range(n)]
[g(x) for x in a]                     a name of its own for x
for x in literal_unroll(t)            the body for one item after the other, see unroll.py
smooth(a), of numba.stencil           the loops that it stands for: see stencils.py
for x in g(y), a generator            its statements, with the loop's body for each `yield`: see generators.py
dr.jvp(f, ...), dr.vjp(f, ...)        calls of numba functions: see nested_ad.py
operator.mul(x, y), map and others    see operators.py and spellings.py
np.select, slice(i, j) and others     see compose_calls.py
table = {1: x, 2: y}, table[k]        see constant_dicts.py
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from dualrev.compiler.frontend.desugar.closures import (
    Closure,
    Inlined,
    bound_in,
    is_constant,
    own_nodes,
    renamed,
    returning,
    without_declarations,
)
from dualrev.compiler.frontend.desugar.compose_calls import Composing
from dualrev.compiler.frontend.desugar.constant_dicts import Tables
from dualrev.compiler.frontend.desugar.generators import Generators
from dualrev.compiler.frontend.desugar.iter_next import Iterators
from dualrev.compiler.frontend.desugar.list_names import lists_of
from dualrev.compiler.frontend.desugar.match import Matching
from dualrev.compiler.frontend.desugar.ndindex import Nests, assigned, builtin, located, read
from dualrev.compiler.frontend.desugar.nditer import over_memory
from dualrev.compiler.frontend.desugar.nested_ad import Inside
from dualrev.compiler.frontend.desugar.operators import augmented
from dualrev.compiler.frontend.desugar.spellings import Spellings, is_bool
from dualrev.compiler.frontend.desugar.stencils import Stencils
from dualrev.compiler.frontend.desugar.type_limits import Limits
from dualrev.compiler.frontend.desugar.unroll import Unrolling
from dualrev.compiler.frontend.lowering.exits import exits_of
from dualrev.compiler.frontend.lowering.scope import Scope
from dualrev.compiler.frontend.messages import refused_at_once
from dualrev.compiler.frontend.reading.callables import is_stencil
from dualrev.compiler.frontend.reading.source import describe, parameters
from dualrev.compiler.ir.names import readable
from dualrev.compiler.types.aliases import UserValue

__all__ = ["desugar"]


def desugar(scope: Scope) -> None:
    """Desugar the syntax tree of a function, and update what the scope knows of it."""
    tree = scope.source.tree
    scope.functions = dict(scope.functions)  # it gets those that are named inside
    made = copy.copy(tree)
    made.returns = None
    body = without_declarations(renamed(ast.Module(tree.body, []), {}).body, scope.parameters)
    made.body = _Desugaring(scope, tree).block(body)
    scope.source = replace(scope.source, tree=made)
    scope.assigned = scope.assigned_in(made.body)
    scope.locals = {*scope.parameters, *scope.assigned}
    scope.list_names = set(lists_of(made))


class _Desugaring(ast.NodeTransformer):
    def __init__(self, scope: Scope, tree: ast.FunctionDef) -> None:
        self.scope = scope
        self.closures: dict[str, Closure] = {}
        self.open: list[str] = []  # those whose calls are being replaced
        self.bindings = Counter(
            x.name if isinstance(x, ast.FunctionDef) else x.id
            for s in tree.body
            for x in own_nodes(s)
            if isinstance(x, ast.FunctionDef) or (isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store))
        )
        self.inside = Inside(scope, self.bindings)
        self.nests = Nests(self.local)
        self.limits = Limits(self.scope, self.local, self.bindings)
        self.generators = Generators(scope, self.local)
        self.spellings = Spellings(scope, self.local)
        self.lists = set(lists_of(tree))
        self.composing = Composing(scope, self.local, self.lists)
        self.matching = Matching(scope, self.local)
        self.stencils = Stencils(scope, self.local)
        self.tables = Tables(tree, self.bindings, self.local)
        self.iterators = Iterators(scope, tree, self.bindings, self.local)
        self.unrolling = Unrolling(scope, self.bindings, self.local, self.is_global_function)

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Desugar the statements of a block."""
        made: list[ast.stmt] = []
        for s in body:
            done = self.visit(s)
            made += done if isinstance(done, list) else [done]
        return made

    def local(self, name: str) -> str:
        """Allocate a local variable."""
        return self.scope.own_name(name)

    # Functions inside of the function

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        """Record a nested function, to be inlined where it is called."""
        if node.decorator_list:
            self.scope.refuse(node, "a decorated function inside of a numba function", "numba has none", "it outside")
        self.define(node.name, node)
        return ast.copy_location(ast.Pass(), node)

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        """Desugar an assignment of a lambda, pullback, type limit, derivative, table, iterator or lists."""
        if isinstance(node.value, ast.Lambda) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            self.define(node.targets[0].id, node.value)
            return ast.copy_location(ast.Pass(), node)
        if self.inside.at_a_point(node.value) == "vjp":
            self.generic_visit(node.value)
            return self.inside.define_pullback(node)
        if self.limits.define(node) or (len(node.targets) == 1 and self.inside.name_function(node)):
            return ast.copy_location(ast.Pass(), node)
        if (changed := augmented(node, self.known)) is not None:
            return self.block([changed])
        self.unrolling.note(node)
        for made in (self.tables.define(node), self.iterators.define(node), self.spellings.lists_apart(node)):
            if made is not None:
                return self.block(made) or [ast.copy_location(ast.Pass(), node)]
        self.generic_visit(node)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        """Desugar a lookup in a constant table, and calls of `slice` in an index."""
        made = self.tables.item(node)
        if made is None:
            node.slice = self.composing.index(node.slice)
            self.generic_visit(node)
        return node if made is None else self.visit(made)

    def visit_Compare(self, node: ast.Compare) -> Any:
        """Desugar membership in a constant table."""
        made = self.tables.membership(node)
        if made is None:
            self.generic_visit(node)
        return node if made is None else self.visit(made)

    def visit_Inlined(self, node: Inlined) -> Any:
        """Desugar inlined statements and their value."""
        node.body, node.value = self.block(node.body), self.visit(node.value)
        return node

    def define(self, name: str, node: ast.FunctionDef | ast.Lambda) -> None:
        """Record a closure for inlining; refuse one with varargs, computed defaults or several bindings."""
        args = node.args
        if args.vararg or args.kwarg:
            self.scope.refuse(node, f"*args or **kwargs of {readable(name)}", "their number is not known", "arguments")
        if not all(map(is_constant, [*args.defaults, *filter(None, args.kw_defaults)])):
            self.scope.refuse(node, f"a default of {readable(name)}", "it is no constant", "an argument")
        if self.bindings[name] > 1 or name in self.closures:
            why = "which of the functions it is may depend on what runs"
            self.scope.refuse(node, f"several values of {readable(name)}", why, "a name for each function")
        self.closures[name] = Closure(name, node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        """Refuse a lambda as a value."""
        why = "it is known where it is called only"
        return self.scope.refuse(node, "a lambda that is passed on", why, "a numba function outside")

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Refuse a closure, a pullback or a type limit as a value."""
        if node.id in self.closures:
            what = f"the function {readable(node.id)} as a value"
            self.scope.refuse(node, what, "it is known where it is called only", "a numba function outside")
        self.limits.name(node)
        return self.inside.refuse(node) if node.id in self.inside.pullbacks else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Fold an attribute of `np.finfo` or `np.iinfo`."""
        if (made := self.limits.attribute(node)) is not None:
            return made
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Desugar a call: of a pullback, `dr.jvp`, a closure, another spelling, a table's method, or `next`."""
        if isinstance(node.func, ast.Name) and node.func.id in self.inside.pullbacks:
            node.args = list(map(self.visit, node.args))
            return self.inside.pull(self.inside.pullbacks[node.func.id], node)
        if self.inside.is_pulled(node):
            assert isinstance(node.func, ast.Subscript)
            node.args = list(map(self.visit, node.args))
            self.generic_visit(node.func.value)
            return self.inside.pull_at_once(node)
        transform = self.inside.at_a_point(node)
        if transform:
            self.generic_visit(node)
            return self.inside.jvp(node) if transform == "jvp" else self.inside.refuse(node)
        if isinstance(node.func, ast.Name) and node.func.id in self.closures:
            return self.inlined(self.closures[node.func.id], node)
        if isinstance(node.func, ast.Lambda):
            return self.inlined(Closure("lambda", node.func), node)
        if (spelled := self.spellings.call(node) or self.composed(node) or self.tables.call(node)) is not None:
            located(spelled, node)
            made: ast.expr = self.visit(spelled)
            return made
        if (said := refused_at_once(self.spellings.value(node.func))) is not None:
            return self.scope.refuse(node, *said)
        if (following := self.iterators.call(node)) is not None:
            return ast.copy_location(Inlined.of(*following), node)
        self.generic_visit(node)
        return node

    def known(self, node: ast.expr) -> UserValue:
        """Return the compile-time value of a name or an attribute; None if it is not known, or a closure."""
        is_closure = isinstance(node, ast.Name) and node.id in self.closures
        return None if is_closure else self.spellings.value(node)

    def composed(self, node: ast.Call) -> ast.expr | None:
        """Desugar a call of a stencil, or of a function composed of others; None for any other call."""
        f = self.spellings.value(node.func)
        if f is None or any(isinstance(x, ast.Starred) for x in node.args):
            return None
        static = self.scope.static(node.func)
        if static is not None and is_stencil(f):
            return self.stencils.call(static, node)
        return self.composing.call(f, node)

    def visit_Expr(self, node: ast.Expr) -> Any:
        """Desugar an expression statement, such as `ys.extend(a)`."""
        called = node.value.func if isinstance(node.value, ast.Call) else None
        inside = isinstance(called, ast.Name) and called.id in self.closures  # it has no value outside of this function
        spelled = None if inside else self.spellings.statement(node)
        if spelled is not None:
            return self.visit(spelled)
        self.generic_visit(node)
        return node

    def visit_Delete(self, node: ast.Delete) -> Any:
        """Desugar a `del` of variables and list elements."""
        made = self.spellings.deleted(node)
        return node if made is None else self.block(made)

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        """Desugar `ys += more` of lists to a loop that appends."""
        x, more = node.target, node.value
        named = isinstance(more, ast.Name) and isinstance(x, ast.Name) and {x.id, more.id} <= self.lists
        listed = named or isinstance(more, (ast.List, ast.ListComp))
        if isinstance(node.op, ast.Add) and isinstance(x, ast.Name) and listed:
            return self.visit(self.spellings.extended(x, more, node))
        self.generic_visit(node)
        return node

    def inlined(self, closure: Closure, node: ast.Call) -> ast.expr:
        """Inline a closure in place of its call, with fresh names for its variables."""
        if closure.name in self.open:
            what = f"the recursion of {readable(closure.name)}"
            self.scope.refuse(node, what, "numba has none of functions inside of others", "a numba function outside")
        body = closure.body()
        names: dict[str, Any] = {}
        before: list[ast.stmt] = []
        bound = bound_in(body)
        for name, value in self.arguments(closure, node):
            if self.is_function(value) and name not in bound:
                names[name] = value
                continue
            names[name] = self.local(name)
            target = ast.copy_location(ast.Name(names[name], ast.Store()), value)
            before.append(ast.copy_location(ast.Assign([target], self.visit(value)), value))
        names |= {x: self.local(x) for x in sorted(bound) if x not in names}
        inner: list[ast.stmt] = [renamed(s, names) for s in body]
        self.open.append(closure.name)
        first = inner[0]
        if isinstance(first, ast.Return) and first.value is not None:
            value = self.visit(first.value)
        else:
            result = self.local("result")

            def refuse(s: ast.AST) -> None:
                """Refuse a `return` in the `else` of a loop."""
                what = f"a `return` from the `else` of a loop in {readable(closure.name)}"
                self.scope.refuse(s, what, "the function is inside of another one", "a numba function outside")

            before += self.block(returning(inner, result, self.local, refuse))
            value = ast.copy_location(ast.Name(result, ast.Load()), node)
        self.open.pop()
        return ast.copy_location(Inlined.of(before, value), node)

    def is_function(self, value: ast.expr) -> bool:
        """Whether an argument is a function by its name, or a lambda."""
        if isinstance(value, ast.Lambda):
            return True
        if isinstance(value, ast.Name) and value.id in self.closures:
            return True
        named = isinstance(value, (ast.Name, ast.Attribute, ast.Subscript))
        static = self.scope.static(value) if named else None
        return static is not None and callable(static.value)

    def is_global_function(self, value: ast.expr) -> bool:
        """Whether an expression names a function that is defined outside of this one."""
        named = isinstance(value, (ast.Name, ast.Subscript)) and not self.is_closure(value)
        return named and self.is_function(value)

    def arguments(self, closure: Closure, node: ast.Call) -> list[tuple[str, ast.expr]]:
        """Bind a closure's parameters to the arguments of a call, in the order of evaluation."""
        args = closure.node.args
        names = parameters(closure.node)
        given = dict(zip(names[: len(names) - len(args.kwonlyargs)], node.args, strict=False))
        wrong = len(node.args) > len(names) - len(args.kwonlyargs) or any(isinstance(x, ast.Starred) for x in node.args)
        for k in node.keywords:
            wrong |= k.arg is None or k.arg in given or k.arg not in names
            given[str(k.arg)] = k.value
        places = [a.arg for a in [*args.posonlyargs, *args.args]]
        defaults = dict(zip(places[len(places) - len(args.defaults) :], args.defaults, strict=True))
        defaults |= {a.arg: x for a, x in zip(args.kwonlyargs, args.kw_defaults, strict=True) if x is not None}
        if wrong or any(x not in given and x not in defaults for x in names):
            what = f"the call of {readable(closure.name)}"
            self.scope.refuse(node, what, "it has other parameters", "its arguments, one by one")
        for k in node.keywords:
            if k.arg in places and k.arg in defaults:
                what = f"the argument {k.arg}, given by its name to {readable(closure.name)},"
                self.scope.refuse(
                    node, what, "numba takes its default there", "the argument at its place, without its name"
                )
        rest = [(x, ast.copy_location(renamed(defaults[x], {}), node)) for x in names if x not in given]
        return [*given.items(), *rest]

    # Conditions, and `and` and `or` of numbers

    def test(self, node: ast.expr) -> ast.expr:
        """Desugar a condition: of `and` and `or` only the truth value counts."""
        if isinstance(node, ast.BoolOp):
            node.values = [self.test(x) for x in node.values]
            return node
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            node.operand = self.test(node.operand)
            return node
        made: ast.expr = self.visit(node)
        return made

    def visit_If(self, node: Any) -> Any:
        """Desugar a statement or an expression with a condition."""
        test, node.test = node.test, ast.Constant(True)
        self.generic_visit(node)
        node.test = self.test(test)
        return node

    visit_While = visit_IfExp = visit_Assert = visit_If  # noqa: N815

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        """Desugar `not` as a condition, and other operators by their operand."""
        if isinstance(node.op, ast.Not):
            return self.test(node)
        self.generic_visit(node)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        """Desugar `x or y`, which is one of the two, to a conditional expression; bools stay conditions."""
        if all(map(is_bool, node.values)):
            return self.test(node)
        made = self.visit(node.values[-1])
        for x in reversed(node.values[:-1]):
            name = self.local("value")
            first = assigned(name, self.visit(x), x)
            both = (read(name), made)
            choice = ast.IfExp(read(name), *(both if isinstance(node.op, ast.Or) else both[::-1]))
            made = Inlined.of([first], choice)
            located(made, node)
        return made

    # Lists

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """Desugar `[x] * n` to a comprehension that computes `x` once."""
        self.generic_visit(node)
        once = isinstance(node.left, ast.List) and len(node.left.elts) == 1
        if not once or not isinstance(node.op, ast.Mult):
            return node
        assert isinstance(node.left, ast.List)
        name, counter = self.local("item"), ast.Name(self.local("i"), ast.Store())
        rounds = ast.Call(builtin("range"), [node.right], [])
        made = ast.ListComp(read(name), [ast.comprehension(counter, rounds, [], 0)])
        whole = Inlined.of([assigned(name, node.left.elts[0], node)], made)
        located(whole, node)
        return whole

    def visit_ListComp(self, node: Any) -> Any:
        """Rename the variables of a comprehension (alpha conversion); desugar one of several loops."""
        targets = {x.id for g in node.generators for x in ast.walk(g.target) if isinstance(x, ast.Name)}
        names: dict[str, ast.expr | str] = {x: self.local(x) for x in sorted(targets)}
        first = node.generators[0].iter
        made = ast.Tuple([ast.Constant(0)], ast.Load())
        node.generators[0].iter = made  # it is no part of the comprehension's own scope
        parts = [node.elt, *(x for g in node.generators for x in (g.target, g.iter, *g.ifs))]
        done = iter([renamed(x, names) for x in parts])
        node.elt = next(done)
        for g in node.generators:
            g.target, g.iter, g.ifs = next(done), next(done), [next(done) for _ in g.ifs]
        node.generators[0].iter = first
        if len(node.generators) > 1:
            return self.several_loops(node)
        self.generic_visit(node)
        return node

    def several_loops(self, node: ast.ListComp) -> ast.expr:
        """Desugar a comprehension of several loops to nested loops that append to a list, and a copy of it."""
        name = self.local("items")
        add = ast.Call(ast.Attribute(read(name), "append", ast.Load()), [node.elt], [])
        body: list[ast.stmt] = [ast.Expr(add)]
        for g in reversed(node.generators):
            for test in reversed(g.ifs):
                body = [ast.If(test, body, [])]
            body = [ast.For(g.target, g.iter, body, [])]
        for s in body:
            located(s, node)
        start = assigned(name, ast.List([], ast.Load()), node)
        whole = ast.Subscript(read(name), ast.Slice(None, None, None), ast.Load())
        made = Inlined.of([start, *self.block(body)], whole)
        located(made, node)
        return made

    # Statements

    def visit_For(self, node: ast.For) -> Any:
        """Desugar a loop over an iterator, a generator, indices, memory, or a tuple to unroll."""
        node = self.spellings.loop(node)
        if (rest := self.iterators.loop(node)) is not None:
            return self.visit(rest)
        if not (isinstance(node.iter, ast.Call) and self.is_closure(node.iter.func)):
            consumed = self.generators.loop(node, self.block)
            if consumed is not None:
                return consumed
        call = node.iter
        static = None
        if isinstance(call, ast.Call) and not call.keywords and isinstance(call.func, (ast.Name, ast.Attribute)):
            static = self.scope.static(call.func) if not self.is_closure(call.func) else None
        nested = None
        if static is not None and static.value is np.nditer:
            nested = over_memory(node, self.local, self.scope.functions)
        elif static is not None and ast.Break not in exits_of(node.body) and not node.orelse:
            assert isinstance(call, ast.Call)
            if static.value is np.ndindex or describe(static.value) == "numba.misc.special.pndindex":
                nested = self.nests.over_indices(node, node.target, call.args)
            elif static.value is np.ndenumerate and len(call.args) == 1:
                nested = self.nests.over_elements(node, call.args[0])
        if static is not None and static.value is np.ndenumerate and nested is None:
            nested = self.nests.in_one_loop(node, self.scope.functions)
        if nested is not None:
            return self.block(nested)
        if static is not None and describe(static.value) == "numba.misc.special.literal_unroll":
            unrolled = self.unrolling.loop(node)
            if unrolled is not None:
                return self.block(unrolled)
        self.generic_visit(node)
        return node

    def is_closure(self, node: ast.expr) -> bool:
        """Whether an expression names a closure."""
        return isinstance(node, ast.Name) and node.id in self.closures

    def visit_Match(self, node: ast.Match) -> Any:
        """Desugar a `match` statement."""
        return self.block(self.matching.statement(node))
