"""Lower expressions to A-normal form; conditions without calls of the user's functions stay whole."""

# ruff: noqa: N802 - methods are named after the nodes of the syntax tree, as in ast.NodeVisitor

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types
from numba.core.registry import CPUDispatcher
from numba.np.numpy_support import as_dtype
from numba.typed import List

from dualrev.compiler.frontend.desugar.closures import Inlined
from dualrev.compiler.frontend.desugar.operators import IN_PLACE
from dualrev.compiler.frontend.desugar.spellings import is_bool, joined
from dualrev.compiler.frontend.lowering.opaque_exprs import WrittenAsTheyAre
from dualrev.compiler.frontend.messages import EXPRESSIONS, about_function
from dualrev.compiler.frontend.reading.ad_operators import FROM_PYTHON
from dualrev.compiler.frontend.reading.callables import callable_name, global_value, is_generalized, is_ufunc
from dualrev.compiler.frontend.reading.jitclass_methods import constructor, is_jitclass
from dualrev.compiler.frontend.reading.njit_options import copied, differing, is_copied, of_caller
from dualrev.compiler.frontend.reading.source import Static, describe, is_derivative, is_numba_function
from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf import to_python
from dualrev.eager.numba_rules import Ruled
from dualrev.rules.emitted_names import BINARY, CASTS, COMPARE
from dualrev.rules.functions import known

__all__ = ["Expressions"]


class Expressions(WrittenAsTheyAre):
    """Lowering of expressions: each becomes statements that bind its value to a name."""

    def atom(self, node: ast.expr) -> anf.Atom:
        """Lower an expression to an atom."""
        if isinstance(node, ast.Name) and node.id in self.locals and node.id not in self.functions:
            return self.name(node.id)
        static = self.static(node)
        if static is not None:
            return self.constant(node, static)
        return self.expr(node)

    def variable(self, node: ast.expr) -> str:
        """Lower an expression to a variable; a constant is copied to a temporary."""
        x = self.atom(node)
        if isinstance(x, str):
            return x
        return self.emit(anf.Copy(self.temp(), x, node.lineno))

    def expr(self, node: ast.expr, target: str | None = None) -> anf.Atom:
        """Lower an expression, and bind its value to `target` or to a temporary."""
        if target is None and isinstance(node, (ast.Name, ast.Constant)):
            return self.atom(node)
        static = self.static(node)
        if isinstance(node, ast.Name) or static is not None:
            assert target is not None or static is not None
            if target is None:
                assert static is not None
                return self.constant(node, static)
            return self.emit(anf.Copy(target, self.atom(node), node.lineno))
        method = getattr(self, f"_{type(node).__name__}", None)
        if method is None:
            unknown = f"a {type(node).__name__} expression", "the compiler does not know it", "it in other words"
            return self.refuse(node, *EXPRESSIONS.get(type(node).__name__, unknown))
        return method(node, target if target is not None else self.temp())

    def _BinOp(self, node: ast.BinOp, target: str) -> anf.Atom:
        left, right = self.atom(node.left), self.atom(node.right)
        return self.emit(anf.BinOp(target, BINARY[type(node.op)], left, right, node.lineno))

    def _UnaryOp(self, node: ast.UnaryOp, target: str) -> anf.Atom:
        if isinstance(node.op, ast.Not):
            return self.condition(node, target)
        symbol = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}[type(node.op)]
        return self.emit(anf.UnaryOp(target, symbol, self.atom(node.operand), node.lineno))

    def _Compare(self, node: ast.Compare, target: str) -> anf.Atom:
        return self.condition(node, target)

    def _BoolOp(self, node: ast.BoolOp, target: str) -> anf.Atom:
        return self.condition(node, target)

    def condition(self, node: ast.expr, target: str) -> anf.Atom:
        """Lower comparisons and `and`, `or`, `not`: whole if plain, else with short-circuit evaluation."""
        names: list[str] = []
        expression = self.plain(node, names)
        if expression is not None:
            return self.emit(anf.Discrete(target, tuple(dict.fromkeys(names)), expression, node.lineno))
        line = node.lineno
        if isinstance(node, ast.UnaryOp):
            operand = self.variable(node.operand)
            tree = ast.UnaryOp(ast.Not(), _truth(node.operand, ast.Name(operand)))
            return self.emit(anf.Discrete(target, (operand,), tree, line))
        result = self.temp()  # what follows may read the target
        if isinstance(node, ast.BoolOp):
            self.operand(node.values[0], result)
            self.shortcut(isinstance(node.op, ast.And), node.values[1:], result, line)
        else:
            assert isinstance(node, ast.Compare)
            self.comparison(self.variable(node.left), node.ops, node.comparators, result, node)
        return self.emit(anf.Copy(target, result, line))

    def operand(self, node: ast.expr, result: str) -> None:
        """The truth of an operand of `and` or `or`."""
        if is_bool(node):
            self.expr(node, result)
        else:
            self.emit(anf.CallKnown(result, "bool", (self.atom(node),), node.lineno))

    def shortcut(self, conjunction: bool, values: list[ast.expr], result: str, line: int) -> None:
        """Emit the other operands of an `and` or `or`, evaluated only while the result is undecided."""
        if values:

            def work() -> None:
                """Emit the next operand, and the ones behind it."""
                self.operand(values[0], result)
                self.shortcut(conjunction, values[1:], result, line)

            more = self.collect(work)
            self.add(anf.If(result, *((more, []) if conjunction else ([], more)), line))

    def comparison(self, left: str, ops: list[ast.cmpop], others: list[ast.expr], result: str, node: ast.expr) -> None:
        """Emit a chained comparison, which ends with the first that fails."""
        if isinstance(others[0], (ast.Tuple, ast.List)) and isinstance(ops[0], (ast.In, ast.NotIn)):
            right = self.variable(ast.Tuple(others[0].elts, ast.Load(), lineno=node.lineno))
        else:
            right = self.variable(others[0])
        tree = ast.Compare(ast.Name(left), ops[:1], [ast.Name(right)])
        self.emit(anf.Discrete(result, tuple(dict.fromkeys((left, right))), tree, node.lineno))
        if len(ops) > 1:
            more = self.collect(lambda: self.comparison(right, ops[1:], others[1:], result, node))
            self.add(anf.If(result, more, [], node.lineno))

    def plain(self, node: ast.AST, names: list[str]) -> ast.expr | None:
        """Rename a pure expression to core's names; None if it has effects or needs types."""
        if isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and self.static(node) is not None):
            static = self.static(node)
            if static is None:
                assert isinstance(node, ast.Name)
                names.append(self.name(node.id))
                return ast.Name(self.name(node.id))
            number = type(static.value) in (int, float, bool) and math.isfinite(static.value)
            return ast.Constant(static.value) if number else None
        if isinstance(node, ast.Constant):
            return None if isinstance(node.value, (complex, bytes)) else node
        if isinstance(node, ast.Call):
            static = self.static(node.func) if not node.keywords else None
            text = callable_name(static.value) if static is not None else None
            if text is None or not known(text).pure:
                return None
            return self.rebuilt(names, node.args, lambda args: to_python.call(text, *args))
        if isinstance(node, ast.Compare) and all(type(op) in COMPARE - {ast.In, ast.NotIn} for op in node.ops):
            operands = [node.left, *node.comparators]
            return self.rebuilt(names, operands, lambda xs: ast.Compare(xs[0], node.ops, xs[1:]))
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)) and len(node.ops) == 1:
            return self.membership(node, names)
        if isinstance(node, ast.BoolOp):
            return self.rebuilt(names, node.values, lambda xs: ast.BoolOp(node.op, list(map(_truth, node.values, xs))))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return self.rebuilt(names, [node.operand], lambda xs: ast.UnaryOp(node.op, _truth(node.operand, xs[0])))
        if isinstance(node, ast.UnaryOp):
            return self.rebuilt(names, [node.operand], lambda xs: ast.UnaryOp(node.op, xs[0]))
        if isinstance(node, ast.BinOp) and type(node.op) in BINARY and not isinstance(node.op, ast.MatMult):
            return self.rebuilt(names, [node.left, node.right], lambda xs: ast.BinOp(xs[0], node.op, xs[1]))
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            if node.value.id in self.list_names:
                return None  # whether there is such an element is looked at first
            several = isinstance(node.slice, ast.Tuple)
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            if self.static(node.value) is not None or any(isinstance(x, (ast.Slice, ast.Starred)) for x in parts):
                return None

            def element(xs: list[ast.expr]) -> ast.expr:
                """Build the subscript of these operands."""
                return ast.Subscript(xs[0], ast.Tuple(xs[1:], ast.Load()) if several else xs[1], ast.Load())

            return self.rebuilt(names, [node.value, *parts], element)
        return None

    def rebuilt(
        self, names: list[str], operands: list[ast.expr], make: Callable[[list[ast.expr]], ast.expr]
    ) -> ast.expr | None:
        """Apply `make` to the operands in plain form; None if one of them is not plain."""
        done: list[ast.expr] = []
        for x in operands:
            made = self.plain(x, names)
            if made is None:
                return None
            done.append(made)
        return make(done)

    def membership(self, node: ast.Compare, names: list[str]) -> ast.expr | None:
        """Rewrite `x in (a, b)` as `x == a or x == b`."""
        right = node.comparators[0]
        if isinstance(right, ast.Name) and right.id in self.locals:
            return self.rebuilt(names, [node.left, right], lambda xs: ast.Compare(xs[0], node.ops, xs[1:]))
        if not isinstance(right, (ast.Tuple, ast.List)) or not isinstance(node.left, ast.Name):
            return None
        equal: ast.cmpop = ast.Eq() if isinstance(node.ops[0], ast.In) else ast.NotEq()
        join: ast.boolop = ast.Or() if isinstance(node.ops[0], ast.In) else ast.And()

        def make(xs: list[ast.expr]) -> ast.expr:
            """Build the tests of `x` against each item."""
            tests: list[ast.expr] = [ast.Compare(xs[0], [equal], [x]) for x in xs[1:]]
            return (
                ast.BoolOp(join, tests)
                if len(tests) > 1
                else tests[0]
                if tests
                else ast.Constant(isinstance(join, ast.And))
            )

        return self.rebuilt(names, [node.left, *right.elts], make) if right.elts else None

    def _IfExp(self, node: ast.IfExp, target: str) -> anf.Atom:
        test = self.atom(node.test)
        result = self.temp()  # the branches may read the target
        then = self.collect(lambda: self.expr(node.body, result))
        orelse = self.collect(lambda: self.expr(node.orelse, result))
        self.add(anf.If(test, then, orelse, node.lineno))
        return self.emit(anf.Copy(target, result, node.lineno))

    def _Inlined(self, node: Inlined, target: str) -> anf.Atom:
        self.block_into(node.body)
        return self.expr(node.value, target)

    def _Tuple(self, node: ast.Tuple, target: str) -> anf.Atom:
        if any(isinstance(x, ast.Starred) for x in node.elts):
            return self.expr(joined(node), target)
        return self.emit(anf.MakeTuple(target, tuple(self.atom(x) for x in node.elts), node.lineno))

    def _List(self, node: ast.List, target: str) -> anf.Atom:
        if any(isinstance(x, ast.Starred) for x in node.elts):
            return self.refuse(node, "a starred expression in a list", "its length is not known", "an array (np.empty)")
        if not node.elts:
            return self.empty_list(target, False, node.lineno)
        made = self.emit(anf.MakeList(self.temp(), tuple(self.atom(x) for x in node.elts), node.lineno))
        return self.emit(anf.Copy(target, made, node.lineno))

    def empty_list(self, target: str, typed: bool, line: int) -> anf.Atom:
        """Emit an empty list: `[]`, or numba's typed `List()`."""
        made = self.emit(anf.AllocList(self.temp(), anf.Const(0), line, typed))
        return self.emit(anf.Copy(target, made, line))

    def _Attribute(self, node: ast.Attribute, target: str) -> anf.Atom:
        return self.emit(anf.GetAttr(target, self.variable(node.value), node.attr, node.lineno))

    def _Subscript(self, node: ast.Subscript, target: str) -> anf.Atom:
        base = self.atom(node.value)
        if isinstance(base, anf.Const) and isinstance(base.value, (str, bytes)):
            base = self.variable(node.value)
        if isinstance(base, anf.Const):
            return self.refuse(node, "an index of a constant", "it is no array or tuple", "the value itself")
        return self.emit(anf.GetItem(target, base, self.index(node.slice), node.lineno))

    def index(self, node: ast.expr) -> anf.Index:
        """Lower the entries of a subscript."""
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        entries: list[anf.Entry] = []
        for part in parts:
            if isinstance(part, ast.Slice):
                lower, upper, step = (None if x is None else self.atom(x) for x in (part.lower, part.upper, part.step))
                entries.append(anf.Slice(lower, upper, step))
            elif isinstance(part, ast.Starred):
                self.refuse(part, "a starred index", "its length is not known", "every index")
            elif isinstance(part, ast.Constant) and part.value is Ellipsis:
                entries.append(Ellipsis)
            else:
                static = self.static(part)
                entries.append(None if static is not None and static.value is None else self.atom(part))
        return tuple(entries)

    # Calls

    def _Call(self, node: ast.Call, target: str) -> anf.Atom:
        if any(k.arg is None for k in node.keywords):
            return self.refuse(node, "a call with **", "the names of the arguments are not known", "every argument")
        static = self.static(node.func)
        starred = any(isinstance(x, ast.Starred) for x in node.args)
        if static is None and (called := self.class_method(node, target)) is not None:
            return called
        if static is None:
            if isinstance(node.func, ast.Attribute) and not starred:
                base = self.variable(node.func.value)
                values = [*node.args, *(k.value for k in node.keywords)]
                arguments = tuple(self.function_argument(x) for x in values)
                keywords = tuple(str(k.arg) for k in node.keywords)
                return self.emit(anf.CallMethod(target, base, node.func.attr, arguments, node.lineno, keywords))
            of = self.static(node.func.func) if isinstance(node.func, ast.Call) else None
            if of is not None and describe(of.value).startswith("dualrev."):
                return self.refuse(node, f"dr.{of.value.__name__} in a numba function", *FROM_PYTHON)
            if of is not None and (about := about_function(describe(of.value))) is not None:
                return self.refuse(node, f"the call of {describe(of.value)}", *about)
            return self.refuse(node, "a call of a variable", "which function it is, is not known", "a numba function")
        f = static.value
        if getattr(type(f), "is_variadic", False):
            if starred or node.keywords:
                what, why = "a derivative of a function with *args", "how many arguments it gets, is not said here"
                return self.refuse(node, what, why, "every argument, by position")
            count = len(node.args)
            return self.call_of_numba_function(node, Static(f[count], (*static.path, ("item", count))), target)
        if is_numba_function(f):
            return self.call_of_numba_function(node, static, target)
        if isinstance(f, type) and issubclass(f, tuple) and hasattr(f, "_fields"):
            defaults = {k: self.constant(node, Static(x, ())) for k, x in getattr(f, "_field_defaults", {}).items()}
            return self.call_of(node, anf.MakeTuple, self.ref(static), list(f._fields), defaults, target)
        if is_jitclass(f):
            names, defaults = self.signature(node, constructor(self.refs, self.names, static))
            return self.call_of(node, anf.MakeObject, self.ref(static), names[1:], defaults, target)
        if name := global_value(f):
            why = f"numba has frozen the global {name} in it, and does not tell when"
            return self.refuse(node, f"the call of {describe(f)}", why, f"{name} as an argument, or njit")
        if is_ufunc(f) or is_generalized(f):
            if node.keywords or any(isinstance(x, ast.Starred) for x in node.args):
                return self.refuse(node, f"the call of {describe(f)}", "only plain arguments are known", "its inputs")
            return self.emit(
                anf.CallUfunc(target, self.ref(static), tuple(self.atom(x) for x in node.args), node.lineno)
            )
        text = callable_name(f)
        if f in (list, List) and not (node.args or node.keywords):
            return self.empty_list(target, f is List, node.lineno)
        if (
            getattr(f, "__module__", "") == "_operator"
            and f in IN_PLACE
            and len(node.args) == 2
            and not (node.keywords or starred)
        ):
            changed = self.expr(node.args[0], self.temp())  # another name of an array, and a number of its own
            same = self.emit(anf.Copy(self.temp(), changed, node.lineno))
            self.emit(anf.InplaceOp(same, IN_PLACE[f], same, self.atom(node.args[1]), node.lineno))
            return self.emit(anf.Copy(target, same, node.lineno))
        if text is None:
            return self.unknown_call(node, static, target)
        if text in ("np.array", "np.asarray") and node.args and isinstance(node.args[0], (ast.Tuple, ast.List)):
            return self.literal(node, target)
        values = [*node.args, *(k.value for k in node.keywords)]  # evaluated as they are written
        made = {id(x): self.function_argument(x.value if isinstance(x, ast.Starred) else x) for x in values}
        given = ordered(node, text)
        keywords = tuple(k for k, _ in given if k)
        atoms = tuple(made[id(x)] for _, x in given)
        if starred:
            stars = tuple(isinstance(x, ast.Starred) for _, x in given)
            return self.emit(
                anf.CallStarred(target, anf.Star(anf.CallKnown, text, stars, keywords, (), {}), atoms, node.lineno)
            )
        return self.emit(anf.CallKnown(target, text, atoms, node.lineno, keywords))

    def call_of_numba_function(self, node: ast.Call, static: Static, target: str) -> anf.Atom:
        """Emit the call of a numba function; clone one that numba inlines under other options."""
        f, caller = static.value, self.source.dispatcher
        if is_copied(f) and (options := differing(caller, f)):
            if f.targetoptions["inline"] != "always" or type(f) is not CPUDispatcher:
                why = f"numba may copy it into its caller (inline=...), whose {options[0]} is another"
                self.refuse(node, f"the call of {describe(f.py_func)}", why, "the same options for both")
            path = (*static.path, ("copied", of_caller(caller)))
            known = (ref.value for ref in self.refs.values() if ref.path == path)
            f = next(known, None) or copied(f, path[-1][1])
            static = Static(f, path)
        if inspect.isgeneratorfunction(f.py_func):
            what = f"the call of the generator {describe(f.py_func)}"
            why = "it is known in a loop over it: `for y in g(x):`"
            return self.refuse(node, what, why, "such a loop, or an array of the results")
        self.calls.append(static)
        return self.call_of(node, anf.CallUser, self.ref(static), *self.signature(node, static), target)

    def literal(self, node: ast.Call, target: str) -> anf.Atom:
        """Lower `np.array` of a list or a tuple, which may be nested."""
        items: list[anf.Atom] = []

        def visit(x: ast.expr) -> Any:
            """Lower the items; return their positions, nested as they are."""
            if isinstance(x, (ast.Tuple, ast.List)):
                return [visit(y) for y in x.elts]
            items.append(self.atom(x))
            return len(items) - 1

        places = visit(node.args[0])
        dtypes = [*node.args[1:], *(k.value for k in node.keywords)]
        if len(dtypes) > 1 or any(k.arg != "dtype" for k in node.keywords):
            self.refuse(node, "np.array with these arguments", "only dtype is known", "np.array(values, dtype)")
        dtype = tuple(map(self.function_argument, dtypes))
        return self.emit(anf.MakeArray(target, tuple(items), places, node.lineno, dtype))

    def function_argument(self, node: ast.expr) -> anf.Atom:
        """Lower an argument of a function with a rule: to an atom, or to a reference to a dtype."""
        static = self.static(node)
        value = None if static is None else static.value
        if isinstance(value, (types.Number, types.Boolean)):  # numba's own, as numba.float64
            value = as_dtype(value).type
        if isinstance(value, (type, np.dtype)):
            kind = CASTS.get(np.dtype(value).type)  # float is np.float64 here
            if kind is None:
                cure = "an array for each field" if np.dtype(value).fields else "np.float64"
                self.refuse(node, f"the dtype {value}", "it is no float, int or bool", cure)
            assert kind is not None
            return anf.Ref(kind, value)
        return self.atom(node)

    def signature(self, node: ast.Call, static: Static) -> tuple[list[str], dict[str, anf.Atom]]:
        """Return the parameters of a numba function, and the defaults of those that have one."""
        names, defaults = [], {}
        every = list(inspect.signature(static.value.py_func).parameters.values())
        for p in every:
            plain = not isinstance(static.value, Ruled) and not is_derivative(static.value) and p is every[-1]
            if p.kind is p.VAR_KEYWORD or (p.kind is p.VAR_POSITIONAL and not plain):
                stars = "**kwargs" if p.kind is p.VAR_KEYWORD else "*args"
                self.refuse(
                    node, f"the call of {describe(static.value.py_func)}", f"it has {stars}", "named parameters"
                )
            names.append(p.name)
            if p.default is not p.empty:
                defaults[p.name] = self.constant(node, Static(p.default, (*static.path, ("default", p.name))))
        return names, defaults

    def call_of(
        self,
        node: ast.Call,
        makes: type[anf.CallUser] | type[anf.MakeTuple] | type[anf.MakeObject],
        ref: anf.Ref,
        names: list[str],
        defaults: dict[str, anf.Atom],
        target: str,
    ) -> anf.Atom:
        """Emit a call, its arguments bound to these parameters; starred arguments are bound later."""
        values = [*node.args, *(k.value for k in node.keywords)]
        atoms = tuple(self.atom(x.value if isinstance(x, ast.Starred) else x) for x in values)
        keywords = tuple(str(k.arg) for k in node.keywords)
        stars = tuple(isinstance(x, ast.Starred) for x in values)
        rest = names[-1] if makes is anf.CallUser and to_python.takes_rest(ref.value) else ""
        star = anf.Star(makes, ref, stars, keywords, tuple(names), defaults, rest)
        if any(stars):
            return self.emit(anf.CallStarred(target, star, atoms, node.lineno))
        args = star.bound(
            list(atoms),
            lambda why: self.refuse(node, f"the call of {describe(ref.value)}", why, "its arguments"),
            lambda rest: self.emit(anf.MakeTuple(self.temp(), tuple(rest), node.lineno)),
        )
        return self.emit(star.call(target, tuple(args), node.lineno))


def _truth(written: ast.expr, tree: ast.expr) -> ast.expr:
    """Operand of `and`, `or` or `not` under bool(), as numba has it; write_truth.py leaves it out for numbers."""
    return tree if is_bool(written) else to_python.call("bool", tree)


def ordered(node: ast.Call, text: str) -> list[tuple[str, ast.expr]]:
    """Return the arguments of a call as (keyword or "", value); known keywords become positional."""
    given = [("", x) for x in node.args]
    keywords = {str(k.arg): k.value for k in node.keywords}
    for name in known(text).names[len(given) :]:
        if name not in keywords:
            break
        given.append(("", keywords.pop(name)))
    return given + list(keywords.items())
