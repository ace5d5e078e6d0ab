"""Complex arithmetic by real and imaginary parts, as numba computes it, to the sign of a zero.

Takes the writer. A number is a pair of atoms; a real one has the imaginary part 0.0. What a known zero is multiplied
with has no derivative there, but a value: it decides about signs of zeros, and so about sides of branch cuts.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from numba.core import types

from dualrev.compiler.ir import anf
from dualrev.compiler.scalarize.builder import ScalarBuilder
from dualrev.compiler.scalarize.scalar_ops import arithmetic
from dualrev.compiler.types.aliases import NumbaType
from dualrev.rules.emitted_names import line_of

__all__ = ["ComplexNumbers", "Pair"]

Pair = tuple[anf.Atom, anf.Atom]

ZERO, ONE = anf.Const(0.0), anf.Const(1.0)


class ComplexNumbers:
    """Complex arithmetic on pairs of atoms; `kind` is the type of the parts of the result."""

    def __init__(self, code: ScalarBuilder) -> None:
        self.code = code
        self.unary = {
            "exp": self.exp,
            "log": self.log,
            "log10": self.log10,
            "sin": self.sin,
            "cos": self.cos,
            "sinh": self.sinh,
            "cosh": self.cosh,
            "tan": self.tan,
            "tanh": lambda z, kind, line: self.library("complex_tanh", z, kind, line),
            "sqrt": lambda z, kind, line: self.library("complex_sqrt", z, kind, line),
            "square": lambda z, kind, line: self.mul(z, z, kind, line),
            "conjugate": lambda z, kind, line: (z[0], self.neg(z[1], kind, line)),
            "-": lambda z, kind, line: (self.neg(z[0], kind, line), self.neg(z[1], kind, line)),
            "+": lambda z, kind, line: z,
        }
        self.binary = {"+": self.add, "-": self.sub, "*": self.mul, "/": self.div, "**": self.power}
        self.real: dict[str, Callable[[Pair, NumbaType, int], anf.Atom]] = {
            "abs": self.modulus,
            "phase": lambda z, kind, line: self.function("math.atan2", (z[1], z[0]), kind, line),
            "real": lambda z, kind, line: z[0],
            "imag": lambda z, kind, line: z[1],
        }

    # Real arithmetic

    def number(self, x: anf.Atom, kind: NumbaType, line: int) -> anf.Atom:
        """Convert a real number or an int to type `kind`."""
        of = self.code.kind(x)
        if isinstance(x, anf.Const) and kind != types.float32:
            return anf.Const(float(x.value))
        if of == kind:
            return x
        text = "np.float32" if kind == types.float32 else "np.float64"
        if isinstance(of, types.Float) and not isinstance(x, anf.Const):
            return self.code.emit(anf.Prim(self.code.temp(kind), line_of("+x"), text, (x,), line))
        return self.code.plain(f"{text}(x)", line, kind, x=x)

    def function(self, text: str, args: tuple[anf.Atom, ...], kind: NumbaType, line: int) -> str:
        """Emit a real function that has a line in the table of primitives."""
        assert line_of(text) is not None
        return arithmetic(self.code, anf.CallKnown(self.code.temp(kind), text, args, line), kind)

    def operate(self, symbol: str, x: anf.Atom, y: anf.Atom, kind: NumbaType, line: int) -> anf.Atom:
        """Emit a real operator; constants are folded, and a product with a known 0 has no derivative."""
        if isinstance(x, anf.Const) and isinstance(y, anf.Const) and symbol in ("+", "-", "*"):
            a, b = x.value, y.value
            return anf.Const(a + b if symbol == "+" else a - b if symbol == "-" else a * b)
        if symbol == "*" and ZERO in (x, y):
            zero = "0.0" if kind != types.float32 else "np.float32(0.0)"
            return self.code.plain(f"x * {zero}", line, kind, x=y if x == ZERO else x)
        if symbol == "*" and ONE in (x, y):
            return y if x == ONE else x
        left, right = self.number(x, kind, line), self.number(y, kind, line)
        return arithmetic(self.code, anf.BinOp(self.code.temp(kind), symbol, left, right, line, True), kind)

    def neg(self, x: anf.Atom, kind: NumbaType, line: int) -> anf.Atom:
        """Emit the negation of a real number."""
        if isinstance(x, anf.Const):
            return anf.Const(-x.value)
        return arithmetic(self.code, anf.UnaryOp(self.code.temp(kind), "-", x, line), kind)

    def library(self, name: str, args: tuple[anf.Atom, ...], kind: NumbaType, line: int) -> Pair:
        """Call a definition of rules/library/ in double precision, and convert the pair that it returns."""
        code, double = self.code, types.float64
        given = tuple(self.number(x, double, line) if code.kind(x) != types.int64 else x for x in args)
        made = code.temp(types.UniTuple(double, 2))
        code.library(made, name, given, line)
        a, b = code.variables(made)
        return self.number(a, kind, line), self.number(b, kind, line)

    # Operators

    def add(self, z: Pair, w: Pair, kind: NumbaType, line: int) -> Pair:
        """Emit `z + w`."""
        return self.operate("+", z[0], w[0], kind, line), self.operate("+", z[1], w[1], kind, line)

    def sub(self, z: Pair, w: Pair, kind: NumbaType, line: int) -> Pair:
        """Emit `z - w`."""
        return self.operate("-", z[0], w[0], kind, line), self.operate("-", z[1], w[1], kind, line)

    def mul(self, z: Pair, w: Pair, kind: NumbaType, line: int) -> Pair:
        """Emit `z * w`."""
        (a, b), (c, d) = z, w

        def of(symbol: str, x: anf.Atom, y: anf.Atom, u: anf.Atom, v: anf.Atom) -> anf.Atom:
            """Emit a sum or difference of two products: `x * y (symbol) u * v`."""
            left, right = self.operate("*", x, y, kind, line), self.operate("*", u, v, kind, line)
            return self.operate(symbol, left, right, kind, line)

        return of("-", a, c, b, d), of("+", a, d, b, c)

    def div(self, z: Pair, w: Pair, kind: NumbaType, line: int, of_elements: bool = False) -> Pair:
        """Emit `z / w`; with `of_elements`, as numba divides elements of arrays."""
        return self.library("complex_quotient" + "_of_elements" * of_elements, (*z, *w), kind, line)

    def power(self, z: Pair, w: Pair, kind: NumbaType, line: int) -> Pair:
        """Emit `z ** w`; constant whole exponents up to 64 have definitions of their own."""
        c, d = w
        if d == ZERO and isinstance(c, anf.Const) and float(c.value).is_integer() and abs(c.value) <= 64:
            if c.value == 2:
                return self.mul(z, z, kind, line)
            return self.library("complex_whole_power", (*z, anf.Const(int(c.value))), kind, line)
        return self.library("complex_power", (*z, *w), kind, line)

    # Functions

    def modulus(self, z: Pair, kind: NumbaType, line: int) -> anf.Atom:
        """Emit `abs(z)`, whose derivative at 0 is 0, and whose second derivative there is infinite."""
        code, made = self.code, self.code.temp(kind)
        zero = code.plain("a == 0.0 and b == 0.0", line, types.boolean, a=z[0], b=z[1])

        def elsewhere() -> None:
            """Modulus of a nonzero number, by `hypot`."""
            args = tuple(self.number(x, kind, line) for x in z)
            code.copy(made, self.function("math.hypot", args, kind, line), line)

        def at_zero() -> None:  # 0, as u**1.5: its second derivative is infinite, so that of abs(z)**2 is NaN and not 0
            """Modulus of 0, by a function whose first derivative is 0 there."""
            a, b = (self.operate("**", self.number(x, kind, line), anf.Const(1.5), kind, line) for x in z)
            code.copy(made, self.operate("+", a, b, kind, line), line)

        code.add(anf.If(zero, code.collect(at_zero), code.collect(elsewhere), line))
        return made

    def polar(self, size: anf.Atom, angle: anf.Atom, kind: NumbaType, line: int) -> Pair:
        """Emit the number with this modulus and this argument."""
        turned = [self.function(f, (angle,), kind, line) for f in ("math.cos", "math.sin")]
        return tuple(self.operate("*", size, x, kind, line) for x in turned)  # type: ignore[return-value]

    def exp(self, z: Pair, kind: NumbaType, line: int) -> Pair:
        """Emit `exp(z)`."""
        return self.polar(self.function("math.exp", z[:1], kind, line), z[1], kind, line)

    def log(self, z: Pair, kind: NumbaType, line: int) -> Pair:
        """Emit `log(z)`, whose imaginary part is the argument of `z`."""
        size = self.function("math.hypot", z, kind, line)
        angle = self.function("math.atan2", (z[1], z[0]), kind, line)
        return self.function("np.log", (size,), kind, line), angle

    def log10(self, z: Pair, kind: NumbaType, line: int) -> Pair:
        """Emit `log10(z)`."""
        ten = anf.Const(math.log(10.0))
        return tuple(self.operate("/", x, ten, kind, line) for x in self.log(z, kind, line))  # type: ignore[return-value]

    def _hyperbolic(self, z: Pair, f: str, g: str, kind: NumbaType, line: int) -> Pair:
        (a, b) = z
        pairs = (("math.cos", f), ("math.sin", g))
        return tuple(  # type: ignore[return-value]
            self.operate("*", self.function(turn, (b,), kind, line), self.function(grow, (a,), kind, line), kind, line)
            for turn, grow in pairs
        )

    def cosh(self, z: Pair, kind: NumbaType, line: int) -> Pair:
        """Emit `cosh(z)`."""
        return self._hyperbolic(z, "math.cosh", "math.sinh", kind, line)

    def sinh(self, z: Pair, kind: NumbaType, line: int) -> Pair:
        """Emit `sinh(z)`."""
        return self._hyperbolic(z, "math.sinh", "math.cosh", kind, line)

    def cos(self, z: Pair, kind: NumbaType, line: int) -> Pair:
        """Emit `cos(z)` as `cosh(z j)`."""
        return self.cosh((self.neg(z[1], kind, line), z[0]), kind, line)

    def sin(self, z: Pair, kind: NumbaType, line: int) -> Pair:
        """Emit `sin(z)` as `-j sinh(z j)`."""
        a, b = self.sinh((self.neg(z[1], kind, line), z[0]), kind, line)
        return b, self.neg(a, kind, line)

    def tan(self, z: Pair, kind: NumbaType, line: int) -> Pair:
        """Emit `tan(z)` as `-j tanh(z j)`."""
        a, b = self.library("complex_tanh", (self.neg(z[1], kind, line), z[0]), kind, line)
        return b, self.neg(a, kind, line)
