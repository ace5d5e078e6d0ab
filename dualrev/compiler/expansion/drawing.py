"""Functions that draw random numbers -> calls of library/drawing.py."""

from __future__ import annotations

from typing import Any

from numba.core import types

from dualrev.compiler.core.lowered import Const, Let
from dualrev.compiler.expansion.functions import Functions
from dualrev.compiler.expansion.statements import is_array, is_real
from dualrev.rules.drawing import DRAWING, Drawing

__all__ = ["Drawings"]


class Drawings(Functions):
    """Random numbers, by numpy's and by Python's generator, as numba has them."""

    def _func(self, s: Let, kind: Any) -> None:
        known = DRAWING.get(s.info[0])
        if known is None:
            super()._func(s, kind)
            return
        for x in s.args:
            self.materialise(x)
        args, size = self.drawn_of(s, known)
        name = known.name
        if name == "np_randint" and args[1] == Const(None):
            args = [Const(0), args[0]]
        if name == "np_choice" and not is_array(self.kind(args[0])):
            name, args = "np_randint", [Const(0), args[0]]
        if name == "np_permutation" and is_array(self.kind(args[0])):
            name = "np_permuted"
        if any(is_array(self.kind(x)) and self.kind(x).ndim != 1 for x in args):
            self.refuse(
                s.line, f"{s.info[0]} of a matrix", "only that of a vector is known", "its rows by their places"
            )
        if any(is_array(self.kind(x)) for x in args) and name not in ("np_choice", "np_permuted", "np_shuffle"):
            self.refuse(s.line, f"{s.info[0]} of arrays", "its parameters are numbers", "a loop")
        args = [self.as_float(x, s.line) if is_real(kind) and not is_array(self.kind(x)) else x for x in args]
        if size is not None:
            name, args = f"{name}_of", [*args, size]
        if isinstance(kind, types.NoneType):  # seed and shuffle
            done = self.temp(types.int64)
            self.library(Let(done, "func", (), None, s.line), name, tuple(args))
            return
        self.library(s, name, tuple(args))

    def drawn_of(self, s: Let, known: Drawing) -> tuple[list[Any], Any]:
        """The parameters of a function that draws, and the size; None for one number."""
        text, keywords = s.info
        if text in ("np.random.rand", "np.random.randn"):
            if not s.args:
                return [], None
            size = self.temp(types.UniTuple(types.int64, len(s.args)))
            self.operation(Let(size, "tuple", s.args, None, s.line))
            return [], size
        names = [*known.parameters, *(["size"] if known.sized else [])]
        count = len(s.args) - len(keywords)
        given = dict(zip(names, s.args[:count], strict=False)) | dict(zip(keywords, s.args[count:], strict=True))
        first = len(known.parameters) - len(known.defaults)
        defaults = dict(zip(known.parameters[first:], map(Const, known.defaults), strict=True))
        found = {"size": Const(None), **defaults, **given}
        if count > len(names) or set(given) - set(names):
            words = ", ".join(names)
            self.refuse(s.line, f"{text} with these arguments", "", f"it with {words} alone" if words else "it alone")
        size = found["size"]
        nothing = size == Const(None) or isinstance(self.kind(size), types.NoneType)
        return [found[x] for x in known.parameters], None if nothing else size

    def as_float(self, x: Any, line: int) -> Any:
        """A parameter as a float: ints and floats are drawn for by the same functions."""
        if isinstance(x, Const):
            return Const(float(x.value)) if type(x.value) is int else x
        return x
