"""Builder of expanded core: statements, types, alias classes and fresh names that all parts of scalarize share.

Takes a function in lowered core with a type for every variable. Keeps the statements that are written (`out`), the
types of the variables that they name (`of`), and which arrays may share memory (`alias`); gives new variables, and
refuses.

Every name is new or the function's own. What is not written through this object is not in the program.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable
from typing import NoReturn, TypeAlias

import numba
from numba.core import types

from dualrev.compiler.frontend.lowering.lowered_function import Lowered
from dualrev.compiler.frontend.reading.njit_options import is_parallel
from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.ir.anf.builder import AnfBuilder
from dualrev.compiler.ir.anf.to_python import dtype_name
from dualrev.compiler.ir.union_find import Sets
from dualrev.compiler.scalarize.arrays.even_strides import are_even
from dualrev.compiler.types.aliases import AccessPath, NumbaType, UserValue
from dualrev.compiler.types.complex_parts import Parts
from dualrev.compiler.types.leaves import is_structured, members
from dualrev.rules import library

_NO_NAME = re.compile(r"\W", re.ASCII)  # what stands in names of fields, and in no variable's

#: The lengths of axes, as variables.
Sizes: TypeAlias = tuple[str, ...]

__all__ = ["ScalarBuilder", "Sizes", "line_of_variable", "named"]

#: numpy's functions that do to numbers what these operators do to elements of arrays.
_DIVISIONS = {"/": "np.true_divide", "//": "np.floor_divide", "%": "np.remainder"}


def line_of_variable(lowered: Lowered, x: str) -> int:
    """Source line of a variable's first assignment; the function's line if it has none."""
    base = x.split("[")[0]
    for s in anf.walk(lowered.body):
        if isinstance(s, anf.Let) and s.target == base:
            return s.line
    return lowered.source.tree.lineno


def named(array: anf.Atom) -> str:
    """Variable name of an array, which may be a captured constant."""
    assert not isinstance(array, anf.Const), array
    return array if isinstance(array, str) else array.name


def _common_shape(arrays: tuple[str, ...]) -> str:
    """Source text of the broadcast shape of several arrays."""
    shapes = [f"{x}.shape" for x in arrays] or ["()"]
    return functools.reduce(lambda one, two: f"runtime.common_shape({one}, {two})", shapes)


class ScalarBuilder(AnfBuilder):
    """Builder of statements, and of the variables in them. The parts call it `code`."""

    def __init__(self, lowered: Lowered, of: dict[str, NumbaType], alias: Sets[str]) -> None:
        super().__init__()
        self.lowered, self.names, self.of, self.alias = lowered, lowered.names, of, alias
        self.even = are_even(lowered, of)
        self.threads = is_parallel(lowered.source.dispatcher, "numpy")  # for elements of arrays
        self.in_rounds = False  # of a loop over prange: numba runs each of them in one thread
        self.classes: dict[type, anf.Ref] = {}  # of named tuples
        self._part_names: dict[tuple[str, int | str], str] = {}

    def refuse(self, line: int, what: str, why: str, instead: str, at: int = 0) -> NoReturn:
        """Raise UnsupportedError at a line of the user's function."""
        self.lowered.source.refuse(line, what, why, instead, at)

    # Variables, their types, and the parts of tuples

    def temp(self, kind: NumbaType) -> str:
        """Return a fresh temporary of type `kind`."""
        name = self.names.temporary()
        self.of[name] = kind
        return name

    def kind(self, x: anf.Atom) -> NumbaType:
        """Numba type of an atom."""
        return self.of[x] if isinstance(x, str) else numba.typeof(x.value)

    def is_tuple(self, x: anf.Atom) -> bool:
        """Whether an atom is a variable that holds a tuple."""
        return isinstance(x, str) and isinstance(self.of.get(x), types.BaseTuple)

    def tree(self, x: anf.Atom) -> anf.Tree:
        """Tree of leaves of a tuple, record or complex number (SROA); any other atom unchanged."""
        if isinstance(x, anf.Ref) and isinstance(x.value, tuple):
            return self._constant_tree(x)
        if isinstance(x, anf.Const) and isinstance(x.value, complex):
            return anf.Node((anf.Const(x.value.real), anf.Const(x.value.imag)))
        kind = self.of.get(x) if isinstance(x, str) else None
        if isinstance(kind, (types.DType, types.NumberClass)):
            return anf.Ref(dtype_name(kind.dtype if isinstance(kind, types.DType) else kind.instance_type), None)
        return self._parts(str(x), kind) if isinstance(kind, types.BaseTuple) or is_structured(kind) else x

    def parts(self, x: anf.Atom) -> tuple[anf.Tree, ...]:
        """Parts of a tuple, a record or a complex number."""
        tree = self.tree(x)
        assert isinstance(tree, anf.Node), x
        return tree.parts

    def variables(self, x: str) -> list[str]:
        """Variables at the leaves of a variable's tree; the variable itself, if it is not a tuple."""
        return anf.variables(self.tree(x))

    def names_in(self, atoms: tuple[anf.Atom, ...]) -> tuple[str, ...]:
        """Variables at the leaves of the atoms' trees."""
        return tuple(dict.fromkeys(x for a in atoms for x in anf.variables(self.tree(a))))

    def syntax_tree(self, tree: anf.Tree) -> ast.expr:
        """Python expression for a tree."""
        if isinstance(tree, anf.Node):
            parts = [self.syntax_tree(x) for x in tree.parts]
            return ast.Tuple(parts, ast.Load()) if tree.cls is None else to_python.call(tree.cls.name, *parts)
        return to_python.atom(tree)

    def expression(self, s: anf.Let) -> ast.expr:
        """Python expression of an operation, unchanged but for tuples, which are rebuilt from their components."""
        return to_python.expression(s, lambda x: self.syntax_tree(self.tree(x)))

    def _parts(self, x: str, kind: NumbaType) -> anf.Tree:
        """Tree of the leaf variables of a variable, by its type."""
        if is_structured(kind):
            leaves = members(kind).items()
            return anf.Node(tuple(self._parts(self._part_name(x, f), t) for f, t in leaves), kind=kind)
        if not isinstance(kind, types.BaseTuple):
            self.of.setdefault(x, kind)
            return x
        cls = None
        if isinstance(kind, types.BaseNamedTuple):
            cls = self._class_ref(kind.instance_class)
        if isinstance(kind, Parts):
            return anf.Node(tuple(self._parts(self._part_name(x, name), kind.dtype) for name in ("re", "im")))
        return anf.Node(tuple(self._parts(self._part_name(x, k), t) for k, t in enumerate(kind.types)), cls)

    def _part_name(self, x: str, k: int | str) -> str:
        """Variable for a component of a tuple, an object or a complex number: `t_0`, or a fresh name."""
        if (x, k) not in self._part_names:
            self._part_names[x, k] = made = self.names.fresh(
                f"{{}}_{_NO_NAME.sub('_', str(k))}", x, self.names.is_temporary(x)
            )
            if isinstance(self.of.get(x), Parts):  # who shares memory with a complex array, does with its parts
                self.alias.join(made, x)
        return self._part_names[x, k]

    def _class_ref(self, cls: type) -> anf.Ref:
        """Reference to the class of a named tuple."""
        if cls not in self.classes:
            self.classes[cls] = self.lowered.class_ref(cls)
        return self.classes[cls]

    def _constant_tree(self, x: anf.Ref) -> anf.Tree:
        """Tree of constants for a captured tuple."""

        def build(value: UserValue, path: AccessPath) -> anf.Tree:
            """Tree of `value`, whose access path is `path`."""
            if isinstance(value, tuple):
                cls = self._class_ref(type(value)) if hasattr(value, "_fields") else None
                return anf.Node(tuple(build(v, (*path, ("item", k))) for k, v in enumerate(value)), cls)
            if isinstance(value, complex):
                return self.tree(anf.Const(complex(value)))
            if value is None or isinstance(value, (bool, int, float, str)):
                return anf.Const(value)
            name = self.names.fresh("{}" + "".join(f"_{s[1]}" for s in path[len(x.path) :]), x.name)
            self.lowered.refs[name] = anf.Ref(name, value, path)
            return self.lowered.refs[name]

        return build(x.value, x.path)

    # Statements

    def plain(self, text: str, line: int, kind: NumbaType = types.int64, target: str = "", **names: anf.Atom) -> str:
        """Emit `target` = a non-differentiable expression, the text with atoms for the names in it."""
        tree = to_python.substitute(to_python.name(text), lambda x: to_python.atom(names[x]) if x in names else None)
        args = tuple(x for x in names.values() if isinstance(x, str))
        return self.emit(anf.Discrete(target or self.temp(kind), args, tree, line))

    def copy(self, target: str, source: anf.Atom, line: int) -> None:
        """Emit `target = source`, unless they are one variable."""
        if target != source:
            self.emit(anf.Copy(target, source, line))

    def copy_tree(self, target: anf.Tree, source: anf.Tree, line: int) -> None:
        """Emit copies of all leaves of a tree."""
        if isinstance(target, anf.Node):
            assert isinstance(source, anf.Node), "a tuple has a tree, and a frozen record no other name"
            for t, s in zip(target.parts, source.parts, strict=True):
                self.copy_tree(t, s, line)
        else:
            assert isinstance(target, str), target
            assert not isinstance(source, anf.Node), source
            self.emit(anf.Copy(target, source, line))

    def as_written(self, s: anf.Let) -> None:
        """Emit an operation unchanged, as a non-differentiable expression."""
        if (
            isinstance(s, anf.BinOp) and s.of_elements and s.symbol in _DIVISIONS
        ):  # what numba does with elements of arrays
            s = anf.CallKnown(s.target, _DIVISIONS[s.symbol], s.args, s.line)
        expression = self.expression(s)
        self.emit(anf.Discrete(s.target, self.names_in(s.args), expression, s.line))

    def alloc(self, s: anf.Let) -> None:
        """Emit an array allocation unchanged."""
        self.emit(anf.Alloc(s.target, self.names_in(s.args), self.expression(s), s.line))

    def library(self, target: str, name: str, args: tuple[anf.Atom, ...], line: int) -> None:
        """Emit a call of a definition of rules/library/, which is differentiated like a user's function."""
        result = self.tree(target)
        ref = next((r for r in self.lowered.refs.values() if r.path == (("library", name),)), None)
        if ref is None:
            made = self.names.fresh(f"_{name}")
            ref = self.lowered.refs[made] = anf.Ref(made, library.DEFINITIONS[name], (("library", name),))
        self.call(result, ref, [self.tree(x) for x in args], line)

    def call(
        self,
        result: anf.Tree,
        function: anf.Ref,
        args: list[anf.Tree],
        line: int,
        kinds: tuple[NumbaType, ...] | None = None,
    ) -> None:
        """Emit the call of a numba function; arguments and result are trees, `kinds` as `types` of Call."""
        self.add(anf.Call(anf.variables(result), function, args, result, line, kinds))

    # Arrays and their elements

    def empty(self, target: str, shape: str, names: tuple[str, ...], line: int) -> None:
        """Emit `target` = a new array of this shape, in the layout that numba infers."""
        kind = self.of[target]
        backwards = kind.layout == "F" and kind.ndim > 1
        text = (
            f"np.empty({shape}[::-1], {dtype_name(kind.dtype)}).T"
            if backwards
            else f"np.empty({shape}, {dtype_name(kind.dtype)})"
        )
        self.emit(anf.Alloc(target, names, to_python.name(text), line))

    def empty_for(self, target: str, arrays: tuple[str, ...], line: int) -> None:
        """Emit `target` = a new array of the broadcast shape of `arrays`."""
        self.empty(target, _common_shape(arrays), arrays, line)

    def empty_like(self, target: str, shape_of: str, line: int) -> None:
        """Emit `target` = a new array of the shape of `shape_of`."""
        self.empty(target, f"{shape_of}.shape", (shape_of,), line)

    def spread(self, array: anf.Atom, like: str | Sizes, ndim: int, line: int) -> str:
        """Emit the broadcast view of an array, with the shape of another array or with these lengths."""
        made = self.temp(types.Array(self.kind(array).dtype, ndim, "A"))
        whole = isinstance(like, str)
        shape, names = (f"{like}.shape", (like,)) if whole else (f"({''.join(f'{n}, ' for n in like)})", like)
        spread = "spread_evenly" if self.even and isinstance(array, str) else "spread"
        return self.emit(anf.ViewExpr(made, array, (*names,), to_python.name(f"runtime.{spread}(BASE, {shape})"), line))

    def pick(self, array: anf.Atom, index: anf.Index, line: int) -> str:
        """Emit the load of an element."""
        return self.emit(anf.Load(self.temp(self.kind(array).dtype), array, index, line))

    def put(self, array: str, index: anf.Index, value: anf.Atom, line: int) -> None:
        """Emit the store of an element."""
        self.add(anf.Store(array, index, value, line))

    def over(
        self, array: str, ndim: int, line: int, body: Callable[[tuple[str, ...]], object], threads: bool = True
    ) -> None:
        """Emit a loop nest over all indices of an array, as `nest` does."""
        self.nest(self.sizes(array, ndim, line), line, body, threads)

    def sizes(self, array: str, ndim: int, line: int) -> Sizes:
        """Emit the axis lengths of an array."""
        return tuple(self.plain(f"a.shape[{k}]", line, a=array) for k in range(ndim))

    def common_sizes(self, arrays: tuple[str, ...], ndim: int, line: int) -> Sizes:
        """Emit the axis lengths of the broadcast shape of `arrays`."""
        shape = _common_shape(arrays)
        return tuple(
            self.emit(anf.Discrete(self.temp(types.int64), arrays, to_python.name(f"{shape}[{k}]"), line))
            for k in range(ndim)
        )

    def nest(self, sizes: Sizes, line: int, body: Callable[[tuple[str, ...]], object], threads: bool = True) -> None:
        """Emit a loop nest below `sizes`; with `threads`, parallel where numba runs elementwise loops in threads."""
        threads = threads and self.threads
        index = tuple(self.temp(types.int64) for _ in sizes)

        def nest(k: int) -> None:
            """Emit the loops over axis `k` and the later ones."""
            if k == len(sizes):
                body(index)
            else:
                inner = self.collect(lambda: nest(k + 1))
                outer = threads and k == 0
                self.add(anf.For(index[k], anf.Const(0), sizes[k], anf.Const(1), inner, [], line, outer, outer))

        nest(0)

    def count(self, n: anf.Atom, line: int, body: Callable[[str], object]) -> None:
        """Emit a loop over `range(n)`."""
        k = self.temp(types.int64)
        self.add(anf.For(k, anf.Const(0), n, anf.Const(1), self.collect(lambda: body(k)), [], line))

    def fill(self, array: str, value: anf.Atom, line: int) -> None:
        """Emit a loop that stores one value to all elements."""
        self.over(array, self.kind(array).ndim, line, lambda i: self.put(array, i, value, line))

    def copy_elements(self, target: str, source: anf.Atom, line: int) -> None:
        """Emit `target` = a new array with the same elements."""
        self.empty_like(target, named(source), line)
        ndim = self.kind(target).ndim
        self.over(target, ndim, line, lambda i: self.put(target, i, self.pick(source, i, line), line), False)
