"""Array creation: from scalars one by one, by a rule such as `np.arange`, or as a copy of another array.

Takes the writer, and layouts.
"""

from __future__ import annotations

from numba.core import types

from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.ir.anf.to_python import dtype_name
from dualrev.compiler.scalarize.arrays.layout import Layouts
from dualrev.compiler.scalarize.builder import ScalarBuilder
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.predicates import NUMBERS, is_array, is_real

__all__ = ["Making"]


class Making:
    """Lowering of functions that create arrays."""

    def __init__(self, code: ScalarBuilder, layouts: Layouts) -> None:
        self.code, self.layouts = code, layouts

    def alloc(self, s: anf.CallKnown, kind: NumbaType) -> None:
        """Emit `np.zeros` and the like unchanged."""
        self.code.alloc(s)

    def kaiser(self, s: anf.CallKnown, kind: NumbaType) -> None:
        """Emit `np.kaiser` of constants; a real variable is refused."""
        if any(isinstance(x, str) and is_real(self.code.kind(x)) for x in s.args):
            self.code.refuse(s.line, "np.kaiser by a variable", "its derivative is not known", "a constant")
        self.code.alloc(s)

    def full(self, s: anf.CallKnown, kind: NumbaType) -> None:
        """Lower `np.full` and `np.full_like`."""
        code, value = self.code, s.args[1]
        rest = [*s.args[:1], *s.args[2:]]
        keywords = s.keywords
        assert all(k == "dtype" for k in keywords), "numba has no others"
        name = "np.empty" if s.function == "np.full" else "np.empty_like"
        if name == "np.empty" and len(rest) == 1:
            rest.append(anf.Ref(dtype_name(kind.dtype), None))
        made = s.target if s.target not in s.args else code.temp(kind)
        code.alloc(anf.CallKnown(made, name, tuple(rest), s.line, keywords))
        code.fill(made, value, s.line)
        code.copy(s.target, made, s.line)

    def steps(self, s: anf.CallKnown, kind: NumbaType) -> None:
        """Lower `np.arange` and `np.linspace`: library calls for real variables, unchanged otherwise."""
        code = self.code
        name = s.function.split(".")[-1]
        count = 2 if name == "linspace" else 3
        if not any(isinstance(x, str) and is_real(code.kind(x)) for x in s.args[:count]):
            code.alloc(s)
            return
        if s.keywords or len(s.args) > 3 or kind.dtype != types.float64:
            code.refuse(s.line, f"np.{name} with these arguments", "its derivative is not known", "a loop")
        args = s.args
        if name == "arange":
            args = (anf.Const(0), args[0], anf.Const(1)) if len(args) == 1 else (*args, anf.Const(1))[:3]
        elif len(args) == 2:
            args = (*args, anf.Const(50))
        code.library(s.target, name, args, s.line)

    def array(self, s: anf.CallKnown, kind: NumbaType) -> None:
        """Lower `np.array` of an array, a list (an array here), a tuple of numbers, or a number."""
        stores = len(s.args) == 1 or (len(s.args) == 2 and s.keywords in ((), ("dtype",)) and is_real(kind.dtype))
        if isinstance(self.code.kind(s.args[0]), NUMBERS) and stores:
            made = s.target if s.target not in s.args else self.code.temp(kind)
            self.code.empty(made, "()", (), s.line)
            self.code.put(made, (), s.args[0], s.line)
            self.code.copy(s.target, made, s.line)
            return
        if self.code.is_tuple(s.args[0]) and stores:
            parts = self.code.parts(s.args[0])
            numbers = tuple(x for x in parts if not isinstance(x, anf.Node) and isinstance(self.code.kind(x), NUMBERS))
            if len(numbers) == len(parts):
                self.literal(anf.MakeArray(s.target, numbers, list(range(len(numbers))), s.line), kind)
                return
        if not is_array(self.code.kind(s.args[0])) or len(s.args) > 2 or s.keywords not in ((), ("dtype",)):
            what, why = "np.array of these arguments", "only that of a list or an array is known"
            self.code.refuse(s.line, what, why, "a loop")
        self.layouts.same_elements(anf.CallKnown(s.target, "np.copy", s.args[:1], s.line), kind)

    def literal(self, s: anf.MakeArray, kind: NumbaType) -> None:
        """Lower `np.array([[x, y], [z, w]])`."""
        code = self.code
        flat = list(to_python.flattened(s.places))
        if any(not isinstance(code.kind(s.args[k]), NUMBERS) for k in flat):
            code.refuse(s.line, "np.array of these values", "its elements are no numbers", "an array of numbers")
        places: list[tuple[tuple[int, ...], int]] = []

        def visit(tree: anf.Places, index: tuple[int, ...]) -> None:
            """Collect the indices of the elements in nested lists."""
            for k, x in enumerate(tree):
                if isinstance(x, list):
                    visit(x, (*index, k))
                else:
                    places.append(((*index, k), x))

        visit(s.places, ())
        shape = tuple(1 + max(index[k] for index, _ in places) for k in range(kind.ndim))
        made = s.target if s.target not in s.args else code.temp(kind)
        code.empty(made, str(shape), (), s.line)
        for index, k in places:
            code.put(made, tuple(map(anf.Const, index)), s.args[k], s.line)
        code.copy(s.target, made, s.line)

    def list_of(self, s: anf.MakeList | anf.AllocList, kind: NumbaType) -> None:
        """Lower `[x, y]`, or allocate room for a comprehension: a list is an array here."""
        code = self.code
        items = s.items if isinstance(s, anf.MakeList) else ()
        size = s.length if isinstance(s, anf.AllocList) else anf.Const(len(items))
        text = str(size.value) if isinstance(size, anf.Const) else str(size)
        code.empty(s.target, f"({text},)", () if isinstance(size, anf.Const) else (text,), s.line)
        for k, x in enumerate(items):
            code.put(s.target, (anf.Const(k),), x, s.line)
