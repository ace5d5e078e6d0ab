"""Lower random sampling functions to calls of rules/library/random/drawing.py.

Takes the writer, what has been put off, and tuples.
"""

from __future__ import annotations

from numba.core import types

from dualrev.compiler.ir import anf
from dualrev.compiler.scalarize.arrays.deferred import Lazy
from dualrev.compiler.scalarize.builder import ScalarBuilder
from dualrev.compiler.scalarize.tuples import Tuples
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.predicates import is_array, is_real
from dualrev.rules.drawing import DRAWING, Drawing

__all__ = ["Drawings"]


#: Those with a parameter that is an array.
_OF_ARRAYS = ("np_choice", "np_permuted", "np_shuffle", "py_shuffle", "np_multinomial", "np_dirichlet")


class Drawings:
    """Lowering of random sampling by numpy's and Python's generators, as numba implements them."""

    def __init__(self, code: ScalarBuilder, lazy: Lazy, tuples: Tuples) -> None:
        self.code, self.lazy, self.tuples = code, lazy, tuples

    def takes(self, s: anf.CallKnown, kind: NumbaType) -> bool:
        """Lower a sampling function; False for any other function."""
        known = DRAWING.get(s.function)
        if known is None:
            return False
        code = self.code
        for x in s.args:
            self.lazy.materialise(x)
        args, size = self._parameters(s, known)
        name, args = self._definition(s, known, args)
        args = [_as_float(x) if is_real(kind) and not is_array(code.kind(x)) else x for x in args]
        if size is not None:
            name, args = f"{name}_of", [*args, size]
        none = isinstance(kind, types.NoneType)  # seed and shuffle
        code.library(code.temp(types.int64) if none else s.target, name, tuple(args), s.line)
        return True

    def _definition(self, s: anf.CallKnown, known: Drawing, args: list[anf.Atom]) -> tuple[str, list[anf.Atom]]:
        """Name of the library definition, and its arguments."""
        code, name = self.code, known.name
        if name == "np_randint" and args[1] == anf.Const(None):
            args = [anf.Const(0), args[0]]
        if name == "np_choice" and not is_array(code.kind(args[0])):
            name, args = "np_randint", [anf.Const(0), args[0]]
        if name == "np_permutation" and is_array(code.kind(args[0])):
            name = "np_permuted"
        arrays = [x for x in args if is_array(code.kind(x))]
        if any(code.kind(x).ndim != 1 for x in arrays):
            what, why = f"{s.function} of a matrix", "only that of a vector is known"
            code.refuse(s.line, what, why, "its rows by their places")
        assert not arrays or name in _OF_ARRAYS, "numba has it for numbers"
        return name, args

    def _parameters(self, s: anf.CallKnown, known: Drawing) -> tuple[list[anf.Atom], anf.Atom | None]:
        """Parameters of a sampling function, and the size; the size is None for one number."""
        code, (text, keywords) = self.code, (s.function, s.keywords)
        if text in ("np.random.rand", "np.random.randn"):
            if not s.args:
                return [], None
            size = code.temp(types.UniTuple(types.int64, len(s.args)))
            self.tuples.make(anf.MakeTuple(size, s.args, s.line), code.of[size])
            return [], size
        names = [*known.parameters, *(["size"] if known.sized else [])]
        count = len(s.args) - len(keywords)
        given = dict(zip(names, s.args[:count], strict=False)) | dict(zip(keywords, s.args[count:], strict=True))
        first = len(known.parameters) - len(known.defaults)
        defaults = dict(zip(known.parameters[first:], map(anf.Const, known.defaults), strict=True))
        found = {"size": anf.Const(None), **defaults, **given}
        if count > len(names) or set(given) - set(names):
            words = ", ".join(names)
            code.refuse(s.line, f"{text} with these arguments", "", f"it with {words} alone" if words else "it alone")
        size = found["size"]
        nothing = size == anf.Const(None) or isinstance(code.kind(size), types.NoneType)
        return [found[x] for x in known.parameters], None if nothing else size


def _as_float(x: anf.Atom) -> anf.Atom:
    """Parameter as a float constant: ints and floats share their samplers."""
    return anf.Const(float(x.value)) if isinstance(x, anf.Const) and type(x.value) is int else x
