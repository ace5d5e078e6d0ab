"""Typed core -> expanded core: what is left to differentiate are scalars, elements of arrays, and calls.

    tuples          become their parts: `t` of two floats is `t_0` and `t_1`; an index chosen at run time is a branch
    array arithmetic, slice assignment, copies, sums
                    become loops over elements (one loop for a whole expression: no temporary arrays)
    min, max        become a comparison and a branch, so that a tie goes to the argument that Python returns
    ints, bools     stay as they are written (`plain`): nothing in them is differentiated

Afterwards an operation is one of

    copy   target = atom                        plain  target = an expression without derivative
    prim   target = a line of the table         load   target = array[index], a scalar
    view   target = a view of an array          alloc  target = a new array
    array  target = dot, min or max of arrays   and the statements of core.py
"""

from __future__ import annotations

import ast
import functools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
from numba.core import types

from dualrev.compiler import syntax
from dualrev.compiler.core import (
    Atom,
    Call,
    Const,
    Effect,
    For,
    If,
    Let,
    Node,
    Ref,
    Slice,
    Store,
    While,
    ends,
    leaves,
    reads,
    walk,
    writes,
)
from dualrev.compiler.lower import Lowered
from dualrev.compiler.names import line_of
from dualrev.compiler.types import Typed

__all__ = ["Expanded", "expand", "is_array", "is_real", "is_real_array"]


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


@dataclass(eq=False)
class Expanded:
    """A function in expanded core, with the types of its variables."""

    lowered: Lowered
    parameters: list[Any]  # a tree for every parameter
    body: list[Any]
    result: Any  # a tree of atoms
    types: dict[str, Any]
    argtypes: tuple[Any, ...]
    classes: dict[Any, Ref]  # named tuples' classes


@dataclass(frozen=True)
class _Lazy:
    """An elementwise expression: a scalar operation on the elements of arrays and lazy expressions."""

    let: Let
    dtype: Any
    ndim: int


def expand(lowered: Lowered, typed: Typed, argtypes: tuple[Any, ...]) -> Expanded:
    """The function in expanded core."""
    return _Expansion(lowered, typed, argtypes).run()


class _Expansion:
    def __init__(self, lowered: Lowered, typed: Typed, argtypes: tuple[Any, ...]) -> None:
        self.lowered, self.source, self.argtypes = lowered, lowered.source, argtypes
        self.of = dict(typed.of)
        self.typed = typed
        self.out: list[Any] = []
        self.count = 0
        self.lazy: dict[str, _Lazy] = {}
        self.part_names: dict[tuple[str, int], str] = {}
        self.uses = Counter(x for s in walk(lowered.body) for x in reads(s) if isinstance(x, str))
        self.uses[lowered.result] += 1  # type: ignore[index]
        self.classes: dict[Any, Ref] = {}
        self.alias = _Aliases()
        for s in walk(lowered.body):
            if isinstance(s, Let):
                for x in s.args:
                    if isinstance(x, (str, Ref)) and is_array(self.of.get(s.target)) | self.is_tuple(s.target):
                        self.alias.join(s.target, x if isinstance(x, str) else x.name)

    def run(self) -> Expanded:
        for x, kind in list(self.of.items()):
            self.check(x, kind)
        parameters = [self.tree(p) for p in self.lowered.parameters]
        if self.lowered.result == "_result":
            self.undefined(self.tree("_result"))
        self.block_into(self.lowered.body)
        result = self.lowered.result
        if isinstance(result, str) and result not in self.of:
            result = Const(None)
        self.materialise(result)
        kinds = {x: k for x, k in self.of.items() if not isinstance(k, types.BaseTuple)}
        return Expanded(self.lowered, parameters, self.out, self.tree(result), kinds, self.argtypes, self.classes)

    def undefined(self, tree: Any) -> None:
        """Give the parts of the result a value, for numba: it is never used."""
        line = self.source.tree.lineno
        for x in leaves(tree):
            kind = self.of[x]
            if is_array(kind):
                shape = ast.Tuple([ast.Constant(0)] * kind.ndim, ast.Load())
                empty = syntax.call("np.empty", shape, syntax.name(dtype_name(kind.dtype)))
                self.let("alloc", (), empty, line, target=x)
            elif not isinstance(kind, types.NoneType):
                zero: Any = 0.0 if is_real(kind) else False if isinstance(kind, types.Boolean) else 0
                self.let("copy", (Const(zero),), None, line, target=x)

    def check(self, x: str, kind: Any) -> None:
        """Refuse types that have no derivative."""
        if isinstance(kind, types.Complex) or (is_array(kind) and isinstance(kind.dtype, types.Complex)):
            self.refuse(self.line_of(x), f"the complex number {x}", "only real numbers are", "real and imaginary parts")
        if isinstance(kind, types.Optional):
            why = "it is None on some paths, which may be that a `return` is missing"
            self.refuse(self.line_of(x), f"the value of {x.strip('_')}", why, "a number on every path")
        if isinstance(kind, types.BaseTuple):
            for k, part in enumerate(kind.types):
                self.check(f"{x}[{k}]", part)
            return
        scalar = (types.Float, types.Integer, types.Boolean, types.NoneType, types.Array, types.UnicodeType)
        functions = (types.Dispatcher, types.Function, types.NumberClass, types.DType, types.ClassType)
        if not isinstance(kind, (*scalar, *functions)):
            self.refuse(self.line_of(x), f"the variable {x} (numba type {kind})", "it is no number, array or tuple", "one")
        if is_array(kind) and not isinstance(kind.dtype, (types.Float, types.Integer, types.Boolean)):
            self.refuse(self.line_of(x), f"the array {x} (numba type {kind})", "its elements are no numbers", "floats")

    def line_of(self, x: str) -> int:
        base = x.split("[")[0]
        for s in walk(self.lowered.body):
            if isinstance(s, Let) and s.target == base:
                return s.line
        return self.source.tree.lineno

    def refuse(self, line: int, what: str, why: str, instead: str) -> Any:
        self.source.refuse(line, what, why, instead)

    # Names, trees, types

    def temp(self, kind: Any) -> str:
        while True:
            self.count += 1
            name = f"_t{self.count}"
            if name not in self.of:
                self.of[name] = kind
                return name

    def kind(self, x: Any) -> Any:
        """The type of an atom."""
        return self.of[x] if isinstance(x, str) else self.typed(x)

    def is_tuple(self, x: Any) -> bool:
        return isinstance(x, str) and isinstance(self.of.get(x), types.BaseTuple)

    def tree(self, x: Any) -> Any:
        """An atom, or the tree of a tuple's parts."""
        if isinstance(x, Ref) and isinstance(x.value, tuple):
            return self.constant_tree(x)
        if not self.is_tuple(x):
            return x
        return self.parts(x, self.of[x])

    def parts(self, x: str, kind: Any) -> Any:
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
            name = f"{x}_{k}"
            while name in self.typed.of or name in self.part_names.values():
                name += "_"
            self.part_names[x, k] = name
        return self.part_names[x, k]

    def class_ref(self, cls: Any) -> Ref:
        if cls not in self.classes:
            self.classes[cls] = next(r for r in self.lowered.refs.values() if r.value is cls)
        return self.classes[cls]

    def constant_tree(self, x: Ref) -> Any:
        """A frozen tuple, as its numbers."""

        def build(value: Any, path: tuple[Any, ...]) -> Any:
            if isinstance(value, tuple):
                cls = self.class_ref(type(value)) if hasattr(value, "_fields") else None
                return Node(tuple(build(v, (*path, ("item", k))) for k, v in enumerate(value)), cls)
            if value is None or isinstance(value, (bool, int, float, str)):
                return Const(value)
            name = x.name + "".join(f"_{s[1]}" for s in path[len(x.path) :])
            self.lowered.refs[name] = Ref(name, value, path)
            return self.lowered.refs[name]

        return build(x.value, x.path)

    # Writing

    def let(self, op: str, args: tuple[Any, ...], info: Any, line: int, kind: Any = None, target: str = "") -> str:
        target = target or self.temp(kind)
        self.out.append(Let(target, op, args, info, line))
        return target

    def plain(self, text: str, line: int, kind: Any = types.int64, target: str = "", **names: Any) -> str:
        """target = the text, with atoms for the names in it."""
        tree = syntax.substitute(syntax.name(text), lambda x: syntax.atom(names[x]) if x in names else None)
        args = tuple(x for x in names.values() if isinstance(x, str))
        return self.let("plain", args, tree, line, kind, target)

    def copy_tree(self, target: Any, source: Any, line: int) -> None:
        if isinstance(target, Node):
            if not isinstance(source, Node):
                self.refuse(line, "this tuple", "its parts are not known", "the parts")
            for t, s in zip(target.parts, source.parts, strict=True):
                self.copy_tree(t, s, line)
        else:
            self.let("copy", (source,), None, line, target=target)

    def collect(self, work: Callable[[], None]) -> list[Any]:
        before, self.out = self.out, []
        try:
            work()
            return self.out
        finally:
            self.out = before

    def block(self, body: list[Any]) -> list[Any]:
        return self.collect(lambda: self.block_into(body))

    def block_into(self, body: list[Any]) -> None:
        for s in body:
            self.statement(s)
        self.flush()

    # Statements

    def statement(self, s: Any) -> None:
        if any(isinstance(x, str) and x not in self.of for x in [*reads(s), *ends(s), *writes(s)]):
            return  # numba has found that this is never reached
        if isinstance(s, Let):
            self.operation(s)
            return
        if isinstance(s, Store):
            self.store(s)
            return
        for x in reads(s):
            self.materialise(x)
        self.flush()
        if isinstance(s, If):
            self.out.append(If(s.test, self.block(s.then), self.block(s.orelse), s.line))
        elif isinstance(s, For):
            self.out.append(For(s.target, s.start, s.stop, s.step, self.block(s.body), s.exits, s.line))
        elif isinstance(s, While):
            self.out.append(While(self.block(s.test_block), s.test, self.block(s.body), s.exits, s.line))
        elif isinstance(s, Effect):
            self.out.append(s)

    def operation(self, s: Let) -> None:
        kind = self.of[s.target]
        if s.op in ("binop", "unary", "func", "method", "iop") and self.elementwise(s, kind):
            return
        for x in reads(s):
            if not (s.op in ("func", "method") and isinstance(x, str) and x in self.lazy):
                self.materialise(x)
        getattr(self, f"_{s.op}")(s, kind)

    def _copy(self, s: Let, kind: Any) -> None:
        self.copy_tree(self.tree(s.target), self.tree(s.args[0]), s.line)

    def _tuple(self, s: Let, kind: Any) -> None:
        sources = [self.tree(x) for x in s.args]
        for t, x in zip(self.tree(s.target).parts, sources, strict=True):
            self.copy_tree(t, x, s.line)

    def _attr(self, s: Let, kind: Any) -> None:
        base, name = s.args[0], s.info
        of = self.kind(base)
        if isinstance(of, types.BaseNamedTuple):
            part = self.tree(base).parts[of.fields.index(name)]
            self.copy_tree(self.tree(s.target), part, s.line)
        elif is_array(of) and name == "shape":
            for k, t in enumerate(self.tree(s.target).parts):
                self.plain(f"a.shape[{k}]", s.line, target=t, a=base)
        elif is_array(of) and name in ("size", "ndim"):
            self.plain(f"a.{name}", s.line, target=s.target, a=base)
        elif is_array(of) and name == "T":
            self.let("view", (base,), syntax.name("BASE.T"), s.line, target=s.target)
        else:
            self.refuse(s.line, f"the attribute .{name}", "it is not known", "shape, size, ndim or T")

    def _getitem(self, s: Let, kind: Any) -> None:
        base = s.args[0]
        of = self.kind(base)
        if isinstance(of, types.BaseTuple):
            self.item(s, self.tree(base), kind)
        elif is_array(of):
            self.check_index(s.info, s.line)
            if is_array(kind):
                self.let("view", (base,), s.info, s.line, target=s.target)
            else:
                self.let("load", (base,), s.info, s.line, target=s.target)
        else:
            self.refuse(s.line, f"an index of a value of numba type {of}", "it is no array or tuple", "an array")

    def check_index(self, index: tuple[Any, ...], line: int) -> None:
        for entry in index:
            if isinstance(entry, (str, Ref)) and not isinstance(self.kind(entry), (types.Integer, types.Boolean)):
                self.refuse(line, "an index that is an array", "only ints and slices are known", "a loop over the index")
            if isinstance(entry, str) and isinstance(self.kind(entry), types.Boolean):
                self.refuse(line, "an index that is a bool", "only ints and slices are known", "a branch")

    def item(self, s: Let, tree: Any, kind: Any) -> None:
        (entry,) = s.info
        if isinstance(entry, Slice):
            bounds = []
            for x in (entry.lower, entry.upper, entry.step):
                if not (x is None or isinstance(x, Const)):
                    self.refuse(s.line, "a slice of a tuple", "its bounds are not constant", "constants")
                bounds.append(None if x is None else x.value)
            for t, x in zip(self.tree(s.target).parts, tree.parts[slice(*bounds)], strict=True):
                self.copy_tree(t, x, s.line)
        elif isinstance(entry, Const):
            self.copy_tree(self.tree(s.target), tree.parts[entry.value], s.line)
        else:
            n = len(tree.parts)
            k = self.plain("i + n if i < 0 else i", s.line, i=entry, n=Const(n))
            target = self.tree(s.target)
            rest: list[Any] = [Effect('raise IndexError("tuple index out of range")', (), s.line, True)]
            for number, part in reversed(list(enumerate(tree.parts))):
                test_block = self.collect(lambda number=number: self.plain(f"k == {number}", s.line, types.boolean, k=k))
                then = self.collect(lambda part=part: self.copy_tree(target, part, s.line))
                rest = [*test_block, If(test_block[-1].target, then, rest, s.line)]
            self.out.extend(rest)

    def _plain(self, s: Let, kind: Any) -> None:
        tree = s.info
        if any(isinstance(self.of.get(x), types.BaseTuple) for x in s.args):
            tree = _TupleParts(self).visit(syntax.substitute(tree, lambda x: None))
        names = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id in self.of]
        if any(self.is_tuple(x) for x in names):
            self.refuse(s.line, "this use of a tuple", "only its parts can be compared", "t[0], t[1], ...")
        for sub in ast.walk(tree):
            if isinstance(sub, ast.Subscript) and isinstance(sub.value, ast.Name):
                index = sub.slice.elts if isinstance(sub.slice, ast.Tuple) else [sub.slice]
                self.check_index(tuple(x.id for x in index if isinstance(x, ast.Name)), s.line)
        args = tuple(dict.fromkeys(names))
        self.let("plain", args, tree, s.line, target=s.target)

    def _iop(self, s: Let, kind: Any) -> None:
        self._binop(Let(s.target, "binop", s.args, s.info, s.line), kind)

    def _binop(self, s: Let, kind: Any) -> None:
        if s.info == "@":
            self.dot(s, kind)
        elif isinstance(kind, types.BaseTuple):
            both = [*self.tree(s.args[0]).parts, *self.tree(s.args[1]).parts]
            for t, x in zip(self.tree(s.target).parts, both, strict=True):
                self.copy_tree(t, x, s.line)
        elif is_real(kind) and line_of(s.info) is not None:
            self.let("prim", s.args, (line_of(s.info), s), s.line, target=s.target)
        else:
            self.as_written(s)

    def _unary(self, s: Let, kind: Any) -> None:
        if is_real(kind):
            self.let("prim", s.args, (line_of(f"{s.info}x"), s), s.line, target=s.target)
        else:
            self.as_written(s)

    def as_written(self, s: Let) -> None:
        """An operation without derivative."""
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

    def syntax_tree(self, tree: Any) -> ast.expr:
        if isinstance(tree, Node):
            parts = [self.syntax_tree(x) for x in tree.parts]
            return ast.Tuple(parts, ast.Load()) if tree.cls is None else syntax.call(tree.cls.name, *parts)
        return syntax.atom(tree)

    def _call(self, s: Let, kind: Any) -> None:
        self.flush()
        result = self.tree(s.target)
        args = [self.tree(x) for x in s.args]
        self.out.append(Call([x for x in leaves(result) if isinstance(x, str)], s.info, args, result, s.line))

    def _method(self, s: Let, kind: Any) -> None:
        method, keywords = s.info
        base = self.kind(s.args[0])
        if not is_array(base):
            self.refuse(s.line, f"the method .{method}", "it is not known", "a function")
        if method == "fill":
            self.fill(s.args[0], s.args[1], s.line)
        elif method in ("sum", "mean", "min", "max", "prod", "dot", "copy", "reshape", "ravel", "transpose", "flatten"):
            function = "np.copy" if method == "flatten" else f"np.{method}"
            args = s.args
            if method == "reshape" and len(args) > 2:
                shape = self.temp(types.UniTuple(types.int64, len(args) - 1))
                self._tuple(Let(shape, "tuple", args[1:], None, s.line), None)
                args = (args[0], shape)
            self.function(Let(s.target, "func", args, (function, keywords), s.line), kind)
        elif method in ("argmin", "argmax", "any", "all", "item") and not is_real(kind):
            self.materialise(s.args[0])
            self.as_written(s)
        elif method == "astype":
            self.copied(s, kind)
        elif method == "item":
            self.materialise(s.args[0])
            index = tuple(Const(0) for _ in range(base.ndim))
            self.let("load", (s.args[0],), index, s.line, target=s.target)
        else:
            self.refuse(s.line, f"the method .{method}", "it has no derivative here", "a loop")

    def _func(self, s: Let, kind: Any) -> None:
        self.function(s, kind)

    # Functions

    def function(self, s: Let, kind: Any) -> None:
        text, keywords = s.info
        kinds = [self.kind(x) for x in s.args if not isinstance(x, Ref)]
        arrays = any(is_array(k) for k in kinds)
        short = text.split(".")[-1]
        if text in ("min", "max") and len(s.args) > 1:
            self.extremum(s, kind, "<" if text == "min" else ">")
        elif text in ("min", "max", "sum") and self.is_tuple(s.args[0]):
            self.of_tuple(s, kind)
        elif text == "len" and isinstance(self.kind(s.args[0]), types.BaseTuple):
            self.let("copy", (Const(len(self.kind(s.args[0]).types)),), None, s.line, target=s.target)
        elif text in ("float", "np.float64", "np.float32") and not arrays:
            if is_real(self.kind(s.args[0])):
                self.let("prim", s.args, (line_of("+x"), s), s.line, target=s.target)
            else:
                self.as_written(s)
        elif text in ("np.shape", "np.size", "np.ndim"):
            self._attr(Let(s.target, "attr", s.args, short, s.line), kind)
        elif text in ("np.zeros", "np.ones", "np.empty", "np.eye", "np.identity", "np.arange") or (
            text in ("np.zeros_like", "np.empty_like", "np.ones_like")
        ):
            if text == "np.arange" and any(isinstance(x, str) and is_real(self.kind(x)) for x in s.args):
                self.refuse(s.line, "np.arange of floats", "their derivative is not known", "np.arange of ints, and scale it")
            self.alloc(s)
        elif text == "np.linspace":
            if any(isinstance(x, str) and is_real(self.kind(x)) for x in s.args[:2]):
                self.refuse(s.line, "np.linspace of variables", "their derivative is not known", "a loop")
            self.alloc(s)
        elif text in ("np.full", "np.full_like"):
            self.full(s, kind)
        elif text in ("np.copy", "np.ascontiguousarray", "np.asarray"):
            self.copied(s, kind)
        elif text in ("np.sum", "sum", "np.mean", "np.prod") and arrays and is_real(kind):
            self.reduce(s, kind, short)
        elif text in ("np.min", "np.max", "np.amin", "np.amax", "min", "max") and arrays and is_real(kind):
            self.materialise(s.args[0])
            if len(s.args) > 1:
                self.refuse(s.line, f"{text} with an axis", "numba has none", "a loop")
            self.let("array", (s.args[0],), (f"np.{short.replace('a', '', 1) if short[0] == 'a' else short}",), s.line, target=s.target)
        elif text in ("np.dot",):
            self.dot(s, kind)
        elif text in ("np.transpose", "np.reshape", "np.ravel"):
            self.reshaped(s, kind)
        elif line_of(text) is not None and is_real(kind):
            if keywords:
                self.refuse(s.line, f"{text} with keywords", "they are not known", "the function with its arguments only")
            for x in s.args:
                self.materialise(x)
            self.let("prim", s.args, (line_of(text), s), s.line, target=s.target)
        elif text in ("round", "np.round") and is_real(kind):
            self.as_written(s)  # to a number of digits: piecewise constant
        elif not is_real(kind) and not is_array(kind):
            for x in s.args:
                self.materialise(x)
            self.as_written(s)
        else:
            self.refuse(s.line, f"{text} of these arguments", "it has no derivative here", "a loop")

    def extremum(self, s: Let, kind: Any, symbol: str) -> None:
        """Python's min and max: the first of those that tie."""
        best = self.temp(kind)
        self.let("copy", (s.args[0],), None, s.line, target=best)
        for x in s.args[1:]:
            test = self.plain(f"x {symbol} best", s.line, types.boolean, x=x, best=best)
            then = self.collect(lambda x=x: self.let("copy", (x,), None, s.line, target=best) and None)
            self.out.append(If(test, then, [], s.line))
        self.let("copy", (best,), None, s.line, target=s.target)

    def of_tuple(self, s: Let, kind: Any) -> None:
        parts = tuple(self.tree(s.args[0]).parts)
        text = s.info[0]
        if text != "sum":
            self.extremum(Let(s.target, "func", parts, s.info, s.line), kind, "<" if text == "min" else ">")
            return
        total: Any = parts[0]
        for x in parts[1:]:
            made = self.temp(kind)
            self._binop(Let(made, "binop", (total, x), "+", s.line), kind)
            total = made
        self.let("copy", (total,), None, s.line, target=s.target)

    def alloc(self, s: Let) -> None:
        def sub(x: Any) -> ast.expr:
            return self.syntax_tree(self.tree(x))

        names = tuple(dict.fromkeys(x for a in s.args for x in leaves(self.tree(a)) if isinstance(x, str)))
        self.let("alloc", names, syntax.expression(s, sub), s.line, target=s.target)

    def empty_like(self, target: str, shape_of: str, line: int) -> None:
        kind = self.of[target]
        tree = syntax.name(f"np.empty({shape_of}.shape, {dtype_name(kind.dtype)})")
        self.let("alloc", (shape_of,), tree, line, target=target)

    def full(self, s: Let, kind: Any) -> None:
        value = s.args[1]
        rest = [*s.args[:1], *s.args[2:]]
        keywords = s.info[1]
        name = "np.empty" if s.info[0] == "np.full" else "np.empty_like"
        if name == "np.empty" and len(rest) == 1:
            rest.append(Ref(dtype_name(kind.dtype), None))
        self.alloc(Let(s.target, "func", tuple(rest), (name, keywords), s.line))
        self.fill(s.target, value, s.line)

    def copied(self, s: Let, kind: Any) -> None:
        x = s.args[0]
        if isinstance(x, str) and x in self.lazy:
            self.materialise(x)
        source = self.kind(x)
        if s.info[0] in ("np.ascontiguousarray", "np.asarray") and (s.info[0] == "np.asarray" or source.layout == "C"):
            self.let("copy", (x,), None, s.line, target=s.target)
            return
        base = x if isinstance(x, str) else self.let("copy", (x,), None, s.line, source)
        made = s.target if s.target != base else self.temp(kind)
        self.empty_like(made, base, s.line)
        self.over(made, kind.ndim, s.line, lambda i: self.put(made, i, self.pick(base, i, s.line), s.line))
        if made != s.target:
            self.let("copy", (made,), None, s.line, target=s.target)

    def reshaped(self, s: Let, kind: Any) -> None:
        x = s.args[0]
        self.materialise(x)
        of = self.kind(x)
        if s.info[0] == "np.ravel" and of.layout != "C":
            self.refuse(s.line, "ravel of a strided array", "it is a copy or a view, depending on the array", "a.copy().ravel()")
        if s.info[0] == "np.transpose" and len(s.args) > 1:
            self.refuse(s.line, "transpose with axes", "it is not known", "a.T")
        names = tuple(dict.fromkeys(y for a in s.args[1:] for y in leaves(self.tree(a)) if isinstance(y, str)))
        inner = syntax.expression(s, lambda y: syntax.name("BASE") if y == x else self.syntax_tree(self.tree(y)))
        self.let("view", (x, *names), inner, s.line, target=s.target)

    def dot(self, s: Let, kind: Any) -> None:
        for x in s.args:
            self.materialise(x)
        if not all(is_array(self.kind(x)) for x in s.args) or len(s.args) != 2:
            self.refuse(s.line, "this dot product", "numba has it for two arrays", "a loop")
        self.let("array", s.args, ("np.dot",), s.line, target=s.target)

    # Elementwise work

    def elementwise(self, s: Let, kind: Any) -> bool:
        """Whether it was elementwise arithmetic; then it has become lazy, or happened in place."""
        if s.op == "iop" and is_array(self.kind(s.args[0])):
            array, value = s.args
            self.flush(keep=value)
            self.assign(array, value, s.line, s.info)
            if s.target != array:
                self.let("copy", (array,), None, s.line, target=s.target)
            return True
        if not is_array(kind) or (s.op == "method") or s.info == "@":
            return False
        if s.op == "func":
            text, keywords = s.info
            if text == "np.where" and len(s.args) == 3:
                pass
            elif line_of(text) is None or keywords:
                return False
        elif not any(is_array(self.kind(x)) for x in s.args):
            return False
        if s.op == "iop":
            s = Let(s.target, "binop", s.args, s.info, s.line)
        if isinstance(kind.dtype, types.Float) and s.op != "func" and line_of(s.info if s.op == "binop" else f"{s.info}x") is None:
            return False
        lazy = _Lazy(s, kind.dtype, kind.ndim)
        if self.uses[s.target] == 1 and s.target.startswith("_"):
            self.lazy[s.target] = lazy
            return True
        read = [y for x in s.args for y in self.array_leaves(x)]
        made = s.target if s.target not in read else self.temp(kind)  # x = 2 * x reads the old x
        self.lazy[made] = lazy
        self.materialise(made)
        if made != s.target:
            self.let("copy", (made,), None, s.line, target=s.target)
        return True

    def flush(self, keep: Any = None) -> None:
        """Make arrays of all lazy expressions, in their order."""
        inside = set(self.lazy_names(keep))
        for x in list(self.lazy):
            if x in self.lazy and x not in inside and not self.consumed_later(x):
                self.materialise(x)

    def consumed_later(self, x: str) -> bool:
        return any(x in lazy.let.args for lazy in self.lazy.values())

    def lazy_names(self, x: Any) -> list[str]:
        if not isinstance(x, str) or x not in self.lazy:
            return []
        return [x, *(y for a in self.lazy[x].let.args for y in self.lazy_names(a))]

    def materialise(self, x: Any) -> None:
        """Make an array of a lazy expression."""
        if not isinstance(x, str) or x not in self.lazy:
            return
        lazy = self.lazy[x]
        arrays = self.array_leaves(x)
        line = lazy.let.line
        target = x
        if len(arrays) == 1 and self.kind(arrays[0]).ndim == lazy.ndim:
            self.empty_like(x, self.named(arrays[0], line), line)
        else:
            shapes = ", ".join(f"{self.named(a, line)}.shape" for a in arrays)
            tree = syntax.name(f"np.empty(np.broadcast_shapes({shapes}), {dtype_name(lazy.dtype)})")
            self.let("alloc", tuple(self.named(a, line) for a in arrays), tree, line, target=target)
        self.fill_with(target, x, line)

    def named(self, a: Any, line: int) -> str:
        return a if isinstance(a, str) else a.name

    def array_leaves(self, x: Any) -> list[Any]:
        if isinstance(x, str) and x in self.lazy:
            found = [y for a in self.lazy[x].let.args for y in self.array_leaves(a)]
            return list(dict.fromkeys(found))
        return [x] if not isinstance(x, Const) and is_array(self.kind(x)) else []

    def fill_with(self, array: str, x: Any, line: int) -> None:
        """array[...] = the lazy expression x, which is consumed."""
        ndim = self.kind(array).ndim
        element = self.element_maker(x, array, ndim, line)
        self.over(array, ndim, line, lambda i: self.put(array, i, element(i), line))

    def element_maker(self, x: Any, shape_of: str, ndim: int, line: int) -> Callable[[tuple[str, ...]], Atom]:
        """A function that writes how to compute the element of x at an index of the array `shape_of`."""
        arrays = self.array_leaves(x)
        spread: dict[Any, Any] = {}
        for a in arrays:
            alone = len(arrays) == 1 and self.kind(a).ndim == ndim and isinstance(x, str) and x == shape_of
            if alone or a == shape_of:
                spread[a] = a
            else:
                kind = self.kind(a)
                view = self.temp(types.Array(kind.dtype, ndim, "A"))
                spread[a] = view
                tree = syntax.name(f"runtime.spread(BASE, {shape_of}.shape)")
                self.let("view", (a, shape_of), tree, line, target=view)
        lazies = {y: self.lazy[y] for y in self.lazy_names(x)}

        def element(i: tuple[str, ...], y: Any = x) -> Atom:
            if isinstance(y, str) and y in lazies:
                return self.scalar(lazies[y], [lambda a=a: element(i, a) for a in lazies[y].let.args])
            if y in spread:
                return self.pick(spread[y], i, line)
            return y

        for y in lazies:
            self.lazy.pop(y, None)
        return element

    def scalar(self, lazy: _Lazy, args: list[Callable[[], Atom]]) -> Atom:
        """The operation of a lazy expression on scalars."""
        s, kind = lazy.let, lazy.dtype
        target = self.temp(kind)
        if s.op == "func" and s.info[0] == "np.where":
            test = args[0]()
            branches = [self.collect(lambda a=a: self.let("copy", (a(),), None, s.line, target=target) and None) for a in args[1:]]
            self.out.append(If(test, *branches, s.line))
            return target
        atoms = tuple(a() for a in args)
        made = Let(target, s.op, atoms, s.info, s.line)
        line = line_of(s.info[0] if s.op == "func" else s.info if s.op == "binop" else f"{s.info}x")
        if is_real(kind) and line is not None:
            self.let("prim", atoms, (line, made), s.line, target=target)
        else:
            self.as_written(made)
        return target

    def over(self, array: str, ndim: int, line: int, body: Callable[[tuple[str, ...]], Any]) -> None:
        """Loops over all indices of an array."""
        sizes = [self.plain(f"a.shape[{k}]", line, a=array) for k in range(ndim)]
        index = tuple(self.temp(types.int64) for _ in range(ndim))

        def nest(k: int) -> None:
            if k == ndim:
                body(index)
            else:
                inner = self.collect(lambda: nest(k + 1))
                self.out.append(For(index[k], Const(0), sizes[k], Const(1), inner, [], line))

        nest(0)

    def pick(self, array: Any, index: tuple[str, ...], line: int) -> str:
        return self.let("load", (array,), index, line, self.kind(array).dtype)

    def put(self, array: str, index: tuple[str, ...], value: Atom, line: int) -> None:
        self.out.append(Store(array, index, value, line))

    def fill(self, array: str, value: Atom, line: int) -> None:
        self.over(array, self.kind(array).ndim, line, lambda i: self.put(array, i, value, line))

    # Changes of arrays

    def store(self, s: Store) -> None:
        kind = self.kind(s.value)
        of = self.kind(s.array)
        if not is_array(of):
            self.refuse(s.line, "an assignment to an element of something that is no array", "it cannot change", "an array")
        self.check_index(s.index, s.line)
        whole = len([x for x in s.index if x is not None]) == of.ndim and not any(
            isinstance(x, Slice) or x is Ellipsis or x is None for x in s.index
        )
        if whole:
            self.materialise(s.value)
            self.flush()
            if is_array(kind):
                value = self.let("load", (s.value,), (), s.line, kind.dtype)
                self.out.append(Store(s.array, s.index, value, s.line))
            else:
                self.out.append(s)
            return
        if isinstance(s.value, str) and self.in_place.get(s.value) == s.array:
            return
        self.flush(keep=s.value)
        ndim = of.ndim - sum(not isinstance(x, Slice) and x is not Ellipsis and x is not None for x in s.index)
        view = self.temp(types.Array(of.dtype, ndim + sum(x is None for x in s.index), "A"))
        self.let("view", (s.array,), s.index, s.line, target=view)
        self.alias.join(view, s.array)
        self.assign(view, s.value, s.line, None)

    @functools.cached_property
    def in_place(self) -> dict[str, str]:
        """Temporaries that are views changed in place by `a[i:j] += ...`: the assignment back changes nothing."""
        found: dict[str, str] = {}
        made: dict[str, Let] = {}
        for s in walk(self.lowered.body):
            if isinstance(s, Let) and s.op == "getitem" and s.target.startswith("_"):
                made[s.target] = s
            if isinstance(s, Let) and s.op == "iop" and s.args[0] in made and is_array(self.of.get(s.target)):
                found[s.target] = made[s.args[0]].args[0]
        return found

    def assign(self, array: str, value: Any, line: int, symbol: str | None) -> None:
        """array[...] = value, or array[...] (symbol)= value."""
        ndim = self.kind(array).ndim
        arrays = self.array_leaves(value)
        shared = [a for a in arrays if self.alias.same(array, self.named(a, line))]
        if symbol is not None and isinstance(value, str) and value in self.lazy and set(shared) - {array}:
            self.materialise(value)
        if symbol is None and shared:
            if isinstance(value, str) and value in self.lazy:
                self.materialise(value)
            else:
                copied = self.temp(types.Array(self.kind(value).dtype, self.kind(value).ndim, "C"))
                base = value if isinstance(value, str) else self.let("copy", (value,), None, line, self.kind(value))
                self.empty_like(copied, base, line)
                self.over(copied, self.kind(value).ndim, line, lambda i: self.put(copied, i, self.pick(base, i, line), line))
                value = copied
        if not self.array_leaves(value):
            element: Callable[[tuple[str, ...]], Atom] = lambda i: value  # noqa: E731
            if isinstance(value, str) and value in self.lazy:
                element = self.element_maker(value, array, ndim, line)
        else:
            element = self.element_maker(value, array, ndim, line)
        kind = self.kind(array).dtype

        def one(i: tuple[str, ...]) -> None:
            new = element(i)
            if symbol is not None:
                old = self.pick(array, i, line)
                made = Let(self.temp(kind), "binop", (old, new), symbol, line)
                if is_real(kind):
                    self.let("prim", made.args, (line_of(symbol), made), line, target=made.target)
                else:
                    self.as_written(made)
                new = made.target
            self.put(array, i, new, line)

        self.over(array, ndim, line, one)

    def reduce(self, s: Let, kind: Any, name: str) -> None:
        """Sum, mean and product of all elements, in the order in which numba takes them."""
        x = s.args[0]
        if len(s.args) > 1:
            self.refuse(s.line, f"{name} with an axis or a dtype", "only that of all elements is known", "a loop")
        arrays = self.array_leaves(x)
        lazy = isinstance(x, str) and x in self.lazy
        if lazy and (len(arrays) != 1 or self.kind(arrays[0]).ndim != self.lazy[x].ndim):
            self.materialise(x)
            lazy = False
        shape_of = self.named(arrays[0], s.line) if lazy else self.named(x, s.line)
        ndim = self.kind(x).ndim
        total = self.temp(kind)
        start: Atom = Const(1.0 if name == "prod" else 0.0)
        if kind == types.float32:
            start = self.let("plain", (), syntax.name(f"np.float32({start.value})"), s.line, kind)
        self.let("copy", (start,), None, s.line, target=total)
        element = self.element_maker(x, shape_of, ndim, s.line) if lazy else lambda i: self.pick(x, i, s.line)
        symbol = "*" if name == "prod" else "+"

        def one(i: tuple[str, ...]) -> None:
            made = Let(total, "binop", (total, element(i)), symbol, s.line)
            self.let("prim", made.args, (line_of(symbol), made), s.line, target=total)

        self.over(shape_of, ndim, s.line, one)
        if name == "mean":
            n = self.plain("a.size", s.line, a=shape_of)
            made = Let(s.target, "binop", (total, n), "/", s.line)
            self.let("prim", made.args, (line_of("/"), made), s.line, target=s.target)
        else:
            self.let("copy", (total,), None, s.line, target=s.target)


class _Aliases:
    """Which arrays may share memory, from their definitions, without regard to order."""

    def __init__(self) -> None:
        self.parent: dict[str, str] = {}

    def find(self, x: str) -> str:
        while self.parent.setdefault(x, x) != x:
            x = self.parent[x]
        return x

    def join(self, x: str, y: str) -> None:
        self.parent[self.find(x)] = self.find(y)

    def same(self, x: str, y: str) -> bool:
        return self.find(x) == self.find(y)


class _TupleParts(ast.NodeTransformer):
    """t[0] and t.field in an expression -> t_0."""

    def __init__(self, expansion: _Expansion) -> None:
        self.expansion = expansion

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:  # noqa: N802
        base = self.tree(node.value)
        if isinstance(base, Node):
            try:
                part = base.parts[ast.literal_eval(node.slice)]
            except (ValueError, TypeError, IndexError):
                return node
            return node if isinstance(part, Node) else syntax.atom(part)
        return self.generic_visit(node)

    def tree(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            return self.expansion.tree(node.id) if node.id in self.expansion.of else None
        if isinstance(node, ast.Subscript):
            base = self.tree(node.value)
            if isinstance(base, Node):
                return base.parts[ast.literal_eval(node.slice)]
        return None

    def visit_Call(self, node: ast.Call) -> ast.AST:  # noqa: N802
        if isinstance(node.func, ast.Name) and node.func.id == "len" and isinstance(self.tree(node.args[0]), Node):
            return ast.Constant(len(self.tree(node.args[0]).parts))
        node.args = [self.visit(x) for x in node.args]
        return node


assert numba
