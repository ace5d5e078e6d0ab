"""Opaque statements: Python without derivative, which the forward sweep executes unchanged.

    s.add(k), d[k] = v, x.split("-"), k in s, a call of which only numba knows what it does, `try` and `objmode` blocks

Takes the writer, and what has been put off. Guarantees that no array of floats is changed in such a statement, and that
an array that comes out of one is new. What becomes of numbers is looked at when it is known which of them are
differentiated: analysis/opaque_flows.py.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import replace

from numba.core import types

from dualrev.compiler.frontend.lowering.lowered_function import Lowered
from dualrev.compiler.frontend.messages import Words
from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.ir.anf.rewrite import rewritten
from dualrev.compiler.scalarize.arrays.deferred import Lazy
from dualrev.compiler.scalarize.builder import ScalarBuilder
from dualrev.compiler.scalarize.lists.legalize import Lists
from dualrev.compiler.scalarize.opaque.container_loops import READING, with_checked_loops
from dualrev.compiler.scalarize.type_messages import about
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.complex_parts import holds_complex
from dualrev.compiler.types.leaves import is_linked
from dualrev.compiler.types.opaque_types import holds_floats, is_opaque
from dualrev.compiler.types.predicates import is_array, is_list

__all__ = ["Opaques", "without_listed"]

_TREES = (anf.MakeTuple, anf.CallUser, anf.CallStarred, anf.Copy)
_SEQUENCES = (types.UnicodeType, types.Bytes, types.List, types.ListType)


def without_listed(lowered: Lowered, of: dict[str, NumbaType]) -> list[anf.Stmt]:
    """Return the body, in which only what cannot be indexed becomes a list: other iterables are iterated themselves."""
    every = list(anf.walk(lowered.body))
    itself: dict[str, anf.Atom] = {}  # what loops go over themselves, by the name of the list
    for s in every:
        if isinstance(s, anf.AsList) and is_list(_kind(s.iterable, of)) and _is_only_gone_over(every, s.target):
            itself[s.target] = s.iterable
            del of[s.target]

    def left(s: anf.Stmt) -> list[anf.Stmt]:
        """The statement, in which a list is the iterable itself."""
        if isinstance(s, anf.AsList):
            kind = _kind(s.iterable, of)
            if s.target in itself:
                return []
            if kind is None or not is_opaque(kind) or isinstance(kind, _SEQUENCES):
                return [anf.Copy(s.target, s.iterable, s.line)]
        if isinstance(s, (anf.GetItem, anf.CallKnown)) and s.args and s.args[0] in itself:
            return [s.on(itself[s.args[0]], *s.args[1:])]
        return [s]

    return with_checked_loops(rewritten(lowered.body, left), lowered, of)


def _kind(x: anf.Atom, of: dict[str, NumbaType]) -> NumbaType:
    return of.get(x) if isinstance(x, str) else None


def _is_only_gone_over(every: list[anf.Stmt], listed: str) -> bool:
    """Whether a loop may go over a list itself, which has no second name then if it grows."""
    return all(
        isinstance(s, (anf.GetItem, anf.CallKnown)) and s.args == (listed,) for s in every if listed in anf.reads(s)
    )


class Opaques:
    """Lowering of operations on opaque values, and of opaque blocks."""

    def __init__(self, code: ScalarBuilder, lazy: Lazy, lists: Lists) -> None:
        self.code, self.lazy, self.lists = code, lazy, lists

    # What is one

    def takes(self, s: anf.Stmt) -> bool:
        """Lower a statement on opaque values; False for any other statement."""
        code = self.code
        if isinstance(s, anf.Opaque):
            self._block(s)
        elif isinstance(s, anf.Store) and is_opaque(code.kind(s.array)):
            self._store(s)
        elif isinstance(s, anf.Let) and self._is_opaque(s):
            self._let(s)
        else:
            return False
        return True

    def _is_opaque(self, s: anf.Let) -> bool:
        if isinstance(s, anf.OpaqueExpr):
            return True
        kinds = [self.code.kind(x) for x in s.args if isinstance(x, str)]
        in_tuple = isinstance(s, (anf.GetItem, anf.GetAttr)) and isinstance(self.code.kind(s.args[0]), types.BaseTuple)
        if isinstance(s, _TREES) or in_tuple:
            return False
        read = any(is_opaque(kind) and not isinstance(kind, types.UnicodeType) for kind in kinds)
        return read or is_opaque(self.code.of[s.target])

    # Statements

    def _let(self, s: anf.Let) -> None:
        code = self.code
        if isinstance(s, (anf.CallKnown, anf.OpaqueExpr)) and any(
            isinstance(x, str) and holds_complex(code.kind(x)) for x in s.args
        ):
            what = (
                f"{s.function} of a complex number"
                if isinstance(s, anf.CallKnown)
                else f"{s.refusal[0]} with a complex number"
            )
            code.refuse(s.line, what, "only its parts are known", "z.real and z.imag")
        assert not isinstance(s, anf.GetItem) or not is_array(code.kind(s.args[0])), (
            "numba types indices that are known"
        )
        said, changes, unknown = self._said(s), isinstance(s, anf.OpaqueExpr) and not s.pure, False
        if isinstance(s, anf.CallMethod):
            if is_linked(code.kind(s.args[0])):
                what, why = f"the method .{s.method} of a node", "it might change nodes that are read again"
                code.refuse(s.line, what, why, "a function that reads fields")
            text = isinstance(code.kind(s.args[0]), types.UnicodeType)
            changes = not text and s.method not in READING
        if isinstance(s, anf.OpaqueExpr):
            unknown = changes and not s.fixed
            assert s.target not in self.lists, "a call that gives such a list is refused (legalize.py)"
        names = list(code.names_in(tuple(anf.reads(s))))
        tree, names, after = self._with_arrays(s.target, code.expression(s), names, changes, said, s.line)
        kind = code.of[s.target]
        if (
            isinstance(s, anf.CallMethod)
            and s.method in ("get", "pop")
            and isinstance(kind, (types.Float, types.Integer))
        ):
            tree = ast.BinOp(tree, ast.Mult(), ast.Constant(1))  # numba takes it for one that may be None
        if isinstance(kind, types.NoneType):
            self._write([], names, ast.Expr(tree), s.line, changes, unknown, said)
        else:
            self._assign(s, tree, names, changes, unknown, said)
        after()

    def _assign(self, s: anf.Let, tree: ast.expr, names: list[str], changes: bool, unknown: bool, said: Words) -> None:
        """Emit `target` = an opaque expression: the components of a tuple, and copies of arrays."""
        code, whole = self.code, self.code.tree(s.target)
        parts = [x for x in anf.leaves(whole) if isinstance(x, str)]
        made = {x: code.temp(code.of[x]) for x in parts if is_array(code.of[x])}
        target = code.syntax_tree(_plain(whole, made))
        self._write([made.get(x, x) for x in parts], names, ast.Assign([target], tree), s.line, changes, unknown, said)
        for x, fresh in made.items():
            code.emit(anf.Alloc(x, (fresh,), to_python.name(f"np.copy({fresh})"), s.line))

    def _store(self, s: anf.Store) -> None:
        """Lower `d[k] = v`, or the append of an element by a comprehension."""
        code = self.code
        for x in (s.value, *anf.index_atoms(s.index)):
            self.lazy.materialise(x)
        value = code.syntax_tree(code.tree(s.value))
        atoms = tuple(x for x in (s.array, *s.index, s.value) if isinstance(x, str))
        if s.array in self.comprehensions:
            made: ast.stmt = ast.Expr(
                ast.Call(ast.Attribute(to_python.name(s.array), "append", ast.Load()), [value], [])
            )
        else:
            place = to_python.subscript(to_python.name(s.array), s.index, lambda x: code.syntax_tree(code.tree(x)))
            made = ast.Assign([place], value)
        assert not any(is_array(code.kind(x)) for x in atoms), "containers of arrays are heaps, or refused (heap.py)"
        self._write([], list(code.names_in(atoms)), made, s.line, True, False, self._about(s.array))

    def _block(self, s: anf.Opaque) -> None:
        """Emit an opaque block, which may only read arrays."""
        code = self.code
        kinds = {x: code.of[x] for x in [*s.targets, *s.args] if x in code.of}
        for x in s.args:
            self.lazy.materialise(x)
        wrong = [x for x in s.targets if x in kinds and is_array(kinds[x])]
        wrong += [x for x, kind in kinds.items() if isinstance(kind, types.BaseTuple) or x in self.lists]
        wrong += [x for x, kind in kinds.items() if is_array(kind) and not _only_reads(s.code, x)]
        if wrong:
            code.refuse(s.line, *s.refusal)
        targets, args = ([x for x in some if x in kinds] for some in (s.targets, s.args))
        self.lazy.flush()
        code.add(anf.Opaque(targets, tuple(args), s.code, s.line, s.changes, s.unknown, s.refusal))

    def _write(
        self, targets: list[str], names: list[str], made: ast.stmt, line: int, changes: bool, unknown: bool, said: Words
    ) -> None:
        ast.fix_missing_locations(made)
        self.lazy.flush()
        self.code.add(anf.Opaque(targets, tuple(names), [made], line, changes, unknown, said))

    # Arrays

    def _with_arrays(
        self, target: str, tree: ast.expr, names: list[str], changes: bool, said: Words, line: int
    ) -> tuple[ast.expr, list[str], Callable[[], None]]:
        """Copy-in and copy-out of the arrays that an opaque expression may mutate."""
        code = self.code
        for x in names:
            self.lazy.materialise(x)
        arrays = [x for x in names if is_array(code.of[x])] if changes else []
        of_result = anf.leaves(code.tree(target))
        if any(holds_floats(code.of[x]) for x in arrays) or (arrays and any(is_array(code.kind(x)) for x in of_result)):
            code.refuse(line, *said)
        made = {x: code.temp(types.Array(code.of[x].dtype, code.of[x].ndim, "C")) for x in arrays}
        for x, fresh in made.items():
            code.emit(anf.Alloc(fresh, (x,), to_python.name(f"np.copy({x})"), line))

        def back() -> None:
            """Store the elements of the copies back."""
            for x, fresh in made.items():
                code.over(x, code.of[x].ndim, line, lambda i, x=x, t=fresh: code.put(x, i, code.pick(t, i, line), line))  # type: ignore[misc]

        renamed = to_python.renamed(tree, made) if made else tree
        return renamed, [made.get(x, x) for x in names], back

    # Conditions

    def in_body(self, s: anf.While) -> anf.While:
        """Move an opaque loop condition into the body, where it is computed once per iteration."""
        if not any(isinstance(t, anf.Opaque) for t in anf.walk(s.test_block)):
            return s
        code = self.code
        stop = code.temp(types.boolean)
        code.emit(anf.Copy(stop, anf.Const(False), s.line))
        ended: list[anf.Stmt] = [anf.Copy(stop, anf.Const(True), s.line)]
        return anf.While(
            [], anf.Const(True), [*s.test_block, anf.If(s.test, s.body, ended, s.line)], [*s.exits, stop], s.line
        )

    # Slices

    def without_slices(self, s: anf.Stmt) -> anf.Stmt:
        """Lower `a[slice(i, j)]` to `a[i:j]`, and `a[n]` to `a[None]` if n is None."""
        if not isinstance(s, (anf.GetItem, anf.Store)):
            return s
        code, of = self.code, self.code.of
        base = s.base if isinstance(s, anf.GetItem) else s.array
        index = tuple(None if isinstance(x, str) and _is_none(of.get(x)) else x for x in s.index)
        made: list[anf.Entry] = []
        for k, x in enumerate(index):
            if not (isinstance(x, str) and _is_slice(of.get(x))):
                made.append(x)
                continue
            if not is_array(code.kind(base)) or base in self.lists or of[x].members > 2:
                code.refuse(s.line, "a slice that is a value", "of arrays, and without a step, it is known", "a[i:j]")
            lower, upper, step = (code.temp(types.int64) for _ in range(3))
            n = code.plain(f"a.shape[{k}]", s.line, a=base)
            text = f"({lower}, {upper}, {step}) = {x}.indices({n})"
            said = "a slice", "it is no number", "a[i:j]"
            self._write([lower, upper, step], [x, n], ast.parse(text).body[0], s.line, False, False, said)
            made.append(anf.Slice(lower, upper, None))
        return s if tuple(made) == s.index else replace(s, index=tuple(made))

    # Words

    @property
    def comprehensions(self) -> set[str]:
        """Lists that MakeList and AllocList create; only their comprehension appends to them."""
        return {s.target for s in anf.walk(self.code.lowered.body) if isinstance(s, (anf.MakeList, anf.AllocList))}

    def _said(self, s: anf.Let) -> Words:
        """Refusal message, in case a derivative would have to pass through the operation."""
        if isinstance(s, anf.OpaqueExpr):
            said: Words = self.code.lowered.blamed.get(s.target, s.refusal)
            return said
        for x in [*s.args, s.target]:
            if isinstance(x, str) and is_opaque(self.code.of[x]):
                return self._about(x)
        raise AssertionError(s)

    def _about(self, x: str) -> Words:
        """Refusal message for an opaque variable, or for the use of a dict that keeps it from being split."""
        return self.code.lowered.blamed.get(x) or about(x, self.code.of[x])


def _is_slice(kind: NumbaType) -> bool:
    return isinstance(kind, types.SliceType)


def _is_none(kind: NumbaType) -> bool:
    return isinstance(kind, types.NoneType)


def _plain(tree: anf.Tree, made: Mapping[str, str]) -> anf.Tree:
    """Assignment target for a tree: tuples without classes, with other names."""
    if isinstance(tree, anf.Node):
        return anf.Node(tuple(_plain(x, made) for x in tree.parts))
    return made.get(tree, tree) if isinstance(tree, str) else "_"


def _only_reads(code: list[ast.stmt], x: str) -> bool:
    """Whether statements only read elements of an array, or its length and shape."""
    reading: set[int] = set()
    for node in (node for s in code for node in ast.walk(s)):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            if not any(isinstance(part, ast.Slice) for part in parts):
                reading.add(id(node.value))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("len", "print"):
            reading |= set(map(id, node.args))
        elif isinstance(node, ast.Attribute) and node.attr in ("shape", "size", "ndim"):
            reading.add(id(node.value))
    return all(id(node) in reading for s in code for node in ast.walk(s) if isinstance(node, ast.Name) and node.id == x)
