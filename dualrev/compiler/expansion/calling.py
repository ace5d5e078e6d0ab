"""Functions of numpy that have a definition, and those that give elements of an array at places that numba computes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types

from dualrev.compiler.core import syntax
from dualrev.compiler.core.lowered import Const, Let, Node, leaves
from dualrev.compiler.expansion.joining import Joining
from dualrev.compiler.expansion.statements import is_array, is_real, is_real_array
from dualrev.rules.functions import LARGEST, Definition, Selection, known

__all__ = ["Calling"]

_NUMBERS = (types.Float, types.Integer, types.Boolean)


def holds_reals(kind: Any) -> bool:
    """Whether a type is that of a real number, of an array of them, or of a tuple with one of these."""
    return is_real(kind) or is_real_array(kind) or (isinstance(kind, types.BaseTuple) and any(map(holds_reals, kind)))


class Calling(Joining):
    """Definitions and selections."""

    def in_table(self, s: Let, kind: Any) -> bool:
        """Whether a function has a definition for these arguments, or selects elements; then it has been written."""
        f = known(s.info[0])
        if not holds_reals(kind):
            return False
        given = self.given(s)
        if given is None:
            return False
        for definition in f.definitions:
            if self.fits(definition, given):
                self.by_definition(s, kind, definition, given)
                return True
        if f.selection is not None:
            self.by_places(s, kind, f.selection, given)
            return True
        return False

    def given(self, s: Let) -> list[Any] | None:
        """The arguments by position, None where nothing is given; None if there is a keyword that is not known."""
        text, keywords = s.info
        count = len(s.args) - len(keywords)
        names = known(text).names
        found: list[Any] = [None] * max(len(names), count)
        found[:count] = s.args[:count]
        for k, x in zip(keywords, s.args[count:], strict=True):
            if k not in names:
                return None
            found[names.index(k)] = x
        return [None if x == Const(None) else x for x in found]

    def fits(self, definition: Definition, given: list[Any]) -> bool:
        """Whether a definition is one for these arguments."""
        if len(definition.pattern) < len(given):
            if any(x is not None for x in given[len(definition.pattern) :]):
                return False
            given = given[: len(definition.pattern)]
        fixed = iter(definition.fixed)
        for letter, x in zip(definition.pattern, given, strict=True):
            if letter == "=":
                wanted = next(fixed)
                if not isinstance(x, Const) or isinstance(x.value, str) != isinstance(wanted, str) or x.value != wanted:
                    return False
            elif not self.is_like(letter, x):
                return False
        return True

    def is_like(self, letter: str, x: Any) -> bool:
        """Whether an argument is what a letter of a pattern stands for."""
        if x is None or letter == "_":
            return x is None and letter == "_"
        if letter == "c":
            return isinstance(x, Const) and isinstance(x.value, (bool, int, float))
        if isinstance(x, Const) and not isinstance(x.value, (bool, int, float)):
            return False
        kind = self.kind(x)
        if letter in "xi":
            return isinstance(kind, _NUMBERS if letter == "x" else types.Integer)
        return is_array(kind) and kind.ndim == {"v": 1, "m": 2}.get(letter, kind.ndim)

    def by_definition(self, s: Let, kind: Any, definition: Definition, given: list[Any]) -> None:
        """target = a call of the definition, whose arrays are C-contiguous."""
        args: list[Any] = []
        like: Any = None
        for letter, x in zip(definition.pattern, given, strict=False):
            if letter in "_=":
                continue
            self.materialise(x)
            if letter == "e" and self.kind(x).ndim != 1:
                like = x
            args.append(self.vector(x, s.line) if letter in "ef" else x)
        largest = float(np.finfo(str(kind.dtype)).max) if LARGEST in definition.more else 0.0
        args += [Const(largest if x == LARGEST else x) for x in definition.more]
        if like is not None:
            flat = self.temp(types.Array(kind.dtype, 1, "C"))
            self.library(Let(flat, "func", (), s.info, s.line), definition.name, tuple(args))
            name = self.named(like, s.line)
            shaped = self.temp(types.Array(kind.dtype, kind.ndim, "C"))
            self.let("view", (flat, name), syntax.name(f"np.reshape(BASE, {name}.shape)"), s.line, target=shaped)
            self.in_layout(s.target, shaped, s.line)
            return
        fortran = [x for x in leaves(self.tree(s.target)) if is_array(self.kind(x)) and self.is_fortran(self.kind(x))]
        if not fortran:
            self.library(s, definition.name, tuple(args))
            return
        made = self.temp(self.in_c(kind))
        self.tree(made)
        self.library(Let(made, "func", (), s.info, s.line), definition.name, tuple(args))
        for x, y in zip(leaves(self.tree(s.target)), leaves(self.tree(made)), strict=True):
            self.in_layout(x, y, s.line)

    def is_fortran(self, kind: Any) -> bool:
        return bool(kind.layout == "F" and kind.ndim > 1)

    def in_c(self, kind: Any) -> Any:
        """A type with C-contiguous arrays in place of others."""
        if isinstance(kind, types.BaseTuple):
            return types.Tuple([self.in_c(x) for x in kind])
        return types.Array(kind.dtype, kind.ndim, "C") if is_array(kind) else kind

    def in_layout(self, target: str, source: str, line: int) -> None:
        """target = source, in the layout that numba's types say."""
        kind = self.kind(target)
        if not is_array(kind) or not self.is_fortran(kind):
            self.let("copy", (source,), None, line, target=target)
            return
        self.empty_like(target, source, line)
        self.over(source, kind.ndim, line, lambda i: self.put(target, i, self.pick(source, i, line), line))

    def by_places(self, s: Let, kind: Any, selection: Selection, given: list[Any]) -> None:
        """target = elements of an argument."""
        base, places = given[selection.argument], selection.places
        others = [x for k, x in enumerate(given) if k != selection.argument]
        fits = is_array(self.kind(base)) and selection.ndim in (None, self.kind(base).ndim)
        fits = fits and not any(isinstance(self.tree(x), Node) for x in others if x is not None)
        if not fits or len(given) > len(known(s.info[0]).names):
            self.refuse(s.line, f"{s.info[0]} of these arguments", "it has no derivative here", "a loop")
        names: dict[str, Any] = {}
        for letter, x in zip("ab", others, strict=False):
            if x is None:
                places = places.replace(f", {letter}_", "")
            else:
                self.materialise(x)
                names[f"{letter}_"] = x
        self.selected(s, kind, base, places, selection.zero, **names)

    # In place

    def _fill_diagonal(self, s: Let, kind: Any) -> None:
        """np.fill_diagonal of a matrix by a number."""
        array, value = s.args[:2]
        of = self.kind(array)
        if len(s.args) > 2 or not is_array(of) or of.ndim != 2 or not isinstance(self.kind(value), _NUMBERS):
            what = "np.fill_diagonal of these arguments"
            self.refuse(s.line, what, "only that of a matrix by a number is known", "a loop")
        self.flush()
        n = self.plain("min(a.shape[0], a.shape[1])", s.line, a=array)
        self.count(n, s.line, lambda k: self.put(self.named(array, s.line), (k, k), value, s.line))

    def sorted_in_place(self, s: Let) -> None:
        """a.sort()."""
        array = s.args[0]
        of = self.kind(array)
        if len(s.args) > 1 or of.ndim != 1:
            self.refuse(s.line, "this sort", "only that of a vector is known", "np.sort of its rows")
        self.flush()
        made = self.temp(types.Array(of.dtype, 1, "C"))
        if is_real(of.dtype):
            self.operation(Let(made, "func", (array,), ("np.sort", ()), s.line))
        else:
            self.as_written(Let(made, "func", (array,), ("np.sort", ()), s.line))
        self.over(made, 1, s.line, lambda i: self.put(self.named(array, s.line), i, self.pick(made, i, s.line), s.line))
