"""A program: functions of the typed core that call one another.

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
    """The gradient of a function that returns one real number, and changes nothing, by some of its parameters.

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
        """What people may call it."""
        return f"grad_{self.of.name}"


class Program:
    """The functions that calls lead to."""

    def __init__(self, front: Callable[[Call], tuple[Hashable, Callable[[], Function]]]) -> None:
        """`front` tells the key of the numba function that a call calls, and how to get its core."""
        self._front = front
        self._functions: dict[Hashable, Function | Gradient] = {}

    def define(self, symbol: Symbol, f: Function | Gradient) -> None:
        """Put what a transformation has made under its symbol."""
        self._functions[symbol] = f

    def made(self, symbol: Symbol) -> Function | Gradient:
        """What a transformation has put under a symbol."""
        return self._functions[symbol]

    def made_functions(self) -> list[Function]:
        """What transformations have made, in the order in which it was asked for."""
        return [f for key, f in self._functions.items() if isinstance(key, Symbol) and isinstance(f, Function)]

    def key(self, s: Call) -> Hashable:
        """What a call calls: two calls with one key call one function, for the same types."""
        return s.function if isinstance(s.function, Symbol) else self._front(s)[0]

    def gradient(self, s: Call) -> Gradient | None:
        """What a call calls, if that is a gradient."""
        found = self._functions[s.function] if isinstance(s.function, Symbol) else None
        return found if isinstance(found, Gradient) else None

    def function(self, s: Call) -> Function:
        """The core of what a call calls, which is no gradient."""
        if isinstance(s.function, Symbol):
            found = self._functions[s.function]
        else:
            key, make = self._front(s)
            if key not in self._functions:
                self._functions[key] = make()
            found = self._functions[key]
        assert isinstance(found, Function)
        return found

    def is_checking(self, s: Call) -> bool:
        """Whether the core of what a call calls is known, and checks what the user's function does not."""
        found = self._functions.get(self.key(s))
        return isinstance(found, Function) and found.checking

    def run(self, f: Function, args: tuple[object, ...], tape: Tape | None = None) -> object:
        """The value of f, and of all that it calls, by the reference evaluator."""
        tape = tape or Tape()
        if f.opaque:
            return f.origin.dispatcher(*args)
        return run(f, args, lambda s, given: self.run(self.function(s), given, tape), tape)
