"""Lower a numba function's syntax tree to A-normal form: every intermediate value gets a name.

Nothing is known of types here; the result means in Python what the function means. Three things change their form:

    break, continue, return    flags (`_break = True`), else-branches in place of what they skip, and loops that end
                               when a flag is set
    for x in a, zip, enumerate,
    reversed                   for k in range(n): x = a[k]; ...
    and, or, conditionals,     If; conditions without calls of the user's functions stay as they are written (Discrete),
    comparisons                since nothing in them is differentiated

Whatever has no case here is refused, with its line.
"""

# ruff: noqa: N802 - methods are named after the nodes of the syntax tree, as in ast.NodeVisitor

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dualrev.compiler.frontend.desugar.rewriter import desugar
from dualrev.compiler.frontend.lowering.exits import always, exits, exits_of
from dualrev.compiler.frontend.lowering.iterables import Sequences
from dualrev.compiler.frontend.lowering.lowered_function import Lowered
from dualrev.compiler.frontend.messages import STATEMENTS
from dualrev.compiler.frontend.reading.source import Source, Static
from dualrev.compiler.ir import anf
from dualrev.compiler.ir.names import Names, is_generated
from dualrev.compiler.runtime.markers import barrier
from dualrev.compiler.types.aliases import AccessPath
from dualrev.rules.drawing import DRAWING
from dualrev.rules.emitted_names import BINARY

__all__ = ["Lowering"]


@dataclass
class _LoopFlags:
    stop: str  # the flag that `break` sets
    skip: str  # the flag that `continue` sets


class Lowering(Sequences):
    """Lowering of a function to ANF: statements, loops and early exits.

    `functions` are the parameters that stand for functions; `listed` says that iterables without indices may
    become lists: see iterables.py.
    """

    loops: list[_LoopFlags]

    def __init__(
        self,
        source: Source,
        path: AccessPath,
        functions: dict[str, Static],
        refs: dict[str, anf.Ref],
        names: Names,
        listed: bool = False,
    ) -> None:
        """Create the lowering; `refs` are the names of the module that the function is in."""
        super().__init__(source, path, functions, refs, names)
        self.listed = listed

    def desugar(self) -> None:
        """Replace the syntax tree by one that lowering accepts."""
        desugar(self)

    def lowered(self) -> Lowered:
        """Lower the function to ANF."""
        tree, self.loops = self.source.tree, []
        self.exit_flag, self.exit_value = self.names.fresh("_return"), self.names.fresh("_result")
        for node in ast.walk(tree):
            if isinstance(node, (ast.Global, ast.Nonlocal)):
                self.refuse(
                    node, "a `global` or `nonlocal` statement", "numba functions change no globals", "arguments"
                )
        body = tree.body
        single = isinstance(body[-1], ast.Return) and not any(exits(s) for s in body[:-1])
        if single:
            self.block_into(body[:-1])
            last = body[-1]
            assert isinstance(last, ast.Return)
            result = self.atom(last.value) if last.value is not None else anf.Const(None)
        else:
            self.emit(anf.Copy(self.exit_flag, anf.Const(False), tree.lineno))
            self.block_into(body)
            if not always(body):
                result_set = anf.Copy(self.exit_value, anf.Const(None), tree.lineno)
                if any(isinstance(n, ast.Return) for n in ast.walk(tree)):
                    self.add(anf.If(self.exit_flag, [], [result_set], tree.lineno))
                    result = self.exit_value
                else:
                    result = anf.Const(None)
            else:
                result = self.exit_value
        parameters = [self.name(p) for p in self.parameters]
        left = self.exit_flag, self.exit_value
        refs, functions, calls = self.refs, self.functions, self.calls
        made = Lowered(self.source, parameters, self.out, result, self.names, *left, refs, functions, calls)
        made.iterated.update(self.iterated)
        made.lengths.update(self.lengths)
        return made

    def block(self, body: list[ast.stmt]) -> list[anf.Stmt]:
        """Lower a block to a list of statements."""
        return self.collect(lambda: self.block_into(body))

    def block_into(self, body: list[ast.stmt]) -> None:
        """Lower a block in place; code after an early exit moves to an else-branch or under flags."""
        for k, s in enumerate(body):
            rest = body[k + 1 :]
            if isinstance(s, ast.If) and exits(s):
                then, orelse = s.body, s.orelse
                if rest and always(then):
                    orelse, rest = orelse + rest, []
                elif rest and always(orelse):
                    then, rest = then + rest, []
                test = self.atom(s.test)
                self.add(anf.If(test, self.block(then), self.block(orelse), s.lineno))
                return self.guarded(rest, exits(s), s.lineno)
            self.statement(s)
            if isinstance(s, (ast.Break, ast.Continue, ast.Return)):
                return None
            if isinstance(s, (ast.For, ast.While)) and exits(s):
                return self.guarded(rest, exits(s), s.lineno)
        return None

    def guarded(self, rest: list[ast.stmt], left_by: set[type], line: int) -> None:
        """Lower the rest of a block under the flags of an early exit before it."""
        if not rest:
            return
        flags = []
        if ast.Return in left_by:
            flags.append(self.exit_flag)
        if ast.Break in left_by:
            flags.append(self.loops[-1].stop)
        if ast.Continue in left_by:
            flags.append(self.loops[-1].skip)
        test = ast.parse(" or ".join(flags), mode="eval").body
        left = flags[0] if len(flags) == 1 else self.emit(anf.Discrete(self.temp(), tuple(flags), test, line))
        self.add(anf.If(left, [], self.block(rest), line))

    def statement(self, s: ast.stmt) -> object:
        """Lower a statement by the method of its node; refuse one without."""
        method = getattr(self, f"_{type(s).__name__}", None)
        if method is None:
            unknown = f"a `{type(s).__name__.lower()}` statement", "the compiler does not know it", "it in other words"
            return self.refuse(s, *STATEMENTS.get(type(s).__name__, unknown))
        return method(s)

    def _Pass(self, s: ast.Pass) -> None:
        pass

    def _Break(self, s: ast.Break) -> None:
        self.emit(anf.Copy(self.loops[-1].stop, anf.Const(True), s.lineno))

    def _Continue(self, s: ast.Continue) -> None:
        self.emit(anf.Copy(self.loops[-1].skip, anf.Const(True), s.lineno))

    def _Return(self, s: ast.Return) -> None:
        self.expr(s.value if s.value is not None else ast.Constant(None, lineno=s.lineno), self.exit_value)
        self.emit(anf.Copy(self.exit_flag, anf.Const(True), s.lineno))

    def _Expr(self, s: ast.Expr) -> None:
        if isinstance(s.value, ast.Constant):
            return
        if isinstance(s.value, ast.Call):
            static = self.static(s.value.func)
            if static is not None and static.value is print:
                args = tuple(self.atom(x) for x in s.value.args)
                holes = ", ".join("{}" for _ in args)
                self.add(anf.Effect(f"print({holes})", args, s.lineno))
                return
            if static is not None and static.value is barrier:
                args = tuple(self.atom(x) for x in s.value.args)
                self.add(anf.Effect(f"{anf.BARRIER}({', '.join('{}' for _ in args)})", args, s.lineno))
                return
        self.expr(s.value)

    def _Assert(self, s: ast.Assert) -> None:
        test = self.atom(s.test)

        def fail() -> None:
            """Emit the `raise` of a failed assertion."""
            args = () if s.msg is None else (self.atom(s.msg),)
            text = "raise AssertionError" + ("({})" if args else "")
            self.add(anf.Effect(text, args, s.lineno, True))

        self.add(anf.If(test, [], self.collect(fail), s.lineno))

    def _Raise(self, s: ast.Raise) -> None:
        if s.exc is None or s.cause is not None:
            self.refuse(s, "a `raise` without an exception or with a cause", "numba has none", "raise Error(...)")
        assert s.exc is not None
        call = s.exc if isinstance(s.exc, ast.Call) else ast.Call(s.exc, [], [])
        static = self.static(call.func)
        if static is not None and isinstance(static.value, BaseException):
            static = None
        if static is None or not (isinstance(static.value, type) and issubclass(static.value, BaseException)):
            self.refuse(s, "a `raise` of something that is no exception class", "numba has none", "raise Error(...)")
        assert static is not None
        name = static.value.__name__ if not static.path else self.ref(static).name
        args = tuple(self.atom(x) for x in call.args)
        holes = ", ".join("{}" for _ in args)
        text = f"raise {name}" + (f"({holes})" if isinstance(s.exc, ast.Call) else "")
        self.add(anf.Effect(text, args, s.lineno, True))

    def _AnnAssign(self, s: ast.AnnAssign) -> None:
        if s.value is not None:
            self.assign(s.target, s.value, s)

    def _Assign(self, s: ast.Assign) -> None:
        if len(s.targets) == 1:
            self.assign(s.targets[0], s.value, s)
        else:
            value = self.atom(s.value)
            for target in s.targets:
                self.store(target, value, s)

    def assign(self, target: ast.expr, value: ast.expr, s: ast.stmt) -> None:
        """Lower the assignment of an expression to a target."""
        if isinstance(target, ast.Name):
            self.expr(value, self.name(target.id))
        elif isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (ast.Tuple, ast.List)):
            if len(target.elts) != len(value.elts) or any(
                isinstance(x, ast.Starred) for x in [*target.elts, *value.elts]
            ):
                self.refuse(s, "an assignment to a starred or longer tuple", "the lengths differ", "one name per value")
            names = {self.name(n) for n in self.assigned_in([ast.Expr(target)])}
            values = []
            for x in value.elts:
                v = self.atom(x)
                values.append(self.emit(anf.Copy(self.temp(), v, s.lineno)) if v in names else v)
            for t, v in zip(target.elts, values, strict=True):
                self.store(t, v, s)
        else:
            self.store(target, self.atom(value), s)

    def store(self, target: ast.expr, value: anf.Atom, s: ast.stmt) -> None:
        """Store an atom in a target: a name, a tuple, an element or a field."""
        if isinstance(target, ast.Name):
            self.emit(anf.Copy(self.name(target.id), value, s.lineno))
        elif isinstance(target, (ast.Tuple, ast.List)):
            for t in target.elts:
                if isinstance(t, ast.Starred):
                    self.refuse(t, "a starred target", "its length is not known", "one name per value")
            count = len(target.elts)
            items = [self.emit(anf.GetItem(self.temp(), value, (anf.Const(k),), s.lineno, count)) for k in range(count)]
            for t, item in zip(target.elts, items, strict=True):  # all are there before the first name changes
                self.store(t, item, s)
        elif isinstance(target, ast.Subscript):
            array = self.variable(target.value)
            self.add(anf.Store(array, self.index(target.slice), value, s.lineno))
        else:
            assert isinstance(target, ast.Attribute)
            self.add(anf.Store(self.variable(target.value), (anf.Member(target.attr),), value, s.lineno))

    def _AugAssign(self, s: ast.AugAssign) -> None:
        symbol = BINARY[type(s.op)]
        if isinstance(s.target, ast.Name):
            value = self.atom(s.value)
            name = self.name(s.target.id)
            self.emit(anf.InplaceOp(name, symbol, name, value, s.lineno))
        else:
            array = self.variable(s.target.value)
            member = s.target.attr if isinstance(s.target, ast.Attribute) else None
            index = self.index(s.target.slice) if isinstance(s.target, ast.Subscript) else (anf.Member(member),)
            values: list[anf.Atom] = []
            right = self.collect(lambda: values.append(self.atom(s.value)))
            effects = any(isinstance(t, (anf.CallUser, anf.CallStarred, anf.CallMethod)) for t in anf.walk(right))
            if not effects:  # then it may come before the old element is read, and `a[i] += x` can be one statement
                self.add(*right)
            old = self.temp()
            read = (
                anf.GetAttr(old, array, member, s.lineno)
                if member is not None
                else anf.GetItem(old, array, index, s.lineno)
            )
            self.emit(read)
            if effects:
                self.add(*right)
            self.emit(anf.InplaceOp(old, symbol, old, values[0], s.lineno))
            self.add(anf.Store(array, index, old, s.lineno))

    def _If(self, s: ast.If) -> None:
        test = self.atom(s.test)
        self.add(anf.If(test, self.block(s.body), self.block(s.orelse), s.lineno))

    # Loops

    def loop_flags(self, s: ast.For | ast.While) -> tuple[_LoopFlags, list[str]]:
        """Allocate the flags of a loop's early exits, and clear the one of `break`."""
        loop = _LoopFlags(*(self.names.fresh(t, temporary=True) for t in ("_break{k}", "_continue{k}")))
        found = exits_of(s.body)
        flags = [flag for kind, flag in [(ast.Break, loop.stop), (ast.Return, self.exit_flag)] if kind in found]
        if ast.Break in found:
            self.emit(anf.Copy(loop.stop, anf.Const(False), s.lineno))
        return loop, flags

    def loop_body(self, loop: _LoopFlags, body: list[ast.stmt], before: Callable[[], object]) -> list[anf.Stmt]:
        """Lower the body of a loop; `before` emits its first statements."""
        self.loops.append(loop)
        try:

            def work() -> None:
                """Clear the flag of `continue`, and emit the body."""
                if ast.Continue in exits_of(body):
                    self.emit(anf.Copy(loop.skip, anf.Const(False), body[0].lineno))
                before()
                self.block_into(body)

            return self.collect(work)
        finally:
            self.loops.pop()

    def _While(self, s: ast.While) -> None:
        loop, flags = self.loop_flags(s)
        tests: list[anf.Atom] = []
        test_block = self.collect(lambda: tests.append(self.atom(s.test)))
        test = tests[0]
        if any(
            isinstance(t, (anf.Store, anf.Effect, anf.For, anf.While))
            or (isinstance(t, anf.Let) and not is_generated(t.target))
            or isinstance(t, (anf.CallUser, anf.CallStarred, anf.CallMethod))
            or (isinstance(t, anf.CallKnown) and t.function in DRAWING)
            for t in anf.walk(test_block)
        ):
            # the condition has effects, or is worth differentiating: it becomes the first part of the body
            flag = self.names.fresh("_stop{k}")
            self.emit(anf.Copy(flag, anf.Const(False), s.lineno))
            inner = self.loop_body(loop, s.body, lambda: None)
            ended: list[anf.Stmt] = [anf.Copy(flag, anf.Const(True), s.lineno)]
            body = [*test_block, anf.If(test, inner, ended, s.lineno)]
            self.add(anf.While([], anf.Const(True), body, [*flags, flag], s.lineno))
        else:
            body = self.loop_body(loop, s.body, lambda: None)
            self.add(anf.While(test_block, test, body, flags, s.lineno))
        self.otherwise(s, loop)

    def otherwise(self, s: ast.For | ast.While, loop: _LoopFlags) -> None:
        """Lower the `else` of a loop: it runs unless an exit flag is set."""
        if not s.orelse:
            return
        flags = [f for kind, f in [(ast.Break, loop.stop), (ast.Return, self.exit_flag)] if kind in exits_of(s.body)]
        if flags:
            test = ast.parse(" or ".join(flags), mode="eval").body
            left = self.emit(anf.Discrete(self.temp(), tuple(flags), test, s.lineno))
            self.add(anf.If(left, [], self.block(s.orelse), s.lineno))
        else:
            self.block_into(s.orelse)

    def _For(self, s: ast.For) -> None:
        changing = {self.name(n) for n in self.assigned_in(s.body)}
        loop, flags = self.loop_flags(s)
        bounds = self.range_bounds(s.iter)
        if bounds is not None and isinstance(s.target, ast.Name):
            start, stop, step = (self.keep(x, {*changing, self.name(s.target.id)}, s.lineno) for x in bounds)
            name, together = self.name(s.target.id), self.is_parallel(s.iter)
            if self.is_own_counter(s):
                body = self.loop_body(loop, s.body, lambda: None)
                self.add(anf.For(name, start, stop, step, body, flags, s.lineno, together))
            else:
                k = self.temp()
                body = self.loop_body(loop, s.body, lambda: self.emit(anf.Copy(name, k, s.lineno)))
                self.add(anf.For(k, start, stop, step, body, flags, s.lineno, together))
        else:
            self.check_lists(s.iter, s.body)
            changing |= {self.name(n) for n in self.assigned_in([ast.Expr(s.target)])}
            n, element = self.sequence(s.iter, changing)
            k = self.temp()
            before = lambda: self.store_element(s.target, element(k, s.lineno), s)  # noqa: E731
            body = self.loop_body(loop, s.body, before)
            self.add(anf.For(k, anf.Const(0), n, anf.Const(1), body, flags, s.lineno, self.is_parallel(s.iter)))
        self.otherwise(s, loop)

    def store_element(self, target: ast.expr, element: Any, s: ast.stmt) -> None:
        """Store an element of an iterable in the loop's target, part by part."""
        if isinstance(element, list):
            if isinstance(target, (ast.Tuple, ast.List)) and len(target.elts) == len(element):
                for t, e in zip(target.elts, element, strict=True):
                    self.store_element(t, e, s)
                return
            element = self.emit(anf.MakeTuple(self.temp(), tuple(self.joined(e, s) for e in element), s.lineno))
        self.store(target, element, s)

    def joined(self, element: Any, s: ast.stmt) -> anf.Atom:
        """Build tuples from an element in parts."""
        if isinstance(element, list):
            return self.emit(anf.MakeTuple(self.temp(), tuple(self.joined(e, s) for e in element), s.lineno))
        return element
