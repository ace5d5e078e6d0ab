"""What all of expanding needs: types, the parts of tuples, and the statements that are written."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable
from typing import Any

from numba.core import types

from dualrev.compiler.core import syntax
from dualrev.compiler.core.lowered import Call, Const, Let, Node, OfElements, Ref, Slice, leaves, reads, walk
from dualrev.compiler.core.naming import readable
from dualrev.compiler.expansion.unknown import about
from dualrev.compiler.frontend.inference import Typed
from dualrev.compiler.frontend.lower import Lowered
from dualrev.rules import library

__all__ = ["Aliases", "Expansion", "dtype_name", "is_array", "is_real", "is_real_array"]

#: numpy's functions that do to numbers what these operators do to elements of arrays.
_DIVISIONS = {"/": "np.true_divide", "//": "np.floor_divide", "%": "np.remainder"}


def is_real(kind: Any) -> bool:
    """Whether a type is that of a real scalar."""
    return isinstance(kind, types.Float)


def is_array(kind: Any) -> bool:
    """Whether a type is that of an array."""
    return isinstance(kind, types.Array)


def is_real_array(kind: Any) -> bool:
    """Whether a type is that of an array of real scalars."""
    return is_array(kind) and is_real(kind.dtype)


def dtype_name(kind: Any) -> str:
    """np.float64 for numba's float64."""
    return "np.bool_" if isinstance(kind, types.Boolean) else f"np.{kind}"


class Expansion:
    """What all of expanding needs."""

    def __init__(self, lowered: Lowered, typed: Typed, argtypes: tuple[Any, ...], apart: bool) -> None:
        self.lowered, self.source, self.names, self.argtypes = lowered, lowered.source, lowered.names, argtypes
        self.of = dict(typed.of)
        self.typed = typed
        self.take_lists()
        self.out: list[Any] = []
        self.part_names: dict[tuple[str, int], str] = {}
        self.uses = Counter(x for s in walk(lowered.body) for x in reads(s) if isinstance(x, str))
        self.uses[lowered.result] += 1  # type: ignore[index]
        self.classes: dict[Any, Ref] = {}
        self.alias = Aliases()
        self.flats: dict[str, str] = {}  # the arrays of `a.flat`
        if not apart:
            arrays = [x for x in lowered.parameters if is_array(self.of.get(x)) or self.is_tuple(x)]
            for x in arrays[1:]:
                self.alias.join(x, arrays[0])
        for s in walk(lowered.body):
            if isinstance(s, Let):
                for x in s.args:
                    if isinstance(x, (str, Ref)) and is_array(self.of.get(s.target)) | self.is_tuple(s.target):
                        self.alias.join(s.target, x if isinstance(x, str) else x.name)

    def take_lists(self) -> None:
        """See lists.py."""

    def check(self, x: str, kind: Any) -> None:
        """Refuse types that have no derivative."""
        if isinstance(kind, types.Complex) or (is_array(kind) and isinstance(kind.dtype, types.Complex)):
            self.refuse(self.line_of(x), f"the complex number {x}", "only real numbers are", "real and imaginary parts")
        if isinstance(kind, types.Optional):
            why = "it is None on some paths, which may be that a `return` is missing"
            self.refuse(self.line_of(x), f"the value of {readable(x).strip('_')}", why, "a number on every path")
        if isinstance(kind, types.BaseTuple):
            for k, part in enumerate(kind.types):
                self.check(f"{x}[{k}]", part)
            return
        scalar = (types.Float, types.Integer, types.Boolean, types.NoneType, types.Array, types.UnicodeType)
        functions = (
            types.Dispatcher,
            types.Function,
            types.NumberClass,
            types.DType,
            types.NumpyFlatType,
            types.EnumMember,
        )
        if isinstance(kind, (types.List, types.ListType)) and x in self.lowered.parameters:
            why = "a list has no place for its gradient, and grows or shrinks where it is passed on"
            self.refuse(self.line_of(x), f"the list {readable(x).strip('_')} as an argument", why, "np.array of it")
        of_numbers = not is_array(kind) or isinstance(kind.dtype, (types.Float, types.Integer, types.Boolean))
        if not isinstance(kind, (*scalar, *functions)) or not of_numbers:
            self.refuse(self.line_of(x), *about(x, kind))

    def line_of(self, x: str) -> int:
        """Where a variable is assigned first."""
        base = x.split("[")[0]
        for s in walk(self.lowered.body):
            if isinstance(s, Let) and s.target == base:
                return s.line
        return self.source.tree.lineno

    def refuse(self, line: int, what: str, why: str, instead: str) -> Any:
        """UnsupportedError."""
        self.source.refuse(line, what, why, instead)

    def operation(self, s: Let) -> None:
        """Write what an operation of core becomes: see expand.py."""
        raise NotImplementedError

    # Names, trees, types

    def temp(self, kind: Any) -> str:
        """A new variable."""
        name = self.names.temporary()
        self.of[name] = kind
        return name

    def kind(self, x: Any) -> Any:
        """The type of an atom."""
        return self.of[x] if isinstance(x, str) else self.typed(x)

    def is_tuple(self, x: Any) -> bool:
        """Whether an atom is a variable that holds a tuple."""
        return isinstance(x, str) and isinstance(self.of.get(x), types.BaseTuple)

    def tree(self, x: Any) -> Any:
        """An atom, or the tree of a tuple's parts."""
        if isinstance(x, Ref) and isinstance(x.value, tuple):
            return self.constant_tree(x)
        kind = self.of.get(x) if isinstance(x, str) else None
        if isinstance(kind, (types.DType, types.NumberClass)):
            return Ref(dtype_name(kind.dtype if isinstance(kind, types.DType) else kind.instance_type), None)
        return self.parts(str(x), kind) if isinstance(kind, types.BaseTuple) else x

    def parts(self, x: str, kind: Any) -> Any:
        """The tree of a variable of this type."""
        if not isinstance(kind, types.BaseTuple):
            self.of.setdefault(x, kind)
            return x
        cls = None
        if isinstance(kind, types.BaseNamedTuple):
            cls = self.class_ref(kind.instance_class)
        return Node(tuple(self.parts(self.part_name(x, k), t) for k, t in enumerate(kind.types)), cls)

    def part_name(self, x: str, k: int) -> str:
        """The name of a part of a tuple: t_0, unless the program has a variable of this name."""
        if (x, k) not in self.part_names:
            self.part_names[x, k] = self.names.fresh(f"{{}}_{k}", x, self.names.is_temporary(x))
        return self.part_names[x, k]

    def class_ref(self, cls: Any) -> Ref:
        """The name of a named tuple's class."""
        if cls not in self.classes:
            self.classes[cls] = self.lowered.class_ref(cls)
        return self.classes[cls]

    def constant_tree(self, x: Ref) -> Any:
        """A frozen tuple, as its numbers."""

        def build(value: Any, path: tuple[Any, ...]) -> Any:
            if isinstance(value, tuple):
                cls = self.class_ref(type(value)) if hasattr(value, "_fields") else None
                return Node(tuple(build(v, (*path, ("item", k))) for k, v in enumerate(value)), cls)
            if value is None or isinstance(value, (bool, int, float, str)):
                return Const(value)
            name = self.names.fresh("{}" + "".join(f"_{s[1]}" for s in path[len(x.path) :]), x.name)
            self.lowered.refs[name] = Ref(name, value, path)
            return self.lowered.refs[name]

        return build(x.value, x.path)

    # Writing

    def let(self, op: str, args: tuple[Any, ...], info: Any, line: int, kind: Any = None, target: str = "") -> str:
        """Write an operation; without a target, its result gets a new name."""
        target = target or self.temp(kind)
        self.out.append(Let(target, op, args, info, line))
        return target

    def plain(self, text: str, line: int, kind: Any = types.int64, target: str = "", **names: Any) -> str:
        """target = the text, with atoms for the names in it."""
        tree = syntax.substitute(syntax.name(text), lambda x: syntax.atom(names[x]) if x in names else None)
        args = tuple(x for x in names.values() if isinstance(x, str))
        return self.let("plain", args, tree, line, kind, target)

    def copy_tree(self, target: Any, source: Any, line: int) -> None:
        """Write copies of all parts."""
        if isinstance(target, Node):
            if not isinstance(source, Node):
                self.refuse(line, "this tuple", "its parts are not known", "the parts")
            for t, s in zip(target.parts, source.parts, strict=True):
                self.copy_tree(t, s, line)
        else:
            self.let("copy", (source,), None, line, target=target)

    def collect(self, work: Callable[[], object]) -> list[Any]:
        """The statements that a piece of work writes."""
        before, self.out = self.out, []
        try:
            work()
            return self.out
        finally:
            self.out = before

    def syntax_tree(self, tree: Any) -> ast.expr:
        """An expression for a tree."""
        if isinstance(tree, Node):
            parts = [self.syntax_tree(x) for x in tree.parts]
            return ast.Tuple(parts, ast.Load()) if tree.cls is None else syntax.call(tree.cls.name, *parts)
        return syntax.atom(tree)

    def as_written(self, s: Let) -> None:
        """An operation without derivative."""
        if isinstance(s.info, OfElements) and s.info in _DIVISIONS:  # what numba does with elements of arrays
            s = Let(s.target, "func", s.args, (_DIVISIONS[s.info], ()), s.line)
        args = []
        for x in s.args:
            if self.is_tuple(x):
                tree = self.tree(x)
                args.append(tree)
                continue
            args.append(x)

        def sub(x: Any) -> ast.expr:
            return self.syntax_tree(self.tree(x))

        expression = syntax.expression(s, sub)
        names = tuple(dict.fromkeys(x for a in s.args for x in leaves(self.tree(a)) if isinstance(x, str)))
        self.let("plain", names, expression, s.line, target=s.target)

    def check_index(self, index: tuple[Any, ...], line: int) -> None:
        """Refuse what numba takes as an index, and the compiler does not."""
        for entry in index:
            if isinstance(entry, (str, Ref)) and not isinstance(self.kind(entry), (types.Integer, types.Boolean)):
                what = "an array" if is_array(self.kind(entry)) else f"a value of numba type {self.kind(entry)}"
                self.refuse(line, f"an index that is {what}", "only ints and slices are known", "a loop over the index")
            if isinstance(entry, Slice):
                self.check_slice(entry, line)
            if isinstance(entry, str) and isinstance(self.kind(entry), types.Boolean):
                self.refuse(line, "an index that is a bool", "only ints and slices are known", "a branch")

    def alloc(self, s: Let) -> None:
        """A function that makes an array, as it is written."""

        def sub(x: Any) -> ast.expr:
            return self.syntax_tree(self.tree(x))

        names = tuple(dict.fromkeys(x for a in s.args for x in leaves(self.tree(a)) if isinstance(x, str)))
        self.let("alloc", names, syntax.expression(s, sub), s.line, target=s.target)

    def check_slice(self, entry: Slice, line: int) -> None:
        """The same for the bounds of a slice."""
        for x in entry.atoms():
            if isinstance(x, str) and not isinstance(self.kind(x), types.Integer):
                self.refuse(line, f"a slice whose bound is of numba type {self.kind(x)}", "only ints are known", "ints")

    def index(self, entries: tuple[Any, ...], ndim: int, line: int) -> tuple[Any, ...]:
        """An index of an array with the parts of the tuples in it, and without an ellipsis that stands for no axis."""
        made: list[Any] = []
        for entry in entries:
            tree = entry if entry is None or entry is Ellipsis or isinstance(entry, Slice) else self.tree(entry)
            made += leaves(tree) if isinstance(tree, Node) else [entry]
        self.check_index(tuple(made), line)
        if sum(x is not None and x is not Ellipsis for x in made) == ndim > 0 and None not in made:
            made = [x for x in made if x is not Ellipsis]
        return tuple(made)

    def library(self, s: Let, name: str, args: tuple[Any, ...]) -> None:
        """target = a definition of rules/library/, which is differentiated as the user's own are."""
        ref = next((r for r in self.lowered.refs.values() if r.path == (("library", name),)), None)
        if ref is None:
            made = self.names.fresh(f"_{name}")
            ref = self.lowered.refs[made] = Ref(made, library.DEFINITIONS[name], (("library", name),))
        result = self.tree(s.target)
        targets = [x for x in leaves(result) if isinstance(x, str)]
        self.out.append(Call(targets, ref, [self.tree(x) for x in args], result, s.line))


class Aliases:
    """Which arrays may share memory, from their definitions, without regard to order."""

    def __init__(self) -> None:
        self.parent: dict[str, str] = {}

    def find(self, x: str) -> str:
        """The representative of an array."""
        while self.parent.setdefault(x, x) != x:
            x = self.parent[x]
        return x

    def join(self, x: str, y: str) -> None:
        """Two arrays may share memory."""
        self.parent[self.find(x)] = self.find(y)

    def same(self, x: str, y: str) -> bool:
        """Whether two arrays may share memory."""
        return self.find(x) == self.find(y)
