"""Calls with complex numbers or lists, for which core names a symbol in place of the numba function.

In core a complex number is a tuple of its parts (scalarize/complex/lower_complex.py), and so is an array of them: a
call cannot name the user's numba function, which takes complex numbers. It names a symbol, under which the callee's
core is. The same holds for lists of numbers, which are arrays in core (scalarize/lists/legalize.py), and for a value
that may be None, which is a pair (frontend/typing/optional.py).
"""

from __future__ import annotations

from collections.abc import Callable

from dualrev.compiler.ad.custom.custom_rules import has_rule
from dualrev.compiler.ad.function_table import Caller, FunctionTable
from dualrev.compiler.frontend.reading.source import Source, Static, describe, is_derivative, name_of
from dualrev.compiler.ir import anf
from dualrev.compiler.ir.core.atoms import Symbol
from dualrev.compiler.ir.core.nodes import Function
from dualrev.compiler.ir.core.traverse import leaves
from dualrev.compiler.types.aliases import Dispatcher, NumbaTypes
from dualrev.compiler.types.complex_parts import holds_complex

__all__ = ["ComplexCalls"]

_INSTEAD = "real and imaginary parts"


class ComplexCalls:
    """Core of functions that are called with complex numbers or lists, by symbols; and checks of the root."""

    def __init__(self, front: FunctionTable, functions_passed: Callable[..., dict[str, Static]]) -> None:
        """`functions_passed` gives the functions among the arguments of a call."""
        self.front, self.functions_passed = front, functions_passed
        self._symbols: dict[tuple[int, NumbaTypes], Symbol] = {}

    def symbol(self, s: anf.Call, source: Source, caller: Caller) -> Symbol:
        """Symbol of the callee of a call in this source, by a function that has this caller."""
        assert s.types is not None
        f, front = s.function.value, self.front
        if has_rule(f) or is_derivative(f):
            listed = not any(map(holds_complex, s.types))
            what = f"the call of {describe(f.py_func)} with {'a list' if listed else 'complex numbers'}"
            why = f"its derivative is known for {'numbers and arrays' if listed else 'real numbers'} only"
            source.refuse(s.line, what, why, "np.array of it" if listed else _INSTEAD)
        key = id(f), s.types
        if key not in self._symbols:
            self._symbols[key] = made = Symbol(name_of(f))
            functions = self.functions_passed(f, s.args, s.types)
            front.program.define(made, front.core(f, s.types, s.function.path, functions, apart=False, caller=caller))
        return self._symbols[key]

    def check_derivatives(self, f: Dispatcher, argtypes: NumbaTypes) -> None:
        """Raise UnsupportedError for a derivative of a derivative by complex numbers."""
        if is_derivative(f) and any(map(holds_complex, argtypes)):
            source = self.front.source(f)
            what = f"a derivative of the {f.derivative_of[1]} of {describe(f.derivative_of[0].py_func)}"
            source.refuse(source.tree, what, "of complex numbers only the first derivatives are known", _INSTEAD)

    def check_entered(self, f: Function, argtypes: NumbaTypes) -> None:
        """Raise UnsupportedError for a complex value, or a complex array argument that the function writes to."""
        source = f.origin.source
        if f.origin.result is not None and holds_complex(f.origin.result):
            why = "its derivative is not one number for each argument"
            source.refuse(source.tree, f"the complex value of {f.name}", why, "a real one, such as abs(z) or z.real")
        written = self.front.memory.written(f)
        for name, p, kind in zip(f.origin.parameters, f.parameters, argtypes, strict=True):
            if holds_complex(kind) and not written.isdisjoint(leaves(p)):
                why = "derivatives have copies of its real and imaginary parts"
                what, instead = f"the complex argument {name}, which is written to", f"own = {name}.copy()"
                source.refuse(source.tree, what, why, f"{instead}, and own in its place")
