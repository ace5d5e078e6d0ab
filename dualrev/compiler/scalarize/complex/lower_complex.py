"""Lower operations on complex numbers and arrays to operations on their real and imaginary parts.

    scalars             arithmetic of two real numbers (arithmetic.py)
    elements of arrays  a loop over both parts
    what is linear      the same operation on each part: slices, sums, reshapes, joins
    products            np.dot and the like: four of parts

Takes the writer, what has been put off, and who writes an operation on real numbers (`expand`), a store (`write`) and a
call of a function of the library (`call`).
Guarantees that no operation on complex numbers is left; what it does not know is refused. Tuples of them and calls need
nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from numba.core import types

from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.scalarize.arrays.deferred import Expression, Lazy
from dualrev.compiler.scalarize.arrays.elementwise import Elementwise
from dualrev.compiler.scalarize.arrays.race_test import raise_for_race
from dualrev.compiler.scalarize.builder import ScalarBuilder, named
from dualrev.compiler.scalarize.complex.arithmetic import ZERO, ComplexNumbers, Pair
from dualrev.compiler.scalarize.complex.complex_conditions import put_together
from dualrev.compiler.scalarize.complex.pairs import Pairs
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.complex_parts import Parts, holds_complex
from dualrev.compiler.types.predicates import is_array
from dualrev.rules.complexes import how as known_how

__all__ = ["Complexes"]

_INSTEAD = "real and imaginary parts"
#: Which arguments of linear functions hold elements, where that is not the first one alone.
_ELEMENTS = {
    "np.zeros": (),
    "np.empty": (),
    "np.append": (0, 1),
    "np.where": (1, 2),
    "np.full": (1,),
    "np.full_like": (0, 1),
}
_METHODS = {
    "copy",
    "item",
    "sum",
    "mean",
    "cumsum",
    "trace",
    "reshape",
    "ravel",
    "flatten",
    "transpose",
    "astype",
    "repeat",
    "take",
}


class Complexes:
    """Lowering of operations on complex numbers and arrays."""

    def __init__(
        self,
        code: ScalarBuilder,
        lazy: Lazy,
        real: Elementwise,
        expand: Callable[[anf.Let], None],
        write: Callable[[anf.Store], None],
        call: Callable[[anf.Let, NumbaType, str, tuple[anf.Atom, ...]], None],
    ) -> None:
        self.code, self.lazy, self.real, self.expand, self.write = code, lazy, real, expand, write
        self.call = call
        self.numbers = ComplexNumbers(code)
        pairs = Pairs(code, lazy, self.numbers, expand)
        self.is_complex, self.named, self.pair, self.part = pairs.is_complex, pairs.named, pairs.pair, pairs.part
        self.converted, self.give, self.variables = pairs.converted, pairs.give, pairs.variables

    def lowered(self, s: anf.Let, kind: NumbaType) -> anf.Let | None:
        """Lower an operation on complex numbers; return it, on other operands, if the general rules have to do more."""
        code = self.code
        kinds = [code.kind(x) for x in s.args if isinstance(x, (str, anf.Const)) or (isinstance(x, anf.Ref) and x.path)]
        if not (holds_complex(kind) or any(map(holds_complex, kinds))):
            return s
        for x in s.args:
            if isinstance(x, str) and is_array(code.of.get(x)):
                self.lazy.materialise(x)
        match s:
            case anf.CallUser() | anf.MakeTuple() | anf.CallStarred():
                wanted = kind.types if isinstance(s, anf.MakeTuple) else [None] * len(s.args)
                return s.on(*(self.converted(x, of, s.line) for x, of in zip(s.args, wanted, strict=True)))
            case anf.BinOp() | anf.InplaceOp() | anf.UnaryOp():
                self.operator(s, kind)
            case anf.Discrete():
                self.condition(s, kind)
            case anf.Copy():
                return self.copy(s, kind)
            case anf.CallKnown():
                return self.function(s, kind)
            case anf.CallMethod():
                self.method(s, kind)
            case anf.GetAttr():
                return self.attribute(s, kind)
            case anf.GetItem():
                return self.getitem(s, kind)
            case anf.MakeArray():
                self.partwise(s, kind)
            case _:
                self.refuse(s, "this use of complex numbers")
        return None

    def check(self, s: anf.Stmt) -> None:
        """Refuse to print or raise complex numbers."""
        for x in anf.reads(s) if isinstance(s, anf.Effect) else ():
            if isinstance(x, (str, anf.Const)) and holds_complex(self.code.kind(x)):
                what = "a complex number as what is raised or printed"
                self.code.refuse(s.line, what, "only its parts can be looked at", _INSTEAD)

    def truth(self, x: anf.Atom, line: int) -> anf.Atom:
        """Truth value of a condition; for a complex number, whether it is not 0."""
        if not isinstance(x, (str, anf.Const)) or not self.is_complex(x):
            return x
        a, b = self.pair(x)
        return self.code.plain("a != 0.0 or b != 0.0", line, types.boolean, a=a, b=b)

    def refuse(self, s: anf.Stmt, what: str) -> NoReturn:
        """Raise UnsupportedError for an operation on complex numbers."""
        instead = "dr.grad(f.py_func), which takes the tape" if what.startswith("np.linalg.") else _INSTEAD
        self.code.refuse(s.line, what, "it is not known of complex numbers", instead)

    # Operations

    def copy(self, s: anf.Copy, kind: NumbaType) -> anf.Copy | None:
        """Lower a copy of a number; return a copy of anything else."""
        if isinstance(kind, Parts) and not is_array(kind.dtype):
            self.give(s.target, self.pair(s.source), s.line)
            return None
        return s.on(self.named(s.source, s.line))

    def operator(self, s: anf.BinOp | anf.InplaceOp | anf.UnaryOp, kind: NumbaType) -> None:
        """Lower an operator on numbers or elements; `+=` updates an array in place."""
        if s.symbol == "@":
            self.product(s, "np.dot")
            return
        table: Any = self.numbers.unary if isinstance(s, anf.UnaryOp) else self.numbers.binary
        if not isinstance(s, anf.InplaceOp) or not is_array(kind.dtype):
            self.elementwise(s, kind, table[s.symbol])
            return
        if isinstance(s.args[1], str) and s.args[1] not in self.lazy:
            raise_for_race(self.code, self.variables(s.args[0])[0], self.code.names_in(s.args[1:])[0], s.line)
        made = self._put_off(s.binop(self.code.temp(kind)), self._computed_in(s.args, kind.dtype), table[s.symbol])
        self.make(made, self.variables(s.args[0]))
        if s.target != s.args[0]:
            self.code.copy_tree(self.code.tree(s.target), self.code.tree(s.args[0]), s.line)

    def _computed_in(self, args: Sequence[anf.Atom], of: NumbaType) -> NumbaType:
        """Array type in which `+=` computes the parts: the precision of both operands, as in numba's loop."""
        kinds = [self.code.kind(self.pair(x)[0]) for x in args]
        single = all((k.dtype if is_array(k) else k) in (types.float32, types.boolean) for k in kinds)
        return of if single else of.copy(dtype=types.float64)

    def elementwise(self, s: anf.Let, kind: NumbaType, f: Callable[..., Any]) -> None:
        """Lower `target = f(args)` on numbers, or on elements of arrays; deferred if the result is read once."""
        again = any(self.lazy.is_read_for(s.target, x) for x in s.args)
        if again and is_array(kind.dtype if isinstance(kind, Parts) else kind):
            made = self.code.temp(kind)
            self.elementwise(s.to(made), kind, f)
            self.lazy.materialise(made)
            self.code.copy_tree(self.code.tree(s.target), self.code.tree(made), s.line)
            return
        args = tuple(self.named(x, s.line) if isinstance(x, anf.Ref) else x for x in s.args)
        of = kind.dtype if isinstance(kind, Parts) else kind
        if is_array(of):
            self._put_off(s, of, f)
            if not (isinstance(kind, Parts) and self.real.is_read_once(s.target)):
                self.make(s.target)
        elif isinstance(kind, Parts):
            self.give(s.target, f(*self._elements(args, s.line), of, s.line), s.line)
        else:
            self.code.copy(s.target, f(*self._elements(args, s.line), of, s.line), s.line)

    def _elements(self, args: Sequence[anf.Atom], line: int) -> list[Pair]:
        """Pairs of parts of scalar operands; a 0-d array gives its element."""
        code, made = self.code, []
        for x in args:
            self.lazy.materialise(x)
            a, b = (code.pick(y, (), line) if is_array(code.kind(y)) else y for y in self.pair(x))
            made.append((a, b))
        return made

    def _put_off(self, s: anf.Let, of: NumbaType, f: Callable[..., Any]) -> str:
        """Defer `target = f(args)` on elements of arrays."""
        args = tuple(self.named(x, s.line) if isinstance(x, anf.Ref) else x for x in s.args)
        if f == self.numbers.div:
            f = functools.partial(f, of_elements=True)
        self.lazy.put_off(s.target, Expression(s.on(*args), of.dtype, of.ndim, f, lambda: self.make(s.target)))
        return s.target

    def make(self, x: str, into: Sequence[str] = ()) -> None:
        """Materialise deferred `x`; with `into`, store its elements there one after the other, as numba does."""
        code = self.code
        inside = self.lazy.taken(x)
        line, ndim, dtype = inside[x].let.line, inside[x].ndim, inside[x].dtype
        read = [y for e in inside.values() for y in e.let.args if y not in inside]
        arrays = [self.pair(y) for y in dict.fromkeys(read) if is_array(code.kind(self.pair(y)[0]))]
        names = tuple(dict.fromkeys(named(a) for a, _ in arrays))
        made = into or [code.temp(code.of[t]) for t in anf.variables(code.tree(x))]
        for t in () if into else made:
            code.empty_for(t, names, line)
        parts = dict.fromkeys(y for pair in arrays for y in pair if y != ZERO)
        spread = {y: y if len(names) == 1 else code.spread(y, made[0], ndim, line) for y in parts}

        def element(y: anf.Atom, i: tuple[str, ...]) -> Any:
            """Emit the parts of `y` at index `i`."""
            if y in inside:
                e = inside[y]
                return e.formula(*(element(a, i) for a in e.let.args), e.dtype, e.let.line)  # type: ignore[misc]
            return tuple(code.pick(spread[a], i, line) if a in spread else a for a in self.pair(y))

        def one(i: tuple[str, ...]) -> None:
            """Store the parts of the element at index `i`."""
            values = element(x, i)
            for t, value in zip(made, values if len(made) == 2 else (values,), strict=True):
                code.put(t, i, self.numbers.number(value, dtype, line), line)

        code.over(made[0], ndim, line, one)
        for t, y in () if into else zip(anf.variables(code.tree(x)), made, strict=True):
            code.copy(t, y, line)

    def condition(self, s: anf.Discrete, kind: NumbaType) -> None:
        """Lower a non-differentiable expression: complex values in it are rebuilt from their parts."""
        for x in s.args:
            self.lazy.materialise(x)
        complexes = {x: self.pair(x) for x in s.args if self.is_complex(x)}
        tree = put_together(s.tree, complexes, {x for x, (a, _) in complexes.items() if is_array(self.code.kind(a))})
        names = tuple(y for x in s.names for y in complexes.get(x, (x,)) if isinstance(y, str))
        self.expand(anf.Discrete(s.target, names, tree, s.line))

    def getitem(self, s: anf.GetItem, kind: NumbaType) -> anf.GetItem | None:
        """Lower `z[index]`; return an item of a tuple."""
        if not self.is_complex(s.base):
            return s
        self.partwise(s, kind)
        return None

    def store(self, s: anf.Store) -> bool:
        """Lower `array[index] = value` of a complex array; False for any other array."""
        if not self.is_complex(s.array):
            return False
        self.lazy.materialise(s.array)
        value = self.named(s.value, s.line)
        parts = [self.part(value, k, s.line) for k in (0, 1)]
        if not self.is_complex(value) and not is_array(self.code.kind(value)):
            parts[1] = ZERO
        for t, x in zip(self.variables(s.array), parts, strict=True):
            self.write(anf.Store(t, s.index, x, s.line))
        return True

    def attribute(self, s: anf.GetAttr, kind: NumbaType) -> anf.GetAttr | None:
        """Lower `z.real`, `z.shape` and the like; return a field of a tuple."""
        if not self.is_complex(s.base):
            return s
        pair = self.pair(self.named(s.base, s.line))
        if s.name in ("real", "imag"):
            self.code.copy(s.target, pair[s.name == "imag"], s.line)
        elif s.name in ("shape", "size", "ndim", "dtype"):
            self.expand(s.on(pair[0]))
        elif s.name == "T":
            self.partwise(s, kind)
        else:
            self.refuse(s, f"the attribute .{s.name}")
        return None

    # Functions

    def function(self, s: anf.CallKnown, kind: NumbaType) -> anf.CallKnown | None:
        """Lower a function of numpy, cmath or Python; return the length of a tuple."""
        text, keywords = s.function, s.keywords
        if text == "len" and not self.is_complex(s.args[0]):
            return s
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
        elif how == "library" and not keywords:
            self._library(s, kind, name)
        elif how == "length":
            self.expand(s.on(self.pair(self.named(s.args[0], s.line))[0]))
        elif how == "own":
            getattr(self, f"_{name}")(s, kind)
        elif isinstance(kind, types.Boolean) or (is_array(kind) and isinstance(kind.dtype, types.Boolean)):
            self._asked(s, kind)
        else:
            self.refuse(s, text)
        return None

    def method(self, s: anf.CallMethod, kind: NumbaType) -> None:
        """Lower a method of a complex number or array."""
        name = s.method
        if name in ("conj", "conjugate"):
            self.elementwise(s, kind, self.numbers.unary["conjugate"])
        elif name == "fill":
            self.store(anf.Store(s.args[0], (Ellipsis,), s.args[1], s.line))
        elif name in _METHODS:
            self.partwise(s, kind)
        elif name == "dot":
            self.product(s, "np.dot")
        else:
            self.refuse(s, f"the method .{name}")

    def partwise(self, s: anf.Let, kind: NumbaType) -> None:
        """Lower a linear operation: apply it to the real and to the imaginary parts."""
        assert isinstance(kind, Parts), "a linear function of complex numbers gives complex numbers"
        made = []
        for k, t in enumerate(self.variables(s.target)):
            args = [self._argument(s, place, k) for place in range(len(s.args))]
            made.append(self.code.temp(self.code.of[t]))
            self.expand(s.on(*args, target=made[-1]))
        for t, x in zip(self.variables(s.target), made, strict=True):
            self.code.copy(t, x, s.line)

    def _argument(self, s: anf.Let, place: int, k: int) -> anf.Atom:
        """Part `k` of an argument of a linear operation; shapes, axes and indices are unchanged."""
        x, text = s.args[place], s.function if isinstance(s, anf.CallKnown) else ""
        if isinstance(x, anf.Ref) and not x.path:  # a dtype
            return anf.Ref({"np.complex64": "np.float32"}.get(x.name, "np.float64"), None) if "complex" in x.name else x
        if not isinstance(s, anf.MakeArray) and place not in _ELEMENTS.get(text, (0,)):
            return x
        if isinstance(self.code.kind(x), (types.Float, types.Integer)):
            return ZERO if k else x
        return self.part(x, k, s.line)

    def product(self, s: anf.Let, text: str) -> None:
        """Lower a product of complex arrays to four products of their parts."""
        code, line = self.code, s.line
        assert all(map(self.is_complex, s.args)), "numba multiplies arrays of one type"
        kind, conjugated = code.of[s.target].dtype, text == "np.vdot"
        z, w = (self.pair(self.named(x, line)) for x in s.args)

        def times(x: anf.Atom, y: anf.Atom) -> str:
            """Emit a product of two part arrays."""
            made = code.temp(kind)
            self.expand(anf.CallKnown(made, "np.dot" if conjugated else text, (x, y), line))
            return made

        def combined(symbol: str, x: str, y: str) -> str:
            """Emit a sum or a difference of two products."""
            made = code.temp(kind)
            self.expand(anf.BinOp(made, symbol, x, y, line))
            return made

        real = combined("+" if conjugated else "-", times(z[0], w[0]), times(z[1], w[1]))
        imag = combined("-" if conjugated else "+", times(z[0], w[1]), times(z[1], w[0]))
        for t, x in zip(self.variables(s.target), (real, imag), strict=True):
            code.copy(t, x, line)

    def _library(self, s: anf.Let, kind: NumbaType, name: str) -> None:
        """Call the library function of a matrix with complex results: one for real matrices, one for complex."""
        x = self.named(s.args[0], s.line)
        if self.is_complex(x):
            self.call(s, kind, f"{name}_of_parts", tuple(self.pair(x)))
        else:
            self.call(s, kind, f"{name}_of_real", (x,))

    def _complex(self, s: anf.Let, kind: NumbaType) -> None:
        """Lower `complex(x, y)`, `complex(x)` and `complex(z)`."""
        if len(s.args) == 2:
            self.give(s.target, (s.args[0], s.args[1]), s.line)
        else:
            (z,) = s.args
            self.give(s.target, self.pair(z), s.line)

    def _made(self, s: anf.Let, kind: NumbaType) -> None:
        """Lower `np.ones` and `np.eye`: the imaginary part is 0."""
        real, imag = self.variables(s.target)
        for t in (real, imag):
            args = tuple(self._argument(s, place, 0) for place in range(len(s.args)))
            self.expand(s.on(*args, target=t))
        self.code.fill(imag, ZERO, s.line)

    def _log(self, s: anf.Let, kind: NumbaType) -> None:
        """Lower `cmath.log`, which takes a base."""
        numbers, of, line = self.numbers, kind.dtype, s.line
        logs = [numbers.log(self.pair(x), of, line) for x in s.args]
        self.give(s.target, logs[0] if len(logs) == 1 else numbers.div(logs[0], logs[1], of, line), line)

    def _rect(self, s: anf.Let, kind: NumbaType) -> None:
        """Lower `cmath.rect`."""
        size, angle = s.args
        self.give(s.target, self.numbers.polar(size, angle, kind.dtype, s.line), s.line)

    def _polar(self, s: anf.Let, kind: NumbaType) -> None:
        """Lower `cmath.polar` to a tuple."""
        z, of = self.pair(s.args[0]), kind.types[0]
        made = [self.numbers.real[f](z, of, s.line) for f in ("abs", "phase")]
        for t, x in zip(self.code.variables(s.target), made, strict=True):
            self.code.copy(t, x, s.line)

    def _asked(self, s: anf.CallKnown, kind: NumbaType) -> None:
        """Lower a boolean function, such as `np.isnan`, without derivative."""
        pairs = [self.pair(self.named(x, s.line)) for x in s.args]
        arrays = [is_array(self.code.kind(a)) for a, _ in pairs]
        if s.keywords or any(array and b == ZERO for array, (_, b) in zip(arrays, pairs, strict=True)):
            self.refuse(s, s.function)
        makes = ["runtime.complex_array" if array else "complex" for array in arrays]
        wholes = [to_python.call(make, *map(to_python.atom, pair)) for make, pair in zip(makes, pairs, strict=True)]
        args = tuple(y for pair in pairs for y in pair if isinstance(y, str))
        text = s.function.replace("cmath.", "np.")
        make = anf.Alloc if is_array(kind) else anf.Discrete
        self.code.emit(make(s.target, args, to_python.call(text, *wholes), s.line))
