"""Function table: the protocol by which derivatives look up functions of a module; driver/context.py has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from dualrev.compiler.ad.forward.forward_driver import Forward
from dualrev.compiler.ad.reverse.reverse_driver import Reverse
from dualrev.compiler.analysis.memory.alias import Memory
from dualrev.compiler.frontend.reading.source import Source, Static
from dualrev.compiler.ir import anf
from dualrev.compiler.ir.core.nodes import Call, Function
from dualrev.compiler.ir.core.program import Program
from dualrev.compiler.ir.names import Names
from dualrev.compiler.types.aliases import AccessPath, Dispatcher, NumbaTypes, UserValue

__all__ = ["Caller", "FunctionTable", "Place"]


#: A line of the user's source.
Place: TypeAlias = tuple[Source, int]


@dataclass(frozen=True)
class Caller:
    """What a function takes from its callers.

    root    the function that gives its error model to what it calls
    place   the user's line that calls the derivative that is read; None for what is no part of one
    """

    root: Dispatcher
    place: Place | None = None


class FunctionTable(Protocol):
    """Functions of a module in core, their sources, and both modes for them.

    f           the function that is differentiated
    names       the names of the module; `refs` are what its text uses and does not define
    sites       where functions with rules are called
    """

    f: Dispatcher
    names: Names
    refs: dict[str, anf.Ref]
    program: Program
    memory: Memory
    forward: Forward
    reverse: Reverse
    sites: dict[Call, Source]

    def source(self, f: Dispatcher) -> Source:
        """The source of a numba function."""

    def parameters(self, f: Dispatcher) -> list[str]:
        """The names of a numba function's parameters."""

    def origin(self, f: Dispatcher, source: Source) -> object:
        """The origin of an opaque function, whose types alone are known."""

    def core(
        self,
        f: Dispatcher,
        argtypes: NumbaTypes,
        path: AccessPath,
        functions: dict[str, Static],
        apart: bool = True,
        caller: Caller | None = None,
    ) -> Function:
        """Lower a numba function to core, for these argument types."""

    def alone(
        self, f: Dispatcher, argtypes: NumbaTypes, path: AccessPath, functions: dict[str, Static], place: Place
    ) -> Function:
        """Lower a function whose derivative is called at this place, and all that it calls."""

    def entered(self, f: Dispatcher, argtypes: NumbaTypes) -> Function:
        """Lower the root of the differentiation, the user's function, to core."""

    def functions_passed(self, f: Dispatcher, args: Sequence[UserValue], argtypes: NumbaTypes) -> dict[str, Static]:
        """The arguments of a call that are functions, by the names of their parameters."""
