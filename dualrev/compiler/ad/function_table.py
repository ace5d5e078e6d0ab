"""Function table: the protocol by which derivatives look up functions of a module; driver/context.py has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from dualrev.compiler.ad.forward.forward_driver import Forward
from dualrev.compiler.ad.reverse.reverse_driver import Reverse
from dualrev.compiler.analysis.memory.alias import Memory
from dualrev.compiler.frontend.reading.source import Source, Static
from dualrev.compiler.ir import anf
from dualrev.compiler.ir.core.nodes import Call, Function
from dualrev.compiler.ir.core.program import Program
from dualrev.compiler.ir.names import Names
from dualrev.compiler.types.aliases import AccessPath, Dispatcher, NumbaTypes, UserValue

__all__ = ["FunctionTable"]


class FunctionTable(Protocol):
    """Functions of a module in core, their sources, and both modes for them.

    f           the function that is differentiated
    names       the names of the module; `refs` are what its text uses and does not define
    sites       where functions with rules are called
    place       the user's line that calls the derivative that is read
    """

    f: Dispatcher
    names: Names
    refs: dict[str, anf.Ref]
    program: Program
    memory: Memory
    forward: Forward
    reverse: Reverse
    sites: dict[Call, Source]
    place: tuple[Source, int] | None

    def source(self, f: Dispatcher) -> Source:
        """The source of a numba function."""

    def parameters(self, f: Dispatcher) -> list[str]:
        """The names of a numba function's parameters."""

    def origin(self, f: Dispatcher, source: Source) -> object:
        """The origin of an opaque function, whose types alone are known."""

    def core(
        self, f: Dispatcher, argtypes: NumbaTypes, path: AccessPath, functions: dict[str, Static], apart: bool = True
    ) -> Function:
        """Lower a numba function to core, for these argument types."""

    def alone(self, f: Dispatcher, argtypes: NumbaTypes, path: AccessPath, functions: dict[str, Static]) -> Function:
        """Lower a function whose derivative is called, and all that it calls."""

    def entered(self, f: Dispatcher, argtypes: NumbaTypes) -> Function:
        """Lower the root of the differentiation, the user's function, to core."""

    def functions_passed(self, f: Dispatcher, args: Sequence[UserValue], argtypes: NumbaTypes) -> dict[str, Static]:
        """The arguments of a call that are functions, by the names of their parameters."""
