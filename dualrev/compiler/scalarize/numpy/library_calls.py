"""Library calls and selections: numpy functions that have a definition in numba code, or gather at computed indices.

Takes the writer, what has been put off, arrays in indices, and layouts. A definition is called with C-contiguous
arrays, and what it gives gets the layout that numba's types say.
"""

from __future__ import annotations

import numpy as np
from numba.core import types

from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.scalarize.arrays.deferred import Lazy
from dualrev.compiler.scalarize.arrays.fancy_indexing import Gathering
from dualrev.compiler.scalarize.arrays.layout import Layouts
from dualrev.compiler.scalarize.builder import ScalarBuilder, named
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.predicates import NUMBERS, holds_reals, is_array
from dualrev.rules.functions import LARGEST, Definition, Selection, known

__all__ = ["Definitions"]


class Definitions:
    """Lowering by library definitions and by selections, as the table of functions has them."""

    def __init__(self, code: ScalarBuilder, lazy: Lazy, gathering: Gathering, layouts: Layouts) -> None:
        self.code, self.lazy, self.gathering, self.layouts = code, lazy, gathering, layouts

    def takes(self, s: anf.CallKnown, kind: NumbaType) -> bool:
        """Lower a function by a definition for these arguments, or by a selection; False if it has neither."""
        f = known(s.function)
        if not holds_reals(kind):
            return False
        given = _by_position(s)
        if given is None:
            return False
        for definition in f.definitions:
            if self._fits(definition, given):
                self._call(s, kind, definition, given)
                return True
        if f.selection is not None and not f.core:
            self._select(s, kind, f.selection, given)
            return True
        return False

    def _fits(self, definition: Definition, given: list[anf.Atom | None]) -> bool:
        """Whether the pattern of a definition matches the arguments."""
        if len(definition.pattern) < len(given):
            if any(x is not None for x in given[len(definition.pattern) :]):
                return False
            given = given[: len(definition.pattern)]
        fixed = iter(definition.fixed)
        for letter, x in zip(definition.pattern, given, strict=True):
            if letter == "=":
                wanted = next(fixed)
                if (
                    not isinstance(x, anf.Const)
                    or isinstance(x.value, str) != isinstance(wanted, str)
                    or x.value != wanted
                ):
                    return False
            elif not self._is_like(letter, x):
                return False
        return True

    def _is_like(self, letter: str, x: anf.Atom | None) -> bool:
        """Whether an argument matches a letter of a pattern."""
        if x is None or letter == "_":
            return x is None and letter == "_"
        if letter == "c":
            return isinstance(x, anf.Const) and isinstance(x.value, (bool, int, float))
        if isinstance(x, anf.Const) and not isinstance(x.value, (bool, int, float)):
            return False
        kind = self.code.kind(x)
        if letter in "xi":
            return isinstance(kind, NUMBERS if letter == "x" else types.Integer)
        return is_array(kind) and kind.ndim == {"v": 1, "m": 2}.get(letter, kind.ndim)

    def _call(self, s: anf.CallKnown, kind: NumbaType, definition: Definition, given: list[anf.Atom | None]) -> None:
        """Call a definition: arguments of letters `e` and `f` are flattened, and `e` shapes the result."""
        code = self.code
        args: list[anf.Atom] = []
        like: anf.Atom | None = None  # whose shape the result has
        for letter, x in zip(definition.pattern, given, strict=False):
            if letter in "_=" or x is None:
                continue
            self.lazy.materialise(x)
            if letter == "e" and code.kind(x).ndim != 1:
                like = x
            args.append(self.layouts.vector(x, s.line) if letter in "ef" else x)
        largest = float(np.finfo(str(getattr(kind, "dtype", kind))).max) if LARGEST in definition.more else 0.0
        args += [anf.Const(largest if x == LARGEST else x) for x in definition.more]
        if like is not None:
            flat = code.temp(types.Array(kind.dtype, 1, "C"))
            code.library(flat, definition.name, tuple(args), s.line)
            shaped = code.temp(types.Array(kind.dtype, kind.ndim, "C"))
            view = to_python.name(f"np.reshape(BASE, {named(like)}.shape)")
            code.emit(anf.ViewExpr(shaped, flat, (named(like),), view, s.line))
            self._in_layout(s.target, shaped, s.line)
        else:
            self.call(s, kind, definition.name, tuple(args))

    def call(self, s: anf.Let, kind: NumbaType, name: str, args: tuple[anf.Atom, ...]) -> None:
        """Call a library function, and copy its C-ordered results to the layouts of the target."""
        code = self.code
        if not any(_is_in_other_order(code.kind(x)) for x in anf.leaves(code.tree(s.target))):
            code.library(s.target, name, args, s.line)
            return
        made = code.temp(_in_c(kind))
        code.tree(made)
        code.library(made, name, args, s.line)
        for x, y in zip(anf.variables(code.tree(s.target)), anf.variables(code.tree(made)), strict=True):
            self._in_layout(x, y, s.line)

    def _in_layout(self, target: str, source: str, line: int) -> None:
        """Emit `target = source`, in the layout that numba infers for `target`."""
        code, kind = self.code, self.code.kind(target)
        if not _is_fortran(kind):
            code.emit(anf.Copy(target, source, line))
            return
        code.empty_like(target, source, line)
        code.over(source, kind.ndim, line, lambda i: code.put(target, i, code.pick(source, i, line), line), False)

    def _select(self, s: anf.CallKnown, kind: NumbaType, selection: Selection, given: list[anf.Atom | None]) -> None:
        """Lower a selection: gather elements of an argument."""
        code = self.code
        base, places = given[selection.argument], selection.places
        others = [x for k, x in enumerate(given) if k != selection.argument]
        assert base is not None, s
        fits = is_array(code.kind(base)) and selection.ndim in (None, code.kind(base).ndim)
        fits = fits and not any(isinstance(code.tree(x), anf.Node) for x in others if x is not None)
        if not fits or len(given) > len(known(s.function).names):
            code.refuse(s.line, f"{s.function} of these arguments", "it has no derivative here", "a loop")
        names: dict[str, anf.Atom] = {}
        for letter, x in zip("ab", others, strict=False):
            if x is None:
                places = places.replace(f", {letter}_", "")
            else:
                self.lazy.materialise(x)
                names[f"{letter}_"] = x
        if not selection.view or code.kind(base).layout != "C":
            self.gathering.selected(s, kind, base, places, selection.zero, **names)
            return
        self.lazy.materialise(base)
        made, view = code.temp(kind), code.temp(kind)
        self.gathering.selected(s.to(made), kind, base, places, selection.zero, **names)
        test = code.plain("a.size == b.size", s.line, types.boolean, a=made, b=base)

        def shared() -> None:
            """Make the target a view of the argument, if the result has as many elements."""
            code.emit(anf.ViewExpr(view, base, (made,), to_python.name(f"np.reshape(BASE, {made}.shape)"), s.line))
            code.copy(s.target, view, s.line)

        copied = code.collect(lambda: code.copy(s.target, made, s.line))
        code.add(anf.If(test, code.collect(shared), copied, s.line))
        code.alias.join(s.target, named(base))


def _by_position(s: anf.CallKnown) -> list[anf.Atom | None] | None:
    """Arguments by position, None where nothing is given; None if a keyword is not known."""
    text, keywords = s.function, s.keywords
    count = len(s.args) - len(keywords)
    names = known(text).names
    found: list[anf.Atom | None] = [None] * max(len(names), count)
    found[:count] = s.args[:count]
    for k, x in zip(keywords, s.args[count:], strict=True):
        if k not in names:
            return None
        found[names.index(k)] = x
    return [None if x == anf.Const(None) else x for x in found]


def _is_fortran(kind: NumbaType) -> bool:
    """Whether a type is an array in Fortran order, and in no other."""
    return bool(is_array(kind) and kind.layout == "F" and kind.ndim > 1)


def _is_in_other_order(kind: NumbaType) -> bool:
    """Whether a type is an array that need not be in C order: a variable may hold others beside the result."""
    return bool(is_array(kind) and kind.layout != "C")


def _in_c(kind: NumbaType) -> NumbaType:
    """Type with C-ordered arrays in place of others."""
    if isinstance(kind, types.BaseTuple):
        return types.Tuple([_in_c(x) for x in kind])
    return types.Array(kind.dtype, kind.ndim, "C") if is_array(kind) else kind
