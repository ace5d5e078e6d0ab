"""A numba function's syntax tree -> core (A-normal form): every intermediate value gets a name.

Nothing is known of types here; the result means in Python what the function means. Three things change their form:

    break, continue, return    flags (`_break1 = True`), else-branches in place of what they skip, and loops that end
                               when a flag is set
    for x in a, zip, enumerate,
    reversed                   for k in range(n): x = a[k]; ...
    and, or, conditionals,     If; conditions without calls of the user's functions stay as they are written (`plain`),
    comparisons                since nothing in them is differentiated

Whatever has no case here is refused, with its line.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

from dualrev.compiler.core import Atom, Const, Effect, For, If, Let, Ref, Slice, Store, While, reads, walk
from dualrev.compiler.names import BINARY, CASTS, COMPARE, canonical, pure_functions
from dualrev.compiler.source import Source, Static, describe, is_numba_function
from dualrev.primitives import PRIMITIVES

__all__ = ["Lowered", "lower"]

#: Names that emitted code has for itself.
_RESERVED = re.compile(r"(math|np|numba|njit|runtime|tape|words|top|ct|BASE|KEPT)_*|(d_)?(result|final|ct|trips)_\d+_*|kept_.*|[dt]_.*")


@dataclass(eq=False)
class Lowered:
    """A function in core: it computes `result` from its parameters."""

    source: Source
    parameters: list[str]
    body: list[Any]
    result: Atom
    refs: dict[str, Ref] = field(default_factory=dict)
    constants: dict[str, Static] = field(default_factory=dict)  # parameters that are functions


@dataclass
class _Loop:
    stop: str  # the flag that `break` sets
    skip: str  # the flag that `continue` sets


def lower(source: Source, path: tuple[Any, ...], functions: dict[str, Static], refs: dict[str, Ref]) -> Lowered:
    """The function in core; `functions` are the parameters that stand for functions, refs the module's names."""
    return _Lowering(source, path, functions, refs).run()


class _Lowering:
    def __init__(
        self, source: Source, path: tuple[Any, ...], functions: dict[str, Static], refs: dict[str, Ref]
    ) -> None:
        self.source, self.path, self.functions, self.refs = source, path, functions, refs
        self.out: list[Any] = []
        self.loops: list[_Loop] = []
        self.count = 0
        args = source.tree.args
        if args.vararg or args.kwarg:
            self.refuse(source.tree, "*args or **kwargs", "the number of arguments is not known", "every argument")
        self.parameters = [a.arg for a in [*args.posonlyargs, *args.args, *args.kwonlyargs]]
        self.assigned = self._assigned(source.tree.body)
        self.locals = {*self.parameters, *self.assigned}
        self.own_names: dict[str, str] = {}

    def run(self) -> Lowered:
        tree = self.source.tree
        for node in ast.walk(tree):
            if isinstance(node, (ast.Global, ast.Nonlocal)):
                self.refuse(node, "a `global` or `nonlocal` statement", "numba functions change no globals", "arguments")
        body = tree.body
        single = isinstance(body[-1], ast.Return) and not any(_exits(s) for s in body[:-1])
        if single:
            self.block_into(body[:-1])
            last = body[-1]
            assert isinstance(last, ast.Return)
            result = self.atom(last.value) if last.value is not None else Const(None)
        else:
            self.let("_return", "copy", (Const(False),), None, tree.lineno)
            self.block_into(body)
            if not _always(body):
                result_set = Let("_result", "copy", (Const(None),), None, tree.lineno)
                if any(isinstance(n, ast.Return) for n in ast.walk(tree)):
                    self.out.append(If("_return", [], [result_set], tree.lineno))
                    result = "_result"
                else:
                    result = Const(None)
            else:
                result = "_result"
        parameters = [self.name(p) for p in self.parameters]
        _drop_unread(self.out, result)
        return Lowered(self.source, parameters, self.out, result, self.refs, self.functions)

    # Names and constants

    def refuse(self, node: Any, what: str, why: str, instead: str) -> Any:
        self.source.refuse(node, what, why, instead)

    def name(self, name: str) -> str:
        """What a variable of the user's is called here."""
        if name not in self.own_names:
            made = name
            if name.startswith("_") or _RESERVED.fullmatch(name):
                made = f"u_{name.lstrip('_')}"
                while made in self.locals or made in self.own_names.values():
                    made += "_"
            self.own_names[name] = made
        return self.own_names[name]

    def temp(self) -> str:
        self.count += 1
        return f"_{self.count}"

    @staticmethod
    def _assigned(body: list[ast.stmt]) -> set[str]:
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
                return Static(getattr(base.value, node.attr), (*base.path, ("attr", node.attr)))
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
            node, f"a value of type {type(x).__name__}", "it is no number, array, tuple or numba function", "one of these"
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

    # Statements that are written

    def let(self, target: str, op: str, args: tuple[Any, ...], info: Any, line: int) -> str:
        self.out.append(Let(target, op, args, info, line))
        return target

    def collect(self, work: Callable[[], None]) -> list[Any]:
        """The statements that a piece of work writes."""
        before, self.out = self.out, []
        try:
            work()
            return self.out
        finally:
            self.out = before

    def block(self, body: list[ast.stmt]) -> list[Any]:
        return self.collect(lambda: self.block_into(body))

    def block_into(self, body: list[ast.stmt]) -> None:
        for k, s in enumerate(body):
            rest = body[k + 1 :]
            if isinstance(s, ast.If) and _exits(s):
                then, orelse = s.body, s.orelse
                if rest and _always(then):
                    orelse, rest = orelse + rest, []
                elif rest and _always(orelse):
                    then, rest = then + rest, []
                test = self.atom(s.test)
                self.out.append(If(test, self.block(then), self.block(orelse), s.lineno))
                return self.guarded(rest, _exits(s), s.lineno)
            self.statement(s)
            if isinstance(s, (ast.Break, ast.Continue, ast.Return)):
                return None
            if isinstance(s, (ast.For, ast.While)) and _exits(s):
                return self.guarded(rest, _exits(s), s.lineno)
        return None

    def guarded(self, rest: list[ast.stmt], exits: set[type], line: int) -> None:
        """What follows a statement that may have left the block."""
        if not rest:
            return
        flags = []
        if ast.Return in exits:
            flags.append("_return")
        if ast.Break in exits:
            flags.append(self.loops[-1].stop)
        if ast.Continue in exits:
            flags.append(self.loops[-1].skip)
        test = ast.parse(" or ".join(flags), mode="eval").body
        left = flags[0] if len(flags) == 1 else self.let(self.temp(), "plain", tuple(flags), test, line)
        self.out.append(If(left, [], self.block(rest), line))

    def statement(self, s: ast.stmt) -> None:
        method = getattr(self, f"_{type(s).__name__}", None)
        if method is None:
            what, instead = _STATEMENTS.get(type(s).__name__, (f"a `{type(s).__name__.lower()}` statement", "it in other words"))
            self.refuse(s, what, "the compiler does not know it", instead)
        method(s)

    def _Pass(self, s: ast.Pass) -> None:  # noqa: N802 - named after the node, as in ast.NodeVisitor
        pass

    def _Break(self, s: ast.Break) -> None:  # noqa: N802
        self.let(self.loops[-1].stop, "copy", (Const(True),), None, s.lineno)

    def _Continue(self, s: ast.Continue) -> None:  # noqa: N802
        self.let(self.loops[-1].skip, "copy", (Const(True),), None, s.lineno)

    def _Return(self, s: ast.Return) -> None:  # noqa: N802
        self.expr(s.value if s.value is not None else ast.Constant(None, lineno=s.lineno), "_result")
        self.let("_return", "copy", (Const(True),), None, s.lineno)

    def _Expr(self, s: ast.Expr) -> None:  # noqa: N802
        if isinstance(s.value, ast.Constant):
            return
        if isinstance(s.value, ast.Call):
            static = self.static(s.value.func)
            if static is not None and static.value is print:
                args = tuple(self.atom(x) for x in s.value.args)
                holes = ", ".join("{}" for _ in args)
                self.out.append(Effect(f"print({holes})", args, s.lineno))
                return
        self.expr(s.value)

    def _Assert(self, s: ast.Assert) -> None:  # noqa: N802
        test = self.atom(s.test)
        message = self.atom(s.msg) if s.msg is not None else None
        text = "raise AssertionError" + ("({})" if message is not None else "")
        self.out.append(If(test, [], [Effect(text, () if message is None else (message,), s.lineno, True)], s.lineno))

    def _Raise(self, s: ast.Raise) -> None:  # noqa: N802
        if s.exc is None or s.cause is not None:
            self.refuse(s, "a `raise` without an exception or with a cause", "numba has none", "raise Error(...)")
        assert s.exc is not None
        call = s.exc if isinstance(s.exc, ast.Call) else ast.Call(s.exc, [], [])
        static = self.static(call.func)
        if static is None or not (isinstance(static.value, type) and issubclass(static.value, BaseException)):
            self.refuse(s, "a `raise` of something that is no exception class", "numba has none", "raise Error(...)")
        assert static is not None
        name = static.value.__name__ if not static.path else self.ref(static).name
        args = tuple(self.atom(x) for x in call.args)
        holes = ", ".join("{}" for _ in args)
        text = f"raise {name}" + (f"({holes})" if isinstance(s.exc, ast.Call) else "")
        self.out.append(Effect(text, args, s.lineno, True))

    def _AnnAssign(self, s: ast.AnnAssign) -> None:  # noqa: N802
        if s.value is not None:
            self.assign(s.target, s.value, s)

    def _Assign(self, s: ast.Assign) -> None:  # noqa: N802
        if len(s.targets) == 1:
            self.assign(s.targets[0], s.value, s)
        else:
            value = self.atom(s.value)
            for target in s.targets:
                self.store(target, value, s)

    def assign(self, target: ast.expr, value: ast.expr, s: ast.stmt) -> None:
        if isinstance(target, ast.Name):
            self.expr(value, self.name(target.id))
        elif isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (ast.Tuple, ast.List)):
            if len(target.elts) != len(value.elts) or any(isinstance(x, ast.Starred) for x in [*target.elts, *value.elts]):
                self.refuse(s, "an assignment to a starred or longer tuple", "the lengths differ", "one name per value")
            names = {self.name(t.id) for t in target.elts if isinstance(t, ast.Name)}
            values = []
            for x in value.elts:
                v = self.atom(x)
                values.append(self.let(self.temp(), "copy", (v,), None, s.lineno) if v in names else v)
            for t, v in zip(target.elts, values, strict=True):
                self.store(t, v, s)
        else:
            self.store(target, self.atom(value), s)

    def store(self, target: ast.expr, value: Atom, s: ast.stmt) -> None:
        if isinstance(target, ast.Name):
            self.let(self.name(target.id), "copy", (value,), None, s.lineno)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for k, t in enumerate(target.elts):
                if isinstance(t, ast.Starred):
                    self.refuse(t, "a starred target", "its length is not known", "one name per value")
                item = self.let(self.temp(), "getitem", (value,), (Const(k),), s.lineno)
                self.store(t, item, s)
        elif isinstance(target, ast.Subscript):
            array = self.variable(target.value)
            self.out.append(Store(array, self.index(target.slice), value, s.lineno))
        else:
            self.refuse(s, "an assignment to an attribute", "only variables and elements of arrays can change", "a variable")

    def _AugAssign(self, s: ast.AugAssign) -> None:  # noqa: N802
        symbol = BINARY.get(type(s.op))
        if symbol is None:
            self.refuse(s, "this operator", "it works on ints only and is not known", "an operator of arithmetic")
        value = self.atom(s.value)
        if isinstance(s.target, ast.Name):
            name = self.name(s.target.id)
            self.let(name, "iop", (name, value), symbol, s.lineno)
        elif isinstance(s.target, ast.Subscript):
            array, index = self.variable(s.target.value), self.index(s.target.slice)
            old = self.let(self.temp(), "getitem", (array,), index, s.lineno)
            self.let(old, "iop", (old, value), symbol, s.lineno)
            self.out.append(Store(array, index, old, s.lineno))
        else:
            self.refuse(s, "an assignment to an attribute", "only variables and elements of arrays can change", "a variable")

    def _If(self, s: ast.If) -> None:  # noqa: N802
        test = self.atom(s.test)
        self.out.append(If(test, self.block(s.body), self.block(s.orelse), s.lineno))

    # Loops

    def loop_flags(self, s: ast.For | ast.While) -> tuple[_Loop, list[str]]:
        self.count += 1
        loop = _Loop(f"_break{self.count}", f"_continue{self.count}")
        exits = _exits_of(s.body)
        flags = [flag for kind, flag in [(ast.Break, loop.stop), (ast.Return, "_return")] if kind in exits]
        if ast.Break in exits:
            self.let(loop.stop, "copy", (Const(False),), None, s.lineno)
        return loop, flags

    def loop_body(self, loop: _Loop, body: list[ast.stmt], before: Callable[[], None]) -> list[Any]:
        self.loops.append(loop)
        try:

            def work() -> None:
                if ast.Continue in _exits_of(body):
                    self.let(loop.skip, "copy", (Const(False),), None, body[0].lineno)
                before()
                self.block_into(body)

            return self.collect(work)
        finally:
            self.loops.pop()

    def _While(self, s: ast.While) -> None:  # noqa: N802
        loop, flags = self.loop_flags(s)
        tests: list[Atom] = []
        test_block = self.collect(lambda: tests.append(self.atom(s.test)))
        test = tests[0]
        if any(isinstance(t, (Store, Effect)) or (isinstance(t, Let) and t.op == "call") for t in walk(test_block)):
            # the condition has effects, or is worth differentiating: it becomes the first part of the body
            flag = f"_stop{self.count}"
            self.let(flag, "copy", (Const(False),), None, s.lineno)
            inner = self.loop_body(loop, s.body, lambda: None)
            ended = [Let(flag, "copy", (Const(True),), None, s.lineno)]
            body = [*test_block, If(test, inner, ended, s.lineno)]
            self.out.append(While([], Const(True), body, [*flags, flag], s.lineno))
        else:
            body = self.loop_body(loop, s.body, lambda: None)
            self.out.append(While(test_block, test, body, flags, s.lineno))
        self.otherwise(s, loop)

    def otherwise(self, s: ast.For | ast.While, loop: _Loop) -> None:
        """The `else` of a loop."""
        if not s.orelse:
            return
        flags = [f for kind, f in [(ast.Break, loop.stop), (ast.Return, "_return")] if kind in _exits_of(s.body)]
        if flags:
            test = ast.parse(" or ".join(flags), mode="eval").body
            left = self.let(self.temp(), "plain", tuple(flags), test, s.lineno)
            self.out.append(If(left, [], self.block(s.orelse), s.lineno))
        else:
            self.block_into(s.orelse)

    def _For(self, s: ast.For) -> None:  # noqa: N802
        changing = {self.name(n) for n in self._assigned(s.body)}
        loop, flags = self.loop_flags(s)
        bounds = self.range_bounds(s.iter)
        if bounds is not None and isinstance(s.target, ast.Name):
            start, stop, step = (self.keep(x, {*changing, self.name(s.target.id)}, s.lineno) for x in bounds)
            name = self.name(s.target.id)
            if self.is_own_counter(s):
                body = self.loop_body(loop, s.body, lambda: None)
                self.out.append(For(name, start, stop, step, body, flags, s.lineno))
            else:
                k = self.temp()
                body = self.loop_body(loop, s.body, lambda: self.let(name, "copy", (k,), None, s.lineno) and None)
                self.out.append(For(k, start, stop, step, body, flags, s.lineno))
        else:
            changing |= {self.name(n) for n in self._assigned([ast.Expr(s.target)])}
            n, element = self.sequence(s.iter, changing)
            k = self.temp()
            before = lambda: self.store_element(s.target, element(k, s.lineno), s)  # noqa: E731
            body = self.loop_body(loop, s.body, before)
            self.out.append(For(k, Const(0), n, Const(1), body, flags, s.lineno))
        self.otherwise(s, loop)

    def store_element(self, target: ast.expr, element: Any, s: ast.stmt) -> None:
        if isinstance(element, list):
            if isinstance(target, (ast.Tuple, ast.List)) and len(target.elts) == len(element):
                for t, e in zip(target.elts, element, strict=True):
                    self.store_element(t, e, s)
                return
            element = self.let(self.temp(), "tuple", tuple(self.joined(e, s) for e in element), None, s.lineno)
        self.store(target, element, s)

    def joined(self, element: Any, s: ast.stmt) -> Atom:
        if isinstance(element, list):
            return self.let(self.temp(), "tuple", tuple(self.joined(e, s) for e in element), None, s.lineno)
        return element

    def is_own_counter(self, s: ast.For) -> bool:
        """Whether the loop's variable lives in such loops only, so that it can count."""
        assert isinstance(s.target, ast.Name)
        name = s.target.id
        if name in self.parameters:
            return False
        seen: set[int] = set()
        for node in ast.walk(self.source.tree):
            if isinstance(node, ast.For) and isinstance(node.target, ast.Name) and node.target.id == name:
                if self.range_call(node.iter) is None:
                    return False
                seen.add(id(node.target))
                for inner in node.body:
                    for x in ast.walk(inner):
                        if isinstance(x, ast.Name) and x.id == name:
                            if isinstance(x.ctx, ast.Store):
                                return False
                            seen.add(id(x))
        return all(id(x) in seen for x in ast.walk(self.source.tree) if isinstance(x, ast.Name) and x.id == name)

    def range_call(self, node: ast.expr) -> ast.Call | None:
        if isinstance(node, ast.Call) and not node.keywords:
            static = self.static(node.func)
            if static is not None and (static.value is range or describe(static.value) == "numba.misc.special.prange"):
                if static.value is not range:
                    self.refuse(node, "prange", "parallel loops are not differentiated", "range")
                return node
        return None

    def range_bounds(self, node: ast.expr) -> list[Atom] | None:
        call = self.range_call(node)
        if call is None:
            return None
        atoms = [self.atom(x) for x in call.args]
        if len(atoms) == 1:
            return [Const(0), atoms[0], Const(1)]
        if len(atoms) == 2:
            return [*atoms, Const(1)]
        return atoms

    def keep(self, x: Atom, changing: set[str], line: int) -> Atom:
        """An atom that the loop's body cannot change: Python evaluates it once."""
        if isinstance(x, str) and x in changing:
            return self.let(self.temp(), "copy", (x,), None, line)
        return x

    def sequence(self, node: ast.expr, changing: set[str]) -> tuple[Atom, Callable[[Atom, int], Any]]:
        """The length of what a loop runs over, and a function that writes how to get its k-th element."""
        line = node.lineno
        bounds = self.range_bounds(node)
        if bounds is not None:
            start, stop, step = (self.keep(x, changing, line) for x in bounds)
            length = self.let(self.temp(), "func", (start, stop, step), ("runtime.range_length", ()), line)

            def nth(k: Atom, line: int) -> Any:
                if start == Const(0) and step == Const(1):
                    return k
                scaled = k if step == Const(1) else self.let(self.temp(), "binop", (k, step), "*", line)
                return self.let(self.temp(), "binop", (start, scaled), "+", line)

            return length, nth
        if isinstance(node, ast.Call):
            static = self.static(node.func)
            if static is not None and static.value is enumerate:
                n, inner = self.sequence(node.args[0], changing)
                extra = [*node.args[1:], *(k.value for k in node.keywords)]
                first = self.keep(self.atom(extra[0]), changing, line) if extra else Const(0)

                def numbered(k: Atom, line: int) -> Any:
                    number = k if first == Const(0) else self.let(self.temp(), "binop", (first, k), "+", line)
                    return [number, inner(k, line)]

                return n, numbered
            if static is not None and static.value is zip and not node.keywords:
                parts = [self.sequence(x, changing) for x in node.args]
                n = parts[0][0]
                for m, _ in parts[1:]:
                    n = self.let(self.temp(), "func", (n, m), ("min", ()), line)
                return n, lambda k, line: [inner(k, line) for _, inner in parts]
            if static is not None and static.value is reversed:
                n, inner = self.sequence(node.args[0], changing)

                def backwards(k: Atom, line: int) -> Any:
                    last = self.let(self.temp(), "binop", (n, Const(1)), "-", line)
                    return inner(self.let(self.temp(), "binop", (last, k), "-", line), line)

                return n, backwards
        value = self.keep(self.atom(node), changing, line)
        n = self.let(self.temp(), "func", (value,), ("len", ()), line)
        return n, lambda k, line: self.let(self.temp(), "getitem", (value,), (k,), line)

    # Expressions

    def atom(self, node: ast.expr) -> Atom:
        """The atom that holds the value of an expression."""
        if isinstance(node, ast.Name) and node.id in self.locals and node.id not in self.functions:
            return self.name(node.id)
        static = self.static(node)
        if static is not None:
            return self.constant(node, static)
        return self.expr(node)

    def variable(self, node: ast.expr) -> str:
        """The same, as a name."""
        x = self.atom(node)
        if isinstance(x, str):
            return x
        return self.let(self.temp(), "copy", (x,), None, node.lineno)

    def expr(self, node: ast.expr, target: str | None = None) -> Atom:
        """Write statements that give `target` (or a new name) the value of the expression."""
        if target is None and isinstance(node, (ast.Name, ast.Constant)):
            return self.atom(node)
        static = self.static(node)
        if isinstance(node, ast.Name) or static is not None:
            assert target is not None or static is not None
            if target is None:
                assert static is not None
                return self.constant(node, static)
            return self.let(target, "copy", (self.atom(node),), None, node.lineno)
        method = getattr(self, f"_{type(node).__name__}", None)
        if method is None:
            what, instead = _EXPRESSIONS.get(type(node).__name__, (f"a {type(node).__name__} expression", "it in other words"))
            return self.refuse(node, what, "the compiler does not know it", instead)
        return method(node, target if target is not None else self.temp())

    def _BinOp(self, node: ast.BinOp, target: str) -> Atom:  # noqa: N802
        symbol = BINARY.get(type(node.op))
        if symbol is None:
            return self.refuse(node, "this operator", "it is not known", "an operator of arithmetic")
        args = (self.atom(node.left), self.atom(node.right))
        return self.let(target, "binop", args, symbol, node.lineno)

    def _UnaryOp(self, node: ast.UnaryOp, target: str) -> Atom:  # noqa: N802
        if isinstance(node.op, ast.Not):
            return self.condition(node, target)
        symbol = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}[type(node.op)]
        return self.let(target, "unary", (self.atom(node.operand),), symbol, node.lineno)

    def _Compare(self, node: ast.Compare, target: str) -> Atom:  # noqa: N802
        return self.condition(node, target)

    def _BoolOp(self, node: ast.BoolOp, target: str) -> Atom:  # noqa: N802
        return self.condition(node, target)

    def condition(self, node: ast.expr, target: str) -> Atom:
        """Comparisons and `and`, `or`, `not`: as they are written if they call no numba function."""
        names: list[str] = []
        try:
            expression = self.plain(node, names)
        except _NotPlain:
            pass
        else:
            return self.let(target, "plain", tuple(dict.fromkeys(names)), expression, node.lineno)
        line = node.lineno
        if isinstance(node, ast.UnaryOp):
            operand = self.variable(node.operand)
            return self.let(target, "plain", (operand,), ast.UnaryOp(ast.Not(), ast.Name(operand)), line)
        if isinstance(node, ast.BoolOp):
            self.expr(node.values[0], target)
            rest = node.values[1:]
            if rest:
                more = self.collect(lambda: self.expr_again(node.op, rest, target, line))
                branches = (more, []) if isinstance(node.op, ast.And) else ([], more)
                self.out.append(If(target, *branches, line))
            return target
        assert isinstance(node, ast.Compare)
        atoms = [self.variable(x) for x in [node.left, *node.comparators]]
        for op in node.ops:
            if type(op) not in COMPARE:
                self.refuse(node, "this comparison", "it is not known", "a comparison of numbers")
        expression = ast.Compare(ast.Name(atoms[0]), node.ops, [ast.Name(a) for a in atoms[1:]])
        return self.let(target, "plain", tuple(dict.fromkeys(atoms)), expression, line)

    def expr_again(self, op: ast.boolop, values: list[ast.expr], target: str, line: int) -> None:
        node = values[0] if len(values) == 1 else ast.BoolOp(op, values, lineno=line)
        self.expr(node, target)

    def plain(self, node: ast.AST, names: list[str]) -> Any:
        """The expression with our names for the user's; _NotPlain if it has effects or needs types."""
        if isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and self.static(node) is not None):
            static = self.static(node)
            if static is None:
                assert isinstance(node, ast.Name)
                names.append(self.name(node.id))
                return ast.Name(self.name(node.id))
            if type(static.value) in (int, float, bool) and math.isfinite(static.value):
                return ast.Constant(static.value)
            raise _NotPlain
        if isinstance(node, ast.Constant):
            return node
        if isinstance(node, ast.Compare) and all(type(op) in COMPARE for op in node.ops):
            return ast.Compare(
                self.plain(node.left, names), node.ops, [self.plain(x, names) for x in node.comparators]
            )
        if isinstance(node, ast.BoolOp):
            return ast.BoolOp(node.op, [self.plain(x, names) for x in node.values])
        if isinstance(node, ast.UnaryOp):
            return ast.UnaryOp(node.op, self.plain(node.operand, names))
        if isinstance(node, ast.BinOp) and type(node.op) in BINARY and not isinstance(node.op, ast.MatMult):
            return ast.BinOp(self.plain(node.left, names), node.op, self.plain(node.right, names))
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and not isinstance(node.slice, ast.Slice):
            if self.static(node.value) is not None:
                raise _NotPlain
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            if any(isinstance(x, (ast.Slice, ast.Starred)) for x in parts):
                raise _NotPlain
            done = [self.plain(x, names) for x in parts]
            index = ast.Tuple(done, ast.Load()) if isinstance(node.slice, ast.Tuple) else done[0]
            return ast.Subscript(self.plain(node.value, names), index, ast.Load())
        if isinstance(node, ast.Call) and not node.keywords:
            static = self.static(node.func)
            text = canonical(static.value) if static is not None else None
            if text in pure_functions():
                return ast.Call(ast.parse(text, mode="eval").body, [self.plain(x, names) for x in node.args], [])
        raise _NotPlain

    def _IfExp(self, node: ast.IfExp, target: str) -> Atom:  # noqa: N802
        test = self.atom(node.test)
        result = self.temp()  # the branches may read the target
        then = self.collect(lambda: self.expr(node.body, result) and None)
        orelse = self.collect(lambda: self.expr(node.orelse, result) and None)
        self.out.append(If(test, then, orelse, node.lineno))
        return self.let(target, "copy", (result,), None, node.lineno)

    def _Tuple(self, node: ast.Tuple, target: str) -> Atom:  # noqa: N802
        if any(isinstance(x, ast.Starred) for x in node.elts):
            return self.refuse(node, "a starred expression", "its length is not known", "every value")
        return self.let(target, "tuple", tuple(self.atom(x) for x in node.elts), None, node.lineno)

    def _Attribute(self, node: ast.Attribute, target: str) -> Atom:  # noqa: N802
        return self.let(target, "attr", (self.variable(node.value),), node.attr, node.lineno)

    def _Subscript(self, node: ast.Subscript, target: str) -> Atom:  # noqa: N802
        base = self.atom(node.value)
        if isinstance(base, Const):
            return self.refuse(node, "an index of a constant", "it is no array or tuple", "the value itself")
        return self.let(target, "getitem", (base,), self.index(node.slice), node.lineno)

    def index(self, node: ast.expr) -> tuple[Any, ...]:
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        entries: list[Any] = []
        for part in parts:
            if isinstance(part, ast.Slice):
                lower, upper, step = (None if x is None else self.atom(x) for x in (part.lower, part.upper, part.step))
                entries.append(Slice(lower, upper, step))
            elif isinstance(part, ast.Starred):
                self.refuse(part, "a starred index", "its length is not known", "every index")
            elif isinstance(part, ast.Constant) and part.value is Ellipsis:
                entries.append(Ellipsis)
            else:
                static = self.static(part)
                entries.append(None if static is not None and static.value is None else self.atom(part))
        return tuple(entries)

    def _Call(self, node: ast.Call, target: str) -> Atom:  # noqa: N802
        if any(isinstance(x, ast.Starred) for x in node.args) or any(k.arg is None for k in node.keywords):
            return self.refuse(node, "a call with * or **", "the number of arguments is not known", "every argument")
        static = self.static(node.func)
        if static is None:
            if isinstance(node.func, ast.Attribute):
                args = [self.variable(node.func.value), *(self.atom(x) for x in node.args)]
                args += [self.atom(k.value) for k in node.keywords]
                keywords = tuple(str(k.arg) for k in node.keywords)
                return self.let(target, "method", tuple(args), (node.func.attr, keywords), node.lineno)
            return self.refuse(node, "a call of a variable", "which function it is, is not known", "a numba function")
        f = static.value
        if is_numba_function(f):
            return self.call(node, static, target)
        if isinstance(f, type) and issubclass(f, tuple) and hasattr(f, "_fields"):
            args = self.bound(node, list(f._fields), dict(getattr(f, "_field_defaults", {})), f.__name__)
            return self.let(target, "tuple", tuple(args), self.ref(static), node.lineno)
        text = canonical(f)
        if text is None:
            name = describe(f)
            if callable(f) and hasattr(f, "__code__"):
                return self.refuse(node, f"the call of {name}", "it is no numba function", "@njit above its definition")
            return self.refuse(node, f"the call of {name}", "it has no derivative here", "it with loops or the functions of the table")
        keywords = tuple(str(k.arg) for k in node.keywords)
        given = [self.function_argument(x, text) for x in [*node.args, *(k.value for k in node.keywords)]]
        return self.let(target, "func", tuple(given), (text, keywords), node.lineno)

    def function_argument(self, node: ast.expr, text: str) -> Atom:
        static = self.static(node)
        if static is not None and isinstance(static.value, (type, np.dtype)):
            kind = CASTS.get(static.value if isinstance(static.value, type) else static.value.type)
            if kind is None:
                self.refuse(node, f"the dtype {static.value}", "it is no float, int or bool", "np.float64")
            assert kind is not None
            return Ref(kind, static.value)
        return self.atom(node)

    def call(self, node: ast.Call, static: Static, target: str) -> Atom:
        import inspect

        signature = inspect.signature(static.value.py_func)
        names = []
        for p in signature.parameters.values():
            if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
                self.refuse(node, f"the call of {describe(static.value.py_func)}", "it has *args", "every argument")
            names.append(p.name)
        defaults = {p.name: p.default for p in signature.parameters.values() if p.default is not p.empty}
        args = self.bound(node, names, defaults, describe(static.value.py_func), static.path)
        self.ref(static)
        return self.let(target, "call", tuple(args), self.ref(static), node.lineno)

    def bound(
        self, node: ast.Call, names: list[str], defaults: dict[str, Any], what: str, path: tuple[Any, ...] = ()
    ) -> list[Atom]:
        """The arguments of a call in the order of the parameters."""
        given: dict[str, ast.expr] = dict(zip(names, node.args, strict=False))
        given.update({str(k.arg): k.value for k in node.keywords})
        atoms: dict[str, Atom] = {name: self.atom(x) for name, x in given.items()}
        if len(node.args) > len(names) or set(given) - set(names):
            self.refuse(node, f"the call of {what}", "it has other parameters", "their names")
        args: list[Atom] = []
        for name in names:
            if name in atoms:
                args.append(atoms[name])
            elif name in defaults:
                args.append(self.constant(node, Static(defaults[name], (*path, ("default", name)))))
            else:
                self.refuse(node, f"the call of {what}", f"the argument {name} is missing", "it")
        return args


class _NotPlain(Exception):  # noqa: N818 - a way out of a recursion, not an error
    """An expression that has to be lowered."""


_STATEMENTS = {
    "Try": ("try/except", "a test before the operation that may fail"),
    "TryStar": ("try/except", "a test before the operation that may fail"),
    "With": ("a `with` statement", "the body alone"),
    "FunctionDef": ("a function inside of a numba function", "it outside, with @njit"),
    "ClassDef": ("a class inside of a numba function", "tuples or arrays"),
    "Delete": ("a `del` statement", "nothing: variables may stay"),
    "Match": ("a `match` statement", "if and elif"),
    "Import": ("an import inside of a numba function", "it at the top of the module"),
    "ImportFrom": ("an import inside of a numba function", "it at the top of the module"),
}

_EXPRESSIONS = {
    "List": ("a list", "an array (np.empty) or a tuple"),
    "ListComp": ("a list comprehension", "a loop that fills an array"),
    "SetComp": ("a set comprehension", "a loop that fills an array"),
    "DictComp": ("a dict comprehension", "arrays"),
    "GeneratorExp": ("a generator expression", "a loop"),
    "Dict": ("a dict", "arrays or named tuples"),
    "Set": ("a set", "an array"),
    "Lambda": ("a lambda", "a numba function outside of this one"),
    "NamedExpr": ("an assignment inside of an expression", "the assignment on a line of its own"),
    "JoinedStr": ("an f-string", "a constant string"),
    "Yield": ("a generator", "a loop, or an array of the results"),
    "YieldFrom": ("a generator", "a loop, or an array of the results"),
    "Await": ("a coroutine", "a plain function"),
    "Starred": ("a starred expression", "every value"),
}


def _exits(s: ast.stmt) -> set[type]:
    """Which of break, continue and return may leave a statement."""
    if isinstance(s, (ast.Break, ast.Continue, ast.Return)):
        return {type(s)}
    if isinstance(s, ast.If):
        return _exits_of(s.body) | _exits_of(s.orelse)
    if isinstance(s, (ast.For, ast.While)):
        return (_exits_of(s.body) & {ast.Return}) | _exits_of(s.orelse)
    return set()


def _exits_of(body: list[ast.stmt]) -> set[type]:
    return set().union(*map(_exits, body)) if body else set()


def _always(body: list[ast.stmt]) -> bool:
    """Whether control never reaches the end of a block."""
    if not body:
        return False
    for s in body:
        if isinstance(s, (ast.Break, ast.Continue, ast.Return, ast.Raise)):
            return True
        if isinstance(s, ast.If) and _always(s.body) and _always(s.orelse):
            return True
        if isinstance(s, ast.While) and isinstance(s.test, ast.Constant) and s.test.value and ast.Break not in _exits_of(s.body):
            return True
    return False


_PURE = {"copy", "plain", "tuple"}


def _drop_unread(body: list[Any], result: Atom) -> None:
    """Take out the flags that nothing reads."""
    while True:
        read = {a for s in walk(body) for a in reads(s) if isinstance(a, str)} | {result}
        for s in walk(body):
            if isinstance(s, (For, While)):
                read |= set(s.exits)
            if isinstance(s, While):
                read.add(s.test)
        dead = {
            id(s)
            for s in walk(body)
            if isinstance(s, Let) and s.target.startswith("_") and s.op in _PURE and s.target not in read
        }
        if not dead:
            return
        _remove(body, dead)


def _remove(body: list[Any], dead: set[int]) -> None:
    body[:] = [s for s in body if id(s) not in dead]
    for s in body:
        for inner in _inner(s):
            _remove(inner, dead)


def _inner(s: Any) -> list[list[Any]]:
    from dualrev.compiler.core import blocks

    return blocks(s)


assert PRIMITIVES
