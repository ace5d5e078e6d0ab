"""A program: functions of typed core that call one another, and the gradients that they call.

A Call names either a numba function of the user's, a Global, which the front end turns into core when somebody asks,
or a Symbol, under which a transformation has put what it made. Functions are known by their keys: recursion is a call
of a key that is known already.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from dualrev.compiler.ir.core.atoms import Symbol
from dualrev.compiler.ir.core.interpret import Tape, run
from dualrev.compiler.ir.core.nodes import Call, Function

__all__ = ["Gradient", "Program"]


@dataclass(frozen=True, eq=False)
class Gradient:
    """Gradient of a pure function that returns one real number, by some of its parameters.

    A call of it takes the arguments of the function. Its result is the gradient by one parameter, or a tuple of these.
    It is computed in reverse mode, which leads out of core; its own derivatives are gradients again, of functions that
    forward mode has made: the derivative of the gradient of f in a direction is the gradient of the derivative of f in
    that direction, and the transposed map is the same one.
    """

    of: Function
    numbers: tuple[int, ...]
    several: bool

    @property
    def name(self) -> str:
        """Printed name."""
        return f"grad_{self.of.name}"


class Program:
    """Call graph: the functions and gradients that calls lead to, by their keys."""

    def __init__(self, front: Callable[[Call], tuple[Hashable, Callable[[], Function]]]) -> None:
        """`front` gives the key of the numba function that a call names, and a function that makes its core."""
        self._front = front
        self._callees: dict[Call, tuple[Hashable, Callable[[], Function]]] = {}
        self._functions: dict[Hashable, Function | Gradient] = {}

    def define(self, symbol: Symbol, f: Function | Gradient) -> None:
        """Define the function or gradient of a symbol."""
        self._functions[symbol] = f

    def made(self, symbol: Symbol) -> Function | Gradient:
        """Return the function or gradient that a symbol is defined as."""
        return self._functions[symbol]

    def made_functions(self) -> list[Function]:
        """Return the functions made by transformations, in order of definition."""
        return [f for key, f in self._functions.items() if isinstance(key, Symbol) and isinstance(f, Function)]

    def key(self, s: Call) -> Hashable:
        """Return the key of a callee: calls with the same key call the same function, for the same types."""
        return s.function if isinstance(s.function, Symbol) else self._callee(s)[0]

    def _callee(self, s: Call) -> tuple[Hashable, Callable[[], Function]]:
        """Key and maker of a call's numba function, asked for once: it is the same in all passes."""
        if s not in self._callees:
            self._callees[s] = self._front(s)
        return self._callees[s]

    def gradient(self, s: Call) -> Gradient | None:
        """Return the callee if it is a gradient; else None."""
        found = self._functions[s.function] if isinstance(s.function, Symbol) else None
        return found if isinstance(found, Gradient) else None

    def function(self, s: Call) -> Function:
        """Return the core of a callee that is no gradient."""
        if isinstance(s.function, Symbol):
            found = self._functions[s.function]
        else:
            key, make = self._callee(s)
            if key not in self._functions:
                self._functions[key] = make()
            found = self._functions[key]
        assert isinstance(found, Function)
        return found

    def is_checking(self, s: Call) -> bool:
        """Whether the callee's core is known, and has checks that the user's function lacks."""
        found = self._functions.get(self.key(s))
        return isinstance(found, Function) and found.checking

    def run(self, f: Function, args: tuple[object, ...], tape: Tape | None = None) -> object:
        """Interpret `f`, and the functions that it calls."""
        tape = tape or Tape()
        if f.opaque:
            return f.origin.dispatcher(*args)
        return run(f, args, lambda s, given: self.run(self.function(s), given, tape), tape)
