"""Representation of a complex number or array: the atoms of its real and of its imaginary part.

Takes the writer, what has been put off, arithmetic of complex numbers, and `expand`, which writes an operation.
"""

from __future__ import annotations

from collections.abc import Callable

from numba.core import types

from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.scalarize.arrays.deferred import Lazy
from dualrev.compiler.scalarize.builder import ScalarBuilder, named
from dualrev.compiler.scalarize.complex.arithmetic import ZERO, ComplexNumbers, Pair
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.complex_parts import Parts, is_complex
from dualrev.compiler.types.predicates import is_array

__all__ = ["Pairs"]


class Pairs:
    """Real and imaginary parts of atoms."""

    def __init__(
        self, code: ScalarBuilder, lazy: Lazy, numbers: ComplexNumbers, expand: Callable[[anf.Let], None]
    ) -> None:
        self.code, self.lazy, self.numbers, self.expand = code, lazy, numbers, expand

    def is_complex(self, x: anf.Atom) -> bool:
        """Whether an atom is a complex number or array."""
        return is_complex(self.code.kind(x))

    def named(self, x: anf.Atom, line: int) -> anf.Atom:
        """Materialise an atom; a captured complex array becomes a variable with two part arrays."""
        self.lazy.materialise(x)
        if not (isinstance(x, anf.Ref) and x.path and self.is_complex(x)):
            return x
        of = self.code.kind(x)
        made = self.code.temp(Parts(types.Array(of.dtype.underlying_float, of.ndim, "C")))
        for t, name in zip(self.variables(made), ("real", "imag"), strict=True):
            self.code.emit(anf.Alloc(t, (), to_python.name(f"{x.name}.{name}.copy()"), line))
        return made

    def converted(self, x: anf.Atom, kind: NumbaType, line: int) -> anf.Atom:
        """Convert a component of a tuple to the complex type that numba infers for it."""
        if not isinstance(kind, Parts) or self.is_complex(x):
            return self.named(x, line)
        made = self.code.temp(kind)
        self.give(made, self.pair(x), line)
        return made

    def pair(self, x: anf.Atom) -> Pair:
        """Real and imaginary part of an atom; the imaginary part of a real number is 0."""
        real, *imaginary = anf.leaves(self.code.tree(x))
        return real, imaginary[0] if imaginary else ZERO

    def variables(self, x: str) -> tuple[str, str]:
        """Part variables of a complex variable."""
        a, b = anf.variables(self.code.tree(x))
        return a, b

    def part(self, x: anf.Atom, k: int, line: int) -> anf.Atom:
        """Part `k` of a number, an array or all components of a tuple; zeros as imaginary part of a real array."""
        code = self.code
        x = self.named(x, line)
        kind = code.kind(x)
        if is_complex(kind):
            return self.pair(x)[k]
        if isinstance(kind, types.BaseTuple):
            parts = [self.part(y, k, line) for y in self._items(x, kind, line)]
            made = code.temp(types.BaseTuple.from_types([types.unliteral(code.kind(y)) for y in parts]))
            self.expand(anf.MakeTuple(made, tuple(parts), line))
            return made
        if k == 1 and is_array(kind) and isinstance(kind.dtype, types.Number):
            made = code.temp(types.Array(types.float64, kind.ndim, "C"))
            code.empty_like(made, named(x), line)
            code.fill(made, ZERO, line)
            return made
        return x

    def _items(self, x: anf.Atom, kind: NumbaType, line: int) -> list[str]:
        items: list[str] = []
        for k, of in enumerate(kind.types):
            items.append(self.code.temp(of))
            self.expand(anf.GetItem(items[-1], x, (anf.Const(k),), line))
        return items

    def give(self, target: str, pair: Pair, line: int) -> None:
        """Assign a pair to `target`; the pair may read the real part of `target`."""
        code, (a, b) = self.code, self.variables(target)
        if pair[1] == a:
            pair = pair[0], code.emit(anf.Copy(code.temp(code.of[a]), pair[1], line))
        for t, x in zip((a, b), pair, strict=True):
            code.copy(t, self.numbers.number(x, code.of[t], line) if not is_array(code.of[t]) else x, line)
