"""What derivatives ask of the functions of a module; driver/context.py answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from dualrev.compiler.ad.forward.forward_driver import Forward
from dualrev.compiler.ad.reverse.reverse_driver import Reverse
from dualrev.compiler.analysis.memory.alias import Memory
from dualrev.compiler.frontend.reading.source import Source, Static
from dualrev.compiler.ir.anf.operations import Ref
from dualrev.compiler.ir.core.nodes import Call, Function
from dualrev.compiler.ir.core.program import Program
from dualrev.compiler.ir.names import Names

__all__ = ["FunctionTable"]


class FunctionTable(Protocol):
    """The functions of a module in core, their sources, and both modes for them.

    f           the function that is differentiated
    names       the names of the module; `refs` are what its text uses and does not define
    sites       where functions with rules are called
    place       the user's line that calls the derivative that is read
    inherits    whether what f calls has its error model, if that says none itself
    """

    f: Any
    names: Names
    refs: dict[str, Ref]
    program: Program
    memory: Memory
    forward: Forward
    reverse: Reverse
    sites: dict[Call, Source]
    place: tuple[Source, int] | None
    inherits: bool

    def source(self, f: Any) -> Source:
        """The source of a numba function."""

    def parameters(self, f: Any) -> list[str]:
        """The names of its parameters."""

    def origin(self, f: Any, source: Source) -> Any:
        """The origin of a function of which only types are known."""

    def core(
        self, f: Any, argtypes: tuple[Any, ...], path: tuple[Any, ...], functions: dict[str, Static], apart: bool = True
    ) -> Function:
        """A numba function in core."""

    def entered(self, f: Any, argtypes: tuple[Any, ...]) -> Function:
        """The function that is differentiated, in core."""

    def functions_passed(self, f: Any, args: Sequence[Any], argtypes: tuple[Any, ...]) -> dict[str, Static]:
        """The arguments of a call that are functions."""

    def chosen_numbers(self, argnums: Any, f: Function, primals: tuple[Any, ...]) -> list[int]:
        """The numbers of the arguments that are chosen."""

    def check_scalar(self, f: Function) -> None:
        """ScalarError for a function that returns something else than one real number."""

    def asks_for_layout(self, f: Function) -> bool:
        """Whether a function asks if an array is contiguous."""
