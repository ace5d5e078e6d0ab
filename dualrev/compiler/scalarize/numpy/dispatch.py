"""Dispatch of functions of numpy, math and Python, and of array methods, to their lowering in the table of functions.

Takes the writer, what has been put off, the collaborators for the ways, and the rules by the names that the table of
functions gives them: for arrays and tuples (`core`), and for numbers (`scalar`). Guarantees that a function without any
way is refused, unless its result is discrete.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from numba.core import types

from dualrev.compiler.frontend.reading.callables import DOUBLE, IN_ORDER, IN_ROWS, STOPPED
from dualrev.compiler.ir import anf
from dualrev.compiler.scalarize.arrays.deferred import Lazy
from dualrev.compiler.scalarize.arrays.layout import Layouts
from dualrev.compiler.scalarize.arrays.strided_views import Windows
from dualrev.compiler.scalarize.builder import ScalarBuilder
from dualrev.compiler.scalarize.lists.legalize import Lists
from dualrev.compiler.scalarize.numpy.in_place import InPlace
from dualrev.compiler.scalarize.numpy.library_calls import Definitions
from dualrev.compiler.scalarize.numpy.nondifferentiable import Inactive
from dualrev.compiler.scalarize.numpy.scalar_functions import Numbers
from dualrev.compiler.scalarize.random.draw_functions import Drawings
from dualrev.compiler.scalarize.tuples import Tuples
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.leaves import holds_structured
from dualrev.compiler.types.predicates import NUMBERS, holds_reals, is_array, is_real
from dualrev.rules.functions import known

__all__ = ["Functions", "TableRules", "Ways"]

#: Methods of arrays whose value has no derivative, if it is no real number.
_DISCRETE = ("argmin", "argmax", "any", "all", "item")


@dataclass(frozen=True)
class TableRules:
    """Rules that the table names: `core` for arrays and tuples; `scalar` for numbers, which return whether they fit."""

    core: Mapping[str, Callable[[anf.CallKnown, NumbaType], None]]
    scalar: Mapping[str, Callable[[anf.CallKnown, NumbaType], bool]]


@dataclass(frozen=True)
class Ways:
    """Collaborators that lower a function without a rule of its own."""

    drawings: Drawings
    definitions: Definitions
    in_place: InPlace
    inactive: Inactive
    numbers: Numbers
    layouts: Layouts
    windows: Windows


class Functions:
    """Lowering of functions and methods to primitives, loops or library calls."""

    def __init__(
        self, code: ScalarBuilder, lazy: Lazy, tuples: Tuples, lists: Lists, ways: Ways, rules: TableRules
    ) -> None:
        self.code, self.lazy, self.tuples, self.lists = code, lazy, tuples, lists
        self.ways, self.rules = ways, rules

    def write(self, s: anf.CallKnown, kind: NumbaType) -> None:
        """Lower a function call, by the first way that takes it."""
        text, keywords = s.function, s.keywords
        f, ways = known(text), self.ways
        of_arrays = text.startswith("np.")  # len and the like know tuples of anything
        if of_arrays and any(holds_structured(self.code.kind(x)) for x in s.args if isinstance(x, str)):
            self.code.refuse(s.line, f"{text} of objects", "of an object, only its fields are known", "its fields")
        if ways.drawings.takes(s, kind):
            return
        if text == "np.array" or (text == "np.asarray" and s.args[0] in self.lists):
            self.rules.core["array"](s, kind)
            return
        if ways.definitions.takes(s, kind) or ways.in_place.takes(s, kind):
            return
        plain = isinstance(kind, types.BaseTuple) and not text.startswith(("min", "max", "sum")) and not f.shares
        if (plain or f.written) and ways.inactive.has_no_derivative(s, kind):
            ways.inactive.write(s, kind)
            return
        if keywords and not f.makes and (holds_reals(kind) or isinstance(kind, types.NoneType)):
            what, instead = f"{text} with {', '.join(keywords)}", "the function with its usual arguments"
            self.code.refuse(s.line, what, "it is not known here", instead)
        if text == STOPPED:
            ways.inactive.stopped(s)
        elif text in (IN_ORDER, IN_ROWS):
            ways.windows.in_order(s, alone=text == IN_ORDER)
        elif text == DOUBLE:
            self._double(s, kind)
        elif f.core and (f.makes or self._is_of_arrays(s)):
            self.rules.core[f.core](s, kind)
        elif not ((f.scalar and self.rules.scalar[f.scalar](s, kind)) or ways.numbers.takes(s, kind)):
            ways.inactive.without_rule(s, kind)

    def _double(self, s: anf.CallKnown, kind: NumbaType) -> None:
        """Lower the result of a stencil's kernel, which has to be a float64."""
        if kind != types.float64:
            what, why = "the call of a stencil", f"its kernel gives {kind}, and only arrays of float64 are made here"
            self.code.refuse(s.line, what, why, "np.float64(...) of its value, or the call in a numba function of data")
        self.code.copy(s.target, s.args[0], s.line)

    def _is_of_arrays(self, s: anf.CallKnown) -> bool:
        """Whether an argument is an array or a tuple."""
        kinds = (self.code.kind(x) for x in s.args if not isinstance(x, anf.Ref) or x.path)
        return any(is_array(k) or isinstance(k, types.BaseTuple) for k in kinds)

    def method(self, s: anf.CallMethod, kind: NumbaType) -> None:
        """Lower a method call on an array, a number or a string."""
        code, ways = self.code, self.ways
        method = s.method
        base = code.kind(s.args[0])
        if isinstance(base, types.UnicodeType):
            code.as_written(s)
            return
        if method in ("conj", "conjugate") and len(s.args) == 1 and (is_real(base) or is_array(base)):
            self._conjugate(s, kind)
            return
        if method == "item" and len(s.args) == 1 and isinstance(base, NUMBERS):
            code.copy(s.target, s.args[0], s.line)
            return
        if not is_array(base):
            code.refuse(s.line, f"the method .{method}", "it is not known", "a function")
        if method == "fill":
            ways.in_place.fill(s)
        elif method == "flatten" and len(s.args) == 1:
            ways.layouts.same_elements(anf.CallKnown(s.target, "flatten", s.args, s.line), kind)
        elif method == "view":
            ways.windows.of_type(s, kind)
        elif method == "sort":
            ways.in_place.sort(s)
        elif known(f"np.{method}").method:
            self.write(self._as_function(s), kind)
        elif method in _DISCRETE and not is_real(kind):
            self.lazy.materialise(s.args[0])
            code.as_written(s)
        elif method == "astype":
            ways.layouts.same_elements(s, kind)
        elif method == "item" and len(s.args) == 1:
            self.lazy.materialise(s.args[0])
            index = tuple(anf.Const(0) for _ in range(base.ndim))
            code.emit(anf.Load(s.target, s.args[0], index, s.line))
        else:
            code.refuse(s.line, f"the method .{method}", "of an array, only numpy's methods are known", "a loop")

    def _conjugate(self, s: anf.CallMethod, kind: NumbaType) -> None:
        """Lower `x.conj()` of real numbers to a copy, as numba does."""
        if is_array(kind):
            self.ways.layouts.same_elements(anf.CallKnown(s.target, "np.copy", s.args[:1], s.line), kind)
        else:
            self.code.emit(anf.Copy(s.target, s.args[0], s.line))

    def _as_function(self, s: anf.CallMethod) -> anf.CallKnown:
        """Rewrite a method call to numpy's function of the same name, which takes a shape as a tuple."""
        (method, keywords), args = (s.method, s.keywords), s.args
        if method in ("reshape", "transpose") and len(args) > 2:
            shape = self.code.temp(types.UniTuple(types.int64, len(args) - 1))
            self.tuples.make(anf.MakeTuple(shape, args[1:], s.line), self.code.of[shape])
            args = (args[0], shape)
        if keywords == ("axis",) and len(args) == 2:
            keywords = ()
        return anf.CallKnown(s.target, f"np.{method}", args, s.line, keywords)
