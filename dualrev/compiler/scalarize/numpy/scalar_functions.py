"""Lower functions of scalars to primitives of the table, products, comparisons and branches.

Takes the writer, what has been put off, and tuples. Each rule says whether the function was one for these arguments;
then it has been written.
"""

from __future__ import annotations

from numba.core import types

from dualrev.compiler.ir import anf
from dualrev.compiler.scalarize.arrays.deferred import Lazy
from dualrev.compiler.scalarize.builder import ScalarBuilder
from dualrev.compiler.scalarize.scalar_ops import arithmetic, extremum, product
from dualrev.compiler.scalarize.tuples import Tuples
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.complex_parts import joined
from dualrev.compiler.types.predicates import is_array, is_real
from dualrev.rules.emitted_names import line_of
from dualrev.rules.functions import known

__all__ = ["Numbers"]


class Numbers:
    """Lowering rules that the table calls `line`, `product` and `scalar`."""

    def __init__(self, code: ScalarBuilder, lazy: Lazy, tuples: Tuples) -> None:
        self.code, self.lazy, self.tuples = code, lazy, tuples

    def takes(self, s: anf.CallKnown, kind: NumbaType) -> bool:
        """Lower a real function to a product, a quotient or a primitive of the table; False if it has none."""
        text = s.function
        line = line_of(text)
        if not is_real(kind):
            return False
        if known(text).product is not None:
            product(self.code, text, s.args[0], kind, s.line, s.target)
            return True
        if line is None or len(line.partials) != len(s.args):
            return False
        for x in s.args:
            self.lazy.materialise(x)
        arithmetic(self.code, s, kind)
        return True

    def extremum(self, s: anf.CallKnown, kind: NumbaType) -> bool:
        """Lower Python's `min` and `max`."""
        if len(s.args) == 1 and isinstance(self.code.kind(s.args[0]), types.BaseTuple):
            self.tuples.reduce(s, kind)
        elif len(s.args) == 1 and is_array(self.code.kind(s.args[0])) and self.code.kind(s.args[0]).ndim == 1:
            self.lazy.materialise(s.args[0])
            self.code.library(s.target, "least" if s.function == "min" else "greatest", s.args, s.line)
        elif len(s.args) > 1:
            extremum(self.code, s.target, s.args, kind, "<" if s.function == "min" else ">", s.line)
        else:
            return False
        return True

    def divmod(self, s: anf.CallKnown, kind: NumbaType) -> bool:
        """Lower `divmod` to a library call."""
        self.code.library(s.target, "divmod_of", s.args, s.line)
        return True

    def to_float(self, s: anf.CallKnown, kind: NumbaType) -> bool:
        """Lower a conversion to a float type, differentiable if the argument is real."""
        if any(is_array(self.code.kind(x)) for x in s.args):
            return False
        if s.args and is_real(self.code.kind(s.args[0])):
            self.code.emit(anf.Prim(s.target, line_of("+x"), s.function, s.args, s.line))
        else:
            self.code.as_written(s)
        return True

    def converted(self, x: anf.Atom, wanted: NumbaType, line: int) -> str | None:
        """Convert a number to the type that a signature declares; None if either type is no number."""
        code, kind = self.code, joined(self.code.kind(x))
        if not isinstance(kind, (types.Integer, types.Boolean, types.Float)):
            return None
        if isinstance(wanted, types.Boolean):
            return code.plain("_ != 0", line, wanted, _=x)
        if not isinstance(wanted, (types.Integer, types.Float)):
            return None
        if is_real(kind) and is_real(wanted):
            return code.emit(anf.Prim(code.temp(wanted), line_of("+x"), f"np.{wanted}", (x,), line))
        return code.plain(f"np.{wanted}(_)", line, wanted, _=x)

    def ldexp(self, s: anf.CallKnown, kind: NumbaType) -> bool:
        """Lower `math.ldexp` to the product with a power of 2."""
        power = self.code.plain("math.ldexp(1.0, n)", s.line, kind, n=s.args[1])
        arithmetic(self.code, anf.BinOp(s.target, "*", s.args[0], power, s.line), kind)
        return True

    def frexp(self, s: anf.CallKnown, kind: NumbaType) -> bool:
        """Lower `math.frexp` to a product with a power of 2, in two steps, as the power may be too large."""
        code, (m, e), x = self.code, self.code.variables(s.target), s.args[0]
        whole = code.plain("math.frexp(x)[1]", s.line, x=x)
        half = code.plain("-n // 2", s.line, n=whole)
        for n in (half, code.plain("-n - h", s.line, n=whole, h=half)):
            power = code.plain("math.ldexp(1.0, n)", s.line, types.float64, n=n)
            x = arithmetic(code, anf.BinOp(code.temp(code.kind(m)), "*", x, power, s.line), code.kind(m))
        code.copy(m, x, s.line)
        code.copy(e, whole, s.line)
        return True

    def itself(self, s: anf.CallKnown, kind: NumbaType) -> bool:
        """Lower a reduction of a scalar, such as `np.sum`: the scalar itself."""
        if self._is_one(s, kind):
            self.code.copy(s.target, self._alike(s, kind), s.line)
        return self._is_one(s, kind)

    def nothing(self, s: anf.CallKnown, kind: NumbaType) -> bool:
        """Lower a spread of a scalar, such as `np.std`: `x - x`, which is NaN at infinity."""
        if self._is_one(s, kind):
            x = self._alike(s, kind)
            arithmetic(self.code, anf.BinOp(s.target, "-", x, x, s.line), kind)
        return self._is_one(s, kind)

    def zero(self, s: anf.CallKnown, kind: NumbaType) -> bool:
        """Lower `np.imag` of a real number, without derivative."""
        if self._is_one(s, kind):
            self.code.as_written(s)
        return self._is_one(s, kind)

    def _is_one(self, s: anf.CallKnown, kind: NumbaType) -> bool:
        """Whether a function has one argument, a real number, and a real result."""
        return len(s.args) == 1 and is_real(kind) and is_real(joined(self.code.kind(s.args[0])))

    def _alike(self, s: anf.CallKnown, kind: NumbaType) -> anf.Atom:
        """Argument, a number, converted to the type of the result."""
        x: anf.Atom = s.args[0]
        found = x if joined(self.code.kind(x)) == kind else self.converted(x, kind, s.line)
        assert found is not None, kind
        return found

    def round(self, s: anf.CallKnown, kind: NumbaType) -> bool:
        """Lower rounding to a number of digits, which is piecewise constant."""
        if is_real(kind):
            self.code.as_written(s)
        return is_real(kind)
