"""A program: functions of the typed core that call one another.

A Call names either a numba function of the user's, a Global, which the front end turns into core when somebody asks,
or a Symbol, under which a transformation has put what it made. Functions are known by their keys: recursion is a call
of a key that is known already.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from dualrev.compiler.core.run import run
from dualrev.compiler.core.terms import Call, Function, Symbol, statements

__all__ = ["Program"]


class Program:
    """The functions that calls lead to."""

    def __init__(self, front: Callable[[Call], tuple[Hashable, Callable[[], Function]]]) -> None:
        """`front` tells the key of the numba function that a call calls, and how to get its core."""
        self._front = front
        self._functions: dict[Hashable, Function] = {}

    def define(self, symbol: Symbol, f: Function) -> None:
        """Put what a transformation has made under its symbol."""
        self._functions[symbol] = f

    def made(self, symbol: Symbol) -> Function:
        """What a transformation has put under a symbol."""
        return self._functions[symbol]

    def made_functions(self) -> list[Function]:
        """What transformations have made, in the order in which it was asked for."""
        return [f for key, f in self._functions.items() if isinstance(key, Symbol)]

    def is_recursive(self, symbol: Symbol) -> bool:
        """Whether a function that a transformation has made may call itself."""
        seen: set[Symbol] = set()
        todo = [symbol]
        while todo:
            for s in statements(self.made(todo.pop()).body):
                if isinstance(s, Call) and isinstance(s.function, Symbol):
                    if s.function is symbol:
                        return True
                    if s.function not in seen:
                        seen.add(s.function)
                        todo.append(s.function)
        return False

    def key(self, s: Call) -> Hashable:
        """What a call calls: two calls with one key call one function, for the same types."""
        return s.function if isinstance(s.function, Symbol) else self._front(s)[0]

    def function(self, s: Call) -> Function:
        """The core of what a call calls."""
        if isinstance(s.function, Symbol):
            return self._functions[s.function]
        key, make = self._front(s)
        if key not in self._functions:
            self._functions[key] = make()
        return self._functions[key]

    def run(self, f: Function, args: tuple[object, ...]) -> object:
        """The value of f, and of all that it calls, by the reference evaluator."""
        return run(f, args, lambda s, given: self.run(self.function(s), given))
