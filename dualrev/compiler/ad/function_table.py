"""Function table: the protocol by which derivatives look up functions of a module; driver/context.py has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeAlias

from dualrev.compiler.ad.forward.forward_driver import Forward
from dualrev.compiler.ad.reverse.reverse_driver import Reverse
from dualrev.compiler.analysis.memory.alias import Memory
from dualrev.compiler.frontend.reading.source import Source, Static
from dualrev.compiler.ir import anf
from dualrev.compiler.ir.core.nodes import Function
from dualrev.compiler.ir.core.program import Program
from dualrev.compiler.ir.names import Names
from dualrev.compiler.types.aliases import AccessPath, Dispatcher, NumbaType, NumbaTypes

__all__ = ["Caller", "FunctionTable", "Origin", "Place"]


#: A line of the user's source.
Place: TypeAlias = tuple[Source, int]


@dataclass(frozen=True)
class Caller:
    """Properties that a function takes from its callers.

    root    the function that gives its error model to its callees
    place   the user's line that calls the derivative in the source; None outside of derivatives
    """

    root: Dispatcher
    place: Place | None = None


@dataclass(frozen=True, eq=False)
class Origin:
    """User's function from which a function of core was lowered."""

    dispatcher: Dispatcher
    source: Source
    parameters: list[str]  # what its parameters are called
    asks_for_layout: bool  # whether it asks, while it runs, if an array is contiguous
    looks_at_layout: bool  # whether that, or it looks at the flags or the strides of an array
    result: NumbaType = None  # the numba type of its value, if that is known

    @classmethod
    def of_opaque(cls, f: Dispatcher, source: Source) -> Origin:
        """Origin of a function that has no core: its types alone are known."""
        return cls(f, source, source.parameters, asks_for_layout=False, looks_at_layout=False)


class FunctionTable(Protocol):
    """Functions of a module in core, their sources, and both modes for them.

    f           the function that is differentiated
    names       the names of the module; `refs` are what its text uses and does not define
    """

    f: Dispatcher
    names: Names
    refs: dict[str, anf.Ref]
    program: Program
    memory: Memory
    forward: Forward
    reverse: Reverse

    def source(self, f: Dispatcher) -> Source:
        """The source of a numba function."""

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

    def entered(self, f: Dispatcher, argtypes: NumbaTypes) -> Function:
        """Lower the root of the differentiation, the user's function, to core."""
