"""Operations on complex numbers and arrays of them -> operations on their parts.

    scalars             arithmetic of two real numbers (complex_numbers.py)
    elements of arrays  a loop over both parts
    what is linear      the same operation on each part: slices, sums, reshapes, joins
    products            np.dot and the like: four of parts

Takes the writer, what has been put off, and who writes an operation on real numbers (`expand`) and a store (`write`).
Guarantees that no operation on complex numbers is left; what it does not know is refused. Tuples of them, calls and copies need nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from numba.core import types

from dualrev.compiler.core import syntax
from dualrev.compiler.core.lowered import Const, Effect, If, Let, Node, Ref, Store, While, ends, reads
from dualrev.compiler.expansion.complex_numbers import ZERO, ComplexNumbers, Pair
from dualrev.compiler.expansion.complex_types import Parts, holds_complex, is_complex
from dualrev.compiler.expansion.kinds import dtype_name, is_array
from dualrev.compiler.expansion.lazy import Lazy
from dualrev.compiler.expansion.writing import Writer, named
from dualrev.rules.complexes import how as known_how

__all__ = ["Complexes"]

_GENERIC = ("call", "tuple", "star")
_INSTEAD = "real and imaginary parts"
#: Which arguments of linear functions hold elements, where that is not the first one alone.
_ELEMENTS = {"np.zeros": (), "np.empty": (), "np.append": (0, 1), "np.where": (1, 2), "np.full": (1,), "np.full_like": (0, 1)}
_METHODS = "copy sum mean cumsum trace reshape ravel flatten transpose astype repeat take".split()


class Complexes:
    """What is done to complex numbers."""

    def __init__(
        self, code: Writer, lazy: Lazy, expand: Callable[[Let], None], write: Callable[[Store], None]
    ) -> None:
        self.code, self.lazy, self.expand, self.write = code, lazy, expand, write
        self.numbers = ComplexNumbers(code)

    def takes(self, s: Let, kind: Any) -> bool:
        """Whether it was an operation on complex numbers, which has been written."""
        code = self.code
        kinds = [code.kind(x) for x in s.args if isinstance(x, (str, Const)) or (isinstance(x, Ref) and x.path)]
        if not (holds_complex(kind) or any(map(holds_complex, kinds))):
            return False
        for x in s.args:
            if isinstance(x, str) and is_array(code.of.get(x)):
                self.lazy.materialise(x)
        if s.op in _GENERIC:
            wanted = kind.types if s.op == "tuple" else [None] * len(s.args)
            s.args = tuple(self.converted(x, of, s.line) for x, of in zip(s.args, wanted, strict=True))
            return False
        mine = {"binop": self.operator, "iop": self.operator, "unary": self.operator, "plain": self.condition}
        mine |= {"copy": self.copy, "func": self.function, "method": self.method, "attr": self.attribute}
        mine |= {"getitem": self.getitem, "literal": self.partwise}
        if s.op not in mine:
            self.refuse(s, "this use of complex numbers")
        return mine[s.op](s, kind) is not False

    def check(self, s: Any) -> None:
        """Refuse branches on complex numbers, and what prints them or raises them."""
        if not isinstance(s, (If, While, Effect)):
            return
        for x in [*reads(s), *ends(s)]:
            if isinstance(x, (str, Const)) and holds_complex(self.code.kind(x)):
                what = "what is raised or printed" if isinstance(s, Effect) else "a condition"
                self.code.refuse(s.line, f"a complex number as {what}", "only its parts can be looked at", _INSTEAD)

    def refuse(self, s: Any, what: str) -> Any:
        """UnsupportedError."""
        self.code.refuse(s.line, what, "it is not known of complex numbers", _INSTEAD)

    # Parts

    def is_complex(self, x: Any) -> bool:
        """Whether an atom is a complex number or an array of them."""
        return is_complex(self.code.kind(x))

    def named(self, x: Any, line: int) -> Any:
        """An atom; a frozen array as a variable that has parts."""
        if not (isinstance(x, Ref) and x.path and self.is_complex(x)):
            return x
        of = self.code.kind(x)
        made = self.code.temp(Parts(types.Array(of.dtype.underlying_float, of.ndim, "C")))
        for t, name in zip(self.pair(made), ("real", "imag"), strict=True):
            self.code.let("alloc", (), syntax.name(f"{x.name}.{name}.copy()"), line, target=t)
        return made

    def converted(self, x: Any, kind: Any, line: int) -> Any:
        """An atom that stands in a tuple, in which numba makes some real numbers complex."""
        if not isinstance(kind, Parts) or self.is_complex(x):
            return self.named(x, line)
        made = self.code.temp(kind)
        self.give(made, self.pair(x), line)
        return made

    def pair(self, x: Any) -> Pair:
        """The parts of an atom; a real number has the imaginary part 0."""
        tree = self.code.tree(x)
        if isinstance(tree, Node):
            return tree.parts[0], tree.parts[1]
        return x, ZERO

    def part(self, x: Any, k: int, line: int) -> Any:
        """A part of an array or a number, or of all in a tuple; that of a real array is made of zeros."""
        code = self.code
        x = self.named(x, line)
        kind = code.kind(x)
        if is_complex(kind):
            return self.pair(x)[k]
        if isinstance(kind, types.BaseTuple):
            parts = [self.part(y, k, line) for y in self._items(x, kind, line)]
            made = code.temp(types.BaseTuple.from_types([types.unliteral(code.kind(y)) for y in parts]))
            self.expand(Let(made, "tuple", tuple(parts), None, line))
            return made
        if k == 1 and is_array(kind) and isinstance(kind.dtype, types.Number):
            made = code.temp(types.Array(types.float64, kind.ndim, "C"))
            code.empty_like(made, named(x), line)
            code.fill(made, ZERO, line)
            return made
        return x

    def _items(self, x: Any, kind: Any, line: int) -> list[Any]:
        items = []
        for k, of in enumerate(kind.types):
            items.append(self.code.temp(of))
            self.expand(Let(items[-1], "getitem", (x,), (Const(k),), line))
        return items

    def give(self, target: str, pair: Pair, line: int) -> None:
        """Target = a pair, whose second atom may be the first one of the target."""
        code, (a, b) = self.code, self.pair(target)
        if pair[1] == a:
            pair = pair[0], code.let("copy", (pair[1],), None, line, code.of[a])
        for t, x in zip((a, b), pair, strict=True):
            code.copy(t, self.numbers.number(x, code.of[t], line) if not is_array(code.of[t]) else x, line)

    # Operations

    def copy(self, s: Let, kind: Any) -> bool | None:
        """target = a number."""
        if isinstance(kind, Parts) and not is_array(kind.dtype):
            self.give(s.target, self.pair(s.args[0]), s.line)
            return None
        s.args = (self.named(s.args[0], s.line),)
        return False

    def operator(self, s: Let, kind: Any) -> None:
        """An operator of numbers or of elements; of arrays, `+=` writes to them."""
        if s.info == "@":
            self.product(s, "np.dot")
            return
        table: Any = self.numbers.unary if s.op == "unary" else self.numbers.binary
        if s.info not in table:
            self.refuse(s, f"the operator {s.info}")
        if s.op != "iop" or not is_array(kind.dtype):
            self.elementwise(s, kind, table[s.info])
            return
        made = self.code.temp(kind)
        self.elementwise(Let(made, "binop", s.args, s.info, s.line), kind, table[s.info])
        for t, x in zip(self.pair(s.args[0]), self.pair(made), strict=True):
            self.write(Store(t, (Ellipsis,), x, s.line))
        if s.target != s.args[0]:
            self.code.copy_tree(self.code.tree(s.target), self.code.tree(s.args[0]), s.line)

    def elementwise(self, s: Let, kind: Any, f: Callable[..., Any]) -> None:
        """target = f(args) of numbers, or of the elements of arrays."""
        code, line = self.code, s.line
        args = [self.named(x, line) for x in s.args]
        of = kind.dtype if isinstance(kind, Parts) else kind
        arrays = [x for a in args for x in self.pair(a) if x != ZERO and is_array(code.kind(x))]
        if not arrays:
            made = f(*map(self.pair, args), of, line)
            self.give(s.target, made, line) if isinstance(kind, Parts) else code.copy(s.target, made, line)
            return
        if f == self.numbers.div:
            f = lambda z, w, kind, line: self.numbers.div(z, w, kind, line, of_elements=True)  # noqa: E731
        targets = [code.temp(of) for _ in range(2 if isinstance(kind, Parts) else 1)]
        names = tuple(dict.fromkeys(named(self.pair(a)[0]) for a in args if is_array(code.kind(self.pair(a)[0]))))
        shape = ", ".join(f"{x}.shape" for x in names)
        shape = shape if len(names) == 1 else f"np.broadcast_shapes({shape})"
        for t in targets:
            code.empty(t, shape, names, line)
        alone = len(names) == 1
        spread = {x: x if alone else code.spread(x, targets[0], of.ndim, line) for x in dict.fromkeys(arrays)}

        def one(i: tuple[str, ...]) -> None:
            pairs = [tuple(code.pick(spread[x], i, line) if x in spread else x for x in self.pair(a)) for a in args]
            made = f(*pairs, of.dtype, line)
            for t, x in zip(targets, made if isinstance(kind, Parts) else (made,), strict=True):
                code.put(t, i, self.numbers.number(x, of.dtype, line), line)

        code.over(targets[0], of.ndim, line, one)
        for t, x in zip(self.pair(s.target), targets, strict=False):
            code.copy(t, x, line)

    def condition(self, s: Let, kind: Any) -> None:
        """A condition: numbers and elements are put together again in it."""
        copied = syntax.substitute(s.info, lambda _: None)
        tree = _Wholes(self, {x for x in s.args if self.is_complex(x)}).visit(copied)
        args = tuple(y for x in s.args for y in (self.pair(x) if self.is_complex(x) else [x]))
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        if any(self.is_complex(x) for x in names & set(s.args)):
            self.refuse(s, "this condition")
        self.expand(Let(s.target, "plain", args, tree, s.line))

    def getitem(self, s: Let, kind: Any) -> bool | None:
        """z[index]; items of tuples are left."""
        if not self.is_complex(s.args[0]):
            return False
        self.partwise(s, kind)
        return None

    def store(self, s: Store) -> bool:
        """Whether it was array[index] = value of complex numbers, which has been written."""
        if not self.is_complex(s.array):
            return False
        value = self.named(s.value, s.line)
        parts = [self.part(value, k, s.line) for k in (0, 1)]
        if not self.is_complex(value) and not is_array(self.code.kind(value)):
            parts[1] = ZERO
        for t, x in zip(self.pair(s.array), parts, strict=True):
            self.write(Store(t, s.index, x, s.line))
        return True

    def attribute(self, s: Let, kind: Any) -> bool | None:
        """z.real, z.shape and the like; fields of tuples are left."""
        if not self.is_complex(s.args[0]):
            return False
        pair = self.pair(self.named(s.args[0], s.line))
        if s.info in ("real", "imag"):
            self.code.copy(s.target, pair[s.info == "imag"], s.line)
        elif s.info in ("shape", "size", "ndim", "dtype"):
            self.expand(Let(s.target, "attr", pair[:1], s.info, s.line))
        elif s.info == "T":
            self.partwise(s, kind)
        else:
            self.refuse(s, f"the attribute .{s.info}")
        return None

    # Functions

    def function(self, s: Let, kind: Any) -> bool | None:
        """A function of numpy, of cmath, or of Python; the length of a tuple is left."""
        text, keywords = s.info
        if text == "len" and not self.is_complex(s.args[0]):
            return False
        how, name = known_how(text)
        real = isinstance(kind, (types.Float, types.Array))
        if how == "real" and real and len(s.args) == 1 and not keywords:
            self.elementwise(s, kind, self.numbers.real[name])
        elif how == "unary" and len(s.args) == 1 and not keywords:
            self.elementwise(s, kind, self.numbers.unary[name])
        elif how == "binary" and len(s.args) == 2 and not keywords:
            self.elementwise(s, kind, self.numbers.binary[name])
        elif how == "part" and len(s.args) == 1:
            self.code.copy(s.target, self.pair(self.named(s.args[0], s.line))[name == "imag"], s.line)
        elif how == "partwise":
            self.partwise(s, kind)
        elif how == "product" and len(s.args) == 2 and not keywords:
            self.product(s, text)
        elif how == "length":
            self.expand(Let(s.target, "func", self.pair(self.named(s.args[0], s.line))[:1], s.info, s.line))
        elif how == "own":
            getattr(self, f"_{name}")(s, kind)
        elif isinstance(kind, types.Boolean) and not any(is_array(self.code.kind(x)) for x in s.args):
            self._asked(s)
        else:
            self.refuse(s, text)
        return None

    def method(self, s: Let, kind: Any) -> None:
        """A method of a number or an array."""
        name, keywords = s.info
        if name in ("conj", "conjugate"):
            self.elementwise(s, kind, self.numbers.unary["conjugate"])
        elif name == "fill":
            self.store(Store(s.args[0], (Ellipsis,), s.args[1], s.line))
        elif name in _METHODS:
            self.partwise(s, kind)
        elif name == "dot":
            self.product(s, "np.dot")
        else:
            self.refuse(s, f"the method .{name}")

    def partwise(self, s: Let, kind: Any) -> None:
        """The same operation on the real and on the imaginary parts."""
        if not isinstance(kind, Parts):
            self.refuse(s, "this operation")
        made = []
        for k, t in enumerate(self.pair(s.target)):
            args = [self._argument(s, place, k) for place in range(len(s.args))]
            made.append(self.code.temp(self.code.of[t]))
            self.expand(Let(made[-1], s.op, tuple(args), s.info, s.line))
        for t, x in zip(self.pair(s.target), made, strict=True):
            self.code.copy(t, x, s.line)

    def _argument(self, s: Let, place: int, k: int) -> Any:
        """A part of an argument of a linear operation; shapes, axes and places are what they are."""
        x, text = s.args[place], s.info[0] if s.op == "func" else ""
        if isinstance(x, Ref) and not x.path:  # a dtype
            return Ref({"np.complex64": "np.float32"}.get(x.name, "np.float64"), None) if "complex" in x.name else x
        if s.op != "literal" and place not in _ELEMENTS.get(text, (0,)):
            return x
        if isinstance(self.code.kind(x), (types.Float, types.Integer)):
            return ZERO if k else x
        return self.part(x, k, s.line)

    def product(self, s: Let, text: str) -> None:
        """A product of arrays: those of their parts."""
        code, line = self.code, s.line
        if not all(map(self.is_complex, s.args)):
            self.refuse(s, f"{text} of real and complex numbers")
        kind, conjugated = code.of[s.target].dtype, text == "np.vdot"
        z, w = (self.pair(self.named(x, line)) for x in s.args)

        def made(op: str, x: Any, y: Any, info: Any) -> str:
            target = code.temp(kind)
            self.expand(Let(target, op, (x, y), info, line))
            return target

        def times(x: Any, y: Any) -> str:
            return made("func", x, y, ("np.dot" if conjugated else text, ()))

        real = made("binop", times(z[0], w[0]), times(z[1], w[1]), "+" if conjugated else "-")
        imag = made("binop", times(z[0], w[1]), times(z[1], w[0]), "-" if conjugated else "+")
        for t, x in zip(self.pair(s.target), (real, imag), strict=True):
            code.copy(t, x, line)

    def _complex(self, s: Let, kind: Any) -> None:
        """complex(x, y), complex(x) and complex(z)."""
        if len(s.args) == 2:
            self.give(s.target, (s.args[0], s.args[1]), s.line)
        elif len(s.args) == 1 and not is_array(kind.dtype):
            self.give(s.target, self.pair(s.args[0]), s.line)
        else:
            self.refuse(s, s.info[0])

    def _made(self, s: Let, kind: Any) -> None:
        """np.ones and np.eye: the imaginary part is 0."""
        real, imag = self.pair(s.target)
        for t in (real, imag):
            self.expand(Let(t, s.op, tuple(self.part(x, 0, s.line) for x in s.args), s.info, s.line))
        self.code.fill(imag, ZERO, s.line)

    def _log(self, s: Let, kind: Any) -> None:
        """cmath.log, which takes a base."""
        numbers, of, line = self.numbers, kind.dtype, s.line
        logs = [numbers.log(self.pair(x), of, line) for x in s.args]
        self.give(s.target, logs[0] if len(logs) == 1 else numbers.div(*logs, of, line), line)

    def _rect(self, s: Let, kind: Any) -> None:
        """cmath.rect."""
        size, angle = s.args
        self.give(s.target, self.numbers.polar(size, angle, kind.dtype, s.line), s.line)

    def _polar(self, s: Let, kind: Any) -> None:
        """cmath.polar: a tuple."""
        z, of = self.pair(s.args[0]), kind.types[0]
        made = [self.numbers.real[f](z, of, s.line) for f in ("abs", "phase")]
        for t, x in zip(self.code.tree(s.target).parts, made, strict=True):
            self.code.copy(t, x, s.line)

    def _asked(self, s: Let) -> None:
        """np.isnan and the like."""
        wholes = [syntax.call("complex", *map(syntax.atom, self.pair(x))) for x in s.args]
        args = tuple(y for x in s.args for y in self.pair(x) if isinstance(y, str))
        text = s.info[0].replace("cmath.", "np.")
        self.code.let("plain", args, syntax.call(text, *wholes), s.line, target=s.target)


class _Wholes(ast.NodeTransformer):
    """z -> complex(z_re, z_im), z[k] -> complex(z_re[k], z_im[k]), len(z) -> len(z_re)."""

    def __init__(self, complexes: Complexes, names: set[str]) -> None:
        self.complexes, self.names = complexes, names

    def parts(self, node: ast.expr) -> list[ast.expr]:
        """The parts of a name, if it is complex."""
        if not isinstance(node, ast.Name) or node.id not in self.names:
            return []
        return list(map(syntax.atom, self.complexes.pair(node.id)))

    def visit_Name(self, node: ast.Name) -> ast.AST:
        parts = self.parts(node)
        number = parts and not is_array(self.complexes.code.of[node.id].dtype)
        return syntax.call("complex", *parts) if number else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        node.slice = self.visit(node.slice)
        parts = self.parts(node.value)
        return syntax.call("complex", *(ast.Subscript(x, node.slice, ast.Load()) for x in parts)) if parts else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        parts = self.parts(node.args[0]) if ast.unparse(node.func) == "len" else []
        node.args = parts[:1] or [self.visit(x) for x in node.args]
        return node
