"""Scalar replacement of records, arrays of records, jitclass instances and structrefs by their leaves.

Takes the writer, what has been put off, assignments, and `expand`, which writes an operation. What the leaves are, says
types/leaves.py. An object is never more than its leaves: what asks for anything else is refused.

    a[i].x, a["x"][i]     a_x[i]            r = a[i]      r_x = a view of the element a_x[i], and so on
    a[1:].x               a_x[1:]           r.x           r_x[()]
    r.x = v               r_x[()] = v       box.mass      box_mass[()]
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from typing import NoReturn

import numpy as np
from numba.core import types
from numba.core.typing.arraydecl import ArrayAttribute

from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.ir.names import readable
from dualrev.compiler.scalarize.arrays.assign import Assignments
from dualrev.compiler.scalarize.arrays.deferred import Lazy
from dualrev.compiler.scalarize.arrays.indices import index_of, is_gathered
from dualrev.compiler.scalarize.builder import ScalarBuilder, named
from dualrev.compiler.scalarize.records.jitclass import Objects
from dualrev.compiler.scalarize.records.operator_methods import Dunders
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.leaves import is_bound, is_instance, is_record, is_records, is_structured, members

__all__ = ["Structures"]

_THROUGH = (anf.Copy, anf.MakeTuple, anf.CallUser, anf.CallStarred, anf.MakeObject)  # operations that take trees
_FIELDS = "numbers, and arrays of numbers, are known"
#: The attributes of arrays, which numba prefers to fields of these names.
_OF_ARRAYS = {name.removeprefix("resolve_") for name in dir(ArrayAttribute) if name.startswith("resolve_")}


class Structures:
    """Scalar replacement of objects that have fields."""

    def __init__(
        self, code: ScalarBuilder, lazy: Lazy, assignments: Assignments, expand: Callable[[anf.Let], None]
    ) -> None:
        self.code, self.lazy, self.assignments, self.expand = code, lazy, assignments, expand
        self._places: dict[str, tuple[str, anf.Index]] = {}  # of a[i] that has no name: a, and i
        self._read: dict[str, tuple[str, str]] = {}  # which field of which object an array is
        self.objects = Objects(code, expand)
        self.dunders = Dunders(code, self.objects, expand)
        self._deferred, self._augmented = set(_deferred(code)), set(_augmented(code))
        for x, kind in code.of.items():
            if isinstance(kind, types.NestedArray):
                code.of[x] = types.Array(kind.dtype, kind.ndim, "A")

    def takes(self, s: anf.Stmt) -> bool:
        """Lower a statement on an object; False if it is none, or if its operation takes whole objects."""
        if isinstance(s, anf.Store) and s.index and isinstance(s.index[0], anf.Member) and not self._is(s.array):
            what, instead = "an assignment to an attribute", "a variable"
            self.code.refuse(s.line, what, "only variables, elements of arrays and fields can change", instead)
        about = [x for x in anf.reads(s) if self._is(x)]
        if not about or (isinstance(s, anf.Let) and isinstance(self.code.kind(s.args[0]), types.BaseTuple)):
            return False
        self.lazy.flush()
        if isinstance(s, anf.Store):
            self._store(s)
        elif isinstance(s, _THROUGH) and not any(isinstance(x, anf.Ref) for x in about):
            self.objects.check_use(s)
            self._make_places(about, s.line)
            return False
        elif isinstance(s, anf.CallMethod) and is_instance(self.code.kind(s.args[0])):
            self._make_places(about, s.line)
            self.objects.method(s)
        elif isinstance(s, anf.Let) and self._is(s.args[0]):
            self._make_places([x for x in about if x != s.args[0]], s.line)
            if not (is_instance(self.code.kind(s.args[0])) and self.dunders.takes(s)):
                self._operation(s)
        else:
            self._refuse_use(about[0], s.line)
        return True

    def _is(self, x: anf.Atom) -> bool:
        return (
            _is_frozen(x.value) if isinstance(x, anf.Ref) else isinstance(x, str) and is_structured(self.code.of.get(x))
        )

    def _is_instance(self, x: str) -> bool:
        return is_instance(self.code.of.get(x))

    def _refuse_use(self, x: anf.Atom, line: int) -> NoReturn:
        if not isinstance(x, str):
            what, why = "this use of a frozen record", "records are known as arguments, and in these"
            self.code.refuse(line, what, why, "the records as an argument")
        name = readable(x).strip("_")
        what = f"this use of the object {name}" if name else "this use of an object"
        self.code.refuse(line, what, "of an object, only its fields are known", "its fields")

    # Operations

    def _operation(self, s: anf.Let) -> None:
        base = s.args[0]
        if isinstance(base, anf.Ref):
            self._refuse_use(base, s.line)
        if isinstance(s, anf.Discrete):
            self._make_places(list(s.args), s.line)
            self._condition(s)
        elif isinstance(s, anf.GetAttr):
            if not (is_records(self.code.kind(base)) and self._of_array(s, s.name)):
                self._field(s, s.name)
        elif isinstance(s, anf.GetItem) and (name := _field_of(s.index)) is not None:
            self._field(s, name)
        elif isinstance(s, anf.GetItem) and is_records(self.code.kind(base)):
            self._part(s)
        elif isinstance(s, anf.CallKnown) and s.function == "len" and is_records(self.code.kind(base)):
            self.code.plain("len(a)", s.line, target=s.target, a=self._first(base, s.line))
        else:
            self._refuse_use(base, s.line)

    def _part(self, s: anf.GetItem) -> None:
        """Lower `a[index]` to a record, or to an array of records."""
        code, base = self.code, s.args[0]
        of, kind = code.kind(base), code.kind(s.target)
        if is_gathered(code, s.index):
            code.refuse(s.line, "an index of records that is an array", "only ints and slices are known", "a loop")
        index = index_of(code, s.index, of.ndim, s.line)
        if is_record(kind) and s.target in self._deferred:
            self._places[s.target] = base, index
            return
        self._write_part(s.target, base, index, s.line)

    def _write_part(self, target: str, base: str, index: anf.Index, line: int) -> None:
        code, kind = self.code, self.code.kind(target)
        targets, sources = code.variables(target), self._leaf_names(base)
        for t, a in zip(targets, sources, strict=True):
            code.alias.join(t, base)
            if is_record(kind) and not index:
                code.copy(t, a, line)
            elif is_record(kind):
                places = ", ".join(to_python.text(to_python.atom(anf.atom_of(i))) for i in index)
                names = tuple(i for i in index if isinstance(i, str))
                code.emit(anf.ViewExpr(t, a, (*names,), to_python.name(f"runtime.row(BASE, ({places},))"), line))
            else:
                code.emit(anf.View(t, a, self._longer(index, a, base), line))

    def _longer(self, index: anf.Index, leaf: str, base: str) -> anf.Index:
        """Index for a field that has more axes than the records."""
        more = self.code.kind(leaf).ndim - self.code.kind(base).ndim
        return (*index, *[anf.Slice(None, None, None)] * more) if Ellipsis in index else index

    def _make_places(self, atoms: list[anf.Atom], line: int) -> None:
        """Emit the views of unnamed records that are used other than by loads of fields."""
        for x in atoms:
            if x in self._places:
                self._write_part(x, *self._places[x], line)

    def _leaf_names(self, x: anf.Atom) -> list[str]:
        return anf.variables(self.code.tree(x))

    def _first(self, x: anf.Atom, line: int) -> str:
        """First leaf of an array of records."""
        found = self._leaf_names(x)
        if not found:
            self.code.refuse(line, "records without a field of numbers", f"of the fields of objects, {_FIELDS}", "one")
        return found[0]

    def _leaf(self, x: str, name: str, line: int) -> tuple[anf.Tree, anf.Index]:
        """Leaf of a field, and the index of `x` in it."""
        kind = self.code.kind(x)
        index: anf.Index = ()
        if x in self._places:
            x, index = self._places[x]
        names = list(members(kind))
        if name not in names:
            what = f"the field .{name}" if name in _fields(kind) else f"the attribute .{name}"
            self.code.refuse(line, what, f"of the fields of objects, {_FIELDS}", "another field, or an argument")
        leaf = self.code.parts(x)[names.index(name)]
        if isinstance(leaf, str):
            self.code.alias.join(leaf, x)
        return leaf, index

    def _field(self, s: anf.Let, name: str) -> None:
        """Lower the load of `x.name`."""
        code, base = self.code, s.args[0]
        kind = code.kind(base)
        if self.objects.property(s, kind, name):
            return
        leaf, index = self._leaf(base, name, s.line)
        if isinstance(leaf, anf.Node):
            code.copy_tree(code.tree(s.target), leaf, s.line)
        elif code.kind(leaf).ndim == len(index) and not is_records(kind):
            code.emit(anf.Load(s.target, leaf, index, s.line))
        else:
            if s.target in self._augmented:
                self._read[s.target] = base, name
            code.alias.join(s.target, named(leaf))
            if index:
                code.emit(anf.View(s.target, leaf, index, s.line))
            else:
                code.copy(s.target, leaf, s.line)

    def _of_array(self, s: anf.Let, name: str) -> bool:
        """Lower an attribute of an array of records, which numba prefers to a field of this name; False for a field."""
        code, kind, first = self.code, self.code.kind(s.args[0]), self._first(s.args[0], s.line)
        if name == "ndim":
            code.emit(anf.Copy(s.target, anf.Const(kind.ndim), s.line))
        elif name == "size":
            sizes = " * ".join(f"a.shape[{k}]" for k in range(kind.ndim)) or "1"
            code.plain(sizes, s.line, target=s.target, a=first)
        elif name == "shape":
            for k, t in enumerate(code.variables(s.target)):
                code.plain(f"a.shape[{k}]", s.line, target=t, a=first)
        elif name in _OF_ARRAYS:
            what, instead = f"the attribute .{name} of an array of records", f'a["{name}"], if it is a field'
            code.refuse(s.line, what, "of these, only ndim, size and shape are known", instead)
        return name in _OF_ARRAYS

    def _condition(self, s: anf.Discrete) -> None:
        """Lower a non-differentiable expression: the fields in it become variables."""
        if isinstance(s.tree, ast.BoolOp) and any(map(self._is_instance, s.args)):
            self._shortcut(s, s.tree.values, isinstance(s.tree.op, ast.And))
            return
        found: list[str] = []

        def loaded(x: str, name: str) -> ast.expr:
            """Load a field into a variable."""
            leaf, _ = self._leaf(x, name, s.line)
            assert isinstance(leaf, str), "numba types no tuple in a condition"
            kind = self.code.kind(leaf)
            made = leaf if kind.ndim else self.code.emit(anf.Load(self.code.temp(kind.dtype), leaf, (), s.line))
            found.append(made)
            return ast.Name(made)

        fields = _Fields(self._is, loaded, lambda x: self._first(x, s.line))
        tree, called = self.dunders.resolved(to_python.copied(s.tree), self._is_instance, s.line)
        found += called
        tree = fields.visit(tree)
        names = [x.id for x in ast.walk(tree) if isinstance(x, ast.Name)]
        for x in names:
            if self._is(x):
                self._refuse_use(x, s.line)
        args = tuple(x for x in [*s.args, *found] if x in names)
        self.expand(anf.Discrete(s.target, args, tree, s.line))

    def _shortcut(self, s: anf.Let, values: list[ast.expr], conjunction: bool) -> None:
        """Short-circuit `and` and `or`: a method in a condition runs only if the operands before it leave it open."""
        first, *rest = values
        names = {x.id for x in ast.walk(first) if isinstance(x, ast.Name)}
        args = tuple(x for x in s.args if x in names)
        tree = first if isinstance(first, ast.BoolOp) else to_python.call("bool", first)
        condition = anf.Discrete(s.target, args, tree, s.line)
        if any(map(self._is, args)):
            self._condition(condition)
        else:
            self.expand(condition)
        if rest:
            more = self.code.collect(lambda: self._shortcut(s, rest, conjunction))
            self.code.add(anf.If(s.target, *((more, []) if conjunction else ([], more)), s.line))

    # Assignments

    def _store(self, s: anf.Store) -> None:
        code, of = self.code, self.code.kind(s.array)
        if not self._is(s.array):
            self._refuse_use(s.value, s.line)
        if not isinstance(s.index[0] if s.index else None, anf.Member) and self.dunders.stores(s):
            return
        if (name := _field_of(s.index)) is not None:
            self._make_places([s.value], s.line)
            if is_record(code.kind(s.value)) or is_records(code.kind(s.value)):
                self._refuse_use(s.value, s.line)
            self._assign(s, name)
        elif is_records(of) and self._is(s.value):
            self._copy_record(s)
        else:
            raise AssertionError("numba types no other assignment to records")

    def _assign(self, s: anf.Store, name: str) -> None:
        """Lower `x.name = value`."""
        code = self.code
        if isinstance(s.value, str) and self._read.get(s.value) == (s.array, name):
            return  # `x.name += value` has changed the array
        if self.objects.set_property(s, name):
            return
        leaf, index = self._leaf(s.array, name, s.line)
        if is_instance(code.kind(s.array)) and is_bound(members(code.kind(s.array))[name]):
            if s.array == self.objects.made:
                self.lazy.materialise(s.value)
                code.copy_tree(leaf, code.tree(s.value), s.line)
                code.alias.join(str(s.array), named(s.value))
                return
            what = f"an assignment to .{name}, which is no number"
            code.refuse(s.line, what, "which array it is, would depend on what has run", f".{name}[:] = value")
        assert isinstance(leaf, str), "a bound field has parts, no other"
        if code.kind(leaf).ndim > len(index):
            index = (*index, Ellipsis)
        self.assignments.store(anf.Store(leaf, index, s.value, s.line))

    def _copy_record(self, s: anf.Store) -> None:
        """Lower `a[i] = r` to a copy of each field."""
        code, of, value = self.code, self.code.kind(s.array), self.code.kind(s.value)
        index = index_of(code, s.index, of.ndim, s.line) if not is_gathered(code, s.index) else ()
        whole = len(index) == of.ndim and not any(isinstance(i, anf.Slice) or i is Ellipsis or i is None for i in index)
        if not (whole and is_record(value) and value == of.dtype and set(members(of)) == set(of.dtype.fields)):
            why = "only that of one record of the same type, with fields of numbers, is known"
            code.refuse(s.line, "an assignment of records", why, "an assignment to each field")
        self._make_places([s.value], s.line)
        for leaf, x in zip(self._leaf_names(s.array), self._leaf_names(s.value), strict=True):
            code.alias.join(leaf, s.array)
            code.alias.join(x, str(s.value))
            self.assignments.store(anf.Store(leaf, index, x, s.line))


def _deferred(code: ScalarBuilder) -> Iterator[str]:
    """Temporaries `a[i]` whose fields are all loaded before `a` or `i` changes: they need no views."""
    every = list(anf.walk(code.lowered.body))
    assigned = Counter(x for s in every for x in anf.writes(s))
    read = Counter(x for s in every for x in set(anf.reads(s)) if isinstance(x, str))
    for block in [code.lowered.body, *(b for s in every for b in anf.blocks(s))]:
        for k, s in enumerate(block):
            if not (isinstance(s, anf.GetItem) and code.names.is_temporary(s.target)):
                continue
            places = [
                j
                for j, t in enumerate(block)
                if j > k and isinstance(t, (anf.Let, anf.Store)) and s.target in anf.reads(t)
            ]
            between = block[k + 1 : places[-1]] if places else []
            changed = {x for t in anf.walk(between) for x in anf.writes(t)}
            if assigned[s.target] == 1 and read[s.target] == len(places) and not changed & set(anf.reads(s)):
                yield s.target


def _augmented(code: ScalarBuilder) -> Iterator[str]:
    """Temporaries for the field in `x.field += value`, which are updated in place."""
    found: dict[str, list[type]] = {}
    for s in anf.walk(code.lowered.body):
        if isinstance(s, (anf.Let, anf.For)):
            found.setdefault(s.target, []).append(type(s))
    return (x for x, made in found.items() if made == [anf.GetAttr, anf.InplaceOp] and code.names.is_temporary(x))


class _Fields(ast.NodeTransformer):
    """Replace `r["x"]` in an expression by the variable that `loaded` returns, and `len(a)` by the length of a leaf."""

    def __init__(
        self, is_object: Callable[[str], bool], loaded: Callable[[str, str], ast.expr], first: Callable[[str], str]
    ) -> None:
        self.is_object, self.loaded, self.first = is_object, loaded, first

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Replace the load of a field."""
        named = isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
        if named and isinstance(node.value, ast.Name) and self.is_object(node.value.id):
            assert isinstance(node.slice, ast.Constant)
            return self.loaded(node.value.id, str(node.slice.value))
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Replace `len` of an array of records."""
        base = node.args[0] if len(node.args) == 1 else None
        if ast.unparse(node.func) == "len" and isinstance(base, ast.Name) and self.is_object(base.id):
            node.args = [ast.Name(self.first(base.id))]
        return self.generic_visit(node)


def _field_of(index: anf.Index) -> str | None:
    """Field name that an index is; None for any other index."""
    first = index[0] if index else None
    return first.value if isinstance(first, anf.Const) and isinstance(first.value, str) else None


def _is_frozen(x: anf.Atom) -> bool:
    """Whether a captured value is a record, or an array of records."""
    return isinstance(x, np.void) or (isinstance(x, np.ndarray) and x.dtype.names is not None)


def _fields(kind: NumbaType) -> Collection[str]:
    """Names of all fields of an object."""
    if is_instance(kind):
        return kind.struct if isinstance(kind, types.ClassInstanceType) else kind.field_dict
    return (kind.dtype if is_records(kind) else kind).fields
