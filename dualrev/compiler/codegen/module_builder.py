"""What entry points, and loops that run in threads, ask of the module that they are written into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

from dualrev.compiler.ad.function_table import FunctionTable
from dualrev.compiler.analysis.values.index_ranges import Natural
from dualrev.compiler.codegen.module_text import ModuleText
from dualrev.compiler.frontend.reading.source import Source
from dualrev.compiler.ir.core.atoms import Symbol
from dualrev.compiler.ir.core.nodes import Call
from dualrev.compiler.ir.core.program import Program
from dualrev.compiler.ir.names import Names
from dualrev.compiler.ir.pass_manager import PassManager

__all__ = ["Emitted", "ModuleBuilder"]


@dataclass
class Emitted:
    """The text of a module, the function in it that was asked for, and the way to what the text does not define."""

    source: str
    entry: str
    constants: dict[str, tuple[Any, ...]]
    values: dict[str, Any]
    obstacle: str = ""  # what the text depends on, and no hash covers: it is not to be kept


class ModuleBuilder(Protocol):
    """A module of derivatives of a numba function f (driver/emit.py)."""

    f: Any
    names: Names
    program: Program
    passes: PassManager
    natural: Natural
    text: ModuleText

    @property
    def front(self) -> FunctionTable:
        """The functions of the module in core."""

    def describe(self, transform: str, argnums: Any, name: str) -> str:
        """What a derivative is, in a sentence."""

    def refer(self, of: Symbol | Call) -> str:
        """The name of a function that a transformation has made, which is written now if it has not been."""

    def function(
        self,
        name: str,
        parameters: list[str],
        doc: str,
        body: list[Any],
        source: Source,
        f: Any,
        more: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """Add a function with the options of a numba function, and some more."""

    def finish(self, entry: str, doc: str) -> Emitted:
        """The module, which is done."""
